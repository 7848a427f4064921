// SPDX-License-Identifier: Apache-2.0
//
// Numbers for cases: a counter-based generator, so that element i of a tensor is a function of
// (seed, stream, i) alone and the same on every machine, in any order, by any thread.
//
// Source: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011). Seeds are FNV-1a hashes (Fowler, Noll, Vo) finished by the mixing step of
// splitmix64 (Steele, Lea, Flood 2014).
#ifndef OC_CASES_RANDOM_H_
#define OC_CASES_RANDOM_H_

#include <stddef.h>
#include <stdint.h>

// One block of Philox4x32-10: 128 bits from a 128-bit counter and a 64-bit key.
void oc_random_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out_block[4]);

// FNV-1a, 64 bits.
uint64_t oc_random_hash(const void *data, size_t size);

// The seed of a case: a hash of its id, mixed with the base seed of the whole run.
uint64_t oc_random_seed(const char *case_id, uint64_t base_seed);

// Draws for one element. `stream` tells tensors apart, `index` elements.
typedef struct oc_random {
  uint64_t seed;
  uint32_t stream;
  uint32_t draws;  // blocks taken so far for this element
  uint64_t index;
  uint32_t block[4];
  uint32_t used;  // words of `block` taken; 4: empty
} oc_random;

oc_random oc_random_at(uint64_t seed, uint32_t stream, uint64_t index);
uint32_t oc_random_bits(oc_random *random);
uint64_t oc_random_bits64(oc_random *random);
double oc_random_unit(oc_random *random);    // in [0, 1), 53 bits
double oc_random_normal(oc_random *random);  // mean 0, variance 1, |x| <= 6
int64_t oc_random_integer(oc_random *random, int64_t low, int64_t high);  // both inclusive

#endif  // OC_CASES_RANDOM_H_

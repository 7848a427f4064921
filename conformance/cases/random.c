// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10: ten rounds of two 32 x 32 -> 64 bit products, the key raised by two Weyl
// constants between rounds. No libm function is used, so that no bit depends on a libm.
#include "cases/random.h"

#include <string.h>

#define PHILOX_ROUNDS 10
#define PHILOX_M0 0xd2511f53u
#define PHILOX_M1 0xcd9e8d57u
#define PHILOX_W0 0x9e3779b9u
#define PHILOX_W1 0xbb67ae85u

void oc_random_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out_block[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < PHILOX_ROUNDS; ++round) {
    const uint64_t p0 = (uint64_t)PHILOX_M0 * c0, p1 = (uint64_t)PHILOX_M1 * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    k0 += PHILOX_W0;
    k1 += PHILOX_W1;
  }
  out_block[0] = c0;
  out_block[1] = c1;
  out_block[2] = c2;
  out_block[3] = c3;
}

uint64_t oc_random_hash(const void *data, size_t size) {
  const unsigned char *bytes = data;
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

uint64_t oc_random_seed(const char *case_id, uint64_t base_seed) {
  const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
  return mix(oc_random_hash(case_id, strlen(case_id)) + golden * (base_seed + 1));
}

oc_random oc_random_at(uint64_t seed, uint32_t stream, uint64_t index) {
  return (oc_random){.seed = seed, .stream = stream, .index = index, .used = 4};
}

uint32_t oc_random_bits(oc_random *random) {
  if (random->used == 4) {
    const uint32_t key[2] = {(uint32_t)random->seed, (uint32_t)(random->seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)random->index, (uint32_t)(random->index >> 32),
                                 random->stream, random->draws++};
    oc_random_philox(counter, key, random->block);
    random->used = 0;
  }
  return random->block[random->used++];
}

uint64_t oc_random_bits64(oc_random *random) {
  const uint64_t low = oc_random_bits(random);
  return low | (uint64_t)oc_random_bits(random) << 32;
}

double oc_random_unit(oc_random *random) {
  return (double)(oc_random_bits64(random) >> 11) * 0x1p-53;
}

// The sum of twelve uniform numbers has variance 1; its tails end at 6.
double oc_random_normal(oc_random *random) {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += (double)oc_random_bits(random) * 0x1p-32;
  return sum;
}

int64_t oc_random_integer(oc_random *random, int64_t low, int64_t high) {
  const uint64_t span = (uint64_t)high - (uint64_t)low;  // one less than the count
  const uint64_t bits = oc_random_bits64(random);
  const uint64_t offset = span == UINT64_MAX ? bits : bits % (span + 1);
  return (int64_t)((uint64_t)low + offset);
}

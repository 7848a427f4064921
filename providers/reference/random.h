// SPDX-License-Identifier: Apache-2.0
//
// Random numbers that are a function of a key and an index: Philox4x32-10 of Salmon, Moraes,
// Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011). The same numbers on
// every machine, for any number of threads: nothing but integer arithmetic and the correctly
// rounded operations of IEEE 754 is used, so log and exp are those of this file.
#ifndef REFERENCE_RANDOM_H_
#define REFERENCE_RANDOM_H_

#include "kernel.h"

typedef struct ref_random {
  uint32_t key[2];
} ref_random;

// From the attribute seed, a float or an int. Without one the name of the node is the seed:
// nodes differ, and a node gives the same numbers whenever it runs.
ref_random ref_random_of(const ops_kernel *kernel);

void ref_random_block(const ref_random *random, const uint32_t counter[4], uint32_t out[4]);

// In [0, 1), a multiple of 2^-53.
double ref_random_uniform(const ref_random *random, uint64_t index);

// Of mean 0 and deviation 1.
double ref_random_normal(const ref_random *random, uint64_t index);

// The inverse of the normal distribution function, for p in (0, 1).
double ref_inverse_normal(double p);

double ref_portable_log(double x);  // x > 0, finite
double ref_portable_exp(double x);  // x <= 0

#endif  // REFERENCE_RANDOM_H_

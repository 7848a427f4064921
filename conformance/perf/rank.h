// SPDX-License-Identifier: Apache-2.0
//
// Rank tests: is a sample shifted upwards by more than so much? They ask nothing of the shape
// of the distribution, so a few runs that were pre-empted decide nothing.
//
// Both are one-sided normal approximations with corrections for continuity and ties: for the
// samples of 24 values and more that the gate has, the exact distributions differ in the third
// decimal. Sources: Wilcoxon, "Individual comparisons by ranking methods" (1945); Mann and
// Whitney, "On a test of whether one of two random variables is stochastically larger than the
// other" (1947); Holm, "A simple sequentially rejective multiple test procedure" (1979).
#ifndef OC_PERF_RANK_H_
#define OC_PERF_RANK_H_

#include <stddef.h>

// The probability of ranks as high as these if `values` were symmetric about `shift`
// (signed-rank test; values equal to `shift` are left out). 1 without values; NaN without
// memory.
double oc_rank_signed(const double *values, size_t count, double shift);

// The same if `values` and `others` + `shift` came from one distribution (Mann-Whitney).
double oc_rank_two_sample(const double *values, size_t count, const double *others,
                          size_t other_count, double shift);

// Turns p-values of `count` tests into adjusted ones, in place: rejecting those below a level
// makes one false rejection or more among all of them with at most that probability (Holm).
// Returns 0, or -1 without memory (then they are left as they were).
int oc_rank_holm(double *p_values, size_t count);

#endif  // OC_PERF_RANK_H_

// SPDX-License-Identifier: Apache-2.0
//
// Choosing few combinations of attribute values so that every pair of values that can occur
// together does: most attribute bugs need two values to show.
#ifndef OC_CASES_PAIRWISE_H_
#define OC_CASES_PAIRWISE_H_

#include <ops/status.h>
#include <stddef.h>
#include <stdint.h>

#define OC_PAIRWISE_MAX_FACTORS 16
#define OC_PAIRWISE_MAX_PAIRS 100000

// `combinations` holds `count` rows of `factors` level numbers, the legal ones, in order of
// preference. Sets selected[i] to 1 for the rows chosen, to 0 else. Greedy: the first row that
// covers the most uncovered pairs, until none is left; with one factor every level is chosen.
// OUT_OF_MEMORY; INVALID_ARGUMENT beyond the limits above.
int32_t oc_pairwise_select(const uint32_t *combinations, size_t count, size_t factors,
                           unsigned char *selected, ops_error *error);

#endif  // OC_CASES_PAIRWISE_H_

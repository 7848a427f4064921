// SPDX-License-Identifier: Apache-2.0
//
// Maturity of a point, 0 to 4, each stage asking for the ones before:
//   1 correct   2 fast enough to ship (80 % of the yardstick, or what the contract says)
//   3 optimised (120 %), and every post-operation that the contract lists is declared
//   4 gated: a baseline is there and it holds
#ifndef OC_PERF_MATURITY_H_
#define OC_PERF_MATURITY_H_

#include "contract/contract.h"
#include "perf/perf.h"

#define OC_PERF_STAGE_BASELINE 0.8
#define OC_PERF_STAGE_OPTIMIZED 1.2

// Sets stage and the shares that the stages ask for. `absorbs`: the definition that ran the
// point declares all post-operations of the contract. Needs ratio, shares and verdict.
void oc_perf_set_stage(const oc_performance *entry, bool correct, bool absorbs,
                       oc_perf_point *point);

// One row per operator that has a point, its least stage and what is missing for the next one.
// The caller's (free); OUT_OF_MEMORY.
int32_t oc_perf_list_operators(const oc_perf_point *points, size_t count,
                               oc_perf_operator **out_operators, size_t *out_count,
                               ops_error *error);

#endif  // OC_PERF_MATURITY_H_

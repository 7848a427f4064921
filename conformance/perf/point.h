// SPDX-License-Identifier: Apache-2.0
//
// The entries `performance:` of contracts as cases: "MatMul-13/perf/float/square_512".
#ifndef OC_PERF_POINT_H_
#define OC_PERF_POINT_H_

#include "cases/array.h"
#include "cases/case.h"

// How many sets of inputs a point is run on in turn.
#define OC_PERF_SETS 3

// Parallel: cases->items[i] comes from entries[i].
typedef struct oc_perf_points {
  oc_cases *cases;
  const oc_performance **entries;
} oc_perf_points;

// Every point, or those of one operator (`op`, NULL: all). Borrows `contracts`. Errors:
// INVALID_MODEL with the place in the contract: an entry that is no valid node, or of the same
// name and type as another.
int32_t oc_perf_points_create(const oc_contracts *contracts, const char *op, uint64_t seed,
                              oc_perf_points **out_points, ops_error *error);
void oc_perf_points_destroy(oc_perf_points *points);  // accepts NULL

// The case of set number `set`: as `item`, with other contents.
oc_case oc_perf_point_set(const oc_case *item, uint32_t set);

// Its inputs. Those that `entry` calls constant are the same in every set: `first` is set 0,
// NULL for set 0 itself.
int32_t oc_perf_point_inputs(oc_inputs *inputs, const oc_case *set, const oc_performance *entry,
                             const oc_inputs *first, ops_error *error);

// Bit i: input i of the node is a constant.
uint64_t oc_perf_point_constants(const oc_inputs *inputs, const oc_performance *entry);

// What the entry says of one run; 0 where it says nothing.
int32_t oc_perf_point_work(const oc_case *item, const oc_performance *entry, double *out_flops,
                           double *out_bytes, ops_error *error);

#endif  // OC_PERF_POINT_H_

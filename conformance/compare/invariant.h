// SPDX-License-Identifier: Apache-2.0
//
// Invariants: what holds of a result whatever the oracle says. They witness the oracle as much
// as the candidate: an invariant that fails on expected values is a mistake of the oracle.
#ifndef OC_COMPARE_INVARIANT_H_
#define OC_COMPARE_INVARIANT_H_

#include "compare/number.h"
#include "contract/binding.h"

// One result and what its invariant asks, evaluated for the case.
typedef struct oc_invariant_input {
  oc_invariant_check check;
  int32_t type;        // element type of the result
  const void *result;  // dense
  const int64_t *dims;
  int32_t rank;
  oc_interval bounds;  // bounded
  int64_t axis;        // sum_along; negative counts from the end
  double equals;       // sum_along
  double ulp;          // sum_along: the limit of each element in ULP of `type`
  const void *source;  // rearranges: the input, of the same type
  size_t source_count;
} oc_invariant_input;

// *out_where receives the first element that breaks it (of sum_along: the first of the line).
// NaN breaks neither nonnegative nor bounded: whether it may be there is the judge's question;
// a line with an element that is not finite is left out. Lengths that differ break `rearranges`
// at 0. Errors: OPS_ERROR_INVALID_ARGUMENT (axis, dimensions, a type without numbers),
// OPS_ERROR_OUT_OF_MEMORY.
int32_t oc_invariant_holds(const oc_invariant_input *input, bool *out_holds, size_t *out_where,
                           ops_error *error);

#endif  // OC_COMPARE_INVARIANT_H_

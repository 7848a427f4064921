// SPDX-License-Identifier: Apache-2.0
//
// Inputs that are not contiguous: where the elements of a tensor lie in a larger block.
#ifndef OC_RUNNER_ARRANGE_H_
#define OC_RUNNER_ARRANGE_H_

#include "cases/array.h"

// Element (i0, i1, …) lies at origin + sum(ik * strides[k]) of a block of `span` elements.
// span 0: row-major and contiguous.
typedef struct oc_arrangement {
  int64_t strides[OPS_MAX_RANK];
  int64_t origin;
  int64_t span;
} oc_arrangement;

typedef enum oc_arrange_kind {
  OC_ARRANGE_PERMUTED,  // the first dimension is the innermost, with a gap behind each element
  OC_ARRANGE_REVERSED,  // row-major with gaps behind the rows, the last dimension backwards
  OC_ARRANGE_REPEATED,  // a stride of 0: every slice of the first dimension is the same memory
  OC_ARRANGE_COUNT
} oc_arrange_kind;

// False if the tensor cannot be arranged so: no elements, or narrower than a byte, or repeated
// and its first dimension is 1. Dimensions of 1 get the stride 0.
bool oc_arrange(oc_arrange_kind kind, const oc_array *array, oc_arrangement *out_arrangement);

// Writes the elements of `array` to their places in `block`; the rest is left alone. Of
// elements that share a place the last one stays.
void oc_arrange_scatter(const oc_arrangement *arrangement, const oc_array *array, void *block);

// Makes the contents of `array` such that a repeated one can hold them: every slice of the
// first dimension becomes equal to the first.
void oc_arrange_repeat(oc_array *array);

#endif  // OC_RUNNER_ARRANGE_H_

// SPDX-License-Identifier: Apache-2.0
//
// Strides of arranged tensors, and moving elements to their places.
#include "runner/arrange.h"

#include <string.h>

#include "cases/element.h"

#define GAP 3  // elements behind a row

static void permute(const oc_array *array, oc_arrangement *out) {
  int64_t stride = 2;
  for (int32_t i = 0; i < array->rank; ++i) {
    if (array->dims[i] > 1) out->strides[i] = stride;
    stride *= array->dims[i];
  }
  out->span = stride;
}

static void reverse(const oc_array *array, oc_arrangement *out) {
  int64_t stride = 1;
  for (int32_t i = array->rank; i-- > 0;) {
    if (array->dims[i] > 1) out->strides[i] = stride;
    stride *= array->dims[i];
    if (i == array->rank - 1) stride += GAP;
  }
  out->span = stride;
  if (array->rank == 0 || array->dims[array->rank - 1] < 2) return;
  out->origin = array->dims[array->rank - 1] - 1;
  out->strides[array->rank - 1] = -1;
}

static void repeat(const oc_array *array, oc_arrangement *out) {
  int64_t stride = 1;
  for (int32_t i = array->rank; i-- > 1;) {
    if (array->dims[i] > 1) out->strides[i] = stride;
    stride *= array->dims[i];
  }
  out->span = stride;
}

bool oc_arrange(oc_arrange_kind kind, const oc_array *array, oc_arrangement *out_arrangement) {
  memset(out_arrangement, 0, sizeof *out_arrangement);
  if (!array->present || array->count == 0 || oc_element_bits(array->type) < 8) return false;
  if (kind == OC_ARRANGE_REPEATED && (array->rank == 0 || array->dims[0] < 2)) return false;
  if (kind == OC_ARRANGE_PERMUTED) permute(array, out_arrangement);
  if (kind == OC_ARRANGE_REVERSED) reverse(array, out_arrangement);
  if (kind == OC_ARRANGE_REPEATED) repeat(array, out_arrangement);
  return true;
}

void oc_arrange_scatter(const oc_arrangement *arrangement, const oc_array *array, void *block) {
  const size_t bytes = (size_t)oc_element_bits(array->type) / 8;
  int64_t index[OPS_MAX_RANK] = {0}, at = arrangement->origin;
  for (int64_t i = 0; i < array->count; ++i) {
    memcpy((char *)block + (size_t)at * bytes, (const char *)array->data + (size_t)i * bytes,
           bytes);
    for (int32_t k = array->rank; k-- > 0;) {
      at += arrangement->strides[k];
      if (++index[k] < array->dims[k]) break;
      at -= arrangement->strides[k] * array->dims[k];
      index[k] = 0;
    }
  }
}

void oc_arrange_repeat(oc_array *array) {
  const size_t slice = array->dims[0] > 0 ? array->bytes / (size_t)array->dims[0] : 0;
  for (int64_t i = 1; i < array->dims[0]; ++i) {
    memcpy((char *)array->data + (size_t)i * slice, array->data, slice);
  }
}

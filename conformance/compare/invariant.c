// SPDX-License-Identifier: Apache-2.0
//
// One function per invariant, one table. Sums are taken in double; if each of the terms y is
// off by at most L ULP, their sum is off by at most L * epsilon * sum |y|.
#include "compare/invariant.h"

#include <math.h>
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <stdlib.h>

#define HOLDS SIZE_MAX  // no element breaks it

// Sets *out_where to the element that breaks the invariant, or to HOLDS.
typedef int32_t (*invariant_fn)(const oc_invariant_input *input, size_t count,
                                size_t *out_where, ops_error *error);

static int32_t check_nonnegative(const oc_invariant_input *input, size_t count,
                                 size_t *out_where, ops_error *error) {
  (void)error;
  for (size_t i = 0; i < count && *out_where == HOLDS; ++i) {
    if (oc_number_get(input->type, input->result, i) < 0) *out_where = i;
  }
  return OPS_OK;
}

static int32_t check_bounded(const oc_invariant_input *input, size_t count, size_t *out_where,
                             ops_error *error) {
  (void)error;
  for (size_t i = 0; i < count && *out_where == HOLDS; ++i) {
    const double value = oc_number_get(input->type, input->result, i);
    if (!isnan(value) && !oc_interval_contains(&input->bounds, value)) *out_where = i;
  }
  return OPS_OK;
}

// One line along the axis: `length` elements from `first` on, `step` apart.
static bool line_sums(const oc_invariant_input *input, size_t first, size_t length,
                      size_t step) {
  double sum = 0, magnitude = 0;
  for (size_t i = 0; i < length; ++i) {
    const double value = oc_number_get(input->type, input->result, first + i * step);
    sum += value;
    magnitude += fabs(value);
  }
  const int fraction = oc_number_format(input->type)->fraction_bits;
  const double limit = input->ulp * ldexp(1, -fraction) * magnitude;
  return !isfinite(magnitude) || fabs(sum - input->equals) <= limit;
}

static int32_t check_sum_along(const oc_invariant_input *input, size_t count, size_t *out_where,
                               ops_error *error) {
  const int64_t axis = input->axis < 0 ? input->axis + input->rank : input->axis;
  if (axis < 0 || axis >= input->rank || !oc_number_format(input->type)) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "sum_along axis %lld of rank %d, element type %d: expected an axis of "
                         "the result and a floating type",
                         (long long)input->axis, (int)input->rank, (int)input->type);
  }
  const size_t length = (size_t)input->dims[axis];
  size_t step = 1;
  for (int32_t i = (int32_t)axis + 1; i < input->rank; ++i) step *= (size_t)input->dims[i];
  for (size_t first = 0; first < count && *out_where == HOLDS; ++first) {
    const bool begins_line = first / step % length == 0;
    if (begins_line && !line_sums(input, first, length, step)) *out_where = first;
  }
  return OPS_OK;
}

static int by_code(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t *sorted_codes(int32_t type, const void *data, size_t count) {
  uint64_t *codes = calloc(count, sizeof(*codes));
  if (!codes) return NULL;
  for (size_t i = 0; i < count; ++i) codes[i] = oc_number_code(type, data, i);
  qsort(codes, count, sizeof(*codes), by_code);
  return codes;
}

// The same codes in any order. Where they differ there is no place to name but the first
// element of the result whose code the input lacks; its sorted neighbour is good enough for a
// message.
static int32_t check_rearranges(const oc_invariant_input *input, size_t count,
                                size_t *out_where, ops_error *error) {
  if (count != input->source_count) {
    *out_where = 0;
    return OPS_OK;
  }
  uint64_t *result = sorted_codes(input->type, input->result, count);
  uint64_t *source = sorted_codes(input->type, input->source, count);
  int32_t status = OPS_OK;
  if (count > 0 && (!result || !source)) {
    status =
        ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to sort %zu elements", count);
  }
  uint64_t stray = 0;
  bool differ = false;
  for (size_t i = 0; status == OPS_OK && i < count && !differ; ++i) {
    differ = result[i] != source[i];
    stray = result[i];
  }
  for (size_t i = 0; differ && i < count && *out_where == HOLDS; ++i) {
    if (oc_number_code(input->type, input->result, i) == stray) *out_where = i;
  }
  free(result);
  free(source);
  return status;
}

static const invariant_fn invariants[] = {
    [OC_INVARIANT_NONNEGATIVE] = check_nonnegative,
    [OC_INVARIANT_BOUNDED] = check_bounded,
    [OC_INVARIANT_SUM_ALONG] = check_sum_along,
    [OC_INVARIANT_REARRANGES] = check_rearranges,
};

int32_t oc_invariant_holds(const oc_invariant_input *input, bool *out_holds, size_t *out_where,
                           ops_error *error) {
  int64_t count = 0;
  size_t where = HOLDS;
  const int bits = oc_number_bits(input->type);
  if (bits == 0 || bits > 64 || !ops_checked_count(input->dims, input->rank, &count)) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "an invariant needs a result of numbers with known dimensions; found "
                         "element type %d, rank %d",
                         (int)input->type, (int)input->rank);
  }
  OPS_RETURN_IF_ERROR(invariants[input->check](input, (size_t)count, &where, error));
  *out_holds = where == HOLDS;
  *out_where = *out_holds ? 0 : where;
  return OPS_OK;
}

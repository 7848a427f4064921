// SPDX-License-Identifier: Apache-2.0
//
// Sparse constants written out. Positions may come from a file: each is checked, and so is the
// size of the whole, since a few bytes can stand for any number of zeros.
#include <inttypes.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "graph/constant.h"

// The row-major position of value `i`; -1 if it lies outside.
static int64_t position_of(const rt_constant *sparse, int64_t i) {
  const rt_constant *indices = sparse->sparse->indices;
  const int64_t *list = indices->data;
  int64_t position = 0;
  if (indices->rank == 1) return list[i] >= 0 && list[i] < sparse->element_count ? list[i] : -1;
  for (int32_t d = 0; d < sparse->rank; ++d) {
    const int64_t at = list[i * sparse->rank + d];
    if (at < 0 || at >= sparse->dims[d]) return -1;
    position = position * sparse->dims[d] + at;
  }
  return position;
}

// Copies element `from` of packed `source` to element `to` of packed, zeroed `target`.
static void copy_element(int32_t bits, void *target, int64_t to, const void *source,
                         int64_t from) {
  const uint64_t width = (uint64_t)bits;
  if (width % 8 == 0) {
    memcpy((char *)target + (uint64_t)to * (width / 8),
           (const char *)source + (uint64_t)from * (width / 8), width / 8);
    return;
  }
  for (uint64_t bit = 0; bit < width; ++bit) {
    const uint64_t a = (uint64_t)from * width + bit, b = (uint64_t)to * width + bit;
    const uint8_t value = ((const uint8_t *)source)[a / 8] >> (a % 8) & 1;
    ((uint8_t *)target)[b / 8] |= (uint8_t)(value << (b % 8));
  }
}

static int32_t check_form(const rt_constant *sparse, ops_error *error) {
  const rt_sparse *form = sparse->sparse;
  const int64_t count = form->values->element_count;
  const int64_t width = form->indices->rank == 1 ? 1 : sparse->rank;
  int64_t expected;
  if (form->format == RT_SPARSE_COO && form->indices->elem_type == OPS_TYPE_INT64 &&
      (form->indices->rank == 1 || form->indices->rank == 2) &&
      !__builtin_mul_overflow(count, width, &expected) &&
      form->indices->element_count == expected)
    return OPS_OK;
  return ops_error_set_cause(
      error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
      "a sparse constant has %" PRId64 " values and %" PRId64
      " indices; expected int64 positions, one or a vector for each value",
      count, form->indices->element_count);
}

static int32_t check_size(const rt_constant *sparse, int32_t bits, ops_error *error) {
  const uint64_t each = bits ? ((uint64_t)bits + 7) / 8 : sizeof(ops_str);
  if ((uint64_t)sparse->element_count <= RT_CONSTANT_MAX_DENSE_BYTES / each) return OPS_OK;
  return ops_error_set_cause(error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
                             "a sparse constant stands for %" PRId64
                             " elements; written out they would take more than %" PRIu64
                             " bytes (RT_CONSTANT_MAX_DENSE_BYTES)",
                             sparse->element_count, RT_CONSTANT_MAX_DENSE_BYTES);
}

static int32_t outside(int64_t i, ops_error *error) {
  return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
                             "value %" PRId64 " of a sparse constant lies outside its shape",
                             i);
}

static int32_t write_strings(const rt_constant *sparse, rt_constant **out_dense,
                             ops_error *error) {
  const rt_constant *values = sparse->sparse->values;
  ops_str *texts = calloc((size_t)sparse->element_count + 1, sizeof *texts);
  int32_t status = OPS_OK;
  if (!texts) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a constant of strings");
  for (int64_t i = 0; i < values->element_count && status == OPS_OK; ++i) {
    const int64_t at = position_of(sparse, i);
    if (at < 0)
      status = outside(i, error);
    else
      texts[at] = values->strings[i];
  }
  if (status == OPS_OK)
    status = rt_constant_create_strings(sparse->rank, sparse->dims, texts, out_dense, error);
  free(texts);
  return status;
}

int32_t rt_constant_write_out(const rt_constant *sparse, rt_constant **out_dense,
                              ops_error *error) {
  const rt_constant *values = sparse->sparse->values;
  uint64_t eight = 0;
  *out_dense = NULL;
  const int strings = sparse->elem_type == OPS_TYPE_STRING;
  if (!strings) rt_elem_type_bytes(sparse->elem_type, 8, &eight);
  const int32_t bits = (int32_t)eight;  // eight elements take as many bytes as one has bits
  OPS_RETURN_IF_ERROR(check_form(sparse, error));
  OPS_RETURN_IF_ERROR(check_size(sparse, bits, error));
  if (strings) return write_strings(sparse, out_dense, error);
  rt_constant *dense = NULL;
  OPS_RETURN_IF_ERROR(
      rt_constant_create(sparse->elem_type, sparse->rank, sparse->dims, NULL, &dense, error));
  for (int64_t i = 0; i < values->element_count; ++i) {
    const int64_t at = position_of(sparse, i);
    if (at < 0) {
      rt_constant_release(dense);
      return outside(i, error);
    }
    copy_element(bits, rt_constant_mutable_data(dense), at, values->data, i);
  }
  *out_dense = dense;
  return OPS_OK;
}

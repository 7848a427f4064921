// SPDX-License-Identifier: Apache-2.0
//
// Element types and tensor descriptors. The type table is OPS_TYPE_LIST.
#include <ops_support/checked.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stddef.h>
#include <string.h>

static const struct {
  const char *name;
  int32_t bits;
} kTypes[OPS_TYPE_COUNT] = {
#define X(number, name, bits) [number] = {name, bits},
    OPS_TYPE_LIST(X)
#undef X
};

static int is_type(int32_t type) {
  return type > 0 && type < OPS_TYPE_COUNT;
}

const char *ops_type_name(int32_t type) {
  return is_type(type) ? kTypes[type].name : "undefined";
}

int32_t ops_type_from_name(ops_str name) {
  for (int32_t type = 1; type < OPS_TYPE_COUNT; ++type)
    if (ops_str_equal(name, kTypes[type].name)) return type;
  return OPS_TYPE_UNDEFINED;
}

int32_t ops_type_bits(int32_t type) {
  return is_type(type) ? kTypes[type].bits : 0;
}

int32_t ops_type_bytes(int32_t type, int64_t count, uint64_t *out_bytes) {
  const int32_t bits = ops_type_bits(type);
  uint64_t whole;
  if (bits == 0 || count < 0) return 0;
  // Eight elements are `bits` bytes; the rest, less than eight, is rounded up.
  if (!ops_checked_mul((uint64_t)count / 8, (uint64_t)bits, &whole)) return 0;
  return ops_checked_add(whole, ((uint64_t)count % 8 * (uint64_t)bits + 7) / 8, out_bytes);
}

int64_t ops_tensor_count(const ops_tensor *tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; ++i) count *= tensor->dims[i];
  return count;
}

void ops_strides_contiguous(int32_t rank, const int64_t *dims, int64_t *out_strides) {
  int64_t step = 1;
  for (int32_t i = rank - 1; i >= 0; --i) {
    out_strides[i] = step;
    if (__builtin_mul_overflow(step, dims[i] > 0 ? dims[i] : 1, &step)) step = INT64_MAX;
  }
}

int32_t ops_strides_are_contiguous(int32_t rank, const int64_t *dims, const int64_t *strides) {
  if (!strides) return 1;
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] == 0) return 1;
  int64_t step = 1;
  for (int32_t i = rank - 1; i >= 0; --i) {
    if (dims[i] == 1) continue;
    if (strides[i] != step) return 0;
    step *= dims[i];
  }
  return 1;
}

int32_t ops_broadcast_dims(int32_t a_rank, const int64_t *a_dims, int32_t b_rank,
                           const int64_t *b_dims, int64_t *out_dims) {
  const int32_t rank = a_rank > b_rank ? a_rank : b_rank;
  for (int32_t i = rank - 1; i >= 0; --i) {
    const int32_t ai = i - (rank - a_rank), bi = i - (rank - b_rank);
    const int64_t a = ai >= 0 ? a_dims[ai] : 1, b = bi >= 0 ? b_dims[bi] : 1;
    if (a != b && a != 1 && b != 1) return -1;
    out_dims[i] = a == 1 ? b : a;
  }
  return rank;
}

void ops_broadcast_strides(int32_t rank, const int64_t *dims, const int64_t *strides,
                           int32_t out_rank, const int64_t *out_dims, int64_t *out_strides) {
  for (int32_t i = 0; i < out_rank; ++i) {
    const int32_t k = i - (out_rank - rank);
    out_strides[i] = k >= 0 && dims[k] == out_dims[i] ? strides[k] : 0;
  }
}

void ops_reply_set_output(ops_prepare_reply *reply, uint64_t index, int32_t type, int32_t rank,
                          const int64_t *dims) {
  ops_output_info *info =
      (ops_output_info *)((char *)reply->outputs + index * reply->output_stride);
  info->mode = OPS_SHAPE_KNOWN;
  info->type = type;
  info->rank = rank;
  info->layout = OPS_LAYOUT_STRIDED;
  info->max_bytes = 0;
  if (rank > 0) memcpy(info->dims, dims, (size_t)rank * sizeof *dims);
}

void ops_reply_set_unread(ops_prepare_reply *reply, uint64_t inputs) {
  if (reply->struct_size >= offsetof(ops_prepare_reply, unread_inputs) + sizeof inputs)
    reply->unread_inputs = inputs;
}

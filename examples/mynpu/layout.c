// SPDX-License-Identifier: Apache-2.0
//
// kWeightsLayout: convolution weights [m, c, kh, kw] as [ceil(m / kBlock), c, kh, kw, kBlock],
// padded with zeros, so that the matrix unit reads the weights of kBlock output channels side
// by side. With groups, blocks are cut from all m channels; conv.c uses the layout where kBlock
// divides m / group.
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "npu.h"

uint64_t npu_weights_size(int32_t rank, const int64_t *dims) {
  uint64_t blocks = 0, bytes = sizeof(float) * kBlock;
  if (rank != 4 || dims[0] <= 0 || !ops_checked_align((uint64_t)dims[0], kBlock, &blocks))
    return 0;
  if (!ops_checked_mul(bytes, blocks / kBlock, &bytes)) return 0;
  for (int32_t i = 1; i < rank; ++i)
    if (dims[i] <= 0 || !ops_checked_mul(bytes, (uint64_t)dims[i], &bytes)) return 0;
  return bytes;
}

int32_t npu_layout_size(ops_device *device, uint32_t layout, int32_t type, int32_t rank,
                        const int64_t *dims, uint64_t *out_bytes, ops_error *error) {
  (void)device;
  if (layout == kWeightsLayout && type == OPS_TYPE_FLOAT) {
    *out_bytes = npu_weights_size(rank, dims);
    if (*out_bytes) return OPS_OK;
  }
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "layout %u, type %s, rank %d: mynpu has layout %d for non-empty float "
                       "tensors of rank 4",
                       layout, ops_type_name(type), rank, kWeightsLayout);
}

static void pack(const int64_t *dims, const float *from, float *to) {
  const int64_t inner = dims[1] * dims[2] * dims[3];
  for (int64_t m = 0; m < dims[0]; ++m)
    for (int64_t i = 0; i < inner; ++i)
      to[(m / kBlock * inner + i) * kBlock + m % kBlock] = from[m * inner + i];
}

static void unpack(const int64_t *dims, const float *from, float *to) {
  const int64_t inner = dims[1] * dims[2] * dims[3];
  for (int64_t m = 0; m < dims[0]; ++m)
    for (int64_t i = 0; i < inner; ++i)
      to[m * inner + i] = from[(m / kBlock * inner + i) * kBlock + m % kBlock];
}

static int32_t locate(ops_device *device, const ops_arg *arg, uint64_t bytes,
                      void **out_address, ops_error *error) {
  if (arg->memory_kind == OPS_MEMORY_DEVICE)
    return npu_address(device, arg->tensor.memory, arg->tensor.byte_offset, bytes, out_address,
                       error);
  *out_address = ops_tensor_data(&arg->tensor);
  return OPS_OK;
}

// Bytes of one side; the strided side must be contiguous.
static int32_t side_size(ops_device *device, const ops_tensor *t, uint64_t *out_bytes,
                         ops_error *error) {
  int64_t count;
  if (t->layout != OPS_LAYOUT_STRIDED)
    return npu_layout_size(device, t->layout, t->type, t->rank, t->dims, out_bytes, error);
  if (ops_strides_are_contiguous(t->rank, t->dims, t->strides) &&
      ops_checked_count(t->dims, t->rank, &count) && ops_type_bytes(t->type, count, out_bytes))
    return OPS_OK;
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                       "reorder: the strided side is not contiguous");
}

int32_t npu_reorder(ops_device *device, ops_stream *stream, const ops_arg *source,
                    const ops_arg *target, ops_error *error) {
  const ops_tensor *from = &source->tensor, *to = &target->tensor;
  uint64_t from_bytes, to_bytes;
  void *from_data, *to_data;
  OPS_RETURN_IF_ERROR(side_size(device, from, &from_bytes, error));
  OPS_RETURN_IF_ERROR(side_size(device, to, &to_bytes, error));
  if (from->type != OPS_TYPE_FLOAT || to->type != OPS_TYPE_FLOAT || from->rank != to->rank ||
      (from->layout == to->layout) ||
      memcmp(from->dims, to->dims, (size_t)from->rank * sizeof *from->dims) != 0)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "reorder: expected two float tensors of one shape in two layouts");
  OPS_RETURN_IF_ERROR(locate(device, source, from_bytes, &from_data, error));
  OPS_RETURN_IF_ERROR(locate(device, target, to_bytes, &to_data, error));
  // Stream order is kept by draining the stream: weights are reordered once, when a model is
  // loaded.
  if (stream) OPS_RETURN_IF_ERROR(npu_stream_api.synchronize(stream, error));
  if (to->layout == kWeightsLayout) {
    memset(to_data, 0, to_bytes);
    pack(from->dims, from_data, to_data);
  } else {
    unpack(from->dims, from_data, to_data);
  }
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// Element types and tensor descriptors: sizes, addresses, strides, broadcasting.
#ifndef OPS_SUPPORT_TENSOR_H_
#define OPS_SUPPORT_TENSOR_H_

#include <ops/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

// "float16" and the like; "undefined" for a number outside OPS_TYPE_LIST. Static.
const char *ops_type_name(int32_t type);
// The number of a name of OPS_TYPE_LIST; OPS_TYPE_UNDEFINED if there is none.
int32_t ops_type_from_name(ops_str name);
// Bits of one element; 0 for strings and unknown numbers.
int32_t ops_type_bits(int32_t type);
// Bytes of `count` dense elements, rounded up to whole bytes. Returns 0 on overflow or for
// strings.
int32_t ops_type_bytes(int32_t type, int64_t count, uint64_t *out_bytes);

// Address of element (0, 0, …) of a tensor in host-visible memory; NULL for one without memory,
// which has no elements.
static inline void *ops_tensor_data(const ops_tensor *tensor) {
  return tensor->memory ? (char *)tensor->memory + tensor->byte_offset : NULL;
}

// The number of elements; the host has checked that it fits.
int64_t ops_tensor_count(const ops_tensor *tensor);

// Row-major strides, in elements. Those of a shape with too many elements, which no memory has,
// end at INT64_MAX.
void ops_strides_contiguous(int32_t rank, const int64_t *dims, int64_t *out_strides);
// 1 if `strides` (NULL counts as contiguous) visits the elements in row-major order without
// gaps. Strides of dimensions of size 1 do not matter; an empty tensor is contiguous.
int32_t ops_strides_are_contiguous(int32_t rank, const int64_t *dims, const int64_t *strides);

// ONNX (numpy) broadcasting of two shapes; out_dims has room for the larger rank and may be one
// of the inputs. Returns the rank, or -1 if they do not fit.
int32_t ops_broadcast_dims(int32_t a_rank, const int64_t *a_dims, int32_t b_rank,
                           const int64_t *b_dims, int64_t *out_dims);
// Strides with which a tensor is read as if it had the broadcast shape: 0 along stretched dims.
void ops_broadcast_strides(int32_t rank, const int64_t *dims, const int64_t *strides,
                           int32_t out_rank, const int64_t *out_dims, int64_t *out_strides);

// States output `index` of a prepare reply: known shape, strided layout.
void ops_reply_set_output(ops_prepare_reply *reply, uint64_t index, int32_t type, int32_t rank,
                          const int64_t *dims);
// States the constant inputs, bit by bit, that execute will not read because they are packed; a
// host of an older version is not told.
void ops_reply_set_unread(ops_prepare_reply *reply, uint64_t inputs);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_SUPPORT_TENSOR_H_

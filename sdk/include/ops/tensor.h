// SPDX-License-Identifier: Apache-2.0
//
// How data travels: the tensor descriptor, and the argument that holds a tensor or a host
// value.
#ifndef OPS_TENSOR_H_
#define OPS_TENSOR_H_

#include <ops/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// Memory kinds. For HOST, PINNED and SHARED memory the handle is the host address itself; a
// handle of DEVICE memory is opaque to the host, which never dereferences it.
#define OPS_MEMORY_HOST 0    // ordinary host memory
#define OPS_MEMORY_PINNED 1  // host memory that the device can reach
#define OPS_MEMORY_DEVICE 2  // the device's own memory
#define OPS_MEMORY_SHARED 3  // one address, read and written by host and device
#define OPS_MEMORY_KIND_COUNT 4
#define OPS_MEMORY_BIT(kind) ((uint32_t)1 << (kind))

// Layout 0: element (i0, i1, …) lies at sum(ik * strides[k]) elements from the start. Every
// other number is private to the provider that returned it, and the data an opaque blob of
// byte_size bytes.
#define OPS_LAYOUT_STRIDED 0

// A tensor. Executing a kernel costs no accessor call: everything is here. Frozen.
typedef struct ops_tensor {
  const int64_t *dims;     // `rank` entries, each >= 0; borrowed for the call
  const int64_t *strides;  // `rank` entries, in elements; may be 0 (broadcast) or negative
  void *memory;            // handle, see the memory kinds above
  uint64_t byte_offset;    // of element (0, 0, …) from the start of `memory`
  uint64_t byte_size;      // bytes at byte_offset that belong to the tensor; 0 if it is empty
  int32_t type;            // OPS_TYPE_…
  int32_t rank;            // 0 … OPS_MAX_RANK
  uint32_t bit_offset;  // of element (0, 0, …) inside its byte, for types narrower than a byte
  uint32_t layout;      // OPS_LAYOUT_STRIDED, or a private one: strides are then NULL
} ops_tensor;

// A string tensor, sequence, optional or map: a host object, reached through ops_value_api.
typedef struct ops_value ops_value;

#define OPS_ARG_ABSENT 0  // an optional input or output that is not there
#define OPS_ARG_TENSOR 1
#define OPS_ARG_VALUE 2

// One input or output of a kernel. Frozen.
typedef struct ops_arg {
  int32_t kind;         // OPS_ARG_…
  int32_t memory_kind;  // OPS_MEMORY_… of tensor.memory
  ops_tensor tensor;    // kind TENSOR
  ops_value *value;     // kind VALUE, else NULL
} ops_arg;

// Forms in which a constant arrives.
#define OPS_CONSTANT_DENSE 0
#define OPS_CONSTANT_COO 1  // values [nnz], indices [nnz, rank] sorted by row-major position
#define OPS_CONSTANT_CSR 2  // rank 2: values [nnz], indices [nnz] columns, offsets [rows + 1]
#define OPS_CONSTANT_BSR \
  3  // rank 2: values [blocks, block_rows, block_cols], indices and offsets as
     // CSR over blocks

// A constant, in host memory, valid as long as the node view that carries it. Its dense tensors
// are contiguous in row-major order with bit_offset 0. Input struct.
typedef struct ops_constant {
  uint64_t struct_size;
  int32_t format;       // OPS_CONSTANT_…
  int32_t rank;         // of the dense shape
  const int64_t *dims;  // of the dense shape
  ops_arg dense;        // DENSE: the tensor, or the host value
  ops_tensor values;    // sparse forms, as above; int64 indices and offsets
  ops_tensor indices;
  ops_tensor offsets;
  int64_t block_rows;  // BSR
  int64_t block_cols;
} ops_constant;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_TENSOR_H_

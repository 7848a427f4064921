// SPDX-License-Identifier: Apache-2.0
//
// The operators of this provider, each defined in the file of its name. definitions.c gives
// them to the host.
#ifndef CPU_OPS_TABLE_H_
#define CPU_OPS_TABLE_H_

#include "cpu.h"

#define CPU_OP_LIST(X)   \
  X(argmax)              \
  X(attention)           \
  X(binary)              \
  X(cast)                \
  X(clip)                \
  X(concat)              \
  X(constant)            \
  X(conv)                \
  X(conv_integer)        \
  X(conv_transpose)      \
  X(depth_to_space)      \
  X(dynamic_quantize)    \
  X(expand)              \
  X(gather)              \
  X(gemm)                \
  X(global_pool)         \
  X(halves)              \
  X(layer_normalization) \
  X(lrn)                 \
  X(matmul)              \
  X(matmul_integer)      \
  X(normalization)       \
  X(pad)                 \
  X(pool)                \
  X(pool_bytes)          \
  X(pow)                 \
  X(recurrent)           \
  X(qlinear_binary)      \
  X(qlinear_concat)      \
  X(qlinear_softmax)     \
  X(qlinear_unary)       \
  X(quantize)            \
  X(reduce)              \
  X(reshape)             \
  X(resize)              \
  X(shape)               \
  X(slice)               \
  X(softmax)             \
  X(split)               \
  X(tile)                \
  X(transpose)           \
  X(unary)               \
  X(where)

#define X(name) extern const cpu_op cpu_##name##_op;
CPU_OP_LIST(X)
#undef X

#endif  // CPU_OPS_TABLE_H_

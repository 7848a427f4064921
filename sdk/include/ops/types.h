// SPDX-License-Identifier: Apache-2.0
//
// Element types, numbered as TensorProto.DataType of ONNX numbers them.
#ifndef OPS_TYPES_H_
#define OPS_TYPES_H_

#include <ops/base.h>

#define OPS_TYPE_UNDEFINED 0
#define OPS_TYPE_FLOAT 1
#define OPS_TYPE_UINT8 2
#define OPS_TYPE_INT8 3
#define OPS_TYPE_UINT16 4
#define OPS_TYPE_INT16 5
#define OPS_TYPE_INT32 6
#define OPS_TYPE_INT64 7
#define OPS_TYPE_STRING 8
#define OPS_TYPE_BOOL 9
#define OPS_TYPE_FLOAT16 10
#define OPS_TYPE_DOUBLE 11
#define OPS_TYPE_UINT32 12
#define OPS_TYPE_UINT64 13
#define OPS_TYPE_COMPLEX64 14
#define OPS_TYPE_COMPLEX128 15
#define OPS_TYPE_BFLOAT16 16
#define OPS_TYPE_FLOAT8E4M3FN 17
#define OPS_TYPE_FLOAT8E4M3FNUZ 18
#define OPS_TYPE_FLOAT8E5M2 19
#define OPS_TYPE_FLOAT8E5M2FNUZ 20
#define OPS_TYPE_UINT4 21
#define OPS_TYPE_INT4 22
#define OPS_TYPE_FLOAT4E2M1 23
#define OPS_TYPE_FLOAT8E8M0 24
#define OPS_TYPE_UINT2 25
#define OPS_TYPE_INT2 26
#define OPS_TYPE_FLOAT6E2M3 27
#define OPS_TYPE_FLOAT6E3M2 28
#define OPS_TYPE_COUNT 29  // one more than the largest number

// X(number, name in contracts and messages, bits of one element; 0: a host object).
// Types narrower than a byte are dense: element i occupies the bits [i*bits, (i+1)*bits),
// counted from the least significant bit of the first byte; one of 6 bits may span two bytes.
#define OPS_TYPE_LIST(X)                          \
  X(OPS_TYPE_FLOAT, "float", 32)                  \
  X(OPS_TYPE_UINT8, "uint8", 8)                   \
  X(OPS_TYPE_INT8, "int8", 8)                     \
  X(OPS_TYPE_UINT16, "uint16", 16)                \
  X(OPS_TYPE_INT16, "int16", 16)                  \
  X(OPS_TYPE_INT32, "int32", 32)                  \
  X(OPS_TYPE_INT64, "int64", 64)                  \
  X(OPS_TYPE_STRING, "string", 0)                 \
  X(OPS_TYPE_BOOL, "bool", 8)                     \
  X(OPS_TYPE_FLOAT16, "float16", 16)              \
  X(OPS_TYPE_DOUBLE, "double", 64)                \
  X(OPS_TYPE_UINT32, "uint32", 32)                \
  X(OPS_TYPE_UINT64, "uint64", 64)                \
  X(OPS_TYPE_COMPLEX64, "complex64", 64)          \
  X(OPS_TYPE_COMPLEX128, "complex128", 128)       \
  X(OPS_TYPE_BFLOAT16, "bfloat16", 16)            \
  X(OPS_TYPE_FLOAT8E4M3FN, "float8e4m3fn", 8)     \
  X(OPS_TYPE_FLOAT8E4M3FNUZ, "float8e4m3fnuz", 8) \
  X(OPS_TYPE_FLOAT8E5M2, "float8e5m2", 8)         \
  X(OPS_TYPE_FLOAT8E5M2FNUZ, "float8e5m2fnuz", 8) \
  X(OPS_TYPE_UINT4, "uint4", 4)                   \
  X(OPS_TYPE_INT4, "int4", 4)                     \
  X(OPS_TYPE_FLOAT4E2M1, "float4e2m1", 4)         \
  X(OPS_TYPE_FLOAT8E8M0, "float8e8m0", 8)         \
  X(OPS_TYPE_UINT2, "uint2", 2)                   \
  X(OPS_TYPE_INT2, "int2", 2)                     \
  X(OPS_TYPE_FLOAT6E2M3, "float6e2m3", 6)         \
  X(OPS_TYPE_FLOAT6E3M2, "float6e3m2", 6)

// A set of element types, a uint64_t: bit n stands for type number n.
#define OPS_TYPE_BIT(type) ((uint64_t)1 << (type))

#endif  // OPS_TYPES_H_

// SPDX-License-Identifier: Apache-2.0
//
// Sets of element types that definitions name.
#ifndef REFERENCE_TYPE_SETS_H_
#define REFERENCE_TYPE_SETS_H_

#include <ops/types.h>

#define REF_BOOLEAN OPS_TYPE_BIT(OPS_TYPE_BOOL)
#define REF_STRINGS OPS_TYPE_BIT(OPS_TYPE_STRING)
#define REF_REALS                                                  \
  (OPS_TYPE_BIT(OPS_TYPE_FLOAT16) | OPS_TYPE_BIT(OPS_TYPE_FLOAT) | \
   OPS_TYPE_BIT(OPS_TYPE_DOUBLE) | OPS_TYPE_BIT(OPS_TYPE_BFLOAT16))
#define REF_SIGNED_INTEGERS                                                                    \
  (OPS_TYPE_BIT(OPS_TYPE_INT8) | OPS_TYPE_BIT(OPS_TYPE_INT16) | OPS_TYPE_BIT(OPS_TYPE_INT32) | \
   OPS_TYPE_BIT(OPS_TYPE_INT64))
#define REF_UNSIGNED_INTEGERS                                     \
  (OPS_TYPE_BIT(OPS_TYPE_UINT8) | OPS_TYPE_BIT(OPS_TYPE_UINT16) | \
   OPS_TYPE_BIT(OPS_TYPE_UINT32) | OPS_TYPE_BIT(OPS_TYPE_UINT64))
#define REF_INTEGERS (REF_SIGNED_INTEGERS | REF_UNSIGNED_INTEGERS)
#define REF_WIDE_INTEGERS                                        \
  (OPS_TYPE_BIT(OPS_TYPE_INT32) | OPS_TYPE_BIT(OPS_TYPE_INT64) | \
   OPS_TYPE_BIT(OPS_TYPE_UINT32) | OPS_TYPE_BIT(OPS_TYPE_UINT64))
#define REF_COMPLEXES (OPS_TYPE_BIT(OPS_TYPE_COMPLEX64) | OPS_TYPE_BIT(OPS_TYPE_COMPLEX128))
#define REF_FLOAT8                                                               \
  (OPS_TYPE_BIT(OPS_TYPE_FLOAT8E4M3FN) | OPS_TYPE_BIT(OPS_TYPE_FLOAT8E4M3FNUZ) | \
   OPS_TYPE_BIT(OPS_TYPE_FLOAT8E5M2) | OPS_TYPE_BIT(OPS_TYPE_FLOAT8E5M2FNUZ))
#define REF_SMALL                                                     \
  (OPS_TYPE_BIT(OPS_TYPE_UINT4) | OPS_TYPE_BIT(OPS_TYPE_INT4) |       \
   OPS_TYPE_BIT(OPS_TYPE_FLOAT4E2M1) | OPS_TYPE_BIT(OPS_TYPE_UINT2) | \
   OPS_TYPE_BIT(OPS_TYPE_INT2))
// Everything with a value that double or int64 can hold.
#define REF_NUMBERS                                                  \
  (REF_REALS | REF_INTEGERS | REF_BOOLEAN | REF_FLOAT8 | REF_SMALL | \
   OPS_TYPE_BIT(OPS_TYPE_FLOAT8E8M0))
#define REF_TENSORS (REF_NUMBERS | REF_COMPLEXES)  // every type but strings
#define REF_ALL (REF_TENSORS | REF_STRINGS)
#define REF_INT64 OPS_TYPE_BIT(OPS_TYPE_INT64)
#define REF_INDICES (OPS_TYPE_BIT(OPS_TYPE_INT32) | OPS_TYPE_BIT(OPS_TYPE_INT64))

#endif  // REFERENCE_TYPE_SETS_H_

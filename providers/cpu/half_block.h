// SPDX-License-Identifier: Apache-2.0
//
// float16 and bfloat16 in blocks: widened to float, computed, rounded once.
#ifndef CPU_HALF_BLOCK_H_
#define CPU_HALF_BLOCK_H_

#include <ops/types.h>
#include <ops_support/half.h>

#include "vec.h"

#define CPU_HALF_BLOCK 256

static inline int cpu_is_half(int32_t type) {
  return type == OPS_TYPE_FLOAT16 || type == OPS_TYPE_BFLOAT16;
}

// Element i of `from` lies i * stride bytes on.
static inline void cpu_half_widen(const cpu_vec *vec, int32_t type, const char *from,
                                  int64_t stride, float *to, int64_t count) {
  if (stride == sizeof(uint16_t)) {
    vec->widen[type == OPS_TYPE_BFLOAT16]((const uint16_t *)from, to, count);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits;
    memcpy(&bits, from + i * stride, sizeof bits);
    to[i] = type == OPS_TYPE_FLOAT16 ? ops_half_to_float(bits) : ops_bfloat16_to_float(bits);
  }
}

static inline void cpu_half_narrow(const cpu_vec *vec, int32_t type, const float *from,
                                   char *to, int64_t count) {
  vec->narrow[type == OPS_TYPE_BFLOAT16](from, (uint16_t *)to, count);
}

#endif  // CPU_HALF_BLOCK_H_

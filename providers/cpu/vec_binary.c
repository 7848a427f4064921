// SPDX-License-Identifier: Apache-2.0
//
// Binary functions and comparisons of every type of whole bytes but float16 and bfloat16, which
// binary.c converts. Integer arithmetic wraps; dividing by zero yields zero rather than a trap.
#include "vec_isa.h"

// X(type number, name, C type)
#define FLOATS(X) X(OPS_TYPE_FLOAT, f32, float) X(OPS_TYPE_DOUBLE, f64, double)
#define SIGNED(X)                 \
  X(OPS_TYPE_INT8, i8, int8_t)    \
  X(OPS_TYPE_INT16, i16, int16_t) \
  X(OPS_TYPE_INT32, i32, int32_t) \
  X(OPS_TYPE_INT64, i64, int64_t)
#define UNSIGNED(X)                 \
  X(OPS_TYPE_UINT8, u8, uint8_t)    \
  X(OPS_TYPE_UINT16, u16, uint16_t) \
  X(OPS_TYPE_UINT32, u32, uint32_t) \
  X(OPS_TYPE_UINT64, u64, uint64_t)
#define INTEGERS(X) SIGNED(X) UNSIGNED(X)

#define LOAD(T, from, at, stride) (*(const T *)((from) + (at) * (stride)))

// One function: vector with vector, vector with scalar, scalar with vector, anything.
#define DEFINE(name, T, R, expression)                                                        \
  static void name(char *y, const char *a, const char *b, int64_t a_stride, int64_t b_stride, \
                   int64_t count) {                                                           \
    const int64_t size = sizeof(T);                                                           \
    R *out = (R *)y;                                                                          \
    const T *left = (const T *)a, *right = (const T *)b;                                      \
    if (a_stride == size && b_stride == size) {                                               \
      CPU_SIMD_FOR {                                                                          \
        const T p = left[i], q = right[i];                                                    \
        out[i] = (R)(expression);                                                             \
      }                                                                                       \
    } else if (a_stride == size && b_stride == 0) {                                           \
      const T q = right[0];                                                                   \
      CPU_SIMD_FOR {                                                                          \
        const T p = left[i];                                                                  \
        out[i] = (R)(expression);                                                             \
      }                                                                                       \
    } else if (a_stride == 0 && b_stride == size) {                                           \
      const T p = left[0];                                                                    \
      CPU_SIMD_FOR {                                                                          \
        const T q = right[i];                                                                 \
        out[i] = (R)(expression);                                                             \
      }                                                                                       \
    } else {                                                                                  \
      for (int64_t i = 0; i < count; ++i) {                                                   \
        const T p = LOAD(T, a, i, a_stride), q = LOAD(T, b, i, b_stride);                     \
        out[i] = (R)(expression);                                                             \
      }                                                                                       \
    }                                                                                         \
  }

// Division that neither traps nor overflows: INT_MIN / -1 wraps.
#define DIVIDE_SIGNED(T, p, q) \
  ((q) == 0 ? (T)0 : (q) == -1 ? (T)(0 - (uint64_t)(p)) : (T)((p) / (q)))
#define DIVIDE_UNSIGNED(T, p, q) ((q) == 0 ? (T)0 : (T)((p) / (q)))

#define DEFINE_FLOAT(number, suffix, T)                    \
  DEFINE(add_##suffix, T, T, p + q)                        \
  DEFINE(sub_##suffix, T, T, p - q)                        \
  DEFINE(mul_##suffix, T, T, p *q)                         \
  DEFINE(div_##suffix, T, T, p / q)                        \
  DEFINE(min_##suffix, T, T, ((p < q) | (p != p)) ? p : q) \
  DEFINE(max_##suffix, T, T, ((p > q) | (p != p)) ? p : q) \
  DEFINE(prelu_##suffix, T, T, p < 0 ? p * q : p)

#define DEFINE_INTEGER(number, suffix, T)               \
  DEFINE(add_##suffix, T, T, (uint64_t)p + (uint64_t)q) \
  DEFINE(sub_##suffix, T, T, (uint64_t)p - (uint64_t)q) \
  DEFINE(mul_##suffix, T, T, (uint64_t)p *(uint64_t)q)  \
  DEFINE(min_##suffix, T, T, p < q ? p : q)             \
  DEFINE(max_##suffix, T, T, p > q ? p : q)             \
  DEFINE(prelu_##suffix, T, T, p < 1 ? (uint64_t)p * (uint64_t)q : (uint64_t)p)

#define DEFINE_COMPARE(number, suffix, T)            \
  DEFINE(equal_##suffix, T, uint8_t, p == q)         \
  DEFINE(less_##suffix, T, uint8_t, p < q)           \
  DEFINE(less_equal_##suffix, T, uint8_t, p <= q)    \
  DEFINE(greater_##suffix, T, uint8_t, p > q)        \
  DEFINE(greater_equal_##suffix, T, uint8_t, p >= q) \
  DEFINE(differ_##suffix, T, uint8_t, p != q)

#define DEFINE_DIV_SIGNED(number, suffix, T) DEFINE(div_##suffix, T, T, DIVIDE_SIGNED(T, p, q))
#define DEFINE_DIV_UNSIGNED(number, suffix, T) \
  DEFINE(div_##suffix, T, T, DIVIDE_UNSIGNED(T, p, q))

FLOATS(DEFINE_FLOAT)
SIGNED(DEFINE_DIV_SIGNED)
UNSIGNED(DEFINE_DIV_UNSIGNED)
INTEGERS(DEFINE_INTEGER)
FLOATS(DEFINE_COMPARE)
INTEGERS(DEFINE_COMPARE)

#define ROW(function, number, suffix) [number] = function##_##suffix,
#define ROW_add(number, suffix, T) ROW(add, number, suffix)
#define ROW_sub(number, suffix, T) ROW(sub, number, suffix)
#define ROW_mul(number, suffix, T) ROW(mul, number, suffix)
#define ROW_div(number, suffix, T) ROW(div, number, suffix)
#define ROW_min(number, suffix, T) ROW(min, number, suffix)
#define ROW_max(number, suffix, T) ROW(max, number, suffix)
#define ROW_prelu(number, suffix, T) ROW(prelu, number, suffix)
#define ROW_equal(number, suffix, T) ROW(equal, number, suffix)
#define ROW_less(number, suffix, T) ROW(less, number, suffix)
#define ROW_less_equal(number, suffix, T) ROW(less_equal, number, suffix)
#define ROW_greater(number, suffix, T) ROW(greater, number, suffix)
#define ROW_greater_equal(number, suffix, T) ROW(greater_equal, number, suffix)
#define ROW_differ(number, suffix, T) ROW(differ, number, suffix)

const cpu_binary_fn CPU_ISA_NAME(cpu_vec_binary)[CPU_BINARY_COUNT][OPS_TYPE_COUNT] = {
#define X(name) [CPU_BINARY_##name] = {FLOATS(ROW_##name) INTEGERS(ROW_##name)},
    CPU_ARITHMETIC_LIST(X) CPU_COMPARE_LIST(X)
#undef X
};

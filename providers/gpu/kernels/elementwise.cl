// SPDX-License-Identifier: Apache-2.0
//
// Elementwise functions: OP_NAME(T, operands…, attributes…) of compute type COMPUTE(T). The
// kernel that uses them is generated behind this text; see expression.c.

// Sizes of the merged dimensions, and for each input its strides along them.
typedef struct shape_t {
  IDX size[RANK];
  IDX stride[INPUTS][RANK];
} shape_t;

#define OF(T, name) CAT(do_##name##_, T)
#define IS_NAN(a) ((a) != (a))
#define FLAG(a) ((uchar)((a) ? 1 : 0))

// ---- Integers ----

// Division truncates; by zero it gives 0, and the smallest number by -1 wraps: neither traps.
// Mod has the divisor's sign, fmod that of the dividend.
#define INTEGERS(N, ONES, IS_SIGNED)                                        \
  DEVICE C_##N do_div_##N(C_##N a, C_##N b) {                               \
    if (b == 0) return 0;                                                   \
    if (IS_SIGNED && b == (C_##N) - 1) return (C_##N)(0 - a);               \
    return (C_##N)(a / b);                                                  \
  }                                                                         \
  DEVICE C_##N do_rem_##N(C_##N a, C_##N b) {                               \
    if (b == 0 || (IS_SIGNED && b == (C_##N) - 1)) return 0;                \
    return (C_##N)(a % b);                                                  \
  }                                                                         \
  DEVICE C_##N do_mod_##N(C_##N a, C_##N b, float fmod_attribute) {         \
    const C_##N r = do_rem_##N(a, b);                                       \
    if (fmod_attribute != 0.0f || r == 0) return r;                         \
    return (C_##N)((IS_SIGNED && (r < 0) != (b < 0)) ? r + b : r);          \
  }                                                                         \
  DEVICE C_##N do_max_##N(C_##N a, C_##N b) {                               \
    return a > b ? a : b;                                                   \
  }                                                                         \
  DEVICE C_##N do_min_##N(C_##N a, C_##N b) {                               \
    return a < b ? a : b;                                                   \
  }                                                                         \
  DEVICE C_##N do_abs_##N(C_##N a) {                                        \
    return (C_##N)((IS_SIGNED && a < 0) ? 0 - a : a);                       \
  }                                                                         \
  DEVICE C_##N do_pow_##N(C_##N a, C_##N b) {                               \
    C_##N result = 1;                                                       \
    if (IS_SIGNED && b < 0)                                                 \
      return (C_##N)(a == 1 ? 1 : a == (C_##N) - 1 ? (b & 1 ? -1 : 1) : 0); \
    for (; b > 0; b = (C_##N)(b >> 1), a = (C_##N)(a * a))                  \
      if (b & 1) result = (C_##N)(result * a);                              \
    return result;                                                          \
  }
INTEGERS(int8, 8, 1)
INTEGERS(int16, 16, 1)
INTEGERS(int32, 32, 1)
INTEGERS(int64, 64, 1)
INTEGERS(uint8, 8, 0)
INTEGERS(uint16, 16, 0)
INTEGERS(uint32, 32, 0)
INTEGERS(uint64, 64, 0)

// ---- Floating point ----

// Smaller and larger keep NaN, whichever operand it is; -0 is below +0.
#define FLOATS(N)                                                   \
  DEVICE C_##N do_div_##N(C_##N a, C_##N b) {                       \
    return a / b;                                                   \
  }                                                                 \
  DEVICE C_##N do_mod_##N(C_##N a, C_##N b, float fmod_attribute) { \
    const C_##N r = fmod(a, b);                                     \
    if (fmod_attribute != 0.0f || r == 0 || IS_NAN(r)) return r;    \
    return (r < 0) != (b < 0) ? r + b : r;                          \
  }                                                                 \
  DEVICE C_##N do_max_##N(C_##N a, C_##N b) {                       \
    if (IS_NAN(a)) return a;                                        \
    if (IS_NAN(b)) return b;                                        \
    if (a == b) return signbit(a) ? b : a;                          \
    return a > b ? a : b;                                           \
  }                                                                 \
  DEVICE C_##N do_min_##N(C_##N a, C_##N b) {                       \
    if (IS_NAN(a)) return a;                                        \
    if (IS_NAN(b)) return b;                                        \
    if (a == b) return signbit(a) ? a : b;                          \
    return a < b ? a : b;                                           \
  }                                                                 \
  DEVICE C_##N do_abs_##N(C_##N a) {                                \
    return fabs(a);                                                 \
  }                                                                 \
  DEVICE C_##N do_pow_##N(C_##N a, C_##N b) {                       \
    return pow(a, b);                                               \
  }                                                                 \
  DEVICE C_##N do_sigmoid_##N(C_##N a) {                            \
    const C_##N e = exp(-fabs(a));                                  \
    return a >= 0 ? 1 / (1 + e) : IS_NAN(a) ? a : e / (1 + e);      \
  }                                                                 \
  DEVICE C_##N do_softplus_##N(C_##N a) {                           \
    if (IS_NAN(a)) return a;                                        \
    return (a > 0 ? a : (C_##N)0) + log1p(exp(-fabs(a)));           \
  }                                                                 \
  DEVICE C_##N do_clamp_##N(C_##N a, C_##N low, C_##N high) {       \
    return IS_NAN(a) ? a : a < low ? low : a > high ? high : a;     \
  }
FLOATS(float)
FLOATS(float16)
FLOATS(bfloat16)
#if GPU_FP64
FLOATS(double)
#endif

// ---- Arithmetic ----

#define OP_Identity(T, a) (a)
#define OP_Add(T, a, b) ((COMPUTE(T))((a) + (b)))
#define OP_Sub(T, a, b) ((COMPUTE(T))((a) - (b)))
#define OP_Mul(T, a, b) ((COMPUTE(T))((a) * (b)))
#define OP_Div(T, a, b) OF(T, div)(a, b)
#define OP_Mod(T, a, b, fmod_attribute) OF(T, mod)(a, b, fmod_attribute)
#define OP_Pow(T, a, b) OF(T, pow)(a, (COMPUTE(T))(b))
#define OP_Max(T, a, b) OF(T, max)(a, b)
#define OP_Max_END(T, a, n) (a)
#define OP_Min(T, a, b) OF(T, min)(a, b)
#define OP_Min_END(T, a, n) (a)
#define OP_Sum(T, a, b) OP_Add(T, a, b)
#define OP_Sum_END(T, a, n) (a)
#define OP_Mean(T, a, b) OP_Add(T, a, b)
#define OP_Mean_END(T, a, n) ((a) / (COMPUTE(T))(n))
#define OP_Abs(T, a) OF(T, abs)(a)
#define OP_Neg(T, a) ((COMPUTE(T))(-(a)))
#define OP_Sign(T, a) ((COMPUTE(T))(IS_NAN(a) ? (a) : (a) > 0 ? 1 : (a) < 0 ? -1 : 0))
#define OP_Floor(T, a) floor(a)
#define OP_Ceil(T, a) ceil(a)
#define OP_Round(T, a) rint(a)
#define OP_Sqrt(T, a) sqrt(a)
#define OP_Reciprocal(T, a) ((COMPUTE(T))1 / (a))
// Bounds that cross give the upper one, as min(max(a, low), high) does.
#define OP_Clip(T, a, low, high)                      \
  (IS_NAN(a)      ? (a)                               \
   : (a) < (low)  ? ((low) > (high) ? (high) : (low)) \
   : (a) > (high) ? (high)                            \
                  : (a))
#define OP_Clip_1(T, a, high) ((a) > (high) ? (high) : (a))
#define OP_Clip_2(T, a, low) ((a) < (low) ? (low) : (a))
#define OP_Clip_3(T, a) (a)
#define OP_ClipOld(T, a, low, high) OP_Clip(T, a, (COMPUTE(T))(low), (COMPUTE(T))(high))

// ---- Functions ----

#define OP_Exp(T, a) exp(a)
#define OP_Log(T, a) log(a)
#define OP_Sin(T, a) sin(a)
#define OP_Cos(T, a) cos(a)
#define OP_Tan(T, a) tan(a)
#define OP_Asin(T, a) asin(a)
#define OP_Acos(T, a) acos(a)
#define OP_Atan(T, a) atan(a)
#define OP_Sinh(T, a) sinh(a)
#define OP_Cosh(T, a) cosh(a)
#define OP_Tanh(T, a) tanh(a)
#define OP_Asinh(T, a) asinh(a)
#define OP_Acosh(T, a) acosh(a)
#define OP_Atanh(T, a) atanh(a)
#define OP_Erf(T, a) erf(a)

// ---- Activations ----

#define OP_Relu(T, a) ((COMPUTE(T))((a) < 0 ? 0 : (a)))
#define OP_LeakyRelu(T, a, alpha) ((a) < 0 ? (COMPUTE(T))(alpha) * (a) : (a))
#define OP_PRelu(T, a, slope) ((COMPUTE(T))((a) < 0 ? (a) * (slope) : (a)))
#define OP_Elu(T, a, alpha) ((a) < 0 ? (COMPUTE(T))(alpha)*expm1(a) : (a))
#define OP_Celu(T, a, alpha) \
  ((a) < 0 ? (COMPUTE(T))(alpha)*expm1((a) / (COMPUTE(T))(alpha)) : (a))
#define OP_Selu(T, a, alpha, gamma_) \
  ((COMPUTE(T))(gamma_) * ((a) < 0 ? (COMPUTE(T))(alpha)*expm1(a) : (a)))
#define OP_ThresholdedRelu(T, a, alpha) \
  (IS_NAN(a) ? (a) : (a) > (COMPUTE(T))(alpha) ? (a) : (COMPUTE(T))0)
#define OP_Shrink(T, a, bias, lambd)                                   \
  ((COMPUTE(T))((a) < -(COMPUTE(T))(lambd)  ? (a) + (COMPUTE(T))(bias) \
                : (a) > (COMPUTE(T))(lambd) ? (a) - (COMPUTE(T))(bias) \
                : IS_NAN(a)                 ? (a)                      \
                                            : 0))
#define OP_Sigmoid(T, a) OF(T, sigmoid)(a)
#define OP_HardSigmoid(T, a, alpha, beta) \
  OF(T, clamp)((COMPUTE(T))(alpha) * (a) + (COMPUTE(T))(beta), 0, 1)
#define OP_HardSwish(T, a) ((a)*OF(T, clamp)((a) / 6 + (COMPUTE(T))0.5, 0, 1))
#define OP_Softplus(T, a) OF(T, softplus)(a)
#define OP_Softsign(T, a) \
  (isinf(a) ? ((a) > 0 ? (COMPUTE(T))1 : (COMPUTE(T)) - 1) : (a) / (1 + fabs(a)))
#define OP_Mish(T, a) ((a)*tanh(OF(T, softplus)(a)))
#define OP_Swish(T, a, alpha) ((a)*OF(T, sigmoid)((COMPUTE(T))(alpha) * (a)))
#define OP_Gelu_none(T, a) \
  ((COMPUTE(T))0.5 * (a) * (1 + erf((a) * (COMPUTE(T))0.70710678118654752440)))
#define OP_Gelu_tanh(T, a)                        \
  ((COMPUTE(T))0.5 * (a) *                        \
   (1 + tanh((COMPUTE(T))0.79788456080286535588 * \
             ((a) + (COMPUTE(T))0.044715 * (a) * (a) * (a)))))

// ---- Logic, comparisons, bits ----

#define OP_Not(T, a) FLAG(!(a))
#define OP_And(T, a, b) FLAG((a) && (b))
#define OP_Or(T, a, b) FLAG((a) || (b))
#define OP_Xor(T, a, b) FLAG(!(a) != !(b))
#define OP_Equal(T, a, b) FLAG((a) == (b))
#define OP_Less(T, a, b) FLAG((a) < (b))
#define OP_LessOrEqual(T, a, b) FLAG((a) <= (b))
#define OP_Greater(T, a, b) FLAG((a) > (b))
#define OP_GreaterOrEqual(T, a, b) FLAG((a) >= (b))
#define OP_IsNaN(T, a) FLAG(IS_NAN(a))
#define OP_IsInf(T, a, negative, positive) \
  FLAG(isinf(a) && ((a) > 0 ? (positive) != 0.0f : (negative) != 0.0f))
#define OP_BitwiseNot(T, a) ((COMPUTE(T))(~(a)))
#define OP_BitwiseAnd(T, a, b) ((COMPUTE(T))((a) & (b)))
#define OP_BitwiseOr(T, a, b) ((COMPUTE(T))((a) | (b)))
#define OP_BitwiseXor(T, a, b) ((COMPUTE(T))((a) ^ (b)))
#define OP_BitShift_LEFT(T, a, b) \
  ((COMPUTE(T))((b) < sizeof(COMPUTE(T)) * 8 ? (ulong)(a) << (b) : 0))
#define OP_BitShift_RIGHT(T, a, b) ((COMPUTE(T))((b) < sizeof(COMPUTE(T)) * 8 ? (a) >> (b) : 0))
#define OP_Where(T, condition, a, b) ((condition) ? (a) : (b))

// ---- Casts ----

// To bool: what is not zero, NaN too. Both halves compute in float, and are rounded by whoever
// stores them.
#define CAST_TO_bool(a) FLAG((a) != 0)
#define CAST_TO_float(a) ((float)(a))
#define CAST_TO_float16(a) ((float)(a))
#define CAST_TO_bfloat16(a) ((float)(a))
#define CAST_TO_double(a) ((double)(a))
#define CAST_TO_int8(a) ((C_int8)(long)(a))
#define CAST_TO_int16(a) ((short)(long)(a))
#define CAST_TO_int32(a) ((int)(long)(a))
#define CAST_TO_int64(a) ((long)(a))
#define CAST_TO_uint8(a) ((uchar)(long)(a))
#define CAST_TO_uint16(a) ((ushort)(long)(a))
#define CAST_TO_uint32(a) ((uint)(long)(a))
#define CAST_TO_uint64(a) ((ulong)(a))
#define OP_Cast(T, RESULT, a) CAT(CAST_TO_, RESULT)(a)

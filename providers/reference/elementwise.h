// SPDX-License-Identifier: Apache-2.0
//
// The uniform elementwise operators as lists: X(operator, since, names, types,
// output). `names` tells what the schema calls the arguments, `output` whether the result has
// the type of the inputs or is bool. unary.c and binary.c hold their formulas, table.c makes
// definitions of the lists.
#ifndef REFERENCE_ELEMENTWISE_H_
#define REFERENCE_ELEMENTWISE_H_

#include "kernel.h"
#include "type_sets.h"

#define REF_UNARY_LIST(X)                               \
  X(Abs, 1, XY, REF_REALS | REF_INTEGERS, SAME)         \
  X(Acos, 7, INPUT, REF_REALS, SAME)                    \
  X(Acosh, 9, INPUT, REF_REALS, SAME)                   \
  X(Asin, 7, INPUT, REF_REALS, SAME)                    \
  X(Asinh, 9, INPUT, REF_REALS, SAME)                   \
  X(Atan, 7, INPUT, REF_REALS, SAME)                    \
  X(Atanh, 9, INPUT, REF_REALS, SAME)                   \
  X(BitwiseNot, 18, XY, REF_INTEGERS, SAME)             \
  X(Ceil, 1, XY, REF_REALS, SAME)                       \
  X(Celu, 12, XY, REF_REALS, SAME)                      \
  X(Cos, 7, INPUT, REF_REALS, SAME)                     \
  X(Cosh, 9, INPUT, REF_REALS, SAME)                    \
  X(Elu, 1, XY, REF_REALS, SAME)                        \
  X(Erf, 9, INPUT, REF_REALS | REF_INTEGERS, SAME)      \
  X(Exp, 1, INPUT, REF_REALS, SAME)                     \
  X(Floor, 1, XY, REF_REALS, SAME)                      \
  X(Gelu, 20, XY, REF_REALS, SAME)                      \
  X(HardSigmoid, 1, XY, REF_REALS, SAME)                \
  X(HardSwish, 14, XY, REF_REALS, SAME)                 \
  X(IsInf, 10, XY, REF_REALS | REF_FLOAT8, BOOL)        \
  X(IsNaN, 9, XY, REF_REALS | REF_FLOAT8, BOOL)         \
  X(LeakyRelu, 1, XY, REF_REALS, SAME)                  \
  X(Log, 1, INPUT, REF_REALS, SAME)                     \
  X(Mish, 18, XY, REF_REALS, SAME)                      \
  X(Neg, 1, XY, REF_REALS | REF_SIGNED_INTEGERS, SAME)  \
  X(Not, 1, XY, REF_BOOLEAN, BOOL)                      \
  X(Reciprocal, 1, XY, REF_REALS, SAME)                 \
  X(Relu, 1, XY, REF_REALS | REF_SIGNED_INTEGERS, SAME) \
  X(Round, 11, XY, REF_REALS, SAME)                     \
  X(Selu, 1, XY, REF_REALS, SAME)                       \
  X(Shrink, 9, INPUT, REF_REALS | REF_INTEGERS, SAME)   \
  X(Sigmoid, 1, XY, REF_REALS, SAME)                    \
  X(Sign, 9, INPUT, REF_REALS | REF_INTEGERS, SAME)     \
  X(Sin, 7, INPUT, REF_REALS, SAME)                     \
  X(Sinh, 9, INPUT, REF_REALS, SAME)                    \
  X(Softplus, 1, XY, REF_REALS, SAME)                   \
  X(Softsign, 1, INPUT, REF_REALS, SAME)                \
  X(Sqrt, 1, XY, REF_REALS, SAME)                       \
  X(Swish, 24, XY, REF_REALS, SAME)                     \
  X(Tan, 7, INPUT, REF_REALS, SAME)                     \
  X(Tanh, 1, INPUT, REF_REALS, SAME)                    \
  X(ThresholdedRelu, 10, XY, REF_REALS, SAME)

// Those of com.microsoft.
#define REF_FUSED_UNARY_LIST(X) X(QuickGelu, 1, XY, REF_REALS, SAME)

// Two inputs that broadcast.
#define REF_BINARY_LIST(X)                                                     \
  X(Add, 7, ABC, REF_REALS | REF_INTEGERS, SAME)                               \
  X(And, 7, ABC, REF_BOOLEAN, BOOL)                                            \
  X(BitShift, 11, XYZ, REF_INTEGERS, SAME)                                     \
  X(BitwiseAnd, 18, ABC, REF_INTEGERS, SAME)                                   \
  X(BitwiseOr, 18, ABC, REF_INTEGERS, SAME)                                    \
  X(BitwiseXor, 18, ABC, REF_INTEGERS, SAME)                                   \
  X(Div, 7, ABC, REF_REALS | REF_INTEGERS, SAME)                               \
  X(Equal, 7, ABC, REF_REALS | REF_INTEGERS | REF_BOOLEAN | REF_STRINGS, BOOL) \
  X(Greater, 7, ABC, REF_REALS | REF_INTEGERS, BOOL)                           \
  X(GreaterOrEqual, 12, ABC, REF_REALS | REF_INTEGERS, BOOL)                   \
  X(Less, 7, ABC, REF_REALS | REF_INTEGERS, BOOL)                              \
  X(LessOrEqual, 12, ABC, REF_REALS | REF_INTEGERS, BOOL)                      \
  X(Mod, 10, ABC, REF_REALS | REF_INTEGERS, SAME)                              \
  X(Mul, 7, ABC, REF_REALS | REF_INTEGERS, SAME)                               \
  X(Or, 7, ABC, REF_BOOLEAN, BOOL)                                             \
  X(PRelu, 7, SLOPE, REF_REALS | REF_WIDE_INTEGERS, SAME)                      \
  X(Sub, 7, ABC, REF_REALS | REF_INTEGERS, SAME)                               \
  X(Xor, 7, ABC, REF_BOOLEAN, BOOL)

// One or more inputs that broadcast.
#define REF_VARIADIC_LIST(X)                     \
  X(Max, 8, MAX, REF_REALS | REF_INTEGERS, SAME) \
  X(Mean, 8, MEAN, REF_REALS, SAME)              \
  X(Min, 8, MIN, REF_REALS | REF_INTEGERS, SAME) \
  X(Sum, 8, SUM, REF_REALS, SAME)

// Their versions before they broadcast freely: X(operator, until, names, types, output, how).
// `how`: limited: as attributes broadcast and axis say; slopes: one for each channel; equal:
// not at all.
#define REF_LIMITED_BINARY_LIST(X)                           \
  X(Add, 6, ABC, REF_REALS | REF_INTEGERS, SAME, limited)    \
  X(And, 6, ABC, REF_BOOLEAN, BOOL, limited)                 \
  X(Div, 6, ABC, REF_REALS | REF_INTEGERS, SAME, limited)    \
  X(Equal, 6, ABC, REF_INDICES | REF_BOOLEAN, BOOL, limited) \
  X(Greater, 6, ABC, REF_REALS, BOOL, limited)               \
  X(Less, 6, ABC, REF_REALS, BOOL, limited)                  \
  X(Mul, 6, ABC, REF_REALS | REF_INTEGERS, SAME, limited)    \
  X(Or, 6, ABC, REF_BOOLEAN, BOOL, limited)                  \
  X(PRelu, 6, SLOPE, REF_REALS, SAME, slopes)                \
  X(Sub, 6, ABC, REF_REALS | REF_INTEGERS, SAME, limited)    \
  X(Xor, 6, ABC, REF_BOOLEAN, BOOL, limited)

#define REF_LIMITED_VARIADIC_LIST(X)       \
  X(Max, 7, MAX, REF_REALS, SAME, equal)   \
  X(Mean, 7, MEAN, REF_REALS, SAME, equal) \
  X(Min, 7, MIN, REF_REALS, SAME, equal)   \
  X(Sum, 7, SUM, REF_REALS, SAME, equal)

#define REF_UNARY_NAME(op, since, names, types, out) REF_UNARY_##op,
enum { REF_UNARY_LIST(REF_UNARY_NAME) REF_FUSED_UNARY_LIST(REF_UNARY_NAME) REF_UNARY_COUNT };
extern const ref_op ref_unary[REF_UNARY_COUNT];

// Gelu by erf, or its approximation by tanh.
double ref_gelu(double x, int approximate);

#define REF_BINARY_NAME(op, since, names, types, out) REF_BINARY_##op,
enum { REF_BINARY_LIST(REF_BINARY_NAME) REF_VARIADIC_LIST(REF_BINARY_NAME) REF_BINARY_COUNT };
extern const ref_op ref_binary[REF_BINARY_COUNT], ref_limited[REF_BINARY_COUNT];

#endif  // REFERENCE_ELEMENTWISE_H_

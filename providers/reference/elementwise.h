// SPDX-License-Identifier: Apache-2.0
//
// The uniform elementwise operators as lists: X(operator, since, input types, output types).
// unary.c and binary.c hold their formulas, table.c makes definitions of the lists.
#ifndef REFERENCE_ELEMENTWISE_H_
#define REFERENCE_ELEMENTWISE_H_

#include "kernel.h"
#include "type_sets.h"

#define REF_UNARY_LIST(X)                           \
  X(Abs, 1, REF_REALS | REF_INTEGERS, SAME)         \
  X(Acos, 1, REF_REALS, SAME)                       \
  X(Acosh, 9, REF_REALS, SAME)                      \
  X(Asin, 1, REF_REALS, SAME)                       \
  X(Asinh, 9, REF_REALS, SAME)                      \
  X(Atan, 1, REF_REALS, SAME)                       \
  X(Atanh, 9, REF_REALS, SAME)                      \
  X(BitwiseNot, 18, REF_INTEGERS, SAME)             \
  X(Ceil, 1, REF_REALS, SAME)                       \
  X(Celu, 12, REF_REALS, SAME)                      \
  X(Cos, 1, REF_REALS, SAME)                        \
  X(Cosh, 9, REF_REALS, SAME)                       \
  X(Elu, 1, REF_REALS, SAME)                        \
  X(Erf, 9, REF_REALS, SAME)                        \
  X(Exp, 1, REF_REALS, SAME)                        \
  X(Floor, 1, REF_REALS, SAME)                      \
  X(Gelu, 20, REF_REALS, SAME)                      \
  X(HardSigmoid, 1, REF_REALS, SAME)                \
  X(HardSwish, 14, REF_REALS, SAME)                 \
  X(IsInf, 10, REF_REALS | REF_FLOAT8, BOOL)        \
  X(IsNaN, 9, REF_REALS | REF_FLOAT8, BOOL)         \
  X(LeakyRelu, 1, REF_REALS, SAME)                  \
  X(Log, 1, REF_REALS, SAME)                        \
  X(Mish, 18, REF_REALS, SAME)                      \
  X(Neg, 1, REF_REALS | REF_SIGNED_INTEGERS, SAME)  \
  X(Not, 1, REF_BOOLEAN, BOOL)                      \
  X(Reciprocal, 1, REF_REALS, SAME)                 \
  X(Relu, 1, REF_REALS | REF_SIGNED_INTEGERS, SAME) \
  X(Round, 11, REF_REALS, SAME)                     \
  X(Selu, 1, REF_REALS, SAME)                       \
  X(Shrink, 9, REF_REALS | REF_INTEGERS, SAME)      \
  X(Sigmoid, 1, REF_REALS, SAME)                    \
  X(Sign, 9, REF_REALS | REF_INTEGERS, SAME)        \
  X(Sin, 1, REF_REALS, SAME)                        \
  X(Sinh, 9, REF_REALS, SAME)                       \
  X(Softplus, 1, REF_REALS, SAME)                   \
  X(Softsign, 1, REF_REALS, SAME)                   \
  X(Sqrt, 1, REF_REALS, SAME)                       \
  X(Swish, 24, REF_REALS, SAME)                     \
  X(Tan, 1, REF_REALS, SAME)                        \
  X(Tanh, 1, REF_REALS, SAME)                       \
  X(ThresholdedRelu, 10, REF_REALS, SAME)

// Two inputs that broadcast.
#define REF_BINARY_LIST(X)                                                \
  X(Add, 7, REF_REALS | REF_INTEGERS, SAME)                               \
  X(And, 7, REF_BOOLEAN, BOOL)                                            \
  X(BitShift, 11, REF_INTEGERS, SAME)                                     \
  X(BitwiseAnd, 18, REF_INTEGERS, SAME)                                   \
  X(BitwiseOr, 18, REF_INTEGERS, SAME)                                    \
  X(BitwiseXor, 18, REF_INTEGERS, SAME)                                   \
  X(Div, 7, REF_REALS | REF_INTEGERS, SAME)                               \
  X(Equal, 7, REF_REALS | REF_INTEGERS | REF_BOOLEAN | REF_STRINGS, BOOL) \
  X(Greater, 7, REF_REALS | REF_INTEGERS, BOOL)                           \
  X(GreaterOrEqual, 12, REF_REALS | REF_INTEGERS, BOOL)                   \
  X(Less, 7, REF_REALS | REF_INTEGERS, BOOL)                              \
  X(LessOrEqual, 12, REF_REALS | REF_INTEGERS, BOOL)                      \
  X(Mod, 10, REF_REALS | REF_INTEGERS, SAME)                              \
  X(Mul, 7, REF_REALS | REF_INTEGERS, SAME)                               \
  X(Or, 7, REF_BOOLEAN, BOOL)                                             \
  X(PRelu, 7, REF_REALS | REF_WIDE_INTEGERS, SAME)                        \
  X(Sub, 7, REF_REALS | REF_INTEGERS, SAME)                               \
  X(Xor, 7, REF_BOOLEAN, BOOL)

// One or more inputs that broadcast.
#define REF_VARIADIC_LIST(X)                \
  X(Max, 8, REF_REALS | REF_INTEGERS, SAME) \
  X(Mean, 8, REF_REALS, SAME)               \
  X(Min, 8, REF_REALS | REF_INTEGERS, SAME) \
  X(Sum, 8, REF_REALS, SAME)

#define REF_UNARY_NAME(op, since, in, out) REF_UNARY_##op,
enum { REF_UNARY_LIST(REF_UNARY_NAME) REF_UNARY_COUNT };
extern const ref_op ref_unary[REF_UNARY_COUNT];

#define REF_BINARY_NAME(op, since, in, out) REF_BINARY_##op,
enum { REF_BINARY_LIST(REF_BINARY_NAME) REF_VARIADIC_LIST(REF_BINARY_NAME) REF_BINARY_COUNT };
extern const ref_op ref_binary[REF_BINARY_COUNT];

#endif  // REFERENCE_ELEMENTWISE_H_

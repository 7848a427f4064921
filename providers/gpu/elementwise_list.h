// SPDX-License-Identifier: Apache-2.0
//
// The elementwise operators: X(symbol, macro, operands, flags, variant, its values, params…).
// A param is F("alpha", 1) for an attribute of kind float, I("to", 0) for one of kind int.
#ifndef GPU_ELEMENTWISE_LIST_H_
#define GPU_ELEMENTWISE_LIST_H_

#include "expression.h"

#define GPU_UNARY_LIST(X)                                                               \
  X(Abs, "Abs", 1, 0, NULL, NULL)                                                       \
  X(Neg, "Neg", 1, 0, NULL, NULL)                                                       \
  X(Sign, "Sign", 1, 0, NULL, NULL)                                                     \
  X(Floor, "Floor", 1, 0, NULL, NULL)                                                   \
  X(Ceil, "Ceil", 1, 0, NULL, NULL)                                                     \
  X(Round, "Round", 1, 0, NULL, NULL)                                                   \
  X(Sqrt, "Sqrt", 1, 0, NULL, NULL)                                                     \
  X(Reciprocal, "Reciprocal", 1, 0, NULL, NULL)                                         \
  X(Exp, "Exp", 1, 0, NULL, NULL)                                                       \
  X(Log, "Log", 1, 0, NULL, NULL)                                                       \
  X(Sin, "Sin", 1, 0, NULL, NULL)                                                       \
  X(Cos, "Cos", 1, 0, NULL, NULL)                                                       \
  X(Tan, "Tan", 1, 0, NULL, NULL)                                                       \
  X(Asin, "Asin", 1, 0, NULL, NULL)                                                     \
  X(Acos, "Acos", 1, 0, NULL, NULL)                                                     \
  X(Atan, "Atan", 1, 0, NULL, NULL)                                                     \
  X(Sinh, "Sinh", 1, 0, NULL, NULL)                                                     \
  X(Cosh, "Cosh", 1, 0, NULL, NULL)                                                     \
  X(Tanh, "Tanh", 1, 0, NULL, NULL)                                                     \
  X(Asinh, "Asinh", 1, 0, NULL, NULL)                                                   \
  X(Acosh, "Acosh", 1, 0, NULL, NULL)                                                   \
  X(Atanh, "Atanh", 1, 0, NULL, NULL)                                                   \
  X(Erf, "Erf", 1, 0, NULL, NULL)                                                       \
  X(Relu, "Relu", 1, 0, NULL, NULL)                                                     \
  X(LeakyRelu, "LeakyRelu", 1, 0, NULL, NULL, F("alpha", 0.01f))                        \
  X(Elu, "Elu", 1, 0, NULL, NULL, F("alpha", 1))                                        \
  X(Celu, "Celu", 1, 0, NULL, NULL, F("alpha", 1))                                      \
  X(Selu, "Selu", 1, 0, NULL, NULL, F("alpha", 1.67326319217681884765625f),             \
    F("gamma", 1.05070102214813232421875f))                                             \
  X(ThresholdedRelu, "ThresholdedRelu", 1, 0, NULL, NULL, F("alpha", 1))                \
  X(Shrink, "Shrink", 1, 0, NULL, NULL, F("bias", 0), F("lambd", 0.5f))                 \
  X(Sigmoid, "Sigmoid", 1, 0, NULL, NULL)                                               \
  X(HardSigmoid, "HardSigmoid", 1, 0, NULL, NULL, F("alpha", 0.2f), F("beta", 0.5f))    \
  X(HardSwish, "HardSwish", 1, 0, NULL, NULL)                                           \
  X(Softplus, "Softplus", 1, 0, NULL, NULL)                                             \
  X(Softsign, "Softsign", 1, 0, NULL, NULL)                                             \
  X(Mish, "Mish", 1, 0, NULL, NULL)                                                     \
  X(Swish, "Swish", 1, 0, NULL, NULL, F("alpha", 1))                                    \
  X(Gelu, "Gelu", 1, 0, "approximate", gpu_gelu_variants)                               \
  X(Not, "Not", 1, 0, NULL, NULL)                                                       \
  X(BitwiseNot, "BitwiseNot", 1, 0, NULL, NULL)                                         \
  X(IsNaN, "IsNaN", 1, 0, NULL, NULL)                                                   \
  X(IsInf, "IsInf", 1, 0, NULL, NULL, I("detect_negative", 1), I("detect_positive", 1)) \
  X(Identity, "Identity", 1, 0, NULL, NULL)                                             \
  X(Cast, "Cast", 1, GPU_ELEMENTWISE_CASTS, NULL, NULL)                                 \
  X(ClipOld, "ClipOld", 1, 0, NULL, NULL, F("min", -3.402823466e38f), F("max", 3.402823466e38f))

#define GPU_BINARY_LIST(X)                                       \
  X(Add, "Add", 2, 0, NULL, NULL)                                \
  X(Sub, "Sub", 2, 0, NULL, NULL)                                \
  X(Mul, "Mul", 2, 0, NULL, NULL)                                \
  X(Div, "Div", 2, 0, NULL, NULL)                                \
  X(Mod, "Mod", 2, 0, NULL, NULL, I("fmod", 0))                  \
  X(Pow, "Pow", 2, 0, NULL, NULL)                                \
  X(PRelu, "PRelu", 2, GPU_ELEMENTWISE_ONE_WAY, NULL, NULL)      \
  X(And, "And", 2, 0, NULL, NULL)                                \
  X(Or, "Or", 2, 0, NULL, NULL)                                  \
  X(Xor, "Xor", 2, 0, NULL, NULL)                                \
  X(BitwiseAnd, "BitwiseAnd", 2, 0, NULL, NULL)                  \
  X(BitwiseOr, "BitwiseOr", 2, 0, NULL, NULL)                    \
  X(BitwiseXor, "BitwiseXor", 2, 0, NULL, NULL)                  \
  X(BitShift, "BitShift", 2, 0, "direction", gpu_shift_variants) \
  X(Equal, "Equal", 2, 0, NULL, NULL)                            \
  X(Less, "Less", 2, 0, NULL, NULL)                              \
  X(LessOrEqual, "LessOrEqual", 2, 0, NULL, NULL)                \
  X(Greater, "Greater", 2, 0, NULL, NULL)                        \
  X(GreaterOrEqual, "GreaterOrEqual", 2, 0, NULL, NULL)          \
  X(Min, "Min", 2, GPU_ELEMENTWISE_FOLDS, NULL, NULL)            \
  X(Max, "Max", 2, GPU_ELEMENTWISE_FOLDS, NULL, NULL)            \
  X(Sum, "Sum", 2, GPU_ELEMENTWISE_FOLDS, NULL, NULL)            \
  X(Mean, "Mean", 2, GPU_ELEMENTWISE_FOLDS, NULL, NULL)          \
  X(Where, "Where", 3, GPU_ELEMENTWISE_TYPE_OF_1, NULL, NULL)    \
  X(Clip, "Clip", 3, 0, NULL, NULL)

#define X(symbol, ...) extern const gpu_elementwise gpu_elementwise_##symbol;
GPU_UNARY_LIST(X)
GPU_BINARY_LIST(X)
#undef X

#endif  // GPU_ELEMENTWISE_LIST_H_

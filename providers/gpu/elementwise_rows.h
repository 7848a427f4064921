// SPDX-License-Identifier: Apache-2.0
#include "elementwise_list.h"

#define ELEMENTWISE(op, since, until, symbol, ...) \
  ROW(op, since, until, gpu_elementwise_##symbol.base, __VA_ARGS__)
#define UNARY(op, symbol, since, until, types)                                           \
  ELEMENTWISE(op, since, until, symbol, INPUTS(IN("X", types)), OUTPUTS(IN("Y", types)), \
              IN_PLACE(MAY_ALIAS(0)))
#define TEST(op, symbol, since, until, types)                             \
  ELEMENTWISE(op, since, until, symbol, INPUTS(ARG("X", "T1", types, 0)), \
              OUTPUTS(ARG("Y", "T2", BOOL, 0)))
#define BINARY(op, symbol, since, until, types)                                 \
  ELEMENTWISE(op, since, until, symbol, INPUTS(IN("A", types), IN("B", types)), \
              OUTPUTS(IN("C", types)), IN_PLACE(MAY_ALIAS(0), MAY_ALIAS(1)))
#define COMPARE(op, symbol, since, until, types)                                \
  ELEMENTWISE(op, since, until, symbol, INPUTS(IN("A", types), IN("B", types)), \
              OUTPUTS(ARG("C", "T1", BOOL, 0)))
#define FOLD(op, symbol, since, until, types)                          \
  ELEMENTWISE(op, since, until, symbol, INPUTS(MANY("data_0", types)), \
              OUTPUTS(IN("result", types)))

#define GPU_ELEMENTWISE_ROWS                                                                   \
  UNARY("Abs", Abs, 1, 0, NUMBERS), UNARY("Neg", Neg, 1, 0, FLOATS | SIGNED),                  \
      UNARY("Sign", Sign, 9, 0, NUMBERS), UNARY("Floor", Floor, 1, 0, FLOATS),                 \
      UNARY("Ceil", Ceil, 1, 0, FLOATS), UNARY("Round", Round, 11, 0, FLOATS),                 \
      UNARY("Sqrt", Sqrt, 1, 0, FLOATS), UNARY("Reciprocal", Reciprocal, 1, 0, FLOATS),        \
      UNARY("Exp", Exp, 1, 0, FLOATS), UNARY("Log", Log, 1, 0, FLOATS),                        \
      UNARY("Sin", Sin, 7, 0, FLOATS), UNARY("Cos", Cos, 7, 0, FLOATS),                        \
      UNARY("Tan", Tan, 7, 0, FLOATS), UNARY("Asin", Asin, 7, 0, FLOATS),                      \
      UNARY("Acos", Acos, 7, 0, FLOATS), UNARY("Atan", Atan, 7, 0, FLOATS),                    \
      UNARY("Sinh", Sinh, 9, 0, FLOATS), UNARY("Cosh", Cosh, 9, 0, FLOATS),                    \
      UNARY("Tanh", Tanh, 1, 0, FLOATS), UNARY("Asinh", Asinh, 9, 0, FLOATS),                  \
      UNARY("Acosh", Acosh, 9, 0, FLOATS), UNARY("Atanh", Atanh, 9, 0, FLOATS),                \
      UNARY("Erf", Erf, 9, 0, FLOATS), UNARY("Relu", Relu, 1, 13, FLOATS),                     \
      UNARY("Relu", Relu, 14, 0, FLOATS | SIGNED),                                             \
      UNARY("LeakyRelu", LeakyRelu, 1, 0, FLOATS), UNARY("Elu", Elu, 1, 0, FLOATS),            \
      UNARY("Celu", Celu, 12, 0, FLOATS), UNARY("Selu", Selu, 6, 0, FLOATS),                   \
      UNARY("ThresholdedRelu", ThresholdedRelu, 10, 0, FLOATS),                                \
      UNARY("Shrink", Shrink, 9, 0, NUMBERS), UNARY("Sigmoid", Sigmoid, 1, 0, FLOATS),         \
      UNARY("HardSigmoid", HardSigmoid, 1, 0, FLOATS),                                         \
      UNARY("HardSwish", HardSwish, 14, 0, FLOATS), UNARY("Softplus", Softplus, 1, 0, FLOATS), \
      UNARY("Softsign", Softsign, 1, 0, FLOATS), UNARY("Mish", Mish, 18, 0, FLOATS),           \
      UNARY("Swish", Swish, 24, 0, FLOATS), UNARY("Gelu", Gelu, 20, 0, FLOATS),                \
      UNARY("Not", Not, 1, 0, BOOL), UNARY("BitwiseNot", BitwiseNot, 18, 0, INTEGERS),         \
      ELEMENTWISE("Identity", 1, 0, Identity, INPUTS(IN("X", MOVED)), OUTPUTS(IN("Y", MOVED)), \
                  IN_PLACE(VIEW_OF(0))),                                                       \
      UNARY("Clip", ClipOld, 6, 10, FLOATS), TEST("IsNaN", IsNaN, 9, 0, FLOATS),               \
      TEST("IsInf", IsInf, 10, 0, FLOATS),                                                     \
      ELEMENTWISE("Cast", 6, 0, Cast, INPUTS(ARG("input", "T1", NUMBERS | BOOL, 0)),           \
                  OUTPUTS(ARG("output", "T2", NUMBERS | BOOL, 0))),                            \
      BINARY("Add", Add, 7, 0, NUMBERS), BINARY("Sub", Sub, 7, 0, NUMBERS),                    \
      BINARY("Mul", Mul, 7, 0, NUMBERS), BINARY("Div", Div, 7, 0, NUMBERS),                    \
      BINARY("Mod", Mod, 10, 0, NUMBERS), BINARY("And", And, 7, 0, BOOL),                      \
      BINARY("Or", Or, 7, 0, BOOL), BINARY("Xor", Xor, 7, 0, BOOL),                            \
      BINARY("BitwiseAnd", BitwiseAnd, 18, 0, INTEGERS),                                       \
      BINARY("BitwiseOr", BitwiseOr, 18, 0, INTEGERS),                                         \
      BINARY("BitwiseXor", BitwiseXor, 18, 0, INTEGERS),                                       \
      BINARY("BitShift", BitShift, 11, 0, UNSIGNED),                                           \
      COMPARE("Equal", Equal, 7, 0, NUMBERS | BOOL), COMPARE("Less", Less, 7, 0, NUMBERS),     \
      COMPARE("LessOrEqual", LessOrEqual, 12, 0, NUMBERS),                                     \
      COMPARE("Greater", Greater, 7, 0, NUMBERS),                                              \
      COMPARE("GreaterOrEqual", GreaterOrEqual, 12, 0, NUMBERS),                               \
      FOLD("Min", Min, 8, 0, NUMBERS), FOLD("Max", Max, 8, 0, NUMBERS),                        \
      FOLD("Sum", Sum, 8, 0, FLOATS), FOLD("Mean", Mean, 8, 0, FLOATS),                        \
      ELEMENTWISE("Pow", 7, 0, Pow,                                                            \
                  INPUTS(IN("X", FLOATS | INDEX), ARG("Y", "T1", FLOATS | INDEX, 0)),          \
                  OUTPUTS(IN("Z", FLOATS | INDEX))),                                           \
      ELEMENTWISE("PRelu", 7, 0, PRelu,                                                        \
                  INPUTS(IN("X", FLOATS | INDEX), IN("slope", FLOATS | INDEX)),                \
                  OUTPUTS(IN("Y", FLOATS | INDEX)), IN_PLACE(MAY_ALIAS(0))),                   \
      ELEMENTWISE("Where", 9, 0, Where,                                                        \
                  INPUTS(ARG("condition", "B", BOOL, 0), IN("X", MOVED), IN("Y", MOVED)),      \
                  OUTPUTS(IN("output", MOVED))),                                               \
      ELEMENTWISE(                                                                             \
          "Clip", 11, 0, Clip,                                                                 \
          INPUTS(IN("input", NUMBERS), OPTIONAL("min", NUMBERS), OPTIONAL("max", NUMBERS)),    \
          OUTPUTS(IN("output", NUMBERS)), IN_PLACE(MAY_ALIAS(0)))

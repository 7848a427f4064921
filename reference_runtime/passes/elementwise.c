// SPDX-License-Identifier: Apache-2.0
#include "passes/elementwise.h"

#include <string.h>

static const char *const unaries[] = {"Abs",
                                      "Acos",
                                      "Acosh",
                                      "Asin",
                                      "Asinh",
                                      "Atan",
                                      "Atanh",
                                      "Ceil",
                                      "Celu",
                                      "Cos",
                                      "Cosh",
                                      "Elu",
                                      "Erf",
                                      "Exp",
                                      "Floor",
                                      "Gelu",
                                      "HardSigmoid",
                                      "HardSwish",
                                      "IsInf",
                                      "IsNaN",
                                      "LeakyRelu",
                                      "Log",
                                      "Mish",
                                      "Neg",
                                      "Not",
                                      "Reciprocal",
                                      "Relu",
                                      "Round",
                                      "Selu",
                                      "Shrink",
                                      "Sigmoid",
                                      "Sign",
                                      "Sin",
                                      "Sinh",
                                      "Softplus",
                                      "Softsign",
                                      "Sqrt",
                                      "Swish",
                                      "Tan",
                                      "Tanh",
                                      "ThresholdedRelu",
                                      NULL};

static const char *const broadcasting[] = {"Add",       "And",         "BitwiseAnd",
                                           "BitwiseOr", "BitwiseXor",  "Div",
                                           "Equal",     "Greater",     "GreaterOrEqual",
                                           "Less",      "LessOrEqual", "Max",
                                           "Min",       "Mod",         "Mul",
                                           "Or",        "Pow",         "Sub",
                                           "Sum",       "Where",       "Xor",
                                           NULL};

static int is_in(const char *const *list, const rt_node *node) {
  if (node->op.domain[0] || node->post_count) return 0;
  for (; *list; ++list)
    if (strcmp(*list, node->op.name) == 0) return 1;
  return 0;
}

int rt_pass_is_unary(const rt_node *node) {
  return node->input_count == 1 && node->output_count == 1 && is_in(unaries, node);
}

int rt_pass_is_broadcasting(const rt_node *node) {
  return node->op.opset >= 8 && node->output_count == 1 && is_in(broadcasting, node);
}

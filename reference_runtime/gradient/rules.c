// SPDX-License-Identifier: Apache-2.0
//
// The table of derivative rules. G is the derivative of y by the output; by the chain rule the
// derivative by an input is G times the derivative of the output by it (elementwise), or what
// the transpose of the operator's linear map makes of G.
#include "gradient/rules.h"

#include <ops_support/error.h>
#include <string.h>

// A constant of the type of `like`.
#define NUMBER(name, value, like)                                                             \
  name "_float = Constant <value: tensor = float {" value "}> ()\n" name " = CastLike (" name \
       "_float, " like ")\n"
#define SHAPE_OF_X "shape = Shape (X0)\na = Reshape <allowzero: int = 1> (G0, shape)\n"

// Of a mean over axes that are kept.
#define MEAN_OF_X                                                  \
  "shape = Shape (X0)\nwhole = Expand (G0, shape)\n"               \
  "all_int = Size (X0)\nrest_int = Size (Y0)\n"                    \
  "all = CastLike (all_int, G0)\nrest = CastLike (rest_int, G0)\n" \
  "count = Div (all, rest)\na = Div (whole, count)\n"

static const rt_rule rules[] = {
    {"Abs", "a", "sign = Sign (X0)\na = Mul (G0, sign)\n", NULL, RT_SUM_NONE},
    {"Acos", "a",
     NUMBER("one", "1",
            "X0") "square = Mul (X0, X0)\nrest = Sub (one, square)\nroot = Sqrt (rest)\n"
                  "quotient = Div (G0, root)\na = Neg (quotient)\n",
     NULL, RT_SUM_NONE},
    {"Add", "G0, G0", "", NULL, RT_SUM_OUTPUT},
    {"Asin", "a",
     NUMBER("one", "1",
            "X0") "square = Mul (X0, X0)\nrest = Sub (one, square)\nroot = Sqrt (rest)\n"
                  "a = Div (G0, root)\n",
     NULL, RT_SUM_NONE},
    {"Atan", "a",
     NUMBER("one", "1",
            "X0") "square = Mul (X0, X0)\nsum = Add (one, square)\na = Div (G0, sum)\n",
     NULL, RT_SUM_NONE},
    {"BatchNormalization", NULL, NULL, rt_rule_batch_normalization, RT_SUM_NONE},
    {"Cast", "a", "a = CastLike (G0, X0)\n", NULL, RT_SUM_NONE},
    {"CastLike", "a, _", "a = CastLike (G0, X0)\n", NULL, RT_SUM_NONE},
    {"Ceil", "_", "", NULL, RT_SUM_NONE},
    {"Clip", NULL, NULL, rt_rule_clip, RT_SUM_OUTPUT},
    {"Concat", NULL, NULL, rt_rule_concat, RT_SUM_NONE},
    {"Conv", NULL, NULL, rt_rule_conv, RT_SUM_NONE},
    {"Cos", "a", "sine = Sin (X0)\nproduct = Mul (G0, sine)\na = Neg (product)\n", NULL,
     RT_SUM_NONE},
    {"Cosh", "a", "sine = Sinh (X0)\na = Mul (G0, sine)\n", NULL, RT_SUM_NONE},
    {"CumSum", NULL, NULL, rt_rule_cum_sum, RT_SUM_NONE},
    {"DepthToSpace", NULL, NULL, rt_rule_select, RT_SUM_NONE},
    {"Div", "a, b", "a = Div (G0, X1)\nproduct = Mul (a, Y0)\nb = Neg (product)\n", NULL,
     RT_SUM_OUTPUT},
    {"Dropout", NULL, NULL, rt_rule_dropout, RT_SUM_NONE},
    {"Erf", "a",  // 2 / sqrt(pi) * exp(-x^2)
     "scale_double = Constant <value: tensor = double {1.1283791670955126}> ()\n"
     "scale = CastLike (scale_double, X0)\n"
     "square = Mul (X0, X0)\nexponent = Neg (square)\nbell = Exp (exponent)\n"
     "slope = Mul (scale, bell)\na = Mul (G0, slope)\n",
     NULL, RT_SUM_NONE},
    {"Exp", "a", "a = Mul (G0, Y0)\n", NULL, RT_SUM_NONE},
    {"Expand", "G0, _", "", NULL, RT_SUM_OUTPUT},
    {"Flatten", "a", SHAPE_OF_X, NULL, RT_SUM_NONE},
    {"Floor", "_", "", NULL, RT_SUM_NONE},
    {"Gather", NULL, NULL, rt_rule_select, RT_SUM_NONE},
    {"GatherElements", NULL, NULL, rt_rule_select, RT_SUM_NONE},
    {"GatherND", NULL, NULL, rt_rule_select, RT_SUM_NONE},
    {"Gemm", NULL, NULL, rt_rule_gemm, RT_SUM_THIRD},
    {"GlobalAveragePool", "a", MEAN_OF_X, NULL, RT_SUM_NONE},
    {"Identity", "G0", "", NULL, RT_SUM_NONE},
    {"Log", "a", "a = Div (G0, X0)\n", NULL, RT_SUM_NONE},
    {"LogSoftmax", NULL, NULL, rt_rule_softmax, RT_SUM_NONE},
    {"MatMul", NULL, NULL, rt_rule_matmul, RT_SUM_BATCH},
    {"Max", NULL, NULL, rt_rule_extreme, RT_SUM_OUTPUT},
    {"MaxPool", NULL, NULL, rt_rule_max_pool, RT_SUM_NONE},
    {"Mean", NULL, NULL, rt_rule_mean, RT_SUM_OUTPUT},
    {"Min", NULL, NULL, rt_rule_extreme, RT_SUM_OUTPUT},
    {"Mul", "a, b", "a = Mul (G0, X1)\nb = Mul (G0, X0)\n", NULL, RT_SUM_OUTPUT},
    {"Neg", "a", "a = Neg (G0)\n", NULL, RT_SUM_NONE},
    {"Pad", NULL, NULL, rt_rule_select, RT_SUM_NONE},
    {"Pow", "a, b",  // p x^(p-1) and x^p ln x
     "exponent = CastLike (X1, X0)\n" NUMBER(
         "one", "1",
         "X0") "less = Sub (exponent, one)\npower = Pow (X0, less)\nslope = Mul (exponent, "
               "power)\n"
               "a = Mul (G0, slope)\nlogarithm = Log (X0)\ngrowth = Mul (Y0, logarithm)\n"
               "wide = Mul (G0, growth)\nb = CastLike (wide, X1)\n",
     NULL, RT_SUM_OUTPUT},
    {"Reciprocal", "a",
     "square = Mul (Y0, Y0)\nproduct = Mul (G0, square)\na = Neg (product)\n", NULL,
     RT_SUM_NONE},
    {"ReduceMax", NULL, NULL, rt_rule_reduce_extreme, RT_SUM_NONE},
    {"ReduceMean", NULL, NULL, rt_rule_reduce, RT_SUM_NONE},
    {"ReduceMin", NULL, NULL, rt_rule_reduce_extreme, RT_SUM_NONE},
    {"ReduceSum", NULL, NULL, rt_rule_reduce, RT_SUM_NONE},
    {"Relu", "a",
     NUMBER("zero", "0",
            "X0") "positive = Greater (X0, zero)\na = Where (positive, G0, zero)\n",
     NULL, RT_SUM_NONE},
    {"Reshape", "a, _", SHAPE_OF_X, NULL, RT_SUM_NONE},
    {"ReverseSequence", NULL, NULL, rt_rule_select, RT_SUM_NONE},
    {"Round", "_", "", NULL, RT_SUM_NONE},
    {"ScatterElements", NULL, NULL, rt_rule_scatter, RT_SUM_NONE},
    {"Sigmoid", "a",
     "first = Mul (G0, Y0)\nsecond = Mul (first, Y0)\na = Sub (first, second)\n", NULL,
     RT_SUM_NONE},
    {"Sign", "_", "", NULL, RT_SUM_NONE},
    {"Sin", "a", "cosine = Cos (X0)\na = Mul (G0, cosine)\n", NULL, RT_SUM_NONE},
    {"Sinh", "a", "cosine = Cosh (X0)\na = Mul (G0, cosine)\n", NULL, RT_SUM_NONE},
    {"Slice", NULL, NULL, rt_rule_select, RT_SUM_NONE},
    {"Softmax", NULL, NULL, rt_rule_softmax, RT_SUM_NONE},
    {"Softplus", "a", "slope = Sigmoid (X0)\na = Mul (G0, slope)\n", NULL, RT_SUM_NONE},
    {"Split", NULL, NULL, rt_rule_split, RT_SUM_NONE},
    {"Sqrt", "a", "twice = Add (Y0, Y0)\na = Div (G0, twice)\n", NULL, RT_SUM_NONE},
    {"Squeeze", "a, _", SHAPE_OF_X, NULL, RT_SUM_NONE},
    {"Sub", "G0, b", "b = Neg (G0)\n", NULL, RT_SUM_OUTPUT},
    {"Sum", NULL, NULL, rt_rule_sum, RT_SUM_OUTPUT},
    {"Tan", "a", "square = Mul (Y0, Y0)\nproduct = Mul (G0, square)\na = Add (G0, product)\n",
     NULL, RT_SUM_NONE},
    {"Tanh", "a", "square = Mul (Y0, Y0)\nproduct = Mul (G0, square)\na = Sub (G0, product)\n",
     NULL, RT_SUM_NONE},
    {"Tile", NULL, NULL, rt_rule_select, RT_SUM_NONE},
    {"Transpose", NULL, NULL, rt_rule_transpose, RT_SUM_NONE},
    {"Unsqueeze", "a, _", SHAPE_OF_X, NULL, RT_SUM_NONE},
    {"Where", "_, a, b",
     NUMBER("zero", "0", "X1") "a = Where (X0, G0, zero)\nb = Where (X0, zero, G0)\n", NULL,
     RT_SUM_OUTPUT},
};

const rt_rule *rt_rule_find(const rt_op *op) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i)
    if (rt_op_is(op, rules[i].op)) return &rules[i];
  return NULL;
}

int32_t rt_rule_refuse(const rt_node *node, const char *what, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                       "%s%s '%s': its derivative needs %s, which is not known before the "
                       "model runs; declare it in value_info",
                       node->path, node->op.name, node->name, what);
}

int32_t rt_rule_rank(const rt_node *node, uint32_t input) {
  const rt_value *value = rt_node_input(node, input);
  return value && value->type.kind == RT_TYPE_TENSOR ? value->type.rank : RT_RANK_UNKNOWN;
}

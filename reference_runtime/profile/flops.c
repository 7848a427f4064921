// SPDX-License-Identifier: Apache-2.0
//
// One table: operator → formula. The counts follow from the operators' definitions in ONNX (for
// com.microsoft: in ONNX Runtime's ContribOperators.md), operation by operation; each formula
// says what it counts. A shape that is not known makes a formula's result a NaN, which the
// arithmetic carries to the end.
#include "profile/flops.h"

#include <math.h>
#include <ops_support/node.h>

#include "profile/profile.h"

// A node with the types of its arguments, and the constant of its row.
typedef struct operation {
  const ops_node *node;
  const ops_type_info *const *inputs;
  const ops_type_info *const *outputs;
  double factor;
} operation;

static const ops_type_info *input(const operation *o, uint64_t index) {
  return index < o->node->input_count ? o->inputs[index] : NULL;
}

static const ops_type_info *output(const operation *o) {
  return o->node->output_count ? o->outputs[0] : NULL;
}

// The product of the dimensions from `first` on.
static double volume(const ops_type_info *type, int32_t first) {
  double product = 1;
  if (!type || type->rank < 0 || (type->rank > 0 && !type->dims)) return NAN;
  for (int32_t i = first; i < type->rank; ++i)
    product *= type->dims[i] >= 0 ? (double)type->dims[i] : NAN;
  return product;
}

static double elements(const ops_type_info *type) {
  return volume(type, 0);
}

// One dimension; `axis` counts from the end if negative.
static double dim(const ops_type_info *type, int32_t axis) {
  if (!type || type->rank < 0) return NAN;
  if (axis < 0) axis += type->rank;
  if (axis < 0 || axis >= type->rank || type->dims[axis] < 0) return NAN;
  return (double)type->dims[axis];
}

// ---- Formulas -------------------------------------------------------------------------------

// `factor` for each element of the result.
static double per_output(const operation *o) {
  return o->factor * elements(output(o));
}

// `factor` for each element of the first operand.
static double per_input(const operation *o) {
  return o->factor * elements(input(o, 0));
}

// `factor` for each element of the result and each operand behind the first.
static double per_operand(const operation *o) {
  const uint64_t operands = o->node->input_count - o->node->chain_operand_count;
  return operands > 0 ? o->factor * (double)(operands - 1) * elements(output(o)) : 0;
}

// Y[…, m, n] = sum over k of A[…, m, k] B[…, k, n].
static double matmul(const operation *o) {
  const int transposed = ops_node_int(o->node, "transA", 0) != 0;
  const ops_type_info *a = input(o, 0);
  const double inner = a && a->rank == 1 ? dim(a, 0) : dim(a, transposed ? -2 : -1);
  return 2 * inner * elements(output(o));
}

// The same, and the sum with C.
static double gemm(const operation *o) {
  return matmul(o) + (input(o, 2) ? elements(output(o)) : 0);
}

// A quantized product whose factors have scale and zero point behind them: A, a_scale, a_zero,
// B.
static double quantized_product(const operation *o) {
  return 2 * dim(input(o, 0), -1) * elements(output(o));
}

static double convolve(const operation *o, uint64_t weights, uint64_t bias) {
  const ops_type_info *result = output(o);
  return 2 * elements(result) * volume(input(o, weights), 1) +
         (input(o, bias) ? elements(result) : 0);
}

// Each output element is a sum over the input channels of its group and the kernel: W[M,
// C/group, k…].
static double conv(const operation *o) {
  return convolve(o, 1, 2);
}

// ConvInteger: as Conv, zero points in place of the bias.
static double conv_integer(const operation *o) {
  return convolve(o, 1, UINT64_MAX);
}

// QLinearConv: x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, B.
static double quantized_conv(const operation *o) {
  return convolve(o, 3, 8);
}

// Each input element meets the weights of its channel: W[C, M/group, k…].
static double conv_transpose(const operation *o) {
  return 2 * elements(input(o, 0)) * volume(input(o, 1), 1) +
         (input(o, 2) ? elements(output(o)) : 0);
}

// One operation per element of the window.
static double pool(const operation *o) {
  uint64_t count = 0;
  const int64_t *kernel = ops_node_ints(o->node, "kernel_shape", &count);
  double window = kernel ? 1 : NAN;
  for (uint64_t i = 0; i < count; ++i) window *= (double)kernel[i];
  return window * elements(output(o));
}

// X[T, B, I], W[D, gH, I], R[D, gH, H]: at each step of each sequence both products, and factor
// operations for each of the D gH gates (biases, activations, the state's update).
static double recurrent(const operation *o) {
  const ops_type_info *x = input(o, 0), *w = input(o, 1);
  const double steps = dim(x, 0) * dim(x, 1);
  return steps *
         (2 * elements(w) + 2 * elements(input(o, 2)) + o->factor * dim(w, 0) * dim(w, 1));
}

// Q, K, V with the heads in the last dimension or apart: every query meets every key (Q K^T),
// and every weight a value. Keys of the past lie in the inputs 4 and 5.
static double attention(const operation *o) {
  const ops_type_info *keys = input(o, 1);
  const double past = input(o, 4) ? dim(input(o, 4), 2) : 0;
  const double length = dim(keys, -2) + past;
  return 2 * length * (elements(input(o, 0)) + elements(output(o)));
}

// com.microsoft Attention: X[B, S, I] W[I, 3 H] + b, then attention of S queries and S keys.
static double projected_attention(const operation *o) {
  const ops_type_info *x = input(o, 0);
  const double tokens = dim(x, 0) * dim(x, 1);
  return 2 * tokens * elements(input(o, 1)) + 4 * dim(x, 1) * elements(output(o));
}

// Sums of products over all labels of the equation: one multiplication for each operand behind
// the first, one addition.
static double einsum(const operation *o) {
  const ops_str none = {"", 0};
  const ops_str equation = ops_node_string(o->node, "equation", none);
  double sizes[128], product = 1;
  for (int i = 0; i < 128; ++i) sizes[i] = -1;
  uint64_t operand = 0;
  int32_t axis = 0;
  for (uint64_t i = 0; i < equation.size && equation.data[i] != '-'; ++i) {
    const unsigned char letter = (unsigned char)equation.data[i];
    if (letter == '.') return NAN;
    if (letter == ',') {
      operand++;
      axis = 0;
    } else if (letter > ' ' && letter < 128) {
      sizes[letter] = dim(input(o, operand), axis++);
    }
  }
  for (int i = 0; i < 128; ++i) product *= sizes[i] == -1 ? 1 : sizes[i];
  return (double)(operand + 1) * product;
}

// A row of constant 0: the operator moves data, or its output depends on shapes alone.
static double nothing(const operation *o) {
  (void)o;
  return 0;
}

// ---- The table ------------------------------------------------------------------------------

typedef struct row {
  const char *op;
  double (*formula)(const operation *o);
  double factor;
} row;

static const row rows[] = {
    // Sums of products.
    {"MatMul", matmul, 0},
    {"FusedMatMul", matmul, 0},
    {"MatMulInteger", matmul, 0},
    {"DynamicQuantizeMatMul", matmul, 0},
    {"MatMulIntegerToFloat", matmul, 0},
    {"MatMulNBits", matmul, 0},
    {"Gemm", gemm, 0},
    {"FusedGemm", gemm, 0},
    {"QLinearMatMul", quantized_product, 0},
    {"QGemm", quantized_product, 0},
    {"Conv", conv, 0},
    {"FusedConv", conv, 0},
    {"ConvInteger", conv_integer, 0},
    {"QLinearConv", quantized_conv, 0},
    {"ConvTranspose", conv_transpose, 0},
    {"Einsum", einsum, 0},
    {"Attention", attention, 0},
    {"MultiHeadAttention", attention, 0},
    {"GroupQueryAttention", attention, 0},
    // Per gate: two biases and an activation; the rest of the state's update.
    {"LSTM", recurrent, 5},
    {"GRU", recurrent, 5},
    {"RNN", recurrent, 3},
    // One operation for each element.
    {"Add", per_output, 1},
    {"Sub", per_output, 1},
    {"Mul", per_output, 1},
    {"Div", per_output, 1},
    {"Mod", per_output, 1},
    {"Pow", per_output, 1},
    {"PRelu", per_output, 2},
    {"Sum", per_operand, 1},
    {"Max", per_operand, 1},
    {"Min", per_operand, 1},
    {"Mean", per_operand, 2},
    {"BiasAdd", per_operand, 1},
    {"Abs", per_output, 1},
    {"Neg", per_output, 1},
    {"Sqrt", per_output, 1},
    {"Reciprocal", per_output, 1},
    {"Exp", per_output, 1},
    {"Log", per_output, 1},
    {"Erf", per_output, 1},
    {"Sin", per_output, 1},
    {"Cos", per_output, 1},
    {"Tan", per_output, 1},
    {"Asin", per_output, 1},
    {"Acos", per_output, 1},
    {"Atan", per_output, 1},
    {"Sinh", per_output, 1},
    {"Cosh", per_output, 1},
    {"Tanh", per_output, 1},
    {"Asinh", per_output, 1},
    {"Acosh", per_output, 1},
    {"Atanh", per_output, 1},
    {"Ceil", per_output, 1},
    {"Floor", per_output, 1},
    {"Round", per_output, 1},
    {"Sign", per_output, 1},
    {"Relu", per_output, 1},
    {"Equal", per_output, 1},
    {"Less", per_output, 1},
    {"LessOrEqual", per_output, 1},
    {"Greater", per_output, 1},
    {"GreaterOrEqual", per_output, 1},
    {"And", per_output, 1},
    {"Or", per_output, 1},
    {"Xor", per_output, 1},
    {"Not", per_output, 1},
    {"BitwiseAnd", per_output, 1},
    {"BitwiseOr", per_output, 1},
    {"BitwiseXor", per_output, 1},
    {"BitwiseNot", per_output, 1},
    {"BitShift", per_output, 1},
    {"IsNaN", per_output, 1},
    {"IsInf", per_output, 1},
    {"Where", per_output, 1},
    // Several, by the operator's formula.
    {"Clip", per_output, 2},                // min, max
    {"LeakyRelu", per_output, 2},           // x < 0, a x
    {"ThresholdedRelu", per_output, 1},     // x > a
    {"Elu", per_output, 4},                 // x < 0, exp, - 1, a x
    {"Selu", per_output, 5},                // the same, g x
    {"Celu", per_output, 6},                // max, min, x / a, exp, - 1, a x, and the sum
    {"Sigmoid", per_output, 4},             // 1 / (1 + exp(-x))
    {"HardSigmoid", per_output, 4},         // a x + b, max, min
    {"HardSwish", per_output, 5},           // x times that
    {"Swish", per_output, 5},               // x sigmoid(x)
    {"QuickGelu", per_output, 6},           // x sigmoid(a x)
    {"Gelu", per_output, 5},                // x / sqrt(2), erf, + 1, x, / 2
    {"FastGelu", per_output, 9},            // the polynomial, tanh, + 1, x, / 2
    {"BiasGelu", per_output, 6},            // x + b, Gelu
    {"Mish", per_output, 4},                // exp, log(1 + …), tanh, x
    {"Softplus", per_output, 3},            // log(exp(x) + 1)
    {"Softsign", per_output, 3},            // x / (1 + |x|)
    {"Softmax", per_output, 5},             // max, -, exp, sum, /
    {"LogSoftmax", per_output, 5},          // max, -, exp, sum, - log
    {"Hardmax", per_output, 1},             // max
    {"BatchNormalization", per_output, 2},  // scale and shift, constants of a channel
    {"InstanceNormalization", per_output, 7},
    {"GroupNormalization", per_output, 7},
    {"LayerNormalization", per_output, 7},            // sum, -, square, sum, /, x scale, + bias
    {"SimplifiedLayerNormalization", per_output, 4},  // square, sum, /, x scale
    {"RMSNormalization", per_output, 4},
    {"SkipLayerNormalization", per_output, 8},
    {"SkipSimplifiedLayerNormalization", per_output, 5},
    {"EmbedLayerNormalization", per_output, 9},
    {"MeanVarianceNormalization", per_output, 6},
    {"LpNormalization", per_output, 3},
    {"LRN", per_output, 6},
    {"RotaryEmbedding", per_output, 3},        // two products and their sum
    {"QuantizeLinear", per_output, 4},         // /, round, + zero, saturate
    {"DequantizeLinear", per_output, 2},       // - zero, x scale
    {"DynamicQuantizeLinear", per_output, 6},  // min and max first
    {"QLinearAdd", per_output, 9},
    {"QLinearMul", per_output, 9},
    {"QLinearSigmoid", per_output, 10},
    {"QLinearSoftmax", per_output, 11},
    {"QLinearLeakyRelu", per_output, 8},
    {"QLinearAveragePool", pool, 0},
    {"QLinearGlobalAveragePool", per_input, 1},
    {"Resize", per_output, 8},  // bilinear: three interpolations
    {"Upsample", per_output, 8},
    {"GridSample", per_output, 8},
    {"Dropout", nothing, 0},
    // One operation for each element that goes into the result.
    {"MaxPool", pool, 0},
    {"AveragePool", pool, 0},
    {"LpPool", pool, 0},
    {"GlobalAveragePool", per_input, 1},
    {"GlobalMaxPool", per_input, 1},
    {"GlobalLpPool", per_input, 2},
    {"ReduceSum", per_input, 1},
    {"ReduceMean", per_input, 1},
    {"ReduceMax", per_input, 1},
    {"ReduceMin", per_input, 1},
    {"ReduceProd", per_input, 1},
    {"ReduceL1", per_input, 2},
    {"ReduceL2", per_input, 2},
    {"ReduceSumSquare", per_input, 2},
    {"ReduceLogSum", per_input, 1},
    {"ReduceLogSumExp", per_input, 3},
    {"ArgMax", per_input, 1},
    {"ArgMin", per_input, 1},
    {"CumSum", per_input, 1},
    // Movement.
    {"Identity", nothing, 0},
    {"Cast", nothing, 0},
    {"CastLike", nothing, 0},
    {"BitCast", nothing, 0},
    {"Constant", nothing, 0},
    {"ConstantOfShape", nothing, 0},
    {"Shape", nothing, 0},
    {"Size", nothing, 0},
    {"Reshape", nothing, 0},
    {"Flatten", nothing, 0},
    {"Squeeze", nothing, 0},
    {"Unsqueeze", nothing, 0},
    {"Transpose", nothing, 0},
    {"Concat", nothing, 0},
    {"Split", nothing, 0},
    {"Slice", nothing, 0},
    {"Pad", nothing, 0},
    {"Expand", nothing, 0},
    {"Tile", nothing, 0},
    {"Gather", nothing, 0},
    {"GatherElements", nothing, 0},
    {"GatherND", nothing, 0},
    {"ScatterElements", nothing, 0},
    {"ScatterND", nothing, 0},
    {"OneHot", nothing, 0},
    {"Trilu", nothing, 0},
    {"DepthToSpace", nothing, 0},
    {"SpaceToDepth", nothing, 0},
    {"ReverseSequence", nothing, 0},
    {"EyeLike", nothing, 0},
    {"Range", nothing, 0},
    {"NonZero", nothing, 0},
};

// Operators that share a name with one of ai.onnx and are something else.
static const row microsoft_rows[] = {{"Attention", projected_attention, 0}};

static const row *find_in(const row *table, size_t count, ops_str op) {
  for (size_t i = 0; i < count; ++i)
    if (ops_str_equal(op, table[i].op)) return &table[i];
  return NULL;
}

static const row *find(ops_str domain, ops_str op) {
  const row *found = NULL;
  if (ops_str_equal(domain, "com.microsoft"))
    found = find_in(microsoft_rows, sizeof microsoft_rows / sizeof microsoft_rows[0], op);
  return found ? found : find_in(rows, sizeof rows / sizeof rows[0], op);
}

// The operators of a chain work on the result, element by element.
static double chain_flops(const operation *o) {
  double sum = 0;
  for (uint64_t i = 0; i < o->node->post_op_count; ++i) {
    const ops_post_op *post =
        OPS_AT(ops_post_op, o->node->post_ops, o->node->post_op_stride, i);
    const row *found = find(post->domain, post->op);
    if (!found || (found->formula != per_output && found->formula != per_operand)) return NAN;
    sum += found->factor * elements(output(o));
  }
  return sum;
}

double rt_profile_flops(const ops_node *node, const ops_type_info *const *inputs,
                        const ops_type_info *const *outputs) {
  const row *found = find(node->domain, node->op);
  if (!found) return RT_PROFILE_FLOPS_UNKNOWN;
  const operation o = {node, inputs, outputs, found->factor};
  const double flops = found->formula(&o) + chain_flops(&o);
  return isnan(flops) ? RT_PROFILE_FLOPS_UNKNOWN : flops;
}

// SPDX-License-Identifier: Apache-2.0
//
// What the provider offers: one row for each operator and range of opsets. Types, flags and
// alias pairs here are promises; what a row cannot say, the operator's claim function does.
#include "chain.h"
#include "channels_last.h"
#include "ops_table.h"

// ---- Types ----------------------------------------------------------------------------------

#define BIT(name) OPS_TYPE_BIT(OPS_TYPE_##name)
#define F32 BIT(FLOAT)
#define F64 BIT(DOUBLE)
#define HALVES (BIT(FLOAT16) | BIT(BFLOAT16))
#define FLOATS (F32 | F64 | HALVES)
#define SIGNED (BIT(INT8) | BIT(INT16) | BIT(INT32) | BIT(INT64))
#define UNSIGNED (BIT(UINT8) | BIT(UINT16) | BIT(UINT32) | BIT(UINT64))
#define INTEGERS (SIGNED | UNSIGNED)
#define NUMBERS (FLOATS | INTEGERS)
#define BOOL BIT(BOOL)
#define INDEX (BIT(INT32) | BIT(INT64))
#define FLOAT8S \
  (BIT(FLOAT8E4M3FN) | BIT(FLOAT8E4M3FNUZ) | BIT(FLOAT8E5M2) | BIT(FLOAT8E5M2FNUZ))
// Whatever has whole bytes: all that an operator needs which only moves elements.
#define MOVED (NUMBERS | BOOL | BIT(COMPLEX64) | BIT(COMPLEX128) | FLOAT8S | BIT(FLOAT8E8M0))

// ---- Pieces of a row ------------------------------------------------------------------------

#define ARG(name_, param, types_, flags_)                                                     \
  {                                                                                           \
    .struct_size = sizeof(ops_arg_def), .name = OPS_STR(name_), .type_param = OPS_STR(param), \
    .types = (types_), .memory_kind = OPS_MEMORY_HOST, .flags = (flags_)                      \
  }
#define IN(name, types) ARG(name, "T", types, 0)
#define OPTIONAL(name, types) ARG(name, "T", types, OPS_ARG_OPTIONAL)
#define MANY(name, types) ARG(name, "T", types, OPS_ARG_VARIADIC)
#define SHAPE(name) ARG(name, "Tind", INDEX, OPS_ARG_SHAPE_INPUT)
#define SHAPE_OPTIONAL(name) ARG(name, "Tind", INDEX, OPS_ARG_SHAPE_INPUT | OPS_ARG_OPTIONAL)

#define SCALES(name) ARG(name, "tensor(float)", F32, OPS_ARG_SHAPE_INPUT | OPS_ARG_OPTIONAL)

#define LIST(field, count, type, ...)      \
  .field##s = (const type[]){__VA_ARGS__}, \
  .count = sizeof((const type[]){__VA_ARGS__}) / sizeof(type), .field##_stride = sizeof(type)
#define INPUTS(...) LIST(input, input_count, ops_arg_def, __VA_ARGS__)
#define OUTPUTS(...) LIST(output, output_count, ops_arg_def, __VA_ARGS__)
#define MAY_ALIAS(input_) \
  { sizeof(ops_alias_def), (input_), 0, OPS_ALIAS_MAY, 0 }
#define VIEW_OF(input_) \
  { sizeof(ops_alias_def), (input_), 0, OPS_ALIAS_MAY | OPS_ALIAS_VIEW, 0 }
#define IN_PLACE(...)                                                                  \
  .aliases = (const ops_alias_def[]){__VA_ARGS__},                                     \
  .alias_count = sizeof((const ops_alias_def[]){__VA_ARGS__}) / sizeof(ops_alias_def), \
  .alias_stride = sizeof(ops_alias_def)

#define ROW(op_, since_, until_, family, determinism_, flags_, ...)                           \
  {                                                                                           \
    .struct_size = sizeof(ops_kernel_def), .op = OPS_STR(op_), .since = (since_),             \
    .until = (until_), .name = OPS_STR("cpu/" op_), .flags = OPS_KERNEL_REENTRANT | (flags_), \
    .post_op_stride = sizeof(ops_post_op_def), .dynamic_shape = OPS_DYNAMIC_FULL,             \
    .determinism = (determinism_), .api = &cpu_kernel_api, .context = &cpu_##family##_op,     \
    __VA_ARGS__                                                                               \
  }
// Loops of this provider: every element is computed alike on any number of threads.
#define OWN(op, since, until, family, ...) \
  ROW(op, since, until, family, OPS_DETERMINISM_BITWISE, 0, __VA_ARGS__)
// The order of a sum follows from the shape of the piece that a thread takes.
#define DNNL(op, since, until, family, ...) \
  ROW(op, since, until, family, OPS_DETERMINISM_RUN, 0, __VA_ARGS__)

#define TRANSFORMED(op, since, until, family, ...) \
  ROW(op, since, until, family, OPS_DETERMINISM_RUN, OPS_KERNEL_TRANSFORMED, __VA_ARGS__)

// float16 and bfloat16 by way of the row of float, see halves.c.
#define HALF(op, since, until, ...) \
  ROW(op, since, until, halves, OPS_DETERMINISM_BITWISE, 0, __VA_ARGS__)

// Chains of post-operations, see chain.h.
#define ABSORBS(longest) \
  .post_ops = cpu_chain_post_ops, .post_op_count = CPU_CHAIN_POST_OPS, .max_post_ops = (longest)

#define UNARY(op, since, until, types)                                          \
  OWN(op, since, until, unary, INPUTS(IN("X", types)), OUTPUTS(IN("Y", types)), \
      IN_PLACE(MAY_ALIAS(0)))
#define BINARY(op, since, types)                                                             \
  OWN(op, since, 0, binary, INPUTS(IN("A", types), IN("B", types)), OUTPUTS(IN("C", types)), \
      IN_PLACE(MAY_ALIAS(0), MAY_ALIAS(1)))
#define COMPARE(op, since, types)                                   \
  OWN(op, since, 0, binary, INPUTS(IN("A", types), IN("B", types)), \
      OUTPUTS(ARG("C", "T1", BOOL, 0)))
// Up to opset 7 their inputs have one shape. Later inputs are read after the output has been
// written for the first time: never in place.
#define FOLD(op, since, types) \
  OWN(op, since, 0, binary, INPUTS(MANY("data_0", types)), OUTPUTS(IN("result", types)))

// Axes are an attribute before opset `since`, and an input from then on.
#define REDUCE(op, since, types)                                                           \
  OWN(op, 1, (since)-1, reduce, INPUTS(IN("data", types)), OUTPUTS(IN("reduced", types))), \
      OWN(op, since, 0, reduce, INPUTS(IN("data", types), SHAPE_OPTIONAL("axes")),         \
          OUTPUTS(IN("reduced", types))),                                                  \
      HALF(op, 1, (since)-1, INPUTS(IN("data", HALVES)), OUTPUTS(IN("reduced", HALVES))),  \
      HALF(op, since, 0, INPUTS(IN("data", HALVES), SHAPE_OPTIONAL("axes")),               \
           OUTPUTS(IN("reduced", HALVES)))
#define RECURRENT_INPUTS(types)                                         \
  IN("X", types), IN("W", types), IN("R", types), OPTIONAL("B", types), \
      ARG("sequence_lens", "T1", BIT(INT32), OPS_ARG_OPTIONAL), OPTIONAL("initial_h", types)
#define RECURRENT(types) \
  INPUTS(RECURRENT_INPUTS(types)), OUTPUTS(OPTIONAL("Y", types), OPTIONAL("Y_h", types))
#define LSTM(types)                                                                    \
  INPUTS(RECURRENT_INPUTS(types), OPTIONAL("initial_c", types), OPTIONAL("P", types)), \
      OUTPUTS(OPTIONAL("Y", types), OPTIONAL("Y_h", types), OPTIONAL("Y_c", types))
#define BYTES (BIT(INT8) | BIT(UINT8))
#define INT32 BIT(INT32)
#define WORDS (BYTES | BIT(INT16) | BIT(UINT16))
// Tensor, scale and zero point.
#define QUANTIZED(name, type_)                                             \
  ARG(name, type_, BYTES, 0), ARG(name "_scale", "tensor(float)", F32, 0), \
      ARG(name "_zero_point", type_, BYTES, OPS_ARG_OPTIONAL)
#define QUANTIZED_TO(name, type_)              \
  ARG(name "_scale", "tensor(float)", F32, 0), \
      ARG(name "_zero_point", type_, BYTES, OPS_ARG_OPTIONAL)
#define MICROSOFT .domain = OPS_STR("com.microsoft")

#define ORDERED (F32 | F64 | INDEX | BIT(INT8) | BIT(UINT8))

#define ATTENTION_INPUTS                                                  \
  ARG("Q", "T1", F32, 0), ARG("K", "T1", F32, 0), ARG("V", "T2", F32, 0), \
      ARG("attn_mask", "U", F32 | BOOL, OPS_ARG_OPTIONAL),                \
      ARG("past_key", "T1", F32, OPS_ARG_OPTIONAL),                       \
      ARG("past_value", "T2", F32, OPS_ARG_OPTIONAL)
#define ATTENTION_OUTPUTS                                                  \
  ARG("Y", "T1", F32, 0), ARG("present_key", "T1", F32, OPS_ARG_OPTIONAL), \
      ARG("present_value", "T2", F32, OPS_ARG_OPTIONAL),                   \
      ARG("qk_matmul_output", "T1", F32, OPS_ARG_OPTIONAL)

static const ops_kernel_def kKernels[] = {
    // Elementwise functions.
    UNARY("Relu", 1, 13, FLOATS),
    UNARY("Relu", 14, 0, FLOATS | SIGNED),
    UNARY("LeakyRelu", 1, 0, FLOATS),
    UNARY("Elu", 1, 0, FLOATS),
    UNARY("Selu", 1, 0, FLOATS),
    UNARY("Clip", 1, 10, FLOATS),
    UNARY("Sigmoid", 1, 0, FLOATS),
    UNARY("HardSigmoid", 1, 0, FLOATS),
    UNARY("HardSwish", 14, 0, FLOATS),
    UNARY("Tanh", 1, 0, FLOATS),
    UNARY("Softplus", 1, 0, FLOATS),
    UNARY("Softsign", 1, 0, FLOATS),
    UNARY("Erf", 9, 0, FLOATS),
    UNARY("Exp", 1, 0, FLOATS),
    UNARY("Log", 1, 0, FLOATS),
    UNARY("Sqrt", 1, 0, FLOATS),
    UNARY("Reciprocal", 1, 0, FLOATS),
    UNARY("Abs", 1, 0, NUMBERS),
    UNARY("Neg", 1, 0, FLOATS | SIGNED),
    UNARY("Floor", 1, 0, FLOATS),
    UNARY("Ceil", 1, 0, FLOATS),
    UNARY("Round", 11, 0, FLOATS),
    UNARY("Gelu", 20, 0, FLOATS),
    UNARY("Sign", 9, 0, NUMBERS),
    UNARY("ThresholdedRelu", 10, 0, FLOATS),
    UNARY("Sin", 7, 0, FLOATS),
    UNARY("Cos", 7, 0, FLOATS),
    UNARY("Swish", 24, 0, FLOATS),
    UNARY("Mish", 18, 0, FLOATS),
    UNARY("Not", 1, 0, BOOL),
    OWN("Clip", 11, 0, clip,
        INPUTS(IN("input", NUMBERS), OPTIONAL("min", NUMBERS), OPTIONAL("max", NUMBERS)),
        OUTPUTS(IN("output", NUMBERS)), IN_PLACE(MAY_ALIAS(0))),

    // Arithmetic, comparisons, logic.
    BINARY("Add", 1, NUMBERS),
    BINARY("Sub", 1, NUMBERS),
    BINARY("Mul", 1, NUMBERS),
    BINARY("Div", 1, NUMBERS),
    OWN("PRelu", 1, 0, binary, INPUTS(IN("X", FLOATS | INDEX), IN("slope", FLOATS | INDEX)),
        OUTPUTS(IN("Y", FLOATS | INDEX)), IN_PLACE(MAY_ALIAS(0))),
    FOLD("Min", 1, NUMBERS),
    FOLD("Max", 1, NUMBERS),
    FOLD("Sum", 1, F32 | F64),
    FOLD("Mean", 1, F32 | F64),
    COMPARE("Equal", 1, NUMBERS | BOOL),
    COMPARE("Less", 1, NUMBERS),
    COMPARE("LessOrEqual", 12, NUMBERS),
    COMPARE("Greater", 1, NUMBERS),
    COMPARE("GreaterOrEqual", 12, NUMBERS),
    COMPARE("And", 1, BOOL),
    COMPARE("Or", 1, BOOL),
    COMPARE("Xor", 1, BOOL),

    OWN("Pow", 1, 11, pow, INPUTS(IN("X", F32 | F64), IN("Y", F32 | F64)),
        OUTPUTS(IN("Z", F32 | F64)), IN_PLACE(MAY_ALIAS(0))),
    OWN("Pow", 12, 0, pow, INPUTS(IN("X", F32 | F64), ARG("Y", "T1", F32 | F64 | INDEX, 0)),
        OUTPUTS(IN("Z", F32 | F64)), IN_PLACE(MAY_ALIAS(0))),
    OWN("Where", 9, 0, where,
        INPUTS(ARG("condition", "B", BOOL, 0), IN("X", MOVED), IN("Y", MOVED)),
        OUTPUTS(IN("output", MOVED))),
    OWN("Cast", 1, 0, cast, INPUTS(ARG("input", "T1", NUMBERS | BOOL, 0)),
        OUTPUTS(ARG("output", "T2", NUMBERS | BOOL, 0))),
    OWN("CastLike", 15, 0, cast,
        INPUTS(ARG("input", "T1", NUMBERS | BOOL, 0),
               ARG("target_type", "T2", NUMBERS | BOOL, 0)),
        OUTPUTS(ARG("output", "T2", NUMBERS | BOOL, 0))),

    // Pooling, normalisation, reductions.
    OWN("MaxPool", 1, 0, pool, INPUTS(IN("X", F32)),
        OUTPUTS(IN("Y", F32), ARG("Indices", "I", BIT(INT64), OPS_ARG_OPTIONAL))),
    OWN("AveragePool", 1, 0, pool, INPUTS(IN("X", F32)), OUTPUTS(IN("Y", F32))),
    OWN("GlobalAveragePool", 1, 0, global_pool, INPUTS(IN("X", F32)), OUTPUTS(IN("Y", F32))),
    OWN("GlobalMaxPool", 1, 0, global_pool, INPUTS(IN("X", F32)), OUTPUTS(IN("Y", F32))),
    OWN("BatchNormalization", 1, 0, normalization,
        INPUTS(IN("X", F32), IN("scale", F32), IN("B", F32), IN("input_mean", F32),
               IN("input_var", F32)),
        OUTPUTS(IN("Y", F32), OPTIONAL("running_mean", F32), OPTIONAL("running_var", F32),
                OPTIONAL("saved_mean", F32), OPTIONAL("saved_var", F32)),
        IN_PLACE(MAY_ALIAS(0))),
    OWN("InstanceNormalization", 1, 0, normalization,
        INPUTS(IN("input", F32), IN("scale", F32), IN("B", F32)), OUTPUTS(IN("output", F32)),
        IN_PLACE(MAY_ALIAS(0))),
    OWN("LayerNormalization", 17, 0, layer_normalization,
        INPUTS(IN("X", F32), IN("Scale", F32), OPTIONAL("B", F32)),
        OUTPUTS(IN("Y", F32), ARG("Mean", "U", F32, OPS_ARG_OPTIONAL),
                ARG("InvStdDev", "U", F32, OPS_ARG_OPTIONAL))),
    OWN("LRN", 1, 0, lrn, INPUTS(IN("X", F32)), OUTPUTS(IN("Y", F32))),
    OWN("Softmax", 1, 0, softmax, INPUTS(IN("input", F32)), OUTPUTS(IN("output", F32)),
        IN_PLACE(MAY_ALIAS(0))),
    OWN("LogSoftmax", 1, 0, softmax, INPUTS(IN("input", F32)), OUTPUTS(IN("output", F32))),
    REDUCE("ReduceSum", 13, F32 | F64 | INDEX),
    REDUCE("ReduceMean", 18, F32 | F64),
    REDUCE("ReduceMax", 18, F32 | F64 | INDEX),
    REDUCE("ReduceMin", 18, F32 | F64 | INDEX),
    REDUCE("ReduceProd", 18, F32 | F64 | INDEX),
    REDUCE("ReduceL1", 18, F32 | F64 | INDEX),
    REDUCE("ReduceL2", 18, F32 | F64),
    REDUCE("ReduceSumSquare", 18, F32 | F64 | INDEX),
    REDUCE("ReduceLogSum", 18, F32 | F64),
    OWN("ArgMax", 1, 0, argmax, INPUTS(IN("data", ORDERED)),
        OUTPUTS(ARG("reduced", "I", BIT(INT64), 0))),
    OWN("ArgMin", 1, 0, argmax, INPUTS(IN("data", ORDERED)),
        OUTPUTS(ARG("reduced", "I", BIT(INT64), 0))),

    // Movement of elements.
    OWN("Identity", 1, 0, reshape, INPUTS(IN("input", MOVED)), OUTPUTS(IN("output", MOVED)),
        IN_PLACE(VIEW_OF(0))),
    OWN("Dropout", 1, 11, reshape, INPUTS(IN("data", MOVED)),
        OUTPUTS(IN("output", MOVED), OPTIONAL("mask", MOVED)), IN_PLACE(MAY_ALIAS(0))),
    OWN("Dropout", 12, 0, reshape,
        INPUTS(IN("data", MOVED), ARG("ratio", "T1", FLOATS, OPS_ARG_OPTIONAL),
               ARG("training_mode", "T2", BOOL, OPS_ARG_OPTIONAL)),
        OUTPUTS(IN("output", MOVED), ARG("mask", "T2", BOOL, OPS_ARG_OPTIONAL)),
        IN_PLACE(MAY_ALIAS(0))),
    OWN("Flatten", 1, 0, reshape, INPUTS(IN("input", MOVED)), OUTPUTS(IN("output", MOVED)),
        IN_PLACE(VIEW_OF(0))),
    OWN("Reshape", 1, 4, reshape, INPUTS(IN("data", MOVED)), OUTPUTS(IN("reshaped", MOVED)),
        IN_PLACE(VIEW_OF(0))),
    OWN("Reshape", 5, 0, reshape, INPUTS(IN("data", MOVED), SHAPE("shape")),
        OUTPUTS(IN("reshaped", MOVED)), IN_PLACE(VIEW_OF(0))),
    OWN("Squeeze", 1, 12, reshape, INPUTS(IN("data", MOVED)), OUTPUTS(IN("squeezed", MOVED)),
        IN_PLACE(VIEW_OF(0))),
    OWN("Squeeze", 13, 0, reshape, INPUTS(IN("data", MOVED), SHAPE_OPTIONAL("axes")),
        OUTPUTS(IN("squeezed", MOVED)), IN_PLACE(VIEW_OF(0))),
    OWN("Unsqueeze", 1, 12, reshape, INPUTS(IN("data", MOVED)), OUTPUTS(IN("expanded", MOVED)),
        IN_PLACE(VIEW_OF(0))),
    OWN("Unsqueeze", 13, 0, reshape, INPUTS(IN("data", MOVED), SHAPE("axes")),
        OUTPUTS(IN("expanded", MOVED)), IN_PLACE(VIEW_OF(0))),
    OWN("Transpose", 1, 0, transpose, INPUTS(IN("data", MOVED)),
        OUTPUTS(IN("transposed", MOVED))),
    OWN("Slice", 1, 9, slice, INPUTS(IN("data", MOVED)), OUTPUTS(IN("output", MOVED))),
    OWN("Slice", 10, 0, slice,
        INPUTS(IN("data", MOVED), SHAPE("starts"), SHAPE("ends"), SHAPE_OPTIONAL("axes"),
               SHAPE_OPTIONAL("steps")),
        OUTPUTS(IN("output", MOVED))),
    OWN("Concat", 1, 0, concat, INPUTS(MANY("inputs", MOVED)),
        OUTPUTS(IN("concat_result", MOVED))),
    OWN("Split", 1, 12, split, INPUTS(IN("input", MOVED)), OUTPUTS(MANY("outputs", MOVED))),
    OWN("Split", 13, 0, split, INPUTS(IN("input", MOVED), SHAPE_OPTIONAL("split")),
        OUTPUTS(MANY("outputs", MOVED))),
    OWN("Gather", 1, 0, gather, INPUTS(IN("data", MOVED), ARG("indices", "Tind", INDEX, 0)),
        OUTPUTS(IN("output", MOVED))),
    OWN("Expand", 8, 0, expand, INPUTS(IN("input", MOVED), SHAPE("shape")),
        OUTPUTS(IN("output", MOVED))),
    OWN("Tile", 6, 0, tile, INPUTS(IN("input", MOVED), SHAPE("repeats")),
        OUTPUTS(IN("output", MOVED))),
    OWN("Pad", 1, 10, pad, INPUTS(IN("data", F32 | F64)), OUTPUTS(IN("output", F32 | F64))),
    OWN("Pad", 11, 0, pad,
        INPUTS(IN("data", MOVED), SHAPE("pads"), OPTIONAL("constant_value", MOVED),
               SHAPE_OPTIONAL("axes")),
        OUTPUTS(IN("output", MOVED))),
    OWN("DepthToSpace", 1, 0, depth_to_space, INPUTS(IN("input", MOVED)),
        OUTPUTS(IN("output", MOVED))),
    OWN("SpaceToDepth", 1, 0, depth_to_space, INPUTS(IN("input", MOVED)),
        OUTPUTS(IN("output", MOVED))),

    OWN("Resize", 10, 10, resize, INPUTS(IN("X", MOVED), SCALES("scales")),
        OUTPUTS(IN("Y", MOVED))),
    OWN("Resize", 11, 0, resize,
        INPUTS(IN("X", MOVED), ARG("roi", "T2", F32 | F64 | BIT(FLOAT16), OPS_ARG_OPTIONAL),
               SCALES("scales"), SHAPE_OPTIONAL("sizes")),
        OUTPUTS(IN("Y", MOVED))),
    OWN("Upsample", 1, 8, resize, INPUTS(IN("X", MOVED)), OUTPUTS(IN("Y", MOVED))),
    OWN("Upsample", 9, 9, resize, INPUTS(IN("X", MOVED), SCALES("scales")),
        OUTPUTS(IN("Y", MOVED))),

    // Quantised tensors.
    OWN("QuantizeLinear", 10, 0, quantize,
        INPUTS(ARG("x", "T1", F32, 0), ARG("y_scale", "T2", F32, 0),
               ARG("y_zero_point", "T3", WORDS, OPS_ARG_OPTIONAL)),
        OUTPUTS(ARG("y", "T3", WORDS, 0))),
    OWN("DequantizeLinear", 10, 0, quantize,
        INPUTS(ARG("x", "T1", WORDS | INT32, 0), ARG("x_scale", "T2", F32, 0),
               ARG("x_zero_point", "T1", WORDS | INT32, OPS_ARG_OPTIONAL)),
        OUTPUTS(ARG("y", "T3", F32, 0))),
    OWN("ConvInteger", 10, 0, conv_integer,
        INPUTS(ARG("x", "T1", BYTES, 0), ARG("w", "T2", BYTES, 0),
               ARG("x_zero_point", "T1", BYTES, OPS_ARG_OPTIONAL),
               ARG("w_zero_point", "T2", BYTES, OPS_ARG_OPTIONAL)),
        OUTPUTS(ARG("y", "T3", INT32, 0))),
    OWN("QLinearConv", 10, 0, conv_integer,
        INPUTS(ARG("x", "T1", BYTES, 0), ARG("x_scale", "tensor(float)", F32, 0),
               ARG("x_zero_point", "T1", BYTES, 0), ARG("w", "T2", BYTES, 0),
               ARG("w_scale", "tensor(float)", F32, 0), ARG("w_zero_point", "T2", BYTES, 0),
               ARG("y_scale", "tensor(float)", F32, 0), ARG("y_zero_point", "T3", BYTES, 0),
               ARG("B", "T4", INT32, OPS_ARG_OPTIONAL)),
        OUTPUTS(ARG("y", "T3", BYTES, 0))),
    OWN("MaxPool", 12, 0, pool_bytes, INPUTS(IN("X", BYTES)),
        OUTPUTS(IN("Y", BYTES), ARG("Indices", "I", BIT(INT64), OPS_ARG_OPTIONAL))),
    OWN("NhwcMaxPool", 1, 0, pool_bytes, INPUTS(IN("x", BYTES)), OUTPUTS(IN("y", BYTES)),
        MICROSOFT),
    OWN("QLinearAveragePool", 1, 0, pool_bytes,
        INPUTS(QUANTIZED("X", "T"), QUANTIZED_TO("y", "T")), OUTPUTS(IN("Y", BYTES)),
        MICROSOFT),
    OWN("QLinearGlobalAveragePool", 1, 0, pool_bytes,
        INPUTS(IN("X", BYTES), ARG("x_scale", "tensor(float)", F32, 0),
               IN("x_zero_point", BYTES), ARG("y_scale", "tensor(float)", F32, 0),
               IN("y_zero_point", BYTES)),
        OUTPUTS(IN("Y", BYTES)), MICROSOFT),
    OWN("DynamicQuantizeLinear", 11, 0, dynamic_quantize, INPUTS(ARG("x", "T1", F32, 0)),
        OUTPUTS(ARG("y", "T2", BIT(UINT8), 0), ARG("y_scale", "tensor(float)", F32, 0),
                ARG("y_zero_point", "T2", BIT(UINT8), 0))),
    OWN("MatMulInteger", 10, 0, matmul_integer,
        INPUTS(ARG("A", "T1", BYTES, 0), ARG("B", "T2", BYTES, 0),
               ARG("a_zero_point", "T1", BYTES, OPS_ARG_OPTIONAL),
               ARG("b_zero_point", "T2", BYTES, OPS_ARG_OPTIONAL)),
        OUTPUTS(ARG("Y", "T3", INT32, 0))),
    OWN("QLinearMatMul", 10, 0, matmul_integer,
        INPUTS(ARG("a", "T1", BYTES, 0), ARG("a_scale", "TS", F32, 0),
               ARG("a_zero_point", "T1", BYTES, 0), ARG("b", "T2", BYTES, 0),
               ARG("b_scale", "TS", F32, 0), ARG("b_zero_point", "T2", BYTES, 0),
               ARG("y_scale", "TS", F32, 0), ARG("y_zero_point", "T3", BYTES, 0)),
        OUTPUTS(ARG("y", "T3", BYTES, 0))),
    OWN("MatMulIntegerToFloat", 1, 0, matmul_integer,
        INPUTS(ARG("A", "T1", BYTES, 0), ARG("B", "T2", BYTES, 0), ARG("a_scale", "T3", F32, 0),
               ARG("b_scale", "T3", F32, 0), ARG("a_zero_point", "T1", BYTES, OPS_ARG_OPTIONAL),
               ARG("b_zero_point", "T2", BYTES, OPS_ARG_OPTIONAL),
               ARG("bias", "T3", F32, OPS_ARG_OPTIONAL)),
        OUTPUTS(ARG("Y", "T3", F32, 0)), MICROSOFT),
    OWN("DynamicQuantizeMatMul", 1, 0, matmul_integer,
        INPUTS(ARG("A", "T1", F32, 0), ARG("B", "T2", BYTES, 0), ARG("b_scale", "T1", F32, 0),
               ARG("b_zero_point", "T2", BYTES, OPS_ARG_OPTIONAL),
               ARG("bias", "T1", F32, OPS_ARG_OPTIONAL)),
        OUTPUTS(ARG("Y", "T1", F32, 0)), MICROSOFT),
    OWN("QGemm", 1, 0, matmul_integer,
        INPUTS(ARG("A", "TA", BYTES, 0), ARG("a_scale", "T", F32, 0),
               ARG("a_zero_point", "TA", BYTES, 0), ARG("B", "TB", BYTES, 0),
               ARG("b_scale", "T", F32, 0), ARG("b_zero_point", "TB", BYTES, 0),
               ARG("C", "TC", INT32, OPS_ARG_OPTIONAL),
               ARG("y_scale", "T", F32, OPS_ARG_OPTIONAL),
               ARG("y_zero_point", "TYZ", BYTES, OPS_ARG_OPTIONAL)),
        OUTPUTS(ARG("Y", "TY", BYTES | F32, 0)), MICROSOFT),
    OWN("QLinearAdd", 1, 0, qlinear_binary,
        INPUTS(QUANTIZED("A", "T"), QUANTIZED("B", "T"), QUANTIZED_TO("C", "T")),
        OUTPUTS(IN("C", BYTES)), IN_PLACE(MAY_ALIAS(0), MAY_ALIAS(3)), MICROSOFT),
    OWN("QLinearMul", 1, 0, qlinear_binary,
        INPUTS(QUANTIZED("A", "T"), QUANTIZED("B", "T"), QUANTIZED_TO("C", "T")),
        OUTPUTS(IN("C", BYTES)), IN_PLACE(MAY_ALIAS(0), MAY_ALIAS(3)), MICROSOFT),
    OWN("QLinearConcat", 1, 0, qlinear_concat,
        INPUTS(ARG("Y_scale", "TF", F32, 0), ARG("Y_zero_point", "T8", BYTES, 0),
               ARG("inputs", "", BYTES | F32, OPS_ARG_VARIADIC)),
        OUTPUTS(ARG("Y", "T8", BYTES, 0)), MICROSOFT),
    OWN("QLinearLeakyRelu", 1, 0, qlinear_unary,
        INPUTS(QUANTIZED("X", "T"), QUANTIZED_TO("Y", "T")), OUTPUTS(IN("Y", BYTES)),
        IN_PLACE(MAY_ALIAS(0)), MICROSOFT),
    OWN("QLinearSigmoid", 1, 0, qlinear_unary,
        INPUTS(QUANTIZED("X", "T"), QUANTIZED_TO("Y", "T")), OUTPUTS(IN("Y", BYTES)),
        IN_PLACE(MAY_ALIAS(0)), MICROSOFT),
    OWN("QLinearSoftmax", 1, 0, qlinear_softmax,
        INPUTS(QUANTIZED("X", "T"), ARG("y_scale", "tensor(float)", F32, 0),
               IN("y_zero_point", BYTES)),
        OUTPUTS(IN("Y", BYTES)), MICROSOFT),

    // Shapes and constants.
    OWN("Shape", 1, 0, shape, INPUTS(IN("data", MOVED)),
        OUTPUTS(ARG("shape", "T1", BIT(INT64), 0))),
    OWN("Size", 1, 0, shape, INPUTS(IN("data", MOVED)),
        OUTPUTS(ARG("size", "T1", BIT(INT64), 0))),
    OWN("Constant", 1, 0, constant, .input_stride = sizeof(ops_arg_def),
        OUTPUTS(IN("output", MOVED))),
    OWN("ConstantOfShape", 9, 0, constant, INPUTS(SHAPE("input")),
        OUTPUTS(ARG("output", "T2", MOVED, 0))),

    // Attention.
    OWN("Attention", 23, 23, attention, INPUTS(ATTENTION_INPUTS), OUTPUTS(ATTENTION_OUTPUTS)),
    OWN("Attention", 24, 0, attention,
        INPUTS(ATTENTION_INPUTS,
               ARG("nonpad_kv_seqlen", "tensor(int64)", BIT(INT64), OPS_ARG_OPTIONAL)),
        OUTPUTS(ATTENTION_OUTPUTS)),

    // Sums of products.
    DNNL("ConvTranspose", 1, 0, conv_transpose,
         INPUTS(IN("X", F32), IN("W", F32), OPTIONAL("B", F32)), OUTPUTS(IN("Y", F32)),
         ABSORBS(2)),
    TRANSFORMED("Conv", 1, 0, conv, INPUTS(IN("X", F32), IN("W", F32), OPTIONAL("B", F32)),
                OUTPUTS(IN("Y", F32)), ABSORBS(2), IN_PLACE(MAY_ALIAS(3))),
    OWN("MatMul", 1, 0, matmul, INPUTS(IN("A", F32), IN("B", F32)), OUTPUTS(IN("Y", F32)),
        ABSORBS(3)),
    OWN("RNN", 1, 0, recurrent, RECURRENT(F32)),
    OWN("GRU", 1, 0, recurrent, RECURRENT(F32)),
    OWN("LSTM", 1, 0, recurrent, LSTM(F32)),
    OWN("Gemm", 1, 10, gemm, INPUTS(IN("A", F32), IN("B", F32), IN("C", F32)),
        OUTPUTS(IN("Y", F32)), ABSORBS(2)),
    OWN("Gemm", 11, 0, gemm, INPUTS(IN("A", F32), IN("B", F32), OPTIONAL("C", F32)),
        OUTPUTS(IN("Y", F32)), ABSORBS(2)),

    // Of 16 bits, by way of float.
    HALF("Sum", 1, 0, INPUTS(MANY("data_0", HALVES)), OUTPUTS(IN("sum", HALVES))),
    HALF("Mean", 1, 0, INPUTS(MANY("data_0", HALVES)), OUTPUTS(IN("mean", HALVES))),
    HALF("Pow", 1, 11, INPUTS(IN("X", HALVES), IN("Y", HALVES)), OUTPUTS(IN("Z", HALVES))),
    HALF("Pow", 12, 0, INPUTS(IN("X", HALVES), ARG("Y", "T1", HALVES | F32 | F64 | INDEX, 0)),
         OUTPUTS(IN("Z", HALVES))),
    HALF("MaxPool", 1, 0, INPUTS(IN("X", HALVES)),
         OUTPUTS(IN("Y", HALVES), ARG("Indices", "I", BIT(INT64), OPS_ARG_OPTIONAL))),
    HALF("AveragePool", 1, 0, INPUTS(IN("X", HALVES)), OUTPUTS(IN("Y", HALVES))),
    HALF("GlobalAveragePool", 1, 0, INPUTS(IN("X", HALVES)), OUTPUTS(IN("Y", HALVES))),
    HALF("GlobalMaxPool", 1, 0, INPUTS(IN("X", HALVES)), OUTPUTS(IN("Y", HALVES))),
    HALF("BatchNormalization", 1, 0,
         INPUTS(IN("X", HALVES), ARG("scale", "T1", HALVES | F32, 0),
                ARG("B", "T1", HALVES | F32, 0), ARG("input_mean", "T2", HALVES | F32, 0),
                ARG("input_var", "T2", HALVES | F32, 0)),
         OUTPUTS(IN("Y", HALVES))),
    HALF("InstanceNormalization", 1, 0,
         INPUTS(IN("input", HALVES), IN("scale", HALVES), IN("B", HALVES)),
         OUTPUTS(IN("output", HALVES))),
    HALF("LayerNormalization", 17, 0,
         INPUTS(IN("X", HALVES), IN("Scale", HALVES), OPTIONAL("B", HALVES)),
         OUTPUTS(IN("Y", HALVES), ARG("Mean", "U", F32, OPS_ARG_OPTIONAL),
                 ARG("InvStdDev", "U", F32, OPS_ARG_OPTIONAL))),
    HALF("LRN", 1, 0, INPUTS(IN("X", HALVES)), OUTPUTS(IN("Y", HALVES))),
    HALF("Softmax", 1, 0, INPUTS(IN("input", HALVES)), OUTPUTS(IN("output", HALVES))),
    HALF("LogSoftmax", 1, 0, INPUTS(IN("input", HALVES)), OUTPUTS(IN("output", HALVES))),
    HALF("ArgMax", 1, 0, INPUTS(IN("data", HALVES)),
         OUTPUTS(ARG("reduced", "I", BIT(INT64), 0))),
    HALF("ArgMin", 1, 0, INPUTS(IN("data", HALVES)),
         OUTPUTS(ARG("reduced", "I", BIT(INT64), 0))),
    ROW("Conv", 1, 0, halves, OPS_DETERMINISM_RUN, OPS_KERNEL_TRANSFORMED,
        INPUTS(IN("X", HALVES), IN("W", HALVES), OPTIONAL("B", HALVES)),
        OUTPUTS(IN("Y", HALVES))),
    ROW("ConvTranspose", 1, 0, halves, OPS_DETERMINISM_RUN, 0,
        INPUTS(IN("X", HALVES), IN("W", HALVES), OPTIONAL("B", HALVES)),
        OUTPUTS(IN("Y", HALVES))),
    HALF("MatMul", 1, 0, INPUTS(IN("A", HALVES), IN("B", HALVES)), OUTPUTS(IN("Y", HALVES))),
    HALF("Gemm", 1, 10, INPUTS(IN("A", HALVES), IN("B", HALVES), IN("C", HALVES)),
         OUTPUTS(IN("Y", HALVES))),
    HALF("Gemm", 11, 0, INPUTS(IN("A", HALVES), IN("B", HALVES), OPTIONAL("C", HALVES)),
         OUTPUTS(IN("Y", HALVES))),
    HALF("RNN", 1, 0, RECURRENT(HALVES)),
    HALF("GRU", 1, 0, RECURRENT(HALVES)),
    HALF("LSTM", 1, 0, LSTM(HALVES)),
};

const ops_provider cpu_provider = {
    .struct_size = sizeof(ops_provider),
    .name = OPS_STR("cpu"),
    .vendor = OPS_STR("ops"),
    .version = OPS_STR("0.1.0"),
    .kernels = kKernels,
    .kernel_count = sizeof kKernels / sizeof *kKernels,
    .kernel_stride = sizeof *kKernels,
    .schema_stride = sizeof(ops_schema),
    .rewrite_stride = sizeof(ops_rewrite),
    .instance = &cpu_instance_api,
    .memory = &cpu_memory_api,
    .unload_safe = 0,  // the OpenMP runtime behind oneDNN keeps threads that outlive instances
};

// SPDX-License-Identifier: Apache-2.0
//
// The table of what the faulty provider offers, and the one exported symbol.
#include <ops_support/node.h>
#include <ops_support/provider.h>
#include <string.h>

#include "faulty.h"

#define BIT(name) OPS_TYPE_BIT(OPS_TYPE_##name)
#define INDEX (BIT(INT32) | BIT(INT64))
#define MOVED (BIT(FLOAT) | BIT(INT64) | BIT(UINT8) | BIT(FLOAT16))
#define CODES (BIT(UINT8) | BIT(INT8))
#define STRIDED OPS_ARG_STRIDED
#define OPTIONAL OPS_ARG_OPTIONAL
#define SHAPE OPS_ARG_SHAPE_INPUT

#define ARG(arg_name, arg_param, arg_types, arg_flags)                       \
  {                                                                          \
    .struct_size = sizeof(ops_arg_def), .name = OPS_STR(arg_name),           \
    .type_param = OPS_STR(arg_param), .types = arg_types, .flags = arg_flags \
  }
#define ON_DEVICE(arg_name)                                                                    \
  {                                                                                            \
    .struct_size = sizeof(ops_arg_def), .name = OPS_STR(arg_name), .type_param = OPS_STR("T"), \
    .types = BIT(FLOAT), .memory_kind = OPS_MEMORY_DEVICE                                      \
  }

static const ops_arg_def kFloat[] = {ARG("X", "T", BIT(FLOAT), 0)};
static const ops_arg_def kDevice[] = {ON_DEVICE("X")};
static const ops_arg_def kAdd[] = {ARG("A", "T", BIT(FLOAT) | BIT(INT32), STRIDED),
                                   ARG("B", "T", BIT(FLOAT) | BIT(INT32), STRIDED)};
static const ops_arg_def kSum[] = {ARG("C", "T", BIT(FLOAT) | BIT(INT32), 0)};
static const ops_arg_def kVariadic[] = {ARG("data_0", "T", BIT(FLOAT), OPS_ARG_VARIADIC)};
static const ops_arg_def kConcat[] = {ARG("inputs", "T", MOVED, OPS_ARG_VARIADIC)};
static const ops_arg_def kMoved[] = {ARG("Y", "T", MOVED, 0)};
static const ops_arg_def kStrided[] = {ARG("data", "T", MOVED, STRIDED)};
static const ops_arg_def kGather[] = {ARG("data", "T", MOVED, 0),
                                      ARG("indices", "Tind", INDEX, 0)};
static const ops_arg_def kPad[] = {
    ARG("data", "T", MOVED, 0), ARG("pads", "tensor(int64)", BIT(INT64), SHAPE),
    ARG("constant_value", "T", MOVED, OPTIONAL), ARG("axes", "Tind", INDEX, OPTIONAL | SHAPE)};
static const ops_arg_def kResize[] = {
    ARG("X", "T1", MOVED, 0), ARG("roi", "T2", BIT(FLOAT), OPTIONAL),
    ARG("scales", "tensor(float)", BIT(FLOAT), OPTIONAL | SHAPE),
    ARG("sizes", "tensor(int64)", BIT(INT64), OPTIONAL | SHAPE)};
static const ops_arg_def kResized[] = {ARG("Y", "T1", MOVED, 0)};
static const ops_arg_def kMatMul[] = {ARG("A", "T", BIT(FLOAT) | BIT(FLOAT16), 0),
                                      ARG("B", "T", BIT(FLOAT) | BIT(FLOAT16), 0)};
static const ops_arg_def kProduct[] = {ARG("Y", "T", BIT(FLOAT) | BIT(FLOAT16), 0)};
static const ops_arg_def kInteger[] = {ARG("A", "T1", CODES, 0), ARG("B", "T2", CODES, 0),
                                       ARG("a_zero_point", "T1", CODES, OPTIONAL),
                                       ARG("b_zero_point", "T2", CODES, OPTIONAL)};
static const ops_arg_def kInt32[] = {ARG("Y", "T3", BIT(INT32), 0)};
static const ops_arg_def kConv[] = {ARG("X", "T", BIT(FLOAT), 0), ARG("W", "T", BIT(FLOAT), 0),
                                    ARG("B", "T", BIT(FLOAT), OPTIONAL)};
static const ops_arg_def kLayer[] = {ARG("X", "T", BIT(FLOAT), 0),
                                     ARG("Scale", "T", BIT(FLOAT), 0),
                                     ARG("B", "T", BIT(FLOAT), OPTIONAL)};
static const ops_arg_def kBatch[] = {
    ARG("X", "T", BIT(FLOAT), 0), ARG("scale", "T1", BIT(FLOAT), 0),
    ARG("B", "T1", BIT(FLOAT), 0), ARG("input_mean", "T2", BIT(FLOAT), 0),
    ARG("input_var", "T2", BIT(FLOAT), 0)};
static const ops_arg_def kReduce[] = {
    ARG("data", "T", BIT(FLOAT) | BIT(FLOAT16), 0),
    ARG("axes", "tensor(int64)", BIT(INT64), OPTIONAL | SHAPE)};
static const ops_arg_def kReduceMax[] = {
    ARG("data", "T", BIT(FLOAT), 0),
    ARG("axes", "tensor(int64)", BIT(INT64), OPTIONAL | SHAPE)};
static const ops_arg_def kIndex[] = {ARG("reduced", "tensor(int64)", BIT(INT64), 0)};
static const ops_arg_def kCast[] = {ARG("input", "T1", BIT(FLOAT), 0)};
static const ops_arg_def kCastTo[] = {
    ARG("output", "T2", BIT(FLOAT) | BIT(FLOAT16) | BIT(INT32) | BIT(INT8), 0)};
static const ops_arg_def kQuantize[] = {ARG("x", "T1", BIT(FLOAT) | BIT(FLOAT16), 0),
                                        ARG("y_scale", "T1", BIT(FLOAT) | BIT(FLOAT16), 0),
                                        ARG("y_zero_point", "T2", CODES, OPTIONAL)};
static const ops_arg_def kCode[] = {ARG("y", "T2", CODES, 0)};

#define ALIAS(input_index) \
  { .struct_size = sizeof(ops_alias_def), .input = input_index, .flags = OPS_ALIAS_MAY }
static const ops_alias_def kFirst[] = {ALIAS(0)};
static const ops_alias_def kBoth[] = {ALIAS(0), ALIAS(1)};

#define SYNC OPS_KERNEL_REENTRANT
#define ASYNC (OPS_KERNEL_REENTRANT | OPS_KERNEL_ASYNC | OPS_KERNEL_CAPTURABLE)

#define DEF(op_name, first_opset, op_row, inputs_array, outputs_array, op_flags)         \
  .struct_size = sizeof(ops_kernel_def), .op = OPS_STR(op_name), .since = first_opset,   \
  .name = OPS_STR("faulty_" op_name), OPS_LIST(input, inputs_array),                     \
  OPS_LIST(output, outputs_array), .dynamic_shape = OPS_DYNAMIC_FULL, .flags = op_flags, \
  .determinism = OPS_DETERMINISM_BITWISE, .api = &faulty_kernel, .context = &op_row

static const ops_kernel_def kDefs[] = {
    {DEF("Relu", 6, faulty_relu, kFloat, kFloat, SYNC), OPS_ALIASES(kFirst)},
    {DEF("Neg", 6, faulty_neg, kDevice, kDevice, ASYNC), OPS_ALIASES(kFirst)},
    {DEF("Erf", 9, faulty_erf, kFloat, kFloat, SYNC)},
    {DEF("Cast", 13, faulty_cast, kCast, kCastTo, SYNC)},
    {DEF("QuantizeLinear", 13, faulty_quantize, kQuantize, kCode, SYNC)},
    {DEF("Add", 7, faulty_add, kAdd, kSum, ASYNC), OPS_ALIASES(kBoth)},
    {DEF("Max", 8, faulty_max, kVariadic, kFloat, SYNC)},
    {DEF("MatMul", 1, faulty_matmul, kMatMul, kProduct, SYNC),
     .accumulation_type = OPS_TYPE_FLOAT},
    {DEF("MatMulInteger", 10, faulty_matmul_integer, kInteger, kInt32, SYNC)},
    {DEF("Conv", 1, faulty_conv, kConv, kFloat, SYNC)},
    {DEF("MaxPool", 10, faulty_max_pool, kFloat, kFloat, SYNC)},
    {DEF("AveragePool", 19, faulty_average_pool, kFloat, kFloat, SYNC)},
    {DEF("ReduceSum", 13, faulty_reduce_sum, kReduce, kProduct, SYNC),
     .accumulation_type = OPS_TYPE_FLOAT},
    {DEF("ReduceMax", 18, faulty_reduce_max, kReduceMax, kFloat, SYNC)},
    {DEF("ArgMax", 12, faulty_argmax, kFloat, kIndex, SYNC)},
    {DEF("Softmax", 13, faulty_softmax, kFloat, kFloat, SYNC)},
    {DEF("LayerNormalization", 17, faulty_layer_norm, kLayer, kFloat, SYNC)},
    {DEF("BatchNormalization", 15, faulty_batch_norm, kBatch, kFloat, SYNC)},
    {DEF("Transpose", 1, faulty_transpose, kStrided, kMoved, SYNC)},
    {DEF("Gather", 1, faulty_gather, kGather, kMoved, ASYNC)},
    {DEF("Concat", 4, faulty_concat, kConcat, kMoved, SYNC)},
    {DEF("Pad", 18, faulty_pad, kPad, kMoved, SYNC)},
    {DEF("Resize", 18, faulty_resize, kResize, kResized, SYNC)},
};

enum { kDefCount = sizeof kDefs / sizeof *kDefs };

const ops_kernel_def *faulty_find_def(ops_str op);
const ops_kernel_def *faulty_find_def(ops_str op) {
  for (size_t i = 0; i < kDefCount; ++i) {
    if (op.size == kDefs[i].op.size && memcmp(op.data, kDefs[i].op.data, op.size) == 0)
      return &kDefs[i];
  }
  return NULL;
}

static const ops_provider kProvider = {.struct_size = sizeof(ops_provider),
                                       .name = OPS_STR("faulty"),
                                       .vendor = OPS_STR("the conformance harness"),
                                       .version = OPS_STR("1.0.0"),
                                       OPS_LIST(kernel, kDefs),
                                       OPS_LIST(rewrite, faulty_rewrites),
                                       .instance = &faulty_instance,
                                       .memory = &faulty_memory,
                                       .stream = &faulty_stream,
                                       .group = &faulty_group};

// ---- What is wrong with the library as a whole ----------------------------------------------

static ops_kernel_def spoilt_defs[kDefCount];
static ops_provider spoilt_provider;

// A copy of the tables in which one thing differs.
static const ops_provider *spoil_tables(const faulty_mode *mode) {
  memcpy(spoilt_defs, kDefs, sizeof kDefs);
  spoilt_provider = kProvider;
  spoilt_provider.kernels = spoilt_defs;
  ops_kernel_def *relu = &spoilt_defs[0];
  if (mode->fault == FAULT_wrong_domain) relu->domain = (ops_str)OPS_STR("ai.onnx.ml");
  if (mode->control == CONTROL_fourier || mode->control == CONTROL_winograd)
    spoilt_defs[9].flags |= OPS_KERNEL_TRANSFORMED;
  if (mode->control == CONTROL_declared_read_padding) {
    static ops_arg_def padded[1];
    padded[0] = kFloat[0];
    padded[0].read_padding = kFaultyPadding;
    relu->inputs = padded;
  }
  if (mode->fault == FAULT_opset_before_operator) {
    spoilt_defs[16].since = 1;
    spoilt_defs[16].until = 16;
  }
  if (mode->fault == FAULT_declares_no_determinism) relu->determinism = OPS_DETERMINISM_NONE;
  if (mode->fault == FAULT_declares_half_accumulation)
    spoilt_defs[7].accumulation_type = OPS_TYPE_FLOAT16;
  if (mode->fault == FAULT_optional_not_declared) {
    static ops_arg_def conv[3];
    memcpy(conv, kConv, sizeof conv);
    conv[2].flags = 0;
    spoilt_defs[9].inputs = conv;
  }
  if (mode->fault == FAULT_post_op_never_taken || mode->fault == FAULT_post_op_dropped) {
    static const ops_post_op_def relu_behind[] = {
        {.struct_size = sizeof(ops_post_op_def), .op = OPS_STR("Relu"), .since = 1}};
    spoilt_defs[7].post_ops = relu_behind;
    spoilt_defs[7].post_op_count = 1;
    spoilt_defs[7].post_op_stride = sizeof *relu_behind;
    spoilt_defs[7].max_post_ops = 1;
  }
  if (mode->fault == FAULT_required_slot_missing) {
    static ops_kernel_api api;
    api = faulty_kernel;
    api.execute = NULL;
    relu->api = &api;
  }
  return &spoilt_provider;
}

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  const uint64_t features = OPS_FEATURE_STREAMS | OPS_FEATURE_GROUPS | OPS_FEATURE_REWRITES |
                            OPS_FEATURE_CAPTURE | OPS_FEATURE_PRIVATE_LAYOUTS;
  const faulty_mode *mode = faulty_library_mode();
  const ops_provider *provider = mode->fault || mode->control ? spoil_tables(mode) : &kProvider;
  const ops_query_request careless = {.struct_size = sizeof careless,
                                      .magic = OPS_QUERY_MAGIC,
                                      .min_version = OPS_ABI_VERSION,
                                      .max_version = OPS_ABI_VERSION,
                                      .offered_features = UINT64_MAX};
  if (mode->fault == FAULT_accepts_any_version) request = &careless;
  if (mode->fault == FAULT_reply_overrun) memset((char *)reply + reply->struct_size, 0, 8);
  return ops_provider_answer(provider, features, 0, OPS_SANITIZER_BUILD, request, reply, error);
}

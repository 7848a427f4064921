// SPDX-License-Identifier: Apache-2.0
//
// The table of what mynpu offers, and the one exported symbol.
#include <ops_support/provider.h>

#include "npu.h"

#define FLOAT_ARG(arg_name, arg_flags)                                                         \
  {                                                                                            \
    .struct_size = sizeof(ops_arg_def), .name = OPS_STR(arg_name), .type_param = OPS_STR("T"), \
    .types = OPS_TYPE_BIT(OPS_TYPE_FLOAT), .memory_kind = OPS_MEMORY_DEVICE,                   \
    .flags = arg_flags                                                                         \
  }
static const ops_arg_def kUnaryInputs[] = {FLOAT_ARG("X", 0)};
static const ops_arg_def kBinaryInputs[] = {FLOAT_ARG("A", 0), FLOAT_ARG("B", 0)};
static const ops_arg_def kConvInputs[] = {FLOAT_ARG("X", 0), FLOAT_ARG("W", 0),
                                          FLOAT_ARG("B", OPS_ARG_OPTIONAL)};
static const ops_arg_def kOutput[] = {FLOAT_ARG("Y", 0)};

#define ALIAS(input_index) \
  { .struct_size = sizeof(ops_alias_def), .input = input_index, .flags = OPS_ALIAS_MAY }
static const ops_alias_def kUnaryAlias[] = {ALIAS(0)};
static const ops_alias_def kBinaryAlias[] = {ALIAS(0), ALIAS(1)};

#define DEF(op_name, first_opset, op_row, inputs_array)                                        \
  .struct_size = sizeof(ops_kernel_def), .op = OPS_STR(op_name), .since = first_opset,         \
  .name = OPS_STR("mynpu_" op_name), OPS_LIST(input, inputs_array), OPS_LIST(output, kOutput), \
  .flags = OPS_KERNEL_REENTRANT | OPS_KERNEL_ASYNC | OPS_KERNEL_CAPTURABLE,                    \
  .dynamic_shape = OPS_DYNAMIC_FULL, .determinism = OPS_DETERMINISM_BITWISE,                   \
  .accumulation_type = OPS_TYPE_FLOAT, .api = &npu_kernel_api, .context = &op_row

static const ops_kernel_def kKernels[] = {
    {DEF("Relu", 6, npu_op_relu, kUnaryInputs), OPS_ALIASES(kUnaryAlias)},
    {DEF("Add", 7, npu_op_add, kBinaryInputs), OPS_ALIASES(kBinaryAlias)},
    {DEF("Sub", 7, npu_op_sub, kBinaryInputs), OPS_ALIASES(kBinaryAlias)},
    {DEF("Mul", 7, npu_op_mul, kBinaryInputs), OPS_ALIASES(kBinaryAlias)},
    {DEF("MatMul", 1, npu_op_matmul, kBinaryInputs)},
    {DEF("Conv", 1, npu_op_conv, kConvInputs)},
    {DEF("DepthToSpace", 1, npu_op_depth_to_space, kUnaryInputs)},
};

static const ops_provider kProvider = {
    .struct_size = sizeof(ops_provider),
    .name = OPS_STR("mynpu"),
    .vendor = OPS_STR("Example"),
    .version = OPS_STR("1.0.0"),
    OPS_LIST(kernel, kKernels),
    OPS_LIST(rewrite, npu_rewrites),
    .instance = &npu_instance_api,
    .memory = &npu_memory_api,
    .stream = &npu_stream_api,
    .unload_safe = 1,
};

static const uint64_t kFeatures = OPS_FEATURE_STREAMS | OPS_FEATURE_PRIVATE_LAYOUTS |
                                  OPS_FEATURE_REWRITES | OPS_FEATURE_CAPTURE;

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  return ops_provider_answer(&kProvider, kFeatures, 0, OPS_SANITIZER_BUILD, request, reply,
                             error);
}

// SPDX-License-Identifier: Apache-2.0
#include "probe_test_rules.h"

#include <ops_support/error.h>
#include <ops_support/node.h>

// Adds `op` on value `input` with at most one attribute, and lets it be output 0.
static int32_t add_unary(const ops_rewrite_api *api, ops_rewrite_builder *builder,
                         ops_str domain, ops_str op, int32_t opset,
                         const ops_attribute *attribute, int64_t input, ops_error *error) {
  const ops_operand operand = {.struct_size = sizeof operand, .value = input};
  const ops_node node = {.struct_size = sizeof node,
                         .domain = domain,
                         .op = op,
                         .opset = opset,
                         .attributes = attribute,
                         .attribute_count = attribute ? 1 : 0,
                         .attribute_stride = sizeof *attribute,
                         .inputs = &operand,
                         .input_count = 1,
                         .input_stride = sizeof operand};
  int64_t y;
  OPS_RETURN_IF_ERROR(api->add_node(builder, &node, &y, 1, error));
  return api->set_output(builder, 0, y, error);
}

#define APPLY(name)                                                                     \
  static int32_t name(ops_device *device, const ops_node *const *nodes, uint64_t count, \
                      const ops_rewrite_api *api, ops_rewrite_builder *b, ops_error *error)
#define UNUSED (void)device, (void)nodes, (void)count, (void)api, (void)b
#define PROBE ((ops_str)OPS_STR("probe"))
#define ONNX ((ops_str)OPS_STR("ai.onnx"))
#define INPUT ops_node_input(nodes[0], 0)->value

APPLY(make_solo) {
  UNUSED;
  const float scale = 3;
  const ops_attribute attribute = {.struct_size = sizeof attribute,
                                   .name = OPS_STR("scale"),
                                   .kind = OPS_ATTRIBUTE_FLOAT,
                                   .count = 1,
                                   .floats = &scale};
  return add_unary(api, b, PROBE, (ops_str)OPS_STR("Solo"), 1, &attribute, INPUT, error);
}

APPLY(refuse) {
  UNUSED;
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "the moon is not full");
}

APPLY(make_acos) {
  UNUSED;
  return add_unary(api, b, ONNX, (ops_str)OPS_STR("Acos"), 13, NULL, INPUT, error);
}

APPLY(make_double) {
  UNUSED;
  const int64_t to = OPS_TYPE_DOUBLE;
  const ops_attribute attribute = {.struct_size = sizeof attribute,
                                   .name = OPS_STR("to"),
                                   .kind = OPS_ATTRIBUTE_INT,
                                   .count = 1,
                                   .ints = &to};
  return add_unary(api, b, ONNX, (ops_str)OPS_STR("Cast"), 13, &attribute, INPUT, error);
}

APPLY(make_nothing) {
  UNUSED;
  (void)error;
  return OPS_OK;
}

APPLY(read_unknown_value) {
  UNUSED;
  return add_unary(api, b, ONNX, (ops_str)OPS_STR("Neg"), 13, NULL, (int64_t)1 << 40, error);
}

static int32_t add_pair(const ops_rewrite_api *api, ops_rewrite_builder *b, uint64_t bytes,
                        int64_t *out_value, ops_error *error) {
  static const int64_t dims[1] = {2}, strides[1] = {1};
  static const float numbers[2] = {5, 7};
  const ops_tensor tensor = {.dims = dims,
                             .strides = strides,
                             .memory = (void *)numbers,
                             .byte_size = bytes,
                             .type = OPS_TYPE_FLOAT,
                             .rank = 1};
  const ops_constant constant = {.struct_size = sizeof constant,
                                 .rank = 1,
                                 .dims = dims,
                                 .dense = {.kind = OPS_ARG_TENSOR, .tensor = tensor}};
  return api->add_constant(b, &constant, out_value, error);
}

APPLY(read_constant) {
  UNUSED;
  int64_t value;
  OPS_RETURN_IF_ERROR(add_pair(api, b, 8, &value, error));
  return add_unary(api, b, PROBE, (ops_str)OPS_STR("Solo"), 1, NULL, value, error);
}

APPLY(add_short_constant) {
  UNUSED;
  int64_t value;
  return add_pair(api, b, 7, &value, error);
}

APPLY(leave_rubbish) {
  UNUSED;
  int64_t value;
  OPS_RETURN_IF_ERROR(add_pair(api, b, 8, &value, error));
  OPS_RETURN_IF_ERROR(
      add_unary(api, b, PROBE, (ops_str)OPS_STR("Solo"), 1, NULL, value, error));
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "changed its mind");
}

static const int32_t from_first[] = {0};
#define ONE(op_name)                                                                           \
  {                                                                                            \
    {                                                                                          \
      .struct_size = sizeof(ops_pattern_node), .op = OPS_STR(op_name), .since = 1, .until = 20 \
    }                                                                                          \
  }
static const ops_pattern_node floor_of_ceil[] = {
    {.struct_size = sizeof(ops_pattern_node), .op = OPS_STR("Ceil"), .since = 1},
    {.struct_size = sizeof(ops_pattern_node),
     .op = OPS_STR("Floor"),
     .since = 1,
     .inputs = from_first,
     .input_count = 1}};
static const ops_pattern_node tan_node[] = ONE("Tan"), atan_node[] = ONE("Atan"),
                              asin_node[] = ONE("Asin"), acosh_node[] = ONE("Acosh"),
                              asinh_node[] = ONE("Asinh"), softsign_node[] = ONE("Softsign"),
                              atanh_node[] = ONE("Atanh"), sinh_node[] = ONE("Sinh");

#define RULE(rule_name, array, function)                                                   \
  {                                                                                        \
    .struct_size = sizeof(ops_rewrite), .name = OPS_STR(rule_name), .pattern = (array),    \
    .pattern_count = sizeof(array) / sizeof(array)[0], .pattern_stride = sizeof(array)[0], \
    .apply = (function)                                                                    \
  }
const ops_rewrite probe_rules[PROBE_RULES] = {
    RULE("solo", floor_of_ceil, make_solo),
    RULE("refuses", tan_node, refuse),
    RULE("not_taken", atan_node, make_acos),
    RULE("wrong_type", asin_node, make_double),
    RULE("silent", acosh_node, make_nothing),
    RULE("unknown_value", asinh_node, read_unknown_value),
    RULE("constant", softsign_node, read_constant),
    RULE("short_constant", atanh_node, add_short_constant),
    RULE("rubbish", sinh_node, leave_rubbish),
};

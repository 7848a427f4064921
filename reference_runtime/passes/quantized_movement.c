// SPDX-License-Identifier: Apache-2.0
//
// DequantizeLinear, an operator that only moves or selects elements, QuantizeLinear with the
// same scale and zero point: the operator can work on the integers. ((q − z)·s)/s is within a
// few units in the last place of an integer below 256 and rounds to it, so the bits are the
// same.
#include "passes/pattern.h"
#include "passes/quantized.h"

static const char *const roots[] = {"QuantizeLinear", NULL};

#define MAX_CHAIN 32
#define MAX_INPUTS 16

// Operators, the inputs that hold data (0: the first one), and the opset from which they take
// 8-bit integers.
static const struct {
  const char *op;
  int32_t opset;
} movers[] = {{"MaxPool", 12},  {"Reshape", 5}, {"Transpose", 1},    {"Squeeze", 1},
              {"Unsqueeze", 1}, {"Flatten", 9}, {"Slice", 10},       {"Gather", 1},
              {"Expand", 8},    {"Tile", 6},    {"DepthToSpace", 1}, {"SpaceToDepth", 1},
              {"Identity", 1}};

static int moves(const rt_node *node) {
  for (size_t i = 0; i < sizeof movers / sizeof movers[0]; ++i)
    if (rt_pass_is(node, movers[i].op)) return node->op.opset >= movers[i].opset;
  return 0;
}

// q itself where there is nothing in between.
static int32_t cancel(rt_pass_context *context, rt_node *quantize, const rt_quantized *source,
                      ops_error *error) {
  rt_pass_hit(context, "DequantizeLinear '%s' + QuantizeLinear '%s': cancel",
              source->node->name, quantize->name);
  return rt_pass_replace(context, quantize, source->q, error);
}

// The DequantizeLinear from which the value comes, through operators that move and that nobody
// else reads.
static rt_quantized find_source(const rt_value *value) {
  rt_quantized source = rt_quantized_source(value);
  for (int step = 0; !source.node && step < MAX_CHAIN; ++step) {
    if (!value || value->kind != RT_VALUE_OUTPUT || !moves(value->producer) ||
        !rt_pass_one_output(value->producer) || !rt_value_sole_consumer(value))
      break;
    value = rt_node_input(value->producer, 0);
    source = rt_quantized_source(value);
  }
  return source;
}

// The integers that the operator is to move: those of the DequantizeLinear before it, or the
// QuantizeLinear moves up by one operator.
static int32_t integers_before(rt_pass_context *context, const rt_node *node, rt_node *quantize,
                               rt_value **out_value, ops_error *error) {
  const rt_quantized source = rt_quantized_source(node->operands[0]);
  rt_node *earlier;
  *out_value = source.q;
  if (source.node) return OPS_OK;
  rt_value *inputs[3] = {node->operands[0]};
  for (uint32_t i = 1; i < quantize->input_count && i < 3; ++i)
    inputs[i] = quantize->operands[i];
  const rt_node_desc desc = {.op = "QuantizeLinear",
                             .inputs = inputs,
                             .input_count = quantize->input_count,
                             .output_count = 1,
                             .attrs = quantize->op.attrs.items,
                             .attr_count = quantize->op.attrs.count};
  OPS_RETURN_IF_ERROR(
      rt_pass_add_node(context, &desc, quantize, &quantize, 1, &earlier, error));
  *out_value = earlier->outputs[0];
  return OPS_OK;
}

static int32_t move(rt_pass_context *context, rt_node *node, rt_node *quantize,
                    ops_error *error) {
  rt_value *inputs[MAX_INPUTS];
  if (node->input_count > MAX_INPUTS) return OPS_OK;
  for (uint32_t i = 0; i < node->input_count; ++i) inputs[i] = node->operands[i];
  OPS_RETURN_IF_ERROR(integers_before(context, node, quantize, &inputs[0], error));
  rt_node_desc desc = rt_node_describe(node);
  desc.inputs = inputs;
  desc.output_count = 1;
  rt_node *const replaced[] = {node, quantize};
  rt_node *fused;
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, replaced, 2, &fused, error));
  if (fused) rt_pass_hit(context, "%s '%s': works on integers", node->op.name, node->name);
  return fused || inputs[0]->kind != RT_VALUE_OUTPUT || inputs[0]->producer->removed
             ? OPS_OK
             : rt_pass_drop(context, inputs[0]->producer, error);
}

static int32_t visit(rt_pass_context *context, rt_node *quantize, ops_error *error) {
  rt_value *input = rt_node_input(quantize, 0);
  if (!rt_pass_is(quantize, "QuantizeLinear") || !input || input->kind != RT_VALUE_OUTPUT)
    return OPS_OK;
  rt_node *node = input->producer;
  const int direct = rt_pass_is(node, "DequantizeLinear");
  if (!direct && (!moves(node) || !rt_node_input(node, 0))) return OPS_OK;
  const rt_quantized source = find_source(direct ? input : node->operands[0]);
  if (!source.node) return OPS_OK;
  rt_quantized target = rt_quantized_target(node);
  if (direct) {
    // Others may read the real numbers, too; these keep their DequantizeLinear.
    target = source;
    target.scale = rt_node_input(quantize, 1);
    target.zero = rt_node_input(quantize, 2);
    target.q = quantize->outputs[0];
  }
  if (!target.node || !rt_quantized_equal(&source, &target)) {
    rt_pass_miss(context, "%s '%s' + QuantizeLinear '%s': does not work on integers, %s",
                 node->op.name, node->name, quantize->name,
                 target.node ? "scale or zero point change" : "others read what is between");
    return OPS_OK;
  }
  return direct ? cancel(context, quantize, &source, error)
                : move(context, node, quantize, error);
}

const rt_pass rt_pass_quantized_movement = {.roots = roots, .visit = visit};

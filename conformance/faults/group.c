// SPDX-License-Identifier: Apache-2.0
//
// Groups of one node, for control only_in_group, and a rewrite rule: a - b is a + (-b).
#include <ops_support/error.h>
#include <ops_support/node.h>

#include "faulty.h"

const ops_kernel_def *faulty_find_def(ops_str op);

static int32_t group_claim(ops_device *device, const ops_graph *graph, ops_group_claim *claims,
                           uint64_t claim_count, uint64_t claim_stride, ops_error *error) {
  (void)error;
  int32_t number = 0;
  for (uint64_t i = 0; i < claim_count; ++i) {
    const ops_node *node = OPS_AT(ops_node, graph->nodes, graph->node_stride, i);
    ops_group_claim *claim = (ops_group_claim *)((char *)claims + i * claim_stride);
    const int mine =
        device->mode->control == CONTROL_only_in_group && faulty_find_def(node->op);
    claim->group = mine ? number++ : OPS_GROUP_NONE;
  }
  return OPS_OK;
}

// The group's inputs are those of its only node, in their order.
static int32_t group_compile(ops_device *device, const ops_graph *group,
                             ops_kernel **out_kernel, const ops_kernel_api **out_api,
                             ops_error *error) {
  const ops_kernel_def *def = group->node_count == 1 ? faulty_find_def(group->nodes->op) : NULL;
  if (!def || group->input_count != group->nodes->input_count) {
    return ops_error_set(error, OPS_ERROR_DECLINED,
                         "a group of %llu nodes with %llu inputs: expected one node without "
                         "constants",
                         (unsigned long long)group->node_count,
                         (unsigned long long)group->input_count);
  }
  *out_api = &faulty_kernel;
  return faulty_kernel.create(device, def, group->nodes, out_kernel, error);
}

const ops_group_api faulty_group = {
    .struct_size = sizeof(ops_group_api), .claim = group_claim, .compile = group_compile};

// ---- The rewrite rule -----------------------------------------------------------------------

static ops_node node_of(ops_str op, int32_t opset, const ops_operand *inputs, uint64_t count) {
  return (ops_node){.struct_size = sizeof(ops_node),
                    .op = op,
                    .opset = opset,
                    .inputs = inputs,
                    .input_count = count,
                    .input_stride = sizeof *inputs};
}

static int32_t apply(ops_device *device, const ops_node *const *nodes, uint64_t node_count,
                     const ops_rewrite_api *api, ops_rewrite_builder *builder,
                     ops_error *error) {
  (void)node_count;
  static const ops_str neg = OPS_STR("Neg"), add = OPS_STR("Add");
  const ops_operand *a = ops_node_input(nodes[0], 0), *b = ops_node_input(nodes[0], 1);
  if (!a || !b || a->type->type != OPS_TYPE_FLOAT || nodes[0]->opset < 14)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "only for two tensors of float");
  const int swapped = FAULTY(device, rewrite_swaps_operands);
  const ops_node negation = node_of(neg, nodes[0]->opset, swapped ? a : b, 1);
  ops_operand inputs[2] = {swapped ? *b : *a, swapped ? *a : *b};
  int64_t sum;
  OPS_RETURN_IF_ERROR(api->add_node(builder, &negation, &inputs[1].value, 1, error));
  const ops_node addition = node_of(add, nodes[0]->opset, inputs, 2);
  OPS_RETURN_IF_ERROR(api->add_node(builder, &addition, &sum, 1, error));
  return api->set_output(builder, 0, sum, error);
}

static const ops_pattern_node kSub[] = {
    {.struct_size = sizeof(ops_pattern_node), .op = OPS_STR("Sub"), .since = 14}};

const ops_rewrite faulty_rewrites[1] = {{.struct_size = sizeof(ops_rewrite),
                                         .name = OPS_STR("sub_to_add"),
                                         .pattern = kSub,
                                         .pattern_count = 1,
                                         .pattern_stride = sizeof *kSub,
                                         .apply = apply}};

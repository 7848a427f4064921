// SPDX-License-Identifier: Apache-2.0
//
// Which groups are proposed, and a rewrite rule: a - b is a + (-b).
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <string.h>

#include "faulty.h"

const ops_kernel_def *faulty_find_def(ops_str op);

static ops_group_claim *claim_at(ops_group_claim *claims, uint64_t stride, uint64_t i) {
  return (ops_group_claim *)((char *)claims + i * stride);
}

// Control only_in_group: each node that has a definition, by itself.
static void claim_each(const ops_graph *graph, ops_group_claim *claims, uint64_t count,
                       uint64_t stride) {
  int32_t number = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const ops_node *node = OPS_AT(ops_node, graph->nodes, graph->node_stride, i);
    claim_at(claims, stride, i)->group = faulty_find_def(node->op) ? number++ : OPS_GROUP_NONE;
  }
}

static int has_branches(const ops_node *node) {
  for (uint64_t i = 0; i < node->attribute_count; ++i) {
    const ops_attribute *attribute =
        OPS_AT(ops_attribute, node->attributes, node->attribute_stride, i);
    if (attribute->kind == OPS_ATTRIBUTE_GRAPH) return 1;
  }
  return 0;
}

// Whether an input of the graph is read that an operator must have given: the graph is a part.
static int is_part(const ops_graph *graph) {
  for (uint64_t i = 0; i < graph->input_count; ++i) {
    const ops_operand *input = OPS_AT(ops_operand, graph->inputs, graph->input_stride, i);
    if (input->name.size == 2 && input->name.data[1] >= '2') return 1;
  }
  return 0;
}

// All elementwise nodes are one group, whatever lies between them.
static int32_t claim_all(ops_device *device, const ops_graph *graph, ops_group_claim *claims,
                         uint64_t count, uint64_t stride, ops_error *error) {
  static int32_t asked;
  for (uint64_t i = 0; i < count; ++i) {
    const ops_node *node = OPS_AT(ops_node, graph->nodes, graph->node_stride, i);
    ops_group_claim *claim = claim_at(claims, stride, i);
    claim->group = faulty_can_fuse(node) ? 0 : OPS_GROUP_NONE;
    if (has_branches(node) && FAULTY(device, group_refuses_branches))
      return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "a node with branches");
    if (i > 0 && CONTROLLED(device, groups_of_one) && claim->group == 0)
      claim->group = (int32_t)i;
  }
  const int lone = count == 1 && FAULTY(device, group_wants_neighbours);
  const int part = is_part(graph) && FAULTY(device, group_parts_refused);
  const int now = FAULTY(device, group_claim_wavers) &&
                  __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED) % 2 && count > 1;
  if (lone || part) claim_at(claims, stride, 0)->group = OPS_GROUP_NONE;
  if (part || now) claim_at(claims, stride, count - 1)->group = OPS_GROUP_NONE;
  return OPS_OK;
}

#define CHECKS_ITEM(name, ops, checks, statuses, what, source) checks,
static const char *const kChecks[] = {"", FAULT_LIST(CHECKS_ITEM)};

// A fault of kernels is to be met in models, too: then nodes run one by one.
static int fuses(const ops_device *device) {
  const char *checks = kChecks[device->mode->fault];
  return !*checks || strncmp(checks, "groups/", strlen("groups/")) == 0;
}

static int32_t group_claim(ops_device *device, const ops_graph *graph, ops_group_claim *claims,
                           uint64_t claim_count, uint64_t claim_stride, ops_error *error) {
  if (!fuses(device)) {
    for (uint64_t i = 0; i < claim_count; ++i)
      claim_at(claims, claim_stride, i)->group = OPS_GROUP_NONE;
    return OPS_OK;
  }
  if (device->mode->control == CONTROL_only_in_group) {
    claim_each(graph, claims, claim_count, claim_stride);
    return OPS_OK;
  }
  return claim_all(device, graph, claims, claim_count, claim_stride, error);
}

// Control only_in_group: the group's inputs are those of its only node, in their order.
static int32_t compile_one(ops_device *device, const ops_graph *group, ops_kernel **out_kernel,
                           const ops_kernel_api **out_api, ops_error *error) {
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

static int32_t group_compile(ops_device *device, const ops_graph *group,
                             ops_kernel **out_kernel, const ops_kernel_api **out_api,
                             ops_error *error) {
  const int one = device->mode->control == CONTROL_only_in_group;
  return (one ? compile_one : faulty_fused_compile)(device, group, out_kernel, out_api, error);
}

const ops_group_api faulty_group = {.struct_size = sizeof(ops_group_api),
                                    .claim = group_claim,
                                    .compile = group_compile,
                                    .load = faulty_fused_load};

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

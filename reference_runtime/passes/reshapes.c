// SPDX-License-Identifier: Apache-2.0
//
// Reshape, Flatten, Squeeze and Unsqueeze move nothing: one whose result has the shape of its
// input goes, and a chain of them is one Reshape.
#include "passes/pass.h"

static const char *const roots[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", NULL};

static int is_reshape(const rt_node *node) {
  for (const char *const *root = roots; *root; ++root)
    if (rt_pass_is(node, *root)) return 1;
  return 0;
}

static rt_node *inner_of(const rt_node *node) {
  const rt_value *input = node->operands[0];
  if (input->kind != RT_VALUE_OUTPUT || rt_value_sole_consumer(input) != node) return NULL;
  return is_reshape(input->producer) && input->producer->operands[0] ? input->producer : NULL;
}

// The target of a Reshape from `from` to the shape of `to`, NULL if it can be said: numbers, 0
// for the input's own dimension at the place, one -1 where nothing can be empty.
static const char *find_target(const rt_value *from, const rt_value *to, int64_t *out_target) {
  int open = 0, may_be_empty = 0;
  const int32_t rank = rt_pass_rank(to);
  if (rank < 1) return "the result's rank is not known, or 0";
  for (int32_t i = 0; i < rank; ++i) {
    const rt_dim dim = to->type.dims[i];
    if (rt_dim_is_const(dim)) {
      if (dim.value == 0) return "a dimension is 0";
      out_target[i] = dim.value;
    } else if (i < rt_pass_rank(from) && rt_dim_equal(dim, from->type.dims[i])) {
      out_target[i] = 0;
      may_be_empty = 1;
    } else {
      out_target[i] = -1;
      ++open;
    }
  }
  return open == 0 || (open == 1 && !may_be_empty) ? NULL : "more than one dimension is open";
}

static int32_t merge(rt_pass_context *context, rt_node *node, rt_node *inner,
                     ops_error *error) {
  int64_t target[OPS_MAX_RANK];
  rt_value *source = inner->operands[0], *shape;
  const char *why = node->op.opset < 5 ? "Reshape takes no input before opset 5"
                                       : find_target(source, node->outputs[0], target);
  if (why) {
    rt_pass_miss(context, "%s '%s' + %s '%s': not merged, %s", inner->op.name, inner->name,
                 node->op.name, node->name, why);
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(rt_pass_add_ints(node->graph, "shape", target,
                                       rt_pass_rank(node->outputs[0]), &shape, error));
  rt_value *inputs[] = {source, shape};
  const rt_node_desc desc = {.name = node->name,
                             .op = "Reshape",
                             .inputs = inputs,
                             .input_count = 2,
                             .output_count = 1};
  rt_node *const origins[] = {inner, node};
  rt_node *merged;
  rt_pass_hit(context, "%s '%s' + %s '%s': merged into one Reshape", inner->op.name,
              inner->name, node->op.name, node->name);
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &desc, node, origins, 2, &merged, error));
  return rt_pass_replace(context, node, merged->outputs[0], error);
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  if (!is_reshape(node) || !rt_node_input(node, 0) || !rt_node_output(node, 0)) return OPS_OK;
  if (rt_pass_same_type(node->operands[0], node->outputs[0])) {
    rt_pass_hit(context, "%s '%s': removed, the shape is there already", node->op.name,
                node->name);
    return rt_pass_replace(context, node, node->operands[0], error);
  }
  rt_node *inner = inner_of(node);
  return inner ? merge(context, node, inner, error) : OPS_OK;
}

const rt_pass rt_pass_reshapes = {.roots = roots, .visit = visit};

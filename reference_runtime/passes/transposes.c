// SPDX-License-Identifier: Apache-2.0
//
// A Transpose that keeps every dimension in its place goes; two in a row are one; one that only
// moves dimensions of length 1 past others moves no data and is a Reshape.
#include "passes/pass.h"

static const char *const roots[] = {"Transpose", NULL};

static int is_identity(const int64_t *perm, int32_t rank) {
  for (int32_t i = 0; i < rank; ++i)
    if (perm[i] != i) return 0;
  return 1;
}

static int32_t merge(rt_pass_context *context, rt_node *node, rt_node *inner,
                     const int64_t *perm, int32_t rank, ops_error *error) {
  int64_t first[OPS_MAX_RANK], both[OPS_MAX_RANK];
  if (rt_pass_perm(inner, first) != rank) return OPS_OK;
  for (int32_t i = 0; i < rank; ++i) both[i] = first[perm[i]];
  rt_pass_hit(context, "Transpose '%s' + Transpose '%s': %s", inner->name, node->name,
              is_identity(both, rank) ? "cancel" : "merged");
  if (is_identity(both, rank)) return rt_pass_replace(context, node, inner->operands[0], error);
  OPS_RETURN_IF_ERROR(rt_node_set_attr_ints(node, "perm", both, (uint32_t)rank, error));
  OPS_RETURN_IF_ERROR(rt_node_set_operand(node, 0, inner->operands[0], error));
  OPS_RETURN_IF_ERROR(rt_pass_absorb(node, inner, error));
  return rt_pass_drop(context, inner, error);
}

// 1 if the dimensions that are longer than 1 keep their order.
static int moves_nothing(const rt_value *input, const int64_t *perm, int32_t rank) {
  int64_t last = -1;
  for (int32_t i = 0; i < rank; ++i) {
    if (rt_dim_is_value(input->type.dims[perm[i]], 1)) continue;
    if (perm[i] < last) return 0;
    last = perm[i];
  }
  return 1;
}

static int32_t become_reshape(rt_pass_context *context, rt_node *node, ops_error *error) {
  int64_t target[OPS_MAX_RANK];
  const rt_value *output = node->outputs[0];
  const int32_t rank = rt_pass_rank(output);
  int open = 0;
  rt_value *shape;
  rt_node *reshape;
  if (rank < 1 || node->op.opset < 5) return OPS_OK;
  for (int32_t i = 0; i < rank; ++i) {
    const int known = rt_dim_is_const(output->type.dims[i]);
    target[i] = known ? output->type.dims[i].value : -1;
    open += !known;
    if (target[i] == 0) return OPS_OK;
  }
  if (open > 1) {
    rt_pass_miss(context, "Transpose '%s': not made a Reshape, more than one dimension is open",
                 node->name);
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(rt_pass_add_ints(node->graph, "shape", target, rank, &shape, error));
  rt_value *inputs[] = {node->operands[0], shape};
  const rt_node_desc desc = {.name = node->name,
                             .op = "Reshape",
                             .inputs = inputs,
                             .input_count = 2,
                             .output_count = 1};
  rt_pass_hit(context, "Transpose '%s': made a Reshape, it moves no data", node->name);
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &desc, node, &node, 1, &reshape, error));
  return rt_pass_replace(context, node, reshape->outputs[0], error);
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  int64_t perm[OPS_MAX_RANK];
  if (!rt_pass_is(node, "Transpose") || !rt_node_input(node, 0) || !rt_node_output(node, 0))
    return OPS_OK;
  const int32_t rank = rt_pass_perm(node, perm);
  if (rank < 0) return OPS_OK;
  if (is_identity(perm, rank)) {
    rt_pass_hit(context, "Transpose '%s': removed, it moves nothing", node->name);
    return rt_pass_replace(context, node, node->operands[0], error);
  }
  rt_node *inner = rt_pass_producer(node->operands[0], "Transpose");
  if (inner && inner->operands[0]) return merge(context, node, inner, perm, rank, error);
  return moves_nothing(node->operands[0], perm, rank) ? become_reshape(context, node, error)
                                                      : OPS_OK;
}

const rt_pass rt_pass_transposes = {.roots = roots, .visit = visit};

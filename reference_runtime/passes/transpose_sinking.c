// SPDX-License-Identifier: Apache-2.0
//
// Moves Transposes behind operators that work element by element, and behind Concat, where that
// makes them fewer: several inputs with one permutation become one output with it, or the way
// leads to another Transpose, with which it then merges.
//
// Operands that are no Transpose must be constants; they are turned back, which folding does.
// All Transposes must have the shape of the result, so that none grows by broadcasting.
#include <string.h>

#include "passes/elementwise.h"
#include "passes/pass.h"

#define LOOK_AHEAD 32

static rt_node *transpose_of(const rt_node *node, uint32_t index) {
  const rt_value *value = node->operands[index];
  rt_node *transpose = rt_pass_producer(value, "Transpose");
  if (!transpose || rt_value_sole_consumer(value) != node) return NULL;
  return transpose;
}

static int is_concat(const rt_node *node) {
  return rt_pass_is(node, "Concat");
}

static int carries(const rt_node *node) {
  return rt_pass_is_unary(node) || rt_pass_is_broadcasting(node) || is_concat(node);
}

// The permutation all Transposes of the inputs share, and how many there are. 0 if there is
// none.
static uint32_t shared_perm(const rt_node *node, int64_t *out_perm, int32_t *out_rank) {
  int64_t perm[OPS_MAX_RANK];
  uint32_t count = 0;
  for (uint32_t i = 0; i < node->input_count; ++i) {
    const rt_node *transpose = node->operands[i] ? transpose_of(node, i) : NULL;
    if (!transpose) continue;
    const int32_t rank = rt_pass_perm(transpose, perm);
    if (rank < 1 || (count && rank != *out_rank) ||
        (count && memcmp(perm, out_perm, (size_t)rank * sizeof *perm) != 0))
      return 0;
    memcpy(out_perm, perm, (size_t)rank * sizeof *perm);
    *out_rank = rank;
    ++count;
  }
  return count;
}

static int inputs_fit(const rt_node *node, int32_t rank) {
  const rt_value *output = node->outputs[0];
  if (rt_pass_rank(output) != rank) return 0;
  for (uint32_t i = 0; i < node->input_count; ++i) {
    const rt_value *value = node->operands[i];
    if (!value) return 0;
    if (transpose_of(node, i)) {
      if (!is_concat(node) && !rt_pass_same_shape(value, output)) return 0;
    } else if (!rt_value_constant(value) || rt_value_constant(value)->sparse ||
               value->type.rank > rank || is_concat(node)) {
      return 0;
    }
  }
  return 1;
}

// 1 if the only way on leads through operators that carry a Transpose to another one.
static int leads_to_transpose(const rt_node *node) {
  for (int step = 0; step < LOOK_AHEAD; ++step) {
    if (!rt_pass_one_output(node)) return 0;
    const rt_node *next = rt_value_sole_consumer(node->outputs[0]);
    if (!next) return 0;
    if (rt_pass_is(next, "Transpose")) return 1;
    if (!rt_pass_is_unary(next)) {
      if (!rt_pass_is_broadcasting(next)) return 0;
      for (uint32_t i = 0; i < next->input_count; ++i)
        if (next->operands[i] != node->outputs[0] &&
            (!next->operands[i] || !rt_value_constant(next->operands[i])))
          return 0;
    }
    node = next;
  }
  return 0;
}

// --- Moving ----------------------------------------------------------------------------------

// A constant operand in front of the Transpose: dimensions of 1 added, then turned back.
static int32_t turn_back(rt_pass_context *context, rt_node *node, uint32_t index,
                         const int64_t *perm, int32_t rank, ops_error *error) {
  rt_value *value = node->operands[index], *full;
  const rt_constant *constant = rt_value_constant(value);
  int64_t dims[OPS_MAX_RANK], inverse[OPS_MAX_RANK];
  rt_constant *copy = NULL;
  rt_node *transpose;
  if (constant->rank == 0) return OPS_OK;
  const int32_t missing = rank - constant->rank;
  for (int32_t i = 0; i < rank; ++i) {
    dims[i] = i < missing ? 1 : constant->dims[i - missing];
    inverse[perm[i]] = i;
  }
  OPS_RETURN_IF_ERROR(
      constant->elem_type == OPS_TYPE_STRING
          ? rt_constant_create_strings(rank, dims, constant->strings, &copy, error)
          : rt_constant_create(constant->elem_type, rank, dims, constant->data, &copy, error));
  OPS_RETURN_IF_ERROR(rt_pass_add_constant(node->graph, value->name, copy, &full, error));
  const rt_attr attr = {
      .name = "perm", .kind = RT_ATTR_INTS, .count = (uint32_t)rank, .ints = inverse};
  const rt_node_desc desc = {.op = "Transpose",
                             .inputs = &full,
                             .input_count = 1,
                             .output_count = 1,
                             .attrs = &attr,
                             .attr_count = 1};
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &desc, node, &node, 1, &transpose, error));
  OPS_RETURN_IF_ERROR(rt_node_set_operand(node, index, transpose->outputs[0], error));
  return rt_pass_drop_value(value, error);
}

static int32_t move_inputs(rt_pass_context *context, rt_node *node, const int64_t *perm,
                           int32_t rank, ops_error *error) {
  for (uint32_t i = 0; i < node->input_count; ++i) {
    rt_node *transpose = transpose_of(node, i);
    if (!transpose) {
      OPS_RETURN_IF_ERROR(turn_back(context, node, i, perm, rank, error));
      continue;
    }
    OPS_RETURN_IF_ERROR(rt_node_set_operand(node, i, transpose->operands[0], error));
    OPS_RETURN_IF_ERROR(rt_pass_drop(context, transpose, error));
  }
  return OPS_OK;
}

static int32_t sink(rt_pass_context *context, rt_node *node, const int64_t *perm, int32_t rank,
                    ops_error *error) {
  rt_value *output = node->outputs[0];
  rt_node *transpose;
  const int64_t axis =
      is_concat(node) ? rt_pass_axis(rt_attrs_int(&node->op.attrs, "axis", 0), rank) : 0;
  if (axis < 0) return OPS_OK;
  rt_pass_hit(context, "%s '%s': a Transpose moved behind it", node->op.name, node->name);
  if (is_concat(node))
    OPS_RETURN_IF_ERROR(rt_node_set_attr_int(node, "axis", perm[axis], error));
  OPS_RETURN_IF_ERROR(move_inputs(context, node, perm, rank, error));
  const rt_attr attr = {
      .name = "perm", .kind = RT_ATTR_INTS, .count = (uint32_t)rank, .ints = perm};
  // It reads something else until nothing but it shall read the output.
  const rt_node_desc desc = {.op = "Transpose",
                             .opset = node->op.opset,
                             .inputs = &node->operands[0],
                             .input_count = 1,
                             .output_count = 1,
                             .attrs = &attr,
                             .attr_count = 1};
  const rt_type nothing = {0};
  OPS_RETURN_IF_ERROR(rt_graph_add_node(node->graph, &desc, node->next, &transpose, error));
  OPS_RETURN_IF_ERROR(rt_value_replace_uses(output, transpose->outputs[0], error));
  OPS_RETURN_IF_ERROR(rt_node_set_operand(transpose, 0, output, error));
  // What the model says of this value was said of the turned one.
  OPS_RETURN_IF_ERROR(rt_value_set_declared(output, &nothing, error));
  OPS_RETURN_IF_ERROR(rt_node_add_origins_of(transpose, node, error));
  OPS_RETURN_IF_ERROR(rt_pass_infer(context, node, error));
  return rt_pass_infer(context, transpose, error);
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  int64_t perm[OPS_MAX_RANK];
  int32_t rank = 0;
  if (!carries(node) || !rt_node_output(node, 0)) return OPS_OK;
  const uint32_t count = shared_perm(node, perm, &rank);
  if (count == 0 || (count == 1 && !leads_to_transpose(node))) return OPS_OK;
  if (!inputs_fit(node, rank)) {
    rt_pass_miss(
        context,
        "%s '%s': no Transpose moved behind it, an input is neither constant nor turned, "
        "or it broadcasts",
        node->op.name, node->name);
    return OPS_OK;
  }
  return sink(context, node, perm, rank, error);
}

const rt_pass rt_pass_transpose_sinking = {.visit = visit};

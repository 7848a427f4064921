// SPDX-License-Identifier: Apache-2.0
//
// Control flow that no provider claims: the node becomes a unit of the runtime's own, and each
// of its bodies is placed like the main graph, on the same devices. Depth is bounded here,
// which bounds the recursion of planning and running too.
#include <ops_support/error.h>

#include "partition/state.h"

typedef struct control_row {
  const char *op;
  int32_t kind;
} control_row;

static const control_row controls[] = {{"If", RT_CONTROL_IF},
                                       {"Loop", RT_CONTROL_LOOP},
                                       {"Scan", RT_CONTROL_SCAN},
                                       {"SequenceMap", RT_CONTROL_SEQUENCE_MAP}};

int32_t rt_control_kind(const rt_op *op) {
  for (uint32_t i = 0; i < sizeof controls / sizeof *controls; ++i)
    if (rt_op_is(op, controls[i].op)) return controls[i].kind;
  return RT_CONTROL_NONE;
}

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "placing control flow");
}

// Constants that bodies capture are found through the capture; nobody passes them in.
static int32_t list_inputs(rt_partition_state *state, const rt_node *node, rt_unit *unit,
                           ops_error *error) {
  rt_value **inputs = rt_bump_new(&state->partition->bump, node->operand_count, sizeof *inputs);
  if (!inputs) return exhausted(error);
  const uint32_t captures = node->operand_count - node->capture_count;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    rt_value *value = node->operands[i];
    if (i < captures || (value && !rt_value_constant(value))) inputs[i] = value;
  }
  unit->inputs = inputs;
  unit->input_count = node->operand_count;
  return OPS_OK;
}

// 1 if an output of the body is something that the body did not compute.
static int32_t lends(const rt_graph *body) {
  for (uint32_t i = 0; i < body->output_count; ++i)
    if (body->outputs[i]->kind != RT_VALUE_OUTPUT) return 1;
  return 0;
}

// 1 if the body can be run: not the branch that a constant condition rules out, in which
// nothing has to be right.
static int is_reachable(const rt_node *node, const rt_graph *body) {
  const rt_value *condition = rt_node_input(node, 0);
  if (!rt_op_is(&node->op, "If") || !condition || condition->contents_count != 1) return 1;
  if (!rt_dim_is_const(condition->contents[0])) return 1;
  const char *taken = condition->contents[0].value ? "then_branch" : "else_branch";
  return rt_attrs_graph(&node->op.attrs, taken) == body;
}

static int32_t place_bodies(rt_partition_state *state, const rt_node *node, rt_unit *unit,
                            ops_error *error) {
  rt_bump *bump = &state->partition->bump;
  const uint32_t count = rt_node_body_count(node);
  const char *path =
      rt_bump_format(bump, "%s%s '%s' / ", state->path, node->op.name, node->name);
  const char *names = rt_bump_format(bump, "%s%s/", state->names, node->name);
  unit->bodies = rt_bump_new(bump, count, sizeof *unit->bodies);
  if (!path || !names || !unit->bodies) return exhausted(error);
  if (state->partition->depth >= RT_PARTITION_MAX_DEPTH)
    return ops_error_set_cause(
        error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
        "bodies are nested deeper than %u (RT_PARTITION_MAX_DEPTH); nest fewer "
        "If, Loop, Scan and SequenceMap. It is %s",
        RT_PARTITION_MAX_DEPTH, unit->where);
  for (uint32_t i = 0; i < count; ++i) {
    const rt_graph *body = rt_node_body(node, i);
    if (!is_reachable(node, body)) continue;
    unit->lends |= lends(body);
    OPS_RETURN_IF_ERROR(rt_partition_create_body(state, body, path, names,
                                                 &unit->bodies[unit->body_count], error));
    unit->body_count++;
  }
  return OPS_OK;
}

int32_t rt_partition_control(rt_partition_state *state, uint32_t position, ops_error *error) {
  rt_node *node = state->nodes[position];
  // Listed first, so that its bodies are destroyed if a later one fails.
  rt_unit *unit = &state->units[state->unit_count];
  *unit = (rt_unit){.op = node->op.name,
                    .nodes = &state->nodes[position],
                    .node_count = 1,
                    .outputs = node->outputs,
                    .output_count = node->output_count,
                    .group = -1,
                    .control = rt_control_kind(&node->op)};
  state->unit_of[position] = state->unit_count++;
  OPS_RETURN_IF_ERROR(rt_partition_name_unit(state, node, unit, error));
  OPS_RETURN_IF_ERROR(list_inputs(state, node, unit, error));
  const ops_type_info *type = NULL;
  for (uint32_t i = 0; i < node->output_count; ++i)
    if (node->outputs[i])
      OPS_RETURN_IF_ERROR(
          rt_views_type(state->partition->views, node->outputs[i], &type, error));
  return place_bodies(state, node, unit, error);
}

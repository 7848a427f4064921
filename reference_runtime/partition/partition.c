// SPDX-License-Identifier: Apache-2.0
//
// Placement: each device in order of preference proposes groups, then claims single nodes.
// Refusals are collected, so that a node that stays free can say why everybody refused.
#include "partition/partition.h"

#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/state.h"

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "placing the nodes of a graph");
}

// ---- Refusals -------------------------------------------------------------------------------

static const char *claim_text(const ops_claim *claim) {
  if (claim->answer == OPS_CLAIM_ONLY_IN_GROUP)
    return "only as part of a group, and none formed";
  if (claim->text_size && claim->text[0]) return claim->text;
  return claim->reason == OPS_REASON_NONE ? "no reason given" : ops_reason_name(claim->reason);
}

static void note_refusal(rt_partition_state *state, uint32_t position, const rt_device *device,
                         const ops_claim *claim) {
  const char *before = state->reasons[position];
  char *text = rt_bump_format(&state->partition->bump, "%s%s%s: %.*s", before ? before : "",
                              before ? "; " : "", device->name, (int)sizeof claim->text,
                              claim_text(claim));
  if (text) state->reasons[position] = text;
}

static void describe_types(const rt_graph *graph, const rt_node *node, char *text,
                           size_t size) {
  size_t used = 0;
  text[0] = 0;
  for (uint32_t i = 0; i < node->input_count && used + 1 < size; ++i) {
    char type[128] = "absent";
    if (node->operands[i])
      rt_type_format(graph->symbols, &node->operands[i]->type, type, sizeof type);
    const int length = snprintf(text + used, size - used, "%s%s", i ? ", " : "", type);
    if (length > 0) used += (size_t)length;
  }
}

static int32_t report_unplaced(const rt_partition_state *state, uint32_t position,
                               ops_error *error) {
  const rt_node *node = state->nodes[position];
  char types[320];
  describe_types(state->graph, node, types, sizeof types);
  const char *reasons = state->reasons[position];
  return ops_error_set_cause(
      error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_NO_KERNEL,
      "%s%snode '%s': nobody runs %s%s%s of opset %d with inputs (%s). %s. Add a "
      "provider that has it",
      state->path, node->path, node->name, node->op.domain, node->op.domain[0] ? "." : "",
      node->op.name, node->op.opset, types, reasons ? reasons : "No provider was given");
}

// ---- Single nodes ---------------------------------------------------------------------------

// "a, b" of a node that a pass made from others, "" of one as the model has it.
static const char *origins_text(rt_bump *bump, const rt_node *node) {
  const char *text = "";
  for (uint32_t i = 0; text && i < node->origin_count; ++i)
    text = rt_bump_format(bump, "%s%s%s", text, i ? ", " : "", node->origins[i]);
  return text ? text : "";
}

int32_t rt_partition_name_unit(const rt_partition_state *state, const rt_node *node,
                               rt_unit *unit, ops_error *error) {
  rt_bump *bump = &state->partition->bump;
  unit->name = node->name;
  unit->origins = origins_text(bump, node);
  // A path says where a node comes from already.
  const char *from = node->path[0] ? "" : unit->origins;
  const char *lead = from[0] ? ", from " : "";
  if (state->names[0]) unit->name = rt_bump_format(bump, "%s%s", state->names, node->name);
  unit->where =
      state->path[0] || node->path[0]
          ? rt_bump_format(bump, "%s%s%s '%s'%s%s", state->path, node->path, node->op.name,
                           node->name, lead, from)
          : rt_bump_format(bump, "node '%s' (%s%s%s)", node->name, node->op.name, lead, from);
  return unit->name && unit->where ? OPS_OK : exhausted(error);
}

static int32_t place_node(rt_partition_state *state, uint32_t position, const rt_device *device,
                          const ops_kernel_def *def, const ops_node *view, ops_error *error) {
  rt_node *node = state->nodes[position];
  rt_unit *unit = &state->units[state->unit_count];
  *unit = (rt_unit){.op = node->op.name,
                    .device = device,
                    .def = def,
                    .api = def->api,
                    .nodes = &state->nodes[position],
                    .node_count = 1,
                    .inputs = node->operands,
                    .input_count = node->input_count + node->post_operand_count,
                    .outputs = node->outputs,
                    .output_count = node->output_count,
                    .group = -1};
  OPS_RETURN_IF_ERROR(rt_partition_name_unit(state, node, unit, error));
  const int32_t status = def->api->create(device->device, def, view, &unit->kernel, error);
  if (status != OPS_OK)
    return ops_error_prefix(error, "%s on provider %s", unit->where, device->name);
  if (!unit->kernel)
    return ops_error_set(error, OPS_ERROR_INTERNAL,
                         "node '%s': provider %s answered OK to create without a kernel",
                         node->name, device->name);
  state->unit_of[position] = state->unit_count++;
  return OPS_OK;
}

static int32_t claim_nodes(rt_partition_state *state, const rt_device *device,
                           ops_error *error) {
  for (uint32_t i = 0; i < state->node_count; ++i) {
    if (state->unit_of[i] != RT_UNPLACED) continue;
    const ops_node *view = NULL;
    const ops_kernel_def *def = NULL;
    ops_claim claim = {.struct_size = sizeof claim};
    OPS_RETURN_IF_ERROR(rt_views_node(state->partition->views, state->nodes[i], &view, error));
    const int32_t status =
        ops_library_claim(device->library, device->device, view, &def, &claim, error);
    if (status != OPS_OK)
      return ops_error_prefix(error, "provider %s, node '%s'", device->name,
                              state->nodes[i]->name);
    if (def && claim.answer == OPS_CLAIM_SUPPORTED)
      OPS_RETURN_IF_ERROR(place_node(state, i, device, def, view, error));
    else
      note_refusal(state, i, device, &claim);
  }
  return OPS_OK;
}

// ---- The result -----------------------------------------------------------------------------

static int32_t finish(rt_partition_state *state, ops_error *error) {
  rt_partition *partition = state->partition;
  uint32_t *order = rt_bump_new(&partition->bump, state->unit_count, sizeof *order);
  rt_placement *placements =
      rt_bump_new(&partition->bump, state->node_count, sizeof *placements);
  rt_unit *units = rt_bump_new(&partition->bump, state->unit_count, sizeof *units);
  uint32_t *place = rt_bump_new(&partition->bump, state->unit_count, sizeof *place);
  if (!order || !placements || !units || !place) return exhausted(error);
  OPS_RETURN_IF_ERROR(rt_partition_order(state, order, error));
  for (uint32_t i = 0; i < state->unit_count; ++i) {
    units[i] = state->units[order[i]];
    units[i].index = i;
    place[order[i]] = i;
  }
  for (uint32_t i = 0; i < state->node_count; ++i)
    placements[i] = (rt_placement){
        .node = state->nodes[i],
        .name = state->names[0] ? rt_bump_format(&partition->bump, "%s%s", state->names,
                                                 state->nodes[i]->name)
                                : state->nodes[i]->name,
        .unit = &units[place[state->unit_of[i]]],
        .reason = state->reasons[i] ? state->reasons[i] : ""};
  partition->units = units;
  partition->unit_count = state->unit_count;
  partition->placements = placements;
  partition->placement_count = state->node_count;
  return partition->bump.failed ? exhausted(error) : OPS_OK;
}

// What a run takes. Their views are made now, since runs may ask for them from many threads.
static int32_t list_inputs(rt_partition_state *state, ops_error *error) {
  rt_partition *partition = state->partition;
  const rt_graph *graph = state->graph;
  const ops_type_info *type = NULL;
  partition->inputs =
      rt_bump_new(&partition->bump, (uint64_t)graph->input_count + graph->capture_count,
                  sizeof *partition->inputs);
  if (!partition->inputs) return exhausted(error);
  for (uint32_t i = 0; i < graph->input_count; ++i)
    partition->inputs[partition->input_count++] = graph->inputs[i];
  for (uint32_t i = 0; i < graph->capture_count; ++i)
    if (!rt_value_constant(graph->captures[i]))
      partition->inputs[partition->input_count++] = graph->captures[i];
  for (uint32_t i = 0; i < partition->input_count; ++i)
    OPS_RETURN_IF_ERROR(rt_views_type(partition->views, partition->inputs[i], &type, error));
  return OPS_OK;
}

static int32_t state_init(rt_partition_state *state, rt_partition *partition,
                          const rt_graph *graph, ops_error *error) {
  rt_bump *bump = &partition->bump;
  state->partition = partition;
  state->graph = graph;
  state->nodes = rt_bump_new(bump, graph->node_count, sizeof *state->nodes);
  state->position = rt_bump_new(bump, graph->root->node_limit, sizeof *state->position);
  state->unit_of = rt_bump_new(bump, graph->node_count, sizeof *state->unit_of);
  state->reasons = rt_bump_new(bump, graph->node_count, sizeof *state->reasons);
  state->declined = rt_bump_new(bump, graph->node_count, sizeof *state->declined);
  state->units = rt_bump_new(bump, graph->node_count, sizeof *state->units);
  if (bump->failed) return exhausted(error);
  for (rt_node *node = graph->first; node; node = node->next) {
    state->position[node->id] = state->node_count;
    state->unit_of[state->node_count] = RT_UNPLACED;
    state->nodes[state->node_count++] = node;
  }
  return OPS_OK;
}

// Lists a node that nobody takes for the caller, or fails because of it.
static int32_t note_unplaced(rt_partition_state *state, uint32_t position, ops_error *error) {
  rt_unplaced *unplaced = state->unplaced;
  rt_node *node = state->nodes[position];
  if (!unplaced || !unplaced->wanted(&node->op)) return report_unplaced(state, position, error);
  if (unplaced->count == unplaced->capacity) {
    const uint32_t capacity = unplaced->capacity ? 2 * unplaced->capacity : 16;
    rt_node **nodes = realloc(unplaced->nodes, capacity * sizeof *nodes);
    if (!nodes) return exhausted(error);
    unplaced->nodes = nodes;
    unplaced->capacity = capacity;
  }
  unplaced->nodes[unplaced->count++] = node;
  return OPS_OK;
}

static int32_t place_all(rt_partition_state *state, ops_error *error) {
  for (uint32_t i = 0; i < state->device_count; ++i) {
    OPS_RETURN_IF_ERROR(rt_partition_groups(state, state->devices[i], error));
    OPS_RETURN_IF_ERROR(claim_nodes(state, state->devices[i], error));
  }
  for (uint32_t i = 0; i < state->node_count; ++i) {
    if (state->unit_of[i] != RT_UNPLACED) continue;
    if (rt_control_kind(&state->nodes[i]->op) == RT_CONTROL_NONE)
      OPS_RETURN_IF_ERROR(note_unplaced(state, i, error));
    else
      OPS_RETURN_IF_ERROR(rt_partition_control(state, i, error));
  }
  return state->unplaced && state->unplaced->count ? OPS_OK : finish(state, error);
}

// Takes over `partition`.
static int32_t fill(rt_partition_state *state, rt_partition *partition, const rt_graph *graph,
                    rt_partition **out_partition, ops_error *error) {
  partition->graph = graph;
  int32_t status = state_init(state, partition, graph, error);
  if (status == OPS_OK) status = list_inputs(state, error);
  if (status == OPS_OK) status = place_all(state, error);
  const int is_incomplete = state->unplaced && state->unplaced->count;
  if (status != OPS_OK || is_incomplete) {
    // Kernels made so far are known to the state only.
    partition->units = state->units;
    partition->unit_count = state->unit_count;
    rt_partition_destroy(partition);
    return status;
  }
  *out_partition = partition;
  return OPS_OK;
}

int32_t rt_partition_create(const rt_graph *graph, rt_device *const *devices,
                            uint32_t device_count, rt_unplaced *unplaced,
                            rt_partition **out_partition, ops_error *error) {
  *out_partition = NULL;
  rt_partition *partition = calloc(1, sizeof *partition);
  if (!partition) return exhausted(error);
  partition->views = calloc(1, sizeof *partition->views);
  const int32_t status =
      partition->views ? rt_views_init(partition->views, graph->root, error) : exhausted(error);
  if (status != OPS_OK) {
    rt_partition_destroy(partition);
    return status;
  }
  partition->views->devices = devices;
  partition->views->device_count = device_count;
  rt_partition_state state = {.path = "",
                              .names = "",
                              .devices = devices,
                              .device_count = device_count,
                              .unplaced = unplaced};
  return fill(&state, partition, graph, out_partition, error);
}

int32_t rt_partition_create_body(const rt_partition_state *outer, const rt_graph *body,
                                 const char *path, const char *names,
                                 rt_partition **out_partition, ops_error *error) {
  *out_partition = NULL;
  rt_partition *partition = calloc(1, sizeof *partition);
  if (!partition) return exhausted(error);
  partition->views = outer->partition->views;
  partition->depth = outer->partition->depth + 1;
  rt_partition_state state = {.path = path,
                              .names = names,
                              .devices = outer->devices,
                              .device_count = outer->device_count,
                              .unplaced = outer->unplaced};
  return fill(&state, partition, body, out_partition, error);
}

static void unit_destroy(const rt_unit *unit) {
  if (unit->api) unit->api->destroy(unit->kernel);
  for (uint32_t i = 0; i < unit->body_count; ++i) rt_partition_destroy(unit->bodies[i]);
}

void rt_partition_destroy(rt_partition *partition) {
  if (!partition) return;
  for (uint32_t i = 0; i < partition->unit_count; ++i) unit_destroy(&partition->units[i]);
  if (partition->depth == 0 && partition->views) {
    rt_views_finish(partition->views);
    free(partition->views);
  }
  rt_bump_finish(&partition->bump);
  free(partition);
}

// ---- Arguments ------------------------------------------------------------------------------

const ops_arg_def *rt_unit_input_def(const rt_unit *unit, uint32_t index) {
  return unit->def ? ops_kernel_def_input(unit->def, index) : NULL;
}

const ops_arg_def *rt_unit_output_def(const rt_unit *unit, uint32_t index) {
  return unit->def ? ops_kernel_def_output(unit->def, index) : NULL;
}

int32_t rt_unit_input_kind(const rt_unit *unit, uint32_t index) {
  const ops_arg_def *def = rt_unit_input_def(unit, index);
  return def ? def->memory_kind : rt_device_native_kind(unit->device);
}

int32_t rt_unit_output_kind(const rt_unit *unit, uint32_t index) {
  const ops_arg_def *def = rt_unit_output_def(unit, index);
  return def ? def->memory_kind : rt_device_native_kind(unit->device);
}

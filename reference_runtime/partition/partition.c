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
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                       "node '%s': nobody runs %s%s%s of opset %d with inputs (%s). %s. Add a "
                       "provider that has it",
                       node->name, node->op.domain, node->op.domain[0] ? "." : "",
                       node->op.name, node->op.opset, types,
                       reasons ? reasons : "No provider was given");
}

// ---- Single nodes ---------------------------------------------------------------------------

static int32_t place_node(rt_partition_state *state, uint32_t position, const rt_device *device,
                          const ops_kernel_def *def, const ops_node *view, ops_error *error) {
  rt_node *node = state->nodes[position];
  rt_unit *unit = &state->units[state->unit_count];
  *unit = (rt_unit){.name = node->name,
                    .op = node->op.name,
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
  const int32_t status = def->api->create(device->device, def, view, &unit->kernel, error);
  if (status != OPS_OK)
    return ops_error_prefix(error, "node '%s' (%s) on provider %s", node->name, node->op.name,
                            device->name);
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
    OPS_RETURN_IF_ERROR(rt_views_node(&state->partition->views, state->nodes[i], &view, error));
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
    placements[i] = (rt_placement){.node = state->nodes[i],
                                   .unit = &units[place[state->unit_of[i]]],
                                   .reason = state->reasons[i] ? state->reasons[i] : ""};
  partition->units = units;
  partition->unit_count = state->unit_count;
  partition->placements = placements;
  partition->placement_count = state->node_count;
  return OPS_OK;
}

static int32_t state_init(rt_partition_state *state, rt_partition *partition,
                          const rt_graph *graph, ops_error *error) {
  rt_bump *bump = &partition->bump;
  *state = (rt_partition_state){.partition = partition, .graph = graph};
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

static int32_t place_all(rt_partition_state *state, rt_device *const *devices,
                         uint32_t device_count, ops_error *error) {
  for (uint32_t i = 0; i < device_count; ++i) {
    OPS_RETURN_IF_ERROR(rt_partition_groups(state, devices[i], error));
    OPS_RETURN_IF_ERROR(claim_nodes(state, devices[i], error));
  }
  for (uint32_t i = 0; i < state->node_count; ++i)
    if (state->unit_of[i] == RT_UNPLACED) return report_unplaced(state, i, error);
  return finish(state, error);
}

int32_t rt_partition_create(const rt_graph *graph, rt_device *const *devices,
                            uint32_t device_count, rt_partition **out_partition,
                            ops_error *error) {
  *out_partition = NULL;
  rt_partition *partition = calloc(1, sizeof *partition);
  if (!partition) return exhausted(error);
  rt_partition_state state = {0};
  int32_t status = rt_views_init(&partition->views, graph->root, error);
  partition->views.devices = devices;
  partition->views.device_count = device_count;
  if (status == OPS_OK) status = state_init(&state, partition, graph, error);
  if (status == OPS_OK) status = place_all(&state, devices, device_count, error);
  if (status != OPS_OK) {
    // Kernels made so far are known to the state only.
    partition->units = state.units;
    partition->unit_count = state.unit_count;
    rt_partition_destroy(partition);
    return status;
  }
  *out_partition = partition;
  return OPS_OK;
}

void rt_partition_destroy(rt_partition *partition) {
  if (!partition) return;
  for (uint32_t i = 0; i < partition->unit_count; ++i)
    partition->units[i].api->destroy(partition->units[i].kernel);
  rt_views_finish(&partition->views);
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

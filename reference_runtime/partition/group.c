// SPDX-License-Identifier: Apache-2.0
//
// Groups: a provider proposes, the host proves that no cycle closes, fixes the interface and
// lets the provider compile. Constants are no inputs of a group: they travel in its operands.
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "partition/state.h"

// A set of nodes by position, ascending.
typedef struct member_list {
  uint32_t *items;
  uint32_t count;
} member_list;

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "forming a group");
}

static int contains(const rt_partition_state *state, const member_list *members,
                    const rt_node *node) {
  if (node->graph != state->graph) return 0;
  const uint32_t wanted = state->position[node->id];
  uint32_t low = 0, high = members->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (members->items[middle] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low < members->count && members->items[low] == wanted;
}

static int listed(rt_value *const *values, uint32_t count, const rt_value *value) {
  for (uint32_t i = 0; i < count; ++i)
    if (values[i] == value) return 1;
  return 0;
}

static int used_outside(const rt_partition_state *state, const member_list *members,
                        const rt_value *value) {
  if (value->output_count) return 1;
  for (uint32_t i = 0; i < value->use_count; ++i)
    if (!contains(state, members, value->uses[i].node)) return 1;
  return 0;
}

// The interface: values from outside in the order of their first use, and values that outside
// uses in the order of their production.
static int32_t fix_interface(rt_partition_state *state, const member_list *members,
                             rt_unit *unit, ops_error *error) {
  rt_bump *bump = &state->partition->bump;
  uint64_t operands = 0, outputs = 0;
  for (uint32_t i = 0; i < members->count; ++i) {
    operands += state->nodes[members->items[i]]->operand_count;
    outputs += state->nodes[members->items[i]]->output_count;
  }
  rt_node **nodes = rt_bump_new(bump, members->count, sizeof *nodes);
  rt_value **in = rt_bump_new(bump, operands, sizeof *in);
  rt_value **out = rt_bump_new(bump, outputs, sizeof *out);
  if (!nodes || !in || !out) return exhausted(error);
  for (uint32_t i = 0; i < members->count; ++i) {
    rt_node *node = nodes[i] = state->nodes[members->items[i]];
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      rt_value *value = node->operands[k];
      const int inner = value && value->producer && contains(state, members, value->producer);
      if (!value || inner || rt_value_constant(value)) continue;
      if (!listed(in, unit->input_count, value)) in[unit->input_count++] = value;
    }
    for (uint32_t k = 0; k < node->output_count; ++k)
      if (node->outputs[k] && used_outside(state, members, node->outputs[k]))
        out[unit->output_count++] = node->outputs[k];
  }
  unit->nodes = nodes;
  unit->node_count = members->count;
  unit->inputs = in;
  unit->outputs = out;
  return OPS_OK;
}

static int32_t view_of(rt_partition_state *state, const rt_unit *unit,
                       const ops_graph **out_graph, ops_error *error) {
  return rt_views_group(state->partition->views, unit->name, unit->nodes, unit->node_count,
                        unit->inputs, unit->input_count, unit->outputs, unit->output_count,
                        out_graph, error);
}

// Asks the provider for groups over `members`; group_of[i] is the answer for member i.
static int32_t ask(rt_partition_state *state, const rt_device *device,
                   const member_list *members, int32_t *group_of, ops_error *error) {
  rt_unit whole = {.name = state->graph->name};
  const ops_graph *view = NULL;
  OPS_RETURN_IF_ERROR(fix_interface(state, members, &whole, error));
  OPS_RETURN_IF_ERROR(view_of(state, &whole, &view, error));
  ops_group_claim *claims = calloc(members->count, sizeof *claims);
  if (!claims) return exhausted(error);
  for (uint32_t i = 0; i < members->count; ++i)
    claims[i] = (ops_group_claim){.struct_size = sizeof claims[i], .group = OPS_GROUP_NONE};
  const int32_t status = device->provider->group->claim(device->device, view, claims,
                                                        members->count, sizeof *claims, error);
  for (uint32_t i = 0; i < members->count; ++i) group_of[i] = claims[i].group;
  free(claims);
  return status == OPS_OK ? OPS_OK : ops_error_prefix(error, "provider %s", device->name);
}

static int32_t compile(rt_partition_state *state, const rt_device *device,
                       const member_list *members, ops_error *error) {
  rt_partition *partition = state->partition;
  rt_unit unit = {.op = "group", .device = device, .group = (int32_t)state->unit_count};
  const rt_node *first = state->nodes[members->items[0]];
  const rt_node *last = state->nodes[members->items[members->count - 1]];
  rt_bump *bump = &partition->bump;
  unit.name = first == last
                  ? rt_bump_format(bump, "%s%s", state->names, first->name)
                  : rt_bump_format(bump, "%s%s … %s", state->names, first->name, last->name);
  unit.where = state->path[0] ? rt_bump_format(bump, "%sgroup '%s … %s'", state->path,
                                               first->name, last->name)
                              : rt_bump_format(bump, "node '%s' (group)", unit.name);
  if (!unit.name || !unit.where) return exhausted(error);
  OPS_RETURN_IF_ERROR(fix_interface(state, members, &unit, error));
  const ops_graph *view = NULL;
  OPS_RETURN_IF_ERROR(view_of(state, &unit, &view, error));
  const int32_t status =
      device->provider->group->compile(device->device, view, &unit.kernel, &unit.api, error);
  if (status == OPS_ERROR_DECLINED) {
    partition->declined++;
    for (uint32_t i = 0; i < members->count; ++i) state->declined[members->items[i]] = 1;
    return OPS_OK;
  }
  if (status != OPS_OK)
    return ops_error_prefix(error, "provider %s, group %s", device->name, unit.name);
  if (!unit.kernel || !unit.api)
    return ops_error_set_cause(error, OPS_ERROR_INTERNAL, OPS_CAUSE_BROKEN_PROMISE,
                               "provider %s compiled group %s but returned no kernel",
                               device->name, unit.name);
  for (uint32_t i = 0; i < members->count; ++i)
    state->unit_of[members->items[i]] = state->unit_count;
  state->units[state->unit_count++] = unit;
  return OPS_OK;
}

// Positions of `members` whose answer is `group`, into `out`.
static void select_group(const member_list *members, const int32_t *group_of, int32_t group,
                         member_list *out) {
  out->count = 0;
  for (uint32_t i = 0; i < members->count; ++i)
    if (group_of[i] == group) out->items[out->count++] = members->items[i];
}

static int32_t accept(rt_partition_state *state, const rt_device *device,
                      const member_list *members, int again, ops_error *error);

// Proposes the nodes of one part again; what still closes a cycle then stays single.
static int32_t ask_again(rt_partition_state *state, const rt_device *device,
                         const member_list *part, ops_error *error) {
  int32_t *group_of = malloc(part->count * sizeof *group_of);
  member_list group = {malloc(part->count * sizeof *group.items), 0};
  int32_t status =
      group_of && group.items ? ask(state, device, part, group_of, error) : exhausted(error);
  for (uint32_t i = 0; status == OPS_OK && i < part->count; ++i) {
    const int first = group_of[i] != OPS_GROUP_NONE;
    if (!first || state->unit_of[part->items[i]] != RT_UNPLACED ||
        state->declined[part->items[i]])
      continue;
    select_group(part, group_of, group_of[i], &group);
    status = accept(state, device, &group, 0, error);
    for (uint32_t k = 0; k < group.count; ++k)
      if (state->unit_of[group.items[k]] == RT_UNPLACED) state->declined[group.items[k]] = 1;
  }
  free(group_of);
  free(group.items);
  return status;
}

// Compiles `members` if that closes no cycle; otherwise cuts them and, with `again`, asks anew.
static int32_t accept(rt_partition_state *state, const rt_device *device,
                      const member_list *members, int again, ops_error *error) {
  uint32_t *part_of = malloc(members->count * sizeof *part_of), parts = 0;
  member_list part = {malloc(members->count * sizeof *part.items), 0};
  int32_t status =
      part_of && part.items
          ? rt_partition_cut(state, members->items, members->count, part_of, &parts, error)
          : exhausted(error);
  if (status == OPS_OK && parts == 1) status = compile(state, device, members, error);
  for (uint32_t p = 0; status == OPS_OK && again && parts > 1 && p < parts; ++p) {
    part.count = 0;
    for (uint32_t i = 0; i < members->count; ++i)
      if (part_of[i] == p) part.items[part.count++] = members->items[i];
    status = ask_again(state, device, &part, error);
  }
  free(part_of);
  free(part.items);
  return status;
}

static void free_nodes(const rt_partition_state *state, member_list *out) {
  out->count = 0;
  for (uint32_t i = 0; i < state->node_count; ++i)
    if (state->unit_of[i] == RT_UNPLACED && !state->declined[i]) out->items[out->count++] = i;
}

// One round: ask over all free nodes and accept what comes. *out_declined: a group was given
// up, so that another round may find a smaller one.
static int32_t propose(rt_partition_state *state, const rt_device *device, member_list *open,
                       member_list *group, int32_t *group_of, int *out_declined,
                       ops_error *error) {
  const uint32_t declined = state->partition->declined;
  free_nodes(state, open);
  if (open->count) OPS_RETURN_IF_ERROR(ask(state, device, open, group_of, error));
  for (uint32_t i = 0; i < open->count; ++i) {
    const uint32_t position = open->items[i];
    if (group_of[i] == OPS_GROUP_NONE || state->unit_of[position] != RT_UNPLACED ||
        state->declined[position])
      continue;
    select_group(open, group_of, group_of[i], group);
    OPS_RETURN_IF_ERROR(accept(state, device, group, 1, error));
    for (uint32_t k = 0; k < group->count; ++k)
      if (state->unit_of[group->items[k]] == RT_UNPLACED) state->declined[group->items[k]] = 1;
  }
  *out_declined = state->partition->declined != declined;
  return OPS_OK;
}

int32_t rt_partition_groups(rt_partition_state *state, const rt_device *device,
                            ops_error *error) {
  if (!device->provider->group) return OPS_OK;
  const size_t room = (size_t)state->node_count + 1;
  int32_t *group_of = malloc(room * sizeof *group_of);
  member_list open = {malloc(room * sizeof *open.items), 0};
  member_list group = {malloc(room * sizeof *group.items), 0};
  int32_t status = OPS_OK;
  int declined = 1;
  memset(state->declined, 0, state->node_count);
  if (!group_of || !open.items || !group.items) status = exhausted(error);
  // Every round that declines takes at least one node out: it ends.
  while (status == OPS_OK && declined)
    status = propose(state, device, &open, &group, group_of, &declined, error);
  free(group_of);
  free(open.items);
  free(group.items);
  return status;
}

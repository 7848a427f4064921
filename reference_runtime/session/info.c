// SPDX-License-Identifier: Apache-2.0
//
// What a session tells of itself: inputs, outputs, placement, memory, counters, profile.
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "session/session.h"

#define MAX_TYPE_TEXT 1024

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "describing a session");
}

static const char *symbol_text(opsrt_session *session, rt_dim dim) {
  char text[256];
  if (rt_dim_is_const(dim) || rt_dim_is_unknown(dim)) return "";
  rt_dim_format(session->graph->symbols, dim, text, sizeof text);
  return rt_bump_format(&session->bump, "%s", text);
}

static int32_t describe(opsrt_session *session, const char *name, const rt_type *type,
                        int optional, opsrt_info *info, ops_error *error) {
  char text[MAX_TYPE_TEXT];
  const int tensor = type->kind == RT_TYPE_TENSOR || type->kind == RT_TYPE_SPARSE_TENSOR;
  const int32_t rank = tensor ? type->rank : RT_RANK_UNKNOWN;
  const uint64_t count = rank > 0 ? (uint64_t)rank : 0;
  int64_t *dims = rt_bump_new(&session->bump, count, sizeof *dims);
  const char **symbols = rt_bump_new(&session->bump, count, sizeof *symbols);
  if (!dims || !symbols) return exhausted(error);
  for (uint64_t i = 0; i < count; ++i) {
    dims[i] = rt_dim_is_const(type->dims[i]) ? type->dims[i].value : -1;
    symbols[i] = symbol_text(session, type->dims[i]);
  }
  *info = (opsrt_info){
      .name = name,
      .text = rt_bump_format(&session->bump, "%s",
                             rt_type_format(session->graph->symbols, type, text, sizeof text)),
      .kind = rt_view_kind(type),
      .type = type->elem_type,
      .rank = rank,
      .optional = optional,
      .dims = dims,
      .symbols = symbols};
  return session->bump.failed ? exhausted(error) : OPS_OK;
}

static int32_t describe_values(opsrt_session *session, ops_error *error) {
  const rt_graph *graph = session->graph;
  session->inputs = rt_bump_new(&session->bump, graph->input_count, sizeof(opsrt_info));
  session->outputs = rt_bump_new(&session->bump, graph->output_count, sizeof(opsrt_info));
  if (!session->inputs || !session->outputs) return exhausted(error);
  for (uint32_t i = 0; i < graph->input_count; ++i)
    OPS_RETURN_IF_ERROR(describe(session, graph->inputs[i]->name, &graph->inputs[i]->type,
                                 graph->inputs[i]->constant != NULL, &session->inputs[i],
                                 error));
  for (uint32_t i = 0; i < graph->output_count; ++i) {
    const rt_type *inferred = &graph->outputs[i]->type;
    const rt_type *type =
        inferred->kind == RT_TYPE_UNKNOWN ? &graph->output_types[i] : inferred;
    OPS_RETURN_IF_ERROR(
        describe(session, graph->output_names[i], type, 0, &session->outputs[i], error));
  }
  return OPS_OK;
}

static uint64_t count_placements(const rt_partition *partition) {
  uint64_t count = partition->placement_count;
  for (uint32_t i = 0; i < partition->unit_count; ++i)
    for (uint32_t k = 0; k < partition->units[i].body_count; ++k)
      count += count_placements(partition->units[i].bodies[k]);
  return count;
}

static void describe_placement(opsrt_session *session, const rt_placement *from,
                               opsrt_placement *to) {
  static const ops_str own = OPS_STR("control flow"), compiled = OPS_STR("compiled group");
  const rt_unit *unit = from->unit;
  const ops_str host = OPS_STR("host");
  const ops_str device = unit->device ? unit->device->info.name : host;
  const ops_str kernel = unit->def ? unit->def->name : unit->device ? compiled : own;
  *to = (opsrt_placement){.node = from->name,
                          .op = from->node->op.name,
                          .domain = from->node->op.domain,
                          .opset = from->node->op.opset,
                          .group = unit->group,
                          .provider = unit->device ? unit->device->name : OPSRT_RUNTIME,
                          .device = rt_bump_text(&session->bump, device),
                          .kernel = rt_bump_text(&session->bump, kernel),
                          .reason = from->reason,
                          .origins = unit->origins ? unit->origins : ""};
}

// The nodes of a graph, and after each that the runtime runs those of its bodies.
static void describe_partition(opsrt_session *session, const rt_partition *partition) {
  for (uint32_t i = 0; i < partition->placement_count; ++i) {
    const rt_unit *unit = partition->placements[i].unit;
    describe_placement(session, &partition->placements[i],
                       &session->placements[session->placement_count++]);
    for (uint32_t k = 0; k < unit->body_count; ++k)
      describe_partition(session, unit->bodies[k]);
  }
}

static int32_t describe_placements(opsrt_session *session, ops_error *error) {
  session->placements = rt_bump_new(&session->bump, count_placements(session->partition),
                                    sizeof(opsrt_placement));
  if (!session->placements) return exhausted(error);
  describe_partition(session, session->partition);
  return session->bump.failed ? exhausted(error) : OPS_OK;
}

int32_t rt_session_describe(opsrt_session *session, ops_error *error) {
  OPS_RETURN_IF_ERROR(describe_values(session, error));
  return describe_placements(session, error);
}

// ---- Accessors ------------------------------------------------------------------------------

uint64_t opsrt_session_input_count(const opsrt_session *session) {
  return session->graph->input_count;
}

const opsrt_info *opsrt_session_input(const opsrt_session *session, uint64_t index) {
  return index < session->graph->input_count ? &session->inputs[index] : NULL;
}

uint64_t opsrt_session_output_count(const opsrt_session *session) {
  return session->graph->output_count;
}

const opsrt_info *opsrt_session_output(const opsrt_session *session, uint64_t index) {
  return index < session->graph->output_count ? &session->outputs[index] : NULL;
}

uint64_t opsrt_session_placement_count(const opsrt_session *session) {
  return session->placement_count;
}

const opsrt_placement *opsrt_session_placement(const opsrt_session *session, uint64_t index) {
  return index < session->placement_count ? &session->placements[index] : NULL;
}

uint64_t opsrt_session_memory_count(const opsrt_session *session) {
  return rt_executor_memory_count(session->executor);
}

int32_t opsrt_session_memory(const opsrt_session *session, uint64_t index,
                             opsrt_memory *out_memory) {
  if (index >= rt_executor_memory_count(session->executor)) return OPS_ERROR_INVALID_ARGUMENT;
  rt_executor_memory memory;
  rt_executor_memory_at(session->executor, (uint32_t)index, &memory);
  *out_memory = (opsrt_memory){.device = memory.device,
                               .kind = memory.kind,
                               .bytes_in_use = memory.memory.bytes_in_use,
                               .bytes_peak = memory.memory.bytes_peak,
                               .allocations = memory.memory.allocations,
                               .bytes_maximum = memory.memory.bytes_maximum,
                               .arena_in_use = memory.arena.bytes_in_use,
                               .arena_peak = memory.arena.bytes_peak,
                               .arena_reserved = memory.arena.bytes_reserved,
                               .arena_reserved_peak = memory.arena.bytes_reserved_peak,
                               .arena_largest_free = memory.arena.largest_free,
                               .arena_blocks = memory.arena.blocks,
                               .arena_extensions = memory.arena.extensions,
                               .arena_releases = memory.arena.releases,
                               .planned = memory.plan.planned,
                               .naive = memory.plan.naive,
                               .lower_bound = memory.plan.lower_bound};
  return OPS_OK;
}

int32_t opsrt_session_memory_fullest(opsrt_session *session, uint64_t index, char *buffer,
                                     uint64_t size, ops_error *error) {
  if (index >= rt_executor_memory_count(session->executor))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "memory %llu does not exist",
                         (unsigned long long)index);
  return rt_executor_fullest(session->executor, (uint32_t)index, buffer, size, error);
}

void opsrt_session_memory_shrink(opsrt_session *session) {
  rt_executor_shrink(session->executor);
}

void opsrt_session_counters(const opsrt_session *session, opsrt_counters *out_counters) {
  const rt_executor_counters counters = rt_executor_count(session->executor);
  *out_counters = (opsrt_counters){.runs = counters.runs,
                                   .plans_built = counters.plans_built,
                                   .plans_evicted = counters.plans_evicted,
                                   .prepares = counters.prepares,
                                   .plans_alike = counters.plans_alike,
                                   .copies = counters.copies,
                                   .copied_bytes = counters.copied_bytes,
                                   .captures = counters.captures,
                                   .replays = counters.replays,
                                   .lookups = counters.lookups,
                                   .rebound = counters.rebound};
}

uint64_t opsrt_session_layout_count(const opsrt_session *session) {
  return rt_executor_layout_count(session->executor);
}

void opsrt_session_layout(const opsrt_session *session, uint64_t index,
                          opsrt_layout *out_layout) {
  const rt_layout_row *row = index < rt_executor_layout_count(session->executor)
                                 ? rt_executor_layout_at(session->executor, (uint32_t)index)
                                 : NULL;
  *out_layout = (opsrt_layout){.name = "", .op = "", .provider = ""};
  if (!row) return;
  *out_layout = (opsrt_layout){.name = row->name,
                               .op = row->op ? row->op : "",
                               .provider = row->device,
                               .from = row->from,
                               .to = row->to,
                               .bytes = row->bytes};
}

void opsrt_free(void *memory) {
  free(memory);
}

uint64_t opsrt_session_device_count(const opsrt_session *session) {
  return session->device_count;
}

void opsrt_session_capture(const opsrt_session *session, uint64_t index,
                           opsrt_capture *out_capture) {
  *out_capture = (opsrt_capture){.provider = ""};
  if (index >= session->device_count) return;
  uint32_t kernels = 0;
  out_capture->provider = session->devices[index]->name;
  out_capture->capturable =
      rt_executor_capture_at(session->executor, (uint32_t)index, &kernels, out_capture->reason,
                             sizeof out_capture->reason);
  out_capture->kernels = kernels;
}

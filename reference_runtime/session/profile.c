// SPDX-License-Identifier: Apache-2.0
//
// The profile of a session, with what the profile itself does not know: devices and their
// peaks, nodes and their neighbours, memory.
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "profile/report.h"
#include "session/session.h"

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "the profile of a session");
}

static int32_t need_profile(const opsrt_session *session, ops_error *error) {
  if (session->profile) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_PRECONDITION,
                       "the session takes no profile; set opsrt_session_options.profile");
}

// ---- The context of a report ----------------------------------------------------------------

typedef struct context {
  rt_report_device devices[RT_MAX_DEVICES];
  rt_report_memory memory[RT_PLACE_COUNT];
  rt_report_node *nodes;
  uint64_t node_count;
  rt_bump bump;
  rt_report_context report;
} context;

static int runs_nodes(const rt_partition *partition, const rt_device *device) {
  for (uint32_t i = 0; i < partition->unit_count; ++i) {
    const rt_unit *unit = &partition->units[i];
    if (unit->device == device) return 1;
    for (uint32_t k = 0; k < unit->body_count; ++k)
      if (runs_nodes(unit->bodies[k], device)) return 1;
  }
  return 0;
}

// Measured peaks hold; what the provider states is used where measuring failed.
static void describe_device(context *c, opsrt_session *session, uint32_t number) {
  const rt_device *device = session->devices[number];
  const ops_device_info *info = &device->info;
  rt_peaks *peaks = &session->peaks[number];
  if (!peaks->known) rt_session_measure_peaks(session, number, peaks);
  const int measured = peaks->flops > 0 && peaks->bytes_per_second > 0;
  c->devices[c->report.device_count++] = (rt_report_device){
      .provider = device->name,
      .name = rt_bump_text(&c->bump, info->name),
      .architecture = rt_bump_text(&c->bump, info->architecture),
      .peak_flops = measured ? peaks->flops : info->peak_flops_float32,
      .peak_bytes_per_second = measured ? peaks->bytes_per_second : info->peak_bytes_per_second,
      .stated_flops = info->peak_flops_float32,
      .stated_bytes_per_second = info->peak_bytes_per_second,
      .measured = measured};
}

static void describe_memory(context *c, const opsrt_session *session) {
  for (uint32_t i = 0; i < rt_executor_memory_count(session->executor); ++i) {
    rt_executor_memory memory;
    rt_executor_memory_at(session->executor, i, &memory);
    c->memory[c->report.memory_count++] =
        (rt_report_memory){.device = memory.device,
                           .kind = memory.kind,
                           .peak = memory.memory.bytes_peak,
                           .planned = memory.plan.planned,
                           .naive = memory.plan.naive,
                           .lower_bound = memory.plan.lower_bound};
  }
}

static uint64_t count_nodes(const rt_partition *partition) {
  uint64_t count = partition->placement_count;
  for (uint32_t i = 0; i < partition->unit_count; ++i)
    for (uint32_t k = 0; k < partition->units[i].body_count; ++k)
      count += count_nodes(partition->units[i].bodies[k]);
  return count;
}

static const char *producer_name(const rt_node *node) {
  const rt_value *value = rt_node_input(node, 0);
  return value && value->producer ? value->producer->name : "";
}

static const char *consumer_name(const rt_node *node) {
  const rt_value *value = rt_node_output(node, 0);
  return value && value->use_count ? value->uses[0].node->name : "";
}

// Kernels are reported under the names of units: of a node, or of a whole group.
static void add_nodes(context *c, const rt_partition *partition) {
  for (uint32_t i = 0; i < partition->placement_count; ++i) {
    const rt_placement *placement = &partition->placements[i];
    c->nodes[c->node_count++] = (rt_report_node){
        .name = placement->unit->name ? placement->unit->name : placement->name,
        .reason = placement->reason,
        .before = producer_name(placement->node),
        .after = consumer_name(placement->node)};
    for (uint32_t k = 0; k < placement->unit->body_count; ++k)
      add_nodes(c, placement->unit->bodies[k]);
  }
}

static int nodes_by_name(const void *left, const void *right) {
  return strcmp(((const rt_report_node *)left)->name, ((const rt_report_node *)right)->name);
}

static int32_t context_init(context *c, opsrt_session *session, const char *model,
                            ops_error *error) {
  const rt_executor_counters counters = rt_executor_count(session->executor);
  const uint64_t count = count_nodes(session->partition);
  *c = (context){.nodes = calloc(count + 1, sizeof *c->nodes)};
  if (!c->nodes) return exhausted(error);
  add_nodes(c, session->partition);
  qsort(c->nodes, c->node_count, sizeof *c->nodes, nodes_by_name);
  for (uint32_t i = 0; i < session->device_count; ++i)
    if (runs_nodes(session->partition, session->devices[i])) describe_device(c, session, i);
  describe_memory(c, session);
  c->report.model = model;
  c->report.devices = c->devices;
  c->report.nodes = c->nodes;
  c->report.node_count = c->node_count;
  c->report.memory = c->memory;
  c->report.plans_built = counters.plans_built;
  c->report.plans_evicted = counters.plans_evicted;
  return c->bump.failed ? exhausted(error) : OPS_OK;
}

static void context_finish(context *c) {
  free(c->nodes);
  rt_bump_finish(&c->bump);
}

// ---- The public calls -----------------------------------------------------------------------

int32_t opsrt_session_profile_write(opsrt_session *session, const char *path,
                                    ops_error *error) {
  OPS_RETURN_IF_ERROR(need_profile(session, error));
  return rt_profile_write(session->profile, path, error);
}

static int32_t write_files(const rt_report *report, const opsrt_profile_files *files,
                           ops_error *error) {
  if (files->json) OPS_RETURN_IF_ERROR(rt_report_write_json(report, files->json, error));
  if (files->html) OPS_RETURN_IF_ERROR(rt_report_write_page(report, files->html, error));
  return OPS_OK;
}

// What `use` makes of a report.
typedef int32_t (*report_fn)(const rt_report *report, void *user, ops_error *error);

static int32_t with_report(opsrt_session *session, const char *model, report_fn use, void *user,
                           ops_error *error) {
  context *c = calloc(1, sizeof *c);
  rt_report report = {0};
  if (!c) return exhausted(error);
  int32_t status = context_init(c, session, model, error);
  if (status == OPS_OK) status = rt_report_init(&report, session->profile, &c->report, error);
  if (status == OPS_OK) status = use(&report, user, error);
  rt_report_finish(&report);
  context_finish(c);
  free(c);
  return status;
}

static int32_t use_for_files(const rt_report *report, void *user, ops_error *error) {
  return write_files(report, user, error);
}

int32_t opsrt_session_profile_report(opsrt_session *session, const opsrt_profile_files *files,
                                     ops_error *error) {
  opsrt_profile_files copy = *files;
  OPS_RETURN_IF_ERROR(need_profile(session, error));
  return with_report(session, files->model, use_for_files, &copy, error);
}

typedef struct advice_list {
  opsrt_advice *items;
  uint64_t count;
} advice_list;

// The texts lie behind the array, in one piece of memory.
static int32_t use_for_advice(const rt_report *report, void *user, ops_error *error) {
  advice_list *list = user;
  const size_t count = report->advice_count;
  const size_t text = sizeof report->advice[0].evidence;
  list->items = calloc(1, count * (sizeof *list->items + text) + 1);
  if (!list->items) return exhausted(error);
  char *texts = (char *)(list->items + count);
  for (size_t i = 0; i < count; ++i) {
    memcpy(texts + i * text, report->advice[i].evidence, text);
    list->items[i] = (opsrt_advice){.rule = report->advice[i].rule,
                                    .share = report->advice[i].share,
                                    .evidence = texts + i * text,
                                    .action = report->advice[i].action};
  }
  list->count = count;
  return OPS_OK;
}

int32_t opsrt_session_profile_advice(opsrt_session *session, opsrt_advice **out_advice,
                                     uint64_t *out_count, ops_error *error) {
  advice_list list = {0};
  *out_advice = NULL;
  *out_count = 0;
  OPS_RETURN_IF_ERROR(need_profile(session, error));
  OPS_RETURN_IF_ERROR(with_report(session, NULL, use_for_advice, &list, error));
  *out_advice = list.items;
  *out_count = list.count;
  return OPS_OK;
}

int32_t opsrt_session_profile_times(opsrt_session *session, opsrt_node_time **out_times,
                                    uint64_t *out_count, ops_error *error) {
  const rt_report_context none = {0};
  rt_report report = {0};
  *out_times = NULL;
  *out_count = 0;
  OPS_RETURN_IF_ERROR(need_profile(session, error));
  int32_t status = rt_report_init(&report, session->profile, &none, error);
  opsrt_node_time *times =
      status == OPS_OK ? calloc(report.node_count + 1, sizeof *times) : NULL;
  if (status == OPS_OK && !times) status = exhausted(error);
  for (uint64_t i = 0; times && i < report.node_count; ++i) {
    const rt_report_row *row = &report.nodes[i];
    times[i] =
        (opsrt_node_time){.node = row->name,
                          .op = row->op,
                          .origins = row->origins,
                          .provider = row->provider,
                          .count = row->time.count,
                          .total_ns = row->time.sum,
                          .bytes = row->kind == OPS_PROFILE_KERNEL ? 0 : row->bytes_written};
  }
  if (times) *out_count = report.node_count;
  rt_report_finish(&report);
  *out_times = times;
  return status;
}

void opsrt_session_profile_clear(opsrt_session *session) {
  if (session->profile) rt_profile_clear(session->profile);
}

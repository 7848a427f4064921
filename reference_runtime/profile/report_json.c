// SPDX-License-Identifier: Apache-2.0
//
// op_profile.json, as op_profile.schema.json states it. Times are in nanoseconds, bytes and
// flops those of one launch (the mean over all); what is not known is null.
#include "profile/report_json.h"

#include <math.h>
#include <string.h>

#include "profile/spans.h"

#define VERSION 1u

static void write_time(rt_json *json, const char *name, const rt_report_time *time) {
  rt_json_begin(json, name, '{');
  rt_json_integer(json, "sum", time->sum);
  rt_json_integer(json, "min", time->minimum);
  rt_json_integer(json, "median", time->median);
  rt_json_integer(json, "p95", time->p95);
  rt_json_end(json, '}');
}

static void write_runs(rt_json *json, const rt_report *report) {
  rt_json_begin(json, "runs", '{');
  rt_json_integer(json, "count", report->runs.count);
  rt_json_integer(json, "first_ns", report->first_run_ns);
  write_time(json, "time_ns", &report->runs);
  rt_json_integer(json, "launch_ns", report->launch_ns);
  rt_json_integer(json, "plan_ns", report->plan_ns);
  rt_json_integer(json, "profile_ns", report->own_ns);
  rt_json_end(json, '}');
  rt_json_begin(json, "prepares", '{');
  rt_json_integer(json, "count", report->prepares);
  rt_json_integer(json, "after_first_run", report->late_prepares);
  rt_json_integer(json, "plans_built", report->context.plans_built);
  rt_json_integer(json, "plans_evicted", report->context.plans_evicted);
  rt_json_end(json, '}');
}

static void write_copies(rt_json *json, const rt_report *report) {
  uint64_t count = 0, bytes = 0, ns = 0;
  double share = 0;
  for (uint64_t i = 0; i < report->node_count; ++i) {
    const rt_report_row *row = &report->nodes[i];
    if (row->kind != OPS_PROFILE_COPY) continue;
    count += row->time.count;
    bytes += row->bytes_written;
    ns += row->time.sum;
    share += row->share;
  }
  rt_json_begin(json, "copies", '{');
  rt_json_integer(json, "count", count);
  rt_json_integer(json, "bytes", bytes);
  rt_json_integer(json, "time_ns", ns);
  rt_json_number(json, "share", share);
  rt_json_end(json, '}');
}

// A peak that is not known is null.
static void write_peak(rt_json *json, const char *name, double value) {
  rt_json_number(json, name, value > 0 ? value : NAN);
}

static void write_devices(rt_json *json, const rt_report *report) {
  rt_json_begin(json, "devices", '[');
  for (uint32_t i = 0; i < report->context.device_count; ++i) {
    const rt_report_device *device = &report->devices[i];
    const int known = device->peak_flops > 0 || device->peak_bytes_per_second > 0;
    rt_json_begin(json, NULL, '{');
    rt_json_text(json, "provider", device->provider);
    rt_json_text(json, "name", device->name);
    rt_json_text(json, "architecture", device->architecture);
    write_peak(json, "peak_flops", device->peak_flops);
    write_peak(json, "peak_bytes_per_second", device->peak_bytes_per_second);
    rt_json_text(json, "peak_source",
                 device->measured ? "measured"
                 : known          ? "stated"
                                  : "unknown");
    write_peak(json, "stated_flops", device->stated_flops);
    write_peak(json, "stated_bytes_per_second", device->stated_bytes_per_second);
    rt_json_end(json, '}');
  }
  rt_json_end(json, ']');
}

static void write_counters(rt_json *json, const rt_report_row *row) {
  rt_json_begin(json, "counters", '[');
  for (uint32_t i = 0; i < row->counter_count; ++i) {
    const rt_report_counter *counter = &row->counters[i];
    rt_json_begin(json, NULL, '{');
    rt_json_text(json, "name", counter->name);
    rt_json_text(json, "unit", counter->unit);
    rt_json_number(json, "mean", counter->sum / (double)counter->count);
    rt_json_integer(json, "count", counter->count);
    rt_json_end(json, '}');
  }
  rt_json_end(json, ']');
}

static void write_work(rt_json *json, const rt_report *report, const rt_report_row *row) {
  const double count = (double)row->time.count, seconds = row->typical_ns * 1e-9;
  const double flops = row->flops == RT_PROFILE_FLOPS_UNKNOWN ? NAN : row->flops;
  const double bytes = (double)row->bytes_read + (double)row->bytes_written;
  rt_json_number(json, "bytes_read", (double)row->bytes_read / count);
  rt_json_number(json, "bytes_written", (double)row->bytes_written / count);
  rt_json_number(json, "flops", flops / count);
  rt_json_number(json, "intensity", rt_report_intensity(row));
  rt_json_number(json, "flops_per_second", flops / seconds);
  rt_json_number(json, "bytes_per_second", bytes / seconds);
  rt_json_number(json, "peak_share", rt_report_peak_share(report, row));
}

static void write_row(rt_json *json, const rt_report *report, const rt_report_row *row,
                      int of_node) {
  rt_json_begin(json, NULL, '{');
  if (of_node) {
    rt_json_text(json, "name", row->name);
    rt_json_text(json, "origins", row->origins);
  } else {
    rt_json_integer(json, "nodes", row->nodes);
  }
  rt_json_text(json, "op", row->op);
  rt_json_text(json, "kind", rt_profile_kind_name(row->kind));
  rt_json_text(json, "provider", row->provider);
  rt_json_integer(json, "count", row->time.count);
  write_time(json, "time_ns", &row->time);
  rt_json_number(json, "share", row->share);
  write_work(json, report, row);
  rt_json_integer(json, "prepares", row->prepares);
  rt_json_integer(json, "prepare_ns", row->prepare_ns);
  write_counters(json, row);
  rt_json_end(json, '}');
}

static void write_rows(rt_json *json, const rt_report *report, const char *name,
                       const rt_report_row *rows, uint64_t count, int of_nodes) {
  rt_json_begin(json, name, '[');
  for (uint64_t i = 0; i < count; ++i) write_row(json, report, &rows[i], of_nodes);
  rt_json_end(json, ']');
}

// ---- Memory ---------------------------------------------------------------------------------

uint32_t rt_report_median_run(const rt_report *report) {
  const rt_profile *profile = report->profile;
  for (uint64_t i = 0; i < profile->count; ++i) {
    const rt_profile_span *span = &profile->entries[i].span;
    if (span->kind == RT_PROFILE_RUN && rt_profile_duration(span) == report->runs.median)
      return span->run;
  }
  return 0;
}

// Triples of microseconds since the profile began, live bytes and allocated bytes.
static void write_samples(rt_json *json, const rt_report *report,
                          const rt_report_memory *memory) {
  const rt_profile *profile = report->profile;
  const uint64_t origin = rt_profile_origin(profile);
  const uint32_t run = rt_report_median_run(report);
  rt_json_begin(json, "timeline", '[');
  for (uint64_t i = 0; i < profile->sample_count; ++i) {
    const rt_profile_sample *sample = &profile->samples[i];
    if (sample->run != run || sample->kind != memory->kind) continue;
    if (strcmp(sample->device, memory->device) != 0) continue;
    rt_json_begin(json, NULL, '[');
    rt_json_microseconds(json, NULL, sample->time_ns - origin);
    rt_json_integer(json, NULL, sample->live);
    rt_json_integer(json, NULL, sample->allocated);
    rt_json_end(json, ']');
  }
  rt_json_end(json, ']');
}

static void write_memory(rt_json *json, const rt_report *report) {
  rt_json_begin(json, "memory", '[');
  for (uint32_t i = 0; i < report->context.memory_count; ++i) {
    const rt_report_memory *memory = &report->context.memory[i];
    rt_json_begin(json, NULL, '{');
    rt_json_text(json, "device", memory->device);
    rt_json_text(json, "kind", rt_profile_memory_name(memory->kind));
    rt_json_integer(json, "peak_bytes", memory->peak);
    rt_json_integer(json, "planned_bytes", memory->planned);
    rt_json_integer(json, "without_reuse_bytes", memory->naive);
    rt_json_integer(json, "lower_bound_bytes", memory->lower_bound);
    write_samples(json, report, memory);
    rt_json_end(json, '}');
  }
  rt_json_end(json, ']');
}

static void write_advice(rt_json *json, const rt_report *report) {
  rt_json_begin(json, "advice", '[');
  for (uint32_t i = 0; i < report->advice_count; ++i) {
    const rt_advice *advice = &report->advice[i];
    rt_json_begin(json, NULL, '{');
    rt_json_text(json, "rule", advice->rule);
    rt_json_number(json, "share", advice->share);
    rt_json_text(json, "evidence", advice->evidence);
    rt_json_text(json, "action", advice->action);
    rt_json_end(json, '}');
  }
  rt_json_end(json, ']');
}

// ---- The document ---------------------------------------------------------------------------

void rt_report_json_members(rt_json *json, const rt_report *report) {
  rt_json_text(json, "format", "ops-profile");
  rt_json_integer(json, "version", VERSION);
  rt_json_text(json, "model", report->context.model ? report->context.model : "");
  write_runs(json, report);
  write_copies(json, report);
  write_devices(json, report);
  write_rows(json, report, "operators", report->operators, report->operator_count, 0);
  write_rows(json, report, "nodes", report->nodes, report->node_count, 1);
  write_memory(json, report);
  write_advice(json, report);
}

static int write_document(FILE *file, const void *context) {
  rt_json json = {.file = file};
  rt_json_begin(&json, NULL, '{');
  rt_report_json_members(&json, context);
  rt_json_end(&json, '}');
  return 1;
}

int32_t rt_report_write_json(const rt_report *report, const char *path, ops_error *error) {
  pthread_mutex_lock(&report->profile->mutex);
  const int32_t status = rt_write_whole(path, "profile", write_document, report, error);
  pthread_mutex_unlock(&report->profile->mutex);
  return status;
}

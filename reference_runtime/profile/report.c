// SPDX-License-Identifier: Apache-2.0
//
// Launches are sorted by what they belong to, then merged: once by node, once by operator. A
// launch takes the time that the device reported, else the host's.
#include "profile/report.h"

#include <math.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "profile/spans.h"

// The entries [first, last) of `sorted` share a correlation number; the first is the host's.
typedef struct launch {
  const rt_profile_span *span;  // the host's
  const rt_profile_entry *const *entries;
  uint32_t entry_count;  // of the device
  uint64_t ns;
} launch;

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "the report of a profile");
}

static uint64_t find_launches(const rt_profile_entry *const *sorted, uint64_t count,
                              launch *out_launches) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < count;) {
    const rt_profile_entry *host = sorted[i++];
    const uint64_t number = host->span.correlation;
    if (number == 0 || host->device != RT_PROFILE_HOST) continue;
    launch *at = &out_launches[found++];
    *at = (launch){.span = &host->span, .entries = &sorted[i]};
    for (; i < count && sorted[i]->span.correlation == number; ++i) {
      at->ns += rt_profile_duration(&sorted[i]->span);
      at->entry_count++;
    }
    if (at->entry_count == 0) at->ns = rt_profile_duration(at->span);
  }
  return found;
}

// ---- Order ----------------------------------------------------------------------------------

static int compare_texts(const char *const *a, const char *const *b, int count) {
  int order = 0;
  for (int i = 0; order == 0 && i < count; ++i) order = strcmp(a[i], b[i]);
  return order;
}

static int compare_operators(const rt_profile_span *a, const rt_profile_span *b) {
  const char *const left[] = {a->op, a->provider}, *const right[] = {b->op, b->provider};
  return compare_texts(left, right, 2);
}

static int compare_nodes(const rt_profile_span *a, const rt_profile_span *b) {
  const int order = strcmp(a->name, b->name);
  return order != 0 ? order : compare_operators(a, b);
}

static int by_time(const launch *a, const launch *b) {
  return (a->ns > b->ns) - (a->ns < b->ns);
}

static int launches_by_node(const void *left, const void *right) {
  const launch *a = left, *b = right;
  const int order = compare_nodes(a->span, b->span);
  return order != 0 ? order : by_time(a, b);
}

static int launches_by_operator(const void *left, const void *right) {
  const launch *a = left, *b = right;
  const int order = compare_operators(a->span, b->span);
  return order != 0 ? order : by_time(a, b);
}

static int rows_by_time(const void *left, const void *right) {
  const rt_report_row *a = left, *b = right;
  if (a->typical_ns != b->typical_ns) return a->typical_ns > b->typical_ns ? -1 : 1;
  const char *const names[] = {a->name, a->op, a->provider};
  const char *const others[] = {b->name, b->op, b->provider};
  return compare_texts(names, others, 3);
}

static int integers(const void *left, const void *right) {
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

// ---- Rows -----------------------------------------------------------------------------------

// The smallest duration that at least `percent` of them do not exceed (nearest rank).
static uint64_t rank_of(uint64_t count, uint64_t percent) {
  const uint64_t rank = (count * percent + 99) / 100;
  return rank ? rank - 1 : 0;
}

static void add_counter(rt_report_row *row, const rt_profile_counter *counter) {
  if (!counter->name) return;
  uint32_t i = 0;
  while (i < row->counter_count && strcmp(row->counters[i].name, counter->name) != 0) i++;
  if (i == RT_REPORT_MAX_COUNTERS) return;
  if (i == row->counter_count) {
    if (!row->counters) row->counters = calloc(RT_REPORT_MAX_COUNTERS, sizeof *row->counters);
    if (!row->counters) return;
    row->counters[row->counter_count++] =
        (rt_report_counter){.name = counter->name, .unit = counter->unit ? counter->unit : ""};
  }
  row->counters[i].count++;
  row->counters[i].sum += counter->value;
}

static void add_launch(rt_report_row *row, const launch *from) {
  const rt_profile_span *span = from->span;
  row->time.sum += from->ns;
  row->bytes_read += span->bytes_read;
  row->bytes_written += span->bytes_written;
  if (span->flops == RT_PROFILE_FLOPS_UNKNOWN || row->flops == RT_PROFILE_FLOPS_UNKNOWN)
    row->flops = RT_PROFILE_FLOPS_UNKNOWN;
  else
    row->flops += span->flops;
  for (uint32_t i = 0; i < from->entry_count; ++i)
    for (uint32_t k = 0; k < from->entries[i]->counter_count; ++k)
      add_counter(row, &from->entries[i]->counters[k]);
}

// `launches`, sorted by time, belong together.
static rt_report_row merge(const launch *launches, uint64_t count, int names) {
  const rt_profile_span *span = launches[0].span;
  rt_report_row row = {.name = names ? span->name : "",
                       .op = span->op,
                       .origins = names && span->origins ? span->origins : "",
                       .provider = span->provider,
                       .kind = span->kind,
                       .memory_from = span->memory_from,
                       .memory_to = span->memory_to,
                       .nodes = 1,
                       .time = {.count = count,
                                .minimum = launches[0].ns,
                                .median = launches[rank_of(count, 50)].ns,
                                .p95 = launches[rank_of(count, 95)].ns}};
  for (uint64_t i = 0; i < count; ++i) add_launch(&row, &launches[i]);
  row.typical_ns = (double)row.time.median * (double)count;
  return row;
}

static int32_t make_rows(launch *launches, uint64_t count, int names, rt_report_row **out_rows,
                         uint64_t *out_count, ops_error *error) {
  qsort(launches, count, sizeof *launches, names ? launches_by_node : launches_by_operator);
  rt_report_row *rows = calloc(count + 1, sizeof *rows);
  if (!rows) return exhausted(error);
  *out_rows = rows;
  for (uint64_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count; ++end) {
      const rt_profile_span *a = launches[first].span, *b = launches[end].span;
      if ((names ? compare_nodes(a, b) : compare_operators(a, b)) != 0) break;
    }
    rows[(*out_count)++] = merge(&launches[first], end - first, names);
  }
  return OPS_OK;
}

static void set_shares(rt_report_row *rows, uint64_t count) {
  double total = 0;
  for (uint64_t i = 0; i < count; ++i) total += rows[i].typical_ns;
  for (uint64_t i = 0; i < count; ++i)
    rows[i].share = total > 0 ? rows[i].typical_ns / total : 0;
  if (count) qsort(rows, count, sizeof *rows, rows_by_time);
}

// ---- What is no launch ----------------------------------------------------------------------

typedef struct key {
  const char *name, *op, *provider;
  rt_report_row *row;
} key;

static int compare_keys(const void *left, const void *right) {
  const key *a = left, *b = right;
  const char *const names[] = {a->name, a->op, a->provider};
  const char *const others[] = {b->name, b->op, b->provider};
  return compare_texts(names, others, 3);
}

static key *make_keys(rt_report_row *rows, uint64_t count) {
  key *keys = malloc((count + 1) * sizeof *keys);
  for (uint64_t i = 0; keys && i < count; ++i)
    keys[i] = (key){rows[i].name, rows[i].op, rows[i].provider, &rows[i]};
  if (keys) qsort(keys, count, sizeof *keys, compare_keys);
  return keys;
}

static void count_prepare(rt_report *report, const key *nodes, const key *operators,
                          const rt_profile_span *span) {
  const key wanted = {span->name, span->op, span->provider, NULL};
  const key of_operator = {"", span->op, span->provider, NULL};
  const key *const found[] = {
      bsearch(&wanted, nodes, report->node_count, sizeof wanted, compare_keys),
      bsearch(&of_operator, operators, report->operator_count, sizeof wanted, compare_keys)};
  for (int i = 0; i < 2; ++i) {
    if (!found[i]) continue;
    found[i]->row->prepares++;
    found[i]->row->prepare_ns += rt_profile_duration(span);
  }
  report->prepares++;
  report->late_prepares += span->run > 0;
}

// A kernel that was prepared has an operator; the plan around it has none.
static void count_plan(rt_report *report, const rt_profile_span *span) {
  report->plan_ns += rt_profile_duration(span);
  if (span->run > 0) report->late_plan_ns += rt_profile_duration(span);
}

// What the row of an operator has from those of its nodes.
static void add_nodes(rt_report *report, const key *operators) {
  for (uint64_t i = 0; i < report->operator_count; ++i)
    report->operators[i].typical_ns = report->operators[i].nodes = 0;
  for (uint64_t i = 0; i < report->node_count; ++i) {
    const rt_report_row *row = &report->nodes[i];
    const key wanted = {"", row->op, row->provider, NULL};
    const key *found =
        bsearch(&wanted, operators, report->operator_count, sizeof wanted, compare_keys);
    if (!found) continue;
    found->row->nodes++;
    found->row->typical_ns += row->typical_ns;
  }
}

static int32_t add_prepares(rt_report *report, ops_error *error) {
  const rt_profile *profile = report->profile;
  key *nodes = make_keys(report->nodes, report->node_count);
  key *operators = make_keys(report->operators, report->operator_count);
  const int complete = nodes && operators;
  for (uint64_t i = 0; complete && i < profile->count; ++i) {
    const rt_profile_span *span = &profile->entries[i].span;
    if (span->kind != OPS_PROFILE_COMPILE || profile->entries[i].device != RT_PROFILE_HOST)
      continue;
    if (span->op[0])
      count_prepare(report, nodes, operators, span);
    else
      count_plan(report, span);
  }
  if (complete) add_nodes(report, operators);
  free(nodes);
  free(operators);
  return complete ? OPS_OK : exhausted(error);
}

static int32_t add_runs(rt_report *report, ops_error *error) {
  const rt_profile *profile = report->profile;
  rt_report_time *time = &report->runs;
  uint64_t *durations = malloc((profile->count + 1) * sizeof *durations);
  if (!durations) return exhausted(error);
  for (uint64_t i = 0; i < profile->count; ++i) {
    const rt_profile_span *span = &profile->entries[i].span;
    if (span->kind != RT_PROFILE_RUN) continue;
    if (time->count == 0) report->first_run_ns = rt_profile_duration(span);
    durations[time->count++] = rt_profile_duration(span);
    time->sum += rt_profile_duration(span);
    report->own_ns += span->own_ns;
  }
  qsort(durations, time->count, sizeof *durations, integers);
  if (time->count) {
    time->minimum = durations[0];
    time->median = durations[rank_of(time->count, 50)];
    time->p95 = durations[rank_of(time->count, 95)];
  }
  free(durations);
  return OPS_OK;
}

// ---- The report -----------------------------------------------------------------------------

static int32_t add_rows(rt_report *report, ops_error *error) {
  const rt_profile_entry **sorted = rt_profile_sorted(report->profile);
  launch *launches = malloc((report->profile->count + 1) * sizeof *launches);
  const int complete = sorted && launches;
  const uint64_t count = complete ? find_launches(sorted, report->profile->count, launches) : 0;
  for (uint64_t i = 0; i < count; ++i) report->launch_ns += launches[i].ns;
  int32_t status = complete ? OPS_OK : exhausted(error);
  if (status == OPS_OK)
    status = make_rows(launches, count, 1, &report->nodes, &report->node_count, error);
  if (status == OPS_OK)
    status = make_rows(launches, count, 0, &report->operators, &report->operator_count, error);
  free(sorted);
  free(launches);
  return status;
}

// A node's fastest launch is a measurement of the peak, too.
static int32_t copy_devices(rt_report *report, ops_error *error) {
  const uint32_t count = report->context.device_count;
  report->devices = calloc((size_t)count + 1, sizeof *report->devices);
  if (!report->devices) return exhausted(error);
  for (uint32_t i = 0; i < count; ++i) {
    rt_report_device *device = &report->devices[i];
    *device = report->context.devices[i];
    for (uint64_t k = 0; k < report->node_count; ++k) {
      const rt_report_row *row = &report->nodes[k];
      if (strcmp(row->provider, device->provider) != 0 || row->time.minimum == 0) continue;
      const double rate =
          row->flops / (double)row->time.count / ((double)row->time.minimum * 1e-9);
      if (device->peak_flops > 0 && rate > device->peak_flops) device->peak_flops = rate;
    }
  }
  return OPS_OK;
}

int32_t rt_report_init(rt_report *report, rt_profile *profile, const rt_report_context *context,
                       ops_error *error) {
  *report = (rt_report){.profile = profile, .context = *context};
  pthread_mutex_lock(&profile->mutex);
  int32_t status = add_rows(report, error);
  if (status == OPS_OK) status = add_prepares(report, error);
  if (status == OPS_OK) status = add_runs(report, error);
  pthread_mutex_unlock(&profile->mutex);
  set_shares(report->nodes, report->node_count);
  set_shares(report->operators, report->operator_count);
  if (status == OPS_OK) status = copy_devices(report, error);
  return status == OPS_OK ? rt_report_advise(report, error) : status;
}

static void free_rows(rt_report_row *rows, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) free(rows[i].counters);
  free(rows);
}

void rt_report_finish(rt_report *report) {
  free_rows(report->nodes, report->node_count);
  free_rows(report->operators, report->operator_count);
  free(report->advice);
  free(report->devices);
  *report = (rt_report){0};
}

double rt_report_intensity(const rt_report_row *row) {
  const double bytes = (double)row->bytes_read + (double)row->bytes_written;
  return row->flops == RT_PROFILE_FLOPS_UNKNOWN || bytes == 0 ? NAN : row->flops / bytes;
}

const rt_report_device *rt_report_device_of(const rt_report *report, const rt_report_row *row) {
  for (uint32_t i = 0; i < report->context.device_count; ++i)
    if (strcmp(report->devices[i].provider, row->provider) == 0) return &report->devices[i];
  return NULL;
}

double rt_report_peak_share(const rt_report *report, const rt_report_row *row) {
  const rt_report_device *device = rt_report_device_of(report, row);
  const double seconds = row->typical_ns * 1e-9;
  const double intensity = rt_report_intensity(row);
  if (!device || device->peak_bytes_per_second <= 0 || seconds <= 0) return NAN;
  const double bytes = (double)row->bytes_read + (double)row->bytes_written;
  const double memory = bytes / seconds / device->peak_bytes_per_second;
  const double ridge = device->peak_flops / device->peak_bytes_per_second;
  if (row->kind != OPS_PROFILE_KERNEL) return memory;
  if (isnan(intensity) || device->peak_flops <= 0) return NAN;
  return intensity < ridge ? memory : row->flops / seconds / device->peak_flops;
}

static int compare_node(const void *name, const void *node) {
  return strcmp(name, ((const rt_report_node *)node)->name);
}

const rt_report_node *rt_report_find_node(const rt_report *report, const char *name) {
  const rt_report_context *context = &report->context;
  if (context->node_count == 0) return NULL;
  return bsearch(name, context->nodes, context->node_count, sizeof *context->nodes,
                 compare_node);
}

const rt_report_counter *rt_report_find_counter(const rt_report_row *row, const char *name) {
  for (uint32_t i = 0; i < row->counter_count; ++i)
    if (strcmp(row->counters[i].name, name) == 0) return &row->counters[i];
  return NULL;
}

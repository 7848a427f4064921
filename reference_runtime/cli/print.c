// SPDX-License-Identifier: Apache-2.0
//
// Tables for people: outputs, placement, memory, times.
#include <inttypes.h>
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inputs.h"
#include "cli/output.h"

#define MAX_ROWS 20u

void cli_print_runs(double *seconds, uint64_t count) {
  const double first = seconds[0];
  cli_sort_seconds(seconds, count);
  printf("%" PRIu64 " runs: first %.3f ms, median %.3f ms, fastest %.3f ms\n", count,
         first * 1e3, seconds[count / 2] * 1e3, seconds[0] * 1e3);
}

static void print_numbers(const opsrt_value *value) {
  const float *floats = value->data;
  const int64_t *ints = value->data;
  const uint64_t count =
      value->size / (value->type == OPS_TYPE_FLOAT ? sizeof *floats : sizeof *ints);
  for (uint64_t i = 0; i < count && i < 6; ++i) {
    if (value->type == OPS_TYPE_FLOAT)
      printf(" %.6g", (double)floats[i]);
    else
      printf(" %" PRId64, ints[i]);
  }
  if (count > 6) printf(" …");
}

void cli_print_outputs(const opsrt_result *result) {
  for (uint64_t i = 0; i < opsrt_result_count(result); ++i) {
    const opsrt_value *value = opsrt_result_output(result, i);
    const int tensor = value->kind == OPS_VALUE_TENSOR || value->kind == OPS_VALUE_STRINGS;
    printf("%s: ", value->name);
    if (!tensor) {
      printf("no tensor\n");
      continue;
    }
    printf("%s[", ops_type_name(value->type));
    for (int32_t k = 0; k < value->rank; ++k)
      printf("%s%" PRId64, k ? "," : "", value->dims[k]);
    printf("]");
    if (value->type == OPS_TYPE_FLOAT || value->type == OPS_TYPE_INT64) print_numbers(value);
    printf("\n");
  }
}

void cli_print_load(const opsrt_session *session, FILE *out) {
  for (uint64_t i = 0; i < opsrt_session_load_phase_count(session); ++i) {
    const opsrt_load_phase *phase = opsrt_session_load_phase(session, i);
    fprintf(out, "  %-24s %9.3f ms\n", phase->name, (double)phase->ns * 1e-6);
  }
}

// One line for each node in a private layout and for each change of layout, then their numbers.
void cli_print_layouts(const opsrt_session *session) {
  uint64_t nodes = 0, reorders = 0, bytes = 0;
  for (uint64_t i = 0; i < opsrt_session_layout_count(session); ++i) {
    opsrt_layout row;
    opsrt_session_layout(session, i, &row);
    const int is_reorder = row.op[0] == 0;
    printf("%-12s %-20s %s: %" PRIu32 " -> %" PRIu32 "\n", row.provider,
           is_reorder ? "(reorder)" : row.op, row.name, row.from, row.to);
    nodes += !is_reorder;
    reorders += is_reorder;
    bytes += row.bytes;
  }
  printf("%" PRIu64 " nodes in private layouts, %" PRIu64 " reorders of %" PRIu64 " bytes\n",
         nodes, reorders, bytes);
}

// One line per node, then how many nodes each provider runs.
void cli_print_placement(const opsrt_session *session) {
  const uint64_t count = opsrt_session_placement_count(session);
  for (uint64_t i = 0; i < count; ++i) {
    const opsrt_placement *row = opsrt_session_placement(session, i);
    printf("%-12s %-20s %s", row->provider, row->op, row->node);
    if (row->origins[0]) printf(" (from %s)", row->origins);
    if (row->group >= 0) printf(" [group %d]", row->group);
    if (row->reason[0]) printf("  (%s)", row->reason);
    printf("\n");
  }
  for (uint64_t i = 0; i < count; ++i) {
    const char *provider = opsrt_session_placement(session, i)->provider;
    uint64_t nodes = 0;
    int first = 1;
    for (uint64_t k = 0; k < count; ++k) {
      const int same = strcmp(opsrt_session_placement(session, k)->provider, provider) == 0;
      if (same && k < i) first = 0;
      nodes += (uint64_t)same;
    }
    if (first) printf("%s runs %" PRIu64 " of %" PRIu64 " nodes\n", provider, nodes, count);
  }
}

static const char *kind_name(const opsrt_memory *row) {
  static const char *const kinds[] = {"host", "pinned", "device", "shared"};
  return kinds[row->kind];
}

// All that the session holds.
static void print_held(const opsrt_memory *row) {
  printf("%-12s %-7s %14" PRIu64 " %14" PRIu64 " %14" PRIu64 " %14" PRIu64 "\n", row->device,
         kind_name(row), row->bytes_in_use, row->bytes_peak, row->bytes_maximum,
         row->allocations);
}

// The part of it that runs take their activations from.
static void print_arena(const opsrt_memory *row) {
  printf("%-12s %-7s %14" PRIu64 " %14" PRIu64 " %14" PRIu64 " %14" PRIu64 " %10" PRIu64
         " %8" PRIu64 "\n",
         row->device, kind_name(row), row->arena_peak, row->arena_reserved,
         row->arena_reserved_peak, row->arena_largest_free, row->arena_extensions,
         row->arena_releases);
}

// What the last plan needs of it.
static void print_plan(const opsrt_memory *row) {
  printf("%-12s %-7s %14" PRIu64 " %14" PRIu64 " %14.3f %14" PRIu64 "\n", row->device,
         kind_name(row), row->planned, row->lower_bound,
         row->lower_bound ? (double)row->planned / (double)row->lower_bound : 1.0, row->naive);
}

static void print_rows(const opsrt_session *session, void (*print)(const opsrt_memory *row)) {
  for (uint64_t i = 0; i < opsrt_session_memory_count(session); ++i) {
    opsrt_memory row;
    if (opsrt_session_memory(session, i, &row) == OPS_OK) print(&row);
  }
}

void cli_print_capture(const opsrt_session *session) {
  printf("graph capture\n");
  for (uint64_t i = 0; i < opsrt_session_device_count(session); ++i) {
    opsrt_capture row;
    opsrt_session_capture(session, i, &row);
    if (row.kernels == 0) continue;
    printf("%-12s %" PRIu64 " of %" PRIu64 " kernels", row.provider, row.capturable,
           row.kernels);
    if (row.reason[0]) printf("  (%s)", row.reason);
    printf("\n");
  }
}

static void print_fullest(opsrt_session *session) {
  for (uint64_t i = 0; i < opsrt_session_memory_count(session); ++i) {
    char text[640];
    opsrt_memory row;
    if (opsrt_session_memory(session, i, &row) != OPS_OK ||
        opsrt_session_memory_fullest(session, i, text, sizeof text, NULL) != OPS_OK || !text[0])
      continue;
    printf("fullest moment of %s (%s): %s bytes\n", row.device, kind_name(&row), text);
  }
}

void cli_print_memory(opsrt_session *session) {
  printf("%-12s %-7s %14s %14s %14s %14s\n", "memory", "kind", "in use", "peak", "maximum",
         "allocations");
  print_rows(session, print_held);
  printf("%-12s %-7s %14s %14s %14s %14s %10s %8s\n", "arena", "kind", "peak", "reserved",
         "most reserved", "largest free", "extensions", "releases");
  print_rows(session, print_arena);
  printf("%-12s %-7s %14s %14s %14s %14s\n", "plan", "kind", "planned", "lower bound",
         "by lower bound", "without reuse");
  print_rows(session, print_plan);
  print_fullest(session);
  opsrt_counters counters;
  opsrt_session_counters(session, &counters);
  printf("%" PRIu64 " plans built, %" PRIu64 " evicted, %" PRIu64 " prepares, %" PRIu64
         " copies of %" PRIu64 " bytes, %" PRIu64 " captures, %" PRIu64 " replays\n",
         counters.plans_built, counters.plans_evicted, counters.prepares, counters.copies,
         counters.copied_bytes, counters.captures, counters.replays);
}

int32_t cli_print_times(opsrt_session *session, ops_error *error) {
  opsrt_node_time *times = NULL;
  uint64_t count = 0, total = 0;
  OPS_RETURN_IF_ERROR(opsrt_session_profile_times(session, &times, &count, error));
  for (uint64_t i = 0; i < count; ++i) total += times[i].total_ns;
  printf("%10s %6s %6s  %-14s %-10s %s\n", "ms", "share", "runs", "op", "provider", "node");
  for (uint64_t i = 0; i < count && i < MAX_ROWS; ++i)
    printf("%10.3f %5.1f%% %6" PRIu64 "  %-14s %-10s %s%s%s%s\n",
           (double)times[i].total_ns / 1e6,
           total ? 100.0 * (double)times[i].total_ns / (double)total : 0.0, times[i].count,
           times[i].op, times[i].provider, times[i].node, times[i].origins[0] ? " (from " : "",
           times[i].origins, times[i].origins[0] ? ")" : "");
  if (count > MAX_ROWS) printf("… %" PRIu64 " more\n", count - MAX_ROWS);
  printf("%10.3f ms in kernels and copies\n", (double)total / 1e6);
  opsrt_free(times);
  return OPS_OK;
}

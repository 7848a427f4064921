// SPDX-License-Identifier: Apache-2.0
//
// Stages by table: the first one that does not hold is what is missing.
#include "perf/maturity.h"

#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"

static const char *const kMissing[] = {
    "it is not correct", "it is slower than stage 2 asks for",
    "it is slower than stage 3 asks for, or does not declare every post-operation",
    "no baseline guards it, or it does not hold", "nothing"};

// The speed in units of the yardstick's; 0: nothing to compare with.
static double speed_of(const oc_performance *entry, const oc_perf_point *point) {
  const bool roofline = entry->yardstick && strcmp(entry->yardstick, "roofline") == 0;
  if (roofline) return point->share_of_roofline;
  return point->ratio.given && point->ratio.value > 0 ? 1 / point->ratio.value : 0;
}

void oc_perf_set_stage(const oc_performance *entry, bool correct, bool absorbs,
                       oc_perf_point *point) {
  point->stage_baseline =
      entry->stage_baseline > 0 ? entry->stage_baseline : OC_PERF_STAGE_BASELINE;
  point->stage_optimized =
      entry->stage_optimized > 0 ? entry->stage_optimized : OC_PERF_STAGE_OPTIMIZED;
  const double speed = speed_of(entry, point);
  const bool guarded =
      point->verdict == OC_PERF_OK && (point->gate.reference == OC_PERF_REFERENCE_BASELINE ||
                                       point->gate.reference == OC_PERF_REFERENCE_ABSOLUTE);
  const bool holds[] = {correct, speed >= point->stage_baseline,
                        speed >= point->stage_optimized && absorbs, guarded};
  point->stage = 0;
  while (point->stage < 4 && holds[point->stage]) ++point->stage;
}

int32_t oc_perf_list_operators(const oc_perf_point *points, size_t count,
                               oc_perf_operator **out_operators, size_t *out_count,
                               ops_error *error) {
  oc_perf_operator *rows = calloc(count + 1, sizeof *rows);
  size_t used = 0;
  if (!rows) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for stages");
  for (size_t i = 0; i < count; ++i) {
    oc_perf_operator *row = rows;
    while (row < rows + used && strcmp(row->op, points[i].op) != 0) ++row;
    if (row == rows + used) {
      ++used;
      *row = (oc_perf_operator){.op = points[i].op, .stage = points[i].stage};
    }
    if (points[i].stage < row->stage) row->stage = points[i].stage;
  }
  for (size_t i = 0; i < used; ++i) rows[i].why = kMissing[rows[i].stage];
  *out_operators = rows;
  *out_count = used;
  return OPS_OK;
}

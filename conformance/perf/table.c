// SPDX-License-Identifier: Apache-2.0
//
// The table of points, the stages of operators, the summary.
#include "perf/table.h"

#include <math.h>
#include <string.h>

static void put_heading(FILE *stream, const oc_perf_results *results) {
  fprintf(stream, "\nyardstick %s %s, %s, sha256 %.16s\n", results->yardstick_name,
          results->yardstick_version, results->yardstick_path, results->yardstick_hash);
  fprintf(stream, "device    fingerprint %s, %u workers", results->fingerprint,
          results->workers);
  if (results->peak.flops_per_second > 0) {
    fprintf(stream, ", peak %.4g Gflop/s (%s)", results->peak.flops_per_second / 1e9,
            results->peak.flops_measured ? "measured" : "stated");
  }
  if (results->peak.bytes_per_second > 0) {
    fprintf(stream, ", %.4g GB/s (%s)", results->peak.bytes_per_second / 1e9,
            results->peak.bytes_measured ? "measured" : "stated");
  }
  fputs(
      "\n\n  hot ms: median, p95    warm, cold  : yardstick [99 %]      change [99 %]        "
      "noise  peak  stage\n",
      stream);
}

static void put_change(FILE *stream, const oc_perf_point *point) {
  const oc_perf_estimate *change = &point->gate.change;
  char text[64] = "-";
  if (point->gate.reference != OC_PERF_REFERENCE_NONE && change->given) {
    snprintf(text, sizeof text, "%+.1f %% [%+.1f, %+.1f]", 100 * (change->value - 1),
             100 * (change->low - 1), 100 * (change->high - 1));
  }
  fprintf(stream, "  %-21s", text);
}

static void put_point(FILE *stream, const oc_perf_point *point) {
  const oc_perf_times *times = point->candidate.times;
  char ratio[48] = "no yardstick";
  fprintf(stream, "%s%s%s\n", point->id, point->verdict == OC_PERF_UNMEASURED ? "  " : "",
          point->verdict == OC_PERF_UNMEASURED ? "not measured" : "");
  if (point->verdict == OC_PERF_UNMEASURED) return;
  if (point->ratio.given) {
    snprintf(ratio, sizeof ratio, "x%.3f [%.3f, %.3f]", point->ratio.value, point->ratio.low,
             point->ratio.high);
  }
  fprintf(stream, "  %9.4g %9.4g  %8.4g %8.4g  %-22s", times[OC_PERF_HOT].median_ms,
          times[OC_PERF_HOT].p95_ms, times[OC_PERF_WARM].median_ms,
          times[OC_PERF_COLD].median_ms, ratio);
  put_change(stream, point);
  fprintf(stream, " %5.1f%% ", 100 * point->gate.floor);
  if (point->share_of_roofline > 0) {
    fprintf(stream, "%4.0f%%", 100 * point->share_of_roofline);
  } else {
    fputs("    -", stream);
  }
  fprintf(stream, "  %d  %s\n", point->stage, oc_perf_verdict_name(point->verdict));
  const bool wants_words = point->verdict != OC_PERF_OK && point->reason[0];
  if (wants_words) fprintf(stream, "    %s\n", point->reason);
}

static void put_stages(FILE *stream, const oc_perf_results *results) {
  fputs("\nmaturity\n", stream);
  for (size_t i = 0; i < results->operator_count; ++i) {
    const oc_perf_operator *row = &results->operators[i];
    fprintf(stream, "  %-32s %d", row->op, row->stage);
    if (row->stage < 4) fprintf(stream, "  for %d: %s", row->stage + 1, row->why);
    fputc('\n', stream);
  }
}

static size_t count_of(const oc_perf_results *results, int verdict) {
  size_t count = 0;
  for (size_t i = 0; i < results->count; ++i) {
    count += results->points[i].verdict == (oc_perf_verdict)verdict;
  }
  return count;
}

void oc_perf_print(FILE *stream, const oc_perf_results *results) {
  put_heading(stream, results);
  for (size_t i = 0; i < results->count; ++i) put_point(stream, &results->points[i]);
  put_stages(stream, results);
  fputs("\nperformance", stream);
  for (int verdict = 0; verdict < OC_PERF_VERDICT_COUNT; ++verdict) {
    const size_t count = count_of(results, verdict);
    if (count)
      fprintf(stream, "  %s %zu", oc_perf_verdict_name((oc_perf_verdict)verdict), count);
  }
  fputc('\n', stream);
  if (count_of(results, OC_PERF_UNGATED) > 0 && !results->baseline && !results->against) {
    fputs("nothing was gated: give --baseline FILE, or --against LIB\n", stream);
  }
}

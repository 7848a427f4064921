// SPDX-License-Identifier: Apache-2.0
//
// The report as Markdown with tables (GitHub, GitLab). It stays short whatever the run found:
// so many failing cases in full, the rest as a number.
#include <inttypes.h>
#include <string.h>

#include "checks/check.h"
#include "report/details.h"
#include "report/digest.h"
#include "report/escape.h"
#include "report/format.h"

#define MAX_DETAILED 100

static void put_row(FILE *stream, const char *label, const char *text) {
  if (!text || !text[0]) return;
  fprintf(stream, "| %s | ", label);
  oc_put_markdown(stream, text);
  fputs(" |\n", stream);
}

static void put_head(FILE *stream, const oc_report *report) {
  const oc_identity *provider = &report->hello.candidate;
  fputs("# Conformance of ", stream);
  oc_put_markdown(stream, provider->name[0] ? provider->name : report->setup.provider);
  fputc(' ', stream);
  oc_put_markdown(stream, provider->version);
  fprintf(stream,
          "\n\n**%s** (exit code %d): %zu cases in %.0f s\n\n| status | cases |\n"
          "| --- | ---: |\n",
          oc_exit_meaning(report->exit_code), report->exit_code, report->count,
          report->seconds);
  for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) {
    if (report->counts[status] == 0) continue;
    fprintf(stream, "| %s | %" PRIu64 " |\n", oc_status_name(status), report->counts[status]);
  }
  fputc('\n', stream);
}

// ---- Failing cases --------------------------------------------------------------------------

static bool is_repeat(const oc_detail *detail) {
  return strcmp(detail->label, "repeat") == 0;
}

static void put_case(FILE *stream, const oc_report *report, const oc_result *result) {
  oc_details details;
  oc_details_init(&details, report, result);
  fprintf(stream, "### %s ", oc_status_name(result->status));
  oc_put_markdown(stream, oc_report_id(report, result));
  fputs("\n\n| | |\n| --- | --- |\n", stream);
  for (size_t i = 0; i < details.count; ++i) {
    if (!is_repeat(&details.items[i])) {
      put_row(stream, details.items[i].label, details.items[i].text);
    }
  }
  // As it is to be typed: four spaces make a block of code in which nothing is markup.
  if (details.repeat) fprintf(stream, "\n    %s\n\n", details.repeat);
  oc_details_finish(&details);
}

static void put_failures(FILE *stream, const oc_report *report) {
  size_t failures = 0;
  for (size_t i = 0; i < report->count; ++i) {
    const oc_result *result = &report->results[i];
    if (!oc_status_is_failure(result->status)) continue;
    if (failures == 0) fputs("## Failing cases\n\n", stream);
    if (failures++ < MAX_DETAILED) put_case(stream, report, result);
  }
  if (failures > MAX_DETAILED) {
    fprintf(stream, "… and %zu more; the JSON and HTML reports have them.\n\n",
            failures - MAX_DETAILED);
  }
}

// ---- Operators ------------------------------------------------------------------------------

static void put_matrix_head(FILE *stream, const oc_digest *digest) {
  size_t count, columns = 0;
  const oc_check *checks = oc_checks(&count);
  fputs(
      "## Operators and checks\n\nCases put to each check; **failed/asked** where one "
      "failed.\n\n| operator | pass | fail | other |",
      stream);
  for (size_t i = 0; i < count; ++i) {
    if (digest->asked[i] == 0) continue;
    fprintf(stream, " %s |", checks[i].name);
    ++columns;
  }
  fputs("\n| --- | ---: | ---: | ---: |", stream);
  for (size_t i = 0; i < columns; ++i) fputs(" ---: |", stream);
  fputc('\n', stream);
}

static void put_matrix_row(FILE *stream, const oc_digest *digest, const oc_digest_op *op) {
  const uint64_t failed = oc_digest_failures(op), total = op->end - op->begin;
  const uint64_t passed = op->counts[OC_STATUS_PASS];
  fputs("| ", stream);
  oc_put_markdown(stream, op->name);
  fprintf(stream, " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " |", passed, failed,
          total - passed - failed);
  for (int bit = 0; bit < OC_DIGEST_CHECKS; ++bit) {
    if (digest->asked[bit] == 0) continue;
    if (op->failed[bit]) {
      fprintf(stream, " **%" PRIu64 "/%" PRIu64 "** |", op->failed[bit], op->asked[bit]);
    } else if (op->asked[bit]) {
      fprintf(stream, " %" PRIu64 " |", op->asked[bit]);
    } else {
      fputs(" |", stream);
    }
  }
  fputc('\n', stream);
}

static void put_matrix(FILE *stream, const oc_report *report) {
  oc_digest digest;
  if (oc_digest_init(&digest, report, NULL) != OPS_OK) return;
  if (digest.count > 0) put_matrix_head(stream, &digest);
  size_t unclaimed = 0;
  for (size_t i = 0; i < digest.count; ++i) {
    if (oc_digest_is_claimed(&digest.ops[i])) {
      put_matrix_row(stream, &digest, &digest.ops[i]);
    } else {
      ++unclaimed;
    }
  }
  fputc('\n', stream);
  if (unclaimed) fprintf(stream, "Operators of which nothing is claimed: %zu.\n\n", unclaimed);
  oc_digest_finish(&digest);
}

// ---- Performance ----------------------------------------------------------------------------

static void put_point(FILE *stream, const oc_perf_point *point) {
  const oc_perf_times *own = &point->candidate.times[OC_PERF_WARM];
  fputs("| ", stream);
  oc_put_markdown(stream, point->id);
  fprintf(stream, " | %s |", oc_perf_verdict_name(point->verdict));
  if (own->samples > 0) {
    fprintf(stream, " %.4g | %.4g |", own->median_ms, own->p95_ms);
  } else {
    fputs(" | |", stream);
  }
  if (point->ratio.given) {
    fprintf(stream, " %.3f | %.3f–%.3f |", point->ratio.value, point->ratio.low,
            point->ratio.high);
  } else {
    fputs(" | |", stream);
  }
  fprintf(stream, " %d | ", point->stage);
  oc_put_markdown(stream, point->reason);
  fputs(" |\n", stream);
}

static void put_performance(FILE *stream, const oc_perf_results *results) {
  if (!results) return;
  fputs("## Performance\n\nRatio: candidate to yardstick", stream);
  if (results->yardstick_name[0]) {
    fputs(" (", stream);
    oc_put_markdown(stream, results->yardstick_name);
    fputs(")", stream);
  }
  fputs(
      ", more than 1 is slower; with the interval of 99 % confidence.\n\n"
      "| point | verdict | median ms | p95 ms | ratio | interval | stage | why |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
      stream);
  for (size_t i = 0; i < results->count; ++i) put_point(stream, &results->points[i]);
  fputs(
      "\n## Maturity\n\n| operator | stage | what keeps it from the next |\n"
      "| --- | ---: | --- |\n",
      stream);
  for (size_t i = 0; i < results->operator_count; ++i) {
    const oc_perf_operator *op = &results->operators[i];
    fputs("| ", stream);
    oc_put_markdown(stream, op->op);
    fprintf(stream, " | %d | %s |\n", op->stage, op->why ? op->why : "");
  }
  fputc('\n', stream);
}

// ---- Waivers --------------------------------------------------------------------------------

static void put_waivers(FILE *stream, const oc_waivers *waivers) {
  if (!waivers) return;
  fputs(
      "## Waivers\n\n| line | state | cases | check | waived | pass | worse | until | reason "
      "|\n"
      "| ---: | --- | --- | --- | ---: | ---: | ---: | --- | --- |\n",
      stream);
  for (size_t i = 0; i < waivers->count; ++i) {
    const oc_waiver *waiver = &waivers->items[i];
    fprintf(stream, "| %u | %s | ", waiver->line, oc_waiver_state_name(waiver->state));
    oc_put_markdown(stream, waiver->cases[0]);
    if (waiver->case_count > 1) fprintf(stream, " and %zu more", waiver->case_count - 1);
    fprintf(stream, " | %s | %zu | %zu | %zu | %s | ", waiver->check, waiver->waived,
            waiver->passed, waiver->worse, waiver->expires);
    oc_put_markdown(stream, waiver->reason);
    fputs(" |\n", stream);
  }
  fputc('\n', stream);
}

static void put_environment(FILE *stream, const oc_report *report) {
  const oc_identity *provider = &report->hello.candidate, *oracle = &report->hello.oracle;
  char seed[24];
  snprintf(seed, sizeof seed, "%" PRIu64, report->setup.seed);
  fputs("## About this run\n\n| | |\n| --- | --- |\n", stream);
  put_row(stream, "provider", provider->path);
  put_row(stream, "its SHA-256", report->candidate_hash);
  put_row(stream, "device", provider->device);
  put_row(stream, "driver", provider->driver);
  put_row(stream, "oracle", oracle->path);
  put_row(stream, "its SHA-256", report->oracle_hash);
  put_row(stream, "started", report->started);
  put_row(stream, "profile", oc_profile_name(report->setup.profile));
  put_row(stream, "tier", oc_tier_name(report->setup.tier));
  put_row(stream, "seed", seed);
}

void oc_write_markdown(FILE *stream, const oc_report *report) {
  put_head(stream, report);
  put_failures(stream, report);
  put_matrix(stream, report);
  put_waivers(stream, report->waivers);
  put_performance(stream, report->performance);
  put_environment(stream, report);
}

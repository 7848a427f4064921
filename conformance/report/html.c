// SPDX-License-Identifier: Apache-2.0
//
// One self-contained page: no file and no address beside it. Sections are written in the order
// in which they are asked for: the verdict, what failed, where, how near, how fast, by whom.
#include "report/html.h"

#include <inttypes.h>
#include <string.h>

#include "report/escape.h"

extern const char oc_page_css[], oc_page_js[];  // page.css, page.js, from the build

const char *oc_html_class(int32_t status) {
  static const char *const classes[OC_STATUS_COUNT] = {
      [OC_STATUS_PASS] = "good",    [OC_STATUS_FAIL] = "bad",
      [OC_STATUS_CRASH] = "bad",    [OC_STATUS_TIMEOUT] = "bad",
      [OC_STATUS_XPASS] = "bad",    [OC_STATUS_UNTRUSTED] = "bad",
      [OC_STATUS_FLAKY] = "bad",    [OC_STATUS_WAIVED] = "warn",
      [OC_STATUS_NOT_RUN] = "warn", [OC_STATUS_UNSUPPORTED] = "none"};
  return classes[status];
}

static const char *verdict_class(int32_t exit_code) {
  return exit_code == OC_EXIT_CONFORMANT     ? "good"
         : exit_code == OC_EXIT_INCOMPLETE   ? "warn"
         : exit_code == OC_EXIT_INCONCLUSIVE ? "warn"
                                             : "bad";
}

// ---- Head -----------------------------------------------------------------------------------

static void put_title(FILE *stream, const oc_report *report) {
  const oc_identity *provider = &report->hello.candidate;
  oc_put_xml(stream, provider->name[0] ? provider->name : report->setup.provider);
  fputc(' ', stream);
  oc_put_xml(stream, provider->version);
}

static void put_head(FILE *stream, const oc_report *report) {
  fputs(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"opsconform\">\n<title>Conformance of ",
      stream);
  put_title(stream, report);
  fprintf(stream, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>Conformance of ",
          oc_page_css);
  put_title(stream, report);
  fprintf(
      stream, "</h1>\n<p><span class=\"verdict %s\">%s</span> <span class=\"dim\">exit code %d",
      verdict_class(report->exit_code), oc_exit_meaning(report->exit_code), report->exit_code);
  fprintf(stream, " · %zu cases in %.0f s · %s", report->count, report->seconds,
          report->started);
  if (!oc_report_on_models(&report->setup)) {
    fprintf(stream, " · profile %s, tier %s", oc_profile_name(report->setup.profile),
            oc_tier_name(report->setup.tier));
  }
  fputs(" · ", stream);
  oc_put_xml(stream, report->hello.candidate.device);
  fputs("</span></p>\n", stream);
}

static void put_cards(FILE *stream, const oc_report *report) {
  fputs("<div class=\"cards\">\n", stream);
  for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) {
    if (report->counts[status] == 0) continue;
    fprintf(stream, "<div class=\"card %s\" title=\"%s\">%s<b>%" PRIu64 "</b></div>\n",
            oc_html_class(status), oc_status_meaning(status), oc_status_name(status),
            report->counts[status]);
  }
  fputs("</div>\n", stream);
}

// The shares of the statuses, those of one colour side by side.
static void put_bar(FILE *stream, const oc_report *report) {
  static const char *const classes[] = {"good", "bad", "warn", "none"};
  fputs("<div class=\"bar\" aria-hidden=\"true\">", stream);
  for (size_t i = 0; i < sizeof classes / sizeof *classes; ++i) {
    uint64_t sum = 0;
    for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) {
      if (strcmp(oc_html_class(status), classes[i]) == 0) sum += report->counts[status];
    }
    if (sum)
      fprintf(stream, "<i class=\"%s\" style=\"flex:%" PRIu64 "\"></i>", classes[i], sum);
  }
  fputs("</div>\n", stream);
}

static void put_links(FILE *stream, const oc_report *report) {
  fputs(
      "<nav><a href=\"#failures\">Failing cases</a> <a href=\"#matrix\">Operators and "
      "checks</a> "
      "<a href=\"#errors\">Errors and limits</a> ",
      stream);
  if (report->waivers) fputs("<a href=\"#waivers\">Waivers</a> ", stream);
  if (report->performance) {
    fputs("<a href=\"#performance\">Performance</a> <a href=\"#maturity\">Maturity</a> ",
          stream);
  }
  fputs("<a href=\"#about\">About this run</a></nav>\n", stream);
}

// ---- About ----------------------------------------------------------------------------------

static void put_fact(FILE *stream, const char *label, const char *text) {
  if (!text || !text[0]) return;
  fprintf(stream, "<dt>%s</dt><dd>", label);
  oc_put_xml(stream, text);
  fputs("</dd>\n", stream);
}

static void put_identity(FILE *stream, const char *label, const oc_identity *identity,
                         const char *hash) {
  fprintf(stream, "<dt>%s</dt><dd>", label);
  oc_put_xml(stream, identity->name);
  fputc(' ', stream);
  oc_put_xml(stream, identity->version);
  fputs(" <span class=\"dim\">", stream);
  oc_put_xml(stream, identity->vendor);
  fputs("</span><br><code>", stream);
  oc_put_xml(stream, identity->path);
  fprintf(stream, "</code><br><code>sha256 %s</code></dd>\n", hash);
}

static void put_about(FILE *stream, const oc_report *report) {
  const oc_report_setup *setup = &report->setup;
  const oc_identity *provider = &report->hello.candidate;
  char seed[24];
  snprintf(seed, sizeof seed, "%" PRIu64, setup->seed);
  fputs("<section id=\"about\">\n<h2>About this run</h2>\n<dl class=\"facts\">\n", stream);
  put_identity(stream, "provider", provider, report->candidate_hash);
  put_fact(stream, "device", provider->device);
  put_fact(stream, "architecture", provider->architecture);
  put_fact(stream, "driver", provider->driver);
  put_fact(stream, "memory",
           provider->device_memory ? "on the device: reads out of bounds are unchecked" : "");
  put_identity(stream, oc_report_on_models(setup) ? "behind it" : "oracle",
               &report->hello.oracle, report->oracle_hash);
  put_fact(stream, "contracts", oc_report_on_models(setup) ? "" : setup->contracts);
  put_fact(stream, "models", setup->model ? setup->model : setup->onnx_tests);
  put_fact(stream, "required", setup->require);
  put_fact(stream, "filter", setup->filter);
  put_fact(stream, "operator", setup->op);
  put_fact(stream, "shard", setup->shard);
  put_fact(stream, "seed", seed);
  for (size_t i = 0; i < setup->option_count; ++i) {
    put_fact(stream, "option", setup->options[i]);
  }
  fputs("</dl>\n</section>\n", stream);
}

void oc_write_html(FILE *stream, const oc_report *report) {
  oc_digest digest;
  const bool summed = oc_digest_init(&digest, report, NULL) == OPS_OK;
  put_head(stream, report);
  put_links(stream, report);
  put_cards(stream, report);
  put_bar(stream, report);
  oc_html_failures(stream, report);
  if (summed) {
    oc_html_matrix(stream, &digest);
    oc_html_errors(stream, report, &digest);
    oc_digest_finish(&digest);
  }
  if (report->waivers) oc_html_waivers(stream, report->waivers);
  if (report->performance) oc_html_performance(stream, report->performance);
  put_about(stream, report);
  fprintf(stream, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", oc_page_js);
}

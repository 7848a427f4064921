// SPDX-License-Identifier: Apache-2.0
//
// Performance with intervals, and maturity.
#include <math.h>

#include "report/escape.h"
#include "report/html.h"

#define SPAN_WIDTH 180  // of the drawing of an interval: from 1/4 to 4 times the yardstick

static double place(double ratio) {
  double at = 0.5 + log2(ratio) / 4;
  if (!(at > 0.02)) at = 0.02;
  if (at > 0.98) at = 0.98;
  return at * SPAN_WIDTH;
}

static const char *verdict_class(oc_perf_verdict verdict) {
  static const char *const classes[OC_PERF_VERDICT_COUNT] = {
      [OC_PERF_UNMEASURED] = "warn", [OC_PERF_UNGATED] = "none",
      [OC_PERF_OK] = "good",         [OC_PERF_REGRESSION] = "bad",
      [OC_PERF_OVER_BUDGET] = "bad", [OC_PERF_INCONCLUSIVE] = "warn"};
  return classes[verdict];
}

static void put_span(FILE *stream, const oc_perf_estimate *ratio) {
  fprintf(stream,
          "<td><svg width=\"%d\" height=\"18\" role=\"img\"><line class=\"grid\" x1=\"0\" "
          "x2=\"%d\" y1=\"9\" y2=\"9\"/><line class=\"limit\" x1=\"%.1f\" x2=\"%.1f\" y1=\"1\" "
          "y2=\"17\"/>",
          SPAN_WIDTH, SPAN_WIDTH, place(1), place(1));
  if (ratio->given) {
    fprintf(
        stream,
        "<line class=\"span\" x1=\"%.1f\" x2=\"%.1f\" y1=\"9\" y2=\"9\"/><circle class=\"dot "
        "k0\" cx=\"%.1f\" cy=\"9\" r=\"4.5\"/><title>%.3f, from %.3f to %.3f</title>",
        place(ratio->low), place(ratio->high), place(ratio->value), ratio->value, ratio->low,
        ratio->high);
  }
  fputs("</svg></td>", stream);
}

static void put_ms(FILE *stream, const oc_perf_times *times, double value) {
  if (times->samples > 0) {
    fprintf(stream, "<td>%.4g</td>", value);
  } else {
    fputs("<td class=\"dim\">–</td>", stream);
  }
}

static void put_point(FILE *stream, const oc_perf_point *point) {
  const oc_perf_times *own = &point->candidate.times[OC_PERF_WARM];
  const oc_perf_times *other = &point->yardstick.times[OC_PERF_WARM];
  fputs("<tr><th scope=\"row\"", stream);
  oc_put_xml_attribute(stream, "title", point->inputs);
  fputc('>', stream);
  oc_put_xml(stream, point->id);
  fprintf(stream, "</th><td class=\"text\"><span class=\"badge %s\">%s</span></td>",
          verdict_class(point->verdict), oc_perf_verdict_name(point->verdict));
  put_ms(stream, own, own->median_ms);
  put_ms(stream, own, own->p95_ms);
  put_ms(stream, other, other->median_ms);
  if (point->ratio.given) {
    fprintf(stream, "<td>%.3f</td>", point->ratio.value);
  } else {
    fputs("<td class=\"dim\">–</td>", stream);
  }
  put_span(stream, &point->ratio);
  if (point->share_of_roofline > 0) {
    fprintf(stream, "<td>%.0f %%</td>", 100 * point->share_of_roofline);
  } else {
    fputs("<td class=\"dim\">–</td>", stream);
  }
  fprintf(stream, "<td>%d</td><td class=\"wrap\">", point->stage);
  oc_put_xml(stream, point->reason);
  fputs("</td></tr>\n", stream);
}

static void put_maturity(FILE *stream, const oc_perf_results *results) {
  fputs(
      "<section id=\"maturity\">\n<h2>Maturity</h2>\n"
      "<p class=\"dim\">0: not correct. 1: correct. 2: at the baseline's share of the "
      "yardstick's speed. 3: optimized, post-operations absorbed. 4: gated with a "
      "baseline.</p>\n<div class=\"scroll\"><table>\n<thead><tr><th "
      "class=\"text\">operator</th>"
      "<th>stage</th><th class=\"text\">what keeps it from the "
      "next</th></tr></thead>\n<tbody>\n",
      stream);
  for (size_t i = 0; i < results->operator_count; ++i) {
    const oc_perf_operator *op = &results->operators[i];
    fputs("<tr><th scope=\"row\">", stream);
    oc_put_xml(stream, op->op);
    fprintf(stream,
            "</th><td><span class=\"badge %s\">%d</span></td><td class=\"wrap\">%s</td></tr>\n",
            op->stage == 0   ? "bad"
            : op->stage >= 3 ? "good"
                             : "warn",
            op->stage, op->why ? op->why : "");
  }
  fputs("</tbody></table></div>\n</section>\n", stream);
}

void oc_html_performance(FILE *stream, const oc_perf_results *results) {
  fputs(
      "<section id=\"performance\">\n<h2>Performance</h2>\n<p class=\"dim\">Medians of warm "
      "runs. Ratio: candidate to yardstick",
      stream);
  if (results->yardstick_name[0]) {
    fputs(" (", stream);
    oc_put_xml(stream, results->yardstick_name);
    fputc(' ', stream);
    oc_put_xml(stream, results->yardstick_version);
    fputc(')', stream);
  }
  fputs(
      "; right of the red line is slower. The bar is the interval of 99 % confidence, on a "
      "scale "
      "from ¼ to 4.</p>\n<div class=\"scroll\"><table class=\"points\">\n<thead><tr><th "
      "class=\"text\">point</th>"
      "<th class=\"text\">verdict</th><th>median ms</th><th>p95 ms</th><th>yard&shy;stick "
      "ms</th>"
      "<th>ratio</th><th>interval</th><th>roofline</th><th>stage</th>"
      "<th class=\"text\">why</th></tr></thead>\n<tbody>\n",
      stream);
  for (size_t i = 0; i < results->count; ++i) put_point(stream, &results->points[i]);
  fputs("</tbody></table></div>\n</section>\n", stream);
  put_maturity(stream, results);
}

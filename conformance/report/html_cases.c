// SPDX-License-Identifier: Apache-2.0
//
// The failing cases: a line each that opens, and the line that repeats it.
#include <string.h>

#include "report/details.h"
#include "report/escape.h"
#include "report/html.h"

#define MAX_OPEN 3  // the first ones are open

static void put_detail(FILE *stream, const oc_detail *detail) {
  fprintf(stream, "<dt>%s</dt><dd>", detail->label);
  if (strcmp(detail->label, "repeat") == 0) {
    fputs("<div class=\"repeat\"><code>", stream);
    oc_put_xml(stream, detail->text);
    fputs("</code><button data-copy>Copy</button></div>", stream);
  } else {
    oc_put_xml(stream, detail->text);
  }
  fputs("</dd>\n", stream);
}

static void put_case(FILE *stream, const oc_report *report, const oc_result *result,
                     bool open) {
  oc_details details;
  oc_details_init(&details, report, result);
  fprintf(stream,
          "<details class=\"case\"%s><summary><span class=\"badge %s\">%s</span> <code>",
          open ? " open" : "", oc_html_class(result->status), oc_status_name(result->status));
  oc_put_xml(stream, oc_report_id(report, result));
  fputs("</code> <span class=\"dim\">", stream);
  oc_put_xml(stream, result->check);
  if (result->measured) {
    fprintf(stream, " %.4g, limit %.4g", result->error, result->limit);
  }
  fputs("</span></summary>\n<dl>\n", stream);
  for (size_t i = 0; i < details.count; ++i) put_detail(stream, &details.items[i]);
  fputs("</dl></details>\n", stream);
  oc_details_finish(&details);
}

static size_t count_failures(const oc_report *report) {
  size_t count = 0;
  for (size_t i = 0; i < report->count; ++i) {
    if (oc_status_is_failure(report->results[i].status)) ++count;
  }
  return count;
}

void oc_html_failures(FILE *stream, const oc_report *report) {
  const size_t failures = count_failures(report);
  fputs("<section id=\"failures\">\n<h2>Failing cases</h2>\n", stream);
  if (failures == 0) {
    fputs("<p class=\"dim\">None.</p>\n</section>\n", stream);
    return;
  }
  fputs(
      "<div class=\"tools\" hidden><input type=\"search\" data-filters=\"#failures .case\" "
      "placeholder=\"Filter: operator, type, check, status\" aria-label=\"Filter\"> "
      "<span class=\"dim\" data-count></span></div>\n",
      stream);
  size_t shown = 0;
  for (size_t i = 0; i < report->count && shown < OC_HTML_MAX_CASES; ++i) {
    if (!oc_status_is_failure(report->results[i].status)) continue;
    put_case(stream, report, &report->results[i], shown < MAX_OPEN);
    ++shown;
  }
  if (failures > shown) {
    fprintf(stream, "<p>… and %zu more; the JSON report has them all.</p>\n", failures - shown);
  }
  fputs("</section>\n", stream);
}

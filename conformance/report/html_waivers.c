// SPDX-License-Identifier: Apache-2.0
//
// The waivers that were applied, and what came of each.
#include "report/escape.h"
#include "report/html.h"

static const char *state_class(oc_waiver_state state) {
  static const char *const classes[OC_WAIVER_STATE_COUNT] = {[OC_WAIVER_IDLE] = "none",
                                                             [OC_WAIVER_USED] = "warn",
                                                             [OC_WAIVER_ELSEWHERE] = "none",
                                                             [OC_WAIVER_EXPIRED] = "bad",
                                                             [OC_WAIVER_UNMATCHED] = "bad"};
  return classes[state];
}

static void put_waiver(FILE *stream, const oc_waiver *waiver) {
  fprintf(stream, "<tr><td>%u</td><td class=\"text\"><span class=\"badge %s\"", waiver->line,
          state_class(waiver->state));
  oc_put_xml_attribute(stream, "title", oc_waiver_state_meaning(waiver->state));
  fprintf(stream, ">%s</span></td><td class=\"wrap\"><code>",
          oc_waiver_state_name(waiver->state));
  for (size_t i = 0; i < waiver->case_count; ++i) {
    if (i) fputs("<br>", stream);
    oc_put_xml(stream, waiver->cases[i]);
  }
  fprintf(stream, "</code></td><td class=\"text\">%s</td>", waiver->check);
  fprintf(stream, "<td>%zu</td><td>%zu</td><td>%zu</td>", waiver->waived, waiver->passed,
          waiver->worse);
  if (waiver->measured) {
    fprintf(stream, "<td>%.4g</td><td>%.4g</td>", waiver->seen_error, waiver->largest_error);
  } else {
    fputs("<td class=\"dim\">–</td><td class=\"dim\">none</td>", stream);
  }
  fprintf(stream, "<td>%s</td><td class=\"wrap\">", waiver->expires);
  oc_put_xml(stream, waiver->reason);
  fputs("</td></tr>\n", stream);
}

void oc_html_waivers(FILE *stream, const oc_waivers *waivers) {
  fputs("<section id=\"waivers\">\n<h2>Waivers</h2>\n<p class=\"dim\">", stream);
  oc_put_xml(stream, waivers->path);
  fputs(
      "</p>\n<div class=\"scroll\"><table>\n<thead><tr><th>line</th><th class=\"text\">state"
      "</th><th class=\"text\">cases</th><th class=\"text\">check</th><th>waived</th>"
      "<th>pass</th><th>worse</th><th>error</th><th>of at most</th><th>until</th>"
      "<th class=\"text\">reason</th></tr></thead>\n<tbody>\n",
      stream);
  for (size_t i = 0; i < waivers->count; ++i) put_waiver(stream, &waivers->items[i]);
  fputs("</tbody></table></div>\n</section>\n", stream);
}

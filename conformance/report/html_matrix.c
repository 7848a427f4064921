// SPDX-License-Identifier: Apache-2.0
//
// Operator x check: how many cases each check was asked of, and how many it failed.
#include <inttypes.h>

#include "checks/check.h"
#include "report/escape.h"
#include "report/html.h"

static void put_head(FILE *stream, const oc_digest *digest) {
  size_t count;
  const oc_check *checks = oc_checks(&count);
  fputs("<thead><tr><th class=\"text\">operator</th><th>pass</th><th>fail</th><th>other</th>",
        stream);
  for (size_t i = 0; i < count; ++i) {
    if (digest->asked[i] == 0) continue;
    fputs("<th", stream);
    oc_put_xml_attribute(stream, "title", checks[i].what);
    fprintf(stream, "><span>%s</span></th>", checks[i].name);
  }
  fputs("</tr></thead>\n", stream);
}

static void put_cell(FILE *stream, uint64_t asked, uint64_t failed) {
  if (failed) {
    fprintf(stream, "<td class=\"bad\">✗ %" PRIu64 "/%" PRIu64 "</td>", failed, asked);
  } else if (asked) {
    fprintf(stream, "<td class=\"good\">%" PRIu64 "</td>", asked);
  } else {
    fputs("<td class=\"none\">·</td>", stream);
  }
}

static void put_count(FILE *stream, const char *name, uint64_t count) {
  fprintf(stream, "<td class=\"%s\">%" PRIu64 "</td>", count ? name : "none", count);
}

static void put_row(FILE *stream, const oc_digest *digest, const oc_digest_op *op) {
  const uint64_t failed = oc_digest_failures(op);
  const uint64_t passed = op->counts[OC_STATUS_PASS];
  fputs("<tr><th scope=\"row\">", stream);
  oc_put_xml(stream, op->name);
  fputs("</th>", stream);
  put_count(stream, "", passed);
  put_count(stream, "bad", failed);
  put_count(stream, "", op->end - op->begin - passed - failed);
  for (int bit = 0; bit < OC_DIGEST_CHECKS; ++bit) {
    if (digest->asked[bit]) put_cell(stream, op->asked[bit], op->failed[bit]);
  }
  fputs("</tr>\n", stream);
}

// Operators of which nothing is claimed say nothing in a table.
static void put_unclaimed(FILE *stream, const oc_digest *digest) {
  size_t count = 0;
  for (size_t i = 0; i < digest->count; ++i) {
    if (!oc_digest_is_claimed(&digest->ops[i])) ++count;
  }
  if (count == 0) return;
  fprintf(
      stream,
      "<details><summary>Operators of which nothing is claimed: %zu</summary><p class=\"dim\">",
      count);
  for (size_t i = 0; i < digest->count; ++i) {
    if (oc_digest_is_claimed(&digest->ops[i])) continue;
    oc_put_xml(stream, digest->ops[i].name);
    fputc(' ', stream);
  }
  fputs("</p></details>\n", stream);
}

void oc_html_matrix(FILE *stream, const oc_digest *digest) {
  fputs(
      "<section id=\"matrix\">\n<h2>Operators and checks</h2>\n"
      "<p class=\"dim\">Cases that each check was asked of; ✗ failed/asked where one failed. "
      "A dot: never asked. Other: unsupported, waived or not run.</p>\n"
      "<div class=\"tools\" hidden><input type=\"search\" data-filters=\"#matrix tbody tr\" "
      "placeholder=\"Filter by operator\" aria-label=\"Filter\"> "
      "<span class=\"dim\" data-count></span></div>\n"
      "<div class=\"scroll tall\"><table class=\"matrix\">\n",
      stream);
  put_head(stream, digest);
  fputs("<tbody>\n", stream);
  for (size_t i = 0; i < digest->count; ++i) {
    if (oc_digest_is_claimed(&digest->ops[i])) put_row(stream, digest, &digest->ops[i]);
  }
  fputs("</tbody></table></div>\n", stream);
  put_unclaimed(stream, digest);
  fputs("</section>\n", stream);
}

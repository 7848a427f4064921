// SPDX-License-Identifier: Apache-2.0
//
// Worst errors against limits: a row per operator, a dot per element type at error / limit on a
// logarithmic scale, 1 being the limit. The rows are sorted, what is nearest to its limit
// first.
#include <math.h>
#include <stdlib.h>

#include "cases/element.h"
#include "report/escape.h"
#include "report/html.h"

#define MAX_ROWS 40  // further ones are folded away
#define ROW 20       // height
#define LABELS 230   // where the plot begins
#define WIDTH 1200
#define LEAST -4  // decades of the scale
#define MOST 3

typedef struct kind_row {
  const char *name;
  int32_t type;  // OPS_TYPE_UNDEFINED: all others
} kind_row;

// The classes k0, k1 … of page.css.
static const kind_row kKinds[] = {{"float", OPS_TYPE_FLOAT},
                                  {"double", OPS_TYPE_DOUBLE},
                                  {"float16", OPS_TYPE_FLOAT16},
                                  {"bfloat16", OPS_TYPE_BFLOAT16},
                                  {"other types", OPS_TYPE_UNDEFINED}};
#define KINDS (sizeof kKinds / sizeof *kKinds)

static size_t kind_of(int32_t type) {
  size_t kind = 0;
  while (kind + 1 < KINDS && kKinds[kind].type != type) ++kind;
  return kind;
}

// Left to right: a lane for 0, the scale, a lane for infinity.
static double place(double share) {
  const double left = LABELS + 50, right = WIDTH - 50;
  if (share == 0) return LABELS + 18;
  if (isinf(share)) return WIDTH - 18;
  double decade = log10(share);
  if (decade < LEAST) decade = LEAST;
  if (decade > MOST) decade = MOST;
  return left + (right - left) * (decade - LEAST) / (MOST - LEAST);
}

static void put_mark(FILE *stream, double x, double height, const char *name,
                     const char *text) {
  fprintf(stream, "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"22\" y2=\"%.0f\"/>", name, x,
          x, height);
  fprintf(stream, "<text class=\"dim\" x=\"%.1f\" y=\"15\" text-anchor=\"middle\">%s</text>\n",
          x, text);
}

static void put_scale(FILE *stream, double height) {
  static const char *const names[] = {"0.0001", "0.001", "0.01", "0.1",
                                      "limit",  "10×",   "100×", "1000×"};
  fprintf(stream, "<rect class=\"over\" x=\"%.1f\" y=\"22\" width=\"%.1f\" height=\"%.0f\"/>\n",
          place(1), WIDTH - place(1), height - 22);
  put_mark(stream, place(0), height, "grid", "0");
  for (int decade = LEAST; decade <= MOST; ++decade) {
    put_mark(stream, place(pow(10, decade)), height, decade == 0 ? "limit" : "grid",
             names[decade - LEAST]);
  }
  put_mark(stream, place(INFINITY), height, "grid", "∞");
}

static void put_dot(FILE *stream, const oc_report *report, int32_t type, double y,
                    const oc_digest_worst *worst) {
  const oc_result *result = worst->result;
  fprintf(stream, "<circle class=\"dot k%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>",
          kind_of(type), place(worst->share), y);
  oc_put_xml(stream, oc_report_id(report, result));
  fprintf(stream, "\n%.4g %s, limit %.4g: %.3g of it</title></circle>", result->error,
          result->metric, result->limit, worst->share);
}

static void put_row(FILE *stream, const oc_report *report, const oc_digest_op *op, double top) {
  const double y = top + ROW / 2.0;
  fprintf(stream,
          "<g class=\"row\"><rect x=\"0\" y=\"%.0f\" width=\"%d\" height=\"%d\" "
          "fill=\"transparent\"/><line class=\"grid\" x1=\"0\" x2=\"%d\" y1=\"%.0f\" "
          "y2=\"%.0f\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
          top, WIDTH, ROW, WIDTH, top + ROW, top + ROW, LABELS - 10, y + 4);
  oc_put_xml(stream, op->name);
  fputs("</text>", stream);
  for (int32_t type = 0; type < OPS_TYPE_COUNT; ++type) {
    if (op->worst[type].result) put_dot(stream, report, type, y, &op->worst[type]);
  }
  fputs("</g>\n", stream);
}

static void put_plot(FILE *stream, const oc_report *report, const oc_digest_op *const *rows,
                     size_t count) {
  const double height = 26 + (double)count * ROW;
  fprintf(stream,
          "<svg viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" role=\"img\" "
          "aria-label=\"Worst error of each operator as a share of its limit\">\n",
          WIDTH, height, WIDTH, height);
  put_scale(stream, height);
  for (size_t i = 0; i < count; ++i) put_row(stream, report, rows[i], 26 + (double)i * ROW);
  fputs("</svg>\n", stream);
}

static int compare_ops(const void *a, const void *b) {
  const oc_digest_op *left = *(const oc_digest_op *const *)a;
  const oc_digest_op *right = *(const oc_digest_op *const *)b;
  if (left->share != right->share) return left->share < right->share ? 1 : -1;
  return (left > right) - (left < right);
}

static bool is_measured(const oc_digest_op *op) {
  for (int32_t type = 0; type < OPS_TYPE_COUNT; ++type) {
    if (op->worst[type].result) return true;
  }
  return false;
}

static void put_legend(FILE *stream) {
  fputs("<div class=\"legend\">", stream);
  for (size_t kind = 0; kind < KINDS; ++kind) {
    fprintf(stream,
            "<span><svg width=\"10\" height=\"10\"><circle class=\"k%zu\" cx=\"5\" cy=\"5\" "
            "r=\"5\"/></svg>%s</span>",
            kind, kKinds[kind].name);
  }
  fputs("</div>\n", stream);
}

static void put_plots(FILE *stream, const oc_report *report, const oc_digest_op *const *rows,
                      size_t inexact, size_t exact) {
  const size_t first = inexact < MAX_ROWS ? inexact : MAX_ROWS;
  put_legend(stream);
  if (first > 0) put_plot(stream, report, rows, first);
  if (inexact > first) {
    fprintf(stream, "<details><summary>%zu more operators, all nearer to 0</summary>\n",
            inexact - first);
    put_plot(stream, report, rows + first, inexact - first);
    fputs("</details>\n", stream);
  }
  if (exact > 0) {
    fprintf(stream, "<p class=\"dim\">%zu operator%s gave every value exactly.</p>\n", exact,
            exact == 1 ? "" : "s");
  }
}

void oc_html_errors(FILE *stream, const oc_report *report, const oc_digest *digest) {
  size_t measured = 0, inexact = 0;
  const oc_digest_op **rows = malloc((digest->count + 1) * sizeof(void *));
  if (!rows) return;
  for (size_t i = 0; i < digest->count; ++i) {
    if (is_measured(&digest->ops[i])) rows[measured++] = &digest->ops[i];
  }
  qsort(rows, measured, sizeof *rows, compare_ops);
  while (inexact < measured && rows[inexact]->share > 0) ++inexact;
  fputs(
      "<section id=\"errors\">\n<h2>Worst errors against limits</h2>\n"
      "<p class=\"dim\">For each operator and element type the largest error as a share of "
      "what the contract allows. Left of the line: within the limit.</p>\n",
      stream);
  if (measured > 0) {
    put_plots(stream, report, rows, inexact, measured - inexact);
  } else {
    fputs("<p class=\"dim\">No case got as far as a comparison.</p>\n", stream);
  }
  fputs("</section>\n", stream);
  free(rows);
}

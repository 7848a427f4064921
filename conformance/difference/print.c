// SPDX-License-Identifier: Apache-2.0
//
// A comparison as text, as Markdown and as JSON.
#include <inttypes.h>
#include <string.h>

#include "difference/difference.h"
#include "report/escape.h"
#include "report/json_out.h"
#include "report/report.h"

static int exit_code(const oc_difference *difference) {
  return oc_difference_is_worse(difference) ? OC_EXIT_NONCONFORMANT : OC_EXIT_CONFORMANT;
}

// ---- One change in words --------------------------------------------------------------------

static int print_state(const oc_reading_case *item, char *text, size_t size) {
  if (!item) return snprintf(text, size, "not there");
  if (!item->measured) return snprintf(text, size, "%s", oc_status_name(item->status));
  return snprintf(text, size, "%s (%.4g of %.4g %.20s)", oc_status_name(item->status),
                  item->error, item->limit, item->metric);
}

static void print_point(const oc_reading_point *point, char *text, size_t size) {
  snprintf(text, size, "ratio %.3f (%.3f to %.3f), stage %d", point->ratio.value,
           point->ratio.low, point->ratio.high, point->stage);
}

// "PASS (1 of 4 ulp) → FAIL (9 of 4 ulp)".
static void print_change(const oc_change *change, char *text, size_t size) {
  char before[160], after[160];
  if (change->point_after) {
    print_point(change->point_before, before, sizeof before);
    print_point(change->point_after, after, sizeof after);
  } else {
    print_state(change->before, before, sizeof before);
    print_state(change->after, after, sizeof after);
  }
  snprintf(text, size, "%s → %s", before, after);
}

static const char *id_of(const oc_change *change) {
  return change->point_after ? change->point_after->id
         : change->after     ? change->after->id
                             : change->before->id;
}

static const char *repeat_of(const oc_change *change) {
  return change->after && oc_status_is_failure(change->after->status) ? change->after->repeat
                                                                      : "";
}

// What makes the two hard to compare; NULL: nothing.
static const char *warning(const oc_difference *difference) {
  const oc_reading *a = difference->before, *b = difference->after;
  if (strcmp(a->profile, b->profile) != 0) return "the profiles differ: so do the limits";
  if (strcmp(a->seed, b->seed) != 0) return "the seeds differ: so do the inputs";
  if (strcmp(a->tier, b->tier) != 0) return "the tiers differ: so do the lists of cases";
  return NULL;
}

// ---- Text -----------------------------------------------------------------------------------

static void put_side(FILE *stream, const char *label, const oc_reading *reading) {
  fprintf(stream, "%-8s %s %s, %zu cases, exit code %d, %s\n", label, reading->provider,
          reading->version, reading->count, reading->exit_code, reading->path);
}

static void put_kind(FILE *stream, const oc_difference *difference, oc_change_kind kind,
                     size_t most) {
  const size_t count = difference->counts[kind];
  size_t shown = 0;
  if (count == 0) return;
  fprintf(stream, "\n%s: %zu\n", oc_change_title(kind), count);
  for (size_t i = 0; i < difference->count && shown < most; ++i) {
    const oc_change *change = &difference->changes[i];
    char text[400];
    if (change->kind != kind) continue;
    print_change(change, text, sizeof text);
    fprintf(stream, "  %s\n    %s\n", id_of(change), text);
    if (repeat_of(change)[0]) fprintf(stream, "    repeat %s\n", repeat_of(change));
    ++shown;
  }
  if (count > shown) fprintf(stream, "  … and %zu more\n", count - shown);
}

void oc_difference_print(FILE *stream, const oc_difference *difference, size_t most) {
  put_side(stream, "before", difference->before);
  put_side(stream, "after", difference->after);
  if (warning(difference)) fprintf(stream, "note     %s\n", warning(difference));
  for (int kind = 0; kind < OC_CHANGE_COUNT; ++kind) {
    put_kind(stream, difference, (oc_change_kind)kind, most);
  }
  fprintf(
      stream, "\n%zu cases are the same\nverdict  %s (exit code %d)\n", difference->same,
      oc_difference_is_worse(difference) ? "something became worse" : "nothing became worse",
      exit_code(difference));
}

// ---- Markdown -------------------------------------------------------------------------------

static void put_table(FILE *stream, const oc_difference *difference, oc_change_kind kind) {
  if (difference->counts[kind] == 0) return;
  fprintf(stream, "\n## %s: %zu\n\n| case | change |\n| --- | --- |\n", oc_change_title(kind),
          difference->counts[kind]);
  for (size_t i = 0; i < difference->count; ++i) {
    const oc_change *change = &difference->changes[i];
    char text[400];
    if (change->kind != kind) continue;
    print_change(change, text, sizeof text);
    fputs("| ", stream);
    oc_put_markdown(stream, id_of(change));
    fputs(" | ", stream);
    oc_put_markdown(stream, text);
    fputs(" |\n", stream);
  }
}

void oc_difference_print_markdown(FILE *stream, const oc_difference *difference) {
  const oc_reading *sides[] = {difference->before, difference->after};
  fprintf(
      stream, "# %s\n\n| | provider | cases | exit code |\n| --- | --- | ---: | ---: |\n",
      oc_difference_is_worse(difference) ? "Something became worse" : "Nothing became worse");
  for (int i = 0; i < 2; ++i) {
    fprintf(stream, "| %s | ", i ? "after" : "before");
    oc_put_markdown(stream, sides[i]->provider);
    fputc(' ', stream);
    oc_put_markdown(stream, sides[i]->version);
    fprintf(stream, " | %zu | %d |\n", sides[i]->count, sides[i]->exit_code);
  }
  if (warning(difference)) fprintf(stream, "\nNote: %s.\n", warning(difference));
  for (int kind = 0; kind < OC_CHANGE_COUNT; ++kind) {
    put_table(stream, difference, (oc_change_kind)kind);
  }
}

// ---- JSON -----------------------------------------------------------------------------------

static void put_json_case(oc_json_out *json, const char *name, const oc_reading_case *item) {
  if (!item) return;
  oc_json_out_open(json, name, '{');
  oc_json_out_text(json, "status", oc_status_name(item->status));
  oc_json_out_text_if(json, "check", item->check);
  if (item->measured) {
    oc_json_out_text_if(json, "metric", item->metric);
    oc_json_out_number(json, "error", item->error);
    oc_json_out_number(json, "limit", item->limit);
  }
  oc_json_out_close(json);
}

static void put_json_point(oc_json_out *json, const char *name, const oc_reading_point *point) {
  if (!point) return;
  oc_json_out_open(json, name, '{');
  if (point->ratio.given) {
    oc_json_out_number(json, "ratio", point->ratio.value);
    oc_json_out_number(json, "low", point->ratio.low);
    oc_json_out_number(json, "high", point->ratio.high);
  }
  oc_json_out_integer(json, "stage", point->stage);
  oc_json_out_close(json);
}

static void put_json_side(oc_json_out *json, const char *name, const oc_reading *reading) {
  oc_json_out_open(json, name, '{');
  oc_json_out_text(json, "provider", reading->provider);
  oc_json_out_text(json, "version", reading->version);
  oc_json_out_text_if(json, "sha256", reading->sha256);
  oc_json_out_integer(json, "cases", (int64_t)reading->count);
  oc_json_out_integer(json, "exit_code", reading->exit_code);
  oc_json_out_close(json);
}

static void put_json_change(oc_json_out *json, const oc_change *change) {
  oc_json_out_open(json, NULL, '{');
  oc_json_out_text(json, "id", id_of(change));
  oc_json_out_text(json, "change", oc_change_name(change->kind));
  put_json_case(json, "before", change->before);
  put_json_case(json, "after", change->after);
  put_json_point(json, "before", change->point_before);
  put_json_point(json, "after", change->point_after);
  oc_json_out_text_if(json, "repeat", repeat_of(change));
  oc_json_out_close(json);
}

void oc_difference_print_json(FILE *stream, const oc_difference *difference) {
  oc_json_out json = oc_json_out_begin(stream, 2);
  oc_json_out_open(&json, NULL, '{');
  oc_json_out_integer(&json, "format", 1);
  oc_json_out_open(&json, "summary", '{');
  for (int kind = 0; kind < OC_CHANGE_COUNT; ++kind) {
    oc_json_out_integer(&json, oc_change_name((oc_change_kind)kind),
                        (int64_t)difference->counts[kind]);
  }
  oc_json_out_integer(&json, "same", (int64_t)difference->same);
  oc_json_out_integer(&json, "exit_code", exit_code(difference));
  oc_json_out_close(&json);
  put_json_side(&json, "before", difference->before);
  put_json_side(&json, "after", difference->after);
  oc_json_out_open(&json, "changes", '[');
  for (size_t i = 0; i < difference->count; ++i) {
    put_json_change(&json, &difference->changes[i]);
  }
  oc_json_out_close(&json);
  oc_json_out_close(&json);
}

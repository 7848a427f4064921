// SPDX-License-Identifier: Apache-2.0
//
// The file of waivers, read with the tables of contract/reader.h: what a key may hold stands in
// one row, which is also its documentation.
#include <math.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "contract/reader.h"
#include "contract/text_file.h"
#include "waivers/version.h"
#include "waivers/waivers.h"

#define MAX_MEMORY ((size_t)256 << 20)
#define MIN_REASON 10  // characters: "flaky" is no reason

static int32_t read_format(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                           void *out) {
  int64_t version = 0;
  (void)field;
  (void)out;
  OPS_RETURN_IF_ERROR(oc_reader_int(reader, node, &version));
  if (version == OC_WAIVERS_FORMAT) return OPS_OK;
  return oc_reader_fail(reader, node, "format %lld of waivers; this program knows format %d",
                        (long long)version, OC_WAIVERS_FORMAT);
}

static int32_t read_versions(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                             void *out) {
  OPS_RETURN_IF_ERROR(oc_read_text(reader, node, field, out));
  const char *wrong = oc_version_range_check(node->text);
  if (!wrong) return OPS_OK;
  return oc_reader_fail(
      reader, node, "expected comparisons such as \">=1.2 <1.4\", or \"*\"; found \"%s\": %s",
      node->text, wrong);
}

static int32_t read_patterns(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                             void *out) {
  oc_waiver *waiver = out;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_texts(reader, node, &waiver->cases, &waiver->case_count));
  if (waiver->case_count == 0) {
    return oc_reader_fail(reader, node, "expected at least one pattern of case ids");
  }
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    if (child->text[0]) continue;
    return oc_reader_fail(reader, child, "expected a pattern of case ids, found nothing");
  }
  return OPS_OK;
}

static int32_t read_check(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                          void *out) {
  size_t count;
  const oc_check *checks = oc_checks(&count);
  OPS_RETURN_IF_ERROR(oc_read_text(reader, node, field, out));
  oc_nearest near = oc_nearest_begin(node->text);
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(checks[i].name, node->text) == 0) return OPS_OK;
    oc_nearest_offer(&near, checks[i].name);
  }
  return oc_reader_unknown(reader, node, false, "check", node->text, &near);
}

// A number, inf, or none.
static int32_t read_error(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                          void *out) {
  oc_waiver *waiver = out;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "a number, inf or none"));
  waiver->measured = strcmp(node->text, "none") != 0;
  waiver->largest_error = INFINITY;
  if (!waiver->measured || strcmp(node->text, "inf") == 0) return OPS_OK;
  return oc_read_real(reader, node, field, &waiver->largest_error);
}

static int32_t read_reason(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                           void *out) {
  OPS_RETURN_IF_ERROR(oc_read_text(reader, node, field, out));
  if (strlen(node->text) >= MIN_REASON) return OPS_OK;
  return oc_reader_fail(reader, node,
                        "expected a reason that someone else understands, found \"%s\"",
                        node->text);
}

static bool is_date(const char *text) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  static const char form[] = "0000-00-00";
  if (strlen(text) != sizeof form - 1) return false;
  for (size_t i = 0; form[i]; ++i) {
    if (form[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  }
  const int year = atoi(text), month = atoi(text + 5), day = atoi(text + 8);
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month >= 1 && month <= 12 && day >= 1 &&
         day <= days[month - 1] + (month == 2 && leap ? 1 : 0);
}

static int32_t read_date(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                         void *out) {
  OPS_RETURN_IF_ERROR(oc_read_text(reader, node, field, out));
  if (is_date(node->text)) return OPS_OK;
  return oc_reader_fail(reader, node, "expected a day such as 2027-03-31, found \"%s\"",
                        node->text);
}

#define WAIVER(member) offsetof(oc_waiver, member)
static const oc_field waiver_fields[] = {
    {"provider", "text", true, oc_read_text, WAIVER(provider), NULL,
     "the name that the provider gives itself"},
    {"versions", "comparisons", true, read_versions, WAIVER(versions), NULL,
     "of its version that all must hold: \">=1.2 <1.4\"; \"*\": any"},
    {"cases", "list of patterns", true, read_patterns, 0, NULL,
     "ids of cases with the wildcards of --filter; \"provider\": a finding about the provider "
     "as "
     "a whole"},
    {"check", "name of a check", false, read_check, WAIVER(check), NULL,
     "the check that ends the case; `values` where it is left out. `process`: it crashes; "
     "`time`: it hangs"},
    {"largest_error", "number, inf or none", true, read_error, 0, NULL,
     "the largest error seen, in units of the metric; `none` for checks that measure nothing"},
    {"reason", "text", true, read_reason, WAIVER(reason), NULL,
     "why a release may have it, and where that is followed up"},
    {"expires", "YYYY-MM-DD", true, read_date, WAIVER(expires), NULL,
     "the last day on which it holds, in UTC"},
};
static const oc_grammar waiver_grammar = {"waiver", "One known failure.", waiver_fields,
                                          sizeof(waiver_fields) / sizeof(oc_field)};

static int32_t check_waiver(oc_reader *reader, const oc_yaml_node *node, oc_waiver *waiver) {
  if (!waiver->check) waiver->check = OC_CHECK_VALUES;
  waiver->line = node->line;
  if (waiver->measured || strcmp(waiver->check, OC_CHECK_VALUES) != 0) return OPS_OK;
  return oc_reader_fail(reader, oc_yaml_get(node, "largest_error"),
                        "the check values measures an error: give the largest one seen");
}

static int32_t read_waivers(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                            void *out) {
  oc_waivers *waivers = out;
  void *items = NULL;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_read_records(reader, node, &waiver_grammar, sizeof(oc_waiver),
                                      OC_WAIVERS_MAX, &items, &waivers->count));
  waivers->items = items;
  const oc_yaml_node *child = node->first;
  for (size_t i = 0; i < waivers->count; ++i, child = child->next) {
    OPS_RETURN_IF_ERROR(check_waiver(reader, child, &waivers->items[i]));
  }
  return OPS_OK;
}

static const oc_field file_fields[] = {
    {"format", "integer", true, read_format, 0, NULL, "version of this format: 1"},
    {"waivers", "list of waiver", true, read_waivers, 0, NULL, "may be empty: []"},
};
static const oc_grammar file_grammar = {"file of waivers", "Everything that --waivers reads.",
                                        file_fields, sizeof(file_fields) / sizeof(oc_field)};

void oc_waivers_grammar_print(FILE *stream) {
  static const oc_grammar *const all[] = {&file_grammar, &waiver_grammar};
  fprintf(stream, "# The keys of a file of waivers, format %d\n\n", OC_WAIVERS_FORMAT);
  oc_grammar_print_tables(stream, all, sizeof(all) / sizeof(all[0]));
}

static int32_t parse(oc_waivers *waivers, const char *name, const char *text, size_t size,
                     ops_error *error) {
  oc_yaml_node *document = NULL;
  waivers->path = oc_arena_copy_string(waivers->arena, name, strlen(name));
  if (!waivers->path)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "%s: no memory", name);
  OPS_RETURN_IF_ERROR(
      oc_yaml_parse(waivers->arena, waivers->path, text, size, &document, error));
  oc_reader reader = {.arena = waivers->arena, .file = waivers->path, .error = error};
  if (document->next) {
    return oc_reader_fail(&reader, document->next, "expected one document in a file");
  }
  return oc_read_record(&reader, document, &file_grammar, waivers);
}

int32_t oc_waivers_parse(const char *name, const char *text, size_t size,
                         oc_waivers **out_waivers, ops_error *error) {
  oc_waivers *waivers = calloc(1, sizeof(*waivers));
  if (waivers) waivers->arena = oc_arena_create(MAX_MEMORY);
  if (!waivers || !waivers->arena) {
    free(waivers);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for waivers");
  }
  const int32_t status = parse(waivers, name, text, size, error);
  if (status == OPS_OK) {
    *out_waivers = waivers;
  } else {
    oc_waivers_destroy(waivers);
  }
  return status;
}

int32_t oc_waivers_load(const char *path, oc_waivers **out_waivers, ops_error *error) {
  char *text = NULL;
  size_t size = 0;
  OPS_RETURN_IF_ERROR(oc_text_file_read(path, &text, &size, error));
  const int32_t status = oc_waivers_parse(path, text, size, out_waivers, error);
  free(text);
  return status;
}

void oc_waivers_destroy(oc_waivers *waivers) {
  if (!waivers) return;
  oc_arena_destroy(waivers->arena);
  free(waivers);
}

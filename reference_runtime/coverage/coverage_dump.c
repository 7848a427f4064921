// SPDX-License-Identifier: Apache-2.0
//
// Prints what providers take of what the schemas allow, for tables and other programs.
//
// usage: coverage_dump PROVIDER…
//
// A line for each provider, version of an operator, run of opsets with one answer, and type
// parameter, with tabs between
//
//   provider  domain  operator  version  first opset  last opset  parameter  taken  refused
//
// where `taken` lists the types of the parameter with which some combination is taken, and
// `refused` the other types that the schema allows ("-": none). An operator without type
// parameters has one line with the parameter "-". Domain "" is printed as "ai.onnx".
//
// Exit 0; 1: a provider cannot be opened or broke its rules; 2: wrong use.
#include <ops_support/error.h>
#include <stdio.h>
#include <string.h>

#include "coverage/coverage.h"

#define MOST_CONSTRAINTS 16

// Which types have been taken, by constraint, form and element.
typedef struct answer {
  uint64_t taken[MOST_CONSTRAINTS][RT_COVERAGE_MAP + 1];
  int32_t any;
} answer;

static int32_t note(void *context, const rt_coverage_case *found, ops_error *error) {
  answer *out = context;
  (void)error;
  if (!found->is_accepted) return OPS_OK;
  out->any = 1;
  for (int32_t i = 0; i < found->schema->constraint_count && i < MOST_CONSTRAINTS; ++i)
    out->taken[i][found->types[i].form] |= (uint64_t)1 << found->types[i].elem;
  return OPS_OK;
}

static void print_types(const rt_schema_constraint *constraint, const uint64_t *taken,
                        int wanted) {
  rt_coverage_type types[RT_COVERAGE_MOST_TYPES];
  char text[RT_COVERAGE_TEXT];
  const int32_t count = rt_coverage_list(constraint->types, types);
  int printed = 0;
  for (int32_t i = 0; i < count; ++i)
    if ((int)(taken[types[i].form] >> types[i].elem & 1) == wanted)
      printf("%s%s", printed++ ? "," : "", rt_coverage_format(types[i], text));
  if (!printed) printf("-");
}

static void print_answer(const char *provider, const rt_schema *schema, int32_t first,
                         int32_t last, const answer *found) {
  const int32_t count = schema->constraint_count;
  for (int32_t i = 0; i < (count > 0 ? count : 1); ++i) {
    printf("%s\t%s\t%s\t%d\t%d\t%d\t", provider, *schema->domain ? schema->domain : "ai.onnx",
           schema->name, schema->since, first, last);
    if (count == 0) {
      printf("-\t%s\t%s\n", found->any ? "all" : "-", found->any ? "-" : "all");
      continue;
    }
    printf("%s\t", schema->constraints[i].name);
    print_types(&schema->constraints[i], found->taken[i], 1);
    printf("\t");
    print_types(&schema->constraints[i], found->taken[i], 0);
    printf("\n");
  }
}

static int32_t dump_schema(const rt_coverage_provider *provider, const rt_schema *schema,
                           ops_error *error) {
  const int32_t until = rt_coverage_until(schema);
  answer last = {{{0}}, 0};
  int32_t first = schema->since;
  if (schema->is_deprecated || rt_coverage_needs_runtime(schema)) return OPS_OK;
  for (int32_t opset = schema->since; opset <= until; ++opset) {
    answer now = {{{0}}, 0};
    OPS_RETURN_IF_ERROR(rt_coverage_walk(provider, schema, opset, note, &now, error));
    if (opset > schema->since && memcmp(&now, &last, sizeof now) != 0) {
      print_answer(rt_coverage_name(provider), schema, first, opset - 1, &last);
      first = opset;
    }
    last = now;
  }
  print_answer(rt_coverage_name(provider), schema, first, until, &last);
  return OPS_OK;
}

static int32_t dump(const char *name, ops_error *error) {
  rt_coverage_provider *provider;
  OPS_RETURN_IF_ERROR(rt_coverage_open(name, &provider, error));
  int32_t status = OPS_OK;
  for (size_t i = 0; i < rt_schema_count() && status == OPS_OK; ++i)
    status = dump_schema(provider, rt_schema_at(i), error);
  rt_coverage_close(provider);
  return status;
}

int main(int count, char **arguments) {
  ops_error error = OPS_ERROR_INIT;
  if (count < 2) {
    fprintf(stderr, "usage: coverage_dump PROVIDER…\n");
    return 2;
  }
  for (int i = 1; i < count; ++i)
    if (dump(arguments[i], &error) != OPS_OK) {
      fprintf(stderr, "coverage_dump: error: %s\n", error.message);
      return 1;
    }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// A tool of the tests: loads a model, infers, and prints one line "name<TAB>type" for every
// value, with its contents as far as they are known, or with --print the whole graph.
// --set=NAME=NUMBER gives a symbol a value; dimensions that follow from such values are printed
// as numbers. Of several models each begins with a line
// "== PATH"; notes and errors go to the same stream as "note<TAB>text" and "error<TAB>text".
// Exit code 1 if one failed.
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "infer/infer.h"
#include "infer/rules.h"

static void print_note(void *user, const rt_node *node, const char *text) {
  (void)user;
  printf("note\t%s: %s\n", node ? node->name : "", text);
}

typedef struct request {
  const char *path;
  int whole;
  char **settings;  // arguments "--set=NAME=NUMBER"
  int setting_count;
} request;

// The number that the settings give the symbol; -1 if none does.
static int64_t setting_of(const request *what, const char *symbol) {
  const size_t length = strlen(symbol);
  for (int i = 0; i < what->setting_count; ++i) {
    const char *setting = what->settings[i] + strlen("--set=");
    if (strncmp(setting, symbol, length) == 0 && setting[length] == '=') {
      return strtoll(setting + length + 1, NULL, 10);
    }
  }
  return -1;
}

// `type` with every dimension that the symbols' values decide as a number, in `dims`.
static rt_type evaluated(const rt_symbols *symbols, const rt_type *type, const int64_t *values,
                         rt_dim *dims) {
  rt_type result = *type;
  if (type->kind != RT_TYPE_TENSOR || type->rank < 1) return result;
  for (int32_t i = 0; i < type->rank; ++i) {
    int64_t value;
    dims[i] = type->dims[i];
    if (rt_dim_evaluate(symbols, dims[i], values, rt_symbols_count(symbols), &value)) {
      dims[i] = rt_dim_const(value);
    }
  }
  result.dims = dims;
  return result;
}

// What is known of a value's elements, as one more column: "= 2,N,?".
static void print_contents(const rt_symbols *symbols, const rt_value *value,
                           const int64_t *values) {
  char text[512];
  if (value->contents_count >= 0) printf("\t= ");
  for (int64_t i = 0; i < value->contents_count; ++i) {
    rt_dim dim = value->contents[i];
    int64_t number;
    if (rt_dim_evaluate(symbols, dim, values, rt_symbols_count(symbols), &number))
      dim = rt_dim_const(number);
    printf("%s%s", i ? "," : "", rt_dim_format(symbols, dim, text, sizeof text));
  }
  putchar('\n');
}

// Of the graphs around a value: "a/then_branch/".
#define MAX_PREFIX 1024

static void print_bodies(const rt_graph *graph, const request *what, const char *prefix);

static void print_values(const rt_graph *graph, const request *what, const char *prefix) {
  char text[2048];
  rt_dim dims[OPS_MAX_RANK];
  const rt_symbols *symbols = graph->root->symbols;
  const uint32_t count = rt_symbols_count(symbols);
  int64_t *values = calloc(count + (size_t)1, sizeof *values);
  if (!values) return;
  for (uint32_t i = 0; i < count; ++i) {
    values[i] = setting_of(what, rt_symbols_name(symbols, i));
  }
  for (const rt_value *value = graph->first_value; value; value = value->next) {
    const rt_type type = evaluated(symbols, &value->type, values, dims);
    printf("%s%s\t%s", prefix, value->name, rt_type_format(symbols, &type, text, sizeof text));
    print_contents(symbols, value, values);
  }
  free(values);
  print_bodies(graph, what, prefix);
}

static void print_bodies(const rt_graph *graph, const request *what, const char *prefix) {
  char inner[MAX_PREFIX];
  for (const rt_node *node = graph->first; node; node = node->next) {
    for (uint32_t i = 0; i < node->op.attrs.count; ++i) {
      const rt_attr *attr = &node->op.attrs.items[i];
      if (attr->kind != RT_ATTR_GRAPH || node->output_count == 0) continue;
      const rt_value *first = node->outputs[0];
      snprintf(inner, sizeof inner, "%s%s/%s/", prefix, first ? first->name : "", attr->name);
      print_values(attr->graphs[0], what, inner);
    }
  }
}

static int print_rules(void) {
  for (uint32_t i = 0; i < rt_infer_rule_set_count(); ++i) {
    const rt_infer_rule_set *set = rt_infer_rule_set_at(i);
    for (uint32_t j = 0; j < set->count; ++j) {
      const rt_infer_rule *rule = &set->rules[j];
      printf("%s\t%s\t%d\t%d\n", set->domain, rule->name, rule->since, rule->until);
    }
  }
  return 0;
}

static int32_t dump(const request *what, ops_error *error) {
  const rt_infer_options options = {.note = print_note};
  rt_model *model = NULL;
  rt_graph *graph = NULL;
  int32_t status = rt_model_load_file(what->path, NULL, &model, error);
  if (status == OPS_OK) status = rt_graph_from_model(model, NULL, &graph, error);
  if (status == OPS_OK) status = rt_infer_graph(graph, &options, error);
  if (status == OPS_OK) status = rt_graph_verify(graph, error);
  if (status == OPS_OK && what->whole) rt_graph_print(graph, stdout);
  if (status == OPS_OK && !what->whole) print_values(graph, what, "");
  rt_graph_destroy(graph);
  rt_model_destroy(model);
  return status;
}

int main(int argc, char **argv) {
  ops_error error = OPS_ERROR_INIT;
  request what = {.settings = argv + 1};
  int at = 1;
  if (at < argc && strcmp(argv[at], "--rules") == 0) return print_rules();
  if (at < argc && strcmp(argv[at], "--print") == 0) what.whole = 1, ++at;
  what.settings = argv + at;
  while (at < argc && strncmp(argv[at], "--set=", 6) == 0) ++at, ++what.setting_count;
  if (at >= argc) {
    fprintf(stderr,
            "usage: graph_dump --rules | [--print] [--set=NAME=NUMBER]... MODEL.onnx...\n");
    return 2;
  }
  int failed = 0;
  for (const int first = at; at < argc; ++at) {
    what.path = argv[at];
    if (first != argc - 1) printf("== %s\n", what.path);
    if (dump(&what, &error) == OPS_OK) continue;
    printf("error\t%s\n", error.message);
    failed = 1;
  }
  return failed;
}

// SPDX-License-Identifier: Apache-2.0
//
// A tool of the tests: loads a model, infers, and prints one line "name<TAB>type" for every
// value, or with --print the whole graph. Exit code 1 with a message on failure.
#include <ops_support/error.h>
#include <stdio.h>
#include <string.h>

#include "graph/build.h"
#include "infer/infer.h"

static void print_note(void *user, const rt_node *node, const char *text) {
  (void)user;
  fprintf(stderr, "note: %s: %s\n", node ? node->name : "", text);
}

static void print_values(const rt_graph *graph) {
  char text[2048];
  for (const rt_value *value = graph->first_value; value; value = value->next) {
    printf("%s\t%s\n", value->name,
           rt_type_format(graph->symbols, &value->type, text, sizeof text));
  }
}

static int32_t dump(const char *path, int whole, ops_error *error) {
  const rt_infer_options options = {.note = print_note};
  rt_model *model = NULL;
  rt_graph *graph = NULL;
  int32_t status = rt_model_load_file(path, NULL, &model, error);
  if (status == OPS_OK) status = rt_graph_from_model(model, NULL, &graph, error);
  if (status == OPS_OK) status = rt_infer_graph(graph, &options, error);
  if (status == OPS_OK) status = rt_graph_verify(graph, error);
  if (status == OPS_OK && whole) rt_graph_print(graph, stdout);
  if (status == OPS_OK && !whole) print_values(graph);
  rt_graph_destroy(graph);
  rt_model_destroy(model);
  return status;
}

int main(int argc, char **argv) {
  ops_error error = OPS_ERROR_INIT;
  const int whole = argc == 3 && strcmp(argv[1], "--print") == 0;
  if (argc != 2 && !whole) {
    fprintf(stderr, "usage: graph_dump [--print] MODEL.onnx\n");
    return 2;
  }
  if (dump(argv[argc - 1], whole, &error) == OPS_OK) return 0;
  fprintf(stderr, "error: %s\n", error.message);
  return 1;
}

// SPDX-License-Identifier: Apache-2.0
//
// What the cases cannot reach from outside: claims that say no, chains of post-operations and
// their way into a model and back, options that are wrong, a pass that is left out.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/save.h"
#include "infer/infer.h"
#include "passes/passes.h"

// conv(x, w) + residual, Relu; the residual is computed after the Conv.
typedef struct fixture {
  rt_graph *graph;
  const char *absorbs;  // post-operations that the provider of the test takes
  uint32_t longest;
  char notes[2000];
} fixture;

static rt_node *add_node(rt_graph *graph, const char *op, const char *name, rt_value *a,
                         rt_value *b) {
  rt_value *inputs[] = {a, b};
  const rt_node_desc desc = {.name = name,
                             .op = op,
                             .opset = 17,
                             .inputs = inputs,
                             .input_count = b ? 2 : 1,
                             .output_names = &name,
                             .output_count = 1};
  rt_node *node = NULL;
  assert_int_equal(rt_graph_add_node(graph, &desc, NULL, &node, NULL), OPS_OK);
  return node;
}

static int setup(void **state) {
  static fixture f;
  memset(&f, 0, sizeof f);
  const int64_t dims[4] = {2, 1, 1, 1};
  const rt_dim shape[4] = {rt_dim_const(1), rt_dim_const(1), rt_dim_const(3), rt_dim_const(3)};
  const rt_type type = rt_type_tensor(OPS_TYPE_FLOAT, 4, shape);
  rt_constant *weights = NULL;
  rt_value *x, *w;
  assert_int_equal(rt_graph_create("g", &f.graph, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_input(f.graph, "x", &type, &x, NULL), OPS_OK);
  assert_int_equal(rt_constant_create(OPS_TYPE_FLOAT, 4, dims, NULL, &weights, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_constant(f.graph, "w", weights, &w, NULL), OPS_OK);
  rt_constant_release(weights);
  rt_node *conv = add_node(f.graph, "Conv", "conv", x, w);
  assert_int_equal(rt_node_set_attr_int(conv, "group", 1, NULL), OPS_OK);
  rt_node *concat = add_node(f.graph, "Concat", "concat", x, x);
  assert_int_equal(rt_node_set_attr_int(concat, "axis", 1, NULL), OPS_OK);
  rt_node *residual = add_node(f.graph, "Exp", "exp", concat->outputs[0], NULL);
  rt_node *sum = add_node(f.graph, "Add", "add", residual->outputs[0], conv->outputs[0]);
  rt_node *relu = add_node(f.graph, "Relu", "relu", sum->outputs[0], NULL);
  assert_int_equal(rt_graph_add_output(f.graph, "y", relu->outputs[0], NULL, NULL), OPS_OK);
  assert_int_equal(rt_infer_graph(f.graph, NULL, NULL), OPS_OK);
  f.absorbs = "Add Relu";
  f.longest = 2;
  *state = &f;
  return 0;
}

static int teardown(void **state) {
  rt_graph_destroy(((fixture *)*state)->graph);
  return 0;
}

static int32_t claim(void *user, const rt_node *node, uint32_t *out_place, ops_error *error) {
  const fixture *f = user;
  (void)error;
  *out_place = node->post_count > f->longest ? RT_CLAIM_NOBODY : 0;
  for (uint32_t i = 0; i < node->post_count; ++i)
    if (!strstr(f->absorbs, node->posts[i].op.name)) *out_place = RT_CLAIM_NOBODY;
  return OPS_OK;
}

static void note(void *user, const rt_pass_info *pass, int32_t kind, const char *text) {
  fixture *f = user;
  const size_t used = strlen(f->notes);
  snprintf(f->notes + used, sizeof f->notes - used, "%s %s: %s\n",
           kind == RT_PASS_HIT ? "+" : "-", pass->name, text);
}

static rt_passes_options options_of(fixture *f) {
  return (rt_passes_options){.level = 2,
                             .verify = 1,
                             .host = {.user = f, .claim = claim},
                             .note = note,
                             .note_user = f};
}

static void run(fixture *f, const rt_passes_options *options) {
  ops_error error = OPS_ERROR_INIT;
  if (rt_passes_run(f->graph, options, NULL, NULL, &error) != OPS_OK)
    fail_msg("%s", error.message);
}

static void expect_graph(const rt_graph *graph, const char *expected) {
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  rt_graph_print(graph, file);
  fclose(file);
  if (!strstr(text, expected)) fail_msg("expected '%s' in:\n%s", expected, text);
  free(text);
}

static void a_chain_is_absorbed(void **state) {
  fixture *f = *state;
  const rt_passes_options options = options_of(f);
  run(f, &options);
  assert_int_equal(f->graph->node_count, 3);
  expect_graph(f->graph,
               "Conv@17 \"conv\"(%x, %w, _) {group=1} |> Add@17(%exp, ^) |> Relu@17(^)");
  const rt_node *node = f->graph->last;
  assert_int_equal(node->post_count, 2);
  assert_int_equal(node->posts[0].chained, 1);
  assert_int_equal(node->origin_count, 3);
  assert_string_equal(node->origins[2], "relu");
  assert_string_equal(f->graph->outputs[0]->producer->name, "conv");
}

static void only_as_long_as_it_may_be(void **state) {
  fixture *f = *state;
  f->longest = 1;
  const rt_passes_options options = options_of(f);
  run(f, &options);
  assert_string_equal(f->graph->last->op.name, "Relu");
  assert_non_null(strstr(f->notes, "+ post_operations: Conv 'conv' + Add 'add': chained\n"));
  assert_non_null(
      strstr(f->notes,
             "- post_operations: Conv 'conv' + Relu 'relu': not chained, no provider "
             "claims it\n"));
}

static void without_providers_nothing_is_chained(void **state) {
  fixture *f = *state;
  rt_passes_options options = options_of(f);
  options.host.claim = NULL;
  run(f, &options);
  assert_int_equal(f->graph->last->post_count, 0);
}

static void a_pass_can_be_left_out(void **state) {
  fixture *f = *state;
  const char *const disabled[] = {"post_operations"};
  rt_passes_options options = options_of(f);
  options.disabled = disabled;
  options.disabled_count = 1;
  run(f, &options);
  assert_null(strstr(f->notes, "post_operations"));
}

static void wrong_options_are_errors(void **state) {
  fixture *f = *state;
  ops_error error = OPS_ERROR_INIT;
  const char *const disabled[] = {"no_such_pass"};
  rt_passes_options options = options_of(f);
  options.level = 4;
  assert_int_equal(rt_passes_run(f->graph, &options, NULL, NULL, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "expected 0 to 3"));
  options.level = 1;
  options.disabled = disabled;
  options.disabled_count = 1;
  assert_int_equal(rt_passes_run(f->graph, &options, NULL, NULL, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "there is no pass 'no_such_pass'"));
  assert_non_null(strstr(error.message, "constant_folding"));
}

// A chain is a function in the model, and its nodes again when the model is read.
static void a_chain_is_saved_as_a_function(void **state) {
  fixture *f = *state;
  const rt_model_opset opsets[] = {{{"", 0}, 17}};
  const rt_model source = {.ir_version = 7, .opsets = opsets, .opset_count = 1};
  ops_error error = OPS_ERROR_INIT;
  rt_saved_model *saved = NULL;
  rt_graph *graph = NULL;
  const rt_passes_options options = options_of(f);
  run(f, &options);
  if (rt_graph_to_model(f->graph, &source, &saved, &error) != OPS_OK)
    fail_msg("%s", error.message);
  const rt_model *model = rt_saved_model_get(saved);
  assert_int_equal(model->ir_version, 8);
  assert_int_equal(model->function_count, 1);
  assert_int_equal(model->functions[0].node_count, 3);
  if (rt_graph_from_model(model, NULL, &graph, &error) != OPS_OK) fail_msg("%s", error.message);
  assert_int_equal(graph->node_count, 5);
  assert_string_equal(graph->last->op.name, "Relu");
  assert_string_equal(graph->last->prev->op.name, "Add");
  assert_string_equal(graph->last->prev->prev->op.name, "Conv");
  rt_graph_destroy(graph);
  rt_saved_model_destroy(saved);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_chain_is_absorbed),
      TEST(only_as_long_as_it_may_be),
      TEST(without_providers_nothing_is_chained),
      TEST(a_pass_can_be_left_out),
      TEST(wrong_options_are_errors),
      TEST(a_chain_is_saved_as_a_function),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// The textual form of functions: what it means, what is refused, and that every text of the
// generated table can be read and put into a graph. Meanings are taken from ONNX's description
// of its textual syntax (docs/Syntax.md).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <ops_support/error.h>
#include <ops_support/node.h>

#include "functions/functions.h"
#include "functions/table.h"

static const rt_op leaky = {"LeakyRelu", "", 16, {NULL, 0}};

static int setup(void **state) {
  rt_graph *graph = NULL;
  assert_int_equal(rt_graph_create("test", &graph, NULL), OPS_OK);
  *state = graph;
  return 0;
}

static int teardown(void **state) {
  rt_graph_destroy(*state);
  return 0;
}

static const rt_model_function *parse(rt_graph *graph, const char *text) {
  rt_model_function *function = NULL;
  ops_error error = OPS_ERROR_INIT;
  if (rt_function_parse(graph, &leaky, text, 18, &function, &error) != OPS_OK)
    fail_msg("%s", error.message);
  return function;
}

static void texts_mean_what_they_say(void **state) {
  const rt_model_function *f = parse(*state,
                                     "(X, , Z) => (Y) {\n"
                                     "c = Constant <value: tensor = int64[2] {-1, 7}> ()\n"
                                     "s = Constant <value: tensor = double {1e-5}> ()\n"
                                     "Y, u = Op <a: int = -3, b: floats = [0.5, inf], "
                                     "m: string = \"up to\", r: float = @alpha> (X, , c)\n"
                                     "}");
  assert_int_equal(f->input_count, 3);
  assert_int_equal(f->inputs[1].size, 0);
  assert_int_equal(f->output_count, 1);
  assert_int_equal(f->node_count, 3);
  assert_int_equal(f->opsets[0].version, 18);
  const rt_model_tensor *ints = f->nodes[0].attributes[0].tensors;
  assert_int_equal(ints->rank, 1);
  assert_int_equal(ints->dims[0], 2);
  assert_int_equal(((const int64_t *)ints->data)[1], 7);
  const rt_model_tensor *scalar = f->nodes[1].attributes[0].tensors;
  assert_int_equal(scalar->rank, 0);
  assert_true(*(const double *)scalar->data == 1e-5);
  const rt_model_node *op = &f->nodes[2];
  assert_int_equal(op->output_count, 2);
  assert_int_equal(op->input_count, 3);
  assert_int_equal(op->inputs[1].size, 0);
  assert_int_equal(op->attributes[0].ints[0], -3);
  assert_true(op->attributes[1].floats[1] > 3e38f);
  assert_true(ops_str_equal(op->attributes[2].strings[0], "up to"));
  assert_true(ops_str_equal(op->attributes[3].ref_attr_name, "alpha"));
}

static void graphs_are_read(void **state) {
  const rt_model_function *f =
      parse(*state,
            "(X) => (Y) { Y = Loop <body: graph = b (int64 i, bool c, p) => (c2, q) {"
            " c2 = Identity (c) q = Add (p, p) }> (n, t, X) }");
  const rt_model_graph *body = f->nodes[0].attributes[0].graphs;
  assert_int_equal(body->input_count, 3);
  assert_int_equal(body->inputs[0].type.elem_type, OPS_TYPE_INT64);
  assert_int_equal(body->inputs[2].type.kind, RT_MODEL_TYPE_NONE);
  assert_int_equal(body->node_count, 2);
}

static void defaults_come_from_the_schema(void **state) {
  const rt_model_function *f = parse(*state, "(X) => (Y) { Y = Identity (X) }");
  assert_int_equal(f->attribute_default_count, 1);
  assert_true(ops_str_equal(f->attribute_defaults[0].name, "alpha"));
  assert_true(f->attribute_defaults[0].floats[0] == 0.01f);
}

static void faults_are_refused(void **state) {
  static const char *const texts[] = {
      "",
      "(X) = (Y) {}",
      "(X) => (Y) { Y = Op <a: colour = 1> (X) }",
      "(X) => (Y) { Y = Op <a: int = x> (X) }",
      "(X) => (Y) { Y = Op <a: string = \"x> (X) }",
      "(X) => (Y) { Y = Op <a: tensor = int64[2] {1}> (X) }",
      "(X) => (Y) { Y = Op <a: tensor = text {1}> (X) }",
      "(X) => (Y) { Y = Op (X }",
      "(X) => (Y) { Y = Op (X) } more",
      "(X) => (Y) { Y = Op (X)",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    rt_model_function *function = NULL;
    ops_error error = OPS_ERROR_INIT;
    assert_int_equal(rt_function_parse(*state, &leaky, texts[i], 18, &function, &error),
                     OPS_ERROR_INTERNAL);
    assert_null(function);
    assert_non_null(strstr(error.message, "LeakyRelu"));
  }
}

static void constants_of_every_type_can_be_written(void **state) {
  rt_text text = {0};
  rt_text_add(&text, "(X) => (c) {\n");
  rt_text_constant(&text, "a", OPS_TYPE_DOUBLE, 1e-300);
  rt_text_constant(&text, "b", OPS_TYPE_FLOAT16, 0.5);
  rt_text_constant(&text, "c", OPS_TYPE_INT64, -4);
  rt_text_add(&text, "}");
  const char *kept = rt_text_keep(&text, *state);
  rt_text_finish(&text);
  const rt_model_function *f = parse(*state, kept);
  assert_int_equal(f->node_count, 4);  // float16 is cast from float
  assert_true(*(const double *)f->nodes[0].attributes[0].tensors->data == 1e-300);
  assert_true(ops_str_equal(f->nodes[2].op_type, "Cast"));
  assert_int_equal(*(const int64_t *)f->nodes[3].attributes[0].tensors->data, -4);
}

// A node of the row's operator with all its inputs and outputs.
static rt_node *add_node(rt_graph *graph, const rt_function_row *row,
                         const rt_model_function *function) {
  const rt_dim dims[] = {rt_dim_const(2), rt_dim_const(3)};
  const rt_type type = rt_type_tensor(OPS_TYPE_FLOAT, 2, dims);
  rt_value *inputs[8] = {NULL};
  assert_true(function->input_count <= 8);
  for (size_t i = 0; i < function->input_count; ++i)
    assert_int_equal(rt_graph_add_input(graph, NULL, &type, &inputs[i], NULL), OPS_OK);
  const rt_node_desc desc = {.op = row->op,
                             .domain = row->domain,
                             .opset = row->since,
                             .inputs = inputs,
                             .input_count = (uint32_t)function->input_count,
                             .output_count = (uint32_t)function->output_count};
  rt_node *node;
  assert_int_equal(rt_graph_add_node(graph, &desc, NULL, &node, NULL), OPS_OK);
  for (uint32_t i = 0; i < node->output_count; ++i)
    assert_int_equal(rt_graph_add_output(graph, NULL, node->outputs[i], NULL, NULL), OPS_OK);
  return node;
}

static void every_row_becomes_nodes(void **state) {
  for (size_t i = 0; i < rt_function_table_count; ++i) {
    const rt_function_row *row = &rt_function_table[i];
    const rt_op op = {row->op, row->domain, row->since, {NULL, 0}};
    rt_model_function *function = NULL;
    rt_graph *graph = NULL;
    ops_error error = OPS_ERROR_INIT;
    (void)state;
    assert_int_equal(rt_graph_create("row", &graph, NULL), OPS_OK);
    if (rt_function_parse(graph, &op, row->text, row->opset, &function, &error) != OPS_OK)
      fail_msg("%s: %s", row->op, error.message);
    rt_node *node = add_node(graph, row, function);
    assert_true(rt_function_exists(&op));
    if (rt_function_expand(node, &error) != OPS_OK) fail_msg("%s: %s", row->op, error.message);
    if (rt_graph_verify(graph, &error) != OPS_OK) fail_msg("%s: %s", row->op, error.message);
    for (node = graph->first; node; node = node->next) {
      assert_non_null(strstr(node->path, row->op));
      assert_true(node->origin_count >= 1);
    }
    rt_graph_destroy(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(texts_mean_what_they_say, setup, teardown),
      cmocka_unit_test_setup_teardown(graphs_are_read, setup, teardown),
      cmocka_unit_test_setup_teardown(defaults_come_from_the_schema, setup, teardown),
      cmocka_unit_test_setup_teardown(faults_are_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(constants_of_every_type_can_be_written, setup, teardown),
      cmocka_unit_test(every_row_becomes_nodes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

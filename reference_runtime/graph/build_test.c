// SPDX-License-Identifier: Apache-2.0
//
// The builder, on decoded models written out here. Expected graphs follow from ONNX IR's rules
// on scopes, functions and initializers.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <ops_support/error.h>
#include <string.h>

#include "graph/build.h"

#define S(literal) OPS_STR(literal)
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const rt_model_opset opsets[] = {{S(""), 13}, {S("local"), 1}};

static rt_model model_of(const rt_model_node *nodes, size_t count) {
  static const rt_model_value_info x = {.name = S("x"), .type = {.rank = -1}};
  static const rt_model_value_info y = {.name = S("y"), .type = {.rank = -1}};
  return (rt_model){.ir_version = 8,
                    .opsets = opsets,
                    .opset_count = COUNT(opsets),
                    .graph = {.name = S("g"),
                              .nodes = nodes,
                              .node_count = count,
                              .inputs = &x,
                              .input_count = 1,
                              .outputs = &y,
                              .output_count = 1}};
}

static rt_graph *build(const rt_model *model) {
  ops_error error = OPS_ERROR_INIT;
  rt_graph *graph = NULL;
  if (rt_graph_from_model(model, NULL, &graph, &error) != OPS_OK) fail_msg("%s", error.message);
  if (rt_graph_verify(graph, &error) != OPS_OK) fail_msg("%s", error.message);
  return graph;
}

static void assert_refused(const rt_model *model, const rt_graph_options *options,
                           int32_t expected, const char *text) {
  ops_error error = OPS_ERROR_INIT;
  rt_graph *graph;
  assert_int_equal(rt_graph_from_model(model, options, &graph, &error), expected);
  assert_null(graph);
  if (!strstr(error.message, text)) fail_msg("found: %s", error.message);
}

static const ops_str name_x[] = {S("x")}, name_y[] = {S("y")}, name_t[] = {S("t")};
#define NODE(n, op, in, out)                                                                \
  {                                                                                         \
    .name = S(n), .op_type = S(op), .inputs = in, .input_count = COUNT(in), .outputs = out, \
    .output_count = COUNT(out)                                                              \
  }

static void chain_is_linked(void **state) {
  (void)state;
  const rt_model_node nodes[] = {NODE("a", "Relu", name_x, name_t),
                                 NODE("", "Neg", name_t, name_y)};
  const rt_model model = model_of(nodes, 2);
  rt_graph *graph = build(&model);
  assert_int_equal(graph->node_count, 2);
  assert_string_equal(graph->first->name, "a");
  assert_string_equal(graph->last->name, "Neg_1");
  assert_int_equal(graph->first->op.opset, 13);
  assert_ptr_equal(graph->last->operands[0], graph->first->outputs[0]);
  assert_ptr_equal(graph->outputs[0], graph->last->outputs[0]);
  rt_graph_destroy(graph);
}

static void wrong_names_are_refused(void **state) {
  (void)state;
  const rt_model_node cycle[] = {NODE("a", "Relu", name_t, name_y),
                                 NODE("b", "Neg", name_y, name_t)};
  const rt_model_node twice[] = {NODE("a", "Relu", name_x, name_y),
                                 NODE("b", "Neg", name_x, name_y)};
  const rt_model_node none[] = {NODE("a", "Relu", name_x, name_t)};
  rt_model_node foreign[] = {NODE("a", "Relu", name_x, name_y)};
  foreign[0].domain = (ops_str)S("com.example");
  rt_model model = model_of(cycle, 2);
  assert_refused(&model, NULL, OPS_ERROR_INVALID_MODEL, "node 'a' (Relu) reads 't'");
  model = model_of(twice, 2);
  assert_refused(&model, NULL, OPS_ERROR_INVALID_MODEL, "'y' is defined twice");
  model = model_of(none, 1);
  assert_refused(&model, NULL, OPS_ERROR_INVALID_MODEL, "output 'y'");
  model = model_of(foreign, 1);
  assert_refused(&model, NULL, OPS_ERROR_INVALID_MODEL, "does not import");
}

static void initializers_depend_on_the_version(void **state) {
  (void)state;
  const float one = 1;
  const rt_model_tensor w = {
      .name = S("w"), .elem_type = OPS_TYPE_FLOAT, .element_count = 1, .data = &one, .size = 4};
  const rt_model_value_info inputs[] = {{.name = S("x"), .type = {.rank = -1}},
                                        {.name = S("w"), .type = {.rank = -1}}};
  const ops_str xw[] = {S("x"), S("w")};
  const rt_model_node nodes[] = {NODE("a", "Add", xw, name_y)};
  rt_model model = model_of(nodes, 1);
  model.graph.initializers = &w;
  model.graph.initializer_count = 1;
  model.graph.inputs = inputs;
  model.graph.input_count = 2;
  rt_graph *graph = build(&model);
  assert_int_equal(graph->input_count, 2);
  assert_non_null(graph->inputs[1]->constant);
  assert_null(rt_value_constant(graph->inputs[1]));
  rt_graph_destroy(graph);
  model.ir_version = 3;
  graph = build(&model);
  assert_int_equal(graph->input_count, 1);
  assert_non_null(rt_value_constant(rt_node_input(graph->first, 1)));
  assert_ptr_equal(rt_value_constant(rt_node_input(graph->first, 1))->data, &one);
  rt_graph_destroy(graph);
}

static void constant_nodes_become_constants(void **state) {
  (void)state;
  const int64_t ints[] = {4, 5};
  const rt_model_attribute value = {
      .name = S("value_ints"), .kind = RT_MODEL_ATTRIBUTE_INTS, .count = 2, .ints = ints};
  const ops_str xt[] = {S("x"), S("t")};
  rt_model_node nodes[] = {{.op_type = S("Constant"),
                            .outputs = name_t,
                            .output_count = 1,
                            .attributes = &value,
                            .attribute_count = 1},
                           NODE("r", "Reshape", xt, name_y)};
  rt_model model = model_of(nodes, 2);
  rt_graph *graph = build(&model);
  int64_t found[2];
  assert_int_equal(graph->node_count, 1);
  assert_int_equal(
      rt_constant_read_ints(rt_value_constant(graph->first->operands[1]), found, 2), 2);
  assert_int_equal(found[1], 5);
  rt_graph_destroy(graph);
  nodes[0].attribute_count = 0;
  assert_refused(&model, NULL, OPS_ERROR_INVALID_MODEL, "expected one value attribute");
}

// If(c) { then: If(c) { then: Neg(x) } }: x is captured at both levels.
static void bodies_capture_through_levels(void **state) {
  (void)state;
  const rt_model_value_info out = {.name = S("r"), .type = {.rank = -1}};
  const ops_str r[] = {S("r")}, q[] = {S("q")};
  const rt_model_node inner_nodes[] = {NODE("n", "Neg", name_x, r)};
  const rt_model_graph inner = {.name = S("inner"),
                                .nodes = inner_nodes,
                                .node_count = 1,
                                .outputs = &out,
                                .output_count = 1};
  const rt_model_attribute then_inner = {
      .name = S("then_branch"), .kind = RT_MODEL_ATTRIBUTE_GRAPH, .count = 1, .graphs = &inner};
  const rt_model_value_info outer_out = {.name = S("q"), .type = {.rank = -1}};
  rt_model_node outer_nodes[] = {NODE("if2", "If", name_t, q)};
  outer_nodes[0].attributes = &then_inner;
  outer_nodes[0].attribute_count = 1;
  const rt_model_graph outer = {.name = S("outer"),
                                .nodes = outer_nodes,
                                .node_count = 1,
                                .outputs = &outer_out,
                                .output_count = 1};
  const rt_model_attribute then_outer = {
      .name = S("then_branch"), .kind = RT_MODEL_ATTRIBUTE_GRAPH, .count = 1, .graphs = &outer};
  rt_model_node nodes[] = {NODE("c", "IsNaN", name_x, name_t),
                           NODE("if1", "If", name_t, name_y)};
  nodes[1].attributes = &then_outer;
  nodes[1].attribute_count = 1;
  const rt_model model = model_of(nodes, 2);
  rt_graph *graph = build(&model);
  rt_node *if1 = graph->last;
  assert_int_equal(if1->capture_count, 2);  // t and x, in some order
  const rt_graph *body = rt_node_body(if1, 0);
  assert_int_equal(body->capture_count, 2);
  assert_ptr_equal(rt_node_body(body->first, 0)->captures[0]->outer->outer, graph->inputs[0]);
  rt_graph_destroy(graph);
  const rt_graph_options shallow = {.max_depth = 1};
  assert_refused(&model, &shallow, OPS_ERROR_UNSUPPORTED, "MAX_DEPTH");
}

// local.F(a; alpha) { t = LeakyRelu<alpha=@alpha>(a); b = Neg(t) }
static void functions_are_inlined(void **state) {
  (void)state;
  const ops_str a[] = {S("a")}, b[] = {S("b")}, alpha_name[] = {S("alpha")};
  const float half = 0.5f;
  const rt_model_attribute reference = {
      .name = S("alpha"), .ref_attr_name = S("alpha"), .kind = RT_MODEL_ATTRIBUTE_FLOAT};
  const rt_model_attribute given = {
      .name = S("alpha"), .kind = RT_MODEL_ATTRIBUTE_FLOAT, .count = 1, .floats = &half};
  rt_model_node body[] = {NODE("leaky", "LeakyRelu", a, name_t), NODE("", "Neg", name_t, b)};
  body[0].attributes = &reference;
  body[0].attribute_count = 1;
  const rt_model_opset imports[] = {{S(""), 16}};
  const rt_model_function function = {.name = S("F"),
                                      .domain = S("local"),
                                      .inputs = a,
                                      .input_count = 1,
                                      .outputs = b,
                                      .output_count = 1,
                                      .attribute_names = alpha_name,
                                      .attribute_name_count = 1,
                                      .nodes = body,
                                      .node_count = 2,
                                      .opsets = imports,
                                      .opset_count = 1};
  rt_model_node nodes[] = {NODE("f1", "F", name_x, name_t), NODE("f2", "F", name_t, name_y)};
  nodes[0].domain = nodes[1].domain = (ops_str)S("local");
  nodes[0].attributes = &given;
  nodes[0].attribute_count = 1;
  rt_model model = model_of(nodes, 2);
  model.functions = &function;
  model.function_count = 1;
  rt_graph *graph = build(&model);
  assert_int_equal(graph->node_count, 4);
  const rt_node *first = graph->first;
  assert_string_equal(first->name, "f1/leaky");
  assert_string_equal(first->outputs[0]->name, "f1/t");
  assert_string_equal(first->next->outputs[0]->name, "t");
  assert_int_equal(first->op.opset, 16);
  assert_true(rt_attrs_float(&first->op.attrs, "alpha", 0) == 0.5f);
  assert_int_equal(first->origin_count, 2);
  assert_string_equal(first->origins[0], "leaky");
  assert_string_equal(first->origins[1], "f1");
  assert_null(rt_attrs_find(&first->next->next->op.attrs, "alpha"));
  assert_string_equal(graph->last->outputs[0]->name, "y");
  rt_graph_destroy(graph);
  body[1].op_type = (ops_str)S("F");
  body[1].domain = (ops_str)S("local");
  assert_refused(&model, NULL, OPS_ERROR_INVALID_MODEL, "must not be recursive");
}

// 2^20 calls without a node: the number of calls is limited too.
static void runaway_calls_are_refused(void **state) {
  (void)state;
  enum { LEVELS = 20 };
  static const ops_str a[] = {S("a")};
  static char names[LEVELS + 1][2];
  rt_model_function functions[LEVELS];
  rt_model_node calls[LEVELS][2];
  memset(functions, 0, sizeof functions);
  memset(calls, 0, sizeof calls);
  for (int i = 0; i < LEVELS; ++i) {
    names[i][0] = (char)('A' + i);
    functions[i] = (rt_model_function){.name = {names[i], 1},
                                       .domain = S("local"),
                                       .inputs = a,
                                       .input_count = 1,
                                       .nodes = calls[i],
                                       .node_count = i + 1 < LEVELS ? 2 : 0,
                                       .opsets = opsets,
                                       .opset_count = 2};
    for (int j = 0; j < 2; ++j) {
      names[i + 1][0] = (char)('A' + i + 1);
      calls[i][j] = (rt_model_node){
          .op_type = {names[i + 1], 1}, .domain = S("local"), .inputs = a, .input_count = 1};
    }
  }
  const rt_model_node nodes[] = {
      {.op_type = S("A"), .domain = S("local"), .inputs = name_x, .input_count = 1}};
  rt_model model = model_of(nodes, 1);
  model.functions = functions;
  model.function_count = LEVELS;
  const rt_graph_options options = {.max_inlined = 1000};
  assert_refused(&model, &options, OPS_ERROR_UNSUPPORTED, "MAX_INLINED");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chain_is_linked),
      cmocka_unit_test(wrong_names_are_refused),
      cmocka_unit_test(initializers_depend_on_the_version),
      cmocka_unit_test(constant_nodes_become_constants),
      cmocka_unit_test(bodies_capture_through_levels),
      cmocka_unit_test(functions_are_inlined),
      cmocka_unit_test(runaway_calls_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// The checker: one valid model, and for each rule a model that breaks that rule alone. What
// is legal follows docs/IR.md and docs/Operators.md of onnx 1.23.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <ops_support/error.h>
#include <stdio.h>
#include <string.h>

#include "model/check.h"
#include "model/model_test_util.h"

static int32_t check(pb bytes, ops_error *error) {
  rt_model *model = NULL;
  int32_t status = rt_model_load_bytes(bytes.data, bytes.size, NULL, NULL, &model, error);
  if (status != OPS_OK) print_error("loading: %s\n", error->message);
  assert_int_equal(status, OPS_OK);
  status = rt_model_check(model, error);
  assert_int_equal(rt_model_check(model, NULL), status);
  rt_model_destroy(model);
  free(bytes.data);
  return status;
}

static void assert_valid(pb bytes) {
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = check(bytes, &error);
  if (status != OPS_OK) print_error("found: %s\n", error.message);
  assert_int_equal(status, OPS_OK);
}

static void assert_fault(pb bytes, int32_t expected, const char *text) {
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(check(bytes, &error), expected);
  if (!strstr(error.message, text)) print_error("found: %s\n", error.message);
  assert_non_null(strstr(error.message, text));
}

static void assert_invalid(pb bytes, const char *text) {
  assert_fault(bytes, OPS_ERROR_INVALID_MODEL, text);
}

// A graph "g" with input x and output y, both float; nodes are added by the test.
static pb graph_xy(void) {
  pb graph = {0};
  pb_add_str(&graph, 2, "g");
  pb_add_message(&graph, 11, pb_float_info("x", 3));
  pb_add_message(&graph, 12, pb_float_info("y", 3));
  return graph;
}

static void add_node(pb *graph, const char *op, const char *name, const char *in,
                     const char *out) {
  pb_add_message(graph, 1, pb_node(op, name, in, out));
}

// The graph with x and y around one node.
static pb model_of(pb node, int64_t opset) {
  pb graph = graph_xy();
  pb_add_message(&graph, 1, node);
  return pb_model(graph, opset);
}

static pb float_tensor(const char *name, int64_t count) {
  pb tensor = pb_tensor(name, OPS_TYPE_FLOAT, 1, &count);
  for (int64_t i = 0; i < count; ++i) pb_add_float(&tensor, 4, 1.0f);
  return tensor;
}

static void add_import(pb *message, uint32_t field, const char *domain, int64_t version) {
  pb import = {0};
  pb_add_str(&import, 1, domain);
  pb_add_int(&import, 2, version);
  pb_add_message(message, field, import);
}

// --- Names ---------------------------------------------------------------------------------

static void accepts_a_chain(void **state) {
  (void)state;
  pb graph = graph_xy();
  pb_add_message(&graph, 5, float_tensor("lo", 0));
  add_node(&graph, "Relu", "a", "x", "t");
  add_node(&graph, "Clip", "b", "t,,hi", "u");
  add_node(&graph, "Dropout", "c", "u", "y,");
  pb_add_message(&graph, 5, float_tensor("hi", 1));
  assert_valid(pb_model(graph, 13));
}

static void names_dangling_inputs(void **state) {
  (void)state;
  assert_invalid(model_of(pb_node("Relu", "a", "q", "y"), 13),
                 "graph 'g': node 0 'a' (Relu): input 'q' is nowhere defined");
}

static void names_wrong_order(void **state) {
  (void)state;
  pb graph = graph_xy();
  add_node(&graph, "Relu", "a", "t", "y");
  add_node(&graph, "Relu", "b", "x", "t");
  assert_invalid(pb_model(graph, 13),
                 "node 0 'a' (Relu): input 't' is made later, by node 1 'b' (Relu)");
}

static void names_cycles(void **state) {
  (void)state;
  pb graph = graph_xy();
  add_node(&graph, "Add", "a", "x,w", "u");
  add_node(&graph, "Relu", "b", "u", "v");
  add_node(&graph, "Neg", "c", "v", "w");
  add_node(&graph, "Relu", "d", "w", "y");
  assert_invalid(
      pb_model(graph, 13),
      "3 nodes form a cycle: node 0 'a' (Add) -> node 1 'b' (Relu) -> node 2 'c' (Neg) "
      "-> node 0 'a' (Add)");
  assert_invalid(model_of(pb_node("Add", "s", "x,y", "y"), 13),
                 "1 nodes form a cycle: node 0 's' (Add) -> node 0 's' (Add)");
}

// A long chain in reverse order must not recurse, and a long cycle must fit the message.
static void survives_long_cycles(void **state) {
  (void)state;
  for (int cyclic = 0; cyclic < 2; ++cyclic) {
    pb graph = graph_xy();
    char in[16], out[16];
    for (int i = 100000; i > 0; --i) {
      snprintf(in, sizeof in, i == 1 ? (cyclic ? "y" : "x") : "v%d", i - 1);
      snprintf(out, sizeof out, i == 100000 ? "y" : "v%d", i);
      add_node(&graph, "Relu", "", in, out);
    }
    assert_invalid(pb_model(graph, 13),
                   cyclic ? "100000 nodes form a cycle" : "is made later, by node 1");
  }
}

static void refuses_second_definitions(void **state) {
  (void)state;
  pb graph = graph_xy();
  add_node(&graph, "Relu", "a", "x", "y");
  add_node(&graph, "Relu", "b", "x", "y");
  assert_invalid(pb_model(graph, 13),
                 "node 1 'b' (Relu): 'y' is defined twice: as an output of node 0, and as an "
                 "output of node 1");
  assert_invalid(model_of(pb_node("Relu", "a", "x", "x"), 13),
                 "'x' is defined twice: as an input, and as an output of node 0");
  graph = graph_xy();
  pb_add_message(&graph, 5, float_tensor("y", 1));
  pb_add_message(&graph, 5, float_tensor("y", 1));
  assert_invalid(pb_model(graph, 13), "'y' is defined twice: as an initializer");
  graph = graph_xy();
  pb_add_message(&graph, 11, pb_float_info("x", 3));
  assert_invalid(pb_model(graph, 13), "'x' is defined twice: as an input, and as an input");
  graph = graph_xy();
  pb_add_message(&graph, 5, float_tensor("", 1));
  assert_invalid(pb_model(graph, 13), "an initializer has no name");
}

static void checks_outputs(void **state) {
  (void)state;
  assert_invalid(model_of(pb_node("Relu", "a", "x", "z"), 13),
                 "graph 'g': output 0 'y' is nowhere defined");
  pb graph = graph_xy();
  pb_add_message(&graph, 12, pb_float_info("y", 3));
  add_node(&graph, "Relu", "a", "x", "y");
  assert_invalid(pb_model(graph, 13), "output 1 'y' is listed twice");
}

static void checks_defaults_of_inputs(void **state) {
  (void)state;
  for (int64_t count = 3; count < 5; ++count) {
    pb graph = graph_xy();
    pb_add_message(&graph, 5, float_tensor("x", count));
    add_node(&graph, "Relu", "a", "x", "y");
    if (count == 3)
      assert_valid(pb_model(graph, 13));
    else
      assert_invalid(pb_model(graph, 13),
                     "initializer 'x' of type float[4] does not fit the input of that name; "
                     "expected float[3]");
  }
  pb graph = {0}, untyped = {0};
  pb_add_str(&untyped, 1, "x");
  pb_add_message(&graph, 11, untyped);
  assert_invalid(pb_model(graph, 13), "input 'x' has no type");
  graph = (pb){0};
  pb_add_message(&graph, 11, pb_value_info("x", pb_tensor_type(0, 0, NULL)));
  assert_invalid(pb_model(graph, 13), "input 'x' has no element type");
}

// --- Subgraphs -----------------------------------------------------------------------------

static pb branch(const char *in, const char *out) {
  pb graph = {0}, output = {0};
  pb_add_str(&graph, 2, "branch");
  add_node(&graph, "Relu", "inner", in, out);
  pb_add_str(&output, 1, out);
  pb_add_message(&graph, 12, output);
  return graph;
}

// x > 0 ? relu(then_in) : relu(x), with an initializer as the condition.
static pb if_graph(const char *then_in, const char *then_out) {
  pb graph = graph_xy(), node = pb_node("If", "if", "c", "y"),
     then = pb_attribute("then_branch", 5);
  pb other = pb_attribute("else_branch", 5), condition = pb_tensor("c", OPS_TYPE_BOOL, 0, NULL);
  pb_add_bytes(&condition, 9, "\1", 1);
  pb_add_message(&graph, 5, condition);
  pb_add_message(&then, 6, branch(then_in, then_out));
  pb_add_message(&other, 6, branch("x", "e"));
  pb_add_message(&node, 5, then);
  pb_add_message(&node, 5, other);
  pb_add_message(&graph, 1, node);
  return graph;
}

static void checks_scopes(void **state) {
  (void)state;
  assert_valid(pb_model(if_graph("x", "t"), 13));
  assert_valid(pb_model(if_graph("x", "e"), 13));  // branches do not see each other
  assert_invalid(pb_model(if_graph("e", "t"), 13),
                 "graph 'g': node 0 'if' (If): attribute 'then_branch': graph 'branch': node 0 "
                 "'inner' (Relu): input 'e' is nowhere defined");
  assert_invalid(pb_model(if_graph("x", "c"), 13), "hides a value of that name around it");
  assert_invalid(pb_model(if_graph("y", "t"), 13), "1 nodes form a cycle: node 0 'if' (If)");
  pb graph = if_graph("late", "t");
  add_node(&graph, "Relu", "after", "x", "late");
  assert_invalid(pb_model(graph, 13), "input 'late' is made later, by node 1 'after' (Relu)");
  // What is inside stays inside.
  graph = if_graph("x", "t");
  add_node(&graph, "Relu", "after", "t", "z");
  assert_invalid(pb_model(graph, 13), "node 1 'after' (Relu): input 't' is nowhere defined");
}

// --- Operators -----------------------------------------------------------------------------

static void names_unknown_operators(void **state) {
  (void)state;
  assert_invalid(
      model_of(pb_node("Rellu", "a", "x", "y"), 13),
      "operator 'Rellu' is unknown in opset 13 of domain 'ai.onnx'; the nearest name "
      "is 'Relu'");
  assert_invalid(
      model_of(pb_node("Gelu", "a", "x", "y"), 13),
      "operator 'Gelu' of domain 'ai.onnx' exists from opset 20 on, the model imports "
      "opset 13");
  assert_invalid(model_of(pb_node("Scaler", "a", "x", "y"), 13),
                 "operator 'Scaler' is not in domain 'ai.onnx' but in 'ai.onnx.ml'");
  assert_invalid(model_of(pb_node("FrobnicateTensors", "a", "x", "y"), 13),
                 "a custom operator needs a domain of its own");
  assert_invalid(model_of(pb_node("Upsample", "a", "x,x", "y"), 10),
                 "operator 'Upsample' was removed in opset 10");
  assert_invalid(model_of(pb_node("", "a", "x", "y"), 13), "the node has no op_type");
}

static pb model_of_microsoft(pb node) {
  pb_add_str(&node, 7, "com.microsoft");
  pb model = model_of(node, 13);
  add_import(&model, 8, "com.microsoft", 1);
  return model;
}

static void knows_the_operators_of_microsoft(void **state) {
  (void)state;
  assert_valid(model_of_microsoft(pb_node("QuickGelu", "a", "x", "y")));
  assert_invalid(model_of_microsoft(pb_node("QuikGelu", "a", "x", "y")),
                 "operator 'QuikGelu' is unknown in opset 1 of domain 'com.microsoft'; the "
                 "nearest name is 'QuickGelu'");
  assert_invalid(
      model_of_microsoft(pb_node("Relu", "a", "x", "y")),
      "operator 'Relu' is not in domain 'com.microsoft' but in 'ai.onnx', as 'Relu'");
  assert_invalid(model_of(pb_node("QuickGelu", "a", "x", "y"), 13),
                 "operator 'QuickGelu' is not in domain 'ai.onnx' but in 'com.microsoft'");
  assert_invalid(model_of_microsoft(pb_node("MatMulNBits", "a", "x,x", "y")),
                 "has 2 inputs; expected 3 to 6");
  assert_invalid(model_of_microsoft(pb_node("MatMulNBits", "a", "x,x,x", "y")),
                 "attribute 'K' is missing");
}

static void checks_imports(void **state) {
  (void)state;
  pb node = pb_node("Scaler", "a", "x", "y");
  pb_add_str(&node, 7, "ai.onnx.ml");
  assert_invalid(model_of(node, 13), "domain 'ai.onnx.ml' is not imported");
  // Whoever brings a domain of his own brings its schemas, too.
  node = pb_node("Anything", "a", "x", "y");
  pb_add_str(&node, 7, "com.example");
  pb model = model_of(node, 13);
  add_import(&model, 8, "com.example", 1);
  assert_valid(model);
  assert_fault(model_of(pb_node("Relu", "a", "x", "y"), 29), OPS_ERROR_UNSUPPORTED,
               "imports opset 29 of domain 'ai.onnx'; expected at most 28");
  assert_invalid(model_of(pb_node("Relu", "a", "x", "y"), 0), "has version 0");
  model = model_of(pb_node("Relu", "a", "x", "y"), 13);
  add_import(&model, 8, "ai.onnx", 12);
  assert_invalid(model, "domain 'ai.onnx' is imported twice, as 13 and as 12");
}

static void checks_arity(void **state) {
  (void)state;
  assert_invalid(model_of(pb_node("Relu", "a", "x,x", "y"), 13), "has 2 inputs; expected 1");
  assert_invalid(model_of(pb_node("Add", "a", "x", "y"), 13), "has 1 input; expected 2");
  assert_invalid(model_of(pb_node("Relu", "a", "x", "y,z"), 13), "has 2 outputs; expected 1");
  assert_invalid(model_of(pb_node("Relu", "a", "x", NULL), 13), "has 0 outputs; expected 1");
  assert_invalid(model_of(pb_node("Conv", "a", "x,", "y"), 11),
                 "node 0 'a' (Conv): input 1 ('W') is left out; expected a value");
  assert_invalid(model_of(pb_node("Concat", "a", "x,", "y"), 11),
                 "node 0 'a' (Concat): input 1 ('inputs') is left out; expected a value");
  assert_invalid(model_of(pb_node("Min", "a", ",x", "y"), 13),
                 "node 0 'a' (Min): input 0 ('data_0') is left out; expected a value");
  assert_valid(model_of(pb_node("Sum", "a", "x,x,x,x,x", "y"), 13));
  assert_invalid(model_of(pb_node("Sum", "a", NULL, "y"), 13),
                 "has 0 inputs; expected 1 or more");
}

static void checks_attributes(void **state) {
  (void)state;
  pb node = pb_node("Softmax", "a", "x", "y");
  pb_add_message(&node, 5, pb_int_attribute("axes", 1));
  assert_invalid(
      model_of(node, 13),
      "attribute 'axes' is unknown to version 13 of Softmax; the nearest name is 'axis'");
  node = pb_node("Softmax", "a", "x", "y");
  pb_add_message(&node, 5, pb_attribute("axis", 1));
  assert_invalid(model_of(node, 13), "attribute 'axis' is of kind FLOAT; expected INT");
  assert_invalid(model_of(pb_node("Concat", "a", "x,x", "y"), 13),
                 "attribute 'axis' is missing; expected it with kind INT");
  node = pb_node("Softmax", "a", "x", "y");
  pb_add_message(&node, 5, pb_int_attribute("axis", 0));
  pb_add_message(&node, 5, pb_int_attribute("axis", 0));
  assert_invalid(model_of(node, 13), "attribute 'axis' is given twice");
  node = pb_node("Softmax", "a", "x", "y");
  pb_add_message(&node, 5, pb_int_attribute("", 0));
  assert_invalid(model_of(node, 13), "attribute 0 has no name");
  node = pb_node("Softmax", "a", "x", "y");
  pb_add_message(&node, 5, pb_int_attribute("__tool_note", 0));
  assert_valid(model_of(node, 13));
  node = pb_node("Softmax", "a", "x", "y");
  pb reference = pb_attribute("axis", 2);
  pb_add_str(&reference, 21, "k");
  pb_add_message(&node, 5, reference);
  assert_invalid(model_of(node, 13), "but the node is in no function");
  node = pb_node("Softmax", "a", "x", "y");
  for (int i = 0; i <= RT_CHECK_MAX_ATTRIBUTES; ++i) {
    char name[16];
    snprintf(name, sizeof name, "__%d", i);
    pb_add_message(&node, 5, pb_int_attribute(name, 0));
  }
  assert_invalid(model_of(node, 13), "RT_CHECK_MAX_ATTRIBUTES");
}

// --- Functions -----------------------------------------------------------------------------

// The function my.NAME(a) -> b with attribute "axis", made of one node that maps a to b.
static pb function(const char *name, pb node) {
  pb out = {0};
  pb_add_str(&out, 1, name);
  pb_add_str(&out, 10, "my");
  pb_add_str(&out, 4, "a");
  pb_add_str(&out, 5, "b");
  pb_add_str(&out, 6, "axis");
  pb_add_message(&out, 7, node);
  add_import(&out, 9, "", 13);
  add_import(&out, 9, "my", 1);
  return out;
}

static pb my_node(const char *op, const char *in, const char *out) {
  pb node = pb_node(op, "call", in, out);
  pb_add_str(&node, 7, "my");
  return node;
}

static pb softmax_with_reference(const char *target) {
  pb node = pb_node("Softmax", "s", "a", "b"), reference = pb_attribute("axis", 2);
  pb_add_str(&reference, 21, target);
  pb_add_message(&node, 5, reference);
  return node;
}

static pb model_calling(pb call, pb first, pb second) {
  pb model = model_of(call, 13);
  add_import(&model, 8, "my", 1);
  pb_add_message(&model, 25, first);
  if (second.data) pb_add_message(&model, 25, second);
  return model;
}

static void checks_functions(void **state) {
  (void)state;
  const pb none = {0};
  pb call = my_node("F", "x", "y");
  pb_add_message(&call, 5, pb_int_attribute("axis", 0));
  assert_valid(model_calling(call, function("F", softmax_with_reference("axis")), none));
  assert_invalid(model_calling(my_node("F", "x", "y"),
                               function("F", softmax_with_reference("axes")), none),
                 "function 'F': node 0 's' (Softmax): attribute 'axis' refers to attribute "
                 "'axes', which function 'F' does not declare");
  assert_invalid(model_calling(my_node("F", "x,x", "y"),
                               function("F", pb_node("Relu", "", "a", "b")), none),
                 "node 0 'call' (F): has 2 inputs; expected 0 to 1");
  call = my_node("F", "x", "y");
  pb_add_message(&call, 5, pb_int_attribute("alpha", 0));
  assert_invalid(model_calling(call, function("F", pb_node("Relu", "", "a", "b")), none),
                 "attribute 'alpha' is none of function 'F'");
  assert_invalid(
      model_calling(my_node("F", "x", "y"), function("F", pb_node("Relu", "", "x", "b")), none),
      "function 'F': node 0 '' (Relu): input 'x' is nowhere defined");
  assert_invalid(
      model_calling(my_node("F", "x", "y"), function("F", pb_node("Relu", "", "a", "c")), none),
      "function 'F': output 0 'b' is nowhere defined");
  assert_invalid(
      model_calling(my_node("F", "x", "y"), function("F", pb_node("Relu", "", "a", "b")),
                    function("F", pb_node("Relu", "", "a", "b"))),
      "function 'F' of domain 'my' is defined twice");
}

static void add_pair(pb *message, uint32_t field, const char *key, const char *value) {
  pb pair = {0};
  pb_add_str(&pair, 1, key);
  pb_add_str(&pair, 2, value);
  pb_add_message(message, field, pair);
}

// A model with an initializer "w" and a step that computes "w_new" from it; `key` gets `value`.
static pb model_training(const char *key, const char *value, int times) {
  pb graph = graph_xy(), step = {0}, training = {0};
  const int64_t three = 3;
  pb weight = pb_tensor("w", OPS_TYPE_FLOAT, 1, &three);
  pb_add_bytes(&weight, 9, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
  add_node(&graph, "Add", "a", "x,w", "y");
  pb_add_message(&graph, 5, weight);
  pb_add_str(&step, 2, "step");
  add_node(&step, "Neg", "n", "w", "w_new");
  pb_add_message(&step, 12, pb_float_info("w_new", 3));
  pb_add_message(&training, 2, step);
  for (int i = 0; i < times; ++i) add_pair(&training, 4, key, value);
  pb model = pb_model(graph, 13);
  pb_add_message(&model, 20, training);
  return model;
}

static void checks_training(void **state) {
  (void)state;
  assert_valid(model_training("w", "w_new", 1));
  assert_invalid(model_training("v", "w_new", 1),
                 "training_info 0: update_binding binds 'v'; expected an initializer");
  assert_invalid(model_training("w", "w_old", 1),
                 "update_binding gives 'w' the value 'w_old'; expected an output of the graph "
                 "'step'");
  assert_invalid(model_training("w", "w_new", 2), "update_binding binds 'w' twice");
}

static void refuses_recursion(void **state) {
  (void)state;
  const pb none = {0};
  assert_valid(model_calling(my_node("F", "x", "y"), function("F", my_node("G", "a", "b")),
                             function("G", pb_node("Relu", "", "a", "b"))));
  assert_invalid(
      model_calling(my_node("F", "x", "y"), function("F", my_node("F", "a", "b")), none),
      "function 'F' calls itself: 'F' -> 'F'; expected");
  assert_invalid(model_calling(my_node("F", "x", "y"), function("F", my_node("G", "a", "b")),
                               function("G", my_node("F", "a", "b"))),
                 "calls itself: 'F' -> 'G' -> 'F'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accepts_a_chain),
      cmocka_unit_test(names_dangling_inputs),
      cmocka_unit_test(names_wrong_order),
      cmocka_unit_test(names_cycles),
      cmocka_unit_test(survives_long_cycles),
      cmocka_unit_test(refuses_second_definitions),
      cmocka_unit_test(checks_outputs),
      cmocka_unit_test(checks_defaults_of_inputs),
      cmocka_unit_test(checks_scopes),
      cmocka_unit_test(names_unknown_operators),
      cmocka_unit_test(knows_the_operators_of_microsoft),
      cmocka_unit_test(checks_imports),
      cmocka_unit_test(checks_arity),
      cmocka_unit_test(checks_attributes),
      cmocka_unit_test(checks_functions),
      cmocka_unit_test(checks_training),
      cmocka_unit_test(refuses_recursion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

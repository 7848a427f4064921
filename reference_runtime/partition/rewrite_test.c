// SPDX-License-Identifier: Apache-2.0
//
// Rewrite rules against what <ops/rewrite.h> promises, with the rules of the provider "probe":
// each does one thing, right or wrong. Graphs are chains of unary operators on float[2].
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <ops_support/error.h>

#include "partition/rewrite.h"

static rt_device *devices[2];
static char notes[4096];

static void take_note(void *user, int is_hit, const char *rule, const char *text) {
  (void)user;
  const size_t used = strlen(notes);
  snprintf(notes + used, sizeof notes - used, "%s %s: %s\n", is_hit ? "hit" : "miss", rule,
           text);
}

static int open_devices(void **state) {
  (void)state;
  const ops_host_options host = {0};
  const rt_device_spec probe = {.provider = TEST_PROBE},
                       reference = {.provider = TEST_REFERENCE};
  assert_int_equal(rt_device_open(&probe, &host, 0, &devices[0], NULL), OPS_OK);
  assert_int_equal(rt_device_open(&reference, &host, 1, &devices[1], NULL), OPS_OK);
  return 0;
}

static int close_devices(void **state) {
  (void)state;
  rt_device_close(devices[1]);
  rt_device_close(devices[0]);
  return 0;
}

static rt_value *add(rt_graph *graph, const char *op, int32_t opset, rt_value *input) {
  const rt_node_desc desc = {.name = op,
                             .op = op,
                             .opset = opset,
                             .inputs = &input,
                             .input_count = 1,
                             .output_count = 1};
  rt_node *node = NULL;
  assert_int_equal(rt_graph_add_node(graph, &desc, NULL, &node, NULL), OPS_OK);
  assert_int_equal(rt_value_set_type(node->outputs[0], &input->type, NULL), OPS_OK);
  return node->outputs[0];
}

// x -> first -> second (NULL: none) -> y
static rt_graph *chain(const char *first, const char *second, int32_t opset) {
  const rt_dim dims[1] = {rt_dim_const(2)};
  const rt_type type = rt_type_tensor(OPS_TYPE_FLOAT, 1, dims);
  rt_graph *graph = NULL;
  rt_value *value = NULL;
  assert_int_equal(rt_graph_create("chain", &graph, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_input(graph, "x", &type, &value, NULL), OPS_OK);
  value = add(graph, first, opset, value);
  if (second) value = add(graph, second, opset, value);
  assert_int_equal(rt_graph_add_output(graph, "y", value, NULL, NULL), OPS_OK);
  return graph;
}

static int32_t rewrite(rt_graph *graph, ops_error *error) {
  notes[0] = 0;
  return rt_partition_rewrite(graph, devices, 2, take_note, NULL, error);
}

// "Ceil Floor", the operators in order.
static const char *operators(const rt_graph *graph) {
  static char text[256];
  text[0] = 0;
  for (const rt_node *node = graph->first; node; node = node->next) {
    if (text[0]) strcat(text, " ");
    strcat(text, node->op.name);
  }
  return text;
}

static void expect(rt_graph *graph, const char *nodes, uint32_t values, const char *note) {
  ops_error error = OPS_ERROR_INIT;
  if (rewrite(graph, &error) != OPS_OK) fail_msg("%s", error.message);
  assert_int_equal(rt_graph_verify(graph, NULL), OPS_OK);
  assert_string_equal(operators(graph), nodes);
  assert_int_equal(graph->value_count, values);
  assert_string_equal(notes, note);
  rt_graph_destroy(graph);
}

static void expect_error(const char *op, int32_t status, const char *message) {
  ops_error error = OPS_ERROR_INIT;
  rt_graph *graph = chain(op, NULL, 13);
  assert_int_equal(rewrite(graph, &error), status);
  assert_string_equal(error.message, message);
  rt_graph_destroy(graph);
}

static void a_pattern_is_replaced(void **state) {
  (void)state;
  rt_graph *graph = chain("Ceil", "Floor", 13);
  const rt_value *input = graph->inputs[0];
  ops_error error = OPS_ERROR_INIT;
  if (rewrite(graph, &error) != OPS_OK) fail_msg("%s", error.message);
  const rt_node *solo = graph->first;
  assert_int_equal(graph->node_count, 1);
  assert_string_equal(solo->op.domain, "probe");
  assert_string_equal(solo->name, "Floor/Solo");
  assert_int_equal(solo->origin_count, 2);
  assert_string_equal(solo->origins[0], "Ceil");
  assert_string_equal(solo->origins[1], "Floor");
  assert_ptr_equal(solo->operands[0], input);
  assert_ptr_equal(graph->outputs[0], solo->outputs[0]);
  assert_true(rt_attrs_float(&solo->op.attrs, "scale", 0) == 3.0f);
  // The type comes from the schema of probe.
  assert_int_equal(solo->outputs[0]->type.elem_type, OPS_TYPE_FLOAT);
  expect(graph, "Solo", 2, "");  // a second time there is nothing to do
}

static void inner_values_have_no_other_reader(void **state) {
  (void)state;
  rt_graph *graph = chain("Ceil", "Floor", 13);
  assert_int_equal(rt_graph_add_output(graph, "z", graph->first->outputs[0], NULL, NULL),
                   OPS_OK);
  expect(graph, "Ceil Floor", 3, "");
  graph = chain("Ceil", "Floor", 13);
  rt_value *other = add(graph, "Neg", 13, graph->first->outputs[0]);
  assert_int_equal(rt_graph_add_output(graph, "z", other, NULL, NULL), OPS_OK);
  expect(graph, "Ceil Floor Neg", 4, "");
  graph = chain("Ceil", "Floor", 13);
  other = add(graph, "Neg", 13, graph->inputs[0]);
  assert_int_equal(rt_graph_add_output(graph, "z", other, NULL, NULL), OPS_OK);
  expect(graph, "Solo Neg", 3,
         "hit probe/solo: Ceil 'Ceil', Floor 'Floor' became Solo 'Floor/Solo'\n");
}

static void versions_are_part_of_the_pattern(void **state) {
  (void)state;
  expect(chain("Tan", NULL, 20), "Tan", 2,
         "miss probe/refuses: not applied to 'Tan', the moon is not full\n");
  expect(chain("Tan", NULL, 21), "Tan", 2, "");
  expect(chain("Floor", "Ceil", 13), "Floor Ceil", 3, "");
}

static void what_is_not_taken_is_undone(void **state) {
  (void)state;
  expect(chain("Atan", NULL, 13), "Atan", 2,
         "miss probe/not_taken: not applied to 'Atan', provider probe does not take the Acos "
         "that it makes\n");
  expect(chain("Sinh", NULL, 13), "Sinh", 2,
         "miss probe/rubbish: not applied to 'Sinh', changed its mind\n");
}

static void more_preferred_devices_come_first(void **state) {
  (void)state;
  // With reference in front nothing is left to rewrite.
  rt_device *const turned[2] = {devices[1], devices[0]};
  const uint32_t numbers[2] = {turned[0]->number, turned[1]->number};
  turned[0]->number = 0;
  turned[1]->number = 1;
  rt_graph *graph = chain("Ceil", "Floor", 13);
  notes[0] = 0;
  assert_int_equal(rt_partition_rewrite(graph, turned, 2, take_note, NULL, NULL), OPS_OK);
  assert_string_equal(operators(graph), "Ceil Floor");
  assert_string_equal(notes,
                      "miss probe/solo: not applied, provider reference takes Ceil 'Ceil'\n");
  turned[0]->number = numbers[0];
  turned[1]->number = numbers[1];
  rt_graph_destroy(graph);
}

static void rules_add_constants(void **state) {
  (void)state;
  rt_graph *graph = chain("Softsign", NULL, 13);
  assert_int_equal(rewrite(graph, NULL), OPS_OK);
  float numbers[2];
  const rt_constant *constant = rt_value_constant(graph->first->operands[0]);
  assert_non_null(constant);
  memcpy(numbers, constant->data, sizeof numbers);
  assert_true(numbers[0] == 5.0f && numbers[1] == 7.0f);
  expect(graph, "Solo", 3, "");
}

static void broken_rules_are_named(void **state) {
  (void)state;
  expect_error("Asin", OPS_ERROR_INTERNAL,
               "provider probe, rule 'wrong_type' at Asin 'Asin': it makes output 0 double[2], "
               "expected float[2]");
  expect_error(
      "Acosh", OPS_ERROR_INTERNAL,
      "provider probe, rule 'silent' at Acosh 'Acosh': it states nothing for output 0");
  expect_error("Asinh", OPS_ERROR_INVALID_ARGUMENT,
               "provider probe, rule 'unknown_value' at Asinh 'Asinh': no value 1099511627776: "
               "expected an operand of a matched node, or one that the rule made");
  expect_error(
      "Atanh", OPS_ERROR_INVALID_ARGUMENT,
      "provider probe, rule 'short_constant' at Atanh 'Atanh': a constant has 7 bytes, "
      "expected 8");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pattern_is_replaced),
      cmocka_unit_test(inner_values_have_no_other_reader),
      cmocka_unit_test(versions_are_part_of_the_pattern),
      cmocka_unit_test(what_is_not_taken_is_undone),
      cmocka_unit_test(more_preferred_devices_come_first),
      cmocka_unit_test(rules_add_constants),
      cmocka_unit_test(broken_rules_are_named),
  };
  return cmocka_run_group_tests(tests, open_devices, close_devices);
}

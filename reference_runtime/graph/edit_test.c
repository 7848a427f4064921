// SPDX-License-Identifier: Apache-2.0
//
// Edits keep every link in step: after each one the verifier must agree, and a link broken by
// hand must be found. Expected states follow from the definition of each edit.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

typedef struct fixture {
  rt_graph *graph;
  rt_value *x, *w;
  rt_node *conv, *relu, *add;  // add(relu(conv(x, w)), conv)
} fixture;

static rt_node *add_node(rt_graph *graph, const char *op, rt_value *a, rt_value *b,
                         rt_node *before) {
  rt_value *inputs[] = {a, b};
  const rt_node_desc desc = {
      .op = op, .opset = 13, .inputs = inputs, .input_count = b ? 2 : 1, .output_count = 1};
  rt_node *node = NULL;
  assert_int_equal(rt_graph_add_node(graph, &desc, before, &node, NULL), OPS_OK);
  return node;
}

static void assert_sound(const rt_graph *graph) {
  ops_error error = OPS_ERROR_INIT;
  if (rt_graph_verify(graph, &error) != OPS_OK) fail_msg("%s", error.message);
}

static int setup(void **state) {
  static fixture f;
  const float zero = 0;
  rt_constant *weight;
  assert_int_equal(rt_graph_create("g", &f.graph, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_input(f.graph, "x", NULL, &f.x, NULL), OPS_OK);
  assert_int_equal(rt_constant_create(OPS_TYPE_FLOAT, 0, NULL, &zero, &weight, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_constant(f.graph, "w", weight, &f.w, NULL), OPS_OK);
  rt_constant_release(weight);
  f.conv = add_node(f.graph, "Conv", f.x, f.w, NULL);
  f.relu = add_node(f.graph, "Relu", f.conv->outputs[0], NULL, NULL);
  f.add = add_node(f.graph, "Add", f.relu->outputs[0], f.conv->outputs[0], NULL);
  assert_int_equal(rt_graph_add_output(f.graph, "y", f.add->outputs[0], NULL, NULL), OPS_OK);
  assert_sound(f.graph);
  *state = &f;
  return 0;
}

static int teardown(void **state) {
  rt_graph_destroy(((fixture *)*state)->graph);
  return 0;
}

static void uses_follow_operands(void **state) {
  fixture *f = *state;
  assert_int_equal(f->conv->outputs[0]->use_count, 2);
  assert_int_equal(f->w->type.kind, RT_TYPE_TENSOR);
  assert_ptr_equal(rt_value_sole_consumer(f->relu->outputs[0]), f->add);
  assert_null(rt_value_sole_consumer(f->conv->outputs[0]));
  assert_null(rt_value_sole_consumer(f->add->outputs[0]));
  assert_int_equal(rt_node_set_operand(f->add, 1, f->x, NULL), OPS_OK);
  assert_ptr_equal(rt_value_sole_consumer(f->conv->outputs[0]), f->relu);
  assert_int_equal(rt_node_set_operand(f->add, 1, NULL, NULL), OPS_OK);
  assert_int_equal(f->x->use_count, 1);
  assert_sound(f->graph);
}

static void replacing_includes_outputs(void **state) {
  fixture *f = *state;
  rt_node *sigmoid = add_node(f->graph, "Sigmoid", f->relu->outputs[0], NULL, NULL);
  assert_int_equal(rt_value_replace_uses(f->add->outputs[0], sigmoid->outputs[0], NULL),
                   OPS_OK);
  assert_ptr_equal(f->graph->outputs[0], sigmoid->outputs[0]);
  assert_string_equal(f->graph->output_names[0], "y");
  assert_int_equal(rt_graph_remove_node(f->graph, f->add, NULL), OPS_OK);
  assert_int_equal(f->conv->outputs[0]->use_count, 1);
  assert_int_equal(f->graph->node_count, 3);
  assert_sound(f->graph);
}

static void order_is_guarded(void **state) {
  fixture *f = *state;
  ops_error error = OPS_ERROR_INIT;
  rt_node *node;
  rt_value *late = f->add->outputs[0];
  const rt_node_desc desc = {
      .op = "Relu", .inputs = &late, .input_count = 1, .output_count = 1};
  assert_int_equal(rt_graph_add_node(f->graph, &desc, f->relu, &node, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(rt_node_set_operand(f->relu, 0, late, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(rt_value_replace_uses(f->x, late, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(rt_graph_move_node(f->graph, f->conv, NULL, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(rt_graph_remove_node(f->graph, f->conv, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "still read"));
  assert_sound(f->graph);
  rt_node *free_node = add_node(f->graph, "Neg", f->x, NULL, NULL);
  assert_int_equal(rt_graph_move_node(f->graph, free_node, f->conv, NULL), OPS_OK);
  assert_ptr_equal(f->graph->first, free_node);
  assert_sound(f->graph);
}

// More insertions at one place than a gap between order numbers has room for.
static void many_nodes_fit_before_one(void **state) {
  fixture *f = *state;
  for (int i = 0; i < 200; ++i) {
    rt_node *node = add_node(f->graph, "Neg", f->x, NULL, i % 2 ? f->graph->first : f->relu);
    assert_true(rt_node_precedes(node, f->relu));
  }
  assert_sound(f->graph);
}

static void inserts_on_edges(void **state) {
  fixture *f = *state;
  const rt_node_desc cast = {.op = "Cast", .opset = 13};
  rt_node *node;
  assert_int_equal(rt_graph_insert_on_use(f->graph, (rt_use){f->add, 1}, &cast, &node, NULL),
                   OPS_OK);
  assert_ptr_equal(f->add->operands[1], node->outputs[0]);
  assert_ptr_equal(node->operands[0], f->conv->outputs[0]);
  assert_ptr_equal(f->relu->operands[0], f->conv->outputs[0]);
  assert_ptr_equal(node->next, f->add);
  assert_int_equal(rt_graph_insert_on_output(f->graph, 0, &cast, &node, NULL), OPS_OK);
  assert_ptr_equal(f->graph->outputs[0], node->outputs[0]);
  assert_ptr_equal(f->graph->last, node);
  assert_sound(f->graph);
}

static void attributes_change(void **state) {
  fixture *f = *state;
  const int64_t pads[] = {1, 2};
  uint32_t count;
  assert_int_equal(rt_node_set_attr_int(f->conv, "group", 2, NULL), OPS_OK);
  assert_int_equal(rt_node_set_attr_int(f->conv, "group", 4, NULL), OPS_OK);
  assert_int_equal(rt_node_set_attr_ints(f->conv, "pads", pads, 2, NULL), OPS_OK);
  assert_int_equal(rt_node_set_attr_string(f->conv, "auto_pad", "VALID", NULL), OPS_OK);
  assert_int_equal(rt_attrs_int(&f->conv->op.attrs, "group", 1), 4);
  assert_int_equal(rt_attrs_ints(&f->conv->op.attrs, "pads", &count)[1], 2);
  assert_true(rt_attrs_string_is(&f->conv->op.attrs, "auto_pad", "VALID"));
  assert_int_equal(rt_node_remove_attr(f->conv, "group", NULL), OPS_OK);
  assert_int_equal(rt_attrs_int(&f->conv->op.attrs, "group", 1), 1);
  assert_int_equal(f->conv->op.attrs.count, 2);
  assert_int_equal(rt_node_set_op(f->relu, "Elu", NULL, 0, NULL), OPS_OK);
  assert_true(rt_op_is(&f->relu->op, "Elu"));
  assert_int_equal(f->relu->op.opset, 13);
}

static void posts_read_operands(void **state) {
  fixture *f = *state;
  const rt_op add = {.name = "Add", .domain = "", .opset = 13};
  const rt_op relu = {.name = "Relu", .domain = "", .opset = 13};
  assert_int_equal(rt_node_append_post(f->conv, &add, &f->x, 1, 1, NULL), OPS_OK);
  assert_int_equal(rt_node_append_post(f->conv, &relu, NULL, 0, 0, NULL), OPS_OK);
  assert_int_equal(f->conv->operand_count, 3);
  assert_ptr_equal(f->conv->operands[f->conv->posts[0].first_operand], f->x);
  assert_int_equal(f->x->use_count, 2);
  assert_sound(f->graph);
  // A new input moves the operands of the chain.
  assert_int_equal(rt_node_set_input_count(f->conv, 3, NULL), OPS_OK);
  assert_int_equal(rt_node_set_operand(f->conv, 2, f->w, NULL), OPS_OK);
  assert_int_equal(f->conv->posts[0].first_operand, 3);
  assert_sound(f->graph);
  assert_int_equal(rt_node_set_input_count(f->conv, 2, NULL), OPS_OK);
  assert_ptr_equal(f->conv->operands[f->conv->posts[0].first_operand], f->x);
  assert_sound(f->graph);
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_node_append_post(f->conv, &add, &f->add->outputs[0], 1, 0, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(rt_node_clear_posts(f->conv, NULL), OPS_OK);
  assert_int_equal(f->x->use_count, 1);
  assert_sound(f->graph);
}

static void posts_become_nodes(void **state) {
  fixture *f = *state;
  const rt_op add = {.name = "Add", .domain = "", .opset = 13};
  const rt_op relu = {.name = "Relu", .domain = "", .opset = 13};
  const uint32_t readers = f->conv->outputs[0]->use_count;
  char name[64];
  snprintf(name, sizeof name, "%s", f->conv->outputs[0]->name);
  assert_int_equal(rt_node_append_post(f->conv, &add, &f->x, 1, 1, NULL), OPS_OK);
  assert_int_equal(rt_node_append_post(f->conv, &relu, NULL, 0, 0, NULL), OPS_OK);
  assert_int_equal(rt_node_detach_posts(f->conv, NULL), OPS_OK);
  assert_sound(f->graph);
  assert_int_equal(f->conv->post_count, 0);
  const rt_node *sum = f->conv->next, *last = sum->next;
  assert_true(rt_op_is(&sum->op, "Add"));
  assert_ptr_equal(sum->operands[0], f->x);
  assert_ptr_equal(sum->operands[1], f->conv->outputs[0]);
  assert_true(rt_op_is(&last->op, "Relu"));
  assert_string_equal(last->outputs[0]->name, name);
  assert_int_equal(last->outputs[0]->use_count, readers);
  assert_int_equal(f->conv->outputs[0]->use_count, 1);
}

static void bodies_capture(void **state) {
  fixture *f = *state;
  rt_graph *body;
  rt_value *inner, *again;
  assert_int_equal(rt_graph_create_body(f->graph, "then", &body, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_capture(body, f->x, &inner, NULL), OPS_OK);
  rt_node *neg = add_node(body, "Neg", inner, NULL, NULL);
  assert_int_equal(rt_graph_add_output(body, "r", neg->outputs[0], NULL, NULL), OPS_OK);
  const rt_attr attr = {
      .name = "then_branch", .kind = RT_ATTR_GRAPH, .count = 1, .graphs = &body};
  const rt_node_desc desc = {.op = "If",
                             .opset = 13,
                             .inputs = &f->w,
                             .input_count = 1,
                             .output_count = 1,
                             .attrs = &attr,
                             .attr_count = 1};
  rt_node *node;
  assert_int_equal(rt_graph_add_node(f->graph, &desc, NULL, &node, NULL), OPS_OK);
  assert_int_equal(node->capture_count, 1);
  assert_ptr_equal(node->operands[1], f->x);
  assert_ptr_equal(rt_node_body(node, 0), body);
  assert_sound(f->graph);
  // Replacing the outer value reaches the capture; a later capture becomes an operand.
  assert_int_equal(rt_value_replace_uses(f->x, f->w, NULL), OPS_OK);
  assert_ptr_equal(inner->outer, f->w);
  assert_int_equal(rt_graph_add_capture(body, f->relu->outputs[0], &inner, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_capture(body, f->relu->outputs[0], &again, NULL), OPS_OK);
  assert_ptr_equal(again, inner);
  assert_int_equal(node->operand_count, 3);
  assert_sound(f->graph);
  assert_int_equal(rt_graph_remove_value(body, inner, NULL), OPS_OK);
  assert_int_equal(node->operand_count, 2);
  assert_sound(f->graph);
  assert_int_equal(rt_graph_remove_node(f->graph, node, NULL), OPS_OK);
  assert_sound(f->graph);
}

static void names_stay_unique(void **state) {
  fixture *f = *state;
  rt_value *second;
  assert_int_equal(rt_graph_add_input(f->graph, "x", NULL, &second, NULL), OPS_OK);
  assert_string_not_equal(second->name, "x");
  assert_memory_equal(second->name, "x", 1);
  assert_ptr_equal(rt_graph_find_value(f->graph, "x"), f->x);
  assert_int_equal(rt_value_rename(f->relu->outputs[0], "r", NULL), OPS_OK);
  assert_ptr_equal(rt_graph_find_value(f->graph, "r"), f->relu->outputs[0]);
  assert_null(rt_graph_find_value(f->graph, "Relu_1"));
  assert_sound(f->graph);
}

static void origins_accumulate(void **state) {
  fixture *f = *state;
  assert_int_equal(rt_node_add_origins_of(f->conv, f->relu, NULL), OPS_OK);
  assert_int_equal(rt_node_add_origins_of(f->conv, f->relu, NULL), OPS_OK);
  assert_int_equal(rt_node_add_origins_of(f->add, f->conv, NULL), OPS_OK);
  assert_int_equal(f->add->origin_count, 1);
  assert_string_equal(f->add->origins[0], f->relu->name);
}

static void verifier_finds_broken_links(void **state) {
  fixture *f = *state;
  ops_error error = OPS_ERROR_INIT;
  rt_value *real = f->relu->operands[0];
  f->relu->operands[0] = f->x;
  assert_int_equal(rt_graph_verify(f->graph, &error), OPS_ERROR_INTERNAL);
  f->relu->operands[0] = real;
  const uint64_t order = f->relu->order;
  f->relu->order = 0;
  assert_int_equal(rt_graph_verify(f->graph, &error), OPS_ERROR_INTERNAL);
  f->relu->order = order;
  f->x->use_count--;
  assert_int_equal(rt_graph_verify(f->graph, &error), OPS_ERROR_INTERNAL);
  f->x->use_count++;
  f->graph->node_count++;
  assert_int_equal(rt_graph_verify(f->graph, &error), OPS_ERROR_INTERNAL);
  f->graph->node_count--;
  f->add->outputs[0]->output_count = 0;
  assert_int_equal(rt_graph_verify(f->graph, &error), OPS_ERROR_INTERNAL);
  assert_non_null(strstr(error.message, "outputs"));
  f->add->outputs[0]->output_count = 1;
  assert_sound(f->graph);
}

static void frozen_inputs_are_constants(void **state) {
  fixture *f = *state;
  const float one = 1;
  rt_constant *constant = NULL;
  rt_value *input = NULL;
  assert_int_equal(rt_graph_add_input(f->graph, "d", NULL, &input, NULL), OPS_OK);
  assert_int_equal(rt_graph_freeze_input(f->graph, input, NULL), OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(rt_constant_create(OPS_TYPE_FLOAT, 0, NULL, &one, &constant, NULL), OPS_OK);
  assert_int_equal(rt_graph_set_input_default(input, constant, NULL), OPS_OK);
  rt_constant_release(constant);
  assert_null(rt_value_constant(input));
  assert_int_equal(rt_graph_freeze_input(f->graph, input, NULL), OPS_OK);
  assert_non_null(rt_value_constant(input));
  assert_int_equal(f->graph->input_count, 1);
  assert_ptr_equal(f->graph->inputs[0], f->x);
  assert_sound(f->graph);
}

static void prints_a_line_a_node(void **state) {
  fixture *f = *state;
  char *text = NULL;
  size_t size = 0;
  const rt_op relu = {.name = "Relu", .domain = "", .opset = 13};
  assert_int_equal(rt_node_append_post(f->add, &relu, NULL, 0, 0, NULL), OPS_OK);
  assert_int_equal(rt_node_set_attr_int(f->conv, "group", 2, NULL), OPS_OK);
  FILE *file = open_memstream(&text, &size);
  assert_non_null(file);
  rt_graph_print(f->graph, file);
  fclose(file);
  assert_non_null(strstr(text, "%Conv_0: ? = Conv@13 \"Conv_0\"(%x, %w) {group=2}\n"));
  assert_non_null(strstr(text, "Add@13 \"Add_2\"(%Relu_1, %Conv_0) |> Relu@13(^)\n"));
  assert_non_null(strstr(text, "return y = %Add_2"));
  free(text);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(uses_follow_operands),
      TEST(replacing_includes_outputs),
      TEST(order_is_guarded),
      TEST(many_nodes_fit_before_one),
      TEST(inserts_on_edges),
      TEST(attributes_change),
      TEST(posts_read_operands),
      TEST(posts_become_nodes),
      TEST(bodies_capture),
      TEST(names_stay_unique),
      TEST(origins_accumulate),
      TEST(verifier_finds_broken_links),
      TEST(frozen_inputs_are_constants),
      TEST(prints_a_line_a_node),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// Partitions of random graphs against their definition: every node in one unit, every unit
// after those whose values it reads, a group's interface exactly what crosses its border. The
// provider "probe" proposes all Adds of a graph as one group, which closes cycles more often
// than not.
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
#include <ops_support/node.h>

#include "partition/partition.h"

#define MAX_NODES 40

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state % limit);
}

// `count` nodes, Add or Neg, over values of one shape; the last and some others are outputs.
static rt_graph *random_graph(uint32_t count) {
  rt_graph *graph = NULL;
  rt_value *values[MAX_NODES + 2];
  const rt_dim dims[1] = {rt_dim_const(8)};
  const rt_type type = rt_type_tensor(OPS_TYPE_FLOAT, 1, dims);
  assert_int_equal(rt_graph_create("random", &graph, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_input(graph, "x", &type, &values[0], NULL), OPS_OK);
  assert_int_equal(rt_graph_add_input(graph, "w", &type, &values[1], NULL), OPS_OK);
  for (uint32_t i = 0; i < count; ++i) {
    rt_value *inputs[2] = {values[random_below(i + 2)], values[random_below(i + 2)]};
    const int add = random_below(3) != 0;
    const rt_node_desc desc = {.op = add ? "Add" : "Neg",
                               .opset = 13,
                               .inputs = inputs,
                               .input_count = add ? 2 : 1,
                               .output_count = 1};
    rt_node *node = NULL;
    assert_int_equal(rt_graph_add_node(graph, &desc, NULL, &node, NULL), OPS_OK);
    values[i + 2] = node->outputs[0];
    assert_int_equal(rt_value_set_type(values[i + 2], &type, NULL), OPS_OK);
    if (i + 1 == count || random_below(5) == 0)
      assert_int_equal(rt_graph_add_output(graph, NULL, values[i + 2], NULL, NULL), OPS_OK);
  }
  return graph;
}

static int unit_has(const rt_unit *unit, const rt_node *node) {
  for (uint32_t i = 0; i < unit->node_count; ++i)
    if (unit->nodes[i] == node) return 1;
  return 0;
}

static int lists(rt_value *const *values, uint32_t count, const rt_value *value) {
  for (uint32_t i = 0; i < count; ++i)
    if (values[i] == value) return 1;
  return 0;
}

static void check_unit(const rt_unit *unit, const uint8_t *done) {
  for (uint32_t i = 0; i < unit->node_count; ++i) {
    const rt_node *node = unit->nodes[i];
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      const rt_value *value = node->operands[k];
      if (value->producer && unit_has(unit, value->producer)) continue;
      assert_true(lists(unit->inputs, unit->input_count, value));
      if (value->producer) assert_true(done[value->producer->id]);
    }
    const rt_value *output = node->outputs[0];
    int outside = output->output_count > 0;
    for (uint32_t k = 0; k < output->use_count; ++k)
      outside |= !unit_has(unit, output->uses[k].node);
    if (unit->group >= 0)
      assert_int_equal(outside, lists(unit->outputs, unit->output_count, output));
  }
  for (uint32_t i = 0; i < unit->input_count; ++i)
    if (unit->inputs[i]->producer) assert_false(unit_has(unit, unit->inputs[i]->producer));
}

static uint32_t check_partition(const rt_graph *graph, const rt_partition *partition) {
  uint8_t done[MAX_NODES * 2] = {0};
  uint32_t nodes = 0, largest = 0;
  for (uint32_t i = 0; i < partition->unit_count; ++i) {
    const rt_unit *unit = &partition->units[i];
    assert_int_equal(unit->index, i);
    check_unit(unit, done);
    for (uint32_t k = 0; k < unit->node_count; ++k) {
      assert_int_equal(done[unit->nodes[k]->id], 0);
      done[unit->nodes[k]->id] = 1;
      nodes++;
    }
    if (unit->node_count > largest) largest = unit->node_count;
  }
  assert_int_equal(nodes, graph->node_count);
  assert_int_equal(partition->placement_count, graph->node_count);
  for (uint32_t i = 0; i < partition->placement_count; ++i)
    assert_true(unit_has(partition->placements[i].unit, partition->placements[i].node));
  return largest;
}

static void open_devices(rt_device **devices, const ops_key_value *options, uint64_t count) {
  const ops_host_options host = {0};
  const rt_device_spec probe = {
      .provider = TEST_PROBE, .options = options, .option_count = count};
  const rt_device_spec reference = {.provider = TEST_REFERENCE};
  ops_error error = OPS_ERROR_INIT;
  if (rt_device_open(&probe, &host, 0, &devices[0], &error) != OPS_OK)
    fail_msg("%s", error.message);
  if (rt_device_open(&reference, &host, 1, &devices[1], &error) != OPS_OK)
    fail_msg("%s", error.message);
}

static void close_devices(rt_device **devices) {
  rt_device_close(devices[1]);
  rt_device_close(devices[0]);
}

static void groups_never_close_a_cycle(void **state) {
  (void)state;
  rt_device *devices[2];
  open_devices(devices, NULL, 0);
  uint32_t largest = 0;
  for (int trial = 0; trial < 200; ++trial) {
    rt_graph *graph = random_graph(1 + random_below(MAX_NODES - 8));
    rt_partition *partition = NULL;
    ops_error error = OPS_ERROR_INIT;
    if (rt_partition_create(graph, devices, 2, NULL, &partition, &error) != OPS_OK)
      fail_msg("%s", error.message);
    const uint32_t size = check_partition(graph, partition);
    if (size > largest) largest = size;
    rt_partition_destroy(partition);
    rt_graph_destroy(graph);
  }
  assert_true(largest > 5);  // cutting leaves groups worth having
  close_devices(devices);
}

static void declined_groups_are_given_up(void **state) {
  (void)state;
  const ops_key_value two[] = {{OPS_STR("max_group"), OPS_STR("2")}};
  rt_device *devices[2];
  open_devices(devices, two, 1);
  uint32_t declined = 0;
  for (int trial = 0; trial < 100; ++trial) {
    rt_graph *graph = random_graph(1 + random_below(MAX_NODES - 8));
    rt_partition *partition = NULL;
    assert_int_equal(rt_partition_create(graph, devices, 2, NULL, &partition, NULL), OPS_OK);
    assert_true(check_partition(graph, partition) <= 2);
    declined += partition->declined;
    rt_partition_destroy(partition);
    rt_graph_destroy(graph);
  }
  assert_true(declined > 20);
  close_devices(devices);
}

// ---- Views ----------------------------------------------------------------------------------

static void views_carry_defaults_and_types(void **state) {
  (void)state;
  rt_graph *graph = NULL;
  rt_value *inputs[3] = {NULL, NULL, NULL};
  assert_int_equal(rt_graph_create("g", &graph, NULL), OPS_OK);
  const rt_dim n = rt_symbols_named(graph->symbols, "N");
  const rt_dim dims[2] = {n, rt_dim_const(4)};
  const rt_type type = rt_type_tensor(OPS_TYPE_FLOAT, 2, dims);
  const float numbers[4] = {1, 2, 3, 4};
  const int64_t shape[2] = {1, 4};
  rt_constant *constant = NULL;
  assert_int_equal(rt_graph_add_input(graph, "a", &type, &inputs[0], NULL), OPS_OK);
  assert_int_equal(rt_constant_create(OPS_TYPE_FLOAT, 2, shape, numbers, &constant, NULL),
                   OPS_OK);
  assert_int_equal(rt_graph_add_constant(graph, "b", constant, &inputs[1], NULL), OPS_OK);
  rt_constant_release(constant);
  const int64_t trans = 1;
  const rt_attr attr = {.name = "transB", .kind = RT_ATTR_INT, .count = 1, .ints = &trans};
  const rt_node_desc desc = {.op = "Gemm",
                             .opset = 13,
                             .inputs = inputs,
                             .input_count = 3,
                             .output_count = 1,
                             .attrs = &attr,
                             .attr_count = 1};
  rt_node *node = NULL;
  assert_int_equal(rt_graph_add_node(graph, &desc, NULL, &node, NULL), OPS_OK);
  rt_views views;
  const ops_node *view = NULL;
  assert_int_equal(rt_views_init(&views, graph, NULL), OPS_OK);
  assert_int_equal(rt_views_node(&views, node, &view, NULL), OPS_OK);
  // Gemm-13: alpha and beta 1.0, transA 0 by default; transB is the node's own.
  assert_int_equal(view->attribute_count, 4);
  assert_true(ops_node_float(view, "alpha", -1) == 1.0f);
  assert_true(ops_node_float(view, "beta", -1) == 1.0f);
  assert_int_equal(ops_node_int(view, "transA", -1), 0);
  assert_int_equal(ops_node_int(view, "transB", -1), 1);
  const ops_operand *a = ops_node_input(view, 0), *b = ops_node_input(view, 1);
  assert_int_equal(a->type->dims[0], -1);
  assert_memory_equal(a->type->symbols[0].data, "N", 1);
  assert_int_equal(a->type->dims[1], 4);
  assert_null(a->constant);
  assert_memory_equal(ops_operand_contents(b)->memory, numbers, sizeof numbers);
  assert_null(ops_node_input(view, 2));  // omitted
  rt_views_finish(&views);
  rt_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(groups_never_close_a_cycle),
      cmocka_unit_test(declined_groups_are_given_up),
      cmocka_unit_test(views_carry_defaults_and_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

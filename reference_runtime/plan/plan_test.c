// SPDX-License-Identifier: Apache-2.0
//
// Plans of random graphs on an asynchronous device with two queues (mynpu) and a synchronous
// one (reference, or cpu, whose Identity is a view), against the definition of a race: which
// actions are over before another begins is computed from queues and waits alone; any two
// accesses to overlapping memory of which one writes must be so ordered, and what an action
// reads must be what was last written there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <ops_support/error.h>

#include "plan/plan.h"

#define MAX_NODES 50
#define MAX_ACTIONS 400
#define MAX_ACCESSES 4000

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state % limit);
}

static const char *const ops[] = {"Relu", "Identity", "Neg", "Abs", "Add", "Mul", "Sub"};
#define UNARY_OPS 4
#define OPS (sizeof ops / sizeof ops[0])

static rt_graph *random_graph(uint32_t count) {
  rt_graph *graph = NULL;
  rt_value *values[MAX_NODES + 2];
  const rt_dim dims[1] = {rt_dim_const(1 + random_below(100))};
  const rt_type type = rt_type_tensor(OPS_TYPE_FLOAT, 1, dims);
  assert_int_equal(rt_graph_create("random", &graph, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_input(graph, "x", &type, &values[0], NULL), OPS_OK);
  assert_int_equal(rt_graph_add_input(graph, "w", &type, &values[1], NULL), OPS_OK);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t near = i + 2 < 8 ? i + 2 : 8;
    const uint32_t kind = random_below(OPS);
    rt_value *inputs[2] = {values[i + 1 - random_below(near)], values[random_below(i + 2)]};
    const rt_node_desc desc = {.op = ops[kind],
                               .opset = 13,
                               .inputs = inputs,
                               .input_count = kind < UNARY_OPS ? 1 : 2,
                               .output_count = 1};
    rt_node *node = NULL;
    assert_int_equal(rt_graph_add_node(graph, &desc, NULL, &node, NULL), OPS_OK);
    values[i + 2] = node->outputs[0];
    assert_int_equal(rt_value_set_type(values[i + 2], &type, NULL), OPS_OK);
    if (i + 1 == count || random_below(6) == 0)
      assert_int_equal(rt_graph_add_output(graph, NULL, values[i + 2], NULL, NULL), OPS_OK);
  }
  return graph;
}

static int32_t no_fetch(void *context, const rt_value *value, const void **out_data,
                        uint64_t *out_size, ops_error *error) {
  (void)context, (void)value, (void)out_data, (void)out_size;
  return ops_error_set(error, OPS_ERROR_PRECONDITION, "no data");
}

static rt_plan *build(const rt_graph *graph, const rt_partition *partition, int no_reuse) {
  rt_bump bump = {0};
  const int64_t dim = graph->inputs[0]->type.dims[0].value;
  const ops_type_info *type =
      rt_type_info_tensor(&bump, OPS_VALUE_TENSOR, OPS_TYPE_FLOAT, 1, &dim);
  const ops_type_info *types[2] = {type, type};
  const rt_plan_request request = {.graph = graph,
                                   .partition = partition,
                                   .types = types,
                                   .type_count = 2,
                                   .fetch = no_fetch,
                                   .no_reuse = no_reuse};
  rt_plan *plan = NULL;
  ops_error error = OPS_ERROR_INIT;
  if (rt_plan_build(&request, &plan, &error) != OPS_OK) fail_msg("%s", error.message);
  rt_bump_finish(&bump);
  assert_true(plan->finished);
  assert_true(plan->action_count <= MAX_ACTIONS);
  return plan;
}

// ---- Happens before -------------------------------------------------------------------------

static uint8_t over[MAX_ACTIONS][MAX_ACTIONS];  // over[j][i]: i is over before j begins

static void add_before(uint32_t j, uint32_t i) {
  over[j][i] = 1;
  for (uint32_t k = 0; k < i; ++k) over[j][k] |= over[i][k];
}

static int same_queue(const rt_action *a, const rt_action *b) {
  return a->queue != RT_QUEUE_NONE && a->device == b->device && a->queue == b->queue;
}

static void find_order(const rt_plan *plan) {
  memset(over, 0, sizeof over);
  for (uint32_t j = 0; j < plan->action_count; ++j) {
    for (uint32_t i = 0; i < j; ++i) {
      const rt_action *before = &plan->actions[i];
      if (before->queue == RT_QUEUE_NONE || same_queue(before, &plan->actions[j]))
        add_before(j, i);
    }
    for (uint32_t k = 0; k < plan->actions[j].wait_count; ++k) {
      assert_true(plan->actions[j].waits[k] < j);
      add_before(j, plan->actions[j].waits[k]);
    }
  }
}

// ---- Accesses -------------------------------------------------------------------------------

typedef struct access {
  uint32_t action;
  uint32_t buffer;
  int writes;
} access;

static uint32_t list_accesses(const rt_plan *plan, access *list) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->action_count; ++i) {
    const rt_action *action = &plan->actions[i];
    for (uint32_t k = 0; k < action->input_count; ++k)
      if (action->inputs[k] != RT_NO_BUFFER) list[count++] = (access){i, action->inputs[k], 0};
    for (uint32_t k = 0; k < action->output_count; ++k)
      if (action->outputs[k] != RT_NO_BUFFER)
        list[count++] = (access){i, action->outputs[k], 1};
    if (action->workspace != RT_NO_BUFFER) list[count++] = (access){i, action->workspace, 1};
    assert_true(count < MAX_ACCESSES - 16);
  }
  return count;
}

static int share_memory(const rt_plan *plan, uint32_t x, uint32_t y) {
  const rt_buffer *a = &plan->buffers[x], *b = &plan->buffers[y];
  if (x == y) return 1;
  return a->storage == RT_STORAGE_ARENA && b->storage == RT_STORAGE_ARENA &&
         a->place == b->place && a->offset < b->offset + b->bytes &&
         b->offset < a->offset + a->bytes;
}

static void check_races(const rt_plan *plan, const access *list, uint32_t count) {
  for (uint32_t j = 0; j < count; ++j)
    for (uint32_t i = 0; i < j; ++i) {
      const access *a = &list[i], *b = &list[j];
      if (a->action == b->action || !(a->writes || b->writes)) continue;
      if (share_memory(plan, a->buffer, b->buffer) && !over[b->action][a->action])
        fail_msg("action %u '%s' may run into action %u '%s'", b->action,
                 plan->actions[b->action].name, a->action, plan->actions[a->action].name);
    }
}

static uint32_t viewed(const rt_plan *plan, uint32_t buffer) {
  while (plan->buffers[buffer].viewed) buffer = plan->buffers[buffer].viewed - 1;
  return buffer;
}

// The last write to the memory that an access reads must have been to the same buffer, or to
// the one that it is a view of.
static void check_contents(const rt_plan *plan, const access *list, uint32_t count) {
  for (uint32_t j = 0; j < count; ++j) {
    const int made = plan->buffers[list[j].buffer].storage == RT_STORAGE_ARENA ||
                     plan->buffers[list[j].buffer].storage == RT_STORAGE_OUTPUT;
    if (list[j].writes || !made) continue;
    uint32_t last = UINT32_MAX;
    for (uint32_t i = 0; i < count; ++i)
      if (list[i].writes && list[i].action < list[j].action &&
          share_memory(plan, list[i].buffer, list[j].buffer))
        last = list[i].buffer;
    assert_int_equal(last, viewed(plan, list[j].buffer));
  }
}

// Memory that an action overwrites in place must not be what it reads as another input.
static uint32_t check_in_place(const rt_plan *plan) {
  uint32_t twice = 0;
  for (uint32_t i = 0; i < plan->action_count; ++i) {
    const rt_action *action = &plan->actions[i];
    if (action->kind != RT_ACTION_KERNEL) continue;
    for (uint32_t k = 1; k < action->input_count; ++k)
      twice += action->inputs[k] != RT_NO_BUFFER && action->inputs[k] == action->inputs[0];
    for (uint64_t k = 0; k < action->request->alias_count; ++k) {
      const uint32_t taken = (uint32_t)action->request->aliases[k].input;
      for (uint32_t n = 0; n < action->input_count; ++n)
        if (n != taken && action->inputs[n] != RT_NO_BUFFER)
          assert_false(share_memory(plan, action->inputs[n], action->inputs[taken]));
    }
  }
  return twice;
}

// A view is where its source is, holds as much, and is what no action writes.
static uint32_t check_views(const rt_plan *plan) {
  uint32_t views = 0;
  for (uint32_t i = 0; i < plan->buffer_count; ++i) {
    const rt_buffer *view = &plan->buffers[i];
    if (!view->viewed) continue;
    const rt_buffer *source = &plan->buffers[view->viewed - 1];
    assert_int_equal(view->storage, source->storage);
    assert_int_equal(view->place, source->place);
    assert_int_equal(view->offset, source->offset);
    assert_int_equal(view->index, source->index);
    assert_int_equal(view->bytes, source->bytes);
    for (uint32_t k = 0; k < plan->action_count; ++k)
      for (uint32_t n = 0; n < plan->actions[k].output_count; ++n)
        assert_int_not_equal(plan->actions[k].outputs[n], i);
    views++;
  }
  return views;
}

static void check_plan(const rt_graph *graph, const rt_plan *plan) {
  static access list[MAX_ACCESSES];
  const uint32_t count = list_accesses(plan, list);
  find_order(plan);
  check_races(plan, list, count);
  check_contents(plan, list, count);
  for (uint32_t i = 0; i < plan->buffer_count; ++i) {
    const rt_buffer *buffer = &plan->buffers[i];
    if (buffer->storage != RT_STORAGE_ARENA) continue;
    assert_int_equal(buffer->offset % 64, 0);
    int inside = buffer->bytes == 0;
    for (uint32_t k = 0; k < plan->arena_count; ++k)
      inside |= plan->arenas[k].place == buffer->place &&
                buffer->offset + buffer->bytes <= plan->arenas[k].stats.planned;
    assert_true(inside);
  }
  for (uint32_t i = 0; i < graph->output_count; ++i) {
    const rt_buffer *output = &plan->buffers[plan->outputs[i].buffer];
    assert_int_equal(output->storage, RT_STORAGE_OUTPUT);
    assert_int_equal(output->index, i);
    assert_ptr_equal(output->value, graph->outputs[i]);
  }
}

// ---- Tests ----------------------------------------------------------------------------------

typedef struct counts {
  uint32_t waits, copies, in_place, twice, views;
} counts;

static counts check_random_plans(const char *second_provider) {
  const ops_host_options host = {0};
  const rt_device_spec specs[2] = {{.provider = TEST_NPU}, {.provider = second_provider}};
  rt_device *devices[2] = {NULL, NULL};
  ops_error error = OPS_ERROR_INIT;
  counts sum = {0};
  for (uint32_t i = 0; i < 2; ++i)
    if (rt_device_open(&specs[i], &host, i, &devices[i], &error) != OPS_OK)
      fail_msg("%s", error.message);
  for (int trial = 0; trial < 150; ++trial) {
    rt_graph *graph = random_graph(1 + random_below(MAX_NODES - 1));
    rt_partition *partition = NULL;
    assert_int_equal(rt_partition_create(graph, devices, 2, NULL, &partition, NULL), OPS_OK);
    rt_plan *plan = build(graph, partition, trial % 10 == 0);
    check_plan(graph, plan);
    sum.twice += check_in_place(plan);
    const uint32_t views = check_views(plan);
    if (trial % 10 == 0) assert_int_equal(views, 0);
    sum.views += views;
    for (uint32_t i = 0; i < plan->action_count; ++i) {
      sum.waits += plan->actions[i].wait_count;
      sum.copies += plan->actions[i].kind == RT_ACTION_COPY;
      sum.in_place += plan->actions[i].request && plan->actions[i].request->alias_count;
    }
    rt_plan_release(plan);
    rt_partition_destroy(partition);
    rt_graph_destroy(graph);
  }
  rt_device_close(devices[1]);
  rt_device_close(devices[0]);
  return sum;
}

static void no_two_accesses_race(void **state) {
  (void)state;
  const counts sum = check_random_plans(TEST_REFERENCE);
  assert_true(sum.waits > 500 && sum.copies > 500 && sum.in_place > 100 && sum.twice > 20);
  assert_int_equal(sum.views, 0);
}

static void views_do_not_race(void **state) {
  (void)state;
  const counts sum = check_random_plans(TEST_CPU);
  assert_true(sum.waits > 500 && sum.copies > 500 && sum.in_place > 100 && sum.views > 100);
}

static void places_have_numbers_of_their_own(void **state) {
  (void)state;
  rt_device devices[2] = {{.number = 0}, {.number = 3}};
  uint8_t seen[RT_PLACE_COUNT] = {0};
  for (int i = 0; i < 2; ++i)
    for (int32_t kind = 0; kind < OPS_MEMORY_KIND_COUNT; ++kind) {
      const uint32_t place = rt_place(&devices[i], kind);
      assert_true(place < RT_PLACE_COUNT);
      assert_int_equal(rt_place_kind(place), kind);
      if (kind == OPS_MEMORY_HOST) {
        assert_int_equal(place, RT_PLACE_HOST);
        continue;
      }
      assert_int_equal(rt_place_device(place), devices[i].number);
      assert_int_equal(seen[place]++, 0);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_two_accesses_race),
      cmocka_unit_test(views_do_not_race),
      cmocka_unit_test(places_have_numbers_of_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

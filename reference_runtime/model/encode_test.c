// SPDX-License-Identifier: Apache-2.0
//
// Models come back as they were written: each list of the structs, the kinds of attributes,
// data inside the file and beside it. Expected values are what the test put in.
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
#include <unistd.h>

#include "model/encode.h"

#define PATH "model_encode_test.onnx"
#define COUNT 1000

static const int64_t dims[1] = {COUNT};
static float weights[COUNT];

static rt_model_tensor tensor_of(const char *name) {
  return (rt_model_tensor){.name = {name, strlen(name)},
                           .elem_type = OPS_TYPE_FLOAT,
                           .rank = 1,
                           .dims = dims,
                           .element_count = COUNT,
                           .data = weights,
                           .size = sizeof weights};
}

static int setup(void **state) {
  (void)state;
  for (int i = 0; i < COUNT; ++i) weights[i] = (float)i / 4;
  return 0;
}

static int teardown(void **state) {
  (void)state;
  unlink(PATH);
  unlink(PATH ".data");
  return 0;
}

// A graph y = Op(x, w) whose node has attributes of several kinds.
typedef struct parts {
  rt_model_tensor tensors[2];
  rt_model_attribute attributes[6];
  rt_model_node body_node, node;
  rt_model_graph body;
  rt_model_value_info input, output;
  rt_model_function function;
  rt_model_training training;
  rt_model model;
} parts;

static const ops_str inputs[] = {OPS_STR("x"), OPS_STR(""), OPS_STR("w")};
static const ops_str outputs[] = {OPS_STR("y")};
static const ops_str strings[] = {OPS_STR("ab"), OPS_STR("c")};
static const float floats[] = {1.5f, -2};
static const int64_t ints[] = {3, -4, 5};
static const rt_model_opset opsets[] = {{OPS_STR(""), 17}, {OPS_STR("my"), 2}};
static const rt_model_dim shape[] = {{.value = -1, .param = OPS_STR("N")}, {.value = 7}};
static const rt_model_type element = {
    .kind = RT_MODEL_TYPE_TENSOR, .elem_type = OPS_TYPE_FLOAT, .rank = 2, .dims = shape};
static const ops_key_value metadata[] = {{OPS_STR("key"), OPS_STR("value")}};

static void fill(parts *p) {
  memset(p, 0, sizeof *p);
  p->tensors[0] = tensor_of("w");
  p->tensors[1] = tensor_of("v");
  p->body_node = (rt_model_node){.op_type = OPS_STR("Relu"),
                                 .inputs = inputs,
                                 .input_count = 1,
                                 .outputs = outputs,
                                 .output_count = 1};
  p->body = (rt_model_graph){.name = OPS_STR("b"), .nodes = &p->body_node, .node_count = 1};
  p->attributes[0] = (rt_model_attribute){
      .name = OPS_STR("fs"), .kind = RT_MODEL_ATTRIBUTE_FLOATS, .count = 2, .floats = floats};
  p->attributes[1] = (rt_model_attribute){
      .name = OPS_STR("is"), .kind = RT_MODEL_ATTRIBUTE_INTS, .count = 3, .ints = ints};
  p->attributes[2] = (rt_model_attribute){.name = OPS_STR("ss"),
                                          .kind = RT_MODEL_ATTRIBUTE_STRINGS,
                                          .count = 2,
                                          .strings = strings};
  p->attributes[3] = (rt_model_attribute){
      .name = OPS_STR("g"), .kind = RT_MODEL_ATTRIBUTE_GRAPH, .count = 1, .graphs = &p->body};
  p->attributes[4] = (rt_model_attribute){
      .name = OPS_STR("i"), .kind = RT_MODEL_ATTRIBUTE_INT, .count = 1, .ints = ints};
  p->attributes[5] = (rt_model_attribute){
      .name = OPS_STR("t"), .kind = RT_MODEL_ATTRIBUTE_TYPE, .count = 1, .types = &element};
  p->node = (rt_model_node){.name = OPS_STR("n"),
                            .op_type = OPS_STR("Op"),
                            .domain = OPS_STR("my"),
                            .inputs = inputs,
                            .input_count = 3,
                            .outputs = outputs,
                            .output_count = 1,
                            .attributes = p->attributes,
                            .attribute_count = 6};
  p->input = (rt_model_value_info){OPS_STR("x"), element};
  p->output = (rt_model_value_info){
      OPS_STR("y"), {.kind = RT_MODEL_TYPE_SEQUENCE, .rank = -1, .element = &element}};
  p->function = (rt_model_function){.name = OPS_STR("Op"),
                                    .domain = OPS_STR("my"),
                                    .inputs = inputs,
                                    .input_count = 1,
                                    .outputs = outputs,
                                    .output_count = 1,
                                    .nodes = &p->body_node,
                                    .node_count = 1,
                                    .opsets = opsets,
                                    .opset_count = 2};
  p->training = (rt_model_training){
      .algorithm = p->body, .update_bindings = metadata, .update_binding_count = 1};
  p->model = (rt_model){.ir_version = 8,
                        .producer_name = OPS_STR("me"),
                        .model_version = 12,
                        .opsets = opsets,
                        .opset_count = 2,
                        .metadata = metadata,
                        .metadata_count = 1,
                        .functions = &p->function,
                        .function_count = 1,
                        .trainings = &p->training,
                        .training_count = 1,
                        .graph = {.name = OPS_STR("g"),
                                  .nodes = &p->node,
                                  .node_count = 1,
                                  .initializers = p->tensors,
                                  .initializer_count = 2,
                                  .inputs = &p->input,
                                  .input_count = 1,
                                  .outputs = &p->output,
                                  .output_count = 1}};
}

static void assert_text(ops_str text, const char *expected) {
  assert_int_equal(text.size, strlen(expected));
  assert_memory_equal(text.data, expected, text.size);
}

static rt_model *write_and_load(const rt_model *model, uint64_t limit) {
  ops_error error = OPS_ERROR_INIT;
  rt_model *loaded = NULL;
  if (rt_model_write_limited(PATH, model, limit, &error) != OPS_OK)
    fail_msg("%s", error.message);
  if (rt_model_load_file(PATH, NULL, &loaded, &error) != OPS_OK) fail_msg("%s", error.message);
  return loaded;
}

static void everything_returns(void **state) {
  (void)state;
  parts p;
  fill(&p);
  rt_model *model = write_and_load(&p.model, 0);
  assert_int_equal(model->ir_version, 8);
  assert_int_equal(model->model_version, 12);
  assert_text(model->producer_name, "me");
  assert_text(model->metadata[0].value, "value");
  assert_int_equal(model->opset_count, 2);
  assert_int_equal(model->opsets[1].version, 2);
  assert_int_equal(model->function_count, 1);
  assert_int_equal(model->functions[0].opset_count, 2);
  assert_text(model->functions[0].nodes[0].op_type, "Relu");
  assert_int_equal(model->training_count, 1);
  assert_text(model->trainings[0].algorithm.nodes[0].op_type, "Relu");
  assert_int_equal(model->trainings[0].initialization.node_count, 0);
  assert_text(model->trainings[0].update_bindings[0].key, "key");
  const rt_model_graph *graph = &model->graph;
  assert_text(graph->inputs[0].type.dims[0].param, "N");
  assert_int_equal(graph->inputs[0].type.dims[1].value, 7);
  assert_int_equal(graph->outputs[0].type.kind, RT_MODEL_TYPE_SEQUENCE);
  assert_int_equal(graph->outputs[0].type.element->elem_type, OPS_TYPE_FLOAT);
  const rt_model_node *node = &graph->nodes[0];
  assert_int_equal(node->input_count, 3);
  assert_int_equal(node->inputs[1].size, 0);
  assert_text(node->domain, "my");
  assert_int_equal(node->attribute_count, 6);
  assert_memory_equal(node->attributes[0].floats, floats, sizeof floats);
  assert_memory_equal(node->attributes[1].ints, ints, sizeof ints);
  assert_text(node->attributes[2].strings[0], "ab");
  assert_text(node->attributes[3].graphs[0].nodes[0].op_type, "Relu");
  assert_int_equal(node->attributes[4].ints[0], 3);
  assert_int_equal(node->attributes[5].types[0].rank, 2);
  assert_int_equal(graph->initializer_count, 2);
  assert_memory_equal(graph->initializers[0].data, weights, sizeof weights);
  assert_int_not_equal(access(PATH ".data", F_OK), 0);
  rt_model_destroy(model);
}

static void large_data_lie_beside(void **state) {
  (void)state;
  parts p;
  fill(&p);
  const int64_t few[1] = {3};
  p.tensors[1] = (rt_model_tensor){.name = OPS_STR("v"),
                                   .elem_type = OPS_TYPE_FLOAT,
                                   .rank = 1,
                                   .dims = few,
                                   .element_count = 3,
                                   .data = weights,
                                   .size = 12};
  rt_model *model = write_and_load(&p.model, 100);
  const rt_model_tensor *large = &model->graph.initializers[0];
  assert_int_equal(large->is_mapped, 1);
  assert_int_equal(large->size, sizeof weights);
  assert_memory_equal(large->data, weights, sizeof weights);
  assert_int_equal(model->graph.initializers[1].is_mapped, 0);
  assert_memory_equal(model->graph.initializers[1].data, weights, 12);
  rt_model_destroy(model);
}

static void a_place_that_does_not_exist(void **state) {
  (void)state;
  parts p;
  ops_error error = OPS_ERROR_INIT;
  fill(&p);
  assert_int_equal(rt_model_write("no/such/folder/m.onnx", &p.model, &error), OPS_ERROR_IO);
  assert_non_null(strstr(error.message, "no/such/folder/m.onnx"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(everything_returns, setup, teardown),
      cmocka_unit_test_setup_teardown(large_data_lie_beside, setup, teardown),
      cmocka_unit_test_setup_teardown(a_place_that_does_not_exist, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

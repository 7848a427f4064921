// SPDX-License-Identifier: Apache-2.0
//
// Nodes as models: what is written is read back by the loader, which is tested against models
// of the onnx package; what has no place in such a file is refused.
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
#include <unistd.h>

#include "model/model.h"
#include "model/node_file.h"

static char path[] = "/tmp/node_file_XXXXXX";

static int set_up(void **state) {
  (void)state;
  const int fd = mkstemp(path);
  return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state) {
  (void)state;
  return unlink(path);
}

static const int64_t kDims[] = {2, 3};
static const int64_t kStrides[] = {3, 1};
static const ops_type_info kFloat = {.struct_size = sizeof kFloat,
                                     .kind = OPS_VALUE_TENSOR,
                                     .type = OPS_TYPE_FLOAT,
                                     .rank = 2,
                                     .dims = kDims};
static const ops_type_info kUnknown = {.struct_size = sizeof kUnknown,
                                       .kind = OPS_VALUE_TENSOR,
                                       .type = OPS_TYPE_FLOAT,
                                       .rank = -1};
static const float kValues[6] = {1, 2, 3, 4, 5, 6};

static ops_constant constant_of(const float *values) {
  return (ops_constant){.struct_size = sizeof(ops_constant),
                        .format = OPS_CONSTANT_DENSE,
                        .rank = 2,
                        .dims = kDims,
                        .dense = {.kind = OPS_ARG_TENSOR,
                                  .tensor = {.dims = kDims,
                                             .strides = kStrides,
                                             .memory = (void *)values,
                                             .byte_size = sizeof kValues,
                                             .type = OPS_TYPE_FLOAT,
                                             .rank = 2}}};
}

static ops_operand operand(int64_t value, const char *name, const ops_type_info *type,
                           const ops_constant *constant) {
  return (ops_operand){.struct_size = sizeof(ops_operand),
                       .value = value,
                       .name = {name, strlen(name)},
                       .type = type,
                       .constant = constant};
}

static ops_node node_of(const ops_operand *inputs, uint64_t count, const ops_operand *output) {
  return (ops_node){.struct_size = sizeof(ops_node),
                    .name = OPS_STR("some/node"),
                    .op = OPS_STR("Sum"),
                    .opset = 13,
                    .inputs = inputs,
                    .input_count = count,
                    .input_stride = sizeof *inputs,
                    .outputs = output,
                    .output_count = 1,
                    .output_stride = sizeof *output};
}

static void assert_text(ops_str text, const char *expected) {
  assert_int_equal(text.size, strlen(expected));
  assert_memory_equal(text.data, expected, text.size);
}

static const rt_model_graph *load(rt_model **out_model) {
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = rt_model_load_file(path, NULL, out_model, &error);
  if (status != OPS_OK) print_error("%s\n", error.message);
  assert_int_equal(status, OPS_OK);
  return &(*out_model)->graph;
}

// An input, an absent one, a constant of the same name, the first value once more.
static void names_every_value_once(void **state) {
  (void)state;
  const ops_constant constant = constant_of(kValues);
  const ops_operand inputs[] = {operand(0, "x", &kFloat, NULL), operand(-1, "", NULL, NULL),
                                operand(1, "x", &kFloat, &constant),
                                operand(0, "other", &kFloat, NULL)};
  const ops_operand output = operand(7, "x", &kUnknown, NULL);
  const ops_node node = node_of(inputs, 4, &output);
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_node_file_write(path, &node, &error), OPS_OK);
  rt_model *model = NULL;
  const rt_model_graph *graph = load(&model);
  assert_int_equal(graph->node_count, 1);
  assert_int_equal(graph->input_count, 1);
  assert_int_equal(graph->initializer_count, 1);
  assert_int_equal(graph->output_count, 1);
  const rt_model_node *read = &graph->nodes[0];
  assert_text(read->op_type, "Sum");
  assert_text(read->name, "some/node");
  assert_int_equal(read->input_count, 4);
  assert_text(read->inputs[0], "x");
  assert_text(read->inputs[1], "");
  assert_text(read->inputs[2], "x_2");
  assert_text(read->inputs[3], "x");
  assert_text(read->outputs[0], "x_4");
  assert_text(graph->initializers[0].name, "x_2");
  assert_memory_equal(graph->initializers[0].data, kValues, sizeof kValues);
  rt_model_destroy(model);
}

static void writes_attributes_of_every_plain_kind(void **state) {
  (void)state;
  const float floats[] = {0.5f, 2};
  const int64_t ints[] = {-1, INT64_MAX};
  const ops_str strings[] = {OPS_STR("a"), OPS_STR("")};
  const ops_constant constant = constant_of(kValues);
  const ops_constant *constants[] = {&constant};
  const ops_attribute attributes[] = {
      {sizeof(ops_attribute), OPS_STR("f"), OPS_ATTRIBUTE_FLOAT, 0, 1, .floats = floats},
      {sizeof(ops_attribute), OPS_STR("i"), OPS_ATTRIBUTE_INT, 0, 1, .ints = ints},
      {sizeof(ops_attribute), OPS_STR("s"), OPS_ATTRIBUTE_STRING, 0, 1, .strings = strings},
      {sizeof(ops_attribute), OPS_STR("t"), OPS_ATTRIBUTE_TENSOR, 0, 1, .constants = constants},
      {sizeof(ops_attribute), OPS_STR("fs"), OPS_ATTRIBUTE_FLOATS, 0, 2, .floats = floats},
      {sizeof(ops_attribute), OPS_STR("is"), OPS_ATTRIBUTE_INTS, 0, 2, .ints = ints},
      {sizeof(ops_attribute), OPS_STR("ss"), OPS_ATTRIBUTE_STRINGS, 0, 2, .strings = strings},
  };
  const ops_operand input = operand(0, "x", &kFloat, NULL);
  const ops_operand output = operand(1, "y", &kFloat, NULL);
  ops_node node = node_of(&input, 1, &output);
  node.domain = (ops_str)OPS_STR("some.domain");
  node.attributes = attributes;
  node.attribute_count = sizeof attributes / sizeof *attributes;
  node.attribute_stride = sizeof *attributes;
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_node_file_write(path, &node, &error), OPS_OK);
  rt_model *model = NULL;
  const rt_model_node *read = &load(&model)->nodes[0];
  assert_int_equal(read->attribute_count, node.attribute_count);
  for (uint64_t i = 0; i < node.attribute_count; ++i) {
    assert_int_equal(read->attributes[i].kind, attributes[i].kind);
    assert_int_equal(read->attributes[i].count, attributes[i].count);
  }
  assert_memory_equal(read->attributes[4].floats, floats, sizeof floats);
  assert_memory_equal(read->attributes[5].ints, ints, sizeof ints);
  assert_text(read->attributes[6].strings[0], "a");
  assert_text(read->attributes[6].strings[1], "");
  rt_model_destroy(model);
}

static void refuses_what_is_no_tensor(void **state) {
  (void)state;
  const ops_type_info sequence = {
      .struct_size = sizeof sequence, .kind = OPS_VALUE_SEQUENCE, .element = &kFloat};
  const ops_operand input = operand(0, "x", &sequence, NULL);
  const ops_operand output = operand(1, "y", &kFloat, NULL);
  const ops_node node = node_of(&input, 1, &output);
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_node_file_write(path, &node, &error), OPS_ERROR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "operand 'x' of node 'some/node'"));
}

static void says_where_it_cannot_write(void **state) {
  (void)state;
  const ops_operand input = operand(0, "x", &kFloat, NULL);
  const ops_operand output = operand(1, "y", &kFloat, NULL);
  const ops_node node = node_of(&input, 1, &output);
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_node_file_write("/nowhere/at/all.onnx", &node, &error), OPS_ERROR_IO);
  assert_non_null(strstr(error.message, "/nowhere/at/all.onnx"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_every_value_once),
      cmocka_unit_test(writes_attributes_of_every_plain_kind),
      cmocka_unit_test(refuses_what_is_no_tensor),
      cmocka_unit_test(says_where_it_cannot_write),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}

// SPDX-License-Identifier: Apache-2.0
//
// Whole models: every field of model.h is filled from the bytes that onnx-ml.proto assigns to
// it. Field numbers and values are written out here, independent of the generated code.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <ops_support/error.h>
#include <string.h>

#include "model/model.h"
#include "model/model_test_util.h"

static void assert_str(ops_str actual, const char *expected) {
  assert_int_equal(actual.size, strlen(expected));
  assert_memory_equal(actual.data ? actual.data : "", expected, actual.size);
}

// Loads and frees the bytes; fails the test unless that succeeds.
static rt_model *load(pb bytes) {
  ops_error error = OPS_ERROR_INIT;
  rt_model *model = NULL;
  const int32_t status =
      rt_model_load_bytes(bytes.data, bytes.size, NULL, NULL, &model, &error);
  if (status != OPS_OK) print_error("%s\n", error.message);
  assert_int_equal(status, OPS_OK);
  free(bytes.data);
  return model;
}

// Loads and frees the bytes; fails unless loading fails so, with `text` in the message.
static void assert_refused(pb bytes, int32_t expected, const char *text) {
  ops_error error = OPS_ERROR_INIT;
  rt_model *model = (rt_model *)&error;
  const int32_t status =
      rt_model_load_bytes(bytes.data, bytes.size, NULL, NULL, &model, &error);
  assert_int_equal(status, expected);
  assert_null(model);
  if (!strstr(error.message, text)) print_error("found: %s\n", error.message);
  assert_non_null(strstr(error.message, text));
  free(bytes.data);
}

static pb relu_graph(void) {
  pb graph = {0};
  pb_add_message(&graph, 1, pb_node("Relu", "r", "x", "y"));
  pb_add_str(&graph, 2, "g");
  pb_add_message(&graph, 11, pb_float_info("x", -1));
  pb_add_message(&graph, 12, pb_float_info("y", 3));
  return graph;
}

static void reads_model_fields(void **state) {
  (void)state;
  pb bytes = pb_model(relu_graph(), 13);
  pb import = {0}, entry = {0};
  pb_add_str(&import, 1, "ai.onnx.ml");
  pb_add_int(&import, 2, 3);
  pb_add_message(&bytes, 8, import);
  pb_add_str(&bytes, 3, "1.2");
  pb_add_str(&bytes, 4, "org.example");
  pb_add_int(&bytes, 5, 77);
  pb_add_str(&entry, 1, "key");
  pb_add_str(&entry, 2, "v\xc3\xa4lue");
  pb_add_message(&bytes, 14, entry);
  rt_model *model = load(bytes);
  assert_int_equal(model->ir_version, 8);
  assert_str(model->producer_name, "test");
  assert_str(model->producer_version, "1.2");
  assert_str(model->domain, "org.example");
  assert_int_equal(model->model_version, 77);
  assert_int_equal(model->metadata_count, 1);
  assert_str(model->metadata[0].value, "v\xc3\xa4lue");
  assert_int_equal(rt_model_opset_find(model->opsets, model->opset_count, (ops_str){NULL, 0}),
                   13);
  assert_int_equal(
      rt_model_opset_find(model->opsets, model->opset_count, (ops_str)OPS_STR("ai.onnx")), 13);
  assert_int_equal(
      rt_model_opset_find(model->opsets, model->opset_count, (ops_str)OPS_STR("ai.onnx.ml")),
      3);
  assert_int_equal(
      rt_model_opset_find(model->opsets, model->opset_count, (ops_str)OPS_STR("other")), 0);
  rt_model_destroy(model);
}

static void reads_graph_and_node(void **state) {
  (void)state;
  pb graph = relu_graph();
  pb node = pb_node("Clip", "c", "y,,hi", "z");
  pb_add_str(&node, 7, "ai.onnx");
  pb_add_message(&node, 5, pb_int_attribute("k", -5));
  pb_add_message(&graph, 1, node);
  rt_model *model = load(pb_model(graph, 13));
  const rt_model_graph *g = &model->graph;
  assert_str(g->name, "g");
  assert_int_equal(g->node_count, 2);
  assert_str(g->nodes[0].op_type, "Relu");
  const rt_model_node *clip = &g->nodes[1];
  assert_str(clip->name, "c");
  assert_int_equal(clip->domain.size, 0);
  assert_int_equal(clip->input_count, 3);
  assert_str(clip->inputs[1], "");
  assert_str(clip->inputs[2], "hi");
  assert_str(clip->outputs[0], "z");
  const rt_model_attribute *k = rt_model_attribute_find(clip, "k");
  assert_non_null(k);
  assert_int_equal(k->kind, RT_MODEL_ATTRIBUTE_INT);
  assert_int_equal(k->count, 1);
  assert_int_equal(k->ints[0], -5);
  assert_null(rt_model_attribute_find(clip, "q"));
  assert_int_equal(g->inputs[0].type.kind, RT_MODEL_TYPE_TENSOR);
  assert_int_equal(g->inputs[0].type.rank, 1);
  assert_int_equal(g->inputs[0].type.dims[0].value, -1);
  assert_str(g->inputs[0].type.dims[0].param, "N");
  assert_int_equal(g->outputs[0].type.dims[0].value, 3);
  rt_model_destroy(model);
}

// sequence(map(string, optional(tensor(int64)))) and an opaque type.
static void reads_nested_types(void **state) {
  (void)state;
  pb optional = {0}, optional_type = {0}, map = {0}, map_type = {0}, sequence = {0}, type = {0};
  pb opaque = {0}, opaque_type = {0};
  pb_add_message(&optional, 1, pb_tensor_type(7, 0, NULL));
  pb_add_message(&optional_type, 9, optional);
  pb_add_int(&map, 1, 8);
  pb_add_message(&map, 2, optional_type);
  pb_add_message(&map_type, 5, map);
  pb_add_message(&sequence, 1, map_type);
  pb_add_message(&type, 4, sequence);
  pb_add_str(&opaque, 1, "dom");
  pb_add_str(&opaque, 2, "nam");
  pb_add_message(&opaque_type, 7, opaque);
  pb graph = relu_graph();
  pb_add_message(&graph, 13, pb_value_info("s", type));
  pb_add_message(&graph, 13, pb_value_info("o", opaque_type));
  rt_model *model = load(pb_model(graph, 13));
  const rt_model_type *s = &model->graph.value_infos[0].type;
  assert_int_equal(s->kind, RT_MODEL_TYPE_SEQUENCE);
  assert_int_equal(s->element->kind, RT_MODEL_TYPE_MAP);
  assert_int_equal(s->element->elem_type, OPS_TYPE_STRING);
  assert_int_equal(s->element->element->kind, RT_MODEL_TYPE_OPTIONAL);
  assert_int_equal(s->element->element->element->elem_type, OPS_TYPE_INT64);
  assert_int_equal(s->element->element->element->rank, 0);
  const rt_model_type *o = &model->graph.value_infos[1].type;
  assert_int_equal(o->kind, RT_MODEL_TYPE_OPAQUE);
  assert_str(o->opaque_domain, "dom");
  assert_str(o->opaque_name, "nam");
  rt_model_destroy(model);
}

static pb graph_with_attribute(pb attribute) {
  pb graph = relu_graph();
  pb node = pb_node("Custom", "n", "x", "z");
  pb_add_message(&node, 5, attribute);
  pb_add_message(&graph, 1, node);
  return graph;
}

static void error_names_the_place(void **state) {
  (void)state;
  pb attribute = pb_attribute("a", 4);
  pb_add_message(&attribute, 5, pb_tensor("t", 6, 0, NULL));
  assert_refused(pb_model(graph_with_attribute(attribute), 13), OPS_ERROR_INVALID_MODEL,
                 "graph 'g': node 1 'n' (Custom): attribute 'a': tensor 't': int32_data has 0 "
                 "entries; expected 1 for 1 elements of type int32");
}

static rt_model *load_attribute(pb attribute, const rt_model_attribute **out_attribute) {
  rt_model *model = load(pb_model(graph_with_attribute(attribute), 13));
  *out_attribute = &model->graph.nodes[1].attributes[0];
  return model;
}

static void reads_scalar_attributes(void **state) {
  (void)state;
  const rt_model_attribute *a;
  pb f = pb_attribute("a", 1);
  pb_add_float(&f, 2, 0.5f);
  rt_model *model = load_attribute(f, &a);
  assert_true(a->kind == RT_MODEL_ATTRIBUTE_FLOAT && a->count == 1 && a->floats[0] == 0.5f);
  rt_model_destroy(model);
  // An absent scalar has protobuf's default.
  model = load_attribute(pb_attribute("a", 2), &a);
  assert_true(a->kind == RT_MODEL_ATTRIBUTE_INT && a->count == 1 && a->ints[0] == 0);
  rt_model_destroy(model);
  pb s = pb_attribute("a", 3);
  pb_add_bytes(&s, 4, "a\0b", 3);
  model = load_attribute(s, &a);
  assert_true(a->kind == RT_MODEL_ATTRIBUTE_STRING && a->strings[0].size == 3);
  assert_memory_equal(a->strings[0].data, "a\0b", 3);
  rt_model_destroy(model);
}

static void reads_list_attributes(void **state) {
  (void)state;
  const rt_model_attribute *a;
  pb ints = pb_attribute("a", 7);
  pb_add_int(&ints, 8, INT64_MIN);
  pb_add_bytes(&ints, 8, "\x02\x03", 2);  // packed, although not declared so
  rt_model *model = load_attribute(ints, &a);
  assert_int_equal(a->count, 3);
  assert_true(a->ints[0] == INT64_MIN && a->ints[1] == 2 && a->ints[2] == 3);
  rt_model_destroy(model);
  model = load_attribute(pb_attribute("a", 6), &a);
  assert_int_equal(a->kind, RT_MODEL_ATTRIBUTE_FLOATS);
  assert_int_equal(a->count, 0);
  rt_model_destroy(model);
  pb strings = pb_attribute("a", 8);
  pb_add_str(&strings, 9, "s0");
  pb_add_str(&strings, 9, "");
  model = load_attribute(strings, &a);
  assert_int_equal(a->count, 2);
  assert_str(a->strings[0], "s0");
  assert_str(a->strings[1], "");
  rt_model_destroy(model);
}

static void reads_message_attributes(void **state) {
  (void)state;
  const rt_model_attribute *a;
  const int64_t one = 1;
  pb graphs = pb_attribute("a", 10);
  pb_add_message(&graphs, 11, relu_graph());
  pb_add_message(&graphs, 11, relu_graph());
  rt_model *model = load_attribute(graphs, &a);
  assert_int_equal(a->count, 2);
  assert_str(a->graphs[1].nodes[0].op_type, "Relu");
  rt_model_destroy(model);
  pb values = pb_tensor("sv", 1, 1, &one), indices = pb_tensor("", 7, 1, &one);
  pb_add_float(&values, 4, 9.0f);
  pb_add_int(&indices, 7, 2);
  pb sparse = {0}, attribute = pb_attribute("a", 11);
  pb_add_message(&sparse, 1, values);
  pb_add_message(&sparse, 2, indices);
  pb_add_int(&sparse, 3, 4);
  pb_add_message(&attribute, 22, sparse);
  model = load_attribute(attribute, &a);
  assert_int_equal(a->count, 1);
  assert_int_equal(a->sparse_tensors[0].dims[0], 4);
  assert_true(*(const float *)a->sparse_tensors[0].values.data == 9.0f);
  assert_int_equal(*(const int64_t *)a->sparse_tensors[0].indices.data, 2);
  rt_model_destroy(model);
  pb type = pb_attribute("a", 13);
  pb_add_message(&type, 14, pb_tensor_type(1, 1, &one));
  model = load_attribute(type, &a);
  assert_int_equal(a->types[0].elem_type, OPS_TYPE_FLOAT);
  rt_model_destroy(model);
}

static void infers_kind_where_none_is_given(void **state) {
  (void)state;
  const rt_model_attribute *a;
  pb attribute = {0};
  pb_add_str(&attribute, 1, "a");
  pb_add_int(&attribute, 8, 4);
  pb_add_int(&attribute, 8, 5);
  rt_model *model = load_attribute(attribute, &a);
  assert_int_equal(a->kind, RT_MODEL_ATTRIBUTE_INTS);
  assert_int_equal(a->ints[1], 5);
  rt_model_destroy(model);
}

static void refuses_bad_attributes(void **state) {
  (void)state;
  pb both = pb_int_attribute("a", 1);
  pb_add_float(&both, 7, 1.0f);
  assert_refused(pb_model(graph_with_attribute(both), 13), OPS_ERROR_INVALID_MODEL,
                 "node 1 'n' (Custom): attribute 'a': is of kind INT and holds a value of kind "
                 "FLOATS");
  assert_refused(pb_model(graph_with_attribute(pb_attribute("a", 4)), 13),
                 OPS_ERROR_INVALID_MODEL, "is of kind TENSOR and holds no value");
  assert_refused(pb_model(graph_with_attribute(pb_attribute("a", 99)), 13),
                 OPS_ERROR_INVALID_MODEL, "kind 99");
  pb reference = pb_int_attribute("a", 1);
  pb_add_str(&reference, 21, "alpha");
  assert_refused(pb_model(graph_with_attribute(reference), 13), OPS_ERROR_INVALID_MODEL,
                 "refers to attribute 'alpha'");
}

static void reads_functions(void **state) {
  (void)state;
  pb function = {0}, reference = pb_attribute("alpha", 1),
     default_beta = pb_attribute("beta", 1);
  pb node = pb_node("LeakyRelu", "", "a", "b"), import = {0};
  pb_add_str(&reference, 21, "slope");
  pb_add_message(&node, 5, reference);
  pb_add_str(&function, 1, "F");
  pb_add_str(&function, 4, "a");
  pb_add_str(&function, 5, "b");
  pb_add_str(&function, 6, "slope");
  pb_add_message(&function, 7, node);
  pb_add_int(&import, 2, 16);
  pb_add_message(&function, 9, import);
  pb_add_str(&function, 10, "my");
  pb_add_float(&default_beta, 2, 2.5f);
  pb_add_message(&function, 11, default_beta);
  pb bytes = pb_model(relu_graph(), 13);
  pb_add_message(&bytes, 25, function);
  rt_model *model = load(bytes);
  assert_int_equal(model->function_count, 1);
  const rt_model_function *f = &model->functions[0];
  assert_str(f->name, "F");
  assert_str(f->domain, "my");
  assert_str(f->inputs[0], "a");
  assert_str(f->outputs[0], "b");
  assert_str(f->attribute_names[0], "slope");
  assert_true(f->attribute_defaults[0].floats[0] == 2.5f);
  assert_int_equal(f->opsets[0].version, 16);
  assert_str(f->nodes[0].attributes[0].ref_attr_name, "slope");
  assert_int_equal(f->nodes[0].attributes[0].kind, RT_MODEL_ATTRIBUTE_FLOAT);
  assert_int_equal(f->nodes[0].attributes[0].count, 0);
  rt_model_destroy(model);
}

static void refuses_what_is_no_model(void **state) {
  (void)state;
  assert_refused((pb){0}, OPS_ERROR_INVALID_MODEL, "the file is empty");
  pb no_graph = {0};
  pb_add_int(&no_graph, 1, 8);
  assert_refused(no_graph, OPS_ERROR_INVALID_MODEL, "holds no graph");
  pb text = {0};
  pb_raw(&text, "hello, world\n", 13);
  assert_refused(text, OPS_ERROR_INVALID_MODEL, "not ONNX");
  pb newer = {0};
  pb_add_int(&newer, 1, RT_MODEL_MAX_IR_VERSION + 1);
  pb_add_message(&newer, 7, relu_graph());
  assert_refused(newer, OPS_ERROR_UNSUPPORTED, "IR version 15; expected at most 14");
}

static void reports_missing_file(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  rt_model *model = NULL;
  assert_int_equal(rt_model_load_file("/nonexistent/m.onnx", NULL, &model, &error),
                   OPS_ERROR_IO);
  assert_non_null(strstr(error.message, "/nonexistent/m.onnx cannot be opened"));
  assert_int_equal(rt_model_load_file("/", NULL, &model, &error), OPS_ERROR_IO);
  assert_non_null(strstr(error.message, "not a regular file"));
  assert_int_equal(rt_model_load_file("/nonexistent/m.onnx", NULL, &model, NULL), OPS_ERROR_IO);
  rt_model_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_model_fields),
      cmocka_unit_test(reads_graph_and_node),
      cmocka_unit_test(reads_nested_types),
      cmocka_unit_test(error_names_the_place),
      cmocka_unit_test(reads_scalar_attributes),
      cmocka_unit_test(reads_list_attributes),
      cmocka_unit_test(reads_message_attributes),
      cmocka_unit_test(infers_kind_where_none_is_given),
      cmocka_unit_test(refuses_bad_attributes),
      cmocka_unit_test(reads_functions),
      cmocka_unit_test(refuses_what_is_no_model),
      cmocka_unit_test(reports_missing_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

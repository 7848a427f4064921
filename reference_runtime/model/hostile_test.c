// SPDX-License-Identifier: Apache-2.0
//
// Bytes of an enemy: cut at every place, every byte changed, nested too deep, larger than the
// budget, malformed in each way the wire format knows. Nothing may crash; what is refused says
// why. The second half counts: the arena's budget is failed at every step.
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

static int32_t load(const uint8_t *data, size_t size, uint64_t max_memory, ops_error *error) {
  rt_model *model = NULL;
  const rt_model_options options = {.max_memory = max_memory};
  // A copy of exactly the size lets the address sanitizer see a read behind the end.
  uint8_t *copy = malloc(size ? size : 1);
  if (size) memcpy(copy, data, size);
  const int32_t status = rt_model_load_bytes(copy, size, NULL, &options, &model, error);
  assert_true((status == OPS_OK) == (model != NULL));
  rt_model_destroy(model);
  free(copy);
  return status;
}

static void assert_refused(pb bytes, const char *text) {
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(load(bytes.data, bytes.size, 0, &error), OPS_ERROR_INVALID_MODEL);
  if (!strstr(error.message, text)) print_error("found: %s\n", error.message);
  assert_non_null(strstr(error.message, text));
  free(bytes.data);
}

// Something of everything: nested types, typed and raw tensors, subgraphs, metadata, functions.
static pb rich_model(void) {
  const int64_t dims[] = {2, 3}, three = 3, one = 1;
  const float weights[6] = {1, 2, 3, 4, 5, 6};
  pb graph = {0}, inner = {0}, branch = pb_attribute("then_branch", 5), node, tensor,
     sequence = {0};
  pb type = {0}, entry = {0}, function = {0}, strings = pb_attribute("s", 8), sparse = {0};
  pb_add_message(&inner, 1, pb_node("Neg", "n", "x", "i"));
  pb_add_message(&inner, 12, pb_float_info("i", -1));
  pb_add_message(&branch, 6, inner);
  node = pb_node("If", "if", "c", "y");
  pb_add_message(&node, 5, branch);
  pb_add_str(&strings, 9, "abc");
  pb_add_message(&node, 5, strings);
  pb_add_message(&graph, 1, node);
  tensor = pb_tensor("w", OPS_TYPE_FLOAT, 2, dims);
  pb_add_bytes(&tensor, 9, weights, sizeof weights);
  pb_add_message(&graph, 5, tensor);
  tensor = pb_tensor("h", OPS_TYPE_FLOAT16, 1, &three);
  pb_add_bytes(&tensor, 5, "\x80\x7c\x81\x78\x03", 5);
  pb_add_message(&graph, 5, tensor);
  tensor = pb_tensor("sv", OPS_TYPE_FLOAT, 1, &one);
  pb_add_float(&tensor, 4, 1.0f);
  pb_add_message(&sparse, 1, tensor);
  tensor = pb_tensor("", OPS_TYPE_INT64, 1, &one);
  pb_add_int(&tensor, 7, 2);
  pb_add_message(&sparse, 2, tensor);
  pb_add_int(&sparse, 3, 4);
  pb_add_message(&graph, 15, sparse);
  pb_add_message(&sequence, 1, pb_tensor_type(8, 0, NULL));
  pb_add_message(&type, 4, sequence);
  pb_add_message(&graph, 11, pb_float_info("x", -1));
  pb_add_message(&graph, 11, pb_value_info("q", type));
  pb_add_message(&graph, 12, pb_float_info("y", 3));
  pb bytes = pb_model(graph, 13);
  pb_add_str(&entry, 1, "k");
  pb_add_str(&entry, 2, "v");
  pb_add_message(&bytes, 14, entry);
  pb_add_str(&function, 1, "F");
  pb_add_message(&function, 7, pb_node("Neg", "", "a", "b"));
  pb_add_message(&bytes, 25, function);
  return bytes;
}

static void survives_truncation(void **state) {
  (void)state;
  pb bytes = rich_model();
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(load(bytes.data, bytes.size, 0, &error), OPS_OK);
  // The fields after the graph are optional, so that cuts between them leave a valid model.
  size_t refused = 0;
  for (size_t size = 0; size < bytes.size; ++size)
    refused += load(bytes.data, size, 0, &error) == OPS_ERROR_INVALID_MODEL;
  assert_in_range(bytes.size - refused, 1, 4);
  free(bytes.data);
}

static void survives_changed_bytes(void **state) {
  (void)state;
  static const uint8_t kPatches[] = {0x00, 0x01, 0x08, 0x0a, 0x7f, 0x80, 0xff, 0x3a};
  pb bytes = rich_model();
  size_t refused = 0;
  for (size_t i = 0; i < bytes.size; ++i) {
    const uint8_t kept = bytes.data[i];
    for (size_t k = 0; k < sizeof kPatches; ++k) {
      bytes.data[i] = kPatches[k];
      ops_error error = OPS_ERROR_INIT;
      const int32_t status = load(bytes.data, bytes.size, (uint64_t)1 << 24, &error);
      refused += status != OPS_OK;
      assert_true(status == OPS_OK || error.message_size > 20);
    }
    bytes.data[i] = kept;
  }
  assert_true(refused > bytes.size);
  free(bytes.data);
}

static pb nested_graph(int depth) {
  pb graph = {0};
  pb_add_str(&graph, 2, "inner");
  for (int i = 0; i < depth; ++i) {
    pb attribute = pb_attribute("body", 5), node = pb_node("Loop", "l", "x", "y"), outer = {0};
    pb_add_message(&attribute, 6, graph);
    pb_add_message(&node, 5, attribute);
    pb_add_message(&outer, 1, node);
    graph = outer;
  }
  return graph;
}

static void bounds_nesting(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  // A level of subgraph is three messages; the model's graph is one.
  const int most = (RT_MODEL_MAX_NESTING - 1) / 3;
  pb bytes = pb_model(nested_graph(most), 13);
  assert_int_equal(load(bytes.data, bytes.size, 0, &error), OPS_OK);
  free(bytes.data);
  assert_refused(pb_model(nested_graph(most + 1), 13), "RT_MODEL_MAX_NESTING");
  assert_refused(pb_model(nested_graph(2000), 13), "RT_MODEL_MAX_NESTING");
  pb type = pb_tensor_type(1, 0, NULL);
  for (int i = 0; i < 200; ++i) {
    pb sequence = {0}, outer = {0};
    pb_add_message(&sequence, 1, type);
    pb_add_message(&outer, 4, sequence);
    type = outer;
  }
  pb graph = {0};
  pb_add_message(&graph, 11, pb_value_info("x", type));
  assert_refused(pb_model(graph, 13), "RT_MODEL_MAX_NESTING");
}

static void bounds_messages(void **state) {
  (void)state;
  // Empty nodes, two bytes each.
  pb graph = {0};
  for (uint64_t i = 0; i <= RT_MODEL_MAX_MESSAGES; ++i) pb_raw(&graph, "\x0a\x00", 2);
  assert_refused(pb_model(graph, 13), "RT_MODEL_MAX_MESSAGES");
}

// Whatever the budget, loading either succeeds or says that memory ran out.
static void bounds_memory(void **state) {
  (void)state;
  pb bytes = rich_model();
  int enough = 0;
  for (uint64_t budget = 1; budget < 1 << 20 && !enough; budget += 4093) {
    ops_error error = OPS_ERROR_INIT;
    const int32_t status = load(bytes.data, bytes.size, budget, &error);
    enough = status == OPS_OK;
    if (enough) break;
    assert_int_equal(status, OPS_ERROR_OUT_OF_MEMORY);
    assert_non_null(strstr(error.message, "raise max_memory"));
  }
  assert_true(enough);
  free(bytes.data);
}

static void refuses_malformed_wire(void **state) {
  (void)state;
  const struct {
    const char *bytes;
    size_t size;
    const char *text;
  } rows[] = {
      {"\x08", 1, "reaches beyond the end"},          // no value
      {"\x80", 1, "found the end of the data"},       // unfinished tag
      {"\x3a\x05\x0a", 3, "reaches beyond the end"},  // graph longer than the file
      {"\x3a\x02\x0a\x05", 4, "GraphProto"},          // node longer than the graph
      {"\x00\x01", 2, "field number"},                // field 0
      {"\x0b\x0c", 2, "found wire type 3, expected 0, 1, 2 or 5"},  // a group
      {"\x0d\x01\x02\x03\x04", 5,
       "ModelProto.ir_version: found wire type 5 of another field, expected 0"},
      {"\x3a\x00\x3a\x00", 4, "ModelProto.graph: expected once"},
      {"\x12\x03"
       "a\0b",
       5, "ModelProto.producer_name: expected UTF-8 text without zero bytes"},
      {"\x12\x02\xc3\x28", 4, "expected UTF-8 text"},
      {"\x12\x02\xc0\x80", 4, "expected UTF-8 text"},
      {"\x12\x03\xed\xa0\x80", 5, "expected UTF-8 text"},  // a surrogate
      {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "reaches beyond the end"},
      {"\x3a\x05\x2a\x03\x22\x01\x00", 7,
       "TensorProto.float_data: the last element is cut off"},
      {"\x3a\x05\x2a\x03\x0a\x01\x80", 7, "TensorProto.dims: the last element is cut off"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    pb bytes = {0};
    pb_raw(&bytes, rows[i].bytes, rows[i].size);
    assert_refused(bytes, rows[i].text);
  }
}

// Two kinds of type in one message.
static void refuses_two_members_of_a_oneof(void **state) {
  (void)state;
  pb type = pb_tensor_type(1, 0, NULL), sequence = {0}, graph = {0};
  pb_add_message(&sequence, 1, pb_tensor_type(1, 0, NULL));
  pb_add_message(&type, 4, sequence);
  pb_add_message(&graph, 11, pb_value_info("x", type));
  assert_refused(pb_model(graph, 13), "TypeProto.sequence_type: expected once, found again");
}

static void skips_unknown_fields(void **state) {
  (void)state;
  pb bytes = rich_model();
  pb_add_int(&bytes, 1000, 5);
  pb_add_str(&bytes, 536870911, "later");
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(load(bytes.data, bytes.size, 0, &error), OPS_OK);
  free(bytes.data);
}

static void refuses_bad_types(void **state) {
  (void)state;
  int64_t dims[OPS_MAX_RANK + 1] = {0};
  pb graph = {0};
  pb_add_message(&graph, 11, pb_value_info("x", pb_tensor_type(1, OPS_MAX_RANK + 1, dims)));
  assert_refused(pb_model(graph, 13), "input 0 'x': a shape has 33 dimensions");
  dims[0] = -2;
  graph = (pb){0};
  pb type = {0}, sequence = {0};
  pb_add_message(&type, 4, sequence);
  pb_add_message(&graph, 12, pb_value_info("x", type));
  assert_refused(pb_model(graph, 13), "output 0 'x': a sequence, optional or map type has no");
  pb dim = {0}, shape = {0}, tensor = {0};
  type = (pb){0}, graph = (pb){0};
  pb_add_int(&dim, 1, -7);
  pb_add_message(&shape, 1, dim);
  pb_add_int(&tensor, 1, 1);
  pb_add_message(&tensor, 2, shape);
  pb_add_message(&type, 1, tensor);
  pb_add_message(&graph, 13, pb_value_info("v", type));
  assert_refused(pb_model(graph, 13), "value_info 0 'v': a dimension is -7");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(survives_truncation),
      cmocka_unit_test(survives_changed_bytes),
      cmocka_unit_test(bounds_nesting),
      cmocka_unit_test(bounds_messages),
      cmocka_unit_test(bounds_memory),
      cmocka_unit_test(refuses_malformed_wire),
      cmocka_unit_test(refuses_two_members_of_a_oneof),
      cmocka_unit_test(skips_unknown_fields),
      cmocka_unit_test(refuses_bad_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

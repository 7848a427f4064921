// SPDX-License-Identifier: Apache-2.0
//
// Reading node views. The arrays of the views have a stride larger than the structs known here,
// as those of a later host would.
#include <ops_support/node.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

typedef struct later_attribute {
  ops_attribute known;
  uint64_t later[3];
} later_attribute;

typedef struct later_operand {
  ops_operand known;
  uint64_t later[5];
} later_operand;

static const int64_t kInts[] = {3, 1, 4};
static const float kFloats[] = {2.5f, -1.0f};
static const ops_str kStrings[] = {OPS_STR("SAME_UPPER")};

#define ATTRIBUTE(text, kind_of, size, ...)  \
  {                                          \
    {.struct_size = sizeof(later_attribute), \
     .name = OPS_STR(text),                  \
     .kind = kind_of,                        \
     .count = size,                          \
     __VA_ARGS__},                           \
    {                                        \
      1, 2, 3                                \
    }                                        \
  }

static const later_attribute kAttributes[] = {
    ATTRIBUTE("axis", OPS_ATTRIBUTE_INT, 1, .ints = kInts),
    ATTRIBUTE("axes", OPS_ATTRIBUTE_INTS, 3, .ints = kInts),
    ATTRIBUTE("alpha", OPS_ATTRIBUTE_FLOAT, 1, .floats = kFloats),
    ATTRIBUTE("scales", OPS_ATTRIBUTE_FLOATS, 2, .floats = kFloats),
    ATTRIBUTE("auto_pad", OPS_ATTRIBUTE_STRING, 1, .strings = kStrings),
    ATTRIBUTE("empty", OPS_ATTRIBUTE_INTS, 0, .ints = NULL),
};

static const ops_type_info kType = {
    .struct_size = sizeof kType, .kind = OPS_VALUE_TENSOR, .type = OPS_TYPE_FLOAT};
static const later_operand kOperands[] = {
    {{.struct_size = sizeof(later_operand), .value = 5, .type = &kType}, {9, 9, 9, 9, 9}},
    {{.struct_size = sizeof(later_operand), .value = -1}, {9, 9, 9, 9, 9}},
    {{.struct_size = sizeof(later_operand), .value = 7, .type = &kType}, {9, 9, 9, 9, 9}},
};

static const ops_node kNode = {.struct_size = sizeof kNode,
                               .op = OPS_STR("Conv"),
                               .attributes = &kAttributes[0].known,
                               .attribute_count = 6,
                               .attribute_stride = sizeof kAttributes[0],
                               .inputs = &kOperands[0].known,
                               .input_count = 3,
                               .input_stride = sizeof kOperands[0],
                               .outputs = &kOperands[1].known,
                               .output_count = 2,
                               .output_stride = sizeof kOperands[0]};

static void strings_compare_whole(void **state) {
  (void)state;
  const ops_str none = {NULL, 0}, text = OPS_STR("ab"), unterminated = {"abc", 2};
  assert_true(ops_str_equal(none, ""));
  assert_true(ops_str_equal(text, "ab"));
  assert_true(ops_str_equal(unterminated, "ab"));
  assert_false(ops_str_equal(text, "a"));
  assert_false(ops_str_equal(text, "abc"));
  assert_false(ops_str_equal(none, "a"));
}

static void operands_are_found_by_index(void **state) {
  (void)state;
  assert_ptr_equal(ops_node_input(&kNode, 0), &kOperands[0].known);
  assert_null(ops_node_input(&kNode, 1));  // absent
  assert_ptr_equal(ops_node_input(&kNode, 2), &kOperands[2].known);
  assert_null(ops_node_input(&kNode, 3));
  assert_null(ops_node_input(&kNode, UINT64_MAX));
  assert_null(ops_node_output(&kNode, 0));
  assert_ptr_equal(ops_node_output(&kNode, 1), &kOperands[2].known);
  const ops_prepare_request request = {.struct_size = sizeof request,
                                       .inputs = kNode.inputs,
                                       .input_count = 3,
                                       .input_stride = kNode.input_stride};
  assert_ptr_equal(ops_request_input(&request, 2), &kOperands[2].known);
  assert_null(ops_request_input(&request, 1));
  assert_null(ops_request_input(&request, 3));
}

static void attributes_are_found_by_name_and_kind(void **state) {
  (void)state;
  const ops_str fallback = OPS_STR("NOTSET");
  uint64_t count = 42;
  assert_int_equal(ops_node_int(&kNode, "axis", -1), 3);
  assert_int_equal(ops_node_int(&kNode, "axes", -1), -1);  // of another kind
  assert_int_equal(ops_node_int(&kNode, "axi", -1), -1);
  assert_true(ops_node_float(&kNode, "alpha", 0) == 2.5f);
  assert_true(ops_node_float(&kNode, "beta", 0.5f) == 0.5f);
  assert_true(ops_str_equal(ops_node_string(&kNode, "auto_pad", fallback), "SAME_UPPER"));
  assert_true(ops_str_equal(ops_node_string(&kNode, "mode", fallback), "NOTSET"));
  assert_ptr_equal(ops_node_ints(&kNode, "axes", &count), kInts);
  assert_int_equal(count, 3);
  assert_null(ops_node_ints(&kNode, "axis", &count));
  assert_int_equal(count, 0);
  assert_ptr_equal(ops_node_floats(&kNode, "scales", &count), kFloats);
  assert_int_equal(count, 2);
  assert_null(ops_node_ints(&kNode, "empty", &count));
  assert_int_equal(count, 0);
  assert_non_null(ops_node_attribute(&kNode, "empty"));
  assert_null(ops_node_attribute(&kNode, "missing"));
}

static ops_constant constant_of(int32_t type, const void *data, int32_t rank,
                                const int64_t *dims, const int64_t *strides) {
  ops_constant constant = {.struct_size = sizeof constant, .format = OPS_CONSTANT_DENSE};
  constant.dense.kind = OPS_ARG_TENSOR;
  constant.dense.tensor = (ops_tensor){
      .type = type, .rank = rank, .dims = dims, .strides = strides, .memory = (void *)data};
  return constant;
}

static int64_t ints_of(const ops_constant *constant, int64_t *values, int64_t capacity) {
  const ops_operand operand = {
      .struct_size = sizeof operand, .type = &kType, .constant = constant};
  return ops_operand_ints(&operand, values, capacity);
}

static void shape_inputs_are_read(void **state) {
  (void)state;
  static const int64_t three[] = {3}, one[] = {1}, back[] = {-1}, square[] = {1, 1};
  static const int64_t longs[] = {7, -1, INT64_MAX};
  static const int32_t ints[] = {7, -1, INT32_MIN};
  static const float floats[] = {1, 2, 3};
  int64_t values[3] = {0};
  ops_constant constant = constant_of(OPS_TYPE_INT64, longs, 1, three, one);
  assert_int_equal(ints_of(&constant, values, 3), 3);
  assert_memory_equal(values, longs, sizeof longs);
  assert_int_equal(ints_of(&constant, values, 2), -1);  // no room
  constant = constant_of(OPS_TYPE_INT32, ints, 1, three, NULL);
  assert_int_equal(ints_of(&constant, values, 3), 3);
  assert_int_equal(values[2], INT32_MIN);
  constant = constant_of(OPS_TYPE_INT64, longs, 0, NULL, NULL);
  assert_int_equal(ints_of(&constant, values, 3), 1);
  assert_int_equal(values[0], 7);
  constant = constant_of(OPS_TYPE_INT64, longs, 1, three, back);  // from the last to the first
  constant.dense.tensor.byte_offset = 16;
  assert_int_equal(ints_of(&constant, values, 3), 3);
  assert_int_equal(values[0], INT64_MAX);
  assert_int_equal(values[2], 7);
  constant = constant_of(OPS_TYPE_FLOAT, floats, 1, three, one);
  assert_int_equal(ints_of(&constant, values, 3), -1);
  constant = constant_of(OPS_TYPE_INT64, longs, 2, square, square);
  assert_int_equal(ints_of(&constant, values, 3), -1);
  assert_int_equal(ints_of(NULL, values, 3), -1);
  constant = constant_of(OPS_TYPE_INT64, longs, 1, three, one);
  constant.format = OPS_CONSTANT_COO;
  assert_int_equal(ints_of(&constant, values, 3), -1);
  constant.format = OPS_CONSTANT_DENSE;
  constant.dense.kind = OPS_ARG_VALUE;
  assert_int_equal(ints_of(&constant, values, 3), -1);
  assert_int_equal(ops_operand_ints(NULL, values, 3), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings_compare_whole),
      cmocka_unit_test(operands_are_found_by_index),
      cmocka_unit_test(attributes_are_found_by_name_and_kind),
      cmocka_unit_test(shape_inputs_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// Tensors: every element type from the field that onnx-ml.proto assigns to it, and every way in
// which shape, type and data can disagree. Bit patterns of the narrow floats were computed with
// numpy and ml_dtypes.
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

enum { kFloatData = 4, kInt32Data = 5, kStringData = 6, kInt64Data = 7, kRawData = 9 };
enum { kDoubleData = 10, kUint64Data = 11, kLocation = 14 };

static pb model_of(pb tensor) {
  pb graph = {0};
  pb_add_str(&graph, 2, "g");
  pb_add_message(&graph, 5, tensor);
  return pb_model(graph, 13);
}

static int32_t try_load(pb tensor, rt_model **out_model, ops_error *error) {
  pb bytes = model_of(tensor);
  const int32_t status =
      rt_model_load_bytes(bytes.data, bytes.size, NULL, NULL, out_model, error);
  free(bytes.data);
  return status;
}

static void assert_refused(pb tensor, int32_t expected, const char *text) {
  ops_error error = OPS_ERROR_INIT;
  rt_model *model = NULL;
  assert_int_equal(try_load(tensor, &model, &error), expected);
  assert_null(model);
  if (!strstr(error.message, text)) print_error("found: %s\n", error.message);
  assert_non_null(strstr(error.message, text));
  assert_non_null(strstr(error.message, "graph 'g': tensor 't'"));
}

static void assert_data(pb tensor, const void *expected, size_t size) {
  ops_error error = OPS_ERROR_INIT;
  rt_model *model = NULL;
  const int32_t status = try_load(tensor, &model, &error);
  if (status != OPS_OK) print_error("%s\n", error.message);
  assert_int_equal(status, OPS_OK);
  const rt_model_tensor *t = &model->graph.initializers[0];
  assert_int_equal(t->size, size);
  if (size) assert_memory_equal(t->data, expected, size);
  assert_int_equal(t->is_mapped, 0);
  rt_model_destroy(model);
}

// A vector of `count` elements with one varint field holding `values`.
static pb vector(int32_t elem_type, int64_t count, uint32_t field, const int64_t *values,
                 size_t value_count) {
  pb tensor = pb_tensor("t", elem_type, 1, &count), packed = {0};
  for (size_t i = 0; i < value_count; ++i) pb_varint(&packed, (uint64_t)values[i]);
  pb_add_message(&tensor, field, packed);
  return tensor;
}

static pb raw(int32_t elem_type, int64_t count, const void *data, size_t size) {
  pb tensor = pb_tensor("t", elem_type, 1, &count);
  pb_add_bytes(&tensor, kRawData, data, size);
  return tensor;
}

static void reads_integers_from_typed_fields(void **state) {
  (void)state;
  const struct {
    int32_t elem_type;
    uint32_t field;
    int64_t values[2];
    size_t size;
    uint8_t bytes[16];
  } rows[] = {
      {OPS_TYPE_INT8, kInt32Data, {-128, 127}, 2, {0x80, 0x7f}},
      {OPS_TYPE_UINT8, kInt32Data, {0, 255}, 2, {0, 0xff}},
      {OPS_TYPE_INT16, kInt32Data, {-32768, 258}, 4, {0, 0x80, 2, 1}},
      {OPS_TYPE_UINT16, kInt32Data, {65535, 1}, 4, {0xff, 0xff, 1, 0}},
      {OPS_TYPE_INT32, kInt32Data, {INT32_MIN, 1}, 8, {0, 0, 0, 0x80, 1, 0, 0, 0}},
      {OPS_TYPE_UINT32, kUint64Data, {UINT32_MAX, 2}, 8, {255, 255, 255, 255, 2, 0, 0, 0}},
      {OPS_TYPE_INT64, kInt64Data, {-1, 3}, 16, {255, 255, 255, 255, 255, 255, 255, 255, 3}},
      {OPS_TYPE_UINT64, kUint64Data, {-1, 3}, 16, {255, 255, 255, 255, 255, 255, 255, 255, 3}},
      {OPS_TYPE_BOOL, kInt32Data, {1, 0}, 2, {1, 0}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    assert_data(vector(rows[i].elem_type, 2, rows[i].field, rows[i].values, 2), rows[i].bytes,
                rows[i].size);
}

static void reads_bit_patterns(void **state) {
  (void)state;
  // 1.5 and -2.0 in each format.
  const struct {
    int32_t elem_type;
    int64_t values[2];
    size_t size;
    uint8_t bytes[4];
  } rows[] = {
      {OPS_TYPE_FLOAT16, {0x3e00, 0xc000}, 4, {0x00, 0x3e, 0x00, 0xc0}},
      {OPS_TYPE_FLOAT16, {0x3e00, -16384}, 4, {0x00, 0x3e, 0x00, 0xc0}},
      {OPS_TYPE_BFLOAT16, {0x3fc0, 0xc000}, 4, {0xc0, 0x3f, 0x00, 0xc0}},
      {OPS_TYPE_FLOAT8E4M3FN, {0x3c, 0xc0}, 2, {0x3c, 0xc0}},
      {OPS_TYPE_FLOAT8E4M3FNUZ, {0x44, 0xc8}, 2, {0x44, 0xc8}},
      {OPS_TYPE_FLOAT8E5M2, {0x3e, 0xc0}, 2, {0x3e, 0xc0}},
      {OPS_TYPE_FLOAT8E5M2FNUZ, {0x42, 0xc4}, 2, {0x42, 0xc4}},
      {OPS_TYPE_FLOAT8E8M0, {0x7f, 0x80}, 2, {0x7f, 0x80}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    assert_data(vector(rows[i].elem_type, 2, kInt32Data, rows[i].values, 2), rows[i].bytes,
                rows[i].size);
}

// Elements under a byte: each entry of int32_data is one packed byte.
static void reads_narrow_types(void **state) {
  (void)state;
  const int64_t bytes[] = {0x21, 0xf3, 0x05};
  const uint8_t expected[] = {0x21, 0xf3, 0x05};
  assert_data(vector(OPS_TYPE_INT4, 5, kInt32Data, bytes, 3), expected, 3);
  assert_data(vector(OPS_TYPE_UINT4, 6, kInt32Data, bytes, 3), expected, 3);
  assert_data(vector(OPS_TYPE_FLOAT4E2M1, 5, kInt32Data, bytes, 3), expected, 3);
  assert_data(vector(OPS_TYPE_UINT2, 9, kInt32Data, bytes, 3), expected, 3);
  assert_data(vector(OPS_TYPE_INT2, 12, kInt32Data, bytes, 3), expected, 3);
  assert_data(raw(OPS_TYPE_INT2, 9, expected, 3), expected, 3);
  assert_refused(vector(OPS_TYPE_INT4, 7, kInt32Data, bytes, 3), OPS_ERROR_INVALID_MODEL,
                 "int32_data has 3 entries; expected 4 for 7 elements of type int4");
}

// Types of six bits: an entry of int32_data is one element, raw bytes are a stream of bits. The
// expected bytes are the formula of onnx.proto, byte0 = x0 | (x1 & 3) << 6 and so on, as
// onnx.numpy_helper of onnx 1.23.2 writes it.
static void reads_types_of_six_bits(void **state) {
  (void)state;
  const int64_t codes[] = {0x08, 0x3f, 0x15, 0x2a, 0x21};
  const int64_t wide[] = {0x08, 0x40};
  const uint8_t expected[] = {0xc8, 0x5f, 0xa9, 0x21};
  assert_data(vector(OPS_TYPE_FLOAT6E2M3, 5, kInt32Data, codes, 5), expected, 4);
  assert_data(vector(OPS_TYPE_FLOAT6E3M2, 5, kInt32Data, codes, 5), expected, 4);
  assert_data(vector(OPS_TYPE_FLOAT6E3M2, 4, kInt32Data, codes, 4), expected, 3);
  assert_data(raw(OPS_TYPE_FLOAT6E2M3, 5, expected, 4), expected, 4);
  assert_refused(vector(OPS_TYPE_FLOAT6E2M3, 2, kInt32Data, wide, 2), OPS_ERROR_INVALID_MODEL,
                 "entry 1 of int32_data is 64; expected 0 to 63");
  assert_refused(vector(OPS_TYPE_FLOAT6E2M3, 4, kInt32Data, codes, 3), OPS_ERROR_INVALID_MODEL,
                 "int32_data has 3 entries; expected 4");
}

static void reads_floats_in_place(void **state) {
  (void)state;
  const float floats[] = {1.0f, -0.0f};
  const double doubles[] = {1e300, -2.0};
  const int64_t two = 2, one = 1;
  pb tensor = pb_tensor("t", OPS_TYPE_FLOAT, 1, &two);
  pb_add_bytes(&tensor, kFloatData, floats, sizeof floats);
  assert_data(tensor, floats, sizeof floats);
  tensor = pb_tensor("t", OPS_TYPE_COMPLEX64, 1, &one);
  pb_add_bytes(&tensor, kFloatData, floats, sizeof floats);
  assert_data(tensor, floats, sizeof floats);
  tensor = pb_tensor("t", OPS_TYPE_DOUBLE, 1, &two);
  pb_add_bytes(&tensor, kDoubleData, doubles, sizeof doubles);
  assert_data(tensor, doubles, sizeof doubles);
  tensor = pb_tensor("t", OPS_TYPE_COMPLEX128, 1, &one);
  pb_add_bytes(&tensor, kDoubleData, doubles, sizeof doubles);
  assert_data(tensor, doubles, sizeof doubles);
  tensor = pb_tensor("t", OPS_TYPE_COMPLEX64, 1, &two);
  pb_add_bytes(&tensor, kFloatData, floats, sizeof floats);
  assert_refused(tensor, OPS_ERROR_INVALID_MODEL, "float_data has 2 entries; expected 4");
}

static void reads_strings_empty_and_scalar(void **state) {
  (void)state;
  const int64_t two = 2, zero = 0;
  pb tensor = pb_tensor("t", OPS_TYPE_STRING, 1, &two);
  pb_add_bytes(&tensor, kStringData, "a\0\xff", 3);
  pb_add_bytes(&tensor, kStringData, "", 0);
  ops_error error = OPS_ERROR_INIT;
  rt_model *model = NULL;
  assert_int_equal(try_load(tensor, &model, &error), OPS_OK);
  const rt_model_tensor *t = &model->graph.initializers[0];
  assert_null(t->data);
  assert_int_equal(t->strings[0].size, 3);
  assert_memory_equal(t->strings[0].data, "a\0\xff", 3);
  assert_int_equal(t->strings[1].size, 0);
  rt_model_destroy(model);
  assert_data(pb_tensor("t", OPS_TYPE_FLOAT, 1, &zero), NULL, 0);
  assert_data(raw(OPS_TYPE_FLOAT, 0, "", 0), NULL, 0);
  pb scalar = pb_tensor("t", OPS_TYPE_FLOAT, 0, NULL);
  pb_add_float(&scalar, kFloatData, 2.0f);  // not packed
  const float two_f = 2.0f;
  assert_data(scalar, &two_f, 4);
}

static void refuses_wrong_amounts(void **state) {
  (void)state;
  const uint8_t bytes[] = {2, 0, 0, 0};
  const int64_t big[] = {300}, two = 2;
  assert_refused(raw(OPS_TYPE_FLOAT, 2, bytes, 4), OPS_ERROR_INVALID_MODEL,
                 "raw_data has 4 bytes; expected 8 for 2 elements of type float");
  assert_refused(raw(OPS_TYPE_BOOL, 4, bytes, 4), OPS_ERROR_INVALID_MODEL,
                 "element 0 of a bool tensor is 2; expected 0 or 1");
  assert_refused(vector(OPS_TYPE_UINT8, 1, kInt32Data, big, 1), OPS_ERROR_INVALID_MODEL,
                 "entry 0 of int32_data is 300; expected 0 to 255");
  assert_refused(pb_tensor("t", OPS_TYPE_FLOAT, 1, &two), OPS_ERROR_INVALID_MODEL,
                 "float_data has 0 entries; expected 2");
  pb both = raw(OPS_TYPE_INT32, 1, bytes, 4);
  pb_add_int(&both, kInt32Data, 2);
  assert_refused(both, OPS_ERROR_INVALID_MODEL,
                 "holds data in int32_data; expected only raw_data");
  assert_refused(vector(OPS_TYPE_INT64, 1, kInt32Data, big, 1), OPS_ERROR_INVALID_MODEL,
                 "holds data in int32_data; expected only int64_data for type int64");
  assert_refused(raw(OPS_TYPE_STRING, 1, bytes, 4), OPS_ERROR_INVALID_MODEL,
                 "only string_data");
  pb segment = raw(OPS_TYPE_INT32, 1, bytes, 4), range = {0};
  pb_add_int(&range, 2, 1);
  pb_add_message(&segment, 3, range);
  assert_refused(segment, OPS_ERROR_UNSUPPORTED, "is a segment of a larger tensor");
}

static void refuses_impossible_shapes(void **state) {
  (void)state;
  const int64_t negative[] = {2, -3};
  assert_refused(pb_tensor("t", OPS_TYPE_FLOAT, 2, negative), OPS_ERROR_INVALID_MODEL,
                 "dimension 1 is -3; expected 0 or more");
  const int64_t huge[] = {INT64_C(1) << 40, INT64_C(1) << 40};
  assert_refused(pb_tensor("t", OPS_TYPE_FLOAT, 2, huge), OPS_ERROR_INVALID_MODEL,
                 "exceeds 2^63 - 1 elements");
  const int64_t wide[] = {INT64_MAX};
  assert_refused(pb_tensor("t", OPS_TYPE_COMPLEX128, 1, wide), OPS_ERROR_INVALID_MODEL,
                 "exceed 2^64 bits");
  const int64_t ones[OPS_MAX_RANK + 1] = {0};
  assert_refused(pb_tensor("t", OPS_TYPE_FLOAT, OPS_MAX_RANK + 1, ones),
                 OPS_ERROR_INVALID_MODEL,
                 "has 33 dimensions; expected at most 32 (OPS_MAX_RANK)");
  assert_data(pb_tensor("t", OPS_TYPE_FLOAT, OPS_MAX_RANK, ones), NULL, 0);
  assert_refused(pb_tensor("t", 0, 0, NULL), OPS_ERROR_INVALID_MODEL, "element type 0");
  assert_refused(pb_tensor("t", OPS_TYPE_COUNT, 0, NULL), OPS_ERROR_UNSUPPORTED,
                 "element type");
  assert_refused(pb_tensor("t", -1, 0, NULL), OPS_ERROR_INVALID_MODEL, "element type -1");
}

static pb sparse(int64_t nnz, int64_t index, const int64_t *dims, int rank) {
  pb values = pb_tensor("t", OPS_TYPE_FLOAT, 1, &nnz), out = {0};
  for (int64_t i = 0; i < nnz; ++i) pb_add_float(&values, kFloatData, 1.0f);
  pb_add_message(&out, 1, values);
  pb_add_message(&out, 2, vector(OPS_TYPE_INT64, 1, kInt64Data, &index, 1));
  for (int i = 0; i < rank; ++i) pb_add_int(&out, 3, dims[i]);
  return out;
}

static int32_t load_sparse(pb tensor, ops_error *error) {
  pb graph = {0};
  pb_add_message(&graph, 15, tensor);
  pb bytes = pb_model(graph, 13);
  rt_model *model = NULL;
  const int32_t status = rt_model_load_bytes(bytes.data, bytes.size, NULL, NULL, &model, error);
  rt_model_destroy(model);
  free(bytes.data);
  return status;
}

static void checks_sparse_tensors(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  const int64_t dims[] = {2, 3};
  assert_int_equal(load_sparse(sparse(1, 5, dims, 2), &error), OPS_OK);
  assert_int_equal(load_sparse(sparse(1, 6, dims, 2), &error), OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "is 6; expected 0 or more and less than 6"));
  assert_int_equal(load_sparse(sparse(2, 0, dims, 2), &error), OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "do not fit"));
  assert_int_equal(load_sparse((pb){0}, &error), OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "has no values"));
}

static void names_types(void **state) {
  (void)state;
  assert_string_equal(rt_model_elem_type_name(OPS_TYPE_INT4), "int4");
  assert_string_equal(rt_model_elem_type_name(OPS_TYPE_COUNT), "undefined");
  assert_string_equal(rt_model_elem_type_name(-1), "undefined");
  assert_int_equal(rt_model_elem_type_bits(OPS_TYPE_COMPLEX128), 128);
  assert_int_equal(rt_model_elem_type_bits(0), 0);
  assert_string_equal(rt_model_attribute_kind_name(RT_MODEL_ATTRIBUTE_TYPES), "TYPES");
  assert_string_equal(rt_model_attribute_kind_name(99), "UNDEFINED");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_integers_from_typed_fields),
      cmocka_unit_test(reads_bit_patterns),
      cmocka_unit_test(reads_narrow_types),
      cmocka_unit_test(reads_types_of_six_bits),
      cmocka_unit_test(reads_floats_in_place),
      cmocka_unit_test(reads_strings_empty_and_scalar),
      cmocka_unit_test(refuses_wrong_amounts),
      cmocka_unit_test(refuses_impossible_shapes),
      cmocka_unit_test(checks_sparse_tensors),
      cmocka_unit_test(names_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

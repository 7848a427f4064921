// SPDX-License-Identifier: Apache-2.0
//
// Files of one tensor. The expected bytes were written by numpy 2.4 (numpy.save) and by the
// onnx package 1.23 (numpy_helper.from_array(...).SerializeToString()).
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

#include "model/tensor_file.h"

static char path_npy[] = "/tmp/model_tensor_XXXXXX.npy";
static char path_pb[] = "/tmp/model_tensor_XXXXXX.pb";

static int set_up(void **state) {
  (void)state;
  const int npy = mkstemps(path_npy, 4), pb = mkstemps(path_pb, 3);
  if (npy < 0 || pb < 0) return -1;
  close(npy);
  return close(pb);
}

static int tear_down(void **state) {
  (void)state;
  unlink(path_npy);
  return unlink(path_pb);
}

// A .npy of version 1.0 with the given header (padded by nothing) and data.
static size_t make_npy(uint8_t *out, const char *header, const void *data, size_t size) {
  const size_t length = strlen(header);
  memcpy(out, "\x93NUMPY\x01\x00", 8);
  out[8] = (uint8_t)length;
  out[9] = (uint8_t)(length >> 8);
  memcpy(out + 10, header, length);
  memcpy(out + 10 + length, data, size);
  return 10 + length + size;
}

static int32_t read_npy(const char *header, const void *data, size_t size, rt_tensor_file **out,
                        ops_error *error) {
  uint8_t buffer[4096];
  const size_t total = make_npy(buffer, header, data, size);
  uint8_t *exact = malloc(total);
  memcpy(exact, buffer, total);
  const int32_t status = rt_tensor_file_read_bytes(exact, total, out, error);
  free(exact);
  return status;
}

static void assert_refused(const char *header, size_t size, int32_t expected,
                           const char *text) {
  static const uint8_t kZeros[64];
  ops_error error = OPS_ERROR_INIT;
  rt_tensor_file *file = NULL;
  assert_int_equal(read_npy(header, kZeros, size, &file, &error), expected);
  assert_null(file);
  if (!strstr(error.message, text)) print_error("found: %s\n", error.message);
  assert_non_null(strstr(error.message, text));
}

static void reads_fortran_and_big_endian(void **state) {
  (void)state;
  // numpy.asfortranarray(numpy.arange(6, dtype='>i4').reshape(2, 3))
  const uint8_t data[24] = {0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1,
                            0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 5};
  const int32_t expected[6] = {0, 1, 2, 3, 4, 5};
  ops_error error = OPS_ERROR_INIT;
  rt_tensor_file *file = NULL;
  assert_int_equal(read_npy("{'descr': '>i4', 'fortran_order': True, 'shape': (2, 3), }    \n",
                            data, sizeof data, &file, &error),
                   OPS_OK);
  const rt_model_tensor *t = &file->tensor;
  assert_int_equal(t->elem_type, OPS_TYPE_INT32);
  assert_int_equal(t->rank, 2);
  assert_int_equal(t->dims[0], 2);
  assert_int_equal(t->dims[1], 3);
  assert_memory_equal(t->data, expected, sizeof expected);
  rt_tensor_file_destroy(file);
}

// The dimensions of a tensor of rank 3, permuted: element (i, j, k) holds 100 i + 10 j + k.
static void reads_fortran_of_rank_three(void **state) {
  (void)state;
  uint8_t data[24];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) data[i + 2 * (j + 3 * k)] = (uint8_t)(100 * i + 10 * j + k);
  ops_error error = OPS_ERROR_INIT;
  rt_tensor_file *file = NULL;
  assert_int_equal(read_npy("{\"shape\":(2,3,4),'fortran_order':True,'descr':'|u1'}", data,
                            sizeof data, &file, &error),
                   OPS_OK);
  const uint8_t *values = file->tensor.data;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k)
        assert_int_equal(values[(i * 3 + j) * 4 + k], 100 * i + 10 * j + k);
  rt_tensor_file_destroy(file);
}

static void swaps_complex_by_halves(void **state) {
  (void)state;
  // numpy.array(1.5 - 2j, dtype='>c8').tobytes()
  const uint8_t data[8] = {0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0};
  const float expected[2] = {1.5f, -2.0f};
  ops_error error = OPS_ERROR_INIT;
  rt_tensor_file *file = NULL;
  assert_int_equal(
      read_npy("{'descr': '>c8', 'fortran_order': False, 'shape': ()}", data, 8, &file, &error),
      OPS_OK);
  assert_int_equal(file->tensor.rank, 0);
  assert_memory_equal(file->tensor.data, expected, 8);
  rt_tensor_file_destroy(file);
}

static void refuses_bad_npy(void **state) {
  (void)state;
  const int32_t bad = OPS_ERROR_INVALID_MODEL, lacks = OPS_ERROR_UNSUPPORTED;
  assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7, bad,
                 "7 bytes of data; expected 8 for 2 elements of type float");
  assert_refused("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", 8, lacks, "'|O'");
  assert_refused("{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }", 8, lacks,
                 "'<U3'");
  assert_refused("{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }", 16, lacks,
                 "'<f16'");
  assert_refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4, lacks,
                 "records");
  assert_refused("{'descr': '', 'fortran_order': False, 'shape': (1,), }", 4, lacks, "type ''");
  assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 4, bad,
                 "expected a dimension");
  assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", 4,
                 bad, "below 2^63");
  assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
                 4, bad, "more than 2^63 - 1");
  assert_refused("{'descr': '<f4', 'fortran_order': 1, 'shape': (1,), }", 4, bad,
                 "True or False");
  assert_refused("{'descr': '<f4', 'shape': (1,), }", 4, bad, "all of 'descr'");
  assert_refused("{'shape': (1,), 'shape': (1,), }", 4, bad, "each key once");
  assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", 4, bad,
                 "a value of 'descr'");
  assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", 4, bad,
                 "the end");
  assert_refused("{'descr': '<f4", 4, bad, "the end of a string");
  assert_refused("{", 0, bad, "a string");
  assert_refused("", 0, bad, "a dictionary");
  assert_refused(
      "{'descr': '<f4', 'fortran_order': False, 'shape': "
      "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
      4, bad, "OPS_MAX_RANK");
  assert_refused("{'descr': '|b1', 'fortran_order': True, 'shape': (0, 3)}", 1, bad,
                 "1 bytes of data; expected 0 for 0 elements");
}

static void survives_truncated_npy(void **state) {
  (void)state;
  uint8_t buffer[256];
  const size_t total =
      make_npy(buffer, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n",
               "abcdefghijkl", 12);
  ops_error error = OPS_ERROR_INIT;
  for (size_t size = 0; size < total; ++size) {
    rt_tensor_file *file = NULL;
    uint8_t *exact = malloc(size ? size : 1);
    memcpy(exact, buffer, size);
    assert_int_not_equal(rt_tensor_file_read_bytes(exact, size, &file, &error), OPS_OK);
    assert_null(file);
    free(exact);
  }
}

static void assert_file(const char *path, const void *expected, size_t size) {
  uint8_t buffer[512];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  const size_t found = fread(buffer, 1, sizeof buffer, file);
  fclose(file);
  assert_int_equal(found, size);
  assert_memory_equal(buffer, expected, size);
}

static const int64_t kDims[] = {2, 3};
static const int16_t kValues[] = {0, 1, 2, 3, 4, 5};
static const rt_model_tensor kShorts = {.name = OPS_STR("t"),
                                        .elem_type = OPS_TYPE_INT16,
                                        .rank = 2,
                                        .dims = kDims,
                                        .element_count = 6,
                                        .data = kValues,
                                        .size = 12};

static void writes_what_numpy_writes(void **state) {
  (void)state;
  char expected[140];
  memset(expected, ' ', sizeof expected);
  memcpy(expected, "\x93NUMPY\x01\x00v\x00", 10);
  memcpy(expected + 10, "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }", 59);
  expected[127] = '\n';
  memcpy(expected + 128, kValues, 12);
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_tensor_file_write(path_npy, &kShorts, &error), OPS_OK);
  assert_file(path_npy, expected, sizeof expected);
  rt_tensor_file *file = NULL;
  assert_int_equal(rt_tensor_file_read(path_npy, &file, &error), OPS_OK);
  assert_memory_equal(file->tensor.data, kValues, 12);
  rt_tensor_file_destroy(file);
  rt_model_tensor narrow = kShorts;
  narrow.elem_type = OPS_TYPE_BFLOAT16;
  assert_int_equal(rt_tensor_file_write(path_npy, &narrow, &error), OPS_ERROR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "numpy has no type bfloat16"));
}

static void writes_what_onnx_reads(void **state) {
  (void)state;
  // TensorProto{dims: 2 3, data_type: INT16, name: "t", raw_data: 0..5}
  static const uint8_t kExpected[] = {8, 2, 8, 3, 0x10, 5, 0x42, 1, 't', 0x4a, 12, 0,
                                      0, 1, 0, 2, 0,    3, 0,    4, 0,   5,    0};
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_tensor_file_write(path_pb, &kShorts, &error), OPS_OK);
  assert_file(path_pb, kExpected, sizeof kExpected);
  rt_tensor_file *file = NULL;
  assert_int_equal(rt_tensor_file_read(path_pb, &file, &error), OPS_OK);
  assert_int_equal(file->tensor.elem_type, OPS_TYPE_INT16);
  assert_int_equal(file->tensor.name.size, 1);
  assert_memory_equal(file->tensor.data, kValues, 12);
  rt_tensor_file_destroy(file);
}

static void writes_strings(void **state) {
  (void)state;
  // numpy_helper.from_array(numpy.array(['a', 'bc'], dtype=object), 's'), fields in order
  static const uint8_t kExpected[] = {8,    2, 0x10, 8,   0x32, 1, 'a',
                                      0x32, 2, 'b',  'c', 0x42, 1, 's'};
  static const ops_str kStrings[] = {OPS_STR("a"), OPS_STR("bc")};
  const int64_t two = 2;
  const rt_model_tensor tensor = {.name = OPS_STR("s"),
                                  .elem_type = OPS_TYPE_STRING,
                                  .rank = 1,
                                  .dims = &two,
                                  .element_count = 2,
                                  .strings = kStrings};
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_tensor_file_write(path_pb, &tensor, &error), OPS_OK);
  assert_file(path_pb, kExpected, sizeof kExpected);
  assert_int_equal(rt_tensor_file_write("/nonexistent/x.pb", &tensor, &error), OPS_ERROR_IO);
  assert_non_null(strstr(error.message, "/nonexistent/x.pb cannot be written"));
  assert_int_equal(rt_tensor_file_write(path_npy, &tensor, &error), OPS_ERROR_UNSUPPORTED);
}

static void reports_bad_files(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  rt_tensor_file *file = NULL;
  assert_int_equal(rt_tensor_file_read("/nonexistent/x.pb", &file, &error), OPS_ERROR_IO);
  assert_int_equal(rt_tensor_file_read_bytes("garbage", 7, &file, &error),
                   OPS_ERROR_INVALID_MODEL);
  assert_int_equal(rt_tensor_file_read_bytes(NULL, 0, &file, &error), OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "element type 0"));
  rt_tensor_file_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_fortran_and_big_endian),
      cmocka_unit_test(reads_fortran_of_rank_three),
      cmocka_unit_test(swaps_complex_by_halves),
      cmocka_unit_test(refuses_bad_npy),
      cmocka_unit_test(survives_truncated_npy),
      cmocka_unit_test(writes_what_numpy_writes),
      cmocka_unit_test(writes_what_onnx_reads),
      cmocka_unit_test(writes_strings),
      cmocka_unit_test(reports_bad_files),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}

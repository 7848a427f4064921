// SPDX-License-Identifier: Apache-2.0
//
// Sequences and optionals in files. The bytes are written by hand from the field numbers of
// onnx-data.proto; the official files are read by session/onnx_control_test.c.
#include "model/value_file.h"

#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// cmocka needs the headers above first
#include <cmocka.h>

// TensorProto: dims [2], data_type 7 (int64), raw_data of 16 bytes: 1, 2.
#define TENSOR 0x08, 2, 0x10, 7, 0x4a, 16, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0
#define TENSOR_SIZE 22

static int32_t read_value(const uint8_t *bytes, uint64_t size, int32_t kind,
                          rt_value_file **out, ops_error *error) {
  // Behind the last byte nothing may be read: AddressSanitizer sees it.
  uint8_t *copy = malloc(size ? size : 1);
  if (size) memcpy(copy, bytes, size);
  const int32_t status = rt_value_file_read_bytes(copy, size, kind, out, error);
  free(copy);
  assert_true((status == OPS_OK) == (*out != NULL));
  return status;
}

static void sequences_hold_their_tensors(void **state) {
  (void)state;
  static const uint8_t bytes[] = {0x0a,        1,      's',  0x10,        1,     0x1a,
                                  TENSOR_SIZE, TENSOR, 0x1a, TENSOR_SIZE, TENSOR};
  rt_value_file *file = NULL;
  assert_int_equal(read_value(bytes, sizeof bytes, RT_MODEL_TYPE_SEQUENCE, &file, NULL),
                   OPS_OK);
  assert_int_equal(file->value.kind, RT_MODEL_TYPE_SEQUENCE);
  assert_int_equal(file->value.count, 2);
  const rt_model_tensor *tensor = &file->value.items[1].tensor;
  assert_int_equal(tensor->elem_type, OPS_TYPE_INT64);
  assert_int_equal(tensor->dims[0], 2);
  assert_int_equal(((const int64_t *)tensor->data)[1], 2);
  rt_value_file_destroy(file);
}

// What is written is what was read, byte for byte, but for the name.
static void assert_round_trip(const uint8_t *bytes, uint64_t size, int32_t kind) {
  char path[] = "/tmp/value_file_XXXXXX";
  uint8_t written[256];
  rt_value_file *file = NULL;
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(read_value(bytes, size, kind, &file, NULL), OPS_OK);
  assert_int_equal(rt_value_file_write(path, &file->value, NULL), OPS_OK);
  rt_value_file_destroy(file);
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  const size_t count = fread(written, 1, sizeof written, stream);
  fclose(stream);
  close(fd);
  unlink(path);
  assert_int_equal(count, size);
  assert_memory_equal(written, bytes, size);
}

static void lists_are_written(void **state) {
  (void)state;
  static const uint8_t none[] = {0x10, 1};
  static const uint8_t two[] = {0x10, 1, 0x1a, TENSOR_SIZE, TENSOR, 0x1a, TENSOR_SIZE, TENSOR};
  static const uint8_t deep[] = {0x10, 3,    0x2a,        TENSOR_SIZE + 4, 0x10,
                                 1,    0x1a, TENSOR_SIZE, TENSOR};
  assert_round_trip(none, sizeof none, RT_MODEL_TYPE_SEQUENCE);
  assert_round_trip(none, sizeof none, RT_MODEL_TYPE_OPTIONAL);
  assert_round_trip(two, sizeof two, RT_MODEL_TYPE_SEQUENCE);
  assert_round_trip(deep, sizeof deep, RT_MODEL_TYPE_OPTIONAL);
}

static void what_the_format_lacks_is_not_written(void **state) {
  (void)state;
  rt_model_value items[2] = {{.kind = RT_MODEL_TYPE_SEQUENCE},
                             {.kind = RT_MODEL_TYPE_OPTIONAL}};
  const rt_model_value mixed = {.kind = RT_MODEL_TYPE_SEQUENCE, .items = items, .count = 2};
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_value_file_write("/tmp/mixed.pb", &mixed, &error),
                   OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "element 1"));
  assert_int_equal(access("/tmp/mixed.pb", F_OK), -1);
  assert_int_equal(rt_value_file_write("/tmp/a.npy", &mixed, &error), OPS_ERROR_UNSUPPORTED);
}

static void optionals_may_be_empty(void **state) {
  (void)state;
  static const uint8_t empty[] = {0x10, 1};
  static const uint8_t full[] = {0x10, 3, 0x2a, TENSOR_SIZE + 2, 0x1a, TENSOR_SIZE, TENSOR};
  rt_value_file *file = NULL;
  assert_int_equal(read_value(empty, sizeof empty, RT_MODEL_TYPE_OPTIONAL, &file, NULL),
                   OPS_OK);
  assert_int_equal(file->value.count, 0);
  rt_value_file_destroy(file);
  assert_int_equal(read_value(full, sizeof full, RT_MODEL_TYPE_OPTIONAL, &file, NULL), OPS_OK);
  assert_int_equal(file->value.count, 1);
  assert_int_equal(file->value.items[0].kind, RT_MODEL_TYPE_SEQUENCE);
  assert_int_equal(file->value.items[0].count, 1);
  rt_value_file_destroy(file);
}

// Every prefix and every single changed byte is read or refused, never more.
static void damaged_files_are_refused(void **state) {
  (void)state;
  uint8_t bytes[] = {0x0a, 1, 's', 0x10, 1, 0x1a, TENSOR_SIZE, TENSOR};
  rt_value_file *file = NULL;
  int refused = 0;
  for (uint64_t size = 0; size < sizeof bytes; ++size)
    for (int change = 0; change < 256; change += 5) {
      bytes[size] ^= (uint8_t)change;
      refused += read_value(bytes, sizeof bytes, RT_MODEL_TYPE_SEQUENCE, &file, NULL) != OPS_OK;
      rt_value_file_destroy(file);
      refused += read_value(bytes, size, RT_MODEL_TYPE_OPTIONAL, &file, NULL) != OPS_OK;
      rt_value_file_destroy(file);
      bytes[size] ^= (uint8_t)change;
    }
  assert_true(refused > 300);
}

static void refusals_say_why(void **state) {
  (void)state;
  static const uint8_t two[] = {0x1a, TENSOR_SIZE, TENSOR, 0x1a, TENSOR_SIZE, TENSOR};
  static const uint8_t map[] = {0x32, 0};
  uint8_t deep[600];
  ops_error error = OPS_ERROR_INIT;
  rt_value_file *file = NULL;
  assert_int_equal(read_value(two, sizeof two, RT_MODEL_TYPE_OPTIONAL, &file, &error),
                   OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "more than one element"));
  assert_int_equal(read_value(map, sizeof map, RT_MODEL_TYPE_SEQUENCE, &file, &error),
                   OPS_ERROR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "map"));
  // Sequences inside sequences, from the innermost outwards.
  uint64_t size = 0;
  for (int level = 0; level < 190; ++level) {
    const uint64_t header = size < 128 ? 2 : 3;
    memmove(deep + header, deep, size);
    deep[0] = 0x2a;
    deep[1] = (uint8_t)(size < 128 ? size : (size & 0x7f) | 0x80);
    if (header == 3) deep[2] = (uint8_t)(size >> 7);
    size += header;
  }
  assert_int_equal(read_value(deep, size, RT_MODEL_TYPE_SEQUENCE, &file, &error),
                   OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "RT_MODEL_MAX_NESTING"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sequences_hold_their_tensors),
      cmocka_unit_test(lists_are_written),
      cmocka_unit_test(what_the_format_lacks_is_not_written),
      cmocka_unit_test(optionals_may_be_empty),
      cmocka_unit_test(damaged_files_are_refused),
      cmocka_unit_test(refusals_say_why),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

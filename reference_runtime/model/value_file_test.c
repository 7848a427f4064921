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

// MapProto as the Python package onnx 1.23.2 serialises it: {7: 1.5, 300: 2.5, -1: -3} of int64
// to float, and {"a": 1, "": 2} of strings to int64.
#define NUMBERS_HEAD 16, 7
#define NUMBERS_KEYS 24, 7, 24, 172, 2, 24, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1
#define NUMBERS_VALUES                                                                         \
  42, 32, 16, 1, 26, 8, 16, 1, 74, 4, 0, 0, 192, 63, 26, 8, 16, 1, 74, 4, 0, 0, 32, 64, 26, 8, \
      16, 1, 74, 4, 0, 0, 64, 192
static const uint8_t numbers[] = {NUMBERS_HEAD, NUMBERS_KEYS, NUMBERS_VALUES};
static const uint8_t words[] = {16, 8,  34, 1,  97, 34, 0, 42, 30, 16, 1, 26, 12,
                                16, 7,  74, 8,  1,  0,  0, 0,  0,  0,  0, 0,  26,
                                12, 16, 7,  74, 8,  2,  0, 0,  0,  0,  0, 0,  0};

static void maps_have_keys_and_values(void **state) {
  (void)state;
  // The same keys, packed into one field.
  static const uint8_t packed[] = {NUMBERS_HEAD, 26,  13,  7,   172,           2,
                                   255,          255, 255, 255, 255,           255,
                                   255,          255, 255, 1,   NUMBERS_VALUES};
  const struct {
    const uint8_t *bytes;
    uint64_t size;
  } files[] = {{numbers, sizeof numbers}, {packed, sizeof packed}};
  rt_value_file *file = NULL;
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(read_value(files[i].bytes, files[i].size, RT_MODEL_TYPE_MAP, &file, NULL),
                     OPS_OK);
    assert_int_equal(file->value.count, 3);
    assert_int_equal(file->value.key_type, OPS_TYPE_INT64);
    assert_int_equal(file->value.keys[1], 300);
    assert_int_equal(file->value.keys[2], -1);
    assert_true(*(const float *)file->value.items[2].tensor.data == -3);
    rt_value_file_destroy(file);
  }
  assert_int_equal(read_value(words, sizeof words, RT_MODEL_TYPE_MAP, &file, NULL), OPS_OK);
  assert_int_equal(file->value.key_type, OPS_TYPE_STRING);
  assert_int_equal(file->value.string_keys[0].size, 1);
  assert_int_equal(file->value.string_keys[0].data[0], 'a');
  assert_int_equal(file->value.string_keys[1].size, 0);
  assert_int_equal(*(const int64_t *)file->value.items[1].tensor.data, 2);
  rt_value_file_destroy(file);
  assert_round_trip(numbers, sizeof numbers, RT_MODEL_TYPE_MAP);
  assert_round_trip(words, sizeof words, RT_MODEL_TYPE_MAP);
}

static void maps_stand_in_sequences(void **state) {
  (void)state;
  uint8_t bytes[4 + sizeof words] = {16, 4, 50, sizeof words};
  memcpy(bytes + 4, words, sizeof words);
  assert_round_trip(bytes, sizeof bytes, RT_MODEL_TYPE_SEQUENCE);
}

static void damaged_maps_are_refused(void **state) {
  (void)state;
  static const struct {
    uint8_t bytes[8];
    uint64_t size;
    const char *message;
  } rows[] = {
      {{16, 1}, 2, "no integer type"},                       // keys of type float
      {{24, 7}, 2, "no integer type"},                       // no type of keys
      {{16, 7, 24, 7}, 4, "1 integer keys, 0 string keys"},  // no value
      {{16, 8, 24, 7}, 4, "1 integer keys"},
      {{16, 7, 42, 0, 42, 0}, 6, "more than one list"},
      {{16, 7, 26, 1, 0x80}, 5, "a key is cut off"},
  };
  rt_value_file *file = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    ops_error error = OPS_ERROR_INIT;
    assert_int_equal(read_value(rows[i].bytes, rows[i].size, RT_MODEL_TYPE_MAP, &file, &error),
                     OPS_ERROR_INVALID_MODEL);
    if (!strstr(error.message, rows[i].message)) fail_msg("row %zu: %s", i, error.message);
  }
  uint8_t bytes[sizeof numbers];
  for (uint64_t at = 0; at < sizeof numbers; ++at)
    for (int change = 1; change < 256; change += 3) {
      memcpy(bytes, numbers, sizeof numbers);
      bytes[at] ^= (uint8_t)change;
      (void)read_value(bytes, sizeof bytes, RT_MODEL_TYPE_MAP, &file, NULL);
      rt_value_file_destroy(file);
      (void)read_value(bytes, at, RT_MODEL_TYPE_MAP, &file, NULL);
      rt_value_file_destroy(file);
    }
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
  static const uint8_t sparse[] = {0x22, 0};
  uint8_t deep[600];
  ops_error error = OPS_ERROR_INIT;
  rt_value_file *file = NULL;
  assert_int_equal(read_value(two, sizeof two, RT_MODEL_TYPE_OPTIONAL, &file, &error),
                   OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "more than one element"));
  assert_int_equal(read_value(sparse, sizeof sparse, RT_MODEL_TYPE_SEQUENCE, &file, &error),
                   OPS_ERROR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "sparse"));
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
      cmocka_unit_test(maps_have_keys_and_values),
      cmocka_unit_test(maps_stand_in_sequences),
      cmocka_unit_test(damaged_maps_are_refused),
      cmocka_unit_test(what_the_format_lacks_is_not_written),
      cmocka_unit_test(optionals_may_be_empty),
      cmocka_unit_test(damaged_files_are_refused),
      cmocka_unit_test(refusals_say_why),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// Strings, sequences, optionals and maps through the table that providers see. Sequences and
// maps are compared with a plain array under seeded random edits; every allocation fails in
// turn; AddressSanitizer counts the references.
#include "loader/value.h"

#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

#include "loader/test/fail_alloc.h"

static const ops_value_api *const kApi = &ops_value_accessors;

static ops_value *create(int32_t kind) {
  ops_error error = OPS_ERROR_INIT;
  ops_value *value = NULL;
  assert_int_equal(ops_value_create(kind, &value, &error), OPS_OK);
  assert_int_equal(kApi->kind(value), kind);
  return value;
}

static ops_str text_of(const char *text) {
  return (ops_str){text, strlen(text)};
}

static ops_arg scalar(const int64_t *number) {
  ops_arg arg = {.kind = OPS_ARG_TENSOR};
  arg.tensor = (ops_tensor){
      .memory = (void *)number, .byte_size = sizeof *number, .type = OPS_TYPE_INT64};
  return arg;
}

static ops_arg value_arg(ops_value *value) {
  return (ops_arg){.kind = OPS_ARG_VALUE, .value = value};
}

static int64_t number_of(const ops_arg *arg) {
  int64_t number;
  assert_int_equal(arg->kind, OPS_ARG_TENSOR);
  memcpy(&number, ops_tensor_data(&arg->tensor), sizeof number);
  return number;
}

static void expect_refused(int32_t status, int32_t expected, const ops_error *error,
                           const char *phrase) {
  assert_int_equal(status, expected);
  assert_int_equal(error->code, expected);
  if (!strstr(error->message, phrase)) fail_msg("'%s' is not in '%s'", phrase, error->message);
}

#define REFUSED(call, status, phrase) expect_refused(call, OPS_ERROR_##status, &error, phrase)

// ---- Strings ----

static void string_tensors_hold_copies(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_value *value = create(OPS_VALUE_STRINGS);
  int32_t rank = -1;
  const int64_t *dims, shape[] = {2, 3};
  ops_str got;
  assert_int_equal(kApi->strings_shape(value, &rank, &dims, &error), OPS_OK);
  assert_int_equal(rank, 0);
  assert_int_equal(kApi->string_get(value, 0, &got, &error), OPS_OK);
  assert_int_equal(got.size, 0);
  assert_int_equal(kApi->strings_resize(value, 2, shape, &error), OPS_OK);
  char buffer[] = "abc";
  assert_int_equal(kApi->string_set(value, 5, text_of(buffer), &error), OPS_OK);
  buffer[0] = 'x';
  assert_int_equal(kApi->string_get(value, 5, &got, &error), OPS_OK);
  assert_int_equal(got.size, 3);
  assert_memory_equal(got.data, "abc", 3);
  // From itself, from another element, shorter, empty, with a zero byte inside.
  assert_int_equal(kApi->string_set(value, 5, got, &error), OPS_OK);
  assert_int_equal(kApi->string_get(value, 5, &got, &error), OPS_OK);
  assert_memory_equal(got.data, "abc", 3);
  assert_int_equal(kApi->string_set(value, 5, (ops_str){got.data + 1, 2}, &error), OPS_OK);
  assert_int_equal(kApi->string_get(value, 5, &got, &error), OPS_OK);
  assert_memory_equal(got.data, "bc", 2);
  assert_int_equal(kApi->string_set(value, 0, (ops_str){"a\0b", 3}, &error), OPS_OK);
  assert_int_equal(kApi->string_get(value, 0, &got, &error), OPS_OK);
  assert_memory_equal(got.data, "a\0b", 3);
  assert_int_equal(kApi->string_set(value, 0, (ops_str){NULL, 0}, &error), OPS_OK);
  REFUSED(kApi->string_get(value, 6, &got, &error), INVALID_ARGUMENT, "index 6 is outside");
  REFUSED(kApi->string_set(value, UINT64_MAX, got, &error), INVALID_ARGUMENT, "[0, 6)");
  // Resizing empties all, also to the shape that it has.
  assert_int_equal(kApi->strings_shape(value, &rank, &dims, &error), OPS_OK);
  assert_int_equal(kApi->strings_resize(value, rank, dims, &error), OPS_OK);
  assert_int_equal(kApi->string_get(value, 5, &got, &error), OPS_OK);
  assert_int_equal(got.size, 0);
  ops_value_release(value);
}

static void string_shapes_are_checked(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_value *value = create(OPS_VALUE_STRINGS);
  int64_t dims[OPS_MAX_RANK + 1];
  ops_str got;
  for (int i = 0; i <= OPS_MAX_RANK; ++i) dims[i] = 1;
  assert_int_equal(kApi->strings_resize(value, OPS_MAX_RANK, dims, &error), OPS_OK);
  REFUSED(kApi->strings_resize(value, OPS_MAX_RANK + 1, dims, &error), INVALID_ARGUMENT,
          "rank 33");
  REFUSED(kApi->strings_resize(value, -1, dims, &error), INVALID_ARGUMENT, "rank -1");
  dims[0] = -1;
  REFUSED(kApi->strings_resize(value, 1, dims, &error), INVALID_ARGUMENT, "impossible shape");
  dims[0] = dims[1] = (int64_t)1 << 44;
  REFUSED(kApi->strings_resize(value, 2, dims, &error), INVALID_ARGUMENT, "impossible shape");
  REFUSED(kApi->strings_resize(value, 1, dims, &error), OUT_OF_MEMORY, "no host memory");
  dims[0] = INT64_MAX;
  REFUSED(kApi->strings_resize(value, 1, dims, &error), OUT_OF_MEMORY, "no host memory");
  // A refusal leaves the value as it was.
  assert_int_equal(kApi->string_get(value, 0, &got, &error), OPS_OK);
  dims[0] = 0;
  assert_int_equal(kApi->strings_resize(value, 1, dims, &error), OPS_OK);
  REFUSED(kApi->string_get(value, 0, &got, &error), INVALID_ARGUMENT, "[0, 0)");
  ops_value_release(value);
}

// ---- Every accessor refuses a value of another kind ----

static void kinds_are_checked(void **state) {
  static const char *const names[] = {
      "", "", "a string tensor", "a sequence", "an optional", "a map"};
  (void)state;
  for (int32_t kind = OPS_VALUE_STRINGS; kind <= OPS_VALUE_MAP; ++kind) {
    ops_value *value = create(kind);
    int32_t rank;
    const int64_t *dims, number = 1;
    uint64_t size;
    ops_str text = {NULL, 0};
    const ops_arg item = scalar(&number);
    ops_arg got, key;
#define CHECK(of, call)                                            \
  if (kind != OPS_VALUE_##of) {                                    \
    ops_error error = OPS_ERROR_INIT;                              \
    REFUSED(call, INVALID_ARGUMENT, names[kind]);                  \
    assert_non_null(strstr(error.message, names[OPS_VALUE_##of])); \
  }
    CHECK(STRINGS, kApi->strings_shape(value, &rank, &dims, &error))
    CHECK(STRINGS, kApi->strings_resize(value, 0, NULL, &error))
    CHECK(STRINGS, kApi->string_get(value, 0, &text, &error))
    CHECK(STRINGS, kApi->string_set(value, 0, text, &error))
    CHECK(SEQUENCE, kApi->sequence_size(value, &size, &error))
    CHECK(SEQUENCE, kApi->sequence_get(value, 0, &got, &error))
    CHECK(SEQUENCE, kApi->sequence_insert(value, 0, &item, &error))
    CHECK(SEQUENCE, kApi->sequence_erase(value, 0, &error))
    CHECK(OPTIONAL, kApi->optional_get(value, &got, &error))
    CHECK(OPTIONAL, kApi->optional_set(value, &item, &error))
    CHECK(MAP, kApi->map_size(value, &size, &error))
    CHECK(MAP, kApi->map_get(value, 0, &key, &got, &error))
    CHECK(MAP, kApi->map_set(value, &item, &item, &error))
#undef CHECK
    ops_value_release(value);
  }
  static const int32_t none[] = {-1, 0, OPS_VALUE_TENSOR, OPS_VALUE_SPARSE, 99};
  for (int i = 0; i < 5; ++i) {
    ops_error error = OPS_ERROR_INIT;
    ops_value *value = NULL;
    REFUSED(ops_value_create(none[i], &value, &error), INVALID_ARGUMENT, "no kind of value");
    assert_null(value);
  }
  ops_value_release(NULL);
}

// ---- Tensors as items ----

static void tensors_are_copied_row_major(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  static const int16_t data[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  static const int64_t dims[] = {2, 3};
  static const struct {
    int64_t strides[2];
    uint64_t byte_offset;
    int16_t expected[6];
  } rows[] = {
      {{3, 1}, 0, {0, 1, 2, 3, 4, 5}},        {{3, 1}, 4, {2, 3, 4, 5, 6, 7}},
      {{1, 2}, 0, {0, 2, 4, 1, 3, 5}},        {{0, 1}, 0, {0, 1, 2, 0, 1, 2}},
      {{-3, -1}, 10, {5, 4, 3, 2, 1, 0}},     {{6, 2}, 2, {1, 3, 5, 7, 9, 11}},
      {{0, 0}, 22, {11, 11, 11, 11, 11, 11}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    ops_value *value = create(OPS_VALUE_SEQUENCE);
    ops_arg arg = {.kind = OPS_ARG_TENSOR, .memory_kind = OPS_MEMORY_PINNED}, got;
    arg.tensor = (ops_tensor){.dims = dims,
                              .strides = rows[i].strides,
                              .memory = (void *)data,
                              .byte_offset = rows[i].byte_offset,
                              .byte_size = sizeof data,
                              .type = OPS_TYPE_INT16,
                              .rank = 2};
    assert_int_equal(kApi->sequence_insert(value, 0, &arg, &error), OPS_OK);
    assert_int_equal(kApi->sequence_get(value, 0, &got, &error), OPS_OK);
    assert_int_equal(got.memory_kind, OPS_MEMORY_HOST);
    assert_int_equal(got.tensor.byte_size, 12);
    assert_int_equal(got.tensor.type, OPS_TYPE_INT16);
    assert_memory_equal(got.tensor.dims, dims, sizeof dims);
    assert_int_equal(ops_strides_are_contiguous(2, got.tensor.dims, got.tensor.strides), 1);
    assert_memory_equal(ops_tensor_data(&got.tensor), rows[i].expected, 12);
    ops_value_release(value);
  }
}

static void impossible_items_are_refused(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_value *value = create(OPS_VALUE_SEQUENCE);
  static const int64_t number = 3, wrong[] = {-1}, huge[] = {INT64_MAX}, step[] = {2},
                       three[] = {3};
  static const unsigned char nibbles[] = {0x21, 0x43};
  uint64_t size = 1;
  ops_arg arg = {.kind = OPS_ARG_ABSENT};
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), INVALID_ARGUMENT, "kind 0");
  arg.kind = 7;
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), INVALID_ARGUMENT, "kind 7");
  arg.kind = OPS_ARG_VALUE;
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), INVALID_ARGUMENT, "without a value");
  arg = scalar(&number);
  arg.memory_kind = OPS_MEMORY_DEVICE;
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), INVALID_ARGUMENT, "host memory");
  arg = scalar(&number);
  arg.tensor.layout = 3;
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), INVALID_ARGUMENT, "private layout");
  arg = scalar(&number);
  arg.tensor.rank = OPS_MAX_RANK + 1;
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), INVALID_ARGUMENT, "impossible");
  arg.tensor.rank = -1;
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), INVALID_ARGUMENT, "impossible");
  arg.tensor.rank = 1;
  arg.tensor.dims = wrong;
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), INVALID_ARGUMENT, "impossible");
  arg.tensor.dims = huge;
  arg.tensor.type = OPS_TYPE_COMPLEX128;
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), INVALID_ARGUMENT, "impossible");
  arg.tensor.type = OPS_TYPE_INT8;
  arg.tensor.strides = three;
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), OUT_OF_MEMORY, "no host memory");
  arg = scalar(&number);
  arg.tensor.type = OPS_TYPE_STRING;
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), INVALID_ARGUMENT, "impossible type");
  arg.tensor.type = OPS_TYPE_COUNT;
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), INVALID_ARGUMENT, "impossible type");
  // Narrow elements: contiguous only.
  arg.tensor = (ops_tensor){.memory = (void *)nibbles,
                            .type = OPS_TYPE_UINT4,
                            .rank = 1,
                            .dims = three,
                            .strides = step};
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), UNSUPPORTED, "uint4");
  arg.tensor.strides = NULL;
  arg.tensor.bit_offset = 4;
  REFUSED(kApi->sequence_insert(value, 0, &arg, &error), UNSUPPORTED, "must be contiguous");
  arg.tensor.bit_offset = 0;
  assert_int_equal(kApi->sequence_size(value, &size, &error), OPS_OK);
  assert_int_equal(size, 0);  // nothing went in
  assert_int_equal(kApi->sequence_insert(value, 0, &arg, &error), OPS_OK);
  ops_value_release(value);
}

// ---- Sequences ----

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;  // Numerical Recipes
  return *seed >> 8;
}

static void sequences_behave_like_arrays(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_value *value = create(OPS_VALUE_SEQUENCE);
  int64_t model[64];
  uint64_t size = 0, got_size;
  uint32_t seed = 3;
  for (int64_t round = 0; round < 3000; ++round) {
    const int grows = size == 0 || (size < 64 && next_random(&seed) % 2);
    const uint64_t at = next_random(&seed) % (size + (uint64_t)grows);
    ops_arg item = scalar(&round), got;
    if (grows) {
      memmove(model + at + 1, model + at, (size - at) * sizeof *model);
      model[at] = round;
      ++size;
      assert_int_equal(kApi->sequence_insert(value, at, &item, &error), OPS_OK);
    } else {
      --size;
      memmove(model + at, model + at + 1, (size - at) * sizeof *model);
      assert_int_equal(kApi->sequence_erase(value, at, &error), OPS_OK);
    }
    assert_int_equal(kApi->sequence_size(value, &got_size, &error), OPS_OK);
    assert_int_equal(got_size, size);
    for (uint64_t i = 0; i < size; ++i) {
      assert_int_equal(kApi->sequence_get(value, i, &got, &error), OPS_OK);
      assert_int_equal(number_of(&got), model[i]);
    }
    REFUSED(kApi->sequence_get(value, size, &got, &error), INVALID_ARGUMENT, "is outside");
    REFUSED(kApi->sequence_erase(value, size, &error), INVALID_ARGUMENT, "is outside");
    REFUSED(kApi->sequence_insert(value, size + 1, &item, &error), INVALID_ARGUMENT,
            "is outside");
  }
  ops_value_release(value);
}

static ops_value *nested(const ops_value *outer, uint64_t index) {
  ops_error error = OPS_ERROR_INIT;
  ops_arg got;
  assert_int_equal(kApi->sequence_get(outer, index, &got, &error), OPS_OK);
  assert_int_equal(got.kind, OPS_ARG_VALUE);
  return got.value;
}

// "A copy of item": what happens to the original later, or to the copy, is nobody else's
// business. A sequence put into itself is an ordinary copy.
static void nested_values_are_copies(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_value *inner = create(OPS_VALUE_SEQUENCE), *outer = create(OPS_VALUE_SEQUENCE);
  const int64_t one = 1, two = 2;
  ops_arg item = scalar(&one), got;
  uint64_t size;
  assert_int_equal(kApi->sequence_insert(inner, 0, &item, &error), OPS_OK);
  item = value_arg(inner);
  for (uint64_t i = 0; i < 2; ++i)
    assert_int_equal(kApi->sequence_insert(outer, i, &item, &error), OPS_OK);
  item = scalar(&two);
  assert_int_equal(kApi->sequence_insert(inner, 0, &item, &error), OPS_OK);
  assert_int_equal(kApi->sequence_insert(nested(outer, 1), 1, &item, &error), OPS_OK);
  assert_int_equal(kApi->sequence_size(nested(outer, 0), &size, &error), OPS_OK);
  assert_int_equal(size, 1);
  assert_int_equal(kApi->sequence_size(nested(outer, 1), &size, &error), OPS_OK);
  assert_int_equal(size, 2);
  ops_value_release(inner);
  assert_int_equal(kApi->sequence_get(nested(outer, 0), 0, &got, &error), OPS_OK);
  assert_int_equal(number_of(&got), 1);
  item = value_arg(outer);
  for (int i = 0; i < 3; ++i)  // 2 items, then 3, then 4 at the front
    assert_int_equal(kApi->sequence_insert(outer, 0, &item, &error), OPS_OK);
  assert_int_equal(kApi->sequence_size(outer, &size, &error), OPS_OK);
  assert_int_equal(size, 5);
  assert_int_equal(kApi->sequence_size(nested(outer, 0), &size, &error), OPS_OK);
  assert_int_equal(size, 4);
  assert_int_equal(kApi->sequence_size(nested(nested(outer, 0), 0), &size, &error), OPS_OK);
  assert_int_equal(size, 3);
  ops_value_release(outer);
}

// An item read from a sequence may be put back into the same one.
static void items_may_come_from_the_value_itself(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_value *value = create(OPS_VALUE_SEQUENCE), *maybe = create(OPS_VALUE_OPTIONAL);
  const int64_t number = 77;
  ops_arg item = scalar(&number);
  for (uint64_t i = 0; i < 40; ++i) {  // through every growth of the array
    assert_int_equal(kApi->sequence_insert(value, 0, &item, &error), OPS_OK);
    assert_int_equal(kApi->sequence_get(value, i / 2, &item, &error), OPS_OK);
  }
  assert_int_equal(number_of(&item), 77);
  assert_int_equal(kApi->optional_set(maybe, &item, &error), OPS_OK);
  assert_int_equal(kApi->optional_get(maybe, &item, &error), OPS_OK);
  assert_int_equal(kApi->optional_set(maybe, &item, &error), OPS_OK);
  assert_int_equal(kApi->optional_get(maybe, &item, &error), OPS_OK);
  assert_int_equal(number_of(&item), 77);
  ops_value_release(maybe);
  ops_value_release(value);
}

// ---- Optionals ----

static void optionals_hold_one_item_or_none(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_value *value = create(OPS_VALUE_OPTIONAL), *strings = create(OPS_VALUE_STRINGS);
  const int64_t number = 5;
  const ops_arg item = scalar(&number), none = {.kind = OPS_ARG_ABSENT};
  ops_arg got, wrong = {.kind = 9}, text = value_arg(strings);
  ops_str found;
  assert_int_equal(kApi->optional_get(value, &got, &error), OPS_OK);
  assert_int_equal(got.kind, OPS_ARG_ABSENT);
  assert_int_equal(kApi->optional_set(value, &item, &error), OPS_OK);
  REFUSED(kApi->optional_set(value, &wrong, &error), INVALID_ARGUMENT, "kind 9");
  assert_int_equal(kApi->optional_get(value, &got, &error), OPS_OK);
  assert_int_equal(number_of(&got), 5);
  assert_int_equal(kApi->string_set(strings, 0, text_of("inside"), &error), OPS_OK);
  assert_int_equal(kApi->optional_set(value, &text, &error), OPS_OK);
  ops_value_release(strings);
  assert_int_equal(kApi->optional_get(value, &got, &error), OPS_OK);
  assert_int_equal(kApi->string_get(got.value, 0, &found, &error), OPS_OK);
  assert_memory_equal(found.data, "inside", 6);
  assert_int_equal(kApi->optional_set(value, &none, &error), OPS_OK);
  assert_int_equal(kApi->optional_get(value, &got, &error), OPS_OK);
  assert_int_equal(got.kind, OPS_ARG_ABSENT);
  ops_value_release(value);
}

// ---- Maps ----

static void maps_replace_equal_keys(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_value *value = create(OPS_VALUE_MAP);
  int64_t keys[32], items[32];
  uint64_t size = 0, got_size;
  uint32_t seed = 5;
  for (int64_t round = 0; round < 1000; ++round) {
    const int64_t key = next_random(&seed) % 32;
    uint64_t at = 0;
    while (at < size && keys[at] != key) ++at;
    if (at == size) keys[size++] = key;  // insertion order
    items[at] = round;
    const ops_arg key_arg = scalar(&key), item = scalar(&round);
    assert_int_equal(kApi->map_set(value, &key_arg, &item, &error), OPS_OK);
  }
  assert_int_equal(kApi->map_size(value, &got_size, &error), OPS_OK);
  assert_int_equal(got_size, size);
  for (uint64_t i = 0; i < size; ++i) {
    ops_arg key, item;
    assert_int_equal(kApi->map_get(value, i, &key, &item, &error), OPS_OK);
    assert_int_equal(number_of(&key), keys[i]);
    assert_int_equal(number_of(&item), items[i]);
  }
  ops_arg key, item;
  REFUSED(kApi->map_get(value, size, &key, &item, &error), INVALID_ARGUMENT, "is outside");
  ops_value_release(value);
}

static void map_keys_are_scalars_or_single_strings(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_value *map = create(OPS_VALUE_MAP), *text = create(OPS_VALUE_STRINGS);
  const int64_t number = 1, two[] = {2}, one[] = {1};
  const int32_t narrow = 1;
  ops_arg key = value_arg(text), item = scalar(&number), got;
  uint64_t size;
  assert_int_equal(kApi->string_set(text, 0, text_of("a"), &error), OPS_OK);
  assert_int_equal(kApi->map_set(map, &key, &item, &error), OPS_OK);
  assert_int_equal(kApi->string_set(text, 0, text_of("b"), &error), OPS_OK);
  assert_int_equal(kApi->map_set(map, &key, &item, &error), OPS_OK);
  assert_int_equal(kApi->map_set(map, &key, &item, &error), OPS_OK);
  assert_int_equal(kApi->map_set(map, &item, &key, &error), OPS_OK);
  ops_arg other = item;  // the same number in another type is another key
  other.tensor.memory = (void *)&narrow;
  other.tensor.type = OPS_TYPE_INT32;
  assert_int_equal(kApi->map_set(map, &other, &item, &error), OPS_OK);
  assert_int_equal(kApi->map_size(map, &size, &error), OPS_OK);
  assert_int_equal(size, 4);
  assert_int_equal(kApi->strings_resize(text, 1, two, &error), OPS_OK);
  REFUSED(kApi->map_set(map, &key, &item, &error), INVALID_ARGUMENT, "a key must be");
  key = item;
  key.tensor.rank = 1;
  key.tensor.dims = key.tensor.strides = one;
  REFUSED(kApi->map_set(map, &key, &item, &error), INVALID_ARGUMENT, "a key must be");
  key = value_arg(map);
  REFUSED(kApi->map_set(map, &key, &item, &error), INVALID_ARGUMENT, "a key must be");
  key = value_arg(NULL);
  REFUSED(kApi->map_set(map, &key, &item, &error), INVALID_ARGUMENT, "a key must be");
  key = scalar(&number);
  item.kind = OPS_ARG_ABSENT;
  REFUSED(kApi->map_set(map, &key, &item, &error), INVALID_ARGUMENT, "an item must be");
  assert_int_equal(kApi->map_size(map, &size, &error), OPS_OK);
  assert_int_equal(size, 4);
  assert_int_equal(kApi->map_get(map, 0, &key, &got, &error), OPS_OK);
  assert_int_equal(key.kind, OPS_ARG_VALUE);
  ops_value_release(text);
  ops_value_release(map);
}

// ---- Exhaustion ----

static int32_t edit(ops_value *sequence, ops_value *map, ops_value *strings) {
  static const int64_t number = 4, shape[] = {3};
  const ops_arg tensor = scalar(&number), text = value_arg(strings),
                whole = value_arg(sequence);
  OPS_RETURN_IF_ERROR(kApi->strings_resize(strings, 1, shape, NULL));
  OPS_RETURN_IF_ERROR(kApi->string_set(strings, 2, text_of("last"), NULL));
  OPS_RETURN_IF_ERROR(kApi->sequence_insert(sequence, 0, &tensor, NULL));
  OPS_RETURN_IF_ERROR(kApi->sequence_insert(sequence, 1, &text, NULL));
  OPS_RETURN_IF_ERROR(kApi->sequence_insert(sequence, 1, &whole, NULL));
  OPS_RETURN_IF_ERROR(kApi->map_set(map, &tensor, &whole, NULL));
  return kApi->map_set(map, &tensor, &text, NULL);
}

static int32_t value_scenario(void) {
  ops_value *sequence = NULL, *map = NULL, *strings = NULL;
  int32_t status = ops_value_create(OPS_VALUE_SEQUENCE, &sequence, NULL);
  if (status == OPS_OK) status = ops_value_create(OPS_VALUE_MAP, &map, NULL);
  if (status == OPS_OK) status = ops_value_create(OPS_VALUE_STRINGS, &strings, NULL);
  if (status == OPS_OK) status = edit(sequence, map, strings);
  ops_value_release(strings);
  ops_value_release(map);
  ops_value_release(sequence);
  return status;
}

// Tensors are shared by assigned values; each changes alone afterwards.
static void assigned_values_share_tensors(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_value *a = create(OPS_VALUE_SEQUENCE), *b = create(OPS_VALUE_SEQUENCE);
  ops_value *text = create(OPS_VALUE_STRINGS);
  for (int64_t i = 0; i < 3; ++i) {
    const ops_arg arg = scalar(&i);
    assert_int_equal(kApi->sequence_insert(a, (uint64_t)i, &arg, &error), OPS_OK);
  }
  const int64_t old = 9;
  const ops_arg arg = scalar(&old);
  assert_int_equal(kApi->sequence_insert(b, 0, &arg, &error), OPS_OK);
  assert_int_equal(kApi->assign(b, a, &error), OPS_OK);
  assert_int_equal(kApi->assign(b, b, &error), OPS_OK);
  ops_arg of_a, of_b;
  kApi->sequence_get(a, 1, &of_a, &error);
  kApi->sequence_get(b, 1, &of_b, &error);
  assert_ptr_equal(ops_tensor_data(&of_a.tensor), ops_tensor_data(&of_b.tensor));
  assert_int_equal(kApi->sequence_erase(a, 1, &error), OPS_OK);
  uint64_t size = 0;
  kApi->sequence_size(b, &size, &error);
  assert_int_equal(size, 3);
  kApi->sequence_get(b, 1, &of_b, &error);
  assert_int_equal(number_of(&of_b), 1);
  REFUSED(kApi->assign(b, text, &error), INVALID_ARGUMENT, "is a sequence");
  ops_value_release(a);
  ops_value_release(b);
  ops_value_release(text);
}

static void exhaustion_is_reported(void **state) {
  (void)state;
  assert_true(fail_alloc_each(value_scenario, OPS_ERROR_OUT_OF_MEMORY) > 25);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(string_tensors_hold_copies),
      cmocka_unit_test(string_shapes_are_checked),
      cmocka_unit_test(kinds_are_checked),
      cmocka_unit_test(tensors_are_copied_row_major),
      cmocka_unit_test(impossible_items_are_refused),
      cmocka_unit_test(sequences_behave_like_arrays),
      cmocka_unit_test(nested_values_are_copies),
      cmocka_unit_test(items_may_come_from_the_value_itself),
      cmocka_unit_test(optionals_hold_one_item_or_none),
      cmocka_unit_test(maps_replace_equal_keys),
      cmocka_unit_test(map_keys_are_scalars_or_single_strings),
      cmocka_unit_test(assigned_values_share_tensors),
      cmocka_unit_test(exhaustion_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

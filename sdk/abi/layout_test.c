// SPDX-License-Identifier: Apache-2.0
//
// The ABI on record, asserted: layout_0_1.inc holds every struct, field, function type and
// constant as a line, and each line becomes a static assertion here. A header that no longer
// agrees does not compile. What the preprocessor cannot assert (texts, lists) is tested when
// the program runs, the numbers that are ONNX's against a copy of onnx.proto's.
#include <ops/ops.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

_Static_assert(sizeof(void *) == 8 && sizeof(long) == 8, "the record is of the LP64 model");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the record is little-endian");

// ---- What is known when this file is compiled ----

#define STRUCT(type, size) _Static_assert(sizeof(struct type) == (size), #type);
#define FIELD(type, field, offset, size, ...)                                             \
  _Static_assert(offsetof(struct type, field) == (offset), #type "." #field ": offset");  \
  _Static_assert(sizeof(((struct type *)0)->field) == (size), #type "." #field ": size"); \
  _Static_assert(__builtin_types_compatible_p(__typeof__(((struct type *)0)->field),      \
                                              __typeof__(__VA_ARGS__)),                   \
                 #type "." #field ": type");
#define FUNCTION(name, ...)                                                               \
  _Static_assert(__builtin_types_compatible_p(__typeof__(name), __typeof__(__VA_ARGS__)), \
                 #name ": type");
#define NUMBER(name, value) _Static_assert((name) == (value), #name);
#define TEXT(name, value)
#include "abi/layout_0_1.inc"
#undef STRUCT
#undef FIELD
#undef FUNCTION
#undef NUMBER
#undef TEXT

// ---- The record as data ----

typedef struct number {
  const char *name;
  int64_t value;
} number;

typedef struct field {
  const char *owner;
  const char *name;
  uint64_t offset;
  uint64_t size;
} field;

#define STRUCT(type, size)
#define FIELD(type, field, offset, size, ...)
#define FUNCTION(name, ...)
#define NUMBER(name, value) {#name, value},
#define TEXT(name, value)
static const number kNumbers[] = {
#include "abi/layout_0_1.inc"
};
#undef FIELD
#undef NUMBER
#define FIELD(type, field, offset, size, ...) {#type, #field, offset, size},
#define NUMBER(name, value)
static const field kFields[] = {
#include "abi/layout_0_1.inc"
};
#undef FIELD
#undef STRUCT
#define FIELD(type, field, offset, size, ...)
#define STRUCT(type, size) {#type, size},
static const number kStructs[] = {
#include "abi/layout_0_1.inc"
};
#undef STRUCT
#undef TEXT
#define STRUCT(type, size)
#define TEXT(name, value) {name, value},
static const char *const kTexts[][2] = {
#include "abi/layout_0_1.inc"
};

enum {
  kNumberCount = sizeof kNumbers / sizeof kNumbers[0],
  kFieldCount = sizeof kFields / sizeof kFields[0],
  kStructCount = sizeof kStructs / sizeof kStructs[0],
};

static void texts_are_those_on_record(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kTexts / sizeof kTexts[0]; ++i)
    assert_string_equal(kTexts[i][0], kTexts[i][1]);
}

// base.h: a struct begins with its size, apart from the four that are frozen.
static void structs_begin_with_their_size(void **state) {
  static const char *const frozen[] = {"ops_str", "ops_key_value", "ops_tensor", "ops_arg"};
  (void)state;
  for (size_t i = 0; i < kFieldCount; ++i) {
    if (kFields[i].offset != 0) continue;
    int is_frozen = 0;
    for (size_t k = 0; k < sizeof frozen / sizeof frozen[0]; ++k)
      is_frozen |= strcmp(kFields[i].owner, frozen[k]) == 0;
    if (!is_frozen && strcmp(kFields[i].name, "struct_size") != 0)
      fail_msg("%s begins with %s", kFields[i].owner, kFields[i].name);
  }
}

// A hole between two fields would carry undefined bytes across the boundary, and the rule that
// an unknown tail is zero could not be kept. Fields are therefore laid out without any.
static void fields_leave_no_holes(void **state) {
  (void)state;
  for (size_t i = 1; i < kFieldCount; ++i) {
    if (strcmp(kFields[i].owner, kFields[i - 1].owner) != 0) continue;
    if (kFields[i].offset != kFields[i - 1].offset + kFields[i - 1].size)
      fail_msg("%s: a hole in front of %s", kFields[i].owner, kFields[i].name);
  }
}

// Nor behind the last: a field appended there would not change the size, and so not be seen.
static void structs_have_no_padding_behind_them(void **state) {
  (void)state;
  for (size_t i = 0; i < kStructCount; ++i) {
    uint64_t end = 0;
    for (size_t k = 0; k < kFieldCount; ++k)
      if (strcmp(kFields[k].owner, kStructs[i].name) == 0)
        end = kFields[k].offset + kFields[k].size;
    if (end != (uint64_t)kStructs[i].value)
      fail_msg("%s: padding at its end", kStructs[i].name);
  }
}

// ---- Lists against constants ----

// How many constants begin with `prefix`, apart from the two named ones.
static int count_prefixed(const char *prefix, const char *except, const char *except_too) {
  int count = 0;
  for (size_t i = 0; i < kNumberCount; ++i)
    count += strncmp(kNumbers[i].name, prefix, strlen(prefix)) == 0 &&
             strcmp(kNumbers[i].name, except) != 0 && strcmp(kNumbers[i].name, except_too) != 0;
  return count;
}

static void every_status_is_listed_once(void **state) {
#define X(constant, when) {#constant, constant},
  static const number listed[] = {OPS_STATUS_LIST(X)};
#undef X
  enum { kListed = sizeof listed / sizeof listed[0] };
  (void)state;
  // OPS_OK has a prefix of its own.
  assert_int_equal(kListed, 1 + count_prefixed("OPS_ERROR_", "OPS_ERROR_MESSAGE_MAX", ""));
  for (int i = 0; i < kListed; ++i) assert_int_equal(listed[i].value, i);
}

typedef struct type_row {
  const char *constant;  // "OPS_TYPE_FLOAT"
  const char *name;      // "float"
  int64_t number;
  int64_t bits;
} type_row;

static const type_row kTypes[] = {
#define X(number, name, bits) {#number, name, number, bits},
    OPS_TYPE_LIST(X)
#undef X
};
enum { kTypeCount = sizeof kTypes / sizeof kTypes[0] };

static void every_type_is_listed_once(void **state) {
  (void)state;
  assert_int_equal(kTypeCount,
                   count_prefixed("OPS_TYPE_", "OPS_TYPE_UNDEFINED", "OPS_TYPE_COUNT"));
  assert_int_equal(OPS_TYPE_COUNT, kTypeCount + 1);
  assert_true(OPS_TYPE_COUNT <= 64);  // a set of types is a uint64_t
  for (int i = 0; i < kTypeCount; ++i) assert_int_equal(kTypes[i].number, i + 1);
}

// ---- ONNX's numbers ----

// TensorProto.DataType of onnx.proto, ONNX 1.23.2, in the order of its numbers from 1, with the
// bits of an element: of the C type, or of the format that the comments of onnx.proto name.
static const struct {
  const char *name;
  int64_t bits;
} kOnnxTypes[] = {
    {"FLOAT", 32},       {"UINT8", 8},          {"INT8", 8},         {"UINT16", 16},
    {"INT16", 16},       {"INT32", 32},         {"INT64", 64},       {"STRING", 0},
    {"BOOL", 8},         {"FLOAT16", 16},       {"DOUBLE", 64},      {"UINT32", 32},
    {"UINT64", 64},      {"COMPLEX64", 64},     {"COMPLEX128", 128}, {"BFLOAT16", 16},
    {"FLOAT8E4M3FN", 8}, {"FLOAT8E4M3FNUZ", 8}, {"FLOAT8E5M2", 8},   {"FLOAT8E5M2FNUZ", 8},
    {"UINT4", 4},        {"INT4", 4},           {"FLOAT4E2M1", 4},   {"FLOAT8E8M0", 8},
    {"UINT2", 2},        {"INT2", 2},           {"FLOAT6E2M3", 6},   {"FLOAT6E3M2", 6},
};

static void types_are_those_of_onnx(void **state) {
  (void)state;
  assert_int_equal(kTypeCount, sizeof kOnnxTypes / sizeof kOnnxTypes[0]);
  for (int i = 0; i < kTypeCount; ++i) {
    char constant[64], name[64];
    snprintf(constant, sizeof constant, "OPS_TYPE_%s", kOnnxTypes[i].name);
    assert_string_equal(kTypes[i].constant, constant);
    assert_int_equal(kTypes[i].bits, kOnnxTypes[i].bits);
    // The name in contracts and messages is ONNX's in small letters.
    for (size_t k = 0; k <= strlen(kOnnxTypes[i].name); ++k) {
      const char c = kOnnxTypes[i].name[k];
      name[k] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    assert_string_equal(kTypes[i].name, name);
  }
}

// AttributeProto.AttributeType of onnx.proto, ONNX 1.23.2.
static void attribute_kinds_are_those_of_onnx(void **state) {
  static const number onnx[] = {
      {"FLOAT", 1},       {"INT", 2},         {"STRING", 3},         {"TENSOR", 4},
      {"GRAPH", 5},       {"FLOATS", 6},      {"INTS", 7},           {"STRINGS", 8},
      {"TENSORS", 9},     {"GRAPHS", 10},     {"SPARSE_TENSOR", 11}, {"SPARSE_TENSORS", 12},
      {"TYPE_PROTO", 13}, {"TYPE_PROTOS", 14}};
  enum { kOnnx = sizeof onnx / sizeof onnx[0] };
  (void)state;
  assert_int_equal(kOnnx, count_prefixed("OPS_ATTRIBUTE_", "", ""));
  for (int i = 0; i < kOnnx; ++i) {
    int found = 0;
    for (size_t k = 0; k < kNumberCount; ++k)
      found |= strncmp(kNumbers[k].name, "OPS_ATTRIBUTE_", 14) == 0 &&
               strcmp(kNumbers[k].name + 14, onnx[i].name) == 0 &&
               kNumbers[k].value == onnx[i].value;
    if (!found) fail_msg("no OPS_ATTRIBUTE_%s = %d", onnx[i].name, (int)onnx[i].value);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_are_those_on_record),
      cmocka_unit_test(structs_begin_with_their_size),
      cmocka_unit_test(fields_leave_no_holes),
      cmocka_unit_test(structs_have_no_padding_behind_them),
      cmocka_unit_test(every_status_is_listed_once),
      cmocka_unit_test(every_type_is_listed_once),
      cmocka_unit_test(types_are_those_of_onnx),
      cmocka_unit_test(attribute_kinds_are_those_of_onnx),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

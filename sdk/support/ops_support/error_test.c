// SPDX-License-Identifier: Apache-2.0
//
// Error records: whatever is written into them, they end in time, stay valid UTF-8, and never
// reach beyond the struct_size of their owner.
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

enum { kHeader = offsetof(ops_error, message) };

// Well-formed UTF-8 after table 3-7 of the Unicode standard, surrogates and overlong forms
// apart, which nothing here makes.
static int is_utf8(const char *text, size_t size) {
  for (size_t i = 0; i < size;) {
    const unsigned char lead = (unsigned char)text[i];
    const size_t length = lead < 0x80                    ? 1
                          : lead >= 0xc2 && lead <= 0xdf ? 2
                          : (lead & 0xf0) == 0xe0        ? 3
                          : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                         : 0;
    if (length == 0 || length > size - i) return 0;
    for (size_t k = 1; k < length; ++k)
      if (((unsigned char)text[i + k] & 0xc0) != 0x80) return 0;
    i += length;
  }
  return 1;
}

static void sets_code_and_message(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  error.vendor_code = 7;
  assert_int_equal(ops_error_set(&error, OPS_ERROR_IO, "%s: %d", "file", 3), OPS_ERROR_IO);
  assert_int_equal(error.code, OPS_ERROR_IO);
  assert_string_equal(error.message, "file: 3");
  assert_int_equal(error.message_size, 7);
  assert_int_equal(error.vendor_code, 0);
  assert_int_equal(ops_error_set(NULL, OPS_ERROR_IO, "nobody asks"), OPS_ERROR_IO);
}

// Characters of 1 to 4 bytes, shifted by every small number, so that the cut falls on every
// byte of each of them.
static void long_messages_are_cut_between_characters(void **state) {
  static const char *const characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
  (void)state;
  for (int kind = 0; kind < 4; ++kind) {
    const size_t width = strlen(characters[kind]);
    for (size_t shift = 0; shift < 8; ++shift) {
      char text[1600] = {0};
      memset(text, 'x', shift);
      for (size_t at = shift; at + width < 1500; at += width)
        memcpy(text + at, characters[kind], width);
      ops_error error = OPS_ERROR_INIT;
      ops_error_set(&error, OPS_ERROR_IO, "%s", text);
      assert_int_equal(strlen(error.message), error.message_size);
      assert_true(is_utf8(error.message, error.message_size));
      assert_memory_equal(error.message, text, error.message_size);
      // No more is lost than the one character that the cut would have split.
      assert_true(error.message_size > OPS_ERROR_MESSAGE_MAX - 1 - width);
    }
  }
}

// The record lies at the end of its own allocation: AddressSanitizer sees a byte too many. The
// bytes behind struct_size are watched as well.
static void small_records_are_respected(void **state) {
  // Through a pointer, so that compilers do not reason about the size.
  void *(*volatile allocate)(size_t) = malloc;
  (void)state;
  for (size_t size = 0; size <= kHeader + 40; ++size) {
    const size_t room = size < 8 ? 8 : size;
    unsigned char *bytes = allocate(room + 16);
    ops_error *error = (ops_error *)(void *)bytes;
    memset(bytes, 0x5a, room + 16);
    error->struct_size = size;
    assert_int_equal(ops_error_set(error, OPS_ERROR_IO, "twenty-one characters"), OPS_ERROR_IO);
    ops_error_prefix(error, "head");
    for (size_t i = room; i < room + 16; ++i) assert_int_equal(bytes[i], 0x5a);
    if (size >= kHeader) {
      assert_int_equal(error->code, OPS_ERROR_IO);
      const size_t capacity = size - kHeader, whole = strlen("head: twenty-one characters");
      const size_t expected = capacity == 0 ? 0 : capacity - 1 < whole ? capacity - 1 : whole;
      assert_int_equal(error->message_size, expected);
      if (capacity) assert_int_equal(error->message[expected], 0);
    }
    free(bytes);
  }
}

static void prefix_stands_in_front(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_error_set(&error, OPS_ERROR_TIMEOUT, "too slow");
  error.vendor_code = 41;
  assert_int_equal(ops_error_prefix(&error, "node '%s'", "conv1"), OPS_ERROR_TIMEOUT);
  assert_string_equal(error.message, "node 'conv1': too slow");
  assert_int_equal(error.vendor_code, 41);
  assert_int_equal(error.message_size, strlen(error.message));
  assert_int_equal(ops_error_prefix(NULL, "x"), OPS_ERROR_INTERNAL);
}

static void prefix_of_a_full_record_is_cut(void **state) {
  (void)state;
  char head[1200], tail[OPS_ERROR_MESSAGE_MAX];
  memset(tail, 't', sizeof tail - 1);
  tail[sizeof tail - 1] = '\0';
  for (size_t size = 990; size < 1010; ++size) {
    ops_error error = OPS_ERROR_INIT;
    for (size_t i = 0; i < size; ++i) head[i] = "\xe2\x82\xac"[i % 3];
    head[size - size % 3] = '\0';
    ops_error_set(&error, OPS_ERROR_IO, "%s", tail);
    assert_int_equal(ops_error_prefix(&error, "%s", head), OPS_ERROR_IO);
    assert_int_equal(strlen(error.message), error.message_size);
    assert_true(is_utf8(error.message, error.message_size));
    assert_true(error.message_size >= OPS_ERROR_MESSAGE_MAX - 3);
  }
}

static void statuses_have_names(void **state) {
  (void)state;
#define X(constant, when) assert_string_equal(ops_status_name(constant), #constant);
  OPS_STATUS_LIST(X)
#undef X
  assert_string_equal(ops_status_name(-1), "unknown status");
  assert_string_equal(ops_status_name(1000), "unknown status");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sets_code_and_message),
      cmocka_unit_test(long_messages_are_cut_between_characters),
      cmocka_unit_test(small_records_are_respected),
      cmocka_unit_test(prefix_stands_in_front),
      cmocka_unit_test(prefix_of_a_full_record_is_cut),
      cmocka_unit_test(statuses_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

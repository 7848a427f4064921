// SPDX-License-Identifier: Apache-2.0
//
// The catalogue: no number twice, every status in it, every text there; and which cause an
// error record has, also one whose owner or filler knows of no causes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <ops_support/cause.h>
#include <ops_support/error.h>

static void numbers_are_unique_and_ascend(void **state) {
  (void)state;
  for (uint64_t i = 1; i < ops_cause_count(); ++i)
    assert_true(ops_cause_at(i - 1)->number < ops_cause_at(i)->number);
  assert_null(ops_cause_at(ops_cause_count()));
}

static void texts_are_whole(void **state) {
  (void)state;
  for (uint64_t i = 0; i < ops_cause_count(); ++i) {
    const ops_cause *cause = ops_cause_at(i);
    const char *const sentences[] = {cause->cause, cause->find, cause->fix};
    assert_true(strlen(cause->name) > 3);
    for (int k = 0; k < 3; ++k) {
      assert_true(strlen(sentences[k]) > 10);
      assert_int_equal(sentences[k][strlen(sentences[k]) - 1], '.');
    }
    for (uint64_t k = 0; k < i; ++k)
      assert_string_not_equal(ops_cause_at(k)->name, cause->name);
  }
}

static void every_status_is_a_cause(void **state) {
  (void)state;
#define X(constant, when)                                         \
  if (constant != OPS_OK) {                                       \
    assert_non_null(ops_cause_find(constant));                    \
    assert_int_equal(ops_cause_find(constant)->status, constant); \
  }
  OPS_STATUS_LIST(X)
#undef X
}

static void an_error_has_its_cause(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_error_set_cause(&error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_CYCLE, "a, b");
  ops_error_prefix(&error, "model.onnx");
  assert_string_equal(error.message, "model.onnx: a, b");
  assert_int_equal(ops_error_cause(&error)->number, OPS_CAUSE_CYCLE);
  ops_error_set(&error, OPS_ERROR_IO, "no");
  assert_int_equal(ops_error_cause(&error)->number, OPS_ERROR_IO);
}

static void a_cause_that_does_not_fit_is_not_believed(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_error_set_cause(&error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_CYCLE, "left over");
  error.code = OPS_ERROR_DEVICE_LOST;  // as a provider fills it that knows no causes
  assert_int_equal(ops_error_cause(&error)->number, OPS_ERROR_DEVICE_LOST);
  error.cause = OPS_CAUSE_ASYNC_FAILURE;  // may stand beside any status
  assert_int_equal(ops_error_cause(&error)->number, OPS_CAUSE_ASYNC_FAILURE);
  error.code = 4711;
  error.cause = 4711;
  assert_int_equal(ops_error_cause(&error)->number, OPS_ERROR_INTERNAL);
}

static void handing_on_keeps_the_cause(void **state) {
  (void)state;
  ops_error inner = OPS_ERROR_INIT, outer = OPS_ERROR_INIT;
  ops_error_set_cause(&inner, OPS_ERROR_IO, OPS_CAUSE_FILE_UNREADABLE, "x");
  inner.vendor_code = 7;
  assert_int_equal(ops_error_copy(&outer, OPS_ERROR_IO, &inner), OPS_ERROR_IO);
  assert_string_equal(outer.message, "x");
  assert_int_equal(outer.vendor_code, 7);
  ops_error_add_cause(&outer, OPS_CAUSE_ASYNC_FAILURE);  // less precise
  assert_int_equal(ops_error_cause(&outer)->number, OPS_CAUSE_FILE_UNREADABLE);
  ops_error_set(&outer, OPS_ERROR_IO, "y");
  ops_error_add_cause(&outer, OPS_CAUSE_ASYNC_FAILURE);
  assert_int_equal(ops_error_cause(&outer)->number, OPS_CAUSE_ASYNC_FAILURE);
  assert_int_equal(ops_error_copy(NULL, OPS_ERROR_IO, &inner), OPS_ERROR_IO);
}

static void an_owner_without_causes_is_left_alone(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  error.struct_size = offsetof(ops_error, cause);
  error.cause = 99;
  ops_error_set_cause(&error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_CYCLE, "a");
  assert_int_equal(error.cause, 99);
  assert_int_equal(ops_error_cause(&error)->number, OPS_ERROR_INVALID_MODEL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_unique_and_ascend),
      cmocka_unit_test(texts_are_whole),
      cmocka_unit_test(every_status_is_a_cause),
      cmocka_unit_test(an_error_has_its_cause),
      cmocka_unit_test(a_cause_that_does_not_fit_is_not_believed),
      cmocka_unit_test(handing_on_keeps_the_cause),
      cmocka_unit_test(an_owner_without_causes_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

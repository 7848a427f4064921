// SPDX-License-Identifier: Apache-2.0
//
// What the tests of execution share: sessions on the models of execution_test_models.py, and
// values of N rows of kWidth floats.
#ifndef RT_SESSION_EXECUTION_TEST_UTIL_H_
#define RT_SESSION_EXECUTION_TEST_UTIL_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <ops_support/error.h>
#include <opsrt/opsrt.h>

enum { kWidth = 8, kMaxRows = 64 };

#define CHECK(call)                                                                 \
  do {                                                                              \
    ops_error error = OPS_ERROR_INIT;                                               \
    if ((call) != OPS_OK) fail_msg("%s:%d: %s", __FILE__, __LINE__, error.message); \
  } while (0)

// Options "KEY=VALUE" of a provider, up to a NULL.
typedef struct test_provider {
  const char *name;
  const char *options[5];
} test_provider;

// `providers` up to one without a name.
opsrt_session *open_model(const char *model, const test_provider *providers,
                          opsrt_session_options options);

// Rows of floats under a name.
typedef struct rows {
  int64_t dims[2];
  float data[kMaxRows * kWidth];
} rows;
// data[i] = first + i * step
void rows_fill(rows *r, int64_t count, float first, float step);
opsrt_value rows_value(const rows *r, const char *name);

// What "chain" and "fixed" compute.
float chain_of(float x);
void expect_chain(const opsrt_value *y, const rows *x);

opsrt_counters counters_of(const opsrt_session *session);
// Fails unless every one of `parts`, up to a NULL, is in the text.
void expect_parts(const char *text, const char *const *parts);

#endif  // RT_SESSION_EXECUTION_TEST_UTIL_H_

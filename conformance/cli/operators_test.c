// SPDX-License-Identifier: Apache-2.0
//
// Kernels of operators that do not exist. What exists since when is taken from the operator
// lists of ONNX.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/operators.h"

typedef struct name_row {
  ops_str domain, op;
  int32_t since, until;
  const char *stray;  // a part of the text, "" for none
  const char *foreign;
} name_row;

static const name_row rows[] = {
    {OPS_STR(""), OPS_STR("Sigmoid"), 13, 0, "", ""},
    {OPS_STR("ai.onnx"), OPS_STR("Relu"), 1, 5, "", ""},
    {OPS_STR("ai.onnx.ml"), OPS_STR("Scaler"), 1, 0, "", ""},
    {OPS_STR(""), OPS_STR("Sigmiod"), 13, 0,
     "kernel 'Sigmiod' (ai.onnx): no such operator; nearest: Sigmoid (ai.onnx)", ""},
    {OPS_STR("ai.onnx.ml"), OPS_STR("Relu"), 1, 0, "nearest: Relu (ai.onnx)", ""},
    {OPS_STR(""), OPS_STR("Scaler"), 1, 0, "nearest: Scaler (ai.onnx.ml)", ""},
    {OPS_STR(""), OPS_STR("Gelu"), 1, 19,
     "until opset 19, but the operator exists since opset 20", ""},
    {OPS_STR(""), OPS_STR("Relu"), 9000, 0, "since opset 9000, but the newest opset is", ""},
    {OPS_STR("my.company"), OPS_STR("Relu"), 1, 0, "", "kernel 'Relu' (my.company)"},
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

static void names_are_held_against_the_schemas(void **state) {
  (void)state;
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    const ops_kernel_def def = {.domain = rows[i].domain,
                                .op = rows[i].op,
                                .since = rows[i].since,
                                .until = rows[i].until};
    const ops_provider provider = {
        .kernels = &def, .kernel_count = 1, .kernel_stride = sizeof def};
    char stray[640], foreign[256];
    oc_operators_check_provider(&provider, stray, sizeof stray, foreign, sizeof foreign);
    assert_int_equal(stray[0] == 0, rows[i].stray[0] == 0);
    assert_non_null(strstr(stray, rows[i].stray));
    assert_string_equal(foreign, rows[i].foreign);
  }
}

static void a_long_list_is_counted(void **state) {
  (void)state;
  ops_kernel_def defs[20] = {0};
  for (int32_t i = 0; i < 20; ++i) {
    defs[i] = (ops_kernel_def){.op = OPS_STR("Frobnicated"), .since = i % 10 + 1};
  }
  const ops_provider provider = {
      .kernels = defs, .kernel_count = 20, .kernel_stride = sizeof *defs};
  char stray[160], foreign[16];
  oc_operators_check_provider(&provider, stray, sizeof stray, foreign, sizeof foreign);
  assert_non_null(strstr(stray, "'Frobnicated' (ai.onnx): no such operator; kernel"));
  assert_non_null(strstr(stray, " … and 8 more"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_held_against_the_schemas),
      cmocka_unit_test(a_long_list_is_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

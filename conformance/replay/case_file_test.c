// SPDX-License-Identifier: Apache-2.0
//
// What is written is read back, and every damaged form of it is refused: each prefix, and each
// byte changed. The numbers are the test's own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops_support/error.h"
#include "replay/case_file.h"

static unsigned char *bytes;
static size_t size;

// Gemm of [2, 3] with one attribute of each kind.
static int make(void **state) {
  static const oc_param inputs[] = {{.name = "A", .type = OPS_TYPE_FLOAT, .type_var = -1},
                                    {.name = "C", .type = OPS_TYPE_FLOAT, .type_var = -1}};
  static const oc_attribute attributes[] = {
      {.name = "axis", .type = OC_ATTR_INT, .type_var = -1},
      {.name = "alpha", .type = OC_ATTR_FLOAT, .type_var = -1},
      {.name = "mode", .type = OC_ATTR_STRING, .type_var = -1},
      {.name = "pads", .type = OC_ATTR_INTS, .type_var = -1},
      {.name = "left_out", .type = OC_ATTR_INT, .type_var = -1}};
  static const int64_t pads[] = {1, -2, 3};
  static const double reals[] = {1, -2, 3}, alpha = 0.25;
  static const char *mode = "linear";
  static const oc_value values[] = {
      {.kind = OC_VALUE_INT, .count = 1, .ints = pads, .floats = reals},
      {.kind = OC_VALUE_FLOAT, .count = 1, .floats = &alpha},
      {.kind = OC_VALUE_STRING, .count = 1, .strings = &mode},
      {.kind = OC_VALUE_INTS, .count = 3, .ints = pads, .floats = reals},
      {.kind = OC_VALUE_ABSENT}};
  static float numbers[6] = {1, 2, 3, 4, 5, 6};
  static double wide[6] = {1.5, 2, 3, 4, 5, 6};
  static const oc_contract contract = {.op = "Gemm",
                                       .domain = "ai.onnx",
                                       .since = 13,
                                       .inputs = inputs,
                                       .input_count = 2,
                                       .attributes = attributes,
                                       .attribute_count = 5};
  (void)state;
  const oc_array array = {.present = true,
                          .type = OPS_TYPE_FLOAT,
                          .rank = 2,
                          .dims = {2, 3},
                          .count = 6,
                          .bytes = sizeof numbers,
                          .data = numbers};
  oc_baked *baked = calloc(1, sizeof *baked);
  baked->item = (oc_case){.id = "Gemm-13/x", .contract = &contract, .attributes = values};
  baked->inputs.count = 2;
  baked->inputs.items[0] = array;
  baked->inputs.params[1] = 1;  // the second is absent
  baked->constants = 2;
  baked->output_count = 1;
  baked->outputs[0] = (oc_baked_output){.name = "Y",
                                        .expected = array,
                                        .limits = {.judge = OC_JUDGE_ULP,
                                                   .accumulate = OPS_TYPE_FLOAT,
                                                   .ulp = 3,
                                                   .special = {.denormal_any = true}},
                                        .wide = wide};
  const int32_t status = oc_case_file_make(baked, &bytes, &size, NULL);
  free(baked);
  return status != OPS_OK;
}

static int drop(void **state) {
  (void)state;
  free(bytes);
  return 0;
}

static void reads_what_was_written(void **state) {
  oc_baked *baked = malloc(sizeof *baked);
  ops_error error = OPS_ERROR_INIT;
  (void)state;
  if (oc_case_file_parse(bytes, size, baked, &error) != OPS_OK) fail_msg("%s", error.message);
  assert_string_equal(baked->item.id, "Gemm-13/x");
  assert_string_equal(baked->item.contract->op, "Gemm");
  assert_int_equal(baked->item.contract->since, 13);
  assert_int_equal(baked->constants, 2);
  assert_int_equal(baked->inputs.count, 2);
  assert_string_equal(baked->item.contract->inputs[1].name, "C");
  assert_false(baked->inputs.items[1].present);
  assert_int_equal(baked->inputs.items[0].dims[1], 3);
  assert_true(((float *)baked->inputs.items[0].data)[5] == 6);
  assert_int_equal(baked->item.contract->attribute_count, 4);
  const oc_value *values = baked->item.attributes;
  assert_int_equal(values[0].ints[0], 1);
  assert_true(values[1].floats[0] == 0.25);
  assert_string_equal(values[2].strings[0], "linear");
  assert_int_equal(values[3].ints[1], -2);
  const oc_baked_output *output = &baked->outputs[0];
  assert_int_equal(output->limits.judge, OC_JUDGE_ULP);
  assert_true(output->limits.ulp == 3 && output->limits.special.denormal_any);
  assert_true(output->wide[0] == 1.5);
  assert_null(output->magnitude);
  oc_baked_finish(baked);
  free(baked);
}

static void refuses(const unsigned char *bad, size_t count, size_t at) {
  oc_baked *baked = malloc(sizeof *baked);
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = oc_case_file_parse(bad, count, baked, &error);
  if (status == OPS_OK) fail_msg("damage at byte %zu is not seen", at);
  assert_non_null(strstr(error.message, "expected"));
  free(baked);
}

static void refuses_every_damage(void **state) {
  unsigned char *bad = malloc(size + 1);
  (void)state;
  memcpy(bad, bytes, size);
  bad[size] = 0;
  for (size_t i = 0; i < size; ++i) {
    refuses(bad, i, i);
    bad[i] ^= 0x41;
    refuses(bad, size, i);
    bad[i] ^= 0x41;
  }
  refuses(bad, size + 1, size);
  free(bad);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_was_written),
      cmocka_unit_test(refuses_every_damage),
  };
  return cmocka_run_group_tests(tests, make, drop);
}

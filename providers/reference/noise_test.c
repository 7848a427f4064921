// SPDX-License-Identifier: Apache-2.0
//
// Random rounding: neighbours of the type only, the right mean, exact values untouched.
// Expected frequencies are the distances themselves; bounds are 6 standard deviations.
#include <math.h>
#include <ops/ops.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "noise.h"
#include "run_test_util.h"
#include "table.h"

#define DRAWS 100000

static void rounds_to_neighbours_with_the_right_mean(void **state) {
  static const struct {
    int32_t type;
    double value, low, high, share;  // of roundings up
  } rows[] = {
      {OPS_TYPE_FLOAT, 1 + 0x1p-25, 1, 1 + 0x1p-23, 0.25},
      {OPS_TYPE_FLOAT, -(1 + 0x1p-24), -1, -(1 + 0x1p-23), 0.5},
      {OPS_TYPE_FLOAT16, 1 + 3 * 0x1p-12, 1, 1 + 0x1p-10, 0.75},
      {OPS_TYPE_BFLOAT16, 3 + 0x1p-9, 3, 3 + 0x1p-6, 0.125},
      {OPS_TYPE_DOUBLE, 1 + 0x1p-52, 1, 1 + 0x1p-51, 0.5},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const ref_noise seed = {i, ref_noise_low(rows[i].type), 0};
    ref_noise noise = ref_noise_of(&seed, 3);
    int up = 0;
    for (int k = 0; k < DRAWS; ++k) {
      const double got = ref_noisy(&noise, rows[i].value);
      if (got != rows[i].low && got != rows[i].high) fail_msg("row %zu gives %.17g", i, got);
      up += got == rows[i].high;
    }
    const double share = rows[i].share, deviation = sqrt(share * (1 - share) / DRAWS);
    if (fabs((double)up / DRAWS - share) > 6 * deviation) fail_msg("row %zu: %d up", i, up);
  }
}

static void leaves_alone_what_is_exact(void **state) {
  const ref_noise off = {7, 0, 0}, on = {7, ref_noise_low(OPS_TYPE_FLOAT), 0};
  const double exact[] = {0, -0.0, 1, -1.5, 16777216, (double)0.1f, INFINITY, -INFINITY};
  (void)state;
  ref_noise none = ref_noise_of(&off, 0), noise = ref_noise_of(&on, 0);
  assert_true(ref_noisy(&none, 0.1) == 0.1);
  for (int k = 0; k < 1000; ++k) {
    for (size_t i = 0; i < sizeof exact / sizeof *exact; ++i) {
      const double got = ref_noisy(&noise, exact[i]);
      assert_memory_equal(&got, &exact[i], sizeof got);
    }
    assert_true(isnan(ref_noisy(&noise, NAN)));
  }
}

static void items_differ_and_repeat(void **state) {
  const ref_noise seed = {1, ref_noise_low(OPS_TYPE_FLOAT), 0};
  (void)state;
  ref_noise a = ref_noise_of(&seed, 0), again = ref_noise_of(&seed, 0);
  ref_noise b = ref_noise_of(&seed, 1);
  assert_true(a.state == again.state && a.state != b.state);
}

static void options_are_read_strictly(void **state) {
  static const struct {
    const char *key, *value, *message;  // NULL: good
  } rows[] = {
      {"perturb", "12", NULL},
      {"perturb_to", "double", NULL},
      {"perturb", "", "a number below 2^64"},
      {"perturb", "-1", "a number below 2^64"},
      {"perturb", "18446744073709551616", "a number below 2^64"},
      {"tie_shift", "up", NULL},
      {"tie_shift", "left", "up, down or none"},
      {"perturb_to", "int8", "float, double, float16 or bfloat16"},
      {"perturb_results", "yes", NULL},
      {"perturb_results", "1", "yes or no"},
      {"perturbed", "1", "there are perturb, perturb_to"},
  };
  test_host host;
  (void)state;
  test_host_open(&host);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const ops_key_value option = {{rows[i].key, strlen(rows[i].key)},
                                  {rows[i].value, strlen(rows[i].value)}};
    ops_error error = {.struct_size = sizeof error};
    ops_instance *instance = NULL;
    const int32_t status =
        ref_provider.instance->create(host.api, host.host, &option, 1, &instance, &error);
    assert_int_equal(status, rows[i].message ? OPS_ERROR_INVALID_ARGUMENT : OPS_OK);
    if (rows[i].message) assert_non_null(strstr(error.message, rows[i].message));
    if (!rows[i].message) ref_provider.instance->destroy(instance, NULL);
  }
  test_host_close(&host);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rounds_to_neighbours_with_the_right_mean),
      cmocka_unit_test(leaves_alone_what_is_exact),
      cmocka_unit_test(items_differ_and_repeat),
      cmocka_unit_test(options_are_read_strictly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

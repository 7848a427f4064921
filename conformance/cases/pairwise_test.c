// SPDX-License-Identifier: Apache-2.0
//
// Pairwise selection against its definition: every pair that a legal combination holds is in a
// selected one; and the selection is much smaller than the product.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cases/pairwise.h"
#include "ops_support/error.h"

static bool covered(const uint32_t *rows, const unsigned char *selected, size_t count,
                    size_t factors, size_t a, size_t b, const uint32_t *row) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t *other = rows + i * factors;
    if (selected[i] && other[a] == row[a] && other[b] == row[b]) return true;
  }
  return false;
}

static size_t check_cover(const uint32_t *rows, size_t count, size_t factors) {
  ops_error error = OPS_ERROR_INIT;
  unsigned char *selected = calloc(count, 1);
  assert_int_equal(oc_pairwise_select(rows, count, factors, selected, &error), OPS_OK);
  size_t chosen = 0;
  for (size_t i = 0; i < count; ++i) {
    chosen += selected[i];
    for (size_t a = 0; a < factors; ++a) {
      for (size_t b = a; b < factors; ++b) {
        assert_true(covered(rows, selected, count, factors, a, b, rows + i * factors));
      }
    }
  }
  free(selected);
  return chosen;
}

static void test_product(void **unused) {
  (void)unused;
  uint32_t rows[81 * 4];
  for (uint32_t i = 0; i < 81; ++i) {
    rows[i * 4] = i % 3;
    rows[i * 4 + 1] = i / 3 % 3;
    rows[i * 4 + 2] = i / 9 % 3;
    rows[i * 4 + 3] = i / 27;
  }
  // Nine rows are the least for 3^4 (an orthogonal array exists); greedy may need some more.
  const size_t chosen = check_cover(rows, 81, 4);
  assert_true(chosen >= 9 && chosen <= 14);
}

static void test_constrained(void **unused) {
  (void)unused;
  uint32_t rows[64 * 3];
  size_t count = 0;
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t a = i % 4, b = i / 4 % 4, c = i / 16;
    if (a == b || b + c > 4) continue;  // not legal
    rows[count * 3] = a;
    rows[count * 3 + 1] = b;
    rows[count * 3 + 2] = c;
    ++count;
  }
  assert_true(check_cover(rows, count, 3) < count);
}

static void test_small(void **unused) {
  (void)unused;
  const uint32_t one[] = {0, 1, 2, 4};
  assert_int_equal(check_cover(one, 4, 1), 4);
  ops_error error = OPS_ERROR_INIT;
  unsigned char selected[1] = {9};
  assert_int_equal(oc_pairwise_select(one, 1, 0, selected, &error), OPS_OK);
  assert_int_equal(selected[0], 1);
  assert_int_equal(oc_pairwise_select(one, 1, 99, selected, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_product),
      cmocka_unit_test(test_constrained),
      cmocka_unit_test(test_small),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

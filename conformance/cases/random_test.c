// SPDX-License-Identifier: Apache-2.0
//
// The generator against published values: the known answers of Philox4x32-10 in the kat_vectors
// file of Random123 (Salmon et al.), and the FNV-1a test vectors of Noll.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "cases/random.h"

typedef struct philox_answer {
  uint32_t counter[4], key[2], block[4];
} philox_answer;

static void test_philox(void **unused) {
  (void)unused;
  static const philox_answer answers[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof answers / sizeof *answers; ++i) {
    uint32_t block[4];
    oc_random_philox(answers[i].counter, answers[i].key, block);
    assert_memory_equal(block, answers[i].block, sizeof block);
  }
}

static void test_hash(void **unused) {
  (void)unused;
  assert_true(oc_random_hash("", 0) == UINT64_C(0xcbf29ce484222325));
  assert_true(oc_random_hash("a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
  assert_true(oc_random_hash("foobar", 6) == UINT64_C(0x85944171f73967e8));
}

static void test_seed(void **unused) {
  (void)unused;
  const uint64_t seed = oc_random_seed("Relu-14/float/7/uniform", 0);
  assert_true(seed == oc_random_seed("Relu-14/float/7/uniform", 0));
  assert_true(seed != oc_random_seed("Relu-14/float/7/uniform", 1));
  assert_true(seed != oc_random_seed("Relu-14/float/8/uniform", 0));
}

// Any element can be drawn by itself, in any order.
static void test_independence(void **unused) {
  (void)unused;
  oc_random random = oc_random_at(42, 1, 1000);
  uint32_t first[6];
  for (int i = 0; i < 6; ++i) first[i] = oc_random_bits(&random);
  oc_random other = oc_random_at(42, 1, 999);
  assert_true(oc_random_bits(&other) != first[0]);
  random = oc_random_at(42, 1, 1000);
  for (int i = 0; i < 6; ++i) assert_true(oc_random_bits(&random) == first[i]);
  const uint32_t key[2] = {42, 0}, counter[4] = {1000, 0, 1, 0};
  uint32_t block[4];
  oc_random_philox(counter, key, block);
  assert_memory_equal(first, block, sizeof block);
}

// Mean and variance of 20,000 draws within five standard errors of theory.
static void test_moments(void **unused) {
  (void)unused;
  const int count = 20000;
  double unit = 0, normal = 0, square = 0;
  for (int i = 0; i < count; ++i) {
    oc_random random = oc_random_at(7, 0, (uint64_t)i);
    const double u = oc_random_unit(&random);
    const double n = oc_random_normal(&random);
    assert_true(u >= 0 && u < 1);
    unit += u;
    normal += n;
    square += n * n;
  }
  assert_true(fabs(unit / count - 0.5) < 5 * sqrt(1.0 / 12 / count));
  assert_true(fabs(normal / count) < 5 / sqrt(count));
  assert_true(fabs(square / count - 1) < 5 * sqrt(2.0 / count));
}

static void test_integers(void **unused) {
  (void)unused;
  int seen[5] = {0};
  for (int i = 0; i < 500; ++i) {
    oc_random random = oc_random_at(3, 0, (uint64_t)i);
    const int64_t value = oc_random_integer(&random, -2, 2);
    assert_true(value >= -2 && value <= 2);
    ++seen[value + 2];
  }
  for (int i = 0; i < 5; ++i) assert_true(seen[i] > 50);
  oc_random random = oc_random_at(3, 0, 0);
  oc_random_integer(&random, INT64_MIN, INT64_MAX);
  assert_true(oc_random_integer(&random, 9, 9) == 9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_philox),  cmocka_unit_test(test_hash),
      cmocka_unit_test(test_seed),    cmocka_unit_test(test_independence),
      cmocka_unit_test(test_moments), cmocka_unit_test(test_integers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// The kernel index against a search through the whole table: seeded random definitions, with
// strides larger than the struct known here, names that are prefixes of each other, and both
// ways to write the domain of ONNX.
#include "loader/index.h"

#include <ops_support/error.h>
#include <ops_support/node.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

typedef struct later_def {
  ops_kernel_def known;
  uint64_t later[3];
} later_def;

static const char *const kDomains[] = {"", "ai.onnx", "ai.onnx.ml", "com.example", "ai"};
static const char *const kOps[] = {"Conv", "ConvInteger", "Con", "Add", "MatMul", "A", "Addx"};
enum { kDomainCount = 5, kOpCount = 7 };

static ops_str text_of(const char *text) {
  return (ops_str){*text ? text : NULL, strlen(text)};
}

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;  // Numerical Recipes
  return *seed >> 8;
}

// "" and "ai.onnx" are one domain; no other two are.
static int same_domain(int a, int b) {
  return a == b || (a < 2 && b < 2);
}

typedef struct table {
  later_def defs[300];
  int domain[300], op[300];
  uint64_t count;
} table;

static void fill(table *t, uint64_t count, uint32_t *seed) {
  memset(t, 0, sizeof *t);
  t->count = count;
  for (uint64_t i = 0; i < count; ++i) {
    t->domain[i] = (int)(next_random(seed) % kDomainCount);
    t->op[i] = (int)(next_random(seed) % kOpCount);
    t->defs[i].known.struct_size = sizeof(later_def);
    t->defs[i].known.domain = text_of(kDomains[t->domain[i]]);
    t->defs[i].known.op = text_of(kOps[t->op[i]]);
    t->defs[i].known.preference = (int32_t)(next_random(seed) % 5) - 2;
  }
}

// What is found must be the definitions of the operator, the most preferred first, those of one
// preference in the order of the table.
static void check(const table *t, const ops_kernel_index *index, int domain, int op) {
  uint64_t expected = 0, count = 99;
  for (uint64_t i = 0; i < t->count; ++i)
    expected += same_domain(t->domain[i], domain) && t->op[i] == op;
  const ops_kernel_def *const *found =
      ops_kernel_index_find(index, text_of(kDomains[domain]), text_of(kOps[op]), &count);
  assert_int_equal(count, expected);
  assert_int_equal(found != NULL, expected > 0);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = (uint64_t)((const later_def *)(const void *)found[i] - t->defs);
    assert_true(same_domain(t->domain[at], domain) && t->op[at] == op);
    if (i == 0) continue;
    assert_true(found[i - 1]->preference >= found[i]->preference);
    if (found[i - 1]->preference == found[i]->preference) assert_true(found[i - 1] < found[i]);
  }
}

static void finds_what_a_search_finds(void **state) {
  static const uint64_t counts[] = {0, 1, 2, 7, 8, 9, 16, 17, 100, 300};
  (void)state;
  uint32_t seed = 11;
  table *t = malloc(sizeof *t);
  for (int round = 0; round < 50; ++round) {
    fill(t, counts[round % 10], &seed);
    const ops_provider provider = {.struct_size = sizeof provider,
                                   .kernels = t->count ? &t->defs[0].known : NULL,
                                   .kernel_count = t->count,
                                   .kernel_stride = sizeof(later_def)};
    ops_kernel_index *index;
    ops_error error = OPS_ERROR_INIT;
    assert_int_equal(ops_kernel_index_create(&provider, &index, &error), OPS_OK);
    for (int domain = 0; domain < kDomainCount; ++domain)
      for (int op = 0; op < kOpCount; ++op) check(t, index, domain, op);
    uint64_t count = 99;
    const ops_str unknown = OPS_STR("Relu"), elsewhere = OPS_STR("com.exampl");
    assert_null(ops_kernel_index_find(index, text_of(""), unknown, &count));
    assert_int_equal(count, 0);
    assert_null(ops_kernel_index_find(index, elsewhere, text_of("Add"), &count));
    ops_kernel_index_destroy(index);
  }
  free(t);
  ops_kernel_index_destroy(NULL);
}

static void domains_are_canonical(void **state) {
  (void)state;
  assert_int_equal(ops_domain_canonical(text_of("ai.onnx")).size, 0);
  assert_int_equal(ops_domain_canonical(text_of("")).size, 0);
  assert_true(ops_str_equal(ops_domain_canonical(text_of("ai.onnx.ml")), "ai.onnx.ml"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_what_a_search_finds),
      cmocka_unit_test(domains_are_canonical),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

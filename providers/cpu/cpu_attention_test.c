// SPDX-License-Identifier: Apache-2.0
//
// Attention over several blocks of queries and keys, which the published node tests are too
// small for. Expected values follow the definition, in double, query by query.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
// cmocka wants the headers above first.
#include <cmocka.h>

#include "cpu_test_util.h"

typedef struct shape {
  int64_t batch, heads, kv_heads, length, past, fresh, size, v_size;
  int causal, left, right;  // left, right: -1 is unbounded
  double softcap;
  int mask;  // 0: none, 1: float per key, 2: bool per head and query
} shape;

// Element [b, h, i, e] of heads in four dimensions, of which `past` positions come first.
static double at(const test_tensor *past, const test_tensor *fresh, int64_t b, int64_t h,
                 int64_t i, int64_t e) {
  const test_tensor *from = past;
  int64_t row = i;
  if (!past || i >= past->dims[2]) {
    from = fresh;
    row = i - (past ? past->dims[2] : 0);
  }
  const int64_t *d = from->dims;
  return (double)test_floats(from)[((b * d[1] + h) * d[2] + row) * d[3] + e];
}

static double mask_of(const shape *s, const test_tensor *mask, int64_t h, int64_t i,
                      int64_t j) {
  const int64_t total = s->past + s->fresh, ahead = j - (i + s->past);
  if ((s->causal && ahead > 0) || (s->left >= 0 && -ahead > s->left) ||
      (s->right >= 0 && ahead > s->right))
    return -INFINITY;
  if (s->mask == 1) return (double)test_floats(mask)[j];
  if (s->mask == 2)
    return ((const uint8_t *)mask->data)[(h * s->length + i) * total + j] ? 0 : -INFINITY;
  return 0;
}

// Row (b, h, i) of the output.
static void expect(const shape *s, const test_tensor *const *in, int64_t b, int64_t h,
                   int64_t i, double *y) {
  const int64_t total = s->past + s->fresh, kv = h / (s->heads / s->kv_heads);
  double *weight = calloc((size_t)total, sizeof *weight);
  double largest = -INFINITY, sum = 0;
  for (int64_t j = 0; j < total; ++j) {
    double score = 0;
    for (int64_t e = 0; e < s->size; ++e)
      score += at(NULL, in[0], b, h, i, e) * at(in[4], in[1], b, kv, j, e);
    score /= sqrt((double)s->size);
    if (s->softcap != 0) score = s->softcap * tanh(score / s->softcap);
    weight[j] = score + mask_of(s, in[3], h, i, j);
    if (weight[j] > largest) largest = weight[j];
  }
  for (int64_t j = 0; j < total; ++j) {
    weight[j] = largest == -INFINITY ? 0 : exp(weight[j] - largest);
    sum += weight[j];
  }
  for (int64_t e = 0; e < s->v_size; ++e) {
    y[e] = 0;
    for (int64_t j = 0; j < total && sum > 0; ++j)
      y[e] += weight[j] / sum * at(in[5], in[2], b, kv, j, e);
  }
  free(weight);
}

static test_tensor make_mask(const shape *s) {
  const int64_t total = s->past + s->fresh;
  if (s->mask == 1) return test_random(4, 0, TEST_DIMS(1, total));
  test_tensor mask = test_zeros(OPS_TYPE_BOOL, TEST_DIMS(s->heads, s->length, total));
  // Every third query of the first head sees nothing.
  for (int64_t i = 0; i < mask.count; ++i)
    ((uint8_t *)mask.data)[i] = (i / total < s->length && i / total % 3 == 0) ? 0 : i % 7 != 2;
  return mask;
}

static void check_present(const shape *s, const test_tensor *past, const test_tensor *fresh,
                          const test_tensor *present) {
  for (int64_t i = 0; i < present->count; ++i) {
    const int64_t *d = present->dims, e = i % d[3], row = i / d[3] % d[2];
    const int64_t h = i / d[3] / d[2] % d[1], b = i / d[3] / d[2] / d[1];
    (void)s;
    assert_true((double)test_floats(present)[i] == at(past, fresh, b, h, row, e));
  }
}

static void check_rows(const shape *s, const test_tensor *const *in, const test_tensor *y) {
  double *row = calloc((size_t)s->v_size, sizeof *row);
  for (int64_t r = 0; r < s->batch * s->heads * s->length; ++r) {
    const int64_t i = r % s->length, h = r / s->length % s->heads, b = r / s->length / s->heads;
    expect(s, in, b, h, i, row);
    for (int64_t e = 0; e < s->v_size; ++e) {
      const double found = (double)test_floats(y)[r * s->v_size + e];
      if (!(fabs(found - row[e]) <= 2e-6))
        fail_msg("batch %lld, head %lld, query %lld, element %lld: expected %.9g, found %.9g",
                 (long long)b, (long long)h, (long long)i, (long long)e, row[e], found);
    }
  }
  free(row);
}

static void check(test_device *test, const shape *s) {
  test_node node;
  test_node_init(&node, "Attention", 24);
  test_add_int(&node, "is_causal", s->causal);
  test_add_int(&node, "left_window_size", s->left);
  test_add_int(&node, "right_window_size", s->right);
  test_add_float(&node, "softcap", (float)s->softcap);
  test_tensor q = test_random(1, 0, TEST_DIMS(s->batch, s->heads, s->length, s->size));
  test_tensor k = test_random(2, 0, TEST_DIMS(s->batch, s->kv_heads, s->fresh, s->size));
  test_tensor v = test_random(3, 0, TEST_DIMS(s->batch, s->kv_heads, s->fresh, s->v_size));
  test_tensor past_k = test_random(5, 0, TEST_DIMS(s->batch, s->kv_heads, s->past, s->size));
  test_tensor past_v = test_random(6, 0, TEST_DIMS(s->batch, s->kv_heads, s->past, s->v_size));
  test_tensor mask = make_mask(s);
  const test_tensor *in[6] = {
      &q, &k, &v, s->mask ? &mask : NULL, s->past ? &past_k : NULL, s->past ? &past_v : NULL};
  const int32_t types[3] = {OPS_TYPE_FLOAT, OPS_TYPE_FLOAT, OPS_TYPE_FLOAT};
  test_run run;
  ops_claim claim;
  ops_error error = {.struct_size = sizeof error};
  assert_int_equal(test_prepare(test, &node, in, 6, types, 3, &run, &claim, &error), OPS_OK);
  assert_int_equal(test_execute(&run, run.outputs, &error), OPS_OK);
  check_rows(s, in, &run.outputs[0]);
  check_present(s, in[4], &k, &run.outputs[1]);
  check_present(s, in[5], &v, &run.outputs[2]);
  test_finish(&run);
  TEST_DROP(&q, &k, &v, &past_k, &past_v, &mask);
}

static void blocks(void **state) {
  static const shape shapes[] = {
      {2, 4, 4, 5, 0, 7, 8, 8, 0, -1, -1, 0, 0},
      {1, 2, 1, 140, 0, 300, 64, 64, 0, -1, -1, 0, 1},   // two blocks of each
      {1, 3, 3, 130, 20, 520, 16, 50, 1, -1, -1, 0, 0},  // three of keys, causal
      {1, 2, 2, 131, 0, 515, 16, 17, 0, 100, 30, 0, 0},  // a window that skips blocks
      {1, 2, 2, 60, 0, 290, 24, 33, 0, -1, -1, 5.0, 2},  // capped, blind queries
      {2, 6, 2, 1, 700, 1, 64, 64, 0, -1, -1, 0, 0},     // one query, grouped heads
      {1, 2, 2, 1, 30, 1, 64, 64, 1, 9, -1, 0, 1},
      {1, 1, 1, 3, 0, 1, 1, 1, 0, -1, -1, 0, 0},
      {1, 2, 2, 3, 0, 0, 4, 4, 0, -1, -1, 0, 0},  // no key
      {0, 2, 2, 3, 0, 5, 4, 4, 0, -1, -1, 0, 0},
      {1, 2, 2, 3, 0, 5, 4, 0, 0, -1, -1, 0, 0},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) check(*state, &shapes[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST_ON_DEVICE(blocks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

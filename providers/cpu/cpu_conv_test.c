// SPDX-License-Identifier: Apache-2.0
//
// Conv and ConvTranspose against the definition, summed in double in this file, under the dot
// bound: |error| <= 2 K units of half the last place of the sum of magnitudes. Small integers
// must come out exactly.
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
// cmocka wants the headers above first.
#include <cmocka.h>

#include "cpu_test_util.h"

typedef struct conv_case {
  const char *name;
  int32_t transposed;
  int32_t spatial;
  int64_t batch, channels, filters, groups;
  int64_t in[3], kernel[3], strides[3], dilations[3], begin[3], end[3];
  int32_t bias;
} conv_case;

static const conv_case kCases[] = {
    {"plain", 0, 2, 2, 3, 8, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"strided", 0, 2, 1, 16, 32, 1, {17, 15}, {3, 5}, {2, 3}, {1, 1}, {1, 0}, {0, 2}, 0},
    {"dilated", 0, 2, 1, 4, 6, 2, {13, 14}, {3, 2}, {1, 2}, {2, 3}, {2, 1}, {3, 0}, 1},
    {"depthwise", 0, 2, 2, 19, 19, 19, {14, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"depthwise_strided",
     0,
     2,
     1,
     32,
     32,
     32,
     {15, 37},
     {5, 5},
     {2, 2},
     {1, 1},
     {2, 2},
     {2, 2},
     1},
    {"depthwise_dilated",
     0,
     2,
     1,
     5,
     5,
     5,
     {15, 19},
     {3, 3},
     {1, 1},
     {2, 2},
     {2, 1},
     {1, 2},
     0},
    {"depthwise_wide_pads",
     0,
     2,
     1,
     4,
     4,
     4,
     {3, 2},
     {5, 5},
     {1, 2},
     {1, 1},
     {4, 4},
     {4, 4},
     1},
    {"depthwise_twice", 0, 2, 1, 6, 12, 6, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 1},
    {"pointwise", 0, 2, 2, 24, 40, 1, {7, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1},
    {"pointwise_strided", 0, 2, 1, 8, 8, 1, {7, 9}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 0},
    // Groups whose channels are no whole vectors; the last two in several chunks of pixels.
    {"group_few", 0, 2, 2, 18, 21, 3, {7, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1},
    {"group_one", 0, 2, 2, 10, 2, 2, {4, 4}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 0},
    {"group_line", 0, 1, 3, 34, 58, 2, {53}, {1}, {1}, {1}, {0}, {0}, 1},
    {"group_volume",
     0,
     3,
     1,
     9,
     15,
     3,
     {3, 4, 8},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {0},
     {0},
     1},
    {"group_strided", 0, 2, 1, 18, 21, 3, {9, 9}, {1, 1}, {2, 1}, {1, 1}, {0, 0}, {0, 0}, 1},
    {"group_padded", 0, 2, 1, 18, 21, 3, {7, 9}, {1, 1}, {1, 1}, {1, 1}, {1, 0}, {0, 2}, 1},
    {"group_chunks", 0, 2, 2, 24, 112, 4, {31, 29}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1},
    {"group_many", 0, 2, 1, 272, 272, 2, {15, 17}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1},
    {"one_pixel", 0, 2, 1, 33, 17, 1, {1, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    // Large enough to be spread over threads, as no other is.
    {"shared", 0, 2, 1, 32, 32, 1, {23, 24}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"shared_images", 0, 2, 3, 40, 48, 1, {13, 12}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"shared_groups", 0, 2, 1, 63, 84, 3, {15, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"shared_up_groups",
     1,
     2,
     1,
     64,
     64,
     2,
     {16, 17},
     {2, 3},
     {2, 1},
     {1, 1},
     {0, 0},
     {0, 1},
     1},
    {"up_shared", 1, 2, 1, 64, 64, 1, {16, 17}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 1},
    {"line", 0, 1, 2, 6, 9, 3, {31}, {4}, {3}, {2}, {5}, {1}, 1},
    {"volume",
     0,
     3,
     1,
     4,
     5,
     1,
     {5, 6, 7},
     {2, 3, 3},
     {1, 2, 1},
     {1, 1, 2},
     {1, 0, 2},
     {0, 1, 1},
     1},
    {"volume_depthwise",
     0,
     3,
     1,
     3,
     3,
     3,
     {5, 6, 7},
     {3, 3, 3},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     0},
    {"up_twice", 1, 2, 1, 24, 24, 1, {7, 9}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 1},
    {"up_padded", 1, 2, 2, 6, 8, 2, {5, 6}, {3, 4}, {2, 3}, {1, 1}, {1, 2}, {1, 0}, 1},
    {"up_dilated", 1, 2, 1, 4, 4, 4, {5, 6}, {3, 3}, {2, 1}, {2, 2}, {2, 1}, {1, 3}, 0},
    {"up_line", 1, 1, 1, 5, 7, 1, {11}, {4}, {3}, {1}, {1}, {2}, 1},
};

static void get_shapes(const conv_case *c, int64_t *x, int64_t *w, int64_t *y) {
  x[0] = y[0] = c->batch;
  x[1] = c->channels;
  y[1] = c->filters;
  w[0] = c->transposed ? c->channels : c->filters;
  w[1] = (c->transposed ? c->filters : c->channels) / c->groups;
  for (int32_t i = 0; i < c->spatial; ++i) {
    const int64_t extent = (c->kernel[i] - 1) * c->dilations[i] + 1;
    const int64_t pads = c->begin[i] + c->end[i];
    x[2 + i] = c->in[i];
    w[2 + i] = c->kernel[i];
    y[2 + i] = c->transposed ? (c->in[i] - 1) * c->strides[i] + extent - pads
                             : (c->in[i] + pads - extent) / c->strides[i] + 1;
  }
}

// Walks an index of `rank` dimensions; returns 0 behind the last.
static int step(int64_t *index, const int64_t *dims, int32_t rank) {
  for (int32_t d = rank - 1; d >= 0; --d) {
    if (++index[d] < dims[d]) return 1;
    index[d] = 0;
  }
  return 0;
}

static int64_t offset(const int64_t *index, const int64_t *dims, int32_t rank) {
  int64_t at = 0;
  for (int32_t d = 0; d < rank; ++d) at = at * dims[d] + index[d];
  return at;
}

// Adds every product of the definition to the output element that it belongs to, and its
// magnitude to `sizes`.
static void define(const conv_case *c, const test_tensor *x, const test_tensor *w,
                   const int64_t *y_dims, double *sums, double *sizes) {
  int64_t out[5] = {0}, tap[5] = {0};
  const int64_t per_group_in = c->channels / c->groups, per_group_out = c->filters / c->groups;
  do {
    const int64_t group = out[1] / per_group_out;
    int64_t taps[4] = {per_group_in};
    for (int32_t i = 0; i < c->spatial; ++i) taps[1 + i] = c->kernel[i];
    memset(tap, 0, sizeof tap);
    const int64_t at = offset(out, y_dims, 2 + c->spatial);
    do {
      int64_t xi[5] = {out[0], group * per_group_in + tap[0]}, wi[5] = {0};
      int inside = 1;
      wi[0] = c->transposed ? xi[1] : out[1];
      wi[1] = c->transposed ? out[1] % per_group_out : tap[0];
      for (int32_t i = 0; i < c->spatial; ++i) {
        int64_t p = c->transposed ? out[2 + i] + c->begin[i] - tap[1 + i] * c->dilations[i]
                                  : out[2 + i] * c->strides[i] - c->begin[i] +
                                        tap[1 + i] * c->dilations[i];
        if (c->transposed && p % c->strides[i] != 0) inside = 0;
        if (c->transposed) p = p < 0 ? -1 : p / c->strides[i];
        if (p < 0 || p >= c->in[i]) inside = 0;
        xi[2 + i] = p;
        wi[2 + i] = tap[1 + i];
      }
      if (!inside) continue;
      const double product = (double)test_floats(x)[offset(xi, x->dims, x->rank)] *
                             (double)test_floats(w)[offset(wi, w->dims, w->rank)];
      sums[at] += product;
      sizes[at] += fabs(product);
    } while (step(tap, taps, 1 + c->spatial));
  } while (step(out, y_dims, 2 + c->spatial));
}

static void make_node(const conv_case *c, test_node *node) {
  int64_t pads[6];
  for (int32_t i = 0; i < c->spatial; ++i) {
    pads[i] = c->begin[i];
    pads[c->spatial + i] = c->end[i];
  }
  test_node_init(node, c->transposed ? "ConvTranspose" : "Conv", 11);
  test_add_ints(node, "pads", 2 * c->spatial, pads);
  test_add_ints(node, "strides", c->spatial, c->strides);
  test_add_ints(node, "dilations", c->spatial, c->dilations);
  test_add_int(node, "group", c->groups);
}

static void check_case(test_device *test, const conv_case *c, int exact, int constant) {
  int64_t x_dims[5], w_dims[5], y_dims[5];
  test_node node;
  get_shapes(c, x_dims, w_dims, y_dims);
  make_node(c, &node);
  test_tensor x = test_random(1, exact, 2 + c->spatial, x_dims);
  test_tensor w = test_random(2, exact, 2 + c->spatial, w_dims);
  test_tensor b = test_random(3, exact, 1, &c->filters);
  w.constant = b.constant = constant;
  const test_tensor *inputs[3] = {&x, &w, &b};
  test_tensor y = test_compute(test, &node, inputs, c->bias ? 3 : 2, OPS_TYPE_FLOAT);
  test_tensor sums = test_zeros(OPS_TYPE_DOUBLE, 2 + c->spatial, y_dims);
  test_tensor sizes = test_zeros(OPS_TYPE_DOUBLE, 2 + c->spatial, y_dims);
  assert_int_equal(y.count, sums.count);
  assert_memory_equal(y.dims, y_dims, (size_t)(2 + c->spatial) * sizeof *y_dims);
  define(c, &x, &w, y_dims, sums.data, sizes.data);
  const double terms = (double)(w.count / w.dims[0] * (c->transposed ? c->channels : 1) + 1);
  for (int64_t i = 0; i < y.count; ++i) {
    const int64_t filter = i / (y.count / c->batch / c->filters) % c->filters;
    const double bias = c->bias ? (double)test_floats(&b)[filter] : 0.0;
    const double expected = ((double *)sums.data)[i] + bias;
    const double size = ((double *)sizes.data)[i] + fabs(bias);
    const double allowed = exact ? 0 : 2 * terms * size * 0x1p-24;
    if (!(fabs((double)test_floats(&y)[i] - expected) <= allowed))
      fail_msg("%s, exact %d, constant %d: element %lld: expected %.9g, found %.9g", c->name,
               exact, constant, (long long)i, expected, (double)test_floats(&y)[i]);
  }
  TEST_DROP(&x, &w, &b, &y, &sums, &sizes);
}

static void definition_holds(void **state) {
  test_device *test = *state;
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i)
    for (int variant = 0; variant < 4; ++variant)
      check_case(test, &kCases[i], variant & 1, variant >> 1);
}

// ONNX's formula for SAME: output = ceil(input / stride), the odd pad goes to the named side.
static void automatic_pads(void **state) {
  test_device *test = *state;
  for (int upper = 0; upper < 2; ++upper) {
    test_node automatic, explicit;
    test_node_init(&automatic, "Conv", 11);
    test_add_string(&automatic, "auto_pad", upper ? "SAME_UPPER" : "SAME_LOWER");
    test_node_init(&explicit, "Conv", 11);
    test_add_ints(&explicit, "pads", 4,
                  upper ? (const int64_t[]){1, 0, 2, 1} : (const int64_t[]){2, 1, 1, 0});
    test_tensor x = test_random(1, 1, TEST_DIMS(1, 2, 6, 5));
    test_tensor w = test_random(2, 1, TEST_DIMS(3, 2, 4, 2));
    const test_tensor *inputs[2] = {&x, &w};
    test_tensor a = test_compute(test, &automatic, inputs, 2, OPS_TYPE_FLOAT);
    test_tensor b = test_compute(test, &explicit, inputs, 2, OPS_TYPE_FLOAT);
    assert_memory_equal(a.dims, ((const int64_t[]){1, 3, 6, 5}), 4 * sizeof(int64_t));
    assert_memory_equal(a.data, b.data, (size_t)b.count * sizeof(float));
    TEST_DROP(&x, &w, &a, &b);
  }
}

// ONNX's formula for transposed SAME: output = input * stride. With a stride above the kernel
// no window reaches the last elements: they are zero.
static void automatic_pads_beyond_the_kernel(void **state) {
  test_device *test = *state;
  for (int upper = 0; upper < 2; ++upper) {
    test_node node;
    test_node_init(&node, "ConvTranspose", 11);
    test_add_string(&node, "auto_pad", upper ? "SAME_UPPER" : "SAME_LOWER");
    test_add_ints(&node, "strides", 1, (const int64_t[]){3});
    test_tensor x = test_random(1, 1, TEST_DIMS(1, 1, 4));
    test_tensor w = test_random(2, 1, TEST_DIMS(1, 1, 1));
    const test_tensor *inputs[2] = {&x, &w};
    test_tensor y = test_compute(test, &node, inputs, 2, OPS_TYPE_FLOAT);
    assert_memory_equal(y.dims, ((const int64_t[]){1, 1, 12}), 3 * sizeof(int64_t));
    for (int i = 0; i < 12; ++i) {
      const float expected = i % 3 ? 0.0f : test_floats(&x)[i / 3] * test_floats(&w)[0];
      assert_true(test_floats(&y)[i] == expected);
    }
    TEST_DROP(&x, &w, &y);
  }
}

// Without channels there is nothing to sum: the bias remains. Without a batch there is nothing.
static void empty_shapes(void **state) {
  test_device *test = *state;
  test_node node;
  test_node_init(&node, "Conv", 11);
  test_tensor x = test_random(1, 0, TEST_DIMS(2, 0, 4, 4));
  test_tensor w = test_random(2, 0, TEST_DIMS(3, 0, 3, 3));
  test_tensor b = test_random(3, 0, TEST_DIMS(3));
  const test_tensor *inputs[3] = {&x, &w, &b};
  test_tensor y = test_compute(test, &node, inputs, 3, OPS_TYPE_FLOAT);
  assert_int_equal(y.count, 2 * 3 * 2 * 2);
  for (int64_t i = 0; i < y.count; ++i)
    assert_true(test_floats(&y)[i] == test_floats(&b)[i / 4 % 3]);
  test_tensor none = test_random(1, 0, TEST_DIMS(0, 2, 4, 4));
  test_tensor w2 = test_random(2, 0, TEST_DIMS(3, 2, 3, 3));
  const test_tensor *empty[2] = {&none, &w2};
  test_tensor nothing = test_compute(test, &node, empty, 2, OPS_TYPE_FLOAT);
  assert_memory_equal(nothing.dims, ((const int64_t[]){0, 3, 2, 2}), 4 * sizeof(int64_t));
  TEST_DROP(&x, &w, &b, &y, &none, &w2, &nothing);
}

static void refusals_and_errors(void **state) {
  test_device *test = *state;
  test_node node;
  test_attempt attempt;
  test_tensor x = test_random(1, 0, TEST_DIMS(1, 3, 4, 4));
  test_tensor w = test_random(2, 0, TEST_DIMS(2, 3, 5, 5));
  const test_tensor *inputs[2] = {&x, &w};
  test_node_init(&node, "Conv", 11);
  test_add_ints(&node, "strides", 2, (const int64_t[]){0, 1});
  assert_int_equal(test_try(test, &node, inputs, 2, &attempt), OPS_ERROR_UNSUPPORTED);
  assert_int_equal(attempt.claim.reason, OPS_REASON_ATTRIBUTE);
  assert_non_null(strstr(attempt.claim.text, "strides"));
  test_node_init(&node, "Conv", 11);
  assert_int_equal(test_try(test, &node, inputs, 2, &attempt), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(attempt.error.message, "a window of 5 does not fit into 4"));
  test_add_int(&node, "group", 2);
  assert_int_equal(test_try(test, &node, inputs, 2, &attempt), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(attempt.error.message, "channels"));
  TEST_DROP(&x, &w);
}

// What is not finite stays in its pixel and in its group.
static void groups_keep_apart(void **state) {
  enum { PIXELS = 5 * 11, CHANNELS = 6, FILTERS = 7, GROUPS = 3 };
  test_node node;
  test_node_init(&node, "Conv", 11);
  test_add_int(&node, "group", GROUPS);
  test_tensor x = test_random(1, 1, TEST_DIMS(1, GROUPS * CHANNELS, 5, 11));
  test_tensor w = test_random(2, 1, TEST_DIMS(GROUPS * FILTERS, CHANNELS, 1, 1));
  for (int64_t i = 0; i < w.count; ++i) test_floats(&w)[i] = 1;
  const test_tensor *inputs[2] = {&x, &w};
  test_tensor finite = test_compute(*state, &node, inputs, 2, OPS_TYPE_FLOAT);
  test_floats(&x)[(CHANNELS + 2) * PIXELS + 30] = INFINITY;
  test_floats(&x)[(CHANNELS + 5) * PIXELS + PIXELS - 1] = NAN;
  test_tensor y = test_compute(*state, &node, inputs, 2, OPS_TYPE_FLOAT);
  for (int64_t i = 0; i < y.count; ++i) {
    const int64_t pixel = i % PIXELS, group = i / PIXELS / FILTERS;
    if (group == 1 && pixel == 30)
      assert_true(test_floats(&y)[i] == INFINITY);
    else if (group == 1 && pixel == PIXELS - 1)
      assert_true(isnan(test_floats(&y)[i]));
    else
      assert_true(test_floats(&y)[i] == test_floats(&finite)[i]);
  }
  TEST_DROP(&x, &w, &finite, &y);
}

// Groups of one tap: the bits do not depend on who computes which chunk.
static void workers_do_not_matter(void **state) {
  test_tensor x = test_random(1, 0, TEST_DIMS(2, 24, 31, 29));
  test_tensor w = test_random(2, 0, TEST_DIMS(112, 6, 1, 1));
  const test_tensor *inputs[2] = {&x, &w};
  test_tensor y[2];
  test_node node;
  (void)state;
  test_node_init(&node, "Conv", 11);
  test_add_int(&node, "group", 4);
  for (int many = 0; many < 2; ++many) {
    const ops_host_options options = {.workers = many ? 5 : 1};
    test_device test;
    test_open(&test, &options);
    y[many] = test_compute(&test, &node, inputs, 2, OPS_TYPE_FLOAT);
    test_close(&test);
  }
  assert_memory_equal(y[0].data, y[1].data, (size_t)y[0].count * sizeof(float));
  TEST_DROP(&x, &w, &y[0], &y[1]);
}

// ---- One prepared object, many threads ------------------------------------------------------

typedef struct shared_run {
  const test_run *run;
  const test_tensor *expected;
  int rounds;
  int failures;
} shared_run;

static void *run_often(void *argument) {
  shared_run *shared = argument;
  ops_error error = OPS_ERROR_INIT;
  test_tensor y =
      test_zeros(shared->expected->type, shared->expected->rank, shared->expected->dims);
  for (int i = 0; i < shared->rounds; ++i) {
    if (test_execute(shared->run, &y, &error) != OPS_OK) ++shared->failures;
    if (memcmp(y.data, shared->expected->data, (size_t)y.count * sizeof(float)) != 0)
      ++shared->failures;
  }
  test_drop(&y);
  return NULL;
}

static void run_concurrently(test_device *test, int64_t channels, int64_t filters, int64_t size,
                             int rounds) {
  enum { THREADS = 6 };
  test_node node;
  test_attempt attempt;
  pthread_t threads[THREADS];
  shared_run shared[THREADS];
  test_node_init(&node, "Conv", 11);
  test_tensor x = test_random(1, 1, TEST_DIMS(1, channels, size, size));
  test_tensor w = test_random(2, 1, TEST_DIMS(filters, channels, 3, 3));
  const test_tensor *inputs[2] = {&x, &w};
  test_tensor expected = test_compute(test, &node, inputs, 2, OPS_TYPE_FLOAT);
  w.constant = 1;
  assert_int_equal(test_try(test, &node, inputs, 2, &attempt), OPS_OK);
  for (int i = 0; i < THREADS; ++i) {
    shared[i] = (shared_run){&attempt.run, &expected, rounds, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, run_often, &shared[i]), 0);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i) assert_int_equal(shared[i].failures, 0);
  test_finish(&attempt.run);
  TEST_DROP(&x, &w, &expected);
}

// A plan that one thread runs, and one that is large enough to be spread.
static void concurrent_runs(void **state) {
  run_concurrently(*state, 8, 24, 12, 20);
  run_concurrently(*state, 32, 48, 20, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ON_DEVICE(definition_holds),
      TEST_ON_DEVICE(automatic_pads),
      TEST_ON_DEVICE(automatic_pads_beyond_the_kernel),
      TEST_ON_DEVICE(empty_shapes),
      TEST_ON_DEVICE(refusals_and_errors),
      TEST_ON_DEVICE(groups_keep_apart),
      cmocka_unit_test(workers_do_not_matter),
      TEST_ON_DEVICE(concurrent_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

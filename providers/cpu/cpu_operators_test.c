// SPDX-License-Identifier: Apache-2.0
//
// What the published node tests leave out: lengths around the vector width, empty tensors and
// scalars, special values, errors at run time, exhaustion of memory, lifetimes, and that a
// number of workers does not change a bit. Expected values are computed here, in double, or
// follow from the definition in the comment beside them.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the headers above first.
#include <cmocka.h>

#include "cpu_test_util.h"

// Steps between two floats.
static int64_t ulps(float a, float b) {
  int32_t x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  const int64_t i = x < 0 ? -(int64_t)(x & 0x7fffffff) : x;
  const int64_t k = y < 0 ? -(int64_t)(y & 0x7fffffff) : y;
  return i > k ? i - k : k - i;
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}
static double relu(double x) {
  return x < 0 ? 0 : x;
}

// The C library in double is the independent source; 4 steps of float are allowed.
static void every_length(void **state) {
  static const struct {
    const char *op;
    int32_t opset;
    double (*function)(double);
  } rows[] = {{"Relu", 14, relu}, {"Sigmoid", 13, sigmoid}, {"Tanh", 13, tanh},
              {"Exp", 13, exp},   {"Erf", 13, erf},         {"Floor", 13, floor}};
  test_device *test = *state;
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
    for (int64_t length = 0; length < 70; ++length) {
      test_node node;
      test_node_init(&node, rows[r].op, rows[r].opset);
      test_tensor x = test_random((uint32_t)length, 0, 1, &length);
      for (int64_t i = 0; i < length; ++i) test_floats(&x)[i] *= 6;
      const test_tensor *inputs[1] = {&x};
      test_tensor y = test_compute(test, &node, inputs, 1, OPS_TYPE_FLOAT);
      assert_int_equal(y.count, length);
      for (int64_t i = 0; i < length; ++i) {
        const float expected = (float)rows[r].function((double)test_floats(&x)[i]);
        if (ulps(test_floats(&y)[i], expected) > 4)
          fail_msg("%s, element %lld of %lld: expected %.9g, found %.9g", rows[r].op,
                   (long long)i, (long long)length, (double)expected,
                   (double)test_floats(&y)[i]);
      }
      TEST_DROP(&x, &y);
    }
}

static void special_values(void **state) {
  static const struct {
    const char *op;
    int32_t opset;
    float expected[5];  // of -inf, inf, NaN, the smallest denormal, -0
  } rows[] = {{"Sigmoid", 13, {0, 1, NAN, 0.5f, 0.5f}},
              {"Tanh", 13, {-1, 1, NAN, 0x1p-149f, -0.0f}},
              {"Exp", 13, {0, INFINITY, NAN, 1, 1}},
              {"Softplus", 1, {0, INFINITY, NAN, 0.693147182f, 0.693147182f}},
              {"Relu", 14, {0, INFINITY, NAN, 0x1p-149f, 0}},
              {"Erf", 13, {-1, 1, NAN, 0x1p-149f, 0}},
              {"Sign", 13, {-1, 1, NAN, 1, 0}},
              {"HardSigmoid", 6, {0, 1, NAN, 0.5f, 0.5f}}};
  test_device *test = *state;
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
    test_node node;
    test_node_init(&node, rows[r].op, rows[r].opset);
    test_tensor x = test_zeros(OPS_TYPE_FLOAT, TEST_DIMS(5));
    const float values[5] = {-INFINITY, INFINITY, NAN, 0x1p-149f, -0.0f};
    memcpy(x.data, values, sizeof values);
    const test_tensor *inputs[1] = {&x};
    test_tensor y = test_compute(test, &node, inputs, 1, OPS_TYPE_FLOAT);
    for (int i = 0; i < 5; ++i) {
      const float found = test_floats(&y)[i], expected = rows[r].expected[i];
      if (isnan(expected) ? !isnan(found) : !(found == expected))
        fail_msg("%s(%g): expected %g, found %g", rows[r].op, (double)values[i],
                 (double)expected, (double)found);
    }
    TEST_DROP(&x, &y);
  }
}

static void check_broadcast(test_device *test, int32_t a_rank, const int64_t *a_dims,
                            int32_t b_rank, const int64_t *b_dims, int32_t y_rank,
                            const int64_t *y_dims) {
  test_node node;
  test_node_init(&node, "Sub", 14);
  test_tensor a = test_random(1, 1, a_rank, a_dims), b = test_random(2, 1, b_rank, b_dims);
  const test_tensor *inputs[2] = {&a, &b};
  test_tensor y = test_compute(test, &node, inputs, 2, OPS_TYPE_FLOAT);
  assert_int_equal(y.rank, y_rank);
  for (int32_t i = 0; i < y_rank; ++i) assert_int_equal(y.dims[i], y_dims[i]);
  for (int64_t at = 0; at < y.count; ++at) {
    int64_t rest = at, ai = 0, bi = 0, a_step = 1, b_step = 1;
    for (int32_t d = 0; d < y_rank; ++d) {
      const int64_t index = rest % y_dims[y_rank - 1 - d];
      rest /= y_dims[y_rank - 1 - d];
      if (d < a_rank) {
        const int64_t dim = a_dims[a_rank - 1 - d];
        ai += (dim == 1 ? 0 : index) * a_step;
        a_step *= dim;
      }
      if (d < b_rank) {
        const int64_t dim = b_dims[b_rank - 1 - d];
        bi += (dim == 1 ? 0 : index) * b_step;
        b_step *= dim;
      }
    }
    assert_true(test_floats(&y)[at] == test_floats(&a)[ai] - test_floats(&b)[bi]);
  }
  TEST_DROP(&a, &b, &y);
}

static void broadcasting(void **state) {
  test_device *test = *state;
  check_broadcast(test, TEST_DIMS(2, 3, 17), TEST_DIMS(3, 1), TEST_DIMS(2, 3, 17));
  check_broadcast(test, TEST_DIMS(5, 1, 4), TEST_DIMS(1, 33, 1), TEST_DIMS(5, 33, 4));
  check_broadcast(test, TEST_DIMS(3, 1, 2, 1, 5), TEST_DIMS(4, 1, 2, 1),
                  TEST_DIMS(3, 4, 2, 2, 5));
  check_broadcast(test, 0, NULL, TEST_DIMS(2, 9), TEST_DIMS(2, 9));
  check_broadcast(test, 0, NULL, 0, NULL, 0, NULL);
  check_broadcast(test, TEST_DIMS(0, 3), TEST_DIMS(1, 3), TEST_DIMS(0, 3));
  check_broadcast(test, TEST_DIMS(0), TEST_DIMS(1), TEST_DIMS(0));
  check_broadcast(test, TEST_DIMS(300, 200), TEST_DIMS(300, 1), TEST_DIMS(300, 200));
}

// The processor traps on both of these; the provider must not.
static void integer_division(void **state) {
  test_device *test = *state;
  test_node node;
  test_node_init(&node, "Div", 14);
  test_tensor a = test_zeros(OPS_TYPE_INT32, TEST_DIMS(4));
  test_tensor b = test_zeros(OPS_TYPE_INT32, TEST_DIMS(4));
  memcpy(a.data, ((const int32_t[]){7, INT32_MIN, 5, -7}), 4 * sizeof(int32_t));
  memcpy(b.data, ((const int32_t[]){2, -1, 0, 2}), 4 * sizeof(int32_t));
  const test_tensor *inputs[2] = {&a, &b};
  test_tensor y = test_compute(test, &node, inputs, 2, OPS_TYPE_INT32);
  assert_int_equal(((int32_t *)y.data)[0], 3);
  assert_int_equal(((int32_t *)y.data)[3], -3);
  TEST_DROP(&a, &b, &y);
}

// y[b, i, j] = sum of a[b, i, k] w[k, j], integers: exact.
static void check_matmul(test_device *test, int64_t batch, int64_t m, int64_t k, int64_t n,
                         int shared, int constant) {
  test_node node;
  test_node_init(&node, "MatMul", 13);
  test_tensor a = test_random(1, 1, TEST_DIMS(batch, m, k));
  test_tensor w = shared ? test_random(2, 1, TEST_DIMS(k, n))
                         : test_random(2, 1, TEST_DIMS(2, batch, k, n));
  w.constant = constant;
  const test_tensor *inputs[2] = {&a, &w};
  test_tensor y = test_compute(test, &node, inputs, 2, OPS_TYPE_FLOAT);
  assert_int_equal(y.count, (shared ? 1 : 2) * batch * m * n);
  for (int64_t at = 0; at < y.count; ++at) {
    const int64_t j = at % n, i = at / n % m, matrix = at / n / m;
    const float *left = test_floats(&a) + (matrix % batch * m + i) * k;
    const float *right = test_floats(&w) + (shared ? 0 : matrix * k * n);
    float sum = 0;
    for (int64_t c = 0; c < k; ++c) sum += left[c] * right[c * n + j];
    assert_true(test_floats(&y)[at] == sum);
  }
  TEST_DROP(&a, &w, &y);
}

static void matrix_products(void **state) {
  test_device *test = *state;
  for (int constant = 0; constant < 2; ++constant) {
    check_matmul(test, 3, 5, 7, 11, 1, constant);
    check_matmul(test, 3, 5, 7, 11, 0, constant);
    check_matmul(test, 1, 1, 64, 100, 1, constant);
    check_matmul(test, 2, 33, 65, 17, 1, constant);
    check_matmul(test, 2, 130, 129, 131, 1, constant);  // spread over threads
    check_matmul(test, 3, 130, 129, 131, 0, constant);
    check_matmul(test, 1, 1, 1000, 1700, 1, constant);
    check_matmul(test, 1, 230, 150, 70, 1, constant);
    check_matmul(test, 1, 3000, 40, 15, 1, constant);
    check_matmul(test, 2, 30, 400, 90, 0, constant);
    check_matmul(test, 2, 1, 40, 90, 0, constant);
    check_matmul(test, 1, 70, 1600, 100, 1, constant);  // deeper than a packed panel
    check_matmul(test, 1, 600, 10, 100, 1, constant);   // several chunks of rows
    check_matmul(test, 2, 3, 0, 4, 1, constant);
    check_matmul(test, 0, 3, 2, 4, 1, constant);
    check_matmul(test, 2, 0, 2, 4, 0, constant);
  }
}

static void check_gemm(test_device *test, int64_t m, int64_t n, int64_t k, int left, int right,
                       int constant) {
  test_node node;
  test_node_init(&node, "Gemm", 13);
  test_add_int(&node, "transA", left);
  test_add_int(&node, "transB", right);
  test_tensor a =
      left ? test_random(1, 1, TEST_DIMS(k, m)) : test_random(1, 1, TEST_DIMS(m, k));
  test_tensor b =
      right ? test_random(2, 1, TEST_DIMS(n, k)) : test_random(2, 1, TEST_DIMS(k, n));
  test_tensor c = test_random(3, 1, TEST_DIMS(n));
  b.constant = constant;
  const test_tensor *inputs[3] = {&a, &b, &c};
  test_tensor y = test_compute(test, &node, inputs, 3, OPS_TYPE_FLOAT);
  assert_int_equal(y.count, m * n);
  for (int64_t at = 0; at < y.count; ++at) {
    const int64_t i = at / n, j = at % n;
    float sum = test_floats(&c)[j];
    for (int64_t l = 0; l < k; ++l)
      sum += test_floats(&a)[left ? l * m + i : i * k + l] *
             test_floats(&b)[right ? j * k + l : l * n + j];
    if (test_floats(&y)[at] != sum)
      fail_msg("%d %d: element %lld, %lld", left, right, (long long)i, (long long)j);
  }
  TEST_DROP(&a, &b, &c, &y);
}

// Large enough to be cut into columns or rows.
static void gemms(void **state) {
  for (int variant = 0; variant < 8; ++variant) {
    const int left = variant & 1, right = variant >> 1 & 1, constant = variant >> 2;
    check_gemm(*state, 37, 333, 140, left, right, constant);
    check_gemm(*state, 331, 50, 131, left, right, constant);
  }
}

// A NaN in the window is the largest; padding counts in the average only if asked.
static void pooling(void **state) {
  test_device *test = *state;
  test_node node;
  test_tensor x = test_zeros(OPS_TYPE_FLOAT, TEST_DIMS(1, 1, 5));
  memcpy(x.data, ((const float[]){1, 2, NAN, -3, -4}), 5 * sizeof(float));
  const test_tensor *inputs[1] = {&x};
  test_node_init(&node, "MaxPool", 12);
  test_add_ints(&node, "kernel_shape", 1, (const int64_t[]){2});
  test_tensor largest = test_compute(test, &node, inputs, 1, OPS_TYPE_FLOAT);
  assert_true(test_floats(&largest)[0] == 2 && test_floats(&largest)[3] == -3);
  assert_true(isnan(test_floats(&largest)[1]) && isnan(test_floats(&largest)[2]));
  test_floats(&x)[2] = 6;
  for (int include = 0; include < 2; ++include) {
    test_node_init(&node, "AveragePool", 11);
    test_add_ints(&node, "kernel_shape", 1, (const int64_t[]){3});
    test_add_ints(&node, "pads", 2, (const int64_t[]){1, 0});
    test_add_ints(&node, "strides", 1, (const int64_t[]){2});
    test_add_int(&node, "count_include_pad", include);
    test_tensor mean = test_compute(test, &node, inputs, 1, OPS_TYPE_FLOAT);
    assert_int_equal(mean.count, 2);
    assert_true(test_floats(&mean)[0] == (include ? 1.0f : 1.5f));
    assert_true(test_floats(&mean)[1] == 5.0f / 3.0f);
    test_drop(&mean);
  }
  TEST_DROP(&x, &largest);
}

static void gather_checks_first(void **state) {
  test_device *test = *state;
  test_node node;
  test_attempt attempt;
  test_node_init(&node, "Gather", 13);
  test_tensor x = test_random(1, 0, TEST_DIMS(3, 2));
  test_tensor good = test_int64s(TEST_DIMS(2), (const int64_t[]){-1, 0});
  test_tensor bad = test_int64s(TEST_DIMS(2), (const int64_t[]){0, 3});
  const test_tensor *inputs[2] = {&x, &bad};
  assert_int_equal(test_try(test, &node, inputs, 2, &attempt), OPS_OK);
  assert_int_equal(test_execute(&attempt.run, attempt.run.outputs, &attempt.error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(attempt.error.message, "index 3 at position 1"));
  for (int i = 0; i < 16; ++i)
    assert_int_equal(((uint8_t *)attempt.run.outputs[0].data)[i], 0xa5);
  attempt.run.inputs[1] = &good;
  assert_int_equal(test_execute(&attempt.run, attempt.run.outputs, &attempt.error), OPS_OK);
  assert_memory_equal(attempt.run.outputs[0].data, test_floats(&x) + 4, 2 * sizeof(float));
  assert_memory_equal(test_floats(&attempt.run.outputs[0]) + 2, x.data, 2 * sizeof(float));
  test_finish(&attempt.run);
  TEST_DROP(&x, &good, &bad);
}

// ---- Workers --------------------------------------------------------------------------------

static test_tensor run_with_workers(int32_t workers, const test_node *node,
                                    const test_tensor *const *inputs, uint64_t count) {
  const ops_host_options options = {.workers = workers};
  test_device test;
  test_open(&test, &options);
  const test_tensor y = test_compute(&test, node, inputs, count, OPS_TYPE_FLOAT);
  test_close(&test);
  return y;
}

static void workers_do_not_matter(void **state) {
  static const char *const ops[] = {"Softmax", "Sigmoid", "LRN", "ReduceSum", "MaxPool"};
  (void)state;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
    test_node node;
    test_node_init(&node, ops[i], 13);
    if (i == 2) test_add_int(&node, "size", 3);
    if (i == 4) test_add_ints(&node, "kernel_shape", 2, (const int64_t[]){3, 2});
    test_tensor x = test_random(1, 0, TEST_DIMS(2, 9, 61, 67));
    test_tensor axes = test_int64s(TEST_DIMS(2), (const int64_t[]){0, 2});
    const test_tensor *inputs[2] = {&x, &axes};
    test_tensor one = run_with_workers(1, &node, inputs, i == 3 ? 2 : 1);
    test_tensor four = run_with_workers(4, &node, inputs, i == 3 ? 2 : 1);
    assert_memory_equal(one.data, four.data, (size_t)one.count * sizeof(float));
    TEST_DROP(&x, &axes, &one, &four);
  }
}

// ---- Memory and lifetimes -------------------------------------------------------------------

typedef struct meter {
  int64_t live;
  int64_t calls;
  int64_t failing;  // the call that fails; -1: none
} meter;

static void *metered_allocate(void *context, uint64_t size, uint64_t alignment) {
  meter *meter = context;
  if (meter->calls++ == meter->failing) return NULL;
  ++meter->live;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void metered_free(void *context, void *memory) {
  if (memory) --((meter *)context)->live;
  free(memory);
}

// Creates and prepares the node with allocation after allocation failing, until none does.
static void exhaust(const test_node *node, const test_tensor *const *inputs, uint64_t count,
                    uint64_t output_count) {
  const int32_t types[2] = {inputs[0]->type, inputs[0]->type};
  meter meter = {.failing = -1};
  const ops_host_options options = {
      .context = &meter, .workers = 1, .allocate = metered_allocate, .free = metered_free};
  test_device test;
  test_open(&test, &options);
  const int64_t before = meter.live;
  int32_t status = OPS_ERROR_OUT_OF_MEMORY;
  int64_t attempts = 0;
  while (status != OPS_OK) {
    test_run run;
    ops_claim claim;
    ops_error error = OPS_ERROR_INIT;
    meter.failing = meter.calls + attempts++;
    status =
        test_prepare(&test, node, inputs, count, types, output_count, &run, &claim, &error);
    meter.failing = -1;
    if (status == OPS_OK)
      test_finish(&run);
    else
      assert_int_equal(status, OPS_ERROR_OUT_OF_MEMORY);
    assert_int_equal(meter.live, before);
    assert_true(attempts < 100);
  }
  assert_true(attempts > 2);
  test_close(&test);
  assert_int_equal(meter.live, 0);
}

static void every_allocation_fails(void **state) {
  test_node node;
  (void)state;
  test_tensor x = test_random(1, 0, TEST_DIMS(1, 4, 8, 8));
  test_tensor w = test_random(2, 0, TEST_DIMS(6, 4, 3, 3));
  test_tensor sizes = test_int64s(TEST_DIMS(4), (const int64_t[]){1, 4, 9, 11});
  w.constant = 1;
  test_node_init(&node, "Conv", 11);
  exhaust(&node, (const test_tensor *[]){&x, &w}, 2, 1);
  test_node_init(&node, "Resize", 13);
  test_add_string(&node, "mode", "linear");
  exhaust(&node, (const test_tensor *[]){&x, NULL, NULL, &sizes}, 4, 1);
  test_node_init(&node, "Split", 13);
  test_add_int(&node, "axis", 1);
  exhaust(&node, (const test_tensor *[]){&x}, 1, 2);
  test_node_init(&node, "Sum", 13);
  exhaust(&node, (const test_tensor *[]){&x, &x, &x}, 3, 1);
  test_tensor half = test_zeros(OPS_TYPE_FLOAT16, TEST_DIMS(4, 4));
  half.constant = 1;
  test_node_init(&node, "MatMul", 13);
  exhaust(&node, (const test_tensor *[]){&half, &half}, 2, 1);
  TEST_DROP(&x, &w, &sizes, &half);
}

static void parents_outlive_children(void **state) {
  test_device *test = *state;
  test_node node;
  test_attempt attempt;
  const ops_instance_api *api = test->provider->instance;
  test_tensor x = test_random(1, 0, TEST_DIMS(3));
  const test_tensor *inputs[1] = {&x};
  test_node_init(&node, "Relu", 14);
  assert_int_equal(test_try(test, &node, inputs, 1, &attempt), OPS_OK);
  assert_int_equal(api->device_close(test->device, &attempt.error), OPS_ERROR_PRECONDITION);
  assert_int_equal(api->destroy(test->instance, &attempt.error), OPS_ERROR_PRECONDITION);
  test_finish(&attempt.run);
  ops_device *none = NULL;
  assert_int_equal(api->device_open(test->instance, 1, &none, &attempt.error),
                   OPS_ERROR_INVALID_ARGUMENT);
  ops_instance *refused = NULL;
  const ops_key_value option = {OPS_STR("speed"), OPS_STR("high")};
  assert_int_equal(
      api->create(ops_host_api_table(), test->host, &option, 1, &refused, &attempt.error),
      OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(attempt.error.message, "speed"));
  test_drop(&x);
}

static void what_is_left_out_is_refused(void **state) {
  test_device *test = *state;
  test_node node;
  test_attempt attempt;
  test_tensor x = test_random(1, 0, TEST_DIMS(3));
  const test_tensor *inputs[3] = {&x, NULL, &x};
  for (uint64_t count = 2; count <= 3; ++count) {
    test_node_init(&node, "Concat", 13);
    test_add_int(&node, "axis", 0);
    assert_int_equal(test_try(test, &node, inputs, count, &attempt), OPS_ERROR_UNSUPPORTED);
    assert_int_equal(attempt.claim.reason, OPS_REASON_ARITY);
    assert_non_null(strstr(attempt.claim.text, "input 1"));
  }
  test_drop(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ON_DEVICE(every_length),
      TEST_ON_DEVICE(special_values),
      TEST_ON_DEVICE(broadcasting),
      TEST_ON_DEVICE(integer_division),
      TEST_ON_DEVICE(matrix_products),
      TEST_ON_DEVICE(gemms),
      TEST_ON_DEVICE(pooling),
      TEST_ON_DEVICE(gather_checks_first),
      cmocka_unit_test(workers_do_not_matter),
      cmocka_unit_test(every_allocation_fails),
      TEST_ON_DEVICE(parents_outlive_children),
      TEST_ON_DEVICE(what_is_left_out_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

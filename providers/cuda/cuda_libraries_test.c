// SPDX-License-Identifier: Apache-2.0
//
// Products and convolutions by the Toolkit's libraries: what the provider asks them for, on
// test doubles that compute by definition (fake/blas.c counts columns first, as cuBLAS does).
// Expected values are computed here, in double, on row-major indices. Where the real libraries
// are at hand, they must have every function.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the headers above first.
#include <cmocka.h>
#include <ops/types.h>
#include <ops_support/error.h>
#include <ops_support/half.h>

#include "api.h"
#include "blas.h"
#include "dnn.h"

enum { kLimit = 4096 };

typedef struct fixture {
  cuda_api api;
  cuda_library driver;
  CUstream stream;
  CUdeviceptr workspace;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  int32_t version;
  unsetenv("FAKE_BLAS_NONE");
  unsetenv("FAKE_DNN_NONE");
  assert_non_null(f);
  assert_int_equal(cuda_api_open(FAKE_DRIVER, &f->api, &f->driver, &version, NULL), OPS_OK);
  assert_int_equal(f->api.cuStreamCreate(&f->stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  assert_int_equal(f->api.cuMemAlloc(&f->workspace, kLimit), CUDA_SUCCESS);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  f->api.cuMemFree(f->workspace);
  f->api.cuStreamDestroy(f->stream);
  cuda_library_close(&f->driver);
  free(f);
  return 0;
}

static double small(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(int64_t)(*seed >> 60) - 8;  // an integer, exact in every type
}

static uint64_t bytes_of(int32_t type) {
  return type == OPS_TYPE_DOUBLE ? 8 : type == OPS_TYPE_FLOAT ? 4 : 2;
}

static void put(int32_t type, void *base, int64_t at, double value) {
  if (type == OPS_TYPE_DOUBLE) ((double *)base)[at] = value;
  if (type == OPS_TYPE_FLOAT) ((float *)base)[at] = (float)value;
  if (type == OPS_TYPE_FLOAT16) ((uint16_t *)base)[at] = ops_half_from_float((float)value);
  if (type == OPS_TYPE_BFLOAT16) ((uint16_t *)base)[at] = ops_bfloat16_from_float((float)value);
}

static double get(int32_t type, const void *base, int64_t at) {
  if (type == OPS_TYPE_DOUBLE) return ((const double *)base)[at];
  if (type == OPS_TYPE_FLOAT) return (double)((const float *)base)[at];
  if (type == OPS_TYPE_FLOAT16) return (double)ops_half_to_float(((const uint16_t *)base)[at]);
  return (double)ops_bfloat16_to_float(((const uint16_t *)base)[at]);
}

// Memory of the fake driver is the process's own.
static void *fill(int32_t type, int64_t count, uint64_t seed) {
  void *data = calloc((size_t)count, bytes_of(type));
  assert_non_null(data);
  for (int64_t i = 0; i < count; ++i) put(type, data, i, small(&seed));
  return data;
}

static CUdeviceptr at(const void *memory) {
  return (CUdeviceptr)(uintptr_t)memory;
}

static void check_product(const gpu_product *p, const void *a, const void *b, const void *old,
                          const void *c) {
  for (int64_t batch = 0; batch < p->batch; ++batch)
    for (int64_t i = 0; i < p->m; ++i)
      for (int64_t j = 0; j < p->n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < p->k; ++k)
          sum += get(p->type, a,
                     batch * p->stride_a + (p->transpose_a ? k * p->m + i : i * p->k + k)) *
                 get(p->type, b,
                     batch * p->stride_b + (p->transpose_b ? j * p->k + k : k * p->n + j));
        const int64_t place = batch * p->stride_c + i * p->n + j;
        const double want = 0.5 * sum + 2 * get(p->type, old, place);
        assert_true(get(p->type, c, place) == want);
      }
}

static void run_product(fixture *f, const cuda_blas *blas, const gpu_product *p) {
  ops_error error = OPS_ERROR_INIT;
  cuda_matmul_plan *plan = NULL;
  const int64_t size_c = p->batch * p->m * p->n;
  void *a = fill(p->type, p->batch * p->m * p->k, 1);
  void *b = fill(p->type, p->batch * p->k * p->n, 2);
  void *old = fill(p->type, size_c, 3), *c = fill(p->type, size_c, 3);
  if (cuda_matmul_plan_create(blas, p, kLimit, &plan, &error) != OPS_OK)
    fail_msg("%s", error.message);
  assert_in_range(cuda_matmul_plan_workspace(plan), 1, kLimit);
  assert_int_equal(
      cuda_matmul_plan_run(plan, f->stream, 0.5, at(a), at(b), 2, at(c), f->workspace, &error),
      OPS_OK);
  assert_memory_equal(c, old, (size_t)size_c * bytes_of(p->type));  // it is enqueued alone
  assert_int_equal(f->api.cuStreamSynchronize(f->stream), CUDA_SUCCESS);
  check_product(p, a, b, old, c);
  cuda_matmul_plan_destroy(plan);
  free(a), free(b), free(old), free(c);
}

static void products(void **state) {
  static const int32_t kTypes[] = {OPS_TYPE_FLOAT, OPS_TYPE_DOUBLE, OPS_TYPE_FLOAT16,
                                   OPS_TYPE_BFLOAT16};
  cuda_blas blas = {0};
  ops_error error = OPS_ERROR_INIT;
  if (cuda_blas_open(FAKE_BLAS, 13000, &blas, &error) != OPS_OK) fail_msg("%s", error.message);
  for (size_t t = 0; t < 4; ++t)
    for (int variant = 0; variant < 8; ++variant) {
      gpu_product p = {.type = kTypes[t], .m = 3, .n = 4, .k = 2};  // small: exact in halves
      p.transpose_a = variant & 1;
      p.transpose_b = variant >> 1 & 1;
      p.batch = variant & 4 ? 5 : 1;
      p.stride_a = p.m * p.k;
      p.stride_b = variant == 6 ? 0 : p.k * p.n;  // one B for all
      p.stride_c = p.m * p.n;
      run_product(*state, &blas, &p);
    }
  cuda_blas_close(&blas);
}

static void products_that_are_refused(void **state) {
  (void)state;
  cuda_blas blas = {0};
  cuda_matmul_plan *plan = NULL;
  gpu_product p = {.type = OPS_TYPE_FLOAT, .m = 3, .n = 4, .k = 2, .batch = 1};
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(cuda_blas_open(FAKE_BLAS, 13000, &blas, NULL), OPS_OK);
  setenv("FAKE_BLAS_NONE", "1", 1);
  assert_int_equal(cuda_matmul_plan_create(&blas, &p, kLimit, &plan, &error),
                   OPS_ERROR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "CUBLAS_STATUS_NOT_SUPPORTED"));
  unsetenv("FAKE_BLAS_NONE");
  p.k = 0;
  assert_int_equal(cuda_matmul_plan_create(&blas, &p, kLimit, &plan, &error),
                   OPS_ERROR_UNSUPPORTED);
  p.k = 2, p.type = OPS_TYPE_INT32;
  assert_int_equal(cuda_matmul_plan_create(&blas, &p, kLimit, &plan, &error),
                   OPS_ERROR_UNSUPPORTED);
  p.type = OPS_TYPE_FLOAT, p.batch = INT64_C(1) << 31;
  assert_int_equal(cuda_matmul_plan_create(&blas, &p, kLimit, &plan, &error),
                   OPS_ERROR_UNSUPPORTED);
  assert_null(plan);
  cuda_blas_close(&blas);
}

// ---- Convolutions ----

static const gpu_convolution kConvs[] = {
    {.type = OPS_TYPE_FLOAT,
     .spatial = 2,
     .batch = 2,
     .group = 1,
     .in_channels = 3,
     .out_channels = 4,
     .in = {5, 7},
     .out = {3, 7},
     .kernel = {3, 3},
     .pad = {0, 1},
     .stride = {1, 1},
     .dilation = {1, 1}},
    {.type = OPS_TYPE_FLOAT,
     .spatial = 1,
     .batch = 1,
     .group = 2,
     .in_channels = 4,
     .out_channels = 6,
     .in = {9},
     .out = {5},
     .kernel = {3},
     .pad = {2},
     .stride = {2},
     .dilation = {2}},
    {.type = OPS_TYPE_FLOAT,
     .spatial = 3,
     .batch = 1,
     .group = 3,
     .in_channels = 3,
     .out_channels = 3,
     .in = {3, 4, 5},
     .out = {2, 4, 3},
     .kernel = {2, 1, 3},
     .pad = {0, 0, 1},
     .stride = {1, 1, 2},
     .dilation = {1, 1, 1}},
};

static int64_t volume(const int64_t *dims, int32_t count) {
  int64_t size = 1;
  for (int32_t i = 0; i < count; ++i) size *= dims[i];
  return size;
}

// One output by the definition: the sum over channels and taps whose source lies inside.
static double one_output(const gpu_convolution *c, const float *x, const float *w,
                         int64_t image, int64_t filter, int64_t place) {
  const int64_t channels = c->in_channels / c->group;
  const int64_t first = filter / (c->out_channels / c->group) * channels;
  const int64_t taps = volume(c->kernel, c->spatial), size = volume(c->in, c->spatial);
  double sum = 0;
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t source = 0, inside = 1, p = place, t = tap, scale = 1;
      for (int32_t i = c->spatial - 1; i >= 0; --i) {
        const int64_t where =
            p % c->out[i] * c->stride[i] - c->pad[i] + t % c->kernel[i] * c->dilation[i];
        inside = inside && where >= 0 && where < c->in[i];
        source += where * scale;
        scale *= c->in[i];
        p /= c->out[i], t /= c->kernel[i];
      }
      if (inside)
        sum += (double)x[(image * c->in_channels + first + channel) * size + source] *
               (double)w[(filter * channels + channel) * taps + tap];
    }
  return sum;
}

static void run_conv(fixture *f, cuda_dnn *dnn, const gpu_convolution *c) {
  ops_error error = OPS_ERROR_INIT;
  cuda_conv_plan *plan = NULL;
  const int64_t places = volume(c->out, c->spatial);
  float *x = fill(c->type, c->batch * c->in_channels * volume(c->in, c->spatial), 4);
  float *w = fill(
      c->type, c->out_channels * c->in_channels / c->group * volume(c->kernel, c->spatial), 5);
  float *y = fill(c->type, c->batch * c->out_channels * places, 6);
  if (cuda_conv_plan_create(dnn, c, kLimit, &plan, &error) != OPS_OK)
    fail_msg("%s", error.message);
  assert_int_equal(cuda_conv_plan_workspace(plan), 0);
  assert_int_equal(
      cuda_conv_plan_run(plan, f->stream, at(x), at(w), at(y), f->workspace, &error), OPS_OK);
  assert_int_equal(f->api.cuStreamSynchronize(f->stream), CUDA_SUCCESS);
  for (int64_t image = 0; image < c->batch; ++image)
    for (int64_t filter = 0; filter < c->out_channels; ++filter)
      for (int64_t place = 0; place < places; ++place)
        assert_true((double)y[(image * c->out_channels + filter) * places + place] ==
                    one_output(c, x, w, image, filter, place));
  cuda_conv_plan_destroy(plan);
  free(x), free(w), free(y);
}

static void convolutions(void **state) {
  cuda_dnn *dnn = NULL;
  ops_error error = OPS_ERROR_INIT;
  if (!*FAKE_DNN) skip();
  if (cuda_dnn_open(FAKE_DNN, &dnn, &error) != OPS_OK) fail_msg("%s", error.message);
  for (size_t i = 0; i < sizeof kConvs / sizeof kConvs[0]; ++i)
    run_conv(*state, dnn, &kConvs[i]);
  cuda_dnn_close(dnn);
}

static void convolutions_that_are_refused(void **state) {
  (void)state;
  cuda_dnn *dnn = NULL;
  cuda_conv_plan *plan = NULL;
  gpu_convolution conv = kConvs[0];
  ops_error error = OPS_ERROR_INIT;
  if (!*FAKE_DNN) skip();
  assert_int_equal(cuda_dnn_open(FAKE_DNN, &dnn, NULL), OPS_OK);
  setenv("FAKE_DNN_NONE", "1", 1);
  assert_int_equal(cuda_conv_plan_create(dnn, &conv, kLimit, &plan, &error),
                   OPS_ERROR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "no repeatable algorithm"));
  unsetenv("FAKE_DNN_NONE");
  conv.in[0] = INT64_C(1) << 31;
  assert_int_equal(cuda_conv_plan_create(dnn, &conv, kLimit, &plan, &error),
                   OPS_ERROR_UNSUPPORTED);
  conv.in[0] = 1 << 20, conv.in[1] = 1 << 20;
  assert_int_equal(cuda_conv_plan_create(dnn, &conv, kLimit, &plan, &error),
                   OPS_ERROR_UNSUPPORTED);
  conv = kConvs[0], conv.type = OPS_TYPE_INT8;
  assert_int_equal(cuda_conv_plan_create(dnn, &conv, kLimit, &plan, &error),
                   OPS_ERROR_UNSUPPORTED);
  assert_null(plan);
  cuda_dnn_close(dnn);
}

static void missing_libraries(void **state) {
  (void)state;
  cuda_blas blas = {0};
  cuda_dnn *dnn = NULL;
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(cuda_blas_open("/nowhere", 13000, &blas, &error), OPS_ERROR_NOT_FOUND);
  assert_non_null(strstr(error.message, "cuBLAS is missing"));
  assert_int_equal(cuda_dnn_open("/nowhere", &dnn, &error), OPS_ERROR_NOT_FOUND);
  assert_non_null(strstr(error.message, "cuDNN is missing"));
  cuda_blas_close(&blas);
  cuda_dnn_close(NULL);
}

// The Toolkit's own libraries open, and none of the functions is missing; without a GPU both
// then refuse to start.
static void libraries_of_the_toolkit(void **state) {
  (void)state;
  cuda_blas blas = {0};
  cuda_dnn *dnn = NULL;
  ops_error error = OPS_ERROR_INIT;
  if (!USE_TOOLKIT) skip();
  const int32_t status = cuda_blas_open(NULL, 13000, &blas, &error);
  if (error.cause == OPS_CAUSE_LIBRARY_MISSING) skip();
  if (status != OPS_OK && !strstr(error.message, "cublasLtCreate"))
    fail_msg("%s", error.message);
  cuda_blas_close(&blas);
  const ops_error clean = OPS_ERROR_INIT;
  error = clean;
  if (cuda_dnn_open(NULL, &dnn, &error) != OPS_OK && error.cause != OPS_CAUSE_LIBRARY_MISSING &&
      !strstr(error.message, "cudnnCreate"))
    fail_msg("%s", error.message);
  cuda_dnn_close(dnn);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(products, setup, teardown),
      cmocka_unit_test_setup_teardown(products_that_are_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(convolutions, setup, teardown),
      cmocka_unit_test_setup_teardown(convolutions_that_are_refused, setup, teardown),
      cmocka_unit_test(missing_libraries),
      cmocka_unit_test(libraries_of_the_toolkit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

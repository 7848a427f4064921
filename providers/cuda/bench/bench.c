// SPDX-License-Identifier: Apache-2.0
//
// usage: cuda_bench PROVIDER [NAME]
//
// Times nodes of the provider against what the device does at best: products and convolutions
// against cuBLASLt and cuDNN called directly, all others against the device's own copy. One
// line of JSON for each node, after one for the device:
//
//   {"name": …, "ms": provider's, "yardstick_ms": …, "ratio": ms / yardstick_ms, "tflops": …,
//   "gbps": …}
//
// or {"name": …, "error": why}. Times are wall time over enough runs to take kSeconds, all
// enqueued, then one wait: what a launch costs counts where the device is faster. NAME: rows
// that contain it. Exit 0: every row was measured; 1: not; 2: nothing could be opened.
#include <inttypes.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../blas.h"
#include "../dnn.h"
#include "../driver.h"
#include "node.h"

static const double kSeconds = 0.1;
enum { kMaxRuns = 2000, kWorkspace = 64 << 20 };

// CUDA itself, beside the provider: for the yardsticks.
typedef struct bare {
  gpu_api *api;
  gpu_context *context;
  gpu_queue *queue;
  cuda_blas blas;
  cuda_dnn *dnn;
  void *a, *b, *c, *workspace;
} bare;

// Something that is enqueued again and again.
typedef struct task {
  int32_t (*run)(void *context, ops_error *error);
  int32_t (*finish)(void *context, ops_error *error);
  void *context;
} task;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int32_t time_runs(const task *t, int runs, double *out_seconds, ops_error *error) {
  const double start = now();
  for (int i = 0; i < runs; ++i) OPS_RETURN_IF_ERROR(t->run(t->context, error));
  OPS_RETURN_IF_ERROR(t->finish(t->context, error));
  *out_seconds = (now() - start) / runs;
  return OPS_OK;
}

// Seconds of one run: the best of three measurements.
static int32_t measure(const task *t, double *out_seconds, ops_error *error) {
  double probe = 0, best = 0;
  OPS_RETURN_IF_ERROR(time_runs(t, 2, &probe, error));
  OPS_RETURN_IF_ERROR(time_runs(t, 3, &probe, error));
  const double wanted = kSeconds / (probe > 1e-9 ? probe : 1e-9);
  const int runs = wanted < 3 ? 3 : wanted > kMaxRuns ? kMaxRuns : (int)wanted;
  for (int i = 0; i < 3; ++i) {
    double seconds;
    OPS_RETURN_IF_ERROR(time_runs(t, runs, &seconds, error));
    if (i == 0 || seconds < best) best = seconds;
  }
  *out_seconds = best;
  return OPS_OK;
}

// ---- The provider ----

static int32_t node_run(void *context, ops_error *error) {
  return bench_node_run(context, error);
}

static int32_t node_finish(void *context, ops_error *error) {
  return bench_node_finish(context, error);
}

// ---- Yardsticks ----

typedef struct yard {
  bare *cuda;
  uint64_t bytes;  // kCopy
  cuda_matmul_plan *product;
  cuda_conv_plan *conv;
} yard;

static CUstream stream_of(const bare *cuda) {
  return cuda_queue_stream(cuda->queue);
}

static int32_t copy_run(void *context, ops_error *error) {
  const yard *y = context;
  const gpu_place source = {y->cuda->a, 0, 1}, target = {y->cuda->c, 0, 1};
  return cuda_copy(y->cuda->queue, &source, &target, y->bytes, error);
}

static int32_t product_run(void *context, ops_error *error) {
  const yard *y = context;
  const bare *cuda = y->cuda;
  OPS_RETURN_IF_ERROR(cuda_enter(cuda->context, "cublasLtMatmul", error));
  const int32_t status = cuda_matmul_plan_run(
      y->product, stream_of(cuda), 1, cuda_address(cuda->a), cuda_address(cuda->b), 0,
      cuda_address(cuda->c), cuda_address(cuda->workspace), error);
  cuda_leave(cuda->context, CUDA_SUCCESS, "cublasLtMatmul", NULL);
  return status;
}

static int32_t conv_run(void *context, ops_error *error) {
  const yard *y = context;
  const bare *cuda = y->cuda;
  OPS_RETURN_IF_ERROR(cuda_enter(cuda->context, "cudnnConvolutionForward", error));
  const int32_t status =
      cuda_conv_plan_run(y->conv, stream_of(cuda), cuda_address(cuda->a), cuda_address(cuda->b),
                         cuda_address(cuda->c), cuda_address(cuda->workspace), error);
  cuda_leave(cuda->context, CUDA_SUCCESS, "cudnnConvolutionForward", NULL);
  return status;
}

static int32_t yard_finish(void *context, ops_error *error) {
  return cuda_queue_finish(((const yard *)context)->cuda->queue, error);
}

static int32_t put_input(bare *cuda, const bench_case *row, int index, void **memory,
                         ops_error *error) {
  const int64_t count = bench_elements(row->inputs[index]);
  const uint64_t size = (uint64_t)count * bench_type_bytes(row->type);
  OPS_RETURN_IF_ERROR(cuda_allocate(cuda->context, size, memory, error));
  void *data = bench_random(row->type, count);
  if (!data) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for inputs");
  const gpu_place source = {data, 0, 0}, target = {*memory, 0, 1};
  int32_t status = cuda_copy(cuda->queue, &source, &target, size, error);
  if (status == OPS_OK) status = cuda_queue_finish(cuda->queue, error);
  free(data);
  return status;
}

static gpu_convolution conv_of(const bench_case *row, const int64_t *output) {
  const int64_t *x = row->inputs[0], *w = row->inputs[1];
  return (gpu_convolution){.type = row->type,
                           .spatial = 2,
                           .tf32 = row->tf32,
                           .batch = x[0],
                           .group = row->group,
                           .in_channels = x[1],
                           .out_channels = w[0],
                           .in = {x[2], x[3]},
                           .out = {output[2], output[3]},
                           .kernel = {w[2], w[3]},
                           .pad = {row->pad, row->pad},
                           .stride = {row->stride, row->stride},
                           .dilation = {1, 1}};
}

static int32_t make_plan(yard *y, const bench_case *row, const int64_t *output,
                         ops_error *error) {
  bare *cuda = y->cuda;
  if (row->yardstick == kCopy) return OPS_OK;
  OPS_RETURN_IF_ERROR(cuda_enter(cuda->context, row->name, error));
  int32_t status = OPS_OK;
  if (row->yardstick == kMatmul) {
    const int64_t *a = row->inputs[0], *b = row->inputs[1];
    const gpu_product product = {
        .type = row->type, .m = a[0], .n = b[1], .k = a[1], .batch = 1, .tf32 = row->tf32};
    status = cuda_matmul_plan_create(&cuda->blas, &product, kWorkspace, &y->product, error);
  } else {
    const gpu_convolution conv = conv_of(row, output);
    status = cuda->dnn ? cuda_conv_plan_create(cuda->dnn, &conv, kWorkspace, &y->conv, error)
                       : ops_error_set(error, OPS_ERROR_NOT_FOUND, "cuDNN is missing");
  }
  cuda_leave(cuda->context, CUDA_SUCCESS, row->name, NULL);
  return status;
}

static void yard_clear(yard *y) {
  bare *cuda = y->cuda;
  cuda_matmul_plan_destroy(y->product);
  cuda_conv_plan_destroy(y->conv);
  cuda_release(cuda->context, cuda->a);
  cuda_release(cuda->context, cuda->b);
  cuda_release(cuda->context, cuda->c);
  cuda->a = cuda->b = cuda->c = NULL;
}

// A copy reads and writes: of `bytes` that a node moves it carries half.
static int32_t measure_yardstick(bare *cuda, const bench_case *row, const bench_node *node,
                                 double *out_seconds, ops_error *error) {
  static int32_t (*const kRuns[])(void *, ops_error *) = {copy_run, product_run, conv_run};
  yard y = {.cuda = cuda, .bytes = bench_node_bytes(node) / 2};
  const task t = {kRuns[row->yardstick], yard_finish, &y};
  int32_t status = make_plan(&y, row, bench_node_output(node), error);
  if (status == OPS_OK && row->yardstick == kCopy)
    status = cuda_allocate(cuda->context, y.bytes, &cuda->a, error);
  else if (status == OPS_OK)
    status = put_input(cuda, row, 0, &cuda->a, error);
  if (status == OPS_OK && row->yardstick != kCopy)
    status = put_input(cuda, row, 1, &cuda->b, error);
  if (status == OPS_OK)
    status = cuda_allocate(cuda->context, bench_node_bytes(node), &cuda->c, error);
  if (status == OPS_OK) status = measure(&t, out_seconds, error);
  yard_clear(&y);
  return status;
}

// ---- Rows ----

static double flops(const bench_case *row, const int64_t *output) {
  const int64_t *w = row->inputs[1];
  if (row->yardstick == kMatmul)
    return 2.0 * (double)row->inputs[0][0] * (double)w[1] * (double)w[0];
  if (row->yardstick == kConv)
    return 2.0 * (double)(output[0] * output[1] * output[2] * output[3]) *
           (double)(w[1] * w[2] * w[3]);
  return 0;
}

// JSON without the characters that would need escaping.
static void print_error(const char *name, const ops_error *error) {
  printf("{\"name\": \"%s\", \"error\": \"", name);
  for (const char *c = error->message; *c; ++c)
    putchar(*c == '"' || *c == '\\' || (unsigned char)*c < ' ' ? '\'' : *c);
  printf("\"}\n");
}

static int32_t measure_row(bench_rig *rig, bare *cuda, const bench_case *row,
                           ops_error *error) {
  bench_node *node = NULL;
  double ours = 0, theirs = 0;
  OPS_RETURN_IF_ERROR(bench_node_create(rig, row, &node, error));
  const task t = {node_run, node_finish, node};
  int32_t status = measure(&t, &ours, error);
  if (status == OPS_OK) status = measure_yardstick(cuda, row, node, &theirs, error);
  if (status == OPS_OK)
    printf(
        "{\"name\": \"%s\", \"ms\": %.6f, \"yardstick_ms\": %.6f, \"ratio\": %.4f, "
        "\"tflops\": %.3f, \"gbps\": %.1f}\n",
        row->name, ours * 1e3, theirs * 1e3, ours / theirs,
        flops(row, bench_node_output(node)) / ours * 1e-12,
        (double)bench_node_bytes(node) / ours * 1e-9);
  bench_node_destroy(node);
  return status;
}

static int32_t open_bare(bare *cuda, ops_error *error) {
  gpu_properties properties;
  OPS_RETURN_IF_ERROR(cuda_load_from(NULL, &cuda->api, error));
  OPS_RETURN_IF_ERROR(cuda_open(cuda->api, 0, &cuda->context, &properties, error));
  OPS_RETURN_IF_ERROR(cuda_queue_create(cuda->context, &cuda->queue, error));
  OPS_RETURN_IF_ERROR(cuda_allocate(cuda->context, kWorkspace, &cuda->workspace, error));
  printf("{\"device\": \"%s\", \"architecture\": \"%s\", \"driver\": \"%s\"}\n",
         properties.name, properties.architecture, properties.driver_version);
  OPS_RETURN_IF_ERROR(cuda_enter(cuda->context, "cuBLAS", error));
  const int32_t status = cuda_blas_open(NULL, cuda->api->version, &cuda->blas, error);
  ops_error missing = OPS_ERROR_INIT;
  if (cuda_dnn_open(NULL, &cuda->dnn, &missing) != OPS_OK) print_error("cuDNN", &missing);
  cuda_leave(cuda->context, CUDA_SUCCESS, "cuBLAS", NULL);
  return status;
}

static void close_bare(bare *cuda) {
  cuda_dnn_close(cuda->dnn);
  cuda_blas_close(&cuda->blas);
  if (cuda->context) cuda_release(cuda->context, cuda->workspace);
  cuda_queue_destroy(cuda->queue);
  cuda_close(cuda->context);
  cuda_unload(cuda->api);
}

static int run_rows(bench_rig *rig, bare *cuda, const char *part) {
  int failed = 0;
  for (size_t i = 0; i < sizeof kBenchCases / sizeof kBenchCases[0]; ++i) {
    ops_error error = OPS_ERROR_INIT;
    if (part && !strstr(kBenchCases[i].name, part)) continue;
    if (measure_row(rig, cuda, &kBenchCases[i], &error) == OPS_OK) continue;
    print_error(kBenchCases[i].name, &error);
    failed = 1;
  }
  return failed;
}

int main(int argc, char **argv) {
  bench_rig rig = {0};
  bare cuda = {0};
  ops_error error = OPS_ERROR_INIT;
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: cuda_bench PROVIDER [NAME]\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  int32_t status = open_bare(&cuda, &error);
  if (status == OPS_OK) status = bench_rig_open(&rig, argv[1], &error);
  int code = 2;
  if (status == OPS_OK)
    code = run_rows(&rig, &cuda, argc > 2 ? argv[2] : NULL);
  else
    fprintf(stderr, "cuda_bench: %s\n", error.message);
  bench_rig_close(&rig);
  close_bare(&cuda);
  return code;
}

// SPDX-License-Identifier: Apache-2.0
//
// Devices, memory, queues, points, graphs and programs through the table that providers/gpu
// calls, on the fake driver, whose work runs as late as it may. Expected: what driver.h of
// providers/gpu says. One loop makes every call of the driver fail in turn.
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the headers above first.
#include <cmocka.h>
#include <ops/types.h>
#include <ops_support/error.h>

#include "driver.h"

enum { kCount = 300 };

static const gpu_driver *const kDriver = &cuda_driver;

static const char kSource[] =
    "extern \"C\" __global__ void add(float *x, unsigned long offset, float value, int n) {\n"
    "  x = (float *)((char *)x + offset);\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] += value;\n"
    "}\n"
    "extern \"C\" __global__ void reverse(float *x) {\n"
    "  __shared__ float held[64];\n"
    "  held[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];\n"
    "  __syncthreads();\n"
    "  x[blockIdx.x * 64 + threadIdx.x] = held[63 - threadIdx.x];\n"
    "}\n";

typedef struct fixture {
  gpu_api *api;
  gpu_context *context;
  gpu_properties properties;
  gpu_queue *queue, *other;
  gpu_program *program;
  gpu_function *add, *reverse;
  void *binary, *memory;
  uint64_t size;
  ops_error error;
} fixture;

static void (*reset_fake)(void);
static size_t (*fake_in_use)(void);

static void clear(void) {
  unsetenv("FAKE_CUDA_FAIL");
  unsetenv("FAKE_CUDA_MEMORY");
  unsetenv("FAKE_CUDA_DEVICES");
  unsetenv("FAKE_NVRTC_FAIL");
  if (reset_fake) reset_fake();
}

#define MUST(call)                                                  \
  do {                                                              \
    if ((call) != OPS_OK) fail_msg(#call ": %s", f->error.message); \
  } while (0)

// Compiled once; the tests load the image.
static void *g_image;
static uint64_t g_image_size;

static int setup(void **state) {
  static const ops_error kClean = OPS_ERROR_INIT;
  fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  clear();
  f->error = kClean;
  MUST(cuda_load_from(FAKE_FOLDER, &f->api, &f->error));
  MUST(kDriver->open(f->api, 0, &f->context, &f->properties, &f->error));
  MUST(kDriver->queue_create(f->context, &f->queue, &f->error));
  MUST(kDriver->queue_create(f->context, &f->other, &f->error));
  if (!g_image) {
    MUST(kDriver->program_build(f->context, kSource, &g_image, &g_image_size, &f->program,
                                &f->error));
  } else {
    MUST(kDriver->program_load(f->context, g_image, g_image_size, &f->program, &f->error));
  }
  MUST(kDriver->function_get(f->program, "add", &f->add, &f->error));
  MUST(kDriver->function_get(f->program, "reverse", &f->reverse, &f->error));
  MUST(kDriver->allocate(f->context, kCount * sizeof(float), &f->memory, &f->error));
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  clear();
  kDriver->release(f->context, f->memory);
  kDriver->program_destroy(f->program);
  kDriver->queue_destroy(f->other);
  kDriver->queue_destroy(f->queue);
  assert_int_equal(fake_in_use(), 0);
  kDriver->close(f->context);
  kDriver->unload(f->api);
  free(f);
  return 0;
}

static gpu_place on_device(const fixture *f, uint64_t offset) {
  return (gpu_place){f->memory, offset, 1};
}

static gpu_place on_host(const void *address) {
  return (gpu_place){(void *)(uintptr_t)address, 0, 0};
}

static int32_t copy(fixture *f, gpu_place from, gpu_place to, uint64_t size) {
  return kDriver->copy(f->queue, &from, &to, size, &f->error);
}

// Adds `value` to all elements but the first.
static int32_t add(fixture *f, gpu_queue *queue, float value) {
  const uint64_t offset = sizeof(float);
  const int32_t n = kCount - 1;
  const gpu_grid grid = {{2, 1, 1}, {256, 1, 1}};
  const gpu_arg args[] = {{.buffer = f->memory},
                          {.value = &offset, .size = sizeof offset},
                          {.value = &value, .size = sizeof value},
                          {.value = &n, .size = sizeof n}};
  return kDriver->launch(queue, f->add, &grid, args, 4, &f->error);
}

static void start(fixture *f, float *values) {
  for (int i = 0; i < kCount; ++i) values[i] = (float)i;
  MUST(copy(f, on_host(values), on_device(f, 0), kCount * sizeof(float)));
}

static void read_back(fixture *f, float *values) {
  MUST(copy(f, on_device(f, 0), on_host(values), kCount * sizeof(float)));
  MUST(kDriver->queue_finish(f->queue, &f->error));
}

static void properties(void **state) {
  fixture *f = *state;
  const gpu_properties *p = &f->properties;
  uint64_t count = 0;
  assert_string_equal(p->name, "Fake GPU");
  assert_string_equal(p->architecture, "sm_80");
  assert_string_equal(p->driver_version, "CUDA 13.0");
  assert_int_equal(p->kind, OPS_DEVICE_GPU);
  assert_int_equal(p->memory_bytes, 1 << 30);
  assert_int_equal(p->local_bytes, 49152);
  assert_int_equal(p->max_group, 1024);
  assert_int_equal(p->compute_units, 2);
  // 2 multiprocessors of 64 units, a multiply-add each, at 1 GHz; 1024 bits twice in 1 ns.
  assert_true(p->peak_flops_float32 == 2.0 * 2 * 64 * 1e9);
  assert_true(p->peak_bytes_per_second == 2.0 * 128 * 1e9);
  MUST(kDriver->device_count(f->api, &count, &f->error));
  assert_int_equal(count, 1);
  gpu_context *none = NULL;
  gpu_properties unused;
  assert_int_equal(kDriver->open(f->api, 1, &none, &unused, &f->error), OPS_ERROR_NOT_FOUND);
  assert_int_equal(f->error.cause, OPS_CAUSE_NO_SUCH_DEVICE);
  assert_int_equal(kDriver->open(f->api, UINT64_C(1) << 32, &none, &unused, &f->error),
                   OPS_ERROR_NOT_FOUND);
}

static void work_runs_in_order(void **state) {
  fixture *f = *state;
  float values[kCount], back[kCount] = {0};
  start(f, values);
  MUST(add(f, f->queue, 0.5f));
  MUST(add(f, f->queue, 1));
  MUST(copy(f, on_device(f, 0), on_host(back), sizeof back));
  assert_true(back[5] == 0);  // nobody has waited
  MUST(kDriver->queue_flush(f->queue, &f->error));
  MUST(kDriver->queue_finish(f->queue, &f->error));
  for (int i = 0; i < kCount; ++i) assert_true(back[i] == (float)i + (i ? 1.5f : 0));
}

static void threads_of_a_block_meet(void **state) {
  fixture *f = *state;
  float values[kCount];
  const gpu_grid grid = {{4, 1, 1}, {64, 1, 1}};
  const gpu_arg args[] = {{.buffer = f->memory}};
  start(f, values);
  MUST(kDriver->launch(f->queue, f->reverse, &grid, args, 1, &f->error));
  read_back(f, values);
  for (int i = 0; i < 256; ++i) assert_true(values[i] == (float)(i / 64 * 64 + 63 - i % 64));
}

static void copies(void **state) {
  fixture *f = *state;
  float values[kCount];
  start(f, values);
  MUST(copy(f, on_device(f, 0), on_device(f, 400), 400));  // side by side
  MUST(copy(f, on_host(NULL), on_device(f, 0), 0));
  read_back(f, values);
  assert_true(values[100] == 0 && values[199] == 99 && values[200] == 200);
  assert_int_equal(copy(f, on_device(f, 0), on_device(f, 396), 400),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(f->error.message, "overlap"));
}

static void pinned_memory(void **state) {
  fixture *f = *state;
  void *pinned = NULL;
  MUST(kDriver->allocate_pinned(f->context, 64, &pinned, &f->error));
  memset(pinned, 1, 64);
  kDriver->release_pinned(f->context, pinned);
  kDriver->release_pinned(f->context, NULL);
  kDriver->release(f->context, NULL);
}

static void memory_ends(void **state) {
  fixture *f = *state;
  void *memory = NULL;
  setenv("FAKE_CUDA_MEMORY", "4096", 1);
  assert_int_equal(kDriver->allocate(f->context, 4096, &memory, &f->error),
                   OPS_ERROR_OUT_OF_MEMORY);
  assert_null(memory);
  assert_int_equal(f->error.vendor_code, CUDA_ERROR_OUT_OF_MEMORY);
}

static void points(void **state) {
  fixture *f = *state;
  float values[kCount];
  gpu_point *first = NULL, *last = NULL;
  double seconds = -1;
  start(f, values);
  MUST(kDriver->point_record(f->queue, &first, &f->error));
  MUST(add(f, f->queue, 1));
  MUST(kDriver->point_record(f->queue, &last, &f->error));
  assert_int_equal(kDriver->point_query(last, &f->error), OPS_ERROR_NOT_READY);
  // Work of another queue behind the first one's.
  MUST(kDriver->point_wait(f->other, last, &f->error));
  MUST(add(f, f->other, 2));
  MUST(kDriver->queue_finish(f->other, &f->error));
  MUST(kDriver->point_query(last, &f->error));
  MUST(kDriver->point_finish(first, &f->error));
  MUST(kDriver->point_elapsed(first, last, &seconds, &f->error));
  assert_true(seconds >= 0 && seconds < 60);
  read_back(f, values);
  assert_true(values[0] == 0 && values[7] == 10);
  kDriver->point_release(first);
  kDriver->point_release(last);
  kDriver->point_release(NULL);
}

static void graphs(void **state) {
  fixture *f = *state;
  float values[kCount];
  gpu_graph *graph = NULL;
  start(f, values);
  MUST(kDriver->graph_begin(f->queue, &f->error));
  MUST(add(f, f->queue, 1));
  MUST(add(f, f->queue, 0.25f));
  MUST(kDriver->graph_end(f->queue, &graph, &f->error));
  read_back(f, values);
  assert_true(values[3] == 3);  // captured, not run
  MUST(kDriver->graph_launch(graph, f->queue, &f->error));
  MUST(kDriver->graph_launch(graph, f->queue, &f->error));
  read_back(f, values);
  assert_true(values[3] == 5.5f);
  kDriver->graph_destroy(graph);
  kDriver->graph_destroy(NULL);
}

static void waiting_spoils_a_capture(void **state) {
  fixture *f = *state;
  gpu_graph *graph = NULL;
  MUST(kDriver->graph_begin(f->queue, &f->error));
  assert_int_equal(kDriver->queue_finish(f->queue, &f->error), OPS_ERROR_PRECONDITION);
  assert_int_equal(kDriver->graph_end(f->queue, &graph, &f->error), OPS_ERROR_PRECONDITION);
  assert_null(graph);
  MUST(kDriver->queue_finish(f->queue, &f->error));  // it is over
}

static void memory_in_order(void **state) {
  fixture *f = *state;
  void *memory = NULL;
  const float value = 7;
  float back = 0;
  MUST(kDriver->allocate_queued(f->queue, sizeof value, &memory, &f->error));
  const gpu_place there = {memory, 0, 1};
  MUST(copy(f, on_host(&value), there, sizeof value));
  MUST(copy(f, there, on_host(&back), sizeof back));
  MUST(kDriver->release_queued(f->queue, memory, &f->error));  // behind the copies
  MUST(kDriver->queue_finish(f->queue, &f->error));
  assert_true(back == 7);
}

// 2 x 3 by 3 x 2, each at an offset of its own in one allocation.
static void products_of_a_library(void **state) {
  static const float kFactors[] = {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6};
  static const float kWant[] = {1 * 1 + 2 * 3 + 3 * 5, 1 * 2 + 2 * 4 + 3 * 6,
                                4 * 1 + 5 * 3 + 6 * 5, 4 * 2 + 5 * 4 + 6 * 6};
  fixture *f = *state;
  const gpu_product product = {.type = OPS_TYPE_FLOAT, .m = 2, .n = 2, .k = 3, .batch = 1};
  const gpu_convolution none = {.type = OPS_TYPE_INT8, .spatial = 2, .group = 1};
  gpu_call *call = NULL;
  uint64_t workspace = 0;
  float back[4] = {0};
  MUST(kDriver->product_plan(f->context, &product, 1024, &call, &workspace, &f->error));
  assert_in_range(workspace, 1, 512);
  MUST(copy(f, on_host(kFactors), on_device(f, 0), sizeof kFactors));
  const gpu_call_places places = {on_device(f, 4), on_device(f, 32), on_device(f, 256),
                                  on_device(f, 512)};
  MUST(kDriver->call_run(f->queue, call, &places, &f->error));
  MUST(copy(f, on_device(f, 256), on_host(back), sizeof back));
  MUST(kDriver->queue_finish(f->queue, &f->error));
  assert_memory_equal(back, kWant, sizeof back);
  kDriver->call_destroy(call);
  kDriver->call_destroy(NULL);
  assert_int_equal(
      kDriver->convolution_plan(f->context, &none, 1024, &call, &workspace, &f->error),
      OPS_ERROR_UNSUPPORTED);
}

// A library that cannot be opened is asked for once, and own kernels do its work.
static void libraries_that_are_missing(void **state) {
  fixture *f = *state;
  const gpu_product product = {.type = OPS_TYPE_FLOAT, .m = 2, .n = 2, .k = 3, .batch = 1};
  gpu_call *call = NULL;
  uint64_t workspace;
  cuda_calls *const own = f->context->calls;
  f->context->calls = cuda_calls_create("/nowhere");
  for (int i = 0; i < 2; ++i) {
    f->error.message[0] = '\0';
    assert_int_equal(
        kDriver->product_plan(f->context, &product, 1024, &call, &workspace, &f->error),
        OPS_ERROR_UNSUPPORTED);
    assert_non_null(
        strstr(f->error.message, i == 0 ? "cuBLAS is missing" : "could not be opened"));
  }
  assert_null(call);
  cuda_calls_destroy(f->context->calls);
  f->context->calls = own;
}

static void grids_are_checked(void **state) {
  fixture *f = *state;
  const gpu_arg args[] = {{.buffer = f->memory}};
  const gpu_grid kWrong[] = {
      {{0, 1, 1}, {64, 1, 1}},
      {{1, 65536, 1}, {64, 1, 1}},
      {{UINT64_C(1) << 31, 1, 1}, {64, 1, 1}},
  };
  for (size_t i = 0; i < 3; ++i)
    assert_int_equal(kDriver->launch(f->queue, f->reverse, &kWrong[i], args, 1, &f->error),
                     OPS_ERROR_INTERNAL);
}

static void failure_of_work_stays(void **state) {
  fixture *f = *state;
  float values[kCount];
  gpu_point *before = NULL, *behind = NULL;
  void *memory = NULL;
  start(f, values);
  MUST(kDriver->point_record(f->queue, &before, &f->error));
  MUST(kDriver->point_finish(before, &f->error));
  setenv("FAKE_CUDA_FAIL", "work:700:0", 1);  // an illegal address
  MUST(add(f, f->queue, 1));                  // enqueuing it succeeds
  MUST(kDriver->point_record(f->queue, &behind, &f->error));
  assert_int_equal(kDriver->queue_finish(f->queue, &f->error), OPS_ERROR_DEVICE_LOST);
  assert_int_equal(f->error.vendor_code, 700);
  assert_int_equal(f->error.cause, OPS_CAUSE_ASYNC_FAILURE);
  assert_non_null(strstr(f->error.message, "CUDA_ERROR_ILLEGAL_ADDRESS"));
  unsetenv("FAKE_CUDA_FAIL");
  assert_int_equal(add(f, f->queue, 1), OPS_ERROR_DEVICE_LOST);
  assert_int_equal(kDriver->allocate(f->context, 64, &memory, &f->error),
                   OPS_ERROR_DEVICE_LOST);
  assert_int_equal(kDriver->point_query(behind, &f->error), OPS_ERROR_DEVICE_LOST);
  MUST(kDriver->point_query(before, &f->error));  // what was reached stays reached
  reset_fake();
  kDriver->point_release(before);
  kDriver->point_release(behind);
}

static void damaged_images_are_refused(void **state) {
  fixture *f = *state;
  gpu_program *program = NULL;
  unsigned char *image = malloc(g_image_size);
  assert_non_null(image);
  for (uint64_t size = 0; size < g_image_size; size += size < 128 ? 1 : 997) {
    unsigned char *cut = malloc(size + 1);  // its own block: reading on is found by sanitizers
    assert_non_null(cut);
    memcpy(cut, g_image, size);
    assert_int_equal(kDriver->program_load(f->context, cut, size, &program, &f->error),
                     OPS_ERROR_INCOMPATIBLE);
    free(cut);
  }
  // Another machine's; a table of sections that ends beyond the file.
  static const struct {
    size_t at;
    unsigned char value;
  } kChanges[] = {{0, 'X'}, {18, 0}, {45, 0xff}, {61, 0xff}, {63, 0}};
  for (size_t i = 0; i < 4; ++i) {
    memcpy(image, g_image, g_image_size);
    image[kChanges[i].at] = kChanges[i].value;
    assert_int_equal(
        kDriver->program_load(f->context, image, g_image_size, &program, &f->error),
        OPS_ERROR_INCOMPATIBLE);
  }
  free(image);
}

static void sources_that_are_wrong(void **state) {
  fixture *f = *state;
  gpu_program *program = NULL;
  gpu_function *function = NULL;
  void *binary = NULL;
  uint64_t size = 0;
  setenv("FAKE_NVRTC_FAIL", "1", 1);
  assert_int_equal(
      kDriver->program_build(f->context, kSource, &binary, &size, &program, &f->error),
      OPS_ERROR_INTERNAL);
  assert_non_null(strstr(f->error.message, "wrong on purpose"));
  assert_null(binary);
  assert_int_equal(kDriver->function_get(f->program, "nothing", &function, &f->error),
                   OPS_ERROR_INTERNAL);
  assert_non_null(strstr(f->error.message, "nothing"));
}

// ---- Every call fails once ----

static const char *const kCalls[] = {
#define NAME(function, symbol) symbol,
    CUDA_API_LIST(NAME)
#undef NAME
};

// A run through everything; its first failure.
static int32_t whole_life(ops_error *error) {
  fixture f = {.error = OPS_ERROR_INIT};
  float values[kCount] = {0};
  gpu_point *point = NULL, *last = NULL;
  gpu_graph *graph = NULL;
  void *pinned = NULL;
  double seconds;
  uint64_t count;
  const gpu_place host = on_host(values);
  int32_t status = cuda_load_from(FAKE_FOLDER, &f.api, error);
  if (status == OPS_OK) status = kDriver->device_count(f.api, &count, error);
  if (status == OPS_OK) status = kDriver->open(f.api, 0, &f.context, &f.properties, error);
  if (status == OPS_OK) status = kDriver->queue_create(f.context, &f.queue, error);
  if (status == OPS_OK) status = kDriver->allocate(f.context, sizeof values, &f.memory, error);
  if (status == OPS_OK) status = kDriver->allocate_pinned(f.context, 64, &pinned, error);
  if (status == OPS_OK)
    status = kDriver->program_load(f.context, g_image, g_image_size, &f.program, error);
  if (status == OPS_OK) status = kDriver->function_get(f.program, "add", &f.add, error);
  const gpu_place device = on_device(&f, 0);
  if (status == OPS_OK) status = kDriver->copy(f.queue, &host, &device, sizeof values, error);
  if (status == OPS_OK) status = kDriver->point_record(f.queue, &point, error);
  if (status == OPS_OK) status = kDriver->point_wait(f.queue, point, error);
  if (status == OPS_OK) status = kDriver->graph_begin(f.queue, error);
  if (status == OPS_OK) status = add(&f, f.queue, 1);
  if (status == OPS_OK) status = kDriver->graph_end(f.queue, &graph, error);
  if (status == OPS_OK) status = kDriver->graph_launch(graph, f.queue, error);
  if (status == OPS_OK) status = kDriver->point_record(f.queue, &last, error);
  if (status == OPS_OK) status = kDriver->queue_finish(f.queue, error);
  if (status == OPS_OK) status = kDriver->point_query(point, error);
  if (status == OPS_OK) status = kDriver->point_finish(last, error);
  if (status == OPS_OK) status = kDriver->point_elapsed(point, last, &seconds, error);
  if (f.error.code != OPS_OK) *error = f.error;
  unsetenv("FAKE_CUDA_FAIL");
  if (f.context) {
    kDriver->queue_destroy(f.queue);  // drains
    kDriver->graph_destroy(graph);
    kDriver->point_release(point);
    kDriver->point_release(last);
    kDriver->program_destroy(f.program);
    kDriver->release_pinned(f.context, pinned);
    kDriver->release(f.context, f.memory);
    kDriver->close(f.context);
  }
  kDriver->unload(f.api);
  return status;
}

// Those that no piece of whole_life needs, or whose failure has nobody to go to.
static int may_succeed(const char *call) {
  static const char *const kNames[] = {
      "cuGetErrorName", "cuGetErrorString", "cuDeviceGetAttribute", "cuDeviceCanAccessPeer",
      "cuMemGetInfo_v2", "cuMemsetD8Async", "cuMemAllocAsync", "cuMemFreeAsync",
      "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxReset_v2", "cuStreamQuery",
      "cuGraphExecUpdate_v2", "cuFuncSetAttribute", "cuFuncGetAttribute",
      // Frees.
      "cuMemFree_v2", "cuMemFreeHost", "cuStreamDestroy_v2", "cuEventDestroy_v2",
      "cuGraphDestroy", "cuGraphExecDestroy", "cuModuleUnload", "cuCtxPopCurrent_v2"};
  for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; ++i)
    if (strcmp(kNames[i], call) == 0) return 1;
  return 0;
}

static void every_call_fails_once(void **state) {
  (void)state;
  clear();
  assert_int_equal(whole_life(NULL), OPS_OK);
  for (size_t i = 0; i < sizeof kCalls / sizeof kCalls[0]; ++i)
    for (int after = 0; after < 3; ++after) {
      char plan[80];
      ops_error error = OPS_ERROR_INIT;
      clear();
      snprintf(plan, sizeof plan, "%s:2:%d", kCalls[i], after);
      setenv("FAKE_CUDA_FAIL", plan, 1);
      const int32_t status = whole_life(&error);
      if (status == OPS_OK && (after > 0 || may_succeed(kCalls[i]))) continue;
      if (status != OPS_ERROR_OUT_OF_MEMORY ||
          !strstr(error.message, "CUDA_ERROR_OUT_OF_MEMORY (2)"))
        fail_msg("%s: status %d, '%s'", plan, status, error.message);
      clear();
      assert_int_equal(fake_in_use(), 0);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(properties, setup, teardown),
      cmocka_unit_test_setup_teardown(work_runs_in_order, setup, teardown),
      cmocka_unit_test_setup_teardown(threads_of_a_block_meet, setup, teardown),
      cmocka_unit_test_setup_teardown(copies, setup, teardown),
      cmocka_unit_test_setup_teardown(pinned_memory, setup, teardown),
      cmocka_unit_test_setup_teardown(memory_ends, setup, teardown),
      cmocka_unit_test_setup_teardown(points, setup, teardown),
      cmocka_unit_test_setup_teardown(graphs, setup, teardown),
      cmocka_unit_test_setup_teardown(waiting_spoils_a_capture, setup, teardown),
      cmocka_unit_test_setup_teardown(memory_in_order, setup, teardown),
      cmocka_unit_test_setup_teardown(products_of_a_library, setup, teardown),
      cmocka_unit_test_setup_teardown(libraries_that_are_missing, setup, teardown),
      cmocka_unit_test_setup_teardown(grids_are_checked, setup, teardown),
      cmocka_unit_test_setup_teardown(failure_of_work_stays, setup, teardown),
      cmocka_unit_test_setup_teardown(damaged_images_are_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(sources_that_are_wrong, setup, teardown),
      cmocka_unit_test(every_call_fails_once),
  };
  // Held open, so that its state outlives each test's own opening.
  void *fake = dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (!fake) return 1;
  *(void **)&reset_fake = dlsym(fake, "fake_cuda_reset");
  *(void **)&fake_in_use = dlsym(fake, "fake_cuda_in_use");
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  free(g_image);
  dlclose(fake);
  return failed;
}

// SPDX-License-Identifier: Apache-2.0
//
// Opening the driver and the compiler: missing, old, incomplete, failing ones, and what each
// failure of the driver becomes. The fake Toolkit of fake/ stands in for the real one; where
// the real one is at hand, its compiler and its stub of a driver are opened too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the headers above first.
#include <cmocka.h>
#include <ops_support/error.h>
#include <unistd.h>

#include "api.h"
#include "rtc.h"

static int clean(void **state) {
  (void)state;
  unsetenv("FAKE_CUDA_VERSION");
  unsetenv("FAKE_CUDA_DEVICES");
  unsetenv("FAKE_CUDA_FAIL");
  unsetenv("FAKE_NVRTC_FAIL");
  return 0;
}

static int32_t open_driver(const char *place, ops_error *error) {
  cuda_api api;
  cuda_library library = {0};
  int32_t version = 0;
  const int32_t status = cuda_api_open(place, &api, &library, &version, error);
  if (status == OPS_OK) assert_int_equal(version, 13000);
  cuda_library_close(&library);
  return status;
}

static void expect(const char *place, int32_t status, int32_t cause, const char *text) {
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(open_driver(place, &error), status);
  assert_int_equal(error.code, status);
  assert_int_equal(error.cause, cause);
  if (!strstr(error.message, text)) fail_msg("'%s' does not say '%s'", error.message, text);
}

static void driver_opens(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  if (open_driver(FAKE_DRIVER, &error) != OPS_OK) fail_msg("%s", error.message);
}

static void driver_is_missing(void **state) {
  (void)state;
  static const char kText[] =
      "driver too old or missing: need an NVIDIA driver for CUDA 12.0 or newer, found none";
  expect("/nowhere/libcuda.so.1", OPS_ERROR_NOT_FOUND, OPS_CAUSE_LIBRARY_MISSING, kText);
  // A folder without it.
  expect("/", OPS_ERROR_NOT_FOUND, OPS_CAUSE_LIBRARY_MISSING, "libcuda.so.1");
}

static void driver_is_too_old(void **state) {
  (void)state;
  setenv("FAKE_CUDA_VERSION", "11080", 1);
  expect(FAKE_DRIVER, OPS_ERROR_UNSUPPORTED_VERSION, OPS_CAUSE_DRIVER_TOO_OLD,
         "need an NVIDIA driver for CUDA 12.0 or newer, found one for CUDA 11.8");
  // One that lacks functions says its version too.
  expect(FAKE_OLD_DRIVER, OPS_ERROR_UNSUPPORTED_VERSION, OPS_CAUSE_DRIVER_TOO_OLD,
         "found one for CUDA 9.2");
}

static void function_is_missing(void **state) {
  (void)state;
  // Another library altogether under the driver's name.
  expect(FAKE_NVRTC, OPS_ERROR_UNSUPPORTED_VERSION, OPS_CAUSE_DRIVER_TOO_OLD,
         "has no function cuDriverGetVersion");
}

static void no_device(void **state) {
  (void)state;
  setenv("FAKE_CUDA_DEVICES", "0", 1);
  expect(FAKE_DRIVER, OPS_ERROR_NOT_FOUND, OPS_CAUSE_NO_SUCH_DEVICE, "cuInit");
}

// The Toolkit's stub has every function and says of each call that it is one.
static void stub_of_the_toolkit(void **state) {
  (void)state;
  if (!USE_TOOLKIT || access(STUB_DRIVER, R_OK) != 0) skip();
  expect(STUB_DRIVER, OPS_ERROR_UNSUPPORTED_VERSION, OPS_CAUSE_DRIVER_TOO_OLD, "(34)");
}

// Numbers as the driver's documentation gives them.
static void failures_are_mapped(void **state) {
  static const struct {
    int result;
    int32_t status, fatal;
  } kRows[] = {
      {1, OPS_ERROR_INTERNAL, 0},               // invalid value
      {2, OPS_ERROR_OUT_OF_MEMORY, 0},          // out of memory
      {34, OPS_ERROR_UNSUPPORTED_VERSION, 0},   // stub library
      {100, OPS_ERROR_NOT_FOUND, 0},            // no device
      {209, OPS_ERROR_UNSUPPORTED_VERSION, 0},  // no binary for the GPU
      {214, OPS_ERROR_DEVICE_LOST, 1},          // uncorrectable ECC error
      {222, OPS_ERROR_UNSUPPORTED_VERSION, 0},  // PTX of a newer version
      {400, OPS_ERROR_INTERNAL, 0},             // invalid handle
      {600, OPS_ERROR_NOT_READY, 0},            // not ready
      {700, OPS_ERROR_DEVICE_LOST, 1},          // illegal address
      {702, OPS_ERROR_DEVICE_LOST, 1},          // launch timed out
      {716, OPS_ERROR_DEVICE_LOST, 1},          // misaligned address
      {719, OPS_ERROR_DEVICE_LOST, 1},          // launch failed
      {801, OPS_ERROR_UNSUPPORTED, 0},          // not supported
      {901, OPS_ERROR_PRECONDITION, 0},         // capture invalidated
      {999, OPS_ERROR_DEVICE_LOST, 1},          // unknown
      {12345, OPS_ERROR_INTERNAL, 0},           // of a later driver
  };
  (void)state;
  cuda_api api;
  cuda_library library = {0};
  int32_t version;
  assert_int_equal(cuda_api_open(FAKE_DRIVER, &api, &library, &version, NULL), OPS_OK);
  for (size_t i = 0; i < sizeof kRows / sizeof kRows[0]; ++i) {
    ops_error error = OPS_ERROR_INIT;
    const CUresult result = (CUresult)kRows[i].result;
    assert_int_equal(cuda_check(&api, result, "this call", &error), kRows[i].status);
    assert_int_equal(error.vendor_code, kRows[i].result);
    assert_non_null(strstr(error.message, "this call: the CUDA driver answers"));
    assert_int_equal(cuda_is_fatal(result), kRows[i].fatal);
    assert_int_equal(cuda_check(&api, result, "this call", NULL), kRows[i].status);
  }
  assert_int_equal(cuda_check(&api, CUDA_SUCCESS, "this call", NULL), OPS_OK);
  cuda_library_close(&library);
}

static const char kSource[] =
    "extern \"C\" __global__ void twice(float *x, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] = x[i] * FACTOR;\n"
    "}\n";

static int32_t compile(const char *place, const char *source, int32_t capability,
                       uint64_t *out_size, ops_error *error) {
  static const char *const kOptions[] = {"-DFACTOR=2.0f"};
  cuda_rtc rtc = {0};
  void *image = NULL;
  OPS_RETURN_IF_ERROR(cuda_rtc_open(place, 13000, &rtc, error));
  const int32_t status = cuda_rtc_compile(&rtc, "twice", source, capability, kOptions, 1,
                                          &image, out_size, NULL, error);
  free(image);
  cuda_rtc_close(&rtc);
  return status;
}

static void compiler_is_missing(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  uint64_t size;
  assert_int_equal(compile("/nowhere", kSource, 80, &size, &error), OPS_ERROR_NOT_FOUND);
  assert_int_equal(error.cause, OPS_CAUSE_LIBRARY_MISSING);
  assert_non_null(strstr(error.message, "NVRTC, the CUDA compiler, is missing"));
}

static void compiler_gives_its_log(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  uint64_t size;
  assert_int_equal(compile(FAKE_NVRTC, "no C at all", 80, &size, &error), OPS_ERROR_INTERNAL);
  assert_non_null(strstr(error.message, "program twice"));
  assert_non_null(strstr(error.message, "error"));
}

// The compiler itself, without a GPU; for both architectures.
static void toolkit_compiles(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  uint64_t size = 0;
  if (!USE_TOOLKIT) skip();
  const int32_t status = compile(NULL, kSource, 80, &size, &error);
  if (error.cause == OPS_CAUSE_LIBRARY_MISSING) skip();
  if (status != OPS_OK) fail_msg("%s", error.message);
  assert_true(size > 0);
  assert_int_equal(compile(NULL, kSource, 90, &size, &error), OPS_OK);
  assert_int_equal(compile(NULL, "no C at all", 90, &size, &error), OPS_ERROR_INTERNAL);
  assert_non_null(strstr(error.message, "identifier \"no\" is undefined"));
}

// Runs one kernel on the fake driver, from source to the numbers it leaves.
static void kernel_runs(void **state) {
  (void)state;
  static const char *const kOptions[] = {"-DFACTOR=2.0f"};
  cuda_api api;
  cuda_library library = {0};
  cuda_rtc rtc = {0};
  int32_t version;
  void *image = NULL;
  uint64_t size = 0;
  CUmodule module;
  CUfunction function;
  CUstream stream;
  CUdeviceptr memory;
  float values[1000];
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(cuda_api_open(FAKE_DRIVER, &api, &library, &version, NULL), OPS_OK);
  assert_int_equal(cuda_rtc_open(FAKE_NVRTC, version, &rtc, NULL), OPS_OK);
  if (cuda_rtc_compile(&rtc, "twice", kSource, 80, kOptions, 1, &image, &size, NULL, &error) !=
      OPS_OK)
    fail_msg("%s", error.message);
  assert_int_equal(api.cuModuleLoadDataEx(&module, image, 0, NULL, NULL), CUDA_SUCCESS);
  assert_int_equal(api.cuModuleGetFunction(&function, module, "twice"), CUDA_SUCCESS);
  assert_int_equal(api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  assert_int_equal(api.cuMemAlloc(&memory, sizeof values), CUDA_SUCCESS);
  for (int i = 0; i < 1000; ++i) values[i] = (float)i;
  const CUdeviceptr host = (CUdeviceptr)(uintptr_t)values;
  int n = 999;
  void *params[] = {&memory, &n};
  assert_int_equal(api.cuMemcpyAsync(memory, host, sizeof values, stream), CUDA_SUCCESS);
  assert_int_equal(api.cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, params, NULL),
                   CUDA_SUCCESS);
  assert_int_equal(api.cuMemcpyAsync(host, memory, sizeof values, stream), CUDA_SUCCESS);
  assert_true(values[3] == 3.0f);  // nobody has waited yet
  assert_int_equal(api.cuStreamSynchronize(stream), CUDA_SUCCESS);
  for (int i = 0; i < 1000; ++i) assert_true(values[i] == (float)i * (i < 999 ? 2.0f : 1.0f));
  assert_int_equal(api.cuMemFree(memory), CUDA_SUCCESS);
  assert_int_equal(api.cuStreamDestroy(stream), CUDA_SUCCESS);
  assert_int_equal(api.cuModuleUnload(module), CUDA_SUCCESS);
  free(image);
  cuda_rtc_close(&rtc);
  cuda_library_close(&library);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(driver_opens, clean),
      cmocka_unit_test_setup(driver_is_missing, clean),
      cmocka_unit_test_setup(driver_is_too_old, clean),
      cmocka_unit_test_setup(function_is_missing, clean),
      cmocka_unit_test_setup(no_device, clean),
      cmocka_unit_test_setup(stub_of_the_toolkit, clean),
      cmocka_unit_test_setup(failures_are_mapped, clean),
      cmocka_unit_test_setup(compiler_is_missing, clean),
      cmocka_unit_test_setup(compiler_gives_its_log, clean),
      cmocka_unit_test_setup(toolkit_compiles, clean),
      cmocka_unit_test_setup(kernel_runs, clean),
  };
  return cmocka_run_group_tests(tests, NULL, clean);
}

// SPDX-License-Identifier: Apache-2.0
//
// A test double of the CUDA driver: libcuda.so.1 over the memory of the process. Work runs
// as late as it may (queue.c): who reads without waiting reads what was there before. One lock,
// no threads.
//
//   FAKE_CUDA_VERSION=11040        what cuDriverGetVersion says (13000)
//   FAKE_CUDA_DEVICES=0            how many devices there are (1)
//   FAKE_CUDA_MEMORY=BYTES         of each device (1 GiB)
//   FAKE_CUDA_FAIL=NAME:CODE:N     the call NAME answers CODE after N that went well; "work"
//   for
//                                  NAME: kernels and copies fail while they run
//
// Kernels are what fake/nvrtc.c made. A failure of work whose code spoils a context (700 to
// 720) is the answer of every later call.
#include <cuda.h>
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static CUresult g_spoiled;
static int g_calls;  // of the function that is to fail
static size_t g_in_use;
static int g_context;  // its address is the one context

// ---- Failures on purpose ----

long fake_setting(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text && *text ? strtol(text, NULL, 10) : otherwise;
}

CUresult fake_planned(const char *function) {
  const char *plan = getenv("FAKE_CUDA_FAIL");
  const size_t size = strlen(function);
  if (!plan || strncmp(plan, function, size) != 0 || plan[size] != ':') return CUDA_SUCCESS;
  char *rest;
  const long code = strtol(plan + size + 1, &rest, 10);
  const long after = *rest == ':' ? strtol(rest + 1, NULL, 10) : 0;
  return g_calls++ >= after ? (CUresult)code : CUDA_SUCCESS;
}

CUresult fake_spoiled(void) {
  return g_spoiled;
}

void fake_spoil(CUresult result) {
  g_spoiled = result;
}

CUresult fake_enter(const char *function) {
  pthread_mutex_lock(&g_lock);
  const CUresult plan = fake_planned(function);
  return plan != CUDA_SUCCESS ? plan : g_spoiled;
}

CUresult fake_leave(CUresult result) {
  pthread_mutex_unlock(&g_lock);
  return result;
}

// For tests: failures start anew; how much memory is allocated.
void fake_cuda_reset(void) {
  g_spoiled = CUDA_SUCCESS;
  g_calls = 0;
}

size_t fake_cuda_in_use(void) {
  return g_in_use;
}

// ---- Memory: a header before each block says its size ----

enum { kHeader = 256 };

CUresult fake_take(size_t size, CUdeviceptr *out) {
  const size_t all = (size_t)fake_setting("FAKE_CUDA_MEMORY", 1L << 30);
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (size > all || g_in_use > all - size) return CUDA_ERROR_OUT_OF_MEMORY;
  char *block = aligned_alloc(kHeader, kHeader + (size + kHeader - 1) / kHeader * kHeader);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  memcpy(block, &size, sizeof size);
  g_in_use += size;
  *out = (CUdeviceptr)(uintptr_t)(block + kHeader);
  return CUDA_SUCCESS;
}

void fake_give(void *memory) {
  char *block = (char *)memory - kHeader;
  size_t size;
  memcpy(&size, block, sizeof size);
  g_in_use -= size;
  free(block);
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t size) {
  FAKE_ENTER("cuMemAlloc_v2");
  return fake_leave(fake_take(size, out));
}

CUresult cuMemFree(CUdeviceptr memory) {
  FAKE_ENTER("cuMemFree_v2");
  fake_give((void *)(uintptr_t)memory);
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemHostAlloc(void **out, size_t size, unsigned flags) {
  (void)flags;
  FAKE_ENTER("cuMemHostAlloc");
  *out = aligned_alloc(kHeader, (size + kHeader - 1) / kHeader * kHeader);
  return fake_leave(*out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuMemFreeHost(void *memory) {
  FAKE_ENTER("cuMemFreeHost");
  free(memory);
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemGetInfo(size_t *out_free, size_t *out_total) {
  FAKE_ENTER("cuMemGetInfo_v2");
  *out_total = (size_t)fake_setting("FAKE_CUDA_MEMORY", 1L << 30);
  *out_free = *out_total - g_in_use;
  return fake_leave(CUDA_SUCCESS);
}

// ---- Devices, contexts, modules ----

CUresult cuInit(unsigned flags) {
  FAKE_ENTER("cuInit");
  return fake_leave(flags                                  ? CUDA_ERROR_INVALID_VALUE
                    : fake_setting("FAKE_CUDA_DEVICES", 1) ? CUDA_SUCCESS
                                                           : CUDA_ERROR_NO_DEVICE);
}

CUresult cuDriverGetVersion(int *out) {
  FAKE_ENTER("cuDriverGetVersion");
  *out = (int)fake_setting("FAKE_CUDA_VERSION", 13000);
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuGetErrorName(CUresult code, const char **out) {
  *out = code == CUDA_ERROR_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
         : code == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                              : NULL;
  return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **out) {
  (void)code;
  *out = "failed on purpose";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *out) {
  FAKE_ENTER("cuDeviceGetCount");
  *out = (int)fake_setting("FAKE_CUDA_DEVICES", 1);
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *out, int ordinal) {
  FAKE_ENTER("cuDeviceGet");
  if (ordinal < 0 || ordinal >= fake_setting("FAKE_CUDA_DEVICES", 1))
    return fake_leave(CUDA_ERROR_INVALID_DEVICE);
  *out = ordinal;
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetName(char *out, int size, CUdevice device) {
  (void)device;
  FAKE_ENTER("cuDeviceGetName");
  snprintf(out, (size_t)size, "Fake GPU");
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceTotalMem(size_t *out, CUdevice device) {
  (void)device;
  FAKE_ENTER("cuDeviceTotalMem_v2");
  *out = (size_t)fake_setting("FAKE_CUDA_MEMORY", 1L << 30);
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *out, CUdevice_attribute attribute, CUdevice device) {
  static const int kValues[][2] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 8},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 167936},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 1024},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
  };
  (void)device;
  FAKE_ENTER("cuDeviceGetAttribute");
  *out = 0;
  for (size_t i = 0; i < sizeof kValues / sizeof kValues[0]; ++i)
    if (kValues[i][0] == (int)attribute) *out = kValues[i][1];
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceCanAccessPeer(int *out, CUdevice device, CUdevice peer) {
  FAKE_ENTER("cuDeviceCanAccessPeer");
  *out = device != peer;
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
  (void)device;
  FAKE_ENTER("cuDevicePrimaryCtxRetain");
  *out = (CUcontext)&g_context;
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  (void)device;
  FAKE_ENTER("cuDevicePrimaryCtxRelease_v2");
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  (void)device;
  pthread_mutex_lock(&g_lock);
  g_spoiled = CUDA_SUCCESS;
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuCtxPushCurrent(CUcontext context) {
  FAKE_ENTER("cuCtxPushCurrent_v2");
  return fake_leave(context == (CUcontext)&g_context ? CUDA_SUCCESS
                                                     : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult cuCtxPopCurrent(CUcontext *out) {
  FAKE_ENTER("cuCtxPopCurrent_v2");
  if (out) *out = (CUcontext)&g_context;
  return fake_leave(CUDA_SUCCESS);
}

// An image is a shared object; as the driver does, this trusts its headers to say how long it
// is.
static size_t image_size(const void *image) {
  Elf64_Ehdr head;
  memcpy(&head, image, sizeof head);
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_machine != EM_X86_64) return 0;
  return head.e_shoff +
         (size_t)head.e_shnum * head.e_shentsize;  // its table is the last thing in it
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count,
                            CUjit_option *options, void **values) {
  (void)count, (void)options, (void)values;
  FAKE_ENTER("cuModuleLoadDataEx");
  // A name of its own: dlopen knows what it has loaded by name.
  char path[] = "/tmp/fake_cuda_module_XXXXXX";
  const size_t size = image_size(image);
  const int file = size ? mkstemp(path) : -1;
  const int written = file >= 0 && write(file, image, size) == (ssize_t)size;
  *out = written ? (CUmodule)dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (file >= 0) close(file), unlink(path);
  return fake_leave(*out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE);
}

CUresult cuModuleUnload(CUmodule module) {
  FAKE_ENTER("cuModuleUnload");
  dlclose(module);
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name) {
  FAKE_ENTER("cuModuleGetFunction");
  char symbol[256];
  snprintf(symbol, sizeof symbol, FAKE_KERNEL_PREFIX "%s", name);
  *out = (CUfunction)dlsym(module, symbol);
  return fake_leave(*out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  (void)function, (void)attribute;
  FAKE_ENTER("cuFuncSetAttribute");
  return fake_leave(value <= 167936 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuFuncGetAttribute(int *out, CUfunction_attribute attribute, CUfunction function) {
  (void)function;
  FAKE_ENTER("cuFuncGetAttribute");
  *out = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return fake_leave(CUDA_SUCCESS);
}

// SPDX-License-Identifier: Apache-2.0
//
// Loading CUDA, opening devices, and their memory; see driver.h.
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { kAlignment = 256 };  // of cuMemAlloc

int32_t cuda_load_from(const char *place, gpu_api **out_api, ops_error *error) {
  gpu_api *api = calloc(1, sizeof *api);
  if (!api) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for CUDA");
  api->place = place ? strdup(place) : NULL;
  int32_t status = place && !api->place ? OPS_ERROR_OUT_OF_MEMORY : OPS_OK;
  if (status == OPS_OK)
    status = cuda_api_open(place, &api->cuda, &api->library, &api->version, error);
  if (status == OPS_OK) status = cuda_rtc_open(place, api->version, &api->rtc, error);
  if (status == OPS_OK)
    *out_api = api;
  else
    cuda_unload(api);
  return status;
}

void cuda_unload(gpu_api *api) {
  if (!api) return;
  cuda_rtc_close(&api->rtc);
  cuda_library_close(&api->library);
  free(api->place);
  free(api);
}

int32_t cuda_device_count(gpu_api *api, uint64_t *out_count, ops_error *error) {
  int count = 0;
  OPS_RETURN_IF_ERROR(
      cuda_check(&api->cuda, api->cuda.cuDeviceGetCount(&count), "cuDeviceGetCount", error));
  *out_count = count > 0 ? (uint64_t)count : 0;
  return OPS_OK;
}

// ---- What a device is ----

// An attribute that the driver does not know counts as 0.
static int attribute(const gpu_context *context, CUdevice_attribute name) {
  int value = 0;
  const CUresult result =
      context->api->cuda.cuDeviceGetAttribute(&value, name, context->device);
  return result == CUDA_SUCCESS ? value : 0;
}

// Float units of a multiprocessor, by compute capability (CUDA programming guide, arithmetic
// throughput); the last row holds for later ones.
static double float_units(int32_t capability) {
  static const struct {
    int32_t until;
    double units;
  } kRows[] = {{60, 64}, {62, 128}, {80, 64}, {INT32_MAX, 128}};
  for (size_t i = 0;; ++i)
    if (capability <= kRows[i].until) return kRows[i].units;
}

static void fill_peaks(const gpu_context *context, gpu_properties *out) {
  const double clock = 1e3 * attribute(context, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  const double memory_clock = 1e3 * attribute(context, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  const double width = attribute(context, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8.0;
  // A multiplication and an addition; two transfers in a cycle of the memory.
  out->peak_flops_float32 = 2 * clock * out->compute_units * float_units(context->capability);
  out->peak_bytes_per_second = 2 * memory_clock * width;
}

static int32_t fill_properties(const gpu_context *context, gpu_properties *out,
                               ops_error *error) {
  const gpu_api *api = context->api;
  size_t memory = 0;
  OPS_RETURN_IF_ERROR(cuda_check(
      &api->cuda, api->cuda.cuDeviceGetName(out->name, sizeof out->name, context->device),
      "cuDeviceGetName", error));
  OPS_RETURN_IF_ERROR(cuda_check(&api->cuda,
                                 api->cuda.cuDeviceTotalMem(&memory, context->device),
                                 "cuDeviceTotalMem", error));
  out->kind = OPS_DEVICE_GPU;
  out->features = GPU_FEATURE_FP64 | GPU_FEATURE_FP16;
  out->memory_bytes = out->max_allocation = memory;
  out->min_alignment = kAlignment;
  out->local_bytes =
      (uint64_t)attribute(context, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  out->max_group = (uint32_t)attribute(context, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  out->compute_units = (uint32_t)attribute(context, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  snprintf(out->architecture, sizeof out->architecture, "sm_%d", context->capability);
  snprintf(out->driver_version, sizeof out->driver_version, "CUDA %d.%d", api->version / 1000,
           api->version % 1000 / 10);
  snprintf(out->build_id, sizeof out->build_id, "cuda %s driver %d nvrtc %s", out->architecture,
           api->version, api->rtc.version);
  fill_peaks(context, out);
  return OPS_OK;
}

static int32_t open_device(gpu_context *context, uint64_t index, gpu_properties *out,
                           ops_error *error) {
  const cuda_api *cuda = &context->api->cuda;
  if (index > INT32_MAX)
    return ops_error_set_cause(error, OPS_ERROR_NOT_FOUND, OPS_CAUSE_NO_SUCH_DEVICE,
                               "device %llu: CUDA has none", (unsigned long long)index);
  OPS_RETURN_IF_ERROR(
      cuda_check(cuda, cuda->cuDeviceGet(&context->device, (int)index), "cuDeviceGet", error));
  context->capability = 10 * attribute(context, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                        attribute(context, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  OPS_RETURN_IF_ERROR(fill_properties(context, out, error));
  return cuda_check(cuda, cuda->cuDevicePrimaryCtxRetain(&context->context, context->device),
                    "cuDevicePrimaryCtxRetain", error);
}

int32_t cuda_open(gpu_api *api, uint64_t index, gpu_context **out_context,
                  gpu_properties *out_properties, ops_error *error) {
  gpu_context *context = calloc(1, sizeof *context);
  if (!context) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a device");
  context->api = api;
  context->calls = cuda_calls_create(api->place);
  const int32_t status =
      !context->calls ? ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a device")
                      : open_device(context, index, out_properties, error);
  if (status == OPS_OK)
    *out_context = context;
  else
    cuda_calls_destroy(context->calls), free(context);
  return status;
}

void cuda_close(gpu_context *context) {
  if (!context) return;
  const int32_t entered = cuda_enter(context, "close", NULL) == OPS_OK;
  cuda_calls_destroy(context->calls);
  if (entered) cuda_leave(context, CUDA_SUCCESS, "close", NULL);
  context->api->cuda.cuDevicePrimaryCtxRelease(context->device);
  free(context);
}

int32_t cuda_enter(const gpu_context *context, const char *what, ops_error *error) {
  const cuda_api *cuda = &context->api->cuda;
  return cuda_check(cuda, cuda->cuCtxPushCurrent(context->context), what, error);
}

// What was pushed can be popped.
int32_t cuda_leave(const gpu_context *context, CUresult result, const char *what,
                   ops_error *error) {
  const cuda_api *cuda = &context->api->cuda;
  CUcontext popped;
  cuda->cuCtxPopCurrent(&popped);
  return cuda_check(cuda, result, what, error);
}

// ---- Memory ----

int32_t cuda_allocate(gpu_context *context, uint64_t size, void **out_memory,
                      ops_error *error) {
  CUdeviceptr memory = 0;
  OPS_RETURN_IF_ERROR(cuda_enter(context, "cuMemAlloc", error));
  OPS_RETURN_IF_ERROR(
      cuda_leave(context, context->api->cuda.cuMemAlloc(&memory, size), "cuMemAlloc", error));
  *out_memory = (void *)(uintptr_t)memory;
  return OPS_OK;
}

// A failure to free has nobody to go to; the next call will meet what caused it.
void cuda_release(gpu_context *context, void *memory) {
  if (!memory || cuda_enter(context, "cuMemFree", NULL) != OPS_OK) return;
  cuda_leave(context, context->api->cuda.cuMemFree(cuda_address(memory)), "cuMemFree", NULL);
}

int32_t cuda_allocate_pinned(gpu_context *context, uint64_t size, void **out_address,
                             ops_error *error) {
  OPS_RETURN_IF_ERROR(cuda_enter(context, "cuMemHostAlloc", error));
  return cuda_leave(
      context, context->api->cuda.cuMemHostAlloc(out_address, size, CU_MEMHOSTALLOC_PORTABLE),
      "cuMemHostAlloc", error);
}

void cuda_release_pinned(gpu_context *context, void *address) {
  if (!address || cuda_enter(context, "cuMemFreeHost", NULL) != OPS_OK) return;
  cuda_leave(context, context->api->cuda.cuMemFreeHost(address), "cuMemFreeHost", NULL);
}

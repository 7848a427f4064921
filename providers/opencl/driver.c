// SPDX-License-Identifier: Apache-2.0
//
// The functions of gpu/driver.h over OpenCL 1.2 and the ICD loader.
#include "opencl.h"

#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

enum { kMaxPlatforms = 16, kMaxDevices = 64 };

struct gpu_api {
  cl_device_id devices[kMaxDevices];
  cl_platform_id platforms[kMaxDevices];  // of each device
  uint64_t count;
};

struct gpu_context {
  cl_context context;
  cl_device_id device;
};

struct gpu_queue {
  gpu_context *context;
  cl_command_queue queue;
};

// ---- Platforms and devices ----

static void add_devices(gpu_api *api, cl_platform_id platform) {
  cl_device_id devices[kMaxDevices];
  cl_uint count = 0;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, kMaxDevices, devices, &count) != CL_SUCCESS)
    return;
  for (cl_uint i = 0; i < count && i < kMaxDevices && api->count < kMaxDevices; ++i) {
    api->devices[api->count] = devices[i];
    api->platforms[api->count++] = platform;
  }
}

static cl_int find_platforms(cl_platform_id platforms[kMaxPlatforms], cl_uint *out_count) {
  opencl_process before;
  opencl_process_save(&before);
  const cl_int status = clGetPlatformIDs(kMaxPlatforms, platforms, out_count);
  for (cl_uint i = 0; status == CL_SUCCESS && i < *out_count && i < kMaxPlatforms; ++i) {
    cl_uint devices;
    clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &devices);  // starts the driver
  }
  opencl_process_restore(&before);
  return status;
}

static int32_t load(gpu_api **out_api, ops_error *error) {
  cl_platform_id platforms[kMaxPlatforms];
  cl_uint count = 0;
  const cl_int status = find_platforms(platforms, &count);
  if (status != CL_SUCCESS || count == 0)
    return ops_error_set_cause(
        error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIBRARY_MISSING,
        "no OpenCL platform: expected a driver that /etc/OpenCL/vendors names, such as "
        "pocl-opencl-icd; found none (%s)",
        opencl_error_name(status));
  gpu_api *api = calloc(1, sizeof *api);
  if (!api) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for OpenCL");
  for (cl_uint i = 0; i < count && i < kMaxPlatforms; ++i) add_devices(api, platforms[i]);
  *out_api = api;
  return OPS_OK;
}

static void unload(gpu_api *api) {
  free(api);
}

static int32_t device_count(gpu_api *api, uint64_t *out_count, ops_error *error) {
  (void)error;
  *out_count = api->count;
  return OPS_OK;
}

static void read_text(cl_device_id device, cl_device_info what, char *text, size_t size) {
  if (clGetDeviceInfo(device, what, size, text, NULL) != CL_SUCCESS) text[0] = '\0';
  text[size - 1] = '\0';
}

static uint64_t read_number(cl_device_id device, cl_device_info what, size_t size) {
  uint64_t value = 0;  // little endian: a narrower number fills its lower bytes
  if (clGetDeviceInfo(device, what, size, &value, NULL) != CL_SUCCESS) return 0;
  return value;
}

static int has_extension(cl_device_id device, const char *name) {
  size_t size = 0;
  if (clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &size) != CL_SUCCESS) return 0;
  char *text = calloc(1, size + 1);
  if (!text) return 0;
  clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, size, text, NULL);
  const int found = strstr(text, name) != NULL;
  free(text);
  return found;
}

static int32_t device_kind(cl_device_id device) {
  const uint64_t type = read_number(device, CL_DEVICE_TYPE, sizeof(cl_device_type));
  if (type & CL_DEVICE_TYPE_GPU) return OPS_DEVICE_GPU;
  return type & CL_DEVICE_TYPE_CPU ? OPS_DEVICE_CPU : OPS_DEVICE_OTHER;
}

static void read_properties(const gpu_api *api, uint64_t index, gpu_properties *p) {
  cl_device_id device = api->devices[index];
  char platform[128] = "";
  clGetPlatformInfo(api->platforms[index], CL_PLATFORM_VERSION, sizeof platform, platform,
                    NULL);
  platform[sizeof platform - 1] = '\0';
  read_text(device, CL_DEVICE_NAME, p->name, sizeof p->name);
  read_text(device, CL_DEVICE_VERSION, p->architecture, sizeof p->architecture);
  read_text(device, CL_DRIVER_VERSION, p->driver_version, sizeof p->driver_version);
  snprintf(p->build_id, sizeof p->build_id, "%s|%s|%s|%s", platform, p->name, p->architecture,
           p->driver_version);
  p->kind = device_kind(device);
  if (has_extension(device, "cl_khr_fp64")) p->features |= GPU_FEATURE_FP64;
  if (has_extension(device, "cl_khr_fp16")) p->features |= GPU_FEATURE_FP16;
  p->memory_bytes = read_number(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
  p->max_allocation = read_number(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong));
  p->local_bytes = read_number(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong));
  p->max_group = (uint32_t)read_number(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
  p->compute_units =
      (uint32_t)read_number(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
  const uint64_t bits = read_number(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(cl_uint));
  p->min_alignment = bits >= 8 ? bits / 8 : 1;
  p->is_opaque = 1;
}

static int32_t open_device(gpu_api *api, uint64_t index, gpu_context **out_context,
                           gpu_properties *properties, ops_error *error) {
  cl_int status;
  gpu_context *context = calloc(1, sizeof *context);
  if (!context) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a context");
  memset(properties, 0, sizeof *properties);
  context->device = api->devices[index];
  opencl_process before;
  opencl_process_save(&before);
  context->context = clCreateContext(NULL, 1, &context->device, NULL, NULL, &status);
  opencl_process_restore(&before);
  if (status != CL_SUCCESS) {
    free(context);
    return opencl_fail(status, "clCreateContext", error);
  }
  read_properties(api, index, properties);
  *out_context = context;
  return OPS_OK;
}

static void close_device(gpu_context *context) {
  if (!context) return;
  clReleaseContext(context->context);
  free(context);
}

// ---- Memory ----

static int32_t allocate(gpu_context *context, uint64_t size, void **out_memory,
                        ops_error *error) {
  cl_int status;
  cl_mem memory = clCreateBuffer(context->context, CL_MEM_READ_WRITE, size, NULL, &status);
  if (status != CL_SUCCESS) return opencl_fail(status, "clCreateBuffer", error);
  *out_memory = memory;
  return OPS_OK;
}

static void release(gpu_context *context, void *memory) {
  (void)context;
  if (memory) clReleaseMemObject(memory);
}

// ---- Queues ----

static int32_t queue_create(gpu_context *context, gpu_queue **out_queue, ops_error *error) {
  cl_int status;
  gpu_queue *queue = calloc(1, sizeof *queue);
  if (!queue) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a queue");
  queue->context = context;
  queue->queue = clCreateCommandQueue(context->context, context->device,
                                      CL_QUEUE_PROFILING_ENABLE, &status);
  if (status != CL_SUCCESS) {
    free(queue);
    return opencl_fail(status, "clCreateCommandQueue", error);
  }
  *out_queue = queue;
  return OPS_OK;
}

static void queue_destroy(gpu_queue *queue) {
  if (!queue) return;
  clReleaseCommandQueue(queue->queue);
  free(queue);
}

static int32_t queue_flush(gpu_queue *queue, ops_error *error) {
  return opencl_check(clFlush(queue->queue), "clFlush", error);
}

static int32_t queue_finish(gpu_queue *queue, ops_error *error) {
  return opencl_check(clFinish(queue->queue), "clFinish", error);
}

static int32_t copy(gpu_queue *queue, const gpu_place *source, const gpu_place *target,
                    uint64_t size, ops_error *error) {
  cl_int status;
  if (!source->is_device)
    status = clEnqueueWriteBuffer(queue->queue, target->memory, CL_FALSE, target->offset, size,
                                  (char *)source->memory + source->offset, 0, NULL, NULL);
  else if (!target->is_device)
    status = clEnqueueReadBuffer(queue->queue, source->memory, CL_FALSE, source->offset, size,
                                 (char *)target->memory + target->offset, 0, NULL, NULL);
  else
    status = clEnqueueCopyBuffer(queue->queue, source->memory, target->memory, source->offset,
                                 target->offset, size, 0, NULL, NULL);
  return opencl_check(status, "copy", error);
}

// ---- Points: markers ----

static int32_t point_record(gpu_queue *queue, gpu_point **out_point, ops_error *error) {
  cl_event event;
  OPS_RETURN_IF_ERROR(opencl_check(clEnqueueMarkerWithWaitList(queue->queue, 0, NULL, &event),
                                   "clEnqueueMarkerWithWaitList", error));
  *out_point = (gpu_point *)event;
  return OPS_OK;
}

static void point_release(gpu_point *point) {
  if (point) clReleaseEvent((cl_event)point);
}

static int32_t point_wait(gpu_queue *queue, gpu_point *point, ops_error *error) {
  const cl_event event = (cl_event)point;
  return opencl_check(clEnqueueBarrierWithWaitList(queue->queue, 1, &event, NULL),
                      "clEnqueueBarrierWithWaitList", error);
}

static int32_t point_query(gpu_point *point, ops_error *error) {
  cl_int state = CL_QUEUED;
  OPS_RETURN_IF_ERROR(
      opencl_check(clGetEventInfo((cl_event)point, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                  sizeof state, &state, NULL),
                   "clGetEventInfo", error));
  if (state < 0) return opencl_fail(state, "work on the device", error);
  return state == CL_COMPLETE ? OPS_OK : OPS_ERROR_NOT_READY;
}

static int32_t point_finish(gpu_point *point, ops_error *error) {
  const cl_event event = (cl_event)point;
  const cl_int status = clWaitForEvents(1, &event);
  if (status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) return point_query(point, error);
  return opencl_check(status, "clWaitForEvents", error);
}

static int32_t point_time(gpu_point *point, cl_ulong *out_ns, ops_error *error) {
  return opencl_check(clGetEventProfilingInfo((cl_event)point, CL_PROFILING_COMMAND_END,
                                              sizeof *out_ns, out_ns, NULL),
                      "clGetEventProfilingInfo", error);
}

static int32_t point_elapsed(gpu_point *first, gpu_point *last, double *out_seconds,
                             ops_error *error) {
  cl_ulong begin, end;
  OPS_RETURN_IF_ERROR(point_time(first, &begin, error));
  OPS_RETURN_IF_ERROR(point_time(last, &end, error));
  *out_seconds = 1e-9 * ((double)end - (double)begin);
  return OPS_OK;
}

// ---- Launching ----

static int32_t set_args(cl_kernel kernel, const gpu_arg *args, uint32_t count,
                        ops_error *error) {
  for (uint32_t i = 0; i < count; ++i) {
    const cl_mem buffer = args[i].buffer;
    const cl_int status =
        args[i].value ? clSetKernelArg(kernel, i, args[i].size, args[i].value)
                      : clSetKernelArg(kernel, i, sizeof buffer, buffer ? &buffer : NULL);
    if (status != CL_SUCCESS) return opencl_fail(status, "clSetKernelArg", error);
  }
  return OPS_OK;
}

static int32_t enqueue_kernel(gpu_queue *queue, cl_kernel kernel, const gpu_grid *grid,
                              ops_error *error) {
  size_t global[3], local[3];
  for (int i = 0; i < 3; ++i) {
    local[i] = grid->items[i];
    global[i] = grid->groups[i] * grid->items[i];
  }
  return opencl_check(
      clEnqueueNDRangeKernel(queue->queue, kernel, 3, NULL, global, local, 0, NULL, NULL),
      "clEnqueueNDRangeKernel", error);
}

// The parameters of a kernel object belong to it until it is enqueued.
static int32_t launch(gpu_queue *queue, gpu_function *function, const gpu_grid *grid,
                      const gpu_arg *args, uint32_t arg_count, ops_error *error) {
  pthread_mutex_lock(&function->lock);
  int32_t status = set_args(function->kernel, args, arg_count, error);
  if (status == OPS_OK) status = enqueue_kernel(queue, function->kernel, grid, error);
  pthread_mutex_unlock(&function->lock);
  if (status != OPS_OK) ops_error_prefix(error, "kernel %s", function->name);
  return status;
}

cl_context opencl_context(const gpu_context *context) {
  return context->context;
}

cl_device_id opencl_device(const gpu_context *context) {
  return context->device;
}

const gpu_driver opencl_driver = {
    .name = "opencl",
    .prefix = "#define GPU_OPENCL 1\n",
    .load = load,
    .unload = unload,
    .device_count = device_count,
    .open = open_device,
    .close = close_device,
    .allocate = allocate,
    .release = release,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_flush = queue_flush,
    .queue_finish = queue_finish,
    .copy = copy,
    .launch = launch,
    .point_record = point_record,
    .point_release = point_release,
    .point_wait = point_wait,
    .point_query = point_query,
    .point_finish = point_finish,
    .point_elapsed = point_elapsed,
    .program_build = opencl_program_build,
    .program_load = opencl_program_load,
    .program_destroy = opencl_program_destroy,
    .function_get = opencl_function_get,
};

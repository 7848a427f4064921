// SPDX-License-Identifier: Apache-2.0
//
// The private types behind gpu_driver for CUDA, shared by context.c, queue.c and program.c.
//
// Every entry makes the device's primary context current for its own duration and restores what
// was current: the process may use CUDA otherwise, too. After a failure that spoils the context
// (an illegal address, say) the driver answers every call on it with that failure: DEVICE_LOST.
#ifndef PROVIDERS_CUDA_DRIVER_H_
#define PROVIDERS_CUDA_DRIVER_H_

#include "../gpu/driver.h"
#include "api.h"
#include "rtc.h"

extern const gpu_driver cuda_driver;

struct gpu_api {
  cuda_api cuda;
  cuda_library library;
  int32_t version;  // of the driver: 13000
  cuda_rtc rtc;
  char *place;  // of its libraries, where one was named; else NULL
};

typedef struct cuda_calls cuda_calls;

struct gpu_context {
  const gpu_api *api;
  CUdevice device;
  CUcontext context;
  int32_t capability;  // 90
  cuda_calls *calls;
};

// ---- context.c ----

// As gpu_driver.load, from a folder or file that is named (NULL: wherever it is found).
int32_t cuda_load_from(const char *place, gpu_api **out_api, ops_error *error);
void cuda_unload(gpu_api *api);
int32_t cuda_device_count(gpu_api *api, uint64_t *out_count, ops_error *error);
int32_t cuda_open(gpu_api *api, uint64_t index, gpu_context **out_context,
                  gpu_properties *out_properties, ops_error *error);
void cuda_close(gpu_context *context);
int32_t cuda_allocate(gpu_context *context, uint64_t size, void **out_memory, ops_error *error);
void cuda_release(gpu_context *context, void *memory);
int32_t cuda_allocate_pinned(gpu_context *context, uint64_t size, void **out_address,
                             ops_error *error);
void cuda_release_pinned(gpu_context *context, void *address);

// Between the two the context is current; leave maps `result`, which may be CUDA_SUCCESS.
int32_t cuda_enter(const gpu_context *context, const char *what, ops_error *error);
int32_t cuda_leave(const gpu_context *context, CUresult result, const char *what,
                   ops_error *error);

static inline CUdeviceptr cuda_address(const void *memory) {
  return (CUdeviceptr)(uintptr_t)memory;
}

// ---- queue.c ----

int32_t cuda_queue_create(gpu_context *context, gpu_queue **out_queue, ops_error *error);
void cuda_queue_destroy(gpu_queue *queue);
CUstream cuda_queue_stream(const gpu_queue *queue);
int32_t cuda_queue_flush(gpu_queue *queue, ops_error *error);
int32_t cuda_queue_finish(gpu_queue *queue, ops_error *error);
int32_t cuda_copy(gpu_queue *queue, const gpu_place *source, const gpu_place *target,
                  uint64_t size, ops_error *error);
int32_t cuda_launch(gpu_queue *queue, gpu_function *function, const gpu_grid *grid,
                    const gpu_arg *args, uint32_t arg_count, ops_error *error);
int32_t cuda_point_record(gpu_queue *queue, gpu_point **out_point, ops_error *error);
void cuda_point_release(gpu_point *point);
int32_t cuda_point_wait(gpu_queue *queue, gpu_point *point, ops_error *error);
int32_t cuda_point_query(gpu_point *point, ops_error *error);
int32_t cuda_point_finish(gpu_point *point, ops_error *error);
int32_t cuda_point_elapsed(gpu_point *first, gpu_point *last, double *out_seconds,
                           ops_error *error);
int32_t cuda_graph_begin(gpu_queue *queue, ops_error *error);
int32_t cuda_graph_end(gpu_queue *queue, gpu_graph **out_graph, ops_error *error);
int32_t cuda_graph_launch(gpu_graph *graph, gpu_queue *queue, ops_error *error);
void cuda_graph_destroy(gpu_graph *graph);

int32_t cuda_allocate_queued(gpu_queue *queue, uint64_t size, void **out_memory,
                             ops_error *error);
int32_t cuda_release_queued(gpu_queue *queue, void *memory, ops_error *error);

// ---- call.c ----

// The libraries of a context: opened when first needed, from `place` as in cuda_library_open.
cuda_calls *cuda_calls_create(const char *place);  // NULL: no memory
void cuda_calls_destroy(cuda_calls *calls);        // accepts NULL; the context is current
int32_t cuda_product_plan(gpu_context *context, const gpu_product *product,
                          uint64_t workspace_limit, gpu_call **out_call,
                          uint64_t *out_workspace, ops_error *error);
int32_t cuda_convolution_plan(gpu_context *context, const gpu_convolution *convolution,
                              uint64_t workspace_limit, gpu_call **out_call,
                              uint64_t *out_workspace, ops_error *error);
void cuda_call_destroy(gpu_call *call);
int32_t cuda_call_run(gpu_queue *queue, const gpu_call *call, const gpu_call_places *places,
                      ops_error *error);

// ---- program.c ----

int32_t cuda_program_build(gpu_context *context, const char *source, void **out_binary,
                           uint64_t *out_size, gpu_program **out_program, ops_error *error);
int32_t cuda_program_load(gpu_context *context, const void *binary, uint64_t size,
                          gpu_program **out_program, ops_error *error);
void cuda_program_destroy(gpu_program *program);
int32_t cuda_function_get(gpu_program *program, const char *name, gpu_function **out_function,
                          ops_error *error);
// What cuLaunchKernel takes.
CUfunction cuda_function_handle(const gpu_function *function);

#endif  // PROVIDERS_CUDA_DRIVER_H_

// SPDX-License-Identifier: Apache-2.0
//
// What a programming interface of devices (OpenCL, CUDA) must offer so that everything else in
// this folder runs on it: one table of functions over opaque objects.
//
// Rules for all of them: they return a status and fill `error` with the driver's own words and
// number; what they create belongs to the caller, who destroys it; destroy functions accept
// NULL. Functions of one queue are called by one thread at a time; all others by any.
#ifndef GPU_DRIVER_H_
#define GPU_DRIVER_H_

#include <ops/device.h>

typedef struct gpu_api gpu_api;            // the interface itself, loaded
typedef struct gpu_context gpu_context;    // one opened device
typedef struct gpu_queue gpu_queue;        // an in-order queue of work
typedef struct gpu_point gpu_point;        // a place in a queue
typedef struct gpu_program gpu_program;    // compiled source
typedef struct gpu_function gpu_function;  // a kernel of a program; lives as long as it
typedef struct gpu_graph gpu_graph;        // work of a queue that was captured
typedef struct gpu_call gpu_call;          // work of a library, planned for one shape

// gpu_properties.features
#define GPU_FEATURE_FP64 ((uint32_t)1 << 0)
#define GPU_FEATURE_FP16 ((uint32_t)1 << 1)

typedef struct gpu_properties {
  char name[128];
  char architecture[64];  // "sm_90"; of OpenCL the device's version
  char driver_version[64];
  char build_id[512];  // equal exactly where compiled programs may be exchanged
  int32_t kind;        // OPS_DEVICE_…
  uint32_t features;   // GPU_FEATURE_…
  uint64_t memory_bytes;
  uint64_t max_allocation;  // bytes of one allocation
  uint64_t min_alignment;   // of an allocation, a power of two
  int32_t is_opaque;        // 1: an allocation has no address, so none can be misaligned
  uint64_t local_bytes;     // of a work-group
  uint32_t max_group;       // work-items of a work-group
  uint32_t compute_units;
  double peak_bytes_per_second;  // 0: unknown
  double peak_flops_float32;
} gpu_properties;

// One parameter of a kernel: a buffer (an allocation as `allocate` returned it, or NULL) or
// `size` bytes by value.
typedef struct gpu_arg {
  const void *value;  // by value; NULL: a buffer
  void *buffer;
  uint32_t size;
} gpu_arg;

// How often a kernel runs: work-groups along each dimension, and work-items of a group.
typedef struct gpu_grid {
  uint64_t groups[3];
  uint32_t items[3];
} gpu_grid;

// One end of a copy: device memory, or an address of host memory.
typedef struct gpu_place {
  void *memory;
  uint64_t offset;
  int32_t is_device;
} gpu_place;

// C = op(A) op(B), `batch` times; all row-major and dense in their rows. op(A) is m x k, op(B)
// k x n, C m x n.
typedef struct gpu_product {
  int32_t type;                      // OPS_TYPE_FLOAT, DOUBLE, FLOAT16 or BFLOAT16, of all
  int32_t transpose_a, transpose_b;  // 1: A is stored as k x m, B as n x k
  int32_t tf32;                      // 1: FLOAT may be multiplied in 19 bits
  int64_t m, n, k, batch;
  int64_t stride_a, stride_b,
      stride_c;  // from one product to the next, in elements; 0: the same
} gpu_product;

enum { kGpuMaxSpatial = 3 };

// Y = X * W, cross-correlation as ONNX has it; NC…, row-major, padding equal at both ends of an
// axis.
typedef struct gpu_convolution {
  int32_t type;     // OPS_TYPE_FLOAT, DOUBLE, FLOAT16 or BFLOAT16, of all
  int32_t spatial;  // axes: 1 … kGpuMaxSpatial
  int32_t tf32;     // 1: FLOAT may be multiplied in 19 bits
  int64_t batch, group, in_channels, out_channels;  // channels of all groups
  int64_t in[kGpuMaxSpatial], out[kGpuMaxSpatial], kernel[kGpuMaxSpatial];
  int64_t pad[kGpuMaxSpatial], stride[kGpuMaxSpatial], dilation[kGpuMaxSpatial];
} gpu_convolution;

// Where work of a library finds its memory: all in device memory.
typedef struct gpu_call_places {
  gpu_place a, b, c;  // of a convolution X, W, Y
  gpu_place workspace;
} gpu_call_places;

typedef struct gpu_driver {
  const char *name;    // "opencl"
  const char *prefix;  // source text in front of kernels/dialect.h

  // Loads the interface. UNSUPPORTED with a cause of the catalogue where a library is missing
  // or a driver too old: which one is needed, which was found.
  int32_t (*load)(gpu_api **out_api, ops_error *error);
  void (*unload)(gpu_api *api);
  int32_t (*device_count)(gpu_api *api, uint64_t *out_count, ops_error *error);

  int32_t (*open)(gpu_api *api, uint64_t index, gpu_context **out_context,
                  gpu_properties *out_properties, ops_error *error);
  void (*close)(gpu_context *context);

  // Device memory; pinned host memory is optional, both or neither.
  int32_t (*allocate)(gpu_context *context, uint64_t size, void **out_memory, ops_error *error);
  void (*release)(gpu_context *context, void *memory);
  int32_t (*allocate_pinned)(gpu_context *context, uint64_t size, void **out_address,
                             ops_error *error);
  void (*release_pinned)(gpu_context *context, void *address);

  int32_t (*queue_create)(gpu_context *context, gpu_queue **out_queue, ops_error *error);
  void (*queue_destroy)(gpu_queue *queue);
  // Hands all enqueued work to the device, without waiting.
  int32_t (*queue_flush)(gpu_queue *queue, ops_error *error);
  int32_t (*queue_finish)(gpu_queue *queue, ops_error *error);

  // Enqueues. Host memory stays valid and unchanged until the copy is done; at least one end is
  // device memory. Overlapping ranges of one allocation are INVALID_ARGUMENT.
  int32_t (*copy)(gpu_queue *queue, const gpu_place *source, const gpu_place *target,
                  uint64_t size, ops_error *error);
  int32_t (*launch)(gpu_queue *queue, gpu_function *function, const gpu_grid *grid,
                    const gpu_arg *args, uint32_t arg_count, ops_error *error);

  // Places in queues. A point is released by whoever holds it, at any time.
  int32_t (*point_record)(gpu_queue *queue, gpu_point **out_point, ops_error *error);
  void (*point_release)(gpu_point *point);
  int32_t (*point_wait)(gpu_queue *queue, gpu_point *point, ops_error *error);
  // OPS_OK: reached; NOT_READY; else how the work before it failed.
  int32_t (*point_query)(gpu_point *point, ops_error *error);
  int32_t (*point_finish)(gpu_point *point, ops_error *error);
  // Seconds on the device between two reached points of one queue. Optional.
  int32_t (*point_elapsed)(gpu_point *first, gpu_point *last, double *out_seconds,
                           ops_error *error);

  // Compiles `source` (terminated). *out_binary is allocated by malloc, for program_load.
  int32_t (*program_build)(gpu_context *context, const char *source, void **out_binary,
                           uint64_t *out_size, gpu_program **out_program, ops_error *error);
  // INCOMPATIBLE if the driver refuses the bytes, which come from a file.
  int32_t (*program_load)(gpu_context *context, const void *binary, uint64_t size,
                          gpu_program **out_program, ops_error *error);
  void (*program_destroy)(gpu_program *program);
  int32_t (*function_get)(gpu_program *program, const char *name, gpu_function **out_function,
                          ops_error *error);

  // Optional, all or none: work enqueued between begin and end is kept, not run.
  int32_t (*graph_begin)(gpu_queue *queue, ops_error *error);
  int32_t (*graph_end)(gpu_queue *queue, gpu_graph **out_graph, ops_error *error);
  int32_t (*graph_launch)(gpu_graph *graph, gpu_queue *queue, ops_error *error);
  void (*graph_destroy)(gpu_graph *graph);

  // Optional, all or none: products and convolutions by a library of the vendor. Planning
  // answers UNSUPPORTED where the library is missing or has nothing that gives the same bits
  // each time within `workspace_limit` bytes: own kernels then do it.
  int32_t (*product_plan)(gpu_context *context, const gpu_product *product,
                          uint64_t workspace_limit, gpu_call **out_call,
                          uint64_t *out_workspace, ops_error *error);
  int32_t (*convolution_plan)(gpu_context *context, const gpu_convolution *convolution,
                              uint64_t workspace_limit, gpu_call **out_call,
                              uint64_t *out_workspace, ops_error *error);
  void (*call_destroy)(gpu_call *call);
  // Enqueues; thread-safe in `call`.
  int32_t (*call_run)(gpu_queue *queue, const gpu_call *call, const gpu_call_places *places,
                      ops_error *error);

  // Optional, both or neither: memory in the order of a queue.
  int32_t (*allocate_queued)(gpu_queue *queue, uint64_t size, void **out_memory,
                             ops_error *error);
  int32_t (*release_queued)(gpu_queue *queue, void *memory, ops_error *error);
} gpu_driver;

#endif  // GPU_DRIVER_H_

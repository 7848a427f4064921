// SPDX-License-Identifier: Apache-2.0
//
// Private parts of the providers for devices with memory and queues of their own. Everything
// here is written once, over the functions of driver.h; README.md says what is in which file
// and how a family of operators is added.
#ifndef GPU_GPU_H_
#define GPU_GPU_H_

#include <ops/ops.h>
#include <pthread.h>
#include <stdatomic.h>

#include "driver.h"

enum {
  kGpuMaxDims = 8,      // dimensions of one tensor that kernels count, after merging
  kGpuMaxArgs = 40,     // parameters of one kernel, two for each tensor
  kGpuValueBytes = 768  // of all parameters by value of one kernel
};

// ---- Instance and device (instance.c) ----

typedef struct gpu_cache gpu_cache;
typedef struct gpu_files gpu_files;

struct ops_instance {
  const ops_host_api *api;
  ops_host *host;
  const gpu_driver *driver;
  gpu_api *loaded;
  const ops_kernel_def *kernels;  // the provider's table
  uint64_t kernel_count;
  gpu_files *files;  // compiled programs on disk; NULL: none
  int32_t fuses;     // 1: groups of nodes are claimed
  atomic_int open_devices;
};

struct ops_device {
  ops_instance *instance;
  const gpu_driver *driver;  // of the instance
  gpu_context *context;
  gpu_properties properties;
  gpu_cache *programs;
  char fingerprint[256];
  ops_str features[4];
  uint64_t feature_count;
  atomic_int objects;      // streams, events and kernels that are alive
  atomic_uint stream_ids;  // how many streams were made
  pthread_mutex_t copy_lock;
  gpu_queue *copy_queue;  // of copies without a stream; made when first needed
  pthread_mutex_t lock;   // of what follows
  struct gpu_block *pinned;
  ops_memory_stats stats[OPS_MEMORY_KIND_COUNT];
};

// Creates an instance over `driver`, whose definitions are `kernels`; for the slot `create` of
// a provider's ops_instance_api.
int32_t gpu_instance_create(const gpu_driver *driver, const ops_kernel_def *kernels,
                            uint64_t kernel_count, const ops_host_api *api, ops_host *host,
                            const ops_key_value *options, uint64_t option_count,
                            ops_instance **out_instance, ops_error *error);
int32_t gpu_instance_destroy(ops_instance *instance, ops_error *error);
int32_t gpu_device_count(ops_instance *instance, uint64_t *out_count, ops_error *error);
int32_t gpu_device_open(ops_instance *instance, uint64_t index, ops_device **out_device,
                        ops_error *error);
int32_t gpu_device_close(ops_device *device, ops_error *error);
int32_t gpu_device_info(ops_device *device, ops_device_info *info, ops_error *error);
// Counts an object that must be destroyed before its device is closed.
void gpu_device_add(ops_device *device, int count);
void gpu_log(const ops_instance *instance, int32_t severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// ---- Memory (memory.c) ----

// An allocation. Its address is the handle that the host holds.
typedef struct gpu_block {
  uint64_t magic;
  ops_device *device;
  void *memory;  // of the driver; of pinned memory the address
  uint64_t size;
  struct gpu_block *next;  // pinned memory only: the device's list
} gpu_block;

// The allocation behind a handle, if `size` bytes at `offset` lie in it; else INVALID_ARGUMENT.
int32_t gpu_block_find(const ops_device *device, void *handle, uint64_t offset, uint64_t size,
                       const gpu_block **out_block, ops_error *error);

extern const ops_memory_api gpu_memory_api;
// With allocation in the order of streams, of a driver that has it.
extern const ops_memory_api gpu_queued_memory_api;

// ---- Streams and events (queue.c) ----

typedef struct gpu_span gpu_span;

struct ops_stream {
  ops_device *device;
  gpu_queue *queue;
  uint32_t id;
  ops_error failure;     // the first one; code OPS_OK: none
  uint64_t work;         // how often something was enqueued
  uint64_t idle_at;      // `work` when the stream was last seen to be idle
  uint64_t marked_at;    // `work` when `mark` was recorded
  gpu_point *mark;       // the end of the work so far, for queries; NULL: none
  ops_capture *capture;  // in progress; NULL: work runs
  gpu_span *spans;       // of a profile, not reported yet, in their order
  gpu_point *origin;     // from which the times of spans count; NULL: none yet
  uint64_t origin_ns;
  void *faults;       // of the driver: the word of fault.c
  uint32_t fault;     // the word as it was last copied
  int32_t may_fault;  // kernels that may set it were enqueued since
  ops_str suspect;    // the last of these
};

extern const ops_stream_api gpu_stream_api;

// OPS_OK, or the failure that the stream keeps.
int32_t gpu_stream_failure(const ops_stream *stream, ops_error *error);
// Keeps `error` as the stream's failure if it has none, and returns its code.
int32_t gpu_stream_fail(ops_stream *stream, const ops_error *error);

// Copies host memory into an allocation, and waits for it.
int32_t gpu_copy_now(ops_device *device, const void *data, const gpu_block *block,
                     uint64_t size, ops_error *error);

// ---- Refused data (fault.c) ----

// Makes the stream's word, 0.
int32_t gpu_faults_open(ops_stream *stream, ops_error *error);
void gpu_faults_close(ops_stream *stream);
// Enqueues a copy of the word, if work so far may have set it. *out_word stays valid until
// then.
int32_t gpu_fault_fetch(const ops_stream *stream, uint32_t *out_word, ops_error *error);
// INVALID_ARGUMENT for a word that is set.
int32_t gpu_fault_status(uint32_t word, ops_str suspect, ops_error *error);

// ---- Captures (capture.c) ----

// Slots of gpu_stream_api.
int32_t gpu_capture_begin(ops_stream *stream, ops_error *error);
int32_t gpu_capture_end(ops_stream *stream, ops_capture **out_capture, ops_error *error);
int32_t gpu_capture_replay(ops_capture *capture, ops_stream *stream, const ops_rebind *rebinds,
                           uint64_t count, uint64_t stride, ops_error *error);
void gpu_capture_destroy(ops_capture *capture);
// Keep a call that was made on a stream that is being captured.
int32_t gpu_capture_execute(ops_stream *stream, ops_prepared *prepared,
                            const ops_execute_request *request, ops_error *error);
int32_t gpu_capture_copy(ops_stream *stream, const ops_copy *copy, ops_error *error);
// PRECONDITION while the stream is being captured.
int32_t gpu_capture_refuse(const ops_stream *stream, ops_error *error);

// ---- Profiles (span.c) ----

// Begins a span of work on the stream; NULL, which the others accept, if no profile is being
// taken or the driver cannot time.
gpu_span *gpu_span_begin(ops_stream *stream, int32_t kind, ops_str name, uint64_t correlation);
void gpu_span_copy(gpu_span *span, int32_t from, int32_t to, uint64_t bytes);
void gpu_span_end(ops_stream *stream, gpu_span *span);
// Hands the host what is over.
void gpu_spans_report(ops_stream *stream);
void gpu_spans_drop(ops_stream *stream);

// ---- Programs (program.c, files.c) ----

// The text of a family's kernels, embedded from kernels/NAME.cl.
typedef struct gpu_source {
  const char *name;
  const char *text;
} gpu_source;

gpu_cache *gpu_cache_create(ops_device *device, ops_error *error);
void gpu_cache_destroy(gpu_cache *cache);
// The kernel `name` of the program prefix + dialect + `defines` + source + `tail`, compiled at
// most once for the device: from memory, from disk, or by the driver. Lives as long as the
// device.
int32_t gpu_function_find(ops_device *device, const char *defines, const gpu_source *source,
                          const char *tail, const char *name, gpu_function **out_function,
                          ops_error *error);

// Programs on disk. Files that are damaged, or that another process is writing, count as
// absent; a folder that cannot be written costs compiling again, and is logged once.
gpu_files *gpu_files_open(const ops_instance *instance, const char *folder);
void gpu_files_close(gpu_files *files);
enum { kGpuKeyBytes = 32 };
// *out_binary is allocated by malloc. 0 if there is none.
int32_t gpu_files_read(gpu_files *files, const uint8_t key[kGpuKeyBytes], void **out_binary,
                       uint64_t *out_size);
void gpu_files_write(gpu_files *files, const uint8_t key[kGpuKeyBytes], const void *binary,
                     uint64_t size);
// The key of a text: BLAKE2b (RFC 7693) of its parts, each with its length in front.
void gpu_key(const char *const *parts, uint64_t count, uint8_t out_key[kGpuKeyBytes]);

// ---- Text (text.c) ----

// A growing text. Running out of memory is kept in `failed`, so that writers need not check.
typedef struct gpu_text {
  char *data;  // terminated; NULL: empty
  uint64_t size, capacity;
  int32_t failed;
} gpu_text;

void gpu_text_add(gpu_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void gpu_text_free(gpu_text *text);

// ---- Plans (plan.c) ----

typedef enum gpu_slot_kind {
  kGpuSlotValue,  // bytes of gpu_step.values
  kGpuSlotInput,
  kGpuSlotOutput,
  kGpuSlotWorkspace,
  kGpuSlotConstant,  // an allocation that the prepared object owns
  kGpuSlotFault      // the stream's word
} gpu_slot_kind;

// A parameter of a kernel, before the arguments of an execute are known.
typedef struct gpu_slot {
  gpu_slot_kind kind;
  uint32_t size;    // of a value
  uint64_t offset;  // of a value in gpu_step.values; of a buffer: bytes added to its own offset
  uint64_t index;   // of the input, output or constant
} gpu_slot;

// One launch of a prepared kernel.
typedef struct gpu_step {
  struct gpu_step *next;
  struct gpu_plan *plan;
  const gpu_source *source;
  const char *function;
  gpu_text defines;  // #define lines in front of the source
  gpu_text tail;     // generated source behind it
  gpu_grid grid;     // a group count of 0: nothing to do
  gpu_function *compiled;
  gpu_call *call;           // NULL: a kernel; else a library's, of the slots A, B, C
  uint64_t call_workspace;  // where its part of the workspace begins
  uint32_t slot_count;
  uint32_t value_bytes;
  gpu_slot slots[kGpuMaxArgs];
  uint8_t values[kGpuValueBytes] __attribute__((aligned(16)));
} gpu_step;

// What one prepare makes: output shapes, workspace, and the launches of an execute. The
// functions below note the first failure in `status`; later calls do nothing, so that a family
// need not check each.
typedef struct gpu_plan {
  ops_device *device;
  const ops_kernel *kernel;
  const ops_prepare_request *request;
  ops_prepare_reply *reply;
  gpu_step *first, *last;
  gpu_block **constants;
  uint64_t constant_count;
  uint64_t workspace_bytes;
  int32_t may_fault;  // a launch has a parameter by gpu_arg_fault
  int32_t status;
  ops_error *error;
} gpu_plan;

int32_t gpu_plan_fail(gpu_plan *plan, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// States output `index`: its shape is known, its layout strided.
void gpu_plan_output(gpu_plan *plan, uint64_t index, int32_t type, int32_t rank,
                     const int64_t *dims);
// Reserves workspace, aligned to 256 bytes; returns where it begins.
uint64_t gpu_plan_workspace(gpu_plan *plan, uint64_t size);
// Makes a constant in device memory and returns its index for gpu_arg_constant.
uint64_t gpu_plan_constant(gpu_plan *plan, const void *data, uint64_t size);

// Adds a launch of kernel `function` of `source`. Its parameters follow, in their order, by
// gpu_arg_…. Never NULL: after a failure it is a step that nothing runs.
gpu_step *gpu_plan_step(gpu_plan *plan, const gpu_source *source, const char *function);
void gpu_define(gpu_step *step, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void gpu_define_type(gpu_step *step, const char *name, int32_t type);  // its ABI name
// A tensor is two parameters, BUFFER(name) of the dialect. An absent input is a null pointer.
void gpu_arg_input(gpu_step *step, uint64_t index);
void gpu_arg_output(gpu_step *step, uint64_t index);
void gpu_arg_absent(gpu_step *step);  // a tensor that is not there: a null pointer
void gpu_arg_workspace(gpu_step *step, uint64_t offset);
void gpu_arg_constant(gpu_step *step, uint64_t index);
// The stream's word, uint32: set it to 1 to refuse data, do nothing where it is set. See
// fault.c.
void gpu_arg_fault(gpu_step *step);
void gpu_arg_bytes(gpu_step *step, const void *value, uint32_t size);
void gpu_arg_int(gpu_step *step, int32_t value);
void gpu_arg_long(gpu_step *step, int64_t value);
void gpu_arg_float(gpu_step *step, float value);
// The type of an input; NULL where it is left out or `input` is negative.
const ops_type_info *gpu_input_type(const gpu_plan *plan, int64_t input);
// At least `items` work-items along x in groups of the device's preferred size; the kernel
// leaves out those at and beyond its count.
void gpu_grid_items(gpu_step *step, int64_t items);
void gpu_grid_groups(gpu_step *step, int64_t groups_x, int64_t groups_y, int64_t groups_z,
                     uint32_t items_x, uint32_t items_y);
// The largest power of two of items that a group should have, at most `most`.
uint32_t gpu_group_items(const ops_device *device, uint32_t most);

// Adds a product or convolution that the driver's library does; its parameters follow by
// gpu_arg_…: A, B, C (X, W, Y). NULL: the library does not do this one, use a kernel.
gpu_step *gpu_plan_product(gpu_plan *plan, const gpu_product *product);
gpu_step *gpu_plan_convolution(gpu_plan *plan, const gpu_convolution *convolution);

void gpu_plan_free(gpu_plan *plan);

// ---- Kernels (kernel.c) ----

// What a family does for one operator: the context of its definitions.
typedef struct gpu_op {
  // Optional: refuses what the definition cannot say. `claim` comes as SUPPORTED.
  void (*claim)(const ops_device *device, const ops_kernel_def *def, const ops_node *node,
                ops_claim *claim);
  // Optional: copies what `plan` needs of the node into `attributes`, which has
  // `attribute_bytes` zeroed bytes.
  uint64_t attribute_bytes;
  int32_t (*parse)(const ops_kernel_def *def, const ops_node *node, void *attributes,
                   ops_error *error);
  void (*release)(void *attributes);  // optional: what parse allocated
  // Required: output shapes, workspace and launches for these input shapes.
  void (*plan)(const ops_kernel *kernel, gpu_plan *plan);
} gpu_op;

struct ops_kernel {
  ops_device *device;
  const ops_kernel_def *def;  // NULL: a compiled group
  const gpu_op *op;
  ops_str name;
  int32_t opset;
  uint64_t input_count, output_count;
  uint64_t wanted_outputs;  // bit i: output i is present
  void *attributes;
};

extern const ops_kernel_api gpu_kernel_api;

// Makes a kernel from what create or compile know; *out_kernel counts as an object of the
// device. Its attributes are zeroed.
int32_t gpu_kernel_make(ops_device *device, const gpu_op *op, ops_str name,
                        uint64_t attribute_bytes, ops_kernel **out_kernel, ops_error *error);

// Refusals by what every family has in common: ranks above kGpuMaxDims, doubles on a device
// without them, layouts.
void gpu_claim_common(const ops_device *device, const ops_node *node, ops_claim *claim);
int32_t gpu_is_claimed(const ops_claim *claim);

// ---- Groups (group.c) ----

extern const ops_group_api gpu_group_api;

#define GPU_FEATURES (OPS_FEATURE_STREAMS | OPS_FEATURE_GROUPS | OPS_FEATURE_CAPTURE)

#endif  // GPU_GPU_H_

// SPDX-License-Identifier: Apache-2.0
//
// A small provider that is correct, and wrong on demand: the instance option `fault=NAME`
// spoils it in one way, `control=NAME` makes it work in another right way. It exists to show
// that the harness sees each fault and is not misled by any control. All of them are rows of
// faults.def.
//
// Each source file has its section below. A kernel is a row (faulty_op): attributes are read at
// create for all operators alike, prepare states shapes, run computes from views.
#ifndef OC_FAULTS_FAULTY_H_
#define OC_FAULTS_FAULTY_H_

#include <ops/ops.h>
#include <pthread.h>

#include "fault_list.h"

// ---- Faults and controls (mode.c) -----------------------------------------------------------

#define FAULT_ITEM(name, ops, checks, statuses, what, source) FAULT_##name,
#define CONTROL_ITEM(name, ops, what) CONTROL_##name,
typedef enum fault { FAULT_none, FAULT_LIST(FAULT_ITEM) FAULT_COUNT } fault;
typedef enum control { CONTROL_none, CONTROL_LIST(CONTROL_ITEM) CONTROL_COUNT } control;

// What an instance was asked to do wrong, or otherwise.
typedef struct faulty_mode {
  fault fault;
  control control;
  int64_t *activations;  // shared with who started the run: counts how often the mode was felt
} faulty_mode;

// True where the mode asks for this fault or control; counts it. Ask only where it matters.
int faulty_is(const faulty_mode *mode, fault fault);
int faulty_does(const faulty_mode *mode, control control);
#define FAULTY(object, name) faulty_is((object)->mode, FAULT_##name)
#define CONTROLLED(object, name) faulty_does((object)->mode, CONTROL_##name)

int32_t faulty_mode_create(const ops_key_value *options, uint64_t count, faulty_mode **out_mode,
                           ops_error *error);
void faulty_mode_destroy(faulty_mode *mode);  // accepts NULL
// The fault or control of the library before there is an instance: the environment variable
// OPS_FAULTY_LIBRARY names it.
const faulty_mode *faulty_library_mode(void);

// ---- Instance and device (device.c) ---------------------------------------------------------

struct ops_instance {
  const ops_host_api *api;
  ops_host *host;
  faulty_mode *mode;
  int32_t open_devices;  // atomic
  int32_t
      others_gone;  // instances that were gone when it was made: fault instances_share_state
};

// What lives on a device.
typedef enum faulty_children {
  FAULTY_STREAMS,
  FAULTY_EVENTS,
  FAULTY_ALLOCATIONS,
  FAULTY_KERNELS,
  FAULTY_CAPTURES,
  FAULTY_CHILDREN
} faulty_children;

struct ops_device {
  ops_instance *instance;
  const faulty_mode *mode;
  int32_t live[FAULTY_CHILDREN];  // atomic
  pthread_mutex_t lock;
  struct faulty_block *cache;  // control caching_allocator: blocks that were given back
};

extern const ops_instance_api faulty_instance;
void faulty_device_add(ops_device *device, faulty_children kind, int32_t count);

// ---- Memory of the device (memory.c) --------------------------------------------------------

// A handle is no address: only the device can use it.
void *faulty_address(int32_t memory_kind, void *handle);
extern const ops_memory_api faulty_memory;

// ---- Kernels (kernel.c) ---------------------------------------------------------------------

enum {
  kFaultyRank = 8,      // of the tensors that are claimed
  kFaultyInputs = 12,   // of a node
  kFaultyList = 16,     // values of a list attribute
  kFaultyPadding = 64,  // bytes, control declared_read_padding
  kFaultyLayout = 1,    // private: the right matrix of MatMul, transposed
};

typedef struct faulty_list {
  int64_t count;  // -1: absent
  int64_t values[kFaultyList];
} faulty_list;

// Attributes of all operators, by their names.
typedef struct faulty_attributes {
  int64_t axis, keepdims, noop_with_empty_axes, select_last_index, group, ceil_mode,
      count_include_pad, to, output_dtype;
  double epsilon;
  faulty_list perm, pads, strides, dilations, kernel_shape, axes;
  char mode[24], auto_pad[24], nearest_mode[24], coordinates[24];
} faulty_attributes;

// A tensor that a kernel reads or writes. Strides are in elements.
typedef struct faulty_view {
  char *data;  // of element (0, 0, …); NULL: absent, or without elements
  int32_t type, rank;
  int64_t count;
  int64_t dims[kFaultyRank], strides[kFaultyRank];
} faulty_view;

typedef struct faulty_call {
  const ops_prepared *prepared;
  int32_t input_count;
  faulty_view in[kFaultyInputs], out;
  char *workspace;
} faulty_call;

typedef struct faulty_op {
  // Optional: refuses what the definition cannot express.
  int32_t (*claim)(const ops_node *node, ops_claim *claim);
  // States the output and fills the operator's part of `prepared`.
  int32_t (*prepare)(ops_prepared *prepared, const ops_prepare_request *request,
                     ops_prepare_reply *reply, ops_error *error);
  // Computes; on the stream's worker if the definition says ASYNC.
  int32_t (*run)(const faulty_call *call, ops_error *error);
} faulty_op;

struct ops_kernel {
  ops_device *device;
  const faulty_mode *mode;
  const ops_kernel_def *def;
  const faulty_op *op;
  faulty_attributes attributes;
  struct faulty_fused *fused;  // a compiled group (fused.c); owned
  ops_prepared *last;          // faults last_…_only: prepared last, of those that live
  void *kept;  // memory of the host: fault leak_of_host_memory, control host_allocations
};

// Where a window of a convolution or pooling operator lies.
typedef struct faulty_window {
  int64_t kernel[2], stride[2], dilation[2], pad[4], in[2], out[2];  // pad: begins, then ends
} faulty_window;

struct ops_prepared {
  ops_kernel *kernel;
  const faulty_mode *mode;
  const faulty_attributes *attributes;
  int32_t alias;           // this call's output lies in the memory of that input; -1: of none
  int32_t constant_right;  // MatMul: the right matrix is a constant
  int32_t packed;          // MatMul: the right matrix is in kFaultyLayout
  faulty_view out;         // without data
  union {
    struct {
      int64_t outer, n, inner;  // an axis and what is around it
    } axis;
    struct {
      int64_t rows, depth, columns, batch_rank;
      int64_t batch[kFaultyRank], left[kFaultyRank], right[kFaultyRank];  // strides in matrices
    } matmul;
    faulty_window window;
    struct {
      int64_t kept[kFaultyRank];  // stride of the output for each dimension of the input, or 0
      int64_t n;                  // elements that make one of the output
    } reduce;
    struct {
      int64_t before[kFaultyRank];  // elements added in front
    } pad;
    struct {
      double scale[kFaultyRank];
    } resize;
  };
  pthread_t late_reader;  // fault read_after_run
  int32_t late_running;
  const volatile float *late_input;
  int32_t has_kept;  // fault previous_result_kept
  float kept;
};

extern const ops_kernel_api faulty_kernel;

// Statuses of a refused node, with a message that begins with the operator's name.
#define FAULTY_REFUSE(prepared, error, ...) \
  ops_error_set(error, faulty_refusal(prepared), __VA_ARGS__)
int32_t faulty_refusal(const ops_prepared *prepared);

// A type as a view without data. INVALID_ARGUMENT if the rank is too large.
int32_t faulty_view_of(const ops_type_info *type, faulty_view *out_view, ops_error *error);
// Fills prepared->out and the reply.
void faulty_state_output(ops_prepared *prepared, ops_prepare_reply *reply, int32_t type,
                         int32_t rank, const int64_t *dims);
// The next index of a shape in row-major order; 0 behind the last one.
int faulty_next(int32_t rank, const int64_t *dims, int64_t *index);
// Element `index` of a view, or where element `position` in row-major order lies.
int64_t faulty_offset(int32_t rank, const int64_t *index, const int64_t *strides);
int64_t faulty_bytes(int32_t type);
// An axis in [0, rank), -1 if it is out of range.
int64_t faulty_axis(int64_t axis, int64_t rank);

// ---- Streams, events, captures (queue.h) ----------------------------------------------------

int32_t faulty_enqueue(ops_stream *stream, const faulty_call *call,
                       const ops_execute_request *request, ops_error *error);
extern const ops_stream_api faulty_stream;

// ---- What is wrong with no particular operator (system.c) -----------------------------------

void faulty_spoil_process(const faulty_call *call);
void faulty_spoil_reply(const ops_prepared *prepared, ops_prepare_reply *reply);
void faulty_read_late(const faulty_call *call);

// ---- Operators ------------------------------------------------------------------------------

extern const faulty_op faulty_relu, faulty_neg, faulty_erf, faulty_cast, faulty_quantize;
extern const faulty_op faulty_add, faulty_max;                               // binary.c
extern const faulty_op faulty_matmul, faulty_matmul_integer;                 // matmul.c
extern const faulty_op faulty_conv, faulty_max_pool, faulty_average_pool;    // window.c
extern const faulty_op faulty_reduce_sum, faulty_reduce_max, faulty_argmax;  // reduce.c
extern const faulty_op faulty_softmax, faulty_layer_norm, faulty_batch_norm;
extern const faulty_op faulty_transpose, faulty_gather, faulty_concat, faulty_pad,
    faulty_resize;  // move.c

// ---- Groups and rewrite rules (group.c) -----------------------------------------------------

// Groups of elementwise nodes (fused.c).
int faulty_can_fuse(const ops_node *node);
int32_t faulty_fused_compile(ops_device *device, const ops_graph *group,
                             ops_kernel **out_kernel, const ops_kernel_api **out_api,
                             ops_error *error);
int32_t faulty_fused_load(ops_device *device, const ops_graph *group, const void *blob,
                          uint64_t size, ops_kernel **out_kernel,
                          const ops_kernel_api **out_api, ops_error *error);
int32_t faulty_no_single_node(ops_device *device, const ops_kernel_def *def,
                              const ops_node *node, ops_kernel **out_kernel, ops_error *error);

extern const ops_group_api faulty_group;
extern const ops_rewrite faulty_rewrites[1];

#endif  // OC_FAULTS_FAULTY_H_

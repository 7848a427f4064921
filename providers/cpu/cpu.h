// SPDX-License-Identifier: Apache-2.0
//
// What the operators of this provider share: the objects behind the ABI's opaque handles, the
// descriptor of an operator, and helpers for shapes, arguments and refusals.
//
// An operator is one static const cpu_op. The functions that the ABI wants (kernel.c) are the
// same for all of them: they allocate the operator's own structs, whose first member is
// ops_kernel or ops_prepared, and call the descriptor. Execute gets pointers, shapes and the
// prepared object; it allocates nothing and writes nothing but outputs and workspace.
#ifndef CPU_CPU_H_
#define CPU_CPU_H_

#include <ops/ops.h>
#include <ops_support/error.h>
#include <ops_support/host_instance.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdatomic.h>

typedef struct cpu_vec cpu_vec;          // vec.h
typedef struct cpu_dnnl cpu_dnnl;        // dnnl_glue.h
typedef struct cpu_layouts cpu_layouts;  // channels_last.h

// What one core copies in a second, read and written: what the device states, by which the host
// weighs changes of layout, and by which this provider weighs its own. Not measured, since that
// would cost every session more time than the choice saves.
#define CPU_BYTES_PER_SECOND 1e10

struct ops_device {
  ops_instance *instance;
  const ops_host_api *api;
  ops_host *host;
  const cpu_vec *vec;  // loops for the best instruction set of this machine
  // Sums of products of bytes, cpu_dots_tile of vec.h.
  void (*dots)(const uint8_t *const *a, int32_t rows, int64_t taps, int64_t steps,
               const int8_t *b, uint8_t flip, const int32_t *start, int32_t *sums);
  cpu_dnnl *dnnl;
  int32_t channels_last;  // 1: the device offers that layout
  atomic_int kernels;     // alive
  atomic_int blocks;      // of memory that the host has allocated and not freed
  char fingerprint[160];
};

typedef struct cpu_shape {
  int32_t rank;
  int64_t dims[OPS_MAX_RANK];
} cpu_shape;

// An operator, or a family that looks up its member by ops_kernel.def->op.
typedef struct cpu_op {
  uint64_t kernel_size;    // of the struct that begins with ops_kernel
  uint64_t prepared_size;  // of the struct that begins with ops_prepared
  // Optional: how much of its head a prepared object needs once it is made. Nothing may point
  // into it.
  uint64_t (*prepared_bytes)(const ops_prepared *prepared);
  // Optional. Refuses by cpu_refuse; leaves the claim alone to accept.
  void (*claim)(const ops_kernel_def *def, const ops_node *node, ops_claim *claim);
  // Optional. Copies attributes; the struct arrives zeroed. destroy is called also if it fails.
  int32_t (*create)(ops_kernel *kernel, const ops_node *node, ops_error *error);
  void (*destroy)(ops_kernel *kernel);
  // Required. States outputs and workspace; prepared arrives zeroed, its destroy is called also
  // if prepare fails.
  int32_t (*prepare)(ops_kernel *kernel, const ops_prepare_request *request,
                     ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error);
  void (*prepared_destroy)(ops_prepared *prepared);  // optional
  // Optional. Lists the combinations of layouts that it can run for these shapes; without it,
  // or with none listed, all arguments are plain.
  void (*layouts)(const ops_kernel *kernel, const ops_prepare_request *request,
                  cpu_layouts *layouts);
  int32_t sees_view;  // 1: prepare gets shapes with channels last as they lie in memory
  int32_t (*execute)(const ops_prepared *prepared, const ops_execute_request *request,
                     ops_error *error);  // required
} cpu_op;

struct ops_kernel {
  const cpu_op *op;
  const ops_kernel_def *def;
  ops_device *device;
  int32_t opset;
  int32_t input_count;
  int32_t own_count;  // of them, without the operands of post-operations, which follow
  int32_t output_count;
};

struct ops_prepared {
  const ops_kernel *kernel;
};

extern const ops_kernel_api cpu_kernel_api;
extern const ops_instance_api cpu_instance_api;
extern const ops_provider cpu_provider;

// The slots of cpu_kernel_api, for a kernel that is made of another.
int32_t cpu_kernel_create(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                          ops_kernel **out_kernel, ops_error *error);
void cpu_kernel_destroy(ops_kernel *kernel);  // accepts NULL
int32_t cpu_kernel_prepare(ops_kernel *kernel, const ops_prepare_request *request,
                           ops_prepare_reply *reply, ops_error *error);
void cpu_prepared_destroy(ops_prepared *prepared);  // accepts NULL

// ---- Claims and errors ----------------------------------------------------------------------

void cpu_refuse(ops_claim *claim, int32_t reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// INVALID_ARGUMENT with the operator's name in front.
int32_t cpu_invalid(const ops_kernel *kernel, ops_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Rank of a node's input as far as it is known: -1 if not, or if it is absent.
int32_t cpu_node_rank(const ops_node *node, uint64_t index);

// ---- Shapes ---------------------------------------------------------------------------------

// Shape and type of a request's input; the input must be there.
void cpu_input_shape(const ops_prepare_request *request, uint64_t index, cpu_shape *out_shape);
int32_t cpu_input_type(const ops_prepare_request *request, uint64_t index);
// Product of dims[begin, end).
int64_t cpu_product(const int64_t *dims, int32_t begin, int32_t end);
int64_t cpu_count(const cpu_shape *shape);
// Resolves a negative axis. INVALID_ARGUMENT outside [-rank, rank - 1].
int32_t cpu_axis(const ops_kernel *kernel, int64_t axis, int32_t rank, int32_t *out_axis,
                 ops_error *error);
// States output `index`; INVALID_ARGUMENT if its size does not fit into 63 bits.
int32_t cpu_set_output(const ops_kernel *kernel, ops_prepare_reply *reply, uint64_t index,
                       int32_t type, const cpu_shape *shape, ops_error *error);
static inline ops_output_info *cpu_reply_output(const ops_prepare_reply *reply,
                                                uint64_t index) {
  return (ops_output_info *)((char *)reply->outputs + index * reply->output_stride);
}
// The contents of shape input `input`, at most OPS_MAX_RANK of them; *out_count is -1 if it is
// absent. INVALID_ARGUMENT if they are not known or too many.
int32_t cpu_ints(const ops_kernel *kernel, const ops_prepare_request *request, int32_t input,
                 int64_t *out_values, int32_t *out_count, ops_error *error);

// ---- Arguments ------------------------------------------------------------------------------

static inline const ops_tensor *cpu_in(const ops_execute_request *request, uint64_t index) {
  return index < request->input_count && request->inputs[index].kind == OPS_ARG_TENSOR
             ? &request->inputs[index].tensor
             : NULL;
}

static inline const ops_tensor *cpu_out(const ops_execute_request *request, uint64_t index) {
  return index < request->output_count && request->outputs[index].kind == OPS_ARG_TENSOR
             ? &request->outputs[index].tensor
             : NULL;
}

// Address of the first element; NULL if the argument is absent.
static inline void *cpu_in_data(const ops_execute_request *request, uint64_t index) {
  const ops_tensor *tensor = cpu_in(request, index);
  return tensor ? ops_tensor_data(tensor) : NULL;
}

static inline void *cpu_out_data(const ops_execute_request *request, uint64_t index) {
  const ops_tensor *tensor = cpu_out(request, index);
  return tensor ? ops_tensor_data(tensor) : NULL;
}

static inline void *cpu_workspace(const ops_execute_request *request) {
  return request->workspace ? (char *)request->workspace + request->workspace_offset : NULL;
}

// Bytes of one element; all types of this provider have whole bytes.
static inline int64_t cpu_type_size(int32_t type) {
  return ops_type_bits(type) / 8;
}

// ---- Host services --------------------------------------------------------------------------

// Zeroed memory of the host; NULL on exhaustion or size 0.
void *cpu_alloc(const ops_device *device, uint64_t size);
void cpu_free(const ops_device *device, void *memory);
// The contents of a dense constant at an address that suits its elements, which those that a
// node carries need not have: its own, or a copy, *out_copy, for cpu_free. What packs weights
// reads them through this.
int32_t cpu_contents(const ops_device *device, const ops_constant *constant,
                     const void **out_data, void **out_copy, ops_error *error);

// How many of the host's workers may run at once, at least 1: what they share is cut for so
// many.
static inline int64_t cpu_workers(const ops_device *device) {
  const int32_t count = device->api->worker_count(device->host);
  return count < 1 ? 1 : count;
}

// a / b for a >= 0, b > 0, rounded up.
static inline int64_t cpu_divide_up(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

static inline void cpu_parallel(const ops_device *device, int64_t count, int64_t grain,
                                ops_parallel_body body, void *context) {
  if (count > 0) device->api->parallel_for(device->host, count, grain, body, context);
}

// Items of `cost` elementary steps each that make a piece worth a thread of its own.
int64_t cpu_grain(int64_t cost);

#endif  // CPU_CPU_H_

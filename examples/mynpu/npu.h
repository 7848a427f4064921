// SPDX-License-Identifier: Apache-2.0
//
// Private parts of mynpu, a simulated neural processor with its own memory and in-order queues.
//
// Each source file has its section below; README.md says what is in which.
//
// Two kinds of addresses never mix: a *handle* lies in a mapping without access rights, is what
// the host holds and faults when touched; a *device address* is the same byte in the device's
// own mapping, which only the workers of queue.c and the copy engine use.
#ifndef MYNPU_NPU_H_
#define MYNPU_NPU_H_

#include <ops/ops.h>
#include <pthread.h>

enum {
  kMaxArgs = 4,        // inputs, output and workspace of the largest kernel
  kQueueDepth = 256,   // commands that a stream holds before enqueuing blocks
  kMaxStreams = 2,     // hardware queues of a device
  kMinAlignment = 64,  // of device memory, in bytes
  kBlock = 8,          // output channels that the matrix unit computes at once
  kWeightsLayout = 1,  // private: convolution weights in blocks of kBlock output channels
};

// ---- Instance and device ----

struct ops_instance {
  const ops_host_api *api;
  ops_host *host;
  uint64_t memory_bytes;  // of each device
  uint64_t delay_ns;      // added to every command, to make asynchrony visible
  char fail_op[64];       // kernels of this operator fail on the device; "" for none
  uint64_t fail_from;     // after so many of them have succeeded
  uint64_t fail_seen;     // atomic: how many have run
  char ops[64];           // operators that are claimed, "Add,Mul"; "" for all
  int32_t open_devices;   // atomic
};

typedef struct npu_heap npu_heap;

struct ops_device {
  ops_instance *instance;
  npu_heap *heap;
  int32_t live_objects;    // atomic: streams, events and kernels
  uint32_t stream_in_use;  // atomic set: bit i for queue i
};

extern const ops_instance_api npu_instance_api;

// Counts an object that must be destroyed before its device is closed.
void npu_device_add(ops_device *device, int32_t count);

// ---- Memory (memory.c) ----

npu_heap *npu_heap_create(uint64_t size, ops_error *error);
void npu_heap_destroy(npu_heap *heap);  // accepts NULL
// How many allocations are alive.
uint64_t npu_heap_live(npu_heap *heap);

// The device address of `size` bytes at handle + offset. INVALID_ARGUMENT if they do not lie in
// one allocation.
int32_t npu_address(ops_device *device, void *handle, uint64_t offset, uint64_t size,
                    void **out_address, ops_error *error);

extern const ops_memory_api npu_memory_api;

// ---- Queue (queue.c) ----

// An argument on the device, and where the host said that it is: a replayed capture finds it
// anew where its handle has been rebound.
typedef struct npu_arg {
  void *address;  // NULL: none
  void *handle;
  uint64_t offset;
  uint64_t size;
} npu_arg;

// Enqueues a prepared kernel.
int32_t npu_stream_launch(ops_stream *stream, const ops_prepared *prepared,
                          const npu_arg args[kMaxArgs], uint64_t correlation, ops_error *error);

ops_device *npu_stream_device(const ops_stream *stream);

extern const ops_stream_api npu_stream_api;

// ---- Kernels (kernel.c) ----

// Broadcasting is reduced to loops over an outer shape, and runs along the innermost dimension.
typedef struct npu_elementwise {
  float (*function)(float a, float b);
  int32_t rank;
  int64_t dims[OPS_MAX_RANK];
  int64_t strides[2][OPS_MAX_RANK];  // of both inputs, 0 where stretched
} npu_elementwise;

typedef struct npu_matmul {
  int64_t m, n, k;
  int32_t batch_rank;
  int64_t batch_dims[OPS_MAX_RANK];
  int64_t batch_strides[2][OPS_MAX_RANK];  // in elements
} npu_matmul;

typedef struct npu_conv {
  int64_t batch, group;
  int64_t in_channels, out_channels;  // of one group
  int64_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
  int32_t packed;  // weights are in kWeightsLayout
  int32_t has_bias;
} npu_conv;

typedef struct npu_depth {
  int64_t batch, channels;  // of the output
  int64_t in[2];            // height and width of the input
  int64_t block;
  int32_t is_crd;  // mode CRD, else DCR
} npu_depth;

typedef struct npu_op npu_op;

struct ops_kernel {
  ops_device *device;
  const npu_op *op;
  ops_str name;
  struct {
    int64_t group, stride[2], dilation[2], pads[4];
    int64_t kernel_shape[2];  // 0: not stated
    int32_t auto_pad;
  } conv;
  struct {
    int64_t block;
    int32_t is_crd;
  } depth;
};

struct ops_prepared {
  const npu_op *op;
  ops_str name;
  uint64_t input_count;
  uint64_t arg_bytes[kMaxArgs];  // inputs, then the output; 0 for an absent input
  union {
    npu_elementwise elementwise;
    npu_matmul matmul;
    npu_conv conv;
    npu_depth depth;
  };
};

// An operator: the context of its kernel definition. Optional slots are NULL.
struct npu_op {
  const char *name;
  float (*function)(float a, float b);  // elementwise operators only
  // Optional: refuses what the definition cannot express.
  int32_t (*claim)(const ops_node *node, ops_claim *claim);
  // Optional: copies attributes.
  int32_t (*parse)(const ops_node *node, ops_kernel *kernel, ops_error *error);
  // Optional: layouts the kernel can run, see ops_kernel_api.
  int32_t (*layouts)(const ops_kernel *kernel, const ops_prepare_request *request,
                     ops_layout_choice *choices, uint64_t capacity, uint64_t stride,
                     uint64_t *out_count);
  // Fills the union of `prepared` and the shape of the output.
  int32_t (*prepare)(const ops_kernel *kernel, const ops_prepare_request *request,
                     ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error);
  // Runs on the device, on device addresses: inputs, then the output.
  void (*run)(const ops_prepared *prepared, ops_instance *instance, void *const args[kMaxArgs]);
};

extern const npu_op npu_op_relu, npu_op_add, npu_op_sub, npu_op_mul, npu_op_matmul, npu_op_conv,
    npu_op_depth_to_space;
extern const ops_kernel_api npu_kernel_api;

// ---- Rewrite rules (rewrite.c) ----

extern const ops_rewrite npu_rewrites[1];

// ---- Layout (layout.c) ----

// Bytes of weights [m, c, kh, kw] in kWeightsLayout; 0 on overflow.
uint64_t npu_weights_size(int32_t rank, const int64_t *dims);
int32_t npu_layout_size(ops_device *device, uint32_t layout, int32_t type, int32_t rank,
                        const int64_t *dims, uint64_t *out_bytes, ops_error *error);
int32_t npu_reorder(ops_device *device, ops_stream *stream, const ops_arg *source,
                    const ops_arg *target, ops_error *error);

#endif  // MYNPU_NPU_H_

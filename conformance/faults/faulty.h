// SPDX-License-Identifier: Apache-2.0
//
// A small provider that is correct, and wrong on demand: the instance option `fault=NAME`
// spoils it in one way. It exists to show that the harness sees each of them.
#ifndef OC_FAULTS_FAULTY_H_
#define OC_FAULTS_FAULTY_H_

#include <ops/ops.h>
#include <ops_support/host_device.h>
#include <pthread.h>

// X(constant, name, what is wrong)
#define FAULT_LIST(X)                                                                        \
  X(FAULT_NONE, "none", "nothing")                                                           \
  X(FAULT_RELU_DROP_LAST, "relu_drop_last", "Relu leaves the last element out")              \
  X(FAULT_MATMUL_FLOAT16, "matmul_float16_accumulation", "MatMul adds up in float16")        \
  X(FAULT_SOFTMAX_AXIS, "softmax_wrong_axis", "Softmax normalises the neighbouring axis")    \
  X(FAULT_WRITE_PAST, "write_past_output", "Relu writes one element past its output")        \
  X(FAULT_READ_AFTER, "read_after_run", "Relu reads its input after it said it was done")    \
  X(FAULT_SEGFAULT, "segfault", "Relu of a matrix reads address 16")                         \
  X(FAULT_HANG, "hang", "Relu of seven elements never ends")                                 \
  X(FAULT_EXIT, "calls_exit", "Relu of a matrix calls exit(0)")                              \
  X(FAULT_UNSUPPORTED, "claim_then_unsupported", "Relu of rank 3 is claimed, then refused")  \
  X(FAULT_ROUNDING, "changes_rounding", "Relu of a matrix leaves the thread rounding up")    \
  X(FAULT_DIES_AT_OPEN, "dies_at_open", "create ends the process")                           \
  X(FAULT_ROUNDS_AT_OPEN, "rounds_at_open", "create leaves the thread rounding up")          \
  X(FAULT_FORK, "fork_returns", "Relu of a matrix forks, and both processes return")         \
  X(FAULT_LEAVES_CHILD, "leaves_child", "Relu of a matrix forks a process and then dies")    \
  X(FAULT_STATIC_SCRATCH, "static_scratch", "Relu computes in a buffer that all runs share") \
  X(FAULT_WORKSPACE_KIND, "workspace_kind", "prepare asks for a kind of memory it lacks")    \
  X(FAULT_WORKSPACE_ALIGNMENT, "workspace_alignment", "prepare asks for an alignment of 3")  \
  X(FAULT_WORKSPACE_HUGE, "workspace_huge", "prepare asks for 2^64-1 bytes of workspace")

#define FAULT_ITEM(constant, name, what) constant,
typedef enum fault { FAULT_LIST(FAULT_ITEM) FAULT_COUNT } fault;

// The instance is that of host_device.h; its options point to its fault.
struct ops_kernel {
  ops_device *device;
  fault fault;
  int64_t axis;  // Softmax
};

struct ops_prepared {
  fault fault;
  int32_t rank;
  int64_t count;                 // of the output
  int64_t outer, n, inner;       // Softmax: the axis and what is around it
  int64_t rows, depth, columns;  // MatMul
  int32_t batch_rank;
  int64_t batch_dims[OPS_MAX_RANK];
  int64_t left_strides[OPS_MAX_RANK];  // of the batch dimensions, in matrices
  int64_t right_strides[OPS_MAX_RANK];
  pthread_t late_reader;  // FAULT_READ_AFTER
  int32_t late_running;
  const volatile float *late_input;
};

extern const ops_instance_api faulty_instance;

int32_t faulty_create(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                      ops_kernel **out_kernel, ops_error *error);
void faulty_destroy(ops_kernel *kernel);
// A zeroed prepared object in reply->prepared.
int32_t faulty_begin_prepare(ops_kernel *kernel, ops_prepare_reply *reply, ops_error *error);
void faulty_prepared_destroy(ops_prepared *prepared);

extern const ops_kernel_api faulty_relu, faulty_softmax, faulty_matmul;

#endif  // OC_FAULTS_FAULTY_H_

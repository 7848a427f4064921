// SPDX-License-Identifier: Apache-2.0
//
// One set of argument memory for a prepared kernel, and runs on it.
//
//   init      memory for inputs, outputs, workspace, in one placement
//   load      write inputs, poison outputs and workspace, make inputs read-only
//   execute   enqueue and wait for the completion
//   revoke    take the inputs away: no access, or other contents
//   read      outputs
#ifndef OC_RUNNER_LAUNCH_H_
#define OC_RUNNER_LAUNCH_H_

#include "runner/block.h"
#include "runner/kernel.h"

typedef struct oc_launch {
  oc_kernel *kernel;
  oc_place place;
  oc_block inputs[OC_CASE_MAX_TENSORS];
  int64_t input_strides[OC_CASE_MAX_TENSORS][OPS_MAX_RANK];
  oc_block outputs[OC_NODE_MAX_OUTPUTS];
  int64_t output_dims_host[OC_NODE_MAX_OUTPUTS][OPS_MAX_RANK];
  int64_t output_strides[OC_NODE_MAX_OUTPUTS][OPS_MAX_RANK];
  oc_block dims[OC_NODE_MAX_OUTPUTS];  // BOUNDED: where the real shape arrives
  oc_block workspace;
  ops_arg input_args[OC_CASE_MAX_TENSORS];
  ops_arg arguments[OC_CASE_MAX_TENSORS];  // those that are the kernel's own, packed
  ops_arg output_args[OC_NODE_MAX_OUTPUTS];
  ops_arg dims_args[OC_NODE_MAX_OUTPUTS];
  unsigned poison;      // pattern of the last load
  bool enqueued;        // the last execute accepted the work
  uint64_t allocated;   // blocks taken from the host during the last execute
  int32_t alias_input;  // -1, or: output `alias_output` lies in this input's memory
  int32_t alias_output;
} oc_launch;

// `launch` is zeroed or finished: it is large, and only what the kernel needs of it is touched.
// `alias` is NULL or the one pair that prepare was told of. Must not move until finish.
int32_t oc_launch_init(oc_launch *launch, oc_kernel *kernel, oc_place place,
                       const ops_alias *alias, ops_error *error);
void oc_launch_finish(oc_launch *launch);

int32_t oc_launch_load(oc_launch *launch, const oc_inputs *inputs, unsigned poison,
                       ops_error *error);

// Enqueues on a stream of the target, or NULL, and does not wait.
int32_t oc_launch_enqueue(oc_launch *launch, ops_stream *stream, ops_error *error);

// Runs on stream number `stream` and returns after the completion. An error of the provider is
// returned as it is.
int32_t oc_launch_execute(oc_launch *launch, int32_t stream, ops_error *error);

// The same without touching any other stream, for a thread that has `stream` to itself.
int32_t oc_launch_execute_alone(oc_launch *launch, int32_t stream, ops_error *error);

typedef enum oc_revoke { OC_REVOKE_ACCESS, OC_REVOKE_CONTENTS } oc_revoke;
int32_t oc_launch_revoke(oc_launch *launch, oc_revoke how, ops_error *error);

// Takes one input away: no access in host memory, other contents elsewhere.
int32_t oc_launch_hide_input(oc_launch *launch, size_t index, ops_error *error);

// Output `index` with its real shape. The array is owned by the caller.
int32_t oc_launch_read(const oc_launch *launch, size_t index, oc_array *out_array,
                       ops_error *error);

// Arms the guarded inputs, or the guarded outputs, with a trap; `trap` NULL disarms both.
int32_t oc_launch_arm(oc_launch *launch, bool inputs, oc_trap *trap, ops_error *error);

// The first block whose surroundings changed: role, index and offset; false if there is none.
int32_t oc_launch_find_damage(const oc_launch *launch, bool *out_damaged, const char **out_what,
                              int32_t *out_index, int64_t *out_offset, ops_error *error);

// True if input `index` no longer holds `expected` (memory that cannot be write-protected).
int32_t oc_launch_input_changed(const oc_launch *launch, size_t index, const oc_array *expected,
                                bool *out_changed, ops_error *error);

// The host's side of OPS_SHAPE_HOST_SYNC, for ops_host_options.set_output_shape.
int32_t oc_launch_set_output_shape(void *context, ops_call *call, uint64_t index, int32_t rank,
                                   const int64_t *dims, ops_arg *out_arg, ops_error *error);

#endif  // OC_RUNNER_LAUNCH_H_

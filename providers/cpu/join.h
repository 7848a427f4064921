// SPDX-License-Identifier: Apache-2.0
//
// Tensors side by side along an axis: what Concat and its quantised kin share.
#ifndef CPU_JOIN_H_
#define CPU_JOIN_H_

#include "channels_last.h"

// Which inputs of an operator are the tensors: `first` and every `step`-th behind it.
typedef struct cpu_join_kind {
  uint64_t first, step;
  int64_t default_axis;
  int32_t last;      // CPU_LAST_…: all tensors and the output with channels last
  const char *noun;  // what messages call the tensors
} cpu_join_kind;

typedef struct cpu_join_kernel {
  ops_kernel base;
  const cpu_join_kind *kind;
  int64_t axis;
} cpu_join_kernel;

typedef struct cpu_join_prepared {
  ops_prepared base;
  int64_t rows, row_bytes;  // of the output
  int64_t *part_bytes;      // per tensor: bytes of its part of a row
} cpu_join_prepared;

// The kernel's create.
void cpu_join_create(ops_kernel *kernel, const ops_node *node, const cpu_join_kind *kind);
// Prepare but for types: the tensors' shapes, and the output of `type`.
int32_t cpu_join_prepare(ops_kernel *kernel, const ops_prepare_request *request, int32_t type,
                         ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error);
// Slots of cpu_op.
void cpu_join_prepared_destroy(ops_prepared *prepared);
void cpu_join_layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                      cpu_layouts *layouts);

#endif  // CPU_JOIN_H_

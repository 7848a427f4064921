// SPDX-License-Identifier: Apache-2.0
//
// One loop nest over several operands that share a shape: broadcasting, slicing, transposing.
//
// Neighbouring dimensions that every operand walks alike are merged, so that the innermost run
// is as long as possible; the whole index space is split between workers. Operand 0 is written.
#ifndef CPU_ND_H_
#define CPU_ND_H_

#include "cpu.h"

#define CPU_ND_OPERANDS 4

typedef struct cpu_nd {
  int32_t rank;  // after merging, at least 1 unless the space is empty
  int32_t operands;
  int64_t count;  // of elements; 0: nothing to do
  int64_t dims[OPS_MAX_RANK];
  int64_t strides[OPS_MAX_RANK][CPU_ND_OPERANDS];  // in bytes; those above the rank are unset
} cpu_nd;

// Runs `count` elements; pointers and strides (bytes) are those of the innermost dimension.
typedef void (*cpu_nd_body)(const void *context, char *const *pointers, const int64_t *strides,
                            int64_t count);

// Starts a nest over `shape`.
void cpu_nd_init(cpu_nd *nd, const cpu_shape *shape);
// Adds an operand by its element strides, one per dimension of the shape.
void cpu_nd_add(cpu_nd *nd, const int64_t *strides, int64_t element_size);
// Adds a contiguous operand of shape `shape`, broadcast to the nest's.
void cpu_nd_add_broadcast(cpu_nd *nd, const cpu_shape *shape, int64_t element_size);
// Merges dimensions; call once, after the last operand.
void cpu_nd_finish(cpu_nd *nd);

// Bytes at the head of a finished nest that running it needs.
uint64_t cpu_nd_bytes(const cpu_nd *nd);

// Runs the nest. `cost` is the work of one element, see cpu_grain.
void cpu_nd_run(const ops_device *device, const cpu_nd *nd, void *const *bases, int64_t cost,
                cpu_nd_body body, const void *context);

// Copies operand 1 to operand 0, elements of `element_size` bytes.
void cpu_nd_copy(const ops_device *device, const cpu_nd *nd, void *target, const void *source,
                 int64_t element_size);

// Copies bytes, split between workers.
void cpu_copy_bytes(const ops_device *device, void *target, const void *source, int64_t bytes);

// Copies `rows` rows of `bytes` bytes, split between workers.
void cpu_copy_rows(const ops_device *device, void *target, int64_t target_stride,
                   const void *source, int64_t source_stride, int64_t bytes, int64_t rows);

#endif  // CPU_ND_H_

// SPDX-License-Identifier: Apache-2.0
//
// Operators over lines: what a reduction, a softmax or a normalisation has in common. A dense
// tensor is cut in two sets of dimensions: the kept ones count the lines, the others the
// elements of one line. A work-group walks `items_x` lines with `items_y` items each and joins
// what these found in a tree of local memory.
#ifndef GPU_LINES_H_
#define GPU_LINES_H_

#include "gpu.h"

enum {
  kGpuLineDims = 4,    // of each set: rank 8 with the sets taking turns
  kGpuLineGroup = 256  // items of a group
};

// One set, merged; the dimensions' sizes and what one step along each adds in elements.
typedef struct gpu_dims {
  int32_t rank;
  int64_t count;  // product of the sizes
  int64_t size[kGpuLineDims], stride[kGpuLineDims];
} gpu_dims;

typedef struct gpu_lines {
  gpu_dims kept, inner;
  int32_t wide;  // 1: offsets need 64 bits
  uint32_t items_x, items_y;
} gpu_lines;

// A list of axes: of an attribute, or of an input.
typedef struct gpu_axes {
  int32_t count;  // -1: absent
  int64_t values[OPS_MAX_RANK];
} gpu_axes;

// INVALID_ARGUMENT if the attribute has more values than a rank can have.
int32_t gpu_axes_read(const ops_node *node, const char *name, gpu_axes *out_axes,
                      ops_error *error);
// The attribute's list if there is one, else the contents of shape input `input`; 1 if there is
// a list, 0 if both are absent or the plan has failed.
int32_t gpu_axes_resolve(gpu_plan *plan, const gpu_axes *attribute, uint64_t input,
                         gpu_axes *out_axes);
// The set of a list's axes, bit by bit; fails the plan where one is out of range or named
// twice.
uint64_t gpu_axes_mark(gpu_plan *plan, const gpu_axes *axes, int32_t rank);
// A single axis, negative ones counted from the end; fails the plan outside [-rank, rank - 1].
int32_t gpu_axis_resolve(gpu_plan *plan, int64_t axis, int32_t rank);

// Cuts a shape: axes of the set `reduced` run along the lines. Chooses the group, too.
void gpu_lines_cut(gpu_plan *plan, int32_t rank, const int64_t *dims, uint64_t reduced,
                   gpu_lines *out_lines);
// IDX and GROUP, as the kernels want them.
void gpu_lines_define(gpu_step *step, const gpu_lines *lines);
// A parameter of type lines_t.
void gpu_lines_arg(gpu_step *step, const gpu_lines *lines);
// A parameter of type IDX.
void gpu_lines_index(gpu_step *step, const gpu_lines *lines, int64_t value);
// A group for each items_x lines, `parts` times.
void gpu_lines_grid(gpu_step *step, const gpu_lines *lines, int64_t parts);

// The C type in which a floating-point element type accumulates.
const char *gpu_accumulator(int32_t type);

extern const gpu_source gpu_lines_source;

#endif  // GPU_LINES_H_

// SPDX-License-Identifier: Apache-2.0
//
// A plane of a [N, C, H, W] tensor copied into scratch memory with a border, wide enough that
// whole vectors may be read behind the last column: window loops then need no case for edges.
#ifndef CPU_PLANE_H_
#define CPU_PLANE_H_

#include "cpu.h"
#include "vec.h"

// Windows over two dimensions: {rows, columns}.
typedef struct cpu_plane_window {
  int64_t in[2], out[2], kernel[2], strides[2], dilations[2], pads_begin[2];
} cpu_plane_window;

typedef struct cpu_plane {
  cpu_plane_window window;
  cpu_vec_tile tile;       // without weights and bias
  int64_t rows, columns;   // with the border
  int64_t scratch_stride;  // bytes of one worker's plane
} cpu_plane;

// Whether the vector loops can do it: strides of 1 or 2 along a row.
int cpu_plane_fits(const cpu_plane_window *window);
// Returns 0 if the sizes overflow.
int cpu_plane_init(const cpu_plane_window *window, cpu_plane *out_plane);
// Asks for scratch memory for every worker.
void cpu_plane_reserve(const ops_device *device, const cpu_plane *plane,
                       ops_prepare_reply *reply);
// The scratch plane of a worker, filled with `border` everywhere.
float *cpu_plane_start(const cpu_plane *plane, void *workspace, int32_t worker, float border);
// Copies what is used of x to its place; the border stays.
void cpu_plane_copy(const cpu_plane *plane, const float *x, float *scratch);

#endif  // CPU_PLANE_H_

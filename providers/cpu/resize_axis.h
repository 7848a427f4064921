// SPDX-License-Identifier: Apache-2.0
//
// One axis of Resize: which input elements make an output element, with which weights.
#ifndef CPU_RESIZE_AXIS_H_
#define CPU_RESIZE_AXIS_H_

#include "cpu.h"

#define CPU_RESIZE_NEAREST 0
#define CPU_RESIZE_LINEAR 1
#define CPU_RESIZE_CUBIC 2

#define CPU_RESIZE_TAPS 4  // at most

typedef struct cpu_resize_mode {
  int32_t mode;        // CPU_RESIZE_…
  int32_t coordinate;  // row of the tables in resize_axis.c
  int32_t nearest;
  int32_t exclude_outside;
  double cubic_a;
} cpu_resize_mode;

typedef struct cpu_resize_axis {
  int64_t in, out;
  double scale;
  double length;  // of the output, before it was rounded down
} cpu_resize_axis;

// Reads the attributes; refuses modes that are not supported if `claim` is not NULL. The
// operator is Resize, or Upsample with its fixed modes.
void cpu_resize_read(const ops_node *node, cpu_resize_mode *out_mode, ops_claim *claim);

int32_t cpu_resize_taps(const cpu_resize_mode *mode);

// Fills `taps` indices and weights for each output element.
void cpu_resize_fill(const cpu_resize_mode *mode, const cpu_resize_axis *axis,
                     int64_t *out_indices, double *out_weights);

#endif  // CPU_RESIZE_AXIS_H_

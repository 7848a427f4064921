// SPDX-License-Identifier: Apache-2.0
//
// The sliding window that convolutions and pooling share: attributes, padding, output size.
#ifndef CPU_WINDOW_H_
#define CPU_WINDOW_H_

#include "cpu.h"

#define CPU_SPATIAL 3

#define CPU_PAD_EXPLICIT 0
#define CPU_PAD_VALID 1
#define CPU_PAD_SAME_UPPER 2
#define CPU_PAD_SAME_LOWER 3

// Attributes; absent ones have their defaults. Arrays are ordered as the spatial dimensions.
typedef struct cpu_window {
  int32_t auto_pad;  // CPU_PAD_…
  int32_t ceil_mode;
  int32_t has_kernel;
  int64_t kernel[CPU_SPATIAL], strides[CPU_SPATIAL], dilations[CPU_SPATIAL];
  int64_t pads_begin[CPU_SPATIAL], pads_end[CPU_SPATIAL];
} cpu_window;

// Refuses ranks other than 3 … 5 and attributes that do not fit the rank or are out of range.
// `weights_input` is an input of the same rank, asked if that of input 0 is not known; 0: none.
void cpu_window_claim(const ops_node *node, uint64_t weights_input, ops_claim *claim);

// Reads the attributes of a node that was claimed.
void cpu_window_read(const ops_node *node, cpu_window *out_window);

// Output size and final pads of a convolution or pooling for input size `in`, spatial
// dimensions only. The window's kernel must be set. INVALID_ARGUMENT if the window does not
// fit.
int32_t cpu_window_resolve(const ops_kernel *kernel, cpu_window *window, int32_t spatial,
                           const int64_t *in, int64_t *out, ops_error *error);

// A window on its way over an image. Arrays always have three entries; missing dimensions come
// first, of size 1.
typedef struct cpu_slide {
  cpu_window window;
  int64_t in[CPU_SPATIAL], out[CPU_SPATIAL];
} cpu_slide;

// Of a resolved window over `spatial` dimensions.
void cpu_slide_init(cpu_slide *slide, const cpu_window *window, int32_t spatial,
                    const int64_t *in, const int64_t *out);
static inline int64_t cpu_floor_div(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}
// First input index of output o along axis d; may be negative.
static inline int64_t cpu_slide_start(const cpu_slide *slide, int32_t d, int64_t o) {
  return o * slide->window.strides[d] - slide->window.pads_begin[d];
}
// How many taps of output o count along axis d: those inside the input, or also those inside
// its padding.
int64_t cpu_slide_taps(const cpu_slide *slide, int32_t d, int64_t o, int32_t include_pad);
// The taps of output o along axis d that lie inside the input, and the first one's index.
int64_t cpu_slide_inside(const cpu_slide *slide, int32_t d, int64_t o, int64_t *out_first);

#endif  // CPU_WINDOW_H_

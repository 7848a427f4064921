// SPDX-License-Identifier: Apache-2.0
//
// The broadcast of opset 6 and before: the second input is broadcast to the first, where the
// attributes `broadcast` and `axis` say so.
#ifndef CPU_LIMITED_H_
#define CPU_LIMITED_H_

#include "cpu.h"

#define CPU_LIMITED_UNTIL 6  // the last opset with it; Max, Mean, Min, Sum: 7

#define CPU_LIMITED_OFF 0      // free broadcast
#define CPU_LIMITED_EQUAL 1    // the shapes must be equal
#define CPU_LIMITED_STRETCH 2  // the second input lies along some dimensions of the first
#define CPU_LIMITED_CHANNEL 3  // PRelu: one element, or one for each channel

typedef struct cpu_limited {
  int32_t mode;  // CPU_LIMITED_…
  int64_t axis;  // STRETCH: where the second input begins; -1: it ends at the end
} cpu_limited;

// Reads the attributes; OFF after the last opset with it.
void cpu_limited_read(const ops_node *node, cpu_limited *out);

// Appends dimensions of 1 to `b` so that the free broadcast puts it where it belongs.
// INVALID_ARGUMENT if it does not fit.
int32_t cpu_limited_align(const ops_kernel *kernel, const cpu_limited *limited,
                          const cpu_shape *a, cpu_shape *b, ops_error *error);

#endif  // CPU_LIMITED_H_

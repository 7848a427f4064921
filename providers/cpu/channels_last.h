// SPDX-License-Identifier: Apache-2.0
//
// The provider's private layout: [N, C, d1, …] of float, rank 3 to 5, lies in memory as
// [N, d1, …, C]. oneDNN's convolutions for AVX-512 work in it; the device offers it there.
//
// An operator takes part by `cpu_op.layouts`, which lists the combinations it can run. Most
// operators do not care where the channels are: with `cpu_op.sees_view` their prepare gets the
// shapes as they lie in memory, [N, d1, …, C], and is none the wiser.
#ifndef CPU_CHANNELS_LAST_H_
#define CPU_CHANNELS_LAST_H_

#include "cpu.h"

#define CPU_LAYOUT_CHANNELS_LAST 1u

extern const ops_memory_api cpu_memory_api;

// Which arguments are in the layout.
enum {
  CPU_LAST_NONE,
  CPU_LAST_ALL,
  CPU_LAST_FIRST,    // the first input; all outputs
  CPU_LAST_SECOND,   // the second input; all outputs
  CPU_LAST_SOURCE,   // the first input; no output
  CPU_LAST_CHAIN,    // the first and the fourth input; all outputs
  CPU_LAST_TRIPLES,  // the third input and every third behind it; all outputs
  CPU_LAST_COUNT
};

typedef struct cpu_layouts {
  uint32_t count;
  int32_t patterns[CPU_LAST_COUNT];  // CPU_LAST_…
  double costs[CPU_LAST_COUNT];      // seconds
} cpu_layouts;

void cpu_layouts_add(cpu_layouts *layouts, int32_t pattern, double cost);
// The memory traffic of a change of layout, in the unit of costs.
double cpu_reorder_cost(int64_t bytes);

// 1 if an argument of this type can be in the layout: float, int8 or uint8, rank 3 to 5,
// not empty.
int cpu_may_be_last(const ops_type_info *type);
// 1 if the request has input `index` in the layout.
int cpu_is_last(const ops_prepare_request *request, uint64_t index);
// 1 if the request wants the first output in the layout.
int cpu_wants_last(const ops_prepare_request *request);

// [N, C, d1, …] → [N, d1, …, C] and back.
void cpu_shape_to_last(cpu_shape *shape);
void cpu_shape_from_last(cpu_shape *shape);

// Turns each matrix [rows, columns] of a tensor of them, elements of `size` bytes (1 or 4).
void cpu_flip_images(const ops_device *device, int64_t size, const void *x, void *y,
                     int64_t images, int64_t rows, int64_t columns);

// ops_kernel_api.query_layouts of all operators.
int32_t cpu_query_layouts(ops_kernel *kernel, const ops_prepare_request *request,
                          ops_layout_choice *out_choices, uint64_t capacity, uint64_t stride,
                          uint64_t *out_count, ops_error *error);

// Prepares through the view if the request has an argument in the layout, else directly.
int32_t cpu_prepare_any(ops_kernel *kernel, const ops_prepare_request *request,
                        ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error);

#endif  // CPU_CHANNELS_LAST_H_

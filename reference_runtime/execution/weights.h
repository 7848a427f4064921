// SPDX-License-Identifier: Apache-2.0
//
// Constants of the graph in the memories and layouts that kernels want: each is uploaded, or
// reordered, once per session and shared by all plans and runs.
#ifndef RT_EXECUTION_WEIGHTS_H_
#define RT_EXECUTION_WEIGHTS_H_

#include "execution/places.h"

typedef struct rt_weights rt_weights;

// `places` and `views` must outlive it.
int32_t rt_weights_create(rt_places *places, rt_views *views, rt_weights **out_weights,
                          ops_error *error);
void rt_weights_destroy(rt_weights *weights);  // accepts NULL
rt_views *rt_weights_views(const rt_weights *weights);

// The memory of a buffer with storage CONSTANT, loaded if it was not yet. NULL for an empty
// tensor. Thread-safe; the memory stays until rt_weights_destroy.
int32_t rt_weights_load(rt_weights *weights, const rt_buffer *buffer, void **out_memory,
                        ops_error *error);

#endif  // RT_EXECUTION_WEIGHTS_H_

// SPDX-License-Identifier: Apache-2.0
//
// Private. numpy's .npy format, versions 1 to 3, as numpy.lib.format documents it.
#ifndef RT_MODEL_NPY_H_
#define RT_MODEL_NPY_H_

#include "model/arena.h"
#include "model/model.h"

#define RT_NPY_MAX_HEADER 65536  // bytes of the textual header

// Room that rt_npy_header needs: the longest header is one of OPS_MAX_RANK dimensions.
#define RT_NPY_HEADER_ROOM 1024

// Whether the bytes begin with the magic string of the format.
int rt_npy_is(const void *data, uint64_t size);

// Decodes a whole file into *out, whose data lies in the arena.
int32_t rt_npy_decode(rt_model_arena *arena, const void *data, uint64_t size,
                      rt_model_tensor *out, ops_error *error);

// Writes what comes in front of the tensor's data into `out`, which has RT_NPY_HEADER_ROOM
// bytes.
int32_t rt_npy_header(const rt_model_tensor *tensor, char *out, uint64_t *out_size,
                      ops_error *error);

#endif  // RT_MODEL_NPY_H_

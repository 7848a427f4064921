// SPDX-License-Identifier: Apache-2.0
//
// From the structs of model.h to ONNX bytes: the reverse of decode.h.
#ifndef RT_MODEL_ENCODE_H_
#define RT_MODEL_ENCODE_H_

#include "model/model.h"

// Models with more tensor data than this keep them in a file of their own.
#define RT_MODEL_DEFAULT_MAX_INLINE ((uint64_t)1 << 30)

// Writes a model to `path`, whole or not at all. Where its tensors have more than `max_inline`
// bytes together (0: RT_MODEL_DEFAULT_MAX_INLINE), initializers of 1 KiB and more go into
// "path.data" as external data, which is written first. Fails with IO, INVALID_ARGUMENT (the
// rest exceeds protobuf's 2 GiB - 1 bytes) or OUT_OF_MEMORY.
int32_t rt_model_write_limited(const char *path, const rt_model *model, uint64_t max_inline,
                               ops_error *error);
int32_t rt_model_write(const char *path, const rt_model *model, ops_error *error);

#endif  // RT_MODEL_ENCODE_H_

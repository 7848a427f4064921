// SPDX-License-Identifier: Apache-2.0
//
// Private. Files with tensor data that lie beside a model, mapped read-only, each once.
#ifndef RT_MODEL_EXTERNAL_H_
#define RT_MODEL_EXTERNAL_H_

#include <ops/status.h>

typedef struct rt_model_external_file rt_model_external_file;

typedef struct rt_model_external {
  const char *base_dir;           // borrowed until loading ends; NULL: no external data allowed
  rt_model_external_file *files;  // those mapped so far
} rt_model_external;

void rt_model_external_finish(rt_model_external *external);

// The mapping of the file at `location`, a path relative to the base folder that may not leave
// it: absolute paths, "..", and symbolic links to the outside are refused, and so is what is
// not a regular file. The mapping lives until rt_model_external_finish.
int32_t rt_model_external_map(rt_model_external *external, const char *location,
                              const uint8_t **out_data, uint64_t *out_size, ops_error *error);

#endif  // RT_MODEL_EXTERNAL_H_

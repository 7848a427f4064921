// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the bytes as a model, with the checker, and as a file of one tensor. Built
// with -DOPS_FUZZ=ON under clang; run as build-dev/bin/model_fuzz -max_total_time=60 CORPUS.
#include <stddef.h>
#include <stdint.h>

#include "model/check.h"
#include "model/model.h"
#include "model/tensor_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const rt_model_options options = {.max_memory = (uint64_t)256 << 20};
  rt_model *model = NULL;
  if (rt_model_load_bytes(data, size, NULL, &options, &model, NULL) == OPS_OK)
    rt_model_check(model, NULL);
  rt_model_destroy(model);
  rt_tensor_file *file = NULL;
  rt_tensor_file_read_bytes(data, size, &file, NULL);
  rt_tensor_file_destroy(file);
  return 0;
}

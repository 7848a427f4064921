// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the bytes as a file of one tensor (TensorProto or .npy), of a sequence,
// of an optional and of a map.
#include <stddef.h>
#include <stdint.h>

#include "model/tensor_file.h"
#include "model/value_file.h"

#ifdef OPS_FUZZ
#include "model/fuzz/mutator.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  return rt_fuzz_mutate(RT_FUZZ_TENSOR, data, size, max_size, seed);
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int32_t kKinds[] = {RT_MODEL_TYPE_TENSOR, RT_MODEL_TYPE_SEQUENCE,
                                   RT_MODEL_TYPE_OPTIONAL, RT_MODEL_TYPE_MAP};
  rt_tensor_file *tensor = NULL;
  rt_tensor_file_read_bytes(data, size, &tensor, NULL);
  rt_tensor_file_destroy(tensor);
  for (size_t i = 0; i < sizeof kKinds / sizeof kKinds[0]; ++i) {
    rt_value_file *value = NULL;
    rt_value_file_read_bytes(data, size, kKinds[i], &value, NULL);
    rt_value_file_destroy(value);
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// What libFuzzer asks for new inputs, where they are models: the mutator of ../model/fuzz.
#include "model/fuzz/mutator.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
                                 size_t b_size, uint8_t *out, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  return rt_fuzz_mutate(RT_FUZZ_MODEL, data, size, max_size, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
                                 size_t b_size, uint8_t *out, size_t max_size, unsigned seed) {
  return rt_fuzz_cross_over(RT_FUZZ_MODEL, a, a_size, b, b_size, out, max_size, seed);
}

// SPDX-License-Identifier: Apache-2.0
//
// For fuzzers of ONNX bytes: changes a message as a message, not as bytes, so that what comes
// out still decodes and gets beyond the parser. Bytes that do not decode are changed as bytes.
#ifndef RT_MODEL_FUZZ_MUTATOR_H_
#define RT_MODEL_FUZZ_MUTATOR_H_

#include <stddef.h>
#include <stdint.h>

typedef enum rt_fuzz_message { RT_FUZZ_MODEL, RT_FUZZ_TENSOR } rt_fuzz_message;

// As LLVMFuzzerCustomMutator and LLVMFuzzerCustomCrossOver: the new size is returned, the new
// bytes lie in `data` or `out`, which have room for `max_size`.
size_t rt_fuzz_mutate(rt_fuzz_message kind, uint8_t *data, size_t size, size_t max_size,
                      unsigned seed);
size_t rt_fuzz_cross_over(rt_fuzz_message kind, const uint8_t *a, size_t a_size,
                          const uint8_t *b, size_t b_size, uint8_t *out, size_t max_size,
                          unsigned seed);

#endif  // RT_MODEL_FUZZ_MUTATOR_H_

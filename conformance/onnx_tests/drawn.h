// SPDX-License-Identifier: Apache-2.0
//
// Cases whose expected values were drawn from a random generator that ONNX does not define: no
// other implementation can be asked for the same numbers. They are judged by shape, type, range
// and distribution, and named as such.
#ifndef OC_ONNX_TESTS_DRAWN_H_
#define OC_ONNX_TESTS_DRAWN_H_

#include "onnx_tests/allclose.h"

// How far a sum may lie from its mean, in standard deviations.
#define OC_DRAWN_SIGMAS 4.5

typedef struct oc_drawn_values {
  const opsrt_value *inputs;
  size_t input_count;
  const opsrt_value *expected;
  const opsrt_value *outputs;
  size_t output_count;
} oc_drawn_values;

typedef struct oc_drawn {
  const char *pattern;  // of the case's id
  const char *what;     // what is checked
  const char *reason;
  bool (*check)(const oc_drawn_values *values, oc_difference *difference);
} oc_drawn;

// The row for a case, or NULL: its expected values are what ONNX says.
const oc_drawn *oc_drawn_find(const char *id);

// False if the outputs cannot be such draws. Types and shapes are compared first.
bool oc_drawn_check(const oc_drawn *drawn, const oc_drawn_values *values,
                    oc_difference *difference);

#endif  // OC_ONNX_TESTS_DRAWN_H_

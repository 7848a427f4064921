// SPDX-License-Identifier: Apache-2.0
//
// Two values compared as the official runner of ONNX compares them (onnx.backend.test.runner,
// assert_similar_outputs, and numpy.testing.assert_allclose, which it calls):
//
//   kind, element type and shape are equal; strings are equal;
//   numbers: |got - expected| <= atol + rtol * |expected| for finite expected values,
//   else got == expected, or both are NaN; bfloat16: rtol is at least 2^-6;
//   sequences, optionals and maps: item by item.
//
// numpy computes in the values' own type, this in double: it matters for differences within a
// rounding of the limit alone.
#ifndef OC_ONNX_TESTS_ALLCLOSE_H_
#define OC_ONNX_TESTS_ALLCLOSE_H_

#include <opsrt/opsrt.h>
#include <stdbool.h>

#define OC_ALLCLOSE_BFLOAT16_RTOL 0x1p-6
#define OC_ALLCLOSE_MAX_DEPTH 16  // of values in values

typedef struct oc_closeness {
  double rtol;
  double atol;
} oc_closeness;

// The worst that was found so far; zero before the first comparison.
typedef struct oc_difference {
  bool measured;      // numbers were compared
  double error;       // largest |got - expected| / limit; infinite where a class differs
  int64_t element;    // where it was, -1: not in an element
  uint64_t wrong;     // elements beyond the limit, of the tensor that failed
  uint64_t count;     // elements of that tensor
  char expected[80];  // the worst element, or the type and shape
  char got[80];
  char message[240];  // empty if all is well
} oc_difference;

// False if the values differ; `difference` then says how. It also keeps the largest error of
// values that agree.
bool oc_allclose(const opsrt_value *expected, const opsrt_value *got, oc_closeness tolerance,
                 oc_difference *difference);

// The number of elements; -1 if it overflows or a dimension is negative.
int64_t oc_allclose_count(const opsrt_value *value);

// "float[2,3]", "sequence", "nothing". Returns `text`.
const char *oc_allclose_describe(const opsrt_value *value, char *text, size_t size);

// All of them: "float[2,3], int64[1]", as far as there is room.
void oc_allclose_describe_all(const opsrt_value *values, size_t count, char *text, size_t size);

#endif  // OC_ONNX_TESTS_ALLCLOSE_H_

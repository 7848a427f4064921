// SPDX-License-Identifier: Apache-2.0
//
// The judge `exact`: equality of codes. In floating types NaN equals NaN whatever its payload,
// and zeros and denormals follow the rules for special values. `index` is this judge too where
// ONNX fixes ties (CONFORMANCE.md, "Oracle and judges").
#include <math.h>

#include "compare/judge.h"

static bool is_equal(const oc_compare_input *input, uint64_t expected, uint64_t got) {
  if (expected == got) return true;
  if (!oc_number_format(input->type)) return false;
  const oc_special special = oc_judge_classes(input, expected, got);
  if (special != OC_SPECIAL_VALUES) return special == OC_SPECIAL_EQUAL;
  return oc_number_ulps(input->type, expected, got, input->special.denormal_any) == 0;
}

void oc_judge_exact(const oc_compare_input *input, oc_comparison *out) {
  out->metric = "equal";
  for (size_t i = 0; i < input->count; ++i) {
    const bool equal = is_equal(input, oc_number_code(input->type, input->expected, i),
                                oc_number_code(input->type, input->got, i));
    if (!equal) oc_judge_note(out, i, 1, 0);
  }
}

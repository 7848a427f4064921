// SPDX-License-Identifier: Apache-2.0
//
// The judge `decision`, for results that hang on comparisons of numbers with thresholds
// (CONFORMANCE.md). The caller has rejected inputs that lie within 2^-16 of a threshold, so no
// implementation may decide otherwise. What is left is the value: equal where it was only
// moved, within the contract's limit in ULP where it was computed.
#include "compare/judge.h"

void oc_judge_decision(const oc_compare_input *input, oc_comparison *out) {
  const bool computed = input->ulp > 0 || input->absolute > 0;
  if (computed && oc_number_format(input->type)) {
    oc_judge_ulp(input, out);
  } else {
    oc_judge_exact(input, out);
  }
}

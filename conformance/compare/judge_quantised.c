// SPDX-License-Identifier: Apache-2.0
//
// The judge `quantised`, for results that are rounded to steps of a scale (CONFORMANCE.md): one
// step off only where the number before rounding lies within 2^-10 step of a tie. The caller
// gives the results of both ways to decide such a tie (`lower` and `upper`, equal where there
// is none); without them only the expected values are right. Numbers beyond the range are
// clamped by the oracle both ways. Results of floating types, such as a scale, are left to the
// judge ulp.
#include <math.h>

#include "compare/judge.h"

void oc_judge_quantised(const oc_compare_input *input, oc_comparison *out) {
  out->metric = "steps";
  for (size_t i = 0; i < input->count; ++i) {
    const double got = oc_number_get(input->type, input->got, i);
    const double expected = oc_number_get(input->type, input->expected, i);
    const double lower = input->lower ? fmin(input->lower[i], expected) : expected;
    const double upper = input->upper ? fmax(input->upper[i], expected) : expected;
    if (got >= lower && got <= upper) continue;
    oc_judge_note(out, i, got < lower ? lower - got : got - upper, 0);
  }
}

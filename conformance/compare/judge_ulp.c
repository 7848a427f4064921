// SPDX-License-Identifier: Apache-2.0
//
// The judge `ulp`: distance in the order of codes. An infinity follows the largest finite
// value, so within the limit of that value infinity matches; where flushing is allowed zero and
// denormals are one value (CONFORMANCE.md, "Oracle and judges"). An absolute limit passes
// besides.
#include <math.h>

#include "compare/judge.h"

double oc_compare_ulp_limit(double limit, int32_t type, int32_t accumulate) {
  const oc_float_format *out = oc_number_format(type), *acc = oc_number_format(accumulate);
  if (!out || !acc || out->fraction_bits >= acc->fraction_bits) return limit;
  const double scaled = 1 + limit * exp2(out->fraction_bits - acc->fraction_bits);
  return fmin(scaled, exp2(out->fraction_bits / 2.0));
}

static bool within_absolute(const oc_compare_input *input, uint64_t expected, uint64_t got) {
  if (!(input->absolute > 0)) return false;
  const double difference =
      oc_number_value(input->type, expected) - oc_number_value(input->type, got);
  return fabs(difference) <= input->absolute;
}

void oc_judge_ulp(const oc_compare_input *input, oc_comparison *out) {
  const double limit = oc_compare_ulp_limit(input->ulp, input->type, input->accumulate);
  out->metric = "ulp";
  out->limit = limit;
  for (size_t i = 0; i < input->count; ++i) {
    const uint64_t expected = oc_number_code(input->type, input->expected, i);
    const uint64_t got = oc_number_code(input->type, input->got, i);
    if (expected == got) continue;
    const oc_special special = oc_judge_classes(input, expected, got);
    if (special == OC_SPECIAL_EQUAL) continue;
    if (special == OC_SPECIAL_DIFFERENT) {
      oc_judge_note(out, i, INFINITY, limit);
      continue;
    }
    if (within_absolute(input, expected, got)) continue;
    oc_judge_note(
        out, i, (double)oc_number_ulps(input->type, expected, got, input->special.denormal_any),
        limit);
  }
}

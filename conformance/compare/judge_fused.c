// SPDX-License-Identifier: Apache-2.0
//
// The judge `fused`, for chains of post-operations: interval arithmetic of the chain over
// reference +- limit (CONFORMANCE.md). `oc_compare_interval` gives what the judge of the node
// itself allows, post.h carries it through the chain, and the result has to lie inside.
#include <math.h>

#include "compare/judge.h"

static double reference_of(const oc_compare_input *input, size_t i) {
  return input->wide ? input->wide[i] : oc_number_get(input->type, input->expected, i);
}

// ---- What the node's own judge allows
// ---------------------------------------------------------

static double allowed_exact(const oc_compare_input *input, size_t i) {
  (void)input;
  (void)i;
  return 0;
}

static double allowed_ulp(const oc_compare_input *input, size_t i) {
  const double limit = oc_compare_ulp_limit(input->ulp, input->type, input->accumulate);
  const double value = oc_number_get(input->type, input->expected, i);
  return fmax(limit * oc_judge_unit(input->type, value), input->absolute);
}

typedef double (*allowed_fn)(const oc_compare_input *input, size_t i);

static const allowed_fn kAllowed[OC_JUDGE_COUNT] = {
    [OC_JUDGE_EXACT] = allowed_exact,
    [OC_JUDGE_ULP] = allowed_ulp,
    [OC_JUDGE_DOT] = oc_judge_dot_allowed,
    [OC_JUDGE_CONDITIONED] = oc_judge_conditioned_allowed,
};

bool oc_compare_interval(const oc_compare_input *input, double *lower, double *upper) {
  const allowed_fn allowed = kAllowed[input->judge];
  if (!allowed || !oc_number_format(input->type)) return false;
  for (size_t i = 0; i < input->count; ++i) {
    const double reference = input->judge == OC_JUDGE_ULP
                                 ? oc_number_get(input->type, input->expected, i)
                                 : reference_of(input, i);
    const double off = isfinite(reference) ? allowed(input, i) : 0;
    lower[i] = reference - off;
    upper[i] = reference + off;
  }
  return true;
}

// ---- The judge
// ----------------------------------------------------------------------------------

// How far outside the interval a result lies, in units of the interval's half width.
static double error_of(const oc_compare_input *input, size_t i) {
  const double lower = input->lower[i], upper = input->upper[i];
  double got = oc_number_get(input->type, input->got, i);
  const double top = oc_number_highest(input->type);
  if (isnan(lower) || isnan(upper)) {
    return isnan(got) || input->special.nan_any ? 0 : INFINITY;
  }
  if (isnan(got)) return INFINITY;
  // An infinity is what the largest value becomes when it is rounded up.
  if (isinf(got) && got > 0 && upper >= top) return 0;
  if (isinf(got) && got < 0 && lower <= -top) return 0;
  if (isinf(lower) && isinf(upper) && lower == upper) {
    return got == lower || input->special.infinity_any ? 0 : INFINITY;
  }
  if (got >= lower && got <= upper) return 0;
  const double tiny = oc_number_smallest_normal(input->type);
  if (input->special.denormal_any && fabs(got) < tiny && lower < tiny && upper > -tiny) {
    return 0;
  }
  const double half = (upper - lower) / 2;
  return half > 0 ? fabs(got - (lower + half)) / half : INFINITY;
}

void oc_judge_fused(const oc_compare_input *input, oc_comparison *out) {
  out->metric = "fused error";
  out->limit = 1;
  for (size_t i = 0; i < input->count; ++i) oc_judge_note(out, i, error_of(input, i), 1);
}

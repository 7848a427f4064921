// SPDX-License-Identifier: Apache-2.0
//
// The judge `conditioned`, for chains of operations whose errors no closed bound describes
// (CONFORMANCE.md): a result may be off by 4 times the largest deviation that the oracle shows
// itself when its intermediates are rounded at random, and by 1 ULP of its type for the last
// rounding. Where 4 deviations exceed the contract's cap the case is too sensitive to tell a
// right result from a wrong one: it is UNTRUSTED whatever the results are.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/judge.h"

#define MARGIN 4

// ---- The oracle's deviations
// ------------------------------------------------------------------

void oc_condition_add(double *deviation, const double *plain, const double *shaken,
                      size_t count) {
  for (size_t i = 0; i < count; ++i) {
    double off = fabs(shaken[i] - plain[i]);
    // Two infinities of one sign, or two NaN, agree; another class is no small deviation.
    if (shaken[i] == plain[i] || (isnan(shaken[i]) && isnan(plain[i]))) off = 0;
    if (isnan(off)) off = INFINITY;
    deviation[i] = fmax(deviation[i], off);
  }
}

static int ascending(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

bool oc_condition_close(double *deviation, const double *plain, size_t count) {
  double *sorted = malloc((count ? count : 1) * sizeof *sorted);
  if (!sorted) return false;
  size_t moving = 0;
  for (size_t i = 0; i < count; ++i) {
    if (deviation[i] > 0) sorted[moving++] = deviation[i];
  }
  qsort(sorted, moving, sizeof *sorted, ascending);
  const double common = moving ? sorted[moving - 1 - moving / 4] : 0;
  for (size_t i = 0; i < count; ++i) {
    const bool settled = deviation[i] == 0 && (plain[i] == 0 || !isfinite(plain[i]));
    if (!settled) deviation[i] = fmax(deviation[i], common);
  }
  free(sorted);
  return true;
}

// ---- The judge
// ----------------------------------------------------------------------------------

static double reference_of(const oc_compare_input *input, size_t i) {
  return input->wide ? input->wide[i] : oc_number_get(input->type, input->expected, i);
}

double oc_judge_conditioned_allowed(const oc_compare_input *input, size_t i) {
  const double reference = reference_of(input, i);
  const double unit = isfinite(reference) ? oc_judge_unit(input->type, reference) : 0;
  return MARGIN * input->deviation[i] + unit;
}

// The error in units of what is allowed there.
static double error_of(const oc_compare_input *input, size_t i) {
  const uint64_t expected = oc_number_code(input->type, input->expected, i);
  const uint64_t got = oc_number_code(input->type, input->got, i);
  const oc_special special = oc_judge_classes(input, expected, got);
  if (special != OC_SPECIAL_VALUES) return special == OC_SPECIAL_EQUAL ? 0 : INFINITY;
  const double reference = reference_of(input, i), value = oc_number_value(input->type, got);
  const double allowed = oc_judge_conditioned_allowed(input, i);
  if (expected == got) return 0;
  if (isinf(value) && isfinite(reference)) {
    const double top = oc_number_highest(input->type);
    return fabs(reference) + allowed >= top && (value > 0) == (reference > 0) ? 0 : INFINITY;
  }
  return fabs(value - reference) / allowed;
}

void oc_judge_conditioned(const oc_compare_input *input, oc_comparison *out) {
  out->metric = "conditioned error";
  out->limit = 1;
  for (size_t i = 0; i < input->count; ++i) {
    if (MARGIN * input->deviation[i] > input->cap) {
      out->untrusted =
          "the oracle deviates by more than the contract's cap when its "
          "intermediates are rounded at random";
      out->worst = i;
      out->error = MARGIN * input->deviation[i] / input->cap;
      out->wrong = 0;
      return;
    }
    oc_judge_note(out, i, error_of(input, i), 1);
  }
}

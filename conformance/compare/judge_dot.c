// SPDX-License-Identifier: Apache-2.0
//
// The judge `dot`, for sums of products (CONFORMANCE.md, "Dot bound"; Arm TOSA's method):
//   unit = max(b * 2^(-1-nf), smallest normal), err = (got - ref) / unit
//   KSB  = ceil(K / 2^((nf_acc - nf_out) / 2))
//   every |err| <= 2 KSB; for T >= 64 results sum err^2 <= 1.6 KSB T; on random fills also
//   |sum err| <= sqrt(10 * 1.6 KSB T); b = 0 means exactly 0.
// Where b exceeds the accumulation type partial sums may overflow: nothing is asked there.
#include <math.h>

#include "compare/judge.h"

#define MIN_STATISTICS 64

typedef struct dot_sums {
  double squares;
  double sum;
  size_t count;
} dot_sums;

static double reference_of(const oc_compare_input *input, size_t i) {
  return input->wide ? input->wide[i] : oc_number_get(input->type, input->expected, i);
}

static double unit_of(const oc_compare_input *input, size_t i) {
  const oc_float_format *format = oc_number_format(input->type);
  return fmax(input->magnitude[i] * exp2(-1 - format->fraction_bits),
              oc_number_smallest_normal(input->type));
}

static double ceil_ksb(const oc_compare_input *input) {
  const oc_float_format *out = oc_number_format(input->type);
  const oc_float_format *acc = oc_number_format(input->accumulate);
  const int spare = acc && acc->fraction_bits > out->fraction_bits
                        ? acc->fraction_bits - out->fraction_bits
                        : 0;
  return fmax(ceil(input->k / exp2(spare / 2.0)), 1);
}

double oc_judge_dot_allowed(const oc_compare_input *input, size_t i) {
  const double b = input->magnitude[i];
  if (!(b <= oc_number_highest(input->accumulate))) return INFINITY;
  return b == 0 ? 0 : 2 * ceil_ksb(input) * unit_of(input, i);
}

// The error of one result in units; infinity where classes differ.
static double error_of(const oc_compare_input *input, size_t i, double limit) {
  const double got = oc_number_get(input->type, input->got, i);
  const double reference = reference_of(input, i);
  const double b = input->magnitude[i];
  if (isnan(reference)) return isnan(got) || input->special.nan_any ? 0 : INFINITY;
  if (isinf(reference)) {
    return got == reference || input->special.infinity_any ? 0 : INFINITY;
  }
  if (!(b <= oc_number_highest(input->accumulate))) return 0;
  if (b == 0) return got == 0 ? 0 : INFINITY;
  const double unit = unit_of(input, i);
  if (isinf(got)) {
    // Rounds to an infinity from half a step above the largest value on.
    const double top = oc_number_highest(input->type);
    const bool reachable =
        fabs(reference) + limit * unit >= top && (got > 0) == (reference > 0);
    return reachable ? 0 : INFINITY;
  }
  return (got - reference) / unit;
}

static void judge_sums(const oc_compare_input *input, const dot_sums *sums, double ksb,
                       oc_comparison *out) {
  const double squares_limit = 1.6 * ksb * (double)sums->count;
  const double bias_limit = sqrt(10 * squares_limit);
  if (sums->count < MIN_STATISTICS || out->wrong) return;
  if (!(sums->squares <= squares_limit)) {
    out->metric = "dot variance";
    out->error = sums->squares;
    out->limit = squares_limit;
    out->wrong = sums->count;
  } else if (input->random_fill && !(fabs(sums->sum) <= bias_limit)) {
    out->metric = "dot bias";
    out->error = fabs(sums->sum);
    out->limit = bias_limit;
    out->wrong = sums->count;
  }
}

void oc_judge_dot(const oc_compare_input *input, oc_comparison *out) {
  const double ksb = ceil_ksb(input);
  dot_sums sums = {0, 0, 0};
  out->metric = "dot error";
  out->limit = 2 * ksb;
  for (size_t i = 0; i < input->count; ++i) {
    const double error = error_of(input, i, out->limit);
    oc_judge_note(out, i, fabs(error), out->limit);
    sums.squares += error * error;
    sums.sum += error;
    ++sums.count;
  }
  judge_sums(input, &sums, ksb, out);
}

// SPDX-License-Identifier: Apache-2.0
//
// The table of judges, classes before values, and the triviality guard.
#include "compare/compare.h"

#include <math.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "compare/judge.h"

static const void *magnitude_of(const oc_compare_input *input) {
  return input->magnitude;
}

static const void *interval_of(const oc_compare_input *input) {
  return input->lower ? input->upper : NULL;
}

static const void *law_of(const oc_compare_input *input) {
  return input->law;
}

static const void *deviation_of(const oc_compare_input *input) {
  return input->deviation;
}

static const oc_judge_row judges[OC_JUDGE_COUNT] = {
    [OC_JUDGE_EXACT] = {oc_judge_exact, true, true, NULL, NULL, false},
    [OC_JUDGE_INDEX] = {oc_judge_index, true, true, NULL, NULL, false},
    [OC_JUDGE_ULP] = {oc_judge_ulp, true, false, NULL, NULL, false},
    [OC_JUDGE_DOT] = {oc_judge_dot, true, false, magnitude_of, "magnitudes", false},
    [OC_JUDGE_QUANTISED] = {oc_judge_quantised, false, true, NULL, NULL, false},
    [OC_JUDGE_DECISION] = {oc_judge_decision, true, true, NULL, NULL, false},
    [OC_JUDGE_CONDITIONED] = {oc_judge_conditioned, true, false, deviation_of, "deviations",
                              false},
    [OC_JUDGE_RANDOM] = {oc_judge_random, true, true, law_of, "laws", true},
    [OC_JUDGE_FUSED] = {oc_judge_fused, true, false, interval_of, "intervals", false},
};

void oc_judge_note(oc_comparison *out, size_t index, double error, double limit) {
  if (isnan(error)) error = INFINITY;
  const bool wrong = error > limit;
  if (error > out->error || (wrong && !out->wrong)) {
    out->error = error;
    out->worst = index;
  }
  if (wrong) ++out->wrong;
}

double oc_judge_unit(int32_t type, double value) {
  const oc_float_format *format = oc_number_format(type);
  const double magnitude = fmax(fabs(value), oc_number_smallest_normal(type));
  return ldexp(1, ilogb(magnitude) - format->fraction_bits);
}

static bool is_tiny(oc_class kind) {
  return kind == OC_NUMBER_ZERO || kind == OC_NUMBER_DENORMAL;
}

oc_special oc_judge_classes(const oc_compare_input *input, uint64_t expected, uint64_t got) {
  const oc_class e = oc_number_class(input->type, expected);
  const oc_class g = oc_number_class(input->type, got);
  const oc_special_rules *rules = &input->special;
  if (e == OC_NUMBER_NAN) {
    return g == OC_NUMBER_NAN || rules->nan_any ? OC_SPECIAL_EQUAL : OC_SPECIAL_DIFFERENT;
  }
  if (e == OC_NUMBER_INFINITE && rules->infinity_any) return OC_SPECIAL_EQUAL;
  if (g == OC_NUMBER_NAN) return OC_SPECIAL_DIFFERENT;
  if (e == OC_NUMBER_ZERO && g == OC_NUMBER_ZERO) {
    const bool differ = rules->signed_zero_distinct && expected != got;
    return differ ? OC_SPECIAL_DIFFERENT : OC_SPECIAL_EQUAL;
  }
  if (rules->denormal_any && is_tiny(e) && is_tiny(g)) return OC_SPECIAL_EQUAL;
  return OC_SPECIAL_VALUES;
}

// Integers and exact-integer fills are judged by equality whatever the contract's judge; a
// scale beside quantised results by its ULP.
static const oc_judge_row *choose(const oc_compare_input *input) {
  const bool floating = oc_number_format(input->type) != NULL;
  const oc_judge_row *row = &judges[input->judge];
  if (input->judge == OC_JUDGE_QUANTISED && floating) return &judges[OC_JUDGE_ULP];
  if (input->exact || (row->judge && !row->integer && !floating))
    return &judges[OC_JUDGE_EXACT];
  return row;
}

static oc_comparison judge(const oc_judge_row *row, const oc_compare_input *input) {
  oc_comparison out = {.metric = "", .verdict = OC_MATCH};
  row->judge(input, &out);
  if (out.wrong) out.verdict = OC_MISMATCH;
  if (out.untrusted) out.verdict = OC_UNTRUSTED;
  return out;
}

// The guard's candidates: each writes its values into `got`.
typedef void (*candidate_fn)(const oc_compare_input *input, void *got);

static void all_zeros(const oc_compare_input *input, void *got) {
  memset(got, 0, oc_number_bytes(input->type, input->count));
}

static void all_mean(const oc_compare_input *input, void *got) {
  double sum = 0;
  size_t finite = 0;
  for (size_t i = 0; i < input->count; ++i) {
    const double value = oc_number_get(input->type, input->expected, i);
    if (!isfinite(value)) continue;
    sum += value / (double)input->count;
    ++finite;
  }
  const double mean = finite ? sum * ((double)input->count / (double)finite) : 0;
  for (size_t i = 0; i < input->count; ++i) oc_number_set(input->type, got, i, mean);
}

// Each element takes the place of its neighbour, the last that of the first.
static void all_shifted(const oc_compare_input *input, void *got) {
  for (size_t i = 0; i < input->count; ++i) {
    oc_number_set_code(input->type, got, i,
                       oc_number_code(input->type, input->expected, (i + 1) % input->count));
  }
}

static const struct {
  const char *name;
  candidate_fn make;
  bool permutes;
} candidates[] = {
    {"zeros", all_zeros, false},
    {"the mean of the expected values", all_mean, false},
    {"a permutation of the expected values", all_shifted, true},
};

static int32_t guard(const oc_judge_row *row, const oc_compare_input *input, oc_comparison *out,
                     ops_error *error) {
  void *got = calloc(oc_number_bytes(input->type, input->count), 1);
  if (!got) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY,
                         "no memory for the triviality guard's %zu elements", input->count);
  }
  oc_compare_input probe = *input;
  probe.got = got;
  for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); ++i) {
    if (candidates[i].permutes && row->permutes) continue;
    candidates[i].make(input, got);
    if (judge(row, &probe).verdict != OC_MATCH) continue;
    out->verdict = OC_UNTRUSTED;
    out->trivial = candidates[i].name;
    break;
  }
  free(got);
  return OPS_OK;
}

static int32_t check(const oc_compare_input *input, const oc_judge_row *row, ops_error *error) {
  const bool floating = oc_number_format(input->type) != NULL;
  const bool integer = oc_number_is_integer(input->type) || input->type == OPS_TYPE_BOOL;
  if (!row->judge) {
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "there is no judge \"%s\"",
                         oc_judge_name(input->judge));
  }
  if (!(floating && row->floating) && !(integer && row->integer)) {
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "the judge \"%s\" cannot compare elements of type %d",
                         oc_judge_name(input->judge), (int)input->type);
  }
  const bool lacks = row->needs && !row->needs(input);
  if (input->count > 0 && (!input->got || !input->expected || lacks)) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%zu results without an array of %s for the judge \"%s\"",
                         input->count,
                         !input->got        ? "results"
                         : !input->expected ? "expected values"
                                            : row->needed,
                         oc_judge_name(input->judge));
  }
  return OPS_OK;
}

int32_t oc_compare(const oc_compare_input *input, oc_comparison *out_comparison,
                   ops_error *error) {
  const oc_judge_row *row = choose(input);
  OPS_RETURN_IF_ERROR(check(input, row, error));
  oc_comparison out = judge(row, input);
  if (input->count > 0) {
    oc_number_text(input->type, input->expected, out.worst, out.expected, sizeof(out.expected));
    oc_number_text(input->type, input->got, out.worst, out.got, sizeof(out.got));
  }
  if (out.verdict == OC_MATCH && !input->trivial && input->count >= OC_GUARD_MIN_COUNT) {
    OPS_RETURN_IF_ERROR(guard(row, input, &out, error));
  }
  *out_comparison = out;
  return OPS_OK;
}

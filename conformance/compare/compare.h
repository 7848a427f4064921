// SPDX-License-Identifier: Apache-2.0
//
// Is a result right? Pure functions over arrays: no tensors, no providers, no state.
//
// A judge compares `count` results with what the oracle expects and keeps the worst. After a
// match the triviality guard asks whether zeros, the mean of the expected values or a
// permutation of them would have matched too; then the case proves nothing and is UNTRUSTED.
#ifndef OC_COMPARE_COMPARE_H_
#define OC_COMPARE_COMPARE_H_

#include <ops/status.h>

#include "compare/number.h"
#include "contract/contract.h"

// How results that are not ordinary numbers are compared, decided: no `profile` is left in it.
typedef struct oc_special_rules {
  bool nan_any;               // where NaN is expected anything passes; else NaN must come
  bool infinity_any;          // where an infinity is expected anything passes
  bool signed_zero_distinct;  // -0 differs from +0
  bool denormal_any;          // zero and denormals are one class: flushing is allowed
} oc_special_rules;

// What a profile says, narrowed by the contract where that says something itself.
oc_special_rules oc_special_resolve(oc_profile_id profile, const oc_precision *precision);

// Outputs with fewer elements are judged but not guarded: by chance alone zeros or a
// permutation would pass too often. Cases that prove nothing because of it are carried by
// larger ones.
#define OC_GUARD_MIN_COUNT 8

// A line of elements: `length` of them, `step` apart; lines follow one another in blocks of
// step * length elements.
typedef struct oc_line {
  size_t step;
  size_t length;  // 0: there are no lines
} oc_line;

// A law of the contract, evaluated for a case.
typedef struct oc_random_law {
  oc_law_kind kind;
  double a, b;   // uniform: low and high; normal: mean and deviation
  double share;  // dropped, kept: the share that is not kept
  const double
      *of;       // bernoulli, dropped: one per result; categorical: rows of `classes` logits
  size_t count;  // of `of`
  size_t classes;
} oc_random_law;

typedef struct oc_compare_input {
  oc_judge judge;
  int32_t type;        // element type of the result
  int32_t accumulate;  // the type the contract computes it in; `type` if none is named
  size_t count;
  const void *got;          // dense, as oc_number_get reads it; not read for count 0
  const void *expected;     // the same type
  const double *wide;       // expected before it was rounded to `type`; NULL: take `expected`
  const double *magnitude;  // dot: b = sum of |x w| per result
  double ulp;               // limits of the contract's tolerance, evaluated for the case
  double absolute;          // 0: none
  double k;                 // dot: products per result
  const double *deviation;  // conditioned: the oracle's own largest, per result
  double cap;               // conditioned: what 4 deviations may not exceed
  const double *lower;  // fused: the interval of each result; quantised, or NULL: of each tie
  const double *upper;
  bool unordered;  // index: the results of each line come in any order
  oc_line line;    // index
  struct {
    int32_t type;
    const void *data;  // NULL: unknown
    oc_line line;
  } named;                   // index: the tensor whose elements results name, along its lines
  const oc_random_law *law;  // random
  oc_special_rules special;
  bool exact;        // results must be equal whatever the judge (exact-integer fills)
  bool random_fill;  // dot: the bias of the errors is judged too
  bool trivial;      // no triviality guard
} oc_compare_input;

typedef enum oc_verdict { OC_MATCH, OC_MISMATCH, OC_UNTRUSTED } oc_verdict;

#define OC_COMPARE_TEXT 64

typedef struct oc_comparison {
  oc_verdict verdict;
  const char *metric;  // static: "equal", "ulp", "dot error", "conditioned error" …
  size_t wrong;        // elements outside the limit
  size_t worst;        // index of the largest error, or of the first wrong element
  double error;        // there, in units of the metric; infinity where classes differ
  double limit;
  char expected[OC_COMPARE_TEXT];  // the worst element, for people
  char got[OC_COMPARE_TEXT];
  const char *trivial;    // UNTRUSTED: what would pass too, static; else NULL
  const char *untrusted;  // UNTRUSTED for another reason, static; else NULL
} oc_comparison;

// Judges one output. OPS_ERROR_UNSUPPORTED: no such judge, or a type it cannot judge;
// OPS_ERROR_INVALID_ARGUMENT: a NULL where the judge needs an array;
// OPS_ERROR_OUT_OF_MEMORY: no room for the guard's candidates. A mismatch is no error.
int32_t oc_compare(const oc_compare_input *input, oc_comparison *out_comparison,
                   ops_error *error);

// The limit in ULP of `type` that `limit` ULP of the accumulation type allow:
// min(1 + limit * 2^(nf_out - nf_acc), 2^(nf_out / 2)) for a narrower type, else `limit`.
double oc_compare_ulp_limit(double limit, int32_t type, int32_t accumulate);

// For chains: the interval that the node's own judge allows each result. False: the judge knows
// none, or the results are no numbers of a floating type.
bool oc_compare_interval(const oc_compare_input *input, double *lower, double *upper);

// The deviations of the judge conditioned, from the oracle's plain values and several runs with
// intermediates rounded at random: `add` keeps the largest per result. `close`, called once
// after the last run, gives every result at least the upper quartile of those that move at all:
// a few runs may by chance all lie near the middle. Zeros, infinities and NaN that never move
// keep their 0. False: out of memory.
void oc_condition_add(double *deviation, const double *plain, const double *shaken,
                      size_t count);
bool oc_condition_close(double *deviation, const double *plain, size_t count);

#endif  // OC_COMPARE_COMPARE_H_

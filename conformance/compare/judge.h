// SPDX-License-Identifier: Apache-2.0
//
// Private to this folder: what a judge is. One judge per file, one table in compare.c.
#ifndef OC_COMPARE_JUDGE_H_
#define OC_COMPARE_JUDGE_H_

#include "compare/compare.h"

// Fills metric, wrong, worst, error and limit of a comparison that begins zeroed. An error of 0
// and no wrong element is a match.
typedef void (*oc_judge_fn)(const oc_compare_input *input, oc_comparison *out);

typedef struct oc_judge_row {
  oc_judge_fn judge;  // NULL: there is no such judge
  bool floating;      // judges floating types
  bool integer;       // judges integers and bool
  // What it needs besides, and its name for people; NULL: nothing.
  const void *(*needs)(const oc_compare_input *input);
  const char *needed;
  bool permutes;  // a permutation of right results is right
} oc_judge_row;

void oc_judge_exact(const oc_compare_input *input, oc_comparison *out);
void oc_judge_ulp(const oc_compare_input *input, oc_comparison *out);
void oc_judge_dot(const oc_compare_input *input, oc_comparison *out);
void oc_judge_quantised(const oc_compare_input *input, oc_comparison *out);
void oc_judge_index(const oc_compare_input *input, oc_comparison *out);
void oc_judge_decision(const oc_compare_input *input, oc_comparison *out);
void oc_judge_random(const oc_compare_input *input, oc_comparison *out);
void oc_judge_fused(const oc_compare_input *input, oc_comparison *out);
void oc_judge_conditioned(const oc_compare_input *input, oc_comparison *out);

// Takes the error of one element into account; one that is not a number counts as infinite.
void oc_judge_note(oc_comparison *out, size_t index, double error, double limit);

// What two judges allow a result to be off by, where the reference is finite.
double oc_judge_dot_allowed(const oc_compare_input *input, size_t index);
double oc_judge_conditioned_allowed(const oc_compare_input *input, size_t index);

// One unit in the last place of a finite value in `type`; below the smallest normal value that
// of the denormals.
double oc_judge_unit(int32_t type, double value);

// Classes before values. OC_SPECIAL_EQUAL and DIFFERENT are final; with OC_SPECIAL_VALUES both
// are ordered values (numbers or infinities) that a judge must compare.
typedef enum oc_special {
  OC_SPECIAL_EQUAL,
  OC_SPECIAL_DIFFERENT,
  OC_SPECIAL_VALUES
} oc_special;
oc_special oc_judge_classes(const oc_compare_input *input, uint64_t expected, uint64_t got);

#endif  // OC_COMPARE_JUDGE_H_

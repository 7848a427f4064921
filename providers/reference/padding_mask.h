// SPDX-License-Identifier: Apache-2.0
//
// The mask of com.microsoft Attention and MultiHeadAttention, int32 in one of seven forms. What
// it masks gets the attribute mask_filter_value (-10000) added to its score: nothing is
// forbidden for good, so a query all of whose keys are masked attends to them as if none were.
#ifndef REFERENCE_PADDING_MASK_H_
#define REFERENCE_PADDING_MASK_H_

#include "attend.h"

enum {
  REF_MASK_NONE,
  REF_MASK_LENGTHS,  // [batch]: keys per batch; [3 batch + 2]: the same, then places in a pack
  REF_MASK_RANGES,   // [2 batch]: ends (exclusive), then starts
  REF_MASK_KEYS,     // [batch, total]
  REF_MASK_FRESH,    // [batch, fresh], of the keys that are not past
  REF_MASK_UNIFORM,  // [batch or 1, 1]
  REF_MASK_SCORES,   // [batch, queries, total]
  REF_MASK_SQUARE    // [batch, 1, longest, longest], by positions
};
#define REF_MASK_BIT(form) (1u << (form))

typedef struct ref_mask_shape {
  int64_t batch, queries, past, fresh;  // keys: past + fresh
} ref_mask_shape;

typedef struct ref_mask {
  int32_t form;
  double filter;
} ref_mask;

// Finds the form of input `input`, one of `forms`; INVALID_ARGUMENT if it has none of them.
int32_t ref_mask_read(const ref_prepare *p, uint64_t input, const ref_mask_shape *shape,
                      uint32_t forms, ref_mask *out);

// What the mask adds to the score of query `i` and key `j`.
double ref_mask_at(const ref_mask *mask, const ref_view *view, const ref_mask_shape *shape,
                   int64_t b, int64_t i, int64_t j);

// ---- attention_bias ------------------------------------------------------------------------

// Refuses an input that is not [batch or 1, heads or 1, queries, total].
int32_t ref_score_bias_check(const ref_prepare *p, uint64_t input, int64_t batch, int64_t heads,
                             int64_t queries, int64_t total);
double ref_score_bias_at(const ref_view *view, int64_t b, int64_t h, int64_t i, int64_t j);

// ---- Both, as the core of attention takes them
// -------------------------------------------------

// The context of a ref_attend with the callbacks below.
typedef struct ref_masking {
  const ref_mask *mask;
  const ref_mask_shape *shape;
  int32_t causal;              // query i attends to keys up to past + i
  const ref_view *mask_view;   // NULL with REF_MASK_NONE
  const ref_view *score_bias;  // NULL: none
  const ref_view *scores;  // output [batch, heads, queries, total] before softmax; NULL: none
} ref_masking;

int ref_masking_bias(const ref_attend *attend, int64_t b, int64_t h, int64_t i, double *bias);
void ref_masking_show(const ref_attend *attend, int32_t stage, int64_t b, int64_t h, int64_t i,
                      const double *scores, const double *bias);

#endif  // REFERENCE_PADDING_MASK_H_

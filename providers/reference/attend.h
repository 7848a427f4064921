// SPDX-License-Identifier: Apache-2.0
//
// The core that the attention operators of all domains share: for every query of every head
//   y = softmax(cap(scale * q k') + bias) v
// All scores of a query are kept, in double. What differs between operators (masks, caches,
// what is shown of the scores) comes in through two callbacks.
#ifndef REFERENCE_ATTEND_H_
#define REFERENCE_ATTEND_H_

#include "kernel.h"

// Stages of the scores of a query, in order.
enum { REF_SCORES_RAW, REF_SCORES_CAPPED, REF_SCORES_BIASED, REF_SCORES_SOFTMAX };

typedef struct ref_attend {
  int64_t batch, heads, kv_heads;  // kv_heads divides heads; each serves heads / kv_heads
  int64_t length, total;           // queries, keys
  int64_t size, v_size;            // numbers of a head
  double scale;
  double softcap;      // 0: none
  ref_view q, y;       // [batch, heads, length, size], [batch, heads, length, v_size]
  const double *k;     // [batch, kv_heads, total, size], dense
  const double *v;     // [batch, kv_heads, total, v_size], dense
  const double *sink;  // [heads]: one more score, whose share is dropped; NULL: none
  double *rows;        // workspace of batch * heads * ref_attend_room(…)
  // Fills the bias of a query, minus infinity where a key may not be attended to; returns
  // whether any may. If none may, y is 0.
  int (*bias)(const struct ref_attend *attend, int64_t b, int64_t h, int64_t i, double *bias);
  // Optional: is given the scores after each stage.
  void (*show)(const struct ref_attend *attend, int32_t stage, int64_t b, int64_t h, int64_t i,
               const double *scores, const double *bias);
  const void *context;  // of the callbacks
  ref_noise noise;      // set by ref_attend_run
} ref_attend;

// Doubles that one head of one batch works in.
int64_t ref_attend_room(int64_t size, int64_t v_size, int64_t total);

// Reserves the workspace for `rows`; returns where it starts. Without queries it is empty.
uint64_t ref_attend_reserve(ref_prepare *p, int64_t batch, int64_t heads, int64_t length,
                            int64_t size, int64_t v_size, int64_t total);

void ref_attend_run(const ref_run *run, const ref_attend *attend);

// ---- Heads ---------------------------------------------------------------------------------

// [batch, length, heads * size] seen as [batch, heads, length, size]; a view of rank 4 is
// returned as it is.
ref_view ref_heads_of(const ref_view *view, int64_t heads);

// A dense array of doubles as such a view.
ref_view ref_heads_dense(const double *data, int64_t batch, int64_t heads, int64_t length,
                         int64_t size);

// Copies the first `length` positions of a [batch, heads, …, size] view to positions
// [at, at + length) of a dense [batch, heads, total, size]. `bias` [heads, size], if not NULL,
// is added.
void ref_heads_load(const ref_view *from, int64_t length, const double *bias, double *to,
                    int64_t total, int64_t at);

// Copies positions [at, at + length) of a dense [batch, heads, total, size] to the same ones of
// a view [batch, heads, …, size].
void ref_heads_store(const double *from, int64_t total, int64_t at, int64_t length,
                     const ref_view *to);

// A cache after a step: `past`, if not NULL, with positions [at, at + length) of the dense
// [batch, heads, total, size] written after it or, where it has room, into it.
int32_t ref_present_store(const ref_view *past, const double *from, int64_t total, int64_t at,
                          int64_t length, const ref_view *present, ops_error *error);

#endif  // REFERENCE_ATTEND_H_

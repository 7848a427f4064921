// SPDX-License-Identifier: Apache-2.0
//
// Each head of each batch is one work item: it walks its queries one by one, with all scores of
// a query in its own row of the workspace. Softmax subtracts the largest score first.
#include "attend.h"

#include <math.h>
#include <string.h>

#include "traverse.h"

int64_t ref_attend_room(int64_t size, int64_t v_size, int64_t total) {
  return size + 2 * total + v_size;
}

uint64_t ref_attend_reserve(ref_prepare *p, int64_t batch, int64_t heads, int64_t length,
                            int64_t size, int64_t v_size, int64_t total) {
  const int64_t rows[4] = {batch, heads, length > 0, ref_attend_room(size, v_size, total)};
  return ref_reserve_reals(p, ref_count(rows, 4));
}

static void softmax(ref_noise *noise, double *row, int64_t n, int any, const double *sink) {
  double high = sink != NULL ? *sink : -INFINITY, sum = 0;
  for (int64_t j = 0; j < n; ++j)
    if (row[j] > high || isnan(row[j])) high = row[j];
  int empty = !any || high == -INFINITY;
  for (int64_t j = 0; j < n; ++j) {
    row[j] = empty ? 0 : ref_noisy(noise, exp(ref_noisy(noise, row[j] - high)));
    sum = ref_noisy(noise, sum + row[j]);
  }
  if (sink != NULL) sum = ref_noisy(noise, sum + exp(*sink - high));
  for (int64_t j = 0; !empty && j < n; ++j) row[j] = ref_noisy(noise, row[j] / sum);
}

static void score(const ref_attend *a, ref_noise *noise, const double *query, const double *k,
                  double *row) {
  for (int64_t j = 0; j < a->total; ++j) {
    double sum = 0;
    for (int64_t d = 0; d < a->size; ++d)
      sum = ref_noisy(noise, sum + ref_noisy(noise, query[d] * k[j * a->size + d]));
    row[j] = ref_noisy(noise, sum * a->scale);
  }
}

static void show(const ref_attend *a, int32_t stage, int64_t b, int64_t h, int64_t i,
                 const double *row, const double *bias) {
  if (a->show != NULL) a->show(a, stage, b, h, i, row, bias);
}

static int64_t offset_of(const ref_view *view, int64_t b, int64_t h, int64_t i) {
  return b * view->strides[0] + h * view->strides[1] + i * view->strides[2];
}

static void run_query(const ref_attend *a, ref_noise *noise, int64_t b, int64_t h, int64_t i,
                      double *scratch) {
  int64_t kv = b * a->kv_heads + h / (a->heads / a->kv_heads);
  const double *v = a->v + kv * a->total * a->v_size;
  double *query = scratch, *row = query + a->size, *bias = row + a->total;
  double *out = bias + a->total;
  ref_load(&a->q, offset_of(&a->q, b, h, i), a->q.strides[3], a->size, query);
  score(a, noise, query, a->k + kv * a->total * a->size, row);
  int any = a->bias(a, b, h, i, bias);
  show(a, REF_SCORES_RAW, b, h, i, row, bias);
  for (int64_t j = 0; a->softcap > 0 && j < a->total; ++j)
    row[j] = ref_noisy(noise, a->softcap * ref_noisy(noise, tanh(row[j] / a->softcap)));
  show(a, REF_SCORES_CAPPED, b, h, i, row, bias);
  for (int64_t j = 0; j < a->total; ++j) row[j] = ref_noisy(noise, row[j] + bias[j]);
  show(a, REF_SCORES_BIASED, b, h, i, row, bias);
  softmax(noise, row, a->total, any, a->sink != NULL ? a->sink + h : NULL);
  show(a, REF_SCORES_SOFTMAX, b, h, i, row, bias);
  memset(out, 0, sizeof(double) * (size_t)a->v_size);
  for (int64_t j = 0; j < a->total; ++j)
    for (int64_t d = 0; d < a->v_size; ++d)
      out[d] = ref_noisy(noise, out[d] + ref_noisy(noise, row[j] * v[j * a->v_size + d]));
  ref_store(&a->y, offset_of(&a->y, b, h, i), a->y.strides[3], a->v_size, out);
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  const ref_attend *a = context;
  int64_t room = ref_attend_room(a->size, a->v_size, a->total);
  for (int64_t item = begin; item < end; ++item) {
    ref_noise noise = ref_noise_of(&a->noise, (uint64_t)item);
    for (int64_t i = 0; i < a->length; ++i)
      run_query(a, &noise, item / a->heads, item % a->heads, i, a->rows + item * room);
  }
}

void ref_attend_run(const ref_run *run, const ref_attend *attend) {
  ref_attend noisy = *attend;
  noisy.noise = *ref_noise_in(run);
  ref_parallel(run, attend->batch * attend->heads, 1, body, &noisy);
}

// ---- Heads ---------------------------------------------------------------------------------

ref_view ref_heads_of(const ref_view *view, int64_t heads) {
  ref_view out = *view;
  if (view->rank == 4) return out;
  out.rank = 4;
  out.dims[1] = heads;
  out.dims[2] = view->dims[1];
  out.dims[3] = view->dims[2] / heads;
  out.strides[1] = view->strides[2] * out.dims[3];
  out.strides[2] = view->strides[1];
  out.strides[3] = view->strides[2];
  return out;
}

ref_view ref_heads_dense(const double *data, int64_t batch, int64_t heads, int64_t length,
                         int64_t size) {
  ref_view view;
  ref_view_of(&view, (void *)data, OPS_TYPE_DOUBLE, 4,
              (const int64_t[]){batch, heads, length, size});
  return view;
}

void ref_heads_load(const ref_view *from, int64_t length, const double *bias, double *to,
                    int64_t total, int64_t at) {
  int64_t size = from->dims[3];
  if (length == 0 || size == 0) return;
  for (int64_t b = 0; b < from->dims[0]; ++b)
    for (int64_t h = 0; h < from->dims[1]; ++h)
      for (int64_t j = 0; j < length; ++j) {
        double *row = to + ((b * from->dims[1] + h) * total + at + j) * size;
        ref_load(from, offset_of(from, b, h, j), from->strides[3], size, row);
        for (int64_t d = 0; bias != NULL && d < size; ++d) row[d] += bias[h * size + d];
      }
}

void ref_heads_store(const double *from, int64_t total, int64_t at, int64_t length,
                     const ref_view *to) {
  int64_t size = to->dims[3];
  if (length == 0 || size == 0) return;
  for (int64_t b = 0; b < to->dims[0]; ++b)
    for (int64_t h = 0; h < to->dims[1]; ++h)
      for (int64_t j = at; j < at + length; ++j)
        ref_store(to, offset_of(to, b, h, j), to->strides[3], size,
                  from + ((b * to->dims[1] + h) * total + j) * size);
}

int32_t ref_present_store(const ref_view *past, const double *from, int64_t total, int64_t at,
                          int64_t length, const ref_view *present, ops_error *error) {
  if (past != NULL)
    RETURN_IF_ERROR(ref_move_block((ref_block){present, 0, present->strides},
                                   (ref_block){past, 0, past->strides}, 4, past->dims, error));
  ref_heads_store(from, total, at, length, present);
  return OPS_OK;
}

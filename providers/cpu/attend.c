// SPDX-License-Identifier: Apache-2.0
//
// Blocks of queries are the items that workers share. See attend.h.
#include "attend.h"

#include <math.h>
#include <ops_support/checked.h>
#include <string.h>

#include "vec.h"

#define QUERIES 128
#define KEYS 256  // but one query meets all keys at once
#define LINE 64

static int64_t min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t keys_at_once(const cpu_attend *own) {
  return own->length == 1 ? own->total : min(own->total, KEYS);
}

// A worker's memory.
typedef struct scratch {
  float *scores;         // [queries, keys]
  float *packed;         // a panel of keys, or of values
  float *mask;           // a row of a mask of bool, as what is added
  float *largest, *sum;  // for each query: of the scores so far, of the weights so far
} scratch;

// Floats of each part, every one a multiple of a line.
static int64_t lay_out(const ops_device *device, const cpu_attend *own, float *base,
                       scratch *out) {
  const int64_t queries = min(own->length, QUERIES), keys = keys_at_once(own);
  const int64_t depth = own->size > keys ? own->size : keys;
  const int64_t sizes[5] = {queries * keys, depth * device->vec->panel, keys, queries, queries};
  float **const parts[5] = {&out->scores, &out->packed, &out->mask, &out->largest, &out->sum};
  const int64_t line = LINE / (int64_t)sizeof(float);
  int64_t used = 0;
  for (int i = 0; i < 5; ++i) {
    *parts[i] = base ? base + used : NULL;
    used += (sizes[i] + line - 1) / line * line;
  }
  return used;
}

int32_t cpu_attend_workspace(const ops_device *device, const cpu_attend *own,
                             uint64_t *out_size, ops_error *error) {
  scratch ignored;
  *out_size = 0;
  if (own->batch * own->heads * own->length * own->v_size == 0) return OPS_OK;
  const uint64_t bytes = (uint64_t)lay_out(device, own, NULL, &ignored) * sizeof(float);
  if (!ops_checked_mul(bytes, (uint64_t)cpu_workers(device), out_size))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: workspace too large");
  return OPS_OK;
}

typedef struct run {
  const ops_device *device;
  const cpu_vec *vec;
  const cpu_attend *own;
  const cpu_attend_args *args;
  int64_t blocks;  // of queries
} run;

// One block of queries of one head.
typedef struct block {
  int64_t batch, head;
  int64_t first, count;   // queries
  int64_t valid, before;  // keys there are, and before that of query 0 of the head
  const float *q, *k, *v;
  float *y;
} block;

static block find_block(const run *run, int64_t item) {
  const cpu_attend *own = run->own;
  const cpu_attend_args *args = run->args;
  block at = {.first = item % run->blocks * QUERIES};
  at.count = min(own->length - at.first, QUERIES);
  at.head = item / run->blocks % own->heads;
  at.batch = item / run->blocks / own->heads;
  at.valid = args->valid ? args->valid[at.batch] : own->total;
  at.before = args->valid ? at.valid - own->length : own->before;
  const int64_t kv_head = at.head / (own->heads / own->kv_heads);
  at.q = args->q + at.batch * own->q_heads.batch + at.head * own->q_heads.head +
         at.first * own->q_heads.position;
  at.k = args->k + at.batch * own->k_heads.batch + kv_head * own->k_heads.head;
  at.v = args->v + at.batch * own->v_heads.batch + kv_head * own->v_heads.head;
  at.y = args->y + at.batch * own->y_heads.batch + at.head * own->y_heads.head +
         at.first * own->y_heads.position;
  return at;
}

// Query `row` of the block sees at most keys [first, end).
static int64_t end_of(const run *run, const block *at, int64_t row) {
  int64_t end = at->valid;
  if (run->args->mask) end = min(end, run->own->mask_length);
  if (run->own->right >= 0)
    end = min(end, at->first + row + at->before + min(run->own->right, run->own->total) + 1);
  return end < 0 ? 0 : end;
}

static int64_t first_of(const run *run, const block *at, int64_t row) {
  const int64_t left = run->own->left;
  const int64_t first = left < 0 ? 0 : at->first + row + at->before - min(left, INT32_MAX);
  return first < 0 ? 0 : first;
}

// ---- Products -------------------------------------------------------------------------------

// scores[count, keys] = Q times the transposed keys [begin, begin + keys).
static void multiply_keys(const run *run, const block *at, int64_t begin, int64_t keys,
                          const scratch *s) {
  const cpu_attend *own = run->own;
  const int64_t row = own->k_heads.position, width = run->vec->panel;
  const float *k = at->k + begin * row;
  if (at->count == 1) {
    run->vec->row_times_transposed(at->q, k, row, s->scores, own->size, keys);
    return;
  }
  for (int64_t c = 0; c < keys; c += width) {
    const int64_t columns = min(keys - c, width);
    const int64_t packed_row = cpu_vec_block_row(run->vec, columns);
    if (columns < packed_row)
      memset(s->packed, 0, (size_t)(own->size * packed_row) * sizeof *s->packed);
    run->vec->transpose(k + c * row, row, s->packed, packed_row, columns, own->size);
    run->vec->multiply_block(&(cpu_vec_block){.a = at->q,
                                              .a_row = own->q_heads.position,
                                              .packed = s->packed,
                                              .y = s->scores + c,
                                              .y_row = keys,
                                              .rows = at->count,
                                              .depth = own->size,
                                              .columns = columns});
  }
}

// Y[count, v_size] = weights[count, keys] times values, added to what is there but for the
// first.
static void multiply_values(const run *run, const block *at, int64_t begin, int64_t keys,
                            const scratch *s) {
  const cpu_attend *own = run->own;
  const int64_t row = own->v_heads.position, width = run->vec->panel;
  const float *v = at->v + begin * row;
  if (at->count == 1 && begin == 0) {
    run->vec->row_times(s->scores, v, row, at->y, keys, own->v_size);
    return;
  }
  for (int64_t c = 0; c < own->v_size; c += width) {
    const int64_t columns = min(own->v_size - c, width);
    if (columns < width) run->vec->pack(v + c, row, s->packed, keys, columns);
    run->vec->multiply_block(&(cpu_vec_block){.a = s->scores,
                                              .a_row = keys,
                                              .packed = s->packed,
                                              .unpacked = columns < width ? NULL : v + c,
                                              .b_row = row,
                                              .y = at->y + c,
                                              .y_row = own->y_heads.position,
                                              .rows = at->count,
                                              .depth = keys,
                                              .columns = columns,
                                              .adds = begin > 0});
  }
}

// ---- Softmax --------------------------------------------------------------------------------

// What is added to the scores of `count` keys from `begin` on; NULL: nothing.
static const float *find_mask(const run *run, const block *at, int64_t row, int64_t begin,
                              int64_t count, const scratch *s) {
  const cpu_attend *own = run->own;
  if (!run->args->mask) return NULL;
  const int64_t offset = at->batch * own->mask_strides[0] + at->head * own->mask_strides[1] +
                         (at->first + row) * own->mask_strides[2] + begin;
  if (own->mask_type == OPS_TYPE_FLOAT) return (const float *)run->args->mask + offset;
  const uint8_t *seen = (const uint8_t *)run->args->mask + offset;
  for (int64_t i = 0; i < count; ++i) s->mask[i] = seen[i] ? 0.0f : -INFINITY;
  return s->mask;
}

static void cap_scores(const run *run, float *score, int64_t count) {
  const float cap = run->own->softcap, scale = run->own->scale / cap, unused[2] = {0};
  run->vec->mask_scores(score, NULL, scale, count);
  run->vec->unary[CPU_UNARY_tanh](score, score, count, unused);
}

// Scores of one query become weights relative to the largest score so far; what was summed
// with an earlier largest is scaled to the new one.
static void weigh_row(const run *run, const block *at, int64_t row, int64_t begin, int64_t keys,
                      const scratch *s) {
  const cpu_attend *own = run->own;
  const int64_t end = min(end_of(run, at, row) - begin, keys);
  const int64_t first = min(first_of(run, at, row) - begin, keys);
  const int64_t skipped = first < 0 ? 0 : first, count = end > skipped ? end - skipped : 0;
  float *all = s->scores + row * keys, *score = all + skipped;
  float scale = own->scale, old = begin ? s->largest[row] : -INFINITY;
  if (own->softcap != 0) {
    cap_scores(run, score, count);
    scale = own->softcap;
  }
  const float *mask = find_mask(run, at, row, begin + skipped, count, s);
  const float found = run->vec->mask_scores(score, mask, scale, count);
  const float largest = found > old ? found : old;
  const int is_blind = largest == -INFINITY;
  const float kept = is_blind ? 0.0f : run->vec->exp_scores(&old, 1, largest);
  const float sum = is_blind ? 0.0f : run->vec->exp_scores(score, count, largest);
  const int64_t seen = is_blind ? 0 : skipped + count;
  memset(all, 0, (size_t)skipped * sizeof *all);
  memset(all + seen, 0, (size_t)(keys - seen) * sizeof *all);
  s->sum[row] = begin ? s->sum[row] * kept + sum : sum;
  s->largest[row] = largest;
  if (begin && kept != 1.0f)
    run->vec->mask_scores(at->y + row * own->y_heads.position, NULL, kept, own->v_size);
}

static void finish_row(const run *run, const block *at, int64_t row, const scratch *s) {
  const float factor = s->sum[row] == 0 ? 0.0f : 1.0f / s->sum[row];
  run->vec->mask_scores(at->y + row * run->own->y_heads.position, NULL, factor,
                        run->own->v_size);
}

static void run_block(const run *run, int64_t item, const scratch *s) {
  const block at = find_block(run, item);
  const int64_t step = keys_at_once(run->own);
  // The last query sees most.
  const int64_t seen = end_of(run, &at, at.count - 1);
  int64_t begin = 0;
  do {  // once also if no key is seen: Y is written
    const int64_t keys = min(seen - begin, step);
    multiply_keys(run, &at, begin, keys, s);
    for (int64_t row = 0; row < at.count; ++row) weigh_row(run, &at, row, begin, keys, s);
    multiply_values(run, &at, begin, keys, s);
    begin += step;
  } while (begin < seen);
  for (int64_t row = 0; row < at.count; ++row) finish_row(run, &at, row, s);
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  scratch s;
  const int64_t size = lay_out(run->device, run->own, NULL, &s);
  lay_out(run->device, run->own, (float *)run->args->workspace + worker * size, &s);
  for (int64_t item = begin; item < end; ++item) run_block(run, item, &s);
}

void cpu_attend_run(const ops_device *device, const cpu_attend *own,
                    const cpu_attend_args *args) {
  run run = {device, device->vec, own, args, (own->length + QUERIES - 1) / QUERIES};
  const int64_t products = min(own->length, QUERIES) * own->total * (own->size + own->v_size);
  if (own->v_size == 0) return;
  cpu_parallel(device, own->batch * own->heads * run.blocks, cpu_grain(products / 16),
               run_range, &run);
}

// SPDX-License-Identifier: Apache-2.0
//
// com.microsoft EmbedLayerNormalization: rows of tables for words, positions and segments are
// added and normalised over the last dimension. Without position_ids a word's position is its
// place. mask_index counts the ones of a row of the mask: where the first 0 is, if the padding
// is on the right.
#include <string.h>

#include "dense.h"
#include "microsoft_operators.h"
#include "norm.h"

enum { IDS, SEGMENT_IDS, WORDS, POSITIONS, SEGMENTS, GAMMA, BETA, MASK, POSITION_IDS };
enum { OUTPUT, MASK_INDEX, SUM };

typedef struct embed_state {
  int64_t batch, length, size;
  double epsilon;
  uint64_t sum_at, row_at;
} embed_state;

static int32_t check_table(const ref_prepare *p, uint64_t input, const embed_state *s) {
  if (!ref_has(p, input)) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, input, 2, 2));
  if (p->inputs[input].dims[1] == s->size) return OPS_OK;
  return ref_refuse(p, "input %s: expected %lld columns, as word_embedding has, found %lld",
                    ref_input_name(p->kernel, input), (long long)s->size,
                    (long long)p->inputs[input].dims[1]);
}

static int32_t check_vector(const ref_prepare *p, uint64_t input, const embed_state *s) {
  RETURN_IF_ERROR(ref_need_rank(p, input, 1, 1));
  if (p->inputs[input].dims[0] == s->size) return OPS_OK;
  return ref_refuse(p, "input %s: expected %lld elements, found %lld",
                    ref_input_name(p->kernel, input), (long long)s->size,
                    (long long)p->inputs[input].dims[0]);
}

// Numbers by word: [batch, length], or [1, length] where `shared`.
static int32_t check_ids(const ref_prepare *p, uint64_t input, const embed_state *s,
                         int shared) {
  if (!ref_has(p, input)) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, input, 2, 2));
  const int64_t *dims = p->inputs[input].dims;
  if ((dims[0] == s->batch || (shared && dims[0] == 1)) && dims[1] == s->length) return OPS_OK;
  return ref_refuse(p, "input %s: expected the shape [%lld, %lld], found [%lld, %lld]",
                    ref_input_name(p->kernel, input), (long long)s->batch, (long long)s->length,
                    (long long)dims[0], (long long)dims[1]);
}

static int32_t prepare(ref_prepare *p) {
  embed_state *s = p->state;
  RETURN_IF_ERROR(ref_need_rank(p, IDS, 2, 2));
  RETURN_IF_ERROR(ref_need_rank(p, WORDS, 2, 2));
  s->batch = p->inputs[IDS].dims[0];
  s->length = p->inputs[IDS].dims[1];
  s->size = p->inputs[WORDS].dims[1];
  s->epsilon = ref_attr_float(p->kernel, "epsilon", 1e-12f);
  if (ref_has(p, SEGMENT_IDS) != ref_has(p, SEGMENTS))
    return ref_refuse(
        p, "inputs segment_ids and segment_embedding: one is given without the other");
  RETURN_IF_ERROR(check_ids(p, SEGMENT_IDS, s, 0));
  RETURN_IF_ERROR(check_ids(p, MASK, s, 0));
  RETURN_IF_ERROR(check_ids(p, POSITION_IDS, s, 1));
  RETURN_IF_ERROR(check_table(p, POSITIONS, s));
  RETURN_IF_ERROR(check_table(p, SEGMENTS, s));
  RETURN_IF_ERROR(check_vector(p, GAMMA, s));
  RETURN_IF_ERROR(check_vector(p, BETA, s));
  if (!ref_has(p, POSITION_IDS) && p->inputs[POSITIONS].dims[0] < s->length)
    return ref_refuse(p, "input position_embedding: expected at least %lld rows, found %lld",
                      (long long)s->length, (long long)p->inputs[POSITIONS].dims[0]);
  int64_t dims[3] = {s->batch, s->length, s->size};
  s->sum_at = ref_reserve_reals(p, ref_count(dims, 3));
  s->row_at = ref_reserve_reals(p, s->size);
  RETURN_IF_ERROR(ref_set_shape(p, MASK_INDEX, 1, dims));
  RETURN_IF_ERROR(ref_set_shape(p, SUM, 3, dims));
  return ref_set_shape(p, OUTPUT, 3, dims);
}

static int64_t id_at(const ref_view *ids, int64_t b, int64_t i) {
  return ref_int_at(ids, (ids->dims[0] == 1 ? 0 : b * ids->strides[0]) + i * ids->strides[1]);
}

static int32_t check_rows(const ref_run *run, uint64_t ids, uint64_t table) {
  const ref_view *view = &run->inputs[ids];
  if (!ref_given(run, ids)) return OPS_OK;
  for (int64_t i = 0; i < view->count; ++i) {
    int64_t row = ref_int_at(view, ref_offset_of(view, i)), rows = run->inputs[table].dims[0];
    if (row < 0 || row >= rows)
      return ref_refuse(run, "input %s: element %lld is %lld, expected a row of %s, 0 to %lld",
                        ref_input_name(run->kernel, ids), (long long)i, (long long)row,
                        ref_input_name(run->kernel, table), (long long)rows - 1);
  }
  return OPS_OK;
}

static void add_row(const ref_run *run, uint64_t table, int64_t row, double *sum) {
  const embed_state *s = run->state;
  const ref_view *view = &run->inputs[table];
  double *numbers = ref_reals(run, s->row_at);
  ref_load(view, row * view->strides[0], view->strides[1], s->size, numbers);
  for (int64_t d = 0; d < s->size; ++d) sum[d] += numbers[d];
}

static void add_rows(const ref_run *run, double *sum) {
  const embed_state *s = run->state;
  const ref_view *in = run->inputs;
  memset(sum, 0, sizeof(double) * (size_t)(s->batch * s->length * s->size));
  for (int64_t b = 0; b < s->batch; ++b)
    for (int64_t i = 0; i < s->length; ++i, sum += s->size) {
      add_row(run, WORDS, id_at(&in[IDS], b, i), sum);
      add_row(run, POSITIONS, ref_given(run, POSITION_IDS) ? id_at(&in[POSITION_IDS], b, i) : i,
              sum);
      if (ref_given(run, SEGMENTS)) add_row(run, SEGMENTS, id_at(&in[SEGMENT_IDS], b, i), sum);
    }
}

static void count_words(const ref_run *run) {
  const embed_state *s = run->state;
  const ref_view *out = &run->outputs[MASK_INDEX];
  for (int64_t b = 0; b < s->batch; ++b) {
    int64_t count = 0;
    for (int64_t i = 0; ref_given(run, MASK) && i < s->length; ++i)
      count += id_at(&run->inputs[MASK], b, i) == 1;
    ref_store_int(out, b * out->strides[0], 1, 1, &count);
  }
}

static int32_t execute(ref_run *run) {
  const embed_state *s = run->state;
  ref_view sum;
  RETURN_IF_ERROR(check_rows(run, IDS, WORDS));
  RETURN_IF_ERROR(check_rows(run, POSITION_IDS, POSITIONS));
  RETURN_IF_ERROR(check_rows(run, SEGMENT_IDS, SEGMENTS));
  if (ref_wanted(run, MASK_INDEX)) count_words(run);
  if (run->outputs[OUTPUT].count == 0) return OPS_OK;
  ref_view_of(&sum, ref_reals(run, s->sum_at), OPS_TYPE_DOUBLE, 3, run->outputs[OUTPUT].dims);
  add_rows(run, sum.data);
  if (ref_wanted(run, SUM)) ref_write_reals(&run->outputs[SUM], sum.data);
  ref_norm norm = {.rank = 3, .lead = 2, .center = 1, .epsilon = s->epsilon};
  memcpy(norm.dims, sum.dims, sizeof norm.dims);
  ref_norm_set(&norm.x, &sum, 3);
  ref_norm_set(&norm.y, &run->outputs[OUTPUT], 3);
  ref_norm_set(&norm.scale, &run->inputs[GAMMA], 3);
  ref_norm_set(&norm.bias, &run->inputs[BETA], 3);
  ref_norm_run(run, &norm);
  return OPS_OK;
}

const ref_op ref_embed_layer_norm = {sizeof(embed_state), prepare, execute, NULL, NULL};

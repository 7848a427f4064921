// SPDX-License-Identifier: Apache-2.0
//
// ReverseSequence: the first sequence_lens[b] positions of each sequence in reverse order.
// TensorScatter: an update written into a cache along one axis, from an index per batch entry.
#include "operators.h"
#include "traverse.h"

// ---- ReverseSequence
// -------------------------------------------------------------------------

typedef struct reverse_state {
  int32_t batch_axis, time_axis;
} reverse_state;

static int32_t prepare_reverse(ref_prepare *p) {
  reverse_state *s = p->state;
  int64_t batch = ref_attr_int(p->kernel, "batch_axis", 1);
  int64_t time = ref_attr_int(p->kernel, "time_axis", 0);
  RETURN_IF_ERROR(ref_need_rank(p, 0, 2, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, 1, 1, 1));
  if (batch < 0 || batch > 1 || time != 1 - batch)
    return ref_refuse(p,
                      "attributes batch_axis and time_axis: expected 0 and 1 or 1 and 0, "
                      "found %lld and %lld",
                      (long long)batch, (long long)time);
  s->batch_axis = (int32_t)batch;
  s->time_axis = (int32_t)time;
  if (p->inputs[1].dims[0] != p->inputs[0].dims[batch])
    return ref_refuse(p, "input sequence_lens: expected %lld numbers, found %lld",
                      (long long)p->inputs[0].dims[batch], (long long)p->inputs[1].dims[0]);
  return ref_same_shape(p, 0, 0);
}

static int32_t execute_reverse(ref_run *run) {
  const reverse_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0], *lengths = &run->inputs[1];
  int64_t steps = x->dims[s->time_axis];
  for (int64_t b = 0; b < lengths->count; ++b) {
    int64_t length = ref_int_at(lengths, b * lengths->strides[0]);
    if (length < 0 || length > steps)
      return ref_refuse(run, "input sequence_lens: element %lld is %lld, expected 0 to %lld",
                        (long long)b, (long long)length, (long long)steps);
  }
  if (x->count == 0) return OPS_OK;
  for (int64_t b = 0; b < x->dims[s->batch_axis]; ++b) {
    int64_t length = ref_int_at(lengths, b * lengths->strides[0]);
    for (int64_t t = 0; t < steps; ++t) {
      int64_t source = t < length ? length - 1 - t : t;
      int64_t to = b * y->strides[s->batch_axis] + t * y->strides[s->time_axis];
      int64_t from = b * x->strides[s->batch_axis] + source * x->strides[s->time_axis];
      RETURN_IF_ERROR(ref_move_block((ref_block){y, to, y->strides + 2},
                                     (ref_block){x, from, x->strides + 2}, x->rank - 2,
                                     x->dims + 2, run->error));
    }
  }
  return OPS_OK;
}

const ref_op ref_reverse_sequence = {sizeof(reverse_state), prepare_reverse, execute_reverse,
                                     NULL, NULL};

// ---- TensorScatter
// ---------------------------------------------------------------------------

enum { CACHE, UPDATE, INDICES };

typedef struct scatter_state {
  int32_t axis;
  int32_t circular;
} scatter_state;

static int32_t prepare_scatter(ref_prepare *p) {
  scatter_state *s = p->state;
  const ref_shape *cache = &p->inputs[CACHE], *update = &p->inputs[UPDATE];
  RETURN_IF_ERROR(ref_need_rank(p, CACHE, 2, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, UPDATE, cache->rank, cache->rank));
  RETURN_IF_ERROR(ref_axis(p, ref_attr_int(p->kernel, "axis", -2), cache->rank, &s->axis));
  if (s->axis == 0) return ref_refuse(p, "attribute axis: 0 is the batch dimension");
  s->circular = ref_attr_is(p->kernel, "mode", "circular", "linear");
  if (!s->circular && !ref_attr_is(p->kernel, "mode", "linear", "linear"))
    return ref_refuse(p, "attribute mode: expected linear or circular");
  for (int32_t i = 0; i < cache->rank; ++i)
    if (i == s->axis ? update->dims[i] > cache->dims[i] : update->dims[i] != cache->dims[i])
      return ref_refuse(p, "input update: dimension %d is %lld, expected %s%lld", i,
                        (long long)update->dims[i], i == s->axis ? "at most " : "",
                        (long long)cache->dims[i]);
  if (ref_has(p, INDICES) &&
      (p->inputs[INDICES].rank != 1 || p->inputs[INDICES].dims[0] != cache->dims[0]))
    return ref_refuse(p, "input write_indices: expected the shape [%lld]",
                      (long long)cache->dims[0]);
  return ref_same_shape(p, 0, CACHE);
}

static int64_t write_index(const ref_run *run, int64_t b) {
  if (!ref_given(run, INDICES)) return 0;
  return ref_int_at(&run->inputs[INDICES], b * run->inputs[INDICES].strides[0]);
}

static int32_t check_indices(const ref_run *run) {
  const scatter_state *s = run->state;
  const ref_view *cache = &run->inputs[CACHE], *update = &run->inputs[UPDATE];
  int64_t most = cache->dims[s->axis] - (s->circular ? 1 : update->dims[s->axis]);
  for (int64_t b = 0; ref_given(run, INDICES) && b < cache->dims[0]; ++b) {
    int64_t index = write_index(run, b);
    if (index < 0 || (!s->circular && index > most))
      return ref_refuse(run, "input write_indices: element %lld is %lld, expected 0 to %lld",
                        (long long)b, (long long)index, (long long)most);
  }
  return OPS_OK;
}

static int32_t execute_scatter(ref_run *run) {
  const scatter_state *s = run->state;
  const ref_view *cache = &run->inputs[CACHE], *update = &run->inputs[UPDATE];
  const ref_view *y = &run->outputs[0];
  RETURN_IF_ERROR(check_indices(run));
  RETURN_IF_ERROR(ref_copy_elements(run, cache, y));
  if (update->count == 0) return OPS_OK;
  int64_t dims[OPS_MAX_RANK], size = cache->dims[s->axis];
  for (int32_t i = 0; i < cache->rank; ++i) dims[i] = i == s->axis ? 1 : cache->dims[i];
  for (int64_t b = 0; b < cache->dims[0]; ++b)
    for (int64_t i = 0; i < update->dims[s->axis]; ++i) {
      int64_t at = (write_index(run, b) % size + i) % size;
      ref_block to = {y, b * y->strides[0] + at * y->strides[s->axis], y->strides + 1};
      ref_block from = {update, b * update->strides[0] + i * update->strides[s->axis],
                        update->strides + 1};
      RETURN_IF_ERROR(ref_move_block(to, from, cache->rank - 1, dims + 1, run->error));
    }
  return OPS_OK;
}

const ref_op ref_tensor_scatter = {sizeof(scatter_state), prepare_scatter, execute_scatter,
                                   NULL, NULL};

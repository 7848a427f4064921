// SPDX-License-Identifier: Apache-2.0
//
// MaxUnpool: the elements of X at their places in zeros. Indices count through the shape that
// kernel, strides and pads give; a larger output_shape has that shape in its leading corner.
#include "dense.h"
#include "operators.h"
#include "window.h"

typedef struct unpool_state {
  int64_t inner[OPS_MAX_RANK];
} unpool_state;

static int32_t read_output_shape(ref_prepare *p, const unpool_state *s) {
  int64_t dims[OPS_MAX_RANK], count;
  RETURN_IF_ERROR(ref_contents(p, 2, dims, OPS_MAX_RANK, &count));
  int32_t rank = p->inputs[0].rank;
  if (count != rank)
    return ref_refuse(p, "input output_shape: expected %d numbers, found %lld", rank,
                      (long long)count);
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] < s->inner[i])
      return ref_refuse(p, "input output_shape: element %d is %lld, expected at least %lld", i,
                        (long long)dims[i], (long long)s->inner[i]);
  return ref_set_shape(p, 0, rank, dims);
}

static int32_t prepare(ref_prepare *p) {
  unpool_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  ref_window w;
  RETURN_IF_ERROR(ref_need_rank(p, 0, 3, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_window_read(p, x->rank - 2, x->dims + 2, NULL, &w));
  int same = p->inputs[1].rank == x->rank;
  for (int32_t i = 0; i < x->rank; ++i) {
    s->inner[i] = x->dims[i];
    same = same && p->inputs[1].dims[i] == x->dims[i];
    if (i < 2) continue;
    int64_t room = w.kernel[i - 2] - w.begin[i - 2] - w.end[i - 2];
    if (__builtin_mul_overflow(x->dims[i] - 1, w.stride[i - 2], &s->inner[i]) ||
        __builtin_add_overflow(s->inner[i], room, &s->inner[i]) || s->inner[i] < 0)
      return ref_refuse(p, "attribute pads: dimension %d of the output would be %lld", i,
                        (long long)s->inner[i]);
  }
  if (!same) return ref_refuse(p, "input I: expected the shape of X");
  if (ref_count(s->inner, x->rank) < 0) return ref_refuse(p, "the shapes are too large");
  if (ref_has(p, 2)) return read_output_shape(p, s);
  return ref_set_shape(p, 0, x->rank, s->inner);
}

static int32_t execute(ref_run *run) {
  const unpool_state *s = run->state;
  const ref_view *x = &run->inputs[0], *indices = &run->inputs[1], *y = &run->outputs[0];
  int64_t limit = ref_count(s->inner, x->rank);
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t index = ref_int_at(indices, ref_offset_of(indices, i));
    if (index < 0 || index >= limit)
      return ref_refuse(run, "input I: element %lld is %lld, expected 0 to %lld", (long long)i,
                        (long long)index, (long long)limit - 1);
  }
  RETURN_IF_ERROR(ref_clear(y, run->error));
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t index = ref_int_at(indices, ref_offset_of(indices, i)), to = 0;
    for (int32_t d = x->rank - 1; d >= 0; --d) {
      to += index % s->inner[d] * y->strides[d];
      index /= s->inner[d];
    }
    RETURN_IF_ERROR(ref_move(y, to, 1, x, ref_offset_of(x, i), 1, 1, run->error));
  }
  return OPS_OK;
}

const ref_op ref_max_unpool = {sizeof(unpool_state), prepare, execute, NULL, NULL};

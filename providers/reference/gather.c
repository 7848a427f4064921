// SPDX-License-Identifier: Apache-2.0
//
// Gather, GatherElements, GatherND. Indices may be negative; all are checked before anything is
// written.
#include <string.h>

#include "operators.h"
#include "traverse.h"

typedef struct gather_state {
  int32_t axis;  // GatherND: the number of batch dimensions
} gather_state;

// ---- Gather: slices along an axis ----------------------------------------------------------

static int32_t prepare_gather(ref_prepare *p) {
  gather_state *s = p->state;
  const ref_shape *x = &p->inputs[0], *indices = &p->inputs[1];
  RETURN_IF_ERROR(ref_need_rank(p, 0, 1, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_axis(p, ref_attr_int(p->kernel, "axis", 0), x->rank, &s->axis));
  int64_t dims[2 * OPS_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < s->axis; ++i) dims[rank++] = x->dims[i];
  for (int32_t i = 0; i < indices->rank; ++i) dims[rank++] = indices->dims[i];
  for (int32_t i = s->axis + 1; i < x->rank; ++i) dims[rank++] = x->dims[i];
  return ref_set_shape(p, 0, rank, dims);
}

static int32_t execute_gather(ref_run *run) {
  const gather_state *s = run->state;
  const ref_view *x = &run->inputs[0], *indices = &run->inputs[1], *y = &run->outputs[0];
  RETURN_IF_ERROR(ref_check_indices(run, 1, x->dims[s->axis]));
  if (y->count == 0) return OPS_OK;
  int32_t after = x->rank - s->axis - 1, middle = indices->rank;
  int64_t index[OPS_MAX_RANK] = {0};  // of y, its last `after` dimensions aside
  do {
    int64_t at = ref_index_at(indices, ref_dot(index + s->axis, indices->strides, middle),
                              x->dims[s->axis]);
    int64_t from = ref_dot(index, x->strides, s->axis) + at * x->strides[s->axis];
    int64_t to = ref_dot(index, y->strides, s->axis + middle);
    RETURN_IF_ERROR(ref_move_block((ref_block){y, to, y->strides + s->axis + middle},
                                   (ref_block){x, from, x->strides + s->axis + 1}, after,
                                   x->dims + s->axis + 1, run->error));
  } while (ref_count_up(index, y->dims, s->axis + middle));
  return OPS_OK;
}

// ---- GatherElements: one index per output element ------------------------------------------

static int32_t prepare_elements(ref_prepare *p) {
  gather_state *s = p->state;
  const ref_shape *x = &p->inputs[0], *indices = &p->inputs[1];
  RETURN_IF_ERROR(ref_need_rank(p, 0, 1, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, 1, x->rank, x->rank));
  RETURN_IF_ERROR(ref_axis(p, ref_attr_int(p->kernel, "axis", 0), x->rank, &s->axis));
  for (int32_t i = 0; i < x->rank; ++i)
    if (i != s->axis && indices->dims[i] > x->dims[i])
      return ref_refuse(p, "input indices: dimension %d is %lld, expected at most %lld", i,
                        (long long)indices->dims[i], (long long)x->dims[i]);
  return ref_same_shape(p, 0, 1);
}

static int32_t execute_elements(ref_run *run) {
  const gather_state *s = run->state;
  const ref_view *x = &run->inputs[0], *indices = &run->inputs[1], *y = &run->outputs[0];
  RETURN_IF_ERROR(ref_check_indices(run, 1, x->dims[s->axis]));
  if (y->count == 0) return OPS_OK;
  int64_t index[OPS_MAX_RANK] = {0}, from[OPS_MAX_RANK];
  do {
    memcpy(from, index, sizeof from);
    from[s->axis] =
        ref_index_at(indices, ref_dot(index, indices->strides, y->rank), x->dims[s->axis]);
    RETURN_IF_ERROR(ref_move(y, ref_dot(index, y->strides, y->rank), 1, x,
                             ref_dot(from, x->strides, x->rank), 1, 1, run->error));
  } while (ref_count_up(index, y->dims, y->rank));
  return OPS_OK;
}

// ---- GatherND: index vectors ---------------------------------------------------------------

static int32_t prepare_nd(ref_prepare *p) {
  gather_state *s = p->state;
  const ref_shape *x = &p->inputs[0], *indices = &p->inputs[1];
  RETURN_IF_ERROR(ref_need_rank(p, 0, 1, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, 1, 1, OPS_MAX_RANK));
  int64_t batch = ref_attr_int(p->kernel, "batch_dims", 0);
  int64_t length = indices->dims[indices->rank - 1];
  int32_t least = x->rank < indices->rank ? x->rank : indices->rank;
  if (batch < 0 || batch >= least)
    return ref_refuse(p, "attribute batch_dims: expected 0 to %d, found %lld", least - 1,
                      (long long)batch);
  if (length < 1 || length > x->rank - batch)
    return ref_refuse(p, "input indices: the last dimension is %lld, expected 1 to %lld",
                      (long long)length, (long long)(x->rank - batch));
  for (int64_t i = 0; i < batch; ++i)
    if (x->dims[i] != indices->dims[i])
      return ref_refuse(p, "input indices: batch dimension %lld is %lld, expected %lld",
                        (long long)i, (long long)indices->dims[i], (long long)x->dims[i]);
  s->axis = (int32_t)batch;
  int64_t dims[2 * OPS_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < indices->rank - 1; ++i) dims[rank++] = indices->dims[i];
  for (int32_t i = (int32_t)(batch + length); i < x->rank; ++i) dims[rank++] = x->dims[i];
  return ref_set_shape(p, 0, rank, dims);
}

int64_t ref_follow(const ref_view *x, const ref_view *indices, int32_t batch,
                   const int64_t *index, int *out_bad) {
  int32_t last = indices->rank - 1;
  int64_t at = ref_dot(index, indices->strides, last);
  int64_t offset = ref_dot(index, x->strides, batch);
  for (int64_t k = 0; k < indices->dims[last]; ++k) {
    int64_t dim = x->dims[batch + k];
    int64_t i = ref_int_at(indices, at + k * indices->strides[last]);
    if (i < -dim || i >= dim) {
      *out_bad = 1;
      return -1;
    }
    offset += (i < 0 ? i + dim : i) * x->strides[batch + k];
  }
  return offset;
}

int32_t ref_check_vectors(ref_run *run, const ref_view *x, uint64_t input, int32_t batch) {
  const ref_view *indices = &run->inputs[input];
  int64_t index[OPS_MAX_RANK] = {0};
  if (indices->count == 0) return OPS_OK;
  do {
    int bad = 0;
    ref_follow(x, indices, batch, index, &bad);
    if (bad)
      return ref_refuse(run, "input %s: an index vector points outside of input data",
                        ref_input_name(run->kernel, input));
  } while (ref_count_up(index, indices->dims, indices->rank - 1));
  return OPS_OK;
}

static int32_t execute_nd(ref_run *run) {
  const gather_state *s = run->state;
  const ref_view *x = &run->inputs[0], *indices = &run->inputs[1], *y = &run->outputs[0];
  RETURN_IF_ERROR(ref_check_vectors(run, x, 1, s->axis));
  if (y->count == 0) return OPS_OK;
  int32_t lead = indices->rank - 1, used = s->axis + (int32_t)indices->dims[lead];
  int64_t index[OPS_MAX_RANK] = {0};
  do {
    int bad = 0;
    int64_t from = ref_follow(x, indices, s->axis, index, &bad);
    int64_t to = ref_dot(index, y->strides, lead);
    RETURN_IF_ERROR(ref_move_block((ref_block){y, to, y->strides + lead},
                                   (ref_block){x, from, x->strides + used}, x->rank - used,
                                   x->dims + used, run->error));
  } while (ref_count_up(index, indices->dims, lead));
  return OPS_OK;
}

const ref_op ref_gather = {sizeof(gather_state), prepare_gather, execute_gather, NULL, NULL};
const ref_op ref_gather_elements = {sizeof(gather_state), prepare_elements, execute_elements,
                                    NULL, NULL};
const ref_op ref_gather_nd = {sizeof(gather_state), prepare_nd, execute_nd, NULL, NULL};

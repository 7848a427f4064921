// SPDX-License-Identifier: Apache-2.0
//
// Transpose: the input walked with permuted strides.
#include <string.h>

#include "operators.h"

typedef struct transpose_state {
  int32_t order[OPS_MAX_RANK];
} transpose_state;

static int32_t read_order(ref_prepare *p, int32_t rank, int32_t *order) {
  const ref_attribute *perm = ref_attr(p->kernel, "perm");
  if (perm != NULL && perm->count != rank)
    return ref_refuse(p, "attribute perm: expected %d entries, one per dimension, found %lld",
                      rank, (long long)perm->count);
  uint64_t seen = 0;
  for (int32_t i = 0; i < rank; ++i) {
    int64_t from = perm != NULL ? perm->ints[i] : rank - 1 - i;
    if (from < 0 || from >= rank)
      return ref_refuse(p, "attribute perm: entry %d is %lld, expected 0 to %d", i,
                        (long long)from, rank - 1);
    order[i] = (int32_t)from;
    if (seen >> order[i] & 1)
      return ref_refuse(p, "attribute perm: dimension %d is given twice", order[i]);
    seen |= (uint64_t)1 << order[i];
  }
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  transpose_state *state = p->state;
  const ref_shape *x = &p->inputs[0];
  RETURN_IF_ERROR(read_order(p, x->rank, state->order));
  int64_t dims[OPS_MAX_RANK];
  for (int32_t i = 0; i < x->rank; ++i) dims[i] = x->dims[state->order[i]];
  return ref_set_shape(p, 0, x->rank, dims);
}

static int32_t execute(ref_run *run) {
  const transpose_state *state = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  if (y->count == 0) return OPS_OK;
  ref_walk_operand at[2];
  memcpy(at[0].strides, y->strides, sizeof at[0].strides);
  for (int32_t i = 0; i < y->rank; ++i) at[1].strides[i] = x->strides[state->order[i]];
  ref_walk walk;
  ref_walk_init(&walk, y->rank, y->dims, at, 2);
  do
    RETURN_IF_ERROR(ref_move(y, at[0].offset, ref_walk_step(&walk, 0), x, at[1].offset,
                             ref_walk_step(&walk, 1), walk.row, run->error));
  while (ref_walk_next(&walk));
  return OPS_OK;
}

const ref_op ref_transpose = {sizeof(transpose_state), prepare, execute, NULL, NULL};

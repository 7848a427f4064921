// SPDX-License-Identifier: Apache-2.0
//
// Where: elements of X where the condition holds, else of Y.
#include "operators.h"

static int32_t prepare(ref_prepare *p) {
  return ref_broadcast(p, 0);
}

static int32_t execute(ref_run *run) {
  const ref_view *out = &run->outputs[0];
  if (out->count == 0) return OPS_OK;
  ref_walk_operand at[4];
  ref_broadcast_strides(out, out->rank, at[3].strides);
  for (int k = 0; k < 3; ++k) ref_broadcast_strides(&run->inputs[k], out->rank, at[k].strides);
  ref_walk walk;
  ref_walk_init(&walk, out->rank, out->dims, at, 4);
  do {
    for (int64_t i = 0; i < walk.row; ++i) {
      int64_t condition_at = at[0].offset + i * ref_walk_step(&walk, 0);
      int k = ref_int_at(&run->inputs[0], condition_at) ? 1 : 2;
      RETURN_IF_ERROR(ref_move(out, at[3].offset + i * ref_walk_step(&walk, 3), 1,
                               &run->inputs[k], at[k].offset + i * ref_walk_step(&walk, k), 1,
                               1, run->error));
    }
  } while (ref_walk_next(&walk));
  return OPS_OK;
}

const ref_op ref_where = {0, prepare, execute, NULL, NULL};

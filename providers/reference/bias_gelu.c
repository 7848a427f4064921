// SPDX-License-Identifier: Apache-2.0
//
// com.microsoft BiasGelu, gelu(A + B), and FastGelu, the tanh approximation of gelu(X + bias):
// a vector as long as the last dimension is added first. The definition of FastGelu prints its
// constants with six digits; they are sqrt(2 / pi) and 0.044715 sqrt(2 / pi).
#include "elementwise.h"
#include "microsoft_operators.h"

static int32_t prepare(ref_prepare *p) {
  const ref_shape *x = &p->inputs[0], *bias = &p->inputs[1];
  if (ref_has(p, 1)) {
    RETURN_IF_ERROR(ref_need_rank(p, 0, 1, OPS_MAX_RANK));
    RETURN_IF_ERROR(ref_need_rank(p, 1, 1, 1));
    if (bias->dims[0] != x->dims[x->rank - 1])
      return ref_refuse(
          p, "input %s: expected %lld elements, the last dimension of %s, found %lld",
          ref_input_name(p->kernel, 1), (long long)x->dims[x->rank - 1],
          ref_input_name(p->kernel, 0), (long long)bias->dims[0]);
  }
  return ref_same_shape(p, 0, 0);
}

enum { X, BIAS, Y, OPERANDS };

static int32_t run_gelu(ref_run *run, int approximate) {
  const ref_view *views[OPERANDS] = {
      &run->inputs[0], ref_given(run, 1) ? &run->inputs[1] : NULL, &run->outputs[0]};
  const ref_view *y = views[Y];
  ref_walk_operand at[OPERANDS] = {0};
  ref_walk walk;
  if (y->count == 0) return OPS_OK;
  for (int k = 0; k < OPERANDS; ++k)
    if (views[k] != NULL) ref_broadcast_strides(views[k], y->rank, at[k].strides);
  ref_walk_init(&walk, y->rank, y->dims, at, OPERANDS);
  do {
    for (int64_t i = 0; i < walk.row; i += REF_CHUNK) {
      int64_t n = walk.row - i < REF_CHUNK ? walk.row - i : REF_CHUNK;
      double x[REF_CHUNK], bias[REF_CHUNK] = {0};
      ref_load(views[X], at[X].offset + i * ref_walk_step(&walk, X), ref_walk_step(&walk, X), n,
               x);
      if (views[BIAS] != NULL)
        ref_load(views[BIAS], at[BIAS].offset + i * ref_walk_step(&walk, BIAS),
                 ref_walk_step(&walk, BIAS), n, bias);
      for (int64_t j = 0; j < n; ++j) x[j] = ref_gelu(x[j] + bias[j], approximate);
      ref_store(y, at[Y].offset + i * ref_walk_step(&walk, Y), ref_walk_step(&walk, Y), n, x);
    }
  } while (ref_walk_next(&walk));
  return OPS_OK;
}

static int32_t execute_bias(ref_run *run) {
  return run_gelu(run, 0);
}

static int32_t execute_fast(ref_run *run) {
  return run_gelu(run, 1);
}

const ref_op ref_bias_gelu = {0, prepare, execute_bias, NULL, NULL};
const ref_op ref_fast_gelu = {0, prepare, execute_fast, NULL, NULL};

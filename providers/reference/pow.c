// SPDX-License-Identifier: Apache-2.0
//
// Pow: base and exponent may have different types (opset 12); the result has that of the base.
// Before opset 7 the exponent broadcasts as attributes say. Integer to
// the power of an integer is exact modulo 2^bits; a negative exponent truncates towards zero.
#include <math.h>

#include "operators.h"

typedef struct pow_state {
  int32_t trailing;  // dimensions of the output behind the last of the exponent
} pow_state;

static int32_t prepare(ref_prepare *p) {
  return ref_broadcast(p, 0);
}

static int32_t prepare_limited(ref_prepare *p) {
  pow_state *state = p->state;
  return ref_broadcast_by_attributes(p, &state->trailing);
}

static int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1, square = (uint64_t)base;
  for (uint64_t e = (uint64_t)exponent; e != 0; e >>= 1) {
    if (e & 1) result *= square;
    square *= square;
  }
  return (int64_t)result;
}

static int32_t execute(ref_run *run) {
  const pow_state *state = run->state;
  const ref_view *x = &run->inputs[0], *e = &run->inputs[1], *y = &run->outputs[0];
  if (y->count == 0) return OPS_OK;
  int exact = ref_is_integer(x) && ref_is_integer(e);
  ref_walk_operand at[3];
  ref_broadcast_strides(y, y->rank, at[0].strides);
  ref_broadcast_strides(x, y->rank, at[1].strides);
  ref_broadcast_strides_before(e, state->trailing, y->rank, at[2].strides);
  ref_walk walk;
  ref_walk_init(&walk, y->rank, y->dims, at, 3);
  do {
    for (int64_t i = 0; i < walk.row; ++i) {
      int64_t y_at = at[0].offset + i * ref_walk_step(&walk, 0);
      int64_t x_at = at[1].offset + i * ref_walk_step(&walk, 1);
      int64_t e_at = at[2].offset + i * ref_walk_step(&walk, 2);
      if (exact) {
        int64_t value = power(ref_int_at(x, x_at), ref_int_at(e, e_at));
        ref_store_int(y, y_at, 1, 1, &value);
      } else {
        double value = pow(ref_at(x, x_at), ref_at(e, e_at));
        ref_store(y, y_at, 1, 1, &value);
      }
    }
  } while (ref_walk_next(&walk));
  return OPS_OK;
}

const ref_op ref_pow = {sizeof(pow_state), prepare, execute, NULL, NULL};
const ref_op ref_pow_limited = {sizeof(pow_state), prepare_limited, execute, NULL, NULL};

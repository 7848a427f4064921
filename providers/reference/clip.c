// SPDX-License-Identifier: Apache-2.0
//
// Clip: bounds are attributes up to opset 10, optional rank-0 inputs from 11 on. NaN stays; if
// the bounds cross, the upper one wins.
#include <math.h>

#include "operators.h"

typedef struct clip_state {
  double low;  // bounds by attribute
  double high;
} clip_state;

static int32_t check_bound(ref_prepare *p, uint64_t input) {
  if (!ref_has(p, input)) return OPS_OK;
  const ref_shape *bound = &p->inputs[input];
  if (ref_count(bound->dims, bound->rank) != 1)
    return ref_refuse(p, "input %s: expected a scalar, found rank %d",
                      ref_input_name(p->kernel, input), bound->rank);
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  clip_state *state = p->state;
  state->low = ref_attr_float(p->kernel, "min", -INFINITY);
  state->high = ref_attr_float(p->kernel, "max", INFINITY);
  RETURN_IF_ERROR(check_bound(p, 1));
  RETURN_IF_ERROR(check_bound(p, 2));
  return ref_same_shape(p, 0, 0);
}

typedef struct bounds {
  int has_low, has_high;
  double low, high;
  int64_t low_int, high_int;
  int natural;
} bounds;

static bounds read_bounds(const ref_run *run) {
  const clip_state *state = run->state;
  bounds b = {1, 1, state->low, state->high, 0, 0, 0};
  b.natural = run->inputs[0].element->kind == REF_UNSIGNED;
  if (!ref_is_integer(&run->inputs[0])) {
    if (ref_given(run, 1)) b.low = ref_at(&run->inputs[1], 0);
    if (ref_given(run, 2)) b.high = ref_at(&run->inputs[2], 0);
    return b;
  }
  b.has_low = ref_given(run, 1);
  b.has_high = ref_given(run, 2);
  if (b.has_low) b.low_int = ref_int_at(&run->inputs[1], 0);
  if (b.has_high) b.high_int = ref_int_at(&run->inputs[2], 0);
  return b;
}

static int is_less(const bounds *b, int64_t x, int64_t y) {
  return b->natural ? (uint64_t)x < (uint64_t)y : x < y;
}

static void clip_reals(const bounds *b, const ref_view *x, int64_t x_at, int64_t x_step,
                       const ref_view *y, int64_t y_at, int64_t y_step, int64_t n) {
  double v[REF_CHUNK];
  ref_load(x, x_at, x_step, n, v);
  for (int64_t i = 0; i < n; ++i) {
    if (v[i] < b->low) v[i] = b->low;
    if (v[i] > b->high) v[i] = b->high;
  }
  ref_store(y, y_at, y_step, n, v);
}

static void clip_integers(const bounds *b, const ref_view *x, int64_t x_at, int64_t x_step,
                          const ref_view *y, int64_t y_at, int64_t y_step, int64_t n) {
  int64_t v[REF_CHUNK];
  ref_load_int(x, x_at, x_step, n, v);
  for (int64_t i = 0; i < n; ++i) {
    if (b->has_low && is_less(b, v[i], b->low_int)) v[i] = b->low_int;
    if (b->has_high && is_less(b, b->high_int, v[i])) v[i] = b->high_int;
  }
  ref_store_int(y, y_at, y_step, n, v);
}

static int32_t execute(ref_run *run) {
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  if (y->count == 0) return OPS_OK;
  bounds b = read_bounds(run);
  ref_walk_operand at[2];
  ref_broadcast_strides(y, y->rank, at[0].strides);
  ref_broadcast_strides(x, y->rank, at[1].strides);
  ref_walk walk;
  ref_walk_init(&walk, y->rank, y->dims, at, 2);
  int64_t y_step = ref_walk_step(&walk, 0), x_step = ref_walk_step(&walk, 1);
  do {
    for (int64_t i = 0; i < walk.row; i += REF_CHUNK) {
      int64_t n = walk.row - i < REF_CHUNK ? walk.row - i : REF_CHUNK;
      int64_t y_at = at[0].offset + i * y_step, x_at = at[1].offset + i * x_step;
      if (ref_is_integer(x))
        clip_integers(&b, x, x_at, x_step, y, y_at, y_step, n);
      else
        clip_reals(&b, x, x_at, x_step, y, y_at, y_step, n);
    }
  } while (ref_walk_next(&walk));
  return OPS_OK;
}

const ref_op ref_clip = {sizeof(clip_state), prepare, execute, NULL, NULL};

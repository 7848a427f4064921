// SPDX-License-Identifier: Apache-2.0
//
// Shape and Size: facts about a shape, as int64.
#include "operators.h"

typedef struct shape_state {
  int64_t start;
} shape_state;

static int64_t clamp(int64_t value, int64_t rank) {
  if (value < 0) value += rank;
  return value < 0 ? 0 : value > rank ? rank : value;
}

static int32_t prepare_shape(ref_prepare *p) {
  shape_state *state = p->state;
  int32_t rank = p->inputs[0].rank;
  state->start = clamp(ref_attr_int(p->kernel, "start", 0), rank);
  int64_t end = clamp(ref_attr_int(p->kernel, "end", rank), rank);
  int64_t count = end > state->start ? end - state->start : 0;
  return ref_set_shape(p, 0, 1, &count);
}

static int32_t execute_shape(ref_run *run) {
  const shape_state *state = run->state;
  const ref_view *y = &run->outputs[0];
  if (y->count == 0) return OPS_OK;
  ref_store_int(y, 0, y->strides[0], y->count, &run->inputs[0].dims[state->start]);
  return OPS_OK;
}

static int32_t prepare_size(ref_prepare *p) {
  return ref_set_shape(p, 0, 0, NULL);
}

static int32_t execute_size(ref_run *run) {
  ref_store_int(&run->outputs[0], 0, 1, 1, &run->inputs[0].count);
  return OPS_OK;
}

const ref_op ref_shape_of = {sizeof(shape_state), prepare_shape, execute_shape, NULL, NULL};
const ref_op ref_size = {0, prepare_size, execute_size, NULL, NULL};

// SPDX-License-Identifier: Apache-2.0
//
// Pad: constant, reflect, edge, wrap (opset 19). Pads are an attribute up to opset 10 (opset 1:
// paddings), an input from 11 on; axes are an input from 18 on. Negative pads crop.
#include <math.h>
#include <string.h>

#include "operators.h"
#include "traverse.h"

#define MAX_PADS (2 * OPS_MAX_RANK)

enum { CONSTANT, REFLECT, EDGE, WRAP, MODE_COUNT };
static const char *const modes[MODE_COUNT] = {"constant", "reflect", "edge", "wrap"};

typedef struct pad_state {
  int32_t mode;
  double value;  // by attribute
  int64_t begin[OPS_MAX_RANK];
} pad_state;

static int32_t read_pads(const ref_prepare *p, int64_t *begin, int64_t *end) {
  const ref_attribute *attribute =
      ref_attr(p->kernel, p->kernel->opset < 2 ? "paddings" : "pads");
  int64_t pads[MAX_PADS] = {0}, count = 0;
  int32_t rank = p->inputs[0].rank, axes[OPS_MAX_RANK], axis_count;
  int given;
  if (ref_has(p, 1)) {
    RETURN_IF_ERROR(ref_contents(p, 1, pads, MAX_PADS, &count));
  } else if (attribute != NULL && attribute->count <= MAX_PADS) {
    count = attribute->count;
    memcpy(pads, attribute->ints, sizeof(int64_t) * (size_t)count);
  }
  RETURN_IF_ERROR(ref_axes(p, 3, rank, axes, &axis_count, &given));
  if (!given) axis_count = rank;
  if (count != 2 * (int64_t)axis_count)
    return ref_refuse(p, "input pads: expected %d entries, two per axis, found %lld",
                      2 * axis_count, (long long)count);
  for (int32_t i = 0; i < rank; ++i) begin[i] = end[i] = 0;
  for (int32_t i = 0; i < axis_count; ++i) {
    int32_t axis = given ? axes[i] : i;
    begin[axis] = pads[i];
    end[axis] = pads[axis_count + i];
  }
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  pad_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  int64_t end[OPS_MAX_RANK] = {0}, dims[OPS_MAX_RANK];
  RETURN_IF_ERROR(ref_attr_choose(p, "mode", modes, MODE_COUNT, "constant", &s->mode));
  s->value = ref_attr_float(p->kernel, "value", 0.0f);
  RETURN_IF_ERROR(read_pads(p, s->begin, end));
  for (int32_t i = 0; i < x->rank; ++i) {
    if (__builtin_add_overflow(x->dims[i], s->begin[i], &dims[i]) ||
        __builtin_add_overflow(dims[i], end[i], &dims[i]) || dims[i] < 0)
      return ref_refuse(p, "input pads: dimension %d of %lld cannot be padded by %lld and %lld",
                        i, (long long)x->dims[i], (long long)s->begin[i], (long long)end[i]);
    if (s->mode != CONSTANT && x->dims[i] == 0 && dims[i] > 0)
      return ref_refuse(p, "input data: dimension %d is empty and has nothing to pad with", i);
  }
  return ref_set_shape(p, 0, x->rank, dims);
}

// The input position that output position `at` shows; -1: the constant.
static int64_t source(int mode, int64_t at, int64_t n) {
  if (at >= 0 && at < n) return at;
  switch (mode) {
    case EDGE:
      return at < 0 ? 0 : n - 1;
    case WRAP:
      return (at % n + n) % n;
    case REFLECT: {
      if (n == 1) return 0;
      int64_t period = 2 * (n - 1), turn = (at % period + period) % period;
      return turn < n ? turn : period - turn;
    }
    default:
      return -1;
  }
}

static void fill_value(const ref_run *run, int64_t offset) {
  const pad_state *s = run->state;
  const ref_view *y = &run->outputs[0];
  if (ref_given(run, 2)) {
    ref_move(y, offset, 1, &run->inputs[2], 0, 1, 1, run->error);
  } else if (y->element->bits == 0) {
    y->values->string_set(y->value, (uint64_t)offset, (ops_str){NULL, 0}, run->error);
  } else if (y->element->store != NULL) {
    ref_store(y, offset, 1, 1, &s->value);
  } else {
    memset((char *)y->data + (y->origin + offset) * (y->element->bits / 8), 0,
           (size_t)y->element->bits / 8);
  }
}

static int32_t execute(ref_run *run) {
  const pad_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int64_t index[OPS_MAX_RANK] = {0};
  if (ref_given(run, 2) && run->inputs[2].count != 1)
    return ref_refuse(run, "input constant_value: expected a scalar");
  if (y->count == 0) return OPS_OK;
  do {
    int64_t from = 0, to = ref_dot(index, y->strides, y->rank);
    int inside = 1;
    for (int32_t i = 0; i < x->rank && inside; ++i) {
      int64_t at = source(s->mode, index[i] - s->begin[i], x->dims[i]);
      inside = at >= 0;
      from += at * x->strides[i];
    }
    if (inside)
      RETURN_IF_ERROR(ref_move(y, to, 1, x, from, 1, 1, run->error));
    else
      fill_value(run, to);
  } while (ref_count_up(index, y->dims, y->rank));
  return OPS_OK;
}

const ref_op ref_pad = {sizeof(pad_state), prepare, execute, NULL, NULL};

// SPDX-License-Identifier: Apache-2.0
//
// Tensors made from little: Range, EyeLike, OneHot, and Trilu, which clears a triangle.
#include <math.h>

#include "operators.h"
#include "traverse.h"

// ---- Range
// --------------------------------------------------------------------------------------

static int32_t read_bounds(ref_prepare *p, ref_view *bounds) {
  for (uint64_t i = 0; i < 3; ++i) {
    RETURN_IF_ERROR(ref_contents_view(p, i, &bounds[i]));
    if (bounds[i].count != 1)
      return ref_refuse(p, "input %s: expected a scalar", ref_input_name(p->kernel, i));
  }
  return OPS_OK;
}

static int64_t count_integers(int64_t start, int64_t limit, int64_t step) {
  if (step > 0 ? limit <= start : limit >= start) return 0;
  uint64_t span =
      step > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
  uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
  return (int64_t)((span - 1) / stride + 1);
}

static int32_t prepare_range(ref_prepare *p) {
  ref_view b[3];
  int64_t count;
  RETURN_IF_ERROR(read_bounds(p, b));
  if (ref_is_integer(&b[0])) {
    int64_t step = ref_int_at(&b[2], 0);
    if (step == 0) return ref_refuse(p, "input delta: expected a number other than 0");
    count = count_integers(ref_int_at(&b[0], 0), ref_int_at(&b[1], 0), step);
  } else {
    double n = ceil((ref_at(&b[1], 0) - ref_at(&b[0], 0)) / ref_at(&b[2], 0));
    if (!(fabs(n) < 9e15))
      return ref_refuse(p, "input delta: %g does not lead from start to limit",
                        ref_at(&b[2], 0));
    count = n > 0 ? (int64_t)n : 0;
  }
  return ref_set_shape(p, 0, 1, &count);
}

static int32_t execute_range(ref_run *run) {
  const ref_view *y = &run->outputs[0], *in = run->inputs;
  for (int64_t i = 0; i < y->count; ++i) {
    if (ref_is_integer(y)) {
      uint64_t step = (uint64_t)ref_int_at(&in[2], 0);
      int64_t value = (int64_t)((uint64_t)ref_int_at(&in[0], 0) + (uint64_t)i * step);
      ref_store_int(y, i * y->strides[0], 1, 1, &value);
    } else {
      double value = ref_at(&in[0], 0) + (double)i * ref_at(&in[2], 0);
      ref_store(y, i * y->strides[0], 1, 1, &value);
    }
  }
  return OPS_OK;
}

const ref_op ref_range = {0, prepare_range, execute_range, NULL, NULL};

// ---- EyeLike
// ------------------------------------------------------------------------------------

static int32_t prepare_eye(ref_prepare *p) {
  int64_t type = ref_attr_int(p->kernel, "dtype", p->inputs[0].type);
  const ref_element *element =
      type > 0 && type < OPS_TYPE_COUNT ? ref_element_of((int32_t)type) : NULL;
  if (element == NULL || element->store == NULL)
    return ref_refuse(p, "attribute dtype: %lld is no type of numbers", (long long)type);
  p->outputs[0].type = (int32_t)type;
  RETURN_IF_ERROR(ref_need_rank(p, 0, 2, 2));
  return ref_same_shape(p, 0, 0);
}

static int32_t execute_eye(ref_run *run) {
  const ref_view *y = &run->outputs[0];
  int64_t k = ref_attr_int(run->kernel, "k", 0), index[2] = {0};
  if (y->count == 0) return OPS_OK;
  do {
    double value = index[1] - index[0] == k;
    ref_store(y, ref_dot(index, y->strides, 2), 1, 1, &value);
  } while (ref_count_up(index, y->dims, 2));
  return OPS_OK;
}

const ref_op ref_eye_like = {0, prepare_eye, execute_eye, NULL, NULL};

// ---- OneHot
// -------------------------------------------------------------------------------------

typedef struct one_hot_state {
  int32_t axis;
} one_hot_state;

static int32_t prepare_one_hot(ref_prepare *p) {
  one_hot_state *s = p->state;
  const ref_shape *indices = &p->inputs[0];
  ref_view depth;
  RETURN_IF_ERROR(ref_contents_view(p, 1, &depth));
  if (depth.count != 1 || p->inputs[2].rank != 1 || p->inputs[2].dims[0] != 2)
    return ref_refuse(p, "expected a scalar as input depth and two numbers as input values");
  double d = ref_at(&depth, 0);
  if (!(d >= 1) || d > 9e15)
    return ref_refuse(p, "input depth: expected at least 1, found %g", d);
  RETURN_IF_ERROR(
      ref_axis(p, ref_attr_int(p->kernel, "axis", -1), indices->rank + 1, &s->axis));
  int64_t dims[OPS_MAX_RANK + 1];
  for (int32_t i = 0; i <= indices->rank; ++i)
    dims[i] = i < s->axis ? indices->dims[i] : i == s->axis ? (int64_t)d : indices->dims[i - 1];
  return ref_set_shape(p, 0, indices->rank + 1, dims);
}

static int32_t execute_one_hot(ref_run *run) {
  const one_hot_state *s = run->state;
  const ref_view *y = &run->outputs[0], *values = &run->inputs[2];
  ref_view indices = ref_with_axis(&run->inputs[0], s->axis);
  int64_t depth = y->dims[s->axis], index[OPS_MAX_RANK] = {0};
  if (y->count == 0) return OPS_OK;
  do {
    // The axis has stride 0 in `indices`.
    double wanted = trunc(ref_at(&indices, ref_dot(index, indices.strides, y->rank)));
    if (wanted < 0) wanted += (double)depth;
    int64_t hot = (double)index[s->axis] == wanted;
    RETURN_IF_ERROR(ref_move(y, ref_dot(index, y->strides, y->rank), 1, values,
                             hot * values->strides[0], 1, 1, run->error));
  } while (ref_count_up(index, y->dims, y->rank));
  return OPS_OK;
}

const ref_op ref_one_hot = {sizeof(one_hot_state), prepare_one_hot, execute_one_hot, NULL,
                            NULL};

// ---- Trilu
// --------------------------------------------------------------------------------------

static int32_t prepare_trilu(ref_prepare *p) {
  RETURN_IF_ERROR(ref_need_rank(p, 0, 2, OPS_MAX_RANK));
  if (ref_has(p, 1) && ref_count(p->inputs[1].dims, p->inputs[1].rank) != 1)
    return ref_refuse(p, "input k: expected a scalar");
  return ref_same_shape(p, 0, 0);
}

static int32_t clear(const ref_run *run, const ref_view *y, int64_t at) {
  if (y->element->bits == 0)
    return y->values->string_set(y->value, (uint64_t)at, (ops_str){NULL, 0}, run->error);
  static const uint64_t zeros[2] = {0, 0};
  ref_move_bits(y->element->bits, y->data, y->origin + at, 1, zeros, 0, 1, 1);
  return OPS_OK;
}

static int32_t execute_trilu(ref_run *run) {
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int upper = ref_attr_int(run->kernel, "upper", 1) != 0;
  int64_t k = ref_given(run, 1) ? ref_int_at(&run->inputs[1], 0) : 0, index[OPS_MAX_RANK] = {0};
  // Larger numbers move the diagonal out of the matrix all the same.
  const int64_t far = INT64_C(1) << 62;
  k = k > far ? far : k < -far ? -far : k;
  int32_t r = y->rank - 2, c = y->rank - 1;
  if (y->count == 0) return OPS_OK;
  do {
    int64_t at = ref_dot(index, y->strides, y->rank), side = index[c] - index[r];
    if (upper ? side >= k : side <= k)
      RETURN_IF_ERROR(
          ref_move(y, at, 1, x, ref_dot(index, x->strides, y->rank), 1, 1, run->error));
    else
      RETURN_IF_ERROR(clear(run, y, at));
  } while (ref_count_up(index, y->dims, y->rank));
  return OPS_OK;
}

const ref_op ref_trilu = {0, prepare_trilu, execute_trilu, NULL, NULL};

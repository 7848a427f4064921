// SPDX-License-Identifier: Apache-2.0
//
// ScatterElements (and Scatter, its older name) and ScatterND: a copy of the data with updates
// written or, from opset 16 on, added, multiplied, or taken the extreme with. Updates apply in
// row-major order; reductions in floating point round after each update, as the data's type is
// where the running value lives.
#include <math.h>
#include <string.h>

#include "operators.h"
#include "traverse.h"

enum { DATA, INDICES, UPDATES };
enum { NONE, ADD, MUL, MAX, MIN, REDUCTION_COUNT };
static const char *const reductions[REDUCTION_COUNT] = {"none", "add", "mul", "max", "min"};

typedef struct scatter_state {
  int32_t axis;
  int32_t reduction;
} scatter_state;

static int32_t read_reduction(ref_prepare *p, scatter_state *s) {
  return ref_attr_choose(p, "reduction", reductions, REDUCTION_COUNT, "none", &s->reduction);
}

static int32_t prepare_elements(ref_prepare *p) {
  scatter_state *s = p->state;
  const ref_shape *x = &p->inputs[DATA], *indices = &p->inputs[INDICES];
  const ref_shape *updates = &p->inputs[UPDATES];
  RETURN_IF_ERROR(read_reduction(p, s));
  RETURN_IF_ERROR(ref_need_rank(p, DATA, 1, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, INDICES, x->rank, x->rank));
  RETURN_IF_ERROR(ref_need_rank(p, UPDATES, x->rank, x->rank));
  RETURN_IF_ERROR(ref_axis(p, ref_attr_int(p->kernel, "axis", 0), x->rank, &s->axis));
  for (int32_t i = 0; i < x->rank; ++i) {
    if (indices->dims[i] != updates->dims[i])
      return ref_refuse(p, "input updates: dimension %d is %lld, expected %lld as in indices",
                        i, (long long)updates->dims[i], (long long)indices->dims[i]);
    if (i != s->axis && indices->dims[i] > x->dims[i])
      return ref_refuse(p, "input indices: dimension %d is %lld, expected at most %lld", i,
                        (long long)indices->dims[i], (long long)x->dims[i]);
  }
  return ref_same_shape(p, 0, DATA);
}

static int64_t combine_int(int32_t reduction, const ref_element *element, int64_t a,
                           int64_t b) {
  int less = element->kind == REF_UNSIGNED ? (uint64_t)a < (uint64_t)b : a < b;
  switch (reduction) {
    case ADD:
      return (int64_t)((uint64_t)a + (uint64_t)b);
    case MUL:
      return (int64_t)((uint64_t)a * (uint64_t)b);
    case MAX:
      return less ? b : a;
    default:
      return less ? a : b;
  }
}

static double combine(int32_t reduction, double a, double b) {
  if (reduction == ADD) return a + b;
  if (reduction == MUL) return a * b;
  if (isnan(a) || isnan(b)) return isnan(a) ? a : b;
  return (reduction == MAX) == (a < b) ? b : a;
}

static int32_t update(const ref_run *run, int64_t to, int64_t from) {
  const scatter_state *s = run->state;
  const ref_view *y = &run->outputs[0], *updates = &run->inputs[UPDATES];
  if (s->reduction == NONE) return ref_move(y, to, 1, updates, from, 1, 1, run->error);
  if (ref_is_integer(y)) {
    int64_t value =
        combine_int(s->reduction, y->element, ref_int_at(y, to), ref_int_at(updates, from));
    ref_store_int(y, to, 1, 1, &value);
  } else {
    double value = combine(s->reduction, ref_at(y, to), ref_at(updates, from));
    ref_store(y, to, 1, 1, &value);
  }
  return OPS_OK;
}

static int32_t execute_elements(ref_run *run) {
  const scatter_state *s = run->state;
  const ref_view *x = &run->inputs[DATA], *indices = &run->inputs[INDICES];
  const ref_view *updates = &run->inputs[UPDATES], *y = &run->outputs[0];
  RETURN_IF_ERROR(ref_check_indices(run, INDICES, x->dims[s->axis]));
  RETURN_IF_ERROR(ref_copy_elements(run, x, y));
  if (indices->count == 0) return OPS_OK;
  int64_t index[OPS_MAX_RANK] = {0}, to[OPS_MAX_RANK];
  do {
    memcpy(to, index, sizeof to);
    to[s->axis] =
        ref_index_at(indices, ref_dot(index, indices->strides, x->rank), x->dims[s->axis]);
    RETURN_IF_ERROR(update(run, ref_dot(to, y->strides, x->rank),
                           ref_dot(index, updates->strides, x->rank)));
  } while (ref_count_up(index, indices->dims, x->rank));
  return OPS_OK;
}

static int32_t prepare_nd(ref_prepare *p) {
  const ref_shape *x = &p->inputs[DATA], *indices = &p->inputs[INDICES];
  const ref_shape *updates = &p->inputs[UPDATES];
  RETURN_IF_ERROR(read_reduction(p, p->state));
  RETURN_IF_ERROR(ref_need_rank(p, DATA, 1, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, INDICES, 1, OPS_MAX_RANK));
  int32_t lead = indices->rank - 1;
  int64_t length = indices->dims[lead];
  if (length > x->rank)
    return ref_refuse(p, "input indices: the last dimension is %lld, expected at most %d",
                      (long long)length, x->rank);
  int32_t rest = x->rank - (int32_t)length;
  int fits = updates->rank == lead + rest;
  for (int32_t i = 0; fits && i < updates->rank; ++i)
    fits = updates->dims[i] == (i < lead ? indices->dims[i] : x->dims[i - lead + length]);
  if (!fits)
    return ref_refuse(p,
                      "input updates: expected the leading dimensions of indices followed by "
                      "the last %d of data",
                      rest);
  return ref_same_shape(p, 0, DATA);
}

static int32_t execute_nd(ref_run *run) {
  const ref_view *x = &run->inputs[DATA], *indices = &run->inputs[INDICES];
  const ref_view *updates = &run->inputs[UPDATES], *y = &run->outputs[0];
  RETURN_IF_ERROR(ref_check_vectors(run, x, INDICES, 0));
  RETURN_IF_ERROR(ref_copy_elements(run, x, y));
  if (updates->count == 0) return OPS_OK;
  int32_t lead = indices->rank - 1, used = (int32_t)indices->dims[lead];
  int64_t index[OPS_MAX_RANK] = {0};
  do {
    int bad = 0;
    int64_t to = ref_follow(y, indices, 0, index, &bad);
    int64_t from = ref_dot(index, updates->strides, lead);
    int64_t inner[OPS_MAX_RANK] = {0};
    do
      RETURN_IF_ERROR(update(run, to + ref_dot(inner, y->strides + used, x->rank - used),
                             from + ref_dot(inner, updates->strides + lead, x->rank - used)));
    while (ref_count_up(inner, x->dims + used, x->rank - used));
  } while (ref_count_up(index, indices->dims, lead));
  return OPS_OK;
}

// Reductions are for numbers.
static const char *refuse(const ops_node *node) {
  const ops_type_info *type = node->inputs->type;
  if (type == NULL || ref_is_number(type)) return NULL;
  for (uint64_t i = 0; i < node->attribute_count; ++i) {
    const ops_attribute *attribute =
        (const void *)((const char *)node->attributes + i * node->attribute_stride);
    if (attribute->kind == OPS_ATTRIBUTE_STRING && attribute->strings[0].size != 4)
      return "strings and complex numbers are scattered with reduction none only";
  }
  return NULL;
}

const ref_op ref_scatter_elements = {sizeof(scatter_state), prepare_elements, execute_elements,
                                     NULL, refuse};
const ref_op ref_scatter_nd = {sizeof(scatter_state), prepare_nd, execute_nd, NULL, refuse};

// SPDX-License-Identifier: Apache-2.0
//
// Unique elements, or unique slices along an axis, which compare lexicographically. Zeros of
// both signs are equal; NaN equals NaN and follows every number. Complex numbers compare by
// real, then imaginary part; strings by their bytes.
#include <math.h>
#include <string.h>

#include "dense.h"
#include "operators.h"
#include "traverse.h"

enum { Y, INDICES, INVERSE, COUNTS };

typedef struct unique_state {
  int32_t flat, axis, sorted;
  int64_t items, slice;  // things to compare, elements of each
  uint64_t order_at;     // four lists of `items` numbers
} unique_state;

static int32_t prepare(ref_prepare *p) {
  unique_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  s->flat = ref_attr(p->kernel, "axis") == NULL;
  s->sorted = ref_attr_int(p->kernel, "sorted", 1) != 0;
  s->items = ref_count(x->dims, x->rank);
  s->slice = 1;
  if (!s->flat) {
    RETURN_IF_ERROR(ref_axis(p, ref_attr_int(p->kernel, "axis", 0), x->rank, &s->axis));
    int64_t dims[OPS_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    s->items = dims[s->axis];
    dims[s->axis] = 1;
    s->slice = ref_count(dims, x->rank);
  }
  int64_t lists[2] = {s->items, 4};
  s->order_at = ref_reserve_reals(p, ref_count(lists, 2));
  for (uint64_t i = 0; i < p->output_count; ++i) {
    p->outputs[i].by_execute = 1;
    p->outputs[i].rank = i == Y && !s->flat ? x->rank : 1;
  }
  return OPS_OK;
}

static int order_of(double a, double b) {
  if (isnan(a) || isnan(b)) return (isnan(a) != 0) - (isnan(b) != 0);
  return (a > b) - (a < b);
}

static int compare_strings(const ref_view *x, int64_t a, int64_t b) {
  ops_str left = {"", 0}, right = {"", 0};
  x->values->string_get(x->value, (uint64_t)a, &left, NULL);
  x->values->string_get(x->value, (uint64_t)b, &right, NULL);
  uint64_t common = left.size < right.size ? left.size : right.size;
  int order = common > 0 ? memcmp(left.data, right.data, common) : 0;
  return order != 0 ? order : (left.size > right.size) - (left.size < right.size);
}

static int compare_elements(const ref_view *x, int64_t a, int64_t b) {
  if (x->element->kind == REF_STRING) return compare_strings(x, a, b);
  if (x->element->kind == REF_COMPLEX) {
    ref_view parts = ref_parts(x);
    int order = order_of(ref_at(&parts, 2 * a), ref_at(&parts, 2 * b));
    return order != 0 ? order : order_of(ref_at(&parts, 2 * a + 1), ref_at(&parts, 2 * b + 1));
  }
  if (!ref_is_integer(x)) return order_of(ref_at(x, a), ref_at(x, b));
  int64_t left = ref_int_at(x, a), right = ref_int_at(x, b);
  if (x->element->kind == REF_UNSIGNED)
    return ((uint64_t)left > (uint64_t)right) - ((uint64_t)left < (uint64_t)right);
  return (left > right) - (left < right);
}

// Offset of element `i` of an item.
static int64_t element_of(const unique_state *s, const ref_view *x, int64_t item, int64_t i) {
  if (s->flat) return ref_offset_of(x, item);
  ref_view slice = *x;
  slice.dims[s->axis] = 1;
  return item * x->strides[s->axis] + ref_offset_of(&slice, i);
}

static int compare(const unique_state *s, const ref_view *x, int64_t a, int64_t b) {
  int order = 0;
  for (int64_t i = 0; order == 0 && i < s->slice; ++i)
    order = compare_elements(x, element_of(s, x, a, i), element_of(s, x, b, i));
  return order;
}

// Stable: merges ever longer runs.
static void sort_items(const unique_state *s, const ref_view *x, int64_t *order,
                       int64_t *spare) {
  int64_t n = s->items;
  for (int64_t run = 1; run < n; run *= 2) {
    for (int64_t start = 0; start < n; start += 2 * run) {
      int64_t middle = start + run < n ? start + run : n;
      int64_t end = middle + run < n ? middle + run : n, i = start, j = middle;
      for (int64_t k = start; k < end; ++k) {
        int left = i < middle && (j >= end || compare(s, x, order[j], order[i]) >= 0);
        spare[k] = left ? order[i++] : order[j++];
      }
    }
    memcpy(order, spare, (size_t)n * sizeof *order);
  }
}

// What is found: for every unique thing its first item, for every item its unique thing.
typedef struct found {
  int64_t count;
  int64_t *first, *group, *spare;
} found;

static found find_unique(const unique_state *s, const ref_view *x, int64_t *order) {
  int64_t n = s->items;
  found f = {0, order + n, order + 2 * n, order + 3 * n};
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  sort_items(s, x, order, f.spare);
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || compare(s, x, order[i - 1], order[i]) != 0) f.first[f.count++] = order[i];
    f.group[order[i]] = f.count - 1;
  }
  if (s->sorted) return f;
  // Number the groups in the order of their first items instead.
  int64_t next = 0;
  for (int64_t i = 0; i < n; ++i)
    if (f.first[f.group[i]] == i) f.spare[f.group[i]] = next++;
  for (int64_t i = 0; i < n; ++i) {
    int64_t group = f.spare[f.group[i]];
    if (f.first[f.group[i]] == i) order[group] = i;
    f.group[i] = group;
  }
  memcpy(f.first, order, (size_t)f.count * sizeof *order);
  return f;
}

static int32_t write_list(ref_run *run, uint64_t output, int64_t count, const int64_t *list) {
  if (!ref_asked_for(run, output)) return OPS_OK;
  RETURN_IF_ERROR(ref_set_output(run, output, 1, &count));
  const ref_view *view = &run->outputs[output];
  if (count > 0) ref_store_int(view, 0, view->strides[0], count, list);
  return OPS_OK;
}

static int32_t write_values(ref_run *run, const found *f) {
  const unique_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  int64_t dims[OPS_MAX_RANK] = {0};
  for (int32_t i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  dims[s->flat ? 0 : s->axis] = f->count;
  RETURN_IF_ERROR(ref_set_output(run, Y, s->flat ? 1 : x->rank, dims));
  const ref_view *y = &run->outputs[Y];
  if (!s->flat) dims[s->axis] = 1;
  for (int64_t i = 0; i < f->count; ++i)
    if (s->flat)
      RETURN_IF_ERROR(ref_move(y, i * y->strides[0], 1, x, ref_offset_of(x, f->first[i]), 1, 1,
                               run->error));
    else
      RETURN_IF_ERROR(
          ref_move_block((ref_block){y, i * y->strides[s->axis], y->strides},
                         (ref_block){x, f->first[i] * x->strides[s->axis], x->strides}, x->rank,
                         dims, run->error));
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const unique_state *s = run->state;
  found f = find_unique(s, &run->inputs[0], ref_ints(run, s->order_at));
  if (ref_asked_for(run, Y)) RETURN_IF_ERROR(write_values(run, &f));
  RETURN_IF_ERROR(write_list(run, INDICES, f.count, f.first));
  RETURN_IF_ERROR(write_list(run, INVERSE, s->items, f.group));
  memset(f.spare, 0, (size_t)f.count * sizeof *f.spare);
  for (int64_t i = 0; i < s->items; ++i) ++f.spare[f.group[i]];
  return write_list(run, COUNTS, f.count, f.spare);
}

const ref_op ref_unique = {sizeof(unique_state), prepare, execute, NULL, NULL};

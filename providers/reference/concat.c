// SPDX-License-Identifier: Apache-2.0
//
// Concat and Split: blocks side by side along one axis.
#include "operators.h"
#include "traverse.h"

#define MAX_PARTS 1024

typedef struct concat_state {
  int32_t axis;
} concat_state;

// ---- Concat --------------------------------------------------------------------------------

static int32_t prepare_concat(ref_prepare *p) {
  concat_state *s = p->state;
  ref_shape *y = &p->outputs[0];
  RETURN_IF_ERROR(ref_same_shape(p, 0, 0));
  RETURN_IF_ERROR(ref_axis(p, ref_attr_int(p->kernel, "axis", 1), y->rank, &s->axis));
  for (uint64_t k = 1; k < p->input_count; ++k) {
    const ref_shape *x = &p->inputs[k];
    RETURN_IF_ERROR(ref_need_rank(p, k, y->rank, y->rank));
    for (int32_t i = 0; i < y->rank; ++i)
      if (i != s->axis && x->dims[i] != y->dims[i])
        return ref_refuse(p, "input %u: dimension %d is %lld, expected %lld as in the first",
                          (unsigned)k, i, (long long)x->dims[i], (long long)y->dims[i]);
    if (__builtin_add_overflow(y->dims[s->axis], x->dims[s->axis], &y->dims[s->axis]))
      return ref_refuse(p, "the output is too large");
  }
  return OPS_OK;
}

static int32_t execute_concat(ref_run *run) {
  const concat_state *s = run->state;
  const ref_view *y = &run->outputs[0];
  int64_t start = 0;
  for (uint64_t k = 0; k < run->input_count; ++k) {
    const ref_view *x = &run->inputs[k];
    RETURN_IF_ERROR(ref_move_block((ref_block){y, start * y->strides[s->axis], y->strides},
                                   (ref_block){x, 0, x->strides}, x->rank, x->dims,
                                   run->error));
    start += x->dims[s->axis];
  }
  return OPS_OK;
}

// ---- Split: sizes by input (opset 13, and 1), attribute, or equal parts --------------------

// Part `i` of equal parts, the last one smaller where it does not divide.
static int64_t equal_part(int64_t total, int64_t parts, int64_t i) {
  int64_t size = (total + parts - 1) / parts;
  int64_t left = total - i * size;
  return left < 0 ? 0 : left < size ? left : size;
}

static int32_t read_sizes(ref_prepare *p, int64_t total, int64_t *sizes) {
  int64_t parts = (int64_t)p->output_count, count = parts;
  const ref_attribute *attribute = ref_attr(p->kernel, "split");
  if (ref_has(p, 1)) {
    RETURN_IF_ERROR(ref_whole_contents(p, 1, sizes, parts, &count));
  } else if (attribute != NULL && attribute->kind == OPS_ATTRIBUTE_INTS) {
    count = attribute->count;
    for (int64_t i = 0; i < count && i < parts; ++i) sizes[i] = attribute->ints[i];
  } else {
    int64_t wanted = ref_attr_int(p->kernel, "num_outputs", p->kernel->opset < 18 ? parts : 0);
    if (wanted != parts)
      return ref_refuse(p,
                        "attribute num_outputs is %lld (0: not given, and neither is input "
                        "split), but the node has %lld outputs",
                        (long long)wanted, (long long)parts);
    if (p->kernel->opset < 18 && total % parts != 0)
      return ref_refuse(p, "%lld elements do not split into %lld equal parts", (long long)total,
                        (long long)parts);
    for (int64_t i = 0; i < parts; ++i) sizes[i] = equal_part(total, parts, i);
  }
  if (count != parts)
    return ref_refuse(p, "input split: expected %lld sizes, one per output, found %lld",
                      (long long)parts, (long long)count);
  return OPS_OK;
}

static int32_t prepare_split(ref_prepare *p) {
  concat_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  RETURN_IF_ERROR(ref_axis(p, ref_attr_int(p->kernel, "axis", 0), x->rank, &s->axis));
  int64_t total = x->dims[s->axis], sum = 0;
  int64_t sizes[MAX_PARTS] = {0};
  if (p->output_count > MAX_PARTS)
    return ref_refuse(p, "at most %d outputs are possible", MAX_PARTS);
  RETURN_IF_ERROR(read_sizes(p, total, sizes));
  for (uint64_t k = 0; k < p->output_count; ++k) {
    RETURN_IF_ERROR(ref_same_shape(p, k, 0));
    p->outputs[k].dims[s->axis] = sizes[k];
    if (sizes[k] < 0 || sizes[k] > total - sum)
      return ref_refuse(p, "input split: the sizes exceed dimension %d, which is %lld", s->axis,
                        (long long)total);
    sum += sizes[k];
  }
  if (sum != total)
    return ref_refuse(p, "input split: the sizes add up to %lld, expected %lld", (long long)sum,
                      (long long)total);
  return OPS_OK;
}

static int32_t execute_split(ref_run *run) {
  const concat_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  int64_t start = 0;
  for (uint64_t k = 0; k < run->output_count; ++k) {
    const ref_view *y = &run->outputs[k];
    if (!y->present) return ref_refuse(run, "output %u is absent", (unsigned)k);
    RETURN_IF_ERROR(ref_move_block((ref_block){y, 0, y->strides},
                                   (ref_block){x, start * x->strides[s->axis], x->strides},
                                   y->rank, y->dims, run->error));
    start += y->dims[s->axis];
  }
  return OPS_OK;
}

const ref_op ref_concat = {sizeof(concat_state), prepare_concat, execute_concat, NULL, NULL};
const ref_op ref_split = {sizeof(concat_state), prepare_split, execute_split, NULL, NULL};

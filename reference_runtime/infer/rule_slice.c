// SPDX-License-Identifier: Apache-2.0
//
// Operators that take parts of tensors and put parts together.
#include <string.h>

#include "infer/rules.h"

// --- Concat ----------------------------------------------------------------------------------

static void concat_contents(rt_infer_context *ctx) {
  rt_dim in[RT_INFER_MAX_CONTENTS], all[RT_INFER_MAX_CONTENTS];
  int64_t total = 0;
  for (uint32_t i = 0; i < ctx->input_count; ++i) {
    int64_t count = rt_infer_contents(ctx, i, in);
    if (count < 0) {
      // The number may be known though the elements are not.
      if (!rt_infer_has(ctx, i) || !rt_type_is_static(ctx->inputs[i].type, &count)) return;
      if (count > RT_INFER_MAX_CONTENTS) return;
      for (int64_t j = 0; j < count; ++j) in[j] = rt_dim_unknown();
    }
    if (count > RT_INFER_MAX_CONTENTS - total) return;
    memcpy(all + total, in, (size_t)count * sizeof *in);
    total += count;
  }
  rt_dim *out = rt_infer_set_contents(ctx, 0, total);
  if (out) memcpy(out, all, (size_t)total * sizeof *all);
}

// Unifies the axes of input `input` with `dims`; the axis of concatenation is added up.
static int32_t concat_one(const rt_infer_context *ctx, uint32_t input, int32_t axis,
                          int32_t rank, rt_dim *dims) {
  for (int32_t i = 0; i < rank; ++i) {
    const rt_dim dim = rt_infer_dim(ctx, input, i);
    if (i == axis) {
      dims[i] = rt_dim_add(ctx->symbols, dims[i], dim);
    } else if (rt_dim_is_const(dims[i]) && rt_dim_is_const(dim) && dims[i].value != dim.value) {
      return rt_infer_fail(
          ctx,
          "input %u ('%s') is %lld on axis %d where those before it are "
          "%lld; expected the same on every axis but %d",
          input, rt_node_input(ctx->node, input) ? rt_node_input(ctx->node, input)->name : "",
          (long long)dim.value, i, (long long)dims[i].value, axis);
    } else if (rt_dim_is_const(dim) || rt_dim_is_unknown(dims[i])) {
      dims[i] = dim;
    }
  }
  return OPS_OK;
}

int32_t rt_infer_rule_concat(rt_infer_context *ctx) {
  int32_t rank = RT_RANK_UNKNOWN, elem = OPS_TYPE_UNDEFINED, axis;
  int known = 1;
  rt_dim dims[OPS_MAX_RANK];
  for (uint32_t i = 0; i < ctx->input_count; ++i) {
    const int32_t found = rt_infer_rank(ctx, i);
    OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "0", i, "i"));
    if (rank >= 0) OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, i, "of the list", rank));
    if (found >= 0) rank = found;
    if (found < 0) known = 0;
    if (!elem) elem = rt_infer_elem(ctx, i);
  }
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, rank));
  if (rank < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, rt_infer_attr(ctx, "axis", 1), rank, &axis));
  if (!known) return OPS_OK;
  for (int32_t i = 0; i < rank; ++i) dims[i] = rt_dim_unknown();
  dims[axis] = rt_dim_const(0);
  for (uint32_t i = 0; i < ctx->input_count; ++i) {
    OPS_RETURN_IF_ERROR(concat_one(ctx, i, axis, rank, dims));
  }
  for (int32_t i = 0; i < rank; ++i) rt_infer_set_dim(ctx, 0, i, dims[i]);
  if (axis == 0) concat_contents(ctx);
  return OPS_OK;
}

// --- Split -----------------------------------------------------------------------------------

// The size of output `index`: given, or equal parts of which the last may be smaller (since
// version 18; before, the axis must divide evenly).
static rt_dim split_size(const rt_infer_context *ctx, rt_dim whole, const rt_dim *given,
                         int64_t given_count, int64_t parts, uint32_t index) {
  rt_symbols *s = ctx->symbols;
  if (given_count >= 0) return index < given_count ? given[index] : rt_dim_unknown();
  if (ctx->op->opset < 18) return rt_dim_floor_div(s, whole, rt_dim_const(parts));
  const rt_dim part = rt_dim_ceil_div(s, whole, rt_dim_const(parts));
  if (index + 1 < (uint64_t)parts) return part;
  return rt_dim_sub(s, whole, rt_dim_mul(s, part, rt_dim_const(parts - 1)));
}

static int32_t check_split(const rt_infer_context *ctx, rt_dim whole, const rt_dim *given,
                           int64_t count) {
  rt_dim sum = rt_dim_const(0);
  if (count < 0) {
    if (ctx->op->opset >= 18 || !rt_dim_is_const(whole) ||
        whole.value % ctx->output_count == 0) {
      return OPS_OK;
    }
    return rt_infer_fail(ctx,
                         "the axis has %lld elements, expected a multiple of the %u outputs",
                         (long long)whole.value, ctx->output_count);
  }
  if (count != ctx->output_count) {
    return rt_infer_fail(ctx, "split has %lld elements, expected %u, one per output",
                         (long long)count, ctx->output_count);
  }
  for (int64_t i = 0; i < count; ++i) sum = rt_dim_add(ctx->symbols, sum, given[i]);
  if (rt_dim_is_const(sum) && rt_dim_is_const(whole) && sum.value != whole.value) {
    return rt_infer_fail(ctx,
                         "the parts of split add up to %lld, expected %lld, the size of the "
                         "axis",
                         (long long)sum.value, (long long)whole.value);
  }
  return OPS_OK;
}

// Attribute split before version 13, input 1 from then on. Returns the number of parts, -1:
// equal parts, -2: not known.
static int64_t split_parts(const rt_infer_context *ctx, rt_dim *parts) {
  uint32_t count;
  const int64_t *given = rt_attrs_ints(&ctx->op->attrs, "split", &count);
  if (given && count > 0 && count <= RT_INFER_MAX_CONTENTS) {
    for (uint32_t i = 0; i < count; ++i) parts[i] = rt_dim_const(given[i]);
    return count;
  }
  if (given && count > 0) return -2;
  if (!rt_infer_has(ctx, 1)) return -1;
  const int64_t found = rt_infer_contents(ctx, 1, parts);
  return found < 0 ? -2 : found;
}

static void split_contents(rt_infer_context *ctx) {
  rt_dim in[RT_INFER_MAX_CONTENTS];
  const int64_t count = rt_infer_contents(ctx, 0, in);
  int64_t at = 0;
  if (count < 0 || rt_infer_rank(ctx, 0) != 1) return;
  for (uint32_t i = 0; i < ctx->output_count; ++i) {
    const rt_dim size = ctx->outputs[i].dims[0];
    if (!rt_dim_is_const(size) || size.value < 0 || size.value > count - at) return;
    rt_dim *out = rt_infer_set_contents(ctx, i, size.value);
    if (out) memcpy(out, in + at, (size_t)size.value * sizeof *in);
    at += size.value;
  }
}

int32_t rt_infer_rule_split(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  rt_dim parts[RT_INFER_MAX_CONTENTS];
  int32_t axis = 0;
  const int64_t count = split_parts(ctx, parts);
  if (rank >= 0) {
    OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, rt_infer_attr(ctx, "axis", 0), rank, &axis));
    if (count != -2) {
      OPS_RETURN_IF_ERROR(check_split(ctx, rt_infer_dim(ctx, 0, axis), parts, count));
    }
  }
  const int64_t equal = rt_infer_attr(ctx, "num_outputs", ctx->output_count);
  if (equal < 1) {
    return rt_infer_fail(ctx, "it is split into %lld parts, expected at least 1",
                         (long long)equal);
  }
  for (uint32_t i = 0; i < ctx->output_count; ++i) {
    OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, i, elem, 0));
    if (rank < 0) continue;
    const rt_dim size =
        count == -2 ? rt_dim_unknown()
                    : split_size(ctx, rt_infer_dim(ctx, 0, axis), parts, count, equal, i);
    if (rt_dim_is_const(size) && size.value < 0) {
      return rt_infer_fail(ctx, "output %u would have %lld elements on axis %d", i,
                           (long long)size.value, axis);
    }
    rt_infer_set_dim(ctx, i, axis, size);
  }
  split_contents(ctx);
  return OPS_OK;
}

// --- Slice -----------------------------------------------------------------------------------

typedef struct bounds {
  int64_t count;
  rt_dim starts[OPS_MAX_RANK], ends[OPS_MAX_RANK];
  int64_t steps[OPS_MAX_RANK];  // 0: not known
  int32_t axes[OPS_MAX_RANK];
} bounds;

// Reads starts, ends, axes and steps; out->count is -1 if starts, ends or axes are not known.
static int32_t read_list(const rt_infer_context *ctx, const char *name, uint32_t input,
                         rt_dim *values, int64_t *out_count) {
  uint32_t count;
  const int64_t *given =
      ctx->op->opset < 10 ? rt_attrs_ints(&ctx->op->attrs, name, &count) : NULL;
  *out_count = given ? count : rt_infer_contents(ctx, input, values);
  if (*out_count > OPS_MAX_RANK) {
    return rt_infer_fail(ctx, "%s has %lld elements, expected at most %d", name,
                         (long long)*out_count, OPS_MAX_RANK);
  }
  for (int64_t i = 0; given && i < *out_count; ++i) values[i] = rt_dim_const(given[i]);
  return OPS_OK;
}

static int32_t read_bounds(const rt_infer_context *ctx, int32_t rank, bounds *out) {
  rt_dim starts[RT_INFER_MAX_CONTENTS], ends[RT_INFER_MAX_CONTENTS];
  rt_dim steps[RT_INFER_MAX_CONTENTS];
  int64_t start_count, end_count, step_count;
  int32_t axis_count;
  OPS_RETURN_IF_ERROR(read_list(ctx, "starts", 1, starts, &start_count));
  OPS_RETURN_IF_ERROR(read_list(ctx, "ends", 2, ends, &end_count));
  OPS_RETURN_IF_ERROR(rt_infer_axes(ctx, 3, rank, out->axes, &axis_count));
  step_count = rt_infer_has(ctx, 4) ? rt_infer_contents(ctx, 4, steps) : RT_INFER_ABSENT;
  out->count = start_count >= 0 ? start_count : end_count;
  if (axis_count >= 0) out->count = axis_count;
  if (out->count < 0 || axis_count == RT_INFER_UNKNOWN) {
    out->count = -1;
    return OPS_OK;
  }
  if ((start_count >= 0 && start_count != out->count) ||
      (end_count >= 0 && end_count != out->count) ||
      (step_count >= 0 && step_count != out->count) || out->count > rank) {
    return rt_infer_fail(ctx,
                         "starts has %lld elements, ends %lld, axes %d, the data rank %d; "
                         "expected as many of each and at most the rank",
                         (long long)start_count, (long long)end_count, axis_count, rank);
  }
  for (int32_t i = 0; i < out->count; ++i) {
    out->starts[i] = start_count >= 0 ? starts[i] : rt_dim_unknown();
    out->ends[i] = end_count >= 0 ? ends[i] : rt_dim_unknown();
    out->steps[i] = step_count == RT_INFER_ABSENT                  ? 1
                    : step_count >= 0 && rt_dim_is_const(steps[i]) ? steps[i].value
                                                                   : 0;
    if (axis_count == RT_INFER_ABSENT) out->axes[i] = i;
    if (step_count >= 0 && rt_dim_is_value(steps[i], 0)) {
      return rt_infer_fail(ctx, "step %d is 0, expected another number", i);
    }
  }
  return OPS_OK;
}

// A bound within [low, n + high]: negative ones count from the end. Unknown if its sign is.
static rt_dim clamp_bound(rt_symbols *s, rt_dim bound, rt_dim n, int64_t low, int64_t high) {
  int64_t least;
  const rt_dim lowest = rt_dim_const(low), highest = rt_dim_add(s, n, rt_dim_const(high));
  if (rt_dim_is_const(bound)) {
    // The customary "to the end" need not be compared with a symbol.
    if (bound.value >= INT32_MAX && !rt_dim_is_const(n)) return highest;
    if (bound.value <= -INT32_MAX && !rt_dim_is_const(n)) return lowest;
  }
  if (rt_dim_lower_bound(s, bound, &least) && least >= 0) {
    return rt_dim_min(s, bound, highest);
  }
  if (!rt_dim_is_const(bound)) {
    // -k with a symbolic k >= 1 counts from the end as well.
    const rt_dim minus = rt_dim_sub(s, rt_dim_const(0), bound);
    if (!rt_dim_lower_bound(s, minus, &least) || least < 1) return rt_dim_unknown();
  }
  const rt_dim at = rt_dim_add(s, n, bound);
  if (rt_dim_equal(at, highest)) return highest;
  const rt_dim raised = rt_dim_max(s, at, lowest);
  // An empty axis has no last element: the upper end is what counts.
  return low > high ? rt_dim_min(s, raised, highest) : raised;
}

static rt_dim slice_size(rt_symbols *s, const bounds *b, int32_t i, rt_dim n,
                         rt_dim *out_start) {
  const int64_t step = b->steps[i];
  *out_start = rt_dim_unknown();
  if (step == 0 || step == INT64_MIN) return rt_dim_unknown();
  const rt_dim start =
      step > 0 ? clamp_bound(s, b->starts[i], n, 0, 0) : clamp_bound(s, b->starts[i], n, 0, -1);
  const rt_dim end =
      step > 0 ? clamp_bound(s, b->ends[i], n, 0, 0) : clamp_bound(s, b->ends[i], n, -1, -1);
  *out_start = start;
  const rt_dim length = step > 0 ? rt_dim_sub(s, end, start) : rt_dim_sub(s, start, end);
  const rt_dim count = rt_dim_ceil_div(s, length, rt_dim_const(step > 0 ? step : -step));
  return rt_dim_max(s, count, rt_dim_const(0));
}

// `starts` and `steps`: one for each axis.
static void slice_contents(rt_infer_context *ctx, int32_t rank, const rt_dim *starts,
                           const int64_t *steps) {
  int64_t strides[OPS_MAX_RANK], first = 0;
  if (!rt_infer_strides(ctx, strides)) return;
  for (int32_t i = 0; i < rank; ++i) {
    if (!rt_dim_is_const(starts[i])) return;
    first += starts[i].value * strides[i];
    // A step that is not taken may be any number.
    const rt_dim size = ctx->output_count ? ctx->outputs[0].dims[i] : rt_dim_unknown();
    strides[i] = rt_dim_is_const(size) && size.value > 1 ? strides[i] * steps[i] : 0;
  }
  rt_infer_take_contents(ctx, first, strides);
}

int32_t rt_infer_rule_slice(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  bounds b;
  rt_dim starts[OPS_MAX_RANK];
  int64_t steps[OPS_MAX_RANK];
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, rank));
  if (rank < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(read_bounds(ctx, rank, &b));
  if (b.count < 0) return OPS_OK;
  for (int32_t i = 0; i < rank; ++i) {
    rt_infer_set_dim(ctx, 0, i, rt_infer_dim(ctx, 0, i));
    starts[i] = rt_dim_const(0);
    steps[i] = 1;
  }
  for (int32_t i = 0; i < b.count; ++i) {
    const rt_dim n = rt_infer_dim(ctx, 0, b.axes[i]);
    rt_infer_set_dim(ctx, 0, b.axes[i], slice_size(ctx->symbols, &b, i, n, &starts[b.axes[i]]));
    steps[b.axes[i]] = b.steps[i];
  }
  slice_contents(ctx, rank, starts, steps);
  return OPS_OK;
}

// --- Pad -------------------------------------------------------------------------------------

// A vector that is padded with a value.
static void pad_contents(rt_infer_context *ctx, const rt_dim *pads) {
  rt_dim in[RT_INFER_MAX_CONTENTS], fill[RT_INFER_MAX_CONTENTS] = {rt_dim_const(0)};
  const ops_str mode = rt_attrs_string(&ctx->op->attrs, "mode");
  const int64_t count = rt_infer_contents(ctx, 0, in), most = RT_INFER_MAX_CONTENTS;
  if (count < 0 || ctx->op->opset < 11 || !rt_dim_is_const(pads[0]) ||
      !rt_dim_is_const(pads[1]) || pads[0].value < 0 || pads[1].value < 0 ||
      pads[0].value > most || pads[1].value > most ||
      (mode.size && !rt_attrs_string_is(&ctx->op->attrs, "mode", "constant")) ||
      (rt_infer_has(ctx, 2) && rt_infer_contents(ctx, 2, fill) != 1)) {
    return;
  }
  const int64_t total = count + pads[0].value + pads[1].value;
  rt_dim *out = rt_infer_set_contents(ctx, 0, total);
  for (int64_t i = 0; out && i < total; ++i) {
    const int64_t at = i - pads[0].value;
    out[i] = at >= 0 && at < count ? in[at] : fill[0];
  }
}

// pads: attribute before version 11 (paddings in version 1), input 1 from then on; axes, input
// 3, since version 18.
int32_t rt_infer_rule_pad(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  rt_dim pads[RT_INFER_MAX_CONTENTS];
  int32_t axes[OPS_MAX_RANK], axis_count;
  uint32_t attr_count;
  const int64_t *given =
      rt_attrs_ints(&ctx->op->attrs, ctx->op->opset < 2 ? "paddings" : "pads", &attr_count);
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, rt_infer_elem(ctx, 0), rank));
  if (rank < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_axes(ctx, 3, rank, axes, &axis_count));
  if (axis_count == RT_INFER_UNKNOWN) return OPS_OK;
  if (axis_count == RT_INFER_ABSENT) {
    axis_count = rank;
    for (int32_t i = 0; i < rank; ++i) axes[i] = i;
  }
  const int64_t count = given ? attr_count : rt_infer_contents(ctx, 1, pads);
  if (count >= 0 && count != 2 * (int64_t)axis_count) {
    return rt_infer_fail(ctx, "pads has %lld elements, expected %d, two per axis",
                         (long long)count, 2 * axis_count);
  }
  for (int64_t i = 0; given && i < count; ++i) pads[i] = rt_dim_const(given[i]);
  for (int32_t i = 0; i < rank; ++i) rt_infer_set_dim(ctx, 0, i, rt_infer_dim(ctx, 0, i));
  for (int32_t i = 0; i < axis_count; ++i) {
    const rt_dim both =
        count < 0 ? rt_dim_unknown() : rt_dim_add(ctx->symbols, pads[i], pads[i + axis_count]);
    const rt_dim size = rt_dim_add(ctx->symbols, rt_infer_dim(ctx, 0, axes[i]), both);
    if (rt_dim_is_const(size) && size.value < 0) {
      return rt_infer_fail(ctx,
                           "axis %d of the output would have %lld elements: negative "
                           "padding takes more than there is",
                           axes[i], (long long)size.value);
    }
    rt_infer_set_dim(ctx, 0, axes[i], size);
  }
  if (rank == 1 && axis_count == 1 && count == 2) pad_contents(ctx, pads);
  return OPS_OK;
}

// --- Gather ----------------------------------------------------------------------------------

static void gather_contents(rt_infer_context *ctx) {
  rt_dim in[RT_INFER_MAX_CONTENTS];
  int64_t indices[RT_INFER_MAX_CONTENTS];
  const int64_t count = rt_infer_contents(ctx, 0, in);
  const int64_t wanted = rt_infer_ints(ctx, 1, indices, RT_INFER_MAX_CONTENTS);
  if (count < 0 || wanted < 0 || rt_infer_rank(ctx, 0) != 1) return;
  rt_dim *out = rt_infer_set_contents(ctx, 0, wanted);
  for (int64_t i = 0; out && i < wanted; ++i) {
    const int64_t at = indices[i] < 0 ? indices[i] + count : indices[i];
    if (at >= 0 && at < count) out[i] = in[at];
  }
}

int32_t rt_infer_rule_gather(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), indices = rt_infer_rank(ctx, 1);
  const int32_t elem = rt_infer_elem(ctx, 0);
  int32_t axis, at = 0;
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "data", 1));
  if (rank < 0 || indices < 0) return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, rt_infer_attr(ctx, "axis", 0), rank, &axis));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, rank + indices - 1));
  for (int32_t i = 0; i < axis; ++i) rt_infer_set_dim(ctx, 0, at++, rt_infer_dim(ctx, 0, i));
  for (int32_t i = 0; i < indices; ++i) rt_infer_set_dim(ctx, 0, at++, rt_infer_dim(ctx, 1, i));
  for (int32_t i = axis + 1; i < rank; ++i) {
    rt_infer_set_dim(ctx, 0, at++, rt_infer_dim(ctx, 0, i));
  }
  if (rank + indices - 1 <= 1) gather_contents(ctx);
  return OPS_OK;
}

int32_t rt_infer_rule_gather_elements(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  if (rank >= 0) OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "indices", rank));
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 1));
  gather_contents(ctx);
  return OPS_OK;
}

// indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1]:]
int32_t rt_infer_rule_gather_nd(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), indices = rt_infer_rank(ctx, 1);
  const int32_t elem = rt_infer_elem(ctx, 0);
  const int64_t batch = rt_infer_attr(ctx, "batch_dims", 0);
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 1, "indices", 1));
  const rt_dim last = rt_infer_dim(ctx, 1, indices - 1);
  if (rank < 0 || indices < 0 || !rt_dim_is_const(last)) {
    return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  }
  if (batch < 0 || batch >= indices || last.value > rank - batch) {
    return rt_infer_fail(ctx,
                         "indices address %lld axes after %lld batch axes, but data has "
                         "rank %d",
                         (long long)last.value, (long long)batch, rank);
  }
  const int32_t first = (int32_t)(batch + last.value);
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, indices - 1 + rank - first));
  for (int32_t i = 0; i + 1 < indices; ++i)
    rt_infer_set_dim(ctx, 0, i, rt_infer_dim(ctx, 1, i));
  for (int32_t i = first; i < rank; ++i) {
    rt_infer_set_dim(ctx, 0, indices - 1 + i - first, rt_infer_dim(ctx, 0, i));
  }
  return OPS_OK;
}

// What the condition keeps of a vector.
static void compress_contents(rt_infer_context *ctx) {
  rt_dim in[RT_INFER_MAX_CONTENTS], kept[RT_INFER_MAX_CONTENTS];
  int64_t condition[RT_INFER_MAX_CONTENTS], total = 0;
  const int64_t count = rt_infer_rank(ctx, 0) == 1 ? rt_infer_contents(ctx, 0, in) : -1;
  const int64_t length = rt_infer_ints(ctx, 1, condition, RT_INFER_MAX_CONTENTS);
  if (count < 0 || length < 0) return;
  for (int64_t i = 0; i < length && i < count; ++i)
    if (condition[i]) kept[total++] = in[i];
  rt_infer_set_dim(ctx, 0, 0, rt_dim_const(total));
  rt_dim *out = rt_infer_set_contents(ctx, 0, total);
  if (out && total > 0) memcpy(out, kept, (size_t)total * sizeof *out);
}

// The length of the axis depends on the condition.
int32_t rt_infer_rule_compress(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  int32_t axis;
  if (!rt_attrs_find(&ctx->op->attrs, "axis")) {
    OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, 1));
    compress_contents(ctx);
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, elem, 0));
  if (rank < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, rt_infer_attr(ctx, "axis", 0), rank, &axis));
  rt_infer_set_dim(ctx, 0, axis, rt_dim_unknown());
  compress_contents(ctx);
  return OPS_OK;
}

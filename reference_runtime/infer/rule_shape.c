// SPDX-License-Identifier: Apache-2.0
//
// Operators that rearrange a shape without touching the data, and those that make shapes into
// data: Shape and Size begin the computations that Reshape and its kin end.
#include <stdio.h>
#include <string.h>

#include "infer/rules.h"

// The product of the dims; 1 for none.
static rt_dim product(rt_symbols *symbols, const rt_dim *dims, int32_t count) {
  rt_dim result = rt_dim_const(1);
  for (int32_t i = 0; i < count; ++i) result = rt_dim_mul(symbols, result, dims[i]);
  return result;
}

// The number of elements of input number `input` if its shape says; -1 otherwise.
static int64_t length_of(const rt_infer_context *ctx, uint32_t input) {
  const rt_dim dim = rt_infer_dim(ctx, input, 0);
  return rt_infer_rank(ctx, input) == 1 && rt_dim_is_const(dim) ? dim.value : -1;
}

// A shape given as data: its dims in `dims` and their number; -1: not even the number is known.
static int64_t target_shape(const rt_infer_context *ctx, uint32_t input, rt_dim *dims) {
  const int64_t count = rt_infer_contents(ctx, input, dims);
  if (count >= 0) return count;
  const int64_t length = length_of(ctx, input);
  if (length > OPS_MAX_RANK) return length;
  for (int64_t i = 0; i < length; ++i) dims[i] = rt_dim_unknown();
  return length;
}

// --- Reshape ---------------------------------------------------------------------------------

// Takes out one dimension of `dims` that equals `dim`; 1 if there was one.
static int cancel(rt_dim *dims, int32_t *count, rt_dim dim) {
  for (int32_t i = 0; i < *count; ++i) {
    if (rt_dim_equal(dims[i], dim)) {
      dims[i] = dims[--*count];
      return 1;
    }
  }
  return 0;
}

// The dimension that makes `target` (without element `hole`) hold as many elements as the data.
// Equal dimensions on both sides cancel first, so that unknown ones need not be multiplied.
static rt_dim fill_hole(const rt_infer_context *ctx, const rt_dim *target, int32_t rank,
                        int32_t hole) {
  rt_dim from[OPS_MAX_RANK], to[OPS_MAX_RANK];
  int32_t from_count = rt_infer_rank(ctx, 0), to_count = 0;
  if (from_count < 0) return rt_dim_unknown();
  for (int32_t i = 0; i < from_count; ++i) from[i] = rt_infer_dim(ctx, 0, i);
  for (int32_t i = 0; i < rank; ++i) {
    if (i != hole && !cancel(from, &from_count, target[i])) to[to_count++] = target[i];
  }
  const rt_dim total = product(ctx->symbols, from, from_count);
  const rt_dim known = product(ctx->symbols, to, to_count);
  if (rt_dim_is_value(total, 0) && rt_dim_is_value(known, 0)) return rt_dim_const(0);
  return rt_dim_floor_div(ctx->symbols, total, known);
}

static int32_t check_element_count(const rt_infer_context *ctx, const rt_dim *dims,
                                   int32_t rank) {
  const rt_type target = rt_type_tensor(0, rank, dims);
  int64_t from, to;
  if (!rt_infer_has(ctx, 0) || !rt_type_is_static(ctx->inputs[0].type, &from) ||
      !rt_type_is_static(&target, &to) || from == to) {
    return OPS_OK;
  }
  return rt_infer_fail(ctx,
                       "input data has %lld elements, the shape asked for has %lld; "
                       "expected the same",
                       (long long)from, (long long)to);
}

static int32_t reshape_dims(const rt_infer_context *ctx, rt_dim *dims, int32_t rank) {
  const int allow_zero = rt_infer_attr(ctx, "allowzero", 0) != 0;
  int32_t hole = -1;
  for (int32_t i = 0; i < rank; ++i) {
    if (rt_dim_is_value(dims[i], 0) && !allow_zero) {
      const int32_t rank_data = rt_infer_rank(ctx, 0);
      if (rank_data >= 0 && i >= rank_data) {
        return rt_infer_fail(ctx,
                             "element %d of shape is 0, which copies axis %d of the data, but "
                             "the data has rank %d",
                             i, i, rank_data);
      }
      dims[i] = rt_infer_dim(ctx, 0, i);
    } else if (rt_dim_is_value(dims[i], -1)) {
      if (hole >= 0) {
        return rt_infer_fail(ctx, "elements %d and %d of shape are -1, expected at most one",
                             hole, i);
      }
      hole = i;
    } else if (rt_dim_is_const(dims[i]) && dims[i].value < 0) {
      return rt_infer_fail(ctx, "element %d of shape is %lld, expected -1 or more", i,
                           (long long)dims[i].value);
    }
  }
  if (hole >= 0) dims[hole] = fill_hole(ctx, dims, rank, hole);
  return check_element_count(ctx, dims, rank);
}

int32_t rt_infer_rule_reshape(rt_infer_context *ctx) {
  rt_dim dims[RT_INFER_MAX_CONTENTS];
  uint32_t attr_count;
  const int64_t *given = rt_attrs_ints(&ctx->op->attrs, "shape", &attr_count);
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "shape", 1));
  int64_t rank = given ? attr_count : target_shape(ctx, 1, dims);
  if (rank > OPS_MAX_RANK) {
    return rt_infer_fail(ctx, "shape has %lld elements, expected at most %d", (long long)rank,
                         OPS_MAX_RANK);
  }
  for (int64_t i = 0; given && i < rank; ++i) dims[i] = rt_dim_const(given[i]);
  if (rank >= 0) OPS_RETURN_IF_ERROR(reshape_dims(ctx, dims, (int32_t)rank));
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 0, rt_infer_elem(ctx, 0), (int32_t)rank, dims));
  rt_infer_copy_contents(ctx, 0, 0);
  return OPS_OK;
}

int32_t rt_infer_rule_flatten(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  const int64_t axis = rt_infer_attr(ctx, "axis", 1);
  rt_dim dims[2] = {rt_dim_unknown(), rt_dim_unknown()};
  if (rank >= 0) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at > rank) {
      return rt_infer_fail(ctx, "axis is %lld, expected one in [%d, %d]", (long long)axis,
                           -rank, rank);
    }
    const rt_dim *from = rank > 0 ? ctx->inputs[0].type->dims : dims;
    dims[0] = product(ctx->symbols, from, (int32_t)at);
    dims[1] = product(ctx->symbols, from + at, rank - (int32_t)at);
  }
  return rt_infer_set_shape(ctx, 0, rt_infer_elem(ctx, 0), 2, dims);
}

// --- Squeeze, Unsqueeze ----------------------------------------------------------------------

static uint64_t mask_of(const int32_t *axes, int32_t count) {
  uint64_t mask = 0;
  for (int32_t i = 0; i < count; ++i) mask |= (uint64_t)1 << axes[i];
  return mask;
}

// Without axes every 1 goes; a dimension that may be 1 or not leaves the rank open.
static int all_ones(const rt_infer_context *ctx, int32_t rank, uint64_t *out_mask) {
  *out_mask = 0;
  for (int32_t i = 0; i < rank; ++i) {
    const rt_dim dim = rt_infer_dim(ctx, 0, i);
    if (!rt_dim_is_const(dim)) return 0;
    if (dim.value == 1) *out_mask |= (uint64_t)1 << i;
  }
  return 1;
}

int32_t rt_infer_rule_squeeze(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  int32_t axes[OPS_MAX_RANK], count;
  rt_dim dims[OPS_MAX_RANK];
  uint64_t mask;
  if (rank < 0) return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  OPS_RETURN_IF_ERROR(rt_infer_axes(ctx, 1, rank, axes, &count));
  if (count == RT_INFER_UNKNOWN || (count == RT_INFER_ABSENT && !all_ones(ctx, rank, &mask))) {
    const int64_t length = count == RT_INFER_UNKNOWN ? length_of(ctx, 1) : -1;
    return rt_infer_set_tensor(
        ctx, 0, elem, length >= 0 && length <= rank ? rank - (int32_t)length : RT_RANK_UNKNOWN);
  }
  if (count >= 0) mask = mask_of(axes, count);
  int32_t kept = 0;
  for (int32_t i = 0; i < rank; ++i) {
    const rt_dim dim = rt_infer_dim(ctx, 0, i);
    if (!(mask & ((uint64_t)1 << i))) {
      dims[kept++] = dim;
    } else if (rt_dim_is_const(dim) && dim.value != 1) {
      return rt_infer_fail(ctx, "axis %d of the data is %lld, expected 1 to be squeezed", i,
                           (long long)dim.value);
    }
  }
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 0, elem, kept, dims));
  rt_infer_copy_contents(ctx, 0, 0);
  return OPS_OK;
}

int32_t rt_infer_rule_unsqueeze(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  uint32_t attr_count;
  const int64_t *given = rt_attrs_ints(&ctx->op->attrs, "axes", &attr_count);
  rt_dim unused[RT_INFER_MAX_CONTENTS];
  const int64_t known = rt_infer_contents(ctx, 1, unused);  // of a scalar, too
  const int64_t added = given ? attr_count : known >= 0 ? known : length_of(ctx, 1);
  int32_t axes[OPS_MAX_RANK], count;
  rt_dim dims[OPS_MAX_RANK];
  if (rank < 0 || added < 0) return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  if (added > OPS_MAX_RANK - rank) {
    return rt_infer_fail(ctx, "the output would have rank %lld, expected at most %d",
                         (long long)rank + added, OPS_MAX_RANK);
  }
  const int32_t full = rank + (int32_t)added;
  OPS_RETURN_IF_ERROR(rt_infer_axes(ctx, 1, full, axes, &count));
  if (count < 0) return rt_infer_set_tensor(ctx, 0, elem, full);
  const uint64_t mask = mask_of(axes, count);
  for (int32_t i = 0, from = 0; i < full; ++i) {
    dims[i] = mask & ((uint64_t)1 << i) ? rt_dim_const(1) : rt_infer_dim(ctx, 0, from++);
  }
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 0, elem, full, dims));
  rt_infer_copy_contents(ctx, 0, 0);
  return OPS_OK;
}

// --- Expand, Tile, Transpose -----------------------------------------------------------------

int32_t rt_infer_rule_expand(rt_infer_context *ctx) {
  rt_dim target[RT_INFER_MAX_CONTENTS], dims[OPS_MAX_RANK], in[RT_INFER_MAX_CONTENTS];
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  int32_t out_rank;
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "shape", 1));
  const int64_t count = target_shape(ctx, 1, target);
  if (count > OPS_MAX_RANK) {
    return rt_infer_fail(ctx, "shape has %lld elements, expected at most %d", (long long)count,
                         OPS_MAX_RANK);
  }
  if (rank < 0 || count < 0) return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  OPS_RETURN_IF_ERROR(rt_infer_broadcast(ctx, ctx->inputs[0].type->dims, rank, target,
                                         (int32_t)count, dims, &out_rank));
  OPS_RETURN_IF_ERROR(rt_infer_set_shape(ctx, 0, elem, out_rank, dims));
  if (out_rank == 1 && rt_dim_is_const(dims[0]) && rt_infer_contents(ctx, 0, in) == 1) {
    rt_dim *out = rt_infer_set_contents(ctx, 0, dims[0].value);
    for (int64_t i = 0; out && i < dims[0].value; ++i) out[i] = in[0];
  }
  return OPS_OK;
}

int32_t rt_infer_rule_tile(rt_infer_context *ctx) {
  rt_dim repeats[RT_INFER_MAX_CONTENTS];
  const int32_t rank = rt_infer_rank(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "repeats", 1));
  const int64_t count = rt_infer_contents(ctx, 1, repeats);
  if (rank >= 0 && count >= 0 && count != rank) {
    return rt_infer_fail(ctx, "repeats has %lld elements, expected %d, the rank of the input",
                         (long long)count, rank);
  }
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, rt_infer_elem(ctx, 0), rank));
  for (int32_t i = 0; count >= 0 && i < rank; ++i) {
    rt_infer_set_dim(ctx, 0, i, rt_dim_mul(ctx->symbols, rt_infer_dim(ctx, 0, i), repeats[i]));
  }
  rt_dim in[RT_INFER_MAX_CONTENTS];
  const int64_t length = rank == 1 ? rt_infer_contents(ctx, 0, in) : -1;
  const int64_t most = RT_INFER_MAX_CONTENTS;
  if (length < 0 || count != 1 || !rt_dim_is_const(repeats[0]) || repeats[0].value < 0 ||
      (length > 0 && repeats[0].value > most / length)) {
    return OPS_OK;
  }
  const int64_t total = length > 0 ? length * repeats[0].value : 0;
  rt_dim *out = rt_infer_set_contents(ctx, 0, total);
  for (int64_t i = 0; out && i < total; ++i) out[i] = in[i % length];
  return OPS_OK;
}

// Version 1: copies along one axis, both given as scalars of the input's type.
int32_t rt_infer_rule_tile_axis(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  double tiles, given;
  int32_t axis;
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, rt_infer_elem(ctx, 0), rank));
  if (rank < 0 || rt_infer_floats(ctx, 2, &given, 1) != 1 ||
      !(given >= -OPS_MAX_RANK && given <= OPS_MAX_RANK)) {
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, (int64_t)given, rank, &axis));
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  const int known = rt_infer_floats(ctx, 1, &tiles, 1) == 1 && tiles >= 0 && tiles <= 0x1p31 &&
                    tiles == (double)(int64_t)tiles;
  const rt_dim size =
      known ? rt_dim_mul(ctx->symbols, rt_infer_dim(ctx, 0, axis), rt_dim_const((int64_t)tiles))
            : rt_dim_unknown();
  rt_infer_set_dim(ctx, 0, axis, size);
  return OPS_OK;
}

// `perm` NULL: all axes reversed.
static void transpose_contents(rt_infer_context *ctx, int32_t rank, const int64_t *perm) {
  int64_t strides[OPS_MAX_RANK], steps[OPS_MAX_RANK];
  if (!rt_infer_strides(ctx, strides)) return;
  for (int32_t i = 0; i < rank; ++i) {
    const int64_t axis = perm ? perm[i] < 0 ? perm[i] + rank : perm[i] : rank - 1 - i;
    steps[i] = strides[axis];
  }
  rt_infer_take_contents(ctx, 0, steps);
}

int32_t rt_infer_rule_transpose(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  uint32_t count;
  uint64_t seen = 0;
  const int64_t *perm = rt_attrs_ints(&ctx->op->attrs, "perm", &count);
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, rt_infer_elem(ctx, 0), rank));
  if (rank >= 0 && perm && count != (uint32_t)rank) {
    return rt_infer_fail(ctx,
                         "attribute perm has %u elements, expected %d, the rank of the "
                         "input",
                         count, rank);
  }
  for (int32_t i = 0; i < rank; ++i) {
    int32_t from = rank - 1 - i;
    if (perm) OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, perm[i], rank, &from));
    if (seen & ((uint64_t)1 << from)) {
      return rt_infer_fail(ctx, "attribute perm names axis %d twice, expected each axis once",
                           from);
    }
    seen |= (uint64_t)1 << from;
    rt_infer_set_dim(ctx, 0, i, rt_infer_dim(ctx, 0, from));
  }
  if (rank >= 0) transpose_contents(ctx, rank, perm);
  return OPS_OK;
}

// --- Shapes as data --------------------------------------------------------------------------

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

// Attributes start and end since version 15.
int32_t rt_infer_rule_shape(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  int64_t start = rt_infer_attr(ctx, "start", 0), end = rt_infer_attr(ctx, "end", INT64_MAX);
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, OPS_TYPE_INT64, 1));
  if (rank < 0) return OPS_OK;
  start = clamp(start < 0 ? start + rank : start, 0, rank);
  end = clamp(end < 0 ? end + rank : end, 0, rank);
  const int64_t count = end > start ? end - start : 0;
  rt_infer_set_dim(ctx, 0, 0, rt_dim_const(count));
  rt_dim *out = rt_infer_set_contents(ctx, 0, count);
  for (int64_t i = 0; out && i < count; ++i) {
    out[i] = rt_infer_dim(ctx, 0, (int32_t)(start + i));
  }
  return OPS_OK;
}

int32_t rt_infer_rule_size(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, OPS_TYPE_INT64, 0));
  rt_dim *out = rank >= 0 ? rt_infer_set_contents(ctx, 0, 1) : NULL;
  if (out) {
    *out = rank == 0 ? rt_dim_const(1) : product(ctx->symbols, ctx->inputs[0].type->dims, rank);
  }
  return OPS_OK;
}

// --- Blocks ----------------------------------------------------------------------------------

static int32_t check_divides(const rt_infer_context *ctx, rt_dim dim, int64_t divisor,
                             const char *what) {
  if (!rt_dim_is_const(dim) || dim.value % divisor == 0) return OPS_OK;
  return rt_infer_fail(ctx, "%s is %lld, expected a multiple of %lld", what,
                       (long long)dim.value, (long long)divisor);
}

static int32_t block_size(const rt_infer_context *ctx, int64_t *out_block) {
  *out_block = rt_infer_attr(ctx, "blocksize", 0);
  if (*out_block >= 1 && *out_block <= INT32_MAX) return OPS_OK;
  return rt_infer_fail(ctx, "attribute blocksize is %lld, expected at least 1",
                       (long long)*out_block);
}

int32_t rt_infer_rule_depth_to_space(rt_infer_context *ctx) {
  int64_t block;
  OPS_RETURN_IF_ERROR(block_size(ctx, &block));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "input", 4));
  const rt_dim b = rt_dim_const(block), area = rt_dim_const(block * block);
  OPS_RETURN_IF_ERROR(check_divides(ctx, rt_infer_dim(ctx, 0, 1), area.value, "the depth"));
  const rt_dim dims[4] = {rt_infer_dim(ctx, 0, 0),
                          rt_dim_floor_div(ctx->symbols, rt_infer_dim(ctx, 0, 1), area),
                          rt_dim_mul(ctx->symbols, rt_infer_dim(ctx, 0, 2), b),
                          rt_dim_mul(ctx->symbols, rt_infer_dim(ctx, 0, 3), b)};
  return rt_infer_set_shape(ctx, 0, rt_infer_elem(ctx, 0), 4, dims);
}

int32_t rt_infer_rule_space_to_depth(rt_infer_context *ctx) {
  int64_t block;
  OPS_RETURN_IF_ERROR(block_size(ctx, &block));
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "input", 4));
  const rt_dim b = rt_dim_const(block), area = rt_dim_const(block * block);
  OPS_RETURN_IF_ERROR(check_divides(ctx, rt_infer_dim(ctx, 0, 2), block, "the height"));
  OPS_RETURN_IF_ERROR(check_divides(ctx, rt_infer_dim(ctx, 0, 3), block, "the width"));
  const rt_dim dims[4] = {rt_infer_dim(ctx, 0, 0),
                          rt_dim_mul(ctx->symbols, rt_infer_dim(ctx, 0, 1), area),
                          rt_dim_floor_div(ctx->symbols, rt_infer_dim(ctx, 0, 2), b),
                          rt_dim_floor_div(ctx->symbols, rt_infer_dim(ctx, 0, 3), b)};
  return rt_infer_set_shape(ctx, 0, rt_infer_elem(ctx, 0), 4, dims);
}

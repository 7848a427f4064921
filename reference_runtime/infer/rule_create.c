// SPDX-License-Identifier: Apache-2.0
//
// Operators that make tensors out of attributes, shapes and scalars; recurrent networks.
#include <math.h>
#include <string.h>

#include "infer/rules.h"

static int32_t elem_attr(const rt_infer_context *ctx, const char *name, int32_t missing) {
  const int64_t given = rt_infer_attr(ctx, name, missing);
  return given > 0 && given < OPS_TYPE_COUNT ? (int32_t)given : missing;
}

// The builder makes constants of Constant nodes; a pass may put one in again.
int32_t rt_infer_rule_constant(rt_infer_context *ctx) {
  const rt_constant *value = rt_attrs_tensor(&ctx->op->attrs, "value");
  if (!value) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, value->elem_type, value->rank));
  for (int32_t i = 0; i < value->rank; ++i) {
    rt_infer_set_dim(ctx, 0, i, rt_dim_const(value->dims[i]));
  }
  return OPS_OK;
}

static int32_t set_shape_from(rt_infer_context *ctx, int32_t elem, const rt_dim *dims,
                              int64_t count) {
  if (count > OPS_MAX_RANK) {
    return rt_infer_fail(ctx, "the shape has %lld elements, expected at most %d",
                         (long long)count, OPS_MAX_RANK);
  }
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, (int32_t)count));
  for (int32_t i = 0; i < count; ++i) {
    if (rt_dim_is_const(dims[i]) && dims[i].value < 0) {
      return rt_infer_fail(ctx, "element %d of the shape is %lld, expected at least 0", i,
                           (long long)dims[i].value);
    }
    rt_infer_set_dim(ctx, 0, i, dims[i]);
  }
  return OPS_OK;
}

int32_t rt_infer_rule_constant_of_shape(rt_infer_context *ctx) {
  const rt_constant *value = rt_attrs_tensor(&ctx->op->attrs, "value");
  const int32_t elem = value ? value->elem_type : OPS_TYPE_FLOAT;
  rt_dim dims[RT_INFER_MAX_CONTENTS];
  int64_t fill = 0;
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "input", 1));
  int64_t count = rt_infer_contents(ctx, 0, dims);
  if (count < 0) {
    const rt_dim length = rt_infer_dim(ctx, 0, 0);
    if (!rt_dim_is_const(length) || length.value > OPS_MAX_RANK) {
      return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
    }
    count = length.value;
    for (int64_t i = 0; i < count; ++i) dims[i] = rt_dim_unknown();
  }
  OPS_RETURN_IF_ERROR(set_shape_from(ctx, elem, dims, count));
  if (value && rt_constant_read_ints(value, &fill, 1) != 1) return OPS_OK;
  if (count > 1 || (count == 1 && !rt_dim_is_const(dims[0]))) return OPS_OK;
  const int64_t elements = count == 0 ? 1 : dims[0].value;
  rt_dim *out = rt_infer_set_contents(ctx, 0, elements);
  for (int64_t i = 0; out && i < elements; ++i) out[i] = rt_dim_const(fill);
  return OPS_OK;
}

// max(ceil((limit - start) / delta), 0)
int32_t rt_infer_rule_range(rt_infer_context *ctx) {
  rt_symbols *s = ctx->symbols;
  rt_dim start[RT_INFER_MAX_CONTENTS], limit[RT_INFER_MAX_CONTENTS],
      delta[RT_INFER_MAX_CONTENTS];
  double f[3];
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, rt_infer_elem(ctx, 0), 1));
  if (rt_infer_contents(ctx, 0, start) == 1 && rt_infer_contents(ctx, 1, limit) == 1 &&
      rt_infer_contents(ctx, 2, delta) == 1 && rt_dim_is_const(*delta) && delta->value != 0 &&
      !rt_dim_is_unknown(*start) && !rt_dim_is_unknown(*limit)) {
    const rt_dim steps = rt_dim_ceil_div(s, rt_dim_sub(s, *limit, *start), *delta);
    const rt_dim count = rt_dim_max(s, steps, rt_dim_const(0));
    rt_infer_set_dim(ctx, 0, 0, count);
    rt_dim *out = rt_dim_is_const(count) ? rt_infer_set_contents(ctx, 0, count.value) : NULL;
    for (int64_t i = 0; out && i < count.value; ++i) {
      out[i] = rt_dim_add(s, *start, rt_dim_mul(s, *delta, rt_dim_const(i)));
    }
    return OPS_OK;
  }
  for (uint32_t i = 0; i < 3; ++i) {
    if (rt_infer_floats(ctx, i, &f[i], 1) != 1) return OPS_OK;
  }
  if (f[2] == 0) return rt_infer_fail(ctx, "delta is 0, expected another number");
  const double steps = ceil((f[1] - f[0]) / f[2]);
  if (steps < 9e18) rt_infer_set_dim(ctx, 0, 0, rt_dim_const(steps > 0 ? (int64_t)steps : 0));
  return OPS_OK;
}

int32_t rt_infer_rule_eye_like(rt_infer_context *ctx) {
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "input", 2));
  return rt_infer_copy_shape(ctx, 0, elem_attr(ctx, "dtype", rt_infer_elem(ctx, 0)), 0);
}

// RandomNormal, RandomUniform: attribute shape
int32_t rt_infer_rule_random(rt_infer_context *ctx) {
  rt_dim dims[OPS_MAX_RANK];
  uint32_t count;
  const int64_t *shape = rt_attrs_ints(&ctx->op->attrs, "shape", &count);
  for (uint32_t i = 0; shape && i < count && i < OPS_MAX_RANK; ++i) {
    dims[i] = rt_dim_const(shape[i]);
  }
  if (!shape) return rt_infer_fail(ctx, "attribute shape is missing");
  return set_shape_from(ctx, elem_attr(ctx, "dtype", OPS_TYPE_FLOAT), dims, count);
}

int32_t rt_infer_rule_random_like(rt_infer_context *ctx) {
  return rt_infer_copy_shape(ctx, 0, elem_attr(ctx, "dtype", rt_infer_elem(ctx, 0)), 0);
}

int32_t rt_infer_rule_multinomial(rt_infer_context *ctx) {
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "input", 2));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem_attr(ctx, "dtype", OPS_TYPE_INT32), 2));
  rt_infer_set_dim(ctx, 0, 0, rt_infer_dim(ctx, 0, 0));
  rt_infer_set_dim(ctx, 0, 1, rt_dim_const(rt_infer_attr(ctx, "sample_size", 1)));
  return OPS_OK;
}

// RNN, GRU, LSTM. layout 0: X [T,N,I] -> Y [T,D,N,H], Y_h [D,N,H]; layout 1 puts N first.
int32_t rt_infer_rule_rnn(rt_infer_context *ctx) {
  const int batch_first = rt_infer_attr(ctx, "layout", 0) != 0;
  const int64_t hidden = rt_infer_attr(ctx, "hidden_size", -1);
  const int both = rt_attrs_string_is(&ctx->op->attrs, "direction", "bidirectional");
  const int32_t elem = rt_infer_elem(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 0, "X", 3));
  const rt_dim t = rt_infer_dim(ctx, 0, batch_first), n = rt_infer_dim(ctx, 0, !batch_first);
  const rt_dim d = rt_dim_const(both ? 2 : 1);
  const rt_dim h = hidden > 0 ? rt_dim_const(hidden) : rt_infer_dim(ctx, 2, 2);
  const rt_dim y[2][4] = {{t, d, n, h}, {n, t, d, h}};
  const rt_dim state[2][3] = {{d, n, h}, {n, d, h}};
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, 4));
  for (int32_t i = 0; i < 4; ++i) rt_infer_set_dim(ctx, 0, i, y[batch_first][i]);
  for (uint32_t output = 1; output < 3; ++output) {
    OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, output, elem, 3));
    for (int32_t i = 0; i < 3; ++i) rt_infer_set_dim(ctx, output, i, state[batch_first][i]);
  }
  return OPS_OK;
}

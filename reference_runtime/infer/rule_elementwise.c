// SPDX-License-Identifier: Apache-2.0
//
// Elementwise operators: the shape of the input, or the broadcast of all inputs; and integer
// arithmetic on known contents.
#include "infer/rule_elementwise.h"

#include <ctype.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "infer/rules.h"

// --- Contents --------------------------------------------------------------------------------

static int is_float(int32_t elem_type) {
  return elem_type == OPS_TYPE_FLOAT || elem_type == OPS_TYPE_DOUBLE ||
         elem_type == OPS_TYPE_FLOAT16 || elem_type == OPS_TYPE_BFLOAT16;
}

static int at_least(const rt_infer_context *ctx, rt_dim dim, int64_t bound) {
  int64_t found;
  return rt_dim_lower_bound(ctx->symbols, dim, &found) && found >= bound;
}

// Integers divide towards zero; floats are followed only where the quotient is exact.
static rt_dim divide(const rt_infer_context *ctx, rt_dim a, rt_dim b) {
  const int both = rt_dim_is_const(a) && rt_dim_is_const(b);
  if (rt_dim_is_value(b, 0)) return rt_dim_unknown();
  if (is_float(rt_infer_elem(ctx, 0))) {
    if (!rt_dim_is_value(rt_dim_mod(ctx->symbols, a, b), 0)) return rt_dim_unknown();
    return rt_dim_floor_div(ctx->symbols, a, b);
  }
  if (both && (a.value != INT64_MIN || b.value != -1)) return rt_dim_const(a.value / b.value);
  if (!at_least(ctx, a, 0) || !at_least(ctx, b, 0)) return rt_dim_unknown();
  return rt_dim_floor_div(ctx->symbols, a, b);
}

// The sign of the divisor, as floor(a/b) leaves it; with fmod that of the dividend, which is
// the same for numbers >= 0.
static rt_dim modulo(const rt_infer_context *ctx, rt_dim a, rt_dim b) {
  const int truncates = rt_infer_attr(ctx, "fmod", 0) != 0 || is_float(rt_infer_elem(ctx, 0));
  if (truncates && (!at_least(ctx, a, 0) || !at_least(ctx, b, 1))) return rt_dim_unknown();
  return rt_dim_mod(ctx->symbols, a, b);
}

// Of numbers only, and as long as the result is exact.
static rt_dim power(rt_dim base, rt_dim exponent) {
  int64_t result = 1;
  if (!rt_dim_is_const(base) || !rt_dim_is_const(exponent) || exponent.value < 0 ||
      exponent.value > 62) {
    return rt_dim_unknown();
  }
  for (int64_t i = 0; i < exponent.value; ++i)
    if (__builtin_mul_overflow(result, base.value, &result)) return rt_dim_unknown();
  return rt_dim_const(result);
}

static rt_dim negate(rt_dim truth) {
  return rt_dim_is_const(truth) ? rt_dim_const(truth.value == 0) : rt_dim_unknown();
}

// And, Or: one side may decide. `decisive` is the truth that does.
static rt_dim either(rt_dim a, rt_dim b, int64_t decisive) {
  if (rt_dim_is_value(a, decisive) || rt_dim_is_value(b, decisive))
    return rt_dim_const(decisive);
  if (rt_dim_is_value(a, !decisive)) return b;
  return rt_dim_is_value(b, !decisive) ? a : rt_dim_unknown();
}

static rt_dim is_true(const rt_infer_context *ctx, rt_dim a) {
  if (rt_dim_is_const(a)) return rt_dim_const(a.value != 0);
  return at_least(ctx, a, 1) ? rt_dim_const(1) : rt_dim_unknown();
}

// 1, 0, or unknown.
static rt_dim is_less(const rt_infer_context *ctx, rt_dim a, rt_dim b) {
  if (at_least(ctx, rt_dim_sub(ctx->symbols, b, a), 1)) return rt_dim_const(1);
  if (at_least(ctx, rt_dim_sub(ctx->symbols, a, b), 0)) return rt_dim_const(0);
  return rt_dim_unknown();
}

static rt_dim is_equal(const rt_infer_context *ctx, rt_dim a, rt_dim b) {
  if (rt_dim_equal(a, b)) return rt_dim_const(1);
  if (at_least(ctx, rt_dim_sub(ctx->symbols, a, b), 1) ||
      at_least(ctx, rt_dim_sub(ctx->symbols, b, a), 1)) {
    return rt_dim_const(0);
  }
  return rt_dim_unknown();
}

static rt_dim compute(const rt_infer_context *ctx, rt_dim a, rt_dim b) {
  rt_symbols *s = ctx->symbols;
  if (ctx->param == RT_INFER_AND) return either(a, b, 0);
  if (ctx->param == RT_INFER_OR) return either(a, b, 1);
  if (rt_dim_is_unknown(a) || rt_dim_is_unknown(b)) return rt_dim_unknown();
  switch (ctx->param) {
    case RT_INFER_ADD:
      return rt_dim_add(s, a, b);
    case RT_INFER_SUB:
      return rt_dim_sub(s, a, b);
    case RT_INFER_MUL:
      return rt_dim_mul(s, a, b);
    case RT_INFER_DIV:
      return divide(ctx, a, b);
    case RT_INFER_MOD:
      return modulo(ctx, a, b);
    case RT_INFER_MIN:
      return rt_dim_min(s, a, b);
    case RT_INFER_MAX:
      return rt_dim_max(s, a, b);
    case RT_INFER_EQUAL:
      return is_equal(ctx, a, b);
    case RT_INFER_LESS:
      return is_less(ctx, a, b);
    case RT_INFER_GREATER:
      return is_less(ctx, b, a);
    case RT_INFER_LESS_EQUAL:
      return negate(is_less(ctx, b, a));
    case RT_INFER_GREATER_EQUAL:
      return negate(is_less(ctx, a, b));
    case RT_INFER_XOR:
      return is_equal(ctx, a, b).expr == RT_DIM_CONSTANT ? negate(is_equal(ctx, a, b))
                                                         : rt_dim_unknown();
    case RT_INFER_POW:
      return power(a, b);
    default:
      return rt_dim_unknown();
  }
}

// Contents of output 0 from those of two inputs or more, of rank 0 or 1.
static void compute_contents(rt_infer_context *ctx) {
  rt_dim all[RT_INFER_MAX_CONTENTS], next[RT_INFER_MAX_CONTENTS];
  if (ctx->param == RT_INFER_NOTHING || !ctx->output_count || ctx->outputs[0].type.rank > 1) {
    return;
  }
  int64_t count = rt_infer_contents(ctx, 0, all);
  for (uint32_t k = 1; k < ctx->input_count; ++k) {
    const int64_t more = rt_infer_contents(ctx, k, next);
    if (count < 0 || more < 0 || (count != more && count != 1 && more != 1)) return;
    const int64_t longer = count == 1 ? more : count;
    for (int64_t i = longer - 1; i >= 0; --i)
      all[i] = compute(ctx, all[count == 1 ? 0 : i], next[more == 1 ? 0 : i]);
    count = longer;
  }
  rt_dim *out = rt_infer_set_contents(ctx, 0, count);
  if (out && count > 0) memcpy(out, all, (size_t)count * sizeof *out);
}

// --- One input -------------------------------------------------------------------------------

// param: the element type of the output, 0: that of the input.
int32_t rt_infer_rule_same(rt_infer_context *ctx) {
  return rt_infer_copy_shape(ctx, 0, ctx->param ? ctx->param : rt_infer_elem(ctx, 0), 0);
}

int32_t rt_infer_rule_integral(rt_infer_context *ctx) {
  rt_dim in[RT_INFER_MAX_CONTENTS];
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  const int64_t count = rt_infer_contents(ctx, 0, in);
  rt_dim *out = rt_infer_set_contents(ctx, 0, count);
  for (int64_t i = 0; out && i < count; ++i) {
    const rt_dim negated = rt_dim_sub(ctx->symbols, rt_dim_const(0), in[i]);
    switch (ctx->param) {
      case RT_INFER_NEG:
        out[i] = negated;
        break;
      case RT_INFER_ABS:
        out[i] = rt_dim_max(ctx->symbols, in[i], negated);
        break;
      case RT_INFER_NOT:
        out[i] = negate(in[i]);
        break;
      case RT_INFER_SIGN:
        out[i] = rt_dim_is_const(in[i]) ? rt_dim_const((in[i].value > 0) - (in[i].value < 0))
                                        : is_true(ctx, in[i]);
        break;
      default:
        out[i] = in[i];
        break;
    }
  }
  return OPS_OK;
}

int32_t rt_infer_rule_identity(rt_infer_context *ctx) {
  if (!rt_infer_has(ctx, 0) || !ctx->output_count) return OPS_OK;
  const rt_type *type = ctx->inputs[0].type;
  if (type->kind != RT_TYPE_TENSOR) {
    ctx->outputs[0].type = *type;
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, type->elem_type, 0));
  rt_infer_copy_contents(ctx, 0, 0);
  return OPS_OK;
}

// Before opset 6 attribute `to` is the name of a type, which is that of the ABI in capitals.
static int64_t named_type(const rt_infer_context *ctx) {
  const ops_str given = rt_attrs_string(&ctx->op->attrs, "to");
  char name[16];
  if (given.size >= sizeof name) return 0;
  for (size_t i = 0; i < given.size; ++i) {
    if (given.data[i] >= 'a' && given.data[i] <= 'z') return 0;
    name[i] = (char)tolower((unsigned char)given.data[i]);
  }
  name[given.size] = '\0';
  for (int32_t type = 1; type <= OPS_TYPE_UINT64; ++type) {
    if (strcmp(name, ops_type_name(type)) == 0) return type;
  }
  return 0;
}

// What does not fit the type is forgotten later.
static void cast_contents(rt_infer_context *ctx, int32_t to) {
  if (to == OPS_TYPE_STRING || to == OPS_TYPE_UNDEFINED) return;
  rt_infer_copy_contents(ctx, 0, 0);
  if (to != OPS_TYPE_BOOL || ctx->output_count == 0) return;
  rt_infer_output *out = &ctx->outputs[0];
  for (int64_t i = 0; i < out->contents_count; ++i)
    out->contents[i] = is_true(ctx, out->contents[i]);
}

int32_t rt_infer_rule_cast(rt_infer_context *ctx) {
  const int64_t to = ctx->op->opset < 6 ? named_type(ctx) : rt_infer_attr(ctx, "to", 0);
  if (to <= 0 || to >= OPS_TYPE_COUNT) {
    return rt_infer_fail(ctx, "attribute to is %lld, expected %s of an element type",
                         (long long)to, ctx->op->opset < 6 ? "the name" : "the number");
  }
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, (int32_t)to, 0));
  cast_contents(ctx, (int32_t)to);
  return OPS_OK;
}

int32_t rt_infer_rule_cast_like(rt_infer_context *ctx) {
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 1), 0));
  cast_contents(ctx, rt_infer_elem(ctx, 1));
  return OPS_OK;
}

// BitCast: the bits stay, so that a type of the same width is expected; what is known of the
// contents is not followed.
int32_t rt_infer_rule_bit_cast(rt_infer_context *ctx) {
  const int64_t to = rt_infer_attr(ctx, "to", 0);
  const int32_t from = rt_infer_elem(ctx, 0);
  uint64_t before = 0, after = 0;
  if (to <= 0 || to >= OPS_TYPE_COUNT || !rt_elem_type_bytes((int32_t)to, 8, &after)) {
    return rt_infer_fail(ctx,
                         "attribute to is %lld, expected the number of an element type "
                         "other than string",
                         (long long)to);
  }
  if (from && rt_elem_type_bytes(from, 8, &before) && before != after) {
    return rt_infer_fail(ctx, "input is %s and attribute to %s; expected types of one width",
                         rt_elem_type_name(from), rt_elem_type_name((int32_t)to));
  }
  return rt_infer_copy_shape(ctx, 0, (int32_t)to, 0);
}

// min(max(x, low), high), as the specification has it where low > high.
static void clip_contents(rt_infer_context *ctx) {
  rt_dim low[RT_INFER_MAX_CONTENTS], high[RT_INFER_MAX_CONTENTS];
  const int has_low = rt_infer_has(ctx, 1), has_high = rt_infer_has(ctx, 2);
  if ((has_low && rt_infer_contents(ctx, 1, low) != 1) ||
      (has_high && rt_infer_contents(ctx, 2, high) != 1) || ctx->output_count == 0) {
    return;
  }
  rt_infer_copy_contents(ctx, 0, 0);
  rt_infer_output *out = &ctx->outputs[0];
  for (int64_t i = 0; i < out->contents_count; ++i) {
    if (has_low) out->contents[i] = rt_dim_max(ctx->symbols, out->contents[i], *low);
    if (has_high) out->contents[i] = rt_dim_min(ctx->symbols, out->contents[i], *high);
  }
}

int32_t rt_infer_rule_clip(rt_infer_context *ctx) {
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "input", 1, "min"));
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "input", 2, "max"));
  if (ctx->op->opset >= 11) {
    OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 1, "min", 0));
    OPS_RETURN_IF_ERROR(rt_infer_need_rank(ctx, 2, "max", 0));
  }
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  if (ctx->op->opset >= 11) clip_contents(ctx);
  return OPS_OK;
}

// The mask has the data's type up to version 9, bool from then on.
int32_t rt_infer_rule_dropout(rt_infer_context *ctx) {
  const int32_t elem = rt_infer_elem(ctx, 0);
  OPS_RETURN_IF_ERROR(
      rt_infer_copy_shape(ctx, 1, ctx->op->opset < 10 ? elem : OPS_TYPE_BOOL, 0));
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, elem, 0));
  rt_infer_copy_contents(ctx, 0, 0);
  return OPS_OK;
}

// --- Several inputs --------------------------------------------------------------------------

// Output 0 gets the broadcast of inputs [0, count); its rank is unknown if one of theirs is.
static int32_t broadcast_inputs(rt_infer_context *ctx, uint32_t first, uint32_t count,
                                int32_t elem_type) {
  rt_dim dims[OPS_MAX_RANK];
  int32_t rank = 0;
  for (uint32_t i = first; i < first + count; ++i) {
    const int32_t input_rank = rt_infer_rank(ctx, i);
    if (input_rank < 0) return rt_infer_set_tensor(ctx, 0, elem_type, RT_RANK_UNKNOWN);
    const rt_dim *input_dims = ctx->inputs[i].type->dims;
    OPS_RETURN_IF_ERROR(
        rt_infer_broadcast(ctx, dims, rank, input_dims, input_rank, dims, &rank));
  }
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem_type, rank));
  for (int32_t i = 0; i < rank; ++i) rt_infer_set_dim(ctx, 0, i, dims[i]);
  return OPS_OK;
}

int32_t rt_infer_rule_binary(rt_infer_context *ctx) {
  const int32_t elem = rt_infer_elem(ctx, 0);
  if (ctx->param != RT_INFER_POW) {
    OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "A", 1, "B"));
  }
  const int use_second = !elem && ctx->param != RT_INFER_POW;
  OPS_RETURN_IF_ERROR(broadcast_inputs(ctx, 0, 2, use_second ? rt_infer_elem(ctx, 1) : elem));
  compute_contents(ctx);
  return OPS_OK;
}

int32_t rt_infer_rule_compare(rt_infer_context *ctx) {
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "A", 1, "B"));
  OPS_RETURN_IF_ERROR(broadcast_inputs(ctx, 0, 2, OPS_TYPE_BOOL));
  compute_contents(ctx);
  return OPS_OK;
}

// Opset 6 and before: the second input is broadcast to the first.
static int32_t infer_limited(rt_infer_context *ctx, int32_t elem_type) {
  const int32_t rank_a = rt_infer_rank(ctx, 0), rank_b = rt_infer_rank(ctx, 1);
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "A", 1, "B"));
  if (rank_a >= 0 && rank_b > rank_a) {
    return rt_infer_fail(ctx, "input B has rank %d, expected at most %d, that of A", rank_b,
                         rank_a);
  }
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, elem_type, 0));
  compute_contents(ctx);
  return OPS_OK;
}

int32_t rt_infer_rule_binary_limited(rt_infer_context *ctx) {
  const int32_t elem = rt_infer_elem(ctx, 0);
  return infer_limited(ctx, elem ? elem : rt_infer_elem(ctx, 1));
}

int32_t rt_infer_rule_compare_limited(rt_infer_context *ctx) {
  return infer_limited(ctx, OPS_TYPE_BOOL);
}

int32_t rt_infer_rule_variadic(rt_infer_context *ctx) {
  int32_t elem = rt_infer_elem(ctx, 0);
  for (uint32_t i = 1; i < ctx->input_count; ++i) {
    OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "data_0", i, "data_i"));
    if (!elem) elem = rt_infer_elem(ctx, i);
  }
  OPS_RETURN_IF_ERROR(broadcast_inputs(ctx, 0, ctx->input_count, elem));
  compute_contents(ctx);
  return OPS_OK;
}

static int64_t longest(int64_t a, int64_t b) {
  return a == 1 || b < 0 ? b : a < 0 || b == 1 ? a : a == b ? a : -1;
}

static void where_contents(rt_infer_context *ctx) {
  rt_dim c[RT_INFER_MAX_CONTENTS], x[RT_INFER_MAX_CONTENTS], y[RT_INFER_MAX_CONTENTS];
  if (!ctx->output_count || ctx->outputs[0].type.rank > 1) return;
  const int64_t nc = rt_infer_contents(ctx, 0, c), nx = rt_infer_contents(ctx, 1, x);
  const int64_t ny = rt_infer_contents(ctx, 2, y);
  if (nc < 0 || nx < 0 || ny < 0) return;
  const int64_t count = longest(longest(nc, nx), ny);
  rt_dim *out = rt_infer_set_contents(ctx, 0, count);
  for (int64_t i = 0; out && i < count; ++i) {
    const rt_dim condition = c[nc == 1 ? 0 : i];
    if (rt_dim_is_const(condition)) {
      out[i] = condition.value ? x[nx == 1 ? 0 : i] : y[ny == 1 ? 0 : i];
    } else if (rt_dim_equal(x[nx == 1 ? 0 : i], y[ny == 1 ? 0 : i])) {
      out[i] = x[nx == 1 ? 0 : i];
    }
  }
}

int32_t rt_infer_rule_where(rt_infer_context *ctx) {
  const int32_t elem = rt_infer_elem(ctx, 1);
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 1, "X", 2, "Y"));
  OPS_RETURN_IF_ERROR(broadcast_inputs(ctx, 0, 3, elem ? elem : rt_infer_elem(ctx, 2)));
  where_contents(ctx);
  return OPS_OK;
}

// The slope is broadcast to the data, never the other way round.
int32_t rt_infer_rule_prelu(rt_infer_context *ctx) {
  rt_dim dims[OPS_MAX_RANK];
  int32_t rank;
  const int32_t rank_x = rt_infer_rank(ctx, 0), rank_slope = rt_infer_rank(ctx, 1);
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "X", 1, "slope"));
  if (rank_x >= 0 && rank_slope > rank_x) {
    return rt_infer_fail(ctx, "input slope has rank %d, expected at most %d, that of X",
                         rank_slope, rank_x);
  }
  if (rank_x >= 0 && rank_slope >= 0) {
    OPS_RETURN_IF_ERROR(rt_infer_broadcast(ctx, ctx->inputs[0].type->dims, rank_x,
                                           ctx->inputs[1].type->dims, rank_slope, dims, &rank));
  }
  return rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0);
}

// SPDX-License-Identifier: Apache-2.0
//
// The accessors that rules use.
#include "infer/context.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// --- Inputs ----------------------------------------------------------------------------------

static const rt_infer_input *get(const rt_infer_context *ctx, uint32_t input) {
  if (input >= ctx->input_count || !ctx->inputs[input].type) return NULL;
  return &ctx->inputs[input];
}

static const rt_type *tensor_type(const rt_infer_context *ctx, uint32_t input) {
  const rt_infer_input *item = get(ctx, input);
  if (!item) return NULL;
  const int32_t kind = item->type->kind;
  return kind == RT_TYPE_TENSOR || kind == RT_TYPE_SPARSE_TENSOR ? item->type : NULL;
}

int rt_infer_has(const rt_infer_context *ctx, uint32_t input) {
  return get(ctx, input) != NULL;
}

int32_t rt_infer_rank(const rt_infer_context *ctx, uint32_t input) {
  const rt_type *type = tensor_type(ctx, input);
  return type ? type->rank : RT_RANK_UNKNOWN;
}

rt_dim rt_infer_dim(const rt_infer_context *ctx, uint32_t input, int32_t axis) {
  const rt_type *type = tensor_type(ctx, input);
  return type && axis >= 0 && axis < type->rank ? type->dims[axis] : rt_dim_unknown();
}

int32_t rt_infer_elem(const rt_infer_context *ctx, uint32_t input) {
  const rt_type *type = tensor_type(ctx, input);
  return type ? type->elem_type : OPS_TYPE_UNDEFINED;
}

static int is_integral(double value) {
  return value == floor(value) && fabs(value) <= 9007199254740992.0;
}

int64_t rt_infer_contents(const rt_infer_context *ctx, uint32_t input, rt_dim *buffer) {
  const rt_infer_input *item = get(ctx, input);
  int64_t ints[RT_INFER_MAX_CONTENTS], count;
  double floats[RT_INFER_MAX_CONTENTS];
  if (!item) return -1;
  if (item->contents) {
    if (item->contents_count < 0 || item->contents_count > RT_INFER_MAX_CONTENTS) return -1;
    if (item->contents_count > 0) {
      memcpy(buffer, item->contents, (size_t)item->contents_count * sizeof *buffer);
    }
    return item->contents_count;
  }
  if (!item->constant) return -1;
  count = rt_constant_read_ints(item->constant, ints, RT_INFER_MAX_CONTENTS);
  if (count < 0) {
    count = rt_constant_read_floats(item->constant, floats, RT_INFER_MAX_CONTENTS);
    for (int64_t i = 0; i < count; ++i) {
      buffer[i] = is_integral(floats[i]) ? rt_dim_const((int64_t)floats[i]) : rt_dim_unknown();
    }
    return count;
  }
  for (int64_t i = 0; i < count; ++i) buffer[i] = rt_dim_const(ints[i]);
  return count;
}

int64_t rt_infer_ints(const rt_infer_context *ctx, uint32_t input, int64_t *buffer,
                      int64_t capacity) {
  rt_dim dims[RT_INFER_MAX_CONTENTS];
  const int64_t count = rt_infer_contents(ctx, input, dims);
  if (count < 0 || count > capacity) return -1;
  for (int64_t i = 0; i < count; ++i) {
    if (!rt_dim_is_const(dims[i])) return -1;
    buffer[i] = dims[i].value;
  }
  return count;
}

int64_t rt_infer_floats(const rt_infer_context *ctx, uint32_t input, double *buffer,
                        int64_t capacity) {
  int64_t ints[RT_INFER_MAX_CONTENTS];
  const rt_infer_input *item = get(ctx, input);
  if (!item) return -1;
  if (item->constant) return rt_constant_read_floats(item->constant, buffer, capacity);
  const int64_t limit = capacity < RT_INFER_MAX_CONTENTS ? capacity : RT_INFER_MAX_CONTENTS;
  const int64_t count = rt_infer_ints(ctx, input, ints, limit);
  for (int64_t i = 0; i < count; ++i) buffer[i] = (double)ints[i];
  return count;
}

// --- Attributes ------------------------------------------------------------------------------

int64_t rt_infer_attr(const rt_infer_context *ctx, const char *name, int64_t missing) {
  return rt_attrs_int(&ctx->op->attrs, name, missing);
}

int32_t rt_infer_attr_ints(const rt_infer_context *ctx, const char *name, int32_t count,
                           int64_t missing, int64_t *values) {
  uint32_t found;
  const int64_t *given = rt_attrs_ints(&ctx->op->attrs, name, &found);
  if (given && found != (uint32_t)count) {
    return rt_infer_fail(ctx, "attribute %s has %u elements, expected %d", name, found, count);
  }
  for (int32_t i = 0; i < count; ++i) values[i] = given ? given[i] : missing;
  return OPS_OK;
}

int32_t rt_infer_axis(const rt_infer_context *ctx, int64_t axis, int32_t rank,
                      int32_t *out_axis) {
  if (axis < -(int64_t)rank || axis >= rank) {
    return rt_infer_fail(ctx, "axis is %lld, expected one in [%d, %d] for rank %d",
                         (long long)axis, -rank, rank - 1, rank);
  }
  *out_axis = (int32_t)(axis < 0 ? axis + rank : axis);
  return OPS_OK;
}

int32_t rt_infer_axes(const rt_infer_context *ctx, uint32_t input, int32_t rank, int32_t *axes,
                      int32_t *out_count) {
  int64_t buffer[RT_INFER_MAX_CONTENTS];
  uint32_t found;
  const int64_t *given = rt_attrs_ints(&ctx->op->attrs, "axes", &found);
  int64_t count = found;
  uint64_t seen = 0;
  *out_count = RT_INFER_ABSENT;
  if (!given) {
    if (!rt_infer_has(ctx, input)) return OPS_OK;
    count = rt_infer_ints(ctx, input, buffer, RT_INFER_MAX_CONTENTS);
    given = buffer;
  }
  *out_count = RT_INFER_UNKNOWN;
  if (count < 0) return OPS_OK;
  if (count > rank) {
    return rt_infer_fail(ctx, "%lld axes are given, expected at most %d", (long long)count,
                         rank);
  }
  for (int64_t i = 0; i < count; ++i) {
    OPS_RETURN_IF_ERROR(rt_infer_axis(ctx, given[i], rank, &axes[i]));
    if (seen & ((uint64_t)1 << axes[i])) {
      return rt_infer_fail(ctx, "axis %d is given twice", axes[i]);
    }
    seen |= (uint64_t)1 << axes[i];
  }
  *out_count = (int32_t)count;
  return OPS_OK;
}

// --- Outputs ---------------------------------------------------------------------------------

int32_t rt_infer_set_tensor(rt_infer_context *ctx, uint32_t output, int32_t elem_type,
                            int32_t rank) {
  if (rank > OPS_MAX_RANK) {
    return rt_infer_fail(ctx, "output %u would have rank %d, expected at most %d", output, rank,
                         OPS_MAX_RANK);
  }
  if (output >= ctx->output_count) return OPS_OK;
  rt_infer_output *out = &ctx->outputs[output];
  out->type = rt_type_tensor(elem_type, rank, out->dims);
  for (int32_t i = 0; i < rank; ++i) out->dims[i] = rt_dim_unknown();
  return OPS_OK;
}

void rt_infer_set_dim(rt_infer_context *ctx, uint32_t output, int32_t axis, rt_dim dim) {
  if (output < ctx->output_count) ctx->outputs[output].dims[axis] = dim;
}

int32_t rt_infer_set_shape(rt_infer_context *ctx, uint32_t output, int32_t elem_type,
                           int32_t rank, const rt_dim *dims) {
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, output, elem_type, rank));
  for (int32_t i = 0; i < rank; ++i) rt_infer_set_dim(ctx, output, i, dims[i]);
  return OPS_OK;
}

int32_t rt_infer_copy_shape(rt_infer_context *ctx, uint32_t output, int32_t elem_type,
                            uint32_t input) {
  const int32_t rank = rt_infer_rank(ctx, input);
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, output, elem_type, rank));
  for (int32_t i = 0; i < rank; ++i) {
    rt_infer_set_dim(ctx, output, i, rt_infer_dim(ctx, input, i));
  }
  return OPS_OK;
}

// A tensor type whose dims are copied to `dims`.
static rt_type copy_tensor(const rt_type *type, rt_dim *dims) {
  rt_type copy = *type;
  if (copy.rank > OPS_MAX_RANK) copy.rank = RT_RANK_UNKNOWN;
  if (copy.rank > 0) memcpy(dims, type->dims, (size_t)copy.rank * sizeof *dims);
  copy.dims = dims;
  return copy;
}

void rt_infer_set_type(rt_infer_context *ctx, uint32_t output, const rt_type *type) {
  if (output >= ctx->output_count) return;
  rt_infer_output *out = &ctx->outputs[output];
  rt_type *place = &out->type;
  out->type = *type;
  for (int32_t depth = 0; depth < RT_INFER_ELEMENTS && place->element; ++depth) {
    out->elements[depth] = *place->element;
    place->element = &out->elements[depth];
    place = &out->elements[depth];
  }
  if (place->kind != RT_TYPE_TENSOR) return;
  *place = copy_tensor(place, place == &out->type ? out->dims : out->element_dims);
}

static void merge_tensor(rt_type *into, rt_dim *dims, const rt_type *other) {
  if (into->elem_type != other->elem_type) into->elem_type = OPS_TYPE_UNDEFINED;
  if (into->rank != other->rank) into->rank = RT_RANK_UNKNOWN;
  for (int32_t i = 0; i < into->rank; ++i)
    if (!rt_dim_equal(dims[i], other->dims[i])) dims[i] = rt_dim_unknown();
}

void rt_infer_merge_type(rt_infer_context *ctx, uint32_t output, const rt_type *other) {
  if (output >= ctx->output_count) return;
  rt_infer_output *out = &ctx->outputs[output];
  rt_type *place = &out->type, *holder = NULL;
  while (place->kind == other->kind && place->element && other->element) {
    if (place != &out->type && place != &out->elements[0]) return;  // as deep as is copied
    holder = place;
    place = place == &out->type ? &out->elements[0] : &out->elements[1];
    other = other->element;
  }
  if (place->kind == RT_TYPE_TENSOR && other->kind == RT_TYPE_TENSOR) {
    merge_tensor(place, holder ? out->element_dims : out->dims, other);
  } else if (place->kind != other->kind && holder) {
    holder->element = NULL;
  } else if (place->kind != other->kind) {
    out->type = (rt_type){0};
  } else {
    place->element = NULL;
  }
}

rt_dim *rt_infer_set_contents(rt_infer_context *ctx, uint32_t output, int64_t count) {
  if (output >= ctx->output_count || count < 0 || count > RT_INFER_MAX_CONTENTS) return NULL;
  rt_infer_output *out = &ctx->outputs[output];
  out->contents_count = count;
  for (int64_t i = 0; i < count; ++i) out->contents[i] = rt_dim_unknown();
  return out->contents;
}

void rt_infer_copy_contents(rt_infer_context *ctx, uint32_t output, uint32_t input) {
  rt_dim buffer[RT_INFER_MAX_CONTENTS];
  const int64_t count = rt_infer_contents(ctx, input, buffer);
  rt_dim *contents = rt_infer_set_contents(ctx, output, count);
  if (contents && count > 0) memcpy(contents, buffer, (size_t)count * sizeof *buffer);
}

int rt_infer_strides(const rt_infer_context *ctx, int64_t *strides) {
  rt_dim unused[RT_INFER_MAX_CONTENTS];
  const int64_t count = rt_infer_contents(ctx, 0, unused);
  int64_t elements, stride = 1;
  if (count < 0 || !rt_type_is_static(ctx->inputs[0].type, &elements) || elements != count)
    return 0;
  for (int32_t i = rt_infer_rank(ctx, 0) - 1; i >= 0; --i) {
    strides[i] = elements ? stride : 0;  // an empty tensor may have huge other axes
    if (elements) stride *= rt_infer_dim(ctx, 0, i).value;
  }
  return 1;
}

void rt_infer_take_contents(rt_infer_context *ctx, int64_t first, const int64_t *steps) {
  rt_dim in[RT_INFER_MAX_CONTENTS];
  int64_t total, at[OPS_MAX_RANK] = {0}, from = first;
  const int64_t count = rt_infer_contents(ctx, 0, in);
  if (ctx->output_count == 0 || !rt_type_is_static(&ctx->outputs[0].type, &total)) return;
  const rt_type *type = &ctx->outputs[0].type;
  rt_dim *out = rt_infer_set_contents(ctx, 0, total);
  for (int64_t n = 0; out && n < total; ++n) {
    if (from >= 0 && from < count) out[n] = in[from];
    for (int32_t i = type->rank - 1; i >= 0; --i) {  // the next position, with carries
      from += steps[i];
      if (++at[i] < type->dims[i].value) break;
      from -= at[i] * steps[i];
      at[i] = 0;
    }
  }
}

// --- Errors ----------------------------------------------------------------------------------

static int32_t fail(const rt_infer_context *ctx, int32_t cause, const char *format,
                    va_list args) {
  char message[OPS_ERROR_MESSAGE_MAX];
  vsnprintf(message, sizeof message, format, args);
  return ops_error_set_cause(ctx->error, OPS_ERROR_INVALID_MODEL, cause, "%s '%s': %s",
                             ctx->op->name, ctx->node->name, message);
}

int32_t rt_infer_fail(const rt_infer_context *ctx, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int32_t status = fail(ctx, OPS_CAUSE_TYPES_DISAGREE, format, args);
  va_end(args);
  return status;
}

__attribute__((format(printf, 2, 3))) static int32_t fail_rank(const rt_infer_context *ctx,
                                                               const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int32_t status = fail(ctx, OPS_CAUSE_WRONG_RANK, format, args);
  va_end(args);
  return status;
}

static const char *value_name(const rt_infer_context *ctx, uint32_t input) {
  // A post-operation's inputs are not at the same place among the node's operands.
  const rt_value *value = ctx->op == &ctx->node->op ? rt_node_input(ctx->node, input) : NULL;
  return value ? value->name : "";
}

int32_t rt_infer_need_rank(const rt_infer_context *ctx, uint32_t input, const char *name,
                           int32_t rank) {
  const int32_t found = rt_infer_rank(ctx, input);
  if (found < 0 || found == rank) return OPS_OK;
  return fail_rank(ctx, "input %s ('%s') has rank %d, expected %d", name,
                   value_name(ctx, input), found, rank);
}

int32_t rt_infer_need_min_rank(const rt_infer_context *ctx, uint32_t input, const char *name,
                               int32_t rank) {
  const int32_t found = rt_infer_rank(ctx, input);
  if (found < 0 || found >= rank) return OPS_OK;
  return fail_rank(ctx, "input %s ('%s') has rank %d, expected at least %d", name,
                   value_name(ctx, input), found, rank);
}

int32_t rt_infer_need_same_elem(const rt_infer_context *ctx, uint32_t a, const char *name_a,
                                uint32_t b, const char *name_b) {
  const int32_t type_a = rt_infer_elem(ctx, a), type_b = rt_infer_elem(ctx, b);
  if (!type_a || !type_b || type_a == type_b) return OPS_OK;
  return rt_infer_fail(ctx,
                       "input %s ('%s') is %s and input %s ('%s') is %s; expected the same "
                       "element type: insert a Cast",
                       name_a, value_name(ctx, a), rt_elem_type_name(type_a), name_b,
                       value_name(ctx, b), rt_elem_type_name(type_b));
}

char *rt_infer_text(const rt_infer_context *ctx, rt_dim dim, char *buffer) {
  return rt_dim_format(ctx->symbols, dim, buffer, RT_INFER_TEXT);
}

// --- Arithmetic ------------------------------------------------------------------------------

int32_t rt_infer_unify(const rt_infer_context *ctx, rt_dim a, const char *what_a, rt_dim b,
                       const char *what_b, rt_dim *out_dim) {
  if (rt_dim_is_const(a) && rt_dim_is_const(b) && a.value != b.value) {
    return rt_infer_fail(ctx, "%s is %lld and %s is %lld, expected the same", what_a,
                         (long long)a.value, what_b, (long long)b.value);
  }
  *out_dim = rt_dim_is_const(b) || rt_dim_is_unknown(a) ? b : a;
  return OPS_OK;
}

static int32_t broadcast_dim(const rt_infer_context *ctx, rt_dim a, rt_dim b, int32_t axis,
                             rt_dim *out) {
  if (rt_dim_equal(a, b) || rt_dim_is_value(b, 1)) {
    *out = a;
  } else if (rt_dim_is_value(a, 1)) {
    *out = b;
  } else if (rt_dim_is_const(a) && rt_dim_is_const(b)) {
    return rt_infer_fail(ctx,
                         "shapes do not broadcast: axis %d counted from the last is %lld on "
                         "one side and %lld on the other, expected the same or 1",
                         axis, (long long)a.value, (long long)b.value);
  } else {
    // A number other than 1 decides. Two expressions are equal or one is 1, hence the larger
    // one (but for 0 against 1, where the axis is empty).
    *out = rt_dim_is_const(a) ? a : rt_dim_is_const(b) ? b : rt_dim_max(ctx->symbols, a, b);
  }
  return OPS_OK;
}

int32_t rt_infer_broadcast(const rt_infer_context *ctx, const rt_dim *a, int32_t rank_a,
                           const rt_dim *b, int32_t rank_b, rt_dim *out, int32_t *out_rank) {
  rt_dim result[OPS_MAX_RANK];
  const int32_t rank = rank_a > rank_b ? rank_a : rank_b;
  for (int32_t i = 1; i <= rank; ++i) {
    const rt_dim da = i <= rank_a ? a[rank_a - i] : rt_dim_const(1);
    const rt_dim db = i <= rank_b ? b[rank_b - i] : rt_dim_const(1);
    OPS_RETURN_IF_ERROR(broadcast_dim(ctx, da, db, i - 1, &result[rank - i]));
  }
  if (rank > 0) memcpy(out, result, (size_t)rank * sizeof *out);
  *out_rank = rank;
  return OPS_OK;
}

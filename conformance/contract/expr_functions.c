// SPDX-License-Identifier: Apache-2.0
//
// The functions of expressions, one row of the table each. Operands are evaluated by the
// functions themselves, since those that name a tensor or a type variable are not values.
#include <float.h>
#include <math.h>
#include <ops/types.h>
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <string.h>

#include "contract/expr_node.h"

#define FUNCTION(name)                                                                       \
  static int32_t name(const oc_expr *expr, const oc_expr_node *call, const oc_expr_env *env, \
                      oc_expr_value *out, ops_error *error)

static const oc_expr_node *operand(const oc_expr *expr, const oc_expr_node *call, int n) {
  uint16_t index = call->first;
  while (n-- > 0) index = expr->nodes[index].next;
  return &expr->nodes[index];
}

static uint16_t index_of(const oc_expr *expr, const oc_expr_node *node) {
  return (uint16_t)(node - expr->nodes);
}

static void set_int(oc_expr_value *out, int64_t value) {
  out->kind = OC_EXPR_INT;
  out->i = value;
}

static void set_bool(oc_expr_value *out, bool value) {
  out->kind = OC_EXPR_BOOL;
  out->truth = value;
}

static void set_real(oc_expr_value *out, double value) {
  out->kind = OC_EXPR_REAL;
  out->real = value;
}

static int32_t int_operand(const oc_expr *expr, const oc_expr_node *node,
                           const oc_expr_env *env, int64_t *out, ops_error *error) {
  oc_expr_value value;
  OPS_RETURN_IF_ERROR(oc_expr_eval_node(expr, index_of(expr, node), env, &value, error));
  if (value.kind != OC_EXPR_INT) {
    return oc_expr_error(expr, node, error, "expected an integer, found %s",
                         oc_expr_kind_name(value.kind));
  }
  *out = value.i;
  return OPS_OK;
}

static int32_t list_operand(const oc_expr *expr, const oc_expr_node *node,
                            const oc_expr_env *env, oc_expr_value *out, ops_error *error) {
  OPS_RETURN_IF_ERROR(oc_expr_eval_node(expr, index_of(expr, node), env, out, error));
  if (out->kind == OC_EXPR_LIST) return OPS_OK;
  return oc_expr_error(expr, node, error, "expected a list, found %s",
                       oc_expr_kind_name(out->kind));
}

static int32_t number_operand(const oc_expr *expr, const oc_expr_node *node,
                              const oc_expr_env *env, oc_expr_value *value, double *out,
                              ops_error *error) {
  OPS_RETURN_IF_ERROR(oc_expr_eval_node(expr, index_of(expr, node), env, value, error));
  if (oc_expr_as_number(value, out)) return OPS_OK;
  return oc_expr_error(expr, node, error, "expected a number, found %s",
                       oc_expr_kind_name(value->kind));
}

// The name behind x or at(x, i), and i (0 for a bare name), checked against the tensor count.
static int32_t tensor_operand(const oc_expr *expr, const oc_expr_node *node,
                              const oc_expr_env *env, oc_expr_value *out_shape,
                              ops_error *error) {
  int64_t index = 0;
  size_t count = 0;
  const oc_expr_node *name = node;
  if (node->op == OC_OP_CALL) {
    name = operand(expr, node, 0);
    OPS_RETURN_IF_ERROR(int_operand(expr, operand(expr, node, 1), env, &index, error));
  }
  OPS_RETURN_IF_ERROR(env->tensor_count(env->context, name->text, &count, error));
  if (index < 0 || (uint64_t)index >= count) {
    return oc_expr_error(expr, node, error, "%s has %zu tensors here, number %lld is not one",
                         name->text, count, (long long)index);
  }
  return env->tensor_shape(env->context, name->text, (size_t)index, out_shape, error);
}

FUNCTION(fn_numel) {
  oc_expr_value shape;
  int64_t count;
  OPS_RETURN_IF_ERROR(tensor_operand(expr, operand(expr, call, 0), env, &shape, error));
  if (!ops_checked_count(shape.list, (int32_t)shape.count, &count)) {
    return oc_expr_error(expr, call, error, "the number of elements does not fit 64 bits");
  }
  set_int(out, count);
  return OPS_OK;
}

FUNCTION(fn_rank) {
  oc_expr_value shape;
  OPS_RETURN_IF_ERROR(tensor_operand(expr, operand(expr, call, 0), env, &shape, error));
  set_int(out, (int64_t)shape.count);
  return OPS_OK;
}

FUNCTION(fn_shape) {
  return tensor_operand(expr, operand(expr, call, 0), env, out, error);
}

static int32_t pick(const oc_expr *expr, const oc_expr_node *call, const oc_expr_env *env,
                    const oc_expr_value *list, oc_expr_value *out, ops_error *error) {
  int64_t index;
  OPS_RETURN_IF_ERROR(int_operand(expr, operand(expr, call, 1), env, &index, error));
  if (index < 0) index += (int64_t)list->count;
  if (index < 0 || (uint64_t)index >= list->count) {
    return oc_expr_error(expr, call, error, "index %lld is outside the %zu items",
                         (long long)index, list->count);
  }
  set_int(out, list->list[index]);
  return OPS_OK;
}

FUNCTION(fn_dim) {
  oc_expr_value shape;
  OPS_RETURN_IF_ERROR(tensor_operand(expr, operand(expr, call, 0), env, &shape, error));
  return pick(expr, call, env, &shape, out, error);
}

FUNCTION(fn_item) {
  oc_expr_value list;
  OPS_RETURN_IF_ERROR(list_operand(expr, operand(expr, call, 0), env, &list, error));
  return pick(expr, call, env, &list, out, error);
}

FUNCTION(fn_count) {
  size_t count = 0;
  const char *name = operand(expr, call, 0)->text;
  OPS_RETURN_IF_ERROR(env->tensor_count(env->context, name, &count, error));
  set_int(out, (int64_t)count);
  return OPS_OK;
}

FUNCTION(fn_present) {
  OPS_RETURN_IF_ERROR(fn_count(expr, call, env, out, error));
  set_bool(out, out->i > 0);
  return OPS_OK;
}

// Stands only where a tensor is asked for (tensor_operand reads it); as a value it is refused
// when the expression is parsed.
FUNCTION(fn_at) {
  (void)env;
  (void)out;
  return oc_expr_error(expr, call, error, "at() is a tensor, not a value");
}

FUNCTION(fn_values) {
  return env->tensor_values(env->context, operand(expr, call, 0)->text, out, error);
}

FUNCTION(fn_broadcast) {
  oc_expr_value a, b;
  OPS_RETURN_IF_ERROR(tensor_operand(expr, operand(expr, call, 0), env, &a, error));
  OPS_RETURN_IF_ERROR(tensor_operand(expr, operand(expr, call, 1), env, &b, error));
  out->kind = OC_EXPR_LIST;
  out->count = a.count > b.count ? a.count : b.count;
  for (size_t i = 1; i <= out->count; ++i) {
    const int64_t x = i <= a.count ? a.list[a.count - i] : 1;
    const int64_t y = i <= b.count ? b.list[b.count - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return oc_expr_error(expr, call, error, "dimensions %lld and %lld do not broadcast",
                           (long long)x, (long long)y);
    }
    out->list[out->count - i] = x == 1 ? y : x;
  }
  return OPS_OK;
}

#define TYPE_BITS(number, name, bits) [number] = bits,
static const int type_bits[OPS_TYPE_COUNT] = {OPS_TYPE_LIST(TYPE_BITS)};
// Largest finite values, from the definitions of the formats: (2 - 2^-nf) * 2^emax, except
// float8e4m3 and float4, whose top codes are partly numbers.
static const double type_highest[OPS_TYPE_COUNT] = {
    [OPS_TYPE_FLOAT] = FLT_MAX,    [OPS_TYPE_DOUBLE] = DBL_MAX,
    [OPS_TYPE_FLOAT16] = 65504,    [OPS_TYPE_BFLOAT16] = 0x1.fep127,
    [OPS_TYPE_FLOAT8E4M3FN] = 448, [OPS_TYPE_FLOAT8E4M3FNUZ] = 240,
    [OPS_TYPE_FLOAT8E5M2] = 57344, [OPS_TYPE_FLOAT8E5M2FNUZ] = 57344,
    [OPS_TYPE_FLOAT4E2M1] = 6,     [OPS_TYPE_FLOAT8E8M0] = 0x1p127,
    [OPS_TYPE_FLOAT6E2M3] = 7.5,   [OPS_TYPE_FLOAT6E3M2] = 28,
};
// The spacing at 1: 2^-nf.
static const double type_epsilon[OPS_TYPE_COUNT] = {
    [OPS_TYPE_FLOAT] = 0x1p-23,       [OPS_TYPE_DOUBLE] = 0x1p-52,
    [OPS_TYPE_FLOAT16] = 0x1p-10,     [OPS_TYPE_BFLOAT16] = 0x1p-7,
    [OPS_TYPE_FLOAT8E4M3FN] = 0x1p-3, [OPS_TYPE_FLOAT8E4M3FNUZ] = 0x1p-3,
    [OPS_TYPE_FLOAT8E5M2] = 0x1p-2,   [OPS_TYPE_FLOAT8E5M2FNUZ] = 0x1p-2,
    [OPS_TYPE_FLOAT4E2M1] = 0x1p-1,   [OPS_TYPE_FLOAT8E8M0] = 1,
    [OPS_TYPE_FLOAT6E2M3] = 0x1p-3,   [OPS_TYPE_FLOAT6E3M2] = 0x1p-2,
};
#define UNSIGNED_TYPES                                            \
  (OPS_TYPE_BIT(OPS_TYPE_UINT2) | OPS_TYPE_BIT(OPS_TYPE_UINT4) |  \
   OPS_TYPE_BIT(OPS_TYPE_UINT8) | OPS_TYPE_BIT(OPS_TYPE_UINT16) | \
   OPS_TYPE_BIT(OPS_TYPE_UINT32) | OPS_TYPE_BIT(OPS_TYPE_UINT64))
#define SIGNED_TYPES                                                                         \
  (OPS_TYPE_BIT(OPS_TYPE_INT2) | OPS_TYPE_BIT(OPS_TYPE_INT4) | OPS_TYPE_BIT(OPS_TYPE_INT8) | \
   OPS_TYPE_BIT(OPS_TYPE_INT16) | OPS_TYPE_BIT(OPS_TYPE_INT32) | OPS_TYPE_BIT(OPS_TYPE_INT64))

static int32_t type_operand(const oc_expr *expr, const oc_expr_node *call,
                            const oc_expr_env *env, int32_t *out_type, ops_error *error) {
  const char *name = operand(expr, call, 0)->text;
  OPS_RETURN_IF_ERROR(env->type(env->context, name, out_type, error));
  if (*out_type > 0 && *out_type < OPS_TYPE_COUNT) return OPS_OK;
  return oc_expr_error(expr, call, error, "%s is not bound to an element type", name);
}

static bool is_floating(int32_t type) {
  return type_highest[type] > 0;
}

static bool is_signed_integer(int32_t type) {
  return (SIGNED_TYPES & OPS_TYPE_BIT(type)) != 0;
}

static bool is_integer(int32_t type) {
  return is_signed_integer(type) || (UNSIGNED_TYPES & OPS_TYPE_BIT(type)) != 0;
}

FUNCTION(fn_bits) {
  int32_t type;
  OPS_RETURN_IF_ERROR(type_operand(expr, call, env, &type, error));
  set_int(out, type_bits[type]);
  return OPS_OK;
}

FUNCTION(fn_floating) {
  int32_t type;
  OPS_RETURN_IF_ERROR(type_operand(expr, call, env, &type, error));
  set_bool(out, is_floating(type));
  return OPS_OK;
}

FUNCTION(fn_integer) {
  int32_t type;
  OPS_RETURN_IF_ERROR(type_operand(expr, call, env, &type, error));
  set_bool(out, is_integer(type));
  return OPS_OK;
}

FUNCTION(fn_signed) {
  int32_t type;
  OPS_RETURN_IF_ERROR(type_operand(expr, call, env, &type, error));
  set_bool(out, is_signed_integer(type) || (is_floating(type) && type != OPS_TYPE_FLOAT8E8M0));
  return OPS_OK;
}

// Integers up to 63 bits stay integers; the top of uint64 is a real number.
FUNCTION(fn_highest) {
  int32_t type;
  OPS_RETURN_IF_ERROR(type_operand(expr, call, env, &type, error));
  if (is_floating(type)) {
    set_real(out, type_highest[type]);
  } else if (type == OPS_TYPE_BOOL) {
    set_int(out, 1);
  } else if (!is_integer(type)) {
    return oc_expr_error(expr, call, error, "the type has no largest value");
  } else {
    const int bits = type_bits[type] - (is_signed_integer(type) ? 1 : 0);
    if (bits == 64) {
      set_real(out, 0x1p64);
    } else {
      set_int(out, (int64_t)(((uint64_t)1 << bits) - 1));
    }
  }
  return OPS_OK;
}

FUNCTION(fn_lowest) {
  int32_t type;
  OPS_RETURN_IF_ERROR(type_operand(expr, call, env, &type, error));
  OPS_RETURN_IF_ERROR(fn_highest(expr, call, env, out, error));
  if (is_floating(type)) {
    set_real(out, type == OPS_TYPE_FLOAT8E8M0 ? 0x1p-127 : -out->real);
  } else {
    set_int(out, is_signed_integer(type) ? -out->i - 1 : 0);
  }
  return OPS_OK;
}

FUNCTION(fn_epsilon) {
  int32_t type;
  OPS_RETURN_IF_ERROR(type_operand(expr, call, env, &type, error));
  if (!is_floating(type)) return oc_expr_error(expr, call, error, "the type is not floating");
  set_real(out, type_epsilon[type]);
  return OPS_OK;
}

// min and max over numbers, or over the items of a single list.
static int32_t extreme(const oc_expr *expr, const oc_expr_node *call, const oc_expr_env *env,
                       int sign, oc_expr_value *out, ops_error *error) {
  oc_expr_value value;
  double best, number;
  OPS_RETURN_IF_ERROR(oc_expr_eval_node(expr, call->first, env, &value, error));
  if (value.kind == OC_EXPR_LIST) {
    if (value.count == 0) return oc_expr_error(expr, call, error, "the list is empty");
    set_int(out, value.list[0]);
    for (size_t i = 1; i < value.count; ++i) {
      if (sign > 0 ? value.list[i] > out->i : value.list[i] < out->i) out->i = value.list[i];
    }
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(number_operand(expr, operand(expr, call, 0), env, out, &best, error));
  for (uint16_t kid = operand(expr, call, 0)->next; kid != OC_EXPR_NO_NODE;
       kid = expr->nodes[kid].next) {
    OPS_RETURN_IF_ERROR(number_operand(expr, &expr->nodes[kid], env, &value, &number, error));
    if (sign > 0 ? number <= best : number >= best) continue;
    best = number;
    *out = value;
  }
  return OPS_OK;
}

FUNCTION(fn_min) {
  return extreme(expr, call, env, -1, out, error);
}

FUNCTION(fn_max) {
  return extreme(expr, call, env, 1, out, error);
}

FUNCTION(fn_abs) {
  double number;
  OPS_RETURN_IF_ERROR(number_operand(expr, operand(expr, call, 0), env, out, &number, error));
  if (out->kind == OC_EXPR_REAL) out->real = fabs(number);
  if (out->kind == OC_EXPR_INT && out->i < 0 &&
      __builtin_sub_overflow((int64_t)0, out->i, &out->i)) {
    return oc_expr_error(expr, call, error, "the result does not fit 64 bits");
  }
  return OPS_OK;
}

static int32_t round_to_int(const oc_expr *expr, const oc_expr_node *call,
                            const oc_expr_env *env, double (*rounding)(double),
                            oc_expr_value *out, ops_error *error) {
  double number;
  OPS_RETURN_IF_ERROR(number_operand(expr, operand(expr, call, 0), env, out, &number, error));
  if (out->kind == OC_EXPR_INT) return OPS_OK;
  number = rounding(number);
  if (!(fabs(number) < 0x1p63)) {
    return oc_expr_error(expr, call, error, "the result does not fit 64 bits");
  }
  set_int(out, (int64_t)number);
  return OPS_OK;
}

FUNCTION(fn_ceil) {
  return round_to_int(expr, call, env, ceil, out, error);
}

FUNCTION(fn_floor) {
  return round_to_int(expr, call, env, floor, out, error);
}

FUNCTION(fn_sqrt) {
  double number;
  OPS_RETURN_IF_ERROR(number_operand(expr, operand(expr, call, 0), env, out, &number, error));
  if (number < 0) return oc_expr_error(expr, call, error, "square root of a negative number");
  set_real(out, sqrt(number));
  return OPS_OK;
}

FUNCTION(fn_log2) {
  double number;
  OPS_RETURN_IF_ERROR(number_operand(expr, operand(expr, call, 0), env, out, &number, error));
  if (!(number > 0)) return oc_expr_error(expr, call, error, "log2 needs a positive number");
  set_real(out, log2(number));
  return OPS_OK;
}

FUNCTION(fn_size) {
  oc_expr_value list;
  OPS_RETURN_IF_ERROR(list_operand(expr, operand(expr, call, 0), env, &list, error));
  set_int(out, (int64_t)list.count);
  return OPS_OK;
}

FUNCTION(fn_sum) {
  oc_expr_value list;
  OPS_RETURN_IF_ERROR(list_operand(expr, operand(expr, call, 0), env, &list, error));
  set_int(out, 0);
  for (size_t i = 0; i < list.count; ++i) {
    if (__builtin_add_overflow(out->i, list.list[i], &out->i)) {
      return oc_expr_error(expr, call, error, "the result does not fit 64 bits");
    }
  }
  return OPS_OK;
}

FUNCTION(fn_prod) {
  oc_expr_value list;
  OPS_RETURN_IF_ERROR(list_operand(expr, operand(expr, call, 0), env, &list, error));
  set_int(out, 1);
  for (size_t i = 0; i < list.count; ++i) {
    if (__builtin_mul_overflow(out->i, list.list[i], &out->i)) {
      return oc_expr_error(expr, call, error, "the result does not fit 64 bits");
    }
  }
  return OPS_OK;
}

FUNCTION(fn_concat) {
  oc_expr_value tail;
  OPS_RETURN_IF_ERROR(list_operand(expr, operand(expr, call, 0), env, out, error));
  OPS_RETURN_IF_ERROR(list_operand(expr, operand(expr, call, 1), env, &tail, error));
  if (out->count + tail.count > OC_EXPR_MAX_LIST) {
    return oc_expr_error(expr, call, error, "the list would exceed %d items", OC_EXPR_MAX_LIST);
  }
  memcpy(out->list + out->count, tail.list, tail.count * sizeof(tail.list[0]));
  out->count += tail.count;
  return OPS_OK;
}

FUNCTION(fn_tail) {
  int64_t index;
  OPS_RETURN_IF_ERROR(list_operand(expr, operand(expr, call, 0), env, out, error));
  OPS_RETURN_IF_ERROR(int_operand(expr, operand(expr, call, 1), env, &index, error));
  if (index < 0) index += (int64_t)out->count;
  if (index < 0 || (uint64_t)index > out->count) {
    return oc_expr_error(expr, call, error, "index %lld is outside the %zu items",
                         (long long)index, out->count);
  }
  out->count -= (size_t)index;
  memmove(out->list, out->list + index, out->count * sizeof(out->list[0]));
  return OPS_OK;
}

FUNCTION(fn_head) {
  int64_t index;
  OPS_RETURN_IF_ERROR(list_operand(expr, operand(expr, call, 0), env, out, error));
  OPS_RETURN_IF_ERROR(int_operand(expr, operand(expr, call, 1), env, &index, error));
  if (index < 0) index += (int64_t)out->count;
  if (index < 0 || (uint64_t)index > out->count) {
    return oc_expr_error(expr, call, error, "index %lld is outside the %zu items",
                         (long long)index, out->count);
  }
  out->count = (size_t)index;
  return OPS_OK;
}

// Whether two shapes have one rank and no dimension of the first is larger, but for one axis.
FUNCTION(fn_fits) {
  oc_expr_value inner, outer;
  int64_t axis;
  OPS_RETURN_IF_ERROR(list_operand(expr, operand(expr, call, 0), env, &inner, error));
  OPS_RETURN_IF_ERROR(list_operand(expr, operand(expr, call, 1), env, &outer, error));
  OPS_RETURN_IF_ERROR(int_operand(expr, operand(expr, call, 2), env, &axis, error));
  if (axis < 0) axis += (int64_t)outer.count;
  bool fits = inner.count == outer.count;
  for (size_t i = 0; fits && i < inner.count; ++i) {
    fits = (int64_t)i == axis || inner.list[i] <= outer.list[i];
  }
  set_bool(out, fits);
  return OPS_OK;
}

static const oc_expr_function functions[] = {
    {"numel", "x", fn_numel},
    {"rank", "x", fn_rank},
    {"shape", "x", fn_shape},
    {"dim", "xv", fn_dim},
    {"count", "x", fn_count},
    {"present", "x", fn_present},
    {"at", "xv", fn_at},
    {"values", "x", fn_values},
    {"broadcast", "xx", fn_broadcast},
    {"lowest", "T", fn_lowest},
    {"highest", "T", fn_highest},
    {"bits", "T", fn_bits},
    {"floating", "T", fn_floating},
    {"integer", "T", fn_integer},
    {"epsilon", "T", fn_epsilon},
    {"signed", "T", fn_signed},
    {"min", "v+", fn_min},
    {"max", "v+", fn_max},
    {"abs", "v", fn_abs},
    {"ceil", "v", fn_ceil},
    {"floor", "v", fn_floor},
    {"sqrt", "v", fn_sqrt},
    {"log2", "v", fn_log2},
    {"size", "v", fn_size},
    {"sum", "v", fn_sum},
    {"prod", "v", fn_prod},
    {"item", "vv", fn_item},
    {"concat", "vv", fn_concat},
    {"tail", "vv", fn_tail},
    {"head", "vv", fn_head},
    {"fits", "vvv", fn_fits},
};

const oc_expr_function *oc_expr_functions(size_t *out_count) {
  *out_count = sizeof(functions) / sizeof(functions[0]);
  return functions;
}

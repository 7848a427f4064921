// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of expressions: operators. Functions are in expr_functions.c. The depth of the
// tree is bounded by the parser, so recursion is too.
#include <math.h>
#include <ops_support/error.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "contract/expr_node.h"

static const char *const kind_names[] = {
    [OC_EXPR_INT] = "an integer",  [OC_EXPR_REAL] = "a real number",
    [OC_EXPR_BOOL] = "a boolean",  [OC_EXPR_LIST] = "a list",
    [OC_EXPR_STRING] = "a string",
};

const char *oc_expr_kind_name(oc_expr_kind kind) {
  return kind_names[kind];
}

int32_t oc_expr_error(const oc_expr *expr, const oc_expr_node *node, ops_error *error,
                      const char *format, ...) {
  char what[400];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof(what), format, args);
  va_end(args);
  return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "expression \"%s\", character %u: %s",
                       expr->text, node->column + 1u, what);
}

bool oc_expr_as_number(const oc_expr_value *value, double *out_number) {
  if (value->kind == OC_EXPR_INT) {
    *out_number = (double)value->i;
    return true;
  }
  if (value->kind != OC_EXPR_REAL) return false;
  *out_number = value->real;
  return true;
}

static int32_t eval_list(const oc_expr *expr, const oc_expr_node *node, const oc_expr_env *env,
                         oc_expr_value *out, ops_error *error) {
  out->kind = OC_EXPR_LIST;
  out->count = 0;
  for (uint16_t kid = node->first; kid != OC_EXPR_NO_NODE; kid = expr->nodes[kid].next) {
    oc_expr_value item;
    OPS_RETURN_IF_ERROR(oc_expr_eval_node(expr, kid, env, &item, error));
    if (item.kind != OC_EXPR_INT || out->count == OC_EXPR_MAX_LIST) {
      return oc_expr_error(expr, &expr->nodes[kid], error,
                           "a list holds at most %d integers, this item is %s",
                           OC_EXPR_MAX_LIST, oc_expr_kind_name(item.kind));
    }
    out->list[out->count++] = item.i;
  }
  return OPS_OK;
}

static int32_t eval_truth(const oc_expr *expr, uint16_t index, const oc_expr_env *env,
                          bool *out_truth, ops_error *error) {
  oc_expr_value value;
  OPS_RETURN_IF_ERROR(oc_expr_eval_node(expr, index, env, &value, error));
  if (value.kind != OC_EXPR_BOOL) {
    return oc_expr_error(expr, &expr->nodes[index], error, "expected a boolean, found %s",
                         oc_expr_kind_name(value.kind));
  }
  *out_truth = value.truth;
  return OPS_OK;
}

static int32_t eval_logic(const oc_expr *expr, const oc_expr_node *node, const oc_expr_env *env,
                          oc_expr_value *out, ops_error *error) {
  bool truth;
  out->kind = OC_EXPR_BOOL;
  OPS_RETURN_IF_ERROR(eval_truth(expr, node->first, env, &truth, error));
  if (node->op == OC_OP_NOT) {
    out->truth = !truth;
    return OPS_OK;
  }
  if (truth == (node->op == OC_OP_AND)) {
    OPS_RETURN_IF_ERROR(eval_truth(expr, expr->nodes[node->first].next, env, &truth, error));
  }
  out->truth = truth;
  return OPS_OK;
}

static int32_t eval_negate(const oc_expr *expr, const oc_expr_node *node,
                           const oc_expr_env *env, oc_expr_value *out, ops_error *error) {
  OPS_RETURN_IF_ERROR(oc_expr_eval_node(expr, node->first, env, out, error));
  if (out->kind == OC_EXPR_REAL) {
    out->real = -out->real;
    return OPS_OK;
  }
  if (out->kind != OC_EXPR_INT) {
    return oc_expr_error(expr, node, error, "expected a number after -, found %s",
                         oc_expr_kind_name(out->kind));
  }
  if (__builtin_sub_overflow((int64_t)0, out->i, &out->i)) {
    return oc_expr_error(expr, node, error, "the result does not fit 64 bits");
  }
  return OPS_OK;
}

static int32_t integer_arithmetic(const oc_expr *expr, const oc_expr_node *node, int64_t a,
                                  int64_t b, oc_expr_value *out, ops_error *error) {
  bool overflow = false;
  out->kind = OC_EXPR_INT;
  switch (node->op) {
    case OC_OP_ADD:
      overflow = __builtin_add_overflow(a, b, &out->i);
      break;
    case OC_OP_SUB:
      overflow = __builtin_sub_overflow(a, b, &out->i);
      break;
    case OC_OP_MUL:
      overflow = __builtin_mul_overflow(a, b, &out->i);
      break;
    default:
      if (b == 0) return oc_expr_error(expr, node, error, "the right side of %% is 0");
      out->i = b == -1 ? 0 : a % b;
      if (out->i != 0 && (out->i < 0) != (b < 0)) out->i += b;
      break;
  }
  if (overflow) return oc_expr_error(expr, node, error, "the result does not fit 64 bits");
  return OPS_OK;
}

static int32_t eval_arithmetic(const oc_expr *expr, const oc_expr_node *node,
                               const oc_expr_value *a, const oc_expr_value *b,
                               oc_expr_value *out, ops_error *error) {
  double x = 0, y = 0;
  if (!oc_expr_as_number(a, &x) || !oc_expr_as_number(b, &y)) {
    return oc_expr_error(expr, node, error, "arithmetic needs two numbers, found %s and %s",
                         oc_expr_kind_name(a->kind), oc_expr_kind_name(b->kind));
  }
  const bool integers = a->kind == OC_EXPR_INT && b->kind == OC_EXPR_INT;
  if (integers && node->op != OC_OP_DIV) {
    return integer_arithmetic(expr, node, a->i, b->i, out, error);
  }
  if (node->op == OC_OP_MOD) return oc_expr_error(expr, node, error, "%% needs two integers");
  if (node->op == OC_OP_DIV && y == 0) return oc_expr_error(expr, node, error, "division by 0");
  out->kind = OC_EXPR_REAL;
  out->real = node->op == OC_OP_ADD   ? x + y
              : node->op == OC_OP_SUB ? x - y
              : node->op == OC_OP_MUL ? x * y
                                      : x / y;
  return OPS_OK;
}

// -1, 0, 1; lists and strings only tell equal (0) from different (1).
static int32_t compare(const oc_expr *expr, const oc_expr_node *node, const oc_expr_value *a,
                       const oc_expr_value *b, int *out_order, ops_error *error) {
  double x, y;
  if (a->kind == OC_EXPR_INT && b->kind == OC_EXPR_INT) {
    *out_order = (a->i > b->i) - (a->i < b->i);
    return OPS_OK;
  }
  if (oc_expr_as_number(a, &x) && oc_expr_as_number(b, &y)) {
    *out_order = (x > y) - (x < y);
    return OPS_OK;
  }
  const bool equality = node->op == OC_OP_EQ || node->op == OC_OP_NE;
  if (a->kind != b->kind || !equality) {
    return oc_expr_error(expr, node, error, "cannot compare %s with %s",
                         oc_expr_kind_name(a->kind), oc_expr_kind_name(b->kind));
  }
  if (a->kind == OC_EXPR_BOOL) {
    *out_order = a->truth != b->truth;
  } else if (a->kind == OC_EXPR_STRING) {
    *out_order = strcmp(a->string, b->string) != 0;
  } else {
    *out_order = a->count != b->count ||
                 (a->count > 0 && memcmp(a->list, b->list, a->count * sizeof(a->list[0])) != 0);
  }
  return OPS_OK;
}

static bool order_satisfies(uint8_t op, int order) {
  switch (op) {
    case OC_OP_EQ:
      return order == 0;
    case OC_OP_NE:
      return order != 0;
    case OC_OP_LT:
      return order < 0;
    case OC_OP_LE:
      return order <= 0;
    case OC_OP_GT:
      return order > 0;
    default:
      return order >= 0;
  }
}

static int32_t eval_binary(const oc_expr *expr, const oc_expr_node *node,
                           const oc_expr_env *env, oc_expr_value *out, ops_error *error) {
  oc_expr_value a, b;
  OPS_RETURN_IF_ERROR(oc_expr_eval_node(expr, node->first, env, &a, error));
  OPS_RETURN_IF_ERROR(oc_expr_eval_node(expr, expr->nodes[node->first].next, env, &b, error));
  if (node->op < OC_OP_EQ) return eval_arithmetic(expr, node, &a, &b, out, error);
  int order = 0;
  OPS_RETURN_IF_ERROR(compare(expr, node, &a, &b, &order, error));
  out->kind = OC_EXPR_BOOL;
  out->truth = order_satisfies(node->op, order);
  return OPS_OK;
}

int32_t oc_expr_eval_node(const oc_expr *expr, uint16_t index, const oc_expr_env *env,
                          oc_expr_value *out, ops_error *error) {
  size_t count;
  const oc_expr_node *node = &expr->nodes[index];
  switch (node->op) {
    case OC_OP_INT:
    case OC_OP_BOOL:
      out->kind = node->op == OC_OP_INT ? OC_EXPR_INT : OC_EXPR_BOOL;
      out->i = node->i;
      out->truth = node->i != 0;
      return OPS_OK;
    case OC_OP_REAL:
      out->kind = OC_EXPR_REAL;
      out->real = node->real;
      return OPS_OK;
    case OC_OP_STRING:
      out->kind = OC_EXPR_STRING;
      out->string = node->text;
      return OPS_OK;
    case OC_OP_NAME:
      return env->value(env->context, node->text, out, error);
    case OC_OP_LIST:
      return eval_list(expr, node, env, out, error);
    case OC_OP_CALL:
      return oc_expr_functions(&count)[node->function].evaluate(expr, node, env, out, error);
    case OC_OP_NEG:
      return eval_negate(expr, node, env, out, error);
    case OC_OP_NOT:
    case OC_OP_AND:
    case OC_OP_OR:
      return eval_logic(expr, node, env, out, error);
    default:
      return eval_binary(expr, node, env, out, error);
  }
}

int32_t oc_expr_eval(const oc_expr *expr, const oc_expr_env *env, oc_expr_value *out_value,
                     ops_error *error) {
  return oc_expr_eval_node(expr, expr->root, env, out_value, error);
}

static int32_t wrong_kind(const oc_expr *expr, const char *wanted, oc_expr_kind kind,
                          ops_error *error) {
  return oc_expr_error(expr, &expr->nodes[expr->root], error, "the result must be %s, found %s",
                       wanted, oc_expr_kind_name(kind));
}

int32_t oc_expr_eval_number(const oc_expr *expr, const oc_expr_env *env, double *out_number,
                            ops_error *error) {
  oc_expr_value value;
  OPS_RETURN_IF_ERROR(oc_expr_eval(expr, env, &value, error));
  if (oc_expr_as_number(&value, out_number)) return OPS_OK;
  return wrong_kind(expr, "a number", value.kind, error);
}

int32_t oc_expr_eval_int(const oc_expr *expr, const oc_expr_env *env, int64_t *out_int,
                         ops_error *error) {
  oc_expr_value value;
  OPS_RETURN_IF_ERROR(oc_expr_eval(expr, env, &value, error));
  if (value.kind != OC_EXPR_INT) return wrong_kind(expr, "an integer", value.kind, error);
  *out_int = value.i;
  return OPS_OK;
}

int32_t oc_expr_eval_bool(const oc_expr *expr, const oc_expr_env *env, bool *out_truth,
                          ops_error *error) {
  oc_expr_value value;
  OPS_RETURN_IF_ERROR(oc_expr_eval(expr, env, &value, error));
  if (value.kind != OC_EXPR_BOOL) return wrong_kind(expr, "a boolean", value.kind, error);
  *out_truth = value.truth;
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// The expressions of contracts: parsed once when a contract is loaded, evaluated for each case.
//
//   expr   := or                       or   := and ('||' and)*
//   and    := cmp ('&&' cmp)*          cmp  := sum (('=='|'!='|'<'|'<='|'>'|'>=') sum)?
//   sum    := term (('+'|'-') term)*   term := unary (('*'|'/'|'%') unary)*
//   unary  := ('-'|'!') unary | atom
//   atom   := number | string | name | name '(' expr, … ')' | '[' expr, … ']' | '(' expr ')'
//
// A value is an integer, a real number, a boolean, a list of integers, or a string ('reflect').
// `/` divides real numbers; floor() and ceil() lead back to integers; `%` has the sign of its
// right side. Integer arithmetic that overflows is an error. `&&` and `||` look at their right
// side only where it matters. `==` and `!=` also compare lists and strings.
//
// Functions of tensors, named by input or output: numel(x) rank(x) shape(x) dim(x, i)
// present(x)
//   count(x): number of tensors of a variadic parameter; a variadic name alone is its first
//   one, at(x, i) its i-th in numel(at(x, i)), likewise for rank, shape and dim; values(x): the
//   constant contents of an input as a list; broadcast(x, y): the common shape.
// Functions of type variables: lowest(T) highest(T) bits(T) floating(T) integer(T)
//   signed(T) epsilon(T), the spacing of a floating type at 1.
// Functions of numbers: min max abs ceil floor sqrt log2. Of lists: size sum prod item(list, i)
//   (a negative i counts from the end), min max, concat(list, list),
//   tail(list, i): the items from i on.
#ifndef OC_CONTRACT_EXPR_H_
#define OC_CONTRACT_EXPR_H_

#include <ops/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/arena.h"

#define OC_EXPR_MAX_TEXT 1024  // bytes of one expression
#define OC_EXPR_MAX_NODES 256  // nodes of one expression
#define OC_EXPR_MAX_DEPTH 32   // nesting of parentheses, calls and unary operators
#define OC_EXPR_MAX_LIST 64    // items of a list value

typedef struct oc_expr oc_expr;  // immutable; lives as long as the arena it was parsed into

typedef enum oc_expr_kind {
  OC_EXPR_INT,
  OC_EXPR_REAL,
  OC_EXPR_BOOL,
  OC_EXPR_LIST,
  OC_EXPR_STRING,
} oc_expr_kind;

typedef struct oc_expr_value {
  oc_expr_kind kind;
  int64_t i;           // OC_EXPR_INT
  double real;         // OC_EXPR_REAL
  bool truth;          // OC_EXPR_BOOL
  const char *string;  // OC_EXPR_STRING; borrowed from the expression or the environment
  size_t count;        // OC_EXPR_LIST
  int64_t list[OC_EXPR_MAX_LIST];
} oc_expr_value;

// What a name may stand for.
typedef enum oc_expr_name_kind {
  OC_NAME_UNKNOWN,
  OC_NAME_VALUE,   // an attribute, or a name of `let`
  OC_NAME_TENSOR,  // an input or an output
  OC_NAME_TYPE,    // a type variable
} oc_expr_name_kind;

// What an expression sees. Each function gets `context`; those that can fail fill `error`.
typedef struct oc_expr_env {
  void *context;
  int32_t (*value)(void *context, const char *name, oc_expr_value *out_value, ops_error *error);
  // The number of tensors that stand for `name`: 0 for an absent optional one, 1, or more.
  int32_t (*tensor_count)(void *context, const char *name, size_t *out_count, ops_error *error);
  // The dimensions of its tensor `index`, at most OC_EXPR_MAX_LIST, as a list.
  int32_t (*tensor_shape)(void *context, const char *name, size_t index,
                          oc_expr_value *out_shape, ops_error *error);
  // The constant contents of an input, as a list.
  int32_t (*tensor_values)(void *context, const char *name, oc_expr_value *out_list,
                           ops_error *error);
  // The element type, a number of <ops/types.h>, that a type variable stands for.
  int32_t (*type)(void *context, const char *name, int32_t *out_type, ops_error *error);
} oc_expr_env;

// Says what a name stands for, or OC_NAME_UNKNOWN; used to check an expression when it is
// loaded. When unknown, *out_near may receive the nearest known name (borrowed), else NULL.
typedef oc_expr_name_kind (*oc_expr_resolve_fn)(void *context, const char *name,
                                                const char **out_near);

// Parses `text` (terminated). On error fills `error` and sets *out_column to the offending
// byte, counted from 0. `resolve` may be NULL: then names are checked only when evaluated.
int32_t oc_expr_parse(oc_arena *arena, const char *text, oc_expr_resolve_fn resolve,
                      void *context, const oc_expr **out_expr, size_t *out_column,
                      ops_error *error);

// The source text. Borrowed.
const char *oc_expr_text(const oc_expr *expr);

// Evaluates. Errors are OPS_ERROR_INVALID_MODEL and quote the expression.
int32_t oc_expr_eval(const oc_expr *expr, const oc_expr_env *env, oc_expr_value *out_value,
                     ops_error *error);
// The same, and the result must be of one kind. oc_expr_eval_number accepts integers and reals.
int32_t oc_expr_eval_number(const oc_expr *expr, const oc_expr_env *env, double *out_number,
                            ops_error *error);
int32_t oc_expr_eval_int(const oc_expr *expr, const oc_expr_env *env, int64_t *out_int,
                         ops_error *error);
int32_t oc_expr_eval_bool(const oc_expr *expr, const oc_expr_env *env, bool *out_truth,
                          ops_error *error);

#endif  // OC_CONTRACT_EXPR_H_

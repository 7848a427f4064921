// SPDX-License-Identifier: Apache-2.0
//
// Private to expr.c and expr_eval.c: the parsed form of an expression. Nodes live in one array
// and name each other by index, so a tree is freed, copied and bounded as a whole.
#ifndef OC_CONTRACT_EXPR_NODE_H_
#define OC_CONTRACT_EXPR_NODE_H_

#include "contract/expr.h"

#define OC_EXPR_NO_NODE 0xffffu
#define OC_EXPR_MAX_TREE_DEPTH (2 * OC_EXPR_MAX_DEPTH)

typedef enum oc_expr_op {
  OC_OP_INT,
  OC_OP_REAL,
  OC_OP_BOOL,
  OC_OP_STRING,
  OC_OP_NAME,
  OC_OP_LIST,
  OC_OP_CALL,
  OC_OP_NEG,
  OC_OP_NOT,
  OC_OP_ADD,
  OC_OP_SUB,
  OC_OP_MUL,
  OC_OP_DIV,
  OC_OP_MOD,
  OC_OP_EQ,
  OC_OP_NE,
  OC_OP_LT,
  OC_OP_LE,
  OC_OP_GT,
  OC_OP_GE,
  OC_OP_AND,
  OC_OP_OR,
} oc_expr_op;

typedef struct oc_expr_node {
  uint8_t op;
  uint8_t function;  // OC_OP_CALL: index into the function table
  uint8_t depth;     // of the tree below, itself included
  uint16_t first;    // first operand, or OC_EXPR_NO_NODE
  uint16_t next;     // next operand of the same parent
  uint16_t column;   // in the text, from 0
  int64_t i;         // INT, BOOL
  double real;       // REAL
  const char *text;  // STRING, NAME
} oc_expr_node;

struct oc_expr {
  const char *text;
  const oc_expr_node *nodes;
  uint16_t count;
  uint16_t root;
};

// One function. `signature` has a letter per operand: x a tensor, T a type variable, v a value;
// a final '+' means one or more of the last.
typedef int32_t (*oc_expr_function_fn)(const struct oc_expr *expr, const oc_expr_node *call,
                                       const oc_expr_env *env, oc_expr_value *out,
                                       ops_error *error);
typedef struct oc_expr_function {
  const char *name;
  const char *signature;
  oc_expr_function_fn evaluate;
} oc_expr_function;

// The table, and its number of entries. Defined in expr_functions.c.
const oc_expr_function *oc_expr_functions(size_t *out_count);

// Evaluates one node; used by the functions for their operands. Defined in expr_eval.c.
int32_t oc_expr_eval_node(const oc_expr *expr, uint16_t node, const oc_expr_env *env,
                          oc_expr_value *out, ops_error *error);
// Reports an error at a node: `"text", column N: message`.
int32_t oc_expr_error(const oc_expr *expr, const oc_expr_node *node, ops_error *error,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

// A value as a number; false if it is none.
bool oc_expr_as_number(const oc_expr_value *value, double *out_number);
// What a kind is called in messages.
const char *oc_expr_kind_name(oc_expr_kind kind);

#endif  // OC_CONTRACT_EXPR_NODE_H_

// SPDX-License-Identifier: Apache-2.0
//
// The parser of expressions: recursive descent by binding strength. Nesting, the number of
// nodes and the depth of the tree are bounded, so neither parsing nor evaluating can exhaust
// the stack. After parsing, a second walk checks that every name stands for what its place asks
// for.
#include "contract/expr.h"

#include <ctype.h>
#include <errno.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "contract/expr_node.h"
#include "contract/nearest.h"

typedef struct parser {
  oc_arena *arena;
  const char *text;
  size_t at;
  int nesting;
  oc_expr_node nodes[OC_EXPR_MAX_NODES];
  uint16_t count;
  size_t error_column;
  ops_error *error;
} parser;

// Binary operators, weakest level first. Longer spellings precede their prefixes.
typedef struct binary_op {
  const char *spelling;
  uint8_t level;
  uint8_t op;
} binary_op;
static const binary_op binary_ops[] = {
    {"||", 0, OC_OP_OR}, {"&&", 1, OC_OP_AND}, {"==", 2, OC_OP_EQ}, {"!=", 2, OC_OP_NE},
    {"<=", 2, OC_OP_LE}, {">=", 2, OC_OP_GE},  {"<", 2, OC_OP_LT},  {">", 2, OC_OP_GT},
    {"+", 3, OC_OP_ADD}, {"-", 3, OC_OP_SUB},  {"*", 4, OC_OP_MUL}, {"/", 4, OC_OP_DIV},
    {"%", 4, OC_OP_MOD},
};
#define COMPARISON_LEVEL 2
#define UNARY_LEVEL 5

static int32_t parse_level(parser *p, int level, uint16_t *out_node);

static int32_t fail(parser *p, size_t column, const char *what) {
  p->error_column = column;
  return ops_error_set(p->error, OPS_ERROR_INVALID_MODEL, "%s", what);
}

static void skip_space(parser *p) {
  while (p->text[p->at] == ' ' || p->text[p->at] == '\t' || p->text[p->at] == '\n') ++p->at;
}

static int32_t add_node(parser *p, uint8_t op, size_t column, uint16_t *out_node) {
  if (p->count == OC_EXPR_MAX_NODES) {
    return fail(p, column, "the expression has more than 256 parts; name parts of it in `let`");
  }
  *out_node = p->count++;
  p->nodes[*out_node] = (oc_expr_node){.op = op,
                                       .depth = 1,
                                       .first = OC_EXPR_NO_NODE,
                                       .next = OC_EXPR_NO_NODE,
                                       .column = (uint16_t)column};
  return OPS_OK;
}

// Appends `child` to the operands of `parent`; `last` is the operand before, or NO_NODE.
static int32_t add_operand(parser *p, uint16_t parent, uint16_t last, uint16_t child) {
  oc_expr_node *node = &p->nodes[parent];
  if (last == OC_EXPR_NO_NODE) {
    node->first = child;
  } else {
    p->nodes[last].next = child;
  }
  if (p->nodes[child].depth >= node->depth) node->depth = (uint8_t)(p->nodes[child].depth + 1);
  if (node->depth > OC_EXPR_MAX_TREE_DEPTH) {
    return fail(p, node->column, "the expression is nested too deeply");
  }
  return OPS_OK;
}

static int32_t parse_number(parser *p, uint16_t *out_node) {
  const char *start = p->text + p->at;
  const size_t digits = strspn(start, "0123456789");
  char *end;
  OPS_RETURN_IF_ERROR(add_node(p, OC_OP_INT, p->at, out_node));
  oc_expr_node *node = &p->nodes[*out_node];
  errno = 0;
  if (start[digits] != '.' && start[digits] != 'e' && start[digits] != 'E') {
    node->i = strtoll(start, &end, 10);
  } else {
    node->op = OC_OP_REAL;
    node->real = strtod(start, &end);
  }
  const size_t column = p->at;
  p->at += (size_t)(end - start);
  if (errno == ERANGE) return fail(p, column, "the number is too large");
  if (isalnum((unsigned char)*end) || *end == '_' || *end == '.') {
    return fail(p, column, "malformed number");
  }
  return OPS_OK;
}

static int32_t parse_string(parser *p, uint16_t *out_node) {
  const size_t column = p->at++;
  const char *close = strchr(p->text + p->at, '\'');
  if (!close) return fail(p, column, "the string has no closing '");
  OPS_RETURN_IF_ERROR(add_node(p, OC_OP_STRING, column, out_node));
  const size_t size = (size_t)(close - (p->text + p->at));
  p->nodes[*out_node].text = oc_arena_copy_string(p->arena, p->text + p->at, size);
  if (!p->nodes[*out_node].text) return OPS_ERROR_OUT_OF_MEMORY;
  p->at += size + 1;
  return OPS_OK;
}

// Operands up to `close`, separated by commas.
static int32_t parse_operands(parser *p, uint16_t parent, char close, size_t *out_count) {
  uint16_t last = OC_EXPR_NO_NODE;
  *out_count = 0;
  skip_space(p);
  if (p->text[p->at] == close) {
    ++p->at;
    return OPS_OK;
  }
  for (;;) {
    uint16_t operand;
    OPS_RETURN_IF_ERROR(parse_level(p, 0, &operand));
    OPS_RETURN_IF_ERROR(add_operand(p, parent, last, operand));
    last = operand;
    ++*out_count;
    skip_space(p);
    const char c = p->text[p->at];
    if (c != ',' && c != close) {
      return fail(p, p->at, close == ')' ? "expected , or )" : "expected , or ]");
    }
    ++p->at;
    if (c == close) return OPS_OK;
  }
}

static int32_t check_arity(parser *p, const oc_expr_function *function, size_t column,
                           size_t count) {
  const size_t letters = strlen(function->signature);
  const bool open = function->signature[letters - 1] == '+';
  const size_t least = open ? letters - 1 : letters;
  if (count == least || (open && count > least)) return OPS_OK;
  p->error_column = column;
  return ops_error_set(p->error, OPS_ERROR_INVALID_MODEL,
                       "%s() takes %s%zu argument%s, %zu given", function->name,
                       open ? "at least " : "", least, least == 1 ? "" : "s", count);
}

static int32_t find_function(parser *p, const char *name, size_t column, uint8_t *out_index) {
  size_t count;
  const oc_expr_function *functions = oc_expr_functions(&count);
  oc_nearest near = oc_nearest_begin(name);
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(functions[i].name, name) == 0) {
      *out_index = (uint8_t)i;
      return OPS_OK;
    }
    oc_nearest_offer(&near, functions[i].name);
  }
  p->error_column = column;
  return ops_error_set(p->error, OPS_ERROR_INVALID_MODEL, "unknown function \"%s\"%s%s%s", name,
                       OC_NEAREST_HINT(near));
}

static int32_t parse_name(parser *p, uint16_t *out_node) {
  const size_t column = p->at;
  while (isalnum((unsigned char)p->text[p->at]) || p->text[p->at] == '_') ++p->at;
  const char *name = oc_arena_copy_string(p->arena, p->text + column, p->at - column);
  if (!name) return OPS_ERROR_OUT_OF_MEMORY;
  OPS_RETURN_IF_ERROR(add_node(p, OC_OP_NAME, column, out_node));
  oc_expr_node *node = &p->nodes[*out_node];
  node->text = name;
  skip_space(p);
  if (p->text[p->at] == '(') {
    size_t count, functions;
    node->op = OC_OP_CALL;
    OPS_RETURN_IF_ERROR(find_function(p, name, column, &node->function));
    ++p->at;
    OPS_RETURN_IF_ERROR(parse_operands(p, *out_node, ')', &count));
    return check_arity(p, &oc_expr_functions(&functions)[node->function], column, count);
  }
  if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0) {
    node->op = OC_OP_BOOL;
    node->i = name[0] == 't';
  } else if (strcmp(name, "inf") == 0) {
    node->op = OC_OP_REAL;
    node->real = __builtin_inf();
  }
  return OPS_OK;
}

static int32_t parse_atom(parser *p, uint16_t *out_node) {
  const char c = p->text[p->at];
  if (isdigit((unsigned char)c)) return parse_number(p, out_node);
  if (c == '\'') return parse_string(p, out_node);
  if (isalpha((unsigned char)c) || c == '_') return parse_name(p, out_node);
  if (c == '[') {
    size_t count;
    OPS_RETURN_IF_ERROR(add_node(p, OC_OP_LIST, p->at++, out_node));
    return parse_operands(p, *out_node, ']', &count);
  }
  if (c == '(') {
    const size_t column = p->at++;
    OPS_RETURN_IF_ERROR(parse_level(p, 0, out_node));
    skip_space(p);
    if (p->text[p->at] != ')') return fail(p, column, "this ( has no )");
    ++p->at;
    return OPS_OK;
  }
  return fail(p, p->at,
              c ? "expected a number, a name, ( or [" : "the expression ends too soon");
}

static int32_t parse_unary(parser *p, uint16_t *out_node) {
  skip_space(p);
  const char c = p->text[p->at];
  if (c != '-' && c != '!') return parse_atom(p, out_node);
  uint16_t operand;
  OPS_RETURN_IF_ERROR(add_node(p, c == '-' ? OC_OP_NEG : OC_OP_NOT, p->at++, out_node));
  if (++p->nesting > OC_EXPR_MAX_DEPTH) return fail(p, p->at, "too many levels of nesting");
  OPS_RETURN_IF_ERROR(parse_unary(p, &operand));
  --p->nesting;
  return add_operand(p, *out_node, OC_EXPR_NO_NODE, operand);
}

static const binary_op *find_binary(const parser *p, int level) {
  const size_t count = sizeof(binary_ops) / sizeof(binary_ops[0]);
  for (size_t i = 0; i < count; ++i) {
    const size_t size = strlen(binary_ops[i].spelling);
    if (strncmp(p->text + p->at, binary_ops[i].spelling, size) == 0) {
      return binary_ops[i].level == level ? &binary_ops[i] : NULL;
    }
  }
  return NULL;
}

static int32_t parse_level(parser *p, int level, uint16_t *out_node) {
  if (level == UNARY_LEVEL) return parse_unary(p, out_node);
  if (level == 0 && ++p->nesting > OC_EXPR_MAX_DEPTH) {
    return fail(p, p->at, "too many levels of nesting");
  }
  OPS_RETURN_IF_ERROR(parse_level(p, level + 1, out_node));
  for (;;) {
    skip_space(p);
    const binary_op *found = find_binary(p, level);
    if (!found) break;
    uint16_t node, right;
    const size_t column = p->at;
    OPS_RETURN_IF_ERROR(add_node(p, found->op, column, &node));
    p->at += strlen(found->spelling);
    OPS_RETURN_IF_ERROR(parse_level(p, level + 1, &right));
    OPS_RETURN_IF_ERROR(add_operand(p, node, OC_EXPR_NO_NODE, *out_node));
    OPS_RETURN_IF_ERROR(add_operand(p, node, *out_node, right));
    *out_node = node;
    if (level == COMPARISON_LEVEL && find_binary(p, level)) {
      return fail(p, p->at, "comparisons cannot be chained; join them with &&");
    }
  }
  if (level == 0) --p->nesting;
  return OPS_OK;
}

typedef struct name_check {
  oc_expr_resolve_fn resolve;
  void *context;
} name_check;

static const char *const name_kind_text[] = {
    [OC_NAME_UNKNOWN] = "unknown",
    [OC_NAME_VALUE] = "a value",
    [OC_NAME_TENSOR] = "a tensor",
    [OC_NAME_TYPE] = "a type variable",
};

static int32_t check_name(parser *p, const name_check *check, const oc_expr_node *node,
                          oc_expr_name_kind wanted) {
  if (!check->resolve) return OPS_OK;
  const char *near = NULL;
  const oc_expr_name_kind kind = check->resolve(check->context, node->text, &near);
  if (kind == wanted) return OPS_OK;
  p->error_column = node->column;
  if (kind == OC_NAME_UNKNOWN) {
    return ops_error_set(p->error, OPS_ERROR_INVALID_MODEL, "unknown name \"%s\"%s%s%s",
                         node->text, near ? "; did you mean \"" : "", near ? near : "",
                         near ? "\"?" : "");
  }
  return ops_error_set(p->error, OPS_ERROR_INVALID_MODEL, "\"%s\" is %s where %s is needed%s",
                       node->text, name_kind_text[kind], name_kind_text[wanted],
                       kind == OC_NAME_TENSOR ? "; write numel(x), dim(x, i) or the like" : "");
}

static int32_t check_node(parser *p, const name_check *check, uint16_t index, char letter) {
  size_t count;
  const oc_expr_node *node = &p->nodes[index];
  const oc_expr_function *functions = oc_expr_functions(&count);
  const char *signature = node->op == OC_OP_CALL ? functions[node->function].signature : "v+";
  const bool at = node->op == OC_OP_CALL && strcmp(functions[node->function].name, "at") == 0;
  if (node->op == OC_OP_NAME) {
    return check_name(p, check, node,
                      letter == 'x'   ? OC_NAME_TENSOR
                      : letter == 'T' ? OC_NAME_TYPE
                                      : OC_NAME_VALUE);
  }
  if (letter == 'T') return fail(p, node->column, "expected the name of a type variable");
  if (letter == 'x' && !at) return fail(p, node->column, "expected the name of a tensor");
  if (letter == 'v' && at) return fail(p, node->column, "at() is a tensor, not a value");
  for (uint16_t kid = node->first; kid != OC_EXPR_NO_NODE; kid = p->nodes[kid].next) {
    OPS_RETURN_IF_ERROR(check_node(p, check, kid, *signature));
    if (signature[1] != '+') ++signature;
  }
  return OPS_OK;
}

static int32_t parse_whole(parser *p, const name_check *check, uint16_t *out_root) {
  if (strlen(p->text) > OC_EXPR_MAX_TEXT) {
    return fail(p, OC_EXPR_MAX_TEXT, "the expression is longer than 1024 bytes");
  }
  OPS_RETURN_IF_ERROR(parse_level(p, 0, out_root));
  skip_space(p);
  if (p->text[p->at]) return fail(p, p->at, "expected an operator or the end");
  return check_node(p, check, *out_root, 'v');
}

static int32_t keep(parser *p, uint16_t root, const oc_expr **out_expr) {
  oc_expr *expr = oc_arena_alloc(p->arena, 1, sizeof(*expr));
  oc_expr_node *nodes = oc_arena_alloc(p->arena, p->count, sizeof(*nodes));
  char *text = oc_arena_copy_string(p->arena, p->text, strlen(p->text));
  if (!expr || !nodes || !text) return OPS_ERROR_OUT_OF_MEMORY;
  memcpy(nodes, p->nodes, p->count * sizeof(*nodes));
  *expr = (oc_expr){.text = text, .nodes = nodes, .count = p->count, .root = root};
  *out_expr = expr;
  return OPS_OK;
}

int32_t oc_expr_parse(oc_arena *arena, const char *text, oc_expr_resolve_fn resolve,
                      void *context, const oc_expr **out_expr, size_t *out_column,
                      ops_error *error) {
  uint16_t root = 0;
  parser p = {.arena = arena, .text = text, .error = error};
  const name_check check = {resolve, context};
  int32_t status = parse_whole(&p, &check, &root);
  if (status == OPS_OK) status = keep(&p, root, out_expr);
  if (status == OPS_ERROR_OUT_OF_MEMORY) {
    ops_error_set(error, status, "no memory for the expression \"%s\"", text);
  }
  if (status != OPS_OK) *out_column = p.error_column;
  return status;
}

const char *oc_expr_text(const oc_expr *expr) {
  return expr->text;
}

// SPDX-License-Identifier: Apache-2.0
//
// A cast to the type that is there already, and a cast of a cast whose first step keeps every
// value: A -> B -> C is A -> C if B has all values of A. Where A and C are integers and B is
// not, values beyond C's range would wrap in A -> C and are undefined in B -> C; such chains
// stay.
#include "passes/pass.h"

static const char *const roots[] = {"Cast", NULL};

// Kinds of number, and how many bits of significand (with sign of its own) hold every value.
#define NO_NUMBER 0
#define UNSIGNED 1
#define SIGNED 2
#define REAL 3

typedef struct number {
  int32_t kind;
  int32_t bits;      // integers: of the magnitude; reals: of the significand
  int32_t exponent;  // reals: largest, as a power of two
  int32_t least;     // reals: exponent of the smallest denormal, negated
} number;

static number number_of(int32_t type) {
  switch (type) {
    case OPS_TYPE_BOOL:
      return (number){UNSIGNED, 1, 0, 0};
    case OPS_TYPE_UINT8:
      return (number){UNSIGNED, 8, 0, 0};
    case OPS_TYPE_UINT16:
      return (number){UNSIGNED, 16, 0, 0};
    case OPS_TYPE_UINT32:
      return (number){UNSIGNED, 32, 0, 0};
    case OPS_TYPE_UINT64:
      return (number){UNSIGNED, 64, 0, 0};
    case OPS_TYPE_INT8:
      return (number){SIGNED, 7, 0, 0};
    case OPS_TYPE_INT16:
      return (number){SIGNED, 15, 0, 0};
    case OPS_TYPE_INT32:
      return (number){SIGNED, 31, 0, 0};
    case OPS_TYPE_INT64:
      return (number){SIGNED, 63, 0, 0};
    case OPS_TYPE_BFLOAT16:
      return (number){REAL, 8, 127, 133};
    case OPS_TYPE_FLOAT16:
      return (number){REAL, 11, 15, 24};
    case OPS_TYPE_FLOAT:
      return (number){REAL, 24, 127, 149};
    case OPS_TYPE_DOUBLE:
      return (number){REAL, 53, 1023, 1074};
    default:
      return (number){NO_NUMBER, 0, 0, 0};
  }
}

// 1 if every value of `a` is one of `b`.
static int keeps(int32_t type_a, int32_t type_b) {
  const number a = number_of(type_a), b = number_of(type_b);
  if (a.kind == NO_NUMBER || b.kind == NO_NUMBER) return 0;
  if (type_a == type_b) return 1;
  if (type_b == OPS_TYPE_BOOL) return 0;
  if (a.kind == REAL)
    return b.kind == REAL && a.bits <= b.bits && a.exponent <= b.exponent && a.least <= b.least;
  if (b.kind == REAL) return a.bits <= b.bits && a.bits <= b.exponent;
  return a.bits <= b.bits && (a.kind == UNSIGNED || b.kind == SIGNED);
}

static int is_integer(int32_t type) {
  const int32_t kind = number_of(type).kind;
  return kind == UNSIGNED || kind == SIGNED;
}

static const char *why_not(int32_t a, int32_t b, int32_t c) {
  if (!keeps(a, b)) return "the first cast loses values";
  if (number_of(c).kind == NO_NUMBER) return "the last type is no plain number";
  if (is_integer(a) && !is_integer(b) && is_integer(c) && !keeps(a, c))
    return "what does not fit would wrap";
  return NULL;
}

static int32_t shorten(rt_pass_context *context, rt_node *node, rt_node *inner,
                       ops_error *error) {
  rt_value *source = inner->operands[0];
  const int32_t a = rt_pass_elem(source), b = rt_pass_elem(inner->outputs[0]);
  const int32_t c = rt_pass_elem(node->outputs[0]);
  const char *why = why_not(a, b, c);
  if (why) {
    rt_pass_miss(context, "Cast '%s' + Cast '%s': not merged, %s", inner->name, node->name,
                 why);
    return OPS_OK;
  }
  rt_pass_hit(context, "Cast '%s' + Cast '%s': merged", inner->name, node->name);
  OPS_RETURN_IF_ERROR(rt_node_set_operand(node, 0, source, error));
  OPS_RETURN_IF_ERROR(rt_pass_absorb(node, inner, error));
  return rt_pass_drop(context, inner, error);
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  rt_value *input = rt_node_input(node, 0);
  if (!rt_pass_is(node, "Cast") || !input || !rt_node_output(node, 0)) return OPS_OK;
  const int32_t from = rt_pass_elem(input);
  if (from != OPS_TYPE_UNDEFINED && from == rt_attrs_int(&node->op.attrs, "to", 0)) {
    rt_pass_hit(context, "Cast '%s': removed, the type is there already", node->name);
    return rt_pass_replace(context, node, input, error);
  }
  rt_node *inner = rt_pass_producer(input, "Cast");
  return inner && inner->operands[0] ? shorten(context, node, inner, error) : OPS_OK;
}

const rt_pass rt_pass_cast_chains = {.roots = roots, .visit = visit};

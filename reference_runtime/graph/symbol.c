// SPDX-License-Identifier: Apache-2.0
//
// The pool of symbolic integers. Atoms and polynomials are interned in hash tables keyed by
// content; an rt_dim carries the number of its polynomial.
//
// floor(a / c) for a number c > 0 is brought to canonical form by four steps, each an identity
// over the integers: multiples of c leave the floor, a common divisor of c and the non-constant
// coefficients is cancelled, floor((floor(x/p) + k) / c) becomes floor((x + k*p) / (p*c)), and
// a remainder that is a number in [0, c) is dropped. Chains of strided layers, floor((H + 1)/2)
// and so on, thus collapse into one floor.
#include "graph/symbol.h"

#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/poly.h"
#include "graph/store.h"

#define ATOM_SYMBOL 1
#define ATOM_FLOOR 2  // floor(a / b)
#define ATOM_MIN 3
#define ATOM_MAX 4

typedef struct atom {
  int32_t kind;
  uint32_t depth;   // 0 for symbols
  uint32_t weight;  // atoms it consists of, repetitions included
  uint32_t symbol;  // its number
  rt_dim a, b;
} atom;

typedef struct expr {
  uint32_t count, depth, weight;
  rt_term *terms;
} expr;

// Open addressing over ids that start at 1.
typedef struct id_table {
  uint32_t *ids;
  uint32_t count, capacity;
} id_table;

struct rt_symbols {
  rt_store_arena arena;
  atom *atoms;  // [0] is unused
  uint32_t atom_count, atom_capacity;
  expr *exprs;  // [0] is unused
  uint32_t expr_count, expr_capacity;
  const char **names;  // of symbols; the byte before a name is 1 for a fresh one
  uint32_t name_count, name_capacity;
  rt_names by_name;  // name -> rt_dim in the arena
  id_table atom_table, expr_table;
  uint32_t next_fresh;
};

int32_t rt_symbols_create(rt_symbols **out_symbols, ops_error *error) {
  *out_symbols = calloc(1, sizeof **out_symbols);
  if (!*out_symbols) return rt_graph_no_memory(error);
  (*out_symbols)->atom_count = (*out_symbols)->expr_count = 1;
  return OPS_OK;
}

void rt_symbols_destroy(rt_symbols *symbols) {
  if (!symbols) return;
  rt_names_finish(&symbols->by_name);
  free(symbols->atoms);
  free(symbols->exprs);
  free(symbols->names);
  free(symbols->atom_table.ids);
  free(symbols->expr_table.ids);
  rt_store_finish(&symbols->arena);
  free(symbols);
}

// --- Interning -------------------------------------------------------------------------------

// Room for one more element of a malloc'ed array; 0 if memory is exhausted.
static int reserve(void **array, uint32_t count, uint32_t *capacity, size_t size) {
  if (count < *capacity) return 1;
  if (*capacity >= RT_SYMBOLS_MAX_EXPRS) return 0;
  const uint32_t wanted = *capacity ? *capacity * 2 : 16;
  void *moved = realloc(*array, wanted * size);
  if (!moved) return 0;
  *array = moved;
  *capacity = wanted;
  return 1;
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

static uint64_t hash_terms(const rt_term *terms, uint32_t count) {
  uint64_t hash = count;
  for (uint32_t i = 0; i < count; ++i) {
    hash = mix(hash, (uint64_t)terms[i].coefficient);
    for (uint32_t j = 0; j < terms[i].factor_count; ++j) hash = mix(hash, terms[i].factors[j]);
  }
  return hash ^ (hash >> 29);
}

static uint64_t hash_atom(const atom *item) {
  uint64_t hash = mix((uint64_t)item->kind, (uint64_t)item->a.value);
  hash = mix(mix(hash, item->a.expr), (uint64_t)item->b.value);
  hash = mix(mix(hash, item->b.expr), item->symbol);
  return hash ^ (hash >> 29);
}

static uint64_t hash_id(const rt_symbols *symbols, int is_atom, uint32_t id) {
  if (is_atom) return hash_atom(&symbols->atoms[id]);
  return hash_terms(symbols->exprs[id].terms, symbols->exprs[id].count);
}

// Doubles the table when it is half full.
static int make_room(const rt_symbols *symbols, id_table *table, int is_atom) {
  if (table->count * 2 < table->capacity) return 1;
  id_table larger = {NULL, table->count, table->capacity ? table->capacity * 2 : 32};
  larger.ids = calloc(larger.capacity, sizeof *larger.ids);
  if (!larger.ids) return 0;
  for (uint32_t i = 0; i < table->capacity; ++i) {
    if (!table->ids[i]) continue;
    uint64_t at = hash_id(symbols, is_atom, table->ids[i]) & (larger.capacity - 1);
    while (larger.ids[at]) at = (at + 1) & (larger.capacity - 1);
    larger.ids[at] = table->ids[i];
  }
  free(table->ids);
  *table = larger;
  return 1;
}

static int same_atom(const atom *x, const atom *y) {
  return x->kind == y->kind && x->symbol == y->symbol && x->a.expr == y->a.expr &&
         x->a.value == y->a.value && x->b.expr == y->b.expr && x->b.value == y->b.value;
}

// The id of the atom, 0 if memory is exhausted.
static uint32_t intern_atom(rt_symbols *symbols, const atom *item) {
  id_table *table = &symbols->atom_table;
  if (!make_room(symbols, table, 1)) return 0;
  uint64_t at = hash_atom(item) & (table->capacity - 1);
  for (; table->ids[at]; at = (at + 1) & (table->capacity - 1)) {
    if (same_atom(&symbols->atoms[table->ids[at]], item)) return table->ids[at];
  }
  if (!reserve((void **)&symbols->atoms, symbols->atom_count, &symbols->atom_capacity,
               sizeof(atom))) {
    return 0;
  }
  symbols->atoms[symbols->atom_count] = *item;
  table->ids[at] = symbols->atom_count;
  table->count++;
  return symbols->atom_count++;
}

// Depth and weight from those of the atoms; terms and factors are few, so nothing overflows.
static void measure(const rt_symbols *symbols, const rt_poly *poly, expr *out) {
  for (uint32_t i = 0; i < poly->count; ++i) {
    for (uint32_t j = 0; j < poly->terms[i].factor_count; ++j) {
      const atom *inner = &symbols->atoms[poly->terms[i].factors[j]];
      if (inner->depth > out->depth) out->depth = inner->depth;
      out->weight += inner->weight;
    }
  }
}

static int same_terms(const expr *item, const rt_poly *poly) {
  rt_poly other;
  if (item->count != poly->count) return 0;
  other.count = item->count;
  memcpy(other.terms, item->terms, item->count * sizeof *item->terms);
  return rt_poly_equal(&other, poly);
}

static rt_dim intern_poly(rt_symbols *symbols, const rt_poly *poly) {
  int64_t value;
  id_table *table = &symbols->expr_table;
  if (rt_poly_as_const(poly, &value)) return rt_dim_const(value);
  for (uint32_t i = 0; i < poly->count; ++i) {
    if (poly->terms[i].coefficient == INT64_MIN) return rt_dim_unknown();
  }
  if (!make_room(symbols, table, 0)) return rt_dim_unknown();
  uint64_t at = hash_terms(poly->terms, poly->count) & (table->capacity - 1);
  for (; table->ids[at]; at = (at + 1) & (table->capacity - 1)) {
    if (same_terms(&symbols->exprs[table->ids[at]], poly)) return (rt_dim){0, table->ids[at]};
  }
  if (!reserve((void **)&symbols->exprs, symbols->expr_count, &symbols->expr_capacity,
               sizeof(expr))) {
    return rt_dim_unknown();
  }
  expr item = {.count = poly->count};
  measure(symbols, poly, &item);
  if (item.weight > RT_SYMBOLS_MAX_WEIGHT) return rt_dim_unknown();
  item.terms = rt_store_copy(&symbols->arena, poly->terms, poly->count, sizeof *poly->terms);
  if (!item.terms) return rt_dim_unknown();
  symbols->exprs[symbols->expr_count] = item;
  table->ids[at] = symbols->expr_count;
  table->count++;
  return (rt_dim){0, symbols->expr_count++};
}

// The polynomial of a dimension; 0 if it is unknown or needs a pool that is not there.
static int load(const rt_symbols *symbols, rt_dim dim, rt_poly *out_poly) {
  if (rt_dim_is_const(dim)) {
    rt_poly_set_const(out_poly, dim.value);
    return 1;
  }
  if (!symbols || dim.expr >= symbols->expr_count) return 0;
  const expr *item = &symbols->exprs[dim.expr];
  out_poly->count = item->count;
  memcpy(out_poly->terms, item->terms, item->count * sizeof *item->terms);
  return 1;
}

static rt_dim atom_dim(rt_symbols *symbols, const atom *item) {
  rt_poly poly;
  if (item->depth > RT_SYMBOLS_MAX_DEPTH) return rt_dim_unknown();
  const uint32_t id = intern_atom(symbols, item);
  if (!id) return rt_dim_unknown();
  rt_poly_set_atom(&poly, id);
  return intern_poly(symbols, &poly);
}

static rt_dim binary_atom(rt_symbols *symbols, int32_t kind, rt_dim a, rt_dim b) {
  static const expr number = {0};
  if (!symbols || rt_dim_is_unknown(a) || rt_dim_is_unknown(b)) return rt_dim_unknown();
  const expr *ea = rt_dim_is_const(a) ? &number : &symbols->exprs[a.expr];
  const expr *eb = rt_dim_is_const(b) ? &number : &symbols->exprs[b.expr];
  const atom item = {.kind = kind,
                     .depth = 1 + (ea->depth > eb->depth ? ea->depth : eb->depth),
                     .weight = 1 + ea->weight + eb->weight,
                     .a = a,
                     .b = b};
  return atom_dim(symbols, &item);
}

// --- Symbols ---------------------------------------------------------------------------------

static rt_dim new_symbol(rt_symbols *symbols, const char *name, int is_fresh) {
  if (!reserve((void **)&symbols->names, symbols->name_count, &symbols->name_capacity,
               sizeof *symbols->names)) {
    return rt_dim_unknown();
  }
  char *marked = rt_store_alloc(&symbols->arena, strlen(name) + 2, 1);
  rt_dim *cell = rt_store_alloc(&symbols->arena, 1, sizeof *cell);
  if (!marked || !cell) return rt_dim_unknown();
  marked[0] = (char)is_fresh;
  char *copy = strcpy(marked + 1, name);
  const atom item = {.kind = ATOM_SYMBOL, .weight = 1, .symbol = symbols->name_count};
  const rt_dim dim = atom_dim(symbols, &item);
  if (rt_dim_is_unknown(dim)) return dim;
  *cell = dim;
  symbols->names[symbols->name_count] = copy;
  symbols->name_count++;
  return rt_names_put(&symbols->by_name, copy, cell) ? dim : rt_dim_unknown();
}

rt_dim rt_symbols_named(rt_symbols *symbols, const char *name) {
  const rt_dim *found = rt_names_find(&symbols->by_name, name);
  return found ? *found : new_symbol(symbols, name, 0);
}

rt_dim rt_symbols_fresh(rt_symbols *symbols, const char *prefix) {
  char name[96];
  if (!symbols) return rt_dim_unknown();
  do {
    snprintf(name, sizeof name, "%.64s$%u", prefix, symbols->next_fresh++);
  } while (rt_names_find(&symbols->by_name, name));
  return new_symbol(symbols, name, 1);
}

uint32_t rt_symbols_count(const rt_symbols *symbols) {
  return symbols->name_count;
}

const char *rt_symbols_name(const rt_symbols *symbols, uint32_t index) {
  return symbols->names[index];
}

int rt_symbols_is_fresh(const rt_symbols *symbols, uint32_t index) {
  return symbols->names[index][-1] != 0;
}

int rt_dim_as_symbol(const rt_symbols *symbols, rt_dim dim, uint32_t *out_index) {
  if (!symbols || rt_dim_is_const(dim) || dim.expr >= symbols->expr_count) return 0;
  const expr *item = &symbols->exprs[dim.expr];
  if (item->count != 1 || item->terms[0].coefficient != 1 || item->terms[0].factor_count != 1) {
    return 0;
  }
  const atom *only = &symbols->atoms[item->terms[0].factors[0]];
  if (only->kind != ATOM_SYMBOL) return 0;
  *out_index = only->symbol;
  return 1;
}

// --- Arithmetic ------------------------------------------------------------------------------

static rt_dim add_scaled(rt_symbols *symbols, rt_dim a, rt_dim b, int64_t scale) {
  rt_poly pa, pb;
  if (!load(symbols, a, &pa) || !load(symbols, b, &pb)) return rt_dim_unknown();
  if (!rt_poly_add(&pa, &pa, &pb, scale)) return rt_dim_unknown();
  return intern_poly(symbols, &pa);
}

rt_dim rt_dim_add(rt_symbols *symbols, rt_dim a, rt_dim b) {
  int64_t sum;
  if (rt_dim_is_const(a) && rt_dim_is_const(b)) {
    return __builtin_add_overflow(a.value, b.value, &sum) ? rt_dim_unknown()
                                                          : rt_dim_const(sum);
  }
  return add_scaled(symbols, a, b, 1);
}

rt_dim rt_dim_sub(rt_symbols *symbols, rt_dim a, rt_dim b) {
  int64_t rest;
  if (rt_dim_is_const(a) && rt_dim_is_const(b)) {
    return __builtin_sub_overflow(a.value, b.value, &rest) ? rt_dim_unknown()
                                                           : rt_dim_const(rest);
  }
  return add_scaled(symbols, a, b, -1);
}

rt_dim rt_dim_mul(rt_symbols *symbols, rt_dim a, rt_dim b) {
  rt_poly pa, pb, product;
  int64_t value;
  if (rt_dim_is_const(a) && rt_dim_is_const(b)) {
    return __builtin_mul_overflow(a.value, b.value, &value) ? rt_dim_unknown()
                                                            : rt_dim_const(value);
  }
  if (!load(symbols, a, &pa) || !load(symbols, b, &pb)) return rt_dim_unknown();
  if (!rt_poly_mul(&product, &pa, &pb)) return rt_dim_unknown();
  return intern_poly(symbols, &product);
}

static int64_t floor_div_ints(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Cancels a common divisor of `divisor` and the coefficients of all non-constant terms.
static void cancel_common(rt_poly *poly, int64_t *divisor) {
  int64_t common = *divisor;
  for (uint32_t i = 0; i < poly->count; ++i) {
    if (poly->terms[i].factor_count > 0) common = gcd(common, poly->terms[i].coefficient);
  }
  if (common == 1) return;
  rt_poly reduced = {0};
  for (uint32_t i = 0; i < poly->count; ++i) {
    rt_term term = poly->terms[i];
    term.coefficient /= common;  // all are >= 0 here, so this is the floor
    rt_poly_add_term(&reduced, &term);
  }
  *poly = reduced;
  *divisor /= common;
}

// poly = floor(x / p) + k becomes x + k * p, and *divisor is multiplied by p. 1 if it did.
static int merge_inner_floor(const rt_symbols *symbols, rt_poly *poly, int64_t *divisor) {
  rt_poly inner;
  int64_t offset = 0, product;
  if (poly->count == 0 || poly->count > 2) return 0;
  const rt_term *head = &poly->terms[0];
  if (head->factor_count != 1 || head->coefficient != 1) return 0;
  if (poly->count == 2 && poly->terms[1].factor_count != 0) return 0;
  const atom *item = &symbols->atoms[head->factors[0]];
  if (item->kind != ATOM_FLOOR || !rt_dim_is_const(item->b) || item->b.value <= 0) return 0;
  if (poly->count == 2) offset = poly->terms[1].coefficient;
  if (__builtin_mul_overflow(offset, item->b.value, &offset) ||
      __builtin_mul_overflow(*divisor, item->b.value, &product) ||
      !load(symbols, item->a, &inner)) {
    return 0;
  }
  const rt_term shift = {.coefficient = offset};
  if (!rt_poly_add_term(&inner, &shift)) return 0;
  *poly = inner;
  *divisor = product;
  return 1;
}

// floor(poly / divisor), divisor > 0.
static rt_dim floor_by_number(rt_symbols *symbols, rt_poly *poly, int64_t divisor) {
  rt_poly quotient = {0}, part, rest;
  int64_t value;
  do {
    const rt_term term = {.coefficient = divisor};
    if (!rt_poly_split(poly, &term, &part, &rest)) return rt_dim_unknown();
    if (!rt_poly_add(&quotient, &quotient, &part, 1)) return rt_dim_unknown();
    cancel_common(&rest, &divisor);
    *poly = rest;
  } while (divisor > 1 && merge_inner_floor(symbols, poly, &divisor));
  const rt_dim outside = intern_poly(symbols, &quotient);
  if (rt_poly_as_const(&rest, &value)) return outside;  // a number in [0, divisor)
  if (divisor == 1) return rt_dim_add(symbols, outside, intern_poly(symbols, &rest));
  const rt_dim inside =
      binary_atom(symbols, ATOM_FLOOR, intern_poly(symbols, &rest), rt_dim_const(divisor));
  return rt_dim_add(symbols, outside, inside);
}

rt_dim rt_dim_floor_div(rt_symbols *symbols, rt_dim a, rt_dim b) {
  rt_poly pa, pb, quotient, rest;
  if (rt_dim_is_value(b, 0)) return rt_dim_unknown();
  if (rt_dim_is_const(a) && rt_dim_is_const(b)) {
    if (a.value == INT64_MIN && b.value == -1) return rt_dim_unknown();
    return rt_dim_const(floor_div_ints(a.value, b.value));
  }
  if (!load(symbols, a, &pa) || !load(symbols, b, &pb)) return rt_dim_unknown();
  if (rt_dim_is_const(b)) {
    if (b.value > 0) return floor_by_number(symbols, &pa, b.value);
    const rt_dim zero = rt_dim_const(0);
    const rt_dim minus_b = rt_dim_sub(symbols, zero, b);
    if (rt_dim_is_unknown(minus_b)) return minus_b;
    return rt_dim_floor_div(symbols, rt_dim_sub(symbols, zero, a), minus_b);
  }
  if (rt_poly_divide_exactly(&pa, &pb, &quotient)) return intern_poly(symbols, &quotient);
  if (pb.count == 1 && rt_poly_split(&pa, &pb.terms[0], &quotient, &rest)) {
    const rt_dim inside = binary_atom(symbols, ATOM_FLOOR, intern_poly(symbols, &rest), b);
    return rt_dim_add(symbols, intern_poly(symbols, &quotient), inside);
  }
  return binary_atom(symbols, ATOM_FLOOR, a, b);
}

rt_dim rt_dim_ceil_div(rt_symbols *symbols, rt_dim a, rt_dim b) {
  const rt_dim zero = rt_dim_const(0);
  if (rt_dim_is_const(b) && b.value > 0 && !rt_dim_is_const(a)) {
    const rt_dim raised = rt_dim_add(symbols, a, rt_dim_const(b.value - 1));
    return rt_dim_floor_div(symbols, raised, b);
  }
  const rt_dim down = rt_dim_floor_div(symbols, rt_dim_sub(symbols, zero, a), b);
  return rt_dim_sub(symbols, zero, down);
}

rt_dim rt_dim_mod(rt_symbols *symbols, rt_dim a, rt_dim b) {
  const rt_dim quotient = rt_dim_floor_div(symbols, a, b);
  return rt_dim_sub(symbols, a, rt_dim_mul(symbols, b, quotient));
}

// Positive if a >= b, negative if a <= b, for all symbols; 0 if neither is known.
static int compare(rt_symbols *symbols, rt_dim a, rt_dim b) {
  int64_t bound;
  const rt_dim difference = rt_dim_sub(symbols, a, b);
  if (rt_dim_lower_bound(symbols, difference, &bound) && bound >= 0) return 1;
  const rt_dim opposite = rt_dim_sub(symbols, b, a);
  if (rt_dim_lower_bound(symbols, opposite, &bound) && bound >= 0) return -1;
  return 0;
}

static rt_dim extremum(rt_symbols *symbols, int32_t kind, rt_dim a, rt_dim b) {
  if (rt_dim_is_unknown(a) || rt_dim_is_unknown(b)) return rt_dim_unknown();
  if (rt_dim_is_const(a) && rt_dim_is_const(b)) {
    return (a.value < b.value) == (kind == ATOM_MIN) ? a : b;
  }
  const int order = compare(symbols, a, b);
  if (order != 0) return (order > 0) == (kind == ATOM_MAX) ? a : b;
  // The order of the operands is part of the canonical form.
  if (a.expr > b.expr) return binary_atom(symbols, kind, b, a);
  return binary_atom(symbols, kind, a, b);
}

rt_dim rt_dim_min(rt_symbols *symbols, rt_dim a, rt_dim b) {
  return extremum(symbols, ATOM_MIN, a, b);
}

rt_dim rt_dim_max(rt_symbols *symbols, rt_dim a, rt_dim b) {
  return extremum(symbols, ATOM_MAX, a, b);
}

// --- Bounds and values -----------------------------------------------------------------------

static int atom_lower_bound(const rt_symbols *symbols, const atom *item, int64_t *out_bound) {
  int64_t a, b;
  if (item->kind == ATOM_SYMBOL) {
    *out_bound = 0;
    return 1;
  }
  const int has_a = rt_dim_lower_bound(symbols, item->a, &a);
  if (item->kind == ATOM_FLOOR) {
    if (!has_a) return 0;
    if (rt_dim_is_const(item->b) && item->b.value > 0) {
      *out_bound = floor_div_ints(a, item->b.value);
      return 1;
    }
    *out_bound = 0;
    return a >= 0 && rt_dim_lower_bound(symbols, item->b, &b) && b >= 0;
  }
  const int has_b = rt_dim_lower_bound(symbols, item->b, &b);
  if (item->kind == ATOM_MIN) {
    if (!has_a || !has_b) return 0;
    *out_bound = a < b ? a : b;
    return 1;
  }
  if (!has_a && !has_b) return 0;
  *out_bound = !has_b || (has_a && a > b) ? a : b;
  return 1;
}

static int term_lower_bound(const rt_symbols *symbols, const rt_term *term, int64_t *out) {
  *out = term->coefficient;
  for (uint32_t i = 0; i < term->factor_count; ++i) {
    int64_t bound;
    if (term->coefficient < 0) return 0;
    if (!atom_lower_bound(symbols, &symbols->atoms[term->factors[i]], &bound)) return 0;
    if (bound < 0 && term->factor_count > 1) return 0;
    if (__builtin_mul_overflow(*out, bound, out)) return 0;
  }
  return 1;
}

int rt_dim_lower_bound(const rt_symbols *symbols, rt_dim dim, int64_t *out_bound) {
  int64_t sum = 0, part;
  if (rt_dim_is_const(dim)) {
    *out_bound = dim.value;
    return 1;
  }
  if (!symbols || dim.expr >= symbols->expr_count) return 0;
  const expr *item = &symbols->exprs[dim.expr];
  for (uint32_t i = 0; i < item->count; ++i) {
    if (!term_lower_bound(symbols, &item->terms[i], &part)) return 0;
    if (__builtin_add_overflow(sum, part, &sum)) return 0;
  }
  *out_bound = sum;
  return 1;
}

static int evaluate_atom(const rt_symbols *symbols, const atom *item, const int64_t *values,
                         uint32_t count, int64_t *out_value) {
  int64_t a, b;
  if (item->kind == ATOM_SYMBOL) {
    if (item->symbol >= count || values[item->symbol] < 0) return 0;
    *out_value = values[item->symbol];
    return 1;
  }
  if (!rt_dim_evaluate(symbols, item->a, values, count, &a)) return 0;
  if (!rt_dim_evaluate(symbols, item->b, values, count, &b)) return 0;
  if (item->kind == ATOM_FLOOR) {
    if (b == 0 || (a == INT64_MIN && b == -1)) return 0;
    *out_value = floor_div_ints(a, b);
  } else {
    *out_value = (a < b) == (item->kind == ATOM_MIN) ? a : b;
  }
  return 1;
}

int rt_dim_evaluate(const rt_symbols *symbols, rt_dim dim, const int64_t *values,
                    uint32_t count, int64_t *out_value) {
  int64_t sum = 0;
  if (rt_dim_is_const(dim)) {
    *out_value = dim.value;
    return 1;
  }
  if (!symbols || dim.expr >= symbols->expr_count) return 0;
  const expr *item = &symbols->exprs[dim.expr];
  for (uint32_t i = 0; i < item->count; ++i) {
    int64_t product = item->terms[i].coefficient, value;
    for (uint32_t j = 0; j < item->terms[i].factor_count; ++j) {
      const atom *factor = &symbols->atoms[item->terms[i].factors[j]];
      if (!evaluate_atom(symbols, factor, values, count, &value)) return 0;
      if (__builtin_mul_overflow(product, value, &product)) return 0;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return 0;
  }
  *out_value = sum;
  return 1;
}

// --- Printing --------------------------------------------------------------------------------

typedef struct text {
  char *buffer;
  uint64_t size, used;
} text;

static void put(text *out, const char *string) {
  while (*string && out->used + 1 < out->size) out->buffer[out->used++] = *string++;
  if (out->size > 0) out->buffer[out->used] = '\0';
}

static void put_int(text *out, int64_t value) {
  char digits[24];
  snprintf(digits, sizeof digits, "%lld", (long long)value);
  put(out, digits);
}

static void put_dim(const rt_symbols *symbols, rt_dim dim, text *out);

static void put_atom(const rt_symbols *symbols, const atom *item, text *out) {
  if (item->kind == ATOM_SYMBOL) {
    put(out, symbols->names[item->symbol]);
    return;
  }
  const int is_floor = item->kind == ATOM_FLOOR;
  put(out, is_floor ? "floor((" : item->kind == ATOM_MIN ? "min(" : "max(");
  put_dim(symbols, item->a, out);
  put(out, is_floor ? ")/(" : ", ");
  put_dim(symbols, item->b, out);
  put(out, is_floor ? "))" : ")");
}

static void put_dim(const rt_symbols *symbols, rt_dim dim, text *out) {
  if (rt_dim_is_const(dim)) {
    put_int(out, dim.value);
    return;
  }
  if (!symbols || dim.expr >= symbols->expr_count) {
    put(out, "?");
    return;
  }
  const expr *item = &symbols->exprs[dim.expr];
  for (uint32_t i = 0; i < item->count; ++i) {
    const rt_term *term = &item->terms[i];
    const int negative = term->coefficient < 0;
    if (i > 0) put(out, negative ? " - " : " + ");
    const int64_t shown = i > 0 && negative ? -term->coefficient : term->coefficient;
    if (shown != 1 || term->factor_count == 0) put_int(out, shown);
    for (uint32_t j = 0; j < term->factor_count; ++j) {
      if (j > 0 || shown != 1) put(out, "*");
      put_atom(symbols, &symbols->atoms[term->factors[j]], out);
    }
  }
}

char *rt_dim_format(const rt_symbols *symbols, rt_dim dim, char *buffer, uint64_t size) {
  text out = {buffer, size, 0};
  put(&out, "");
  put_dim(symbols, dim, &out);
  return buffer;
}

static void put_type(const rt_symbols *symbols, const rt_type *type, text *out) {
  static const char *const openings[] = {"?", "", "sparse ", "seq(", "optional(", "map("};
  if (type->kind < 0 || type->kind > RT_TYPE_MAP) {
    put(out, "opaque");
    return;
  }
  put(out, openings[type->kind]);
  if (type->kind == RT_TYPE_UNKNOWN) return;
  if (type->kind == RT_TYPE_TENSOR || type->kind == RT_TYPE_SPARSE_TENSOR) {
    put(out, type->elem_type ? rt_elem_type_name(type->elem_type) : "?");
    put(out, type->rank < 0 ? "[..." : "[");
    for (int32_t i = 0; i < type->rank; ++i) {
      if (i > 0) put(out, ",");
      put_dim(symbols, type->dims[i], out);
    }
    put(out, "]");
    return;
  }
  if (type->kind == RT_TYPE_MAP) put(out, rt_elem_type_name(type->elem_type)), put(out, ", ");
  if (type->element) put_type(symbols, type->element, out);
  if (!type->element) put(out, "?");
  put(out, ")");
}

char *rt_type_format(const rt_symbols *symbols, const rt_type *type, char *buffer,
                     uint64_t size) {
  text out = {buffer, size, 0};
  put(&out, "");
  put_type(symbols, type, &out);
  return buffer;
}

// SPDX-License-Identifier: Apache-2.0
//
// Symbolic integers: a pool of expressions in canonical form.
//
// An expression is a polynomial with integer coefficients over atoms. An atom is a symbol (the
// dim_param of a model, or a fresh one), or floor(p / q), min(p, q), max(p, q), abs-free mod
// written as p - q * floor(p / q). Terms and factors are sorted and equal ones are merged, so
// equal polynomials have one id. Every symbol stands for an integer >= 0; a divisor is taken to
// be non-zero, because the operators that divide by a dimension are undefined at zero.
//
// Arithmetic on two constants needs no pool: `symbols` may be NULL then, which is what makes
// the inference rules usable at run time. Where a result cannot be expressed (overflow, memory,
// RT_SYMBOLS_MAX_TERMS, an unknown operand) it is the unknown dimension.
#ifndef RT_GRAPH_SYMBOL_H_
#define RT_GRAPH_SYMBOL_H_

#include <ops/status.h>

#include "graph/type.h"

#define RT_SYMBOLS_MAX_TERMS 32u     // of one polynomial
#define RT_SYMBOLS_MAX_FACTORS 8u    // of one term
#define RT_SYMBOLS_MAX_DEPTH 16u     // of floor, min and max inside each other
#define RT_SYMBOLS_MAX_WEIGHT 4096u  // atoms of an expression written out in full
#define RT_SYMBOLS_MAX_EXPRS (1u << 20)

typedef struct rt_symbols rt_symbols;

// Not thread-safe. Fails with OUT_OF_MEMORY.
int32_t rt_symbols_create(rt_symbols **out_symbols, ops_error *error);
void rt_symbols_destroy(rt_symbols *symbols);

// The symbol called `name` (copied); the same one for the same name.
rt_dim rt_symbols_named(rt_symbols *symbols, const char *name);
// A symbol that has not been used; its name begins with `prefix`.
rt_dim rt_symbols_fresh(rt_symbols *symbols, const char *prefix);

rt_dim rt_dim_add(rt_symbols *symbols, rt_dim a, rt_dim b);
rt_dim rt_dim_sub(rt_symbols *symbols, rt_dim a, rt_dim b);
rt_dim rt_dim_mul(rt_symbols *symbols, rt_dim a, rt_dim b);
rt_dim rt_dim_floor_div(rt_symbols *symbols, rt_dim a, rt_dim b);  // unknown if b is 0
rt_dim rt_dim_ceil_div(rt_symbols *symbols, rt_dim a, rt_dim b);   // unknown if b is 0
rt_dim rt_dim_mod(rt_symbols *symbols, rt_dim a, rt_dim b);  // sign of b; unknown if b is 0
rt_dim rt_dim_min(rt_symbols *symbols, rt_dim a, rt_dim b);
rt_dim rt_dim_max(rt_symbols *symbols, rt_dim a, rt_dim b);

// Lower bound that holds for every value of the symbols; 0 if there is none that is known.
int rt_dim_lower_bound(const rt_symbols *symbols, rt_dim dim, int64_t *out_bound);

// Symbols are numbered from 0 in order of creation.
uint32_t rt_symbols_count(const rt_symbols *symbols);
const char *rt_symbols_name(const rt_symbols *symbols, uint32_t index);
// 1 if the symbol was made by rt_symbols_fresh.
int rt_symbols_is_fresh(const rt_symbols *symbols, uint32_t index);
// 1 if `dim` is a single symbol; its number goes to *out_index.
int rt_dim_as_symbol(const rt_symbols *symbols, rt_dim dim, uint32_t *out_index);

// The value of `dim` when symbol i has the value values[i], i < count; a negative value means
// "not bound". 0 if a symbol is not bound, the dimension is unknown, a divisor is 0 or the
// value does not fit.
int rt_dim_evaluate(const rt_symbols *symbols, rt_dim dim, const int64_t *values,
                    uint32_t count, int64_t *out_value);

// Writes "12", "?", "N", "2*H + 1", "floor((H + 3)/2)" into `buffer`, cut at `size` - 1 bytes
// and terminated. Returns `buffer`. `symbols` may be NULL for constants.
char *rt_dim_format(const rt_symbols *symbols, rt_dim dim, char *buffer, uint64_t size);
// "float[N,3,224]", "int64[]", "float[...]" for an unknown rank, "seq(float[?])".
char *rt_type_format(const rt_symbols *symbols, const rt_type *type, char *buffer,
                     uint64_t size);

#endif  // RT_GRAPH_SYMBOL_H_

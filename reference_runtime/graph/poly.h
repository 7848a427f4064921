// SPDX-License-Identifier: Apache-2.0
//
// Polynomials with integer coefficients over atoms, the canonical form behind rt_dim. Private.
//
// Terms are sorted by falling degree, then by their factors; factors by rising atom id; no
// coefficient is zero. Every operation returns 0 if a coefficient overflows or a limit of
// graph/symbol.h is passed, and leaves its result undefined then.
#ifndef RT_GRAPH_POLY_H_
#define RT_GRAPH_POLY_H_

#include <stdint.h>

#include "graph/symbol.h"

typedef struct rt_term {
  int64_t coefficient;
  uint32_t factor_count;
  uint32_t factors[RT_SYMBOLS_MAX_FACTORS];  // atom ids, with repetition
} rt_term;

typedef struct rt_poly {
  uint32_t count;
  rt_term terms[RT_SYMBOLS_MAX_TERMS];
} rt_poly;

void rt_poly_set_const(rt_poly *poly, int64_t value);
void rt_poly_set_atom(rt_poly *poly, uint32_t atom);
int rt_poly_add_term(rt_poly *poly, const rt_term *term);
// out = a + scale * b; out may be a.
int rt_poly_add(rt_poly *out, const rt_poly *a, const rt_poly *b, int64_t scale);
// out differs from a and b.
int rt_poly_mul(rt_poly *out, const rt_poly *a, const rt_poly *b);
// 1 if the polynomial is a number.
int rt_poly_as_const(const rt_poly *poly, int64_t *out_value);
int rt_poly_equal(const rt_poly *a, const rt_poly *b);
// 1 if a = q * b for a polynomial q of one term.
int rt_poly_divide_exactly(const rt_poly *a, const rt_poly *b, rt_poly *out_quotient);
// Splits a = q * b + r for b of one term: q takes every term, or part of one, that b divides.
// With b a number > 0 the coefficients of r are in [0, b).
int rt_poly_split(const rt_poly *a, const rt_term *b, rt_poly *out_quotient, rt_poly *out_rest);

#endif  // RT_GRAPH_POLY_H_

// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on sparse multivariate polynomials, small enough for insertion into sorted arrays.
#include "graph/poly.h"

#include <string.h>

void rt_poly_set_const(rt_poly *poly, int64_t value) {
  poly->count = value != 0;
  poly->terms[0] = (rt_term){.coefficient = value};
}

void rt_poly_set_atom(rt_poly *poly, uint32_t atom) {
  poly->count = 1;
  poly->terms[0] = (rt_term){.coefficient = 1, .factor_count = 1, .factors = {atom}};
}

// Negative if a's factors come first: higher degree, then smaller atoms.
static int compare_factors(const rt_term *a, const rt_term *b) {
  if (a->factor_count != b->factor_count) return a->factor_count > b->factor_count ? -1 : 1;
  for (uint32_t i = 0; i < a->factor_count; ++i) {
    if (a->factors[i] != b->factors[i]) return a->factors[i] < b->factors[i] ? -1 : 1;
  }
  return 0;
}

int rt_poly_add_term(rt_poly *poly, const rt_term *term) {
  uint32_t at = 0;
  if (term->coefficient == 0) return 1;
  while (at < poly->count && compare_factors(&poly->terms[at], term) < 0) ++at;
  rt_term *slot = &poly->terms[at];
  if (at < poly->count && compare_factors(slot, term) == 0) {
    if (__builtin_add_overflow(slot->coefficient, term->coefficient, &slot->coefficient)) {
      return 0;
    }
    if (slot->coefficient != 0) return 1;
    memmove(slot, slot + 1, (poly->count - at - 1) * sizeof *slot);
    poly->count--;
    return 1;
  }
  if (poly->count == RT_SYMBOLS_MAX_TERMS) return 0;
  memmove(slot + 1, slot, (poly->count - at) * sizeof *slot);
  *slot = *term;
  poly->count++;
  return 1;
}

int rt_poly_add(rt_poly *out, const rt_poly *a, const rt_poly *b, int64_t scale) {
  if (out != a) *out = *a;
  for (uint32_t i = 0; i < b->count; ++i) {
    rt_term term = b->terms[i];
    if (__builtin_mul_overflow(term.coefficient, scale, &term.coefficient)) return 0;
    if (!rt_poly_add_term(out, &term)) return 0;
  }
  return 1;
}

static int multiply_terms(const rt_term *a, const rt_term *b, rt_term *out) {
  uint32_t i = 0, j = 0;
  if (a->factor_count + b->factor_count > RT_SYMBOLS_MAX_FACTORS) return 0;
  *out = (rt_term){.factor_count = a->factor_count + b->factor_count};
  for (uint32_t k = 0; k < out->factor_count; ++k) {
    const int take_a =
        j == b->factor_count || (i < a->factor_count && a->factors[i] <= b->factors[j]);
    out->factors[k] = take_a ? a->factors[i++] : b->factors[j++];
  }
  return !__builtin_mul_overflow(a->coefficient, b->coefficient, &out->coefficient);
}

int rt_poly_mul(rt_poly *out, const rt_poly *a, const rt_poly *b) {
  out->count = 0;
  for (uint32_t i = 0; i < a->count; ++i) {
    for (uint32_t j = 0; j < b->count; ++j) {
      rt_term term;
      if (!multiply_terms(&a->terms[i], &b->terms[j], &term)) return 0;
      if (!rt_poly_add_term(out, &term)) return 0;
    }
  }
  return 1;
}

int rt_poly_as_const(const rt_poly *poly, int64_t *out_value) {
  if (poly->count > 1 || (poly->count == 1 && poly->terms[0].factor_count > 0)) return 0;
  *out_value = poly->count ? poly->terms[0].coefficient : 0;
  return 1;
}

int rt_poly_equal(const rt_poly *a, const rt_poly *b) {
  if (a->count != b->count) return 0;
  for (uint32_t i = 0; i < a->count; ++i) {
    if (a->terms[i].coefficient != b->terms[i].coefficient ||
        compare_factors(&a->terms[i], &b->terms[i]) != 0) {
      return 0;
    }
  }
  return 1;
}

// 1 if b's factors are among a's; the rest of them goes to out, coefficient not set.
static int divide_factors(const rt_term *a, const rt_term *b, rt_term *out) {
  uint32_t j = 0;
  *out = (rt_term){0};
  for (uint32_t i = 0; i < a->factor_count; ++i) {
    if (j < b->factor_count && a->factors[i] == b->factors[j]) {
      ++j;
    } else {
      out->factors[out->factor_count++] = a->factors[i];
    }
  }
  return j == b->factor_count;
}

int rt_poly_divide_exactly(const rt_poly *a, const rt_poly *b, rt_poly *out_quotient) {
  rt_poly product;
  rt_term ratio;
  if (a->count == 0) {
    rt_poly_set_const(out_quotient, 0);
    return b->count > 0;
  }
  if (b->count == 0 || !divide_factors(&a->terms[0], &b->terms[0], &ratio)) return 0;
  const int64_t divisor = b->terms[0].coefficient;
  if (divisor == -1 && a->terms[0].coefficient == INT64_MIN) return 0;
  if (a->terms[0].coefficient % divisor != 0) return 0;
  ratio.coefficient = a->terms[0].coefficient / divisor;
  out_quotient->count = 1;
  out_quotient->terms[0] = ratio;
  return rt_poly_mul(&product, out_quotient, b) && rt_poly_equal(&product, a);
}

int rt_poly_split(const rt_poly *a, const rt_term *b, rt_poly *out_quotient,
                  rt_poly *out_rest) {
  out_quotient->count = out_rest->count = 0;
  if (b->coefficient <= 0) return 0;
  for (uint32_t i = 0; i < a->count; ++i) {
    rt_term quotient, rest = a->terms[i];
    if (divide_factors(&a->terms[i], b, &quotient)) {
      int64_t remainder = rest.coefficient % b->coefficient;
      if (remainder < 0) remainder += b->coefficient;
      if (rest.coefficient < INT64_MIN + remainder) return 0;
      quotient.coefficient = (rest.coefficient - remainder) / b->coefficient;
      rest.coefficient = remainder;
      if (!rt_poly_add_term(out_quotient, &quotient)) return 0;
    }
    if (!rt_poly_add_term(out_rest, &rest)) return 0;
  }
  return 1;
}

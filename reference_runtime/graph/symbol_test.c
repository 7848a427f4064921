// SPDX-License-Identifier: Apache-2.0
//
// Canonical form. Expected equalities are identities of integer arithmetic; each is also
// checked by evaluating both sides, with C's own arithmetic, over a range of values.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <ops_support/error.h>

#include "graph/symbol.h"

typedef struct fixture {
  rt_symbols *symbols;
  rt_dim h, w, n;
} fixture;

static int setup(void **state) {
  static fixture f;
  assert_int_equal(rt_symbols_create(&f.symbols, NULL), OPS_OK);
  f.n = rt_symbols_named(f.symbols, "N");
  f.h = rt_symbols_named(f.symbols, "H");
  f.w = rt_symbols_named(f.symbols, "W");
  *state = &f;
  return 0;
}

static int teardown(void **state) {
  rt_symbols_destroy(((fixture *)*state)->symbols);
  return 0;
}

static rt_dim num(int64_t value) {
  return rt_dim_const(value);
}

static void assert_same(rt_dim a, rt_dim b) {
  assert_true(rt_dim_equal(a, b));
}

static void assert_text(const fixture *f, rt_dim dim, const char *expected) {
  char text[128];
  assert_string_equal(rt_dim_format(f->symbols, dim, text, sizeof text), expected);
}

static void polynomials_are_canonical(void **state) {
  fixture *f = *state;
  rt_symbols *s = f->symbols;
  assert_same(rt_dim_add(s, f->h, f->w), rt_dim_add(s, f->w, f->h));
  assert_same(rt_dim_mul(s, f->h, rt_dim_add(s, f->w, num(1))),
              rt_dim_add(s, rt_dim_mul(s, f->w, f->h), f->h));
  assert_same(rt_dim_sub(s, rt_dim_add(s, f->h, num(3)), f->h), num(3));
  assert_text(f, rt_dim_add(s, num(1), rt_dim_mul(s, num(2), f->h)), "2*H + 1");
  assert_text(f, rt_dim_sub(s, rt_dim_mul(s, f->h, f->n), f->w), "N*H - W");
  assert_same(rt_symbols_named(s, "H"), f->h);
  assert_false(rt_dim_equal(rt_symbols_fresh(s, "u"), rt_symbols_fresh(s, "u")));
  assert_false(rt_dim_equal(rt_dim_unknown(), rt_dim_unknown()));
}

static void division_is_exact_where_it_can_be(void **state) {
  fixture *f = *state;
  rt_symbols *s = f->symbols;
  const rt_dim nhw = rt_dim_mul(s, f->n, rt_dim_mul(s, f->h, f->w));
  const rt_dim w1 = rt_dim_add(s, rt_dim_mul(s, num(2), f->w), num(1));
  assert_same(rt_dim_floor_div(s, nhw, f->h), rt_dim_mul(s, f->n, f->w));
  assert_same(rt_dim_floor_div(s, rt_dim_mul(s, f->h, w1), w1), f->h);
  assert_same(rt_dim_floor_div(s, rt_dim_mul(s, num(6), f->h), num(3)),
              rt_dim_mul(s, num(2), f->h));
  assert_same(rt_dim_mod(s, rt_dim_mul(s, num(8), f->h), num(4)), num(0));
  assert_true(rt_dim_is_unknown(rt_dim_floor_div(s, f->h, num(0))));
}

// floor((floor((H + 1)/2) + 1)/2) = floor((H + 3)/4): two strided layers in a row.
static void chains_of_floors_collapse(void **state) {
  fixture *f = *state;
  rt_symbols *s = f->symbols;
  const rt_dim once = rt_dim_floor_div(s, rt_dim_add(s, f->h, num(1)), num(2));
  const rt_dim twice = rt_dim_floor_div(s, rt_dim_add(s, once, num(1)), num(2));
  assert_same(twice, rt_dim_floor_div(s, rt_dim_add(s, f->h, num(3)), num(4)));
  assert_same(rt_dim_ceil_div(s, f->h, num(2)), once);
  // floor((H - 3 + 2)/2) + 1, a convolution of width 3 with padding 1 and stride 2.
  const rt_dim conv =
      rt_dim_add(s, rt_dim_floor_div(s, rt_dim_sub(s, f->h, num(1)), num(2)), num(1));
  assert_same(conv, once);
  assert_text(f, once, "floor((H + 1)/(2))");
  for (int64_t h = 0; h < 40; ++h) {
    const int64_t values[] = {1, h, 1};
    int64_t found;
    assert_true(rt_dim_evaluate(s, twice, values, 3, &found));
    assert_int_equal(found, ((h + 1) / 2 + 1) / 2);
  }
}

// Every operation agrees with C's arithmetic at every point of a grid.
static void evaluation_agrees_with_integers(void **state) {
  fixture *f = *state;
  rt_symbols *s = f->symbols;
  for (int64_t c = 1; c <= 7; ++c) {
    for (int64_t k = -9; k <= 9; ++k) {
      const rt_dim a = rt_dim_add(
          s, rt_dim_add(s, rt_dim_mul(s, num(3), f->h), rt_dim_mul(s, num(-2), f->w)), num(k));
      const rt_dim low = rt_dim_floor_div(s, a, num(c)), high = rt_dim_ceil_div(s, a, num(c));
      const rt_dim rest = rt_dim_mod(s, a, num(c));
      const rt_dim least = rt_dim_min(s, a, f->n), most = rt_dim_max(s, a, f->n);
      for (int64_t h = 0; h < 6; ++h) {
        for (int64_t w = 0; w < 6; ++w) {
          const int64_t values[] = {4, h, w}, exact = 3 * h - 2 * w + k;
          int64_t q, up, r, lo, hi;
          assert_true(rt_dim_evaluate(s, low, values, 3, &q));
          assert_true(rt_dim_evaluate(s, high, values, 3, &up));
          assert_true(rt_dim_evaluate(s, rest, values, 3, &r));
          assert_true(rt_dim_evaluate(s, least, values, 3, &lo));
          assert_true(rt_dim_evaluate(s, most, values, 3, &hi));
          assert_true(q * c <= exact && exact < (q + 1) * c);
          assert_true((up - 1) * c < exact && exact <= up * c);
          assert_int_equal(q * c + r, exact);
          assert_int_equal(lo, exact < 4 ? exact : 4);
          assert_int_equal(hi, exact > 4 ? exact : 4);
        }
      }
    }
  }
}

static void symbols_are_never_negative(void **state) {
  fixture *f = *state;
  rt_symbols *s = f->symbols;
  int64_t bound;
  assert_same(rt_dim_max(s, f->h, num(0)), f->h);
  assert_same(rt_dim_min(s, rt_dim_add(s, f->h, num(2)), f->h), f->h);
  assert_true(rt_dim_lower_bound(s, rt_dim_add(s, f->h, num(5)), &bound));
  assert_int_equal(bound, 5);
  assert_false(rt_dim_lower_bound(s, rt_dim_sub(s, num(5), f->h), &bound));
}

static void limits_yield_unknown(void **state) {
  fixture *f = *state;
  rt_symbols *s = f->symbols;
  rt_dim power = f->h, big = rt_dim_mul(s, num(INT64_MAX), f->h);
  for (int i = 0; i < 20; ++i) power = rt_dim_mul(s, power, f->h);
  assert_true(rt_dim_is_unknown(power));
  assert_true(rt_dim_is_unknown(rt_dim_mul(s, big, num(2))));
  assert_true(rt_dim_is_unknown(rt_dim_add(NULL, num(INT64_MAX), num(1))));
  assert_true(rt_dim_is_unknown(rt_dim_floor_div(NULL, num(INT64_MIN), num(-1))));
  assert_true(rt_dim_is_unknown(rt_dim_add(NULL, f->h, num(1))));
  // An expression that would be 8^n atoms long if written out.
  rt_dim heavy = f->h;
  for (int i = 0; i < 12 && !rt_dim_is_unknown(heavy); ++i) {
    rt_dim sum = rt_dim_const(0);
    for (int j = 0; j < 8; ++j) {
      const rt_dim part = rt_dim_add(s, rt_dim_mul(s, heavy, num(2)), num(j));
      sum = rt_dim_add(s, sum, rt_dim_min(s, part, rt_symbols_fresh(s, "m")));
    }
    heavy = sum;
  }
  assert_true(rt_dim_is_unknown(heavy));
  rt_dim nested = f->h;
  for (int i = 0; i < 40; ++i) {
    nested = rt_dim_min(s, rt_dim_mul(s, nested, num(2)), rt_symbols_fresh(s, "m"));
  }
  assert_true(rt_dim_is_unknown(nested));
}

static void types_print(void **state) {
  fixture *f = *state;
  char text[64];
  const rt_dim dims[] = {f->n, num(3), rt_dim_unknown()};
  const rt_type tensor = rt_type_tensor(OPS_TYPE_FLOAT, 3, dims);
  const rt_type sequence = {RT_TYPE_SEQUENCE, 0, RT_RANK_UNKNOWN, NULL, &tensor};
  const rt_type any = rt_type_tensor(OPS_TYPE_INT64, RT_RANK_UNKNOWN, NULL);
  assert_string_equal(rt_type_format(f->symbols, &tensor, text, sizeof text), "float[N,3,?]");
  assert_string_equal(rt_type_format(f->symbols, &sequence, text, sizeof text),
                      "seq(float[N,3,?])");
  assert_string_equal(rt_type_format(f->symbols, &any, text, sizeof text), "int64[...]");
  assert_string_equal(rt_type_format(f->symbols, &tensor, text, 8), "float[N");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(polynomials_are_canonical, setup, teardown),
      cmocka_unit_test_setup_teardown(division_is_exact_where_it_can_be, setup, teardown),
      cmocka_unit_test_setup_teardown(chains_of_floors_collapse, setup, teardown),
      cmocka_unit_test_setup_teardown(evaluation_agrees_with_integers, setup, teardown),
      cmocka_unit_test_setup_teardown(symbols_are_never_negative, setup, teardown),
      cmocka_unit_test_setup_teardown(limits_yield_unknown, setup, teardown),
      cmocka_unit_test_setup_teardown(types_print, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// Expressions. Expected values are worked out by hand from the rules in expr.h.
#include "contract/expr.h"

#include <math.h>
#include <ops/types.h>
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

// An operator with a tensor x of shape [2, 3, 5], variadic v of [4] and [7], an absent w, an
// attribute axis = -1, list pads = [1, 2], mode = 'reflect', scale = 0.5, a type variable T.
static int32_t value(void *context, const char *name, oc_expr_value *out, ops_error *error) {
  (void)context;
  *out = (oc_expr_value){0};
  if (strcmp(name, "axis") == 0) {
    out->kind = OC_EXPR_INT;
    out->i = -1;
  } else if (strcmp(name, "pads") == 0) {
    out->kind = OC_EXPR_LIST;
    out->count = 2;
    out->list[0] = 1;
    out->list[1] = 2;
  } else if (strcmp(name, "mode") == 0) {
    out->kind = OC_EXPR_STRING;
    out->string = "reflect";
  } else if (strcmp(name, "scale") == 0) {
    out->kind = OC_EXPR_REAL;
    out->real = 0.5;
  } else {
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "no %s", name);
  }
  return OPS_OK;
}

static int32_t tensor_count(void *context, const char *name, size_t *out, ops_error *error) {
  (void)context;
  (void)error;
  *out = name[0] == 'v' ? 2 : name[0] == 'w' ? 0 : 1;
  return OPS_OK;
}

static int32_t tensor_shape(void *context, const char *name, size_t index, oc_expr_value *out,
                            ops_error *error) {
  static const int64_t dims[] = {2, 3, 5};
  (void)context;
  (void)error;
  out->kind = OC_EXPR_LIST;
  out->count = name[0] == 'x' ? 3 : 1;
  for (size_t i = 0; i < 3; ++i) out->list[i] = dims[i];
  if (name[0] == 'v') out->list[0] = index ? 7 : 4;
  return OPS_OK;
}

static int32_t tensor_values(void *context, const char *name, oc_expr_value *out,
                             ops_error *error) {
  return value(context, name[0] == 'x' ? "pads" : name, out, error);
}

static int32_t type(void *context, const char *name, int32_t *out, ops_error *error) {
  (void)error;
  (void)name;
  *out = *(int32_t *)context;
  return OPS_OK;
}

static oc_expr_name_kind resolve(void *context, const char *name, const char **near) {
  (void)context;
  if (strlen(name) == 1 && strchr("xvw", name[0])) return OC_NAME_TENSOR;
  if (strstr("axis pads mode scale", name)) return OC_NAME_VALUE;
  if (strcmp(name, "T") == 0) return OC_NAME_TYPE;
  *near = "axis";
  return OC_NAME_UNKNOWN;
}

typedef struct fixture {
  oc_arena *arena;
  int32_t type;
  oc_expr_env env;
} fixture;

static int setup(void **state) {
  static fixture f;
  f.arena = oc_arena_create(1 << 20);
  f.type = OPS_TYPE_FLOAT;
  f.env = (oc_expr_env){&f.type, value, tensor_count, tensor_shape, tensor_values, type};
  *state = &f;
  return f.arena ? 0 : -1;
}

static int teardown(void **state) {
  oc_arena_destroy(((fixture *)*state)->arena);
  return 0;
}

static oc_expr_value eval(void **state, const char *text) {
  fixture *f = *state;
  const oc_expr *expr = NULL;
  size_t column = 0;
  ops_error error = OPS_ERROR_INIT;
  oc_expr_value out = {0};
  if (oc_expr_parse(f->arena, text, resolve, NULL, &expr, &column, &error) != OPS_OK ||
      oc_expr_eval(expr, &f->env, &out, &error) != OPS_OK) {
    fail_msg("%s: %s", text, error.message);
  }
  return out;
}

static void gives_integers(void **state) {
  static const struct {
    const char *text;
    int64_t value;
  } rows[] = {
      {"1 + 2 * 3", 7},
      {"(1 + 2) * 3", 9},
      {"2 - 3 - 4", -5},
      {"-2 * -3", 6},
      {"- - 5", 5},
      {"7 % 3", 1},
      {"-7 % 3", 2},
      {"7 % -3", -2},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775807 - 1", INT64_MIN},
      {"numel(x)", 30},
      {"rank(x)", 3},
      {"dim(x, axis)", 5},
      {"dim(x, 0)", 2},
      {"count(v)", 2},
      {"numel(at(v, 1))", 7},
      {"numel(v)", 4},
      {"dim(at(v, 0 + 1), 0)", 7},
      {"floor(7 / 2)", 3},
      {"ceil(7 / 2)", 4},
      {"floor(-7 / 2)", -4},
      {"ceil(5)", 5},
      {"min(4, 2, 9)", 2},
      {"max(4, 2, 9)", 9},
      {"max(pads)", 2},
      {"min(shape(x))", 2},
      {"size(pads)", 2},
      {"sum(shape(x))", 10},
      {"prod(shape(x))", 30},
      {"item(pads, -1)", 2},
      {"sum(values(x))", 3},
      {"size(concat(pads, [7, 8, 9]))", 5},
      {"abs(-4)", 4},
      {"prod(tail(shape(x), 1))", 15},
      {"prod(tail(shape(x), -1))", 5},
      {"size(tail(shape(x), 3))", 0},
      {"prod(head(shape(x), 2))", 6},
      {"prod(head(shape(x), -1))", 6},
      {"size(head(shape(x), 0))", 0},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    const oc_expr_value out = eval(state, rows[i].text);
    if (out.kind != OC_EXPR_INT || out.i != rows[i].value) {
      fail_msg("%s gave kind %d, %lld", rows[i].text, out.kind, (long long)out.i);
    }
  }
}

static void gives_reals(void **state) {
  static const struct {
    const char *text;
    double value;
  } rows[] = {
      {"7 / 2", 3.5},     {"scale * 3", 1.5}, {"1.5e2 + 1", 151},  {"sqrt(2.25)", 1.5},
      {"log2(8)", 3},     {"inf", INFINITY},  {"-inf", -INFINITY}, {"max(1, 2.5)", 2.5},
      {"abs(-0.5)", 0.5}, {"2 - 0.5", 1.5},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    const oc_expr_value out = eval(state, rows[i].text);
    if (out.kind != OC_EXPR_REAL || out.real != rows[i].value) {
      fail_msg("%s gave kind %d, %g", rows[i].text, out.kind, out.real);
    }
  }
}

static void gives_truth(void **state) {
  static const char *const yes[] = {
      "axis >= -rank(x) && axis < rank(x)",
      "!(1 == 2)",
      "mode == 'reflect'",
      "mode != 'edge'",
      "shape(x) == [2, 3, 5]",
      "pads != [1, 2, 3]",
      "2 == 2.0",
      "present(x) && !present(w)",
      "present(x) || dim(w, 0) == 1",
      "!present(w) || dim(w, 0) == 1",
      "floating(T) && !integer(T) && signed(T)",
      "true && !false",
      "9007199254740993 > 9007199254740992",
      "broadcast(x, x) == shape(x)",
      "1 + 1 == 2 && 3 * 2 >= 6",
      "fits([2, 3, 5], shape(x), 0)",
      "fits([2, 9, 5], shape(x), 1) && fits([2, 9, 5], shape(x), -2)",
      "!fits([2, 4, 5], shape(x), 0) && !fits([2, 3], shape(x), 0)",
  };
  for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); ++i) {
    const oc_expr_value out = eval(state, yes[i]);
    if (out.kind != OC_EXPR_BOOL || !out.truth) fail_msg("%s is not true", yes[i]);
  }
}

static void knows_types(void **state) {
  fixture *f = *state;
  f->type = OPS_TYPE_INT8;
  assert_int_equal(eval(state, "lowest(T)").i, -128);
  assert_int_equal(eval(state, "highest(T)").i, 127);
  assert_int_equal(eval(state, "bits(T)").i, 8);
  f->type = OPS_TYPE_INT64;
  assert_int_equal(eval(state, "lowest(T)").i, INT64_MIN);
  assert_int_equal(eval(state, "highest(T)").i, INT64_MAX);
  f->type = OPS_TYPE_UINT32;
  assert_int_equal(eval(state, "highest(T)").i, 4294967295ll);
  assert_int_equal(eval(state, "lowest(T)").i, 0);
  f->type = OPS_TYPE_UINT64;
  assert_true(eval(state, "highest(T)").real == 18446744073709551616.0);
  f->type = OPS_TYPE_FLOAT16;
  assert_true(eval(state, "epsilon(T)").real == 0.0009765625);
  assert_true(eval(state, "highest(T)").real == 65504);
  assert_true(eval(state, "lowest(T)").real == -65504);
  // 3.38953139e38: the largest bfloat16, 0x7f7f.
  f->type = OPS_TYPE_BFLOAT16;
  assert_true(eval(state, "highest(T)").real == 338953138925153547590470800371487866880.0);
}

typedef struct bad_row {
  const char *text;
  size_t column;
  const char *part;  // of the message
} bad_row;

static void refuses_bad_text(void **state) {
  static const bad_row rows[] = {
      {"", 0, "too soon"},
      {"1 +", 3, "too soon"},
      {"1 2", 2, "operator or the end"},
      {"(1 + 2", 0, "has no )"},
      {"1 + * 2", 4, "expected a number"},
      {"numel(x", 7, "expected , or )"},
      {"[1, 2", 5, "expected , or ]"},
      {"axos + 1", 0, "did you mean \"axis\""},
      {"2 * numle(x)", 4, "did you mean \"numel\""},
      {"numel(x, 1)", 0, "takes 1 argument, 2 given"},
      {"min()", 0, "at least 1 argument"},
      {"1 < 2 < 3", 6, "chained"},
      {"x + 1", 0, "write numel(x)"},
      {"dim(axis, 1)", 4, "a tensor is needed"},
      {"numel(1)", 6, "name of a tensor"},
      {"lowest(x)", 7, "a type variable is needed"},
      {"at(v, 1)", 0, "not a value"},
      {"99999999999999999999", 0, "too large"},
      {"3abc", 0, "malformed"},
      {"'open", 0, "no closing"},
      {"1 @ 2", 2, "operator or the end"},
      {"1 < 2 || unknown(x)", 9, "unknown function"},
  };
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    const oc_expr *expr = NULL;
    size_t column = 999;
    ops_error error = OPS_ERROR_INIT;
    const int32_t status =
        oc_expr_parse(f->arena, rows[i].text, resolve, NULL, &expr, &column, &error);
    if (status != OPS_ERROR_INVALID_MODEL || column != rows[i].column ||
        !strstr(error.message, rows[i].part)) {
      fail_msg("\"%s\": status %d, column %zu, %s", rows[i].text, status, column,
               error.message);
    }
  }
}

static void refuses_bad_values(void **state) {
  static const char *const rows[] = {
      "9223372036854775807 + 1",
      "-9223372036854775807 - 2",
      "4611686018427387904 * 2",
      "1 / 0",
      "1 % 0",
      "1.5 % 2",
      "dim(x, 3)",
      "dim(x, -4)",
      "item(pads, 2)",
      "tail(pads, 3)",
      "tail(pads, -3)",
      "head(pads, 3)",
      "head(pads, -3)",
      "dim(w, 0)",
      "numel(at(v, 2))",
      "1 && 2",
      "!3",
      "pads + 1",
      "pads < pads",
      "mode < mode",
      "mode == 1",
      "-mode",
      "broadcast(x, v)",
      "sqrt(-1)",
      "log2(0)",
      "floor(1e30)",
      "max([])",
      "[1.5]",
      "size(3)",
      "dim(x, 0.5)",
  };
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    const oc_expr *expr = NULL;
    size_t column;
    oc_expr_value out;
    ops_error error = OPS_ERROR_INIT;
    assert_int_equal(oc_expr_parse(f->arena, rows[i], resolve, NULL, &expr, &column, &error),
                     OPS_OK);
    if (oc_expr_eval(expr, &f->env, &out, &error) != OPS_ERROR_INVALID_MODEL) {
      fail_msg("%s was evaluated", rows[i]);
    }
    assert_non_null(strstr(error.message, rows[i]));
  }
}

// Long, deep and wide texts end in an error, not in an exhausted stack.
static void bounds_nesting(void **state) {
  static const char *const units[] = {"(", "-", "[", "min(", "1+", "1<(", "!"};
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); ++i) {
    for (size_t repeat = 30; repeat < 300; repeat += 90) {
      char text[1300] = "";
      size_t at = 0;
      for (size_t j = 0; j < repeat && at + 8 < sizeof(text); ++j) {
        at += strlen(strcpy(text + at, units[i]));
      }
      strcpy(text + at, "1");
      const oc_expr *expr = NULL;
      size_t column;
      ops_error error = OPS_ERROR_INIT;
      const int32_t status =
          oc_expr_parse(f->arena, text, resolve, NULL, &expr, &column, &error);
      if (repeat > 100) assert_int_equal(status, OPS_ERROR_INVALID_MODEL);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(gives_integers, setup, teardown),
      cmocka_unit_test_setup_teardown(gives_reals, setup, teardown),
      cmocka_unit_test_setup_teardown(gives_truth, setup, teardown),
      cmocka_unit_test_setup_teardown(knows_types, setup, teardown),
      cmocka_unit_test_setup_teardown(refuses_bad_text, setup, teardown),
      cmocka_unit_test_setup_teardown(refuses_bad_values, setup, teardown),
      cmocka_unit_test_setup_teardown(bounds_nesting, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

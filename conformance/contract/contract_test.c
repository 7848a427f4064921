// SPDX-License-Identifier: Apache-2.0
//
// Reading contracts: what is read lands where contract.h says, what is wrong is refused at its
// place. Positions are counted by hand.
#include "contract/contract.h"

#include <math.h>
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "contract/binding.h"
#include "contract/reader.h"

static const char *const good[] = {
    "contract: 1",                                                             // 1
    "op: Softmax",                                                             // 2
    "domain: ai.onnx",                                                         // 3
    "opset: {since: 13}",                                                      // 4
    "reference: \"ONNX Softmax-13\"",                                          // 5
    "kind: composite",                                                         // 6
    "judge: ulp",                                                              // 7
    "semantic:",                                                               // 8
    "  types: {T: [float16, float, double]}",                                  // 9
    "  inputs:  [{name: input, type: T, range: {floating: \"(-inf, 80]\"}}]",  // 10
    "  outputs: [{name: output, type: T, shape: \"shape(input)\"}]",           // 11
    "  attributes: {axis: {type: int, default: -1, range: \"[-rank(input), rank(input))\"}}",  // 12
    "  let: {n: \"dim(input, axis)\"}",                                                   // 13
    "  constraints:",                                                                     // 14
    "    - {id: axis_in_rank, check: \"axis >= -rank(input) && axis < rank(input)\",",    // 15
    "       broken_by: {set: {axis: \"rank(input)\"}}}",                                  // 16
    "  invariants: [{id: one, check: sum_along, on: output, axis: axis, equals: 1}]",     // 17
    "execution: {inplace: [[input, output]], determinism: run, threads: reentrant}",      // 18
    "scheduling: {async: allowed, dynamic_shape: dynamic, prepares: 1, fusion: []}",      // 19
    "precision:",                                                                         // 20
    "  accumulate: {float16: float}",                                                     // 21
    "  tolerance: {standard: {ulp: \"3*n+3\"}, embedded: {ulp: \"6*n+6\"}}",              // 22
    "  special: {nan: propagate}",                                                        // 23
    "  source: \"WebNN\"",                                                                // 24
    "cases:",                                                                             // 25
    "  shapes: [[1], [0, 3], [2, 3, 5]]",                                                 // 26
    "  vary: {axis: [0, -1, each, absent]}",                                              // 27
    "  fills: [uniform, special]",                                                        // 28
    "  trivial: \"n == 1\"",                                                              // 29
    "  rows:",                                                                            // 30
    "    - {id: one, inputs: {input: [4]}, attributes: {axis: 0}, types: {T: [float]}}",  // 31
    "    - {inputs: {input: [2, 2]}, values: {input: [1, 2.5, .inf, -3]}, fills: [wide]}",  // 32
    "  errors: [{id: none, row: one, remove: [input]}]",  // 33
    "performance:",                                       // 34
    "  - {name: rows, inputs: {input: [12, 128]}, type: float, bytes: \"8*numel(input)\",",  // 35
    "     stages: {baseline: 0.8}, constants: [input], regress: {p95: 5%}}",  // 36
    "record: {providers: {cpu: {baseline: none}}, limitations: [slow]}",      // 37
};
#define GOOD_LINES (sizeof(good) / sizeof(good[0]))

// The good text with line `line` (from 1) replaced; nothing is replaced for 0.
static char *text_with(size_t line, const char *replacement) {
  char *text = calloc(1, 8192);
  for (size_t i = 0; i < GOOD_LINES; ++i) {
    strcat(text, i + 1 == line ? replacement : good[i]);
    strcat(text, "\n");
  }
  return text;
}

static oc_contracts *parse(const char *text) {
  oc_contracts *contracts = NULL;
  ops_error error = OPS_ERROR_INIT;
  if (oc_contracts_parse("t.yaml", text, strlen(text), &contracts, &error) != OPS_OK) {
    fail_msg("%s", error.message);
  }
  return contracts;
}

static void reads_everything(void **state) {
  (void)state;
  char *text = text_with(0, "");
  oc_contracts *contracts = parse(text);
  free(text);
  assert_int_equal(contracts->count, 1);
  const oc_contract *c = oc_contracts_find(contracts, "ai.onnx", "Softmax", 17);
  assert_ptr_equal(c, &contracts->items[0]);
  assert_null(oc_contracts_find(contracts, "ai.onnx", "Softmax", 12));
  assert_string_equal(c->op, "Softmax");
  assert_int_equal(c->since, 13);
  assert_int_equal(c->until, INT32_MAX);
  assert_int_equal(c->judge, OC_JUDGE_ULP);
  assert_int_equal(c->kind, OC_KIND_COMPOSITE);
  assert_int_equal(c->type_vars[0].types, OPS_TYPE_BIT(OPS_TYPE_FLOAT16) |
                                              OPS_TYPE_BIT(OPS_TYPE_FLOAT) |
                                              OPS_TYPE_BIT(OPS_TYPE_DOUBLE));
  assert_int_equal(c->inputs[0].type_var, 0);
  assert_non_null(c->inputs[0].ranges[OC_CLASS_FLOATING].lo);
  assert_null(c->inputs[0].ranges[OC_CLASS_SIGNED].lo);
  assert_string_equal(oc_expr_text(c->outputs[0].shape), "shape(input)");
  assert_int_equal(c->attributes[0].default_value.ints[0], -1);
  assert_int_equal(c->invariants[0].check, OC_INVARIANT_SUM_ALONG);
  assert_int_equal(c->execution.inplace_count, 1);
  assert_int_equal(c->precision.accumulate[OPS_TYPE_FLOAT16], OPS_TYPE_FLOAT);
  assert_int_equal(c->precision.accumulate[OPS_TYPE_FLOAT], OPS_TYPE_FLOAT);
  assert_string_equal(oc_expr_text(c->precision.tolerance[OC_PROFILE_STRICT].ulp), "3*n+3");
  assert_string_equal(oc_expr_text(c->precision.tolerance[OC_PROFILE_EMBEDDED].ulp), "6*n+6");
  assert_int_equal(c->precision.nan, OC_NAN_PROPAGATE);
  assert_int_equal(c->precision.denormal, OC_DENORMAL_PROFILE);
  assert_int_equal(c->row_count, 5);
  assert_string_equal(c->rows[1].id, "shapes-0x3");
  assert_int_equal(c->rows[2].inputs[0].shapes[0].dims[2], 5);
  assert_int_equal(c->rows[2].vary[0].count, 4);
  assert_int_equal(c->rows[2].vary[0].values[2].kind, OC_VALUE_EACH);
  assert_int_equal(c->rows[2].fills, 1u << OC_FILL_UNIFORM | 1u << OC_FILL_SPECIAL);
  assert_int_equal(c->rows[3].types[0], OPS_TYPE_BIT(OPS_TYPE_FLOAT));
  assert_int_equal(c->rows[3].vary_count, 0);
  assert_int_equal(c->rows[3].output_count, 1);
  assert_int_equal(c->rows[3].judge, OC_JUDGE_ULP);  // the contract's
  assert_string_equal(c->rows[4].id, "row2");
  assert_int_equal(c->rows[4].inputs[0].contents.kind, OC_VALUE_FLOATS);
  assert_true(isinf(c->rows[4].inputs[0].contents.floats[2]));
  assert_int_equal(c->error_count, 2);
  assert_int_equal(c->errors[0].constraint, 0);
  assert_int_equal(c->errors[0].status, OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(c->errors[1].row, 3);
  assert_true(c->errors[1].remove[0]);
  assert_true(fabs(c->performance[0].regress_p95 - 0.05) < 1e-12);
  assert_int_equal(c->performance[0].inputs[0].shapes[0].dims[1], 128);
  assert_int_equal(c->performance[0].constants, 1);
  assert_string_equal(c->records[0].provider, "cpu");
  assert_int_equal(c->limitation_count, 1);
  oc_contracts_destroy(contracts);
}

static void binds_rows_and_errors(void **state) {
  (void)state;
  char *text = text_with(0, "");
  oc_contracts *contracts = parse(text);
  free(text);
  const oc_contract *c = &contracts->items[0];
  ops_error error = OPS_ERROR_INIT;
  int32_t types[1];
  oc_row_input inputs[1];
  oc_value attributes[1];
  double limit;
  assert_int_equal(oc_row_first(c, &c->rows[2], contracts->arena, types, attributes, &error),
                   OPS_OK);
  assert_int_equal(types[0], OPS_TYPE_FLOAT);  // the least number of the set
  oc_binding binding = {
      .contract = c, .types = types, .inputs = c->rows[2].inputs, .attributes = attributes};
  oc_expr_env env = oc_binding_env(&binding);
  // axis 0 of [2, 3, 5] has 2 terms: 3 * 2 + 3.
  assert_int_equal(oc_expr_eval_number(c->precision.tolerance[OC_PROFILE_STANDARD].ulp, &env,
                                       &limit, &error),
                   OPS_OK);
  assert_true(limit == 9);
  attributes[0].kind = OC_VALUE_ABSENT;  // then the default, -1: 5 terms
  assert_int_equal(oc_expr_eval_number(c->precision.tolerance[OC_PROFILE_STANDARD].ulp, &env,
                                       &limit, &error),
                   OPS_OK);
  assert_true(limit == 18);
  assert_int_equal(
      oc_error_case_bind(c, &c->errors[0], contracts->arena, types, inputs, attributes, &error),
      OPS_OK);
  assert_int_equal(attributes[0].ints[0], 1);  // rank of the first row, [1]
  binding.inputs = inputs;
  bool valid = true;
  const char *why = NULL;
  assert_int_equal(oc_binding_valid(&binding, &valid, &why, &error), OPS_OK);
  assert_false(valid);
  assert_string_equal(why, "axis");
  oc_interval interval;
  assert_int_equal(
      oc_binding_interval(&binding, &c->inputs[0].ranges[OC_CLASS_FLOATING], &interval, &error),
      OPS_OK);
  assert_true(oc_interval_contains(&interval, 80) && oc_interval_contains(&interval, -1e300));
  assert_false(oc_interval_contains(&interval, 80.5));
  oc_contracts_destroy(contracts);
}

typedef struct bad_row {
  size_t line;
  const char *replacement;
  const char *where;  // "line:column"
  const char *part;
} bad_row;

static const bad_row bad_rows[] = {
    {1, "contract: 2", "1:11", "format 1"},
    {2, "op: Soft max", "2:9", "not a name"},
    {2, "opp: Softmax", "2:1", "did you mean \"op\""},
    {3, "op: Softmax", "3:1", "second time"},
    {4, "opset: {since: thirteen}", "4:16", "64-bit integer"},
    {4, "opset: {since: 13, until: 12}", "4:8", "not above until"},
    {4, "opset: {until: 13}", "4:8", "lacks the key \"since\""},
    {5, "reference: [a]", "5:12", "expected text"},
    {7, "judge: ulps", "7:8", "did you mean \"ulp\""},
    {7, "judge: fused", "7:8", "no contract names it"},
    {7, "judge: conditioned", "21:3", "needs tolerance: standard: cap"},
    {31, "    - {id: one, inputs: {input: [4]}, judge: dot}", "21:3",
     "needs tolerance: standard: k"},
    {31, "    - {id: one, inputs: {input: [4]}, judge: uln}", "31:46", "did you mean \"ulp\""},
    {7, "judge: exact", "21:3", "takes no tolerance"},
    {7, "judge: dot", "21:3", "needs tolerance: standard: k"},
    {9, "  types: {T: [float16, flaot]}", "9:24", "did you mean \"float\""},
    {9, "  types: {T: [float, float]}", "9:22", "stands twice"},
    {9, "  types: {T: []}", "9:14", "at least one element type"},
    {10, "  inputs: [{name: input, type: U}]", "10:32", "unknown type variable"},
    {10, "  inputs: [{name: input, type: T, optionl: true}]", "10:35",
     "did you mean \"optional\""},
    {10, "  inputs: [{name: input, type: T, optional: yes}]", "10:45", "true or false"},
    {10, "  inputs: [{name: input, type: T, range: \"0, 1\"}]", "10:42", "interval"},
    {10, "  inputs: [{name: input, type: T, range: \"[0, 1+]\"}]", "10:49", "too soon"},
    {10, "  inputs: [{name: input, type: T}, {name: input, type: T}]", "10:36", "taken"},
    {10, "  inputs: [{name: input, type: T, variadic: true}, {name: b, type: T}]", "10:12",
     "not the last"},
    {11, "  outputs: [{name: output, type: T, shape: \"shape(inptu)\"}]", "11:51",
     "did you mean \"input\""},
    {12, "  attributes: {axis: {type: int, default: 1.5}}", "12:43", "is an int"},
    {12, "  attributes: {axis: {type: integer}}", "12:29", "there are: int, float"},
    {12, "  attributes: {input: {type: int}}", "12:16", "taken by a tensor"},
    {13, "  let: {n: \"dim(input, axis\"}", "13:28", "expected , or )"},
    {13, "  let: {n: \"m + 1\", m: \"2\"}", "13:13", "unknown name \"m\""},
    {13, "  let: {axis: \"2\"}", "13:9", "taken"},
    {13,
     "  let: {a: \"1\", b: \"a+a+a+a+a+a+a+a+a+a+a\", c: \"b+b+b+b+b+b+b+b+b+b+b\","
     " d: \"c+c+c+c+c+c+c+c+c+c+c\", e: \"d+d+d+d+d+d+d+d+d+d+d\"}",
     "13:104", "too often"},
    {13, "  let: {a: \"1\", b: a, c: b, d: c, e: d, f: e, g: f, h: g, i: h}", "13:62",
     "too deep"},
    {16, "       broken_by: {set: {axis: 0}}}", "16:19", "still holds"},
    {16, "       broken_by: {}}", "16:19", "changes nothing"},
    {16, "       broken_by: {set: {axs: 0}}}", "16:26", "did you mean \"axis\""},
    {17, "  invariants: [{id: one, check: bounded, on: output}]", "17:16",
     "needs the key \"range\""},
    {18, "execution: {inplace: [[input]]}", "18:23", "[input, output]"},
    {18, "execution: {threads: reentrent}", "18:22", "did you mean \"reentrant\""},
    {21, "  accumulate: {float17: float}", "21:16", "did you mean \"float16\""},
    {22, "  tolerance: {embedded: {ulp: 1}}", "22:14", "lacks the key \"standard\""},
    {22, "  tolerance: {standard: {ulp: \"3*m+3\"}}", "22:34", "unknown name \"m\""},
    {23, "  special: {nan: [propagate]}", "23:18", "found a list"},
    {24, "", "21:3", "no source"},
    {26, "  shapes: [[1], [-3]]", "26:18", "not negative"},
    {26, "  shapes: [[1], 3]", "26:17", "a shape such as"},
    {26, "  shapes: [[100000, 100000]]", "26:12", "at most"},
    {27, "  vary: {axis: [all]}", "27:17", "expected a number"},
    {27, "  vary: {axis: []}", "27:16", "at least one value"},
    {28, "  fills: [uniform, unifrm]", "28:20", "did you mean \"uniform\""},
    {28, "  fills: [uniform, uniform]", "28:20", "stands twice"},
    {28, "", "26:3", "names no fills"},
    {31, "    - {id: one, inputs: {}}", "31:7", "no shape for the input"},
    {31, "    - {id: one, inputs: {inptu: [1]}}", "31:26", "did you mean \"input\""},
    {31, "    - {id: one, inputs: {input: [4]}, attributes: {axis: 1}}", "31:7",
     "no valid node"},
    {31, "    - {id: one, inputs: {input: [4]}, types: {T: [int8]}}", "31:51", "not among"},
    {31, "    - {id: shapes-1, inputs: {input: [4]}}", "31:7", "there already"},
    {31, "    - {id: one, inputs: {input: [4]}, outputs: 2}", "31:7", "asks for 2 outputs"},
    {32, "    - {inputs: {input: [2, 2]}, values: {input: [1, 2]}}", "32:49",
     "2 values for a tensor of 4"},
    {33, "  errors: [{id: none, row: on, remove: [input]}]", "33:28", "did you mean \"one\""},
    {33, "  errors: [{id: axis_in_rank, remove: [input]}]", "33:12", "there already"},
    {33, "  errors: [{id: e, remove: [input], status: BAD}]", "33:45",
     "there are: INVALID_ARGUMENT"},
    {36, "     regress: {p95: 5}}", "36:21", "percentage"},
    {37, "record: {limitations: &a [x]}", "37:23", "anchors are not allowed"},
    {37, "record: {limitations: *a}", "37:23", "aliases are not allowed"},
    {37, "record: !!map {}", "37:9", "tags are not allowed"},
    {37, "record: {limitations: [", "38:1", "not YAML"},
    {37, "? [a]\n: b", "37:3", "key must be plain"},
    {37, "record: [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", "37:24", "nested too deeply"},
};

static void refuses_bad_contracts(void **state) {
  size_t wrong = 0;
  (void)state;
  for (size_t i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); ++i) {
    char *text = text_with(bad_rows[i].line, bad_rows[i].replacement);
    char where[64];
    oc_contracts *contracts = NULL;
    ops_error error = OPS_ERROR_INIT;
    const int32_t status = oc_contracts_parse("t.yaml", text, strlen(text), &contracts, &error);
    free(text);
    snprintf(where, sizeof(where), "t.yaml:%s: ", bad_rows[i].where);
    if (status != OPS_ERROR_INVALID_MODEL ||
        strncmp(error.message, where, strlen(where)) != 0 ||
        !strstr(error.message, bad_rows[i].part)) {
      oc_contracts_destroy(contracts);
      print_error("row %zu, \"%s\": status %d, %s\n", i, bad_rows[i].replacement, status,
                  error.message);
      ++wrong;
    }
  }
  assert_int_equal(wrong, 0);
}

static void required_attributes_are_left_out(void **state) {
  (void)state;
  char *text = text_with(12,
                         "  attributes: {axis: {type: int, required: true, range: "
                         "\"[-rank(input), rank(input))\"}}");
  char *absent = strstr(text, ", absent]");
  assert_non_null(absent);
  memcpy(absent, "]        ", 9);
  *strstr(text, "    - {inputs: {input: [2, 2]}") = '#';  // the row without attributes
  oc_contracts *contracts = NULL;
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = oc_contracts_parse("t.yaml", text, strlen(text), &contracts, &error);
  free(text);
  assert_int_equal(status, OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "t.yaml:12:22: attribute \"axis\""));
  assert_non_null(strstr(error.message, "{id: no_axis, set: {axis: absent}}"));
}

static void documents_are_versions(void **state) {
  (void)state;
  oc_contracts *contracts = NULL;
  ops_error error = OPS_ERROR_INIT;
  char *new = text_with(0, ""), *old = text_with(4, "opset: {since: 1, until: 12}");
  char *other = text_with(2, "op: Softplus");
  char *both = calloc(1, 20000);
  snprintf(both, 20000, "%s---\n%s", new, old);
  contracts = parse(both);
  assert_int_equal(contracts->count, 2);
  assert_int_equal(contracts->items[0].since, 1);  // sorted
  assert_int_equal(oc_contracts_find(contracts, "ai.onnx", "Softmax", 12)->since, 1);
  assert_int_equal(oc_contracts_find(contracts, "ai.onnx", "Softmax", 13)->since, 13);
  oc_contracts_destroy(contracts);
  contracts = NULL;
  snprintf(both, 20000, "%s---\n%s", new, new);
  assert_int_equal(oc_contracts_parse("t.yaml", both, strlen(both), &contracts, &error),
                   OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "overlaps"));
  snprintf(both, 20000, "%s---\n%s", new, other);
  assert_int_equal(oc_contracts_parse("t.yaml", both, strlen(both), &contracts, &error),
                   OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "versions of one operator"));
  free(new);
  free(old);
  free(other);
  free(both);
}

static const char *const joining[] = {
    "contract: 1\n"
    "op: Join\n"
    "domain: my.company\n"
    "opset: {since: 3, until: 5}\n"
    "reference: none\n"
    "kind: atomic\n"
    "judge: exact\n"
    "semantic:\n"
    "  types: {T: [float, int8, bool], U: [int64]}\n"
    "  inputs:\n"
    "    - {name: axes, type: U, optional: true, shape_input: true}\n"
    "    - {name: parts, type: T, variadic: true, min_count: 2, nonzero: true,\n"
    "       range: {integer: \"[1, size_limit]\", floating: \"(0, inf)\"}}\n"
    "  outputs:\n"
    "    - {name: whole, type: T, shape: \"concat(shape(parts), [count(parts)])\"}\n"
    "    - {name: lengths, type: int64, optional: true}\n"
    "  attributes:\n"
    "    fill: {type: tensor, of: T}\n"
    "    kind: {type: type, of: T}\n"
    "    names: {type: strings}\n"
    "    mode: {type: string, default: a, one_of: [a, b]}\n"
    "    scales: {type: floats, default: [1, 2.5]}\n"
    "  let: {size_limit: \"min(9, highest(T))\"}\n",
    "cases:\n"
    "  fills: [exact_integer]\n"
    "  types: {T: [float, bool]}\n"
    "  when: \"count(parts) < 9\"\n"
    "  rows:\n"
    "    - {id: pair, shapes: [[2, 3]], values: {axes: [-1]}, outputs: 2,\n"
    "       attributes: {fill: [1.5], names: [x, \"1\"], mode: absent_is_a_name_here}}\n",
    "    - {inputs: {parts: [[1], [2], []]}, ranges: {parts: \"[2, 3]\"}, types: {T: [int8]},\n"
    "       fills: [every], when: \"true\", vary: {mode: [absent, b], scales: [[], [3]]}}\n"
    "    - {inputs: {parts: [[0], [7]], axes: [2, 2]}, values: {axes: 5}, trivial: \"true\"}\n"
    "  errors:\n"
    "    - {id: odd, row: pair-2x3, inputs: {parts: [[1]]}, values: {axes: 4}, set: {mode: "
    "absent},\n"
    "       status: UNSUPPORTED}\n"};

static void rows_carry_what_they_say(void **state) {
  char *text = calloc(1, 8192);
  (void)state;
  snprintf(text, 8192, "%s%s%s", joining[0], joining[1], joining[2]);
  oc_contracts *contracts = NULL;
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(oc_contracts_parse("j.yaml", text, strlen(text), &contracts, &error),
                   OPS_ERROR_INVALID_MODEL);
  assert_string_equal(error.message, "j.yaml:30:57: unknown value \"absent_is_a_name_here\"");
  char *wrong = strstr(text, "absent_is_a_name_here");
  memmove(wrong + 1, wrong + strlen("absent_is_a_name_here"),
          strlen(wrong + strlen("absent_is_a_name_here")) + 1);
  *wrong = 'b';
  contracts = parse(text);
  free(text);
  const oc_contract *c = &contracts->items[0];
  const oc_row *pair = &c->rows[0], *varied = &c->rows[1], *filled = &c->rows[2];
  assert_int_equal(c->until, 5);
  assert_null(oc_contracts_find(contracts, "my.company", "Join", 6));
  assert_int_equal(c->outputs[1].type, OPS_TYPE_INT64);
  assert_int_equal(c->outputs[1].type_var, -1);
  assert_non_null(c->inputs[1].ranges[OC_CLASS_SIGNED].lo);
  assert_non_null(c->inputs[1].ranges[OC_CLASS_UNSIGNED].lo);
  assert_null(c->inputs[1].ranges[OC_CLASS_OTHER].lo);
  assert_true(c->inputs[0].shape_input && c->inputs[1].nonzero && c->inputs[1].variadic);
  assert_int_equal(c->attributes[4].default_value.kind, OC_VALUE_FLOATS);

  assert_string_equal(pair->id, "pair-2x3");
  assert_int_equal(pair->inputs[1].count, 2);  // min_count copies of the shape
  assert_int_equal(pair->inputs[1].shapes[1].dims[1], 3);
  assert_int_equal(pair->inputs[0].shapes[0].rank, 1);
  assert_int_equal(pair->inputs[0].contents.ints[0], -1);
  assert_int_equal(pair->output_count, 2);
  assert_int_equal(pair->types[0], OPS_TYPE_BIT(OPS_TYPE_FLOAT) | OPS_TYPE_BIT(OPS_TYPE_BOOL));
  assert_true(pair->attributes[0].floats[0] == 1.5);
  assert_string_equal(pair->attributes[2].strings[1], "1");
  assert_string_equal(oc_expr_text(pair->when), "count(parts) < 9");

  assert_int_equal(varied->inputs[0].count, 0);
  assert_int_equal(varied->inputs[1].count, 3);
  assert_int_equal(varied->inputs[1].shapes[2].rank, 0);
  assert_non_null(varied->inputs[1].range.lo);
  assert_int_equal(varied->fills, 1u << OC_FILL_EVERY);
  assert_int_equal(varied->vary[0].values[0].kind, OC_VALUE_ABSENT);
  assert_int_equal(varied->vary[1].values[0].kind, OC_VALUE_FLOATS);
  assert_int_equal(varied->vary[1].values[0].count, 0);
  assert_int_equal(varied->output_count, 1);

  assert_int_equal(filled->inputs[0].contents.kind, OC_VALUE_INT);  // fills the 2 x 2 tensor
  assert_int_equal(filled->inputs[0].shapes[0].rank, 2);
  assert_string_equal(oc_expr_text(filled->trivial), "true");

  const oc_error_case *odd = &c->errors[0];
  assert_int_equal(odd->status, OPS_ERROR_UNSUPPORTED);
  assert_int_equal(odd->constraint, -1);
  assert_int_equal(odd->attributes[3].kind, OC_VALUE_ABSENT);
  int32_t types[2];
  oc_row_input inputs[2];
  oc_value attributes[5];
  assert_int_equal(
      oc_error_case_bind(c, odd, contracts->arena, types, inputs, attributes, &error), OPS_OK);
  assert_int_equal(inputs[1].count, 1);
  assert_int_equal(inputs[0].contents.ints[0], 4);
  assert_int_equal(attributes[1].ints[0], OPS_TYPE_FLOAT);  // follows T
  oc_contracts_destroy(contracts);
}

// With every limit of memory reading ends in success or in the error for it.
static void survives_lack_of_memory(void **state) {
  char *text = text_with(0, "");
  int32_t status = OPS_ERROR_OUT_OF_MEMORY;
  size_t limit = 0, failures = 0;
  (void)state;
  for (; status == OPS_ERROR_OUT_OF_MEMORY; limit += 1024, failures += status != OPS_OK) {
    oc_arena *arena = oc_arena_create(limit);
    oc_yaml_node *document = NULL;
    oc_contract contract = {0};
    ops_error error = OPS_ERROR_INIT;
    oc_reader reader = {
        .arena = arena, .file = "t.yaml", .error = &error, .contract = &contract};
    status = oc_yaml_parse(arena, "t.yaml", text, strlen(text), &document, &error);
    if (status == OPS_OK) status = oc_read_contract(&reader, document);
    if (status != OPS_OK) assert_int_equal(error.code, OPS_ERROR_OUT_OF_MEMORY);
    oc_arena_destroy(arena);
  }
  assert_int_equal(status, OPS_OK);
  assert_true(failures > 1);
  free(text);
}

// Any prefix, and any text with one byte changed, is read or refused, and leaks nothing.
static void survives_damage(void **state) {
  (void)state;
  char *text = text_with(0, "");
  const size_t size = strlen(text);
  for (size_t i = 0; i < size; i += 7) {
    oc_contracts *contracts = NULL;
    ops_error error = OPS_ERROR_INIT;
    if (oc_contracts_parse("t.yaml", text, i, &contracts, &error) == OPS_OK) {
      oc_contracts_destroy(contracts);
    }
    contracts = NULL;
    const char kept = text[i];
    text[i] = "\0{[\xff&"[i % 5];
    if (oc_contracts_parse("t.yaml", text, size, &contracts, &error) == OPS_OK) {
      oc_contracts_destroy(contracts);
    }
    text[i] = kept;
  }
  free(text);
}

static void names_missing_files(void **state) {
  (void)state;
  oc_contracts *contracts = NULL;
  ops_error error = OPS_ERROR_INIT;
  char folder[] = "/tmp/contract_test_XXXXXX";
  assert_int_equal(oc_contracts_load("/nowhere/at/all", &contracts, &error), OPS_ERROR_IO);
  assert_non_null(strstr(error.message, "/nowhere/at/all"));
  assert_non_null(mkdtemp(folder));
  assert_int_equal(oc_contracts_load(folder, &contracts, &error), OPS_ERROR_NOT_FOUND);
  assert_non_null(strstr(error.message, folder));
  char path[64];
  snprintf(path, sizeof(path), "%s/a.yaml", folder);
  FILE *file = fopen(path, "w");
  char *text = text_with(0, "");
  fputs(text, file);
  fclose(file);
  free(text);
  assert_int_equal(oc_contracts_load(folder, &contracts, &error), OPS_OK);
  assert_string_equal(contracts->items[0].file, path);
  oc_contracts_destroy(contracts);
  unlink(path);
  rmdir(folder);
}

// A contract of pairs of a tensor and a scale, with one row.
static void pairs_text(char *text, size_t size, const char *values) {
  snprintf(text, size,
           "contract: 1\nop: Pairs\ndomain: d\nopset: {since: 1}\nreference: none\n"
           "kind: atomic\njudge: exact\nsemantic:\n  types: {T: [uint8]}\n  inputs:\n"
           "    - {name: first, type: T}\n"
           "    - {name: x, type: T, variadic: true}\n"
           "    - {name: scale, type: float, variadic: true}\n"
           "  outputs: [{name: y, type: T}]\ncases:\n  fills: [uniform]\n  rows:\n"
           "    - {id: r, inputs: {first: [2], x: [[2], [3]]}, values: {%s}}\n",
           values);
}

static void variadic_inputs_repeat_together(void **state) {
  static const struct {
    const char *values, *message;
  } bad[] = {{"scale: [0.5]", "2 tensors for \"x\" and 1 for \"scale\""},
             {"scale: 0.5", "a list of a number for each tensor"},
             {"x: [1, 2, 3], scale: [0.5, 0.25]", "3 values for 2 tensors"}};
  char text[1024];
  (void)state;
  pairs_text(text, sizeof text, "scale: [0.5, 0.25]");
  oc_contracts *contracts = parse(text);
  const oc_row_input *inputs = contracts->items[0].rows[0].inputs;
  assert_int_equal(inputs[1].count, 2);
  assert_int_equal(inputs[2].count, 2);
  assert_int_equal(inputs[2].shapes[1].rank, 0);
  assert_true(inputs[2].contents.floats[1] == 0.25);
  oc_contracts_destroy(contracts);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    ops_error error = OPS_ERROR_INIT;
    contracts = NULL;
    pairs_text(text, sizeof text, bad[i].values);
    assert_int_equal(oc_contracts_parse("t.yaml", text, strlen(text), &contracts, &error),
                     OPS_ERROR_INVALID_MODEL);
    if (!strstr(error.message, bad[i].message)) fail_msg("%s", error.message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_everything),
      cmocka_unit_test(binds_rows_and_errors),
      cmocka_unit_test(variadic_inputs_repeat_together),
      cmocka_unit_test(refuses_bad_contracts),
      cmocka_unit_test(required_attributes_are_left_out),
      cmocka_unit_test(documents_are_versions),
      cmocka_unit_test(rows_carry_what_they_say),
      cmocka_unit_test(survives_lack_of_memory),
      cmocka_unit_test(survives_damage),
      cmocka_unit_test(names_missing_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// Every version of every operator that the schemas list has a rule, but for the operators of
// com.microsoft: there the operators of the reference provider must have one, which
// compare_shapes.py checks. And rules of operators without official test data, or with only
// some of their forms in them; the source of each expected shape stands beside it.
#include "infer/rules.h"
#include "infer/infer_test_util.h"
#include "schema/schema.h"

static void every_schema_has_a_rule(void **state) {
  (void)state;
  uint32_t checked = 0, missing = 0;
  for (size_t i = 0; i < rt_schema_count(); ++i) {
    const rt_schema *schema = rt_schema_at(i);
    const rt_op op = {.name = schema->name, .domain = schema->domain, .opset = schema->since};
    if (schema->is_deprecated || strcmp(schema->domain, "com.microsoft") == 0) continue;
    ++checked;
    if (rt_infer_has_rule(&op)) continue;
    print_error("%s %s of version %d has no rule\n", schema->domain, schema->name,
                schema->since);
    ++missing;
  }
  assert_int_equal(missing, 0);
  assert_true(checked > 600);
}

// A rule for a name that no schema has would never be used.
static void every_rule_has_a_schema(void **state) {
  (void)state;
  for (uint32_t i = 0; i < rt_infer_rule_set_count(); ++i) {
    const rt_infer_rule_set *set = rt_infer_rule_set_at(i);
    const ops_str domain = {set->domain, strlen(set->domain)};
    for (uint32_t j = 0; j < set->count; ++j) {
      const ops_str name = {set->rules[j].name, strlen(set->rules[j].name)};
      if (!rt_schema_find_first(domain, name)) fail_msg("%s %s", set->domain, name.data);
    }
  }
}

// --- ai.onnx.ml ------------------------------------------------------------------------------

#define LABELS(attr_name, ...)                                         \
  {                                                                    \
    .name = attr_name, .kind = RT_ATTR_STRINGS,                        \
    .count = sizeof((const ops_str[]){__VA_ARGS__}) / sizeof(ops_str), \
    .strings = (const ops_str[]) {                                     \
      __VA_ARGS__                                                      \
    }                                                                  \
  }
#define TEXT(attr_name, text)                                                             \
  {                                                                                       \
    .name = attr_name, .kind = RT_ATTR_STRING, .count = 1, .strings = (const ops_str[]) { \
      OPS_STR(text)                                                                       \
    }                                                                                     \
  }
#define A OPS_STR("a")

typedef struct row {
  node_spec spec;
  const char *expected[2];
} row;

static void check_rows(rt_graph *g, const char *domain, row *rows, size_t count) {
  rt_node *nodes[32];
  for (size_t i = 0; i < count; ++i) {
    rows[i].spec.domain = domain;
    nodes[i] = add(g, rows[i].spec);
  }
  infer(g);
  for (size_t i = 0; i < count; ++i)
    for (uint32_t j = 0; j < nodes[i]->output_count; ++j)
      assert_type(nodes[i]->outputs[j], rows[i].expected[j]);
  rt_graph_destroy(g);
}

// The columns of scores are those that onnxruntime's classifiers write (providers/reference
// follows it, too): one for each label, also where a model scores two labels by one number;
// votes of pairs for a support vector machine without probabilities.
static void classical_models(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  const float one[] = {1};
  const rt_attr prob = {.name = "prob_a", .kind = RT_ATTR_FLOATS, .count = 1, .floats = one};
  rt_value *x = input(g, "x", "N,4"), *v = input(g, "v", "4"), *w = input(g, "w", "N,2");
  rt_value *s = input_of_type(g, "s", OPS_TYPE_STRING, "N,2");
  rt_value *k = input_of_type(g, "k", OPS_TYPE_INT64, "1,3");
  rt_value *d = input_of_type(g, "d", OPS_TYPE_DOUBLE, "N,4");
  row rows[] = {
      {{"ArrayFeatureExtractor", 1, {x, k}}, {"float[N,3]"}},
      {{"ArrayFeatureExtractor", 1, {v, k}}, {"float[1,3]"}},
      {{"Binarizer", 1, {d}}, {"double[N,4]"}},
      {{"CategoryMapper", 1, {s}}, {"int64[N,2]"}},
      {{"CategoryMapper", 1, {k}}, {"string[1,3]"}},
      {{"FeatureVectorizer", 1, {x, x, w}}, {"float[N,10]"}},
      {{"FeatureVectorizer", 1, {x, x}, .attrs = {IS("inputdimensions", 4, 3)}},
       {"float[N,7]"}},
      {{"LabelEncoder", 1, {k}}, {"string[1,3]"}},
      {{"LabelEncoder", 2, {s}, .attrs = {IS("values_int64s", 1, 2)}}, {"int64[N,2]"}},
      {{"LinearClassifier", 1, {x}, .output_count = 2, .attrs = {IS("classlabels_ints", 5, 6)}},
       {"int64[N]", "float[N,2]"}},
      {{"LinearRegressor", 1, {x}, .attrs = {I("targets", 3)}}, {"float[N,3]"}},
      {{"LinearRegressor", 1, {v}}, {"float[1,1]"}},
      {{"Normalizer", 1, {d}}, {"float[N,4]"}},
      {{"OneHotEncoder", 1, {s}, .attrs = {LABELS("cats_strings", A, A, A)}}, {"float[N,2,3]"}},
      {{"SVMClassifier",
        1,
        {x},
        .output_count = 2,
        .attrs = {IS("classlabels_ints", 0, 1, 2, 3), IS("vectors_per_class", 1, 1, 1, 1)}},
       {"int64[N]", "float[N,6]"}},
      {{"SVMClassifier",
        1,
        {x},
        .output_count = 2,
        .attrs = {IS("classlabels_ints", 0, 1, 2, 3), IS("vectors_per_class", 1, 1, 1, 1),
                  prob}},
       {"int64[N]", "float[N,4]"}},
      {{"SVMClassifier",
        1,
        {x},
        .output_count = 2,
        .attrs = {LABELS("classlabels_strings", A, A)}},
       {"string[N]", "float[N,2]"}},
      {{"SVMRegressor", 1, {x}}, {"float[N,1]"}},
      {{"Scaler", 1, {d}}, {"float[N,4]"}},
      {{"TreeEnsemble", 5, {d}, .attrs = {I("n_targets", 2)}}, {"double[N,2]"}},
      {{"TreeEnsembleClassifier",
        3,
        {d},
        .output_count = 2,
        .attrs = {LABELS("classlabels_strings", A, A, A)}},
       {"string[N]", "float[N,3]"}},
      {{"TreeEnsembleRegressor", 3, {d}, .attrs = {I("n_targets", 2)}}, {"float[N,2]"}},
      {{"ZipMap", 1, {x}, .attrs = {LABELS("classlabels_strings", A, A, A, A)}},
       {"seq(map(string, float[]))"}},
      {{"ZipMap", 1, {x}, .attrs = {IS("classlabels_int64s", 1, 2, 3, 4)}},
       {"seq(map(int64, float[]))"}},
  };
  check_rows(g, "ai.onnx.ml", rows, sizeof rows / sizeof *rows);
}

static rt_value *map_input(rt_graph *g, const char *name, int32_t key, int32_t elem) {
  const rt_type value = rt_type_tensor(elem, 0, NULL);
  const rt_type map = {RT_TYPE_MAP, key, RT_RANK_UNKNOWN, NULL, &value};
  rt_value *input = NULL;
  assert_int_equal(rt_graph_add_input(g, name, &map, &input, NULL), OPS_OK);
  return input;
}

// DictVectorizer: "the output array will be equal in length to the index mapping vector".
// CastMap writes one row, as onnxruntime does.
static void maps(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *m = map_input(g, "m", OPS_TYPE_STRING, OPS_TYPE_DOUBLE);
  rt_value *n = map_input(g, "n", OPS_TYPE_INT64, OPS_TYPE_FLOAT);
  row rows[] = {
      {{"DictVectorizer", 1, {m}, .attrs = {LABELS("string_vocabulary", A, A, A)}},
       {"double[3]"}},
      {{"CastMap", 1, {n}, .attrs = {TEXT("map_form", "SPARSE"), I("max_map", 9)}},
       {"float[1,9]"}},
      {{"CastMap", 1, {n}, .attrs = {TEXT("cast_to", "TO_STRING")}}, {"string[1,n$0]"}},
  };
  check_rows(g, "ai.onnx.ml", rows, 2);
}

// --- Signals and texts -----------------------------------------------------------------------

// Lengths as numpy.fft has them: rfft(n) has n // 2 + 1 numbers, irfft(m) has 2 * (m - 1).
static void signals(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "B,L,1"), *z = input(g, "z", "B,9,2"), *none = NULL;
  rt_value *signal = input(g, "signal", "B,128,1"), *window = input(g, "window", "16");
  row rows[] = {
      {{"DFT", 17, {x}}, {"float[B,L,2]"}},
      {{"DFT", 20, {x}, .attrs = {I("onesided", 1)}}, {"float[B,floor((L)/(2)) + 1,2]"}},
      {{"DFT", 20, {x, INTS(g, 12)}, .attrs = {I("onesided", 1)}}, {"float[B,7,2]"}},
      {{"DFT", 20, {z}, .attrs = {I("onesided", 1), I("inverse", 1)}}, {"float[B,16,1]"}},
      {{"DFT", 20, {z, none, INTS(g, 0)}, .input_count = 3}, {"float[B,9,2]"}},
      {{"STFT", 17, {signal, INTS(g, 8), window}}, {"float[B,15,9,2]"}},
      {{"STFT",
        17,
        {signal, INTS(g, 8), none, INTS(g, 16)},
        .input_count = 4,
        .attrs = {I("onesided", 0)}},
       {"float[B,15,16,2]"}},
      {{"MelWeightMatrix", 17, {INTS(g, 8), INTS(g, 16), INTS(g, 8192), x, x}}, {"float[9,8]"}},
  };
  check_rows(g, "", rows, sizeof rows / sizeof *rows);
}

static void texts(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *c = input_of_type(g, "c", OPS_TYPE_STRING, "5");
  rt_value *n = input_of_type(g, "n", OPS_TYPE_INT64, "N,5");
  row rows[] = {
      {{"StringNormalizer", 10, {c}}, {"string[5]"}},
      {{"TfIdfVectorizer", 9, {n}, .attrs = {IS("ngram_indexes", 0, 6, 2)}}, {"float[N,7]"}},
      {{"TfIdfVectorizer", 9, {c}, .attrs = {IS("ngram_indexes", 0, 6, 2)}}, {"float[7]"}},
  };
  check_rows(g, "", rows, sizeof rows / sizeof *rows);
}

// numpy: np.empty(0)[-1:-9:-1].shape is (0,), np.empty(3)[-9::-1] has no element, but the text
// of Slice clamps the start to 0 first: one element, as in onnxruntime.
static void slices_from_the_end(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  row rows[] = {
      {{"Slice", 13, {input(g, "e", "0"), INTS(g, -2), INTS(g, -9), INTS(g, 0), INTS(g, -1)}},
       {"float[0]"}},
      {{"Slice", 13, {input(g, "v", "3"), INTS(g, -9), INTS(g, -9), INTS(g, 0), INTS(g, -1)}},
       {"float[1]"}},
      {{"Slice",
        13,
        {input(g, "n", "N"), INTS(g, -1), INTS(g, INT64_MIN), INTS(g, 0), INTS(g, -1)}},
       {"float[N]"}},
  };
  check_rows(g, "", rows, sizeof rows / sizeof *rows);
}

// Steps and sizes at the limits of integers, where nothing may overflow (the sanitizers look).
static void contents_survive_extreme_steps(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *v = OUT(g, "Reshape", 13, {INTS(g, 1, 2, 3, 4, 5, 6), INTS(g, 2, 3)});
  rt_value *far = OUT(g, "Slice", 13,
                      {v, INTS(g, 1, 2), INTS(g, INT64_MAX, INT64_MAX), INTS(g, 0, 1),
                       INTS(g, INT64_MAX, INT64_MAX)});
  rt_value *back = OUT(
      g, "Slice", 13, {v, INTS(g, -1), INTS(g, INT64_MIN), INTS(g, 0), INTS(g, INT64_MIN + 1)});
  rt_value *none =
      OUT(g, "ConstantOfShape", 13, {INTS(g, 0, INT64_C(1) << 40, INT64_C(1) << 40)});
  rt_value *turned =
      OUT(g, "Transpose", 13, {OUT(g, "Cast", 13, {none}, .attrs = {I("to", OPS_TYPE_INT64)})});
  infer(g);
  assert_type(far, "int64[1,1]");
  assert_int_equal(far->contents_count, 1);
  assert_true(rt_dim_is_value(far->contents[0], 6));
  assert_type(back, "int64[1,3]");
  assert_true(rt_dim_is_value(back->contents[2], 6));
  assert_type(turned, "int64[1099511627776,1099511627776,0]");
  rt_graph_destroy(g);
}

// --- Refusals --------------------------------------------------------------------------------

static void faults_are_named(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  ADD(g, "BitCast", 26, {input(g, "x", "N")}, .attrs = {I("to", OPS_TYPE_INT16)});
  assert_refused(g, "BitCast|float|int16|expected types of one width");
  g = make_graph();
  ADD(g, "SwiGLU", 28, {input(g, "a", "N,4"), input(g, "b", "N,5")});
  assert_refused(g, "SwiGLU|4|5|expected the same");
  g = make_graph();
  rt_value *x = input(g, "x", "3");
  rt_value *t = input_of_type(g, "t", OPS_TYPE_INT64, "");
  ADD(g, "Momentum", 1, {x, t, x, x}, .domain = "ai.onnx.preview.training");
  assert_refused(g, "Momentum|4 inputs|expected R, T and 3 tensors");
  g = make_graph();
  ADD(g, "Tile", 13, {input(g, "x", "3"), INTS(g, -2)});
  assert_refused(g, "Tile|would have -6 elements on axis 0|expected at least 0");
  g = make_graph();
  rt_value *bins = INTS(g, -8);
  rt_value *edge = input(g, "edge", "");
  ADD(g, "MelWeightMatrix", 17, {bins, INTS(g, 16), INTS(g, 8192), edge, edge});
  assert_refused(g, "MelWeightMatrix|would have -8 elements on axis 1");
  g = make_graph();
  ADD(g, "DFT", 20, {input(g, "x", "B,8,2"), INTS(g, 8), INTS(g, 2)});
  assert_refused(g, "DFT|axis is 2|real and imaginary parts");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_schema_has_a_rule),
      cmocka_unit_test(every_rule_has_a_schema),
      cmocka_unit_test(classical_models),
      cmocka_unit_test(maps),
      cmocka_unit_test(signals),
      cmocka_unit_test(texts),
      cmocka_unit_test(slices_from_the_end),
      cmocka_unit_test(contents_survive_extreme_steps),
      cmocka_unit_test(faults_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

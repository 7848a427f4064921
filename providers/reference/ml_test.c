// SPDX-License-Identifier: Apache-2.0
//
// ai.onnx.ml by hand: maps, which case files do not hold; what the specification says where
// onnxruntime does otherwise (docs/operator_decisions.md); models that are broken. Expected
// values follow from the text of the specification or are published ones, named where they
// stand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka needs the headers above.
#include <cmocka.h>

#include "loader/value.h"
#include "run_test_util.h"

// ---- Attributes and tensors ----------------------------------------------------------------

#define ATTRIBUTE(text, tag, n, ...)                                                      \
  {                                                                                       \
    .struct_size = sizeof(ops_attribute), .name = OPS_STR(text), .kind = tag, .count = n, \
    __VA_ARGS__                                                                           \
  }
#define SIZE(type, ...) (sizeof((const type[]){__VA_ARGS__}) / sizeof(type))
#define INTS(text, ...)                                           \
  ATTRIBUTE(text, OPS_ATTRIBUTE_INTS, SIZE(int64_t, __VA_ARGS__), \
            .ints = (const int64_t[]){__VA_ARGS__})
#define INT(text, value) ATTRIBUTE(text, OPS_ATTRIBUTE_INT, 1, .ints = (const int64_t[]){value})
#define FLOATS(text, ...)                                         \
  ATTRIBUTE(text, OPS_ATTRIBUTE_FLOATS, SIZE(float, __VA_ARGS__), \
            .floats = (const float[]){__VA_ARGS__})
#define STRINGS(text, ...)                                           \
  ATTRIBUTE(text, OPS_ATTRIBUTE_STRINGS, SIZE(ops_str, __VA_ARGS__), \
            .strings = (const ops_str[]){__VA_ARGS__})
#define STRING(text, value) \
  ATTRIBUTE(text, OPS_ATTRIBUTE_STRING, 1, .strings = (const ops_str[]){OPS_STR(value)})

static test_tensor tensor(int32_t type, int32_t rank, const int64_t *dims, const void *data) {
  test_tensor t;
  test_tensor_init(&t, type, rank, dims, 0);
  test_tensor_fill(&t, data);
  return t;
}

static test_tensor words(int64_t count, const ops_str *texts) {
  test_tensor t;
  test_tensor_init(&t, OPS_TYPE_STRING, 1, &count, 0);
  for (int64_t i = 0; i < count; ++i)
    assert_int_equal(ops_value_accessors.string_set(t.value, (uint64_t)i, texts[i], NULL), 0);
  return t;
}

static void assert_text(const ops_value *value, uint64_t index, const char *expected) {
  ops_str text;
  assert_int_equal(ops_value_accessors.string_get(value, index, &text, NULL), OPS_OK);
  assert_int_equal(text.size, strlen(expected));
  if (text.size > 0) assert_memory_equal(text.data, expected, text.size);
}

// Runs a node of one input; the outputs are those of `outputs`.
static int32_t run(const char *op, int32_t opset, const ops_attribute *attributes,
                   uint64_t attribute_count, test_tensor *input, test_tensor *outputs,
                   uint64_t output_count, ops_error *error) {
  *error = (ops_error){.struct_size = sizeof *error};
  for (uint64_t i = 0; i < output_count; ++i) outputs[i].present = 1;
  test_node node = {.domain = OPS_STR("ai.onnx.ml"),
                    .op = op,
                    .opset = opset,
                    .attributes = attributes,
                    .attribute_count = attribute_count,
                    .inputs = input,
                    .input_count = 1,
                    .outputs = outputs,
                    .output_count = output_count};
  int32_t status = test_run(&test_shared, &node, error);
  if (status != OPS_OK) print_message("%s\n", error->message);
  return status;
}

#define RUN(op, opset, attributes, input, outputs, error)                            \
  run(op, opset, attributes, sizeof attributes / sizeof *attributes, input, outputs, \
      sizeof outputs / sizeof *outputs, error)

#define FLOAT_AT(t, i) ((const float *)(t).memory)[i]
#define INT_AT(t, i) ((const int64_t *)(t).memory)[i]

static void finish(test_tensor *tensors, size_t count) {
  for (size_t i = 0; i < count; ++i) test_tensor_finish(&tensors[i]);
}

// ---- Maps ----------------------------------------------------------------------------------

static const ops_type_info float_items = {
    .struct_size = sizeof(ops_type_info), .kind = OPS_VALUE_TENSOR, .type = OPS_TYPE_FLOAT};
static const ops_type_info string_items = {
    .struct_size = sizeof(ops_type_info), .kind = OPS_VALUE_STRINGS, .type = OPS_TYPE_STRING};
#define MAP_TYPE(key, items)                                                  \
  {                                                                           \
    .struct_size = sizeof(ops_type_info), .kind = OPS_VALUE_MAP, .type = key, \
    .element = &items                                                         \
  }
static const ops_type_info int_to_float = MAP_TYPE(OPS_TYPE_INT64, float_items);
static const ops_type_info int_to_string = MAP_TYPE(OPS_TYPE_INT64, string_items);
static const ops_type_info string_to_float = MAP_TYPE(OPS_TYPE_STRING, float_items);
static const ops_type_info map_sequence = {.struct_size = sizeof(ops_type_info),
                                           .kind = OPS_VALUE_SEQUENCE,
                                           .element = &string_to_float};

static test_tensor value_of(int32_t kind, const ops_type_info *about) {
  test_tensor t = {.present = 1, .about = about};
  assert_int_equal(ops_value_create(kind, &t.value, NULL), OPS_OK);
  return t;
}

static ops_arg scalar(int32_t type, void *memory, uint64_t size) {
  return (ops_arg){.kind = OPS_ARG_TENSOR,
                   .memory_kind = OPS_MEMORY_HOST,
                   .tensor = {.memory = memory, .byte_size = size, .type = type}};
}

// Adds an entry; the texts stand for numbers that are not used.
static void put(test_tensor *map, int64_t key, const char *key_text, float item,
                const char *item_text) {
  ops_value *texts[2] = {NULL, NULL};
  const char *sources[2] = {key_text, item_text};
  ops_arg args[2] = {scalar(OPS_TYPE_INT64, &key, sizeof key),
                     scalar(OPS_TYPE_FLOAT, &item, sizeof item)};
  for (int i = 0; i < 2; ++i) {
    if (sources[i] == NULL) continue;
    assert_int_equal(ops_value_create(OPS_VALUE_STRINGS, &texts[i], NULL), OPS_OK);
    ops_str text = {sources[i], strlen(sources[i])};
    assert_int_equal(ops_value_accessors.string_set(texts[i], 0, text, NULL), OPS_OK);
    args[i] = (ops_arg){.kind = OPS_ARG_VALUE, .value = texts[i]};
  }
  assert_int_equal(ops_value_accessors.map_set(map->value, &args[0], &args[1], NULL), OPS_OK);
  for (int i = 0; i < 2; ++i) ops_value_release(texts[i]);
}

static void zip_map_makes_one_map_per_row(void **state) {
  (void)state;
  const float data[] = {1, 2, 3, 4};
  const ops_attribute attributes[] = {
      STRINGS("classlabels_strings", OPS_STR("a"), OPS_STR("b"))};
  test_tensor x = tensor(OPS_TYPE_FLOAT, 2, (int64_t[]){2, 2}, data);
  test_tensor z[] = {value_of(OPS_VALUE_SEQUENCE, &map_sequence)};
  ops_error error;
  assert_int_equal(RUN("ZipMap", 1, attributes, &x, z, &error), OPS_OK);
  const ops_value_api *api = &ops_value_accessors;
  uint64_t size;
  assert_int_equal(api->sequence_size(z->value, &size, NULL), OPS_OK);
  assert_int_equal(size, 2);
  for (uint64_t row = 0; row < 2; ++row) {
    ops_arg map, key, item;
    assert_int_equal(api->sequence_get(z->value, row, &map, NULL), OPS_OK);
    assert_int_equal(api->map_size(map.value, &size, NULL), OPS_OK);
    assert_int_equal(size, 2);
    for (uint64_t i = 0; i < 2; ++i) {
      assert_int_equal(api->map_get(map.value, i, &key, &item, NULL), OPS_OK);
      assert_text(key.value, 0, i == 0 ? "a" : "b");
      assert_true(*(const float *)item.tensor.memory == data[row * 2 + i]);
    }
  }
  finish(&x, 1);
  finish(z, 1);
}

static void zip_map_wants_a_label_per_column(void **state) {
  (void)state;
  const ops_attribute attributes[] = {INTS("classlabels_int64s", 7)};
  test_tensor x = tensor(OPS_TYPE_FLOAT, 2, (int64_t[]){1, 2}, (float[]){1, 2});
  test_tensor z[] = {value_of(OPS_VALUE_SEQUENCE, &map_sequence)};
  ops_error error;
  assert_int_equal(RUN("ZipMap", 1, attributes, &x, z, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "2 entries"));
  finish(&x, 1);
  finish(z, 1);
}

static void dict_vectorizer_looks_keys_up(void **state) {
  (void)state;
  // The example of the specification.
  const ops_attribute attributes[] = {
      STRINGS("string_vocabulary", OPS_STR("a"), OPS_STR("c"), OPS_STR("b"), OPS_STR("z"))};
  test_tensor x = value_of(OPS_VALUE_MAP, &string_to_float), y[1] = {{0}};
  ops_error error;
  put(&x, 0, "a", 4, NULL);
  put(&x, 0, "c", 8, NULL);
  assert_int_equal(RUN("DictVectorizer", 1, attributes, &x, y, &error), OPS_OK);
  assert_int_equal(y->rank, 1);
  assert_int_equal(y->dims[0], 4);
  const float expected[] = {4, 8, 0, 0};
  for (int i = 0; i < 4; ++i) assert_true(FLOAT_AT(*y, i) == expected[i]);
  finish(y, 1);
  put(&x, 0, "new", 1, NULL);
  assert_int_equal(RUN("DictVectorizer", 1, attributes, &x, y, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "vocabulary"));
  finish(&x, 1);
  finish(y, 1);
}

static void cast_map_orders_by_key(void **state) {
  (void)state;
  const ops_attribute attributes[] = {STRING("cast_to", "TO_FLOAT"),
                                      STRING("map_form", "DENSE")};
  test_tensor x = value_of(OPS_VALUE_MAP, &int_to_string), y[1] = {{0}};
  ops_error error;
  put(&x, 9, NULL, 0, "0.5");
  put(&x, -3, NULL, 0, "1e2");
  put(&x, 4, NULL, 0, "7");
  assert_int_equal(RUN("CastMap", 1, attributes, &x, y, &error), OPS_OK);
  const float expected[] = {100, 7, 0.5f};
  assert_int_equal(y->count, 3);
  for (int i = 0; i < 3; ++i) assert_true(FLOAT_AT(*y, i) == expected[i]);
  finish(y, 1);
  put(&x, 5, NULL, 0, "word");
  assert_int_equal(RUN("CastMap", 1, attributes, &x, y, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "word"));
  finish(&x, 1);
  finish(y, 1);
}

static void cast_map_places_by_key(void **state) {
  (void)state;
  const ops_attribute sparse[] = {STRING("cast_to", "TO_STRING"), STRING("map_form", "SPARSE"),
                                  INT("max_map", 4)};
  test_tensor x = value_of(OPS_VALUE_MAP, &int_to_float), y[1] = {{0}};
  ops_error error;
  put(&x, 2, NULL, 0.25f, NULL);
  assert_int_equal(RUN("CastMap", 1, sparse, &x, y, &error), OPS_OK);
  assert_int_equal(y->count, 4);
  const char *const expected[] = {"", "", "0.25", ""};
  for (uint64_t i = 0; i < 4; ++i) assert_text(y->value, i, expected[i]);
  finish(y, 1);
  put(&x, 4, NULL, 1, NULL);
  assert_int_equal(RUN("CastMap", 1, sparse, &x, y, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "max_map"));
  finish(&x, 1);
  finish(y, 1);
}

// ---- Scores --------------------------------------------------------------------------------

static void one_score_for_two_classes_is_a_pair(void **state) {
  (void)state;
  const ops_attribute attributes[] = {FLOATS("coefficients", 1), FLOATS("intercepts", 0),
                                      INTS("classlabels_ints", 5, 7),
                                      STRING("post_transform", "SOFTMAX")};
  test_tensor x = tensor(OPS_TYPE_FLOAT, 2, (int64_t[]){2, 1}, (float[]){1, -2}), y[2] = {{0}};
  ops_error error;
  assert_int_equal(RUN("LinearClassifier", 1, attributes, &x, y, &error), OPS_OK);
  assert_int_equal(INT_AT(y[0], 0), 7);
  assert_int_equal(INT_AT(y[0], 1), 5);
  // softmax(-s, s) = (1 / (1 + e^2s), 1 / (1 + e^-2s))
  assert_true(fabs(FLOAT_AT(y[1], 0) - 1 / (1 + exp(2))) < 1e-7);
  assert_true(fabs(FLOAT_AT(y[1], 3) - 1 / (1 + exp(4))) < 1e-7);
  finish(&x, 1);
  finish(y, 2);
}

static void probit_inverts_the_normal_distribution(void **state) {
  (void)state;
  // Quantiles of the normal distribution from tables: 0.975, 0.5, 0.9, 0.001.
  const float p[] = {0.975f, 0.5f, 0.9f, 0.001f, 0, 1, 2};
  const double expected[] = {1.959963984540054, 0, 1.2815515655446004, -3.090232306167813};
  const ops_attribute attributes[] = {FLOATS("coefficients", 1),
                                      STRING("post_transform", "PROBIT")};
  test_tensor x = tensor(OPS_TYPE_FLOAT, 2, (int64_t[]){7, 1}, p), y[1] = {{0}};
  ops_error error;
  assert_int_equal(RUN("LinearRegressor", 1, attributes, &x, y, &error), OPS_OK);
  for (int i = 0; i < 4; ++i) assert_true(fabs(FLOAT_AT(*y, i) - expected[i]) < 1e-6);
  assert_true(FLOAT_AT(*y, 4) == -INFINITY && FLOAT_AT(*y, 5) == INFINITY);
  assert_true(isnan(FLOAT_AT(*y, 6)));
  finish(&x, 1);
  finish(y, 1);
}

// ---- Trees ---------------------------------------------------------------------------------

// x <= 0: the leaf of node 1, else that of node 2.
#define STUMP                                                                          \
  INTS("nodes_treeids", 0, 0, 0), INTS("nodes_nodeids", 0, 1, 2),                      \
      INTS("nodes_featureids", 0, 0, 0), FLOATS("nodes_values", 0, 0, 0),              \
      STRINGS("nodes_modes", OPS_STR("BRANCH_LEQ"), OPS_STR("LEAF"), OPS_STR("LEAF")), \
      INTS("nodes_truenodeids", 1, 0, 0), INTS("nodes_falsenodeids", 2, 0, 0)

static void the_top_class_has_the_largest_score(void **state) {
  (void)state;
  // Two classes with votes of their own, and the labels are those of the attribute.
  const ops_attribute attributes[] = {STUMP,
                                      INTS("class_treeids", 0, 0, 0, 0),
                                      INTS("class_nodeids", 1, 1, 2, 2),
                                      INTS("class_ids", 0, 1, 0, 1),
                                      FLOATS("class_weights", 0.5f, 0.25f, -2, -1),
                                      INTS("classlabels_int64s", 30, 40)};
  test_tensor x = tensor(OPS_TYPE_FLOAT, 2, (int64_t[]){2, 1}, (float[]){-1, 1}), y[2] = {{0}};
  ops_error error;
  assert_int_equal(RUN("TreeEnsembleClassifier", 3, attributes, &x, y, &error), OPS_OK);
  const float expected[] = {0.5f, 0.25f, -2, -1};
  for (int i = 0; i < 4; ++i) assert_true(FLOAT_AT(y[1], i) == expected[i]);
  assert_int_equal(INT_AT(y[0], 0), 30);
  assert_int_equal(INT_AT(y[0], 1), 40);
  finish(&x, 1);
  finish(y, 2);
}

static void trees_that_are_none_are_refused(void **state) {
  (void)state;
#define VOTES                                                                  \
  INTS("target_treeids", 0), INTS("target_nodeids", 1), INTS("target_ids", 0), \
      FLOATS("target_weights", 1), INT("n_targets", 1)
#define TREE(features, yes, no)                                                               \
  {                                                                                           \
    INTS("nodes_treeids", 0, 0, 0), INTS("nodes_nodeids", 0, 1, 2),                           \
        INTS("nodes_featureids", features, 0, 0), FLOATS("nodes_values", 0, 0, 0),            \
        STRINGS("nodes_modes", OPS_STR("BRANCH_LEQ"), OPS_STR("BRANCH_GT"), OPS_STR("LEAF")), \
        INTS("nodes_truenodeids", 1, yes, 0), INTS("nodes_falsenodeids", 2, no, 0), VOTES     \
  }
  const struct {
    ops_attribute attributes[12];
    const char *message;
  } cases[] = {{TREE(0, 1, 2), "cycle"},
               {TREE(0, 0, 2), "cycle"},
               {TREE(1, 2, 2), "feature 1"},
               {TREE(-1, 2, 2), "feature -1"},
               {TREE(0, 2, 9), "not there"}};
  test_tensor x = tensor(OPS_TYPE_FLOAT, 2, (int64_t[]){1, 1}, (float[]){1}), y[1] = {{0}};
  ops_error error;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    assert_int_equal(RUN("TreeEnsembleRegressor", 3, cases[i].attributes, &x, y, &error),
                     OPS_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, cases[i].message));
  }
  finish(&x, 1);
}

// A dense tensor of rank 1 as an attribute.
#define TENSOR(text, number, c_type, ...)                                                  \
  ATTRIBUTE(text, OPS_ATTRIBUTE_TENSOR, 1,                                                 \
            .constants = (const ops_constant *const[]){&(const ops_constant){              \
                .struct_size = sizeof(ops_constant),                                       \
                .rank = 1,                                                                 \
                .dims = (const int64_t[]){SIZE(c_type, __VA_ARGS__)},                      \
                .dense = {.kind = OPS_ARG_TENSOR,                                          \
                          .memory_kind = OPS_MEMORY_HOST,                                  \
                          .tensor = {.dims = (const int64_t[]){SIZE(c_type, __VA_ARGS__)}, \
                                     .strides = (const int64_t[]){1},                      \
                                     .memory = (c_type[]){__VA_ARGS__},                    \
                                     .byte_size = sizeof((const c_type[]){__VA_ARGS__}),   \
                                     .type = number,                                       \
                                     .rank = 1}}}})

static void check_members(int64_t transform, const double *expected) {
  // The feature is in {0.5, 2}: leaf 0, for target 0, else leaf 1, for target 1.
  const ops_attribute attributes[] = {
      TENSOR("nodes_modes", OPS_TYPE_UINT8, uint8_t, 6),
      TENSOR("nodes_splits", OPS_TYPE_FLOAT, float, 0),
      TENSOR("leaf_weights", OPS_TYPE_FLOAT, float, 1, 2),
      TENSOR("membership_values", OPS_TYPE_FLOAT, float, 0.5f, 2, NAN),
      INTS("nodes_featureids", 0),
      INTS("nodes_truenodeids", 0),
      INTS("nodes_falsenodeids", 1),
      INTS("nodes_trueleafs", 1),
      INTS("nodes_falseleafs", 1),
      INTS("leaf_targetids", 0, 1),
      INTS("tree_roots", 0),
      INT("n_targets", 2),
      INT("post_transform", transform)};
  test_tensor x = tensor(OPS_TYPE_FLOAT, 2, (int64_t[]){2, 1}, (float[]){0.5f, 0.75f});
  test_tensor y[1] = {{0}};
  ops_error error;
  assert_int_equal(RUN("TreeEnsemble", 5, attributes, &x, y, &error), OPS_OK);
  for (int i = 0; i < 4; ++i) assert_true(fabs(FLOAT_AT(*y, i) - expected[i]) < 1e-6);
  finish(&x, 1);
  finish(y, 1);
}

static void tree_ensemble_numbers_its_transforms(void **state) {
  (void)state;
  const double e = exp(1), e2 = exp(2);
  check_members(0, (double[]){1, 0, 0, 2});
  check_members(1, (double[]){e / (1 + e), 1 / (1 + e), 1 / (1 + e2), e2 / (1 + e2)});
  check_members(2, (double[]){e / (1 + e), 0.5, 0.5, e2 / (1 + e2)});
  check_members(3, (double[]){1, 0, 0, 1});
}

// ---- Labels --------------------------------------------------------------------------------

static void encode_nan(int32_t opset, const int64_t *expected) {
  // NaN with a payload, -0 and a key that is there twice.
  float other_nan;
  const uint32_t bits = 0x7FC00001;
  memcpy(&other_nan, &bits, sizeof other_nan);
  const float data[] = {NAN, other_nan, -0.0f, 2};
  const ops_attribute attributes[] = {FLOATS("keys_floats", 2, NAN, 0, 2),
                                      INTS("values_int64s", 1, 2, 3, 4),
                                      INT("default_int64", 9)};
  test_tensor x = tensor(OPS_TYPE_FLOAT, 1, (int64_t[]){4}, data), y[1] = {{0}};
  ops_error error;
  assert_int_equal(RUN("LabelEncoder", opset, attributes, &x, y, &error), OPS_OK);
  for (int i = 0; i < 4; ++i) assert_int_equal(INT_AT(*y, i), expected[i]);
  finish(&x, 1);
  finish(y, 1);
}

static void label_encoder_compares_bits_then_values(void **state) {
  (void)state;
  encode_nan(2, (int64_t[]){2, 9, 9, 4});
  encode_nan(4, (int64_t[]){2, 2, 3, 4});
}

static void label_encoder_has_a_default_for_each_type(void **state) {
  (void)state;
  const ops_attribute attributes[] = {STRINGS("keys_strings", OPS_STR("a")),
                                      STRINGS("values_strings", OPS_STR("b"))};
  test_tensor x = words(2, (ops_str[]){OPS_STR("a"), OPS_STR("x")}), y[1] = {{0}};
  ops_error error;
  assert_int_equal(RUN("LabelEncoder", 4, attributes, &x, y, &error), OPS_OK);
  assert_text(y->value, 0, "b");
  assert_text(y->value, 1, "_Unused");
  finish(&x, 1);
  finish(y, 1);
}

static void unknown_categories_are_refused_on_demand(void **state) {
  (void)state;
  const ops_attribute attributes[] = {STRINGS("cats_strings", OPS_STR("a"), OPS_STR("b")),
                                      INT("zeros", 0)};
  test_tensor x = words(2, (ops_str[]){OPS_STR("b"), OPS_STR("c")}), y[1] = {{0}};
  ops_error error;
  assert_int_equal(RUN("OneHotEncoder", 1, attributes, &x, y, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "element 1"));
  finish(&x, 1);
  finish(y, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(zip_map_makes_one_map_per_row),
      cmocka_unit_test(zip_map_wants_a_label_per_column),
      cmocka_unit_test(dict_vectorizer_looks_keys_up),
      cmocka_unit_test(cast_map_orders_by_key),
      cmocka_unit_test(cast_map_places_by_key),
      cmocka_unit_test(one_score_for_two_classes_is_a_pair),
      cmocka_unit_test(probit_inverts_the_normal_distribution),
      cmocka_unit_test(the_top_class_has_the_largest_score),
      cmocka_unit_test(trees_that_are_none_are_refused),
      cmocka_unit_test(tree_ensemble_numbers_its_transforms),
      cmocka_unit_test(label_encoder_compares_bits_then_values),
      cmocka_unit_test(label_encoder_has_a_default_for_each_type),
      cmocka_unit_test(unknown_categories_are_refused_on_demand),
  };
  return cmocka_run_group_tests(tests, test_shared_open, test_shared_close);
}

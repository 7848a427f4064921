// SPDX-License-Identifier: Apache-2.0
//
// The classical models of ai.onnx.ml: features, encoders, linear models, trees, maps. Data are
// [N, C], where [C] stands for one row (ONNX's texts of the operators).
#include "infer/rule_ml.h"
#include "infer/rules.h"

static uint32_t list_count(const rt_infer_context *ctx, const char *name) {
  const rt_attr *attr = rt_attrs_find(&ctx->op->attrs, name);
  return attr ? attr->count : 0;
}

static rt_dim rows_of(const rt_infer_context *ctx, uint32_t input) {
  const int32_t rank = rt_infer_rank(ctx, input);
  return rank == 1   ? rt_dim_const(1)
         : rank == 2 ? rt_infer_dim(ctx, input, 0)
                     : rt_dim_unknown();
}

static int32_t set_matrix(rt_infer_context *ctx, uint32_t output, int32_t elem_type,
                          rt_dim rows, rt_dim columns) {
  return rt_infer_set_shape(ctx, output, elem_type, 2, (rt_dim[]){rows, columns});
}

// --- Features --------------------------------------------------------------------------------

// X [..., C], Y: K indices of columns -> [..., K]; one row stays a row of a matrix.
int32_t rt_infer_rule_array_feature_extractor(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0), elem = rt_infer_elem(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "X", 1));
  if (rank < 0) return rt_infer_set_tensor(ctx, 0, elem, RT_RANK_UNKNOWN);
  const int32_t out_rank = rank == 1 ? 2 : rank, index_rank = rt_infer_rank(ctx, 1);
  rt_dim count = index_rank < 0 ? rt_dim_unknown() : rt_dim_const(1);
  for (int32_t i = 0; i < index_rank; ++i)
    count = rt_dim_mul(ctx->symbols, count, rt_infer_dim(ctx, 1, i));
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, out_rank));
  if (rank == 1) rt_infer_set_dim(ctx, 0, 0, rt_dim_const(1));
  for (int32_t i = 0; i + 1 < rank; ++i) rt_infer_set_dim(ctx, 0, i, rt_infer_dim(ctx, 0, i));
  rt_infer_set_dim(ctx, 0, out_rank - 1, count);
  return OPS_OK;
}

// Any number of [N, C_i] -> [N, sum of C_i], or of what inputdimensions says.
int32_t rt_infer_rule_feature_vectorizer(rt_infer_context *ctx) {
  uint32_t given;
  const int64_t *widths = rt_attrs_ints(&ctx->op->attrs, "inputdimensions", &given);
  rt_dim rows = rt_dim_unknown(), columns = rt_dim_const(0);
  for (uint32_t i = 0; i < ctx->input_count; ++i) {
    const int32_t rank = rt_infer_rank(ctx, i);
    const rt_dim width = i < given ? rt_dim_const(widths[i]) : rt_infer_dim(ctx, i, rank - 1);
    columns = rt_dim_add(ctx->symbols, columns, width);
    OPS_RETURN_IF_ERROR(rt_infer_unify(ctx, rows, "the rows of the inputs before",
                                       rows_of(ctx, i), "the rows of an input", &rows));
  }
  return set_matrix(ctx, 0, OPS_TYPE_FLOAT, rows, columns);
}

// --- Encoders --------------------------------------------------------------------------------

// CategoryMapper, and LabelEncoder of version 1: strings become integers and integers strings.
int32_t rt_infer_rule_category_mapper(rt_infer_context *ctx) {
  const int32_t elem = rt_infer_elem(ctx, 0);
  const int32_t other = elem == OPS_TYPE_STRING  ? OPS_TYPE_INT64
                        : elem == OPS_TYPE_INT64 ? OPS_TYPE_STRING
                                                 : OPS_TYPE_UNDEFINED;
  return rt_infer_copy_shape(ctx, 0, other, 0);
}

// Since version 2: the type is that of the list of values.
int32_t rt_infer_rule_label_encoder(rt_infer_context *ctx) {
  static const struct {
    const char *name;
    int32_t elem_type;
  } lists[] = {{"values_strings", OPS_TYPE_STRING},
               {"values_int64s", OPS_TYPE_INT64},
               {"values_floats", OPS_TYPE_FLOAT}};
  const rt_constant *values = rt_attrs_tensor(&ctx->op->attrs, "values_tensor");
  int32_t elem = values ? values->elem_type : OPS_TYPE_UNDEFINED;
  for (size_t i = 0; !elem && i < sizeof lists / sizeof *lists; ++i)
    if (list_count(ctx, lists[i].name)) elem = lists[i].elem_type;
  return rt_infer_copy_shape(ctx, 0, elem, 0);
}

// [...] -> [..., number of categories]
int32_t rt_infer_rule_one_hot_encoder(rt_infer_context *ctx) {
  const int32_t rank = rt_infer_rank(ctx, 0);
  const int32_t elem = rt_infer_elem(ctx, 0);
  const uint32_t count =
      list_count(ctx, elem == OPS_TYPE_STRING ? "cats_strings" : "cats_int64s");
  OPS_RETURN_IF_ERROR(
      rt_infer_set_tensor(ctx, 0, OPS_TYPE_FLOAT, rank < 0 ? RT_RANK_UNKNOWN : rank + 1));
  for (int32_t i = 0; i < rank; ++i) rt_infer_set_dim(ctx, 0, i, rt_infer_dim(ctx, 0, i));
  if (rank >= 0 && elem && count) rt_infer_set_dim(ctx, 0, rank, rt_dim_const(count));
  return OPS_OK;
}

// --- Models ----------------------------------------------------------------------------------

// Output 0 of a classifier: the labels of the N rows.
static int32_t set_labels(rt_infer_context *ctx, const char *strings) {
  const int32_t elem = list_count(ctx, strings) ? OPS_TYPE_STRING : OPS_TYPE_INT64;
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, elem, 1));
  rt_infer_set_dim(ctx, 0, 0, rows_of(ctx, 0));
  return OPS_OK;
}

// LinearClassifier, TreeEnsembleClassifier: a score for each label, also where the model
// computes one score for two labels.
int32_t rt_infer_rule_classifier(rt_infer_context *ctx) {
  const uint32_t labels = list_count(ctx, "classlabels_strings") +
                          list_count(ctx, "classlabels_ints") +
                          list_count(ctx, "classlabels_int64s");
  OPS_RETURN_IF_ERROR(set_labels(ctx, "classlabels_strings"));
  return set_matrix(ctx, 1, OPS_TYPE_FLOAT, rows_of(ctx, 0),
                    labels ? rt_dim_const(labels) : rt_dim_unknown());
}

// With support vectors and without probabilities a score for each pair of classes.
int32_t rt_infer_rule_svm_classifier(rt_infer_context *ctx) {
  const int64_t labels =
      (int64_t)list_count(ctx, "classlabels_strings") + list_count(ctx, "classlabels_ints");
  const int64_t classes = labels ? labels : 1, pairs = classes * (classes - 1) / 2;
  uint32_t count;
  const int64_t *vectors = rt_attrs_ints(&ctx->op->attrs, "vectors_per_class", &count);
  int has_vectors = 0;
  for (uint32_t i = 0; i < count; ++i) has_vectors |= vectors[i] > 0;
  const int by_class = !has_vectors || pairs == 0 || list_count(ctx, "prob_a");
  const int64_t columns = has_vectors && pairs == 1 ? 2 : by_class ? classes : pairs;
  OPS_RETURN_IF_ERROR(set_labels(ctx, "classlabels_strings"));
  return set_matrix(ctx, 1, OPS_TYPE_FLOAT, rows_of(ctx, 0), rt_dim_const(columns));
}

// LinearRegressor, SVMRegressor, TreeEnsembleRegressor, TreeEnsemble. param: where the number
// of targets is.
int32_t rt_infer_rule_regressor(rt_infer_context *ctx) {
  static const char *const names[] = {[RT_INFER_TARGETS] = "targets",
                                      [RT_INFER_N_TARGETS] = "n_targets",
                                      [RT_INFER_N_TARGETS_SAME] = "n_targets"};
  const int64_t targets =
      ctx->param == RT_INFER_ONE_TARGET ? 1 : rt_infer_attr(ctx, names[ctx->param], 1);
  const int32_t elem =
      ctx->param == RT_INFER_N_TARGETS_SAME ? rt_infer_elem(ctx, 0) : OPS_TYPE_FLOAT;
  if (targets < 1)
    return rt_infer_fail(ctx, "attribute %s is %lld, expected at least 1", names[ctx->param],
                         (long long)targets);
  return set_matrix(ctx, 0, elem, rows_of(ctx, 0), rt_dim_const(targets));
}

// --- Maps ------------------------------------------------------------------------------------

// A row with the values in the order of their keys, or of max_map values.
int32_t rt_infer_rule_cast_map(rt_infer_context *ctx) {
  const rt_attrs *attrs = &ctx->op->attrs;
  const int sparse = rt_attrs_string_is(attrs, "map_form", "SPARSE");
  const int32_t elem = rt_attrs_string_is(attrs, "cast_to", "TO_STRING")  ? OPS_TYPE_STRING
                       : rt_attrs_string_is(attrs, "cast_to", "TO_INT64") ? OPS_TYPE_INT64
                                                                          : OPS_TYPE_FLOAT;
  const rt_dim length =
      sparse ? rt_dim_const(rt_infer_attr(ctx, "max_map", 1)) : rt_dim_unknown();
  return set_matrix(ctx, 0, elem, rt_dim_const(1), length);
}

// A vector with a place for each word of the vocabulary; the type is that of the map's values.
int32_t rt_infer_rule_dict_vectorizer(rt_infer_context *ctx) {
  const uint32_t words =
      list_count(ctx, "string_vocabulary") + list_count(ctx, "int64_vocabulary");
  const rt_type *map = rt_infer_has(ctx, 0) ? ctx->inputs[0].type : NULL;
  const rt_type *value = map && map->kind == RT_TYPE_MAP ? map->element : NULL;
  OPS_RETURN_IF_ERROR(
      rt_infer_set_tensor(ctx, 0, value ? value->elem_type : OPS_TYPE_UNDEFINED, 1));
  if (words) rt_infer_set_dim(ctx, 0, 0, rt_dim_const(words));
  return OPS_OK;
}

// A sequence of maps from labels to numbers, one for each row.
int32_t rt_infer_rule_zip_map(rt_infer_context *ctx) {
  static const rt_type number = {RT_TYPE_TENSOR, OPS_TYPE_FLOAT, 0, NULL, NULL};
  static const rt_type maps[2] = {
      {RT_TYPE_MAP, OPS_TYPE_INT64, RT_RANK_UNKNOWN, NULL, &number},
      {RT_TYPE_MAP, OPS_TYPE_STRING, RT_RANK_UNKNOWN, NULL, &number}};
  if (ctx->output_count == 0) return OPS_OK;
  const int strings = list_count(ctx, "classlabels_strings") != 0;
  ctx->outputs[0].type = (rt_type){RT_TYPE_SEQUENCE, 0, RT_RANK_UNKNOWN, NULL, &maps[strings]};
  return OPS_OK;
}

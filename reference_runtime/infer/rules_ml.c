// SPDX-License-Identifier: Apache-2.0
//
// The rules of ai.onnx.ml, ai.onnx.preview and ai.onnx.preview.training.
#include "infer/rule_ml.h"
#include "infer/rules.h"

#define ROW(name, since, rule, param) \
  { name, since, RT_INFER_NEWEST, rt_infer_rule_##rule, param }

static const rt_infer_rule ml[] = {
    // clang-format off
    ROW("ArrayFeatureExtractor", 1, array_feature_extractor, 0),
    ROW("Binarizer", 1, same, 0),
    ROW("CastMap", 1, cast_map, 0),
    ROW("CategoryMapper", 1, category_mapper, 0),
    ROW("DictVectorizer", 1, dict_vectorizer, 0),
    ROW("FeatureVectorizer", 1, feature_vectorizer, 0),
    ROW("Imputer", 1, same, 0),
    {"LabelEncoder", 1, 1, rt_infer_rule_category_mapper, 0},
    ROW("LabelEncoder", 2, label_encoder, 0),
    ROW("LinearClassifier", 1, classifier, 0),
    ROW("LinearRegressor", 1, regressor, RT_INFER_TARGETS),
    ROW("Normalizer", 1, same, OPS_TYPE_FLOAT),
    ROW("OneHotEncoder", 1, one_hot_encoder, 0),
    ROW("SVMClassifier", 1, svm_classifier, 0),
    ROW("SVMRegressor", 1, regressor, RT_INFER_ONE_TARGET),
    ROW("Scaler", 1, same, OPS_TYPE_FLOAT),
    ROW("TreeEnsemble", 5, regressor, RT_INFER_N_TARGETS_SAME),
    ROW("TreeEnsembleClassifier", 1, classifier, 0),
    ROW("TreeEnsembleRegressor", 1, regressor, RT_INFER_N_TARGETS),
    ROW("ZipMap", 1, zip_map, 0),
    // clang-format on
};

static const rt_infer_rule preview[] = {
    ROW("FlexAttention", 1, flex_attention, 0),
};

// param: how many tensors an optimizer keeps beside each that it updates.
static const rt_infer_rule training[] = {
    ROW("Adagrad", 1, optimizer, 1),
    ROW("Adam", 1, optimizer, 2),
    ROW("Gradient", 1, gradient, 0),
    ROW("Momentum", 1, optimizer, 1),
};

const rt_infer_rule_set rt_infer_rules_ml = {"ai.onnx.ml", ml, sizeof ml / sizeof *ml};
const rt_infer_rule_set rt_infer_rules_preview = {"ai.onnx.preview", preview,
                                                  sizeof preview / sizeof *preview};
const rt_infer_rule_set rt_infer_rules_training = {"ai.onnx.preview.training", training,
                                                   sizeof training / sizeof *training};

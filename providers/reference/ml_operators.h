// SPDX-License-Identifier: Apache-2.0
//
// The operators of ai.onnx.ml that table_ml.inc offers.
#ifndef REFERENCE_ML_OPERATORS_H_
#define REFERENCE_ML_OPERATORS_H_

#include "kernel.h"

extern const ref_op ref_array_feature_extractor, ref_binarizer, ref_feature_vectorizer;
extern const ref_op ref_imputer, ref_normalizer, ref_one_hot_encoder, ref_scaler;
extern const ref_op ref_cast_map, ref_dict_vectorizer, ref_zip_map;
extern const ref_op ref_label_indexer, ref_label_encoder, ref_category_mapper;
extern const ref_op ref_linear_classifier, ref_linear_regressor;
extern const ref_op ref_svm_classifier, ref_svm_regressor;
extern const ref_op ref_tree_ensemble, ref_tree_ensemble_classifier;
extern const ref_op ref_tree_ensemble_regressor;

#endif  // REFERENCE_ML_OPERATORS_H_

// SPDX-License-Identifier: Apache-2.0
//
// What the operators of ai.onnx.ml share: parameters as doubles, rows of a batch, class labels,
// transforms of scores.
#ifndef REFERENCE_ML_H_
#define REFERENCE_ML_H_

#include "kernel.h"

// The numbers of attribute `name` (floats, ints or a tensor) or else of the tensor
// `name`_as_tensor, kept as long as the state. *out_count is 0 if neither is there.
int32_t ref_ml_reals(ref_prepare *prepare, const char *name, const double **out,
                     int64_t *out_count);
// INVALID_ARGUMENT unless the attribute's `count` is `expected`.
int32_t ref_ml_need_count(const ref_prepare *prepare, const char *name, int64_t count,
                          int64_t expected);

// Rows and features of input 0: [N, F], or [F] for one row.
int32_t ref_ml_batch(const ref_prepare *prepare, int64_t *out_rows, int64_t *out_features);
int64_t ref_ml_row_count(const ref_view *x);
void ref_ml_load_row(const ref_view *x, int64_t row, double *out);
// Stores `count` numbers as row `row` of a [N, count] output.
void ref_ml_store_row(const ref_view *y, int64_t row, int64_t count, const double *in);

// Class labels: strings, integers, or none.
typedef struct ref_labels {
  const ops_str *strings;
  const int64_t *ints;
  int64_t count;
} ref_labels;

// Reads the labels and fixes type and shape of output 0, one label for each row.
int32_t ref_labels_read(ref_prepare *prepare, const char *ints, const char *strings,
                        int64_t rows, ref_labels *out);
// Writes label `which`. Without such a label: the number itself, or the empty string.
int32_t ref_labels_write(const ref_run *run, const ref_labels *labels, int64_t row,
                         int64_t which);
// The label of a single score: labels of two classes hold the negative one first; one label
// stands for the positive class.
int32_t ref_labels_write_binary(const ref_run *run, const ref_labels *labels, int64_t row,
                                int positive);

// Attribute post_transform, numbered as TreeEnsemble numbers it.
typedef enum ref_transform {
  REF_TRANSFORM_NONE,
  REF_TRANSFORM_SOFTMAX,
  REF_TRANSFORM_LOGISTIC,
  REF_TRANSFORM_SOFTMAX_ZERO,
  REF_TRANSFORM_PROBIT,
  REF_TRANSFORM_COUNT,
} ref_transform;

int32_t ref_transform_read(const ref_prepare *prepare, int32_t *out);
void ref_transform_apply(int32_t transform, double *scores, int64_t count);

int64_t ref_largest(const double *values, int64_t count);  // the first of the largest

#endif  // REFERENCE_ML_H_

// SPDX-License-Identifier: Apache-2.0
//
// LinearClassifier and LinearRegressor: scores = W x + b, one row of W for each target.
#include "ml.h"
#include "ml_operators.h"

typedef struct linear_state {
  const double *weights;     // [targets, features]
  const double *intercepts;  // NULL: zero
  int64_t features, targets, columns;
  uint64_t row_at, scores_at;
  int32_t transform;
  int32_t pair;  // one score stands for two classes
  ref_labels labels;
} linear_state;

static int32_t read_model(ref_prepare *p, linear_state *s, int64_t *out_rows) {
  int64_t weight_count, intercept_count;
  RETURN_IF_ERROR(ref_ml_batch(p, out_rows, &s->features));
  RETURN_IF_ERROR(ref_transform_read(p, &s->transform));
  RETURN_IF_ERROR(ref_ml_reals(p, "coefficients", &s->weights, &weight_count));
  RETURN_IF_ERROR(ref_ml_reals(p, "intercepts", &s->intercepts, &intercept_count));
  if (s->targets == 0) s->targets = s->features > 0 ? weight_count / s->features : 0;
  int64_t expected;
  if (s->targets <= 0 || __builtin_mul_overflow(s->targets, s->features, &expected) ||
      weight_count != expected)
    return ref_refuse(p,
                      "attribute coefficients: expected %lld numbers (features of input X) for "
                      "each of 1 or more targets, found %lld in all",
                      (long long)s->features, (long long)weight_count);
  if (intercept_count == 0) s->intercepts = NULL;
  if (intercept_count > 0)
    RETURN_IF_ERROR(ref_ml_need_count(p, "intercepts", intercept_count, s->targets));
  s->columns = s->targets;
  s->row_at = ref_reserve_reals(p, s->features);
  s->scores_at = ref_reserve_reals(p, s->targets + 1);
  return OPS_OK;
}

static int32_t prepare_classifier(ref_prepare *p) {
  linear_state *s = p->state;
  int64_t rows;
  RETURN_IF_ERROR(read_model(p, s, &rows));
  RETURN_IF_ERROR(
      ref_labels_read(p, "classlabels_ints", "classlabels_strings", rows, &s->labels));
  s->pair = s->targets == 1 && s->labels.count == 2;
  if (s->labels.count > 0 && !s->pair && s->labels.count != s->targets)
    return ref_refuse(p,
                      "expected as many class labels as rows of coefficients (%lld), found "
                      "%lld",
                      (long long)s->targets, (long long)s->labels.count);
  if (s->pair) s->columns = 2;
  return ref_set_shape(p, 1, 2, (int64_t[]){rows, s->columns});
}

static int32_t prepare_regressor(ref_prepare *p) {
  linear_state *s = p->state;
  int64_t rows;
  s->targets = ref_attr_int(p->kernel, "targets", 1);
  RETURN_IF_ERROR(read_model(p, s, &rows));
  return ref_set_shape(p, 0, 2, (int64_t[]){rows, s->columns});
}

static double *score(const ref_run *run, int64_t row) {
  const linear_state *s = run->state;
  double *x = (double *)((char *)run->workspace + s->row_at);
  double *scores = (double *)((char *)run->workspace + s->scores_at);
  ref_ml_load_row(&run->inputs[0], row, x);
  for (int64_t t = 0; t < s->targets; ++t) {
    double sum = 0;
    for (int64_t i = 0; i < s->features; ++i) sum += s->weights[t * s->features + i] * x[i];
    scores[t] = sum + (s->intercepts != NULL ? s->intercepts[t] : 0);
  }
  return scores;
}

static int32_t execute_classifier(ref_run *run) {
  const linear_state *s = run->state;
  int64_t rows = ref_ml_row_count(&run->inputs[0]);
  for (int64_t n = 0; n < rows; ++n) {
    double *scores = score(run, n);
    if (s->targets == 1)
      RETURN_IF_ERROR(ref_labels_write_binary(run, &s->labels, n, scores[0] > 0));
    else
      RETURN_IF_ERROR(ref_labels_write(run, &s->labels, n, ref_largest(scores, s->targets)));
    if (s->pair) {
      scores[1] = scores[0];
      scores[0] = -scores[0];
    }
    ref_transform_apply(s->transform, scores, s->columns);
    if (ref_wanted(run, 1)) ref_ml_store_row(&run->outputs[1], n, s->columns, scores);
  }
  return OPS_OK;
}

static int32_t execute_regressor(ref_run *run) {
  const linear_state *s = run->state;
  int64_t rows = ref_ml_row_count(&run->inputs[0]);
  for (int64_t n = 0; n < rows; ++n) {
    double *scores = score(run, n);
    ref_transform_apply(s->transform, scores, s->columns);
    ref_ml_store_row(&run->outputs[0], n, s->columns, scores);
  }
  return OPS_OK;
}

const ref_op ref_linear_classifier = {sizeof(linear_state), prepare_classifier,
                                      execute_classifier, NULL, NULL};
const ref_op ref_linear_regressor = {sizeof(linear_state), prepare_regressor, execute_regressor,
                                     NULL, NULL};

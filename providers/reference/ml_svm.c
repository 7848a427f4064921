// SPDX-License-Identifier: Apache-2.0
//
// SVMClassifier and SVMRegressor. With support vectors, a classifier of K classes decides
// between each pair of classes (i, j), i < j: the coefficients of class i's vectors lie in row
// j - 1, those of class j's in row i. The class with most votes wins. Probabilities, if asked
// for, are coupled from the pairs' sigmoids as in Wu, Lin and Weng, "Probability estimates for
// multi-class classification by pairwise coupling", JMLR 5 (2004), second method, iterated to
// the precision that LIBSVM uses. Without support vectors the model is linear.
#include <math.h>

#include "ml.h"
#include "ml_operators.h"

typedef enum svm_kind { LINEAR, POLY, RBF, SIGMOID, KIND_COUNT } svm_kind;

typedef struct svm_state {
  int32_t kind, transform, one_class, probability;
  double gamma, offset, degree;
  const double *vectors;       // [vector_count, features]
  const double *coefficients;  // [classes - 1, vector_count], or [classes, features]
  const double *rho, *prob_a, *prob_b;
  const int64_t *vectors_per_class;
  int64_t features, vector_count, classes, pairs, columns;
  uint64_t row_at, kernels_at, pairs_at, votes_at, scores_at, matrix_at;
  ref_labels labels;
} svm_state;

static int32_t read_kernel(ref_prepare *p, svm_state *s) {
  static const char *const names[KIND_COUNT] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  for (s->kind = 0; s->kind < KIND_COUNT; ++s->kind)
    if (ref_attr_is(p->kernel, "kernel_type", names[s->kind], "LINEAR")) break;
  if (s->kind == KIND_COUNT)
    return ref_refuse(p, "attribute kernel_type: expected LINEAR, POLY, RBF or SIGMOID");
  const double *params;
  int64_t count;
  RETURN_IF_ERROR(ref_ml_reals(p, "kernel_params", &params, &count));
  if (count == 0) return OPS_OK;
  RETURN_IF_ERROR(ref_ml_need_count(p, "kernel_params", count, 3));
  s->gamma = params[0];
  s->offset = params[1];
  s->degree = params[2];
  return OPS_OK;
}

// Reads what both operators have; `rows` rows of coefficients belong to the vectors.
static int32_t read_model(ref_prepare *p, svm_state *s, int64_t coefficient_rows) {
  int64_t count, expected;
  RETURN_IF_ERROR(ref_transform_read(p, &s->transform));
  RETURN_IF_ERROR(read_kernel(p, s));
  if (s->vector_count == 0) s->kind = LINEAR;
  RETURN_IF_ERROR(ref_ml_reals(p, "support_vectors", &s->vectors, &count));
  if (__builtin_mul_overflow(s->vector_count, s->features, &expected)) expected = -1;
  RETURN_IF_ERROR(
      ref_ml_need_count(p, "support_vectors", s->vector_count ? count : 0, expected));
  RETURN_IF_ERROR(ref_ml_reals(p, "coefficients", &s->coefficients, &count));
  int64_t width = s->vector_count > 0 ? s->vector_count : s->features;
  if (__builtin_mul_overflow(coefficient_rows, width, &expected)) expected = -1;
  RETURN_IF_ERROR(ref_ml_need_count(p, "coefficients", count, expected));
  s->row_at = ref_reserve_reals(p, s->features);
  s->kernels_at = ref_reserve_reals(p, s->vector_count);
  return OPS_OK;
}

static double *work(const ref_run *run, uint64_t at) {
  return (double *)((char *)run->workspace + at);
}

static double kernel(const svm_state *s, const double *a, const double *b) {
  double sum = 0;
  for (int64_t i = 0; i < s->features; ++i)
    sum += s->kind == RBF ? (a[i] - b[i]) * (a[i] - b[i]) : a[i] * b[i];
  switch (s->kind) {
    case POLY:
      return pow(s->gamma * sum + s->offset, s->degree);
    case RBF:
      return exp(-s->gamma * sum);
    case SIGMOID:
      return tanh(s->gamma * sum + s->offset);
    default:
      return sum;
  }
}

// Loads a row and its kernel with each support vector.
static void evaluate_kernels(const ref_run *run, int64_t row) {
  const svm_state *s = run->state;
  double *x = work(run, s->row_at), *kernels = work(run, s->kernels_at);
  ref_ml_load_row(&run->inputs[0], row, x);
  for (int64_t v = 0; v < s->vector_count; ++v)
    kernels[v] = kernel(s, x, s->vectors + v * s->features);
}

static double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// ---- Regressor -----------------------------------------------------------------------------

static int32_t prepare_regressor(ref_prepare *p) {
  svm_state *s = p->state;
  int64_t rows, count;
  RETURN_IF_ERROR(ref_ml_batch(p, &rows, &s->features));
  s->vector_count = ref_attr_int(p->kernel, "n_supports", 0);
  s->one_class = ref_attr_int(p->kernel, "one_class", 0) != 0;
  if (s->vector_count < 0) return ref_refuse(p, "attribute n_supports: expected 0 or more");
  RETURN_IF_ERROR(read_model(p, s, 1));
  RETURN_IF_ERROR(ref_ml_reals(p, "rho", &s->rho, &count));
  RETURN_IF_ERROR(ref_ml_need_count(p, "rho", count, 1));
  return ref_set_shape(p, 0, 2, (int64_t[]){rows, 1});
}

static int32_t execute_regressor(ref_run *run) {
  const svm_state *s = run->state;
  int64_t rows = ref_ml_row_count(&run->inputs[0]);
  for (int64_t n = 0; n < rows; ++n) {
    evaluate_kernels(run, n);
    double value =
        s->rho[0] + (s->vector_count > 0
                         ? dot(s->coefficients, work(run, s->kernels_at), s->vector_count)
                         : dot(s->coefficients, work(run, s->row_at), s->features));
    if (s->one_class)
      value = value > 0 ? 1 : -1;
    else
      ref_transform_apply(s->transform, &value, 1);
    ref_ml_store_row(&run->outputs[0], n, 1, &value);
  }
  return OPS_OK;
}

const ref_op ref_svm_regressor = {sizeof(svm_state), prepare_regressor, execute_regressor, NULL,
                                  NULL};

// ---- Classifier ----------------------------------------------------------------------------

static int32_t count_vectors(ref_prepare *p, svm_state *s) {
  int64_t count;
  s->vectors_per_class = ref_attr_ints(p->kernel, "vectors_per_class", &count);
  for (int64_t i = 0; i < count; ++i)
    if (s->vectors_per_class[i] < 0 ||
        __builtin_add_overflow(s->vector_count, s->vectors_per_class[i], &s->vector_count))
      return ref_refuse(p,
                        "attribute vectors_per_class: entry %lld is %lld, expected 0 or more",
                        (long long)i, (long long)s->vectors_per_class[i]);
  if (s->vector_count == 0) return OPS_OK;
  if (count != s->classes || count < 2)
    return ref_refuse(p,
                      "attribute vectors_per_class: expected one entry for each of 2 or more "
                      "class labels (%lld), found %lld",
                      (long long)s->classes, (long long)count);
  return OPS_OK;
}

static int32_t read_probabilities(ref_prepare *p, svm_state *s) {
  int64_t a, b;
  RETURN_IF_ERROR(ref_ml_reals(p, "prob_a", &s->prob_a, &a));
  RETURN_IF_ERROR(ref_ml_reals(p, "prob_b", &s->prob_b, &b));
  s->probability = a > 0 && s->vector_count > 0;
  if (!s->probability) return OPS_OK;
  RETURN_IF_ERROR(ref_ml_need_count(p, "prob_a", a, s->pairs));
  return ref_ml_need_count(p, "prob_b", b, s->pairs);
}

static int32_t prepare_classifier(ref_prepare *p) {
  svm_state *s = p->state;
  int64_t rows, rho_count;
  RETURN_IF_ERROR(ref_ml_batch(p, &rows, &s->features));
  RETURN_IF_ERROR(
      ref_labels_read(p, "classlabels_ints", "classlabels_strings", rows, &s->labels));
  s->classes = s->labels.count > 0 ? s->labels.count : 1;
  if (s->classes > 1 << 20) return ref_refuse(p, "more than 2^20 class labels");
  RETURN_IF_ERROR(count_vectors(p, s));
  s->pairs = s->vector_count > 0 ? s->classes * (s->classes - 1) / 2 : 0;
  RETURN_IF_ERROR(read_model(p, s, s->vector_count > 0 ? s->classes - 1 : s->classes));
  RETURN_IF_ERROR(ref_ml_reals(p, "rho", &s->rho, &rho_count));
  RETURN_IF_ERROR(ref_ml_need_count(p, "rho", rho_count, s->pairs > 0 ? s->pairs : 1));
  RETURN_IF_ERROR(read_probabilities(p, s));
  s->columns = s->pairs == 1 ? 2 : s->pairs == 0 || s->probability ? s->classes : s->pairs;
  s->pairs_at = ref_reserve_reals(p, s->pairs);
  s->votes_at = ref_reserve_reals(p, s->classes);
  s->scores_at = ref_reserve_reals(p, s->columns);
  if (s->probability) s->matrix_at = ref_reserve_reals(p, (2 * s->classes + 1) * s->classes);
  return ref_set_shape(p, 1, 2, (int64_t[]){rows, s->columns});
}

// Scores and votes of all pairs.
static void decide_pairs(const ref_run *run) {
  const svm_state *s = run->state;
  const double *k = work(run, s->kernels_at);
  double *scores = work(run, s->pairs_at), *votes = work(run, s->votes_at);
  for (int64_t i = 0; i < s->classes; ++i) votes[i] = 0;
  int64_t first_i = 0, pair = 0;
  for (int64_t i = 0; i < s->classes; ++i) {
    int64_t count_i = s->vectors_per_class[i], first_j = first_i + count_i;
    for (int64_t j = i + 1; j < s->classes; ++j, ++pair) {
      int64_t count_j = s->vectors_per_class[j];
      const double *of_i = s->coefficients + (j - 1) * s->vector_count + first_i;
      const double *of_j = s->coefficients + i * s->vector_count + first_j;
      scores[pair] =
          s->rho[pair] + dot(of_i, k + first_i, count_i) + dot(of_j, k + first_j, count_j);
      votes[scores[pair] > 0 ? i : j] += 1;
      first_j += count_j;
    }
    first_i += count_i;
  }
}

// r[i][j]: estimated probability of class i among i and j. Fills the matrix Q of the method.
static void fill_matrix(const svm_state *s, const double *scores, double *r, double *q) {
  int64_t n = s->classes, pair = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j, ++pair) {
      double value = 1 / (1 + exp(scores[pair] * s->prob_a[pair] + s->prob_b[pair]));
      value = fmin(fmax(value, 1e-7), 1 - 1e-7);
      r[i * n + j] = value;
      r[j * n + i] = 1 - value;
    }
  for (int64_t i = 0; i < n; ++i) {
    q[i * n + i] = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (j == i) continue;
      q[i * n + i] += r[j * n + i] * r[j * n + i];
      q[i * n + j] = -r[j * n + i] * r[i * n + j];
    }
  }
}

// One round of the iteration. qp is Q p, `energy` is p Q p.
static void improve(int64_t n, const double *q, double *qp, double energy, double *p) {
  for (int64_t t = 0; t < n; ++t) {
    double diagonal = q[t * n + t], step = (energy - qp[t]) / diagonal, scale = 1 + step;
    p[t] += step;
    energy = (energy + step * (step * diagonal + 2 * qp[t])) / scale / scale;
    for (int64_t i = 0; i < n; ++i) {
      qp[i] = (qp[i] + step * q[t * n + i]) / scale;
      p[i] /= scale;
    }
  }
}

static void couple(const ref_run *run, double *p) {
  const svm_state *s = run->state;
  int64_t n = s->classes, rounds = n > 100 ? n : 100;
  double *r = work(run, s->matrix_at), *q = r + n * n, *qp = q + n * n;
  fill_matrix(s, work(run, s->pairs_at), r, q);
  for (int64_t i = 0; i < n; ++i) p[i] = 1.0 / (double)n;
  for (int64_t round = 0; round < rounds; ++round) {
    double energy = 0, error = 0;
    for (int64_t i = 0; i < n; ++i) {
      qp[i] = dot(q + i * n, p, n);
      energy += p[i] * qp[i];
    }
    for (int64_t i = 0; i < n; ++i) error = fmax(error, fabs(qp[i] - energy));
    if (error < 0.005 / (double)n) break;
    improve(n, q, qp, energy, p);
  }
}

// The label of the row, and its scores before the transform.
static int32_t classify(ref_run *run, int64_t row, double *scores) {
  const svm_state *s = run->state;
  evaluate_kernels(run, row);
  if (s->pairs == 0) {
    for (int64_t c = 0; c < s->classes; ++c)
      scores[c] =
          s->rho[0] + dot(s->coefficients + c * s->features, work(run, s->row_at), s->features);
    if (s->classes == 1) return ref_labels_write_binary(run, &s->labels, row, scores[0] > 0);
    return ref_labels_write(run, &s->labels, row, ref_largest(scores, s->classes));
  }
  decide_pairs(run);
  const double *pairs = work(run, s->pairs_at);
  RETURN_IF_ERROR(
      ref_labels_write(run, &s->labels, row, ref_largest(work(run, s->votes_at), s->classes)));
  if (s->probability) {
    couple(run, scores);
  } else if (s->pairs == 1) {
    scores[0] = -pairs[0];
    scores[1] = pairs[0];
  } else {
    for (int64_t i = 0; i < s->pairs; ++i) scores[i] = pairs[i];
  }
  return OPS_OK;
}

static int32_t execute_classifier(ref_run *run) {
  const svm_state *s = run->state;
  int64_t rows = ref_ml_row_count(&run->inputs[0]);
  double *scores = work(run, s->scores_at);
  for (int64_t n = 0; n < rows; ++n) {
    RETURN_IF_ERROR(classify(run, n, scores));
    ref_transform_apply(s->transform, scores, s->columns);
    if (ref_wanted(run, 1)) ref_ml_store_row(&run->outputs[1], n, s->columns, scores);
  }
  return OPS_OK;
}

const ref_op ref_svm_classifier = {sizeof(svm_state), prepare_classifier, execute_classifier,
                                   NULL, NULL};

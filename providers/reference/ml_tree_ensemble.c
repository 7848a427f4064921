// SPDX-License-Identifier: Apache-2.0
//
// TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor.
//
// A classifier of one or two labels whose votes are all for class 0 has one score s, that of
// the positive class. Two labels have the scores (1 - s, s) if no weight is negative and s is
// not to be squashed, else (-s, s). The label is always that of the largest score.
#include "ml_operators.h"
#include "ml_tree.h"

typedef struct tree_state {
  ref_ensemble ensemble;
  const double *base;
  int64_t base_count;
  int64_t columns;
  int32_t transform, single, complement;
  uint64_t row_at, scores_at, voted_at;
  ref_labels labels;
} tree_state;

static int32_t begin(ref_prepare *p, tree_state *s, int64_t targets, int64_t *out_rows) {
  if (targets <= 0)
    return ref_refuse(p, "expected 1 or more targets or class labels, found %lld",
                      (long long)targets);
  s->ensemble.target_count = targets;
  s->row_at = ref_reserve_reals(
      p, p->inputs[0].rank > 0 ? p->inputs[0].dims[p->inputs[0].rank - 1] : 0);
  s->scores_at = ref_reserve_reals(p, targets + 1);
  s->voted_at = ref_reserve(p, (uint64_t)targets);
  return ref_ml_batch(p, out_rows, &s->ensemble.feature_count);
}

static double *score(const ref_run *run, int64_t row) {
  const tree_state *s = run->state;
  char *work = run->workspace;
  double *x = (double *)(work + s->row_at), *scores = (double *)(work + s->scores_at);
  ref_ml_load_row(&run->inputs[0], row, x);
  ref_ensemble_score(&s->ensemble, x, scores, (uint8_t *)work + s->voted_at);
  for (int64_t t = 0; t < s->base_count && t < s->ensemble.target_count; ++t)
    scores[t] += s->base[t];
  return scores;
}

// ---- TreeEnsemble and TreeEnsembleRegressor ------------------------------------------------

static int32_t prepare_flat(ref_prepare *p) {
  tree_state *s = p->state;
  int64_t rows, targets = ref_attr_int(p->kernel, "n_targets", 1);
  int64_t aggregate = ref_attr_int(p->kernel, "aggregate_function", REF_AGGREGATE_SUM);
  int64_t transform = ref_attr_int(p->kernel, "post_transform", REF_TRANSFORM_NONE);
  if (aggregate < 0 || aggregate >= REF_AGGREGATE_COUNT)
    return ref_refuse(p, "attribute aggregate_function: expected 0 to 3, found %lld",
                      (long long)aggregate);
  if (transform < 0 || transform >= REF_TRANSFORM_COUNT)
    return ref_refuse(p, "attribute post_transform: expected 0 to 4, found %lld",
                      (long long)transform);
  s->ensemble.aggregate = (int32_t)aggregate;
  s->transform = (int32_t)transform;
  RETURN_IF_ERROR(begin(p, s, targets, &rows));
  RETURN_IF_ERROR(ref_ensemble_read_leaves(p, &s->ensemble));
  return ref_set_shape(p, 0, 2, (int64_t[]){rows, targets});
}

static int32_t prepare_regressor(ref_prepare *p) {
  static const char *const names[REF_AGGREGATE_COUNT] = {"AVERAGE", "SUM", "MIN", "MAX"};
  tree_state *s = p->state;
  int64_t rows, targets = ref_attr_int(p->kernel, "n_targets", 1);
  int32_t *aggregate = &s->ensemble.aggregate;
  for (*aggregate = 0; *aggregate < REF_AGGREGATE_COUNT; ++*aggregate)
    if (ref_attr_is(p->kernel, "aggregate_function", names[*aggregate], "SUM")) break;
  if (*aggregate == REF_AGGREGATE_COUNT)
    return ref_refuse(p, "attribute aggregate_function: expected AVERAGE, SUM, MIN or MAX");
  RETURN_IF_ERROR(ref_transform_read(p, &s->transform));
  RETURN_IF_ERROR(begin(p, s, targets, &rows));
  RETURN_IF_ERROR(ref_ml_reals(p, "base_values", &s->base, &s->base_count));
  if (s->base_count > 0)
    RETURN_IF_ERROR(ref_ml_need_count(p, "base_values", s->base_count, targets));
  RETURN_IF_ERROR(ref_ensemble_read_votes(p, "target", &s->ensemble));
  return ref_set_shape(p, 0, 2, (int64_t[]){rows, targets});
}

static int32_t execute_scores(ref_run *run) {
  const tree_state *s = run->state;
  int64_t rows = ref_ml_row_count(&run->inputs[0]), targets = s->ensemble.target_count;
  for (int64_t n = 0; n < rows; ++n) {
    double *scores = score(run, n);
    ref_transform_apply(s->transform, scores, targets);
    ref_ml_store_row(&run->outputs[0], n, targets, scores);
  }
  return OPS_OK;
}

const ref_op ref_tree_ensemble = {sizeof(tree_state), prepare_flat, execute_scores, NULL, NULL};
const ref_op ref_tree_ensemble_regressor = {sizeof(tree_state), prepare_regressor,
                                            execute_scores, NULL, NULL};

// ---- TreeEnsembleClassifier ----------------------------------------------------------------

static void find_form(tree_state *s) {
  int squashed = s->transform != REF_TRANSFORM_NONE && s->transform != REF_TRANSFORM_PROBIT;
  s->single = s->labels.count <= 2;
  s->complement = !squashed;
  for (int64_t v = 0; v < s->ensemble.vote_count; ++v) {
    if (s->ensemble.targets[v] != 0) s->single = 0;
    if (s->ensemble.weights[v] < 0) s->complement = 0;
  }
  if (s->labels.count == 1) s->single = 1;
}

static int32_t prepare_classifier(ref_prepare *p) {
  tree_state *s = p->state;
  int64_t rows;
  s->ensemble.aggregate = REF_AGGREGATE_SUM;
  RETURN_IF_ERROR(ref_need_rank(p, 0, 1, 2));
  rows = p->inputs[0].rank == 2 ? p->inputs[0].dims[0] : 1;
  RETURN_IF_ERROR(
      ref_labels_read(p, "classlabels_int64s", "classlabels_strings", rows, &s->labels));
  RETURN_IF_ERROR(ref_transform_read(p, &s->transform));
  RETURN_IF_ERROR(begin(p, s, s->labels.count, &rows));
  RETURN_IF_ERROR(ref_ml_reals(p, "base_values", &s->base, &s->base_count));
  RETURN_IF_ERROR(ref_ensemble_read_votes(p, "class", &s->ensemble));
  find_form(s);
  if (s->base_count > 0 && !(s->single && s->base_count == 1))
    RETURN_IF_ERROR(ref_ml_need_count(p, "base_values", s->base_count, s->labels.count));
  return ref_set_shape(p, 1, 2, (int64_t[]){rows, s->labels.count});
}

static int32_t execute_classifier(ref_run *run) {
  const tree_state *s = run->state;
  int64_t rows = ref_ml_row_count(&run->inputs[0]), classes = s->labels.count;
  for (int64_t n = 0; n < rows; ++n) {
    double *scores = score(run, n);
    if (s->single && classes == 2) {
      scores[1] = scores[0];
      scores[0] = s->complement ? 1 - scores[1] : -scores[1];
    }
    if (classes == 1)
      RETURN_IF_ERROR(ref_labels_write_binary(run, &s->labels, n, scores[0] > 0));
    else
      RETURN_IF_ERROR(ref_labels_write(run, &s->labels, n, ref_largest(scores, classes)));
    ref_transform_apply(s->transform, scores, classes);
    if (ref_wanted(run, 1)) ref_ml_store_row(&run->outputs[1], n, classes, scores);
  }
  return OPS_OK;
}

const ref_op ref_tree_ensemble_classifier = {sizeof(tree_state), prepare_classifier,
                                             execute_classifier, NULL, NULL};

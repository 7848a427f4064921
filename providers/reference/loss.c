// SPDX-License-Identifier: Apache-2.0
//
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. The mean divides by the sum of the
// weights of what was not ignored (1 each without weights), as the function bodies do.
#include <math.h>

#include "operators.h"
#include "traverse.h"

enum { X, TARGET, WEIGHT };
enum { MEAN, SUM, NONE };

typedef struct loss_state {
  int32_t reduction;
  int32_t ignoring;
  int64_t ignored;
} loss_state;

static int32_t read_reduction(const ref_prepare *p, loss_state *s) {
  static const char *const names[] = {"mean", "sum", "none"};
  s->ignoring = ref_attr(p->kernel, "ignore_index") != NULL;
  s->ignored = ref_attr_int(p->kernel, "ignore_index", 0);
  for (int32_t i = 0; i < 3; ++i)
    if (ref_attr_is(p->kernel, "reduction", names[i], "mean")) {
      s->reduction = i;
      return OPS_OK;
    }
  return ref_refuse(p, "attribute reduction: expected mean, sum or none");
}

static int32_t prepare(ref_prepare *p) {
  loss_state *s = p->state;
  const ref_shape *x = &p->inputs[X];
  int64_t target[OPS_MAX_RANK] = {x->dims[0]};
  RETURN_IF_ERROR(ref_need_rank(p, X, 2, OPS_MAX_RANK));
  for (int32_t i = 1; i < x->rank - 1; ++i) target[i] = x->dims[i + 1];
  RETURN_IF_ERROR(ref_need_dims(p, TARGET, x->rank - 1, target));
  if (ref_has(p, WEIGHT) &&
      (p->inputs[WEIGHT].rank != 1 || p->inputs[WEIGHT].dims[0] != x->dims[1]))
    return ref_refuse(p, "input %s: expected %lld numbers, one per class",
                      ref_input_name(p->kernel, WEIGHT), (long long)x->dims[1]);
  RETURN_IF_ERROR(read_reduction(p, s));
  RETURN_IF_ERROR(ref_same_shape(p, 1, X));
  if (s->reduction == NONE) return ref_same_shape(p, 0, TARGET);
  return ref_set_shape(p, 0, 0, NULL);
}

static int32_t check_targets(const ref_run *run) {
  const loss_state *s = run->state;
  const ref_view *target = &run->inputs[TARGET];
  for (int64_t i = 0; i < target->count; ++i) {
    int64_t value = ref_int_at(target, ref_offset_of(target, i));
    if (s->ignoring && value == s->ignored) continue;
    if (value < 0 || value >= run->inputs[X].dims[1])
      return ref_refuse(run, "input %s: element %lld is %lld, expected 0 to %lld",
                        ref_input_name(run->kernel, TARGET), (long long)i, (long long)value,
                        (long long)run->inputs[X].dims[1] - 1);
  }
  return OPS_OK;
}

// log(sum(exp)) over the classes from offset `at`.
static double log_sum(const ref_view *x, int64_t at) {
  double high = -INFINITY, sum = 0;
  for (int64_t c = 0; c < x->dims[1]; ++c) {
    double value = ref_at(x, at + c * x->strides[1]);
    if (value > high || isnan(value)) high = value;
  }
  if (isinf(high)) return high;
  for (int64_t c = 0; c < x->dims[1]; ++c) sum += exp(ref_at(x, at + c * x->strides[1]) - high);
  return high + log(sum);
}

typedef struct totals {
  double loss, weight;
} totals;

// One sample: index counts the target. Stores the loss where it is not reduced.
static void add_sample(const ref_run *run, const int64_t *index, int softmax, totals *t) {
  const loss_state *s = run->state;
  const ref_view *x = &run->inputs[X], *target = &run->inputs[TARGET];
  int64_t at = index[0] * x->strides[0];
  for (int32_t i = 1; i < target->rank; ++i) at += index[i] * x->strides[i + 1];
  double shift = softmax ? log_sum(x, at) : 0, loss = 0;
  for (int64_t c = 0; softmax && ref_wanted(run, 1) && c < x->dims[1]; ++c) {
    const ref_view *log_prob = &run->outputs[1];
    int64_t to = index[0] * log_prob->strides[0] + c * log_prob->strides[1];
    for (int32_t i = 1; i < target->rank; ++i) to += index[i] * log_prob->strides[i + 1];
    double value = ref_at(x, at + c * x->strides[1]) - shift;
    ref_store(log_prob, to, 1, 1, &value);
  }
  int64_t class = ref_int_at(target, ref_dot(index, target->strides, target->rank));
  if (!s->ignoring || class != s->ignored) {
    double weight = 1;
    if (ref_given(run, WEIGHT))
      weight = ref_at(&run->inputs[WEIGHT], class * run->inputs[WEIGHT].strides[0]);
    loss = weight * (shift - ref_at(x, at + class * x->strides[1]));
    t->loss += loss;
    t->weight += weight;
  }
  const ref_view *y = &run->outputs[0];
  if (s->reduction == NONE && ref_wanted(run, 0))
    ref_store(y, ref_dot(index, y->strides, y->rank), 1, 1, &loss);
}

static int32_t run_all(ref_run *run, int softmax) {
  const loss_state *s = run->state;
  const ref_view *target = &run->inputs[TARGET];
  int64_t index[OPS_MAX_RANK] = {0};
  totals t = {0, 0};
  RETURN_IF_ERROR(check_targets(run));
  if (target->count > 0) do
      add_sample(run, index, softmax, &t);
    while (ref_count_up(index, target->dims, target->rank));
  double result = s->reduction == MEAN ? t.loss / t.weight : t.loss;
  if (s->reduction != NONE && ref_wanted(run, 0)) ref_store(&run->outputs[0], 0, 1, 1, &result);
  return OPS_OK;
}

static int32_t execute_likelihood(ref_run *run) {
  return run_all(run, 0);
}

static int32_t execute_entropy(ref_run *run) {
  return run_all(run, 1);
}

const ref_op ref_likelihood_loss = {sizeof(loss_state), prepare, execute_likelihood, NULL,
                                    NULL};
const ref_op ref_cross_entropy_loss = {sizeof(loss_state), prepare, execute_entropy, NULL,
                                       NULL};

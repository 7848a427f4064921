// SPDX-License-Identifier: Apache-2.0
//
// The table of drawn cases and their checks. The distributions are those of the operators'
// definitions: Bernoulli is 1 with probability x; Dropout in training keeps an element with
// probability 1 - ratio and scales it by 1 / (1 - ratio).
#include "onnx_tests/drawn.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>

#include "compare/number.h"

static bool differ(oc_difference *difference, const char *format, double a, double b) {
  char text[160];
  snprintf(text, sizeof text, format, a, b);
  snprintf(difference->message, sizeof difference->message, "as random values: %s", text);
  return false;
}

static double get(const opsrt_value *value, int64_t index) {
  return oc_number_get(value->type, value->data, (size_t)index);
}

static bool holds_numbers(const opsrt_value *value, int64_t count) {
  return value->kind == OPS_VALUE_TENSOR && oc_number_bits(value->type) > 0 &&
         oc_allclose_count(value) == count &&
         (count == 0 ||
          (value->data && value->size >= oc_number_bytes(value->type, (size_t)count)));
}

// A sum of independent draws against its mean and variance.
static bool likely(double sum, double mean, double variance, oc_difference *difference) {
  const double distance = fabs(sum - mean);
  if (distance <= OC_DRAWN_SIGMAS * sqrt(variance)) return true;
  return differ(difference, "the sum is %g where %g is the mean, beyond 4.5 deviations", sum,
                mean);
}

static bool check_bernoulli(const oc_drawn_values *values, oc_difference *difference) {
  const opsrt_value *x = &values->inputs[0], *y = &values->outputs[0];
  const int64_t count = oc_allclose_count(y);
  double sum = 0, mean = 0, variance = 0;
  if (values->input_count != 1 || count < 0 || !holds_numbers(x, count) ||
      !holds_numbers(y, count)) {
    return differ(difference, "the model is not that of the suite", 0, 0);
  }
  for (int64_t i = 0; i < count; ++i) {
    const double p = get(x, i), drawn = get(y, i);
    if (drawn != 0 && drawn != 1) return differ(difference, "%g is neither 0 nor 1", drawn, 0);
    if ((drawn == 1 && p <= 0) || (drawn == 0 && p >= 1)) {
      return differ(difference, "%g was drawn with probability %g of a 1", drawn, p);
    }
    sum += drawn;
    mean += p;
    variance += p * (1 - p);
  }
  return likely(sum, mean, variance, difference);
}

// Element by element zero or scaled, a mask that says which, and the share of what was kept.
static bool check_dropout(const oc_drawn_values *values, oc_difference *difference) {
  const opsrt_value *x = &values->inputs[0], *y = &values->outputs[0];
  const opsrt_value *mask = values->output_count > 1 ? &values->outputs[1] : NULL;
  const int64_t count = oc_allclose_count(y);
  if (values->input_count < 2 || count < 0 || !holds_numbers(x, count) ||
      !holds_numbers(y, count) || !holds_numbers(&values->inputs[1], 1) ||
      (mask && !holds_numbers(mask, count))) {
    return differ(difference, "the model is not that of the suite", 0, 0);
  }
  const double keep = 1 - get(&values->inputs[1], 0);
  double kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double from = get(x, i), to = get(y, i), scaled = from / keep;
    const bool is_kept = to != 0 || (mask && from == 0 && get(mask, i) != 0);
    if (is_kept && !(fabs(to - scaled) <= 1e-7 + 1e-3 * fabs(scaled))) {
      return differ(difference, "expected 0 or %g, found %g", scaled, to);
    }
    if (mask && (get(mask, i) != 0) != is_kept) {
      return differ(difference, "the mask says %g where the output is %g", get(mask, i), to);
    }
    kept += is_kept;
  }
  return likely(kept, keep * (double)count, keep * (1 - keep) * (double)count, difference);
}

static const oc_drawn kDrawn[] = {
    {"onnx/node/test_bernoulli*", "0 or 1, possible, their sum within 4.5 deviations",
     "Bernoulli: \"may not produce the same values in different implementations even if a seed "
     "is specified\" (onnx/backend/test/case/node/bernoulli.py); ONNX's own run of the suite "
     "leaves them out (onnx/test/test_backend_reference.py)",
     check_bernoulli},
    {"onnx/node/test_training_dropout", "0 or scaled, their number within 4.5 deviations",
     "Dropout in training: the mask is drawn from numpy.random with seed 0 "
     "(onnx/backend/test/case/node/dropout.py); the operator fixes no generator",
     check_dropout},
    {"onnx/node/test_training_dropout_default",
     "0 or scaled, their number within 4.5 deviations", "as test_training_dropout",
     check_dropout},
    {"onnx/node/test_training_dropout*_mask",
     "0 or scaled, the mask agrees, and so their number", "as test_training_dropout",
     check_dropout},
};

const oc_drawn *oc_drawn_find(const char *id) {
  // With ratio 0 nothing is drawn: everything is kept.
  if (fnmatch("*zero_ratio*", id, 0) == 0) return NULL;
  for (size_t i = 0; i < sizeof kDrawn / sizeof *kDrawn; ++i) {
    if (fnmatch(kDrawn[i].pattern, id, 0) == 0) return &kDrawn[i];
  }
  return NULL;
}

bool oc_drawn_check(const oc_drawn *drawn, const oc_drawn_values *values,
                    oc_difference *difference) {
  const oc_closeness any = {0, (double)INFINITY};
  for (size_t i = 0; i < values->output_count; ++i) {
    if (!oc_allclose(&values->expected[i], &values->outputs[i], any, difference)) return false;
  }
  *difference = (oc_difference){.element = -1};
  return drawn->check(values, difference);
}

// SPDX-License-Identifier: Apache-2.0
//
// RandomNormal, RandomUniform, their Like forms, Bernoulli, Multinomial. Element i takes number
// i of the stream, in row-major order.
#include <math.h>

#include "dense.h"
#include "operators.h"
#include "random.h"
#include "type_sets.h"

// ---- RandomNormal, RandomUniform
// -------------------------------------------------------------

static int32_t prepare_shape(ref_prepare *p) {
  const ref_attribute *shape = ref_attr(p->kernel, "shape");
  if (shape == NULL || shape->kind != OPS_ATTRIBUTE_INTS || shape->count > OPS_MAX_RANK)
    return ref_refuse(p, "attribute shape: expected at most %d numbers", OPS_MAX_RANK);
  for (int64_t i = 0; i < shape->count; ++i)
    if (shape->ints[i] < 0)
      return ref_refuse(p, "attribute shape: entry %lld is %lld, expected at least 0",
                        (long long)i, (long long)shape->ints[i]);
  RETURN_IF_ERROR(ref_output_type(p, 0, "dtype", OPS_TYPE_FLOAT, REF_REALS));
  return ref_set_shape(p, 0, (int32_t)shape->count, shape->ints);
}

static int32_t prepare_like(ref_prepare *p) {
  RETURN_IF_ERROR(ref_output_type(p, 0, "dtype", p->inputs[0].type, REF_REALS));
  return ref_same_shape(p, 0, 0);
}

static void store_number(const ref_view *y, int64_t i, double value) {
  ref_store(y, ref_offset_of(y, i), 1, 1, &value);
}

static int32_t execute_normal(ref_run *run) {
  const ref_random random = ref_random_of(run->kernel);
  const ref_view *y = &run->outputs[0];
  double mean = ref_attr_float(run->kernel, "mean", 0);
  double scale = ref_attr_float(run->kernel, "scale", 1);
  for (int64_t i = 0; i < y->count; ++i)
    store_number(y, i, mean + scale * ref_random_normal(&random, (uint64_t)i));
  return OPS_OK;
}

static int32_t execute_uniform(ref_run *run) {
  const ref_random random = ref_random_of(run->kernel);
  const ref_view *y = &run->outputs[0];
  double low = ref_attr_float(run->kernel, "low", 0);
  double high = ref_attr_float(run->kernel, "high", 1);
  for (int64_t i = 0; i < y->count; ++i)
    store_number(y, i, low + (high - low) * ref_random_uniform(&random, (uint64_t)i));
  return OPS_OK;
}

const ref_op ref_random_normal_op = {0, prepare_shape, execute_normal, NULL, NULL};
const ref_op ref_random_normal_like = {0, prepare_like, execute_normal, NULL, NULL};
const ref_op ref_random_uniform_op = {0, prepare_shape, execute_uniform, NULL, NULL};
const ref_op ref_random_uniform_like = {0, prepare_like, execute_uniform, NULL, NULL};

// ---- Bernoulli
// -------------------------------------------------------------------------------

static int32_t prepare_bernoulli(ref_prepare *p) {
  RETURN_IF_ERROR(ref_output_type(p, 0, "dtype", p->inputs[0].type,
                                  REF_REALS | REF_INTEGERS | REF_BOOLEAN));
  return ref_same_shape(p, 0, 0);
}

static int32_t execute_bernoulli(ref_run *run) {
  const ref_random random = ref_random_of(run->kernel);
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  for (int64_t i = 0; i < x->count; ++i) {
    double p = ref_at(x, ref_offset_of(x, i));
    if (!(p >= 0 && p <= 1))
      return ref_refuse(run, "input input: element %lld is %g, expected 0 to 1", (long long)i,
                        p);
  }
  for (int64_t i = 0; i < x->count; ++i)
    store_number(y, i,
                 ref_random_uniform(&random, (uint64_t)i) < ref_at(x, ref_offset_of(x, i)));
  return OPS_OK;
}

const ref_op ref_bernoulli = {0, prepare_bernoulli, execute_bernoulli, NULL, NULL};

// ---- Multinomial
// -----------------------------------------------------------------------------

static int32_t prepare_multinomial(ref_prepare *p) {
  uint64_t *sums_at = p->state;
  RETURN_IF_ERROR(ref_need_rank(p, 0, 2, 2));
  int64_t samples = ref_attr_int(p->kernel, "sample_size", 1);
  if (samples < 1)
    return ref_refuse(p, "attribute sample_size: expected at least 1, found %lld",
                      (long long)samples);
  if (p->inputs[0].dims[1] < 1) return ref_refuse(p, "input input: there is no class");
  RETURN_IF_ERROR(ref_output_type(p, 0, "dtype", OPS_TYPE_INT32, REF_INDICES));
  *sums_at = ref_reserve_reals(p, p->inputs[0].dims[1]);
  return ref_set_shape(p, 0, 2, (int64_t[]){p->inputs[0].dims[0], samples});
}

// Running sums of the probabilities of a row of logarithms, up to a common factor.
static void accumulate(const ref_view *x, int64_t row, double *sums) {
  double high = -INFINITY, sum = 0;
  int64_t n = x->dims[1];
  ref_load(x, row * x->strides[0], x->strides[1], n, sums);
  for (int64_t c = 0; c < n; ++c) high = sums[c] > high ? sums[c] : high;
  for (int64_t c = 0; c < n; ++c)
    sums[c] = sum += sums[c] == high ? 1 : ref_portable_exp(sums[c] - high);
}

static int64_t pick(const double *sums, int64_t n, double uniform) {
  double at = uniform * sums[n - 1];
  int64_t low = 0, high = n - 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (sums[middle] > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static int32_t execute_multinomial(ref_run *run) {
  const uint64_t *sums_at = run->state;
  const ref_random random = ref_random_of(run->kernel);
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  double *sums = ref_reals(run, *sums_at);
  for (int64_t row = 0; row < y->dims[0]; ++row) {
    accumulate(x, row, sums);
    for (int64_t i = 0; i < y->dims[1]; ++i) {
      double u = ref_random_uniform(&random, (uint64_t)(row * y->dims[1] + i));
      int64_t class = pick(sums, x->dims[1], u);
      ref_store_int(y, row * y->strides[0] + i * y->strides[1], 1, 1, &class);
    }
  }
  return OPS_OK;
}

const ref_op ref_multinomial = {sizeof(uint64_t), prepare_multinomial, execute_multinomial,
                                NULL, NULL};

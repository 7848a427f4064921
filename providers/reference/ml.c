// SPDX-License-Identifier: Apache-2.0
//
// Transforms: LOGISTIC and PROBIT act on each score, SOFTMAX and SOFTMAX_ZERO on a row. PROBIT
// is the inverse of the normal distribution function: a rational start (P. J. Acklam, relative
// error 1.2e-9) and one step of Halley's method with erfc.
#include "ml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- Parameters ----------------------------------------------------------------------------

static int32_t keep_tensor(ref_prepare *p, const ref_attribute *attribute, const char *name,
                           double *to) {
  const ref_view *view = attribute->tensor;
  if (view == NULL || view->element->load == NULL || view->rank > 1)
    return ref_refuse(p, "attribute %s: expected numbers in a tensor of rank 1", name);
  if (view->count > 0)
    ref_load(view, 0, view->rank == 1 ? view->strides[0] : 1, view->count, to);
  return OPS_OK;
}

int32_t ref_ml_reals(ref_prepare *p, const char *name, const double **out, int64_t *out_count) {
  char tensor_name[64];
  snprintf(tensor_name, sizeof tensor_name, "%s_as_tensor", name);
  const ref_attribute *a = ref_attr(p->kernel, name);
  if (a == NULL || (a->count == 0 && a->kind != OPS_ATTRIBUTE_TENSOR)) {
    const ref_attribute *other = ref_attr(p->kernel, tensor_name);
    if (other != NULL) a = other;
  }
  *out_count = 0;
  *out = NULL;
  if (a == NULL) return OPS_OK;
  int64_t count =
      a->kind == OPS_ATTRIBUTE_TENSOR ? (a->tensor ? a->tensor->count : 0) : a->count;
  void *memory;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)count, sizeof(double), &memory));
  double *values = memory;
  *out = values;
  *out_count = count;
  if (a->kind == OPS_ATTRIBUTE_TENSOR) return keep_tensor(p, a, name, values);
  for (int64_t i = 0; i < count; ++i)
    values[i] = a->floats != NULL ? (double)a->floats[i] : a->ints ? (double)a->ints[i] : 0;
  return OPS_OK;
}

int32_t ref_ml_need_count(const ref_prepare *p, const char *name, int64_t count,
                          int64_t expected) {
  if (count == expected) return OPS_OK;
  return ref_refuse(p, "attribute %s: expected %lld entries, found %lld", name,
                    (long long)expected, (long long)count);
}

// ---- Rows ----------------------------------------------------------------------------------

int32_t ref_ml_batch(const ref_prepare *p, int64_t *out_rows, int64_t *out_features) {
  const ref_shape *x = &p->inputs[0];
  RETURN_IF_ERROR(ref_need_rank(p, 0, 1, 2));
  *out_rows = x->rank == 2 ? x->dims[0] : 1;
  *out_features = x->dims[x->rank - 1];
  return OPS_OK;
}

int64_t ref_ml_row_count(const ref_view *x) {
  return x->rank == 2 ? x->dims[0] : 1;
}

void ref_ml_load_row(const ref_view *x, int64_t row, double *out) {
  int64_t features = x->dims[x->rank - 1];
  if (features == 0) return;
  ref_load(x, x->rank == 2 ? row * x->strides[0] : 0, x->strides[x->rank - 1], features, out);
}

void ref_ml_store_row(const ref_view *y, int64_t row, int64_t count, const double *in) {
  if (y->present && count > 0)
    ref_store(y, row * y->strides[0], y->rank == 2 ? y->strides[1] : 1, count, in);
}

// ---- Labels --------------------------------------------------------------------------------

int32_t ref_labels_read(ref_prepare *p, const char *ints, const char *strings, int64_t rows,
                        ref_labels *out) {
  int64_t int_count, string_count;
  out->ints = ref_attr_ints(p->kernel, ints, &int_count);
  out->strings = ref_attr_strings(p->kernel, strings, &string_count);
  if (int_count > 0 && string_count > 0)
    return ref_refuse(p, "attributes %s and %s: expected one of them, found both", ints,
                      strings);
  if (string_count == 0) out->strings = NULL;
  out->count = int_count + string_count;
  p->outputs[0].type = string_count > 0 ? OPS_TYPE_STRING : OPS_TYPE_INT64;
  return ref_set_shape(p, 0, 1, &rows);
}

int32_t ref_labels_write(const ref_run *run, const ref_labels *labels, int64_t row,
                         int64_t which) {
  const ref_view *y = &run->outputs[0];
  if (!y->present) return OPS_OK;
  int known = which >= 0 && which < labels->count;
  if (y->type == OPS_TYPE_STRING)
    return y->values->string_set(y->value, (uint64_t)row,
                                 known ? labels->strings[which] : (ops_str){NULL, 0},
                                 run->error);
  int64_t label = known ? labels->ints[which] : which;
  ref_store_int(y, row * y->strides[0], 1, 1, &label);
  return OPS_OK;
}

int32_t ref_labels_write_binary(const ref_run *run, const ref_labels *labels, int64_t row,
                                int positive) {
  if (labels->count != 1) return ref_labels_write(run, labels, row, positive);
  if (positive) return ref_labels_write(run, labels, row, 0);
  return ref_labels_write(run, &(ref_labels){NULL, NULL, 0}, row, 0);
}

// ---- Transforms ----------------------------------------------------------------------------

static const char *const transform_names[REF_TRANSFORM_COUNT] = {"NONE", "SOFTMAX", "LOGISTIC",
                                                                 "SOFTMAX_ZERO", "PROBIT"};

int32_t ref_transform_read(const ref_prepare *p, int32_t *out) {
  for (int32_t i = 0; i < REF_TRANSFORM_COUNT; ++i)
    if (ref_attr_is(p->kernel, "post_transform", transform_names[i], "NONE")) {
      *out = i;
      return OPS_OK;
    }
  return ref_refuse(p,
                    "attribute post_transform: expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO "
                    "or PROBIT");
}

static double polynomial(const double *c, int n, double x) {
  double sum = c[0];
  for (int i = 1; i < n; ++i) sum = sum * x + c[i];
  return sum;
}

static double probit(double p) {
  static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                             -2.759285104469687e+02, 1.383577518672690e+02,
                             -3.066479806614716e+01, 2.506628277459239e+00};
  static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                             -1.556989798598866e+02, 6.680131188771972e+01,
                             -1.328068155288572e+01, 1};
  static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                             -2.400758277161838e+00, -2.549732539343734e+00,
                             4.374664141464968e+00,  2.938163982698783e+00};
  static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01,
                             2.445134137142996e+00, 3.754408661907416e+00, 1};
  if (!(p > 0 && p < 1)) return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
  if (p > 0.5) return -probit(1 - p);
  double x;
  if (p < 0.02425) {
    double q = sqrt(-2 * log(p));
    x = polynomial(c, 6, q) / polynomial(d, 5, q);
  } else {
    double q = p - 0.5, r = q * q;
    x = polynomial(a, 6, r) * q / polynomial(b, 6, r);
  }
  double error = 0.5 * erfc(-x / M_SQRT2) - p;
  double u = error * sqrt(2 * M_PI) * exp(x * x / 2);
  return x - u / (1 + x * u / 2);
}

static void softmax(double *s, int64_t n, int keep_zeros) {
  double most = s[ref_largest(s, n)], sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    int zero = keep_zeros && fabs(s[i]) <= 1e-7;
    s[i] = zero ? s[i] * exp(-most) : exp(s[i] - most);
    sum += s[i];
  }
  for (int64_t i = 0; i < n; ++i) s[i] = sum == 0 ? 0.5 : s[i] / sum;
}

void ref_transform_apply(int32_t transform, double *s, int64_t n) {
  if (n == 0) return;
  if (transform == REF_TRANSFORM_SOFTMAX || transform == REF_TRANSFORM_SOFTMAX_ZERO)
    softmax(s, n, transform == REF_TRANSFORM_SOFTMAX_ZERO);
  for (int64_t i = 0; i < n; ++i) {
    if (transform == REF_TRANSFORM_LOGISTIC) s[i] = 1 / (1 + exp(-s[i]));
    if (transform == REF_TRANSFORM_PROBIT) s[i] = probit(s[i]);
  }
}

int64_t ref_largest(const double *values, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i)
    if (values[i] > values[best]) best = i;
  return best;
}

// SPDX-License-Identifier: Apache-2.0
//
// Adagrad, Adam, Momentum: one step for any number of tensors. Inputs are R, T, then groups of
// one tensor each: values, gradients, accumulators; outputs are the values and accumulators.
#include <math.h>

#include "operators.h"

enum { RATE, COUNT, FIRST };

typedef struct rates {
  double rate;   // R
  double count;  // T
  double norm, alpha, beta, epsilon, decay, post;
  int32_t nesterov;
} rates;

// One element: x, gradient, up to two accumulators, updated in place.
typedef struct method {
  uint64_t accumulators;
  void (*step)(const rates *r, double *x, double gradient, double *accumulators);
  float alpha, beta;  // defaults
} method;

static void adagrad(const rates *r, double *x, double gradient, double *h) {
  double rate = r->rate / (1 + r->count * r->decay), g = r->norm * *x + gradient;
  h[0] += g * g;
  *x -= rate * g / (sqrt(h[0]) + r->epsilon);
}

static void adam(const rates *r, double *x, double gradient, double *a) {
  double g = r->norm * *x + gradient, rate = r->rate;
  a[0] = r->alpha * a[0] + (1 - r->alpha) * g;
  a[1] = r->beta * a[1] + (1 - r->beta) * g * g;
  if (r->count > 0) rate *= sqrt(1 - pow(r->beta, r->count)) / (1 - pow(r->alpha, r->count));
  *x = (1 - r->post) * (*x - rate * a[0] / (sqrt(a[1]) + r->epsilon));
}

static void momentum(const rates *r, double *x, double gradient, double *v) {
  double g = r->norm * *x + gradient, beta = r->count > 0 ? r->beta : 1;
  v[0] = r->alpha * v[0] + beta * g;
  *x -= r->rate * (r->nesterov ? g + r->alpha * v[0] : v[0]);
}

static int same_shape(const ref_shape *a, const ref_shape *b) {
  int same = a->present && b->present && a->rank == b->rank && a->type == b->type;
  for (int32_t i = 0; same && i < a->rank; ++i) same = a->dims[i] == b->dims[i];
  return same;
}

static int32_t prepare(ref_prepare *p) {
  const method *m = p->kernel->op->family;
  uint64_t groups = 2 + m->accumulators, count = (p->input_count - FIRST) / groups;
  if (p->input_count <= FIRST || (p->input_count - FIRST) % groups != 0 ||
      p->output_count != count * (1 + m->accumulators))
    return ref_refuse(p,
                      "expected R, T and %u tensors for each that is updated, and %u outputs",
                      (unsigned)groups, (unsigned)(1 + m->accumulators));
  for (uint64_t i = 0; i < FIRST; ++i)
    if (ref_count(p->inputs[i].dims, p->inputs[i].rank) != 1)
      return ref_refuse(p, "input %s: expected one number", ref_input_name(p->kernel, i));
  for (uint64_t i = 0; i < groups * count; ++i)
    if (!same_shape(&p->inputs[FIRST + i], &p->inputs[FIRST + i % count]))
      return ref_refuse(p, "input %u: expected the type and shape of input %u",
                        (unsigned)(FIRST + i), (unsigned)(FIRST + i % count));
  if (m->step == momentum && !ref_attr_is(p->kernel, "mode", "standard", "") &&
      !ref_attr_is(p->kernel, "mode", "nesterov", ""))
    return ref_refuse(p, "attribute mode: expected standard or nesterov");
  for (uint64_t i = 0; i < p->output_count; ++i) {
    p->outputs[i].type = p->inputs[FIRST + i % count].type;
    RETURN_IF_ERROR(ref_same_shape(p, i, FIRST + i % count));
  }
  return OPS_OK;
}

static rates read_rates(const ref_run *run, const method *m) {
  const ops_kernel *k = run->kernel;
  return (rates){.rate = ref_at(&run->inputs[RATE], 0),
                 .count = ref_at(&run->inputs[COUNT], 0),
                 .norm = ref_attr_float(k, "norm_coefficient", 0),
                 .alpha = ref_attr_float(k, "alpha", m->alpha),
                 .beta = ref_attr_float(k, "beta", m->beta),
                 .epsilon = ref_attr_float(k, "epsilon", 1e-6f),
                 .decay = ref_attr_float(k, "decay_factor", 0),
                 .post = ref_attr_float(k, "norm_coefficient_post", 0),
                 .nesterov = ref_attr_is(k, "mode", "nesterov", "standard")};
}

static double read(const ref_view *view, int64_t i) {
  return ref_at(view, ref_offset_of(view, i));
}

static int32_t execute(ref_run *run) {
  const method *m = run->kernel->op->family;
  const rates r = read_rates(run, m);
  uint64_t count = (run->input_count - FIRST) / (2 + m->accumulators);
  for (uint64_t tensor = 0; tensor < count; ++tensor) {
    const ref_view *in = run->inputs + FIRST + tensor, *out = run->outputs + tensor;
    for (int64_t i = 0; i < in->count; ++i) {
      double x[3] = {read(&in[0], i)};
      for (uint64_t k = 0; k < m->accumulators; ++k) x[1 + k] = read(&in[(2 + k) * count], i);
      m->step(&r, &x[0], read(&in[count], i), &x[1]);
      for (uint64_t k = 0; k <= m->accumulators; ++k)
        if (out[k * count].present)
          ref_store(&out[k * count], ref_offset_of(&out[k * count], i), 1, 1, &x[k]);
    }
  }
  return OPS_OK;
}

static const method adagrad_method = {1, adagrad, 0, 0};
static const method adam_method = {2, adam, 0.9f, 0.999f};
static const method momentum_method = {1, momentum, 0, 0};
const ref_op ref_adagrad = {0, prepare, execute, &adagrad_method, NULL};
const ref_op ref_adam = {0, prepare, execute, &adam_method, NULL};
const ref_op ref_momentum = {0, prepare, execute, &momentum_method, NULL};

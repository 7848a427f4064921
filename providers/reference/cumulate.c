// SPDX-License-Identifier: Apache-2.0
//
// CumSum and CumProd: running sums and products along an axis, which is an input. In floating
// point the running value stays in double; each result is rounded once.
#include "operators.h"
#include "traverse.h"

typedef struct cumulate_state {
  int32_t axis;
  int32_t exclusive, reverse;
} cumulate_state;

static int32_t prepare(ref_prepare *p) {
  cumulate_state *s = p->state;
  int64_t axis = 0, count;
  RETURN_IF_ERROR(ref_contents(p, 1, &axis, 1, &count));
  if (count != 1) return ref_refuse(p, "input axis: expected one number, found none");
  RETURN_IF_ERROR(ref_axis(p, axis, p->inputs[0].rank, &s->axis));
  s->exclusive = ref_attr_int(p->kernel, "exclusive", 0) != 0;
  s->reverse = ref_attr_int(p->kernel, "reverse", 0) != 0;
  return ref_same_shape(p, 0, 0);
}

typedef struct cumulate_job {
  const ref_run *run;
  int product;
} cumulate_job;

static int32_t run_line(void *context, const int64_t *offsets) {
  const cumulate_job *job = context;
  const cumulate_state *s = job->run->state;
  const ref_view *x = &job->run->inputs[0], *y = &job->run->outputs[0];
  int64_t n = x->dims[s->axis];
  double total = job->product;
  uint64_t exact = (uint64_t)job->product;
  for (int64_t k = 0; k < n; ++k) {
    int64_t i = s->reverse ? n - 1 - k : k;
    int64_t from = offsets[0] + i * x->strides[s->axis];
    int64_t to = offsets[1] + i * y->strides[s->axis];
    double before = total;
    uint64_t exact_before = exact;
    if (ref_is_integer(x)) {
      uint64_t v = (uint64_t)ref_int_at(x, from);
      exact = job->product ? exact * v : exact + v;
      int64_t out = (int64_t)(s->exclusive ? exact_before : exact);
      ref_store_int(y, to, 1, 1, &out);
    } else {
      double v = ref_at(x, from);
      total = job->product ? total * v : total + v;
      ref_store(y, to, 1, 1, s->exclusive ? &before : &total);
    }
  }
  return OPS_OK;
}

static int32_t run_all(ref_run *run, int product) {
  const cumulate_state *s = run->state;
  cumulate_job job = {run, product};
  return ref_each_line((const ref_view *[]){&run->inputs[0], &run->outputs[0]}, 2, s->axis,
                       run_line, &job);
}

static int32_t execute_sum(ref_run *run) {
  return run_all(run, 0);
}

static int32_t execute_product(ref_run *run) {
  return run_all(run, 1);
}

const ref_op ref_cum_sum = {sizeof(cumulate_state), prepare, execute_sum, NULL, NULL};
const ref_op ref_cum_prod = {sizeof(cumulate_state), prepare, execute_product, NULL, NULL};

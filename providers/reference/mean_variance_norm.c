// SPDX-License-Identifier: Apache-2.0
//
// MeanVarianceNormalization: (X - mean) / (standard deviation + 1e-9) over `axes`, and
// LpNormalization: X / its L1 or L2 norm along an axis, 0 where the norm is 0.
#include <math.h>

#include "norm.h"
#include "operators.h"
#include "traverse.h"

typedef struct mvn_state {
  uint64_t reduced;
} mvn_state;

static int32_t prepare_mvn(ref_prepare *p) {
  mvn_state *s = p->state;
  int32_t axes[OPS_MAX_RANK] = {0, 2, 3}, count, rank = p->inputs[0].rank;
  int given;
  RETURN_IF_ERROR(ref_axes(p, 1, rank, axes, &count, &given));
  if (!given) {
    RETURN_IF_ERROR(ref_need_rank(p, 0, 4, OPS_MAX_RANK));
    s->reduced = 1u << 0 | 1u << 2 | 1u << 3;
  }
  for (int32_t i = 0; i < count; ++i) s->reduced |= (uint64_t)1 << axes[i];
  return ref_same_shape(p, 0, 0);
}

static void take_dimension(ref_norm *norm, const ref_run *run, int32_t i) {
  norm->dims[norm->rank] = run->inputs[0].dims[i];
  norm->x.strides[norm->rank] = run->inputs[0].strides[i];
  norm->y.strides[norm->rank++] = run->outputs[0].strides[i];
}

static int32_t execute_mvn(ref_run *run) {
  const mvn_state *s = run->state;
  ref_norm norm = {.center = 1, .epsilon = 1e-9, .epsilon_outside = 1};
  norm.x.view = &run->inputs[0];
  norm.y.view = &run->outputs[0];
  for (int32_t i = 0; i < norm.x.view->rank; ++i)
    if (!(s->reduced >> i & 1)) take_dimension(&norm, run, i);
  norm.lead = norm.rank;
  for (int32_t i = 0; i < norm.x.view->rank; ++i)
    if (s->reduced >> i & 1) take_dimension(&norm, run, i);
  ref_norm_run(run, &norm);
  return OPS_OK;
}

typedef struct lp_state {
  int32_t axis;
  int32_t p;
} lp_state;

static int32_t prepare_lp(ref_prepare *p) {
  lp_state *s = p->state;
  int64_t order = ref_attr_int(p->kernel, "p", 2);
  if (order != 1 && order != 2)
    return ref_refuse(p, "attribute p: expected 1 or 2, found %lld", (long long)order);
  s->p = (int32_t)order;
  RETURN_IF_ERROR(
      ref_axis(p, ref_attr_int(p->kernel, "axis", -1), p->inputs[0].rank, &s->axis));
  return ref_same_shape(p, 0, 0);
}

static int32_t run_line(void *context, const int64_t *offsets) {
  const ref_run *run = context;
  const lp_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int64_t n = x->dims[s->axis], step = x->strides[s->axis];
  double norm = 0;
  for (int64_t i = 0; i < n; ++i) {
    double v = ref_at(x, offsets[0] + i * step);
    norm += s->p == 1 ? fabs(v) : v * v;
  }
  if (s->p == 2) norm = sqrt(norm);
  for (int64_t i = 0; i < n; ++i) {
    double v = norm == 0 ? 0 : ref_at(x, offsets[0] + i * step) / norm;
    ref_store(y, offsets[1] + i * y->strides[s->axis], 1, 1, &v);
  }
  return OPS_OK;
}

static int32_t execute_lp(ref_run *run) {
  const lp_state *s = run->state;
  return ref_each_line((const ref_view *[]){&run->inputs[0], &run->outputs[0]}, 2, s->axis,
                       run_line, run);
}

const ref_op ref_mean_variance_normalization = {sizeof(mvn_state), prepare_mvn, execute_mvn,
                                                NULL, NULL};
const ref_op ref_lp_normalization = {sizeof(lp_state), prepare_lp, execute_lp, NULL, NULL};

// SPDX-License-Identifier: Apache-2.0
//
// InstanceNormalization and GroupNormalization, which is the former with channels taken
// together. The input [N, C, …] is seen as [N, groups, C / groups, …]. Scale and bias are per
// channel; of GroupNormalization before opset 21 they are per group.
#include "norm.h"
#include "operators.h"

typedef struct group_state {
  double epsilon;
  int64_t groups;
  int32_t by_group;
} group_state;

static int32_t check_parameters(ref_prepare *p, int64_t count) {
  for (uint64_t i = 1; i <= 2; ++i)
    if (p->inputs[i].rank != 1 || p->inputs[i].dims[0] != count)
      return ref_refuse(p, "input %s: expected the shape [%lld]", ref_input_name(p->kernel, i),
                        (long long)count);
  return ref_same_shape(p, 0, 0);
}

static int32_t prepare_instance(ref_prepare *p) {
  group_state *s = p->state;
  RETURN_IF_ERROR(ref_need_rank(p, 0, 3, OPS_MAX_RANK - 1));
  s->epsilon = ref_attr_float(p->kernel, "epsilon", 1e-5f);
  s->groups = p->inputs[0].dims[1];
  return check_parameters(p, s->groups);
}

static int32_t prepare_group(ref_prepare *p) {
  group_state *s = p->state;
  RETURN_IF_ERROR(ref_need_rank(p, 0, 2, OPS_MAX_RANK - 1));
  s->epsilon = ref_attr_float(p->kernel, "epsilon", 1e-5f);
  s->groups = ref_attr_int(p->kernel, "num_groups", 0);
  s->by_group = p->kernel->opset < 21;
  int64_t channels = p->inputs[0].dims[1];
  if (s->groups < 1 || channels % s->groups != 0)
    return ref_refuse(p,
                      "attribute num_groups: expected a divisor of %lld channels, found %lld",
                      (long long)channels, (long long)s->groups);
  return check_parameters(p, s->by_group ? s->groups : channels);
}

static void set_operand(ref_norm_operand *operand, const ref_view *view, int64_t size) {
  operand->view = view;
  operand->strides[0] = view->strides[0];
  operand->strides[1] = view->strides[1] * size;
  for (int32_t i = 1; i < view->rank; ++i) operand->strides[i + 1] = view->strides[i];
}

static void set_parameter(ref_norm_operand *operand, const ref_view *view, int64_t size,
                          int by_group) {
  operand->view = view;
  operand->strides[1] = view->strides[0] * (by_group ? 1 : size);
  operand->strides[2] = by_group ? 0 : view->strides[0];
}

static int32_t execute(ref_run *run) {
  const group_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  if (x->count == 0) return OPS_OK;
  int64_t size = x->dims[1] / s->groups;
  ref_norm norm = {.rank = x->rank + 1, .lead = 2, .center = 1, .epsilon = s->epsilon};
  norm.dims[0] = x->dims[0];
  norm.dims[1] = s->groups;
  norm.dims[2] = size;
  for (int32_t i = 2; i < x->rank; ++i) norm.dims[i + 1] = x->dims[i];
  set_operand(&norm.x, x, size);
  set_operand(&norm.y, &run->outputs[0], size);
  set_parameter(&norm.scale, &run->inputs[1], size, s->by_group);
  set_parameter(&norm.bias, &run->inputs[2], size, s->by_group);
  ref_norm_run(run, &norm);
  return OPS_OK;
}

const ref_op ref_instance_normalization = {sizeof(group_state), prepare_instance, execute, NULL,
                                           NULL};
const ref_op ref_group_normalization = {sizeof(group_state), prepare_group, execute, NULL,
                                        NULL};

// SPDX-License-Identifier: Apache-2.0
//
// Softmax, LogSoftmax and Hardmax. Up to opset 12 a line is all dimensions from the axis on,
// from 13 the axis alone. A group walks each line twice: once for the largest element and the
// sum of exponentials, once to write.
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdio.h>

#include "softmax.h"

static int32_t parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                     ops_error *error) {
  (void)def;
  (void)error;
  *(int64_t *)attributes = ops_node_int(node, "axis", node->opset < 13 ? 1 : -1);
  return OPS_OK;
}

// The axes along which a line runs.
static uint64_t find_line(const ops_kernel *kernel, gpu_plan *plan, int32_t rank) {
  const int64_t axis = *(const int64_t *)kernel->attributes;
  const uint64_t all = (UINT64_C(1) << rank) - 1;
  // A scalar is its own only line; the old form may split behind the last axis.
  if (rank == 0 && (axis == 0 || axis == -1)) return 0;
  if (kernel->opset < 13 && axis == rank) return 0;
  const int32_t at = gpu_axis_resolve(plan, axis, rank);
  return kernel->opset < 13 ? all & ~((UINT64_C(1) << at) - 1) : UINT64_C(1) << at;
}

static void plan_softmax(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = ops_request_input(plan->request, 0)->type;
  char name[64];
  gpu_lines lines;
  const uint64_t line = find_line(kernel, plan, x->rank);
  gpu_plan_output(plan, 0, x->type, x->rank, x->dims);
  gpu_lines_cut(plan, x->rank, x->dims, line, &lines);
  if (plan->status != OPS_OK) return;
  gpu_step *step = gpu_plan_step(plan, &gpu_lines_source, "softmax");
  snprintf(name, sizeof name, "OP_%.*s", OPS_STR_FMT(kernel->def->op));
  gpu_define(step, name, "1");
  gpu_define(step, "IS_LAST", "0");
  gpu_define_type(step, "T", x->type);
  gpu_define_type(step, "TO", x->type);
  gpu_define(step, "ACC", "%s", gpu_accumulator(x->type));
  gpu_lines_define(step, &lines);
  gpu_arg_input(step, 0);
  gpu_arg_output(step, 0);
  gpu_lines_arg(step, &lines);
  gpu_lines_grid(step, &lines, lines.inner.count > 0);
}

const gpu_op gpu_softmax = {
    .attribute_bytes = sizeof(int64_t), .parse = parse, .plan = plan_softmax};

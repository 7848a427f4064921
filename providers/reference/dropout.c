// SPDX-License-Identifier: Apache-2.0
//
// Dropout in inference: the input, and a mask that is true everywhere. Training mode with a
// ratio above 0 is random and refused when it is asked for.

#include "operators.h"

static int32_t prepare(ref_prepare *p) {
  for (uint64_t i = 1; i <= 2; ++i)
    if (ref_has(p, i) && ref_count(p->inputs[i].dims, p->inputs[i].rank) != 1)
      return ref_refuse(p, "input %s: expected a scalar, found rank %d",
                        ref_input_name(p->kernel, i), p->inputs[i].rank);
  if (p->output_count > 1) {
    p->outputs[1].type = p->kernel->opset < 10 ? p->inputs[0].type : OPS_TYPE_BOOL;
    RETURN_IF_ERROR(ref_same_shape(p, 1, 0));
  }
  return ref_same_shape(p, 0, 0);
}

static int is_random(const ref_run *run) {
  int training =
      ref_given(run, 2) && run->inputs[2].count == 1 && ref_int_at(&run->inputs[2], 0) != 0;
  double ratio =
      ref_given(run, 1) && run->inputs[1].count == 1 ? ref_at(&run->inputs[1], 0) : 0.5;
  return training && ratio != 0;
}

static int32_t execute(ref_run *run) {
  if (is_random(run))
    return ref_refuse(run,
                      "input training_mode: expected false, or a ratio of 0; random dropout "
                      "is not supported");
  RETURN_IF_ERROR(ref_copy_elements(run, &run->inputs[0], &run->outputs[0]));
  if (!ref_wanted(run, 1)) return OPS_OK;
  const ref_view *mask = &run->outputs[1];
  const double one = 1;
  for (int64_t i = 0; i < mask->count; ++i) ref_store(mask, ref_offset_of(mask, i), 1, 1, &one);
  return OPS_OK;
}

// The contents of a constant scalar input, or `otherwise`.
static double constant_of(const ops_node *node, uint64_t input, double otherwise) {
  if (input >= node->input_count) return otherwise;
  const ops_operand *operand =
      (const void *)((const char *)node->inputs + input * node->input_stride);
  ref_view view;
  if (operand->constant == NULL ||
      ref_view_init(&view, &operand->constant->dense, NULL) != OPS_OK || view.count != 1)
    return otherwise;
  return ref_at(&view, 0);
}

static const char *refuse(const ops_node *node) {
  const ops_operand *mode = (const void *)((const char *)node->inputs + 2 * node->input_stride);
  if (node->input_count < 3 || mode->type == NULL) return NULL;
  if (constant_of(node, 2, 1) == 0 || constant_of(node, 1, 0.5) == 0) return NULL;
  return "input training_mode must be a constant false, or the ratio a constant 0; random "
         "dropout is not supported";
}

const ref_op ref_dropout = {0, prepare, execute, NULL, refuse};

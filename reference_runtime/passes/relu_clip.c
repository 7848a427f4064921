// SPDX-License-Identifier: Apache-2.0
//
// Relu before or after Clip is a bound of the Clip. With the lower bound raised to 0, and in
// the second case the upper one too, every value, NaN and -0 included, comes out the same: both
// operators keep what is not below their bound.
#include "passes/pass.h"

static const char *const roots[] = {"Clip", "Relu", NULL};

#define LOWEST (-INFINITY)

// The bound, `missing` if there is none. 0 if it is not constant.
static int read_bound(const rt_node *clip, const char *name, uint32_t index, double missing,
                      double *out_bound) {
  const rt_value *value = rt_node_input(clip, index);
  *out_bound = rt_attrs_float(&clip->op.attrs, name, (float)missing);
  return !value || rt_pass_scalar(value, out_bound);
}

static int32_t set_bound(rt_pass_context *context, rt_node *clip, const char *name,
                         uint32_t index, double bound, ops_error *error) {
  rt_value *value, *old = rt_node_input(clip, index);
  (void)context;
  if (clip->op.opset < 11) return rt_node_set_attr_float(clip, name, (float)bound, error);
  OPS_RETURN_IF_ERROR(rt_pass_add_scalar(clip->graph, name, rt_pass_elem(clip->operands[0]), 0,
                                         bound, &value, error));
  if (clip->input_count <= index)
    OPS_RETURN_IF_ERROR(rt_node_set_input_count(clip, index + 1, error));
  OPS_RETURN_IF_ERROR(rt_node_set_operand(clip, index, value, error));
  return rt_pass_drop_value(old, error);
}

static int is_plain_float(const rt_value *value) {
  const int32_t type = rt_pass_elem(value);
  return type == OPS_TYPE_FLOAT || type == OPS_TYPE_DOUBLE || type == OPS_TYPE_FLOAT16;
}

static const char *check(const rt_node *clip, double *out_low, double *out_high) {
  if (!is_plain_float(clip->operands[0])) return "the type is not floating-point";
  if (!read_bound(clip, "min", 1, LOWEST, out_low)) return "min is not constant";
  if (!read_bound(clip, "max", 2, INFINITY, out_high)) return "max is not constant";
  return isnan(*out_low) || isnan(*out_high) ? "a bound is NaN" : NULL;
}

static int32_t fuse(rt_pass_context *context, rt_node *relu, rt_node *clip, ops_error *error) {
  double low, high;
  const int relu_last = rt_node_precedes(clip, relu);
  const rt_node *first = relu_last ? clip : relu, *second = relu_last ? relu : clip;
  const char *why = check(clip, &low, &high);
  // There everything becomes 0, of a sign that a Clip to [0, 0] does not give.
  if (!why && relu_last && high < 0) why = "max is negative";
  if (why) {
    rt_pass_miss(context, "%s '%s' + %s '%s': not merged, %s", first->op.name, first->name,
                 second->op.name, second->name, why);
    return OPS_OK;
  }
  rt_pass_hit(context, "%s '%s' + %s '%s': merged into Clip", first->op.name, first->name,
              second->op.name, second->name);
  if (low < 0) OPS_RETURN_IF_ERROR(set_bound(context, clip, "min", 1, 0, error));
  OPS_RETURN_IF_ERROR(rt_pass_absorb(clip, relu, error));
  if (relu_last) return rt_pass_replace(context, relu, clip->outputs[0], error);
  OPS_RETURN_IF_ERROR(rt_node_set_operand(clip, 0, relu->operands[0], error));
  return rt_pass_drop(context, relu, error);
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  rt_node *next;
  if (rt_pass_is(node, "Relu") && rt_node_input(node, 0) &&
      (next = rt_pass_next(node, "Clip")) && rt_node_input(next, 0) == node->outputs[0])
    return fuse(context, node, next, error);
  if (rt_pass_is(node, "Clip") && rt_node_input(node, 0) && (next = rt_pass_next(node, "Relu")))
    return fuse(context, next, node, error);
  return OPS_OK;
}

const rt_pass rt_pass_relu_clip = {.roots = roots, .visit = visit};

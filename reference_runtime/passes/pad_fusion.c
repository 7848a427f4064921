// SPDX-License-Identifier: Apache-2.0
//
// A Pad before a window is the window's own padding.
//
// - Conv leaves padding out of its sums, a Pad puts zeros in: the same, unless a weight is
//   infinite or NaN, so weights must be constant and finite.
// - MaxPool's padding is -infinity, so the Pad's value must be.
// - AveragePool with count_include_pad counts zeros; if it did not pad itself, it did not
// matter
//   whether it counts.
#include <stdlib.h>
#include <string.h>

#include "passes/pass.h"

static const char *const roots[] = {"Conv", "MaxPool", "AveragePool", NULL};

// What a Pad adds, for each axis; NULL, or why it cannot be said.
static const char *read_pad(const rt_node *pad, int64_t *out_begin, int64_t *out_end,
                            double *out_value) {
  int64_t pads[2 * OPS_MAX_RANK], axes[OPS_MAX_RANK];
  const int32_t rank = rt_pass_rank(rt_node_input(pad, 0));
  const int64_t count = rt_pass_ints(pad, "pads", 1, pads, 2 * OPS_MAX_RANK);
  int64_t listed = rank;
  if (rank < 0) return "the rank is not known";
  if (rt_attrs_find(&pad->op.attrs, "mode") &&
      !rt_attrs_string_is(&pad->op.attrs, "mode", "constant"))
    return "its mode is not constant";
  if (count < 0) return "pads are not constant";
  for (int32_t i = 0; i < rank; ++i) axes[i] = i;
  if (rt_node_input(pad, 3)) listed = rt_pass_ints(pad, "", 3, axes, OPS_MAX_RANK);
  if (listed < 0 || count != 2 * listed) return "axes are not constant";
  memset(out_begin, 0, OPS_MAX_RANK * sizeof *out_begin);
  memset(out_end, 0, OPS_MAX_RANK * sizeof *out_end);
  for (int64_t i = 0; i < listed; ++i) {
    const int32_t axis = rt_pass_axis(axes[i], rank);
    if (axis < 0 || pads[i] < 0 || pads[listed + i] < 0) return "it takes away";
    out_begin[axis] = pads[i];
    out_end[axis] = pads[listed + i];
  }
  *out_value = rt_attrs_float(&pad->op.attrs, "value", 0);
  if (rt_node_input(pad, 2) && !rt_pass_scalar(pad->operands[2], out_value))
    return "its value is not constant";
  return out_begin[0] || out_begin[1] || out_end[0] || out_end[1] ? "it pads batch or channels"
                                                                  : NULL;
}

static int all_finite(const rt_value *value) {
  const rt_constant *constant = value ? rt_value_constant(value) : NULL;
  if (!constant || constant->sparse) return 0;
  double *values = malloc(((size_t)constant->element_count + 1) * sizeof *values);
  const int64_t count =
      values ? rt_constant_read_floats(constant, values, constant->element_count) : -1;
  int64_t i = 0;
  while (i < count && isfinite(values[i])) ++i;
  free(values);
  return count >= 0 && i == count;
}

static const char *check_window(const rt_node *node, double value, const int64_t *begin,
                                const int64_t *end, const int64_t *pads, int32_t spatial) {
  uint32_t kernel_count;
  const int64_t *kernel = rt_attrs_ints(&node->op.attrs, "kernel_shape", &kernel_count);
  if (rt_pass_is(node, "Conv")) {
    if (value != 0) return "its value is not 0";
    return all_finite(rt_node_input(node, 1)) ? NULL
                                              : "the weights are not constant and finite";
  }
  if (!kernel || kernel_count != (uint32_t)spatial) return "the window has no shape";
  if (rt_attrs_int(&node->op.attrs, "ceil_mode", 0) != 0) return "the window rounds up";
  if (!rt_pass_one_output(node)) return "the window's indices are read";
  for (int32_t i = 0; i < spatial; ++i)
    if (begin[i] + pads[i] >= kernel[i] || end[i] + pads[spatial + i] >= kernel[i])
      return "the padding is as large as the window";
  if (rt_pass_is(node, "MaxPool"))
    return isinf(value) && value < 0 ? NULL : "its value is not -infinity";
  if (value != 0) return "its value is not 0";
  if (rt_attrs_int(&node->op.attrs, "count_include_pad", 0) != 0) return NULL;
  for (int32_t i = 0; i < 2 * spatial; ++i)
    if (pads[i] != 0) return "the window pads, and does not count what it pads";
  return NULL;
}

static const char *read_window(const rt_node *node, int32_t spatial, int64_t *out_pads) {
  uint32_t count;
  const int64_t *pads = rt_attrs_ints(&node->op.attrs, "pads", &count);
  const rt_attr *automatic = rt_attrs_find(&node->op.attrs, "auto_pad");
  if (automatic && !rt_attrs_string_is(&node->op.attrs, "auto_pad", "NOTSET"))
    return "the window pads by itself";
  if (pads && count != (uint32_t)(2 * spatial)) return "the window's pads have another rank";
  for (int32_t i = 0; i < 2 * spatial; ++i) out_pads[i] = pads ? pads[i] : 0;
  return NULL;
}

static int32_t fuse(rt_pass_context *context, rt_node *node, rt_node *pad, ops_error *error) {
  int64_t begin[OPS_MAX_RANK], end[OPS_MAX_RANK], pads[2 * OPS_MAX_RANK];
  double value = 0;
  const int32_t spatial = rt_pass_rank(node->operands[0]) - 2;
  const char *why =
      spatial < 1 ? "there is nothing spatial" : read_pad(pad, begin, end, &value);
  if (!why) why = read_window(node, spatial, pads);
  if (!why) why = check_window(node, value, begin + 2, end + 2, pads, spatial);
  if (why) {
    rt_pass_miss(context, "Pad '%s' + %s '%s': not merged, %s", pad->name, node->op.name,
                 node->name, why);
    return OPS_OK;
  }
  for (int32_t i = 0; i < spatial; ++i) {
    pads[i] += begin[2 + i];
    pads[spatial + i] += end[2 + i];
  }
  rt_pass_hit(context, "Pad '%s' + %s '%s': merged", pad->name, node->op.name, node->name);
  OPS_RETURN_IF_ERROR(
      rt_node_set_attr_ints(node, "pads", pads, (uint32_t)(2 * spatial), error));
  if (rt_pass_is(node, "AveragePool"))
    OPS_RETURN_IF_ERROR(rt_node_set_attr_int(node, "count_include_pad", 1, error));
  OPS_RETURN_IF_ERROR(rt_node_set_operand(node, 0, pad->operands[0], error));
  OPS_RETURN_IF_ERROR(rt_pass_absorb(node, pad, error));
  return rt_pass_drop(context, pad, error);
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  if (node->post_count || node->op.domain[0]) return OPS_OK;
  rt_node *pad = rt_pass_producer(rt_node_input(node, 0), "Pad");
  return pad && rt_node_input(pad, 0) ? fuse(context, node, pad, error) : OPS_OK;
}

const rt_pass rt_pass_pad_fusion = {.roots = roots, .visit = visit};

// SPDX-License-Identifier: Apache-2.0
//
// Concat along channels of all b·b strided Slices of a picture is SpaceToDepth with block size
// b, and a Gather of channels where the parts come in another order than row by row.
#include <stdlib.h>
#include <string.h>

#include "passes/pass.h"

static const char *const roots[] = {"Concat", NULL};

#define MAX_BLOCK 8
#define MAX_SLICES 4  // in a chain

// Where a chain of Slices of one picture begins, and how far it steps, by axis.
typedef struct part {
  rt_value *source;
  int64_t start[4], step[4];
} part;

// Follows one Slice backwards. 0 if it is not of the kind.
static int step_back(part *p, const rt_node *slice) {
  int64_t starts[4], ends[4], axes[4] = {0, 1, 2, 3}, steps[4] = {1, 1, 1, 1};
  const rt_value *input = rt_node_input(slice, 0);
  const int64_t count = rt_pass_ints(slice, "starts", 1, starts, 4);
  if (rt_pass_rank(input) != 4 || count < 1 || rt_pass_ints(slice, "ends", 2, ends, 4) != count)
    return 0;
  const int has_axes = rt_node_input(slice, 3) || rt_attrs_find(&slice->op.attrs, "axes");
  if (has_axes && rt_pass_ints(slice, "axes", 3, axes, 4) != count) return 0;
  if (rt_node_input(slice, 4) && rt_pass_ints(slice, "steps", 4, steps, 4) != count) return 0;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t axis = rt_pass_axis(axes[i], 4);
    if (axis < 0 || starts[i] < 0 || steps[i] < 1) return 0;
    const int64_t dim = rt_pass_dim(input, axis);
    if (ends[i] < INT32_MAX && (dim < 0 || ends[i] < dim)) return 0;
    if (p->step[axis] != 1 || p->start[axis] != 0) return 0;
    p->start[axis] = starts[i];
    p->step[axis] = steps[i];
  }
  return 1;
}

static int find_part(rt_value *value, part *out) {
  *out = (part){value, {0, 0, 0, 0}, {1, 1, 1, 1}};
  for (int i = 0; i < MAX_SLICES; ++i) {
    const rt_node *slice = rt_pass_producer(out->source, "Slice");
    if (!slice || !step_back(out, slice)) break;
    out->source = slice->operands[0];
  }
  return out->source != value;
}

// The block size, or 0. out_order[k]: which place of its block part k takes, row by row.
static int64_t find_block(const rt_node *node, rt_value **out_source, int64_t *out_order) {
  int64_t block = 2;
  uint64_t seen = 0;
  while (block <= MAX_BLOCK && block * block != node->input_count) ++block;
  if (block > MAX_BLOCK) return 0;
  for (uint32_t k = 0; k < node->input_count; ++k) {
    part p;
    if (!node->operands[k] || !find_part(node->operands[k], &p)) return 0;
    if (k > 0 && p.source != *out_source) return 0;
    *out_source = p.source;
    if (p.start[0] || p.start[1] || p.step[0] != 1 || p.step[1] != 1 || p.step[2] != block ||
        p.step[3] != block || p.start[2] >= block || p.start[3] >= block)
      return 0;
    out_order[k] = p.start[2] * block + p.start[3];
    seen |= (uint64_t)1 << out_order[k];
  }
  const int64_t places = block * block;
  return seen == (places == 64 ? UINT64_MAX : ((uint64_t)1 << places) - 1) ? block : 0;
}

static int is_in_order(const int64_t *order, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (order[i] != i) return 0;
  return 1;
}

static int32_t reorder(rt_pass_context *context, rt_node *node, rt_value **value,
                       const int64_t *order, int64_t channels, ops_error *error) {
  const int64_t count = (int64_t)node->input_count * channels;
  int64_t *indices = malloc((size_t)count * sizeof *indices);
  rt_value *list;
  rt_node *gather;
  if (!indices) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "SpaceToDepth");
  for (int64_t i = 0; i < count; ++i)
    indices[i] = order[i / channels] * channels + i % channels;
  const int32_t status =
      rt_pass_add_ints(node->graph, "channels", indices, count, &list, error);
  free(indices);
  OPS_RETURN_IF_ERROR(status);
  const int64_t axis = 1;
  const rt_attr attr = {.name = "axis", .kind = RT_ATTR_INT, .count = 1, .ints = &axis};
  rt_value *inputs[] = {*value, list};
  const rt_node_desc desc = {.op = "Gather",
                             .inputs = inputs,
                             .input_count = 2,
                             .output_count = 1,
                             .attrs = &attr,
                             .attr_count = 1};
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &desc, node, &node, 1, &gather, error));
  *value = gather->outputs[0];
  return OPS_OK;
}

static int32_t fuse(rt_pass_context *context, rt_node *node, rt_value *source, int64_t block,
                    const int64_t *order, ops_error *error) {
  const int64_t channels = rt_pass_dim(source, 1);
  const int sorted = is_in_order(order, block * block);
  if (!sorted && channels < 1) {
    rt_pass_miss(
        context,
        "Concat '%s': not made SpaceToDepth, the parts are out of order and the number "
        "of channels is not known",
        node->name);
    return OPS_OK;
  }
  const rt_attr attr = {.name = "blocksize", .kind = RT_ATTR_INT, .count = 1, .ints = &block};
  const rt_node_desc desc = {.name = node->name,
                             .op = "SpaceToDepth",
                             .inputs = &source,
                             .input_count = 1,
                             .output_count = 1,
                             .attrs = &attr,
                             .attr_count = 1};
  rt_node *moved;
  rt_pass_hit(context, "Slices + Concat '%s': made SpaceToDepth%s", node->name,
              sorted ? "" : " and Gather");
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &desc, node, &node, 1, &moved, error));
  rt_value *value = moved->outputs[0];
  if (!sorted) OPS_RETURN_IF_ERROR(reorder(context, node, &value, order, channels, error));
  return rt_pass_replace(context, node, value, error);
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  int64_t order[MAX_BLOCK * MAX_BLOCK];
  rt_value *source = NULL;
  if (!rt_pass_is(node, "Concat") || node->input_count < 4 || !rt_node_output(node, 0) ||
      rt_pass_axis(rt_attrs_int(&node->op.attrs, "axis", 1), 4) != 1 ||
      rt_pass_rank(node->outputs[0]) != 4)
    return OPS_OK;
  const int64_t block = find_block(node, &source, order);
  return block ? fuse(context, node, source, block, order, error) : OPS_OK;
}

const rt_pass rt_pass_space_to_depth = {.roots = roots, .visit = visit};

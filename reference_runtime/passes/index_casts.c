// SPDX-License-Identifier: Apache-2.0
//
// Indices of int64 become int32 where a more preferred provider takes the node so, and every
// index is proven to fit: constants, known contents, positions along a known dimension, casts
// from narrower types, and what only moves or chooses such values.
#include <string.h>

#include "passes/retype.h"

#define MAX_DEPTH 8
#define MAX_INPUTS 64u

static int fits(int64_t number) {
  return number >= INT32_MIN && number <= INT32_MAX;
}

static int constant_fits(const rt_constant *constant) {
  if (constant->elem_type != OPS_TYPE_INT64 || (!constant->data && constant->size > 0))
    return 0;
  const int64_t *data = constant->data;
  for (int64_t i = 0; data && i < constant->element_count; ++i)
    if (!fits(data[i])) return 0;
  return 1;
}

static int contents_fit(const rt_value *value) {
  for (int64_t i = 0; i < value->contents_count; ++i)
    if (!rt_dim_is_const(value->contents[i]) || !fits(value->contents[i].value)) return 0;
  return value->contents_count > 0;
}

// All dimensions are known and fit: positions in such a tensor do, along any axis.
static int dims_fit(const rt_value *value) {
  const int32_t rank = rt_pass_rank(value);
  for (int32_t i = 0; i < rank; ++i)
    if (rt_pass_dim(value, i) < 0 || !fits(rt_pass_dim(value, i))) return 0;
  return rank >= 0;
}

static int is_narrow(int32_t type) {
  return type == OPS_TYPE_INT32 || type == OPS_TYPE_INT16 || type == OPS_TYPE_INT8 ||
         type == OPS_TYPE_UINT16 || type == OPS_TYPE_UINT8 || type == OPS_TYPE_BOOL;
}

// Operators whose results are positions in input 0.
static const char *const positions[] = {"ArgMax", "ArgMin", "NonZero", "Shape", "TopK", NULL};

// Operators whose results are among the elements of inputs [first, first + count).
static const struct mover {
  const char *name;
  uint32_t first, count;  // count 0: all from `first` on
} movers[] = {
    {"Concat", 0, 0},
    {"Expand", 0, 1},
    {"Flatten", 0, 1},
    {"Gather", 0, 1},
    {"GatherElements", 0, 1},
    {"GatherND", 0, 1},
    {"Identity", 0, 1},
    {"Max", 0, 0},
    {"Min", 0, 0},
    {"Reshape", 0, 1},
    {"Slice", 0, 1},
    {"Split", 0, 1},
    {"Squeeze", 0, 1},
    {"Tile", 0, 1},
    {"Transpose", 0, 1},
    {"Unsqueeze", 0, 1},
    {"Where", 1, 2},
};

static int is_proven(const rt_value *value, int depth);

static int moves_proven(const rt_node *node, int depth) {
  for (size_t i = 0; i < sizeof movers / sizeof *movers; ++i) {
    if (!rt_pass_is(node, movers[i].name)) continue;
    const uint32_t end =
        movers[i].count ? movers[i].first + movers[i].count : node->input_count;
    for (uint32_t k = movers[i].first; k < end; ++k)
      if (!is_proven(rt_node_input(node, k), depth)) return 0;
    return end > movers[i].first;
  }
  return 0;
}

static int is_position(const rt_node *node, const rt_value *value) {
  const rt_value *input = rt_node_input(node, 0);
  for (const char *const *name = positions; *name; ++name)
    if (rt_pass_is(node, *name))
      return input && dims_fit(input) &&
             (strcmp(*name, "TopK") != 0 || value->output_index == 1);
  return 0;
}

static int is_proven(const rt_value *value, int depth) {
  if (!value || depth == MAX_DEPTH) return 0;
  const rt_constant *constant = rt_value_constant(value);
  if (constant) return constant_fits(constant);
  if (contents_fit(value)) return 1;
  const rt_node *node = value->kind == RT_VALUE_OUTPUT ? value->producer : NULL;
  if (!node) return 0;
  if (rt_pass_is(node, "Cast")) return is_narrow(rt_pass_elem(rt_node_input(node, 0)));
  return is_position(node, value) || moves_proven(node, depth + 1);
}

// The first input that would change and is not proven to fit; NULL if there is none.
static const rt_value *find_unproven(const rt_node *node, const uint8_t *change) {
  for (uint32_t i = 0; i < node->input_count; ++i)
    if (change[i] && !is_proven(node->operands[i], 0)) return node->operands[i];
  return NULL;
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  const rt_retype how = {.from = OPS_TYPE_INT64, .to = OPS_TYPE_INT32, .indices_only = 1};
  const rt_passes_host *host = &context->options->host;
  uint8_t change[MAX_INPUTS];
  uint32_t place = 0;
  if (!host->claim || node->input_count > MAX_INPUTS || node->op.opset < 6 ||
      rt_pass_retype_inputs(node, &how, change))
    return OPS_OK;
  OPS_RETURN_IF_ERROR(host->claim(host->user, node, &place, error));
  if (place == 0) return OPS_OK;
  const rt_value *unproven = find_unproven(node, change);
  if (unproven) {
    rt_pass_miss(context, "%s '%s': indices stay int64, '%s' is not proven to fit int32",
                 node->op.name, node->name, unproven->name);
    return OPS_OK;
  }
  const char *why = NULL;
  OPS_RETURN_IF_ERROR(rt_pass_retype(context, node, &how, &why, error));
  if (why)
    rt_pass_miss(context, "%s '%s': indices stay int64, %s", node->op.name, node->name, why);
  else
    rt_pass_hit(context, "%s '%s': indices are int32", node->op.name, node->name);
  return OPS_OK;
}

const rt_pass rt_pass_index_casts = {.visit = visit};

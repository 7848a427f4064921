// SPDX-License-Identifier: Apache-2.0
//
// Normalisations: every line is brought to mean 0 (some) and size 1, then scaled and shifted.
// They differ in how the shape is cut into lines, and in where scale and bias lie. Statistics
// are taken in two passes, distances from the mean in the second.
#include "normalize.h"

#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdio.h>
#include <string.h>

// A node's attributes.
struct gpu_normalization {
  const gpu_normalize *row;
  int64_t axis, groups;
  float epsilon;
  int32_t is_l1;
  gpu_axes axes;
};

// A shape, and how scale and bias are walked in it.
typedef struct affine {
  int32_t rank;
  int64_t dims[OPS_MAX_RANK];
  int64_t scale[OPS_MAX_RANK], bias[OPS_MAX_RANK];
} affine;

// ---- The launch ----

// Neighbouring dimensions merge where both walks allow it.
static void merge(affine *a) {
  int32_t kept = 0;
  for (int32_t d = 0; d < a->rank; ++d) {
    if (a->dims[d] == 1) continue;
    const int64_t size = a->dims[d];
    const int32_t fits = kept > 0 && a->scale[kept - 1] == a->scale[d] * size &&
                         a->bias[kept - 1] == a->bias[d] * size;
    if (!fits) a->dims[kept++] = 1;
    a->dims[kept - 1] *= size;
    a->scale[kept - 1] = a->scale[d];
    a->bias[kept - 1] = a->bias[d];
  }
  a->rank = kept;
}

// affine_t of kernels/lines.cl.
static void add_affine(gpu_step *step, const gpu_lines *lines, affine *a) {
  int64_t values[1 + 3 * kGpuMaxDims] = {0};
  int32_t narrow[1 + 3 * kGpuMaxDims];
  merge(a);
  const size_t bytes = (size_t)a->rank * sizeof *values;
  values[0] = a->rank;
  memcpy(values + 1, a->dims, bytes);
  memcpy(values + 1 + kGpuMaxDims, a->scale, bytes);
  memcpy(values + 1 + 2 * kGpuMaxDims, a->bias, bytes);
  for (int32_t i = 0; i < 1 + 3 * kGpuMaxDims; ++i) narrow[i] = (int32_t)values[i];
  if (lines->wide)
    gpu_arg_bytes(step, values, sizeof values);
  else
    gpu_arg_bytes(step, narrow, sizeof narrow);
}

static int32_t is_wanted(const ops_kernel *kernel, uint64_t output) {
  return output < kernel->output_count && ((kernel->wanted_outputs >> output) & 1);
}

static void add_output(gpu_step *step, const ops_kernel *kernel, uint64_t output) {
  if (is_wanted(kernel, output))
    gpu_arg_output(step, output);
  else
    gpu_arg_absent(step);
}

static void add_launch(const gpu_normalization *n, const ops_kernel *kernel, gpu_plan *plan,
                       const gpu_lines *lines, affine *a) {
  const ops_type_info *scale = gpu_input_type(plan, 1);
  const int32_t type = gpu_input_type(plan, 0)->type;
  char name[64];
  if (plan->status != OPS_OK) return;
  gpu_step *step = gpu_plan_step(plan, &gpu_lines_source, "normalize_lines");
  snprintf(name, sizeof name, "OP_%s", n->row->name);
  gpu_define(step, name, "1");
  gpu_define(step, "IS_NORMALIZATION", "1");
  gpu_define(step, "IS_CENTERED", "%d", n->row->is_centered);
  gpu_define(step, "IS_L1", "%d", n->is_l1);
  gpu_define(step, "HAS_SCALE", "%d", scale != NULL && a != NULL);
  gpu_define(step, "HAS_BIAS", "%d", gpu_input_type(plan, 2) != NULL && a != NULL);
  gpu_define(step, "HAS_MEAN", "%d", is_wanted(kernel, 1));
  gpu_define(step, "HAS_DEVIATION", "%d", is_wanted(kernel, 2));
  gpu_define_type(step, "T", type);
  const int32_t to = scale ? scale->type : type;
  gpu_define_type(step, "SCALE", to);
  gpu_define_type(step, "TO", to);
  gpu_define(step, "ACC", "%s", gpu_accumulator(to == OPS_TYPE_DOUBLE ? to : type));
  gpu_lines_define(step, lines);
  gpu_arg_input(step, 0);
  gpu_arg_input(step, 1);
  gpu_arg_input(step, 2);
  gpu_arg_output(step, 0);
  add_output(step, kernel, 1);
  add_output(step, kernel, 2);
  gpu_lines_arg(step, lines);
  add_affine(step, lines, a ? a : &(affine){0});
  gpu_arg_float(step, n->epsilon);
  gpu_lines_grid(step, lines, lines->inner.count > 0);
}

// ---- LayerNormalization, RMSNormalization ----

static void broadcast(gpu_plan *plan, const ops_type_info *x, uint64_t input,
                      int64_t *out_strides) {
  const ops_type_info *s = gpu_input_type(plan, input);
  int64_t own[OPS_MAX_RANK];
  if (!s) return;
  int32_t fits = s->rank <= x->rank;
  for (int32_t d = 0; fits && d < s->rank; ++d)
    fits = s->dims[d] == 1 || s->dims[d] == x->dims[x->rank - s->rank + d];
  if (!fits) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "input %llu: expected a shape that broadcasts to that of X",
                  (unsigned long long)input);
    return;
  }
  ops_strides_contiguous(s->rank, s->dims, own);
  ops_broadcast_strides(s->rank, s->dims, own, x->rank, x->dims, out_strides);
}

static void plan_layer(const gpu_normalization *n, const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_input_type(plan, 0);
  int64_t dims[OPS_MAX_RANK];
  affine a = {.rank = x->rank};
  gpu_lines lines;
  const int32_t axis = gpu_axis_resolve(plan, n->axis, x->rank);
  memcpy(a.dims, x->dims, (size_t)x->rank * sizeof *x->dims);
  broadcast(plan, x, 1, a.scale);
  broadcast(plan, x, 2, a.bias);
  gpu_plan_output(plan, 0, gpu_input_type(plan, 1)->type, x->rank, x->dims);
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = d < axis ? x->dims[d] : 1;
  for (uint64_t i = 1; i < kernel->output_count; ++i)
    gpu_plan_output(plan, i, OPS_TYPE_FLOAT, x->rank, dims);
  gpu_lines_cut(plan, x->rank, x->dims,
                ((UINT64_C(1) << x->rank) - 1) & ~((UINT64_C(1) << axis) - 1), &lines);
  add_launch(n, kernel, plan, &lines, &a);
}

// ---- InstanceNormalization, GroupNormalization ----

static int32_t check_channels(gpu_plan *plan, int64_t count) {
  for (uint64_t i = 1; i <= 2; ++i) {
    const ops_type_info *type = gpu_input_type(plan, i);
    if (type->rank != 1 || type->dims[0] != count)
      return gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                           "input %llu: expected the shape [%lld]", (unsigned long long)i,
                           (long long)count);
  }
  return plan->status;
}

// [N, C, …] is cut into [N, groups, rest]; scale and bias belong to channels, or to groups.
static void plan_groups(const gpu_normalization *n, const ops_kernel *kernel, gpu_plan *plan,
                        int64_t groups, int32_t by_group) {
  const ops_type_info *x = gpu_input_type(plan, 0);
  int64_t pixels = 1;
  gpu_lines lines;
  for (int32_t d = 2; d < x->rank; ++d) pixels *= x->dims[d];
  const int64_t each = x->dims[1] / (groups ? groups : 1);
  const int64_t cut[3] = {x->dims[0], groups, each * pixels};
  affine a = {
      .rank = 3, .dims = {x->dims[0], x->dims[1], pixels}, .scale = {0, 1}, .bias = {0, 1}};
  if (by_group) memcpy(a.dims, cut, sizeof cut);
  if (check_channels(plan, a.dims[1]) != OPS_OK) return;
  gpu_plan_output(plan, 0, x->type, x->rank, x->dims);
  gpu_lines_cut(plan, 3, cut, 4, &lines);
  add_launch(n, kernel, plan, &lines, &a);
}

static int32_t check_rank(gpu_plan *plan, int32_t least) {
  const int32_t rank = gpu_input_type(plan, 0)->rank;
  if (rank >= least) return 1;
  gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "input 0 has rank %d, expected at least %d",
                rank, least);
  return 0;
}

static void plan_instance(const gpu_normalization *n, const ops_kernel *kernel,
                          gpu_plan *plan) {
  if (check_rank(plan, 3)) plan_groups(n, kernel, plan, gpu_input_type(plan, 0)->dims[1], 0);
}

static void plan_group(const gpu_normalization *n, const ops_kernel *kernel, gpu_plan *plan) {
  if (!check_rank(plan, 2)) return;
  const int64_t channels = gpu_input_type(plan, 0)->dims[1];
  if (n->groups < 1 || channels % n->groups != 0)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "num_groups must divide the %lld channels, found %lld", (long long)channels,
                  (long long)n->groups);
  else
    plan_groups(n, kernel, plan, n->groups, kernel->opset < 21);
}

// ---- MeanVarianceNormalization, LpNormalization ----

static void plan_bare(const gpu_normalization *n, const ops_kernel *kernel, gpu_plan *plan,
                      uint64_t reduced) {
  const ops_type_info *x = gpu_input_type(plan, 0);
  gpu_lines lines;
  gpu_plan_output(plan, 0, x->type, x->rank, x->dims);
  gpu_lines_cut(plan, x->rank, x->dims, reduced, &lines);
  add_launch(n, kernel, plan, &lines, NULL);
}

static void plan_mean_variance(const gpu_normalization *n, const ops_kernel *kernel,
                               gpu_plan *plan) {
  const gpu_axes usual = {3, {0, 2, 3}};
  if (n->axes.count < 0 && !check_rank(plan, 4)) return;
  plan_bare(n, kernel, plan,
            gpu_axes_mark(plan, n->axes.count < 0 ? &usual : &n->axes,
                          gpu_input_type(plan, 0)->rank));
}

static void plan_lp(const gpu_normalization *n, const ops_kernel *kernel, gpu_plan *plan) {
  plan_bare(n, kernel, plan,
            UINT64_C(1) << gpu_axis_resolve(plan, n->axis, gpu_input_type(plan, 0)->rank));
}

// ---- The family ----

static void claim(const ops_device *device, const ops_kernel_def *def, const ops_node *node,
                  ops_claim *out_claim) {
  (void)device;
  (void)def;
  if (ops_node_int(node, "stash_type", OPS_TYPE_FLOAT) != OPS_TYPE_FLOAT)
    ops_claim_refuse(out_claim, OPS_REASON_ATTRIBUTE, "stash_type must be 1, float");
}

static int32_t parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                     ops_error *error) {
  gpu_normalization *n = attributes;
  const int64_t p = ops_node_int(node, "p", 2);
  n->row = (const gpu_normalize *)def->context;
  n->axis = ops_node_int(node, "axis", -1);
  n->groups = ops_node_int(node, "num_groups", 0);
  n->epsilon = ops_node_float(node, "epsilon", 1e-5f);
  n->is_l1 = p == 1;
  if (p != 1 && p != 2)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%.*s: attribute p: expected 1 or 2, found %lld",
                         OPS_STR_FMT(node->op), (long long)p);
  return gpu_axes_read(node, "axes", &n->axes, error);
}

static void plan_normalize(const ops_kernel *kernel, gpu_plan *plan) {
  const gpu_normalization *n = kernel->attributes;
  n->row->plan(n, kernel, plan);
}

#define X(symbol, is_centered_, plan_)                       \
  const gpu_normalize gpu_normalize_##symbol = {             \
      .base = {.claim = claim,                               \
               .attribute_bytes = sizeof(gpu_normalization), \
               .parse = parse,                               \
               .plan = plan_normalize},                      \
      .name = #symbol,                                       \
      .is_centered = is_centered_,                           \
      .plan = plan_};
GPU_NORMALIZE_LIST(X)
#undef X

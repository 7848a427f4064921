// SPDX-License-Identifier: Apache-2.0
//
// Resize and Upsample: nearest for every type, linear and cubic for floating point. Preparing
// computes the taps of each axis in double and keeps them in device memory.
#include "resize.h"

#include <math.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "resize_axis.h"

enum { kAxes = 5 };  // of the kernel
enum { kStretch, kNotLarger, kNotSmaller };

typedef struct resize {
  gpu_resize_rule rule;
  int32_t policy;
  gpu_axes axes;
  int32_t scale_count;  // of the attribute of Upsample
  float scales[kAxes];
  uint64_t scales_input, sizes_input;  // UINT64_MAX: none
} resize;

static const char *const kModes[] = {"nearest", "linear", "cubic", NULL};
static const char *const kCoordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
static const char *const kRoundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                         "ceil", NULL};
static const char *const kPolicies[] = {"stretch", "not_larger", "not_smaller", NULL};

// ---- The node ----

static int32_t is_floating(int32_t type) {
  return type == OPS_TYPE_FLOAT || type == OPS_TYPE_DOUBLE || type == OPS_TYPE_FLOAT16 ||
         type == OPS_TYPE_BFLOAT16;
}

static int32_t has_value(const ops_node *node, const char *name, const char *value,
                         const char *fallback) {
  const ops_str usual = {fallback, strlen(fallback)};
  return ops_str_equal(ops_node_string(node, name, usual), value);
}

static void claim(const ops_device *device, const ops_kernel_def *def, const ops_node *node,
                  ops_claim *claim) {
  const ops_type_info *x = ops_node_input(node, 0)->type;
  (void)device;
  (void)def;
  if (x->rank < 0 || x->rank > kAxes)
    ops_claim_refuse(claim, OPS_REASON_SHAPE, "the rank must be known and at most %d, found %d",
                     kAxes, x->rank);
  else if (has_value(node, "coordinate_transformation_mode", "tf_crop_and_resize", ""))
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "tf_crop_and_resize is not supported");
  else if (!is_floating(x->type) && !has_value(node, "mode", "nearest", "nearest"))
    ops_claim_refuse(claim, OPS_REASON_TYPE,
                     "linear and cubic are for floating point, found %s",
                     ops_type_name(x->type));
}

// The number of an attribute's value in a list whose first is the default.
static int32_t choose(const ops_node *node, const char *name, const char *const *values,
                      int32_t *out_number, ops_error *error) {
  const ops_str usual = {values[0], strlen(values[0])};
  const ops_str value = ops_node_string(node, name, usual);
  for (int32_t i = 0; values[i]; ++i) {
    if (!ops_str_equal(value, values[i])) continue;
    *out_number = i;
    return OPS_OK;
  }
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "%.*s: attribute %s is '%.*s', expected '%s', '%s' or another of its "
                       "list",
                       OPS_STR_FMT(node->op), name, OPS_STR_FMT(value), values[0], values[1]);
}

static int32_t read_rule(const ops_node *node, resize *own, ops_error *error) {
  gpu_resize_rule *rule = &own->rule;
  OPS_RETURN_IF_ERROR(choose(node, "mode", kModes, &rule->mode, error));
  if (own->sizes_input == UINT64_MAX) {
    rule->coordinate = kGpuAsymmetric;
    rule->rounding = kGpuFloor;
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(
      choose(node, "coordinate_transformation_mode", kCoordinates, &rule->coordinate, error));
  OPS_RETURN_IF_ERROR(choose(node, "nearest_mode", kRoundings, &rule->rounding, error));
  OPS_RETURN_IF_ERROR(choose(node, "keep_aspect_ratio_policy", kPolicies, &own->policy, error));
  rule->antialias = ops_node_int(node, "antialias", 0) != 0;
  rule->exclude_outside = ops_node_int(node, "exclude_outside", 0) != 0;
  rule->cubic_a = (double)ops_node_float(node, "cubic_coeff_a", -0.75f);
  return OPS_OK;
}

static int32_t parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                     ops_error *error) {
  resize *own = attributes;
  const int32_t upsample = ops_str_equal(def->op, "Upsample");
  const int32_t early = upsample || node->opset < 11;
  uint64_t count;
  const float *scales = ops_node_floats(node, "scales", &count);
  own->scales_input = upsample && node->opset < 9 ? UINT64_MAX : early ? 1 : 2;
  own->sizes_input = early ? UINT64_MAX : 3;
  own->scale_count = count > kAxes ? kAxes : (int32_t)count;
  for (int32_t i = 0; i < own->scale_count; ++i) own->scales[i] = scales[i];
  OPS_RETURN_IF_ERROR(read_rule(node, own, error));
  return gpu_axes_read(node, "axes", &own->axes, error);
}

// ---- Sizes ----

static int32_t set_out(gpu_plan *plan, gpu_resize_axis *axis, double out) {
  if (!(out >= 0) || !(out < 0x1p40)) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "the output would have %g elements", out);
    return 0;
  }
  axis->out = (int64_t)out;
  return 1;
}

static int32_t check_count(gpu_plan *plan, const char *what, int64_t found, int64_t expected) {
  if (found == expected) return 1;
  gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                "%s: expected %lld numbers, one for each axis, found %lld", what,
                (long long)expected, (long long)found);
  return 0;
}

// Scales of the input, or of the attribute; the count, -1 after a failure.
static int64_t read_scales(const resize *own, gpu_plan *plan, const float **out_scales) {
  const ops_operand *operand = ops_request_input(plan->request, own->scales_input);
  const ops_tensor *tensor = ops_operand_contents(operand);
  *out_scales = own->scales;
  if (!operand) return own->scale_count;
  if (!tensor || tensor->type != OPS_TYPE_FLOAT || tensor->rank != 1) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "scales must be a float vector, known when shapes are");
    return -1;
  }
  *out_scales = ops_tensor_data(tensor);
  return tensor->dims[0];
}

static int32_t apply_scales(const resize *own, gpu_plan *plan, gpu_resize_axis *const *axes,
                            int32_t count) {
  const float *scales;
  const int64_t found = read_scales(own, plan, &scales);
  if (found < 0 || !check_count(plan, "scales", found, count)) return 0;
  for (int32_t i = 0; i < count; ++i) {
    gpu_resize_axis *a = axes[i];
    if (!(scales[i] > 0)) {
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                    "scales: entry %d is %g, expected a number above 0", i, (double)scales[i]);
      return 0;
    }
    a->scale = (double)scales[i];
    a->length = a->scale * (double)a->in;
    // As shape inference takes it: in float.
    if (!set_out(plan, a, (double)floorf(scales[i] * (float)a->in))) return 0;
  }
  return 1;
}

static int32_t apply_sizes(const resize *own, gpu_plan *plan, gpu_resize_axis *const *axes,
                           int32_t count, const int64_t *sizes) {
  double common = own->policy == kNotLarger ? INFINITY : 0;
  for (int32_t i = 0; i < count; ++i) {
    gpu_resize_axis *a = axes[i];
    if (sizes[i] < 0 || (a->in == 0 && sizes[i] != 0)) {
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                    "sizes: entry %d is %lld, the input has %lld", i, (long long)sizes[i],
                    (long long)a->in);
      return 0;
    }
    a->scale = a->in ? (double)sizes[i] / (double)a->in : 1;
    a->length = (double)sizes[i];
    if (!set_out(plan, a, a->length)) return 0;
    if (own->policy == kNotLarger ? a->scale < common : a->scale > common) common = a->scale;
  }
  for (int32_t i = 0; own->policy != kStretch && i < count; ++i) {
    axes[i]->scale = common;
    axes[i]->length = common * (double)axes[i]->in;
    if (!set_out(plan, axes[i], floor(axes[i]->length + 0.5))) return 0;
  }
  return 1;
}

// Sizes and scales of all axes of X.
static int32_t measure(const resize *own, gpu_plan *plan, const ops_type_info *x,
                       gpu_resize_axis all[kAxes]) {
  gpu_resize_axis *axes[OPS_MAX_RANK];
  int64_t sizes[OPS_MAX_RANK];
  int32_t count = x->rank;
  for (int32_t d = 0; d < x->rank; ++d) {
    all[d] = (gpu_resize_axis){x->dims[d], x->dims[d], 1, (double)x->dims[d]};
    axes[d] = &all[d];
  }
  if (own->axes.count >= 0) {
    gpu_axes_mark(plan, &own->axes, x->rank);
    count = own->axes.count;
    for (int32_t i = 0; plan->status == OPS_OK && i < count; ++i)
      axes[i] = &all[gpu_axis_resolve(plan, own->axes.values[i], x->rank)];
  }
  const ops_operand *operand = ops_request_input(plan->request, own->sizes_input);
  const int64_t given = operand ? ops_operand_ints(operand, sizes, OPS_MAX_RANK) : 0;
  if (given < 0)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "sizes must be an integer vector, known when shapes are");
  if (plan->status != OPS_OK) return 0;
  if (given == 0) return apply_scales(own, plan, axes, count);
  return check_count(plan, "sizes", given, count) && apply_sizes(own, plan, axes, count, sizes);
}

// ---- The launch ----

typedef struct tables {
  int32_t *indices;
  double *weights;
  int64_t count;
} tables;

// Room for the taps of an axis; where they begin, or -1.
static int64_t reserve(gpu_plan *plan, tables *t, int64_t count) {
  if (count > INT32_MAX / 2 - t->count) {
    gpu_plan_fail(plan, OPS_ERROR_OUT_OF_MEMORY, "an axis has too many taps");
    return -1;
  }
  int32_t *indices = realloc(t->indices, (size_t)(t->count + count + 1) * sizeof *indices);
  if (indices) t->indices = indices;
  double *weights = realloc(t->weights, (size_t)(t->count + count + 1) * sizeof *weights);
  if (weights) t->weights = weights;
  if (!indices || !weights) {
    gpu_plan_fail(plan, OPS_ERROR_OUT_OF_MEMORY, "no memory for the taps of an axis");
    return -1;
  }
  t->count += count;
  return t->count - count;
}

// Axes as the kernel has them: those that X lacks come first, of size 1.
typedef struct walk {
  int64_t out[kAxes], stride[kAxes];
  int32_t taps[kAxes], table[kAxes];
} walk;

static void fill_tables(const gpu_resize_rule *rule, gpu_plan *plan, const gpu_resize_axis *a,
                        int32_t at, walk *w, tables *t) {
  const int64_t taps = gpu_resize_taps(rule, a);
  w->table[at] = -1;
  w->taps[at] = 1;
  if (gpu_resize_is_same(a) && rule->coordinate != kGpuTfHalfPixelForNn) return;
  if (a->in > INT32_MAX) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "an axis of X is too large");
    return;
  }
  const int64_t begin =
      reserve(plan, t, taps <= INT32_MAX / (a->out ? a->out : 1) ? taps * a->out : INT32_MAX);
  if (begin < 0) return;
  for (int64_t o = 0; o < a->out; ++o)
    gpu_resize_fill(rule, a, o, t->indices + begin + o * taps, t->weights + begin + o * taps);
  w->table[at] = (int32_t)begin;
  w->taps[at] = (int32_t)taps;
}

static void make_walk(const resize *own, gpu_plan *plan, const gpu_resize_axis *all,
                      int32_t rank, walk *w, tables *t) {
  int64_t stride = 1;
  for (int32_t d = kAxes - 1; d >= 0; --d) {
    const int32_t i = d - (kAxes - rank);
    w->out[d] = 1;
    w->stride[d] = 0;
    w->table[d] = -1;
    w->taps[d] = 1;
    if (i < 0 || plan->status != OPS_OK) continue;
    fill_tables(&own->rule, plan, &all[i], d, w, t);
    w->out[d] = all[i].out;
    w->stride[d] = stride;
    stride *= all[i].in;
  }
}

// axes_t of kernels/resize.cl.
static void add_axes(gpu_step *step, const walk *w, int32_t wide) {
  struct {
    int64_t places[2 * kAxes];
    int32_t taps[2 * kAxes];
  } large;
  int32_t small[4 * kAxes];
  memcpy(large.places, w->out, sizeof w->out);
  memcpy(large.places + kAxes, w->stride, sizeof w->stride);
  memcpy(large.taps, w->taps, sizeof w->taps);
  memcpy(large.taps + kAxes, w->table, sizeof w->table);
  for (int32_t i = 0; i < 2 * kAxes; ++i) small[i] = (int32_t)large.places[i];
  memcpy(small + 2 * kAxes, large.taps, sizeof large.taps);
  if (wide)
    gpu_arg_bytes(step, &large, sizeof large);
  else
    gpu_arg_bytes(step, small, sizeof small);
}

static uint64_t add_weights(gpu_plan *plan, const tables *t, int32_t type) {
  const uint64_t count = (uint64_t)t->count;
  if (type == OPS_TYPE_DOUBLE)
    return gpu_plan_constant(plan, t->weights, count * sizeof(double));
  float *narrow = malloc((count + 1) * sizeof *narrow);
  if (!narrow) {
    gpu_plan_fail(plan, OPS_ERROR_OUT_OF_MEMORY, "no memory for the taps of an axis");
    return 0;
  }
  for (uint64_t i = 0; i < count; ++i) narrow[i] = (float)t->weights[i];
  const uint64_t constant = gpu_plan_constant(plan, narrow, count * sizeof *narrow);
  free(narrow);
  return constant;
}

static void add_launch(const resize *own, gpu_plan *plan, int32_t type, const walk *w,
                       const tables *t, int64_t in_count) {
  int64_t count = 1;
  for (int32_t d = 0; d < kAxes; ++d) count *= w->out[d];
  const int32_t nearest = own->rule.mode == kGpuNearest;
  const int32_t wide = count > INT32_MAX - 65536 || in_count > INT32_MAX - 65536;
  const uint64_t indices =
      gpu_plan_constant(plan, t->indices, (uint64_t)t->count * sizeof *t->indices);
  const uint64_t weights = nearest ? 0 : add_weights(plan, t, type);
  if (plan->status != OPS_OK) return;
  gpu_step *step = gpu_plan_step(plan, &gpu_resize_source, "resize");
  gpu_define(step, "IDX", "%s", wide ? "long" : "int");
  gpu_define(step, "IS_NEAREST", "%d", nearest);
  gpu_define(step, "ACC", "%s", gpu_accumulator(type));
  gpu_define_type(step, "T", type);
  gpu_arg_input(step, 0);
  gpu_arg_output(step, 0);
  gpu_arg_constant(step, indices);
  if (nearest)
    gpu_arg_absent(step);
  else
    gpu_arg_constant(step, weights);
  add_axes(step, w, wide);
  if (wide)
    gpu_arg_long(step, count);
  else
    gpu_arg_int(step, (int32_t)count);
  gpu_grid_items(step, count);
}

static void plan_resize(const ops_kernel *kernel, gpu_plan *plan) {
  const resize *own = kernel->attributes;
  const ops_type_info *x = ops_request_input(plan->request, 0)->type;
  gpu_resize_axis all[kAxes];
  int64_t dims[kAxes], in_count = 1;
  tables t = {0};
  walk w;
  if (!measure(own, plan, x, all)) return;
  for (int32_t d = 0; d < x->rank; ++d) {
    dims[d] = all[d].out;
    in_count *= x->dims[d];
  }
  gpu_plan_output(plan, 0, x->type, x->rank, dims);
  make_walk(own, plan, all, x->rank, &w, &t);
  if (plan->status == OPS_OK) add_launch(own, plan, x->type, &w, &t, in_count);
  free(t.indices);
  free(t.weights);
}

const gpu_op gpu_resize = {
    .claim = claim, .attribute_bytes = sizeof(resize), .parse = parse, .plan = plan_resize};

// SPDX-License-Identifier: Apache-2.0
//
// Resize and Upsample. Scales or sizes are attributes or inputs by opset: Upsample 1, 7 and
// 9, Resize 10, 11, 13, 18, 19. Filters are separable: execute first writes, per axis and
// output position, the input positions and weights into the workspace, then sums their
// products.
#include "resize.h"

#include <math.h>
#include <string.h>

#include "operators.h"
#include "traverse.h"

enum { X, ROI, SCALES, SIZES };

typedef struct resize_state {
  ref_resize_rule rule;
  double extrapolation;
  int32_t axis_count;
  int32_t axes[OPS_MAX_RANK];  // that scales, sizes and roi speak of
  ref_resize_axis axis[OPS_MAX_RANK];
  int64_t taps[OPS_MAX_RANK];
  uint64_t table[OPS_MAX_RANK];  // place of the axis' taps in the workspace
} resize_state;

static const char *const coordinates[REF_COORDINATE_COUNT] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
static const char *const modes[REF_RESIZE_MODE_COUNT] = {"nearest", "linear", "cubic"};
// What Upsample 1 calls linear.
static const char *const plane_modes[] = {"nearest", "bilinear"};
static const char *const roundings[REF_NEAREST_MODE_COUNT] = {
    "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

static int32_t read_rule(ref_prepare *p, int is_plain) {
  resize_state *s = p->state;
  int is_plane = p->kernel->opset < 7;
  RETURN_IF_ERROR(ref_attr_choose(p, "mode", is_plane ? plane_modes : modes,
                                  is_plane ? 2 : REF_RESIZE_MODE_COUNT, "nearest",
                                  &s->rule.mode));
  if (is_plain) {
    s->rule.coordinate = REF_ASYMMETRIC;
    s->rule.nearest = REF_FLOOR;
    return OPS_OK;
  }
  RETURN_IF_ERROR(ref_attr_choose(p, "coordinate_transformation_mode", coordinates,
                                  REF_COORDINATE_COUNT, "half_pixel", &s->rule.coordinate));
  RETURN_IF_ERROR(ref_attr_choose(p, "nearest_mode", roundings, REF_NEAREST_MODE_COUNT,
                                  "round_prefer_floor", &s->rule.nearest));
  s->rule.antialias = ref_attr_int(p->kernel, "antialias", 0) != 0;
  s->rule.exclude_outside = ref_attr_int(p->kernel, "exclude_outside", 0) != 0;
  s->rule.cubic_a = ref_attr_float(p->kernel, "cubic_coeff_a", -0.75f);
  s->extrapolation = ref_attr_float(p->kernel, "extrapolation_value", 0.0f);
  return OPS_OK;
}

// Upsample 1: scales of the last two of four dimensions.
static int32_t read_plane_scales(ref_prepare *p, double *scales, int64_t *out_count) {
  RETURN_IF_ERROR(ref_need_rank(p, X, 4, 4));
  scales[0] = scales[1] = 1;
  scales[2] = ref_attr_float(p->kernel, "height_scale", 0);
  scales[3] = ref_attr_float(p->kernel, "width_scale", 0);
  *out_count = 4;
  return OPS_OK;
}

static int32_t read_axes(ref_prepare *p) {
  resize_state *s = p->state;
  int given;
  RETURN_IF_ERROR(ref_axes(p, UINT64_MAX, p->inputs[X].rank, s->axes, &s->axis_count, &given));
  if (given) return OPS_OK;
  s->axis_count = p->inputs[X].rank;
  for (int32_t i = 0; i < s->axis_count; ++i) s->axes[i] = i;
  return OPS_OK;
}

// Scales from an input or, for Upsample before 9, attributes.
static int32_t read_scales(ref_prepare *p, uint64_t input, double *scales) {
  resize_state *s = p->state;
  const ref_attribute *attribute = ref_attr(p->kernel, "scales");
  int64_t count = 0;
  if (p->kernel->opset < 7) {
    RETURN_IF_ERROR(read_plane_scales(p, scales, &count));
  } else if (ref_has(p, input)) {
    ref_view view;
    RETURN_IF_ERROR(ref_contents_view(p, input, &view));
    if (view.element->load == NULL || view.rank != 1)
      return ref_refuse(p, "input scales: expected a vector of numbers");
    count = view.count;
    if (count == s->axis_count) ref_load(&view, 0, view.strides[0], count, scales);
  } else if (attribute != NULL && attribute->kind == OPS_ATTRIBUTE_FLOATS) {
    count = attribute->count;
    for (int64_t i = 0; i < count && count == s->axis_count; ++i)
      scales[i] = (double)attribute->floats[i];
  }
  if (count != s->axis_count)
    return ref_refuse(p, "input scales: expected %d numbers, one per axis, found %lld",
                      s->axis_count, (long long)count);
  for (int64_t i = 0; i < count; ++i)
    if (!(scales[i] > 0) || scales[i] > 1e9)
      return ref_refuse(p, "input scales: entry %lld is %g, expected a number above 0",
                        (long long)i, scales[i]);
  return OPS_OK;
}

// Rounded sizes of outputs; beyond 2^62 nothing can be computed.
static int32_t set_out(ref_prepare *p, int32_t axis, double out) {
  resize_state *s = p->state;
  if (!(out < 0x1p62)) return ref_refuse(p, "axis %d: the output is too large", axis);
  s->axis[axis].out = (int64_t)out;
  return OPS_OK;
}

static int32_t apply_scales(ref_prepare *p, uint64_t input) {
  resize_state *s = p->state;
  double scales[OPS_MAX_RANK];
  RETURN_IF_ERROR(read_scales(p, input, scales));
  for (int32_t i = 0; i < s->axis_count; ++i) {
    ref_resize_axis *a = &s->axis[s->axes[i]];
    a->scale = scales[i];
    a->width = scales[i] * (double)a->in;
    // The product of shape inference, which is taken in float.
    RETURN_IF_ERROR(set_out(p, s->axes[i], floorf((float)scales[i] * (float)a->in)));
  }
  return OPS_OK;
}

static int32_t apply_sizes(ref_prepare *p) {
  resize_state *s = p->state;
  int64_t sizes[OPS_MAX_RANK], count;
  RETURN_IF_ERROR(ref_contents(p, SIZES, sizes, OPS_MAX_RANK, &count));
  if (count != s->axis_count)
    return ref_refuse(p, "input sizes: expected %d numbers, one per axis, found %lld",
                      s->axis_count, (long long)count);
  static const char *const policies[] = {"stretch", "not_smaller", "not_larger"};
  int32_t policy = 0;
  RETURN_IF_ERROR(
      ref_attr_choose(p, "keep_aspect_ratio_policy", policies, 3, "stretch", &policy));
  int larger = policy == 1, smaller = policy == 2;
  double common = smaller ? INFINITY : 0;
  for (int32_t i = 0; i < s->axis_count; ++i) {
    ref_resize_axis *a = &s->axis[s->axes[i]];
    if (sizes[i] < 0 || (a->in == 0 && sizes[i] != 0))
      return ref_refuse(p, "input sizes: entry %d is %lld, the input has %lld", i,
                        (long long)sizes[i], (long long)a->in);
    a->out = sizes[i];
    a->width = (double)sizes[i];
    a->scale = a->in == 0 ? 1 : (double)sizes[i] / (double)a->in;
    common = smaller ? fmin(common, a->scale) : fmax(common, a->scale);
  }
  for (int32_t i = 0; (larger || smaller) && i < s->axis_count; ++i) {
    ref_resize_axis *a = &s->axis[s->axes[i]];
    a->scale = common;
    a->width = common * (double)a->in;
    RETURN_IF_ERROR(set_out(p, s->axes[i], floor(a->width + 0.5)));
  }
  return OPS_OK;
}

static int has_contents(const ref_prepare *p, uint64_t input) {
  return ref_has(p, input) && ref_count(p->inputs[input].dims, p->inputs[input].rank) > 0;
}

static int32_t finish(ref_prepare *p) {
  resize_state *s = p->state;
  int32_t rank = p->inputs[X].rank;
  int64_t dims[OPS_MAX_RANK];
  for (int32_t i = 0; i < rank; ++i) {
    dims[i] = s->axis[i].out;
    s->taps[i] = ref_resize_tap_count(&s->rule, &s->axis[i]);
    int64_t bytes;
    if (__builtin_mul_overflow(s->taps[i], (int64_t)sizeof(ref_tap), &bytes) ||
        __builtin_mul_overflow(bytes, dims[i], &bytes))
      return ref_refuse(p, "axis %d: the output is too large", i);
    s->table[i] = ref_reserve(p, (uint64_t)bytes);
  }
  return ref_set_shape(p, 0, rank, dims);
}

static int32_t start(ref_prepare *p, int is_plain) {
  resize_state *s = p->state;
  RETURN_IF_ERROR(read_rule(p, is_plain));
  RETURN_IF_ERROR(read_axes(p));
  for (int32_t i = 0; i < p->inputs[X].rank; ++i) {
    int64_t n = p->inputs[X].dims[i];
    if (n > (int64_t)1 << 40) return ref_refuse(p, "input X: dimension %d is too large", i);
    s->axis[i] = (ref_resize_axis){n, n, 1, (double)n, 0, 1};
  }
  return OPS_OK;
}

static int32_t prepare_resize(ref_prepare *p) {
  int is_plain = p->kernel->opset < 11;
  RETURN_IF_ERROR(start(p, is_plain));
  if (is_plain)
    RETURN_IF_ERROR(apply_scales(p, 1));
  else if (has_contents(p, SIZES))
    RETURN_IF_ERROR(apply_sizes(p));
  else
    RETURN_IF_ERROR(apply_scales(p, SCALES));
  return finish(p);
}

static int32_t prepare_upsample(ref_prepare *p) {
  RETURN_IF_ERROR(start(p, 1));
  RETURN_IF_ERROR(apply_scales(p, 1));
  return finish(p);
}

typedef struct resize_job {
  const ref_run *run;
  const resize_state *s;
  const ref_tap *tables[OPS_MAX_RANK];
  int32_t lead;  // dimensions that the work items count over
} resize_job;

// Sum over the taps of dimensions from `d` on.
static double sum_taps(const resize_job *job, const int64_t *index, int32_t d, int64_t offset) {
  const ref_view *x = &job->run->inputs[X];
  if (d == x->rank) return ref_at(x, offset);
  int64_t count = job->s->taps[d];
  const ref_tap *taps = job->tables[d] + index[d] * count;
  if (count == 1) return sum_taps(job, index, d + 1, offset + taps[0].index * x->strides[d]);
  double sum = 0;
  for (int64_t k = 0; k < count; ++k)
    if (taps[k].weight != 0)
      sum +=
          taps[k].weight * sum_taps(job, index, d + 1, offset + taps[k].index * x->strides[d]);
  return sum;
}

static int is_outside(const resize_job *job, const int64_t *index) {
  for (int32_t d = 0; d < job->run->outputs[0].rank; ++d)
    if (job->tables[d][index[d] * job->s->taps[d]].index < 0) return 1;
  return 0;
}

static int32_t write_element(const resize_job *job, const int64_t *index) {
  const ref_view *x = &job->run->inputs[X], *y = &job->run->outputs[0];
  int64_t to = ref_dot(index, y->strides, y->rank);
  int crop = job->s->rule.coordinate == REF_TF_CROP_AND_RESIZE && y->element->store != NULL;
  if (crop && is_outside(job, index)) {
    ref_store(y, to, 1, 1, &job->s->extrapolation);
    return OPS_OK;
  }
  if (job->s->rule.mode != REF_NEAREST) {
    double value = sum_taps(job, index, 0, 0);
    ref_store(y, to, 1, 1, &value);
    return OPS_OK;
  }
  int64_t from = 0;
  for (int32_t d = 0; d < x->rank; ++d) {
    int64_t at = job->tables[d][index[d]].index;
    from += (at < 0 ? 0 : at) * x->strides[d];
  }
  return ref_move(y, to, 1, x, from, 1, 1, job->run->error);
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  const resize_job *job = context;
  const ref_view *y = &job->run->outputs[0];
  for (int64_t item = begin; item < end; ++item) {
    int64_t index[OPS_MAX_RANK] = {0}, rest = item;
    for (int32_t d = job->lead - 1; d >= 0; --d) {
      index[d] = rest % y->dims[d];
      rest /= y->dims[d];
    }
    do write_element(job, index);
    while (ref_count_up(index + job->lead, y->dims + job->lead, y->rank - job->lead));
  }
}

static int32_t read_roi(ref_run *run, ref_resize_axis *axis) {
  const resize_state *s = run->state;
  memcpy(axis, s->axis, sizeof s->axis);
  if (s->rule.coordinate != REF_TF_CROP_AND_RESIZE) return OPS_OK;
  const ref_view *roi = &run->inputs[ROI];
  if (!ref_given(run, ROI) || roi->count != 2 * (int64_t)s->axis_count || roi->rank != 1)
    return ref_refuse(run, "input roi: expected %d numbers for tf_crop_and_resize",
                      2 * s->axis_count);
  for (int32_t i = 0; i < s->axis_count; ++i) {
    axis[s->axes[i]].roi_begin = ref_at(roi, i * roi->strides[0]);
    axis[s->axes[i]].roi_end = ref_at(roi, (i + s->axis_count) * roi->strides[0]);
  }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const resize_state *s = run->state;
  const ref_view *y = &run->outputs[0];
  ref_resize_axis axis[OPS_MAX_RANK];
  RETURN_IF_ERROR(read_roi(run, axis));
  if (y->count == 0) return OPS_OK;
  resize_job job = {.run = run, .s = s};
  for (int32_t d = 0; d < y->rank; ++d) {
    ref_tap *table = (ref_tap *)((char *)run->workspace + s->table[d]);
    job.tables[d] = table;
    for (int64_t at = 0; at < y->dims[d]; ++at)
      ref_resize_taps(&s->rule, &axis[d], at, table + at * s->taps[d]);
  }
  // Threads must not share a host value, or a byte that holds several elements.
  int alone = y->element->bits < 8;
  job.lead = alone ? 0 : y->rank < 2 ? y->rank : 2;
  int64_t items = ref_count(y->dims, job.lead);
  if (alone)
    body(&job, 0, items, 0);
  else
    ref_parallel(run, items, 1, body, &job);
  return OPS_OK;
}

static const char *refuse(const ops_node *node) {
  const ops_operand *x = node->inputs;
  int movable = x->type != NULL && !ref_is_number(x->type);
  for (uint64_t i = 0; movable && i < node->attribute_count; ++i) {
    const ops_attribute *attribute =
        (const void *)((const char *)node->attributes + i * node->attribute_stride);
    if (attribute->name.size == 4 && memcmp(attribute->name.data, "mode", 4) == 0 &&
        attribute->strings[0].size != 7)
      return "strings and complex numbers are resized in mode nearest only";
  }
  return NULL;
}

const ref_op ref_resize = {sizeof(resize_state), prepare_resize, execute, NULL, refuse};
const ref_op ref_upsample = {sizeof(resize_state), prepare_upsample, execute, NULL, refuse};

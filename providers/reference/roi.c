// SPDX-License-Identifier: Apache-2.0
//
// MaxRoiPool (Girshick, Fast R-CNN): regions rounded to whole elements, cut into bins, the
// largest element of each. RoiAlign (He et al., Mask R-CNN): bins without rounding, sampled at
// points by bilinear interpolation, averaged; mode max takes the largest of the four weighted
// corners over all points, as the official cases have it.
#include <math.h>

#include "operators.h"

// ---- MaxRoiPool
// ------------------------------------------------------------------------------

typedef struct pool_state {
  int64_t height, width;
  double scale;
} pool_state;

static int32_t prepare_pool(ref_prepare *p) {
  pool_state *s = p->state;
  const ref_attribute *shape = ref_attr(p->kernel, "pooled_shape");
  RETURN_IF_ERROR(ref_need_rank(p, 0, 4, 4));
  RETURN_IF_ERROR(ref_need_rank(p, 1, 2, 2));
  if (shape == NULL || shape->kind != OPS_ATTRIBUTE_INTS || shape->count != 2 ||
      shape->ints[0] < 1 || shape->ints[1] < 1)
    return ref_refuse(p, "attribute pooled_shape: expected two numbers of at least 1");
  if (p->inputs[1].dims[1] != 5)
    return ref_refuse(p, "input rois: expected 5 numbers a region, found %lld",
                      (long long)p->inputs[1].dims[1]);
  s->height = shape->ints[0];
  s->width = shape->ints[1];
  s->scale = ref_attr_float(p->kernel, "spatial_scale", 1);
  return ref_set_shape(
      p, 0, 4, (int64_t[]){p->inputs[1].dims[0], p->inputs[0].dims[1], s->height, s->width});
}

typedef struct range {
  int64_t low, high;
} range;

// Bin `i` of `bins` over a region from `start` to `end`, inside [0, size).
static range bin(double start, double end, int64_t i, int64_t bins, int64_t size) {
  double length = fmax(end - start + 1, 1), step = length / (double)bins;
  double low = floor((double)i * step) + start, high = ceil((double)(i + 1) * step) + start;
  low = fmin(fmax(low, 0), (double)size);
  high = fmin(fmax(high, 0), (double)size);
  return (range){(int64_t)low, (int64_t)high};
}

static double largest(const ref_view *x, int64_t at, range h, range w) {
  if (h.low >= h.high || w.low >= w.high) return 0;
  double best = -INFINITY;
  for (int64_t i = h.low; i < h.high; ++i)
    for (int64_t j = w.low; j < w.high; ++j) {
      double value = ref_at(x, at + i * x->strides[2] + j * x->strides[3]);
      if (value > best || isnan(value)) best = value;
    }
  return best;
}

static void pool_region(const ref_run *run, int64_t r, int64_t image, const double *corner) {
  const pool_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  for (int64_t c = 0; c < x->dims[1]; ++c)
    for (int64_t i = 0; i < s->height; ++i)
      for (int64_t j = 0; j < s->width; ++j) {
        range h = bin(corner[1], corner[3], i, s->height, x->dims[2]);
        range w = bin(corner[0], corner[2], j, s->width, x->dims[3]);
        double value = largest(x, image * x->strides[0] + c * x->strides[1], h, w);
        ref_store(y,
                  r * y->strides[0] + c * y->strides[1] + i * y->strides[2] + j * y->strides[3],
                  1, 1, &value);
      }
}

static int32_t execute_pool(ref_run *run) {
  const pool_state *s = run->state;
  const ref_view *x = &run->inputs[0], *rois = &run->inputs[1];
  for (int64_t r = 0; r < rois->dims[0]; ++r) {
    double roi[5];
    ref_load(rois, r * rois->strides[0], rois->strides[1], 5, roi);
    if (!(roi[0] >= 0 && roi[0] < (double)x->dims[0]))
      return ref_refuse(run, "input rois: region %lld is of image %g, expected 0 to %lld",
                        (long long)r, roi[0], (long long)x->dims[0] - 1);
  }
  if (run->outputs[0].count == 0) return OPS_OK;
  for (int64_t r = 0; r < rois->dims[0]; ++r) {
    double roi[5], corner[4];
    ref_load(rois, r * rois->strides[0], rois->strides[1], 5, roi);
    for (int i = 0; i < 4; ++i) corner[i] = round(roi[1 + i] * s->scale);
    pool_region(run, r, (int64_t)roi[0], corner);
  }
  return OPS_OK;
}

const ref_op ref_max_roi_pool = {sizeof(pool_state), prepare_pool, execute_pool, NULL, NULL};

// ---- RoiAlign
// --------------------------------------------------------------------------------

enum { X, ROIS, BATCH };

typedef struct align_state {
  int64_t height, width, ratio;
  double scale, shift;
  int32_t max;
} align_state;

static int32_t check_regions(const ref_prepare *p) {
  RETURN_IF_ERROR(ref_need_rank(p, X, 4, 4));
  RETURN_IF_ERROR(ref_need_rank(p, ROIS, 2, 2));
  RETURN_IF_ERROR(ref_need_rank(p, BATCH, 1, 1));
  if (p->inputs[ROIS].dims[1] != 4 || p->inputs[BATCH].dims[0] != p->inputs[ROIS].dims[0])
    return ref_refuse(p, "inputs rois and batch_indices: expected the shapes [R, 4] and [R]");
  return OPS_OK;
}

static int32_t prepare_align(ref_prepare *p) {
  align_state *s = p->state;
  const ops_kernel *kernel = p->kernel;
  RETURN_IF_ERROR(check_regions(p));
  s->height = ref_attr_int(kernel, "output_height", 1);
  s->width = ref_attr_int(kernel, "output_width", 1);
  s->ratio = ref_attr_int(kernel, "sampling_ratio", 0);
  if (s->height < 1 || s->width < 1 || s->ratio < 0 || s->ratio > 1 << 20)
    return ref_refuse(p,
                      "attributes output_height, output_width, sampling_ratio: %lld, %lld, "
                      "%lld are out of range",
                      (long long)s->height, (long long)s->width, (long long)s->ratio);
  s->scale = ref_attr_float(kernel, "spatial_scale", 1);
  s->max = ref_attr_is(kernel, "mode", "max", "avg");
  if (!s->max && !ref_attr_is(kernel, "mode", "avg", "avg"))
    return ref_refuse(p, "attribute mode: expected avg or max");
  const char *usual = kernel->opset < 16 ? "output_half_pixel" : "half_pixel";
  int half = ref_attr_is(kernel, "coordinate_transformation_mode", "half_pixel", usual);
  if (!half &&
      !ref_attr_is(kernel, "coordinate_transformation_mode", "output_half_pixel", usual))
    return ref_refuse(p,
                      "attribute coordinate_transformation_mode: expected half_pixel or "
                      "output_half_pixel");
  s->shift = half ? 0.5 : 0;
  return ref_set_shape(
      p, 0, 4, (int64_t[]){p->inputs[ROIS].dims[0], p->inputs[X].dims[1], s->height, s->width});
}

typedef struct axis {
  double start, step;  // of the bins
  int64_t points;      // in a bin
} axis;

typedef struct point {
  int64_t low, high;
  double weight_low, weight_high;
} point;

// How a coordinate lies between two elements; 0 if it is outside.
static int place_point(double at, int64_t size, point *out) {
  if (!(at >= -1 && at <= (double)size)) return 0;
  if (at < 0) at = 0;
  out->low = (int64_t)at;
  out->high = out->low + 1;
  if (out->low >= size - 1) {
    out->low = out->high = size - 1;
    at = (double)out->low;
  }
  out->weight_high = at - (double)out->low;
  out->weight_low = 1 - out->weight_high;
  return 1;
}

static double coordinate(const axis *a, int64_t bin_index, int64_t i) {
  return a->start + (double)bin_index * a->step +
         ((double)i + 0.5) * a->step / (double)a->points;
}

static double sample_bin(const align_state *s, const ref_view *x, int64_t at, const axis *h,
                         const axis *w, int64_t i, int64_t j) {
  double sum = 0, best = -INFINITY;
  for (int64_t iy = 0; iy < h->points; ++iy)
    for (int64_t ix = 0; ix < w->points; ++ix) {
      point y, z;
      double corner[4] = {0};
      if (place_point(coordinate(h, i, iy), x->dims[2], &y) &&
          place_point(coordinate(w, j, ix), x->dims[3], &z)) {
        int64_t top = at + y.low * x->strides[2], bottom = at + y.high * x->strides[2];
        corner[0] = y.weight_low * z.weight_low * ref_at(x, top + z.low * x->strides[3]);
        corner[1] = y.weight_low * z.weight_high * ref_at(x, top + z.high * x->strides[3]);
        corner[2] = y.weight_high * z.weight_low * ref_at(x, bottom + z.low * x->strides[3]);
        corner[3] = y.weight_high * z.weight_high * ref_at(x, bottom + z.high * x->strides[3]);
      }
      for (int k = 0; k < 4; ++k) {
        sum += corner[k];
        if (corner[k] > best || isnan(corner[k])) best = corner[k];
      }
    }
  int64_t points = h->points * w->points;
  if (points == 0) return 0;
  return s->max ? best : sum / (double)points;
}

static axis make_axis(const align_state *s, double low, double high, int64_t bins) {
  axis a = {low * s->scale - s->shift, 0, s->ratio};
  double length = high * s->scale - s->shift - a.start;
  if (s->shift == 0) length = fmax(length, 1);
  a.step = length / (double)bins;
  if (s->ratio == 0) a.points = a.step > 0 && a.step < 1e9 ? (int64_t)ceil(a.step) : 0;
  return a;
}

static void align_region(const ref_run *run, int64_t r) {
  const align_state *s = run->state;
  const ref_view *x = &run->inputs[X], *rois = &run->inputs[ROIS], *y = &run->outputs[0];
  int64_t image = ref_int_at(&run->inputs[BATCH], r * run->inputs[BATCH].strides[0]);
  double roi[4];
  ref_load(rois, r * rois->strides[0], rois->strides[1], 4, roi);
  axis w = make_axis(s, roi[0], roi[2], s->width), h = make_axis(s, roi[1], roi[3], s->height);
  for (int64_t c = 0; c < x->dims[1]; ++c)
    for (int64_t i = 0; i < s->height; ++i)
      for (int64_t j = 0; j < s->width; ++j) {
        double value =
            sample_bin(s, x, image * x->strides[0] + c * x->strides[1], &h, &w, i, j);
        ref_store(y,
                  r * y->strides[0] + c * y->strides[1] + i * y->strides[2] + j * y->strides[3],
                  1, 1, &value);
      }
}

static void align_body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t r = begin; r < end; ++r) align_region(context, r);
}

static int32_t execute_align(ref_run *run) {
  const ref_view *x = &run->inputs[X], *batch = &run->inputs[BATCH];
  for (int64_t r = 0; r < batch->count; ++r) {
    int64_t image = ref_int_at(batch, r * batch->strides[0]);
    if (image < 0 || image >= x->dims[0])
      return ref_refuse(run, "input batch_indices: element %lld is %lld, expected 0 to %lld",
                        (long long)r, (long long)image, (long long)x->dims[0] - 1);
  }
  if (run->outputs[0].count == 0 || x->count == 0)
    return x->count == 0 && run->outputs[0].count > 0
               ? ref_refuse(run, "input X has an empty image")
               : OPS_OK;
  ref_parallel(run, batch->count, 1, align_body, run);
  return OPS_OK;
}

const ref_op ref_roi_align = {sizeof(align_state), prepare_align, execute_align, NULL, NULL};

// SPDX-License-Identifier: Apache-2.0
//
// Each worker copies a plane between zeros and calls the vector loop for each of its filters.
// Weights that are not finite would turn the zeros of the border into NaN: such a filter is
// summed by the definition, tap by tap.
#include "conv_depthwise.h"

#include <math.h>
#include <string.h>

int cpu_depthwise_init(const cpu_dnnl_conv *conv, cpu_depthwise *out_depthwise) {
  if (conv->transposed || conv->groups != conv->in_channels || conv->groups == 1 ||
      conv->spatial > 2)
    return 0;
  // A line is a plane of height 1.
  cpu_plane_window window = {{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {0, 0}};
  for (int32_t i = 0; i < conv->spatial; ++i) {
    const int32_t to = i + 2 - conv->spatial;
    window.in[to] = conv->in[i];
    window.out[to] = conv->out[i];
    window.kernel[to] = conv->kernel[i];
    window.strides[to] = conv->strides[i];
    window.dilations[to] = conv->dilations[i];
    window.pads_begin[to] = conv->pads_begin[i];
  }
  out_depthwise->batch = conv->batch;
  out_depthwise->groups = conv->groups;
  out_depthwise->multiplier = conv->out_channels / conv->groups;
  return cpu_plane_fits(&window) && cpu_plane_init(&window, &out_depthwise->plane);
}

typedef struct run {
  const cpu_depthwise *depthwise;
  const cpu_vec *vec;
  const float *x, *weights, *bias;
  float *y;
  void *workspace;
} run;

static int all_finite(const float *weights, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (!isfinite(weights[i])) return 0;
  return 1;
}

static float sum_by_definition(const cpu_plane_window *c, const float *x, const float *weights,
                               float bias, int64_t oh, int64_t ow) {
  float sum = bias;
  for (int64_t kh = 0; kh < c->kernel[0]; ++kh)
    for (int64_t kw = 0; kw < c->kernel[1]; ++kw) {
      const int64_t h = oh * c->strides[0] - c->pads_begin[0] + kh * c->dilations[0];
      const int64_t w = ow * c->strides[1] - c->pads_begin[1] + kw * c->dilations[1];
      if (h >= 0 && h < c->in[0] && w >= 0 && w < c->in[1])
        sum += x[h * c->in[1] + w] * weights[kh * c->kernel[1] + kw];
    }
  return sum;
}

static void run_filter(const run *run, const float *x, const float *plane, int64_t filter,
                       float *y) {
  const cpu_plane_window *c = &run->depthwise->plane.window;
  const int64_t taps = c->kernel[0] * c->kernel[1];
  cpu_vec_tile tile = run->depthwise->plane.tile;
  tile.weights = run->weights + filter * taps;
  tile.bias = run->bias ? run->bias[filter] : 0.0f;
  if (all_finite(tile.weights, taps)) {
    run->vec->depthwise(&tile, y, plane);
    return;
  }
  for (int64_t oh = 0; oh < c->out[0]; ++oh)
    for (int64_t ow = 0; ow < c->out[1]; ++ow)
      *y++ = sum_by_definition(c, x, tile.weights, tile.bias, oh, ow);
}

// Items are input planes.
static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const cpu_depthwise *d = run->depthwise;
  const cpu_plane_window *c = &d->plane.window;
  float *plane = cpu_plane_start(&d->plane, run->workspace, worker, 0.0f);
  for (int64_t i = begin; i < end; ++i) {
    const float *x = run->x + i * c->in[0] * c->in[1];
    cpu_plane_copy(&d->plane, x, plane);
    for (int64_t m = 0; m < d->multiplier; ++m)
      run_filter(run, x, plane, i % d->groups * d->multiplier + m,
                 run->y + (i * d->multiplier + m) * c->out[0] * c->out[1]);
  }
}

void cpu_depthwise_run(const ops_device *device, const cpu_depthwise *depthwise, const float *x,
                       const float *weights, const float *bias, float *y, void *workspace) {
  const cpu_plane_window *c = &depthwise->plane.window;
  run run = {depthwise, device->vec, x, weights, bias, y, workspace};
  const int64_t taps = c->kernel[0] * c->kernel[1] * depthwise->multiplier;
  cpu_parallel(device, depthwise->batch * depthwise->groups,
               cpu_grain(c->out[0] * c->out[1] * taps / 4), run_range, &run);
}

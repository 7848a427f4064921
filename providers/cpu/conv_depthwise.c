// SPDX-License-Identifier: Apache-2.0
//
// Each worker copies a plane into a scratch plane with a border of zeros, wide enough that
// whole vectors may be read behind the last column; then every output row is one call of the
// vector loop. Weights that are not finite would turn the zeros of the border into NaN: such a
// filter is summed by the definition, tap by tap.
#include "conv_depthwise.h"

#include <math.h>
#include <ops_support/checked.h>
#include <string.h>

int cpu_depthwise_fits(const cpu_dnnl_conv *conv) {
  return !conv->transposed && conv->groups == conv->in_channels && conv->groups > 1 &&
         conv->spatial <= 2 && conv->strides[conv->spatial - 1] <= 2;
}

// Inserts a height of 1 into a convolution over lines.
static void add_height(cpu_dnnl_conv *conv) {
  int64_t *const arrays[] = {conv->in,        conv->out,        conv->kernel,  conv->strides,
                             conv->dilations, conv->pads_begin, conv->pads_end};
  for (int i = 0; i < 7; ++i) {
    arrays[i][1] = arrays[i][0];
    arrays[i][0] = i < 5;
  }
  conv->spatial = 2;
}

int cpu_depthwise_init(const cpu_dnnl_conv *conv, cpu_depthwise *out_depthwise) {
  cpu_depthwise *d = out_depthwise;
  uint64_t size;
  d->conv = *conv;
  if (conv->spatial == 1) add_height(&d->conv);
  const cpu_dnnl_conv *c = &d->conv;
  const int64_t outputs =
      (c->out[1] + CPU_DEPTHWISE_LANES - 1) / CPU_DEPTHWISE_LANES * CPU_DEPTHWISE_LANES;
  d->rows = (c->out[0] - 1) * c->strides[0] + (c->kernel[0] - 1) * c->dilations[0] + 1;
  d->columns = outputs * c->strides[1] + (c->kernel[1] - 1) * c->dilations[1] + 1;
  if (!ops_checked_mul((uint64_t)d->rows, (uint64_t)d->columns, &size) ||
      !ops_checked_mul(size, sizeof(float), &size) || !ops_checked_align(size, 64, &size) ||
      size > INT64_MAX)
    return 0;
  d->scratch_stride = (int64_t)size;
  d->tile = (cpu_depthwise_tile){.rows = c->out[0],
                                 .columns = c->out[1],
                                 .y_row = c->out[1],
                                 .x_step = c->strides[0] * d->columns,
                                 .stride = c->strides[1],
                                 .tap_rows = c->kernel[0],
                                 .tap_columns = c->kernel[1],
                                 .tap_row = c->dilations[0] * d->columns,
                                 .tap_column = c->dilations[1]};
  return 1;
}

typedef struct run {
  const cpu_depthwise *depthwise;
  const cpu_vec *vec;
  const float *x, *weights, *bias;
  float *y;
  char *scratch;
} run;

// Copies what is used of a plane to its place inside the border.
static void copy_plane(const cpu_depthwise *d, const float *x, float *plane) {
  const cpu_dnnl_conv *c = &d->conv;
  const int64_t left = c->pads_begin[1], room = d->columns - left;
  const int64_t width = c->in[1] < room ? c->in[1] : room;
  for (int64_t row = 0; row < c->in[0] && row + c->pads_begin[0] < d->rows; ++row)
    if (width > 0)
      memcpy(plane + (row + c->pads_begin[0]) * d->columns + left, x + row * c->in[1],
             (size_t)width * sizeof *x);
}

static int all_finite(const float *weights, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (!isfinite(weights[i])) return 0;
  return 1;
}

static float sum_by_definition(const cpu_dnnl_conv *c, const float *x, const float *weights,
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

static void run_filter(const run *run, const float *x, const float *plane, int64_t batch,
                       int64_t filter) {
  const cpu_dnnl_conv *c = &run->depthwise->conv;
  cpu_depthwise_tile tile = run->depthwise->tile;
  float *y = run->y + (batch * c->out_channels + filter) * c->out[0] * c->out[1];
  const int64_t taps = c->kernel[0] * c->kernel[1];
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

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const cpu_depthwise *d = run->depthwise;
  const cpu_dnnl_conv *c = &d->conv;
  const int64_t multiplier = c->out_channels / c->groups;
  float *plane = (float *)(run->scratch + worker * d->scratch_stride);
  memset(plane, 0, (size_t)d->scratch_stride);
  for (int64_t i = begin; i < end; ++i) {
    const float *x = run->x + i * c->in[0] * c->in[1];
    copy_plane(d, x, plane);
    for (int64_t m = 0; m < multiplier; ++m)
      run_filter(run, x, plane, i / c->groups, i % c->groups * multiplier + m);
  }
}

void cpu_depthwise_run(const ops_device *device, const cpu_depthwise *depthwise, const float *x,
                       const float *weights, const float *bias, float *y, void *workspace) {
  const cpu_dnnl_conv *c = &depthwise->conv;
  run run = {depthwise, device->vec, x, weights, bias, y, workspace};
  const int64_t cost =
      c->out[0] * c->out[1] * c->kernel[0] * c->kernel[1] * (c->out_channels / c->groups) / 4;
  cpu_parallel(device, c->batch * c->groups, cpu_grain(cost), run_range, &run);
}

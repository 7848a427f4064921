// SPDX-License-Identifier: Apache-2.0
//
// Planes with a border. See plane.h.
#include "plane.h"

#include <ops_support/checked.h>
#include <string.h>

int cpu_plane_fits(const cpu_plane_window *window) {
  return window->strides[1] <= 2;
}

int cpu_plane_init(const cpu_plane_window *window, cpu_plane *out_plane) {
  cpu_plane *p = out_plane;
  const cpu_plane_window *w = &p->window;
  uint64_t size;
  p->window = *window;
  const int64_t outputs =
      (w->out[1] + CPU_VEC_TILE_LANES - 1) / CPU_VEC_TILE_LANES * CPU_VEC_TILE_LANES;
  p->rows = (w->out[0] - 1) * w->strides[0] + (w->kernel[0] - 1) * w->dilations[0] + 1;
  p->columns = outputs * w->strides[1] + (w->kernel[1] - 1) * w->dilations[1] + 1;
  if (!ops_checked_mul((uint64_t)p->rows, (uint64_t)p->columns, &size) ||
      !ops_checked_mul(size, sizeof(float), &size) || !ops_checked_align(size, 64, &size) ||
      size > INT32_MAX)
    return 0;
  p->scratch_stride = (int64_t)size;
  p->tile = (cpu_vec_tile){.rows = w->out[0],
                           .columns = w->out[1],
                           .y_row = w->out[1],
                           .x_step = w->strides[0] * p->columns,
                           .stride = w->strides[1],
                           .tap_rows = w->kernel[0],
                           .tap_columns = w->kernel[1],
                           .tap_row = w->dilations[0] * p->columns,
                           .tap_column = w->dilations[1]};
  return 1;
}

void cpu_plane_reserve(const ops_device *device, const cpu_plane *plane,
                       ops_prepare_reply *reply) {
  reply->workspace_size =
      (uint64_t)plane->scratch_stride * (uint64_t)device->api->worker_count(device->host);
  reply->workspace_alignment = 64;
}

float *cpu_plane_start(const cpu_plane *plane, void *workspace, int32_t worker, float border) {
  float *scratch = (float *)((char *)workspace + worker * plane->scratch_stride);
  const int64_t count = plane->scratch_stride / (int64_t)sizeof *scratch;
  for (int64_t i = 0; i < count; ++i) scratch[i] = border;
  return scratch;
}

void cpu_plane_copy(const cpu_plane *plane, const float *x, float *scratch) {
  const cpu_plane_window *w = &plane->window;
  const int64_t top = w->pads_begin[0], left = w->pads_begin[1], room = plane->columns - left;
  const int64_t width = w->in[1] < room ? w->in[1] : room;
  if (width <= 0) return;
  for (int64_t row = 0; row < w->in[0] && row + top < plane->rows; ++row)
    memcpy(scratch + (row + top) * plane->columns + left, x + row * w->in[1],
           (size_t)width * sizeof *x);
}

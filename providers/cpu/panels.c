// SPDX-License-Identifier: Apache-2.0
//
// Packing of panels and products with them. See panels.h.
#include "panels.h"

#include <string.h>

int64_t cpu_panels_padded(const ops_device *device, int64_t n) {
  const int64_t width = cpu_panel_width(device);
  return n > INT64_MAX - width ? 0 : (n + width - 1) / width * width;
}

typedef struct packing {
  const ops_device *device;
  const float *matrix;
  int64_t n, k;
  float *panels;
} packing;

static void pack_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const packing *p = context;
  const int64_t width = cpu_panel_width(p->device);
  (void)worker;
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t first = panel * width;
    const int64_t rows = p->n - first < width ? p->n - first : width;
    float *to = p->panels + first * p->k;
    if (rows < width) memset(to, 0, (size_t)(width * p->k) * sizeof *to);
    p->device->vec->transpose(p->matrix + first * p->k, p->k, to, width, rows, p->k);
  }
}

void cpu_panels_pack(const ops_device *device, const float *matrix, int64_t n, int64_t k,
                     float *panels) {
  const int64_t width = cpu_panel_width(device);
  packing p = {device, matrix, n, k, panels};
  if (k == 0) return;
  cpu_parallel(device, cpu_panels_padded(device, n) / width, cpu_grain(width * k), pack_range,
               &p);
}

typedef struct multiplication {
  const ops_device *device;
  const cpu_vec_product *product;
} multiplication;

static void multiply_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const multiplication *m = context;
  (void)worker;
  m->device->vec->panel_product(m->product, begin, end);
}

void cpu_panels_multiply(const ops_device *device, const cpu_vec_product *product, int64_t n) {
  const int64_t width = cpu_panel_width(device);
  const int64_t panels = cpu_panels_padded(device, n) / width;
  const int64_t per_step = 32;  // products in the time of a step of cpu_grain
  const int64_t grain = cpu_grain(product->count * product->k * width / per_step);
  multiplication m = {device, product};
  if (panels <= grain)
    device->vec->panel_product(product, 0, panels);
  else
    cpu_parallel(device, panels, grain, multiply_range, &m);
}

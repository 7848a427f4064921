// SPDX-License-Identifier: Apache-2.0
//
// Matrices packed for products with a row: [n, k], as weights lie in ONNX, cut into panels of
// as many of the n rows as the machine's tile has columns, each panel stored k by k. The last
// panel is filled up with zeroes. vec_panel.c multiplies them.
#ifndef CPU_PANELS_H_
#define CPU_PANELS_H_

#include "cpu.h"
#include "vec.h"

static inline int64_t cpu_panel_width(const ops_device *device) {
  return *device->vec->panel_width;
}

// n rounded up to whole panels. 0 if that does not fit.
int64_t cpu_panels_padded(const ops_device *device, int64_t n);

// Packs a contiguous [n, k]; `panels` has room for cpu_panels_padded(n) * k.
void cpu_panels_pack(const ops_device *device, const float *matrix, int64_t n, int64_t k,
                     float *panels);

// Runs a product with all the panels of [n, k], split between the host's workers if it is
// worth it; the split changes no bit.
void cpu_panels_multiply(const ops_device *device, const cpu_vec_product *product, int64_t n);

#endif  // CPU_PANELS_H_

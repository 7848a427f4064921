// SPDX-License-Identifier: Apache-2.0
//
// Clip with bounds as inputs (opset 11 and later). Earlier ones, with bounds as attributes, are
// in unary.c.
#include <math.h>
#include <string.h>

#include "channels_last.h"
#include "half_block.h"
#include "ops_table.h"
#include "vec.h"

typedef struct clip_prepared {
  ops_prepared base;
  int64_t count;
  int32_t type;
} clip_prepared;

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  clip_prepared *own = (clip_prepared *)prepared;
  cpu_shape x, bound;
  cpu_input_shape(request, 0, &x);
  for (uint64_t i = 1; i <= 2; ++i) {
    if (!ops_request_input(request, i)) continue;
    cpu_input_shape(request, i, &bound);
    if (cpu_count(&bound) != 1)
      return cpu_invalid(kernel, error, "%s must be a scalar, found %lld elements",
                         i == 1 ? "min" : "max", (long long)cpu_count(&bound));
  }
  own->count = cpu_count(&x);
  own->type = cpu_input_type(request, 0);
  return cpu_set_output(kernel, reply, 0, own->type, &x, error);
}

static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  (void)kernel;
  if (!cpu_may_be_last(ops_request_input(request, 0)->type)) return;
  cpu_layouts_add(layouts, CPU_LAST_FIRST, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 0);
}

typedef struct run {
  const ops_device *device;
  int32_t type;
  const char *x;
  char *y;
  const char *low;  // NULL: no bound
  const char *high;
} run;

#define CLIP_CASE(number, T)                                                         \
  case number:                                                                       \
    for (int64_t i = begin; i < end; ++i) {                                          \
      T value = ((const T *)run->x)[i];                                              \
      if (run->low && value < *(const T *)run->low) value = *(const T *)run->low;    \
      if (run->high && value > *(const T *)run->high) value = *(const T *)run->high; \
      ((T *)run->y)[i] = value;                                                      \
    }                                                                                \
    break

static void run_plain(const run *run, int64_t begin, int64_t end) {
  switch (run->type) {
    CLIP_CASE(OPS_TYPE_DOUBLE, double);
    CLIP_CASE(OPS_TYPE_INT8, int8_t);
    CLIP_CASE(OPS_TYPE_INT16, int16_t);
    CLIP_CASE(OPS_TYPE_INT32, int32_t);
    CLIP_CASE(OPS_TYPE_INT64, int64_t);
    CLIP_CASE(OPS_TYPE_UINT8, uint8_t);
    CLIP_CASE(OPS_TYPE_UINT16, uint16_t);
    CLIP_CASE(OPS_TYPE_UINT32, uint32_t);
    CLIP_CASE(OPS_TYPE_UINT64, uint64_t);
    default:
      break;
  }
}

static void run_half(const run *run, const float *bounds, int64_t begin, int64_t end) {
  float block[CPU_HALF_BLOCK];
  for (int64_t i = begin; i < end; i += CPU_HALF_BLOCK) {
    const int64_t n = end - i < CPU_HALF_BLOCK ? end - i : CPU_HALF_BLOCK;
    cpu_half_widen(run->device->vec, run->type, run->x + i * 2, 2, block, n);
    run->device->vec->unary[CPU_UNARY_clip](block, block, n, bounds);
    cpu_half_narrow(run->device->vec, run->type, block, run->y + i * 2, n);
  }
}

static float read_bound(const run *run, const char *from, float fallback) {
  const int32_t type = run->type;
  float bound = fallback;
  if (from && type == OPS_TYPE_FLOAT) memcpy(&bound, from, sizeof bound);
  if (from && cpu_is_half(type)) cpu_half_widen(run->device->vec, type, from, 0, &bound, 1);
  return bound;
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  (void)worker;
  if (run->type != OPS_TYPE_FLOAT && !cpu_is_half(run->type)) {
    run_plain(run, begin, end);
    return;
  }
  const float infinity = HUGE_VALF;
  const float bounds[2] = {read_bound(run, run->low, -infinity),
                           read_bound(run, run->high, infinity)};
  if (run->type == OPS_TYPE_FLOAT)
    run->device->vec->unary[CPU_UNARY_clip]((const float *)run->x + begin,
                                            (float *)run->y + begin, end - begin, bounds);
  else
    run_half(run, bounds, begin, end);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const clip_prepared *own = (const clip_prepared *)prepared;
  run run = {.device = prepared->kernel->device,
             .type = own->type,
             .x = cpu_in_data(request, 0),
             .y = cpu_out_data(request, 0),
             .low = cpu_in_data(request, 1),
             .high = cpu_in_data(request, 2)};
  (void)error;
  cpu_parallel(run.device, own->count, cpu_grain(1), run_range, &run);
  return OPS_OK;
}

const cpu_op cpu_clip_op = {.kernel_size = sizeof(ops_kernel),
                            .prepared_size = sizeof(clip_prepared),
                            .layouts = layouts,
                            .sees_view = 1,
                            .prepare = prepare,
                            .execute = execute};

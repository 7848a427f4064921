// SPDX-License-Identifier: Apache-2.0
//
// DynamicQuantizeLinear: scale and zero point are those of the input's range, widened to hold
// 0.
#include "dynamic_quantize.h"

#include "ops_table.h"
#include "vec.h"

typedef struct run {
  const cpu_vec *vec;
  const float *x;
  uint8_t *y;
  float scale;
  uint8_t zero;
} run;

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  (void)worker;
  run->vec->quantize[OPS_TYPE_UINT8](run->x + begin, run->y + begin, &run->scale, &run->zero, 0,
                                     0, end - begin);
}

// NaN leaves the range as it is.
static float bounded(double value) {
  return value > 255 ? 255.0f : value > 0 ? (float)value : 0.0f;
}

void cpu_dynamic_quantize(const ops_device *device, const float *x, int64_t count, uint8_t *y,
                          float *out_scale, uint8_t *out_zero) {
  run run = {.vec = device->vec, .x = x, .y = y};
  const float high = (float)run.vec->row[CPU_REDUCE_max](x, count);
  const float low = (float)run.vec->row[CPU_REDUCE_min](x, count);
  const float least = low < 0 ? low : 0, most = high > 0 ? high : 0;
  run.scale = (most - least) / 255;
  *out_scale = run.scale;
  // Zeros alone have the scale 0; any other gives them their number.
  if (!(run.scale > 0)) run.scale = 1;
  run.zero = (uint8_t)rintf(bounded((double)((0 - least) / run.scale)));
  *out_zero = run.zero;
  cpu_parallel(device, count, cpu_grain(1), run_range, &run);
}

typedef struct dynamic_prepared {
  ops_prepared base;
  int64_t count;
} dynamic_prepared;

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const cpu_shape one = {0};
  cpu_shape x;
  cpu_input_shape(request, 0, &x);
  ((dynamic_prepared *)prepared)->count = cpu_count(&x);
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, OPS_TYPE_UINT8, &x, error));
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 1, OPS_TYPE_FLOAT, &one, error));
  return cpu_set_output(kernel, reply, 2, OPS_TYPE_UINT8, &one, error);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  (void)error;
  cpu_dynamic_quantize(prepared->kernel->device, cpu_in_data(request, 0),
                       ((const dynamic_prepared *)prepared)->count, cpu_out_data(request, 0),
                       cpu_out_data(request, 1), cpu_out_data(request, 2));
  return OPS_OK;
}

const cpu_op cpu_dynamic_quantize_op = {.kernel_size = sizeof(ops_kernel),
                                        .prepared_size = sizeof(dynamic_prepared),
                                        .prepare = prepare,
                                        .execute = execute};

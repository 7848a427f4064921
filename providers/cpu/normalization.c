// SPDX-License-Identifier: Apache-2.0
//
// BatchNormalization (inference) and InstanceNormalization of float: each plane of [N, C, …] is
// mapped by y = (x - mean) * scale + shift, computed in double and rounded once. They differ in
// where mean and variance come from.
#include <math.h>
#include <string.h>

#include "channels_last.h"
#include "ops_table.h"
#include "vec.h"

typedef struct norm_kernel {
  ops_kernel base;
  float epsilon;
  int32_t instance;
} norm_kernel;

typedef struct norm_prepared {
  ops_prepared base;
  int64_t planes, channels, pixels;
  int32_t last;  // 1: x and y have their channels last
} norm_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  if (ops_node_int(node, "training_mode", 0) != 0)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "training_mode must be 0");
  if (ops_node_int(node, "spatial", 1) != 1)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "spatial must be 1");
  if (node->opset < 7 && ops_str_equal(node->op, "BatchNormalization") &&
      ops_node_int(node, "is_test", 0) == 0)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "is_test must be 1");
  for (uint64_t i = 1; i < node->output_count; ++i)
    if (ops_node_output(node, i))
      cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "outputs of training are not supported");
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  ((norm_kernel *)kernel)->epsilon = ops_node_float(node, "epsilon", 1e-5f);
  ((norm_kernel *)kernel)->instance = ops_str_equal(kernel->def->op, "InstanceNormalization");
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  norm_prepared *own = (norm_prepared *)prepared;
  cpu_shape x, vector;
  cpu_input_shape(request, 0, &x);
  if (x.rank < 1) return cpu_invalid(kernel, error, "the rank must be at least 1, found 0");
  own->channels = x.rank > 1 ? x.dims[1] : 1;
  own->planes = x.dims[0] * own->channels;
  own->pixels = cpu_product(x.dims, x.rank > 1 ? 2 : 1, x.rank);
  for (int32_t i = 1; i < kernel->input_count; ++i) {
    cpu_input_shape(request, (uint64_t)i, &vector);
    if (vector.rank != 1 || vector.dims[0] != own->channels)
      return cpu_invalid(kernel, error, "input %d must be [%lld]", i, (long long)own->channels);
  }
  own->last = cpu_is_last(request, 0);
  if (own->last) {  // a mean and a scale for each channel
    reply->workspace_size = (uint64_t)own->channels * 2 * sizeof(double);
    reply->workspace_alignment = 64;
  }
  return cpu_set_output(kernel, reply, 0, OPS_TYPE_FLOAT, &x, error);
}

static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  if (((const norm_kernel *)kernel)->instance ||
      !cpu_may_be_last(ops_request_input(request, 0)->type))
    return;
  cpu_layouts_add(layouts, CPU_LAST_FIRST, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 0);
}

typedef struct run {
  const norm_prepared *own;
  const norm_kernel *kernel;
  const cpu_vec *vec;
  const float *x, *scale, *shift, *mean, *variance;
  float *y;
  double *means, *scales;  // by channel, if channels are last
} run;

static void run_plane(const run *run, int64_t plane) {
  const int64_t n = run->own->pixels, channel = plane % run->own->channels;
  const float *x = run->x + plane * n;
  double mean, variance;
  if (run->kernel->instance) {
    mean = run->vec->row[CPU_REDUCE_sum](x, n) / (double)n;
    variance = run->vec->sum_square_deviation(x, n, mean) / (double)n;
  } else {
    mean = run->mean[channel];
    variance = run->variance[channel];
  }
  const double scale = run->scale[channel] / sqrt(variance + (double)run->kernel->epsilon);
  run->vec->affine(x, run->y + plane * n, n, mean, scale, run->shift[channel]);
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t plane = begin; plane < end; ++plane) run_plane(context, plane);
}

// ---- Channels last --------------------------------------------------------------------------

static void fill_channels(const run *run) {
  for (int64_t c = 0; c < run->own->channels; ++c) {
    run->means[c] = run->mean[c];
    run->scales[c] =
        run->scale[c] / sqrt((double)run->variance[c] + (double)run->kernel->epsilon);
  }
}

static void run_pixels(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const int64_t channels = run->own->channels;
  (void)worker;
  for (int64_t i = begin; i < end; ++i)
    run->vec->affine_channels(run->x + i * channels, run->y + i * channels, channels,
                              run->means, run->scales, run->shift);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const norm_prepared *own = (const norm_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  run run = {.own = own,
             .kernel = (const norm_kernel *)prepared->kernel,
             .vec = device->vec,
             .x = cpu_in_data(request, 0),
             .scale = cpu_in_data(request, 1),
             .shift = cpu_in_data(request, 2),
             .mean = cpu_in_data(request, 3),
             .variance = cpu_in_data(request, 4),
             .y = cpu_out_data(request, 0)};
  (void)error;
  if (own->last) {
    run.means = cpu_workspace(request);
    run.scales = run.means + own->channels;
    fill_channels(&run);
    cpu_parallel(device, own->planes / own->channels * own->pixels, cpu_grain(own->channels),
                 run_pixels, &run);
    return OPS_OK;
  }
  if (own->pixels > 0)
    cpu_parallel(device, own->planes, cpu_grain(own->pixels), run_range, &run);
  return OPS_OK;
}

const cpu_op cpu_normalization_op = {.kernel_size = sizeof(norm_kernel),
                                     .prepared_size = sizeof(norm_prepared),
                                     .claim = claim,
                                     .create = create,
                                     .layouts = layouts,
                                     .prepare = prepare,
                                     .execute = execute};

// SPDX-License-Identifier: Apache-2.0
//
// LRN: x / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta, in double, a
// block of pixels at a time.
#include <math.h>

#include "ops_table.h"
#include "vec.h"

#define BLOCK 128

typedef struct lrn_kernel {
  ops_kernel base;
  double alpha, beta, bias;
  int64_t size;
} lrn_kernel;

typedef struct lrn_prepared {
  ops_prepared base;
  int64_t batch, channels, pixels, blocks;
} lrn_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  const int64_t size = ops_node_int(node, "size", 0);
  (void)def;
  if (size < 1 || size > INT32_MAX)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "size must be in [1, 2^31), found %lld",
               (long long)size);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  lrn_kernel *lrn = (lrn_kernel *)kernel;
  (void)error;
  lrn->alpha = ops_node_float(node, "alpha", 0.0001f);
  lrn->beta = ops_node_float(node, "beta", 0.75f);
  lrn->bias = ops_node_float(node, "bias", 1.0f);
  lrn->size = ops_node_int(node, "size", 1);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  lrn_prepared *own = (lrn_prepared *)prepared;
  cpu_shape x;
  cpu_input_shape(request, 0, &x);
  if (x.rank < 2)
    return cpu_invalid(kernel, error, "the rank must be at least 2, found %d", x.rank);
  own->batch = x.dims[0];
  own->channels = x.dims[1];
  own->pixels = cpu_product(x.dims, 2, x.rank);
  own->blocks = (own->pixels + BLOCK - 1) / BLOCK;
  return cpu_set_output(kernel, reply, 0, OPS_TYPE_FLOAT, &x, error);
}

typedef struct run {
  const lrn_prepared *own;
  const lrn_kernel *kernel;
  const cpu_vec *vec;
  const float *x;
  float *y;
} run;

static double divisor(const lrn_kernel *kernel, double sum) {
  const double base = kernel->bias + kernel->alpha / (double)kernel->size * sum;
  if (kernel->beta == 0.75) {
    const double root = sqrt(base);
    return root * sqrt(root);
  }
  return pow(base, kernel->beta);
}

// One channel of one block of pixels; x and y point to channel 0 of the block.
static void run_channel(const run *run, const float *x, float *y, int64_t channel,
                        int64_t count) {
  const lrn_prepared *own = run->own;
  const int64_t size = run->kernel->size;
  int64_t first = channel - (size - 1) / 2, last = channel + size / 2;
  if (first < 0) first = 0;
  if (last > own->channels - 1) last = own->channels - 1;
  double sum[BLOCK] = {0};
  for (int64_t c = first; c <= last; ++c)
    run->vec->columns[CPU_REDUCE_square_sum](sum, x + c * own->pixels, 1, count);
  const int64_t at = channel * own->pixels;
  for (int64_t i = 0; i < count; ++i)
    y[at + i] = (float)((double)x[at + i] / divisor(run->kernel, sum[i]));
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const lrn_prepared *own = run->own;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t channel = i % own->channels, pixel = i / own->channels % own->blocks * BLOCK;
    const int64_t image = i / own->channels / own->blocks * own->channels * own->pixels;
    const int64_t left = own->pixels - pixel;
    run_channel(run, run->x + image + pixel, run->y + image + pixel, channel,
                left < BLOCK ? left : BLOCK);
  }
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const lrn_prepared *own = (const lrn_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  run run = {own, (const lrn_kernel *)prepared->kernel, device->vec, cpu_in_data(request, 0),
             cpu_out_data(request, 0)};
  (void)error;
  cpu_parallel(device, own->batch * own->channels * own->blocks, cpu_grain(BLOCK * 8),
               run_range, &run);
  return OPS_OK;
}

const cpu_op cpu_lrn_op = {.kernel_size = sizeof(lrn_kernel),
                           .prepared_size = sizeof(lrn_prepared),
                           .claim = claim,
                           .create = create,
                           .prepare = prepare,
                           .execute = execute};

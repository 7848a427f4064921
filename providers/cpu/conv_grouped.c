// SPDX-License-Identifier: Apache-2.0
//
// Products of groups of channels. See conv_grouped.h.
#include "conv_grouped.h"

#include <ops_support/checked.h>

#include "conv_shared.h"
#include "vec.h"

// Fewer would not fill a vector.
#define LEAST_PIXELS 16
// A panel of so many channels, and the weights that meet it, stay in the second cache.
#define MAX_CHANNELS 768
// Floats of y in a chunk, and pixels that keep the loops over its rows long enough.
#define CHUNK_FLOATS (16 * 1024)
#define LEAST_CHUNK 192

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int suits(const cpu_dnnl_conv *conv) {
  const int64_t block = cpu_dnnl_likes_channels_last() ? 16 : 8;  // oneDNN's, of channels
  const int64_t channels = conv->in_channels / conv->groups;
  const int64_t filters = conv->out_channels / conv->groups;
  return !conv->source_last && !conv->target_last && cpu_conv_is_pointwise(conv) &&
         cpu_product(conv->out, 0, conv->spatial) >= LEAST_PIXELS && conv->groups > 1 &&
         channels > 1 && channels <= MAX_CHANNELS &&
         (channels % block != 0 || filters % block != 0);
}

int cpu_grouped_init(const ops_device *device, const cpu_dnnl_conv *conv, cpu_grouped *own,
                     ops_prepare_reply *reply) {
  const int64_t panel = device->vec->panel;
  if (!suits(conv)) return 0;
  *own = (cpu_grouped){.batch = conv->batch,
                       .groups = conv->groups,
                       .pixels = cpu_product(conv->out, 0, conv->spatial),
                       .channels = conv->in_channels / conv->groups,
                       .filters = conv->out_channels / conv->groups};
  own->chunk = CHUNK_FLOATS / own->filters;
  if (own->chunk < LEAST_CHUNK) own->chunk = LEAST_CHUNK;
  own->chunk = own->chunk / panel * panel;
  if (own->chunk > own->pixels) own->chunk = own->pixels;
  own->chunks = (own->pixels + own->chunk - 1) / own->chunk;
  own->pack_size = own->channels * panel;
  if (!ops_checked_mul((uint64_t)own->pack_size * sizeof(float), (uint64_t)cpu_workers(device),
                       &reply->workspace_size))
    return 0;
  reply->workspace_alignment = 64;
  reply->implementation = (ops_str)OPS_STR("groups by blocks");
  return 1;
}

typedef struct run {
  const cpu_grouped *own;
  const cpu_grouped_args *args;
  const ops_device *device;
} run;

// Panels of `count` pixels of x times the weights of a group.
static void multiply(const run *run, const float *weights, const float *x, float *y,
                     int64_t count, float *packed) {
  const cpu_grouped *own = run->own;
  const cpu_vec *vec = run->device->vec;
  cpu_vec_block block = {.a = weights,
                         .a_row = own->channels,
                         .packed = packed,
                         .y_row = own->pixels,
                         .b_row = own->pixels,
                         .rows = own->filters,
                         .depth = own->channels};
  for (int64_t i = 0; i < count; i += vec->panel) {
    block.columns = least(count - i, vec->panel);
    block.unpacked = block.columns == vec->panel ? x + i : NULL;
    block.y = y + i;
    if (!block.unpacked) vec->pack(x + i, own->pixels, packed, own->channels, block.columns);
    vec->multiply_block(&block);
  }
}

// Bias and chain of `count` pixels, which lie from element `at` of y on, of all of the filters
// of a group.
static void finish(const run *run, const float *bias, int64_t at, int64_t count) {
  const cpu_grouped *own = run->own;
  const cpu_grouped_args *args = run->args;
  const int is_whole = count == own->pixels;
  const int64_t rows = is_whole ? 1 : own->filters;
  for (int64_t r = 0; bias && r < own->filters; ++r) {
    char *y = (char *)(args->y + at + r * own->pixels);
    run->device->vec->binary[CPU_BINARY_add][OPS_TYPE_FLOAT](y, y, (const char *)(bias + r),
                                                             sizeof *bias, 0, count);
  }
  for (int64_t r = 0; r < rows; ++r, at += own->pixels)
    cpu_chain_apply(run->device, args->chain, args->residual ? args->residual + at : NULL,
                    args->y + at, is_whole ? own->filters * count : count);
}

static void run_chunks(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const cpu_grouped *own = run->own;
  const cpu_grouped_args *args = run->args;
  float *packed = (float *)args->workspace + worker * own->pack_size;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t pixel = item % own->chunks * own->chunk, plane = item / own->chunks;
    const int64_t filter = plane % own->groups * own->filters;
    const int64_t count = least(own->pixels - pixel, own->chunk);
    const int64_t at = plane * own->filters * own->pixels + pixel;
    multiply(run, args->weights + filter * own->channels,
             args->x + plane * own->channels * own->pixels + pixel, args->y + at, count,
             packed);
    finish(run, args->bias ? args->bias + filter : NULL, at, count);
  }
}

void cpu_grouped_run(const ops_device *device, const cpu_grouped *own,
                     const cpu_grouped_args *args) {
  run run = {own, args, device};
  cpu_parallel(device, own->batch * own->groups * own->chunks,
               cpu_grain(own->chunk * own->filters * own->channels / 64), run_chunks, &run);
}

// SPDX-License-Identifier: Apache-2.0
//
// Pixels times weights. See conv_pointwise.h.
#include "conv_pointwise.h"

#include <string.h>

#include "conv_shared.h"

#define BLOCK 8  // pixels that the inner loop takes at once
#define LARGEST_CHUNK 128
#define DEPTH 768  // channels after which a chunk moves on: a panel stays in the cache
// A chunk is cut into parts by filters, so that a worker that is late does not hold up all; no
// part has fewer products than this, some five microseconds.
#define LEAST_PART 400000
#define PARTS_FOR_WORKER 4

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// ---- Weights --------------------------------------------------------------------------------

typedef struct packing {
  const ops_device *device;
  const cpu_pointwise *own;
  const float *w;
  float *to;
} packing;

// The filters of a group are cut into panels, the last of which may be narrower.
static int64_t columns_of(const cpu_pointwise *own, int64_t panel) {
  return least(own->filters - panel * own->columns, own->columns);
}

static void pack_panels(void *context, int64_t begin, int64_t end, int32_t worker) {
  const packing *p = context;
  const cpu_pointwise *own = p->own;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t group = i / own->panels, panel = i % own->panels;
    const int64_t first = panel * own->columns, columns = columns_of(own, panel);
    const int64_t row = cpu_vec_block_row(p->device->vec, columns);
    const float *from = p->w + (group * own->filters + first) * own->channels;
    float *to = p->to + group * own->group_size + first * own->channels;
    if (columns < row) memset(to, 0, (size_t)(own->channels * row) * sizeof *to);
    p->device->vec->transpose(from, own->channels, to, row, columns, own->channels);
  }
}

static void fill_pack(const ops_device *device, const void *plan, const float *w, float *to) {
  const cpu_pointwise *own = plan;
  packing p = {device, own, w, to};
  cpu_parallel(device, own->groups * own->panels, cpu_grain(own->channels * own->columns),
               pack_panels, &p);
}

// ---- Plans ----------------------------------------------------------------------------------

static void cut(const ops_device *device, cpu_pointwise *own) {
  own->panels = cpu_divide_up(own->filters, device->vec->panel);
  own->columns = cpu_vec_block_row(device->vec, cpu_divide_up(own->filters, own->panels));
  own->panels = cpu_divide_up(own->filters, own->columns);
  own->group_size =
      own->channels * ((own->panels - 1) * own->columns +
                       cpu_vec_block_row(device->vec, columns_of(own, own->panels - 1)));
  const int64_t share = cpu_divide_up(own->pixels, cpu_workers(device));
  own->chunk =
      cpu_divide_up(cpu_divide_up(share, cpu_divide_up(share, LARGEST_CHUNK)), BLOCK) * BLOCK;
  own->chunks = cpu_divide_up(own->pixels, own->chunk);
  const int64_t panels = own->groups * own->panels;
  const int64_t products = own->chunk * own->groups * own->channels * own->filters;
  const int64_t wanted = cpu_workers(device) * PARTS_FOR_WORKER / own->chunks;
  own->parts = least(least(products / LEAST_PART, wanted), panels);
  if (own->parts < 1 || cpu_workers(device) == 1) own->parts = 1;
}

// Groups whose last vectors would be emptier than this share are oneDNN's: light_shufflenet's
// of 34 filters take 118 us here and 109 there, of 68 91 and 86, of 136 78 and 89.
#define LEAST_FILLED 0.9

static int suits(const ops_device *device, const cpu_dnnl_conv *conv) {
  const int64_t filters = conv->out_channels / conv->groups;
  const double filled = (double)filters / (double)cpu_vec_block_row(device->vec, filters);
  return conv->source_last && conv->target_last && cpu_conv_is_pointwise(conv) &&
         (conv->groups == 1 || filled >= LEAST_FILLED);
}

int32_t cpu_pointwise_init(const ops_device *device, const cpu_dnnl_conv *conv,
                           const ops_constant *weights, cpu_conv_pack *pack, cpu_pointwise *own,
                           int *out_suits, ops_error *error) {
  const void *values;
  void *copy;
  *out_suits = weights && suits(device, conv);
  if (!*out_suits) return OPS_OK;
  *own = (cpu_pointwise){.pixels = conv->batch * cpu_product(conv->out, 0, conv->spatial),
                         .groups = conv->groups,
                         .channels = conv->in_channels / conv->groups,
                         .filters = conv->out_channels / conv->groups};
  cut(device, own);
  own->finishes = conv->post.function != CPU_DNNL_NO_FUNCTION;
  cpu_conv_vec_finish(&conv->post, &own->finish);
  const cpu_conv_packing packing = {.name = OPS_STR("cpu/pixels by panels"),
                                    .rank = 2,
                                    .dims = {own->groups, own->group_size},
                                    .fill = fill_pack,
                                    .plan = own};
  OPS_RETURN_IF_ERROR(cpu_contents(device, weights, &values, &copy, error));
  const int32_t status = cpu_conv_pack_find(pack, device, weights, values, &packing, error);
  cpu_free(device, copy);
  own->weights = pack->memory;
  return status;
}

// ---- Runs -----------------------------------------------------------------------------------

typedef struct run {
  const cpu_pointwise *own;
  const cpu_vec *vec;
  const float *x, *bias, *residual;
  float *y;
} run;

// The residual is added first, so that it may lie where the sums go.
static void run_panel(const run *run, int64_t pixel, int64_t count, int64_t group,
                      int64_t panel) {
  const cpu_pointwise *own = run->own;
  const int64_t in_row = own->groups * own->channels, out_row = own->groups * own->filters;
  const int64_t first = group * own->filters + panel * own->columns;
  const int64_t at = pixel * out_row + first;
  cpu_vec_block block = {.a_row = in_row,
                         .y = run->y + at,
                         .y_row = out_row,
                         .rows = count,
                         .columns = columns_of(own, panel),
                         .residual = run->residual ? run->residual + at : NULL};
  const int64_t row = cpu_vec_block_row(run->vec, block.columns);
  const float *x = run->x + pixel * in_row + group * own->channels;
  const float *weights =
      own->weights + group * own->group_size + panel * own->columns * own->channels;
  for (int64_t k = 0; k < own->channels; k += DEPTH) {
    block.depth = least(own->channels - k, DEPTH);
    block.a = x + k;
    block.packed = (float *)(uintptr_t)(weights + k * row);
    if (k + block.depth == own->channels) {
      block.bias = run->bias ? run->bias + first : NULL;
      block.finish = own->finishes ? &own->finish : NULL;
    }
    run->vec->multiply_block(&block);
    block.residual = NULL;
    block.adds = 1;
  }
}

static void run_parts(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const cpu_pointwise *own = run->own;
  const int64_t panels = own->groups * own->panels;
  (void)worker;
  for (int64_t p = begin; p < end; ++p) {
    const int64_t part = p % own->parts, pixel = p / own->parts * own->chunk;
    const int64_t count = least(own->pixels - pixel, own->chunk);
    for (int64_t i = part * panels / own->parts; i < (part + 1) * panels / own->parts; ++i)
      run_panel(run, pixel, count, i / own->panels, i % own->panels);
  }
}

void cpu_pointwise_run(const ops_device *device, const cpu_pointwise *own, const float *x,
                       const float *bias, const float *residual, float *y) {
  run run = {own, device->vec, x, bias, residual, y};
  const int64_t products = own->chunk * own->groups * own->channels * own->filters;
  cpu_parallel(device, own->chunks * own->parts, cpu_grain(products / own->parts / 64),
               run_parts, &run);
}

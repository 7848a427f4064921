// SPDX-License-Identifier: Apache-2.0
//
// Winograd's convolution: weights, blocks of tiles. See conv_winograd.h.
#include "conv_winograd.h"

#include <ops_support/error.h>
#include <string.h>

#include "conv_shared.h"

#define WIDTH CPU_WINOGRAD_FILTERS
#define POINTS 16  // of a transformed tile

// Floats of transformed inputs that a block should have at most: half of a usual second cache.
#define BLOCK_FLOATS (128 * 1024)
#define LEAST_BLOCK (8 * CPU_WINOGRAD_ROWS)
#define LARGEST_BLOCK (16 * CPU_WINOGRAD_ROWS)

static int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// ---- When -----------------------------------------------------------------------------------

// Measured on Zen 5, one thread, against oneDNN's direct convolution; with fewer tiles or
// channels the transforms and the larger weights outweigh the products saved.
// SqueezeNet, whose narrowest have sixteen, runs 2 % faster (two threads: 4 %) than with 32 as
// the least, and loads 5 % faster.
#define LEAST_TILES 40
#define LEAST_CHANNELS 16

int cpu_winograd_suits(const cpu_dnnl_conv *conv) {
  if (conv->spatial != 2 || conv->transposed || conv->groups != 1 || !conv->source_last ||
      !conv->target_last || conv->in_channels < LEAST_CHANNELS ||
      conv->out_channels < LEAST_CHANNELS)
    return 0;
  for (int i = 0; i < 2; ++i)
    if (conv->kernel[i] != 3 || conv->strides[i] != 1 || conv->dilations[i] != 1) return 0;
  return conv->batch * ((conv->out[0] + 1) / 2) * ((conv->out[1] + 1) / 2) >= LEAST_TILES;
}

// ---- Weights --------------------------------------------------------------------------------

typedef struct transform {
  const cpu_vec *vec;
  const float *w;  // [filters, channels, 3, 3]
  float *u;
  int64_t filters, channels;
} transform;

static void transform_panels(void *context, int64_t begin, int64_t end, int32_t worker) {
  const transform *t = context;
  (void)worker;
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t left = t->filters - panel * WIDTH;
    t->vec->winograd_weights(t->w + panel * WIDTH * t->channels * 9,
                             left < WIDTH ? left : WIDTH, t->channels,
                             t->u + panel * POINTS * t->channels * WIDTH);
  }
}

static void fill_pack(const ops_device *device, const void *plan, const float *w, float *u) {
  const cpu_winograd *own = plan;
  const int64_t panels = (own->filters + WIDTH - 1) / WIDTH;
  transform t = {device->vec, w, u, own->filters, own->channels};
  cpu_parallel(device, panels, cpu_grain(own->channels * WIDTH * POINTS), transform_panels, &t);
}

// Sums side by side, which the compiler makes a vector; NaN stays in its sum.
static int all_finite(const float *values, int64_t count) {
  float sums[16] = {0}, zero = 0;
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (int k = 0; k < 16; ++k) sums[k] += values[i + k] - values[i + k];
  for (; i < count; ++i) zero += values[i] - values[i];
  for (int k = 0; k < 16; ++k) zero += sums[k];
  return zero == 0;
}

// ---- Plans ----------------------------------------------------------------------------------

// So many tiles that their matrices fit into the cache, and that each worker has a block.
static int64_t choose_block(const cpu_winograd *w, int64_t workers) {
  int64_t block = BLOCK_FLOATS / (POINTS * w->channels);
  if (block < LEAST_BLOCK) block = LEAST_BLOCK;
  if (block > LARGEST_BLOCK) block = LARGEST_BLOCK;
  const int64_t share = (w->tiles + workers - 1) / workers;
  const int64_t blocks = (share + block - 1) / block;
  return round_up((share + blocks - 1) / blocks, CPU_WINOGRAD_ROWS);
}

// `values`: the contents of the weights.
static int32_t init(const ops_device *device, const cpu_dnnl_conv *conv,
                    const ops_constant *weights, const float *values, cpu_conv_pack *pack,
                    cpu_winograd *w, int *out_suits, ops_error *error) {
  *out_suits = all_finite(values, conv->out_channels * conv->in_channels * 9);
  if (!*out_suits) return OPS_OK;
  w->batch = conv->batch;
  w->channels = conv->in_channels;
  w->filters = conv->out_channels;
  for (int i = 0; i < 2; ++i) {
    w->in[i] = conv->in[i];
    w->out[i] = conv->out[i];
    w->pads[i] = conv->pads_begin[i];
  }
  w->across = (w->out[1] + 1) / 2;
  w->tiles = w->batch * ((w->out[0] + 1) / 2) * w->across;
  w->block = choose_block(w, cpu_workers(device));
  // Transformed inputs, one panel of products, zeros in place of pixels outside.
  w->scratch = round_up(w->block * POINTS * (w->channels + WIDTH) + w->channels, 16);
  cpu_conv_vec_finish(&conv->post, &w->finish);
  const cpu_conv_packing packing = {
      .name = OPS_STR("cpu/winograd 2x2 3x3"),
      .rank = 4,
      .dims = {(w->filters + WIDTH - 1) / WIDTH, POINTS, w->channels, WIDTH},
      .fill = fill_pack,
      .plan = w};
  OPS_RETURN_IF_ERROR(cpu_conv_pack_find(pack, device, weights, values, &packing, error));
  w->weights = pack->memory;
  return OPS_OK;
}

int32_t cpu_winograd_init(const ops_device *device, const cpu_dnnl_conv *conv,
                          const ops_constant *weights, cpu_conv_pack *pack,
                          cpu_winograd *out_winograd, int *out_suits, ops_error *error) {
  const void *values;
  void *copy;
  OPS_RETURN_IF_ERROR(cpu_contents(device, weights, &values, &copy, error));
  const int32_t status =
      init(device, conv, weights, values, pack, out_winograd, out_suits, error);
  cpu_free(device, copy);
  return status;
}

uint64_t cpu_winograd_workspace(const ops_device *device, const cpu_winograd *winograd) {
  return (uint64_t)winograd->scratch * sizeof(float) * (uint64_t)cpu_workers(device);
}

// ---- Running --------------------------------------------------------------------------------

typedef struct run {
  const cpu_winograd *w;
  const cpu_vec *vec;
  const float *x, *bias, *residual;
  float *y, *workspace;
} run;

// A tile: its image, and the row and column of its first output.
typedef struct place {
  int64_t image, row, column;
} place;

static place place_of(const cpu_winograd *w, int64_t tile) {
  const int64_t down = (w->out[0] + 1) / 2, line = tile / w->across;
  return (place){line / down, line % down * 2, tile % w->across * 2};
}

static void find_pixels(const run *run, place at, const float *zeros, const float **pixels) {
  const cpu_winograd *w = run->w;
  const float *image = run->x + at.image * w->in[0] * w->in[1] * w->channels;
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t k = 0; k < 4; ++k) {
      const int64_t row = at.row - w->pads[0] + i, column = at.column - w->pads[1] + k;
      const int inside = row >= 0 && row < w->in[0] && column >= 0 && column < w->in[1];
      pixels[4 * i + k] = inside ? image + (row * w->in[1] + column) * w->channels : zeros;
    }
}

// A row of taps from a row of its transform: the inverse of `spread`.
static double tap_of(const float *u, int64_t step, int i) {
  return i == 0 ? (double)u[0] : i == 2 ? (double)u[3 * step] : (double)u[step] - u[2 * step];
}

// The sums of one tile and filter by the definition, over pixels that are inside.
static void define(const run *run, place at, const float *u, int64_t step, float *sums) {
  const cpu_winograd *w = run->w;
  const float *pixels[POINTS];
  double total[4] = {0, 0, 0, 0};
  find_pixels(run, at, NULL, pixels);
  for (int64_t c = 0; c < w->channels; ++c)
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) {
        float line[4];
        for (int j = 0; j < 4; ++j)
          line[j] = (float)tap_of(u + c * WIDTH + j * step, 4 * step, i);
        const double tap = tap_of(line, 1, k);
        for (int out = 0; out < 4; ++out) {
          const float *pixel = pixels[(out / 2 + i) * 4 + out % 2 + k];
          if (pixel) total[out] += (double)pixel[c] * tap;
        }
      }
  for (int out = 0; out < 4; ++out) sums[out * WIDTH] = (float)total[out];
}

static void finish_tile(const run *run, place at, int64_t filter, const float *sums) {
  const cpu_winograd *w = run->w;
  const int64_t left = w->filters - filter, count = left < WIDTH ? left : WIDTH;
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t row = at.row + i / 2, column = at.column + i % 2;
    if (row >= w->out[0] || column >= w->out[1]) continue;
    const int64_t to =
        ((at.image * w->out[0] + row) * w->out[1] + column) * w->filters + filter;
    run->vec->winograd_finish(&w->finish, sums + i * WIDTH,
                              run->bias ? run->bias + filter : NULL,
                              run->residual ? run->residual + to : NULL, run->y + to, count);
  }
}

static int64_t blocks_of(const cpu_winograd *w) {
  return (w->tiles + w->block - 1) / w->block;
}

static int64_t panels_of(const cpu_winograd *w) {
  return (w->filters + WIDTH - 1) / WIDTH;
}

static int64_t tiles_of(const cpu_winograd *w, int64_t block) {
  const int64_t left = w->tiles - block * w->block;
  return left < w->block ? left : w->block;
}

// A workspace's transformed inputs, products of one panel, zeros.
static float *products_of(const cpu_winograd *w, float *scratch) {
  return scratch + POINTS * w->block * w->channels;
}

static float *zeros_of(const cpu_winograd *w, float *scratch) {
  return products_of(w, scratch) + POINTS * w->block * WIDTH;
}

// Tiles [begin, end) of a block into its matrices. Rows beyond the last tile repeat it; nobody
// reads their products.
static void transform_inputs(const run *run, int64_t block, int64_t begin, int64_t end,
                             const float *zeros, float *v) {
  const cpu_winograd *w = run->w;
  const int64_t last = block * w->block + tiles_of(w, block) - 1;
  const float *pixels[POINTS];
  for (int64_t t = begin; t < end; ++t) {
    const int64_t tile = block * w->block + t;
    find_pixels(run, place_of(w, tile < last ? tile : last), zeros, pixels);
    run->vec->winograd_input(pixels, v + t * w->channels, w->block * w->channels, w->channels);
  }
}

// The filters of one panel for the tiles of a block.
static void multiply_panel(const run *run, int64_t block, int64_t panel, const float *v,
                           float *m) {
  const cpu_winograd *w = run->w;
  const int64_t count = tiles_of(w, block), rows = round_up(count, CPU_WINOGRAD_ROWS);
  const int64_t product_step = w->block * WIDTH, size = w->channels * WIDTH;
  const float *u = w->weights + panel * POINTS * size;
  for (int64_t i = 0; i < POINTS; ++i)
    run->vec->winograd_product(v + i * w->block * w->channels, rows, w->channels, u + i * size,
                               m + i * product_step);
  for (int64_t t = 0; t < count; ++t) {
    const place at = place_of(w, block * w->block + t);
    float sums[4 * WIDTH];
    if (!run->vec->winograd_output(m + t * WIDTH, product_step, sums))
      for (int64_t f = 0; f < WIDTH; ++f) define(run, at, u + f, size, sums + f);
    finish_tile(run, at, panel * WIDTH, sums);
  }
}

static float *scratch_of(const run *run, int64_t index) {
  return run->workspace + index * run->w->scratch;
}

static float *cleared_zeros(const run *run, int64_t index) {
  float *zeros = zeros_of(run->w, scratch_of(run, index));
  return memset(zeros, 0, (size_t)run->w->channels * sizeof *zeros);
}

static void run_blocks(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const cpu_winograd *w = run->w;
  float *v = scratch_of(run, worker);
  const float *zeros = cleared_zeros(run, worker);
  for (int64_t i = begin; i < end; ++i) {
    transform_inputs(run, i, 0, round_up(tiles_of(w, i), CPU_WINOGRAD_ROWS), zeros, v);
    for (int64_t p = 0; p < panels_of(w); ++p) multiply_panel(run, i, p, v, products_of(w, v));
  }
}

// The same in two loops, whose pieces are small, where each worker has one block at most: else
// all would wait for the slowest. The matrices of a block are then in the workspace that has
// its number, products in the worker's.
static void run_inputs(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const int64_t groups = run->w->block / CPU_WINOGRAD_ROWS;
  const float *zeros = cleared_zeros(run, worker);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t block = i / groups, row = i % groups * CPU_WINOGRAD_ROWS;
    if (row < tiles_of(run->w, block))
      transform_inputs(run, block, row, row + CPU_WINOGRAD_ROWS, zeros, scratch_of(run, block));
  }
}

static void run_panels(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const cpu_winograd *w = run->w;
  const int64_t panels = panels_of(w);
  for (int64_t i = begin; i < end; ++i)
    multiply_panel(run, i / panels, i % panels, scratch_of(run, i / panels),
                   products_of(w, scratch_of(run, worker)));
}

void cpu_winograd_run(const ops_device *device, const cpu_winograd *winograd, const float *x,
                      const float *bias, const float *residual, float *y, void *workspace) {
  run run = {winograd, device->vec, x, bias, residual, y, workspace};
  const int64_t blocks = blocks_of(winograd);
  if (cpu_workers(device) == 1 || blocks > cpu_workers(device)) {
    cpu_parallel(device, blocks, 1, run_blocks, &run);
    return;
  }
  const int64_t row = POINTS * winograd->channels;
  cpu_parallel(device, blocks * (winograd->block / CPU_WINOGRAD_ROWS),
               cpu_grain(CPU_WINOGRAD_ROWS * row / 4), run_inputs, &run);
  cpu_parallel(device, blocks * panels_of(winograd),
               cpu_grain(winograd->block * row * WIDTH / 64), run_panels, &run);
}

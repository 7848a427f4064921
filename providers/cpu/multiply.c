// SPDX-License-Identifier: Apache-2.0
//
// The loops around vec_gemm.c. Work is cut into items: for one row of A, ranges of columns; for
// more, a panel of columns times a chunk of rows. See multiply.h.
#include "multiply.h"

#include <ops_support/checked.h>
#include <string.h>

#include "vec.h"

// A panel of this depth and the rows of A that meet it stay in the second cache.
#define DEPTH 768
// Columns from which a thread of its own reads long enough runs of each row of B.
#define MIN_COLUMNS 384
#define MAX_ROWS 256
#define MIN_ROWS 32
#define ITEMS_PER_WORKER 4
#define LINE_FLOATS 16

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

static void cut_columns(cpu_multiply *own, int64_t workers) {
  const int64_t wanted =
      workers > 1 ? clamp(own->n / MIN_COLUMNS, 1, workers * ITEMS_PER_WORKER) : 1;
  own->columns = cpu_divide_up(cpu_divide_up(own->n, wanted), LINE_FLOATS) * LINE_FLOATS;
  own->panels = cpu_divide_up(own->n, own->columns);
  own->rows = own->chunks = 1;
}

static void cut_blocks(cpu_multiply *own, int64_t workers, int64_t panel) {
  own->columns = panel;
  own->panels = cpu_divide_up(own->n, panel);
  const int64_t wanted = cpu_divide_up(workers * ITEMS_PER_WORKER, own->panels);
  own->rows = cpu_divide_up(clamp(own->m / wanted, MIN_ROWS, MAX_ROWS), 8) * 8;
  own->chunks = cpu_divide_up(own->m, own->rows);
  own->depth = own->k < DEPTH ? own->k : DEPTH;
  own->pack_size = cpu_divide_up(own->depth * panel, LINE_FLOATS) * LINE_FLOATS;
}

static void cut(cpu_multiply *own, int64_t workers, int64_t panel) {
  own->batches = cpu_product(own->batch_dims, 0, own->batch_rank);
  if (own->m == 0 || own->n == 0)
    own->batches = 0;
  else if (own->m == 1)
    cut_columns(own, workers);
  else
    cut_blocks(own, workers, panel);
}

int32_t cpu_multiply_prepare(const ops_device *device, cpu_multiply *own,
                             ops_prepare_reply *reply, ops_error *error) {
  const int64_t workers = cpu_workers(device);
  uint64_t count = 0;
  cut(own, workers, device->vec->panel);
  // A transposed A lies behind the panels, with its rows made contiguous.
  const uint64_t a_count = own->a_transposed && own->m > 1 ? (uint64_t)own->m : 0;
  if (!ops_checked_mul(a_count, (uint64_t)own->k, &count) ||
      !ops_checked_add(count, (uint64_t)(own->pack_size * workers), &count) ||
      !ops_checked_mul(count, sizeof(float), &reply->workspace_size))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: workspace too large");
  reply->workspace_alignment = LINE_FLOATS * sizeof(float);
  reply->implementation =
      own->m == 1 ? (ops_str)OPS_STR("row times matrix") : (ops_str)OPS_STR("blocks");
  return OPS_OK;
}

typedef struct run {
  const cpu_multiply *own;
  const cpu_multiply_args *args;
  const cpu_vec *vec;
  const float *a;
  int64_t a_row;
} run;

// Where an item lies.
typedef struct place {
  int64_t batch, column, row;
  const float *a, *b;
} place;

static place find_place(const run *run, int64_t item) {
  const cpu_multiply *own = run->own;
  place at = {.a = run->a, .b = run->args->b};
  at.row = item % own->chunks * own->rows;
  item /= own->chunks;
  at.column = item % own->panels * own->columns;
  at.batch = item / own->panels;
  int64_t rest = at.batch;
  for (int32_t d = own->batch_rank - 1; d >= 0; --d) {
    const int64_t index = rest % own->batch_dims[d];
    rest /= own->batch_dims[d];
    at.a += index * own->a_strides[d];
    at.b += index * own->b_strides[d];
  }
  return at;
}

static void apply_function(const run *run, float *y, int64_t count) {
  if (run->args->function >= 0) run->vec->unary[run->args->function](y, y, count, run->args->p);
}

// ---- One row --------------------------------------------------------------------------------

static void add(const run *run, float *y, const float *x, int64_t count) {
  run->vec->binary[CPU_BINARY_add][OPS_TYPE_FLOAT]((char *)y, (const char *)y, (const char *)x,
                                                   sizeof *y, sizeof *y, count);
}

static void run_columns(const run *run, int64_t item) {
  const cpu_multiply *own = run->own;
  const cpu_multiply_args *args = run->args;
  const place at = find_place(run, item);
  const int64_t count = clamp(own->n - at.column, 0, own->columns);
  const int64_t offset = at.batch * own->n + at.column;
  float *y = args->y + offset;
  if (own->b_transposed)
    run->vec->row_times_transposed(at.a, at.b + at.column * own->k, own->k, y, own->k, count);
  else
    run->vec->row_times(at.a, at.b + at.column, own->n, y, own->k, count);
  if (args->bias) add(run, y, args->bias + at.column, count);
  if (args->residual) add(run, y, args->residual + offset, count);
  apply_function(run, y, count);
}

static void run_column_items(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t item = begin; item < end; ++item) run_columns(context, item);
}

// ---- Blocks ---------------------------------------------------------------------------------

// A whole panel is packed by the block itself.
static void pack(const run *run, const place *at, int64_t k, cpu_vec_block *block) {
  const cpu_multiply *own = run->own;
  const int64_t width = run->vec->panel, columns = block->columns, depth = block->depth;
  const float *b = at->b + at->column + k * own->n;
  if (own->b_transposed) {
    const int64_t row = cpu_vec_block_row(run->vec, columns);
    if (columns < row) memset(block->packed, 0, (size_t)(depth * row) * sizeof *block->packed);
    run->vec->transpose(at->b + at->column * own->k + k, own->k, block->packed, row, columns,
                        depth);
  } else if (columns < width) {
    run->vec->pack(b, own->n, block->packed, depth, columns);
  } else {
    block->unpacked = b;
  }
}

// The part of B that is packed after the one at depth k; NULL if that is not worth a look.
static const float *look_ahead(const run *run, const place *at, int64_t k, const place *next) {
  const cpu_multiply *own = run->own;
  if (own->b_transposed) return NULL;
  if (k + own->depth < own->k) return at->b + (k + own->depth) * own->n + at->column;
  return next && next->row == 0 ? next->b + next->column : NULL;
}

// `next` is the place after this one, or NULL. `is_packed`: the panel is still there.
static void run_block(const run *run, const place *at, const place *next, int is_packed,
                      float *packed) {
  const cpu_multiply *own = run->own;
  const cpu_multiply_args *args = run->args;
  const int64_t rows = clamp(own->m - at->row, 0, own->rows);
  const int64_t columns = clamp(own->n - at->column, 0, own->columns);
  const int64_t offset = (at->batch * own->m + at->row) * own->n + at->column;
  cpu_vec_block block = {.a_row = run->a_row,
                         .packed = packed,
                         .y = args->y + offset,
                         .y_row = own->n,
                         .rows = rows,
                         .columns = columns,
                         .b_row = own->n};
  int64_t k = 0;
  do {  // once also for a depth of 0
    block.depth = clamp(own->k - k, 0, own->depth);
    block.a = at->a + at->row * run->a_row + k;
    block.adds = k > 0;
    block.ahead = look_ahead(run, at, k, next);
    if (k + block.depth == own->k) {
      block.bias = args->bias ? args->bias + at->column : NULL;
      block.residual = args->residual ? args->residual + offset : NULL;
    }
    block.unpacked = NULL;
    if (!is_packed) pack(run, at, k, &block);
    run->vec->multiply_block(&block);
    k += own->depth;
  } while (k < own->k);
  for (int64_t r = 0; r < rows; ++r) apply_function(run, block.y + r * own->n, columns);
}

static void run_block_items(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  float *packed = (float *)run->args->workspace + worker * run->own->pack_size;
  place at = find_place(run, begin), next;
  for (int64_t item = begin; item < end; ++item, at = next) {
    const int is_packed = item > begin && at.row > 0 && run->own->depth == run->own->k;
    if (item + 1 < end) next = find_place(run, item + 1);
    run_block(run, &at, item + 1 < end ? &next : NULL, is_packed, packed);
  }
}

// Rows of a transposed A in the workspace behind the panels.
static const float *turn_a(const ops_device *device, const cpu_multiply *own,
                           const cpu_multiply_args *args) {
  float *to = (float *)args->workspace + own->pack_size * cpu_workers(device);
  device->vec->transpose(args->a, own->m, to, own->k, own->k, own->m);
  return to;
}

void cpu_multiply_run(const ops_device *device, const cpu_multiply *own,
                      const cpu_multiply_args *args) {
  const int64_t items = own->batches * own->panels * own->chunks;
  run run = {own, args, device->vec, args->a, own->k};
  if (own->m == 1) {
    cpu_parallel(device, items, cpu_grain(own->k * own->columns / 16), run_column_items, &run);
    return;
  }
  if (own->a_transposed) run.a = turn_a(device, own, args);
  cpu_parallel(device, items, cpu_grain(own->rows * own->k * own->columns / 64),
               run_block_items, &run);
}

// SPDX-License-Identifier: Apache-2.0
//
// Packing, and products tile by tile. See dots.h.
#include "dots.h"

#include <ops_support/checked.h>
#include <stdio.h>
#include <string.h>

#include "quantized.h"

#define ROWS CPU_DOTS_ROWS
#define COLUMNS CPU_DOTS_COLUMNS
#define STEP CPU_DOTS_STEP

// ---- Packing --------------------------------------------------------------------------------

// Bytes of the panels of all groups.
static int panel_bytes(const cpu_dots_shape *shape, uint64_t *out_bytes) {
  uint64_t terms, bytes;
  if (!ops_checked_mul((uint64_t)shape->taps, (uint64_t)shape->depth, &terms) ||
      !ops_checked_align(terms, STEP, &terms) ||
      !ops_checked_mul(terms, (uint64_t)cpu_dots_slots(shape), &bytes))
    return 0;
  *out_bytes = bytes;
  return bytes <= INT64_MAX / 2;
}

int cpu_dots_packed_bytes(const cpu_dots_shape *shape, uint64_t *out_bytes) {
  return panel_bytes(shape, out_bytes) &&
         ops_checked_add(*out_bytes, (uint64_t)cpu_dots_slots(shape) * sizeof(int32_t),
                         out_bytes);
}

const int32_t *cpu_dots_sums(const cpu_dots_shape *shape, const void *packed) {
  uint64_t bytes = 0;
  panel_bytes(shape, &bytes);
  return (const int32_t *)((const char *)packed + bytes);
}

typedef struct pack_job {
  const cpu_dots_shape *shape;
  const cpu_dots_strides *strides;
  const uint8_t *source;
  int8_t *packed;
  int32_t *sums;
  uint8_t flip;
} pack_job;

// One column; consecutive steps of it are COLUMNS * STEP bytes apart.
static int32_t pack_column(const pack_job *job, const uint8_t *source, int8_t *column) {
  const cpu_dots_shape *shape = job->shape;
  const int64_t tap_stride = job->strides->tap, stride = job->strides->depth;
  int32_t sum = 0, lane = 0;
  for (int64_t t = 0; t < shape->taps; ++t)
    for (int64_t k = 0; k < shape->depth; ++k) {
      const int8_t value = (int8_t)(source[t * tap_stride + k * stride] ^ job->flip);
      sum += value;
      column[lane] = value;
      if (++lane < STEP) continue;
      lane = 0;
      column += COLUMNS * STEP;
    }
  while (lane > 0 && lane < STEP) column[lane++] = 0;
  return sum;
}

static void clear_column(const pack_job *job, int8_t *column) {
  for (int64_t k = 0; k < cpu_dots_terms(job->shape); k += STEP, column += COLUMNS * STEP)
    memset(column, 0, STEP);
}

static void pack_panels(void *context, int64_t begin, int64_t end, int32_t worker) {
  const pack_job *job = context;
  const cpu_dots_shape *shape = job->shape;
  const int64_t panels = cpu_dots_panels(shape), bytes = cpu_dots_terms(shape) * COLUMNS;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t group = i / panels, first = i % panels * COLUMNS;
    for (int64_t c = 0; c < COLUMNS; ++c) {
      int8_t *column = job->packed + i * bytes + c * STEP;
      int32_t *sum = &job->sums[i * COLUMNS + c];
      *sum = 0;
      if (first + c < shape->columns)
        *sum = pack_column(
            job, job->source + group * job->strides->group + (first + c) * job->strides->column,
            column);
      else
        clear_column(job, column);
    }
  }
}

void cpu_dots_pack(const ops_device *device, const cpu_dots_shape *shape,
                   const cpu_dots_strides *strides, const void *source, int32_t type,
                   void *packed) {
  pack_job job = {.shape = shape,
                  .strides = strides,
                  .source = source,
                  .packed = packed,
                  .sums = (int32_t *)cpu_dots_sums(shape, packed),
                  .flip = type == OPS_TYPE_UINT8 ? 0x80 : 0};
  cpu_parallel(device, shape->groups * cpu_dots_panels(shape),
               cpu_grain(cpu_dots_terms(shape) * COLUMNS), pack_panels, &job);
}

int32_t cpu_dots_weights_init(cpu_dots_weights *out_weights, const ops_device *device,
                              const cpu_dots_shape *shape, const cpu_dots_strides *strides,
                              const ops_constant *weights, ops_error *error) {
  char name[160];
  uint64_t bytes;
  int32_t fill = 0;
  void *memory;
  const ops_tensor *source = &weights->dense.tensor;
  *out_weights = (cpu_dots_weights){.device = device};
  if (!cpu_dots_packed_bytes(shape, &bytes))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: the weights are too large");
  const int size =
      snprintf(name, sizeof name, "dots/%d/%lld.%lld.%lld.%lld/%lld.%lld.%lld.%lld",
               source->type, (long long)shape->groups, (long long)shape->columns,
               (long long)shape->taps, (long long)shape->depth, (long long)strides->group,
               (long long)strides->column, (long long)strides->tap, (long long)strides->depth);
  OPS_RETURN_IF_ERROR(device->api->packed_acquire(
      device->host, weights, (ops_str){name, (uint64_t)size}, OPS_MEMORY_HOST, bytes, 64,
      &out_weights->packed, &memory, &fill, error));
  out_weights->memory = memory;
  if (!fill) return OPS_OK;
  cpu_dots_pack(device, shape, strides, ops_tensor_data(source), source->type, memory);
  device->api->packed_commit(device->host, out_weights->packed);
  return OPS_OK;
}

void cpu_dots_weights_finish(cpu_dots_weights *weights) {
  if (weights->packed)
    weights->device->api->packed_release(weights->device->host, weights->packed);
}

// ---- Tables ---------------------------------------------------------------------------------

int cpu_dots_tables_bytes(const cpu_dots_shape *shape, uint64_t *out_bytes) {
  const uint64_t slot = sizeof(double) + sizeof(float) + 2 * sizeof(int32_t);
  return ops_checked_mul((uint64_t)cpu_dots_slots(shape), slot, out_bytes);
}

// Zero point of column `column` as it is multiplied, see dots.h.
static int32_t column_zero(const cpu_dots_quantities *q, int64_t column) {
  const int32_t zero =
      q->b_zero ? cpu_quantized_at(q->b_zero, (int32_t)q->b_type, q->b_zeros == 1 ? 0 : column)
                : 0;
  return q->b_type == OPS_TYPE_UINT8 ? zero - 128 : zero;
}

void cpu_dots_fill(const cpu_dots_shape *shape, const cpu_dots_quantities *q,
                   const void *packed, void *tables, cpu_dots_result *out_result) {
  const int64_t slots = cpu_dots_slots(shape), panels = cpu_dots_panels(shape);
  const uint32_t terms = (uint32_t)(shape->taps * shape->depth);
  const uint32_t a_zero = (uint32_t)(q->a_type == OPS_TYPE_INT8 ? q->a_zero + 128 : q->a_zero);
  const int32_t *sums = cpu_dots_sums(shape, packed);
  double *scale = tables;
  float *factor = (float *)(scale + slots);
  int32_t *offset = (int32_t *)(factor + slots), *zeros = offset + slots;
  int any_zero = 0;
  for (int64_t slot = 0; slot < slots; ++slot) {
    const int64_t group = slot / COLUMNS / panels;
    const int64_t in_group = slot - group * panels * COLUMNS;
    const int64_t column = group * shape->columns + in_group;
    scale[slot] = 0;
    factor[slot] = 0;
    offset[slot] = zeros[slot] = 0;
    if (in_group >= shape->columns) continue;
    const uint32_t zero = (uint32_t)(zeros[slot] = column_zero(q, column));
    any_zero |= zero != 0;
    offset[slot] = (int32_t)((q->bias ? (uint32_t)q->bias[column] : 0) -
                             a_zero * (uint32_t)sums[slot] + terms * a_zero * zero);
    const double b_scale = q->b_scale ? (double)q->b_scale[q->b_scales == 1 ? 0 : column] : 1;
    scale[slot] = q->alpha * (q->a_scale * b_scale);
    factor[slot] = (float)(scale[slot] / q->y_scale);
  }
  *out_result = (cpu_dots_result){.type = q->y_type,
                                  .offset = offset,
                                  .zeros = any_zero ? zeros : NULL,
                                  .scale = scale,
                                  .factor = factor,
                                  .divisor = q->y_scale,
                                  .zero = q->y_zero};
}

// ---- Results --------------------------------------------------------------------------------

typedef struct tile {
  int64_t group, row, column, slot;  // of its corner
  int32_t rows, columns;
  int32_t *sums;
} tile;

static uint32_t sum_of_row(const cpu_dots_product *p, const uint8_t *const *rows, int32_t r) {
  const int64_t bytes = p->shape.taps * p->shape.depth / p->direct_taps;
  uint32_t sum = 0;
  for (int64_t t = 0; t < p->direct_taps; ++t)
    for (int64_t k = 0; k < bytes; ++k) sum += (uint32_t)(rows[t * ROWS + r][k] ^ p->flip);
  return sum;
}

// What differs from row to row: zero points of columns, and C.
static void finish_rows(const cpu_dots_product *p, const uint8_t *const *rows, tile *tile) {
  const cpu_dots_result *result = &p->result;
  const int32_t *zeros = result->zeros;
  for (int32_t r = 0; r < tile->rows; ++r) {
    int32_t *sums = tile->sums + r * COLUMNS;
    const uint32_t row_sum = zeros ? sum_of_row(p, rows, r) : 0;
    for (int32_t c = 0; zeros && c < COLUMNS; ++c)
      sums[c] = (int32_t)((uint32_t)sums[c] - row_sum * (uint32_t)zeros[tile->slot + c]);
    if (!result->addend) continue;
    const int32_t *addend = result->addend + (tile->row + r) * result->addend_row;
    for (int32_t c = 0; c < tile->columns; ++c)
      sums[c] = (int32_t)((uint32_t)sums[c] +
                          (uint32_t)addend[(tile->column + c) * result->addend_column]);
  }
}

static void write_floats(const cpu_dots_result *result, const tile *tile, const int32_t *sums,
                         float *y) {
  const double *scale = result->scale + tile->slot;
  for (int32_t c = 0; c < tile->columns; ++c) {
    const double bias = result->bias ? (double)result->bias[tile->column + c] : 0;
    y[c] = (float)((double)sums[c] * scale[c] + bias);
  }
}

static void write_bytes(const ops_device *device, const cpu_dots_result *result,
                        const tile *tile, const int32_t *sums, uint8_t *y) {
  const cpu_vec_requantize quantize = {.factor = result->factor + tile->slot,
                                       .scale = result->scale + tile->slot,
                                       .divisor = result->divisor,
                                       .zero = result->zero,
                                       .is_signed = result->type == OPS_TYPE_INT8};
  device->vec->requantize(&quantize, sums, y, tile->columns);
}

static void write_tile(const ops_device *device, const cpu_dots_product *p, const tile *tile) {
  const cpu_dots_result *result = &p->result;
  for (int32_t r = 0; r < tile->rows; ++r) {
    const int32_t *sums = tile->sums + r * COLUMNS;
    const int64_t at =
        ((tile->row + r) * p->shape.groups + tile->group) * p->shape.columns + tile->column;
    if (result->type == OPS_TYPE_INT32)
      memcpy((int32_t *)result->y + at, sums, (size_t)tile->columns * sizeof *sums);
    else if (result->type == OPS_TYPE_FLOAT)
      write_floats(result, tile, sums, (float *)result->y + at);
    else
      write_bytes(device, result, tile, sums, (uint8_t *)result->y + at);
  }
}

// ---- Products -------------------------------------------------------------------------------

// A piece of work: so many tiles one below the other, whose rows are addressed once for so many
// panels, each of which is read from near memory for all tiles but the first.
#define TILES 8
#define PANELS 4
#define CHUNK (ROWS * TILES)

int cpu_dots_workspace(const cpu_dots_shape *shape, int64_t direct_taps, uint64_t *out_bytes) {
  uint64_t pointers, rows;
  return ops_checked_mul((uint64_t)direct_taps, CHUNK * sizeof(void *), &pointers) &&
         ops_checked_mul((uint64_t)cpu_dots_terms(shape), CHUNK, &rows) &&
         ops_checked_add(pointers, rows, out_bytes) &&
         ops_checked_align(*out_bytes, 64, out_bytes);
}

typedef struct run_job {
  const ops_device *device;
  const cpu_dots_product *product;
  int64_t chunks, panel_groups;  // of one group
  int64_t panels;                // of one piece of work, PANELS or fewer
  uint64_t scratch_bytes;
} run_job;

static void run_tile(const run_job *job, const uint8_t *const *rows, int64_t panel,
                     tile *tile) {
  const cpu_dots_product *p = job->product;
  const int64_t terms = cpu_dots_terms(&p->shape);
  const int64_t whole = tile->group * cpu_dots_panels(&p->shape) + panel;
  const int64_t left = p->shape.columns - panel * COLUMNS;
  tile->slot = whole * COLUMNS;
  tile->column = panel * COLUMNS;
  tile->columns = left < COLUMNS ? (int32_t)left : COLUMNS;
  job->device->dots(rows, tile->rows, p->direct_taps, terms / STEP / p->direct_taps,
                    (const int8_t *)p->packed + whole * terms * COLUMNS, p->flip,
                    p->result.offset + tile->slot, tile->sums);
  if (p->result.zeros || p->result.addend) finish_rows(p, rows, tile);
  write_tile(job->device, p, tile);
}

static void run_chunk(const run_job *job, int64_t group, int64_t first_panel, int64_t chunk,
                      char *scratch) {
  const cpu_dots_product *p = job->product;
  const int64_t pointers = p->direct_taps * ROWS, bytes = cpu_dots_terms(&p->shape) * ROWS;
  const int64_t panels = cpu_dots_panels(&p->shape), row = chunk * CHUNK;
  const int64_t end = p->rows - row < CHUNK ? p->rows - row : CHUNK;
  const int64_t last = first_panel + job->panels < panels ? first_panel + job->panels : panels;
  const uint8_t **rows = (const uint8_t **)(void *)scratch;
  uint8_t *room = (uint8_t *)(rows + pointers * TILES);
  int32_t sums[ROWS * COLUMNS] __attribute__((aligned(64)));
  for (int64_t t = 0; t * ROWS < end; ++t)
    p->point(p->context, group, row + t * ROWS,
             end - t * ROWS < ROWS ? (int32_t)(end - t * ROWS) : ROWS, room + t * bytes,
             rows + t * pointers);
  for (int64_t panel = first_panel; panel < last; ++panel)
    for (int64_t t = 0; t * ROWS < end; ++t) {
      tile tile = {.group = group, .row = row + t * ROWS, .sums = sums};
      tile.rows = end - t * ROWS < ROWS ? (int32_t)(end - t * ROWS) : ROWS;
      run_tile(job, rows + t * pointers, panel, &tile);
    }
}

static void run_chunks(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run_job *job = context;
  char *scratch = (char *)job->product->workspace + (uint64_t)worker * job->scratch_bytes;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t panels = i / job->chunks;
    run_chunk(job, panels / job->panel_groups, panels % job->panel_groups * job->panels,
              i % job->chunks, scratch);
  }
}

void cpu_dots_run(const ops_device *device, const cpu_dots_product *product) {
  const cpu_dots_shape *shape = &product->shape;
  run_job job = {.device = device,
                 .product = product,
                 .chunks = (product->rows + CHUNK - 1) / CHUNK,
                 .panels = PANELS};
  // Pieces of several panels address rows less often; many pieces keep all workers busy.
  const int64_t workers = device->api->worker_count(device->host);
  const int64_t panels = cpu_dots_panels(shape), wanted = workers > 1 ? 16 * workers : 1;
  while (job.panels > 1 && shape->groups * job.chunks * (panels / job.panels) < wanted)
    job.panels /= 2;
  job.panel_groups = (panels + job.panels - 1) / job.panels;
  cpu_dots_workspace(shape, product->direct_taps, &job.scratch_bytes);
  cpu_parallel(device, shape->groups * job.panel_groups * job.chunks,
               cpu_grain(cpu_dots_terms(shape) * CHUNK * job.panels / 2), run_chunks, &job);
}

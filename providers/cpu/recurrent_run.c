// SPDX-License-Identifier: Apache-2.0
//
// Workspace, packing and the walk over time of RNN, GRU and LSTM. See recurrent.h.
//
// A work item is some sequences in one direction. It projects the inputs of a block of steps by
// one product, large enough that packed weights are used often, small enough to stay in cache,
// then takes these steps one by one. Each step reads all recurrent weights: every second one
// backwards, so that what the cache kept of the end of the last step is used first. For weights
// of 1 MiB and a second cache as large, a step takes 0.81 of the time.
//
// A step computes the sequences alone that have not ended. A result does not depend on which
// sequences share an item, so not on the number of workers.
#include <ops_support/checked.h>
#include <stdio.h>
#include <string.h>

#include "recurrent.h"

#define BLOCK_ROWS 96  // a multiple of the rows of a tile

// Arrays of a work item.
enum { ROWS, SEQUENCES, STATE, CELL_STATE, OTHER, PROJECTED, GATES, ARRAYS };

// ---- Workspace ------------------------------------------------------------------------------

static int32_t reserve(uint64_t *total, const int64_t *dims, int32_t rank, uint64_t size,
                       uint64_t *out_at, ops_error *error) {
  int64_t count;
  uint64_t bytes, end;
  if (!ops_checked_count(dims, rank, &count) ||
      !ops_checked_mul((uint64_t)count, size, &bytes) ||
      !ops_checked_add(*total, bytes, &end) || !ops_checked_align(end, 64, &end))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: workspace too large");
  *out_at = *total;
  *total = end;
  return OPS_OK;
}

// Directions are items of their own; a batch is split as far as there are workers.
static void split(const cpu_recurrent *kernel, cpu_recurrent_prepared *sizes) {
  const ops_device *device = kernel->base.device;
  const int64_t workers = device->api->worker_count(device->host);
  int64_t chunks = cpu_divide_up(workers, kernel->directions);
  if (chunks > sizes->batch) chunks = sizes->batch;
  sizes->chunks = chunks > 1 ? chunks : 1;
  sizes->chunk = cpu_divide_up(sizes->batch, sizes->chunks);
  const int64_t block = sizes->chunk > 0 ? cpu_divide_up(BLOCK_ROWS, sizes->chunk) : 1;
  const int64_t blocks = cpu_divide_up(sizes->steps, block);
  sizes->block_steps = blocks > 0 ? cpu_divide_up(sizes->steps, blocks) : 1;
}

static int32_t lay_out_item(cpu_recurrent_prepared *sizes, ops_error *error) {
  const int64_t hidden[2] = {sizes->chunk, sizes->hidden};
  const int64_t row[3] = {sizes->chunk, sizes->row, sizes->block_steps};
  const int64_t rows[2] = {sizes->chunk, sizes->block_steps};
#define RESERVE(array, dims, rank, type) \
  OPS_RETURN_IF_ERROR(                   \
      reserve(&sizes->item_bytes, dims, rank, sizeof(type), &sizes->item_at[array], error))
  RESERVE(ROWS, rows, 2, const float *);
  RESERVE(SEQUENCES, hidden, 1, int64_t);
  RESERVE(STATE, hidden, 2, float);
  RESERVE(CELL_STATE, hidden, 2, float);
  RESERVE(OTHER, hidden, 2, float);
  RESERVE(PROJECTED, row, 3, float);
  RESERVE(GATES, row, 2, float);
#undef RESERVE
  return OPS_OK;
}

int32_t cpu_recurrent_lay_out(const cpu_recurrent *kernel, cpu_recurrent_prepared *sizes,
                              ops_prepare_reply *reply, ops_error *error) {
  const int64_t directions = kernel->directions;
  const int64_t w[3] = {directions, sizes->row, sizes->inputs},
                r[3] = {directions, sizes->row, sizes->hidden},
                bias[3] = {2, directions, sizes->row};
  uint64_t total = 0;
  split(kernel, sizes);
  OPS_RETURN_IF_ERROR(lay_out_item(sizes, error));
  OPS_RETURN_IF_ERROR(
      reserve(&total, w, kernel->w.constant ? 0 : 3, sizeof(float), &sizes->w_at, error));
  OPS_RETURN_IF_ERROR(
      reserve(&total, r, kernel->r.constant ? 0 : 3, sizeof(float), &sizes->r_at, error));
  OPS_RETURN_IF_ERROR(reserve(&total, bias, 3, sizeof(float), &sizes->bias_at, error));
  OPS_RETURN_IF_ERROR(reserve(&total, (const int64_t[]){directions, sizes->chunks}, 2,
                              sizes->item_bytes, &sizes->items_at, error));
  reply->workspace_size = total;
  reply->workspace_alignment = 64;
  ops_reply_set_unread(reply, (kernel->w.constant ? (uint64_t)1 << CPU_RNN_W : 0) |
                                  (kernel->r.constant ? (uint64_t)1 << CPU_RNN_R : 0));
  return OPS_OK;
}

// ---- Packing --------------------------------------------------------------------------------

// Packs the weights of all directions and parts, [directions, gates * hidden, k].
static void pack(const cpu_recurrent *kernel, const cpu_recurrent_prepared *sizes,
                 const float *matrix, int64_t k, float *panels) {
  for (int32_t d = 0; d < kernel->directions; ++d, panels += sizes->row * k)
    for (int32_t part = 0; part < CPU_RECURRENT_PARTS; ++part) {
      cpu_panels_pack(kernel->base.device, matrix, sizes->part_rows[part], k,
                      panels + sizes->part_at[part] * k);
      matrix += sizes->part_rows[part] * k;
    }
}

static int32_t pack_constant(const cpu_recurrent *kernel, const cpu_recurrent_prepared *sizes,
                             cpu_recurrent_weights *weights, int64_t k, ops_error *error) {
  const ops_device *device = kernel->base.device;
  if (!weights->constant || weights->packed || k == 0) return OPS_OK;
  char name[128];
  const int length = snprintf(name, sizeof name, "panels/%lld/%d.%d/%d.%lld.%lld",
                              (long long)cpu_panel_width(device), kernel->cell->parts[0],
                              kernel->cell->parts[1], kernel->directions,
                              (long long)sizes->hidden, (long long)k);
  int64_t count;
  if (!ops_checked_count((const int64_t[]){kernel->directions, sizes->row, k}, 3, &count))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: packed weights too large");
  void *memory;
  int32_t fill = 0;
  OPS_RETURN_IF_ERROR(device->api->packed_acquire(
      device->host, weights->constant, (ops_str){name, (uint64_t)length}, OPS_MEMORY_HOST,
      (uint64_t)count * sizeof(float), 64, &weights->packed, &memory, &fill, error));
  weights->panels = memory;
  if (!fill) return OPS_OK;
  const void *matrix;
  void *copy;
  const int32_t status = cpu_contents(device, weights->constant, &matrix, &copy, error);
  if (status != OPS_OK) {
    device->api->packed_release(device->host, weights->packed);
    weights->packed = NULL;
    return status;
  }
  pack(kernel, sizes, matrix, k, memory);
  cpu_free(device, copy);
  device->api->packed_commit(device->host, weights->packed);
  return OPS_OK;
}

int32_t cpu_recurrent_pack(cpu_recurrent *kernel, const cpu_recurrent_prepared *sizes,
                           ops_error *error) {
  pthread_mutex_lock(&kernel->mutex);
  int32_t status = pack_constant(kernel, sizes, &kernel->w, sizes->inputs, error);
  if (status == OPS_OK) status = pack_constant(kernel, sizes, &kernel->r, sizes->hidden, error);
  pthread_mutex_unlock(&kernel->mutex);
  return status;
}

// The panels of weights, packed into the workspace if they have just arrived.
static const float *panels_of(const cpu_recurrent *kernel, const cpu_recurrent_prepared *sizes,
                              const cpu_recurrent_weights *weights, int64_t k,
                              const float *matrix, float *workspace) {
  if (weights->constant || k == 0) return weights->panels;
  pack(kernel, sizes, matrix, k, workspace);
  return workspace;
}

// ---- Products -------------------------------------------------------------------------------

// Rows of gates = weights times rows, of one part.
static void multiply(const cpu_recurrent_step *s, int32_t part, const float *panels, int64_t k,
                     int64_t count, const float *bias, float *y) {
  const int64_t at = s->sizes->part_at[part];
  const cpu_vec_product product = {.rows = s->rows,
                                   .count = count,
                                   .k = k,
                                   .panels = panels + at * k,
                                   .bias = bias ? bias + at : NULL,
                                   .y = y + at,
                                   .y_row = s->sizes->row,
                                   .backwards = s->backwards};
  cpu_panels_multiply(s->kernel->base.device, &product, s->sizes->part_rows[part]);
}

void cpu_recurrent_multiply(const cpu_recurrent_step *s, int32_t part, const float *states) {
  for (int64_t j = 0; j < s->count; ++j)
    s->rows[j] = states + s->sequences[j] * s->sizes->hidden;
  multiply(s, part, s->r, s->sizes->hidden, s->count, s->r_bias, s->gates);
}

// ---- The walk over time ---------------------------------------------------------------------

typedef struct frame {
  const cpu_recurrent *kernel;
  const cpu_recurrent_prepared *sizes;
  const float *x, *w, *r, *initial_h, *initial_c, *peephole;
  const float *w_bias, *r_bias;  // rows of gates for each direction; r_bias may be NULL
  const int32_t *lengths;
  float *y, *y_h, *y_c;
  char *items;
} frame;

typedef struct item {
  const frame *frame;
  int64_t first, count;  // sequences
  float *projected;
  int64_t *sequences;
  cpu_recurrent_step step;
} item;

static int64_t length_of(const frame *f, int64_t sequence) {
  return f->lengths ? f->lengths[sequence] : f->sizes->steps;
}

// Where a sequence's state lies in initial_h, Y_h and their like; where the output of a step.
static int64_t state_at(const frame *f, int64_t direction, int64_t sequence) {
  const int64_t row = f->kernel->batch_first ? sequence * f->kernel->directions + direction
                                             : direction * f->sizes->batch + sequence;
  return row * f->sizes->hidden;
}

static int64_t step_at(const frame *f, int64_t direction, int64_t sequence, int64_t t) {
  const int64_t row =
      f->kernel->batch_first
          ? (sequence * f->sizes->steps + t) * f->kernel->directions + direction
          : (t * f->kernel->directions + direction) * f->sizes->batch + sequence;
  return row * f->sizes->hidden;
}

// Copies the states of an item's sequences from, or to, a tensor.
static void load_states(const item *it, const float *from, float *states) {
  const size_t bytes = (size_t)it->frame->sizes->hidden * sizeof *states;
  for (int64_t j = 0; j < it->count; ++j, states += it->frame->sizes->hidden)
    if (from)
      memcpy(states, from + state_at(it->frame, it->step.direction, it->first + j), bytes);
    else
      memset(states, 0, bytes);
}

static void store_states(const item *it, const float *states, float *to) {
  const size_t bytes = (size_t)it->frame->sizes->hidden * sizeof *states;
  for (int64_t j = 0; to && j < it->count; ++j, states += it->frame->sizes->hidden)
    memcpy(to + state_at(it->frame, it->step.direction, it->first + j), states, bytes);
}

// The time that a sequence has at its i-th step.
static int64_t time_of(const item *it, int64_t sequence, int64_t i) {
  const frame *f = it->frame;
  return f->kernel->reverse[it->step.direction] ? length_of(f, sequence) - 1 - i : i;
}

// Projects the inputs of steps [begin, end), step by step the sequences that have not ended.
static void project(const item *it, int64_t begin, int64_t end) {
  const frame *f = it->frame;
  const cpu_recurrent_prepared *sizes = f->sizes;
  const int64_t d = it->step.direction;
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i)
    for (int64_t b = it->first; b < it->first + it->count; ++b) {
      if (i >= length_of(f, b)) continue;
      const int64_t t = time_of(it, b, i);
      const int64_t row = f->kernel->batch_first ? b * sizes->steps + t : t * sizes->batch + b;
      it->step.rows[count++] = f->x + row * sizes->inputs;
    }
  for (int32_t part = 0; part < CPU_RECURRENT_PARTS; ++part)
    multiply(&it->step, part, f->w + d * sizes->row * sizes->inputs, sizes->inputs, count,
             f->w_bias + d * sizes->row, it->projected);
}

// Takes step i.
static void take_step(item *it, int64_t i) {
  const frame *f = it->frame;
  cpu_recurrent_step *s = &it->step;
  const int64_t hidden = f->sizes->hidden;
  s->count = 0;
  for (int64_t j = 0; j < it->count; ++j)
    if (i < length_of(f, it->first + j)) it->sequences[s->count++] = j;
  f->kernel->cell->step(s);
  for (int64_t j = 0; f->y && j < s->count; ++j) {
    const int64_t sequence = it->first + it->sequences[j];
    memcpy(f->y + step_at(f, s->direction, sequence, time_of(it, sequence, i)),
           s->h + it->sequences[j] * hidden, (size_t)hidden * sizeof *f->y);
  }
  s->projected += s->count * f->sizes->row;
  s->backwards = !s->backwards;
}

// Steps after the end of a sequence give zeroes.
static void fill_ends(const item *it) {
  const frame *f = it->frame;
  for (int64_t b = it->first; f->y && b < it->first + it->count; ++b)
    for (int64_t t = length_of(f, b); t < f->sizes->steps; ++t)
      memset(f->y + step_at(f, it->step.direction, b, t), 0,
             (size_t)f->sizes->hidden * sizeof *f->y);
}

static void run_item(const frame *f, int64_t number) {
  const cpu_recurrent_prepared *sizes = f->sizes;
  const int64_t d = number / sizes->chunks, first = number % sizes->chunks * sizes->chunk;
  char *memory = f->items + (uint64_t)number * sizes->item_bytes;
  const uint64_t *at = sizes->item_at;
  if (first >= sizes->batch) return;
  item it = {.frame = f,
             .first = first,
             .count = sizes->batch - first < sizes->chunk ? sizes->batch - first : sizes->chunk,
             .projected = (float *)(memory + at[PROJECTED]),
             .sequences = (int64_t *)(memory + at[SEQUENCES])};
  it.step =
      (cpu_recurrent_step){.kernel = f->kernel,
                           .sizes = sizes,
                           .direction = (int32_t)d,
                           .r = f->r + d * sizes->row * sizes->hidden,
                           .r_bias = f->r_bias ? f->r_bias + d * sizes->row : NULL,
                           .peephole = f->peephole ? f->peephole + d * 3 * sizes->hidden : NULL,
                           .sequences = it.sequences,
                           .h = (float *)(memory + at[STATE]),
                           .c = (float *)(memory + at[CELL_STATE]),
                           .other = (float *)(memory + at[OTHER]),
                           .rows = (const float **)(void *)(memory + at[ROWS]),
                           .gates = (float *)(memory + at[GATES])};
  load_states(&it, f->initial_h, it.step.h);
  load_states(&it, f->initial_c, it.step.c);
  int64_t longest = 0;
  for (int64_t b = first; b < first + it.count; ++b)
    if (length_of(f, b) > longest) longest = length_of(f, b);
  for (int64_t i = 0; i < longest; ++i) {
    if (i % sizes->block_steps == 0) {
      const int64_t end = i + sizes->block_steps;
      project(&it, i, end < longest ? end : longest);
      it.step.projected = it.projected;
    }
    take_step(&it, i);
  }
  store_states(&it, it.step.h, f->y_h);
  store_states(&it, it.step.c, f->y_c);
  fill_ends(&it);
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t i = begin; i < end; ++i) run_item(context, i);
}

// Where sums start: with both biases, except that a hidden gate that is reset after the product
// keeps its recurrent bias to itself.
static void fill_biases(const cpu_recurrent *kernel, const cpu_recurrent_prepared *sizes,
                        const float *b, float *w_bias, float *r_bias) {
  const int64_t n = sizes->hidden, rows = sizes->part_rows[0] + sizes->part_rows[1];
  const int32_t gates = kernel->cell->parts[0] + kernel->cell->parts[1];
  memset(w_bias, 0, (size_t)(kernel->directions * sizes->row) * sizeof *w_bias);
  memset(r_bias, 0, (size_t)(kernel->directions * sizes->row) * sizeof *r_bias);
  for (int32_t d = 0; b && d < kernel->directions; ++d)
    for (int32_t gate = 0; gate < gates; ++gate) {
      const int apart = kernel->flag && gate >= kernel->cell->parts[0];
      const float *from = b + d * 2 * rows + gate * n;
      float *to = w_bias + d * sizes->row + sizes->gate_at[gate];
      float *own = r_bias + d * sizes->row + sizes->gate_at[gate];
      for (int64_t i = 0; i < n; ++i) {
        to[i] = apart ? from[i] : from[i] + from[rows + i];
        own[i] = apart ? from[rows + i] : 0;
      }
    }
}

static int32_t check_lengths(const frame *f, ops_error *error) {
  for (int64_t i = 0; f->lengths && i < f->sizes->batch; ++i)
    if (f->lengths[i] < 0 || f->lengths[i] > f->sizes->steps)
      return cpu_invalid(&f->kernel->base, error,
                         "element %lld of sequence_lens must be in [0, %lld], found %d",
                         (long long)i, (long long)f->sizes->steps, f->lengths[i]);
  return OPS_OK;
}

int32_t cpu_recurrent_execute(const ops_prepared *prepared, const ops_execute_request *request,
                              ops_error *error) {
  const cpu_recurrent_prepared *sizes = (const cpu_recurrent_prepared *)prepared;
  const cpu_recurrent *kernel = (const cpu_recurrent *)prepared->kernel;
  char *workspace = cpu_workspace(request);
  float *w_bias = (float *)(workspace + sizes->bias_at);
  float *r_bias = w_bias + kernel->directions * sizes->row;
  frame f = {.kernel = kernel,
             .sizes = sizes,
             .x = cpu_in_data(request, CPU_RNN_X),
             .initial_h = cpu_in_data(request, CPU_RNN_H),
             .w_bias = w_bias,
             .r_bias = kernel->flag && kernel->cell->parts[1] > 0 ? r_bias : NULL,
             .lengths = cpu_in_data(request, CPU_RNN_LENGTHS),
             .y = cpu_out_data(request, CPU_RNN_Y),
             .y_h = cpu_out_data(request, CPU_RNN_Y_H),
             .items = workspace + sizes->items_at};
  if (kernel->cell->has_cell) {
    f.initial_c = cpu_in_data(request, CPU_RNN_C);
    f.peephole = cpu_in_data(request, CPU_RNN_P);
    f.y_c = cpu_out_data(request, CPU_RNN_Y_C);
  }
  OPS_RETURN_IF_ERROR(check_lengths(&f, error));
  f.w = panels_of(kernel, sizes, &kernel->w, sizes->inputs, cpu_in_data(request, CPU_RNN_W),
                  (float *)(workspace + sizes->w_at));
  f.r = panels_of(kernel, sizes, &kernel->r, sizes->hidden, cpu_in_data(request, CPU_RNN_R),
                  (float *)(workspace + sizes->r_at));
  fill_biases(kernel, sizes, cpu_in_data(request, CPU_RNN_B), w_bias, r_bias);
  const int64_t items = kernel->directions * sizes->chunks;
  const int64_t per_step = 32;  // products in the time of a step of cpu_grain
  const int64_t work = sizes->steps * sizes->chunk * sizes->row;
  if (items == 1)
    run_item(&f, 0);
  else
    cpu_parallel(kernel->base.device, items,
                 cpu_grain(work / per_step * (sizes->inputs + sizes->hidden)), body, &f);
  return OPS_OK;
}

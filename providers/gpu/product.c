// SPDX-License-Identifier: Apache-2.0
//
// See product.h: from a product to the launch of kernels/product.cl, in tiles that suit the
// device.
#include "product.h"

#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

// How a product is cut; see kernels/product.cl.
typedef struct tiles {
  int32_t items_m, items_n;
  int32_t tm, nv, lanes;  // lanes of four bytes; of eight bytes half as many
  int32_t repeat, kb;
  int32_t stage_a, stage_b;
} tiles;

enum { kWide, kStaged, kThin, kShapeCount };

// A processor has long vectors and caches: one item for each group, and rows of A read where
// they are if they need no work. On others many items share local memory. Few rows (depthwise
// convolutions, one vector times a matrix) leave nothing to share.
static const tiles kProcessor[kShapeCount] = {
    [kWide] = {1, 1, 8, 2, 16, 8, 128, 0, 1},
    [kStaged] = {1, 1, 8, 2, 16, 8, 64, 1, 1},
    [kThin] = {1, 1, 1, 4, 16, 1, 1 << 20, 0, 0},
};
static const tiles kParallel[kShapeCount] = {
    [kWide] = {16, 16, 4, 1, 4, 1, 16, 1, 1},
    [kStaged] = {16, 16, 4, 1, 4, 1, 16, 1, 1},
    [kThin] = {1, 128, 1, 1, 4, 1, 1 << 20, 0, 0},
};

typedef struct sum_type {
  const char *name;                // in C
  int32_t bytes, is_real, stored;  // stored: the element type that has the same bytes
} sum_type;

static sum_type sum_type_of(int32_t type) {
  const int32_t bits = ops_type_bits(type);
  if (type == OPS_TYPE_DOUBLE) return (sum_type){"double", 8, 1, OPS_TYPE_DOUBLE};
  if (type == OPS_TYPE_FLOAT || type == OPS_TYPE_FLOAT16 || type == OPS_TYPE_BFLOAT16)
    return (sum_type){"float", 4, 1, OPS_TYPE_FLOAT};
  // Sums of integers wrap around, which unsigned ones do.
  return bits == 64 ? (sum_type){"ulong", 8, 0, OPS_TYPE_UINT64}
                    : (sum_type){"uint", 4, 0, OPS_TYPE_UINT32};
}

void gpu_multiplication_init(gpu_multiplication *p, int64_t m, int64_t n, int64_t k) {
  *p = (gpu_multiplication){.c = {.index = kGpuNowhere},
                            .m = m,
                            .n = n,
                            .k = k,
                            .a_row = k,
                            .a_column = 1,
                            .b_row = n,
                            .b_column = 1,
                            .y_row = n,
                            .a_table = kGpuNowhere,
                            .b_table = kGpuNowhere,
                            .readable = n,
                            .grid = {n > 0 ? n : 1, 1},
                            .out = {n, 1},
                            .y_step = {1, 0, 0},
                            .alpha = 1,
                            .beta = 1};
}

void gpu_arg_optional(gpu_step *step, int64_t input) {
  gpu_arg_input(step, input == kGpuNowhere ? UINT64_MAX : (uint64_t)input);
}

gpu_operand gpu_operand_of_input(const gpu_plan *plan, int64_t input) {
  const ops_type_info *type = gpu_input_type(plan, input);
  return (gpu_operand){.kind = kGpuSlotInput,
                       .index = type ? input : kGpuNowhere,
                       .type = type ? type->type : OPS_TYPE_UNDEFINED};
}

void gpu_arg_operand(gpu_step *step, const gpu_operand *operand) {
  if (operand->index == kGpuNowhere)
    gpu_arg_optional(step, kGpuNowhere);
  else if (operand->kind == kGpuSlotWorkspace)
    gpu_arg_workspace(step, (uint64_t)operand->index);
  else if (operand->kind == kGpuSlotConstant)
    gpu_arg_constant(step, (uint64_t)operand->index);
  else if (operand->kind == kGpuSlotOutput)
    gpu_arg_output(step, (uint64_t)operand->index);
  else
    gpu_arg_input(step, (uint64_t)operand->index);
}

static void arg_table(gpu_step *step, int64_t constant) {
  gpu_arg_operand(step, &(gpu_operand){.kind = kGpuSlotConstant, .index = constant});
}

static int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

static int64_t batch_count(const gpu_multiplication *p) {
  int64_t count = 1;
  for (int32_t d = 0; d < p->batch_rank; ++d) count *= p->batch[d];
  return count;
}

// Ranks of two programs: most products have no more than two dimensions of a batch.
static int32_t batch_slots(const gpu_multiplication *p) {
  return p->batch_rank <= 2 ? 2 : kGpuMaxBatch;
}

// geometry_t of the kernel.
static void arg_geometry(gpu_step *step, const gpu_multiplication *p, int64_t span,
                         int64_t tiles_n, int64_t tiles_m) {
  const gpu_quantised *q = p->quantised;
  const int32_t slots = batch_slots(p);
  const gpu_parameter none = {0};
  const gpu_parameter *const parameters[] = {q ? &q->a_zero : &none, q ? &q->b_zero : &none,
                                             q ? &q->a_scale : &none, q ? &q->b_scale : &none};
  int64_t values[kGpuValueBytes / sizeof(int64_t)] = {
      p->m,         p->n,         p->k,         p->readable, span,        tiles_n,
      tiles_m,      p->a_row,     p->a_column,  p->b_row,    p->b_column, p->c_row,
      p->c_column,  p->y_row,     p->grid[0],   p->grid[1],  p->out[0],   p->out[1],
      p->y_step[0], p->y_step[1], p->y_step[2], p->y_first};
  const int64_t *const lists[] = {p->a_batch, p->b_batch, p->c_batch, p->y_batch};
  uint32_t count = 22;
  for (int i = 0; i < 4; ++i) values[count++] = parameters[i]->line;
  for (int32_t d = 0; d < slots; ++d) values[count++] = d < p->batch_rank ? p->batch[d] : 1;
  for (int i = 0; i < 8; ++i)
    for (int32_t d = 0; d < slots; ++d) {
      const int64_t *list = i < 4 ? lists[i] : parameters[i - 4]->lines;
      values[count++] = d < p->batch_rank ? list[d] : 0;
    }
  gpu_arg_bytes(step, values, count * (uint32_t)sizeof *values);
}

static void define_types(gpu_step *step, const gpu_multiplication *p, const sum_type *sum) {
  const gpu_quantised *q = p->quantised;
  gpu_define_type(step, "TA", p->a.type);
  gpu_define_type(step, "TB", p->b.type);
  gpu_define_type(step, "TC", p->c.index == kGpuNowhere ? p->y.type : p->c.type);
  gpu_define_type(step, "TY", p->y.type);
  gpu_define(step, "ACC", "%s", sum->name);
  gpu_define(step, "REAL", "%d", sum->is_real);
  gpu_define(step, "RANK", "%d", batch_slots(p));
  gpu_define(step, "QUANTISED", "%d", !q ? 0 : q->y_scale == kGpuNowhere ? 1 : 2);
  if (q) gpu_define_type(step, "TBZ", q->b_zero_type);
  if (q && q->y_scale != kGpuNowhere) {
    const int32_t is_signed = p->y.type == OPS_TYPE_INT8;
    gpu_define(step, "LOWEST", "%d", is_signed ? -128 : 0);
    gpu_define(step, "HIGHEST", "%d", is_signed ? 127 : 255);
  }
}

static int32_t is_stored_as(int32_t type, const sum_type *sum) {
  return type == sum->stored;
}

static void define_tiles(gpu_step *step, const gpu_multiplication *p, const sum_type *sum,
                         const tiles *t, int32_t lanes) {
  const struct {
    const char *name;
    int32_t value;
  } rows[] = {
      {"ITEMS_M", t->items_m},
      {"ITEMS_N", t->items_n},
      {"TM", t->tm},
      {"NV", t->nv},
      {"LANES", lanes},
      {"REPEAT", t->repeat},
      {"KB", t->kb},
      {"STAGE_A", t->stage_a},
      {"STAGE_B", t->stage_b},
      {"A_UNIT", p->a_column == 1 && p->a_table == kGpuNowhere},
      {"NATIVE_B", is_stored_as(p->b.type, sum)},
      {"NATIVE_Y", is_stored_as(p->y.type, sum) &&
                       (p->c.index == kGpuNowhere || is_stored_as(p->c.type, sum))},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    gpu_define(step, rows[i].name, "%d", rows[i].value);
}

static const tiles *choose(const gpu_plan *plan, const gpu_multiplication *p,
                           const sum_type *sum) {
  const tiles *const all =
      plan->device->properties.kind == OPS_DEVICE_CPU ? kProcessor : kParallel;
  if (p->m < 4) return &all[kThin];
  const int32_t is_ready = p->a_column == 1 && p->a_table == kGpuNowhere && !p->quantised &&
                           is_stored_as(p->a.type, sum);
  return &all[is_ready ? kWide : kStaged];
}

void gpu_multiply(gpu_plan *plan, const gpu_multiplication *p) {
  const int64_t batch = batch_count(p);
  if (plan->status != OPS_OK || p->m == 0 || p->n == 0 || batch == 0) return;
  const sum_type sum = sum_type_of(p->quantised ? OPS_TYPE_INT32 : p->y.type);
  const tiles *t = choose(plan, p, &sum);
  const int32_t lanes = sum.bytes == 8 ? t->lanes / 2 : t->lanes;
  const int64_t bm = t->repeat * t->items_m * t->tm, bn = t->items_n * t->nv * lanes;
  const int64_t tiles_m = ceil_div(p->m, bm);
  // Groups without shared memory are small: each does several, as long as enough are left.
  int64_t span = 1;
  while (!t->stage_b && span < 16 && ceil_div(p->n, bn * span * 2) * tiles_m * batch >= 64)
    span *= 2;
  const int64_t tiles_n = ceil_div(p->n, bn * span);
  gpu_step *step = gpu_plan_step(plan, &gpu_product_source, "product");
  define_types(step, p, &sum);
  define_tiles(step, p, &sum, t, lanes);
  gpu_arg_operand(step, &p->a);
  gpu_arg_operand(step, &p->b);
  gpu_arg_operand(step, &p->c);
  gpu_arg_operand(step, &p->y);
  arg_table(step, p->a_table);
  arg_table(step, p->b_table);
  const gpu_quantised *q = p->quantised;
  const int64_t parameters[] = {q ? q->a_zero.input : 0,  q ? q->b_zero.input : 0,
                                q ? q->a_scale.input : 0, q ? q->b_scale.input : 0,
                                q ? q->y_scale : 0,       q ? q->y_zero : 0};
  const int32_t count = !q ? 0 : q->y_scale == kGpuNowhere ? 2 : 6;
  for (int32_t i = 0; i < count; ++i) gpu_arg_optional(step, parameters[i]);
  arg_geometry(step, p, span, tiles_n, tiles_m);
  gpu_arg_float(step, p->alpha);
  gpu_arg_float(step, p->beta);
  gpu_grid_groups(step, tiles_n * tiles_m * batch, 1, 1, (uint32_t)(t->items_m * t->items_n),
                  1);
}

// ---- A library ----

// The distance from one product of the batch to the next, if there is one; else -1.
static int64_t uniform_stride(const gpu_multiplication *p, const int64_t *strides) {
  int64_t inner = 0, expected = -1;
  for (int32_t d = p->batch_rank - 1; d >= 0; --d) {
    if (p->batch[d] == 1) continue;
    if (expected < 0)
      inner = strides[d];
    else if (strides[d] != expected)
      return -1;
    expected = strides[d] * p->batch[d];
  }
  return inner;
}

static int32_t describe(const gpu_multiplication *p, gpu_product *out) {
  const int32_t turned_a = p->a_column != 1, turned_b = p->b_column != 1;
  *out = (gpu_product){.type = p->y.type,
                       .transpose_a = turned_a,
                       .transpose_b = turned_b,
                       .m = p->m,
                       .n = p->n,
                       .k = p->k,
                       .batch = batch_count(p),
                       .stride_a = uniform_stride(p, p->a_batch),
                       .stride_b = uniform_stride(p, p->b_batch),
                       .stride_c = uniform_stride(p, p->y_batch)};
  const int64_t a_dense = turned_a ? p->m : p->k, b_dense = turned_b ? p->k : p->n;
  return (turned_a ? p->a_column : p->a_row) == a_dense && (!turned_a || p->a_row == 1) &&
         (turned_b ? p->b_column : p->b_row) == b_dense && (!turned_b || p->b_row == 1) &&
         p->y_row == p->n && p->grid[0] == p->n && out->stride_a >= 0 && out->stride_b >= 0 &&
         out->stride_c >= 0 && p->k > 0;
}

void gpu_multiply_finish(gpu_plan *plan, const gpu_multiplication *p) {
  const sum_type sum = sum_type_of(p->y.type);
  const tiles *t = &kParallel[kThin];
  if (p->alpha == 1 && p->c.index == kGpuNowhere) return;
  gpu_step *step = gpu_plan_step(plan, &gpu_product_source, "finish");
  gpu_define(step, "FINISH", "1");
  define_types(step, p, &sum);
  define_tiles(step, p, &sum, t, t->lanes);
  gpu_arg_operand(step, &p->c);
  gpu_arg_operand(step, &p->y);
  arg_geometry(step, p, 1, 1, 1);
  gpu_arg_float(step, p->alpha);
  gpu_arg_float(step, p->beta);
  gpu_grid_items(step, batch_count(p) * p->m * p->n);
}

int32_t gpu_multiply_by_library(gpu_plan *plan, const gpu_multiplication *p) {
  gpu_product product;
  const int32_t is_half = ops_type_bits(p->y.type) == 16;
  const int32_t is_plain = p->alpha == 1 && p->c.index == kGpuNowhere;
  // The product of halves would be rounded before C is added.
  if (p->quantised || !sum_type_of(p->y.type).is_real || p->m == 0 || p->n == 0 ||
      batch_count(p) == 0 || (is_half && !is_plain) || !describe(p, &product))
    return 0;
  gpu_step *step = gpu_plan_product(plan, &product);
  if (!step) return 0;
  gpu_arg_operand(step, &p->a);
  gpu_arg_operand(step, &p->b);
  gpu_arg_operand(step, &p->y);
  gpu_multiply_finish(plan, p);
  return 1;
}

// SPDX-License-Identifier: Apache-2.0
//
// Pad in all modes, with positive and negative (cropping) pads. For each axis a table says from
// which input index an output index is read; -1 stands for the constant.
#include <string.h>

#include "axes.h"
#include "ops_table.h"

#define MODE_CONSTANT 0
#define MODE_REFLECT 1
#define MODE_EDGE 2
#define MODE_WRAP 3

static const char *const kModes[] = {"constant", "reflect", "edge", "wrap"};

typedef struct pad_kernel {
  ops_kernel base;
  int32_t mode;
  int64_t *attribute;  // 2 * rank pads, NULL: they are input 1
  int32_t attribute_count;
  float value;  // of opset 2
} pad_kernel;

typedef struct pad_prepared {
  ops_prepared base;
  cpu_shape x, y;
  int64_t size;
  int64_t x_strides[OPS_MAX_RANK];
  int64_t *maps;                 // one table after the other
  int64_t first[OPS_MAX_RANK];   // of each axis' table in maps
  int64_t copy_begin, copy_end;  // of a row: output indices that are read in order
} pad_prepared;

static int32_t mode_of(const ops_node *node) {
  const ops_str mode = ops_node_string(node, "mode", (ops_str)OPS_STR("constant"));
  for (int32_t i = 0; i < 4; ++i)
    if (ops_str_equal(mode, kModes[i])) return i;
  return -1;
}

static const int64_t *attribute_of(const ops_node *node, uint64_t *out_count) {
  return ops_node_ints(node, node->opset < 2 ? "paddings" : "pads", out_count);
}

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  uint64_t count;
  (void)def;
  attribute_of(node, &count);
  if (mode_of(node) < 0)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "mode must be constant, reflect, edge or wrap");
  if (count > 2 * OPS_MAX_RANK)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "pads has %llu values",
               (unsigned long long)count);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  pad_kernel *pad = (pad_kernel *)kernel;
  uint64_t count;
  const int64_t *pads = attribute_of(node, &count);
  pad->mode = mode_of(node);
  pad->value = ops_node_float(node, "value", 0);
  pad->attribute_count = (int32_t)count;
  if (count == 0) return OPS_OK;
  pad->attribute = cpu_alloc(kernel->device, count * sizeof *pads);
  if (!pad->attribute)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for pads");
  memcpy(pad->attribute, pads, count * sizeof *pads);
  return OPS_OK;
}

static void destroy(ops_kernel *kernel) {
  cpu_free(kernel->device, ((pad_kernel *)kernel)->attribute);
}

// Pads of every axis: begin in out_pads[0, rank), end behind.
static int32_t read_pads(const pad_kernel *pad, const ops_prepare_request *request,
                         int32_t rank, int64_t *out_pads, ops_error *error) {
  const ops_kernel *kernel = &pad->base;
  int64_t given[2 * OPS_MAX_RANK];
  uint8_t marked[OPS_MAX_RANK];
  int64_t count = pad->attribute_count;
  cpu_list axes;
  if (pad->attribute)
    memcpy(given, pad->attribute, (size_t)count * sizeof *given);
  else if (ops_request_input(request, 1))
    count = ops_operand_ints(ops_request_input(request, 1), given, 2 * OPS_MAX_RANK);
  OPS_RETURN_IF_ERROR(cpu_ints(kernel, request, 3, axes.values, &axes.count, error));
  if (axes.count < 0)
    for (axes.count = 0; axes.count < rank; ++axes.count) axes.values[axes.count] = axes.count;
  OPS_RETURN_IF_ERROR(cpu_list_mark_axes(kernel, &axes, rank, marked, error));
  if (count != 2 * axes.count)
    return cpu_invalid(kernel, error, "pads must be known and have %d values, found %lld",
                       2 * axes.count, (long long)count);
  memset(out_pads, 0, 2 * (size_t)rank * sizeof *out_pads);
  for (int32_t i = 0; i < axes.count; ++i) {
    const int64_t axis = axes.values[i] < 0 ? axes.values[i] + rank : axes.values[i];
    out_pads[axis] = given[i];
    out_pads[rank + axis] = given[axes.count + i];
  }
  return OPS_OK;
}

// Where output index o of an axis comes from.
static int64_t source_of(int32_t mode, int64_t o, int64_t begin, int64_t dim) {
  const int64_t i = o - begin;
  if (i >= 0 && i < dim) return i;
  switch (mode) {
    case MODE_EDGE:
      return i < 0 ? 0 : dim - 1;
    case MODE_WRAP:
      return (i % dim + dim) % dim;
    case MODE_REFLECT: {
      if (dim == 1) return 0;
      const int64_t period = 2 * (dim - 1), k = (i % period + period) % period;
      return k < dim ? k : period - k;
    }
    default:
      return -1;
  }
}

static int32_t make_maps(const pad_kernel *pad, const int64_t *pads, pad_prepared *own,
                         ops_error *error) {
  int64_t total = 0;
  for (int32_t d = 0; d < own->y.rank; ++d) {
    own->first[d] = total;
    total += own->y.dims[d];
  }
  own->maps = cpu_alloc(pad->base.device, (uint64_t)total * sizeof *own->maps);
  if (!own->maps)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for index tables");
  for (int32_t d = 0; d < own->y.rank; ++d)
    for (int64_t o = 0; o < own->y.dims[d]; ++o)
      own->maps[own->first[d] + o] = source_of(pad->mode, o, pads[d], own->x.dims[d]);
  const int32_t inner = own->y.rank - 1;
  const int64_t begin = pads[inner], end = begin + own->x.dims[inner];
  own->copy_begin = begin > 0 ? begin : 0;
  own->copy_end = end < own->y.dims[inner] ? end : own->y.dims[inner];
  if (own->copy_end < own->copy_begin) own->copy_end = own->copy_begin = 0;
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const pad_kernel *pad = (pad_kernel *)kernel;
  pad_prepared *own = (pad_prepared *)prepared;
  int64_t pads[2 * OPS_MAX_RANK + 2];
  const int32_t type = cpu_input_type(request, 0);
  cpu_input_shape(request, 0, &own->x);
  const int32_t rank = own->x.rank;
  own->size = cpu_type_size(type);
  OPS_RETURN_IF_ERROR(read_pads(pad, request, rank, pads, error));
  own->y.rank = rank;
  for (int32_t d = 0; d < rank; ++d) {
    int64_t dim;
    if (__builtin_add_overflow(own->x.dims[d], pads[d], &dim) ||
        __builtin_add_overflow(dim, pads[rank + d], &dim) || dim < 0)
      return cpu_invalid(kernel, error, "pads %lld, %lld do not fit dimension %d of %lld",
                         (long long)pads[d], (long long)pads[rank + d], d,
                         (long long)own->x.dims[d]);
    if (dim > 0 && own->x.dims[d] == 0 && pad->mode != MODE_CONSTANT)
      return cpu_invalid(kernel, error, "dimension %d is empty: nothing to repeat", d);
    own->y.dims[d] = dim;
  }
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, type, &own->y, error));
  if (cpu_count(&own->y) == 0) return OPS_OK;
  if (rank == 0) own->x = own->y = (cpu_shape){1, {1}}, pads[0] = pads[1] = 0;
  ops_strides_contiguous(own->x.rank, own->x.dims, own->x_strides);
  return make_maps(pad, pads, own, error);
}

static void prepared_destroy(ops_prepared *prepared) {
  cpu_free(prepared->kernel->device, ((pad_prepared *)prepared)->maps);
}

typedef struct run {
  const pad_prepared *own;
  const char *x;
  const char *value;
  char *y;
} run;

static void fill(char *y, const char *value, int64_t count, int64_t size) {
  for (int64_t i = 0; i < count; ++i) memcpy(y + i * size, value, (size_t)size);
}

// Output indices [begin, end) of one row, element by element.
static void map_part(const run *run, char *y, const char *x, int64_t begin, int64_t end) {
  const pad_prepared *own = run->own;
  const int64_t *map = own->maps + own->first[own->y.rank - 1];
  for (int64_t o = begin; o < end; ++o)
    memcpy(y + o * own->size, map[o] < 0 ? run->value : x + map[o] * own->size,
           (size_t)own->size);
}

static void run_row(const run *run, int64_t row) {
  const pad_prepared *own = run->own;
  const int32_t inner = own->y.rank - 1;
  const int64_t width = own->y.dims[inner];
  char *y = run->y + row * width * own->size;
  int64_t offset = 0;
  for (int32_t d = inner - 1; d >= 0; --d) {
    const int64_t from = own->maps[own->first[d] + row % own->y.dims[d]];
    row /= own->y.dims[d];
    if (from < 0) {
      fill(y, run->value, width, own->size);
      return;
    }
    offset += from * own->x_strides[d];
  }
  const char *x = run->x + offset * own->size;
  const int64_t begin = own->copy_begin, end = own->copy_end;
  map_part(run, y, x, 0, begin);
  if (end > begin)
    memcpy(y + begin * own->size, x + own->maps[own->first[inner] + begin] * own->size,
           (size_t)((end - begin) * own->size));
  map_part(run, y, x, end, width);
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t row = begin; row < end; ++row) run_row(context, row);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const pad_prepared *own = (const pad_prepared *)prepared;
  const pad_kernel *pad = (const pad_kernel *)prepared->kernel;
  static const uint8_t zero[16];
  const double wide = pad->value;
  const void *value = cpu_in_data(request, 2);
  (void)error;
  if (!own->maps) return OPS_OK;
  if (!value) value = zero;
  if (pad->attribute) value = own->size == 8 ? (const void *)&wide : &pad->value;
  run run = {own, cpu_in_data(request, 0), value, cpu_out_data(request, 0)};
  const int64_t width = own->y.dims[own->y.rank - 1];
  cpu_parallel(prepared->kernel->device, cpu_count(&own->y) / width, cpu_grain(width),
               run_range, &run);
  return OPS_OK;
}

const cpu_op cpu_pad_op = {.kernel_size = sizeof(pad_kernel),
                           .prepared_size = sizeof(pad_prepared),
                           .claim = claim,
                           .create = create,
                           .destroy = destroy,
                           .prepare = prepare,
                           .prepared_destroy = prepared_destroy,
                           .execute = execute};

// SPDX-License-Identifier: Apache-2.0
//
// Transpose. Where the output's last dimension is not the input's, the two are walked in square
// tiles, so that both sides use whole cache lines.
#include <string.h>

#include "axes.h"
#include "nd.h"
#include "ops_table.h"

#define TILE 32

typedef struct transpose_kernel {
  ops_kernel base;
  cpu_list perm;
} transpose_kernel;

typedef struct transpose_prepared {
  ops_prepared base;
  cpu_nd nd;  // Y, X
  int64_t size;
  int32_t tiled;   // the dimension along which X is contiguous; -1: no tiles
  int64_t tiles;   // along that dimension
  int64_t pieces;  // of work: tiles times the index space of the other dimensions
} transpose_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  cpu_list_claim(node, "perm", out_claim);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  cpu_list_read(node, "perm", &((transpose_kernel *)kernel)->perm);
  return OPS_OK;
}

static void plan_tiles(transpose_prepared *own) {
  const cpu_nd *nd = &own->nd;
  const int32_t inner = nd->rank - 1;
  own->tiled = -1;
  if (nd->strides[inner][1] == own->size) return;
  for (int32_t d = 0; d < inner; ++d)
    if (nd->strides[d][1] == own->size && nd->dims[d] > 1) own->tiled = d;
  if (own->tiled < 0 || nd->count == 0) return;
  own->tiles = (nd->dims[own->tiled] + TILE - 1) / TILE;
  own->pieces = nd->count / nd->dims[own->tiled] / nd->dims[inner] * own->tiles;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const cpu_list *perm = &((transpose_kernel *)kernel)->perm;
  transpose_prepared *own = (transpose_prepared *)prepared;
  cpu_shape x, y;
  uint8_t marked[OPS_MAX_RANK];
  int64_t strides[OPS_MAX_RANK], permuted[OPS_MAX_RANK];
  cpu_input_shape(request, 0, &x);
  if (perm->count >= 0) {
    if (perm->count != x.rank)
      return cpu_invalid(kernel, error, "perm has %d values, the input rank %d", perm->count,
                         x.rank);
    for (int32_t i = 0; i < perm->count; ++i)
      if (perm->values[i] < 0)
        return cpu_invalid(kernel, error, "perm[%d] is %lld", i, (long long)perm->values[i]);
    OPS_RETURN_IF_ERROR(cpu_list_mark_axes(kernel, perm, x.rank, marked, error));
  }
  ops_strides_contiguous(x.rank, x.dims, strides);
  y.rank = x.rank;
  for (int32_t i = 0; i < x.rank; ++i) {
    const int64_t axis = perm->count < 0 ? x.rank - 1 - i : perm->values[i];
    y.dims[i] = x.dims[axis];
    permuted[i] = strides[axis];
  }
  const int32_t type = cpu_input_type(request, 0);
  own->size = cpu_type_size(type);
  cpu_nd_init(&own->nd, &y);
  cpu_nd_add_broadcast(&own->nd, &y, own->size);
  cpu_nd_add(&own->nd, permuted, own->size);
  cpu_nd_finish(&own->nd);
  plan_tiles(own);
  return cpu_set_output(kernel, reply, 0, type, &y, error);
}

typedef struct run {
  const transpose_prepared *own;
  char *y;
  const char *x;
} run;

// Copies [rows x columns]: rows walk X contiguously, columns walk Y contiguously.
#define TILE_LOOP(T)                                                \
  for (int64_t r = 0; r < rows; ++r) {                              \
    for (int64_t k = 0; k < columns; ++k)                           \
      memcpy(y + r * y_row + k * (int64_t)sizeof(T),                \
             x + r * (int64_t)sizeof(T) + k * x_column, sizeof(T)); \
  }                                                                 \
  break

static void copy_tile(int64_t size, char *y, const char *x, int64_t rows, int64_t columns,
                      int64_t y_row, int64_t x_column) {
  switch (size) {
    case 1:
      TILE_LOOP(uint8_t);
    case 2:
      TILE_LOOP(uint16_t);
    case 4:
      TILE_LOOP(uint32_t);
    case 8:
      TILE_LOOP(uint64_t);
    default:
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t k = 0; k < columns; ++k)
          memcpy(y + r * y_row + k * size, x + r * size + k * x_column, (size_t)size);
  }
}

static void run_piece(const run *run, int64_t piece) {
  const transpose_prepared *own = run->own;
  const cpu_nd *nd = &own->nd;
  const int32_t inner = nd->rank - 1;
  const int64_t row = piece % own->tiles * TILE;
  int64_t rest = piece / own->tiles;
  char *y = run->y + row * nd->strides[own->tiled][0];
  const char *x = run->x + row * nd->strides[own->tiled][1];
  for (int32_t d = inner - 1; d >= 0; --d) {
    if (d == own->tiled) continue;
    const int64_t index = rest % nd->dims[d];
    rest /= nd->dims[d];
    y += index * nd->strides[d][0];
    x += index * nd->strides[d][1];
  }
  const int64_t left = nd->dims[own->tiled] - row, rows = left < TILE ? left : TILE;
  const int64_t x_column = nd->strides[inner][1];
  for (int64_t k = 0; k < nd->dims[inner]; k += TILE) {
    const int64_t columns = nd->dims[inner] - k < TILE ? nd->dims[inner] - k : TILE;
    copy_tile(own->size, y + k * own->size, x + k * x_column, rows, columns,
              nd->strides[own->tiled][0], x_column);
  }
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t piece = begin; piece < end; ++piece) run_piece(context, piece);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const transpose_prepared *own = (const transpose_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  run run = {own, cpu_out_data(request, 0), cpu_in_data(request, 0)};
  (void)error;
  if (own->nd.count == 0) return OPS_OK;
  if (own->tiled < 0)
    cpu_nd_copy(device, &own->nd, run.y, run.x, own->size);
  else
    cpu_parallel(device, own->pieces, cpu_grain(TILE * own->nd.dims[own->nd.rank - 1]),
                 run_range, &run);
  return OPS_OK;
}

const cpu_op cpu_transpose_op = {.kernel_size = sizeof(transpose_kernel),
                                 .prepared_size = sizeof(transpose_prepared),
                                 .claim = claim,
                                 .create = create,
                                 .prepare = prepare,
                                 .execute = execute};

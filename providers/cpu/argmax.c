// SPDX-License-Identifier: Apache-2.0
//
// ArgMax and ArgMin along one axis. The first of equal values wins, or the last if asked; the
// first NaN wins over every number.
#include "ops_table.h"

#define BLOCK 64

typedef struct arg_kernel {
  ops_kernel base;
  int64_t axis;
  int32_t keep_dims, last, least;
} arg_kernel;

typedef struct arg_prepared {
  ops_prepared base;
  int32_t type;
  int64_t outer, length, inner, blocks;
} arg_prepared;

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  arg_kernel *own = (arg_kernel *)kernel;
  (void)error;
  own->axis = ops_node_int(node, "axis", 0);
  own->keep_dims = ops_node_int(node, "keepdims", 1) != 0;
  own->last = ops_node_int(node, "select_last_index", 0) != 0;
  own->least = ops_str_equal(kernel->def->op, "ArgMin");
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const arg_kernel *arg = (arg_kernel *)kernel;
  arg_prepared *own = (arg_prepared *)prepared;
  cpu_shape x, y = {0};
  int32_t axis;
  cpu_input_shape(request, 0, &x);
  OPS_RETURN_IF_ERROR(cpu_axis(kernel, arg->axis, x.rank, &axis, error));
  own->type = cpu_input_type(request, 0);
  own->outer = cpu_product(x.dims, 0, axis);
  own->length = x.dims[axis];
  own->inner = cpu_product(x.dims, axis + 1, x.rank);
  own->blocks = (own->inner + BLOCK - 1) / BLOCK;
  for (int32_t i = 0; i < x.rank; ++i)
    if (i != axis || arg->keep_dims) y.dims[y.rank++] = i == axis ? 1 : x.dims[i];
  if (own->length == 0 && own->outer * own->inner > 0)
    return cpu_invalid(kernel, error, "axis %d is empty: there is no index", axis);
  return cpu_set_output(kernel, reply, 0, OPS_TYPE_INT64, &y, error);
}

typedef struct run {
  const arg_prepared *own;
  const arg_kernel *kernel;
  int64_t size;
  const char *x;
  int64_t *y;
} run;

// `count` columns that lie `inner` apart along the axis.
#define SEARCH(name, T)                                                                    \
  static void search_##name(const run *run, const char *data, int64_t *y, int64_t count) { \
    const T *x = (const T *)data;                                                          \
    const int least = run->kernel->least, last = run->kernel->last;                        \
    T best[BLOCK];                                                                         \
    for (int64_t i = 0; i < count; ++i) {                                                  \
      best[i] = x[i];                                                                      \
      y[i] = 0;                                                                            \
    }                                                                                      \
    for (int64_t k = 1; k < run->own->length; ++k)                                         \
      for (int64_t i = 0; i < count; ++i) {                                                \
        const T value = x[k * run->own->inner + i];                                        \
        const int better = least ? value < best[i] : value > best[i];                      \
        const int nan = value != value && best[i] == best[i];                              \
        if (better || nan || (last && value == best[i])) {                                 \
          best[i] = value;                                                                 \
          y[i] = k;                                                                        \
        }                                                                                  \
      }                                                                                    \
  }
SEARCH(float, float)
SEARCH(double, double)
SEARCH(int8, int8_t)
SEARCH(uint8, uint8_t)
SEARCH(int32, int32_t)
SEARCH(int64, int64_t)

static void search(const run *run, const char *x, int64_t *y, int64_t count) {
  switch (run->own->type) {
    case OPS_TYPE_FLOAT:
      search_float(run, x, y, count);
      break;
    case OPS_TYPE_DOUBLE:
      search_double(run, x, y, count);
      break;
    case OPS_TYPE_INT8:
      search_int8(run, x, y, count);
      break;
    case OPS_TYPE_UINT8:
      search_uint8(run, x, y, count);
      break;
    case OPS_TYPE_INT32:
      search_int32(run, x, y, count);
      break;
    default:
      search_int64(run, x, y, count);
      break;
  }
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const arg_prepared *own = run->own;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t column = i % own->blocks * BLOCK, outer = i / own->blocks;
    const int64_t left = own->inner - column, count = left < BLOCK ? left : BLOCK;
    search(run, run->x + (outer * own->length * own->inner + column) * run->size,
           run->y + outer * own->inner + column, count);
  }
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const arg_prepared *own = (const arg_prepared *)prepared;
  run run = {own, (const arg_kernel *)prepared->kernel, cpu_type_size(own->type),
             cpu_in_data(request, 0), cpu_out_data(request, 0)};
  (void)error;
  if (own->length > 0)
    cpu_parallel(prepared->kernel->device, own->outer * own->blocks,
                 cpu_grain(own->length * (own->inner < BLOCK ? own->inner : BLOCK)), run_range,
                 &run);
  return OPS_OK;
}

const cpu_op cpu_argmax_op = {.kernel_size = sizeof(arg_kernel),
                              .prepared_size = sizeof(arg_prepared),
                              .create = create,
                              .prepare = prepare,
                              .execute = execute};

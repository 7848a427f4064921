// SPDX-License-Identifier: Apache-2.0
//
// Reductions over any set of axes: ReduceSum, Mean, Max, Min, Prod, L1, L2, SumSquare, LogSum.
// Neighbouring axes of one kind are merged first. If the innermost is reduced, rows are folded;
// else a block of columns is folded at once. float runs in double in the vector loops; double,
// int32 and int64 in plain ones.
#include <math.h>
#include <string.h>

#include "axes.h"
#include "ops_table.h"
#include "vec.h"

#define BLOCK 128

#define FINISH_NONE 0
#define FINISH_MEAN 1
#define FINISH_ROOT 2
#define FINISH_LOG 3

static const struct reduce_row {
  const char *op;
  int32_t function;  // CPU_REDUCE_…
  int32_t finish;    // FINISH_…
} kRows[] = {{"ReduceSum", CPU_REDUCE_sum, FINISH_NONE},
             {"ReduceMean", CPU_REDUCE_sum, FINISH_MEAN},
             {"ReduceMax", CPU_REDUCE_max, FINISH_NONE},
             {"ReduceMin", CPU_REDUCE_min, FINISH_NONE},
             {"ReduceProd", CPU_REDUCE_product, FINISH_NONE},
             {"ReduceL1", CPU_REDUCE_abs_sum, FINISH_NONE},
             {"ReduceL2", CPU_REDUCE_square_sum, FINISH_ROOT},
             {"ReduceSumSquare", CPU_REDUCE_square_sum, FINISH_NONE},
             {"ReduceLogSum", CPU_REDUCE_sum, FINISH_LOG}};

typedef struct reduce_kernel {
  ops_kernel base;
  const struct reduce_row *row;
  cpu_list axes;
  int32_t keep_dims, noop;
} reduce_kernel;

// Dimensions of one kind after merging, with their strides in the input.
typedef struct walk {
  int32_t rank;
  int64_t count;
  int64_t dims[OPS_MAX_RANK], strides[OPS_MAX_RANK];
} walk;

typedef struct reduce_prepared {
  ops_prepared base;
  int32_t type;
  int32_t by_rows;  // the innermost dimension is reduced
  int64_t length;   // of the innermost dimension: a row, or the columns
  walk kept;        // outer kept dimensions, without the columns
  walk reduced;     // outer reduced dimensions, without the row
  int64_t blocks;   // of columns
  double divisor;   // of a mean
} reduce_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  cpu_list_claim(node, "axes", out_claim);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  reduce_kernel *own = (reduce_kernel *)kernel;
  cpu_list_read(node, "axes", &own->axes);
  own->keep_dims = ops_node_int(node, "keepdims", 1) != 0;
  own->noop = ops_node_int(node, "noop_with_empty_axes", 0) != 0;
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i)
    if (ops_str_equal(kernel->def->op, kRows[i].op)) own->row = &kRows[i];
  if (own->row) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INTERNAL, "cpu: no reduction for %.*s",
                       OPS_STR_FMT(kernel->def->op));
}

static void append(walk *walk, int64_t dim, int64_t stride) {
  walk->dims[walk->rank] = dim;
  walk->strides[walk->rank++] = stride;
  walk->count *= dim;
}

// Merges dimensions of one kind that follow each other, then takes the innermost one out.
static void plan(reduce_prepared *own, const cpu_shape *x, const uint8_t *marked) {
  int64_t dims[OPS_MAX_RANK + 1], stride = 1;
  uint8_t kinds[OPS_MAX_RANK + 1];
  int32_t rank = 0;
  for (int32_t i = 0; i < x->rank; ++i) {
    if (x->dims[i] == 1) continue;
    if (rank > 0 && kinds[rank - 1] == marked[i]) {
      dims[rank - 1] *= x->dims[i];
    } else {
      dims[rank] = x->dims[i];
      kinds[rank++] = marked[i];
    }
  }
  if (rank == 0) {
    dims[rank] = 1;
    kinds[rank++] = 1;
  }
  own->kept.count = own->reduced.count = 1;
  own->length = dims[rank - 1];
  own->by_rows = kinds[rank - 1];
  own->blocks = own->by_rows ? 1 : (own->length + BLOCK - 1) / BLOCK;
  for (int32_t i = 0; i < rank - 1; ++i) {
    stride = 1;
    for (int32_t k = i + 1; k < rank; ++k) stride *= dims[k];
    append(kinds[i] ? &own->reduced : &own->kept, dims[i], stride);
  }
}

static int32_t read_axes(const reduce_kernel *kernel, const ops_prepare_request *request,
                         int32_t rank, uint8_t *out_marked, ops_error *error) {
  cpu_list axes;
  OPS_RETURN_IF_ERROR(cpu_list_resolve(&kernel->base, &kernel->axes, request, 1, &axes, error));
  OPS_RETURN_IF_ERROR(cpu_list_mark_axes(&kernel->base, &axes, rank, out_marked, error));
  if (axes.count <= 0 && rank > 0) memset(out_marked, kernel->noop ? 0 : 1, (size_t)rank);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const reduce_kernel *reduce = (reduce_kernel *)kernel;
  reduce_prepared *own = (reduce_prepared *)prepared;
  cpu_shape x, y = {0};
  uint8_t marked[OPS_MAX_RANK];
  cpu_input_shape(request, 0, &x);
  OPS_RETURN_IF_ERROR(read_axes(reduce, request, x.rank, marked, error));
  own->type = cpu_input_type(request, 0);
  own->divisor = 1;
  for (int32_t i = 0; i < x.rank; ++i) {
    if (marked[i]) own->divisor *= (double)x.dims[i];
    if (!marked[i] || reduce->keep_dims) y.dims[y.rank++] = marked[i] ? 1 : x.dims[i];
  }
  plan(own, &x, marked);
  return cpu_set_output(kernel, reply, 0, own->type, &y, error);
}

typedef struct run {
  const reduce_prepared *own;
  const struct reduce_row *row;
  const cpu_vec *vec;
  int64_t size;
  const char *x;
  char *y;
} run;

// Accumulators of one block.
typedef union accumulators {
  double d[BLOCK];
  int64_t i[BLOCK];
} accumulators;

#define PLAIN_STEP(A, acc, value)                                     \
  switch (function) {                                                 \
    case CPU_REDUCE_sum:                                              \
      acc = ADD_##A(acc, value);                                      \
      break;                                                          \
    case CPU_REDUCE_max:                                              \
      acc = (((value) > acc) | ((value) != (value))) ? (value) : acc; \
      break;                                                          \
    case CPU_REDUCE_min:                                              \
      acc = (((value) < acc) | ((value) != (value))) ? (value) : acc; \
      break;                                                          \
    case CPU_REDUCE_abs_sum:                                          \
      acc = ADD_##A(acc, (value) < 0 ? SUB_##A(0, value) : (value));  \
      break;                                                          \
    case CPU_REDUCE_square_sum:                                       \
      acc = ADD_##A(acc, MUL_##A(value, value));                      \
      break;                                                          \
    default:                                                          \
      acc = MUL_##A(acc, value);                                      \
      break;                                                          \
  }
#define ADD_double(a, b) ((a) + (b))
#define SUB_double(a, b) ((a) - (b))
#define MUL_double(a, b) ((a) * (b))
#define ADD_int64_t(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define SUB_int64_t(a, b) ((int64_t)((uint64_t)(a) - (uint64_t)(b)))
#define MUL_int64_t(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))

#define PLAIN_FOLD(name, T, A, field)                                                 \
  static void fold_##name(int32_t function, accumulators *accumulator, const char *x, \
                          int64_t count, int by_rows) {                               \
    for (int64_t k = 0; k < count; ++k) {                                             \
      const A value = ((const T *)x)[k];                                              \
      A *acc = &accumulator->field[by_rows ? 0 : k];                                  \
      PLAIN_STEP(A, *acc, value)                                                      \
    }                                                                                 \
  }
PLAIN_FOLD(double, double, double, d)
PLAIN_FOLD(int32, int32_t, int64_t, i)
PLAIN_FOLD(int64, int64_t, int64_t, i)

static double combine(int32_t function, double a, double x) {
  switch (function) {
#define X(name, nothing, combine_) \
  case CPU_REDUCE_##name:          \
    return combine_;
    CPU_REDUCE_LIST(X)
#undef X
    default:
      return a;
  }
}

// Combines what two rows have given: sums of squares and magnitudes add up.
static double combine_rows(int32_t function, double a, double x) {
  const int adds = function == CPU_REDUCE_abs_sum || function == CPU_REDUCE_square_sum;
  return combine(adds ? CPU_REDUCE_sum : function, a, x);
}

static void fold(const run *run, accumulators *accumulator, const char *x, int64_t count) {
  const int32_t function = run->row->function;
  const int by_rows = run->own->by_rows;
  switch (run->own->type) {
    case OPS_TYPE_FLOAT:
      if (by_rows)
        accumulator->d[0] = combine_rows(function, accumulator->d[0],
                                         run->vec->row[function]((const float *)x, count));
      else
        run->vec->columns[function](accumulator->d, (const float *)x, 1, count);
      break;
    case OPS_TYPE_DOUBLE:
      fold_double(function, accumulator, x, count, by_rows);
      break;
    case OPS_TYPE_INT32:
      fold_int32(function, accumulator, x, count, by_rows);
      break;
    default:
      fold_int64(function, accumulator, x, count, by_rows);
      break;
  }
}

static void start(const run *run, accumulators *accumulator, int64_t count) {
  static const double nothing[] = {
#define X(name, nothing_, combine_) nothing_,
      CPU_REDUCE_LIST(X)
#undef X
  };
  const int wide = run->own->type == OPS_TYPE_INT64;
  const int64_t integers[CPU_REDUCE_COUNT] = {[CPU_REDUCE_max] = wide ? INT64_MIN : INT32_MIN,
                                              [CPU_REDUCE_min] = wide ? INT64_MAX : INT32_MAX,
                                              [CPU_REDUCE_product] = 1};
  const int real = run->own->type == OPS_TYPE_FLOAT || run->own->type == OPS_TYPE_DOUBLE;
  for (int64_t i = 0; i < count; ++i) {
    if (real)
      accumulator->d[i] = nothing[run->row->function];
    else
      accumulator->i[i] = integers[run->row->function];
  }
}

static double finish(const run *run, double value) {
  switch (run->row->finish) {
    case FINISH_MEAN:
      return value / run->own->divisor;
    case FINISH_ROOT:
      return sqrt(value);
    case FINISH_LOG:
      return log(value);
    default:
      return value;
  }
}

static void store(const run *run, const accumulators *accumulator, char *y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) switch (run->own->type) {
      case OPS_TYPE_FLOAT:
        ((float *)y)[i] = (float)finish(run, accumulator->d[i]);
        break;
      case OPS_TYPE_DOUBLE:
        ((double *)y)[i] = finish(run, accumulator->d[i]);
        break;
      case OPS_TYPE_INT32:
        ((int32_t *)y)[i] = (int32_t)accumulator->i[i];
        break;
      default:
        ((int64_t *)y)[i] = accumulator->i[i];
        break;
    }
}

// Offset in elements of the index-th position of a walk.
static int64_t offset_of(const walk *walk, int64_t index) {
  int64_t offset = 0;
  for (int32_t d = walk->rank - 1; d >= 0; --d) {
    offset += index % walk->dims[d] * walk->strides[d];
    index /= walk->dims[d];
  }
  return offset;
}

static void run_piece(const run *run, int64_t piece) {
  const reduce_prepared *own = run->own;
  const int64_t outer = piece / own->blocks, column = piece % own->blocks * BLOCK;
  int64_t outputs = 1, count = own->length;
  accumulators accumulator;
  if (!own->by_rows)
    outputs = count = own->length - column < BLOCK ? own->length - column : BLOCK;
  const char *x = run->x + (offset_of(&own->kept, outer) + column) * run->size;
  start(run, &accumulator, outputs);
  for (int64_t k = 0; k < own->reduced.count; ++k)
    fold(run, &accumulator, x + offset_of(&own->reduced, k) * run->size, count);
  const int64_t at = own->by_rows ? outer : outer * own->length + column;
  store(run, &accumulator, run->y + at * run->size, outputs);
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t piece = begin; piece < end; ++piece) run_piece(context, piece);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const reduce_prepared *own = (const reduce_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  run run = {own,
             ((const reduce_kernel *)prepared->kernel)->row,
             device->vec,
             cpu_type_size(own->type),
             cpu_in_data(request, 0),
             cpu_out_data(request, 0)};
  const int64_t width = own->by_rows || own->length < BLOCK ? own->length : BLOCK;
  (void)error;
  cpu_parallel(device, own->kept.count * own->blocks,
               cpu_grain(own->reduced.count * (width + 8)), run_range, &run);
  return OPS_OK;
}

const cpu_op cpu_reduce_op = {.kernel_size = sizeof(reduce_kernel),
                              .prepared_size = sizeof(reduce_prepared),
                              .claim = claim,
                              .create = create,
                              .prepare = prepare,
                              .execute = execute};

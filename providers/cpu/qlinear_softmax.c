// SPDX-License-Identifier: Apache-2.0
//
// QLinearSoftmax of com.microsoft: Softmax of the opset that an attribute names, on the real
// values of a quantised tensor, quantised again. A line holds 256 different numbers at most, so
// that their exponentials are tabulated for each largest number that lines have.
#include <math.h>

#include "byte_table.h"
#include "ops_table.h"
#include "quantized.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };

typedef struct softmax_kernel {
  ops_kernel base;
  int64_t axis, opset;
} softmax_kernel;

typedef struct softmax_prepared {
  ops_prepared base;
  int64_t lines, length, inner;  // inner: elements from one of a line to the next
  int32_t type;
} softmax_prepared;

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  ((softmax_kernel *)kernel)->axis = ops_node_int(node, "axis", -1);
  ((softmax_kernel *)kernel)->opset = ops_node_int(node, "opset", 0);
  return OPS_OK;
}

// Before opset 13 a line is all dimensions from the axis on.
static int32_t read_lines(const softmax_kernel *own, const cpu_shape *x, softmax_prepared *mine,
                          ops_error *error) {
  const int as_rows = own->opset < 13;
  int32_t axis = 0;
  if (as_rows && own->axis == x->rank)
    axis = x->rank;
  else if (x->rank > 0 || (own->axis != 0 && own->axis != -1))
    OPS_RETURN_IF_ERROR(cpu_axis(&own->base, own->axis, x->rank, &axis, error));
  const int32_t end = as_rows || x->rank == 0 ? x->rank : axis + 1;
  mine->length = cpu_product(x->dims, axis, end);
  mine->inner = cpu_product(x->dims, end, x->rank);
  mine->lines = cpu_product(x->dims, 0, axis) * mine->inner;
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const softmax_kernel *own = (const softmax_kernel *)kernel;
  softmax_prepared *mine = (softmax_prepared *)prepared;
  cpu_shape x;
  for (uint64_t i = X_SCALE; i <= Y_ZERO; ++i)
    OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, i, error));
  if (own->opset < 1)
    return cpu_invalid(kernel, error, "attribute opset must be that of a Softmax, found %lld",
                       (long long)own->opset);
  cpu_input_shape(request, X, &x);
  mine->type = cpu_input_type(request, X);
  OPS_RETURN_IF_ERROR(read_lines(own, &x, mine, error));
  return cpu_set_output(kernel, reply, 0, mine->type, &x, error);
}

typedef struct run {
  const softmax_prepared *own;
  cpu_byte_scale from, to;
  const uint8_t *x;
  uint8_t *y;
} run;

// exp(real - high) for every byte.
typedef struct powers {
  double of[256];
  int32_t high;  // the byte with the largest real value of the line; -1: not filled yet
} powers;

static void fill_powers(const run *run, int32_t high, powers *powers) {
  if (powers->high == high) return;
  const double most = cpu_byte_real(&run->from, (uint8_t)high);
  for (int32_t i = 0; i < 256; ++i)
    powers->of[i] = exp(cpu_byte_real(&run->from, (uint8_t)i) - most);
  powers->high = high;
}

static int32_t highest(const run *run, const uint8_t *x) {
  const int64_t inner = run->own->inner;
  int32_t best = x[0];
  for (int64_t i = 1; i < run->own->length; ++i)
    if (cpu_byte_real(&run->from, x[i * inner]) > cpu_byte_real(&run->from, (uint8_t)best))
      best = x[i * inner];
  return best;
}

static void run_line(const run *run, const uint8_t *x, uint8_t *y, powers *powers) {
  const int64_t inner = run->own->inner, length = run->own->length;
  double sum = 0;
  fill_powers(run, highest(run, x), powers);
  for (int64_t i = 0; i < length; ++i) sum += powers->of[x[i * inner]];
  for (int64_t i = 0; i < length; ++i)
    y[i * inner] = cpu_byte_round(&run->to, powers->of[x[i * inner]] / sum);
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const int64_t inner = run->own->inner;
  powers powers = {.high = -1};
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t at = i / inner * inner * run->own->length + i % inner;
    run_line(run, run->x + at, run->y + at, &powers);
  }
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const softmax_prepared *own = (const softmax_prepared *)prepared;
  run run = {own, cpu_byte_scale_read(request, X_SCALE, X_ZERO, own->type),
             cpu_byte_scale_read(request, Y_SCALE, Y_ZERO, own->type), cpu_in_data(request, X),
             cpu_out_data(request, 0)};
  (void)error;
  if (own->length > 0)
    cpu_parallel(prepared->kernel->device, own->lines, cpu_grain(own->length * 8), run_range,
                 &run);
  return OPS_OK;
}

const cpu_op cpu_qlinear_softmax_op = {.kernel_size = sizeof(softmax_kernel),
                                       .prepared_size = sizeof(softmax_prepared),
                                       .create = create,
                                       .prepare = prepare,
                                       .execute = execute};

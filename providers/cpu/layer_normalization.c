// SPDX-License-Identifier: Apache-2.0
//
// LayerNormalization of float, statistics in double. Scale and B that do not have the full
// normalised shape are applied in passes of their own, broadcast.
#include <math.h>
#include <string.h>

#include "nd.h"
#include "ops_table.h"
#include "vec.h"

typedef struct layer_kernel {
  ops_kernel base;
  int64_t axis;
  float epsilon;
} layer_kernel;

typedef struct layer_prepared {
  ops_prepared base;
  int64_t rows, length;
  int32_t direct;  // Scale and B have the normalised shape
  cpu_nd scale, shift;
} layer_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  if (ops_node_int(node, "stash_type", 1) != OPS_TYPE_FLOAT)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "stash_type must be 1, float");
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  ((layer_kernel *)kernel)->axis = ops_node_int(node, "axis", -1);
  ((layer_kernel *)kernel)->epsilon = ops_node_float(node, "epsilon", 1e-5f);
  return OPS_OK;
}

// A pass y = y op vector over the whole output.
static int32_t plan_vector(const ops_kernel *kernel, const cpu_shape *x,
                           const cpu_shape *vector, cpu_nd *out_nd, ops_error *error) {
  int64_t dims[OPS_MAX_RANK];
  const int32_t rank = ops_broadcast_dims(x->rank, x->dims, vector->rank, vector->dims, dims);
  if (rank != x->rank || memcmp(dims, x->dims, (size_t)rank * sizeof *dims) != 0)
    return cpu_invalid(kernel, error, "Scale and B must broadcast to X");
  cpu_nd_init(out_nd, x);
  cpu_nd_add_broadcast(out_nd, x, sizeof(float));
  cpu_nd_add_broadcast(out_nd, x, sizeof(float));
  cpu_nd_add_broadcast(out_nd, vector, sizeof(float));
  cpu_nd_finish(out_nd);
  return OPS_OK;
}

// Whether a vector has exactly the normalised dimensions, apart from leading ones.
static int is_full(const cpu_shape *vector, const cpu_shape *x, int32_t axis) {
  const int32_t extra = vector->rank - (x->rank - axis);
  if (extra < 0 || cpu_count(vector) != cpu_product(x->dims, axis, x->rank)) return 0;
  return memcmp(vector->dims + extra, x->dims + axis,
                (size_t)(x->rank - axis) * sizeof *x->dims) == 0;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  layer_prepared *own = (layer_prepared *)prepared;
  cpu_shape x, scale, shift = {0}, reduced;
  int32_t axis;
  cpu_input_shape(request, 0, &x);
  cpu_input_shape(request, 1, &scale);
  OPS_RETURN_IF_ERROR(cpu_axis(kernel, ((layer_kernel *)kernel)->axis, x.rank, &axis, error));
  OPS_RETURN_IF_ERROR(plan_vector(kernel, &x, &scale, &own->scale, error));
  own->direct = is_full(&scale, &x, axis);
  if (ops_request_input(request, 2)) {
    cpu_input_shape(request, 2, &shift);
    OPS_RETURN_IF_ERROR(plan_vector(kernel, &x, &shift, &own->shift, error));
    own->direct = own->direct && is_full(&shift, &x, axis);
  }
  own->rows = cpu_product(x.dims, 0, axis);
  own->length = cpu_product(x.dims, axis, x.rank);
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, OPS_TYPE_FLOAT, &x, error));
  reduced = x;
  for (int32_t i = axis; i < x.rank; ++i) reduced.dims[i] = 1;
  for (int32_t i = 1; i < kernel->output_count; ++i)
    OPS_RETURN_IF_ERROR(
        cpu_set_output(kernel, reply, (uint64_t)i, OPS_TYPE_FLOAT, &reduced, error));
  return OPS_OK;
}

typedef struct run {
  const layer_prepared *own;
  const cpu_vec *vec;
  double epsilon;
  const float *x, *scale, *shift;
  float *y, *mean, *inverse;
} run;

static void run_row(const run *run, int64_t row) {
  const int64_t n = run->own->length;
  const float *x = run->x + row * n;
  float *y = run->y + row * n;
  const double mean = run->vec->row[CPU_REDUCE_sum](x, n) / (double)n;
  const double variance = run->vec->sum_square_deviation(x, n, mean) / (double)n;
  const double inverse = 1.0 / sqrt(variance + run->epsilon);
  if (run->own->direct)
    run->vec->normalize(x, y, n, mean, inverse, run->scale, run->shift);
  else
    run->vec->affine(x, y, n, mean, inverse, 0.0);
  if (run->mean) run->mean[row] = (float)mean;
  if (run->inverse) run->inverse[row] = (float)inverse;
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t row = begin; row < end; ++row) run_row(context, row);
}

static void vector_body(const void *context, char *const *pointers, const int64_t *strides,
                        int64_t count) {
  const cpu_binary_fn *function = context;
  (*function)(pointers[0], pointers[1], pointers[2], strides[1], strides[2], count);
}

static void apply_vector(const ops_device *device, const cpu_nd *nd, float *y,
                         const float *vector, int32_t function) {
  void *const bases[3] = {y, y, (void *)vector};
  cpu_nd_run(device, nd, bases, 1, vector_body, &device->vec->binary[function][OPS_TYPE_FLOAT]);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const layer_prepared *own = (const layer_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  run run = {.own = own,
             .vec = device->vec,
             .epsilon = ((const layer_kernel *)prepared->kernel)->epsilon,
             .x = cpu_in_data(request, 0),
             .scale = cpu_in_data(request, 1),
             .shift = cpu_in_data(request, 2),
             .y = cpu_out_data(request, 0),
             .mean = cpu_out_data(request, 1),
             .inverse = cpu_out_data(request, 2)};
  (void)error;
  cpu_parallel(device, own->rows, cpu_grain(3 * own->length), run_range, &run);
  if (own->direct) return OPS_OK;
  apply_vector(device, &own->scale, run.y, run.scale, CPU_BINARY_mul);
  if (run.shift) apply_vector(device, &own->shift, run.y, run.shift, CPU_BINARY_add);
  return OPS_OK;
}

const cpu_op cpu_layer_normalization_op = {.kernel_size = sizeof(layer_kernel),
                                           .prepared_size = sizeof(layer_prepared),
                                           .claim = claim,
                                           .create = create,
                                           .prepare = prepare,
                                           .execute = execute};

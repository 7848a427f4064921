// SPDX-License-Identifier: Apache-2.0
//
// QLinearLeakyRelu and QLinearSigmoid of com.microsoft: a function of the real values of a
// quantised tensor, quantised again, as a table.
#include <math.h>

#include "byte_table.h"
#include "channels_last.h"
#include "ops_table.h"
#include "quantized.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };

typedef struct unary_kernel {
  ops_kernel base;
  double (*function)(double x, double alpha);
  double alpha;
} unary_kernel;

typedef struct unary_prepared {
  ops_prepared base;
  int64_t count;
  int32_t type;
} unary_prepared;

static double leaky_relu(double x, double alpha) {
  return x < 0 ? alpha * x : x;
}

static double sigmoid(double x, double alpha) {
  (void)alpha;
  return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  unary_kernel *own = (unary_kernel *)kernel;
  (void)error;
  own->function = ops_str_equal(kernel->def->op, "QLinearSigmoid") ? sigmoid : leaky_relu;
  own->alpha = (double)ops_node_float(node, "alpha", 0.01f);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  unary_prepared *own = (unary_prepared *)prepared;
  cpu_shape x;
  for (uint64_t i = X_SCALE; i <= Y_ZERO; ++i)
    OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, i, error));
  cpu_input_shape(request, X, &x);
  own->count = cpu_count(&x);
  own->type = cpu_input_type(request, X);
  return cpu_set_output(kernel, reply, 0, own->type, &x, error);
}

static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  (void)kernel;
  if (!cpu_may_be_last(ops_request_input(request, X)->type)) return;
  cpu_layouts_add(layouts, CPU_LAST_FIRST, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 0);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const unary_prepared *own = (const unary_prepared *)prepared;
  const unary_kernel *kernel = (const unary_kernel *)prepared->kernel;
  const cpu_byte_scale from = cpu_byte_scale_read(request, X_SCALE, X_ZERO, own->type);
  const cpu_byte_scale to = cpu_byte_scale_read(request, Y_SCALE, Y_ZERO, own->type);
  cpu_byte_table table;
  (void)error;
  for (int32_t i = 0; i < 256; ++i)
    table.of[i] =
        cpu_byte_round(&to, kernel->function(cpu_byte_real(&from, (uint8_t)i), kernel->alpha));
  cpu_byte_table_rows(prepared->kernel->device, &table, cpu_out_data(request, 0), 0,
                      cpu_in_data(request, X), 0, own->count, 1);
  return OPS_OK;
}

const cpu_op cpu_qlinear_unary_op = {.kernel_size = sizeof(unary_kernel),
                                     .prepared_size = sizeof(unary_prepared),
                                     .create = create,
                                     .layouts = layouts,
                                     .sees_view = 1,
                                     .prepare = prepare,
                                     .execute = execute};

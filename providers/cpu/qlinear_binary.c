// SPDX-License-Identifier: Apache-2.0
//
// QLinearAdd and QLinearMul of com.microsoft: the operator on the real values of two quantised
// tensors that broadcast, quantised again.
#include <ops_support/provider.h>

#include "channels_last.h"
#include "nd.h"
#include "ops_table.h"
#include "quantized.h"
#include "vec.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C_SCALE, C_ZERO };

typedef struct binary_prepared {
  ops_prepared base;
  cpu_nd nd;
  int32_t type;
} binary_prepared;

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  static const uint64_t single[] = {A_SCALE, A_ZERO, B_SCALE, B_ZERO, C_SCALE, C_ZERO};
  binary_prepared *own = (binary_prepared *)prepared;
  cpu_shape a, b, c;
  for (size_t i = 0; i < sizeof single / sizeof *single; ++i)
    OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, single[i], error));
  cpu_input_shape(request, A, &a);
  cpu_input_shape(request, B, &b);
  c.rank = ops_broadcast_dims(a.rank, a.dims, b.rank, b.dims, c.dims);
  if (c.rank < 0) return cpu_invalid(kernel, error, "the shapes of A and B do not broadcast");
  own->type = cpu_input_type(request, A);
  cpu_nd_init(&own->nd, &c);
  cpu_nd_add_broadcast(&own->nd, &c, 1);
  cpu_nd_add_broadcast(&own->nd, &a, 1);
  cpu_nd_add_broadcast(&own->nd, &b, 1);
  cpu_nd_finish(&own->nd);
  return cpu_set_output(kernel, reply, 0, own->type, &c, error);
}

// Tensors of one shape.
static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  const ops_type_info *a = ops_request_input(request, A)->type;
  const ops_type_info *b = ops_request_input(request, B)->type;
  (void)kernel;
  if (!cpu_may_be_last(a) || a->rank != b->rank) return;
  for (int32_t i = 0; i < a->rank; ++i)
    if (a->dims[i] != b->dims[i]) return;
  cpu_layouts_add(layouts, CPU_LAST_CHAIN, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 0);
}

typedef struct run {
  cpu_quantized_fn function;
  cpu_vec_quantized q;
} run;

static void run_row(const void *context, char *const *pointers, const int64_t *strides,
                    int64_t count) {
  const run *run = context;
  const uint8_t *a = (const uint8_t *)pointers[1], *b = (const uint8_t *)pointers[2];
  uint8_t *y = (uint8_t *)pointers[0];
  if (strides[0] == 1 && strides[1] <= 1 && strides[2] <= 1) {
    run->function(&run->q, y, a, b, strides[1], strides[2], count);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    run->function(&run->q, y + i * strides[0], a + i * strides[1], b + i * strides[2], 1, 1, 1);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const binary_prepared *own = (const binary_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  const int adds = ops_str_equal(prepared->kernel->def->op, "QLinearAdd");
  const run run = {
      adds ? device->vec->quantized_add : device->vec->quantized_multiply,
      {.scale = {cpu_quantized_scale(request, A_SCALE, 1),
                 cpu_quantized_scale(request, B_SCALE, 1),
                 cpu_quantized_scale(request, C_SCALE, 1)},
       .zero = {cpu_quantized_zero(request, A_ZERO), cpu_quantized_zero(request, B_ZERO),
                cpu_quantized_zero(request, C_ZERO)},
       .is_signed = own->type == OPS_TYPE_INT8}};
  void *const bases[] = {cpu_out_data(request, 0), cpu_in_data(request, A),
                         cpu_in_data(request, B)};
  (void)error;
  cpu_nd_run(device, &own->nd, bases, 1, run_row, &run);
  return OPS_OK;
}

const cpu_op cpu_qlinear_binary_op = {.kernel_size = sizeof(ops_kernel),
                                      .prepared_size = sizeof(binary_prepared),
                                      .layouts = layouts,
                                      .sees_view = 1,
                                      .prepare = prepare,
                                      .execute = execute};

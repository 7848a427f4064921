// SPDX-License-Identifier: Apache-2.0
//
// Where: a choice between two tensors, all three inputs broadcast.
#include <string.h>

#include "nd.h"
#include "ops_table.h"

typedef struct where_prepared {
  ops_prepared base;
  cpu_nd nd;  // output, condition, X, Y
  int64_t size;
} where_prepared;

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  where_prepared *own = (where_prepared *)prepared;
  cpu_shape in[3], y;
  for (uint64_t i = 0; i < 3; ++i) cpu_input_shape(request, i, &in[i]);
  y = in[0];
  for (int i = 1; i < 3 && y.rank >= 0; ++i)
    y.rank = ops_broadcast_dims(y.rank, y.dims, in[i].rank, in[i].dims, y.dims);
  if (y.rank < 0) return cpu_invalid(kernel, error, "the inputs do not broadcast");
  const int32_t type = cpu_input_type(request, 1);
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, type, &y, error));
  own->size = cpu_type_size(type);
  cpu_nd_init(&own->nd, &y);
  cpu_nd_add_broadcast(&own->nd, &y, own->size);
  cpu_nd_add_broadcast(&own->nd, &in[0], 1);
  cpu_nd_add_broadcast(&own->nd, &in[1], own->size);
  cpu_nd_add_broadcast(&own->nd, &in[2], own->size);
  cpu_nd_finish(&own->nd);
  return OPS_OK;
}

#define WHERE_CASE(bytes)                                                                 \
  case bytes:                                                                             \
    for (int64_t i = 0; i < count; ++i)                                                   \
      memcpy(y + i * (bytes),                                                             \
             condition[i * strides[1]] ? a + i * strides[2] : b + i * strides[3], bytes); \
    break

static void body(const void *context, char *const *pointers, const int64_t *strides,
                 int64_t count) {
  char *y = pointers[0];
  const char *condition = pointers[1], *a = pointers[2], *b = pointers[3];
  switch (*(const int64_t *)context) {
    WHERE_CASE(1);
    WHERE_CASE(2);
    WHERE_CASE(4);
    WHERE_CASE(8);
    WHERE_CASE(16);
    default:
      break;
  }
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const where_prepared *own = (const where_prepared *)prepared;
  void *const bases[4] = {cpu_out_data(request, 0), cpu_in_data(request, 0),
                          cpu_in_data(request, 1), cpu_in_data(request, 2)};
  (void)error;
  cpu_nd_run(prepared->kernel->device, &own->nd, bases, 1, body, &own->size);
  return OPS_OK;
}

const cpu_op cpu_where_op = {.kernel_size = sizeof(ops_kernel),
                             .prepared_size = sizeof(where_prepared),
                             .prepare = prepare,
                             .execute = execute};

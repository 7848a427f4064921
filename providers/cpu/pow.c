// SPDX-License-Identifier: Apache-2.0
//
// Pow of float and double with an exponent of a number type of its own. Squaring, by far the
// most common use, is a multiplication.
#include <math.h>
#include <string.h>

#include "limited.h"
#include "nd.h"
#include "ops_table.h"

typedef struct pow_kernel {
  ops_kernel base;
  cpu_limited limited;
} pow_kernel;

typedef struct pow_prepared {
  ops_prepared base;
  cpu_nd nd;  // Z, X, Y
  int32_t base_type, exponent_type;
} pow_prepared;

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  cpu_limited_read(node, &((pow_kernel *)kernel)->limited);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  pow_prepared *own = (pow_prepared *)prepared;
  cpu_shape x, y, z;
  cpu_input_shape(request, 0, &x);
  cpu_input_shape(request, 1, &y);
  OPS_RETURN_IF_ERROR(
      cpu_limited_align(kernel, &((pow_kernel *)kernel)->limited, &x, &y, error));
  own->base_type = cpu_input_type(request, 0);
  own->exponent_type = cpu_input_type(request, 1);
  z.rank = ops_broadcast_dims(x.rank, x.dims, y.rank, y.dims, z.dims);
  if (z.rank < 0) return cpu_invalid(kernel, error, "the inputs do not broadcast");
  const int64_t size = cpu_type_size(own->base_type);
  cpu_nd_init(&own->nd, &z);
  cpu_nd_add_broadcast(&own->nd, &z, size);
  cpu_nd_add_broadcast(&own->nd, &x, size);
  cpu_nd_add_broadcast(&own->nd, &y, cpu_type_size(own->exponent_type));
  cpu_nd_finish(&own->nd);
  return cpu_set_output(kernel, reply, 0, own->base_type, &z, error);
}

static double exponent_at(int32_t type, const char *from) {
  switch (type) {
    case OPS_TYPE_FLOAT:
      return *(const float *)from;
    case OPS_TYPE_INT32:
      return *(const int32_t *)from;
    case OPS_TYPE_INT64:
      return (double)*(const int64_t *)from;
    default:
      return *(const double *)from;
  }
}

// float to a power that float holds exactly.
static void float_body(const pow_prepared *own, char *const *pointers, const int64_t *strides,
                       int64_t count) {
  float *z = (float *)pointers[0];
  const char *x = pointers[1], *y = pointers[2];
  if (strides[2] == 0 && exponent_at(own->exponent_type, y) == 2) {
    for (int64_t i = 0; i < count; ++i) {
      const float base = *(const float *)(x + i * strides[1]);
      z[i] = base * base;
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const float base = *(const float *)(x + i * strides[1]);
    const double exponent = exponent_at(own->exponent_type, y + i * strides[2]);
    z[i] = (double)(float)exponent == exponent ? powf(base, (float)exponent)
                                               : (float)pow((double)base, exponent);
  }
}

static void body(const void *context, char *const *pointers, const int64_t *strides,
                 int64_t count) {
  const pow_prepared *own = context;
  if (own->base_type == OPS_TYPE_FLOAT) {
    float_body(own, pointers, strides, count);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    ((double *)pointers[0])[i] =
        pow(*(const double *)(pointers[1] + i * strides[1]),
            exponent_at(own->exponent_type, pointers[2] + i * strides[2]));
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const pow_prepared *own = (const pow_prepared *)prepared;
  void *const bases[3] = {cpu_out_data(request, 0), cpu_in_data(request, 0),
                          cpu_in_data(request, 1)};
  (void)error;
  cpu_nd_run(prepared->kernel->device, &own->nd, bases, 8, body, own);
  return OPS_OK;
}

const cpu_op cpu_pow_op = {.kernel_size = sizeof(pow_kernel),
                           .prepared_size = sizeof(pow_prepared),
                           .create = create,
                           .prepare = prepare,
                           .execute = execute};

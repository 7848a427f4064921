// SPDX-License-Identifier: Apache-2.0
//
// The smallest provider worth having: unary float operators in host memory. Copy it, rename
// "hello", and grow from here: an operator is a function and a row of kDefs.
#include <ops/ops.h>
#include <ops_support/error.h>
#include <ops_support/host_device.h>
#include <ops_support/node.h>
#include <ops_support/provider.h>
#include <ops_support/tensor.h>
#include <stdlib.h>

struct ops_kernel {
  float (*function)(float x);
  ops_device *device;
};
struct ops_prepared {
  float (*function)(float x);
  int64_t count;  // elements
};

// A NaN stays one.
static float relu(float x) {
  return x < 0 ? 0 : x;
}

static float negate(float x) {
  return -x;
}

// ---- Kernels: create → prepare → execute ----

static int32_t kernel_create(ops_device *device, const ops_kernel_def *def,
                             const ops_node *node, ops_kernel **out_kernel, ops_error *error) {
  (void)node;
  ops_kernel *kernel = malloc(sizeof *kernel);
  if (!kernel) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a kernel");
  kernel->function = ((const ops_kernel *)def->context)->function;
  kernel->device = device;
  ops_host_device_count_kernel(device, 1);
  *out_kernel = kernel;
  return OPS_OK;
}

static void kernel_destroy(ops_kernel *kernel) {
  if (kernel) ops_host_device_count_kernel(kernel->device, -1);
  free(kernel);
}

static int32_t kernel_prepare(ops_kernel *kernel, const ops_prepare_request *request,
                              ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  ops_prepared *prepared = malloc(sizeof *prepared);
  if (!prepared) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to prepare");
  prepared->function = kernel->function;
  prepared->count = 1;
  for (int32_t i = 0; i < x->rank; ++i) prepared->count *= x->dims[i];
  ops_reply_set_output(reply, 0, OPS_TYPE_FLOAT, x->rank, x->dims);
  reply->prepared = prepared;
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  free(prepared);
}

static int32_t kernel_execute(ops_prepared *prepared, const ops_execute_request *request,
                              ops_stream *stream, ops_error *error) {
  (void)stream, (void)error;
  const float *x = ops_tensor_data(&request->inputs[0].tensor);
  float *y = ops_tensor_data(&request->outputs[0].tensor);
  for (int64_t i = 0; i < prepared->count; ++i) y[i] = prepared->function(x[i]);
  return OPS_OK;
}

static const ops_kernel_api kKernelApi = {.struct_size = sizeof(ops_kernel_api),
                                          .create = kernel_create,
                                          .destroy = kernel_destroy,
                                          .prepare = kernel_prepare,
                                          .prepared_destroy = prepared_destroy,
                                          .execute = kernel_execute};

static const ops_arg_def kFloat[] = {{.struct_size = sizeof(ops_arg_def),
                                      .name = OPS_STR("X"),
                                      .types = OPS_TYPE_BIT(OPS_TYPE_FLOAT)}};
static const ops_kernel kRelu = {.function = relu}, kNegate = {.function = negate};

#define DEF(op_name, first_opset, row)                                                    \
  {                                                                                       \
    .struct_size = sizeof(ops_kernel_def), .op = OPS_STR(op_name), .since = first_opset,  \
    .name = OPS_STR("hello_" op_name), OPS_LIST(input, kFloat), OPS_LIST(output, kFloat), \
    .flags = OPS_KERNEL_REENTRANT, .dynamic_shape = OPS_DYNAMIC_FULL,                     \
    .determinism = OPS_DETERMINISM_BITWISE, .api = &kKernelApi, .context = row            \
  }
static const ops_kernel_def kDefs[] = {DEF("Relu", 6, &kRelu), DEF("Neg", 6, &kNegate)};

static const ops_provider kProvider = {.struct_size = sizeof(ops_provider),
                                       .name = OPS_STR("hello"),
                                       .vendor = OPS_STR("Example"),
                                       .version = OPS_STR("1.0.0"),
                                       OPS_LIST(kernel, kDefs),
                                       .instance = &ops_host_device_instance};

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  return ops_provider_answer(&kProvider, 0, 0, OPS_SANITIZER_BUILD, request, reply, error);
}

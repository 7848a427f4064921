// SPDX-License-Identifier: Apache-2.0
//
// The faulty provider's tables, its instance with the option `fault`, and what its kernels
// share.
#include <fenv.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/provider.h>
#include <stdlib.h>
#include <string.h>

#include "faulty.h"

// ---- Instance and device --------------------------------------------------------------------

static int32_t find_fault(ops_str name, const fault **out_fault, ops_error *error) {
#define NAME(constant, name, what) name,
#define VALUE(constant, name, what) constant,
  static const char *const names[] = {FAULT_LIST(NAME)};
  static const fault faults[] = {FAULT_LIST(VALUE)};
#undef NAME
#undef VALUE
  for (int i = 0; i < FAULT_COUNT; ++i) {
    if (!ops_str_equal(name, names[i])) continue;
    *out_fault = &faults[i];
    return OPS_OK;
  }
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "option fault: expected 'none' or the name of a fault, found '%.*s'",
                       OPS_STR_FMT(name));
}

static int32_t instance_create(const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t option_count,
                               ops_instance **out_instance, ops_error *error) {
  static const fault none = FAULT_NONE;
  const fault *chosen = &none;
  for (uint64_t i = 0; i < option_count; ++i) {
    if (!ops_str_equal(options[i].key, "fault")) {
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                           "option '%.*s': the only one is 'fault'",
                           OPS_STR_FMT(options[i].key));
    }
    OPS_RETURN_IF_ERROR(find_fault(options[i].value, &chosen, error));
  }
  if (*chosen == FAULT_DIES_AT_OPEN) abort();
  OPS_RETURN_IF_ERROR(ops_host_instance_create(api, host, NULL, 0, out_instance, error));
  (*out_instance)->options = chosen;
  if (*chosen == FAULT_ROUNDS_AT_OPEN) fesetround(FE_UPWARD);
  return OPS_OK;
}

static int32_t device_info(ops_device *device, ops_device_info *out_info, ops_error *error) {
  (void)device, (void)error;
  const ops_str name = OPS_STR("faulty");
  out_info->kind = OPS_DEVICE_CPU;
  out_info->memory_kinds = OPS_MEMORY_BIT(OPS_MEMORY_HOST);
  out_info->name = out_info->architecture = out_info->fingerprint = name;
  out_info->min_alignment = sizeof(float);
  return OPS_OK;
}

const ops_instance_api faulty_instance = {.struct_size = sizeof(ops_instance_api),
                                          .create = instance_create,
                                          .destroy = ops_host_instance_destroy,
                                          .device_count = ops_host_instance_device_count,
                                          .device_open = ops_host_device_open,
                                          .device_close = ops_host_device_close,
                                          .device_info = device_info};

// ---- Kernels --------------------------------------------------------------------------------

int32_t faulty_create(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                      ops_kernel **out_kernel, ops_error *error) {
  (void)def;
  ops_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a kernel");
  kernel->fault = *(const fault *)device->instance->options;
  kernel->axis = ops_node_int(node, "axis", -1);
  kernel->device = device;
  ops_host_device_count_kernel(device, 1);
  *out_kernel = kernel;
  return OPS_OK;
}

void faulty_destroy(ops_kernel *kernel) {
  if (kernel) ops_host_device_count_kernel(kernel->device, -1);
  free(kernel);
}

int32_t faulty_begin_prepare(ops_kernel *kernel, ops_prepare_reply *reply, ops_error *error) {
  ops_prepared *prepared = calloc(1, sizeof *prepared);
  if (!prepared) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to prepare");
  prepared->fault = kernel->fault;
  reply->prepared = prepared;
  return OPS_OK;
}

void faulty_prepared_destroy(ops_prepared *prepared) {
  if (prepared && prepared->late_running) pthread_join(prepared->late_reader, NULL);
  free(prepared);
}

// ---- Tables ---------------------------------------------------------------------------------

#define FLOAT_ARG(arg_name)                                                                    \
  {                                                                                            \
    .struct_size = sizeof(ops_arg_def), .name = OPS_STR(arg_name), .type_param = OPS_STR("T"), \
    .types = OPS_TYPE_BIT(OPS_TYPE_FLOAT)                                                      \
  }
static const ops_arg_def kOne[] = {FLOAT_ARG("X")};
static const ops_arg_def kTwo[] = {FLOAT_ARG("A"), FLOAT_ARG("B")};

#define DEF(op_name, first_opset, args, functions)                                            \
  {                                                                                           \
    .struct_size = sizeof(ops_kernel_def), .op = OPS_STR(op_name), .since = first_opset,      \
    .name = OPS_STR("faulty_" op_name), .inputs = args,                                       \
    .input_count = sizeof args / sizeof *args, .input_stride = sizeof *args, .outputs = kOne, \
    .output_count = 1, .output_stride = sizeof *kOne, .dynamic_shape = OPS_DYNAMIC_FULL,      \
    .flags = OPS_KERNEL_REENTRANT, .determinism = OPS_DETERMINISM_BITWISE, .api = &functions  \
  }
static const ops_kernel_def kDefs[] = {DEF("Relu", 6, kOne, faulty_relu),
                                       DEF("Softmax", 13, kOne, faulty_softmax),
                                       DEF("MatMul", 1, kTwo, faulty_matmul)};

static const ops_provider kProvider = {.struct_size = sizeof(ops_provider),
                                       .name = OPS_STR("faulty"),
                                       .vendor = OPS_STR("the conformance harness"),
                                       .version = OPS_STR("1.0.0"),
                                       .kernels = kDefs,
                                       .kernel_count = sizeof kDefs / sizeof *kDefs,
                                       .kernel_stride = sizeof *kDefs,
                                       .instance = &faulty_instance};

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  return ops_provider_answer(&kProvider, 0, 0, OPS_SANITIZER_BUILD, request, reply, error);
}

// SPDX-License-Identifier: Apache-2.0
//
// The provider's table, and the one exported symbol. What it offers is in ../gpu.
#include <ops_support/provider.h>

#include "../gpu/gpu.h"
#include "driver.h"

#define GPU_PROVIDER "cuda"
#include "../gpu/rows.h"

static int32_t instance_create(const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t option_count,
                               ops_instance **out_instance, ops_error *error) {
  return gpu_instance_create(&cuda_driver, kKernels, sizeof kKernels / sizeof *kKernels, api,
                             host, options, option_count, out_instance, error);
}

static const ops_instance_api kInstance = {.struct_size = sizeof(ops_instance_api),
                                           .create = instance_create,
                                           .destroy = gpu_instance_destroy,
                                           .device_count = gpu_device_count,
                                           .device_open = gpu_device_open,
                                           .device_close = gpu_device_close,
                                           .device_info = gpu_device_info};

static const ops_provider kProvider = {.struct_size = sizeof(ops_provider),
                                       .name = OPS_STR("cuda"),
                                       .vendor = OPS_STR("ops"),
                                       .version = OPS_STR("0.1.0"),
                                       OPS_LIST(kernel, kKernels),
                                       .instance = &kInstance,
                                       .memory = &gpu_queued_memory_api,
                                       .stream = &gpu_stream_api,
                                       .group = &gpu_group_api};

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  return ops_provider_answer(&kProvider, GPU_FEATURES, 0, OPS_SANITIZER_BUILD, request, reply,
                             error);
}

// SPDX-License-Identifier: Apache-2.0
//
// The exported symbol and the one device: the processor itself. The provider works in ordinary
// host memory, synchronously: it has no streams.
#include <ops_support/provider.h>
#include <stdio.h>
#include <string.h>

#include "cpu.h"
#include "dnnl_glue.h"
#include "vec.h"

// The processor's name as the system tells it, or the architecture's.
static void read_model_name(char *out_name, size_t size) {
  snprintf(out_name, size, "%s", CPU_ARCHITECTURE);
  FILE *file = fopen("/proc/cpuinfo", "re");
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    line[strcspn(line, "\n")] = '\0';
    snprintf(out_name, size, "%.100s", colon + 2);
    break;
  }
  if (file) fclose(file);
}

static int32_t close_device(ops_device *device, ops_error *error) {
  if (!device) return OPS_OK;
  const int kernels = atomic_load(&device->kernels), blocks = atomic_load(&device->blocks);
  if (kernels > 0 || blocks > 0)
    return ops_error_set(error, OPS_ERROR_PRECONDITION,
                         "cpu: %d kernel(s) and %d allocation(s) of the device are alive; "
                         "destroy and free them first",
                         kernels, blocks);
  ops_instance *instance = device->instance;
  cpu_dnnl_destroy(device->dnnl);
  cpu_free(device, device);
  ops_host_instance_remove_device(instance);
  return OPS_OK;
}

static int32_t open_device(ops_instance *instance, uint64_t index, ops_device **out_device,
                           ops_error *error) {
  *out_device = NULL;
  OPS_RETURN_IF_ERROR(ops_host_instance_add_device(instance, index, error));
  ops_device *device = instance->api->allocate(instance->host, sizeof *device, 64);
  if (!device) {
    ops_host_instance_remove_device(instance);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for a device");
  }
  memset(device, 0, sizeof *device);
  device->instance = instance;
  device->api = instance->api;
  device->host = instance->host;
  device->vec = cpu_vec_select();
  device->dots = cpu_dots_select();
  device->channels_last = cpu_dnnl_likes_channels_last();
  const int32_t status = cpu_dnnl_create(device, &device->dnnl, error);
  if (status != OPS_OK) {
    close_device(device, NULL);
    return status;
  }
  char model[112];
  read_model_name(model, sizeof model);
  snprintf(device->fingerprint, sizeof device->fingerprint, "%s/%s/%d", model,
           device->vec->name, device->api->worker_count(device->host));
  *out_device = device;
  return OPS_OK;
}

static ops_str text_of(const char *text) {
  return (ops_str){text, strlen(text)};
}

// Copies what fits into the caller's struct.
static int32_t device_info(ops_device *device, ops_device_info *out_info, ops_error *error) {
  ops_device_info info = {.kind = OPS_DEVICE_CPU,
                          .memory_kinds = OPS_MEMORY_BIT(OPS_MEMORY_HOST),
                          .name = OPS_STR("CPU"),
                          .architecture = OPS_STR(CPU_ARCHITECTURE),
                          .fingerprint = text_of(device->fingerprint),
                          .min_alignment = 64,
                          .peak_bytes_per_second = CPU_BYTES_PER_SECOND,
                          .features = device->vec->features,
                          .feature_count = device->vec->feature_count,
                          .flags = OPS_DEVICE_UNALIGNED_CONSTANTS};
  (void)error;
  info.struct_size = out_info->struct_size;
  info.driver_version = text_of(cpu_dnnl_version());
  memcpy(out_info, &info,
         out_info->struct_size < sizeof info ? out_info->struct_size : sizeof info);
  return OPS_OK;
}

const ops_instance_api cpu_instance_api = {
    .struct_size = sizeof(ops_instance_api),
    .create = ops_host_instance_create,
    .destroy = ops_host_instance_destroy,
    .device_count = ops_host_instance_device_count,
    .device_open = open_device,
    .device_close = close_device,
    .device_info = device_info,
};

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  return ops_provider_answer(&cpu_provider, OPS_FEATURE_PRIVATE_LAYOUTS, 0, OPS_SANITIZER_BUILD,
                             request, reply, error);
}

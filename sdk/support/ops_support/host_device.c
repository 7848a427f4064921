// SPDX-License-Identifier: Apache-2.0
//
// The instance and the device of a provider without a device of its own.
#include <ops_support/error.h>
#include <ops_support/host_device.h>
#include <stdlib.h>

enum { kCacheLine = 64 };

int32_t ops_host_device_open(ops_instance *instance, uint64_t index, ops_device **out_device,
                             ops_error *error) {
  OPS_RETURN_IF_ERROR(ops_host_instance_add_device(instance, index, error));
  ops_device *device = calloc(1, sizeof *device);
  if (!device) {
    ops_host_instance_remove_device(instance);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a device");
  }
  device->instance = instance;
  *out_device = device;
  return OPS_OK;
}

void ops_host_device_count_kernel(ops_device *device, int32_t change) {
  __atomic_fetch_add(&device->kernels, change, __ATOMIC_ACQ_REL);
}

int32_t ops_host_device_close(ops_device *device, ops_error *error) {
  if (!device) return OPS_OK;
  const int32_t alive = __atomic_load_n(&device->kernels, __ATOMIC_ACQUIRE);
  if (alive)
    return ops_error_set(error, OPS_ERROR_PRECONDITION,
                         "%d kernel(s) of the device are alive; destroy them first", alive);
  ops_host_instance_remove_device(device->instance);
  free(device);
  return OPS_OK;
}

static int32_t device_info(ops_device *device, ops_device_info *info, ops_error *error) {
  (void)device, (void)error;
  const ops_str name = OPS_STR("host");
  info->kind = OPS_DEVICE_CPU;
  info->memory_kinds = OPS_MEMORY_BIT(OPS_MEMORY_HOST);
  info->name = info->architecture = info->fingerprint = name;
  info->min_alignment = kCacheLine;
  return OPS_OK;
}

const ops_instance_api ops_host_device_instance = {
    .struct_size = sizeof(ops_instance_api),
    .create = ops_host_instance_create,
    .destroy = ops_host_instance_destroy,
    .device_count = ops_host_instance_device_count,
    .device_open = ops_host_device_open,
    .device_close = ops_host_device_close,
    .device_info = device_info,
};

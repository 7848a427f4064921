// SPDX-License-Identifier: Apache-2.0
//
// The instance of a provider without a device of its own.
#include <ops_support/error.h>
#include <ops_support/host_device.h>
#include <stdlib.h>

enum { kCacheLine = 64 };

static int32_t instance_create(const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t option_count,
                               ops_instance **out_instance, ops_error *error) {
  if (option_count)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "option '%.*s': this provider takes no options",
                         OPS_STR_FMT(options[0].key));
  ops_instance *instance = calloc(1, sizeof *instance);
  if (!instance)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an instance");
  instance->api = api;
  instance->host = host;
  *out_instance = instance;
  return OPS_OK;
}

static int32_t instance_destroy(ops_instance *instance, ops_error *error) {
  const int32_t open =
      instance ? __atomic_load_n(&instance->open_devices, __ATOMIC_ACQUIRE) : 0;
  if (open)
    return ops_error_set(error, OPS_ERROR_PRECONDITION,
                         "%d device(s) of the instance are still open; close them first", open);
  free(instance);
  return OPS_OK;
}

static int32_t device_count(ops_instance *instance, uint64_t *out_count, ops_error *error) {
  (void)instance, (void)error;
  *out_count = 1;
  return OPS_OK;
}

static int32_t device_open(ops_instance *instance, uint64_t index, ops_device **out_device,
                           ops_error *error) {
  if (index != 0)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "device %llu: this provider has device 0 only",
                         (unsigned long long)index);
  ops_device *device = calloc(1, sizeof *device);
  if (!device) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a device");
  device->instance = instance;
  __atomic_fetch_add(&instance->open_devices, 1, __ATOMIC_RELAXED);
  *out_device = device;
  return OPS_OK;
}

static int32_t device_close(ops_device *device, ops_error *error) {
  (void)error;
  if (device) __atomic_fetch_sub(&device->instance->open_devices, 1, __ATOMIC_RELEASE);
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
    .create = instance_create,
    .destroy = instance_destroy,
    .device_count = device_count,
    .device_open = device_open,
    .device_close = device_close,
    .device_info = device_info,
};

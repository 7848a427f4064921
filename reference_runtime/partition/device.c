// SPDX-License-Identifier: Apache-2.0
//
// Opening a provider in order: library, host, instance, device, what the device says of itself;
// and closing in the reverse order.
#include "partition/device.h"

#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

int rt_memory_kind_is_opaque(int32_t memory_kind) {
  return memory_kind == OPS_MEMORY_DEVICE;
}

int32_t rt_device_native_kind(const rt_device *device) {
  const int own = (device->info.memory_kinds & OPS_MEMORY_BIT(OPS_MEMORY_DEVICE)) != 0;
  return own ? OPS_MEMORY_DEVICE : OPS_MEMORY_HOST;
}

static char *terminated(ops_str text) {
  char *copy = calloc(1, text.size + 1);
  if (copy && text.size) memcpy(copy, text.data, text.size);
  return copy;
}

// What the device says must fit together, because later stages rely on it.
static int32_t check_info(const rt_device *device, ops_error *error) {
  const ops_device_info *info = &device->info;
  const uint64_t alignment = info->min_alignment;
  if (alignment & (alignment - 1))
    return ops_error_set_cause(
        error, OPS_ERROR_INTERNAL, OPS_CAUSE_BROKEN_PROMISE,
        "device_info states min_alignment %llu, which is no power of two",
        (unsigned long long)alignment);
  const ops_str texts[] = {info->name, info->architecture, info->driver_version,
                           info->fingerprint};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i)
    if (!texts[i].data && texts[i].size)
      return ops_error_set_cause(error, OPS_ERROR_INTERNAL, OPS_CAUSE_BROKEN_PROMISE,
                                 "device_info states a text of %llu bytes at NULL",
                                 (unsigned long long)texts[i].size);
  const uint32_t special = info->memory_kinds & ~OPS_MEMORY_BIT(OPS_MEMORY_HOST);
  if (special && !device->provider->memory)
    return ops_error_set_cause(
        error, OPS_ERROR_INTERNAL, OPS_CAUSE_BROKEN_PROMISE,
        "device_info states memory kinds 0x%x, but the provider has no memory "
        "table to allocate them",
        info->memory_kinds);
  const int opaque = (special & OPS_MEMORY_BIT(OPS_MEMORY_DEVICE)) != 0;
  if (opaque && !device->provider->stream)
    return ops_error_set_cause(
        error, OPS_ERROR_INTERNAL, OPS_CAUSE_BROKEN_PROMISE,
        "device_info states device memory, but the provider has no stream table "
        "to copy to and from it");
  return OPS_OK;
}

static int32_t open_device(rt_device *device, const rt_device_spec *spec,
                           const ops_host_options *host, ops_error *error) {
  const ops_instance_api *api = device->provider->instance;
  ops_host_options options = *host;
  const char *path = ops_library_path(device->library);
  options.owner = (ops_str){path, strlen(path)};
  OPS_RETURN_IF_ERROR(ops_host_create(&options, &device->host, error));
  OPS_RETURN_IF_ERROR(api->create(ops_host_api_table(), device->host, spec->options,
                                  spec->option_count, &device->instance, error));
  OPS_RETURN_IF_ERROR(api->device_count(device->instance, &device->device_count, error));
  if (spec->index >= device->device_count)
    return ops_error_set_cause(error, OPS_ERROR_NOT_FOUND, OPS_CAUSE_NO_SUCH_DEVICE,
                               "there is no device %llu, the provider sees %llu; count from 0",
                               (unsigned long long)spec->index,
                               (unsigned long long)device->device_count);
  OPS_RETURN_IF_ERROR(api->device_open(device->instance, spec->index, &device->device, error));
  device->info.struct_size = sizeof device->info;
  OPS_RETURN_IF_ERROR(api->device_info(device->device, &device->info, error));
  return check_info(device, error);
}

int32_t rt_device_open(const rt_device_spec *spec, const ops_host_options *host,
                       uint32_t number, rt_device **out_device, ops_error *error) {
  *out_device = NULL;
  rt_device *device = calloc(1, sizeof *device);
  if (!device) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a device");
  device->number = number;
  const ops_library_options options = {.offered_features = ~(uint64_t)0,
                                       .provider_dir = spec->provider_dir,
                                       .wrapper = spec->wrapper};
  int32_t status = ops_library_open(spec->provider, &options, &device->library, error);
  if (status != OPS_OK) goto failed;
  device->provider = ops_library_provider(device->library);
  device->name = device->name_storage = terminated(device->provider->name);
  if (!device->name) {
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a device");
    goto failed;
  }
  status = open_device(device, spec, host, error);
  if (status != OPS_OK) {
    ops_error_prefix(error, "provider %s", device->name);
    goto failed;
  }
  *out_device = device;
  return OPS_OK;

failed:
  rt_device_close(device);
  return status;
}

void rt_device_close(rt_device *device) {
  if (!device) return;
  const ops_instance_api *api = device->provider ? device->provider->instance : NULL;
  if (device->device) api->device_close(device->device, NULL);
  if (device->instance) api->destroy(device->instance, NULL);
  ops_host_destroy(device->host);
  ops_library_release(device->library);
  free(device->name_storage);
  free(device);
}

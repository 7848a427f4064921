// SPDX-License-Identifier: Apache-2.0
//
// Instances, their options, and devices.
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/provider.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

void gpu_log(const ops_instance *instance, int32_t severity, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  const int size = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (size < 0) return;
  const uint64_t length = (size_t)size < sizeof text ? (uint64_t)size : sizeof text - 1;
  instance->api->log(instance->host, severity, (ops_str){text, length});
}

typedef struct settings {
  ops_str cache;  // a folder, "none", or empty: the usual one
  ops_str fusion;
} settings;

typedef struct setting {
  const char *key;
  size_t offset;  // in settings
} setting;

static const setting kSettings[] = {{"cache", offsetof(settings, cache)},
                                    {"fusion", offsetof(settings, fusion)}};

static ops_str *find_setting(settings *all, ops_str key) {
  for (size_t i = 0; i < sizeof kSettings / sizeof *kSettings; ++i)
    if (ops_str_equal(key, kSettings[i].key))
      return (ops_str *)((char *)all + kSettings[i].offset);
  return NULL;
}

static int32_t read_options(const ops_key_value *options, uint64_t count, settings *out,
                            ops_error *error) {
  *out = (settings){.fusion = OPS_STR("on")};
  for (uint64_t i = 0; i < count; ++i) {
    ops_str *setting = find_setting(out, options[i].key);
    if (!setting)
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                           "option '%.*s': expected cache=FOLDER, for compiled programs, "
                           "cache=none, fusion=on or fusion=off",
                           OPS_STR_FMT(options[i].key));
    *setting = options[i].value;
  }
  if (ops_str_equal(out->fusion, "on") || ops_str_equal(out->fusion, "off")) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "option fusion: expected on or off, found '%.*s'",
                       OPS_STR_FMT(out->fusion));
}

// Where compiled programs are kept: as the option says, else as the XDG base directory
// specification does. NULL: nowhere.
static char *choose_folder(ops_str option) {
  char *folder = NULL;
  int size = -1;
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (ops_str_equal(option, "none")) return NULL;
  if (option.size)
    size = asprintf(&folder, "%.*s", OPS_STR_FMT(option));
  else if (cache && cache[0] == '/')
    size = asprintf(&folder, "%s/ops/programs", cache);
  else if (home && home[0] == '/')
    size = asprintf(&folder, "%s/.cache/ops/programs", home);
  return size < 0 ? NULL : folder;
}

int32_t gpu_instance_create(const gpu_driver *driver, const ops_kernel_def *kernels,
                            uint64_t kernel_count, const ops_host_api *api, ops_host *host,
                            const ops_key_value *options, uint64_t option_count,
                            ops_instance **out_instance, ops_error *error) {
  settings chosen;
  OPS_RETURN_IF_ERROR(ops_table_check(api, sizeof *api, "host table", error));
  OPS_RETURN_IF_ERROR(read_options(options, option_count, &chosen, error));
  ops_instance *instance = calloc(1, sizeof *instance);
  if (!instance)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an instance");
  instance->api = api;
  instance->host = host;
  instance->driver = driver;
  instance->kernels = kernels;
  instance->kernel_count = kernel_count;
  const int32_t status = driver->load(&instance->loaded, error);
  if (status != OPS_OK) {
    free(instance);
    return status;
  }
  instance->fuses = ops_str_equal(chosen.fusion, "on");
  char *folder = choose_folder(chosen.cache);
  if (folder) instance->files = gpu_files_open(instance, folder);
  free(folder);
  *out_instance = instance;
  return OPS_OK;
}

int32_t gpu_instance_destroy(ops_instance *instance, ops_error *error) {
  if (!instance) return OPS_OK;
  const int open = atomic_load(&instance->open_devices);
  if (open)
    return ops_error_set(error, OPS_ERROR_PRECONDITION, "%d device(s) are still open", open);
  gpu_files_close(instance->files);
  instance->driver->unload(instance->loaded);
  free(instance);
  return OPS_OK;
}

int32_t gpu_device_count(ops_instance *instance, uint64_t *out_count, ops_error *error) {
  return instance->driver->device_count(instance->loaded, out_count, error);
}

void gpu_device_add(ops_device *device, int count) {
  atomic_fetch_add(&device->objects, count);
}

static void describe(ops_device *device) {
  const gpu_properties *p = &device->properties;
  snprintf(device->fingerprint, sizeof device->fingerprint, "%s %s %s %u", device->driver->name,
           p->name, p->driver_version, p->compute_units);
  const ops_str fp64 = OPS_STR("fp64"), fp16 = OPS_STR("fp16");
  if (p->features & GPU_FEATURE_FP64) device->features[device->feature_count++] = fp64;
  if (p->features & GPU_FEATURE_FP16) device->features[device->feature_count++] = fp16;
}

static void device_free(ops_device *device) {
  gpu_cache_destroy(device->programs);
  if (device->copy_queue) device->driver->queue_destroy(device->copy_queue);
  if (device->context) device->driver->close(device->context);
  pthread_mutex_destroy(&device->lock);
  pthread_mutex_destroy(&device->copy_lock);
  free(device);
}

static int32_t open_context(ops_device *device, uint64_t index, ops_error *error) {
  const ops_instance *instance = device->instance;
  OPS_RETURN_IF_ERROR(device->driver->open(instance->loaded, index, &device->context,
                                           &device->properties, error));
  describe(device);
  device->programs = gpu_cache_create(device, error);
  return device->programs ? OPS_OK : OPS_ERROR_OUT_OF_MEMORY;
}

int32_t gpu_device_open(ops_instance *instance, uint64_t index, ops_device **out_device,
                        ops_error *error) {
  uint64_t count = 0;
  OPS_RETURN_IF_ERROR(gpu_device_count(instance, &count, error));
  if (index >= count)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "device %llu: there are %llu",
                         (unsigned long long)index, (unsigned long long)count);
  ops_device *device = calloc(1, sizeof *device);
  if (!device) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a device");
  device->instance = instance;
  device->driver = instance->driver;
  pthread_mutex_init(&device->lock, NULL);
  pthread_mutex_init(&device->copy_lock, NULL);
  const int32_t status = open_context(device, index, error);
  if (status != OPS_OK) {
    device_free(device);
    return status;
  }
  atomic_fetch_add(&instance->open_devices, 1);
  *out_device = device;
  return OPS_OK;
}

int32_t gpu_device_close(ops_device *device, ops_error *error) {
  if (!device) return OPS_OK;
  const int objects = atomic_load(&device->objects);
  uint64_t blocks = 0;
  for (int i = 0; i < OPS_MEMORY_KIND_COUNT; ++i) blocks += device->stats[i].allocations;
  if (objects || blocks)
    return ops_error_set(error, OPS_ERROR_PRECONDITION,
                         "%d stream(s), event(s) or kernel(s) and %llu allocation(s) are alive",
                         objects, (unsigned long long)blocks);
  ops_instance *instance = device->instance;
  device_free(device);
  atomic_fetch_sub(&instance->open_devices, 1);
  return OPS_OK;
}

static ops_str text_of(const char *text) {
  return (ops_str){text, strlen(text)};
}

int32_t gpu_device_info(ops_device *device, ops_device_info *info, ops_error *error) {
  (void)error;
  const gpu_properties *p = &device->properties;
  info->kind = p->kind;
  info->memory_kinds = OPS_MEMORY_BIT(OPS_MEMORY_HOST) | OPS_MEMORY_BIT(OPS_MEMORY_DEVICE);
  if (device->driver->allocate_pinned) info->memory_kinds |= OPS_MEMORY_BIT(OPS_MEMORY_PINNED);
  info->name = text_of(p->name);
  info->architecture = text_of(p->architecture);
  info->driver_version = text_of(p->driver_version);
  info->fingerprint = text_of(device->fingerprint);
  info->memory_bytes = p->memory_bytes;
  info->min_alignment = p->min_alignment;
  info->flags = OPS_DEVICE_DRIVER_THREADS;
  info->peak_flops_float32 = p->peak_flops_float32;
  info->peak_bytes_per_second = p->peak_bytes_per_second;
  info->features = device->features;
  info->feature_count = device->feature_count;
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// Instance and device. Options, all decimal numbers or names:
//   delay_us      microseconds added to every command (default 0)
//   memory_bytes  size of the device memory (default 8 GiB; the host gives only what is used)
//   fail_op       kernels of this operator fail while they run, to show asynchronous errors
//   fail_from     so many of them succeed first (default 0)
//   ops           operators to claim, "Add,Mul" (default all), to share a graph among devices
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/provider.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu.h"

static int32_t parse_number(ops_key_value option, uint64_t *out_number, ops_error *error) {
  char text[24], *end;
  if (option.value.size > 0 && option.value.size < sizeof text) {
    memcpy(text, option.value.data, option.value.size);
    text[option.value.size] = '\0';
    if (text[0] >= '0' && text[0] <= '9') {
      *out_number = strtoull(text, &end, 10);
      if (*end == '\0') return OPS_OK;
    }
  }
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "option '%.*s': expected a decimal number, found '%.*s'",
                       OPS_STR_FMT(option.key), OPS_STR_FMT(option.value));
}

enum { kMaxDelay = 1000000000 };  // microseconds

static int32_t copy_text(ops_key_value option, char *target, size_t size, ops_error *error) {
  if (option.value.size >= size)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "option '%.*s': text too long",
                         OPS_STR_FMT(option.key));
  if (option.value.size) memcpy(target, option.value.data, option.value.size);
  target[option.value.size] = '\0';
  return OPS_OK;
}

static int32_t apply_option(ops_instance *instance, ops_key_value option, ops_error *error) {
  uint64_t number = 0;
  if (ops_str_equal(option.key, "fail_op"))
    return copy_text(option, instance->fail_op, sizeof instance->fail_op, error);
  if (ops_str_equal(option.key, "fail_from"))
    return parse_number(option, &instance->fail_from, error);
  if (ops_str_equal(option.key, "ops"))
    return copy_text(option, instance->ops, sizeof instance->ops, error);
  if (ops_str_equal(option.key, "delay_us")) {
    OPS_RETURN_IF_ERROR(parse_number(option, &number, error));
    if (number > kMaxDelay)
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                           "option 'delay_us': %llu, expected at most %d",
                           (unsigned long long)number, kMaxDelay);
    instance->delay_ns = number * 1000;
    return OPS_OK;
  }
  if (ops_str_equal(option.key, "memory_bytes")) {
    OPS_RETURN_IF_ERROR(parse_number(option, &instance->memory_bytes, error));
    if (instance->memory_bytes > 0) return OPS_OK;
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "option 'memory_bytes': 0, expected at least 1");
  }
  return ops_error_set_cause(
      error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_UNKNOWN_OPTION,
      "unknown option '%.*s'; mynpu knows delay_us, memory_bytes, fail_op, fail_from and ops",
      OPS_STR_FMT(option.key));
}

static int32_t instance_create(const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t option_count,
                               ops_instance **out_instance, ops_error *error) {
  OPS_RETURN_IF_ERROR(ops_table_check(api, sizeof *api, "host table", error));
  ops_instance *instance = calloc(1, sizeof *instance);
  if (!instance)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an instance");
  instance->api = api;
  instance->host = host;
  instance->memory_bytes = UINT64_C(8) << 30;
  int32_t status = OPS_OK;
  for (uint64_t i = 0; i < option_count && status == OPS_OK; ++i)
    status = apply_option(instance, options[i], error);
  if (status != OPS_OK) {
    free(instance);
    return status;
  }
  *out_instance = instance;
  return OPS_OK;
}

static int32_t instance_destroy(ops_instance *instance, ops_error *error) {
  const int32_t open =
      instance ? __atomic_load_n(&instance->open_devices, __ATOMIC_ACQUIRE) : 0;
  if (open)
    return ops_error_set(error, OPS_ERROR_PRECONDITION, "%d device(s) are still open", open);
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
                         "device %llu: mynpu has device 0 only", (unsigned long long)index);
  ops_device *device = calloc(1, sizeof *device);
  if (!device) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a device");
  device->instance = instance;
  device->heap = npu_heap_create(instance->memory_bytes, error);
  if (!device->heap) {
    free(device);
    return OPS_ERROR_OUT_OF_MEMORY;
  }
  __atomic_fetch_add(&instance->open_devices, 1, __ATOMIC_RELAXED);
  *out_device = device;
  return OPS_OK;
}

static int32_t device_close(ops_device *device, ops_error *error) {
  if (!device) return OPS_OK;
  const int32_t objects = __atomic_load_n(&device->live_objects, __ATOMIC_ACQUIRE);
  const uint64_t blocks = npu_heap_live(device->heap);
  if (objects || blocks)
    return ops_error_set(error, OPS_ERROR_PRECONDITION,
                         "%d stream(s), event(s) or kernel(s) and %llu allocation(s) are alive",
                         objects, (unsigned long long)blocks);
  npu_heap_destroy(device->heap);
  __atomic_fetch_sub(&device->instance->open_devices, 1, __ATOMIC_RELEASE);
  free(device);
  return OPS_OK;
}

void npu_device_add(ops_device *device, int32_t count) {
  __atomic_fetch_add(&device->live_objects, count, __ATOMIC_ACQ_REL);
}

static int32_t device_info(ops_device *device, ops_device_info *info, ops_error *error) {
  (void)error;
  const ops_str name = OPS_STR("mynpu"), architecture = OPS_STR("simulated-1");
  const ops_str fingerprint = OPS_STR("mynpu-simulated-1");
  info->kind = OPS_DEVICE_NPU;
  info->memory_kinds = OPS_MEMORY_BIT(OPS_MEMORY_HOST) | OPS_MEMORY_BIT(OPS_MEMORY_DEVICE);
  info->name = name;
  info->architecture = architecture;
  info->driver_version = architecture;
  info->fingerprint = fingerprint;
  info->memory_bytes = device->instance->memory_bytes;
  info->min_alignment = kMinAlignment;
  info->max_streams = kMaxStreams;
  return OPS_OK;
}

const ops_instance_api npu_instance_api = {
    .struct_size = sizeof(ops_instance_api),
    .create = instance_create,
    .destroy = instance_destroy,
    .device_count = device_count,
    .device_open = device_open,
    .device_close = device_close,
    .device_info = device_info,
};

// SPDX-License-Identifier: Apache-2.0
//
// Instance and device.
#include <fenv.h>
#include <ops_support/error.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "faulty.h"

#define FLUSH_TO_ZERO 0x8040u  // the bits FTZ and DAZ of the MXCSR register
#define KEPT_BYTES (1 << 20)

static void flush_denormals(void) {
#if defined(__SSE__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | FLUSH_TO_ZERO);
#else
  fesetround(FE_TOWARDZERO);
#endif
}

static void *idle(void *context) {
  (void)context;
  for (;;) pause();
  return NULL;
}

// What opening an instance should not do.
static void spoil_create(ops_instance *instance) {
  pthread_t thread;
  sigset_t set;
  if (FAULTY(instance, dies_at_open)) abort();
  if (FAULTY(instance, rounds_at_open)) fesetround(FE_UPWARD);
  if (FAULTY(instance, flushes_denormals_at_open)) flush_denormals();
  if (FAULTY(instance, blocks_signals_at_open)) {
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
  }
  if (FAULTY(instance, thread_left_behind)) pthread_create(&thread, NULL, idle, NULL);
  if (FAULTY(instance, host_memory_left_behind)) {
    instance->api->allocate(instance->host, KEPT_BYTES, sizeof(void *));
  }
}

static int32_t instance_create(const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t option_count,
                               ops_instance **out_instance, ops_error *error) {
  if (api->struct_size < sizeof *api) {
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED_VERSION,
                         "the host's table has %llu bytes, expected at least %zu",
                         (unsigned long long)api->struct_size, sizeof *api);
  }
  ops_instance *instance = calloc(1, sizeof *instance);
  if (!instance) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to open");
  instance->api = api;
  instance->host = host;
  const int32_t status = faulty_mode_create(options, option_count, &instance->mode, error);
  if (status != OPS_OK) {
    free(instance);
    return status;
  }
  faulty_is(instance->mode, faulty_library_mode()->fault);  // it was felt at the query
  spoil_create(instance);
  *out_instance = instance;
  return OPS_OK;
}

static int32_t instance_destroy(ops_instance *instance, ops_error *error) {
  if (!instance) return OPS_OK;
  const int32_t open = __atomic_load_n(&instance->open_devices, __ATOMIC_ACQUIRE);
  if (open) {
    return ops_error_set(error, OPS_ERROR_PRECONDITION, "%d device(s) are still open", open);
  }
  faulty_mode_destroy(instance->mode);
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
  if (index != 0) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "device %llu: there is device 0",
                         (unsigned long long)index);
  }
  ops_device *device = calloc(1, sizeof *device);
  if (!device) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a device");
  device->instance = instance;
  device->mode = instance->mode;
  pthread_mutex_init(&device->lock, NULL);
  __atomic_fetch_add(&instance->open_devices, 1, __ATOMIC_RELAXED);
  *out_device = device;
  return OPS_OK;
}

void faulty_memory_empty_cache(ops_device *device);

static int32_t device_close(ops_device *device, ops_error *error) {
  if (!device) return OPS_OK;
  const int32_t live = __atomic_load_n(&device->live, __ATOMIC_ACQUIRE);
  if (live) {
    return ops_error_set(error, OPS_ERROR_PRECONDITION,
                         "%d stream(s), event(s), kernel(s) or allocation(s) are alive", live);
  }
  faulty_memory_empty_cache(device);
  pthread_mutex_destroy(&device->lock);
  __atomic_fetch_sub(&device->instance->open_devices, 1, __ATOMIC_RELEASE);
  free(device);
  return OPS_OK;
}

void faulty_device_add(ops_device *device, int32_t count) {
  __atomic_fetch_add(&device->live, count, __ATOMIC_ACQ_REL);
}

static int32_t device_info(ops_device *device, ops_device_info *info, ops_error *error) {
  (void)device, (void)error;
  const ops_str name = OPS_STR("faulty");
  info->kind = OPS_DEVICE_OTHER;
  info->memory_kinds = OPS_MEMORY_BIT(OPS_MEMORY_HOST) | OPS_MEMORY_BIT(OPS_MEMORY_DEVICE);
  info->name = info->architecture = info->fingerprint = info->driver_version = name;
  info->min_alignment = sizeof(float);
  return OPS_OK;
}

const ops_instance_api faulty_instance = {.struct_size = sizeof(ops_instance_api),
                                          .create = instance_create,
                                          .destroy = instance_destroy,
                                          .device_count = device_count,
                                          .device_open = device_open,
                                          .device_close = device_close,
                                          .device_info = device_info};

// SPDX-License-Identifier: Apache-2.0
//
// Instance and device.
#include <fenv.h>
#include <ops_support/error.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "faulty.h"

#define FLUSH_TO_ZERO 0x8040u  // the bits FTZ and DAZ of the MXCSR register
#define KEPT_BYTES (1 << 20)
#define LOST_BYTES 4096
#define SPEAKS_AFTER_NS 5000000

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
  void *volatile lost = FAULTY(instance, opening_leaks) ? malloc(LOST_BYTES) : NULL;
  (void)lost;
  if (FAULTY(instance, thread_left_behind)) pthread_create(&thread, NULL, idle, NULL);
  if (FAULTY(instance, host_memory_left_behind)) {
    instance->api->allocate(instance->host, KEPT_BYTES, sizeof(void *));
  }
}

// What it takes of the host for a moment, when that is scarce.
static int32_t borrow(ops_instance *instance, ops_error *error) {
  if (!FAULTY(instance, scarcity_is_internal)) return OPS_OK;
  void *memory = instance->api->allocate(instance->host, KEPT_BYTES, sizeof(void *));
  if (!memory) return ops_error_set(error, OPS_ERROR_INTERNAL, "opening failed");
  instance->api->free(instance->host, memory);
  return OPS_OK;
}

static int32_t instances_gone;  // atomic

static void *speak_late(void *context) {
  const ops_instance instance = *(ops_instance *)context;
  const struct timespec pause = {0, SPEAKS_AFTER_NS};
  free(context);
  nanosleep(&pause, NULL);
  instance.api->free(instance.host, instance.api->allocate(instance.host, 64, sizeof(void *)));
  return NULL;
}

// Fault host_called_after_destroy: by a thread of its own.
static void call_host_later(const ops_instance *instance) {
  pthread_t thread;
  ops_instance *copy = malloc(sizeof *copy);
  if (!copy) return;
  *copy = *instance;
  if (pthread_create(&thread, NULL, speak_late, copy) == 0) pthread_detach(thread);
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
  int32_t status = faulty_mode_create(options, option_count, &instance->mode, error);
  if (status == OPS_OK) status = borrow(instance, error);
  if (status != OPS_OK) {
    faulty_mode_destroy(instance->mode);
    free(instance);
    return status;
  }
  faulty_is(instance->mode, faulty_library_mode()->fault);  // it was felt at the query
  spoil_create(instance);
  instance->others_gone = __atomic_load_n(&instances_gone, __ATOMIC_RELAXED);
  *out_instance = instance;
  return OPS_OK;
}

static int32_t instance_destroy(ops_instance *instance, ops_error *error) {
  if (!instance) return OPS_OK;
  const int32_t open = __atomic_load_n(&instance->open_devices, __ATOMIC_ACQUIRE);
  if (open && FAULTY(instance, record_not_optional)) error->code = OPS_ERROR_PRECONDITION;
  if (open && FAULTY(instance, destroyed_while_in_use)) return OPS_OK;
  if (open) {
    return ops_error_set(error, OPS_ERROR_PRECONDITION, "%d device(s) are still open", open);
  }
  __atomic_fetch_add(&instances_gone, 1, __ATOMIC_RELAXED);
  if (FAULTY(instance, host_called_after_destroy)) call_host_later(instance);
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
  if (index != 0 && !FAULTY(instance, any_device_opens)) {
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

// Faults closed_with_…: what lives does not keep the device open.
static const fault kUncounted[FAULTY_CHILDREN] = {
    [FAULTY_STREAMS] = FAULT_closed_with_stream,
    [FAULTY_EVENTS] = FAULT_closed_with_event,
    [FAULTY_ALLOCATIONS] = FAULT_closed_with_allocation,
    [FAULTY_KERNELS] = FAULT_closed_with_kernel,
};

static int32_t device_close(ops_device *device, ops_error *error) {
  static const char *const names[FAULTY_CHILDREN] = {"stream", "event", "allocation", "kernel",
                                                     "capture"};
  if (!device && faulty_library_mode()->fault == FAULT_null_refused)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "no device to close");
  if (!device) return OPS_OK;
  for (int i = 0; i < FAULTY_CHILDREN; ++i) {
    const int32_t live = __atomic_load_n(&device->live[i], __ATOMIC_ACQUIRE);
    if (live == 0) continue;
    // Said to be closed, but kept: what lives can still be destroyed.
    if (kUncounted[i] && faulty_is(device->mode, kUncounted[i])) return OPS_OK;
    return ops_error_set(error, OPS_ERROR_PRECONDITION, "%d %s(s) are alive", live, names[i]);
  }
  faulty_memory_empty_cache(device);
  pthread_mutex_destroy(&device->lock);
  __atomic_fetch_sub(&device->instance->open_devices, 1, __ATOMIC_RELEASE);
  free(device);
  return OPS_OK;
}

void faulty_device_add(ops_device *device, faulty_children kind, int32_t count) {
  __atomic_fetch_add(&device->live[kind], count, __ATOMIC_ACQ_REL);
}

static int32_t device_info(ops_device *device, ops_device_info *info, ops_error *error) {
  static int32_t asked;
  const ops_str name = OPS_STR("faulty"), other = OPS_STR("otherwise");
  const int32_t gone = __atomic_load_n(&instances_gone, __ATOMIC_RELAXED);
  if (gone != device->instance->others_gone && FAULTY(device, instances_share_state)) {
    return ops_error_set(error, OPS_ERROR_INTERNAL, "the device went with another instance");
  }
  if (error && FAULTY(device, record_written_on_success)) error->code = OPS_ERROR_NOT_READY;
  info->kind = OPS_DEVICE_OTHER;
  info->memory_kinds = OPS_MEMORY_BIT(OPS_MEMORY_HOST) | OPS_MEMORY_BIT(OPS_MEMORY_DEVICE);
  info->name = info->architecture = info->fingerprint = info->driver_version = name;
  info->min_alignment = sizeof(float);
  if (FAULTY(device, device_info_changes) &&
      __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED) % 2)
    info->architecture = other;
  return OPS_OK;
}

const ops_instance_api faulty_instance = {.struct_size = sizeof(ops_instance_api),
                                          .create = instance_create,
                                          .destroy = instance_destroy,
                                          .device_count = device_count,
                                          .device_open = device_open,
                                          .device_close = device_close,
                                          .device_info = device_info};

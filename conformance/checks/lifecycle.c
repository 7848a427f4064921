// SPDX-License-Identifier: Apache-2.0
//
// Check `lifecycle`: instances, devices and memory, on instances of their own beside the one
// that the bench has open. Parents with live children refuse to go and change nothing; every
// destructor takes NULL; what is opened again and again leaves nothing behind.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/check.h"
#include "checks/provider_case.h"
#include "ops_support/error.h"

#define CYCLES 8
#define WARM_CYCLES 3
#define MOST_FAILURES 64
#define QUIET_NS 20000000  // how long a destroyed instance gets to call the host after all
#define ALIGNMENTS 12

typedef bool (*visit_fn)(oc_trial *trial, oc_target *target);

// Opens an instance, visits it and closes it.
static bool visit(oc_trial *trial, visit_fn fn) {
  oc_target target;
  if (!oc_provider_open(trial, &target)) return false;
  if (fn(trial, &target)) return oc_provider_close(trial, &target);
  oc_target_close(&target, NULL);
  return false;
}

// Closing must be refused while something lives, and the device must be as it was.
static bool device_refuses(oc_trial *trial, oc_target *target, const char *call) {
  ops_error error = OPS_ERROR_INIT;
  ops_device_info info = {.struct_size = sizeof info};
  const ops_instance_api *api = target->provider->instance;
  const int32_t status = api->device_close(target->device, &error);
  if (!oc_provider_expect(trial, call, status, OPS_ERROR_PRECONDITION, &error)) {
    if (status == OPS_OK) target->device = NULL;  // it is gone
    return false;
  }
  return oc_provider_expect(trial, "device_info afterwards",
                            api->device_info(target->device, &info, &error), OPS_OK, &error);
}

// ---- Parents and children -------------------------------------------------------------------

static bool destroy_with_device(oc_trial *trial, oc_target *target) {
  ops_error error = OPS_ERROR_INIT;
  ops_device_info info = {.struct_size = sizeof info};
  const ops_instance_api *api = target->provider->instance;
  const int32_t status = api->destroy(target->instance, &error);
  if (!oc_provider_expect(trial, "destroy of an instance with an open device", status,
                          OPS_ERROR_PRECONDITION, &error)) {
    if (status == OPS_OK) target->instance = NULL, target->device = NULL;
    return false;
  }
  return oc_provider_expect(trial, "device_info afterwards",
                            api->device_info(target->device, &info, &error), OPS_OK, &error);
}

bool oc_lifecycle_instance_in_use(oc_trial *trial) {
  return visit(trial, destroy_with_device);
}

static bool close_with_stream(oc_trial *trial, oc_target *target) {
  ops_error error = OPS_ERROR_INIT;
  if (!device_refuses(trial, target, "device_close with a live stream")) return false;
  const int32_t status = target->provider->stream->synchronize(target->streams[0], &error);
  return oc_provider_expect(trial, "synchronize afterwards", status, OPS_OK, &error);
}

bool oc_lifecycle_device_with_stream(oc_trial *trial) {
  if (!trial->bench->candidate.provider->stream) return oc_provider_lacks(trial, "no streams");
  return visit(trial, close_with_stream);
}

static void drop_streams(oc_target *target) {
  for (int i = 0; i < OC_TARGET_STREAMS; ++i) {
    ops_stream *stream = target->streams[i];
    if (stream && !(i > 0 && stream == target->streams[0])) {
      target->provider->stream->destroy(stream);
    }
  }
  memset(target->streams, 0, sizeof target->streams);
}

static bool close_with_event(oc_trial *trial, oc_target *target) {
  ops_error error = OPS_ERROR_INIT;
  ops_event *event = NULL;
  const ops_stream_api *api = target->provider->stream;
  drop_streams(target);
  const int32_t status = api->event_create(target->device, &event, &error);
  if (!oc_provider_expect(trial, "event_create", status, OPS_OK, &error)) return false;
  const bool good = device_refuses(trial, target, "device_close with a live event");
  if (target->device) api->event_destroy(event);
  return good;
}

bool oc_lifecycle_device_with_event(oc_trial *trial) {
  if (!trial->bench->candidate.provider->stream) return oc_provider_lacks(trial, "no streams");
  return visit(trial, close_with_event);
}

static bool close_with_allocation(oc_trial *trial, oc_target *target) {
  ops_error error = OPS_ERROR_INIT;
  void *memory = NULL;
  const ops_memory_api *api = target->provider->memory;
  const int32_t kind = target->info.memory_kinds & OPS_MEMORY_BIT(OPS_MEMORY_DEVICE)
                           ? OPS_MEMORY_DEVICE
                           : OPS_MEMORY_HOST;
  drop_streams(target);
  const int32_t status = api->allocate(target->device, kind, 64, target->info.min_alignment,
                                       OPS_USAGE_ACTIVATION, &memory, &error);
  if (!oc_provider_expect(trial, "allocate", status, OPS_OK, &error)) return false;
  const bool good = device_refuses(trial, target, "device_close with a live allocation");
  if (target->device) api->free(target->device, kind, memory);
  return good;
}

bool oc_lifecycle_device_with_allocation(oc_trial *trial) {
  if (!trial->bench->candidate.provider->memory) {
    return oc_provider_lacks(trial, "no memory of its own");
  }
  return visit(trial, close_with_allocation);
}

// The first case that the target claims, as a kernel that is created. False: the trial ended;
// *out_created tells whether there is one.
static bool create_any(oc_trial *trial, oc_target *target, oc_kernel *kernel, oc_inputs *inputs,
                       bool *out_created) {
  ops_error error = OPS_ERROR_INIT;
  *out_created = false;
  if (!oc_provider_claim_any(trial, target, kernel, inputs)) return true;
  const int32_t status = oc_kernel_create(kernel, &error);
  *out_created = status == OPS_OK;
  return *out_created ||
         oc_provider_fails(trial, "create of %.200s ends with %s: %.300s", kernel->item->id,
                           ops_status_name(status), error.message);
}

static bool close_with_kernel(oc_trial *trial, oc_target *target) {
  oc_kernel kernel = {0};
  oc_inputs inputs = {0};
  bool created;
  drop_streams(target);
  bool good = create_any(trial, target, &kernel, &inputs, &created);
  if (good && !created) {
    good = oc_provider_lacks(trial, "no kernel of a case without constants");
  } else if (good) {
    good = device_refuses(trial, target, "device_close with a live kernel");
  }
  if (!target->device) kernel.kernel = NULL;  // gone with its device
  oc_kernel_finish(&kernel);
  oc_inputs_finish(&inputs);
  return good;
}

bool oc_lifecycle_device_with_kernel(oc_trial *trial) {
  return visit(trial, close_with_kernel);
}

// ---- NULL and nonsense ----------------------------------------------------------------------

static bool destroy_nothing(oc_trial *trial, oc_target *target) {
  ops_error error = OPS_ERROR_INIT;
  const ops_provider *provider = target->provider;
  if (provider->stream) {
    provider->stream->destroy(NULL);
    provider->stream->event_destroy(NULL);
    if (provider->stream->capture_destroy) provider->stream->capture_destroy(NULL);
  }
  if (provider->memory) provider->memory->free(target->device, OPS_MEMORY_HOST, NULL);
  for (uint64_t i = 0; i < provider->kernel_count; ++i) {
    const ops_kernel_def *def =
        (const ops_kernel_def *)((const char *)provider->kernels + i * provider->kernel_stride);
    def->api->prepared_destroy(NULL);
    def->api->destroy(NULL);
  }
  return oc_provider_expect(trial, "device_close of NULL",
                            provider->instance->device_close(NULL, &error), OPS_OK, &error) &&
         oc_provider_expect(trial, "destroy of NULL", provider->instance->destroy(NULL, &error),
                            OPS_OK, &error);
}

bool oc_lifecycle_null(oc_trial *trial) {
  return visit(trial, destroy_nothing);
}

bool oc_lifecycle_unknown_option(oc_trial *trial) {
  const oc_target *candidate = &trial->bench->candidate;
  const ops_key_value option = {OPS_STR("org.example.no-such-option"), OPS_STR("1")};
  ops_error error = OPS_ERROR_INIT;
  ops_instance *instance = NULL;
  const int32_t status = candidate->provider->instance->create(
      ops_host_api_table(), candidate->host, &option, 1, &instance, &error);
  if (status == OPS_OK) candidate->provider->instance->destroy(instance, NULL);
  return oc_provider_expect(trial, "create with an unknown option", status,
                            OPS_ERROR_INVALID_ARGUMENT, &error);
}

static bool open_beyond(oc_trial *trial, oc_target *target) {
  ops_error error = OPS_ERROR_INIT;
  ops_device *device = NULL;
  uint64_t count = 0;
  const ops_instance_api *api = target->provider->instance;
  int32_t status = api->device_count(target->instance, &count, &error);
  if (!oc_provider_expect(trial, "device_count", status, OPS_OK, &error)) return false;
  status = api->device_open(target->instance, count, &device, &error);
  if (status == OPS_OK) api->device_close(device, NULL);
  return status != OPS_OK ||
         oc_provider_fails(trial, "device_open of device %llu of %llu: expected an error",
                           (unsigned long long)count, (unsigned long long)count);
}

bool oc_lifecycle_device_index(oc_trial *trial) {
  return visit(trial, open_beyond);
}

static bool same_str(ops_str a, ops_str b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool ask_info(oc_trial *trial, oc_target *target) {
  ops_error error = OPS_ERROR_INIT;
  const ops_device_info *first = &target->info;
  ops_device_info info = {.struct_size = sizeof info};
  const int32_t status = target->provider->instance->device_info(target->device, &info, &error);
  if (!oc_provider_expect(trial, "device_info", status, OPS_OK, &error)) return false;
  const bool same =
      info.kind == first->kind && info.memory_kinds == first->memory_kinds &&
      info.min_alignment == first->min_alignment && info.max_streams == first->max_streams &&
      same_str(info.name, first->name) && same_str(info.architecture, first->architecture) &&
      same_str(info.fingerprint, first->fingerprint);
  return same || oc_provider_fails(trial, "asked twice, a device describes itself differently");
}

bool oc_lifecycle_device_info(oc_trial *trial) {
  return visit(trial, ask_info);
}

// ---- Again and again ------------------------------------------------------------------------

bool oc_lifecycle_two_instances(oc_trial *trial) {
  oc_target first, second;
  ops_error error = OPS_ERROR_INIT;
  ops_device_info info = {.struct_size = sizeof info};
  if (!oc_provider_open(trial, &first)) return false;
  bool good = oc_provider_open(trial, &second) && oc_provider_close(trial, &second);
  if (good) {
    const int32_t status = first.provider->instance->device_info(first.device, &info, &error);
    good = oc_provider_expect(trial, "device_info when another instance is gone", status,
                              OPS_OK, &error);
  }
  if (good) return oc_provider_close(trial, &first);
  oc_target_close(&first, NULL);
  return false;
}

typedef enum stock { HEAP, FILES, THREADS, STOCK_COUNT } stock;
static const char *const kStocks[STOCK_COUNT] = {"bytes that malloc has given out",
                                                 "open files", "threads"};

bool oc_lifecycle_reopen(oc_trial *trial) {
  uint64_t last[STOCK_COUNT] = {0};
  int growths[STOCK_COUNT] = {0};
  for (int i = 0; i < WARM_CYCLES + CYCLES; ++i) {
    oc_target target;
    if (!oc_provider_open(trial, &target) || !oc_provider_close(trial, &target)) return false;
    const uint64_t now[STOCK_COUNT] = {oc_environment_heap(), oc_environment_files(),
                                       oc_environment_threads()};
    for (int k = 0; k < STOCK_COUNT && i > WARM_CYCLES; ++k) growths[k] += now[k] > last[k];
    memcpy(last, now, sizeof last);
  }
  for (int k = 0; k < STOCK_COUNT; ++k) {
    if (growths[k] < CYCLES - 1) continue;
    return oc_provider_fails(trial,
                             "opened and closed again and again: %s grow each time; %llu now",
                             kStocks[k], (unsigned long long)last[k]);
  }
  return true;
}

bool oc_lifecycle_scarcity(oc_trial *trial) {
  oc_target_options options = trial->bench->candidate_options;
  for (uint64_t i = 1; i <= MOST_FAILURES; ++i) {
    oc_target target;
    ops_error error = OPS_ERROR_INIT;
    options.allocation_to_fail = i;
    const int32_t status = oc_target_open(&target, &options, &error);
    if (status == OPS_OK) {
      const bool all = atomic_load(&target.allocations_made) < i;
      if (!oc_provider_close(trial, &target)) return false;
      if (all) return true;
    } else if (!oc_provider_expect(trial, "opening while an allocation from the host fails",
                                   status, OPS_ERROR_OUT_OF_MEMORY, &error)) {
      return false;
    }
  }
  return true;
}

// ---- The host afterwards --------------------------------------------------------------------

typedef struct listener {
  atomic_bool gone;
  _Atomic int32_t calls;  // after that
} listener;

static void hear(listener *listener) {
  if (atomic_load(&listener->gone)) atomic_fetch_add(&listener->calls, 1);
}

static void hear_log(void *context, int32_t severity, ops_str message) {
  (void)severity, (void)message;
  hear(context);
}

static void *hear_allocate(void *context, uint64_t size, uint64_t alignment) {
  void *memory = NULL;
  hear(context);
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  return posix_memalign(&memory, alignment, size ? size : 1) == 0 ? memory : NULL;
}

static void hear_free(void *context, void *memory) {
  hear(context);
  free(memory);
}

bool oc_lifecycle_silence(oc_trial *trial) {
  listener listener = {.gone = false};
  ops_error error = OPS_ERROR_INIT;
  ops_host *host = NULL;
  ops_instance *instance = NULL;
  ops_device *device = NULL;
  const oc_target_options *own = &trial->bench->candidate_options;
  const ops_instance_api *api = trial->bench->candidate.provider->instance;
  const struct timespec pause = {0, QUIET_NS};
  const ops_host_options options = {.context = &listener,
                                    .workers = 2,
                                    .log = hear_log,
                                    .allocate = hear_allocate,
                                    .free = hear_free};
  int32_t status = ops_host_create(&options, &host, &error);
  if (status == OPS_OK) {
    status = api->create(ops_host_api_table(), host, own->options, own->option_count, &instance,
                         &error);
  }
  if (status == OPS_OK) status = api->device_open(instance, 0, &device, &error);
  if (status == OPS_OK) status = api->device_close(device, &error);
  if (status == OPS_OK) status = api->destroy(instance, &error);
  atomic_store(&listener.gone, true);
  nanosleep(&pause, NULL);
  ops_host_destroy(host);
  return oc_provider_expect(trial, "open and close", status, OPS_OK, &error) &&
         (atomic_load(&listener.calls) == 0 ||
          oc_provider_fails(trial, "%d call(s) of host functions after destroy had returned",
                            atomic_load(&listener.calls)));
}

// ---- Memory ---------------------------------------------------------------------------------

static bool allocate_zero(oc_trial *trial, oc_target *target, int32_t kind) {
  ops_error error = OPS_ERROR_INIT;
  void *memory = NULL;
  const int32_t status = target->provider->memory->allocate(
      target->device, kind, 0, 1, OPS_USAGE_ACTIVATION, &memory, &error);
  if (status == OPS_OK) target->provider->memory->free(target->device, kind, memory);
  return oc_provider_expect(trial, "allocate of 0 bytes", status, OPS_ERROR_INVALID_ARGUMENT,
                            &error);
}

static bool allocate_everything(oc_trial *trial, oc_target *target, int32_t kind) {
  ops_error error = OPS_ERROR_INIT;
  void *memory = NULL;
  const int32_t status = target->provider->memory->allocate(
      target->device, kind, (uint64_t)1 << 60, 1, OPS_USAGE_ACTIVATION, &memory, &error);
  if (status == OPS_OK) target->provider->memory->free(target->device, kind, memory);
  return oc_provider_expect(trial, "allocate of 2^60 bytes", status, OPS_ERROR_OUT_OF_MEMORY,
                            &error);
}

static bool allocate_aligned(oc_trial *trial, oc_target *target, int32_t kind) {
  const ops_memory_api *api = target->provider->memory;
  const uint64_t least = target->info.min_alignment ? target->info.min_alignment : 1;
  for (int i = 0; i < ALIGNMENTS; ++i) {
    ops_error error = OPS_ERROR_INIT;
    void *memory = NULL;
    const uint64_t asked = (uint64_t)1 << i;
    const int32_t status =
        api->allocate(target->device, kind, 100, asked, OPS_USAGE_ACTIVATION, &memory, &error);
    if (!oc_provider_expect(trial, "allocate of 100 bytes", status, OPS_OK, &error))
      return false;
    const uint64_t want = asked > least ? asked : least;
    const bool visible = kind != OPS_MEMORY_DEVICE;
    const bool good = !visible || (uintptr_t)memory % want == 0;
    api->free(target->device, kind, memory);
    if (good) continue;
    return oc_provider_fails(trial,
                             "allocate with alignment %llu of a device whose least is %llu: "
                             "found an address that is no multiple of %llu",
                             (unsigned long long)asked, (unsigned long long)least,
                             (unsigned long long)want);
  }
  return true;
}

static bool balance(oc_trial *trial, oc_target *target, int32_t kind) {
  const ops_memory_api *api = target->provider->memory;
  ops_memory_stats before = {.struct_size = sizeof before},
                   after = {.struct_size = sizeof after};
  ops_error error = OPS_ERROR_INIT;
  void *memory[4] = {NULL};
  if (!api->stats) return true;
  int32_t status = api->stats(target->device, kind, &before, &error);
  if (status == OPS_ERROR_UNSUPPORTED) return true;
  for (int i = 0; i < 4 && status == OPS_OK; ++i) {
    status =
        api->allocate(target->device, kind, 1000, 64, OPS_USAGE_WEIGHT, &memory[i], &error);
  }
  if (status == OPS_OK) status = api->stats(target->device, kind, &after, &error);
  for (int i = 0; i < 4; ++i) api->free(target->device, kind, memory[i]);
  if (!oc_provider_expect(trial, "allocate and stats", status, OPS_OK, &error)) return false;
  if (after.bytes_in_use < before.bytes_in_use + 4000) {
    return oc_provider_fails(trial,
                             "stats: 4000 bytes were allocated, bytes_in_use went from %llu "
                             "to %llu",
                             (unsigned long long)before.bytes_in_use,
                             (unsigned long long)after.bytes_in_use);
  }
  status = api->stats(target->device, kind, &after, &error);
  if (!oc_provider_expect(trial, "stats", status, OPS_OK, &error)) return false;
  return after.bytes_in_use == before.bytes_in_use ||
         oc_provider_fails(
             trial, "stats: everything was freed, bytes_in_use went from %llu to %llu",
             (unsigned long long)before.bytes_in_use, (unsigned long long)after.bytes_in_use);
}

// Host memory may be left to the host.
static bool allocates_host(oc_target *target) {
  void *memory = NULL;
  const ops_memory_api *api = target->provider->memory;
  const int32_t status = api->allocate(target->device, OPS_MEMORY_HOST, 64, 1,
                                       OPS_USAGE_ACTIVATION, &memory, NULL);
  if (status == OPS_OK) api->free(target->device, OPS_MEMORY_HOST, memory);
  return status != OPS_ERROR_UNSUPPORTED;
}

typedef bool (*kind_fn)(oc_trial *trial, oc_target *target, int32_t kind);

static bool each_kind(oc_trial *trial, oc_target *target, kind_fn fn) {
  for (int32_t kind = 0; kind < OPS_MEMORY_KIND_COUNT; ++kind) {
    if (!(target->info.memory_kinds & OPS_MEMORY_BIT(kind))) continue;
    if (kind == OPS_MEMORY_HOST && !allocates_host(target)) continue;
    if (!fn(trial, target, kind)) return false;
  }
  return true;
}

static bool visit_memory(oc_trial *trial, oc_target *target) {
  return each_kind(trial, target, allocate_zero) &&
         each_kind(trial, target, allocate_everything) &&
         each_kind(trial, target, allocate_aligned) && each_kind(trial, target, balance);
}

bool oc_lifecycle_memory(oc_trial *trial) {
  if (!trial->bench->candidate.provider->memory) {
    return oc_provider_lacks(trial, "no memory of its own");
  }
  return visit(trial, visit_memory);
}

// SPDX-License-Identifier: Apache-2.0
//
// Check `record`: the error record belongs to calls that fail. A host hands the same record to
// one call after another, or none at all: what succeeds leaves it as it was, and NULL is
// accepted by what succeeds and by what is refused.
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "checks/provider_case.h"
#include "ops_support/error.h"

#define MARK 0x5a  // of every byte of a record that nobody may write

// Calls with one record, or with none.
typedef struct log {
  oc_trial *trial;
  ops_error record, before;
  ops_error *error;  // what calls are given: &record or NULL
} log;

static void mark(log *log) {
  memset(&log->record, MARK, sizeof log->record);
  log->record.struct_size = sizeof log->record;
  log->record.message[sizeof log->record.message - 1] = '\0';
  log->before = log->record;
}

static bool same(const log *log) {
  return memcmp(&log->record, &log->before, sizeof log->record) == 0;
}

// A call that must have succeeded, and left the record alone.
static bool done(log *log, const char *call, int32_t status) {
  const char *given = log->error ? "a record" : "no record";
  if (status != OPS_OK) {
    return oc_provider_fails(log->trial, "%s, given %s, ends with %s; expected OPS_OK", call,
                             given, ops_status_name(status));
  }
  return same(log) ||
         oc_provider_fails(
             log->trial,
             "%s succeeded and wrote the error record: code 0x%x, message '%.80s'; "
             "expected it as it was",
             call, (unsigned)log->record.code, log->record.message);
}

// ---- Calls that succeed ---------------------------------------------------------------------

static bool ask_device(log *log, oc_target *target) {
  const ops_instance_api *api = target->provider->instance;
  ops_device_info info = {.struct_size = sizeof info};
  uint64_t count;
  return done(log, "device_count", api->device_count(target->instance, &count, log->error)) &&
         done(log, "device_info", api->device_info(target->device, &info, log->error));
}

static bool use_event(log *log, const ops_stream_api *api, ops_stream *stream,
                      ops_event *event) {
  return done(log, "event_record", api->event_record(event, stream, log->error)) &&
         done(log, "wait", api->wait(stream, event, log->error)) &&
         done(log, "event_synchronize", api->event_synchronize(event, log->error)) &&
         done(log, "event_query", api->event_query(event, log->error)) &&
         done(log, "synchronize", api->synchronize(stream, log->error));
}

static bool use_stream(log *log, oc_target *target) {
  const ops_stream_api *api = target->provider->stream;
  ops_event *event = NULL;
  if (!api || !target->streams[0]) return true;
  if (!done(log, "event_create", api->event_create(target->device, &event, log->error))) {
    return false;
  }
  const bool good = use_event(log, api, target->streams[0], event);
  api->event_destroy(event);
  return good;
}

static bool run_kernel(log *log, oc_kernel *kernel, oc_inputs *inputs) {
  ops_error error = OPS_ERROR_INIT;
  if (!done(log, "create", oc_kernel_create(kernel, log->error)) ||
      !done(log, "prepare", oc_kernel_prepare(kernel, NULL, 0, log->error))) {
    return false;
  }
  oc_launch *launch = calloc(1, sizeof *launch);
  if (!launch)
    return oc_trial_end(log->trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "no memory");
  int32_t status = oc_launch_init(launch, kernel, OC_PLACE_END, NULL, &error);
  if (status == OPS_OK) status = oc_launch_load(launch, inputs, 0, &error);
  const bool good =
      status == OPS_OK
          ? done(log, "execute", oc_launch_execute(launch, 1, log->error))
          : oc_provider_fails(log->trial, "memory for the arguments ends with %s: %.300s",
                              ops_status_name(status), error.message);
  oc_kernel_release(kernel);
  oc_launch_finish(launch);
  free(launch);
  return good;
}

static bool use_kernel(log *log, oc_target *target) {
  oc_kernel kernel = {0};
  oc_inputs inputs = {0};
  bool good = true;
  if (oc_provider_claim_any(log->trial, target, &kernel, &inputs)) {
    good = run_kernel(log, &kernel, &inputs);
  }
  oc_kernel_finish(&kernel);
  oc_inputs_finish(&inputs);
  return good;
}

static bool use_all(log *log, oc_target *target) {
  return ask_device(log, target) && use_stream(log, target) && use_kernel(log, target);
}

static bool visit(oc_trial *trial, bool record, bool (*fn)(log *log, oc_target *target)) {
  oc_target target;
  log log = {.trial = trial};
  mark(&log);
  log.error = record ? &log.record : NULL;
  if (!oc_provider_open(trial, &target)) return false;
  if (fn(&log, &target)) return oc_provider_close(trial, &target);
  oc_target_close(&target, NULL);
  return false;
}

bool oc_record_success(oc_trial *trial) {
  return visit(trial, true, use_all);
}

// ---- Without a record -----------------------------------------------------------------------

static bool refused(log *log, const char *call, int32_t status) {
  return status != OPS_OK ||
         oc_provider_fails(log->trial, "%s, given no record, succeeds; expected an error",
                           call);
}

static bool wait_unrecorded(log *log, oc_target *target) {
  const ops_stream_api *api = target->provider->stream;
  ops_event *event = NULL;
  if (!api || !target->streams[0]) return true;
  if (api->event_create(target->device, &event, NULL) != OPS_OK) return true;
  const bool good =
      refused(log, "wait for an event that was never recorded",
              api->wait(target->streams[0], event, NULL)) &&
      done(log, "synchronize afterwards", api->synchronize(target->streams[0], NULL));
  api->event_destroy(event);
  return good;
}

static bool refuse_all(log *log, oc_target *target) {
  const ops_instance_api *api = target->provider->instance;
  const ops_memory_api *memory = target->provider->memory;
  const ops_key_value option = {OPS_STR("org.example.no-such-option"), OPS_STR("1")};
  ops_instance *instance = NULL;
  ops_device *device = NULL;
  void *block = NULL;
  uint64_t count = 0;
  int32_t status = api->create(ops_host_api_table(), target->host, &option, 1, &instance, NULL);
  if (status == OPS_OK) api->destroy(instance, NULL);
  if (!refused(log, "create with an unknown option", status)) return false;
  if (api->device_count(target->instance, &count, NULL) != OPS_OK) return true;
  status = api->device_open(target->instance, count, &device, NULL);
  if (status == OPS_OK) api->device_close(device, NULL);
  if (!refused(log, "device_open of a device that does not exist", status)) return false;
  if (!refused(log, "destroy of an instance in use", api->destroy(target->instance, NULL))) {
    target->instance = NULL, target->device = NULL;
    return false;
  }
  if (memory) {
    status = memory->allocate(target->device, OPS_MEMORY_HOST, (uint64_t)1 << 60, 1,
                              OPS_USAGE_ACTIVATION, &block, NULL);
    if (!refused(log, "allocate of 2^60 bytes", status)) return false;
  }
  return wait_unrecorded(log, target);
}

static bool use_and_refuse(log *log, oc_target *target) {
  return use_all(log, target) && refuse_all(log, target);
}

bool oc_record_none(oc_trial *trial) {
  return visit(trial, false, use_and_refuse);
}

// SPDX-License-Identifier: Apache-2.0
//
// One opened provider: library, instance, first device, two streams. The oracle and the
// candidate are each a target of their own in the same worker.
#ifndef OC_RUNNER_TARGET_H_
#define OC_RUNNER_TARGET_H_

#include <ops/ops.h>
#include <stdatomic.h>

#include "loader/host.h"
#include "loader/library.h"

#define OC_TARGET_STREAMS 2
// What this host offers in the query.
#define OC_TARGET_FEATURES (OPS_FEATURE_STREAMS | OPS_FEATURE_VALUES)

typedef struct oc_target {
  ops_library *library;
  const ops_provider *provider;
  ops_host *host;
  ops_instance *instance;
  ops_device *device;
  ops_device_info info;
  ops_stream *streams[OC_TARGET_STREAMS];  // NULL: a synchronous provider
  _Atomic int64_t host_allocations;        // through the host table, not yet freed
  _Atomic uint64_t allocations_made;       // so far
  _Atomic uint64_t allocation_to_fail;     // the number of the one that fails; 0: none
  const char *altered;  // by opening, of the thread or the process; NULL: nothing
} oc_target;

typedef struct oc_target_options {
  const char *name;          // as ops_library_open takes it
  const char *provider_dir;  // or NULL
  const ops_key_value *options;
  uint64_t option_count;
  uint64_t allocation_to_fail;  // which of the allocations from the host fails; 0: none
  int32_t workers;              // threads that the host lends it; 0: two
} oc_target_options;

// On error everything is closed again. The object must not move until close.
int32_t oc_target_open(oc_target *target, const oc_target_options *options, ops_error *error);

// Destroys in the order of the object model and reports the first error: a device or instance
// that refuses, memory of the host table that was never freed. Accepts a zeroed one.
int32_t oc_target_close(oc_target *target, ops_error *error);

// A stream that has failed keeps its error for good: replaces it, so that one case's failure is
// not the next one's.
int32_t oc_target_renew_streams(oc_target *target, ops_error *error);

// True if the provider's `kind` of memory is plain host memory that the harness may place.
int32_t oc_target_is_host(const oc_target *target, int32_t memory_kind);

#endif  // OC_RUNNER_TARGET_H_

// SPDX-License-Identifier: Apache-2.0
//
// The shared page of a worker.
#include "runner/beacon.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ops_support/error.h"
#include "runner/result.h"

int32_t oc_beacon_create(oc_beacon **out_beacon, ops_error *error) {
  void *page =
      mmap(NULL, sizeof(oc_beacon), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no shared page for a worker");
  }
  *out_beacon = page;
  oc_beacon_reset(page);
  return OPS_OK;
}

void oc_beacon_destroy(oc_beacon *beacon) {
  if (beacon) munmap(beacon, sizeof *beacon);
}

void oc_beacon_reset(oc_beacon *beacon) {
  atomic_store(&beacon->phase, OC_PHASE_IDLE);
  atomic_store(&beacon->fault, OC_FAULT_NONE);
}

// A copy of the worker that came back from a provider's fork would judge and answer a second
// time. It ends the worker instead, and says why.
static void refuse_copy(oc_beacon *beacon) {
  if (beacon->owner == 0 || beacon->owner == getpid()) return;
  atomic_store(&beacon->fault, OC_FAULT_FORKED);
  kill(beacon->owner, SIGKILL);
  _exit(1);
}

void oc_beacon_phase(oc_beacon *beacon, int32_t phase) {
  if (!beacon) return;
  refuse_copy(beacon);
  atomic_store(&beacon->phase, phase);
}

static const char *role_name(int32_t role) {
#define NAME(constant, name) name,
  static const char *const names[] = {OC_ROLE_LIST(NAME)};
#undef NAME
  return role >= 0 && role < OC_ROLE_COUNT ? names[role] : "region";
}

static const char kTaken[] =
    "%s at byte %lld of %s %d (%llu bytes), which the kernel had released, or after the run";

int32_t oc_beacon_describe(const oc_beacon *beacon, char *text, uint64_t size) {
  static const char *const places[] = {
      [OC_FAULT_BEFORE] = "%s %lld bytes before the start of %s %d (%llu bytes)",
      [OC_FAULT_AFTER] = "%s %lld bytes past the end of %s %d (%llu bytes)",
      [OC_FAULT_READ_ONLY] = "%s at byte %lld of %s %d (%llu bytes), which is read-only",
      [OC_FAULT_REVOKED] = "%s at byte %lld of %s %d (%llu bytes) after the run had completed",
  };
  const int32_t fault = atomic_load(&beacon->fault);
  if (fault == OC_FAULT_FORKED) {
    snprintf(text, size, "a copy of the process, made by fork, returned from the provider");
    return 1;
  }
  if (fault == OC_FAULT_FILES) {
    snprintf(text, size, "a descriptor of the harness was closed or replaced");
    return 1;
  }
  if (fault <= OC_FAULT_NONE || fault > OC_FAULT_REVOKED) return 0;
  const char *access = beacon->fault_write < 0 ? "access"
                       : beacon->fault_write   ? "write"
                                               : "read";
  const long long distance = beacon->fault_distance;
  const unsigned long long bytes = beacon->fault_size;
  const char *role = role_name(beacon->fault_role);
  const int32_t index = beacon->fault_index;
  const bool taken = fault == OC_FAULT_REVOKED && beacon->fault_role == OC_ROLE_CONSTANT;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  snprintf(text, size, taken ? kTaken : places[fault], access, distance, role, index, bytes);
#pragma GCC diagnostic pop
  return 1;
}

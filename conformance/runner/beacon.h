// SPDX-License-Identifier: Apache-2.0
//
// A page that a worker shares with the harness: it says what the worker is doing, and keeps the
// last word when the worker dies.
#ifndef OC_RUNNER_BEACON_H_
#define OC_RUNNER_BEACON_H_

#include <ops/status.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

// What a guarded region holds.
#define OC_ROLE_LIST(X)             \
  X(OC_ROLE_INPUT, "input")         \
  X(OC_ROLE_OUTPUT, "output")       \
  X(OC_ROLE_WORKSPACE, "workspace") \
  X(OC_ROLE_DIMS, "output shape")   \
  X(OC_ROLE_CONSTANT, "constant")

#define OC_ROLE_ITEM(constant, name) constant,
typedef enum oc_role { OC_ROLE_LIST(OC_ROLE_ITEM) OC_ROLE_COUNT } oc_role;

typedef enum oc_fault_kind {
  OC_FAULT_NONE,
  OC_FAULT_BEFORE,     // below the first byte
  OC_FAULT_AFTER,      // at or beyond the end
  OC_FAULT_READ_ONLY,  // a write to an input
  OC_FAULT_REVOKED,    // an access after the completion
  OC_FAULT_FORKED,     // the provider forked, and the copy returned from the call
  OC_FAULT_FILES,      // the pipe to the harness was closed, or is another file now
  OC_FAULT_COUNT
} oc_fault_kind;

typedef struct oc_beacon {
  pid_t owner;             // the worker; 0: not running yet
  _Atomic int32_t phase;   // oc_phase
  _Atomic int32_t fault;   // oc_fault_kind, written last
  int32_t fault_role;      // oc_role
  int32_t fault_index;     // which input or output
  int32_t fault_write;     // 1: a write, 0: a read, -1: not known
  int64_t fault_distance;  // bytes: before the start, from the end, or from the start
  uint64_t fault_size;     // of the region
} oc_beacon;

int32_t oc_beacon_create(oc_beacon **out_beacon, ops_error *error);  // shared with forks
void oc_beacon_destroy(oc_beacon *beacon);                           // accepts NULL
void oc_beacon_reset(oc_beacon *beacon);
void oc_beacon_phase(oc_beacon *beacon, int32_t phase);

// "write 4 bytes past the end of output 0 (24 bytes)"; false if there was no such fault.
int32_t oc_beacon_describe(const oc_beacon *beacon, char *text, uint64_t size);

#endif  // OC_RUNNER_BEACON_H_

// SPDX-License-Identifier: Apache-2.0
//
// Host memory between two pages without access rights, so that one byte too far ends the
// process at the instruction that did it.
//
//   | no access | pages: slack, data, slack | no access |
//
// OC_PLACE_END puts the data as close to the rear guard as its alignment allows, OC_PLACE_START
// at the front. Slack is filled with a pattern and checked. A signal handler turns an access to
// a guard, a write to a read-only region and an access to a revoked one into a sentence in the
// beacon, then lets the process die.
#ifndef OC_RUNNER_GUARD_H_
#define OC_RUNNER_GUARD_H_

#include <ops/status.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/beacon.h"

typedef enum oc_place {
  OC_PLACE_END,    // at the rear guard
  OC_PLACE_START,  // at the front guard
  OC_PLACE_ODD     // near the rear, at an odd multiple of the alignment: no better aligned
} oc_place;
typedef enum oc_access { OC_ACCESS_NONE, OC_ACCESS_READ, OC_ACCESS_WRITE } oc_access;

// Where threads are held that touch an armed region: until `passed`, or OC_TRAP_PAUSES pauses.
typedef struct oc_trap {
  atomic_bool held;    // a thread has been
  atomic_bool passed;  // by who set the trap: go on
  _Atomic int32_t springs;
} oc_trap;

#define OC_TRAP_PAUSE_NS 20000
#define OC_TRAP_PAUSES 1000
#define OC_TRAP_MAX_SPRINGS 1000  // beyond, an access is reported as one that is not allowed

typedef struct oc_guard {
  unsigned char *map;  // the whole mapping
  size_t map_size;
  unsigned char *pages;  // between the guards
  size_t pages_size;
  unsigned char *data;
  uint64_t size;
  uint64_t padding;          // bytes behind the data that may be read
  _Atomic oc_access access;  // the signal handler reads it in whichever thread faults
  oc_role role;
  int32_t index;
  oc_trap *volatile trap;  // NULL: not armed
  struct oc_guard *next;   // of the regions that the signal handler knows
} oc_guard;

// `alignment` is a power of two. The region is writable. The object must not move until finish.
int32_t oc_guard_init(oc_guard *guard, uint64_t size, uint64_t alignment, uint64_t padding,
                      oc_place place, oc_role role, int32_t index, ops_error *error);
void oc_guard_finish(oc_guard *guard);  // accepts a zeroed one

int32_t oc_guard_protect(oc_guard *guard, oc_access access, ops_error *error);

// The next write to a writable region, or the next access to a read-only one, is held in `trap`
// and then goes on as if nothing had been. Nobody may use the region while it is armed or
// disarmed.
int32_t oc_guard_arm(oc_guard *guard, oc_trap *trap, ops_error *error);
int32_t oc_guard_disarm(oc_guard *guard, ops_error *error);

// False if slack was written; *out_offset is then the first such byte, from the start of the
// data (negative: before it). Needs read access.
bool oc_guard_intact(const oc_guard *guard, int64_t *out_offset);

// Installs the signal handler of this process, which reports to `beacon`.
int32_t oc_guard_watch(oc_beacon *beacon, ops_error *error);

#endif  // OC_RUNNER_GUARD_H_

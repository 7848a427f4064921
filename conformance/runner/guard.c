// SPDX-License-Identifier: Apache-2.0
//
// Guarded regions. The list of live regions and the beacon are the one global state of the
// runner: a signal handler can be told nothing else. A worker is one process with one thread of
// the harness, so the list needs no lock; the handler only reads it.
#include "runner/guard.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "ops_support/checked.h"
#include "ops_support/error.h"

#define SLACK_BYTE 0xc5
#define MAX_ALIGNMENT ((uint64_t)1 << 21)

static oc_guard *volatile live_guards;
static oc_beacon *volatile watch_beacon;
static struct sigaction previous_actions[2];  // SIGSEGV, SIGBUS
static unsigned char handler_stack[65536];

int32_t oc_guard_init(oc_guard *guard, uint64_t size, uint64_t alignment, uint64_t padding,
                      oc_place place, oc_role role, int32_t index, ops_error *error) {
  memset(guard, 0, sizeof *guard);
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t used, pages, total;
  if (alignment == 0) alignment = 1;
  if ((alignment & (alignment - 1)) || alignment > MAX_ALIGNMENT) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "an alignment must be a power of two up to %llu, found %llu",
                         (unsigned long long)MAX_ALIGNMENT, (unsigned long long)alignment);
  }
  // One alignment more than needed, so that either end can be reached with aligned data.
  if (!ops_checked_add(size, padding, &used) || !ops_checked_add(used, alignment, &pages) ||
      !ops_checked_align(pages, page, &pages) || !ops_checked_add(pages, 2 * page, &total)) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a region of %llu bytes is too large",
                         (unsigned long long)size);
  }
  void *map = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no guarded region of %llu bytes",
                         (unsigned long long)size);
  }
  guard->map = map;
  guard->map_size = total;
  guard->pages = guard->map + page;
  guard->pages_size = pages;
  guard->size = size;
  guard->padding = padding;
  guard->role = role;
  guard->index = index;
  const uint64_t front = (uint64_t)(uintptr_t)guard->pages, rear = front + pages;
  uint64_t at = place == OC_PLACE_START ? (front + alignment - 1) & ~(alignment - 1)
                                        : (rear - used) & ~(alignment - 1);
  if (place == OC_PLACE_ODD && !(at & alignment)) at -= alignment;
  guard->data = guard->pages + (at - front);
  const int32_t status = oc_guard_protect(guard, OC_ACCESS_WRITE, error);
  if (status != OPS_OK) {
    munmap(map, total);
    guard->map = NULL;
    return status;
  }
  memset(guard->pages, SLACK_BYTE, at - front);
  memset(guard->data + size, SLACK_BYTE, rear - at - size);
  guard->next = live_guards;
  live_guards = guard;
  return OPS_OK;
}

void oc_guard_finish(oc_guard *guard) {
  if (!guard->map) return;
  oc_guard *volatile *link = &live_guards;
  while (*link && *link != guard) link = (oc_guard *volatile *)&(*link)->next;
  if (*link) *link = guard->next;
  munmap(guard->map, guard->map_size);
  memset(guard, 0, sizeof *guard);
}

int32_t oc_guard_protect(oc_guard *guard, oc_access access, ops_error *error) {
  static const int rights[] = {[OC_ACCESS_NONE] = PROT_NONE,
                               [OC_ACCESS_READ] = PROT_READ,
                               [OC_ACCESS_WRITE] = PROT_READ | PROT_WRITE};
  if (mprotect(guard->pages, guard->pages_size, rights[access]) != 0) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY,
                         "the rights of a region of %llu bytes cannot be changed",
                         (unsigned long long)guard->size);
  }
  guard->access = access;
  return OPS_OK;
}

// ---- Traps ----------------------------------------------------------------------------------

int32_t oc_guard_arm(oc_guard *guard, oc_trap *trap, ops_error *error) {
  const oc_access access = guard->access;
  guard->trap = trap;
  const int32_t status = oc_guard_protect(
      guard, access == OC_ACCESS_WRITE ? OC_ACCESS_READ : OC_ACCESS_NONE, error);
  guard->access = access;
  return status;
}

int32_t oc_guard_disarm(oc_guard *guard, ops_error *error) {
  guard->trap = NULL;
  return oc_guard_protect(guard, guard->access, error);
}

// In the signal handler: gives the region its rights back and holds the thread. False if the
// access is no matter of the trap.
static bool spring(oc_guard *guard, const unsigned char *at, int32_t write) {
  oc_trap *trap = guard->trap;
  const struct timespec pause = {0, OC_TRAP_PAUSE_NS};
  if (!trap || at < guard->pages || at >= guard->pages + guard->pages_size) return false;
  if (write > 0 && guard->access != OC_ACCESS_WRITE) return false;
  if (atomic_fetch_add(&trap->springs, 1) >= OC_TRAP_MAX_SPRINGS) return false;
  const int before = errno;
  const int rights = guard->access == OC_ACCESS_WRITE ? PROT_READ | PROT_WRITE : PROT_READ;
  if (mprotect(guard->pages, guard->pages_size, rights) != 0) return false;
  atomic_store(&trap->held, true);
  for (int i = 0; i < OC_TRAP_PAUSES && !atomic_load(&trap->passed); ++i) {
    nanosleep(&pause, NULL);
  }
  errno = before;
  return true;
}

bool oc_guard_intact(const oc_guard *guard, int64_t *out_offset) {
  const unsigned char *end = guard->pages + guard->pages_size;
  for (const unsigned char *at = guard->pages; at < end; ++at) {
    if (at == guard->data) at += guard->size;
    if (at < end && *at != SLACK_BYTE) {
      *out_offset = at - guard->data;
      return false;
    }
  }
  return true;
}

// ---- The signal handler ---------------------------------------------------------------------

static int32_t is_write(const ucontext_t *context) {
#if defined(__x86_64__)
  return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)context;
  return -1;
#endif
}

// What the present rights of a region say about a refused access. Where they would allow it, it
// came while they were others: a late access, whose thread was slow to tell.
static oc_fault_kind classify_inside(const oc_guard *guard, int32_t write) {
  const oc_access access = guard->access;
  const bool allowed = access == OC_ACCESS_WRITE || (access == OC_ACCESS_READ && write == 0);
  return access == OC_ACCESS_NONE || allowed ? OC_FAULT_REVOKED : OC_FAULT_READ_ONLY;
}

static oc_fault_kind classify(const oc_guard *guard, const unsigned char *at, int32_t write,
                              int64_t *out_distance) {
  if (at < guard->pages) {
    *out_distance = guard->data - at;
    return OC_FAULT_BEFORE;
  }
  if (at >= guard->pages + guard->pages_size) {
    *out_distance = at - (guard->data + guard->size);
    return OC_FAULT_AFTER;
  }
  *out_distance = at - guard->data;
  return classify_inside(guard, write);
}

static void report_fault(const oc_guard *guard, const unsigned char *at, int32_t write) {
  oc_beacon *beacon = watch_beacon;
  if (!beacon) return;
  int64_t distance;
  const oc_fault_kind kind = classify(guard, at, write, &distance);
  beacon->fault_role = guard->role;
  beacon->fault_index = guard->index;
  beacon->fault_write = write;
  beacon->fault_distance = distance;
  beacon->fault_size = guard->size;
  atomic_store(&beacon->fault, kind);
}

static void on_signal(int number, siginfo_t *info, void *context) {
  const unsigned char *at = info->si_addr;
  bool ours = false;
  for (oc_guard *guard = live_guards; guard && !ours; guard = guard->next) {
    ours = at >= guard->map && at < guard->map + guard->map_size;
    if (ours && spring(guard, at, is_write(context))) return;
    if (ours) report_fault(guard, at, is_write(context));
  }
  // Returning repeats a foreign access under the previous action: the default one, which ends
  // the process, or a sanitizer's, which prints first. In a region the access may be allowed by
  // now.
  struct sigaction ending = previous_actions[number == SIGBUS];
  if (ours) {
    ending = (struct sigaction){.sa_handler = SIG_DFL};
  }
  sigaction(number, &ending, NULL);
  if (ours || info->si_code <= 0) raise(number);  // nothing might repeat it
}

int32_t oc_guard_watch(oc_beacon *beacon, ops_error *error) {
  const stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  watch_beacon = beacon;
  if (sigaltstack(&stack, NULL) != 0 ||
      sigaction(SIGSEGV, &action, &previous_actions[0]) != 0 ||
      sigaction(SIGBUS, &action, &previous_actions[1]) != 0) {
    return ops_error_set(error, OPS_ERROR_INTERNAL, "the signal handler cannot be installed");
  }
  return OPS_OK;
}

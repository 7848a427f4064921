// SPDX-License-Identifier: Apache-2.0
//
// Streams are used by one thread at a time, so whoever cancels cannot reach into a wait: the
// waiting thread looks up in between, at first often, then every millisecond.
#include "execution/interrupt.h"

#include <ops_support/error.h>
#include <time.h>

#define FIRST_PAUSE_NS UINT64_C(20000)
#define LAST_PAUSE_NS UINT64_C(1000000)

uint64_t rt_interrupt_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

int32_t rt_interrupt_status(const rt_interrupt *interrupt) {
  if (!interrupt) return OPS_OK;
  if (interrupt->cancelled &&
      atomic_load_explicit(interrupt->cancelled, memory_order_relaxed) != 0)
    return OPS_ERROR_CANCELLED;
  const int late = interrupt->limit_ns && rt_interrupt_now() >= interrupt->deadline_ns;
  return late ? OPS_ERROR_TIMEOUT : OPS_OK;
}

int32_t rt_interrupt_error(const rt_interrupt *interrupt, int32_t status, const char *when,
                           ops_error *error) {
  if (status == OPS_ERROR_CANCELLED)
    return ops_error_set(error, status, "the run was cancelled %s", when);
  return ops_error_set_cause(
      error, status, OPS_CAUSE_DEADLINE,
      "kernel timed out: the limit of %g s passed %s; raise the limit, or see "
      "by a profile what takes long",
      (double)interrupt->limit_ns * 1e-9, when);
}

void rt_interrupt_pause(uint64_t *inout_ns) {
  *inout_ns = *inout_ns ? *inout_ns * 2 : FIRST_PAUSE_NS;
  if (*inout_ns > LAST_PAUSE_NS) *inout_ns = LAST_PAUSE_NS;
  nanosleep(&(struct timespec){.tv_nsec = (long)*inout_ns}, NULL);
}

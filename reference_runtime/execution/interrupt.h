// SPDX-License-Identifier: Apache-2.0
//
// What ends a run early: somebody's wish, or a deadline. Checked before each action, while the
// host waits for a device, and by kernels that ask (ops_host_api.is_cancelled).
#ifndef RT_EXECUTION_INTERRUPT_H_
#define RT_EXECUTION_INTERRUPT_H_

#include <ops/status.h>
#include <stdatomic.h>

typedef struct rt_interrupt {
  atomic_int *cancelled;  // not 0: end; NULL: nobody can ask
  uint64_t limit_ns;      // of the whole run; 0: none
  uint64_t deadline_ns;   // of rt_interrupt_now
} rt_interrupt;

uint64_t rt_interrupt_now(void);  // of a clock that never goes back
// CANCELLED, TIMEOUT, or OK to go on. `interrupt` may be NULL.
int32_t rt_interrupt_status(const rt_interrupt *interrupt);
// The message for `status`, one of the above. `when`: "before it began", "while it ran".
int32_t rt_interrupt_error(const rt_interrupt *interrupt, int32_t status, const char *when,
                           ops_error *error);
// Sleeps a little, from call to call a little longer: *inout_ns begins as 0.
void rt_interrupt_pause(uint64_t *inout_ns);

#endif  // RT_EXECUTION_INTERRUPT_H_

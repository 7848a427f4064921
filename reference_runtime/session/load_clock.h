// SPDX-License-Identifier: Apache-2.0
//
// Private to session/: where the time of making a session goes.
#ifndef RT_SESSION_LOAD_CLOCK_H_
#define RT_SESSION_LOAD_CLOCK_H_

#include <opsrt/opsrt.h>

#define RT_LOAD_PHASES 8u

typedef struct rt_load_clock {
  opsrt_load_phase phases[RT_LOAD_PHASES];
  uint32_t count;
  uint64_t last_ns;
} rt_load_clock;

void rt_load_clock_start(rt_load_clock *clock);

// What happened since the last call was the phase `name`, a constant string.
void rt_load_clock_lap(rt_load_clock *clock, const char *name);

#endif  // RT_SESSION_LOAD_CLOCK_H_

// SPDX-License-Identifier: Apache-2.0
#include "session/load_clock.h"

#include "profile/profile.h"

void rt_load_clock_start(rt_load_clock *clock) {
  clock->last_ns = rt_profile_now();
}

void rt_load_clock_lap(rt_load_clock *clock, const char *name) {
  const uint64_t now = rt_profile_now();
  if (clock->count < RT_LOAD_PHASES)
    clock->phases[clock->count++] = (opsrt_load_phase){name, now - clock->last_ns};
  clock->last_ns = now;
}

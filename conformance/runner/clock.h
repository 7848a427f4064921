// SPDX-License-Identifier: Apache-2.0
//
// The clock by which the harness measures how long things take.
#ifndef OC_RUNNER_CLOCK_H_
#define OC_RUNNER_CLOCK_H_

#include <time.h>

// Seconds since some moment; never goes back.
static inline double oc_clock_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif  // OC_RUNNER_CLOCK_H_

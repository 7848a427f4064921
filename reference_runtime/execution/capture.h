// SPDX-License-Identifier: Apache-2.0
//
// Private to execution/: graph capture. Actions that follow each other on one device are, from
// an instance's second run on, recorded once and replayed by one call, with the memory rebound
// that has moved. What cannot be captured is issued action by action.
#ifndef RT_EXECUTION_CAPTURE_H_
#define RT_EXECUTION_CAPTURE_H_

#include "execution/run.h"

// Actions [begin, end) of a plan, all on one device.
struct rt_region {
  uint32_t begin, end;
  const rt_device *device;
  ops_capture *capture;  // NULL: none yet
  int warm;              // 1: has run action by action
  int refused;           // 1: recording failed; not tried again
  uint32_t *buffers;     // that its actions use
  uint32_t buffer_count;
  rt_arena_block *places;  // by buffers: where they were when it was recorded
  ops_rebind *rebinds;     // room for one per buffer
  uint32_t rebind_count;
  uint64_t generation;  // of the instance that `rebinds` hold for
  uint64_t copies;      // of one replay
  uint64_t copied_bytes;
};

// The region that begins with action `index`, NULL if there is none or this run cannot use it.
rt_region *rt_capture_region(rt_run *run, const rt_segment *segment, uint32_t index);
// Runs it by a replay; *out_done 0: it has to be issued action by action.
int32_t rt_capture_run(rt_run *run, rt_segment *segment, rt_region *region, int *out_done,
                       ops_error *error);

#endif  // RT_EXECUTION_CAPTURE_H_

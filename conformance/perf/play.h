// SPDX-License-Identifier: Apache-2.0
//
// What happens inside an actor: one provider, one prepared kernel, a set of argument memory for
// each set of inputs, timed runs.
#ifndef OC_PERF_PLAY_H_
#define OC_PERF_PLAY_H_

#include "perf/actor.h"

typedef struct oc_perf_play oc_perf_play;

// Opens the provider, prepares the point, runs and judges every set once. NULL: not to be used,
// and `result` says why. Records prepare and first run of `block`.
oc_perf_play *oc_perf_play_open(const oc_perf_stage *stage, oc_beacon *beacon, uint32_t block,
                                oc_result *result);

// Every order but OC_PERF_OPEN.
void oc_perf_play_order(oc_perf_play *play, oc_perf_order order, uint32_t block, uint32_t round,
                        oc_result *result);

void oc_perf_play_close(oc_perf_play *play);  // accepts NULL

#endif  // OC_PERF_PLAY_H_

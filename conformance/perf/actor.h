// SPDX-License-Identifier: Apache-2.0
//
// An actor: a process that holds one provider with one point prepared, and runs it when told.
// Candidate, twin and yardstick are actors of their own, because two providers in one process
// share allocator, thread pools and symbols, and the same library loaded twice is loaded once.
// Only one actor runs at a time; the others sleep in read().
//
// An actor judges its outputs: each set of inputs once in full against the oracle's values,
// then after each run some bytes that were spoiled before it, and after each round everything.
#ifndef OC_PERF_ACTOR_H_
#define OC_PERF_ACTOR_H_

#include <sys/types.h>

#include "checks/trial.h"
#include "perf/point.h"
#include "perf/record.h"

// Outputs that were judged right once, in memory that all actors of a provider share: judging
// takes longer than measuring.
typedef struct oc_perf_gold {
  _Atomic int32_t known[OC_PERF_SETS];
  uint64_t bytes[OC_NODE_MAX_OUTPUTS];
  void *outputs[OC_PERF_SETS][OC_NODE_MAX_OUTPUTS];
} oc_perf_gold;

// What an actor needs; it is forked from a process that has all of it in memory.
typedef struct oc_perf_stage {
  const oc_case *sets;  // OC_PERF_SETS of them
  const oc_performance *entry;
  const oc_inputs *inputs;      // per set
  const oc_expected *expected;  // per set
  oc_profile_id profile;
  oc_target_options target;
  oc_perf_role role;
  oc_perf_record *record;
  oc_perf_gold *gold;
  unsigned char *sweep;  // as much memory as sweeps the host's caches, shared by all actors
  size_t sweep_bytes;
} oc_perf_stage;

typedef struct oc_perf_actor {
  pid_t pid;  // 0: none
  int to;
  int from;
  oc_beacon *beacon;
} oc_perf_actor;

typedef enum oc_perf_order {
  OC_PERF_OPEN,       // open, claim, prepare; first runs are recorded for block `block`
  OC_PERF_CALIBRATE,  // *out_seconds: of one run
  OC_PERF_ROUND,      // record->runs hot ones, then warm ones, for block and round
  OC_PERF_SWEEP,      // cold ones, for block
} oc_perf_order;

// Forks an actor. `others` are actors whose pipes it closes.
int32_t oc_perf_actor_start(oc_perf_actor *actor, const oc_perf_stage *stage,
                            const oc_perf_actor *others, size_t other_count, ops_error *error);

// Gives an order and waits. The result's status is PASS, or says what ended the actor:
// UNSUPPORTED, FAIL, CRASH … with a message. `seconds` is 0 but for CALIBRATE.
void oc_perf_actor_ask(oc_perf_actor *actor, oc_perf_order order, uint32_t block,
                       uint32_t round, oc_result *out_result);

// Lets the actor close its provider; kills it if it does not within a second. Accepts one that
// was never started or is gone.
void oc_perf_actor_stop(oc_perf_actor *actor);

#endif  // OC_PERF_ACTOR_H_

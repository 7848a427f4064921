// SPDX-License-Identifier: Apache-2.0
//
// Check `concurrency`: a definition that declares REENTRANT serves two threads that execute one
// prepared object at once, each with inputs, outputs, workspace and stream of its own. First
// each lane runs alone, and is the measure of what follows:
//
//   held    one lane is stopped where it first touches an input, then where it first writes an
//           output, while the other executes from begin to end (arguments in host memory)
//   bursts  both lanes execute again and again, until they have overlapped for long enough
//
// Outputs in host memory are looked at after each execute, others after each burst. Where runs
// need not repeat their bits, the contract's judge decides instead.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/check.h"
#include "checks/decided.h"
#include "checks/expected.h"
#include "checks/side.h"
#include "ops_support/error.h"

#define LANES 2
#define OTHER_SEED 0x9e3779b97f4a7c15u  // the second lane's inputs
#define MOST_BURSTS 100
#define BURST_NS 10000           // how long a lane executes again and again in one burst
#define ENOUGH_OVERLAP_NS 50000  // of both lanes at work, in all
#define BUDGET_NS 400000         // of the bursts of one case, on a busy machine
#define SPINS 200                // before a waiting lane lets others run

typedef struct lane {
  oc_trial *trial;  // inputs, launch and outputs of this lane; kernel and result are shared
  oc_case item;
  oc_array want[OC_NODE_MAX_OUTPUTS];
  int32_t number;  // of lane and stream
  int32_t status;
  ops_error error;
  uint64_t begin, end;  // of the last burst
} lane;

typedef struct race {
  lane lanes[LANES];
  bool hold;  // this round holds the first lane in the middle of its execute
  oc_trap trap;
  atomic_bool first_done;
  _Atomic uint32_t arrived;
  atomic_bool stop;
} race;

// ---- One execute ----------------------------------------------------------------------------

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Whether a look at host memory shows what the lane gave alone; true if there is no such look.
static bool looks_right(const lane *lane) {
  const oc_trial *own = lane->trial;
  if (own->kernel.def->determinism < OPS_DETERMINISM_RUN) return true;
  for (size_t i = 0; i < own->kernel.output_count; ++i) {
    const oc_block *block = &own->launch->outputs[i];
    const bool plain = block->guard.map && own->kernel.outputs[i].mode == OPS_SHAPE_KNOWN &&
                       own->kernel.output_layouts[i] == OPS_LAYOUT_STRIDED;
    if (plain && memcmp(block->guard.data, lane->want[i].data, lane->want[i].bytes) != 0) {
      return false;
    }
  }
  return true;
}

static int32_t execute_lane(lane *lane) {
  return lane->status =
             oc_launch_execute_alone(lane->trial->launch, lane->number, &lane->error);
}

static void execute_burst(lane *lane) {
  lane->begin = now_ns();
  do {
    if (execute_lane(lane) != OPS_OK || !looks_right(lane)) break;
  } while (now_ns() - lane->begin < BURST_NS);
  lane->end = now_ns();
}

// Both threads leave when both have come; `count` is how often they have met.
static void meet(race *race, uint32_t count) {
  atomic_fetch_add(&race->arrived, 1);
  for (uint32_t spins = 1; atomic_load(&race->arrived) < count * LANES; ++spins) {
    if (spins % SPINS == 0) sched_yield();
  }
}

// The second lane's part of a round that holds the first.
static void pass_by(race *race) {
  const struct timespec pause = {0, OC_TRAP_PAUSE_NS};
  while (!atomic_load(&race->trap.held) && !atomic_load(&race->first_done)) {
    nanosleep(&pause, NULL);
  }
  execute_lane(&race->lanes[1]);
  atomic_store(&race->trap.passed, true);
}

static void *second_lane(void *context) {
  race *race = context;
  for (uint32_t round = 0;; ++round) {
    meet(race, 2 * round + 1);
    if (atomic_load(&race->stop)) return NULL;
    if (race->hold) {
      pass_by(race);
    } else {
      execute_burst(&race->lanes[1]);
    }
    meet(race, 2 * round + 2);
  }
}

// ---- Judging a lane -------------------------------------------------------------------------

static bool fail_lane(oc_trial *trial, const lane *lane, const char *step, int32_t status,
                      const ops_error *error) {
  return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_CONCURRENCY,
                      "REENTRANT is declared, but with two threads at once, thread %d: %s ends "
                      "with %s: %.500s",
                      lane->number, step, ops_status_name(status), error->message);
}

static bool same_output(oc_trial *trial, const lane *lane, size_t index) {
  const oc_array *want = &lane->want[index];
  const oc_array *got = &lane->trial->got[OC_RUN_CONCURRENT][index];
  if (want->bytes != got->bytes) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_CONCURRENCY,
                        "REENTRANT is declared, but with two threads at once output %zu of "
                        "thread %d has %lld elements, and %lld alone",
                        index, lane->number, (long long)got->count, (long long)want->count);
  }
  if (memcmp(want->data, got->data, want->bytes) == 0) return true;
  const int64_t at = oc_check_print_difference(trial, index, want, got);
  return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_CONCURRENCY,
                      "REENTRANT is declared, but two threads that execute one prepared object "
                      "at once disturb each other: thread %d, output %zu, element %lld is not "
                      "what the same inputs gave alone",
                      lane->number, index, (long long)at);
}

static void drop_outputs(lane *lane) {
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) {
    oc_array_finish(&lane->trial->got[OC_RUN_CONCURRENT][i]);
  }
}

static bool read_lane(oc_trial *trial, lane *lane, oc_array *outputs) {
  ops_error error = OPS_ERROR_INIT;
  for (size_t i = 0; i < trial->kernel.output_count; ++i) {
    const int32_t status = oc_launch_read(lane->trial->launch, i, &outputs[i], &error);
    if (status != OPS_OK) return fail_lane(trial, lane, "reading the output", status, &error);
  }
  return true;
}

static bool judge_lane(oc_trial *trial, lane *lane) {
  const bool bits = trial->kernel.def->determinism >= OPS_DETERMINISM_RUN;
  if (lane->status != OPS_OK) {
    return fail_lane(trial, lane, "execute", lane->status, &lane->error);
  }
  bool good = read_lane(trial, lane, lane->trial->got[OC_RUN_CONCURRENT]);
  for (size_t i = 0; good && bits && i < trial->kernel.output_count; ++i) {
    good = same_output(trial, lane, i);
  }
  if (good && !bits) good = oc_check_values(lane->trial);
  drop_outputs(lane);
  return good;
}

// ---- The rounds -----------------------------------------------------------------------------

static uint64_t overlap_of(const race *race) {
  const lane *a = &race->lanes[0], *b = &race->lanes[1];
  const uint64_t begin = a->begin > b->begin ? a->begin : b->begin;
  const uint64_t end = a->end < b->end ? a->end : b->end;
  return end > begin ? end - begin : 0;
}

static bool judge_lanes(oc_trial *trial, race *race) {
  for (int i = 0; i < LANES; ++i) {
    if (!judge_lane(trial, &race->lanes[i])) return false;
  }
  return true;
}

// The first lane is held where it first touches an input or first writes an output, while the
// second executes from begin to end.
static bool run_held(oc_trial *trial, race *race, bool inputs, uint32_t *round) {
  ops_error error = OPS_ERROR_INIT;
  oc_launch *launch = race->lanes[0].trial->launch;
  atomic_store(&race->trap.held, false);
  atomic_store(&race->trap.passed, false);
  atomic_store(&race->trap.springs, 0);
  atomic_store(&race->first_done, false);
  int32_t status = oc_launch_arm(launch, inputs, &race->trap, &error);
  race->hold = true;
  meet(race, 2 * *round + 1);
  execute_lane(&race->lanes[0]);
  atomic_store(&race->first_done, true);
  meet(race, 2 * *round + 2);
  race->hold = false;
  ++*round;
  if (status == OPS_OK) status = oc_launch_arm(launch, inputs, NULL, &error);
  if (status != OPS_OK) return fail_lane(trial, &race->lanes[0], "memory", status, &error);
  return judge_lanes(trial, race);
}

static bool run_bursts(oc_trial *trial, race *race, uint32_t *round) {
  const uint64_t start = now_ns();
  uint64_t overlap = 0;
  for (int bursts = 0; bursts < MOST_BURSTS && overlap < ENOUGH_OVERLAP_NS; ++bursts) {
    if (bursts > 0 && now_ns() - start > BUDGET_NS) break;
    meet(race, 2 * *round + 1);
    execute_burst(&race->lanes[0]);
    meet(race, 2 * *round + 2);
    ++*round;
    overlap += overlap_of(race);
    if (!judge_lanes(trial, race)) return false;
  }
  return true;
}

static bool run_rounds(oc_trial *trial, race *race) {
  uint32_t round = 0;
  const bool good = run_held(trial, race, true, &round) &&
                    run_held(trial, race, false, &round) && run_bursts(trial, race, &round);
  atomic_store(&race->stop, true);
  meet(race, 2 * round + 1);
  return good;
}

// ---- The lanes ------------------------------------------------------------------------------

static int32_t init_lane(oc_trial *trial, lane *lane, int32_t number, bool *out_differ,
                         ops_error *error) {
  oc_trial *own = lane->trial = calloc(1, sizeof *own);
  if (!own) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a thread");
  lane->number = number;
  lane->item = *trial->item;
  if (number > 0) lane->item.seed ^= OTHER_SEED;
  own->bench = trial->bench;
  own->result = trial->result;
  own->item = &lane->item;
  own->run = OC_RUN_CONCURRENT;
  OPS_RETURN_IF_ERROR(number > 0
                          ? oc_decided_inputs(&own->inputs, trial->bench, &lane->item, error)
                          : oc_inputs_copy(&own->inputs, &trial->inputs, error));
  return number > 0 ? oc_side_draw_inputs(trial, &own->inputs, out_differ, error) : OPS_OK;
}

static bool open_lane(oc_trial *trial, lane *lane) {
  ops_error error = OPS_ERROR_INIT;
  oc_trial *own = lane->trial;
  own->kernel = trial->kernel;  // a view: the trial owns what it refers to
  own->kernel.beacon = NULL;
  own->kernel.inputs = &own->inputs;
  own->launch = &own->launches[OC_RUN_CONCURRENT];
  int32_t status = oc_launch_init(own->launch, &own->kernel, OC_PLACE_END, NULL, &error);
  if (status == OPS_OK) status = oc_launch_load(own->launch, &own->inputs, 0, &error);
  if (status != OPS_OK) return fail_lane(trial, lane, "memory", status, &error);
  if (execute_lane(lane) != OPS_OK) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_STATUS,
                        "%s: execute ends with %s: %.500s",
                        lane->number ? "other inputs of the same types and shapes"
                                     : "one more run with the same inputs",
                        ops_status_name(lane->status), lane->error.message);
  }
  return read_lane(trial, lane, lane->want);
}

// What a kernel that does not repeat its bits is judged by.
static bool ask_oracle(oc_trial *trial, lane *lane) {
  ops_error error = OPS_ERROR_INIT;
  if (trial->kernel.def->determinism >= OPS_DETERMINISM_RUN) return true;
  oc_trial *own = lane->trial;
  const int32_t status =
      oc_expected_init(&own->expected, trial->bench, &lane->item, &own->inputs, &error);
  oc_beacon_phase(trial->bench->beacon, OC_PHASE_EXECUTE);
  return status == OPS_OK || oc_trial_end(trial, OC_STATUS_UNTRUSTED, OC_CHECK_ORACLE,
                                          "no expected value for the thread %d of two: %.500s",
                                          lane->number, error.message);
}

static void finish_lane(lane *lane) {
  oc_trial *own = lane->trial;
  if (!own) return;
  oc_launch_finish(&own->launches[OC_RUN_CONCURRENT]);
  drop_outputs(lane);
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) oc_array_finish(&lane->want[i]);
  oc_expected_finish(&own->expected);
  oc_inputs_finish(&own->inputs);
  free(own);
}

// ---- Entry ----------------------------------------------------------------------------------

static bool can_race(const oc_trial *trial) {
  const oc_target *target = &trial->bench->candidate;
  const oc_kernel *kernel = &trial->kernel;
  if (!(kernel->def->flags & OPS_KERNEL_REENTRANT)) return false;
  if (target->streams[0] && target->streams[0] == target->streams[1]) return false;
  for (size_t i = 0; i < kernel->output_count; ++i) {
    if (kernel->outputs[i].mode == OPS_SHAPE_HOST_SYNC) return false;
  }
  return true;
}

static bool race_lanes(oc_trial *trial, race *race) {
  pthread_t helper;
  for (int i = 0; i < LANES; ++i) {
    if (!open_lane(trial, &race->lanes[i]) || !ask_oracle(trial, &race->lanes[i])) return false;
  }
  if (pthread_create(&helper, NULL, second_lane, race) != 0) {
    return oc_trial_end(trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "no second thread");
  }
  const bool good = run_rounds(trial, race);
  pthread_join(helper, NULL);
  return good;
}

bool oc_check_concurrency(oc_trial *trial) {
  ops_error error = OPS_ERROR_INIT;
  bool differ = false, good = true;
  if (!can_race(trial)) return true;
  race *race = calloc(1, sizeof *race);
  int32_t status = race ? OPS_OK : OPS_ERROR_OUT_OF_MEMORY;
  for (int i = LANES; i-- > 0 && status == OPS_OK && (i == LANES - 1 || differ);) {
    status = init_lane(trial, &race->lanes[i], i, &differ, &error);
  }
  if (status != OPS_OK) {
    good = oc_trial_end(trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "two threads: %.600s",
                        error.message);
  } else if (differ) {
    oc_beacon_phase(trial->bench->beacon, OC_PHASE_EXECUTE);
    good = race_lanes(trial, race);
  }
  for (int i = 0; race && i < LANES; ++i) finish_lane(&race->lanes[i]);
  free(race);
  return good;
}

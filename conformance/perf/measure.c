// SPDX-License-Identifier: Apache-2.0
//
// Blocks of rounds: fresh processes for each block, because a process keeps its luck with
// addresses and pages for life; in a round everyone once, in random order, because a machine
// that changes its speed must not always do so to the same one.
#include "perf/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cases/random.h"
#include "checks/check.h"
#include "checks/expected.h"
#include "ops_support/error.h"
#include "runner/clock.h"

#define ROUND_SECONDS 4e-3  // of the runs of one actor, where runs are short
#define MOST_RUNS (OC_PERF_MAX_RUNS / OC_PERF_SETS)  // of a set in a round
#define LEAST_RUNS 2  // 12 blocks x 5 rounds x 3 sets x 2 runs: enough for a 95th percentile
#define LEAST_ROUNDS 2
#define SETTLE_SECONDS 0.5e-3
#define LEAST_SWEEP ((size_t)8 << 20)
#define MOST_SWEEP ((size_t)128 << 20)

typedef struct measurement {
  const oc_perf_bench *bench;
  oc_beacon *beacon;
  oc_perf_record *record;
  const oc_case *item;
  const oc_performance *entry;
  oc_case sets[OC_PERF_SETS];
  oc_inputs inputs[OC_PERF_SETS];
  oc_expected expected[OC_PERF_SETS];
  oc_perf_gold *gold[OC_PERF_ROLES];  // candidate and twin share one
  unsigned char *sweep;
  size_t sweep_bytes;
  oc_perf_stage stages[OC_PERF_ROLES];
  oc_perf_actor actors[OC_PERF_ROLES];
  oc_result *result;
} measurement;

static bool end(measurement *work, oc_status status, const char *check,
                const ops_error *error) {
  oc_result_end(work->result, status, check, "%.600s", error->message);
  return false;
}

// ---- What is right --------------------------------------------------------------------------

static bool make_inputs(measurement *work) {
  ops_error error = OPS_ERROR_INIT;
  oc_beacon_phase(work->beacon, OC_PHASE_INPUTS);
  for (uint32_t i = 0; i < OC_PERF_SETS; ++i) {
    work->sets[i] = oc_perf_point_set(work->item, i);
    if (oc_perf_point_inputs(&work->inputs[i], &work->sets[i], work->entry,
                             i ? work->inputs : NULL, &error) != OPS_OK) {
      return end(work, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, &error);
    }
  }
  oc_inputs_print(work->item, work->result->inputs, sizeof work->result->inputs);
  return true;
}

// The oracle is open for this alone: what follows forks, and shares the machine with nobody.
static bool ask_oracle(measurement *work) {
  ops_error error = OPS_ERROR_INIT;
  oc_bench *oracle = calloc(1, sizeof *oracle);
  if (!oracle) return end(work, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, &error);
  oracle->beacon = work->beacon;
  oracle->cases = work->bench->points->cases;
  oracle->profile = work->bench->profile;
  oc_beacon_phase(work->beacon, OC_PHASE_ORACLE);
  int32_t status = oc_target_open(&oracle->oracle, &work->bench->oracle, &error);
  for (uint32_t i = 0; status == OPS_OK && i < OC_PERF_SETS; ++i) {
    status =
        oc_expected_init(&work->expected[i], oracle, &work->sets[i], &work->inputs[i], &error);
  }
  oc_target_close(&oracle->oracle, NULL);
  free(oracle);
  oc_beacon_phase(work->beacon, OC_PHASE_IDLE);
  if (status == OPS_OK) return true;
  ops_error_prefix(&error, "no expected value");
  return end(work, OC_STATUS_UNTRUSTED, OC_CHECK_ORACLE, &error);
}

// ---- Shared memory --------------------------------------------------------------------------

static void *share(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static uint64_t output_bytes(const measurement *work, uint32_t set) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < work->expected[set].count; ++i) {
    bytes += (work->expected[set].outputs[i].bytes + 63) / 64 * 64;
  }
  return bytes;
}

static size_t gold_bytes(const measurement *work) {
  size_t bytes = sizeof(oc_perf_gold);
  for (uint32_t set = 0; set < OC_PERF_SETS; ++set) bytes += output_bytes(work, set);
  return bytes;
}

static oc_perf_gold *make_gold(const measurement *work) {
  oc_perf_gold *gold = share(gold_bytes(work));
  if (!gold) return NULL;
  unsigned char *at = (unsigned char *)(gold + 1);
  for (uint32_t set = 0; set < OC_PERF_SETS; ++set) {
    for (size_t i = 0; i < work->expected[set].count; ++i) {
      const uint64_t bytes = work->expected[set].outputs[i].bytes;
      gold->bytes[i] = bytes;  // of every set: their shapes are the same
      gold->outputs[set][i] = at;
      at += (bytes + 63) / 64 * 64;
    }
  }
  return gold;
}

// Memory for results that were judged, and twice the last level of the host's caches.
static bool share_memory(measurement *work) {
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  ops_error error = OPS_ERROR_INIT;
  work->sweep_bytes = cache > 0 ? 2 * (size_t)cache : LEAST_SWEEP;
  if (work->sweep_bytes < LEAST_SWEEP) work->sweep_bytes = LEAST_SWEEP;
  if (work->sweep_bytes > MOST_SWEEP) work->sweep_bytes = MOST_SWEEP;
  work->sweep = share(work->sweep_bytes);
  work->gold[OC_PERF_CANDIDATE] = work->gold[OC_PERF_TWIN] = make_gold(work);
  work->gold[OC_PERF_YARDSTICK] = make_gold(work);
  if (work->sweep && work->gold[OC_PERF_CANDIDATE] && work->gold[OC_PERF_YARDSTICK]) {
    return true;
  }
  ops_error_set(&error, OPS_ERROR_OUT_OF_MEMORY, "no memory to measure in");
  return end(work, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, &error);
}

static void unshare_memory(measurement *work) {
  if (work->sweep) munmap(work->sweep, work->sweep_bytes);
  if (work->gold[OC_PERF_CANDIDATE]) munmap(work->gold[OC_PERF_CANDIDATE], gold_bytes(work));
  if (work->gold[OC_PERF_YARDSTICK]) munmap(work->gold[OC_PERF_YARDSTICK], gold_bytes(work));
}

// ---- Actors ---------------------------------------------------------------------------------

static void make_stages(measurement *work) {
  for (int role = 0; role < OC_PERF_ROLES; ++role) {
    work->stages[role] = (oc_perf_stage){
        .sets = work->sets,
        .entry = work->entry,
        .inputs = work->inputs,
        .expected = work->expected,
        .profile = work->bench->profile,
        .target = role == OC_PERF_YARDSTICK ? work->bench->yardstick : work->bench->candidate,
        .role = (oc_perf_role)role,
        .record = work->record,
        .gold = work->gold[role],
        .sweep = work->sweep,
        .sweep_bytes = work->sweep_bytes};
    work->actors[role] = (oc_perf_actor){.to = -1, .from = -1};
    work->record->present[role] = 1;
  }
}

// A yardstick that fails is none; the candidate's and its twin's trouble ends the point.
static bool settle(measurement *work, int role, const oc_result *answer) {
  if (answer->status == OC_STATUS_PASS) return true;
  if (role == OC_PERF_YARDSTICK) {
    char *text = work->record->yardstick_absent;
    const size_t size = sizeof work->record->yardstick_absent;
    snprintf(text, size, "%s: %.280s", oc_status_name(answer->status), answer->message);
    work->record->present[role] = 0;
    oc_perf_actor_stop(&work->actors[role]);
    return true;
  }
  const oc_result before = *work->result;
  *work->result = *answer;
  work->result->case_index = before.case_index;
  memcpy(work->result->inputs, before.inputs, sizeof before.inputs);
  return false;
}

static bool ask(measurement *work, int role, oc_perf_order order, uint32_t block,
                uint32_t round, double *out_seconds) {
  oc_result answer;
  if (!work->record->present[role]) return true;
  oc_perf_actor_ask(&work->actors[role], order, block, round, &answer);
  if (out_seconds) *out_seconds = answer.seconds;
  return settle(work, role, &answer);
}

static bool open_actors(measurement *work, uint32_t block) {
  ops_error error = OPS_ERROR_INIT;
  for (int role = 0; role < OC_PERF_ROLES; ++role) {
    if (!work->record->present[role]) continue;
    if (oc_perf_actor_start(&work->actors[role], &work->stages[role], work->actors,
                            OC_PERF_ROLES, &error) != OPS_OK) {
      return end(work, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, &error);
    }
    if (!ask(work, role, OC_PERF_OPEN, block, 0, NULL)) return false;
  }
  return true;
}

static void stop_actors(measurement *work) {
  for (int role = 0; role < OC_PERF_ROLES; ++role) oc_perf_actor_stop(&work->actors[role]);
}

// ---- The plan -------------------------------------------------------------------------------

static double round_seconds(const measurement *work, const double *seconds, uint32_t runs) {
  double sum = 0;
  for (int role = 0; role < OC_PERF_ROLES; ++role) {
    if (!work->record->present[role]) continue;
    const double settling = seconds[role] > SETTLE_SECONDS ? seconds[role] : SETTLE_SECONDS;
    sum += settling + seconds[role] * (runs + OC_PERF_SETS + OC_PERF_WARM_RUNS);
  }
  return sum;
}

// As many runs as fill a round, then fewer runs and rounds until the point fits its time.
static bool make_plan(measurement *work) {
  double seconds[OC_PERF_ROLES] = {0};
  oc_perf_record *record = work->record;
  for (int role = 0; role < OC_PERF_ROLES; ++role) {
    if (!ask(work, role, OC_PERF_CALIBRATE, 0, 0, &seconds[role])) return false;
  }
  const double fitting = ROUND_SECONDS / (seconds[OC_PERF_CANDIDATE] + 1e-9) / OC_PERF_SETS;
  uint32_t runs = fitting > MOST_RUNS ? MOST_RUNS : (uint32_t)fitting;  // of a set
  if (runs < LEAST_RUNS) runs = LEAST_RUNS;
  record->rounds = OC_PERF_MAX_ROUNDS;
  const double allowed = OC_PERF_POINT_SECONDS / OC_PERF_BLOCKS;
  while (record->rounds * round_seconds(work, seconds, runs * OC_PERF_SETS) > allowed) {
    if (runs > 1 && (runs > LEAST_RUNS || record->rounds == LEAST_ROUNDS)) {
      --runs;
    } else if (record->rounds > LEAST_ROUNDS) {
      --record->rounds;
    } else {
      break;
    }
  }
  record->runs = runs * OC_PERF_SETS;
  return true;
}

// A random order of the roles, the same for the same seed.
static void shuffle(const measurement *work, uint32_t block, uint32_t round,
                    int order[OC_PERF_ROLES]) {
  oc_random random = oc_random_at(work->item->seed ^ work->bench->seed, block, round);
  for (int i = 0; i < OC_PERF_ROLES; ++i) order[i] = i;
  for (int i = OC_PERF_ROLES - 1; i > 0; --i) {
    const int k = (int)oc_random_integer(&random, 0, i), kept = order[i];
    order[i] = order[k];
    order[k] = kept;
  }
}

static bool play_block(measurement *work, uint32_t block) {
  int order[OC_PERF_ROLES];
  if (!open_actors(work, block)) return false;
  if (block == 0 && !make_plan(work)) return false;
  for (uint32_t round = 0; round < work->record->rounds; ++round) {
    shuffle(work, block, round, order);
    for (int i = 0; i < OC_PERF_ROLES; ++i) {
      if (!ask(work, order[i], OC_PERF_ROUND, block, round, NULL)) return false;
    }
  }
  for (int role = 0; role < OC_PERF_ROLES; ++role) {
    if (!ask(work, role, OC_PERF_SWEEP, block, 0, NULL)) return false;
  }
  work->record->blocks = block + 1;
  return true;
}

static bool play_all(measurement *work) {
  bool going = true;
  make_stages(work);
  for (uint32_t block = 0; going && block < work->bench->blocks; ++block) {
    going = play_block(work, block);
    stop_actors(work);
  }
  return going;
}

void oc_perf_measure(const oc_perf_bench *bench, oc_beacon *beacon, uint32_t index,
                     oc_result *result) {
  const double start = oc_clock_seconds();
  *result = (oc_result){.case_index = index,
                        .status = OC_STATUS_NOT_RUN,
                        .attempts = 1,
                        .output = -1,
                        .element = -1};
  measurement *work = calloc(1, sizeof *work);
  if (!work) {
    oc_result_end(result, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "no memory to measure");
    return;
  }
  work->bench = bench;
  work->beacon = beacon;
  work->record = &bench->records[index];
  work->item = &bench->points->cases->items[index];
  work->entry = bench->points->entries[index];
  work->result = result;
  memset(work->record, 0, sizeof *work->record);
  if (make_inputs(work) && ask_oracle(work) && share_memory(work) && play_all(work)) {
    result->status = OC_STATUS_PASS;
  }
  unshare_memory(work);
  for (uint32_t i = 0; i < OC_PERF_SETS; ++i) {
    oc_expected_finish(&work->expected[i]);
    oc_inputs_finish(&work->inputs[i]);
  }
  free(work);
  result->seconds = oc_clock_seconds() - start;
}

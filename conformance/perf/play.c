// SPDX-License-Identifier: Apache-2.0
//
// Timed runs. Between two reads of the clock stand execute and, where the provider has streams,
// the wait for its completion; everything else, such as judging, happens outside.
#include "perf/play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "checks/check.h"
#include "ops_support/error.h"
#include "runner/clock.h"

#define SETTLE_SECONDS 0.5e-3  // untimed runs after another process had the machine
#define MAX_SETTLE_RUNS 20
#define CALIBRATE_SECONDS 20e-3
#define MAX_CALIBRATE_RUNS 30
#define MAX_REPEATS 3  // of a run that was disturbed
#define SPOTS 8        // bytes of an output that are spoiled before a run
#define CACHE_LINE 64

struct oc_perf_play {
  const oc_perf_stage *stage;
  oc_beacon *beacon;
  oc_bench bench;   // of which the candidate alone is open: the provider that runs here
  oc_trial *trial;  // the kernel, and what the check `values` reads
  oc_launch launches[OC_PERF_SETS];
  oc_array accepted[OC_PERF_SETS][OC_NODE_MAX_OUTPUTS];
  uint64_t turn;  // number of the next run; warm ones take the sets in turn
};

static bool fail(oc_perf_play *play, const char *step, int32_t status, const ops_error *error) {
  return oc_trial_end(play->trial, OC_STATUS_FAIL, OC_CHECK_STATUS,
                      "measuring: %s ends with %s (%d): %.500s", step, ops_status_name(status),
                      status, error->message);
}

// ---- Outputs --------------------------------------------------------------------------------

// Reads the outputs of `set` into trial->got, which the check `values` looks at.
static bool read_outputs(oc_perf_play *play, uint32_t set) {
  oc_trial *trial = play->trial;
  ops_error error = OPS_ERROR_INIT;
  trial->run = OC_RUN_FIRST;
  trial->launch = &play->launches[set];
  trial->item = &play->stage->sets[set];
  trial->expected = play->stage->expected[set];
  for (size_t i = 0; i < trial->kernel.output_count; ++i) {
    oc_array *got = &trial->got[OC_RUN_FIRST][i];
    oc_array_finish(got);
    const int32_t status = oc_launch_read(trial->launch, i, got, &error);
    if (status != OPS_OK) return fail(play, "reading the output", status, &error);
  }
  return true;
}

// Whether trial->got is what another process of this provider was judged right for.
static bool is_gold(const oc_perf_play *play, uint32_t set) {
  const oc_perf_gold *gold = play->stage->gold;
  if (!atomic_load(&gold->known[set])) return false;
  for (size_t i = 0; i < play->trial->kernel.output_count; ++i) {
    const oc_array *got = &play->trial->got[OC_RUN_FIRST][i];
    if (got->bytes != gold->bytes[i]) return false;
    if (memcmp(got->data, gold->outputs[set][i], got->bytes) != 0) return false;
  }
  return true;
}

static void keep_gold(const oc_perf_play *play, uint32_t set) {
  oc_perf_gold *gold = play->stage->gold;
  if (atomic_load(&gold->known[set])) return;
  for (size_t i = 0; i < play->trial->kernel.output_count; ++i) {
    const oc_array *got = &play->trial->got[OC_RUN_FIRST][i];
    if (got->bytes != gold->bytes[i]) return;
    memcpy(gold->outputs[set][i], got->data, got->bytes);
  }
  atomic_store(&gold->known[set], 1);
}

static bool judge(oc_perf_play *play, uint32_t set) {
  oc_trial *trial = play->trial;
  if (!read_outputs(play, set)) return false;
  if (!is_gold(play, set)) {
    if (!oc_check_values(trial)) return false;
    keep_gold(play, set);
  }
  for (size_t i = 0; i < trial->kernel.output_count; ++i) {
    oc_array *accepted = &play->accepted[set][i];
    oc_array_finish(accepted);
    *accepted = trial->got[OC_RUN_FIRST][i];
    trial->got[OC_RUN_FIRST][i] = (oc_array){0};
  }
  return true;
}

// The bytes of output `i` where the harness can reach them, or NULL.
static unsigned char *visible(const oc_launch *launch, size_t i) {
  const oc_block *block = &launch->outputs[i];
  const bool known = launch->kernel->outputs[i].mode == OPS_SHAPE_KNOWN;
  return known && block->size > 0 ? block->guard.data : NULL;
}

// What was accepted once is accepted again; anything else is judged. Outputs that the harness
// can reach are compared where they lie.
static bool outputs_hold(oc_perf_play *play, uint32_t set) {
  const oc_trial *trial = play->trial;
  const oc_launch *launch = &play->launches[set];
  size_t seen = 0;
  for (size_t i = 0; i < trial->kernel.output_count; ++i) {
    const unsigned char *bytes = visible(launch, i);
    const oc_array *want = &play->accepted[set][i];
    seen += bytes && memcmp(bytes, want->data, want->bytes) == 0;
  }
  if (seen == trial->kernel.output_count) return true;
  if (!read_outputs(play, set)) return false;
  for (size_t i = 0; i < trial->kernel.output_count; ++i) {
    const oc_array *got = &trial->got[OC_RUN_FIRST][i], *want = &play->accepted[set][i];
    if (got->bytes == want->bytes && memcmp(got->data, want->data, got->bytes) == 0) continue;
    return judge(play, set);
  }
  return true;
}

// ---- Spots ----------------------------------------------------------------------------------

static uint64_t spot(uint64_t bytes, uint64_t number, uint64_t turn) {
  return (bytes / SPOTS * number + turn * 977) % bytes;
}

// Makes a run that does nothing be seen: some bytes become wrong before it …
static void spoil(oc_perf_play *play, uint32_t set, uint64_t turn) {
  const oc_launch *launch = &play->launches[set];
  for (size_t i = 0; i < launch->kernel->output_count; ++i) {
    unsigned char *bytes = visible(launch, i);
    const oc_array *want = &play->accepted[set][i];
    for (uint64_t k = 0; bytes && k < SPOTS; ++k) {
      const uint64_t at = spot(want->bytes, k, turn);
      bytes[at] = (unsigned char)~((const unsigned char *)want->data)[at];
    }
  }
}

// … and must be right afterwards.
static bool spots_hold(oc_perf_play *play, uint32_t set, uint64_t turn) {
  const oc_launch *launch = &play->launches[set];
  for (size_t i = 0; i < launch->kernel->output_count; ++i) {
    const unsigned char *bytes = visible(launch, i);
    const oc_array *want = &play->accepted[set][i];
    for (uint64_t k = 0; bytes && k < SPOTS; ++k) {
      const uint64_t at = spot(want->bytes, k, turn);
      if (bytes[at] != ((const unsigned char *)want->data)[at]) return outputs_hold(play, set);
    }
  }
  return true;
}

// ---- Runs -----------------------------------------------------------------------------------

// The calling thread's luck with the scheduler.
typedef struct watch {
  struct rusage usage;
  double cpu;  // seconds
} watch;

static void take(watch *now) {
  struct timespec cpu;
  getrusage(RUSAGE_THREAD, &now->usage);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  now->cpu = (double)cpu.tv_sec + (double)cpu.tv_nsec * 1e-9;
}

// A run that was pre-empted says how busy the machine is, not how fast the kernel. Where its
// thread did all the work and never waited by itself, its CPU time is the time it would have
// taken. *out_disturbed: that cannot be said.
static void forgive(oc_perf_play *play, const watch *before, double *seconds,
                    bool *out_disturbed) {
  watch after;
  take(&after);
  *out_disturbed = false;
  if (after.usage.ru_nivcsw == before->usage.ru_nivcsw) return;
  ++play->stage->record->preempted[play->stage->role];
  const bool waited = after.usage.ru_nvcsw != before->usage.ru_nvcsw;
  const bool alone = play->stage->target.workers == 1 && !play->bench.candidate.streams[0];
  *out_disturbed = waited || !alone;
  if (!*out_disturbed) *seconds = fmin(*seconds, after.cpu - before->cpu);
}

// One run on the memory of `set`.
static bool run(oc_perf_play *play, uint32_t set, double *out_seconds, bool *out_disturbed) {
  ops_error error = OPS_ERROR_INIT;
  watch before;
  take(&before);
  const double start = oc_clock_seconds();
  const int32_t status = oc_launch_execute_alone(&play->launches[set], 0, &error);
  *out_seconds = oc_clock_seconds() - start;
  forgive(play, &before, out_seconds, out_disturbed);
  return status == OPS_OK || fail(play, "execute", status, &error);
}

// A run whose outputs are looked at. One that was disturbed is repeated, a few times.
static bool checked_run(oc_perf_play *play, uint32_t set, double *out_seconds) {
  bool disturbed = true;
  for (int i = 0; disturbed && i < MAX_REPEATS; ++i) {
    const uint64_t turn = play->turn++;
    spoil(play, set, turn);
    if (!run(play, set, out_seconds, &disturbed) || !spots_hold(play, set, turn)) return false;
  }
  return true;
}

static uint32_t next_set(const oc_perf_play *play) {
  return play->turn % OC_PERF_SETS;
}

// Caches, branch predictors and the provider's threads come back to work.
static bool settle(oc_perf_play *play) {
  const double start = oc_clock_seconds();
  double seconds;
  for (int i = 0; i < MAX_SETTLE_RUNS; ++i) {
    if (!checked_run(play, next_set(play), &seconds)) return false;
    if (oc_clock_seconds() - start > SETTLE_SECONDS) break;
  }
  return true;
}

static bool all_hold(oc_perf_play *play) {
  for (uint32_t set = 0; set < OC_PERF_SETS; ++set) {
    if (!outputs_hold(play, set)) return false;
  }
  return true;
}

// `runs` timed runs on one set, after an untimed one that makes it hot.
static bool play_set(oc_perf_play *play, uint32_t set, uint32_t runs, double *hot) {
  double untimed;
  if (!checked_run(play, set, &untimed)) return false;
  for (uint32_t i = 0; i < runs; ++i) {
    if (!checked_run(play, set, &hot[i])) return false;
  }
  return true;
}

static bool play_round(oc_perf_play *play, uint32_t block, uint32_t round) {
  oc_perf_record *record = play->stage->record;
  const oc_perf_role role = play->stage->role;
  const size_t at = (size_t)block * record->rounds + round;
  const uint32_t runs = record->runs / OC_PERF_SETS;
  double *hot = record->hot[role] + at * record->runs;
  double *warm = record->warm[role] + at * OC_PERF_WARM_RUNS;
  if (!settle(play)) return false;
  for (uint32_t set = 0; set < OC_PERF_SETS; ++set) {
    if (!play_set(play, set, runs, hot + set * runs)) return false;
  }
  for (uint32_t i = 0; i < OC_PERF_WARM_RUNS; ++i) {
    if (!checked_run(play, next_set(play), &warm[i])) return false;
  }
  return all_hold(play);
}

static bool calibrate(oc_perf_play *play, double *out_seconds) {
  double seconds[MAX_CALIBRATE_RUNS];
  const double start = oc_clock_seconds();
  size_t count = 0;
  while (count < MAX_CALIBRATE_RUNS) {
    if (!checked_run(play, next_set(play), &seconds[count++])) return false;
    if (count >= 3 && oc_clock_seconds() - start > CALIBRATE_SECONDS) break;
  }
  *out_seconds = oc_series_quantile(seconds, count, 0.5);
  return true;
}

// Writes to twice the last level of the host's caches.
static void sweep(oc_perf_play *play) {
  volatile unsigned char *bytes = play->stage->sweep;
  for (size_t i = 0; i < play->stage->sweep_bytes; i += CACHE_LINE) {
    bytes[i] = (unsigned char)(bytes[i] + 1);
  }
}

static bool play_cold(oc_perf_play *play, uint32_t block) {
  double *cold = play->stage->record->cold[play->stage->role] + block * OC_PERF_COLD_RUNS;
  bool disturbed;
  for (uint32_t i = 0; i < OC_PERF_COLD_RUNS; ++i) {
    const uint32_t set = next_set(play);
    const uint64_t turn = play->turn++;
    spoil(play, set, turn);
    sweep(play);
    if (!run(play, set, &cold[i], &disturbed) || !spots_hold(play, set, turn)) return false;
  }
  return all_hold(play);
}

void oc_perf_play_order(oc_perf_play *play, oc_perf_order order, uint32_t block, uint32_t round,
                        oc_result *result) {
  play->trial->result = result;
  oc_beacon_phase(play->beacon, OC_PHASE_EXECUTE);
  if (order == OC_PERF_CALIBRATE) calibrate(play, &result->seconds);
  if (order == OC_PERF_ROUND) play_round(play, block, round);
  if (order == OC_PERF_SWEEP) play_cold(play, block);
  oc_beacon_phase(play->beacon, OC_PHASE_IDLE);
}

// ---- Opening --------------------------------------------------------------------------------

static bool open_target(oc_perf_play *play) {
  ops_error error = OPS_ERROR_INIT;
  oc_beacon_phase(play->beacon, OC_PHASE_OPEN);
  const int32_t status = oc_target_open(&play->bench.candidate, &play->stage->target, &error);
  return status == OPS_OK || fail(play, "opening the provider", status, &error);
}

static bool declares(const ops_kernel_def *def, const char *op) {
  for (uint64_t i = 0; i < def->post_op_count; ++i) {
    const ops_post_op_def *post =
        (const ops_post_op_def *)((const char *)def->post_ops + i * def->post_op_stride);
    if (post->op.size == strlen(op) && memcmp(post->op.data, op, post->op.size) == 0) {
      return true;
    }
  }
  return false;
}

// Whether the definition declares every post-operation that the contract lists.
static void note_post_ops(oc_perf_play *play) {
  const oc_scheduling *scheduling = &play->stage->sets->contract->scheduling;
  if (play->stage->role != OC_PERF_CANDIDATE) return;
  play->stage->record->absorbs = 1;
  for (size_t i = 0; i < scheduling->fusion_count; ++i) {
    if (declares(play->trial->kernel.def, scheduling->fusion[i])) continue;
    play->stage->record->absorbs = 0;
  }
}

static bool claim(oc_perf_play *play) {
  oc_trial *trial = play->trial;
  const oc_inputs *inputs = play->stage->inputs;
  ops_error error = OPS_ERROR_INIT;
  const oc_node_options options = {
      .constants = oc_perf_point_constants(inputs, play->stage->entry),
      .outputs = play->stage->expected->outputs};
  int32_t status = oc_kernel_init(&trial->kernel, &play->bench.candidate, play->beacon,
                                  play->stage->sets, inputs, &options, &error);
  if (status == OPS_OK) status = oc_kernel_claim(&trial->kernel, &error);
  if (status != OPS_OK) return fail(play, "the claim", status, &error);
  if (trial->kernel.claim.answer == OPS_CLAIM_SUPPORTED) {
    note_post_ops(play);
    return true;
  }
  trial->kernel.claim.text[sizeof trial->kernel.claim.text - 1] = 0;
  return oc_trial_end(trial, OC_STATUS_UNSUPPORTED, "", "%.250s", trial->kernel.claim.text);
}

static bool prepare(oc_perf_play *play, uint32_t block) {
  oc_trial *trial = play->trial;
  ops_error error = OPS_ERROR_INIT;
  const double start = oc_clock_seconds();
  int32_t status = oc_kernel_create(&trial->kernel, &error);
  if (status != OPS_OK) return fail(play, "create", status, &error);
  status = oc_kernel_prepare(&trial->kernel, NULL, 0, &error);
  play->stage->record->prepare[play->stage->role][block] = oc_clock_seconds() - start;
  return status == OPS_OK || fail(play, "prepare", status, &error);
}

// Memory and contents for each set. Constants stay where the node saw them.
static bool load_sets(oc_perf_play *play) {
  ops_error error = OPS_ERROR_INIT;
  for (uint32_t set = 0; set < OC_PERF_SETS; ++set) {
    oc_launch *launch = &play->launches[set];
    int32_t status = oc_launch_init(launch, &play->trial->kernel, OC_PLACE_START, NULL, &error);
    if (status == OPS_OK)
      status = oc_launch_load(launch, &play->stage->inputs[set], set, &error);
    if (status != OPS_OK) return fail(play, "memory for the arguments", status, &error);
  }
  return true;
}

static bool run_first(oc_perf_play *play, uint32_t block) {
  double seconds;
  bool disturbed;
  oc_beacon_phase(play->beacon, OC_PHASE_EXECUTE);
  play->trial->kernel.beacon = NULL;  // the clock runs; the phase stays
  for (uint32_t set = 0; set < OC_PERF_SETS; ++set) {
    if (!run(play, set, &seconds, &disturbed)) return false;
    if (set == 0) play->stage->record->first_run[play->stage->role][block] = seconds;
  }
  oc_beacon_phase(play->beacon, OC_PHASE_COMPARE);
  for (uint32_t set = 0; set < OC_PERF_SETS; ++set) {
    if (!judge(play, set)) return false;
  }
  return true;
}

oc_perf_play *oc_perf_play_open(const oc_perf_stage *stage, oc_beacon *beacon, uint32_t block,
                                oc_result *result) {
  oc_perf_play *play = calloc(1, sizeof *play);
  if (play) play->trial = calloc(1, sizeof *play->trial);
  if (!play || !play->trial) {
    free(play);
    oc_result_end(result, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "no memory to measure");
    return NULL;
  }
  play->stage = stage;
  play->beacon = beacon;
  play->bench.profile = stage->profile;
  play->trial->bench = &play->bench;
  play->trial->result = result;
  play->trial->item = stage->sets;
  oc_environment_take(&play->bench.environment);
  if (open_target(play) && claim(play) && prepare(play, block) && load_sets(play) &&
      run_first(play, block)) {
    return play;
  }
  result->phase = atomic_load(&beacon->phase);
  oc_perf_play_close(play);
  return NULL;
}

void oc_perf_play_close(oc_perf_play *play) {
  if (!play) return;
  oc_beacon_phase(play->beacon, OC_PHASE_CLOSE);
  oc_kernel_release(&play->trial->kernel);
  for (uint32_t set = 0; set < OC_PERF_SETS; ++set) {
    oc_launch_finish(&play->launches[set]);
    for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) oc_array_finish(&play->accepted[set][i]);
  }
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) {
    oc_array_finish(&play->trial->got[OC_RUN_FIRST][i]);
  }
  oc_kernel_finish(&play->trial->kernel);
  oc_target_close(&play->bench.candidate, NULL);
  free(play->trial);
  free(play);
}

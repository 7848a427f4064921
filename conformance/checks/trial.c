// SPDX-License-Identifier: Apache-2.0
//
// A trial: inputs, oracle, claim, create, prepare, the runs of the table below, each with its
// checks. Whoever ends the trial fills the result; what follows is cleaning up.
#include "checks/trial.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/chained.h"
#include "checks/check.h"
#include "checks/decided.h"
#include "checks/error_case.h"
#include "checks/expected.h"
#include "checks/grouped.h"
#include "checks/provider_case.h"
#include "checks/steps.h"
#include "ops_support/error.h"
#include "runner/clock.h"

// How long a provider that still uses its inputs after the completion gets to show it.
#define REVOKE_GRACE_NS 1000000
#define LATE_NS 50000000  // how long outputs that hold nothing but poison are waited for

typedef struct run_row {
  const char *name;
  oc_place place;
  unsigned poison;
  oc_revoke revoke;
  int32_t stream;
  bool grace;
} run_row;

static const run_row kRuns[OC_RUN_COUNT] = {
    [OC_RUN_FIRST] = {"first run", OC_PLACE_END, 0, OC_REVOKE_ACCESS, 0, true},
    [OC_RUN_AGAIN] = {"same addresses again", OC_PLACE_END, 2, OC_REVOKE_CONTENTS, 0, false},
    [OC_RUN_MOVED] = {"other addresses", OC_PLACE_START, 1, OC_REVOKE_CONTENTS, 1, false},
    [OC_RUN_CONSTANT] = {"inputs as constants", OC_PLACE_END, 1, OC_REVOKE_ACCESS, 1, false},
    [OC_RUN_LAYOUT] = {"private layouts", OC_PLACE_END, 2, OC_REVOKE_CONTENTS, 1, false},
    [OC_RUN_CONSTANT_LAYOUT] = {"private layouts, inputs as constants", OC_PLACE_END, 2,
                                OC_REVOKE_CONTENTS, 1, false},
    [OC_RUN_CONCURRENT] = {"two threads at once", OC_PLACE_END, 0, OC_REVOKE_CONTENTS, 0,
                           false},
    [OC_RUN_IN_PLACE] = {"in place", OC_PLACE_END, 0, OC_REVOKE_CONTENTS, 0, false},
    [OC_RUN_STRIDED] = {.name = "inputs with strides"},
    [OC_RUN_MISALIGNED] = {.name = "no better aligned than declared"},
    [OC_RUN_STATE] = {.name = "other inputs in between"},
    [OC_RUN_ORDER] = {.name = "copies and launches in one stream"},
    [OC_RUN_CROSS] = {.name = "two streams and an event"},
    [OC_RUN_FLIGHT] = {.name = "stream destroyed in flight"},
    [OC_RUN_REPLAY] = {.name = "replay of a capture"},
    [OC_RUN_UNKNOWN] = {.name = "dimensions unknown when claimed"},
    [OC_RUN_TWO_SHAPES] = {.name = "prepared for another shape too"},
    [OC_RUN_RELEASED] = {.name = "constants taken away"},
    [OC_RUN_STRICT] = {.name = "float32 accumulation required"},
    [OC_RUN_SCARCE] = {.name = "after failed allocations"},
    [OC_RUN_CYCLE] = {.name = "again from create to destroy"},
    [OC_RUN_THREADS] = {.name = "another number of threads"},
    [OC_RUN_CHAINED] = {"with operators behind it", OC_PLACE_END, 2, OC_REVOKE_CONTENTS, 0,
                        false},
    [OC_RUN_CHAINED_LAYOUT] = {"private layouts, with operators behind it", OC_PLACE_END, 2,
                               OC_REVOKE_CONTENTS, 0, false},
};

const char *oc_run_name(oc_run_kind run) {
  return kRuns[run].name;
}

// ---- One run --------------------------------------------------------------------------------

// A device that is gone says nothing about the kernel that noticed.
static bool lose_device(oc_trial *trial, const char *step, const ops_error *error) {
  trial->result->lost = 1;
  return oc_trial_end(trial, OC_STATUS_NOT_RUN, OC_CHECK_STATUS, "%s: %s ends with %s: %.500s",
                      oc_run_name(trial->run), step, ops_status_name(OPS_ERROR_DEVICE_LOST),
                      error->message);
}

bool oc_step_fail(oc_trial *trial, const char *step, int32_t status, const ops_error *error) {
  if (status == OPS_ERROR_DEVICE_LOST) return lose_device(trial, step, error);
  const bool honest = status != OPS_ERROR_UNSUPPORTED && status != OPS_ERROR_DECLINED;
  return oc_trial_end(trial, OC_STATUS_FAIL, honest ? OC_CHECK_STATUS : OC_CHECK_CLAIM,
                      "%s: %s ends with %s (%d)%s: %.500s", oc_run_name(trial->run), step,
                      ops_status_name(status), status,
                      honest ? "" : " after the node was claimed", error->message);
}

static bool harness_failed(oc_trial *trial, const ops_error *error) {
  return oc_trial_end(trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "%.600s", error->message);
}

static void give_grace(long ns) {
  const struct timespec pause = {0, ns};
  nanosleep(&pause, NULL);
}

static bool read_outputs(oc_trial *trial, oc_array *outputs) {
  ops_error error = OPS_ERROR_INIT;
  for (size_t i = 0; i < trial->kernel.output_count; ++i) {
    oc_array_finish(&outputs[i]);
    const int32_t status = oc_launch_read(trial->launch, i, &outputs[i], &error);
    if (status != OPS_OK) return oc_step_fail(trial, "reading the output", status, &error);
  }
  return true;
}

static void drop_outputs(oc_array *outputs) {
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) oc_array_finish(&outputs[i]);
}

static bool is_poison(const oc_trial *trial, const oc_array *array) {
  unsigned char poison[16];
  oc_block_poison(poison, sizeof poison, trial->launch->poison);
  for (uint64_t i = 0; i < array->bytes; ++i) {
    if (((const unsigned char *)array->data)[i] != poison[i % sizeof poison]) return false;
  }
  return array->bytes > 0;
}

// Whether the outputs are what they were when the completion was seen. Those that hold nothing
// but poison are waited for: they may come yet.
static bool outputs_stay(oc_trial *trial, const oc_array *early) {
  oc_array *got = trial->got[trial->run];
  bool empty = false;
  for (size_t i = 0; i < trial->kernel.output_count; ++i) {
    empty = empty || is_poison(trial, &got[i]);
  }
  if (empty) {
    give_grace(LATE_NS);
    drop_outputs(got);
    if (!read_outputs(trial, got)) return false;
  }
  for (size_t i = 0; i < trial->kernel.output_count; ++i) {
    if (early[i].bytes == got[i].bytes &&
        memcmp(early[i].data, got[i].data, got[i].bytes) == 0) {
      continue;
    }
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_ASYNC,
                        "%s: output %zu was written after the completion was signalled",
                        oc_run_name(trial->run), i);
  }
  return true;
}

bool oc_step_run(oc_trial *trial, oc_run_kind run) {
  const run_row *row = &kRuns[run];
  ops_error error = OPS_ERROR_INIT;
  trial->run = run;
  int32_t status = oc_launch_load(trial->launch, &trial->inputs, row->poison, &error);
  if (status != OPS_OK) return oc_step_fail(trial, "writing the inputs", status, &error);
  status = oc_launch_execute(trial->launch, row->stream, &error);
  if (status != OPS_OK) return oc_step_fail(trial, "execute", status, &error);
  if (row->grace && !read_outputs(trial, trial->early)) return false;
  if (!oc_checks_ask(trial, OC_POINT_COMPLETED)) return false;
  status = oc_launch_revoke(trial->launch, row->revoke, &error);
  if (status != OPS_OK) return oc_step_fail(trial, "overwriting the inputs", status, &error);
  if (row->grace) give_grace(REVOKE_GRACE_NS);
  oc_beacon_phase(trial->bench->beacon, OC_PHASE_COMPARE);
  return read_outputs(trial, trial->got[run]) &&
         (!row->grace || outputs_stay(trial, trial->early)) &&
         oc_checks_ask(trial, OC_POINT_RAN);
}

// Argument memory that is done with stays mapped, its inputs without access, as long as the
// kernel lives: what still reads them is caught and named.
static void retire_launch(oc_trial *trial) {
  const bool open = trial->launch && trial->launch->kernel;
  if (open) oc_launch_revoke(trial->launch, OC_REVOKE_ACCESS, NULL);
  trial->launch = NULL;
}

bool oc_step_launch(oc_trial *trial, oc_run_kind run, const ops_alias *alias) {
  ops_error error = OPS_ERROR_INIT;
  retire_launch(trial);
  trial->run = run;
  trial->launch = &trial->launches[run];
  const int32_t status =
      oc_launch_init(trial->launch, &trial->kernel, kRuns[run].place, alias, &error);
  return status == OPS_OK || oc_step_fail(trial, "memory for the arguments", status, &error);
}

// ---- The kernel -----------------------------------------------------------------------------

void oc_trial_close_kernel(oc_trial *trial) {
  retire_launch(trial);
  oc_kernel_release(&trial->kernel);
  for (int run = 0; run < OC_RUN_COUNT; ++run) oc_launch_finish(&trial->launches[run]);
  oc_kernel_finish(&trial->kernel);
}

bool oc_step_open(oc_trial *trial, const oc_node_options *options) {
  ops_error error = OPS_ERROR_INIT;
  int32_t status =
      oc_kernel_init(&trial->kernel, &trial->bench->candidate, trial->bench->beacon,
                     trial->item, &trial->inputs, options, &error);
  if (status != OPS_OK) return harness_failed(trial, &error);
  if (options->group) return true;
  status = oc_kernel_claim(&trial->kernel, &error);
  return status == OPS_OK || oc_step_fail(trial, "the claim", status, &error);
}

static bool open_kernel(oc_trial *trial, uint64_t constants) {
  const oc_node_options options = {.constants = constants, .outputs = trial->shapes};
  trial->constants = constants;
  return oc_step_open(trial, &options);
}

bool oc_step_prepare(oc_trial *trial, bool *out_declined) {
  ops_error error = OPS_ERROR_INIT;
  int32_t status = oc_kernel_create(&trial->kernel, &error);
  if (out_declined) *out_declined = status == OPS_ERROR_DECLINED;
  if (out_declined && *out_declined) return true;
  if (status != OPS_OK) return oc_step_fail(trial, "create", status, &error);
  status = oc_kernel_prepare(&trial->kernel, NULL, 0, &error);
  if (status != OPS_OK) return oc_step_fail(trial, "prepare", status, &error);
  return oc_checks_ask(trial, OC_POINT_PREPARED);
}

uint64_t oc_trial_weights(const oc_trial *trial) {
  uint64_t mask = 0;
  for (size_t i = 1; i < trial->inputs.count; ++i) {
    if (trial->inputs.items[i].present) mask |= (uint64_t)1 << i;
  }
  return mask;
}

// ---- The variants of a case -----------------------------------------------------------------

// Of a group nothing is declared that the checks after the runs could hold it to.
bool oc_step_run_plain(oc_trial *trial) {
  const bool group = trial->kernel.def == &trial->kernel.compiled;
  return oc_step_launch(trial, OC_RUN_FIRST, NULL) && oc_step_run(trial, OC_RUN_FIRST) &&
         oc_step_run(trial, OC_RUN_AGAIN) && oc_step_launch(trial, OC_RUN_MOVED, NULL) &&
         oc_step_run(trial, OC_RUN_MOVED) && (group || oc_checks_ask(trial, OC_POINT_DONE));
}

// Whether input `input` and output `output` can share memory in this case.
static bool fits_alias(const oc_trial *trial, size_t input, size_t output) {
  if (input >= trial->inputs.count || output >= trial->expected.count) return false;
  const oc_array *from = &trial->inputs.items[input], *to = &trial->expected.outputs[output];
  return from->present && from->bytes == to->bytes && from->bytes > 0;
}

static bool run_alias(oc_trial *trial, uint32_t flags, size_t input, size_t output) {
  ops_error error = OPS_ERROR_INIT;
  const ops_alias alias = {.struct_size = sizeof alias,
                           .input = (int32_t)input,
                           .output = (int32_t)output,
                           .flags = flags & (OPS_ALIAS_MAY | OPS_ALIAS_MUST),
                           .written_end = trial->expected.outputs[output].bytes};
  retire_launch(trial);
  drop_outputs(trial->got[OC_RUN_IN_PLACE]);
  oc_launch_finish(&trial->launches[OC_RUN_IN_PLACE]);
  trial->run = OC_RUN_IN_PLACE;
  const int32_t status = oc_kernel_prepare(&trial->kernel, &alias, 1, &error);
  if (status != OPS_OK) return oc_step_fail(trial, "prepare", status, &error);
  return oc_step_launch(trial, OC_RUN_IN_PLACE, &alias) && oc_step_run(trial, OC_RUN_IN_PLACE);
}

// An output in place of an input, for every pair that is declared and fits.
static bool run_in_place(oc_trial *trial) {
  const ops_kernel_def *def = trial->kernel.def;
  for (uint64_t i = 0; i < def->alias_count; ++i) {
    const ops_alias_def *pair =
        (const ops_alias_def *)((const char *)def->aliases + i * def->alias_stride);
    const size_t more = pair->flags & OPS_ALIAS_VARIADIC ? OC_CASE_MAX_TENSORS : 1;
    if (pair->input < 0 || pair->output < 0) continue;
    if (!(pair->flags & (OPS_ALIAS_MAY | OPS_ALIAS_MUST))) continue;
    for (size_t k = 0; k < more; ++k) {
      const size_t input = (size_t)pair->input + k, output = (size_t)pair->output + k;
      if (!fits_alias(trial, input, output)) continue;
      if (!run_alias(trial, pair->flags, input, output)) return false;
    }
  }
  return true;
}

// The layouts that the kernel would rather have, if it offers any of its own.
bool oc_step_layout(oc_trial *trial, oc_run_kind run) {
  ops_error error = OPS_ERROR_INIT;
  bool chosen;
  trial->run = run;
  int32_t status = oc_kernel_choose_layouts(&trial->kernel, &chosen, &error);
  if (status != OPS_OK) return oc_step_fail(trial, "query_layouts", status, &error);
  if (!chosen) return true;
  retire_launch(trial);
  trial->run = run;
  status = oc_kernel_prepare(&trial->kernel, NULL, 0, &error);
  if (status != OPS_OK) return oc_step_fail(trial, "prepare", status, &error);
  return oc_checks_ask(trial, OC_POINT_PREPARED) && oc_step_launch(trial, run, NULL) &&
         oc_step_run(trial, run);
}

// The same node with its other inputs as constants, if it is claimed so.
static bool run_constant(oc_trial *trial) {
  const uint64_t weights = oc_trial_weights(trial);
  if (weights == 0) return true;
  oc_trial_close_kernel(trial);
  trial->run = OC_RUN_CONSTANT;
  if (!open_kernel(trial, weights)) return false;
  if (trial->kernel.claim.answer != OPS_CLAIM_SUPPORTED) return true;
  return oc_step_prepare(trial, NULL) && oc_step_launch(trial, OC_RUN_CONSTANT, NULL) &&
         oc_step_run(trial, OC_RUN_CONSTANT) && oc_step_layout(trial, OC_RUN_CONSTANT_LAYOUT);
}

// A node that is not claimed as it stands may be claimed with constants: definitions can ask
// for them. The answer that counts is then this one.
static bool claim_node(oc_trial *trial, bool *out_constant) {
  *out_constant = false;
  if (!open_kernel(trial, 0)) return false;
  const uint64_t weights = oc_trial_weights(trial);
  if (trial->kernel.claim.answer == OPS_CLAIM_UNSUPPORTED && weights) {
    const ops_claim first = trial->kernel.claim;
    oc_trial_close_kernel(trial);
    if (!open_kernel(trial, weights)) return false;
    *out_constant = trial->kernel.claim.answer != OPS_CLAIM_UNSUPPORTED;
    if (!*out_constant) {
      oc_trial_close_kernel(trial);
      if (!open_kernel(trial, 0)) return false;
      if (trial->kernel.claim.answer != first.answer) {
        return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_CLAIM,
                            "asked twice, expected the same answer, found first %s, then %s",
                            oc_check_claim_name(first.answer),
                            oc_check_claim_name(trial->kernel.claim.answer));
      }
    }
  }
  return oc_checks_ask(trial, OC_POINT_CLAIM);
}

// ---- A valid node ---------------------------------------------------------------------------

// The oracle's shapes, the candidate's claim, the oracle's values. What the candidate does not
// claim needs none; what it claims and the oracle does not is not to be trusted.
static bool ask_both(oc_trial *trial, bool *out_constant) {
  ops_error error = OPS_ERROR_INIT;
  int32_t status =
      oc_expected_shapes(trial->shapes, trial->bench, trial->item, &trial->inputs, &error);
  if (!claim_node(trial, out_constant)) return false;
  if (status == OPS_OK) {
    status =
        oc_expected_init(&trial->expected, trial->bench, trial->item, &trial->inputs, &error);
  }
  return status == OPS_OK ||
         oc_trial_end(trial, OC_STATUS_UNTRUSTED, OC_CHECK_ORACLE,
                      "no expected value: %s: %.500s", ops_status_name(status), error.message);
}

static void judge_node(oc_trial *trial) {
  bool constant, chained;
  if (!ask_both(trial, &constant)) return;
  if (trial->kernel.claim.answer == OPS_CLAIM_ONLY_IN_GROUP) {
    const uint64_t weights = oc_trial_weights(trial);
    oc_grouped_judge(trial, constant ? weights : 0, weights);
    return;
  }
  if (!oc_step_prepare(trial, NULL) || !oc_step_run_plain(trial)) return;
  const ops_str chosen = trial->kernel.reply.implementation;
  if (chosen.data) {
    const size_t size = sizeof trial->result->implementation - 1;
    memcpy(trial->result->implementation, chosen.data, chosen.size < size ? chosen.size : size);
  }
  if (!run_in_place(trial) || !oc_step_layout(trial, OC_RUN_LAYOUT)) return;
  const ops_kernel_def *plain = trial->kernel.def;
  if (!constant && !run_constant(trial)) return;
  const uint64_t weights = oc_trial_weights(trial);
  if (!oc_chained_run(trial, plain, constant ? weights : 0, weights, &chained)) return;
  trial->result->status = OC_STATUS_PASS;
}

void oc_trial_finish(oc_trial *trial) {
  oc_trial_close_kernel(trial);
  for (int run = 0; run < OC_RUN_COUNT; ++run) {
    drop_outputs(trial->got[run]);
  }
  drop_outputs(trial->early);
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) oc_array_finish(&trial->shapes[i]);
  oc_expected_finish(&trial->expected);
  oc_chained_finish(&trial->chain);
  oc_inputs_finish(&trial->inputs);
}

typedef void (*judge_fn)(oc_trial *trial);

static void run_trial(oc_bench *bench, uint32_t index, judge_fn judge, oc_result *result) {
  ops_error error = OPS_ERROR_INIT;
  *result = (oc_result){.case_index = index,
                        .status = OC_STATUS_NOT_RUN,
                        .attempts = 1,
                        .output = -1,
                        .element = -1};
  const double start = oc_clock_seconds();
  oc_beacon_phase(bench->beacon, OC_PHASE_INPUTS);
  oc_trial *trial = calloc(1, sizeof *trial);
  if (!trial) {
    oc_result_end(result, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "no memory for a trial");
    return;
  }
  trial->bench = bench;
  trial->item = &bench->cases->items[index];
  trial->result = result;
  int32_t drawn;
  const int32_t renewed = oc_target_renew_streams(&bench->candidate, &error);
  if (renewed == OPS_ERROR_DEVICE_LOST) {
    lose_device(trial, "a new stream", &error);
  } else if (renewed != OPS_OK) {
    oc_result_end(result, OC_STATUS_FAIL, OC_CHECK_STATUS,
                  "creating a stream in place of one that had failed ends with %s: %.500s",
                  ops_status_name(renewed), error.message);
  } else if ((drawn = oc_decided_inputs(&trial->inputs, bench, trial->item, &error)) !=
             OPS_OK) {
    if (drawn != OPS_ERROR_PRECONDITION) harness_failed(trial, &error);
    if (drawn == OPS_ERROR_PRECONDITION) {
      oc_result_end(result, OC_STATUS_UNTRUSTED, OC_CHECK_ORACLE, "%.600s", error.message);
    }
  } else {
    oc_inputs_print(trial->item, result->inputs, sizeof result->inputs);
    judge(trial);
  }
  result->phase = atomic_load(&bench->beacon->phase);

  oc_trial_finish(trial);
  const bool passed = result->status == OC_STATUS_PASS;
  if (passed) oc_check_environment(trial);
  oc_environment_restore(&bench->environment);
  free(trial);
  oc_beacon_phase(bench->beacon, OC_PHASE_IDLE);
  result->seconds = oc_clock_seconds() - start;
}

static void judge_case(oc_trial *trial) {
  if (trial->item->provider_case) {
    oc_provider_case_judge(trial);
  } else if (trial->item->error) {
    oc_error_case_judge(trial);
  } else {
    judge_node(trial);
  }
}

void oc_trial_run(oc_bench *bench, uint32_t index, oc_result *result) {
  run_trial(bench, index, judge_case, result);
}

static void judge_claim(oc_trial *trial) {
  bool constant;
  if (claim_node(trial, &constant)) trial->result->status = OC_STATUS_PASS;
}

void oc_trial_claim(oc_bench *bench, uint32_t index, oc_result *result) {
  run_trial(bench, index, judge_claim, result);
}

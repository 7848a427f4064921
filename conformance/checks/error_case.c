// SPDX-License-Identifier: Apache-2.0
//
// An error case has two nodes: the spoilt one and the valid one it was made from.
#include "checks/error_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "checks/expected.h"
#include "ops_support/error.h"

#define BASE_ARENA_LIMIT ((size_t)1 << 20)

// The valid node, ready to run.
typedef struct base_node {
  oc_arena *arena;
  oc_case item;
  oc_inputs inputs;
} base_node;

// Where the spoilt node was stopped.
typedef enum refusal {
  REFUSED_BY_CLAIM,
  REFUSED_BY_CREATE,
  REFUSED_BY_PREPARE,
  REFUSED_BY_EXECUTE,
  NOT_REFUSED
} refusal;

static const char *const kSteps[] = {"claim", "create", "prepare", "execute", "no step"};

// ---- The spoilt node ------------------------------------------------------------------------

// Outputs for an execute that must fail: of the shapes that prepare stated.
static int32_t try_execute(oc_trial *trial, ops_error *error) {
  trial->launch = &trial->launches[0];
  int32_t status = oc_launch_init(trial->launch, &trial->kernel, OC_PLACE_END, NULL, error);
  if (status == OPS_OK) status = oc_launch_load(trial->launch, &trial->inputs, 1, error);
  return status == OPS_OK ? oc_launch_execute(trial->launch, 0, error) : status;
}

// ---- The stream afterwards ------------------------------------------------------------------

// An error that came with the completion stays with its stream; one that execute returned
// leaves the stream idle, or failed in the same way.
static bool check_streams(oc_trial *trial, int32_t status) {
  const oc_target *target = &trial->bench->candidate;
  const ops_stream_api *api = target->provider->stream;
  ops_error error = OPS_ERROR_INIT;
  ops_stream *stream = target->streams[0];
  if (!stream) return true;
  const int32_t first = api->synchronize(stream, &error);
  const bool async = trial->launch->enqueued;
  if (first != status && (async || first != OPS_OK)) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_ERROR,
                        "the stream's error was %s, and %s is what synchronize says then; "
                        "expected the first error to stay",
                        ops_status_name(status), ops_status_name(first));
  }
  if (first == OPS_OK) return true;
  const int32_t again = oc_launch_enqueue(trial->launch, stream, &error);
  const int32_t query = api->query ? api->query(stream, &error) : first;
  if (again != first || query != first) {
    return oc_trial_end(
        trial, OC_STATUS_FAIL, OC_CHECK_ERROR,
        "a stream that has failed with %s answers %s to execute and %s to query; "
        "expected the first error from both",
        ops_status_name(first), ops_status_name(again), ops_status_name(query));
  }
  return true;
}

static refusal try_node(oc_trial *trial, int32_t *out_status, ops_error *error) {
  oc_kernel *kernel = &trial->kernel;
  const oc_node_options options = {0};
  *out_status = oc_kernel_init(kernel, &trial->bench->candidate, trial->bench->beacon,
                               trial->item, &trial->inputs, &options, error);
  if (*out_status == OPS_OK) *out_status = oc_kernel_claim(kernel, error);
  if (*out_status != OPS_OK || kernel->claim.answer != OPS_CLAIM_SUPPORTED) {
    return REFUSED_BY_CLAIM;
  }
  *out_status = oc_kernel_create(kernel, error);
  if (*out_status != OPS_OK) return REFUSED_BY_CREATE;
  *out_status = oc_kernel_prepare(kernel, NULL, 0, error);
  if (*out_status != OPS_OK) return REFUSED_BY_PREPARE;
  *out_status = try_execute(trial, error);
  return *out_status != OPS_OK ? REFUSED_BY_EXECUTE : NOT_REFUSED;
}

static bool outputs_untouched(oc_trial *trial) {
  for (size_t i = 0; i < trial->kernel.output_count; ++i) {
    const oc_block *block = &trial->launch->outputs[i];
    if (block->size == 0) continue;
    ops_error error = OPS_ERROR_INIT;
    unsigned char *got = malloc(block->size), *poison = malloc(block->size);
    bool same = got && poison && oc_block_read(block, got, &error) == OPS_OK;
    if (same) {
      oc_block_poison(poison, block->size, trial->launch->poison);
      same = memcmp(got, poison, block->size) == 0;
    }
    free(got);
    free(poison);
    if (!same) {
      return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_ERROR,
                          "output %zu was written although execute refused the data", i);
    }
  }
  return true;
}

static bool check_refusal(oc_trial *trial, refusal where, int32_t status,
                          const ops_error *error) {
  const int32_t expected = trial->item->error->status;
  if (where == NOT_REFUSED) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_ERROR,
                        "expected %s, found that the node runs without an error",
                        ops_status_name(expected));
  }
  if (where == REFUSED_BY_CLAIM && status == OPS_OK) return true;  // "not this node"
  if (status != expected) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_ERROR,
                        "expected %s, found %s from %s: %.400s", ops_status_name(expected),
                        ops_status_name(status), kSteps[where], error->message);
  }
  if (error->code != status || error->message_size == 0) {
    return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_ERROR,
                        "%s ends with %s but leaves the error record with code %d and %u bytes "
                        "of message; expected the code and a message",
                        kSteps[where], ops_status_name(status), error->code,
                        error->message_size);
  }
  return where != REFUSED_BY_EXECUTE || outputs_untouched(trial);
}

// ---- The valid node afterwards --------------------------------------------------------------

static bool values_only(const oc_error_case *error, const oc_contract *contract) {
  for (size_t i = 0; i < contract->input_count; ++i) {
    if (error->remove[i] || error->inputs[i].count > 0) return false;
  }
  for (size_t i = 0; i < contract->attribute_count; ++i) {
    if (error->attributes[i].kind != OC_VALUE_NONE) return false;
  }
  return true;
}

static bool unusable(oc_trial *trial, const char *step, int32_t status,
                     const ops_error *error) {
  return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_ERROR,
                      "after the refusal the valid node fails: %s ends with %s: %.400s", step,
                      ops_status_name(status), error->message);
}

// Says that it is the valid node whose outputs were judged, and shows its inputs.
static bool blame_base(oc_trial *trial) {
  oc_result *result = trial->result;
  char why[sizeof result->message];
  memcpy(why, result->message, sizeof why);
  snprintf(result->message, sizeof result->message,
           "after the refusal the valid node of the row is run: %.600s", why);
  oc_inputs_print(trial->item, result->inputs, sizeof result->inputs);
  return false;
}

// Runs the valid node on the prepared kernel of `trial` and judges its outputs.
static bool run_base(oc_trial *trial) {
  ops_error error = OPS_ERROR_INIT;
  trial->run = OC_RUN_FIRST;
  int32_t status = oc_launch_load(trial->launch, &trial->inputs, 0, &error);
  if (status == OPS_OK) status = oc_launch_execute(trial->launch, 0, &error);
  for (size_t i = 0; i < trial->kernel.output_count && status == OPS_OK; ++i) {
    status = oc_launch_read(trial->launch, i, &trial->got[OC_RUN_FIRST][i], &error);
  }
  if (status != OPS_OK) return unusable(trial, "execute", status, &error);
  return oc_checks_ask(trial, OC_POINT_RAN) || blame_base(trial);
}

static bool open_base(oc_trial *trial) {
  ops_error error = OPS_ERROR_INIT;
  const oc_node_options options = {.outputs =
                                       trial->expected.count ? trial->expected.outputs : NULL};
  int32_t status =
      oc_kernel_init(&trial->kernel, &trial->bench->candidate, trial->bench->beacon,
                     trial->item, &trial->inputs, &options, &error);
  if (status == OPS_OK) status = oc_kernel_claim(&trial->kernel, &error);
  if (status != OPS_OK) return unusable(trial, "the claim", status, &error);
  if (trial->kernel.claim.answer != OPS_CLAIM_SUPPORTED) {
    return oc_trial_end(trial, OC_STATUS_UNSUPPORTED, "", "the valid node of the row: %.200s",
                        trial->kernel.claim.text);
  }
  return true;
}

static bool create_base(oc_trial *trial) {
  ops_error error = OPS_ERROR_INIT;
  int32_t status = oc_kernel_create(&trial->kernel, &error);
  if (status != OPS_OK) return unusable(trial, "create", status, &error);
  status = oc_kernel_prepare(&trial->kernel, NULL, 0, &error);
  if (status != OPS_OK) return unusable(trial, "prepare", status, &error);
  trial->launch = &trial->launches[0];
  status = oc_launch_init(trial->launch, &trial->kernel, OC_PLACE_END, NULL, &error);
  return status == OPS_OK || unusable(trial, "memory", status, &error);
}

// ---- The two together -----------------------------------------------------------------------

// A trial about the valid node that shares the bench and the result with `trial`. *out_asked:
// whether the oracle has an expected value.
static oc_trial *base_trial(oc_trial *trial, base_node *base, int32_t *out_asked,
                            ops_error *error) {
  oc_trial *valid = calloc(1, sizeof *valid);
  base->arena = oc_arena_create(BASE_ARENA_LIMIT);
  if (!valid || !base->arena) {
    free(valid);
    ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the valid node");
    return NULL;
  }
  valid->bench = trial->bench;
  valid->result = trial->result;
  valid->item = &base->item;
  int32_t status = oc_case_base(trial->item, base->arena, &base->item, error);
  if (status == OPS_OK) status = oc_inputs_init(&valid->inputs, &base->item, error);
  if (status != OPS_OK) {
    free(valid);
    return NULL;
  }
  *out_asked =
      oc_expected_init(&valid->expected, trial->bench, &base->item, &valid->inputs, error);
  return valid;
}

static void finish_base(oc_trial *valid, base_node *base) {
  if (valid) {
    oc_trial_close_kernel(valid);
    for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) oc_array_finish(&valid->got[0][i]);
    oc_expected_finish(&valid->expected);
    oc_inputs_finish(&valid->inputs);
    free(valid);
  }
  oc_arena_destroy(base->arena);
}

// The same prepared kernel with the valid data: only contents that no shape depends on differ.
static bool reuse_kernel(oc_trial *trial, oc_trial *valid) {
  ops_error error = OPS_ERROR_INIT;
  trial->run = OC_RUN_FIRST;
  int32_t status = oc_launch_load(trial->launch, &valid->inputs, 0, &error);
  if (status == OPS_OK) status = oc_launch_execute(trial->launch, 0, &error);
  if (status != OPS_OK) return unusable(trial, "execute", status, &error);
  for (size_t i = 0; i < trial->kernel.output_count && status == OPS_OK; ++i) {
    status = oc_launch_read(trial->launch, i, &valid->got[OC_RUN_FIRST][i], &error);
  }
  if (status != OPS_OK) return unusable(trial, "execute", status, &error);
  return true;
}

static bool judge_pair(oc_trial *trial, oc_trial *valid) {
  ops_error error = OPS_ERROR_INIT;
  if (!open_base(valid)) return false;
  oc_checks_note_point(trial->result, OC_POINT_CLAIM);
  oc_checks_note(trial->result, OC_CHECK_ERROR);
  oc_trial_close_kernel(valid);
  int32_t status;
  const refusal where = try_node(trial, &status, &error);
  if (where == REFUSED_BY_EXECUTE && !check_streams(trial, status)) return false;
  ops_error later = OPS_ERROR_INIT;
  const int32_t renewed = oc_target_renew_streams(&trial->bench->candidate, &later);
  if (renewed != OPS_OK) return unusable(trial, "creating a stream", renewed, &later);
  if (!check_refusal(trial, where, status, &error)) return false;
  const bool same_kernel =
      where == REFUSED_BY_EXECUTE && values_only(trial->item->error, trial->item->contract);
  if (same_kernel && !reuse_kernel(trial, valid)) return false;
  oc_trial_close_kernel(trial);
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) oc_array_finish(&valid->got[0][i]);
  return open_base(valid) && create_base(valid) && run_base(valid);
}

void oc_error_case_judge(oc_trial *trial) {
  ops_error error = OPS_ERROR_INIT;
  base_node base = {0};
  int32_t asked = OPS_OK;
  oc_trial *valid = base_trial(trial, &base, &asked, &error);
  if (!valid) {
    oc_result_end(trial->result, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "%.600s", error.message);
  } else if (asked != OPS_OK) {
    if (open_base(valid)) {
      oc_result_end(trial->result, OC_STATUS_UNTRUSTED, OC_CHECK_ORACLE,
                    "no expected value for the valid node of the row: %.500s", error.message);
    }
  } else if (judge_pair(trial, valid)) {
    trial->result->status = OC_STATUS_PASS;
    trial->result->check[0] = 0;
  }
  finish_base(valid, &base);
}

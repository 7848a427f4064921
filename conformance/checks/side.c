// SPDX-License-Identifier: Apache-2.0
//
// Side trials.
#include "checks/side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "checks/decided.h"
#include "checks/expected.h"
#include "ops_support/error.h"

#define OTHER_SEED 0xd1b54a32d192ed03u  // of drawn inputs

oc_side *oc_side_create(oc_trial *trial, oc_run_kind run, const char *check) {
  oc_side *side = calloc(1, sizeof *side);
  if (!side) {
    oc_result_end(trial->result, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "no memory for a trial");
    return NULL;
  }
  side->trial = trial;
  side->check = check;
  side->own.bench = trial->bench;
  side->own.item = trial->item;
  side->own.result = trial->result;
  side->own.inputs = trial->inputs;
  side->own.expected = trial->expected;
  memcpy(side->own.shapes, trial->shapes, sizeof trial->shapes);
  side->own.run = run;
  side->own.launch = &side->own.launches[run];
  return side;
}

static void drop_outputs(oc_side *side) {
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) {
    for (int run = 0; run < OC_RUN_COUNT; ++run) oc_array_finish(&side->own.got[run][i]);
  }
}

void oc_side_close(oc_side *side) {
  drop_outputs(side);
  if (side->borrowed) {
    oc_launch_finish(side->own.launch);
    memset(&side->own.kernel, 0, sizeof side->own.kernel);
    side->borrowed = false;
    return;
  }
  oc_kernel_release(&side->own.kernel);
  oc_launch_finish(side->own.launch);
  oc_kernel_finish(&side->own.kernel);
}

void oc_side_destroy(oc_side *side) {
  if (!side) return;
  oc_side_close(side);
  if (side->drawn) {
    oc_expected_finish(&side->own.expected);
    oc_inputs_finish(&side->own.inputs);
    free((void *)(uintptr_t)side->own.item);
  }
  free(side);
}

// ---- Other contents -------------------------------------------------------------------------

int32_t oc_side_draw_inputs(const oc_trial *trial, oc_inputs *inputs, bool *out_differ,
                            ops_error *error) {
  *out_differ = false;
  for (size_t i = 0; i < inputs->count; ++i) {
    oc_array *array = &inputs->items[i];
    const oc_array *first = &trial->inputs.items[i];
    const ops_arg_def *def = oc_kernel_input_def(&trial->kernel, i);
    const bool seen =
        (trial->constants >> i & 1) || (def && (def->flags & OPS_ARG_SHAPE_INPUT));
    if (!array->present) continue;
    if (seen) {
      oc_array_finish(array);
      OPS_RETURN_IF_ERROR(oc_array_copy(array, first, error));
    }
    if (memcmp(array->data, first->data, first->bytes) != 0) *out_differ = true;
  }
  return OPS_OK;
}

static bool untrusted(oc_side *side, const ops_error *error) {
  return oc_trial_end(side->trial, OC_STATUS_UNTRUSTED, OC_CHECK_ORACLE,
                      "%s: no expected value: %.500s", oc_run_name(side->own.run),
                      error->message);
}

// Gives the side `inputs` and a case of its own.
static void adopt(oc_side *side, const oc_inputs *inputs, oc_case *item) {
  side->own.inputs = *inputs;
  side->own.item = item;
  memset(&side->own.expected, 0, sizeof side->own.expected);
  side->drawn = true;
}

bool oc_side_expect(oc_side *side) {
  ops_error error = OPS_ERROR_INIT;
  oc_trial *own = &side->own;
  const int32_t status =
      oc_expected_init(&own->expected, own->bench, own->item, &own->inputs, &error);
  oc_beacon_phase(own->bench->beacon, OC_PHASE_EXECUTE);
  return status == OPS_OK || untrusted(side, &error);
}

// A copy of the case with another seed, or with the same.
static oc_case *copy_case(const oc_side *side, uint64_t change) {
  oc_case *item = malloc(sizeof *item);
  if (!item) return NULL;
  *item = *side->trial->item;
  item->seed ^= change;
  return item;
}

bool oc_side_copy(oc_side *side) {
  ops_error error = OPS_ERROR_INIT;
  oc_inputs inputs;
  oc_case *item = copy_case(side, 0);
  if (!item) return untrusted(side, &error);
  if (oc_inputs_copy(&inputs, &side->trial->inputs, &error) != OPS_OK) {
    free(item);
    return untrusted(side, &error);
  }
  adopt(side, &inputs, item);
  return true;
}

bool oc_side_draw(oc_side *side, bool *out_differ) {
  ops_error error = OPS_ERROR_INIT;
  oc_inputs inputs;
  oc_case *item = copy_case(side, OTHER_SEED);
  *out_differ = false;
  if (!item) return untrusted(side, &error);
  int32_t status = oc_decided_inputs(&inputs, side->trial->bench, item, &error);
  if (status == OPS_OK) status = oc_side_draw_inputs(side->trial, &inputs, out_differ, &error);
  if (status != OPS_OK || !*out_differ) {
    oc_inputs_finish(&inputs);
    free(item);
    return status == OPS_OK || untrusted(side, &error);
  }
  adopt(side, &inputs, item);
  return oc_side_expect(side);
}

// Puts the contents of the trial's constants in place of those drawn.
static int32_t keep_constants(const oc_trial *trial, oc_inputs *inputs, ops_error *error) {
  for (size_t i = 0; i < inputs->count; ++i) {
    if (!(trial->constants >> i & 1) || !inputs->items[i].present) continue;
    oc_array_finish(&inputs->items[i]);
    OPS_RETURN_IF_ERROR(oc_array_copy(&inputs->items[i], &trial->inputs.items[i], error));
  }
  return OPS_OK;
}

bool oc_side_take(oc_side *side, const oc_case *other, bool *out_taken) {
  ops_error error = OPS_ERROR_INIT;
  oc_inputs inputs;
  oc_expected expected = {0};
  oc_bench *bench = side->trial->bench;
  oc_case *item = malloc(sizeof *item);
  *out_taken = false;
  if (!item) return untrusted(side, &error);
  *item = *other;
  if (oc_decided_inputs(&inputs, bench, item, &error) != OPS_OK) {
    free(item);
    return true;
  }
  int32_t status = keep_constants(side->trial, &inputs, &error);
  if (status == OPS_OK) status = oc_expected_init(&expected, bench, item, &inputs, &error);
  oc_beacon_phase(bench->beacon, OC_PHASE_EXECUTE);
  if (status != OPS_OK) {
    oc_expected_finish(&expected);
    oc_inputs_finish(&inputs);
    free(item);
    return true;
  }
  adopt(side, &inputs, item);
  side->own.expected = expected;
  *out_taken = true;
  return true;
}

// ---- The kernel -----------------------------------------------------------------------------

bool oc_side_fail(oc_side *side, const char *step, int32_t status, const ops_error *error) {
  return oc_side_end(side, "%s: %s ends with %s: %.500s", oc_run_name(side->own.run), step,
                     ops_status_name(status), error->message);
}

void oc_side_borrow(oc_side *side) {
  side->own.kernel = side->trial->kernel;
  side->own.kernel.inputs = &side->own.inputs;
  side->own.constants = side->trial->constants;
  side->borrowed = true;
}

bool oc_side_claim(oc_side *side, const oc_node_options *options, bool *out_claimed) {
  ops_error error = OPS_ERROR_INIT;
  oc_trial *own = &side->own;
  int32_t status = oc_kernel_init(&own->kernel, &own->bench->candidate, own->bench->beacon,
                                  own->item, &own->inputs, options, &error);
  own->constants = options->constants;
  *out_claimed = false;
  if (status == OPS_OK) status = oc_kernel_claim(&own->kernel, &error);
  if (status != OPS_OK) return oc_side_fail(side, "the claim", status, &error);
  *out_claimed = own->kernel.claim.answer == OPS_CLAIM_SUPPORTED;
  return true;
}

bool oc_side_create_kernel(oc_side *side) {
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = oc_kernel_create(&side->own.kernel, &error);
  return status == OPS_OK || oc_side_fail(side, "create", status, &error);
}

bool oc_side_prepare(oc_side *side) {
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = oc_kernel_prepare(&side->own.kernel, NULL, 0, &error);
  return status == OPS_OK || oc_side_fail(side, "prepare", status, &error);
}

// ---- Runs -----------------------------------------------------------------------------------

bool oc_side_open(oc_side *side, oc_place place) {
  ops_error error = OPS_ERROR_INIT;
  oc_launch_finish(side->own.launch);
  const int32_t status =
      oc_launch_init(side->own.launch, &side->own.kernel, place, NULL, &error);
  return status == OPS_OK || oc_side_fail(side, "memory for the arguments", status, &error);
}

bool oc_side_load(oc_side *side, unsigned poison) {
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = oc_launch_load(side->own.launch, &side->own.inputs, poison, &error);
  return status == OPS_OK || oc_side_fail(side, "writing the inputs", status, &error);
}

// What a check of the table says about the side trial, told under the side's own name.
static bool relabel(oc_side *side, const oc_result *before) {
  oc_result *result = side->trial->result;
  if (result->status == OC_STATUS_UNTRUSTED) {
    *result = *before;
    return true;
  }
  if (result->status == OC_STATUS_FAIL) {
    snprintf(result->check, sizeof result->check, "%s", side->check);
  }
  return false;
}

bool oc_side_judge(oc_side *side) {
  ops_error error = OPS_ERROR_INIT;
  oc_trial *own = &side->own;
  const oc_result before = *own->result;
  drop_outputs(side);
  for (size_t i = 0; i < own->kernel.output_count; ++i) {
    const int32_t status = oc_launch_read(own->launch, i, &own->got[own->run][i], &error);
    if (status != OPS_OK) return oc_side_fail(side, "reading the output", status, &error);
  }
  return (oc_check_guard(own) && oc_check_values(own)) || relabel(side, &before);
}

bool oc_side_run(oc_side *side, unsigned poison, int32_t stream) {
  ops_error error = OPS_ERROR_INIT;
  if (!oc_side_load(side, poison)) return false;
  const int32_t status = oc_launch_execute(side->own.launch, stream, &error);
  if (status != OPS_OK) return oc_side_fail(side, "execute", status, &error);
  return oc_side_judge(side);
}

bool oc_side_same_bits(oc_side *side, oc_run_kind run) {
  for (size_t i = 0; i < side->trial->expected.count; ++i) {
    const oc_array *want = &side->trial->got[run][i], *got = &side->own.got[side->own.run][i];
    if (want->bytes == got->bytes && memcmp(want->data, got->data, want->bytes) == 0) continue;
    const int64_t at =
        want->bytes == got->bytes ? oc_check_print_difference(side->trial, i, want, got) : 0;
    return oc_side_end(side, "%s: output %zu, element %lld is not what the %s gave",
                       oc_run_name(side->own.run), i, (long long)at, oc_run_name(run));
  }
  return true;
}

// SPDX-License-Identifier: Apache-2.0
//
// The table of checks, in the order in which they are asked.
#include "checks/check.h"

#include <string.h>

static const oc_check kChecks[] = {
    {OC_CHECK_CLAIM, "Asked twice, a claim is answered the same; and it binds.", OC_POINT_CLAIM,
     oc_check_claim, "CLAIMS-1 CLAIMS-3"},
    {"declaration", "The definition declares no less than the contract asks.", OC_POINT_CLAIM,
     oc_check_declaration, "DEFINITIONS-2"},
    {"shape", "Prepare states the oracle's types and shapes, and a workspace that can be.",
     OC_POINT_PREPARED, oc_check_shape, "SHAPES-1"},
    {OC_CHECK_GUARD, "Nothing around outputs, inputs and workspace is touched.", OC_POINT_RAN,
     oc_check_guard, "MEMORY-1 MEMORY-3 MEMORY-5"},
    {OC_CHECK_INPUTS, "Inputs are left as they were.", OC_POINT_COMPLETED, oc_check_inputs,
     "MEMORY-2"},
    {OC_CHECK_VALUES, "Outputs agree with the oracle as the contract's judge says.",
     OC_POINT_RAN, oc_check_values, "VALUES-1 VALUES-6 MEMORY-7"},
    {"invariants", "Outputs have the properties that the contract lists.", OC_POINT_RAN,
     oc_check_invariants, "VALUES-2"},
    {"determinism", "Repeated runs give the same bits, as far as declared.", OC_POINT_DONE,
     oc_check_determinism, "DETERMINISM-1 DETERMINISM-2"},
    {OC_CHECK_CONCURRENCY, "Two threads that execute one REENTRANT object at once are right.",
     OC_POINT_DONE, oc_check_concurrency, "THREADS-1"},
    {OC_CHECK_STATUS, "Create, prepare and execute of a claimed node succeed.", OC_POINT_OTHER,
     NULL, "CLAIMS-2"},
    {OC_CHECK_UNWRITTEN, "Every element of an output is written.", OC_POINT_OTHER, NULL,
     "MEMORY-4"},
    {OC_CHECK_ASYNC, "Inputs are not touched after the completion.", OC_POINT_OTHER, NULL,
     "STREAMS-2"},
    {OC_CHECK_ERROR,
     "A node outside the contract is refused with its status, outputs untouched, and the "
     "kernel "
     "stays usable.",
     OC_POINT_OTHER, NULL, "ERRORS-2"},
    {OC_CHECK_TRIVIAL, "The expected values could not be met by chance.", OC_POINT_OTHER, NULL,
     NULL},
    {OC_CHECK_ORACLE, "The oracle has an answer.", OC_POINT_OTHER, NULL, NULL},
    {OC_CHECK_ENVIRONMENT,
     "Calls leave floating-point control and blocked signals as they were.", OC_POINT_OTHER,
     NULL, "THREADS-3"},
    {OC_CHECK_PROCESS, "The provider lets the process live.", OC_POINT_OTHER, NULL, "ERRORS-4"},
    {OC_CHECK_TIME, "The case ends within the time allowed.", OC_POINT_OTHER, NULL, "ERRORS-5"},
    {OC_CHECK_LIFECYCLE, "Opening and closing succeed, and nothing is left behind.",
     OC_POINT_OTHER, NULL, "LIFECYCLE-1 LIFECYCLE-2 NEGOTIATION-6"},
    {OC_CHECK_NEGOTIATION, "Hosts of other versions are served or refused as the ABI says.",
     OC_POINT_OTHER, NULL,
     "NEGOTIATION-1 NEGOTIATION-2 NEGOTIATION-3 NEGOTIATION-4 NEGOTIATION-5 NEGOTIATION-7 "
     "NEGOTIATION-8"},
    {OC_CHECK_OPERATOR, "Kernels are of operators that exist, in opsets that have them.",
     OC_POINT_OTHER, NULL, "DEFINITIONS-1"},
    {OC_CHECK_REQUIRE, "What a release must support is claimed.", OC_POINT_OTHER, NULL,
     "CLAIMS-5"},
};

_Static_assert(sizeof kChecks / sizeof *kChecks <= 64, "oc_result.checks has one bit for each");

const oc_check *oc_checks(size_t *out_count) {
  *out_count = sizeof kChecks / sizeof *kChecks;
  return kChecks;
}

const oc_check *oc_checks_find(const char *name) {
  for (size_t i = 0; i < sizeof kChecks / sizeof *kChecks; ++i) {
    if (strcmp(kChecks[i].name, name) == 0) return &kChecks[i];
  }
  return NULL;
}

bool oc_checks_ask(oc_trial *trial, oc_point point) {
  oc_checks_note_point(trial->result, point);
  if (!oc_check_environment(trial)) return false;
  for (size_t i = 0; i < sizeof kChecks / sizeof *kChecks; ++i) {
    if (kChecks[i].point != point || !kChecks[i].run) continue;
    trial->result->checks |= (uint64_t)1 << i;
    if (!kChecks[i].run(trial)) return false;
  }
  return true;
}

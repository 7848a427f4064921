// SPDX-License-Identifier: Apache-2.0
//
// The table of checks, in the order in which they are asked.
#include "checks/check.h"

#include <string.h>

static const oc_check kChecks[] = {
    {OC_CHECK_CLAIM, "Asked twice, a claim is answered the same; and it binds.", OC_POINT_CLAIM,
     oc_check_claim, "CLAIMS-1 CLAIMS-3", OC_EVERY_CASE},
    {"declaration", "The definition declares no less than the contract asks.", OC_POINT_CLAIM,
     oc_check_declaration, "DEFINITIONS-2", OC_EVERY_CASE},
    {"shape", "Prepare states the oracle's types and shapes, and a workspace that can be.",
     OC_POINT_PREPARED, oc_check_shape, "SHAPES-1 SHAPES-2", OC_EVERY_CASE},
    {OC_CHECK_GUARD, "Nothing around outputs, inputs and workspace is touched.", OC_POINT_RAN,
     oc_check_guard, "MEMORY-1 MEMORY-3 MEMORY-5", OC_EVERY_CASE},
    {OC_CHECK_INPUTS, "Inputs are left as they were.", OC_POINT_COMPLETED, oc_check_inputs,
     "MEMORY-2", OC_EVERY_CASE},
    {OC_CHECK_VALUES, "Outputs agree with the oracle as the contract's judge says.",
     OC_POINT_RAN, oc_check_values, "VALUES-1 VALUES-5 MEMORY-7", OC_EVERY_CASE},
    {"invariants", "Outputs have the properties that the contract lists.", OC_POINT_RAN,
     oc_check_invariants, "VALUES-2", OC_EVERY_CASE},
    {"determinism", "Repeated runs give the same bits, as far as declared.", OC_POINT_DONE,
     oc_check_determinism, "DETERMINISM-1 DETERMINISM-2", OC_EVERY_CASE},
    {OC_CHECK_CONCURRENCY, "Two threads that execute one REENTRANT object at once are right.",
     OC_POINT_DONE, oc_check_concurrency, "THREADS-1", OC_EVERY_CASE},
    {OC_CHECK_PREPARES, "Execute takes no memory from the host: prepare has stated it.",
     OC_POINT_COMPLETED, oc_check_prepares, "MEMORY-11", OC_EVERY_CASE},
    {OC_CHECK_ALIGNMENT,
     "No argument need be better aligned than declared.",
     OC_POINT_DONE,
     oc_check_alignment,
     "MEMORY-8",
     {2, 24, OC_REACH_ALL}},
    {OC_CHECK_STRIDES,
     "Inputs declared strided are read by their strides, whatever these are.",
     OC_POINT_DONE,
     oc_check_strides,
     "MEMORY-6",
     {2, 24, OC_REACH_ALL}},
    {OC_CHECK_STATE,
     "Runs with other inputs, and other kernels, in between change nothing.",
     OC_POINT_DONE,
     oc_check_state,
     "VALUES-6 LIFECYCLE-7",
     {2, 8, 64}},
    {OC_CHECK_UNKNOWN_SHAPES,
     "A node claimed with unknown dimensions runs with those of the case, prepared twice.",
     OC_POINT_DONE,
     oc_check_unknown_shapes,
     "LIFECYCLE-8",
     {2, 8, 64}},
    {OC_CHECK_TWO_SHAPES,
     "Prepared for two shapes, one prepare each, a kernel runs either one in any order.",
     OC_POINT_DONE,
     oc_check_two_shapes,
     "LIFECYCLE-8 SHAPES-3",
     {2, 8, 64}},
    {OC_CHECK_CONSTANTS,
     "Constants are not written, and not read once released.",
     OC_POINT_DONE,
     oc_check_constants,
     "MEMORY-13",
     {2, 8, 64}},
    {OC_CHECK_PRECISION,
     "Declared precision is the contract's; float32 accumulation is given where it is asked.",
     OC_POINT_DONE,
     oc_check_precision,
     "VALUES-3 VALUES-4",
     {2, 8, 64}},
    {OC_CHECK_ORDER,
     "Streams keep their order, events hold work back, destroying a stream drains it.",
     OC_POINT_DONE,
     oc_check_order,
     "STREAMS-1 STREAMS-4 STREAMS-5 STREAMS-7",
     {1, 6, 32}},
    {OC_CHECK_CAPTURE,
     "A run captured once is replayed a hundred times, with memory rebound.",
     OC_POINT_DONE,
     oc_check_capture,
     "CAPTURE-1 CAPTURE-2 CAPTURE-3",
     {1, 6, 32}},
    {OC_CHECK_ALLOCATION,
     "Each allocation from the host may fail, and nothing is lost.",
     OC_POINT_DONE,
     oc_check_allocation,
     "ERRORS-3",
     {1, 4, 16}},
    {OC_CHECK_LEAK,
     "Kernels made and destroyed again and again, and a provider when closed, leave nothing.",
     OC_POINT_DONE,
     oc_check_leak,
     "MEMORY-10",
     {1, 4, 16}},
    {OC_CHECK_THREAD_COUNT,
     "Declared bitwise, another instance with other threads gives the same bits.",
     OC_POINT_DONE,
     oc_check_thread_count,
     "DETERMINISM-2",
     {1, 6, 32}},
    {OC_CHECK_STATUS, "Create, prepare and execute of a claimed node succeed.", OC_POINT_OTHER,
     NULL, "CLAIMS-2", OC_EVERY_CASE},
    {OC_CHECK_UNWRITTEN, "Every element of an output is written.", OC_POINT_OTHER, NULL,
     "MEMORY-4", OC_EVERY_CASE},
    {OC_CHECK_ASYNC, "Inputs are not touched after the completion.", OC_POINT_OTHER, NULL,
     "STREAMS-2", OC_EVERY_CASE},
    {OC_CHECK_ERROR,
     "A node outside the contract is refused with its status, outputs untouched, and the "
     "kernel "
     "stays usable.",
     OC_POINT_OTHER, NULL, "ERRORS-1 ERRORS-2 ERRORS-7 STREAMS-8", OC_EVERY_CASE},
    {OC_CHECK_TRIVIAL, "The expected values could not be met by chance.", OC_POINT_OTHER, NULL,
     NULL, OC_EVERY_CASE},
    {OC_CHECK_ORACLE, "The oracle has an answer.", OC_POINT_OTHER, NULL, NULL, OC_EVERY_CASE},
    {OC_CHECK_ENVIRONMENT,
     "Calls leave floating-point control, signals and the process as they were.",
     OC_POINT_OTHER, NULL, "THREADS-3 THREADS-4", OC_EVERY_CASE},
    {OC_CHECK_PROCESS, "The provider lets the process live.", OC_POINT_OTHER, NULL, "ERRORS-4",
     OC_EVERY_CASE},
    {OC_CHECK_TIME, "The case ends within the time allowed.", OC_POINT_OTHER, NULL, "ERRORS-5",
     OC_EVERY_CASE},
    {OC_CHECK_LIFECYCLE, "Opening and closing succeed, and nothing is left behind.",
     OC_POINT_OTHER, NULL,
     "LIFECYCLE-1 LIFECYCLE-2 LIFECYCLE-3 LIFECYCLE-4 LIFECYCLE-5 LIFECYCLE-6 LIFECYCLE-9 "
     "LIFECYCLE-10 MEMORY-9 MEMORY-10 THREADS-5 NEGOTIATION-6",
     OC_EVERY_CASE},
    {OC_CHECK_NEGOTIATION, "Hosts of other versions are served or refused as the ABI says.",
     OC_POINT_OTHER, NULL,
     "NEGOTIATION-1 NEGOTIATION-2 NEGOTIATION-3 NEGOTIATION-4 NEGOTIATION-5 NEGOTIATION-7 "
     "NEGOTIATION-8",
     OC_EVERY_CASE},
    {OC_CHECK_STREAMS,
     "Streams keep their order, events hold work back, queries tell the truth.", OC_POINT_OTHER,
     NULL, "STREAMS-3 STREAMS-4 STREAMS-5 STREAMS-6 STREAMS-7 STREAMS-9 STREAMS-10",
     OC_EVERY_CASE},
    {OC_CHECK_SCHEMA, "Definitions agree with the schemas of their operators.", OC_POINT_OTHER,
     NULL, "DEFINITIONS-3", OC_EVERY_CASE},
    {OC_CHECK_POST_OPS, "Each operator that a definition declares as absorbed is absorbed.",
     OC_POINT_OTHER, NULL, "DEFINITIONS-4", OC_EVERY_CASE},
    {OC_CHECK_REWRITE, "What a rewrite builds gives the results of what it replaces.",
     OC_POINT_OTHER, NULL, "REWRITES-1 REWRITES-2", OC_EVERY_CASE},
    {OC_CHECK_RECORD, "Calls that succeed leave the error record alone, and none is needed.",
     OC_POINT_OTHER, NULL, "ERRORS-6", OC_EVERY_CASE},
    {OC_CHECK_GROUPS, "Groups of nodes are claimed steadily and give what their nodes give.",
     OC_POINT_OTHER, NULL, "GROUPS-1 GROUPS-2 GROUPS-3 GROUPS-4 CLAIMS-4", OC_EVERY_CASE},
    {OC_CHECK_OPERATOR, "Kernels are of operators that exist, in opsets that have them.",
     OC_POINT_OTHER, NULL, "DEFINITIONS-1", OC_EVERY_CASE},
    {OC_CHECK_REQUIRE, "What a release must support is claimed.", OC_POINT_OTHER, NULL,
     "CLAIMS-5", OC_EVERY_CASE},
    {OC_CHECK_WAIVERS, "A waiver is about a failure that is still there, and has not expired.",
     OC_POINT_OTHER, NULL, NULL, OC_EVERY_CASE},
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

static uint16_t reach_of(const oc_check *check, oc_tier tier) {
  const uint16_t reaches[] = {check->reach.merge, check->reach.full, check->reach.exhaustive};
  return reaches[(size_t)tier < sizeof reaches / sizeof *reaches ? (size_t)tier : 1];
}

// Whether the check is asked of this case: side trials and error cases ask the cheap ones only.
static bool reaches(const oc_trial *trial, const oc_check *check) {
  const oc_bench *bench = trial->bench;
  const uint16_t reach = reach_of(check, bench->tier);
  if (reach == OC_REACH_ALL) return true;
  const oc_case *items = bench->cases->items;
  if (!bench->samples || trial->item < items || trial->item >= items + bench->cases->count) {
    return false;
  }
  return oc_sample_takes(bench->samples[trial->item - items], reach);
}

bool oc_checks_ask(oc_trial *trial, oc_point point) {
  oc_checks_note_point(trial->result, point);
  if (!oc_check_environment(trial)) return false;
  for (size_t i = 0; i < sizeof kChecks / sizeof *kChecks; ++i) {
    if (kChecks[i].point != point || !kChecks[i].run) continue;
    if (!reaches(trial, &kChecks[i])) continue;
    trial->result->checks |= (uint64_t)1 << i;
    if (!kChecks[i].run(trial)) return false;
  }
  return true;
}

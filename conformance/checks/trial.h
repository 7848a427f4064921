// SPDX-License-Identifier: Apache-2.0
//
// One case on trial: the inputs, what the oracle expects, the candidate's kernel, and what the
// runs have given. Checks read it and end it.
#ifndef OC_CHECKS_TRIAL_H_
#define OC_CHECKS_TRIAL_H_

#include "cases/array.h"
#include "checks/sample.h"
#include "compare/compare.h"
#include "runner/environment.h"
#include "runner/kernel.h"
#include "runner/launch.h"
#include "runner/result.h"

// What a worker judges with: both providers opened, the case list, the rules.
typedef struct oc_bench {
  oc_target oracle;
  oc_target candidate;
  oc_target_options candidate_options;  // with which another instance is opened
  oc_beacon *beacon;
  const oc_cases *cases;
  oc_profile_id profile;
  oc_tier tier;
  const oc_sample *samples;    // one per case, or NULL: no case is put to sampled checks
  oc_environment environment;  // of the thread, before any provider was loaded
} oc_bench;

// What the oracle says about a case.
typedef struct oc_expected {
  oc_array outputs[OC_NODE_MAX_OUTPUTS];
  size_t count;
  double *magnitude[OC_NODE_MAX_OUTPUTS];  // judge dot: b per element, else NULL
  double *wide[OC_NODE_MAX_OUTPUTS];       // judge dot: unrounded values, or NULL
  double *deviation[OC_NODE_MAX_OUTPUTS];  // judge conditioned, else NULL
  double *lower[OC_NODE_MAX_OUTPUTS];  // judge quantised: both ways to decide a tie, or NULL
  double *upper[OC_NODE_MAX_OUTPUTS];
  oc_random_law laws[OC_NODE_MAX_OUTPUTS];  // judge random
  bool has_law[OC_NODE_MAX_OUTPUTS];
  double *law_numbers[OC_NODE_MAX_OUTPUTS];  // what laws[i].of points to
  oc_array named;                            // judge index: the input whose elements are named
} oc_expected;

// The runs of one case, in this order.
typedef enum oc_run_kind {
  OC_RUN_FIRST,     // data against the rear guard; inputs without access after the completion
  OC_RUN_AGAIN,     // the same addresses once more
  OC_RUN_MOVED,     // data against the front guard; inputs overwritten after the completion
  OC_RUN_CONSTANT,  // every input but the first is a constant of the graph
  OC_RUN_LAYOUT,    // the first private layouts that the kernel offers
  OC_RUN_CONSTANT_LAYOUT,  // both
  OC_RUN_CONCURRENT,       // two threads at once, see concurrency.c
  OC_RUN_IN_PLACE,         // an output in the memory of an input, as the definition allows
  // Of side trials (side.h), one check each.
  OC_RUN_STRIDED,
  OC_RUN_MISALIGNED,
  OC_RUN_STATE,
  OC_RUN_ORDER,
  OC_RUN_CROSS,
  OC_RUN_FLIGHT,
  OC_RUN_REPLAY,
  OC_RUN_UNKNOWN,
  OC_RUN_TWO_SHAPES,
  OC_RUN_RELEASED,
  OC_RUN_STRICT,
  OC_RUN_SCARCE,
  OC_RUN_CYCLE,
  OC_RUN_THREADS,
  OC_RUN_CHAINED,         // with operators behind the node, see chained.h
  OC_RUN_CHAINED_LAYOUT,  // and with private layouts
  OC_RUN_COUNT
} oc_run_kind;

#define OC_CHAIN_MAX_CHOICES 32

// One operator of a chain behind the node.
typedef struct oc_link {
  const struct oc_post *post;
  int32_t inputs[4];
  int32_t count;
  ops_attribute attributes[2];
  size_t attribute_count;
} oc_link;

// Operators behind the node while they are run; empty else.
typedef struct oc_chain {
  oc_link links[OC_NODE_MAX_POSTS];
  ops_post_op views[OC_NODE_MAX_POSTS];
  size_t count;
  uint64_t constants;       // inputs appended for it that are constants
  uint64_t node_constants;  // of the node's own
  double *lower, *upper;    // what output 0 may be
  oc_array expected;        // the middle of that
  char text[64];            // "Add, Relu"
} oc_chain;

typedef struct oc_trial {
  oc_bench *bench;
  const oc_case *item;
  oc_result *result;
  oc_inputs inputs;
  oc_array shapes[OC_NODE_MAX_OUTPUTS];  // of the outputs, before the oracle has run
  oc_expected expected;
  oc_kernel kernel;
  uint64_t constants;  // bit i: the kernel has seen input i as a constant
  bool alike;  // inputs repeat elements: the errors of results are no independent sample
  oc_launch launches[OC_RUN_COUNT];  // stay until the kernel is destroyed: see retire_launch
  oc_launch *launch;                 // that of the current run
  oc_run_kind run;
  oc_chain chain;
  oc_array got[OC_RUN_COUNT][OC_NODE_MAX_OUTPUTS];
  uint64_t first_flags;                 // of the definition that the first run was of
  oc_array early[OC_NODE_MAX_OUTPUTS];  // of the first run, as they were at the completion
} oc_trial;

const char *oc_run_name(oc_run_kind run);  // "inputs as constants", for messages

// Destroys the kernel's objects, then frees the memory that it ran on.
void oc_trial_close_kernel(oc_trial *trial);

// Frees all that a trial holds, but not the trial itself.
void oc_trial_finish(oc_trial *trial);

// Bit i: input i is there and not the first one, so that graphs may have it as a constant.
uint64_t oc_trial_weights(const oc_trial *trial);

// Runs case number `index` of the bench from claim to verdict and fills `result`.
void oc_trial_run(oc_bench *bench, uint32_t index, oc_result *result);

// The same up to the claim: PASS means claimed. Neither oracle nor kernel is asked.
void oc_trial_claim(oc_bench *bench, uint32_t index, oc_result *result);

// Ends the trial with a status; see oc_result_end.
#define oc_trial_end(trial, status, check, ...) \
  (oc_result_end((trial)->result, status, check, __VA_ARGS__) != 0)

#endif  // OC_CHECKS_TRIAL_H_

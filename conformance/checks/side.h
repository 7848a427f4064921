// SPDX-License-Identifier: Apache-2.0
//
// A side trial: the case of a trial once more, with a kernel, inputs or memory of its own, for
// checks that do something else with it between or instead of the runs of the table. It shares
// bench and result with its trial; what goes wrong in it is reported under the check that made
// it. Expected values that prove nothing (UNTRUSTED) do not count here: that is a matter of the
// trial itself.
#ifndef OC_CHECKS_SIDE_H_
#define OC_CHECKS_SIDE_H_

#include "checks/trial.h"

typedef struct oc_side {
  oc_trial own;       // what checks read: inputs and expected are views until they are drawn
  oc_trial *trial;    // the one it belongs to
  const char *check;  // name of the check that failures are reported under
  bool drawn;         // inputs and expected are its own
  bool borrowed;      // kernel and prepared are the trial's
} oc_side;

// NULL: no memory; the trial has then ended.
oc_side *oc_side_create(oc_trial *trial, oc_run_kind run, const char *check);
void oc_side_destroy(oc_side *side);  // accepts NULL

// Inputs with other contents of the same types and shapes, and what the oracle expects of them.
// *out_differ false: there are none that differ, and nothing was changed.
bool oc_side_draw(oc_side *side, bool *out_differ);

// Another case of the same node: its shapes and contents, but for constants, whose contents
// stay the trial's. *out_taken false: the oracle has no answer, and nothing was changed.
bool oc_side_take(oc_side *side, const oc_case *other, bool *out_taken);

// Inputs of its own with the trial's contents, to be changed before oc_side_expect, which asks
// the oracle about them.
bool oc_side_copy(oc_side *side);
bool oc_side_expect(oc_side *side);

// Uses the trial's kernel and prepared object; its inputs are the side's.
void oc_side_borrow(oc_side *side);

// A kernel of its own. *out_claimed: whether the node, seen so, is claimed.
bool oc_side_claim(oc_side *side, const oc_node_options *options, bool *out_claimed);
bool oc_side_create_kernel(oc_side *side);
bool oc_side_prepare(oc_side *side);
// Destroys prepared and kernel, if they are its own, and its memory.
void oc_side_close(oc_side *side);

// Memory for a launch, replacing an earlier one.
bool oc_side_open(oc_side *side, oc_place place);
bool oc_side_load(oc_side *side, unsigned poison);
// Load, execute on stream number `stream`, and judge.
bool oc_side_run(oc_side *side, unsigned poison, int32_t stream);
// Reads the outputs and judges them: surroundings and values.
bool oc_side_judge(oc_side *side);

// Compares the outputs that were read with those of the trial's run `run`, bit for bit.
bool oc_side_same_bits(oc_side *side, oc_run_kind run);

// Ends the trial: FAIL under the side's check, the name of its run first.
bool oc_side_fail(oc_side *side, const char *step, int32_t status, const ops_error *error);
#define oc_side_end(side, ...) \
  oc_trial_end((side)->trial, OC_STATUS_FAIL, (side)->check, __VA_ARGS__)

// Contents that prepare of the trial's kernel has seen stay; all others are those of `item`.
// *out_differ: whether any differ.
int32_t oc_side_draw_inputs(const oc_trial *trial, oc_inputs *inputs, bool *out_differ,
                            ops_error *error);

#endif  // OC_CHECKS_SIDE_H_

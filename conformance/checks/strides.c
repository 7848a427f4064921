// SPDX-License-Identifier: Apache-2.0
//
// Check `strides`: inputs that the definition declares strided are read by their strides. Three
// ways in turn: permuted with gaps that hold poison, backwards, and repeated by a stride of 0.
// Check `alignment`: no address is better aligned than the definition asks.
#include <stdlib.h>

#include "cases/element.h"
#include "checks/check.h"
#include "checks/expected.h"
#include "checks/side.h"
#include "ops_support/error.h"

static bool is_strided(const oc_trial *trial, size_t i) {
  const ops_arg_def *def = oc_kernel_input_def(&trial->kernel, i);
  return def && (def->flags & OPS_ARG_STRIDED) && !(def->flags & OPS_ARG_SHAPE_INPUT) &&
         !(trial->constants >> i & 1);
}

// Arranges what can be. A repeated input needs repeated contents: those are then its own.
static size_t arrange_inputs(oc_side *side, oc_arrange_kind kind, oc_arrangement *all) {
  size_t count = 0;
  for (size_t i = 0; i < side->own.inputs.count; ++i) {
    oc_array *array = &side->own.inputs.items[i];
    if (!is_strided(side->trial, i) || !oc_arrange(kind, array, &all[i])) continue;
    if (kind == OC_ARRANGE_REPEATED) oc_arrange_repeat(array);
    ++count;
  }
  return count;
}

static bool run_arranged(oc_side *side, const oc_arrangement *all) {
  bool claimed;
  const oc_node_options options = {.outputs = side->trial->shapes};
  if (!oc_side_claim(side, &options, &claimed)) return false;
  if (!claimed) return oc_side_end(side, "asked again, the node is not claimed");
  oc_kernel_arrange(&side->own.kernel, all);
  return oc_side_create_kernel(side) && oc_side_prepare(side) &&
         oc_side_open(side, OC_PLACE_END) && oc_side_run(side, 0, 0);
}

static bool check_kind(oc_trial *trial, oc_arrange_kind kind) {
  oc_arrangement *all = calloc(OC_CASE_MAX_TENSORS, sizeof *all);
  oc_side *side = oc_side_create(trial, OC_RUN_STRIDED, OC_CHECK_STRIDES);
  bool good = all && side;
  if (good) side->own.alike = kind == OC_ARRANGE_REPEATED;
  if (good && kind == OC_ARRANGE_REPEATED) good = oc_side_copy(side);
  if (good && arrange_inputs(side, kind, all) > 0) {
    if (kind == OC_ARRANGE_REPEATED) good = oc_side_expect(side);
    good = good && run_arranged(side, all);
  }
  oc_side_destroy(side);
  free(all);
  return good;
}

bool oc_check_strides(oc_trial *trial) {
  bool any = false;
  for (size_t i = 0; i < trial->inputs.count; ++i) any = any || is_strided(trial, i);
  if (!any || trial->constants) return true;
  for (oc_arrange_kind kind = 0; kind < OC_ARRANGE_COUNT; ++kind) {
    if (!check_kind(trial, kind)) return false;
  }
  return true;
}

bool oc_check_alignment(oc_trial *trial) {
  oc_side *side = oc_side_create(trial, OC_RUN_MISALIGNED, OC_CHECK_ALIGNMENT);
  if (!side) return false;
  oc_side_borrow(side);
  const bool good = oc_side_open(side, OC_PLACE_ODD) && oc_side_run(side, 1, 0);
  oc_side_destroy(side);
  return good;
}

// SPDX-License-Identifier: Apache-2.0
//
// Check `state`: a run depends on its arguments alone. Between runs on the case's own inputs
// (A) lie runs on others (B), of the same prepared object and of a second kernel of the same
// node: A, B, A, B', A. What the oracle says of A and B holds for each.
// The view of the node that the second kernel was created from is spoilt afterwards: it was
// lent for the call.
#include "checks/check.h"
#include "checks/side.h"
#include "ops_support/error.h"

static bool own_kernel(oc_side *side) {
  bool claimed;
  const oc_node_options options = {.constants = side->trial->constants,
                                   .outputs = side->trial->shapes};
  if (!oc_side_claim(side, &options, &claimed)) return false;
  if (!claimed) return oc_side_end(side, "asked again, the node is not claimed");
  if (!oc_side_create_kernel(side)) return false;
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = oc_kernel_renew_view(&side->own.kernel, &options, &error);
  if (status != OPS_OK) return oc_side_fail(side, "a view of the node", status, &error);
  return oc_side_prepare(side);
}

static bool run(oc_side *side) {
  return oc_side_open(side, OC_PLACE_END) && oc_side_run(side, 2, 0);
}

static bool alternate(oc_side *same, oc_side *other) {
  oc_side_borrow(same);
  oc_side_borrow(other);
  if (!run(other) || !run(same)) return false;
  oc_side_close(other);
  return own_kernel(other) && run(other) && run(same);
}

bool oc_check_state(oc_trial *trial) {
  oc_side *same = oc_side_create(trial, OC_RUN_STATE, OC_CHECK_STATE);
  oc_side *other = same ? oc_side_create(trial, OC_RUN_STATE, OC_CHECK_STATE) : NULL;
  bool differ = false;
  bool good = other && oc_side_draw(other, &differ);
  if (good && differ) good = alternate(same, other);
  oc_side_destroy(other);
  oc_side_destroy(same);
  return good;
}

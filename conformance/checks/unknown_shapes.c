// SPDX-License-Identifier: Apache-2.0
//
// Check `unknown_shapes`: a claim binds whatever the dimensions turn out to be. The node is
// claimed and created with its ranks alone, then prepared for the shapes of this case, run, and
// prepared and run again while the first prepared object lives. A definition of the class
// STATIC or BOUNDED may refuse such a node.
#include "checks/check.h"
#include "checks/side.h"
#include "ops_support/error.h"

// A second prepared object of the side's kernel, then the first one again.
static bool prepare_again(oc_side *side) {
  ops_error error = OPS_ERROR_INIT;
  oc_kernel *kernel = &side->own.kernel;
  ops_prepared *first = kernel->prepared;
  const ops_prepare_reply reply = kernel->reply;
  kernel->prepared = NULL;
  const int32_t status = oc_kernel_prepare(kernel, NULL, 0, &error);
  ops_prepared *second = kernel->prepared;
  kernel->prepared = first;
  if (status != OPS_OK) return oc_side_fail(side, "prepare once more", status, &error);
  kernel->reply = reply;
  const bool good = oc_side_run(side, 2, 1);
  kernel->def->api->prepared_destroy(second);
  return good && oc_side_run(side, 1, 0);
}

bool oc_check_unknown_shapes(oc_trial *trial) {
  bool claimed = false;
  const oc_node_options options = {.constants = trial->constants, .unknown_dims = true};
  oc_side *side = oc_side_create(trial, OC_RUN_UNKNOWN, OC_CHECK_UNKNOWN_SHAPES);
  bool good = side && oc_side_claim(side, &options, &claimed);
  if (good && claimed) {
    good = oc_side_create_kernel(side) && oc_side_prepare(side) &&
           oc_side_open(side, OC_PLACE_START) && oc_side_run(side, 1, 0) && prepare_again(side);
  }
  oc_side_destroy(side);
  return good;
}

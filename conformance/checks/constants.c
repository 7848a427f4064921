// SPDX-License-Identifier: Apache-2.0
//
// Check `constants`: constants are read only, and not at all once the kernel has released them
// (released_constants, after create) or said that execute does not read them (unread_inputs,
// after prepare). Each lies in guarded memory, so that an access is seen.
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "checks/side.h"
#include "ops_support/error.h"

typedef struct shelf {
  oc_guard guards[OC_CASE_MAX_TENSORS];
} shelf;

static uint64_t weights_of(const oc_trial *trial) {
  uint64_t mask = 0;
  for (size_t i = 1; i < trial->inputs.count; ++i) {
    const oc_array *array = &trial->inputs.items[i];
    if (array->present && array->bytes > 0) mask |= (uint64_t)1 << i;
  }
  return mask;
}

static bool fill_shelf(oc_side *side, shelf *shelf, uint64_t mask) {
  ops_error error = OPS_ERROR_INIT;
  for (size_t i = 0; i < side->own.inputs.count; ++i) {
    const oc_array *array = &side->own.inputs.items[i];
    if (!(mask >> i & 1)) continue;
    int32_t status = oc_guard_init(&shelf->guards[i], array->bytes, sizeof(int64_t), 0,
                                   OC_PLACE_END, OC_ROLE_CONSTANT, (int32_t)i, &error);
    if (status == OPS_OK) {
      memcpy(shelf->guards[i].data, array->data, array->bytes);
      status = oc_guard_protect(&shelf->guards[i], OC_ACCESS_READ, &error);
    }
    if (status != OPS_OK) return oc_side_fail(side, "memory for a constant", status, &error);
    oc_node_view_move_constant(side->own.kernel.view, i, shelf->guards[i].data);
  }
  return true;
}

static bool take_away(oc_side *side, shelf *shelf, uint64_t mask) {
  ops_error error = OPS_ERROR_INIT;
  for (size_t i = 0; i < side->own.inputs.count; ++i) {
    if (!(mask >> i & 1) || !shelf->guards[i].map) continue;
    const int32_t status = oc_guard_protect(&shelf->guards[i], OC_ACCESS_NONE, &error);
    if (status != OPS_OK) return oc_side_fail(side, "memory for a constant", status, &error);
  }
  return true;
}

// Arguments that execute does not read: no access in host memory, other contents elsewhere.
static bool hide_arguments(oc_side *side, uint64_t mask) {
  ops_error error = OPS_ERROR_INIT;
  for (size_t i = 0; i < side->own.inputs.count; ++i) {
    oc_block *block = &side->own.launch->inputs[i];
    if (!(mask >> i & 1) || block->size == 0) continue;
    block->guard.role = OC_ROLE_CONSTANT;
    const int32_t status = oc_launch_hide_input(side->own.launch, i, &error);
    if (status != OPS_OK) return oc_side_fail(side, "memory for a constant", status, &error);
  }
  return true;
}

static bool run(oc_side *side, shelf *shelf, uint64_t mask) {
  ops_error error = OPS_ERROR_INIT;
  oc_kernel *kernel = &side->own.kernel;
  const ops_kernel_api *api = kernel->def->api;
  if (!fill_shelf(side, shelf, mask) || !oc_side_create_kernel(side)) return false;
  const uint64_t released =
      api->released_constants ? api->released_constants(kernel->kernel) : 0;
  if (released & ~mask) {
    return oc_side_end(side,
                       "released_constants: expected inputs that are constants (0x%llx), "
                       "found 0x%llx",
                       (unsigned long long)mask, (unsigned long long)released);
  }
  if (!take_away(side, shelf, released) || !oc_side_prepare(side)) return false;
  const uint64_t unread = (released | kernel->reply.unread_inputs) & mask;
  if (!oc_side_open(side, OC_PLACE_END) || !oc_side_load(side, 1) ||
      !take_away(side, shelf, unread) || !hide_arguments(side, unread)) {
    return false;
  }
  const int32_t status = oc_launch_execute(side->own.launch, 0, &error);
  if (status != OPS_OK) return oc_side_fail(side, "execute", status, &error);
  return oc_side_judge(side);
}

bool oc_check_constants(oc_trial *trial) {
  const uint64_t mask = weights_of(trial);
  if (mask == 0) return true;
  bool claimed = false;
  const oc_node_options options = {.constants = mask, .outputs = trial->shapes};
  oc_side *side = oc_side_create(trial, OC_RUN_RELEASED, OC_CHECK_CONSTANTS);
  shelf *shelf = calloc(1, sizeof *shelf);
  bool good = side && shelf && oc_side_claim(side, &options, &claimed);
  if (good && claimed) good = run(side, shelf, mask);
  oc_side_destroy(side);
  for (size_t i = 0; shelf && i < OC_CASE_MAX_TENSORS; ++i) oc_guard_finish(&shelf->guards[i]);
  free(shelf);
  return good;
}

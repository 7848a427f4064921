// SPDX-License-Identifier: Apache-2.0
//
// Check `allocation`: each allocation from the host table in turn fails. The call then ends
// with OUT_OF_MEMORY, or does without; nothing is lost, and the same calls succeed afterwards.
#include "checks/check.h"
#include "checks/side.h"
#include "ops_support/error.h"

#define MOST_FAILURES 64

static oc_target *target_of(const oc_side *side) {
  return &side->trial->bench->candidate;
}

// Create, prepare and execute on a kernel that is claimed. *out_step: where it ended.
static int32_t attempt(oc_side *side, const char **out_step, ops_error *error) {
  oc_trial *own = &side->own;
  *out_step = "create";
  OPS_RETURN_IF_ERROR(oc_kernel_create(&own->kernel, error));
  *out_step = "prepare";
  OPS_RETURN_IF_ERROR(oc_kernel_prepare(&own->kernel, NULL, 0, error));
  *out_step = "memory for the arguments";
  OPS_RETURN_IF_ERROR(oc_launch_init(own->launch, &own->kernel, OC_PLACE_END, NULL, error));
  OPS_RETURN_IF_ERROR(oc_launch_load(own->launch, &own->inputs, 0, error));
  *out_step = "execute";
  return oc_launch_execute(own->launch, 0, error);
}

static bool claim(oc_side *side) {
  bool claimed;
  const oc_node_options options = {.constants = side->trial->constants,
                                   .outputs = side->trial->shapes};
  if (!oc_side_claim(side, &options, &claimed)) return false;
  return claimed || oc_side_end(side, "asked again, the node is not claimed");
}

static bool refused_well(oc_side *side, uint64_t number, const char *step, int32_t status,
                         const ops_error *error) {
  if (status == OPS_OK) return true;
  if (status != OPS_ERROR_OUT_OF_MEMORY) {
    return oc_side_end(
        side, "allocation %llu from the host fails: expected %s from %s, found %s: %.300s",
        (unsigned long long)number, ops_status_name(OPS_ERROR_OUT_OF_MEMORY), step,
        ops_status_name(status), error->message);
  }
  if (error->code == status && error->message_size > 0) return true;
  return oc_side_end(side,
                     "allocation %llu from the host fails: %s answers %s but leaves the error "
                     "record with code %d and %u bytes of message",
                     (unsigned long long)number, step, ops_status_name(status), error->code,
                     error->message_size);
}

// The run in which allocation `number`, counted from its start, fails.
static bool fail_one(oc_side *side, uint64_t number) {
  oc_target *target = target_of(side);
  ops_error error = OPS_ERROR_INIT, later = OPS_ERROR_INIT;
  const char *step;
  if (!claim(side)) return false;
  atomic_store(&target->allocation_to_fail, atomic_load(&target->allocations_made) + number);
  const int32_t status = attempt(side, &step, &error);
  atomic_store(&target->allocation_to_fail, 0);
  oc_side_close(side);
  const int32_t renewed = oc_target_renew_streams(target, &later);
  if (renewed != OPS_OK) return oc_side_fail(side, "creating a stream", renewed, &later);
  return refused_well(side, number, step, status, &error);
}

// A run in which nothing fails. *out_made: how many allocations it took; *out_left: how many
// blocks are held when its objects are gone.
static bool run_rich(oc_side *side, uint64_t *out_made, int64_t *out_left) {
  oc_target *target = target_of(side);
  ops_error error = OPS_ERROR_INIT;
  const uint64_t before = atomic_load(&target->allocations_made);
  const char *step;
  if (!claim(side)) return false;
  const int32_t status = attempt(side, &step, &error);
  *out_made = atomic_load(&target->allocations_made) - before;
  if (status != OPS_OK) return oc_side_fail(side, step, status, &error);
  if (!oc_side_judge(side)) return false;
  oc_side_close(side);
  *out_left = atomic_load(&target->host_allocations);
  return true;
}

static bool fail_each(oc_side *side) {
  uint64_t made, again;
  int64_t before, after;
  if (!run_rich(side, &made, &before) || !run_rich(side, &made, &before)) return false;
  for (uint64_t i = 1; i <= made && i <= MOST_FAILURES; ++i) {
    if (!fail_one(side, i)) return false;
  }
  if (!run_rich(side, &again, &after)) return false;
  if (made == 0 || after <= before) return true;
  return oc_side_end(
      side,
      "after each of %llu allocations from the host had failed once, %lld block(s) "
      "are held that were not before",
      (unsigned long long)made, (long long)(after - before));
}

bool oc_check_allocation(oc_trial *trial) {
  oc_side *side = oc_side_create(trial, OC_RUN_SCARCE, OC_CHECK_ALLOCATION);
  const bool good = side && fail_each(side);
  oc_side_destroy(side);
  return good;
}

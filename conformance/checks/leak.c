// SPDX-License-Identifier: Apache-2.0
//
// Check `leak`: a kernel that is created, prepared, executed twice and destroyed again and
// again holds no more each time. Caches may grow at first; what grows in each of the last
// cycles is a leak.
#include "checks/check.h"
#include "checks/side.h"
#include "ops_support/error.h"

#define WARM_CYCLES 3
#define CYCLES 8

typedef enum stock { HEAP, HOST_BLOCKS, FILES, THREADS, DEVICE_BYTES, STOCK_COUNT } stock;

static const char *const kStocks[STOCK_COUNT] = {
    "bytes that malloc has given out", "blocks of the host table", "open files", "threads",
    "bytes of the device's memory in use"};

static uint64_t device_bytes(oc_target *target) {
  const ops_memory_api *memory = target->provider->memory;
  uint64_t sum = 0;
  for (int32_t kind = 0; memory && memory->stats && kind < OPS_MEMORY_KIND_COUNT; ++kind) {
    ops_memory_stats stats = {.struct_size = sizeof stats};
    if (!(target->info.memory_kinds & OPS_MEMORY_BIT(kind))) continue;
    if (memory->stats(target->device, kind, &stats, NULL) == OPS_OK) sum += stats.bytes_in_use;
  }
  return sum;
}

static void take_stock(oc_target *target, uint64_t stocks[STOCK_COUNT]) {
  stocks[HEAP] = oc_environment_heap();
  stocks[HOST_BLOCKS] = (uint64_t)atomic_load(&target->host_allocations);
  stocks[FILES] = oc_environment_files();
  stocks[THREADS] = oc_environment_threads();
  stocks[DEVICE_BYTES] = device_bytes(target);
}

static bool cycle(oc_side *side) {
  bool claimed;
  ops_error error = OPS_ERROR_INIT;
  const oc_node_options options = {.constants = side->trial->constants,
                                   .outputs = side->trial->shapes};
  if (!oc_side_claim(side, &options, &claimed)) return false;
  if (!claimed) return oc_side_end(side, "asked again, the node is not claimed");
  if (!oc_side_create_kernel(side) || !oc_side_prepare(side) ||
      !oc_side_open(side, OC_PLACE_END) || !oc_side_load(side, 0)) {
    return false;
  }
  for (int i = 0; i < 2; ++i) {
    const int32_t status = oc_launch_execute(side->own.launch, 0, &error);
    if (status != OPS_OK) return oc_side_fail(side, "execute", status, &error);
  }
  oc_side_close(side);
  return true;
}

bool oc_check_leak(oc_trial *trial) {
  oc_target *target = &trial->bench->candidate;
  uint64_t last[STOCK_COUNT], now[STOCK_COUNT];
  int growths[STOCK_COUNT] = {0};
  oc_side *side = oc_side_create(trial, OC_RUN_CYCLE, OC_CHECK_LEAK);
  bool good = side != NULL;
  for (int i = 0; good && i < WARM_CYCLES + CYCLES; ++i) {
    good = cycle(side);
    take_stock(target, now);
    for (int k = 0; k < STOCK_COUNT && i > WARM_CYCLES; ++k) growths[k] += now[k] > last[k];
    for (int k = 0; k < STOCK_COUNT; ++k) last[k] = now[k];
  }
  for (int k = 0; good && k < STOCK_COUNT; ++k) {
    if (growths[k] < CYCLES - 1) continue;
    good = oc_side_end(side, "%s: %s grow each time; %llu now", oc_run_name(OC_RUN_CYCLE),
                       kStocks[k], (unsigned long long)last[k]);
  }
  oc_side_destroy(side);
  return good;
}

// SPDX-License-Identifier: Apache-2.0
//
// Memory of one argument, wherever the provider wants it: guarded pages for host memory, an
// allocation of the provider with canaries around the data for every other kind. Device memory
// is reached through the provider's copies only, so reads out of bounds go unseen there.
#ifndef OC_RUNNER_BLOCK_H_
#define OC_RUNNER_BLOCK_H_

#include "runner/guard.h"
#include "runner/target.h"

typedef struct oc_block {
  oc_target *target;
  int32_t memory_kind;
  uint64_t size;
  oc_guard guard;  // host
  void *memory;    // other kinds: the allocation
  uint64_t memory_size;
  void *handle;     // as ops_tensor.memory
  uint64_t offset;  // as ops_tensor.byte_offset
} oc_block;

typedef struct oc_block_spec {
  int32_t memory_kind;
  uint64_t size;
  uint64_t alignment;
  uint64_t padding;
  oc_place place;
  oc_role role;
  int32_t index;
  int32_t usage;  // OPS_USAGE_…
} oc_block_spec;

int32_t oc_block_init(oc_block *block, oc_target *target, const oc_block_spec *spec,
                      ops_error *error);
void oc_block_finish(oc_block *block);

// Copies of the whole contents, complete when they return.
int32_t oc_block_write(oc_block *block, const void *data, ops_error *error);
int32_t oc_block_read(const oc_block *block, void *data, ops_error *error);

// Host memory: sets its rights. Others have none: OPS_OK.
int32_t oc_block_protect(oc_block *block, oc_access access, ops_error *error);

// *out_offset as oc_guard_intact says; *out_intact false if something around the data changed.
int32_t oc_block_intact(const oc_block *block, bool *out_intact, int64_t *out_offset,
                        ops_error *error);

// Fills a buffer in ordinary memory with poison number 0, 1, 2 …: NaN, 0xa5 bytes, 2^100.
void oc_block_poison(void *data, uint64_t size, unsigned pattern);
const char *oc_block_poison_name(unsigned pattern);

#endif  // OC_RUNNER_BLOCK_H_

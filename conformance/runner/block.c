// SPDX-License-Identifier: Apache-2.0
//
// Memory of arguments. A private allocation is laid out as canary, data, canary; the front
// canary is as long as the alignment, so that the byte offset of an argument is never zero.
#include "runner/block.h"

#include <stdlib.h>
#include <string.h>

#include "ops_support/checked.h"
#include "ops_support/error.h"

#define CANARY_SIZE 256
#define CANARY_BYTE 0xc5

// ---- Copies ---------------------------------------------------------------------------------

typedef struct piece {
  void *host;
  uint64_t offset;  // in the allocation
  uint64_t size;
  bool to_device;
} piece;

static int32_t copy_piece(const oc_block *block, const piece *part, ops_error *error) {
  oc_target *target = block->target;
  if (part->size == 0) return OPS_OK;
  const bool visible = block->memory_kind != OPS_MEMORY_DEVICE;
  if (visible) {
    char *at = (char *)block->memory + part->offset;
    if (part->to_device) memcpy(at, part->host, part->size);
    if (!part->to_device) memcpy(part->host, at, part->size);
    return OPS_OK;
  }
  ops_copy copy = {.struct_size = sizeof copy, .size = part->size};
  copy.source = part->to_device ? part->host : block->memory;
  copy.target = part->to_device ? block->memory : part->host;
  copy.source_offset = part->to_device ? 0 : part->offset;
  copy.target_offset = part->to_device ? part->offset : 0;
  copy.source_kind = part->to_device ? OPS_MEMORY_HOST : block->memory_kind;
  copy.target_kind = part->to_device ? block->memory_kind : OPS_MEMORY_HOST;
  const ops_stream_api *api = target->provider->stream;
  // At once and beside the streams: what a run has not finished yet is then seen.
  return api->copy(target->device, NULL, &copy, error);
}

// ---- Life -----------------------------------------------------------------------------------

static uint64_t front_of(uint64_t alignment) {
  return alignment > CANARY_SIZE ? alignment : CANARY_SIZE;
}

static int32_t write_canaries(oc_block *block, ops_error *error) {
  unsigned char canary[CANARY_SIZE];
  memset(canary, CANARY_BYTE, sizeof canary);
  const piece front = {canary, block->offset - CANARY_SIZE, CANARY_SIZE, true};
  const piece rear = {canary, block->offset + block->size, CANARY_SIZE, true};
  OPS_RETURN_IF_ERROR(copy_piece(block, &front, error));
  return copy_piece(block, &rear, error);
}

static int32_t init_private(oc_block *block, const oc_block_spec *spec, ops_error *error) {
  oc_target *target = block->target;
  uint64_t alignment = target->info.min_alignment ? target->info.min_alignment : 1;
  if (spec->alignment > alignment) alignment = spec->alignment;
  const uint64_t front = front_of(alignment);
  if (!ops_checked_add(spec->size, front + alignment + CANARY_SIZE + spec->padding,
                       &block->memory_size)) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an argument of %llu bytes",
                         (unsigned long long)spec->size);
  }
  if (spec->memory_kind == OPS_MEMORY_DEVICE && !target->provider->stream) {
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "provider '%.*s' wants arguments in device memory but has no stream "
                         "table; expected copy and synchronize to reach it",
                         OPS_STR_FMT(target->provider->name));
  }
  OPS_RETURN_IF_ERROR(target->provider->memory->allocate(target->device, spec->memory_kind,
                                                         block->memory_size, alignment,
                                                         spec->usage, &block->memory, error));
  block->handle = block->memory;
  block->offset = front;
  if (spec->place == OC_PLACE_ODD && front % (2 * alignment) == 0) block->offset += alignment;
  return write_canaries(block, error);
}

int32_t oc_block_init(oc_block *block, oc_target *target, const oc_block_spec *spec,
                      ops_error *error) {
  memset(block, 0, sizeof *block);
  block->target = target;
  block->memory_kind = spec->memory_kind;
  block->size = spec->size;
  if (!oc_target_is_host(target, spec->memory_kind)) {
    const int32_t status = init_private(block, spec, error);
    if (status != OPS_OK) oc_block_finish(block);
    return status;
  }
  OPS_RETURN_IF_ERROR(oc_guard_init(&block->guard, spec->size, spec->alignment, spec->padding,
                                    spec->place, spec->role, spec->index, error));
  // The offset is nonzero in one placement and zero in the other.
  const bool offset = spec->place != OC_PLACE_START;
  block->handle = offset ? block->guard.pages : block->guard.data;
  block->offset = offset ? (uint64_t)(block->guard.data - block->guard.pages) : 0;
  return OPS_OK;
}

void oc_block_finish(oc_block *block) {
  if (!block->target) return;  // zeroed: not even touched
  if (block->memory) {
    block->target->provider->memory->free(block->target->device, block->memory_kind,
                                          block->memory);
  }
  oc_guard_finish(&block->guard);
  memset(block, 0, sizeof *block);
}

// ---- Contents -------------------------------------------------------------------------------

int32_t oc_block_write(oc_block *block, const void *data, ops_error *error) {
  if (block->size == 0) return OPS_OK;
  if (block->memory) {
    const piece whole = {(void *)(uintptr_t)data, block->offset, block->size, true};
    return copy_piece(block, &whole, error);
  }
  memcpy(block->guard.data, data, block->size);
  return OPS_OK;
}

int32_t oc_block_read(const oc_block *block, void *data, ops_error *error) {
  if (block->size == 0) return OPS_OK;
  if (block->memory) {
    const piece whole = {data, block->offset, block->size, false};
    return copy_piece(block, &whole, error);
  }
  memcpy(data, block->guard.data, block->size);
  return OPS_OK;
}

int32_t oc_block_protect(oc_block *block, oc_access access, ops_error *error) {
  return block->guard.map ? oc_guard_protect(&block->guard, access, error) : OPS_OK;
}

int32_t oc_block_intact(const oc_block *block, bool *out_intact, int64_t *out_offset,
                        ops_error *error) {
  *out_intact = true;
  if (block->guard.map) {
    *out_intact = oc_guard_intact(&block->guard, out_offset);
    return OPS_OK;
  }
  if (!block->memory) return OPS_OK;
  unsigned char canary[CANARY_SIZE];
  const uint64_t starts[2] = {block->offset - CANARY_SIZE, block->offset + block->size};
  for (int i = 0; i < 2 && *out_intact; ++i) {
    const piece part = {canary, starts[i], CANARY_SIZE, false};
    OPS_RETURN_IF_ERROR(copy_piece(block, &part, error));
    for (int k = 0; k < CANARY_SIZE && *out_intact; ++k) {
      *out_intact = canary[k] == CANARY_BYTE;
      *out_offset = (int64_t)(starts[i] + (uint64_t)k) - (int64_t)block->offset;
    }
  }
  return OPS_OK;
}

// ---- Poison ---------------------------------------------------------------------------------

typedef struct poison_row {
  const char *name;
  unsigned char bytes[4];
} poison_row;

static const poison_row kPoisons[] = {
    {"NaN", {0xff, 0xff, 0xff, 0xff}},  // a NaN of every IEEE type, -1 as an integer
    {"0xa5", {0xa5, 0xa5, 0xa5, 0xa5}},
    {"2^100", {0x00, 0x00, 0x80, 0x71}},  // as a little-endian float
};
#define POISON_COUNT (sizeof kPoisons / sizeof *kPoisons)

void oc_block_poison(void *data, uint64_t size, unsigned pattern) {
  const poison_row *row = &kPoisons[pattern % POISON_COUNT];
  unsigned char *bytes = data;
  for (uint64_t i = 0; i < size; ++i) bytes[i] = row->bytes[i % 4];
}

const char *oc_block_poison_name(unsigned pattern) {
  return kPoisons[pattern % POISON_COUNT].name;
}

// SPDX-License-Identifier: Apache-2.0
//
// Are the tables complete? Rules are rows: a slot that is required, or that needs another.
#include <string.h>

#include "validation/layer.h"

enum { INSTANCE, MEMORY, STREAM, GROUP, KERNEL, TABLE_COUNT };

static const struct {
  const char *name;
  uint64_t size;
} kTables[TABLE_COUNT] = {[INSTANCE] = {"instance", sizeof(ops_instance_api)},
                          [MEMORY] = {"memory", sizeof(ops_memory_api)},
                          [STREAM] = {"stream", sizeof(ops_stream_api)},
                          [GROUP] = {"group", sizeof(ops_group_api)},
                          [KERNEL] = {"kernel", sizeof(ops_kernel_api)}};

typedef struct rule {
  int table;
  const char *slot;
  uint64_t offset;
  const char *needed_by;  // NULL: required
  uint64_t needed_by_offset;
} rule;

#define REQUIRED(table, type, slot) \
  { table, #slot, offsetof(type, slot), NULL, 0 }
#define WITH(table, type, slot, other) \
  { table, #slot, offsetof(type, slot), #other, offsetof(type, other) }

static const rule kRules[] = {
    REQUIRED(INSTANCE, ops_instance_api, create),
    REQUIRED(INSTANCE, ops_instance_api, destroy),
    REQUIRED(INSTANCE, ops_instance_api, device_count),
    REQUIRED(INSTANCE, ops_instance_api, device_open),
    REQUIRED(INSTANCE, ops_instance_api, device_close),
    REQUIRED(INSTANCE, ops_instance_api, device_info),
    REQUIRED(MEMORY, ops_memory_api, allocate),
    REQUIRED(MEMORY, ops_memory_api, free),
    WITH(MEMORY, ops_memory_api, allocate_async, free_async),
    WITH(MEMORY, ops_memory_api, free_async, allocate_async),
    REQUIRED(STREAM, ops_stream_api, create),
    REQUIRED(STREAM, ops_stream_api, destroy),
    REQUIRED(STREAM, ops_stream_api, synchronize),
    REQUIRED(STREAM, ops_stream_api, wait),
    REQUIRED(STREAM, ops_stream_api, copy),
    REQUIRED(STREAM, ops_stream_api, event_create),
    REQUIRED(STREAM, ops_stream_api, event_destroy),
    REQUIRED(STREAM, ops_stream_api, event_record),
    REQUIRED(STREAM, ops_stream_api, event_query),
    REQUIRED(STREAM, ops_stream_api, event_synchronize),
    WITH(STREAM, ops_stream_api, capture_begin, capture_end),
    WITH(STREAM, ops_stream_api, capture_end, capture_begin),
    WITH(STREAM, ops_stream_api, replay, capture_begin),
    WITH(STREAM, ops_stream_api, capture_destroy, capture_begin),
    REQUIRED(GROUP, ops_group_api, claim),
    REQUIRED(GROUP, ops_group_api, compile),
    REQUIRED(KERNEL, ops_kernel_api, create),
    REQUIRED(KERNEL, ops_kernel_api, destroy),
    REQUIRED(KERNEL, ops_kernel_api, prepare),
    REQUIRED(KERNEL, ops_kernel_api, prepared_destroy),
    REQUIRED(KERNEL, ops_kernel_api, execute),
};

static int is_filled(const void *table, uint64_t offset) {
  void *slot;
  memcpy(&slot, (const char *)table + offset, sizeof slot);
  return slot != NULL;
}

// Returns the number of faults.
static int check(val_layer *layer, int table, const void *functions, ops_str owner) {
  uint64_t size;
  int faults = 0;
  if (!functions) {
    if (table != INSTANCE && table != KERNEL) return 0;
    val_find(layer, "NEGOTIATION-6", "%.*s: the table '%s' is missing; it is required",
             OPS_STR_FMT(owner), kTables[table].name);
    return 1;
  }
  memcpy(&size, functions, sizeof size);
  if (size < kTables[table].size) {
    val_find(layer, "NEGOTIATION-6",
             "%.*s: table '%s' has struct_size %llu, expected at least %llu; build with this "
             "SDK",
             OPS_STR_FMT(owner), kTables[table].name, (unsigned long long)size,
             (unsigned long long)kTables[table].size);
    return 1;
  }
  for (size_t i = 0; i < sizeof kRules / sizeof *kRules; ++i) {
    const rule *row = &kRules[i];
    if (row->table != table || is_filled(functions, row->offset)) continue;
    if (row->needed_by && !is_filled(functions, row->needed_by_offset)) continue;
    ++faults;
    val_find(layer, "NEGOTIATION-6", "%.*s: slot %s.%s is empty; %s%s: fill it",
             OPS_STR_FMT(owner), kTables[table].name, row->slot,
             row->needed_by ? "it goes with " : "it is required",
             row->needed_by ? row->needed_by : "");
  }
  return faults;
}

int32_t val_check_tables(val_layer *layer, ops_error *error) {
  const ops_provider *inner = layer->inner;
  int faults = check(layer, INSTANCE, inner->instance, inner->name) +
               check(layer, MEMORY, inner->memory, inner->name) +
               check(layer, STREAM, inner->stream, inner->name) +
               check(layer, GROUP, inner->group, inner->name);
  for (uint64_t i = 0; i < inner->kernel_count; ++i) {
    const ops_kernel_def *def = OPS_AT(ops_kernel_def, inner->kernels, inner->kernel_stride, i);
    faults += check(layer, KERNEL, def->api, def->op);
  }
  if (!faults) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "provider '%.*s': %d fault(s) of its tables; the validation layer does "
                       "not wrap it",
                       OPS_STR_FMT(inner->name), faults);
}

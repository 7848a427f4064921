// SPDX-License-Identifier: Apache-2.0
//
// Allocations: a table by address, guarded bytes behind each, and the slots of the memory
// table.
#include <stdio.h>
#include <string.h>

#include "validation/layer.h"

// ---- The table ------------------------------------------------------------------------------

static uint32_t bucket_of(const void *address) {
  const uint64_t bits = (uint64_t)(uintptr_t)address >> 4;
  return (uint32_t)((bits * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % VAL_BUCKETS;
}

val_handle *val_memory_add(val_handle *parent, void *address, uint64_t size, uint64_t guard,
                           int32_t memory_kind) {
  val_layer *layer = parent->layer;
  val_handle *memory = val_handle_create(layer, VAL_MEMORY, parent, address);
  if (!memory) return NULL;
  memory->memory.address = address;
  memory->memory.size = size;
  memory->memory.guard = guard;
  memory->memory.memory_kind = memory_kind;
  pthread_mutex_lock(&layer->lock);
  uint32_t *bucket = &layer->buckets[bucket_of(address)];
  memory->next = *bucket;
  *bucket = memory->number;
  pthread_mutex_unlock(&layer->lock);
  return memory;
}

val_handle *val_memory_at(val_layer *layer, const void *address) {
  pthread_mutex_lock(&layer->lock);
  uint32_t at = layer->buckets[bucket_of(address)];
  while (at && layer->handles[at].memory.address != address) at = layer->handles[at].next;
  pthread_mutex_unlock(&layer->lock);
  return at ? &layer->handles[at] : NULL;
}

void val_memory_remove(val_handle *memory) {
  val_layer *layer = memory->layer;
  pthread_mutex_lock(&layer->lock);
  uint32_t *link = &layer->buckets[bucket_of(memory->memory.address)];
  while (*link && *link != memory->number) link = &layer->handles[*link].next;
  if (*link) *link = memory->next;
  pthread_mutex_unlock(&layer->lock);
  val_handle_retire(memory);
}

// ---- Guards ---------------------------------------------------------------------------------

void val_guard_set(void *begin, uint64_t size) {
  memset(begin, VAL_GUARD_BYTE, size);
}

uint64_t val_guard_intact(const void *begin, uint64_t size) {
  const unsigned char *bytes = begin;
  uint64_t intact = 0;
  while (intact < size && bytes[intact] == VAL_GUARD_BYTE) ++intact;
  return intact;
}

// Copies a guard of device memory, which the host cannot touch, at once.
static int32_t move_guard(const val_handle *device, const val_handle *memory, void *bytes,
                          int to_device) {
  ops_copy copy = {.struct_size = sizeof copy, .size = memory->memory.guard};
  *(to_device ? &copy.source : &copy.target) = bytes;
  *(to_device ? &copy.target : &copy.source) = memory->memory.address;
  *(to_device ? &copy.target_offset : &copy.source_offset) = memory->memory.size;
  copy.source_kind = to_device ? OPS_MEMORY_HOST : memory->memory.memory_kind;
  copy.target_kind = to_device ? memory->memory.memory_kind : OPS_MEMORY_HOST;
  ops_error error = OPS_ERROR_INIT;
  return device->layer->inner->stream->copy(device->real, NULL, &copy, &error);
}

static void set_guard(const val_handle *device, val_handle *memory) {
  unsigned char bytes[VAL_GUARD];
  if (memory->memory.memory_kind != OPS_MEMORY_DEVICE) {
    val_guard_set(memory->memory.address + memory->memory.size, memory->memory.guard);
    return;
  }
  val_guard_set(bytes, sizeof bytes);
  if (move_guard(device, memory, bytes, 1) != OPS_OK) memory->memory.guard = 0;
}

void val_memory_check(val_handle *device, val_handle *memory, const char *who) {
  unsigned char bytes[VAL_GUARD];
  const void *guard = memory->memory.address + memory->memory.size;
  if (memory->memory.guard == 0) return;
  if (memory->memory.memory_kind == OPS_MEMORY_DEVICE) {
    if (move_guard(device, memory, bytes, 0) != OPS_OK) return;
    guard = bytes;
  }
  const uint64_t intact = val_guard_intact(guard, memory->memory.guard);
  if (intact == memory->memory.guard) return;
  val_find(
      memory->layer, device ? "MEMORY-1" : "MEMORY-14",
      "allocation %u of %llu bytes: byte %llu behind its end was overwritten; last used by "
      "%s: expected nothing written behind the end",
      memory->number, (unsigned long long)memory->memory.size, (unsigned long long)intact,
      memory->name[0] ? memory->name : who);
  memory->memory.guard = 0;  // reported
}

int val_memory_range(val_handle *device, const char *slot, const char *what,
                     const void *address, int32_t memory_kind, uint64_t offset, uint64_t size) {
  val_handle *memory = val_memory_at(device->layer, address);
  if (!memory) {
    if (memory_kind != OPS_MEMORY_DEVICE || size == 0) return 1;
    val_find(device->layer, "HOST-8",
             "%s: %s lies in device memory that is not allocated (freed already, or never); "
             "expected a live handle of memory.allocate",
             slot, what);
    return 0;
  }
  if (offset <= memory->memory.size && size <= memory->memory.size - offset) return 1;
  val_find(device->layer, "HOST-8",
           "%s: %s takes bytes %llu to %llu of an allocation of %llu; expected them inside: "
           "allocate more, or take less",
           slot, what, (unsigned long long)offset, (unsigned long long)(offset + size),
           (unsigned long long)memory->memory.size);
  return 0;
}

// ---- Slots ----------------------------------------------------------------------------------

static void judge_alignment(val_handle *device, const void *address, int32_t memory_kind,
                            uint64_t alignment) {
  const uint64_t least = device->device.min_alignment;
  if (alignment < least) alignment = least;
  if (memory_kind == OPS_MEMORY_DEVICE || alignment < 2 ||
      (uint64_t)(uintptr_t)address % alignment == 0)
    return;
  val_find(device->layer, "MEMORY-9",
           "memory.allocate: expected an address aligned to %llu bytes, found one at %llu "
           "behind; align what is given out",
           (unsigned long long)alignment,
           (unsigned long long)((uint64_t)(uintptr_t)address % alignment));
}

static int32_t memory_allocate(ops_device *object, int32_t memory_kind, uint64_t size,
                               uint64_t alignment, int32_t usage, void **out_memory,
                               ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "memory.allocate", error);
  if (!device) return call.refused;
  if (alignment & (alignment - 1))
    val_find(device->layer, "HOST-9",
             "memory.allocate: alignment %llu is no power of two; give one",
             (unsigned long long)alignment);
  const ops_provider *inner = device->layer->inner;
  const int guardable = size && size <= UINT64_MAX - VAL_GUARD &&
                        (memory_kind != OPS_MEMORY_DEVICE || inner->stream);
  const uint64_t guard = guardable ? VAL_GUARD : 0;
  void *memory = NULL;
  const int32_t status =
      val_end(&call, inner->memory->allocate(device->real, memory_kind, size + guard, alignment,
                                             usage, &memory, call.error));
  *out_memory = memory;
  if (status != OPS_OK) return status;
  if (size == 0)
    val_find(device->layer, "MEMORY-9",
             "memory.allocate: accepted a size of 0; expected INVALID_ARGUMENT");
  if (!memory) {
    val_find(device->layer, "MEMORY-9",
             "memory.allocate: answered OPS_OK without memory; expected OUT_OF_MEMORY where "
             "there is none");
    return status;
  }
  judge_alignment(device, memory, memory_kind, alignment);
  val_handle *record = val_memory_add(device, memory, size, guard, memory_kind);
  if (record && guard) set_guard(device, record);
  return status;
}

// The live allocation that is to be freed; NULL (and a finding) if that is wrong.
static val_handle *find_freed(val_handle *device, const char *slot, int32_t memory_kind,
                              const void *address) {
  val_handle *memory = val_memory_at(device->layer, address);
  char text[112];
  if (!memory) {
    val_find(device->layer, "HOST-7",
             "%s: no allocation has this handle (freed already, or of another provider); free "
             "each once, where it was allocated",
             slot);
  } else if (memory->parent != device) {
    val_find(device->layer, "HOST-7",
             "%s: allocation %u is of %s, freed to device %u; free it there", slot,
             memory->number, val_handle_text(memory->parent, text), device->number);
  } else if (memory->memory.memory_kind != memory_kind) {
    val_find(device->layer, "HOST-7",
             "%s: allocation %u is of memory kind %d, freed as kind %d; give the kind that it "
             "was allocated with",
             slot, memory->number, memory->memory.memory_kind, memory_kind);
  } else {
    return memory;
  }
  return NULL;
}

static void memory_free(ops_device *object, int32_t memory_kind, void *address) {
  static const char kSlot[] = "memory.free";
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, kSlot, NULL);
  if (!device) return;
  val_handle *memory = address ? find_freed(device, kSlot, memory_kind, address) : NULL;
  if (memory) {
    val_memory_check(device, memory, "a copy or kernel");
    val_memory_remove(memory);
  }
  if (memory || !address)
    device->layer->inner->memory->free(device->real, memory_kind, address);
  val_end(&call, OPS_OK);
}

static int32_t memory_stats(ops_device *object, int32_t memory_kind,
                            ops_memory_stats *out_stats, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "memory.stats", error);
  if (!device) return call.refused;
  return val_end(&call, device->layer->inner->memory->stats(device->real, memory_kind,
                                                            out_stats, call.error));
}

static int32_t memory_allocate_async(ops_stream *object, int32_t memory_kind, uint64_t size,
                                     uint64_t alignment, void **out_memory, ops_error *error) {
  val_call call;
  val_handle *stream = val_begin(&call, object, VAL_STREAM, "memory.allocate_async", error);
  if (!stream) return call.refused;
  const int32_t status =
      val_end(&call, stream->layer->inner->memory->allocate_async(
                         stream->real, memory_kind, size, alignment, out_memory, call.error));
  if (status == OPS_OK && *out_memory)
    val_memory_add(stream->parent, *out_memory, size, 0, memory_kind);
  return status;
}

static int32_t memory_free_async(ops_stream *object, int32_t memory_kind, void *address,
                                 ops_error *error) {
  static const char kSlot[] = "memory.free_async";
  val_call call;
  val_handle *stream = val_begin(&call, object, VAL_STREAM, kSlot, error);
  if (!stream) return call.refused;
  val_handle *memory = address ? find_freed(stream->parent, kSlot, memory_kind, address) : NULL;
  if (address && !memory)
    return val_refuse(&call, OPS_ERROR_INVALID_ARGUMENT, "the memory is not this device's");
  if (memory) val_memory_remove(memory);
  return val_end(&call, stream->layer->inner->memory->free_async(stream->real, memory_kind,
                                                                 address, call.error));
}

static int32_t memory_layout_size(ops_device *object, uint32_t layout, int32_t type,
                                  int32_t rank, const int64_t *dims, uint64_t *out_bytes,
                                  ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "memory.layout_size", error);
  if (!device) return call.refused;
  return val_end(&call, device->layer->inner->memory->layout_size(
                            device->real, layout, type, rank, dims, out_bytes, call.error));
}

static int32_t memory_reorder(ops_device *object, ops_stream *stream_object,
                              const ops_arg *source, const ops_arg *target, ops_error *error) {
  static const char kSlot[] = "memory.reorder";
  val_call call;
  val_handle *stream = NULL;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, kSlot, error);
  if (!device) return call.refused;
  if (stream_object && !(stream = val_also(&call, stream_object, VAL_STREAM)))
    return call.refused;
  if (stream) {
    val_order_work(stream);
    val_order_use(stream, kSlot, source->tensor.memory, source->tensor.byte_offset,
                  source->tensor.byte_size, 0);
    val_order_use(stream, kSlot, target->tensor.memory, target->tensor.byte_offset,
                  target->tensor.byte_size, 1);
  }
  return val_end(
      &call, device->layer->inner->memory->reorder(device->real, stream ? stream->real : NULL,
                                                   source, target, call.error));
}

static int32_t memory_import(ops_device *object, const ops_external *external,
                             void **out_memory, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "memory.import_external", error);
  if (!device) return call.refused;
  const int32_t status = val_end(&call, device->layer->inner->memory->import_external(
                                            device->real, external, out_memory, call.error));
  if (status == OPS_OK && *out_memory)
    val_memory_add(device, *out_memory, external->size, 0, external->memory_kind);
  return status;
}

static int32_t memory_export(ops_device *object, void *memory, int32_t handle_type,
                             ops_external *out_external, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "memory.export_external", error);
  if (!device) return call.refused;
  return val_end(&call, device->layer->inner->memory->export_external(
                            device->real, memory, handle_type, out_external, call.error));
}

void val_fill_memory(val_layer *layer) {
  const ops_memory_api *inner = layer->inner->memory;
  if (!inner) return;
#define SLOT(field, function) .field = inner->field ? function : NULL
  layer->memory = (ops_memory_api){.struct_size = sizeof layer->memory,
                                   SLOT(allocate, memory_allocate),
                                   SLOT(free, memory_free),
                                   SLOT(stats, memory_stats),
                                   SLOT(allocate_async, memory_allocate_async),
                                   SLOT(free_async, memory_free_async),
                                   SLOT(layout_size, memory_layout_size),
                                   SLOT(reorder, memory_reorder),
                                   SLOT(import_external, memory_import),
                                   SLOT(export_external, memory_export)};
#undef SLOT
  layer->provider.memory = &layer->memory;
}

// SPDX-License-Identifier: Apache-2.0
//
// The registry of handles: a table of records of which each is one object. A record that died
// goes to the end of a queue and is used again only once many others have died after it, so a
// caller that uses it is told so.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "validation/layer.h"
#include "validation/layers.h"

void *val_map(uint64_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

void val_unmap(void *memory, uint64_t size) {
  if (memory) munmap(memory, size);
}

const char *val_kind_name(uint32_t kind) {
#define VAL_KIND(constant, name) [constant] = name,
  static const char *const kNames[] = {[VAL_FREE] = "nothing", VAL_KIND_LIST(VAL_KIND)};
#undef VAL_KIND
  return kind < VAL_KIND_COUNT ? kNames[kind] : "unknown";
}

static val_handle *take(val_layer *layer) {
  if (layer->free_count > VAL_QUARANTINE ||
      (layer->handle_count + 1 == VAL_HANDLES && layer->free_count)) {
    val_handle *handle = &layer->handles[layer->free_first];
    layer->free_first = handle->next;
    --layer->free_count;
    return handle;
  }
  if (layer->handle_count + 1 >= VAL_HANDLES) return NULL;
  return &layer->handles[++layer->handle_count];
}

val_handle *val_handle_create(val_layer *layer, uint32_t kind, val_handle *parent, void *real) {
  pthread_mutex_lock(&layer->lock);
  val_handle *handle = take(layer);
  if (handle) {
    memset(handle, 0, sizeof *handle);
    handle->layer = layer;
    handle->number = (uint32_t)(handle - layer->handles);
    handle->parent = parent;
    handle->real = real;
    if (parent) atomic_fetch_add(&parent->children, 1);
    atomic_store(&handle->kind, kind);
  }
  pthread_mutex_unlock(&layer->lock);
  return handle;
}

void val_handle_retire(val_handle *handle) {
  val_layer *layer = handle->layer;
  pthread_mutex_lock(&layer->lock);
  if (!atomic_exchange(&handle->dead, 1)) {
    if (handle->parent) atomic_fetch_sub(&handle->parent->children, 1);
    handle->next = 0;
    if (layer->free_count++)
      layer->handles[layer->free_last].next = handle->number;
    else
      layer->free_first = handle->number;
    layer->free_last = handle->number;
  }
  pthread_mutex_unlock(&layer->lock);
}

val_handle *val_handle_of(const void *pointer) {
  for (uint32_t i = 0; i < OPS_VALIDATION_MAX_LAYERS; ++i) {
    const val_layer *layer = val_layer_at(i);
    if (!layer) continue;
    const uintptr_t offset = (uintptr_t)pointer - (uintptr_t)layer->handles;
    if (offset >= VAL_HANDLES * sizeof(val_handle)) continue;
    if (offset % sizeof(val_handle)) return NULL;
    val_handle *handle = &layer->handles[offset / sizeof(val_handle)];
    return atomic_load(&handle->kind) == VAL_FREE ? NULL : handle;
  }
  return NULL;
}

const char *val_handle_text(const val_handle *handle, char text[112]) {
  const char *kind = val_kind_name(atomic_load(&handle->kind));
  if (handle->name[0])
    snprintf(text, 112, "%s '%s'", kind, handle->name);
  else
    snprintf(text, 112, "%s %u", kind, handle->number);
  return text;
}

// Applies to each live child, with the lock held.
static uint64_t count_children(const val_handle *parent, uint64_t counts[VAL_KIND_COUNT]) {
  val_layer *layer = parent->layer;
  uint64_t total = 0;
  pthread_mutex_lock(&layer->lock);
  for (uint32_t i = 1; i <= layer->handle_count; ++i) {
    const val_handle *handle = &layer->handles[i];
    if (handle->parent != parent || atomic_load(&handle->dead)) continue;
    ++counts[atomic_load(&handle->kind)];
    ++total;
  }
  pthread_mutex_unlock(&layer->lock);
  return total;
}

uint64_t val_handle_children(const val_handle *parent, char *text, uint64_t size) {
  uint64_t counts[VAL_KIND_COUNT] = {0}, used = 0;
  const uint64_t total = count_children(parent, counts);
  text[0] = '\0';
  for (uint32_t kind = 1; kind < VAL_KIND_COUNT && used < size; ++kind)
    if (counts[kind])
      used += (uint64_t)snprintf(text + used, size - used, "%s%llu %s", used ? ", " : "",
                                 (unsigned long long)counts[kind], val_kind_name(kind));
  return total;
}

void val_handle_retire_children(val_handle *parent) {
  val_layer *layer = parent->layer;
  for (uint32_t i = 1; i <= layer->handle_count; ++i) {
    val_handle *handle = &layer->handles[i];
    if (handle->parent != parent || atomic_load(&handle->dead)) continue;
    val_handle_retire_children(handle);
    if (atomic_load(&handle->kind) == VAL_MEMORY)
      val_memory_remove(handle);
    else
      val_handle_retire(handle);
  }
}

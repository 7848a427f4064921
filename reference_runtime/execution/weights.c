// SPDX-License-Identifier: Apache-2.0
//
// A list of loaded constants per value. The one who finds a constant missing loads it with no
// lock held, while others that want the same one wait.
#include "execution/weights.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MIN_MOVED ((uint64_t)2 << 20)
#define PIECE ((uint64_t)16 << 20)

#define STATE_LOADING 0
#define STATE_READY 1

typedef struct weight {
  struct weight *next;
  const rt_device *device;  // whose layout it is; NULL: strided
  uint32_t place;
  uint32_t layout;
  uint64_t alignment;
  uint64_t padding;
  uint64_t size;  // as allocated; 0: the graph's own bytes
  void *memory;
  int state;
} weight;

struct rt_weights {
  rt_places *places;
  rt_views *views;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  weight **by_value;
  uint32_t value_limit;
};

int32_t rt_weights_create(rt_places *places, rt_views *views, rt_weights **out_weights,
                          ops_error *error) {
  *out_weights = NULL;
  rt_weights *weights = calloc(1, sizeof *weights);
  if (weights) {
    weights->value_limit = views->graph->value_limit;
    weights->by_value = calloc((size_t)weights->value_limit + 1, sizeof *weights->by_value);
  }
  if (!weights || !weights->by_value) {
    free(weights);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a table of weights");
  }
  weights->places = places;
  weights->views = views;
  pthread_mutex_init(&weights->mutex, NULL);
  pthread_cond_init(&weights->changed, NULL);
  *out_weights = weights;
  return OPS_OK;
}

rt_views *rt_weights_views(const rt_weights *weights) {
  return weights->views;
}

void rt_weights_destroy(rt_weights *weights) {
  if (!weights) return;
  for (uint32_t i = 0; i < weights->value_limit; ++i)
    for (weight *at = weights->by_value[i]; at;) {
      weight *next = at->next;
      if (at->size)
        rt_allocator_free(weights->places->allocators[at->place], at->memory, at->size);
      free(at);
      at = next;
    }
  free(weights->by_value);
  pthread_cond_destroy(&weights->changed);
  pthread_mutex_destroy(&weights->mutex);
  free(weights);
}

// Operators that read some rows of their first input.
static const char *const lookups[] = {"Gather", "GatherElements", "GatherND",
                                      "EmbedLayerNormalization", NULL};

static int is_looked_up(const rt_value *value) {
  for (uint32_t i = 0; i < value->use_count; ++i)
    for (int k = 0; value->uses[i].node && lookups[k]; ++k)
      if (strcmp(value->uses[i].node->op.name, lookups[k]) == 0) return 1;
  return 0;
}

// Pages of a file lie scattered in memory: what a model reads again and again is read a third
// faster from huge pages, which the allocator takes for weights of this size.
static int is_worth_moving(const rt_buffer *buffer) {
  return buffer->bytes >= MIN_MOVED &&
         rt_constant_is_mapped(rt_value_constant(buffer->value)) &&
         !is_looked_up(buffer->value);
}

// 1 if the graph's own bytes serve as they are.
static int serves_in_place(const rt_buffer *buffer, const void *data) {
  const uint64_t alignment = buffer->alignment ? buffer->alignment : 1;
  const int32_t bits = ops_type_bits(buffer->type->type);
  const uint64_t element = bits > 8 ? (uint64_t)bits / 8 : 1;
  return buffer->place == RT_PLACE_HOST && buffer->type->layout == OPS_LAYOUT_STRIDED &&
         buffer->padding == 0 && (uintptr_t)data % alignment == 0 &&
         (uintptr_t)data % element == 0 && !is_worth_moving(buffer);
}

static int32_t reorder(rt_weights *weights, const rt_buffer *buffer, const rt_constant *source,
                       void *memory, ops_error *error) {
  const rt_device *device = buffer->device;
  const ops_constant *view = NULL;
  OPS_RETURN_IF_ERROR(rt_views_constant(weights->views, buffer->value, &view, error));
  ops_arg from = {
      .kind = OPS_ARG_TENSOR, .memory_kind = OPS_MEMORY_HOST, .tensor = view->dense.tensor};
  const void *data = NULL;
  OPS_RETURN_IF_ERROR(rt_constant_aligned(source, &data, error));
  from.tensor.memory = (void *)data;
  ops_arg to = {.kind = OPS_ARG_TENSOR,
                .memory_kind = rt_place_kind(buffer->place),
                .tensor = {.dims = source->dims,
                           .memory = memory,
                           .byte_size = buffer->bytes,
                           .type = source->elem_type,
                           .rank = source->rank,
                           .layout = buffer->type->layout}};
  return device->provider->memory->reorder(device->device, NULL, &from, &to, error);
}

// In pieces, so that what has been copied leaves memory before the rest enters it.
static int32_t copy(rt_weights *weights, const rt_buffer *buffer, const rt_constant *source,
                    void *memory, ops_error *error) {
  for (uint64_t begin = 0, size; begin < buffer->bytes; begin += size) {
    size = buffer->bytes - begin < PIECE ? buffer->bytes - begin : PIECE;
    OPS_RETURN_IF_ERROR(rt_places_copy(weights->places, RT_PLACE_HOST, source->data, begin,
                                       buffer->place, memory, begin, size, error));
    rt_constant_forget_part(source, begin, size);
  }
  return OPS_OK;
}

// Allocates and fills; no lock is held.
static int32_t load(rt_weights *weights, const rt_buffer *buffer, weight *entry,
                    ops_error *error) {
  const rt_constant *source = rt_value_constant(buffer->value);
  if (serves_in_place(buffer, source->data)) {
    entry->memory = (void *)source->data;
    return OPS_OK;
  }
  rt_allocator *allocator = NULL;
  uint64_t size = 0;
  OPS_RETURN_IF_ERROR(rt_places_allocator(weights->places, buffer->place, &allocator, error));
  if (!ops_checked_add(buffer->bytes, buffer->padding, &size))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a constant of %llu bytes",
                         (unsigned long long)buffer->bytes);
  OPS_RETURN_IF_ERROR(rt_allocator_allocate(allocator, size, buffer->alignment,
                                            OPS_USAGE_WEIGHT, &entry->memory, error));
  entry->size = size;
  if (buffer->type->layout != OPS_LAYOUT_STRIDED)
    return reorder(weights, buffer, source, entry->memory, error);
  return copy(weights, buffer, source, entry->memory, error);
}

// What a body captures is loaded once for all bodies.
static uint32_t key_of(const rt_buffer *buffer) {
  const rt_value *value = buffer->value;
  while (value->kind == RT_VALUE_CAPTURE) value = value->outer;
  return value->id;
}

static weight *find(rt_weights *weights, const rt_buffer *buffer) {
  for (weight *at = weights->by_value[key_of(buffer)]; at; at = at->next)
    if (at->device == buffer->device && at->place == buffer->place &&
        at->layout == buffer->type->layout && at->alignment >= buffer->alignment &&
        at->padding >= buffer->padding)
      return at;
  return NULL;
}

static void unlink_entry(rt_weights *weights, uint32_t id, weight *entry) {
  weight **at = &weights->by_value[id];
  while (*at != entry) at = &(*at)->next;
  *at = entry->next;
}

static int32_t load_new(rt_weights *weights, const rt_buffer *buffer, weight *entry,
                        ops_error *error) {
  const uint32_t id = key_of(buffer);
  *entry = (weight){.next = weights->by_value[id],
                    .device = buffer->device,
                    .place = buffer->place,
                    .layout = buffer->type->layout,
                    .alignment = buffer->alignment,
                    .padding = buffer->padding,
                    .state = STATE_LOADING};
  weights->by_value[id] = entry;
  pthread_mutex_unlock(&weights->mutex);
  const int32_t status = load(weights, buffer, entry, error);
  pthread_mutex_lock(&weights->mutex);
  entry->state = STATE_READY;
  if (status != OPS_OK) unlink_entry(weights, id, entry);
  pthread_cond_broadcast(&weights->changed);
  return status;
}

int32_t rt_weights_load(rt_weights *weights, const rt_buffer *buffer, void **out_memory,
                        ops_error *error) {
  *out_memory = NULL;
  if (buffer->bytes == 0) return OPS_OK;
  int32_t status = OPS_OK;
  weight *fresh = NULL;
  pthread_mutex_lock(&weights->mutex);
  weight *entry = find(weights, buffer);
  while (entry && entry->state == STATE_LOADING) {
    pthread_cond_wait(&weights->changed, &weights->mutex);
    entry = find(weights, buffer);
  }
  if (!entry) {
    entry = fresh = malloc(sizeof *fresh);
    status = fresh ? load_new(weights, buffer, fresh, error)
                   : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a table of weights");
  }
  if (status == OPS_OK) *out_memory = entry->memory;
  pthread_mutex_unlock(&weights->mutex);
  if (status != OPS_OK) {
    if (fresh && fresh->size)
      rt_allocator_free(weights->places->allocators[fresh->place], fresh->memory, fresh->size);
    free(fresh);
    ops_error_prefix(error, "constant '%s'", buffer->value->name);
  }
  return status;
}

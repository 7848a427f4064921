// SPDX-License-Identifier: Apache-2.0
//
// Allocators are made for every memory kind that a device states, when the session opens.
#include "execution/places.h"

#include <ops_support/error.h>
#include <string.h>

static int32_t add_arena(rt_places *places, uint32_t place, const rt_memory_options *options,
                         ops_error *error) {
  rt_allocator *allocator = places->allocators[place];
  rt_allocator_set_maximum(allocator, options->maximum);
  return rt_arena_create(allocator, &options->arena, &places->arenas[place], error);
}

static int32_t add_place(rt_places *places, const rt_device *device, int32_t kind,
                         const rt_memory_options *options, ops_error *error) {
  const uint32_t place = rt_place(device, kind);
  OPS_RETURN_IF_ERROR(rt_allocator_create_device(
      device->name, device->provider->memory, device->device, kind, device->info.min_alignment,
      &places->allocators[place], error));
  return add_arena(places, place, options, error);
}

int32_t rt_places_init(rt_places *places, rt_device *const *devices, uint32_t device_count,
                       const rt_memory_options *options, ops_error *error) {
  *places = (rt_places){.devices = devices, .device_count = device_count};
  OPS_RETURN_IF_ERROR(rt_allocator_create_host(&places->allocators[RT_PLACE_HOST], error));
  OPS_RETURN_IF_ERROR(add_arena(places, RT_PLACE_HOST, options, error));
  for (uint32_t i = 0; i < device_count; ++i)
    for (int32_t kind = OPS_MEMORY_HOST + 1; kind < OPS_MEMORY_KIND_COUNT; ++kind)
      if (devices[i]->info.memory_kinds & OPS_MEMORY_BIT(kind))
        OPS_RETURN_IF_ERROR(add_place(places, devices[i], kind, options, error));
  return OPS_OK;
}

void rt_places_finish(rt_places *places) {
  for (uint32_t i = 0; i < RT_PLACE_COUNT; ++i) {
    rt_arena_destroy(places->arenas[i]);
    rt_allocator_destroy(places->allocators[i]);
  }
  *places = (rt_places){0};
}

int32_t rt_places_allocator(rt_places *places, uint32_t place, rt_allocator **out_allocator,
                            ops_error *error) {
  *out_allocator = places->allocators[place];
  if (*out_allocator) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INTERNAL,
                       "provider %s: a kernel asks for %s memory, which device_info does not "
                       "list",
                       places->devices[rt_place_device(place)]->name,
                       rt_memory_kind_name(rt_place_kind(place)));
}

int32_t rt_places_arena(rt_places *places, uint32_t place, rt_arena **out_arena,
                        ops_error *error) {
  rt_allocator *allocator = NULL;
  *out_arena = places->arenas[place];
  return rt_places_allocator(places, place, &allocator, error);
}

void rt_places_shrink(rt_places *places) {
  for (uint32_t i = 0; i < RT_PLACE_COUNT; ++i)
    if (places->arenas[i]) rt_arena_shrink(places->arenas[i]);
}

int32_t rt_places_copy(rt_places *places, uint32_t from_place, const void *from,
                       uint64_t from_offset, uint32_t to_place, void *to, uint64_t to_offset,
                       uint64_t size, ops_error *error) {
  const int opaque_from = rt_memory_kind_is_opaque(rt_place_kind(from_place));
  const int opaque_to = rt_memory_kind_is_opaque(rt_place_kind(to_place));
  if (size == 0) return OPS_OK;
  if (!opaque_from && !opaque_to) {
    memcpy((char *)to + to_offset, (const char *)from + from_offset, size);
    return OPS_OK;
  }
  const rt_device *device =
      places->devices[rt_place_device(opaque_from ? from_place : to_place)];
  const ops_copy copy = {.struct_size = sizeof copy,
                         .source = (void *)from,
                         .source_offset = from_offset,
                         .target = to,
                         .target_offset = to_offset,
                         .size = size,
                         .source_kind = rt_place_kind(from_place),
                         .target_kind = rt_place_kind(to_place)};
  return device->provider->stream->copy(device->device, NULL, &copy, error);
}

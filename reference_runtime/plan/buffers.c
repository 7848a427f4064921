// SPDX-License-Identifier: Apache-2.0
//
// Buffers, and how a value gets to where it is needed: the cheapest location it already has is
// copied or reordered. Data cross between two devices through host memory.
#include <ops_support/error.h>
#include <stdlib.h>

#include "plan/builder.h"

#define KINDS_OF_OWN (OPS_MEMORY_KIND_COUNT - 1)

uint32_t rt_place(const rt_device *device, int32_t memory_kind) {
  if (memory_kind == OPS_MEMORY_HOST) return RT_PLACE_HOST;
  return 1 + device->number * KINDS_OF_OWN + (uint32_t)(memory_kind - 1);
}

int32_t rt_place_kind(uint32_t place) {
  return place == RT_PLACE_HOST ? OPS_MEMORY_HOST : (int32_t)((place - 1) % KINDS_OF_OWN) + 1;
}

uint32_t rt_place_device(uint32_t place) {
  return (place - 1) / KINDS_OF_OWN;
}

uint32_t rt_builder_output_place(const rt_builder *b, uint32_t index) {
  const uint32_t *places = b->plan->places;
  return places ? places[b->request->partition->input_count + index] : RT_PLACE_HOST;
}

static int is_visible(uint32_t place) {
  return !rt_memory_kind_is_opaque(rt_place_kind(place));
}

// Room for one more element; 0 if memory is exhausted.
static int reserve(void **items, uint32_t count, uint32_t *capacity, size_t size) {
  if (count < *capacity) return 1;
  const uint32_t grown_capacity = *capacity ? *capacity * 2 : 32;
  void *grown = realloc(*items, grown_capacity * size);
  if (!grown) return 0;
  *items = grown;
  *capacity = grown_capacity;
  return 1;
}

int32_t rt_builder_add_buffer(rt_builder *b, const rt_buffer *buffer, uint32_t *out_index,
                              ops_error *error) {
  rt_plan *plan = b->plan;
  if (!reserve((void **)&plan->buffers, plan->buffer_count, &b->buffer_capacity,
               sizeof *plan->buffers))
    return rt_builder_exhausted(error);
  *out_index = plan->buffer_count;
  plan->buffers[plan->buffer_count++] = *buffer;
  return OPS_OK;
}

int32_t rt_builder_add_action(rt_builder *b, const rt_action *action, ops_error *error) {
  rt_plan *plan = b->plan;
  if (!reserve((void **)&plan->actions, plan->action_count, &b->action_capacity,
               sizeof *plan->actions))
    return rt_builder_exhausted(error);
  plan->actions[plan->action_count++] = *action;
  return OPS_OK;
}

int32_t rt_builder_locate(rt_builder *b, uint32_t buffer, ops_error *error) {
  const rt_buffer *found = &b->plan->buffers[buffer];
  rt_known *known = &b->plan->known[found->value->id];
  rt_location *location = rt_bump_new(b->bump, 1, sizeof *location);
  if (!location) return rt_builder_exhausted(error);
  *location = (rt_location){.next = known->locations,
                            .device = found->device,
                            .place = found->place,
                            .layout = found->type ? found->type->layout : OPS_LAYOUT_STRIDED,
                            .segment = b->plan->segment,
                            .buffer = buffer};
  known->locations = location;
  return OPS_OK;
}

static const rt_buffer *located_buffer(const rt_builder *b, const rt_location *location) {
  const rt_plan *plan = b->plan;
  while (plan->segment != location->segment) plan = plan->parent;
  return &plan->buffers[location->buffer];
}

// A buffer of this segment for a location of an earlier one.
static int32_t carry(rt_builder *b, const rt_value *value, const rt_location *location,
                     uint32_t *out_buffer, ops_error *error) {
  rt_buffer buffer = *located_buffer(b, location);
  buffer.storage = RT_STORAGE_CARRIED;
  buffer.segment = location->segment;
  buffer.index = location->buffer;
  buffer.viewed = 0;
  buffer.type = b->plan->known[value->id].type;
  buffer.late = 0;
  if (location->layout != OPS_LAYOUT_STRIDED) buffer.type = located_buffer(b, location)->type;
  if (buffer.type->kind == OPS_VALUE_TENSOR && location->layout == OPS_LAYOUT_STRIDED)
    OPS_RETURN_IF_ERROR(rt_type_info_bytes(buffer.type, &buffer.bytes, error));
  OPS_RETURN_IF_ERROR(rt_builder_add_buffer(b, &buffer, out_buffer, error));
  return rt_builder_locate(b, *out_buffer, error);
}

static int serves(const rt_location *location, const rt_device *device, uint32_t place,
                  uint32_t layout) {
  if (location->layout != layout) return 0;
  if (layout != OPS_LAYOUT_STRIDED && location->device != device) return 0;
  return location->place == place || (place == RT_PLACE_HOST && is_visible(location->place));
}

// A fitting buffer that exists; RT_NO_BUFFER if there is none.
static int32_t find(rt_builder *b, const rt_value *value, const rt_device *device,
                    uint32_t place, uint32_t layout, uint64_t alignment, uint64_t padding,
                    uint32_t *out_buffer, ops_error *error) {
  *out_buffer = RT_NO_BUFFER;
  const rt_location *at = b->plan->known[value->id].locations;
  for (; at; at = at->next) {
    if (!serves(at, device, place, layout)) continue;
    const int earlier = at->segment != b->plan->segment;
    const rt_buffer *found = located_buffer(b, at);
    // Memory that exists already is as it is.
    const int callers =
        (found->storage == RT_STORAGE_INPUT || found->storage == RT_STORAGE_OUTPUT) &&
        found->place != RT_PLACE_HOST;
    const int fixed = earlier || callers || found->storage == RT_STORAGE_CARRIED ||
                      found->storage == RT_STORAGE_CONTENTS;
    if (fixed && (found->alignment < alignment || found->padding < padding)) continue;
    if (earlier) return carry(b, value, at, out_buffer, error);
    rt_buffer *own = &b->plan->buffers[at->buffer];
    if (own->alignment < alignment) own->alignment = alignment;
    if (own->padding < padding) own->padding = padding;
    *out_buffer = at->buffer;
    return OPS_OK;
  }
  return OPS_OK;
}

static const rt_device *device_of_place(const rt_builder *b, uint32_t place) {
  const rt_views *views = b->request->partition->views;
  const uint32_t number = rt_place_device(place);
  return number < views->device_count ? views->devices[number] : NULL;
}

static int32_t add_transfer(rt_builder *b, int32_t kind, const rt_device *device, int32_t queue,
                            uint32_t from, uint32_t to, ops_error *error) {
  uint32_t *ends = rt_bump_new(b->bump, 2, sizeof *ends);
  if (!ends) return rt_builder_exhausted(error);
  ends[0] = from;
  ends[1] = to;
  const rt_action action = {.kind = kind,
                            .queue = device && device->provider->stream ? queue : RT_QUEUE_NONE,
                            .device = device,
                            .name = b->plan->buffers[from].value->name,
                            .inputs = ends,
                            .input_count = 1,
                            .outputs = ends + 1,
                            .output_count = 1,
                            .workspace = RT_NO_BUFFER};
  return rt_builder_add_action(b, &action, error);
}

// A new arena buffer for the value of `from`, in `place`, filled by a copy.
static int32_t copy_to(rt_builder *b, uint32_t from, uint32_t place, uint64_t alignment,
                       uint64_t padding, uint32_t *out_buffer, ops_error *error) {
  rt_buffer buffer = b->plan->buffers[from];
  const uint32_t source = buffer.place;
  buffer.storage = RT_STORAGE_ARENA;
  buffer.viewed = 0;
  buffer.place = place;
  buffer.block = b->block_count++;
  buffer.alignment = alignment;
  buffer.padding = padding;
  OPS_RETURN_IF_ERROR(rt_builder_add_buffer(b, &buffer, out_buffer, error));
  const rt_device *device = !is_visible(source)  ? device_of_place(b, source)
                            : !is_visible(place) ? device_of_place(b, place)
                                                 : NULL;
  if (buffer.bytes == 0) return OPS_OK;
  return add_transfer(b, RT_ACTION_COPY, device, RT_QUEUE_COPY, from, *out_buffer, error);
}

int32_t rt_builder_copy_output(rt_builder *b, uint32_t from, uint32_t index,
                               uint32_t *out_buffer, ops_error *error) {
  OPS_RETURN_IF_ERROR(
      copy_to(b, from, rt_builder_output_place(b, index), 0, 0, out_buffer, error));
  b->plan->buffers[*out_buffer].storage = RT_STORAGE_OUTPUT;
  b->plan->buffers[*out_buffer].index = index;
  return OPS_OK;
}

int32_t rt_builder_materialise_output(rt_builder *b, const rt_value *value, uint32_t index,
                                      uint32_t *out_buffer, ops_error *error) {
  const uint32_t place = rt_builder_output_place(b, index);
  const rt_device *device = is_visible(place) ? NULL : device_of_place(b, place);
  return rt_builder_materialise(b, value, device, rt_place_kind(place), OPS_LAYOUT_STRIDED, 0,
                                0, out_buffer, error);
}

int32_t rt_builder_duplicate(rt_builder *b, const rt_device *device, uint32_t buffer,
                             uint32_t *out_buffer, ops_error *error) {
  const rt_buffer source = b->plan->buffers[buffer];
  OPS_RETURN_IF_ERROR(
      copy_to(b, buffer, source.place, source.alignment, source.padding, out_buffer, error));
  if (is_visible(source.place) || b->plan->action_count == 0) return OPS_OK;
  b->plan->actions[b->plan->action_count - 1].device = device;
  return OPS_OK;
}

static int32_t private_type(rt_builder *b, const rt_device *device, const rt_value *value,
                            uint32_t layout, rt_buffer *buffer, ops_error *error) {
  const ops_memory_api *memory = device->provider->memory;
  ops_type_info *type = rt_bump_copy(b->bump, b->plan->known[value->id].type, 1, sizeof *type);
  if (!type) return rt_builder_exhausted(error);
  type->layout = layout;
  type->strides = NULL;
  buffer->type = type;
  buffer->device = device;
  if (!memory || !memory->layout_size || !memory->reorder)
    return ops_error_set(error, OPS_ERROR_INTERNAL,
                         "provider %s asks for layout %u without layout_size and reorder",
                         device->name, layout);
  return memory->layout_size(device->device, layout, type->type, type->rank, type->dims,
                             &buffer->bytes, error);
}

// Into a private layout from the strided one, or back, in one place of `device`.
static int32_t reorder_to(rt_builder *b, const rt_device *device, const rt_value *value,
                          uint32_t from, uint32_t layout, uint64_t alignment, uint64_t padding,
                          uint32_t *out_buffer, ops_error *error) {
  rt_buffer buffer = {.value = value,
                      .storage = RT_STORAGE_ARENA,
                      .place = b->plan->buffers[from].place,
                      .type = b->plan->known[value->id].type,
                      .block = b->block_count++,
                      .alignment = alignment,
                      .padding = padding};
  if (layout != OPS_LAYOUT_STRIDED)
    OPS_RETURN_IF_ERROR(private_type(b, device, value, layout, &buffer, error));
  else
    OPS_RETURN_IF_ERROR(rt_type_info_bytes(buffer.type, &buffer.bytes, error));
  OPS_RETURN_IF_ERROR(rt_builder_add_buffer(b, &buffer, out_buffer, error));
  return add_transfer(b, RT_ACTION_REORDER, device, RT_QUEUE_COMPUTE, from, *out_buffer, error);
}

// A constant goes to any place and layout once, when the weights are loaded.
static int32_t constant_buffer(rt_builder *b, const rt_value *value, const rt_device *device,
                               uint32_t place, uint32_t layout, uint64_t alignment,
                               uint64_t padding, uint32_t *out_buffer, ops_error *error) {
  rt_buffer buffer = {.value = value,
                      .storage = RT_STORAGE_CONSTANT,
                      .place = place,
                      .type = b->plan->known[value->id].type,
                      .alignment = alignment,
                      .padding = padding};
  if (layout != OPS_LAYOUT_STRIDED)
    OPS_RETURN_IF_ERROR(private_type(b, device, value, layout, &buffer, error));
  else
    OPS_RETURN_IF_ERROR(rt_type_info_bytes(buffer.type, &buffer.bytes, error));
  return rt_builder_add_buffer(b, &buffer, out_buffer, error);
}

static int32_t contents_buffer(rt_builder *b, const rt_value *value, uint32_t *out_buffer,
                               ops_error *error) {
  const rt_known *known = &b->plan->known[value->id];
  rt_buffer buffer = {.value = value,
                      .storage = RT_STORAGE_CONTENTS,
                      .place = RT_PLACE_HOST,
                      .type = known->type,
                      .contents = known->contents,
                      .alignment = 16};
  OPS_RETURN_IF_ERROR(rt_type_info_bytes(buffer.type, &buffer.bytes, error));
  return rt_builder_add_buffer(b, &buffer, out_buffer, error);
}

// Any strided location, host memory preferred; a private layout is reordered back.
static int32_t any_strided(rt_builder *b, const rt_value *value, uint32_t *out_buffer,
                           ops_error *error) {
  OPS_RETURN_IF_ERROR(
      find(b, value, NULL, RT_PLACE_HOST, OPS_LAYOUT_STRIDED, 0, 0, out_buffer, error));
  if (*out_buffer != RT_NO_BUFFER) return OPS_OK;
  const rt_location *at = b->plan->known[value->id].locations;
  for (const rt_location *l = at; l; l = l->next)
    if (l->layout == OPS_LAYOUT_STRIDED)
      return find(b, value, NULL, l->place, OPS_LAYOUT_STRIDED, 0, 0, out_buffer, error);
  if (!at)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "value '%s' is read before it is written",
                         value->name);
  uint32_t packed = RT_NO_BUFFER;
  OPS_RETURN_IF_ERROR(find(b, value, at->device, at->place, at->layout, 0, 0, &packed, error));
  OPS_RETURN_IF_ERROR(
      reorder_to(b, at->device, value, packed, OPS_LAYOUT_STRIDED, 0, 0, out_buffer, error));
  return rt_builder_locate(b, *out_buffer, error);
}

static int32_t make_strided(rt_builder *b, const rt_value *value, uint32_t place,
                            uint64_t alignment, uint64_t padding, uint32_t *out_buffer,
                            ops_error *error) {
  uint32_t from = RT_NO_BUFFER;
  OPS_RETURN_IF_ERROR(any_strided(b, value, &from, error));
  const uint32_t source = b->plan->buffers[from].place;
  // The reorder may have made just what is wanted.
  OPS_RETURN_IF_ERROR(
      find(b, value, NULL, place, OPS_LAYOUT_STRIDED, alignment, padding, out_buffer, error));
  if (*out_buffer != RT_NO_BUFFER) return OPS_OK;
  const int staged = !is_visible(source) && !is_visible(place) && source != place;
  if (staged) {
    OPS_RETURN_IF_ERROR(copy_to(b, from, RT_PLACE_HOST, 0, 0, &from, error));
    OPS_RETURN_IF_ERROR(rt_builder_locate(b, from, error));
  }
  OPS_RETURN_IF_ERROR(copy_to(b, from, place, alignment, padding, out_buffer, error));
  return rt_builder_locate(b, *out_buffer, error);
}

int32_t rt_builder_materialise(rt_builder *b, const rt_value *value, const rt_device *device,
                               int32_t memory_kind, uint32_t layout, uint64_t alignment,
                               uint64_t padding, uint32_t *out_buffer, ops_error *error) {
  const ops_type_info *type = NULL;
  uint32_t place = device ? rt_place(device, memory_kind) : RT_PLACE_HOST;
  if (rt_builder_type(b, value, &type) && type->kind != OPS_VALUE_TENSOR)
    place = RT_PLACE_HOST;  // host objects
  OPS_RETURN_IF_ERROR(
      find(b, value, device, place, layout, alignment, padding, out_buffer, error));
  if (*out_buffer != RT_NO_BUFFER) return OPS_OK;
  if (rt_value_constant(value)) {
    OPS_RETURN_IF_ERROR(constant_buffer(b, value, device, place, layout, alignment, padding,
                                        out_buffer, error));
    return rt_builder_locate(b, *out_buffer, error);
  }
  const rt_known *known = &b->plan->known[value->id];
  if (!known->locations && known->contents) {
    uint32_t contents = RT_NO_BUFFER;
    OPS_RETURN_IF_ERROR(contents_buffer(b, value, &contents, error));
    OPS_RETURN_IF_ERROR(rt_builder_locate(b, contents, error));
    OPS_RETURN_IF_ERROR(
        find(b, value, device, place, layout, alignment, padding, out_buffer, error));
    if (*out_buffer != RT_NO_BUFFER) return OPS_OK;
  }
  if (layout == OPS_LAYOUT_STRIDED)
    return make_strided(b, value, place, alignment, padding, out_buffer, error);
  uint32_t strided = RT_NO_BUFFER;
  OPS_RETURN_IF_ERROR(rt_builder_materialise(b, value, device, memory_kind, OPS_LAYOUT_STRIDED,
                                             0, 0, &strided, error));
  OPS_RETURN_IF_ERROR(
      reorder_to(b, device, value, strided, layout, alignment, padding, out_buffer, error));
  return rt_builder_locate(b, *out_buffer, error);
}

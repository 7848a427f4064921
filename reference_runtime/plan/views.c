// SPDX-License-Identifier: Apache-2.0
//
// Views: a unit whose output is its input under another shape (OPS_ALIAS_VIEW) needs no action
// if both can share memory. Both are only read from then on; the memory is in use until the
// last reader of either, which is also when it may be overwritten in place.
#include <ops_support/error.h>
#include <ops_support/node.h>

#include "plan/builder.h"

// The input of which the unit's only output can be a view, or -1.
static int32_t viewed_input(const rt_unit *unit) {
  const ops_kernel_def *def = unit->def;
  if (!def || unit->output_count != 1 || !unit->outputs[0]) return -1;
  for (uint64_t i = 0; i < def->alias_count; ++i) {
    const ops_alias_def *alias = OPS_AT(ops_alias_def, def->aliases, def->alias_stride, i);
    const int fits = alias->input >= 0 && (uint32_t)alias->input < unit->input_count &&
                     alias->output == 0 && unit->inputs[alias->input];
    if ((alias->flags & OPS_ALIAS_VIEW) && fits) return alias->input;
  }
  return -1;
}

// A buffer of this segment that has the value, dense, where the unit would put its output.
static uint32_t viewable_buffer(const rt_builder *b, const rt_unit *unit,
                                const rt_value *value) {
  const uint32_t place = rt_place(unit->device, rt_unit_output_kind(unit, 0));
  for (const rt_location *at = b->plan->known[value->id].locations; at; at = at->next) {
    if (at->segment != b->plan->segment || at->place != place ||
        at->layout != OPS_LAYOUT_STRIDED)
      continue;
    const int32_t storage = b->plan->buffers[at->buffer].storage;
    if (storage == RT_STORAGE_ARENA || storage == RT_STORAGE_INPUT) return at->buffer;
  }
  return RT_NO_BUFFER;
}

static int32_t add_view(rt_builder *b, const rt_value *value, const ops_type_info *type,
                        uint32_t buffer, ops_error *error) {
  rt_buffer view = b->plan->buffers[buffer];
  uint32_t number = 0;
  view.value = value;
  view.type = type;
  view.alignment = view.padding = 0;
  view.viewed = 1 + buffer;
  OPS_RETURN_IF_ERROR(rt_builder_add_buffer(b, &view, &number, error));
  b->plan->known[value->id].type = type;
  b->produced[value->id] = 1;
  uint32_t *root =
      &b->last_reader[b->plan->buffers[rt_builder_root(b->plan, buffer)].value->id];
  if (b->last_reader[value->id] > *root) *root = b->last_reader[value->id];
  return rt_builder_locate(b, number, error);
}

static const ops_type_info *inferred_type(rt_builder *b) {
  const rt_type *inferred = &b->inferred[0].type;
  int64_t dims[OPS_MAX_RANK];
  for (int32_t i = 0; i < inferred->rank; ++i) dims[i] = inferred->dims[i].value;
  return rt_type_info_tensor(b->bump, OPS_VALUE_TENSOR, inferred->elem_type, inferred->rank,
                             dims);
}

int32_t rt_builder_view(rt_builder *b, const rt_unit *unit, int *out_viewed, ops_error *error) {
  const int32_t input = viewed_input(unit);
  *out_viewed = 0;
  if (input < 0 || b->request->no_reuse) return OPS_OK;
  const rt_value *value = unit->outputs[0];
  const uint32_t from = viewable_buffer(b, unit, unit->inputs[input]);
  if (from == RT_NO_BUFFER || b->last_reader[value->id] == RT_READ_AT_END) return OPS_OK;
  const rt_buffer *source = &b->plan->buffers[from];
  const uint64_t bytes = rt_builder_inferred_bytes(b, 0);  // 0: inference does not say
  if (bytes == 0 || bytes != source->bytes ||
      b->inferred[0].type.elem_type != source->type->type)
    return OPS_OK;
  const ops_type_info *type = inferred_type(b);
  if (!type) return rt_builder_exhausted(error);
  *out_viewed = 1;
  return add_view(b, value, type, from, error);
}

// SPDX-License-Identifier: Apache-2.0
//
// A control-flow node that the runtime runs itself: one action on the calling thread, with its
// inputs in host memory and outputs whose shapes running tells. What the bodies do is planned
// by plans of their own, when they run.
#include <ops_support/error.h>
#include <ops_support/tensor.h>

#include "plan/builder.h"

static int32_t bring_inputs(rt_builder *b, const rt_unit *unit, uint32_t *inputs,
                            ops_error *error) {
  for (uint32_t i = 0; i < unit->input_count; ++i) {
    inputs[i] = RT_NO_BUFFER;
    if (unit->inputs[i])
      OPS_RETURN_IF_ERROR(rt_builder_materialise(b, unit->inputs[i], NULL, OPS_MEMORY_HOST,
                                                 OPS_LAYOUT_STRIDED, 0, 0, &inputs[i], error));
  }
  return OPS_OK;
}

// A tensor whose shape is open, or a host object that the bodies make.
static int32_t output_buffer(rt_builder *b, const rt_unit *unit, const rt_value *value,
                             rt_buffer *buffer, ops_error *error) {
  const int32_t stated = rt_view_kind(&value->type);
  const int32_t kind = stated ? stated : OPS_VALUE_TENSOR;
  const ops_type_info *type = NULL;
  *buffer = (rt_buffer){.value = value,
                        .place = RT_PLACE_HOST,
                        .index = rt_builder_graph_output(b, value),
                        .storage = RT_STORAGE_OBJECT};
  const int moves = buffer->index != RT_NO_BUFFER &&
                    rt_builder_output_place(b, buffer->index) != RT_PLACE_HOST;
  if (kind != OPS_VALUE_TENSOR && kind != OPS_VALUE_STRINGS) {
    OPS_RETURN_IF_ERROR(rt_views_type(b->request->partition->views, value, &type, error));
    buffer->type = type;
    return OPS_OK;
  }
  ops_type_info *open =
      (ops_type_info *)rt_type_info_tensor(b->bump, kind, value->type.elem_type, 0, NULL);
  if (!open) return rt_builder_exhausted(error);
  open->dims = open->strides = NULL;
  buffer->type = open;
  buffer->late = 1;
  if (kind == OPS_VALUE_STRINGS) return OPS_OK;
  buffer->storage = RT_STORAGE_LATE;
  if (moves) buffer->index = RT_NO_BUFFER;
  // What is handed on as it is lies where its owner has put it.
  buffer->alignment = unit->lends ? 0 : RT_CONTROL_ALIGNMENT;
  return OPS_OK;
}

static int32_t add_output(rt_builder *b, const rt_unit *unit, uint32_t i, uint32_t *out_buffer,
                          ops_error *error) {
  const rt_value *value = unit->outputs[i];
  rt_buffer buffer;
  *out_buffer = RT_NO_BUFFER;
  if (!value) return OPS_OK;
  OPS_RETURN_IF_ERROR(output_buffer(b, unit, value, &buffer, error));
  OPS_RETURN_IF_ERROR(rt_builder_add_buffer(b, &buffer, out_buffer, error));
  OPS_RETURN_IF_ERROR(rt_builder_locate(b, *out_buffer, error));
  b->produced[value->id] = 1;
  if (buffer.late) return rt_builder_note_late(b, *out_buffer, error);
  b->plan->known[value->id].type = buffer.type;
  return OPS_OK;
}

static int32_t plan_control(rt_builder *b, const rt_unit *unit, ops_error *error) {
  uint32_t *inputs = rt_bump_new(b->bump, unit->input_count, sizeof *inputs);
  uint32_t *outputs = rt_bump_new(b->bump, unit->output_count, sizeof *outputs);
  if (!inputs || !outputs) return rt_builder_exhausted(error);
  OPS_RETURN_IF_ERROR(bring_inputs(b, unit, inputs, error));
  for (uint32_t i = 0; i < unit->output_count; ++i)
    OPS_RETURN_IF_ERROR(add_output(b, unit, i, &outputs[i], error));
  const rt_action action = {.kind = RT_ACTION_CONTROL,
                            .queue = RT_QUEUE_NONE,
                            .unit = unit,
                            .name = unit->name,
                            .inputs = inputs,
                            .input_count = unit->input_count,
                            .outputs = outputs,
                            .output_count = unit->output_count,
                            .workspace = RT_NO_BUFFER};
  return rt_builder_add_action(b, &action, error);
}

int32_t rt_builder_add_control(rt_builder *b, const rt_unit *unit, ops_error *error) {
  const int32_t status = plan_control(b, unit, error);
  return status == OPS_OK ? OPS_OK : ops_error_prefix(error, "%s", unit->where);
}

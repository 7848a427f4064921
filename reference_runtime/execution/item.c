// SPDX-License-Identifier: Apache-2.0
//
// Items and frames of control flow: ownership moves, data stay where they are.
#include "execution/item.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "loader/value.h"

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "running control flow");
}

// ---- Items ----------------------------------------------------------------------------------

void rt_item_finish(rt_item *item) {
  free(item->owned_data);
  ops_value_release(item->owned_value);
  *item = (rt_item){0};
}

static void set_shape(rt_item *item, int32_t kind, int32_t type, int32_t rank,
                      const int64_t *dims) {
  if (rank > 0) memmove(item->dims, dims, (size_t)rank * sizeof *dims);
  ops_strides_contiguous(rank, item->dims, item->strides);
  item->type = (ops_type_info){.struct_size = sizeof item->type,
                               .kind = kind,
                               .type = type,
                               .rank = rank,
                               .dims = item->dims,
                               .strides = item->strides};
  item->input.type = &item->type;
}

void rt_item_tensor(rt_item *item, int32_t type, int32_t rank, const int64_t *dims,
                    const void *data) {
  rt_item_finish(item);
  set_shape(item, OPS_VALUE_TENSOR, type, rank, dims);
  item->input.data = data;
}

int32_t rt_item_scalar(rt_item *item, int32_t type, int32_t rank, const void *data,
                       uint64_t size, ops_error *error) {
  const int64_t one = 1;
  void *copy = malloc(size);
  if (!copy) return exhausted(error);
  memcpy(copy, data, size);
  rt_item_tensor(item, type, rank, &one, copy);
  item->owned_data = copy;
  return OPS_OK;
}

int32_t rt_item_value(rt_item *item, ops_value *value, const ops_type_info *like,
                      ops_error *error) {
  const int32_t kind = ops_value_accessors.kind(value);
  int32_t rank = 0;
  const int64_t *dims = NULL;
  rt_item_finish(item);
  item->input.value = value;
  if (kind == OPS_VALUE_STRINGS) {
    OPS_RETURN_IF_ERROR(ops_value_accessors.strings_shape(value, &rank, &dims, error));
    set_shape(item, kind, OPS_TYPE_STRING, rank, dims);
    return OPS_OK;
  }
  item->type = (ops_type_info){.struct_size = sizeof item->type, .kind = kind, .rank = -1};
  if (like && like->kind == kind) {
    item->type.type = like->type;
    item->type.element = like->element;
  }
  item->input.type = &item->type;
  return OPS_OK;
}

int32_t rt_item_arg(rt_item *item, const ops_arg *arg, const ops_type_info *like,
                    ops_error *error) {
  const ops_tensor *tensor = &arg->tensor;
  if (arg->kind == OPS_ARG_VALUE) return rt_item_value(item, arg->value, like, error);
  const char *data = ops_tensor_data(tensor);
  rt_item_tensor(item, tensor->type, tensor->rank, tensor->dims, data);
  return OPS_OK;
}

int32_t rt_item_take(rt_item *item, rt_run_output *output, const ops_type_info *like,
                     ops_error *error) {
  if (output->value) {
    ops_value *value = output->value;
    output->value = NULL;
    const int32_t status = rt_item_value(item, value, like, error);
    item->owned_value = value;
    return status;
  }
  rt_item_tensor(item, output->type, output->rank, output->dims, output->data);
  if (!output->lent) item->owned_data = output->data;
  output->lent = 1;
  return OPS_OK;
}

void rt_item_give(rt_item *item, rt_run_output *output) {
  const ops_type_info *type = &item->type;
  *output = (rt_run_output){.kind = type->kind, .type = type->type, .rank = type->rank};
  if (item->input.value) {
    output->value = item->owned_value ? item->owned_value : ops_value_retain(item->input.value);
  } else {
    if (type->rank > 0)
      memcpy(output->dims, item->dims, (size_t)type->rank * sizeof item->dims[0]);
    // The size was checked when the tensor was made.
    rt_type_info_bytes(type, &output->size, NULL);
    output->data = (void *)item->input.data;
    output->lent = item->owned_data == NULL;
  }
  *item = (rt_item){0};
}

// ---- Optionals ------------------------------------------------------------------------------

ops_arg rt_output_arg(const rt_run_output *output, int64_t *strides) {
  ops_arg arg = {.kind = OPS_ARG_VALUE, .value = output->value};
  if (output->value) return arg;
  ops_strides_contiguous(output->rank, output->dims, strides);
  arg = (ops_arg){.kind = OPS_ARG_TENSOR, .memory_kind = OPS_MEMORY_HOST};
  arg.tensor = (ops_tensor){.dims = output->dims,
                            .strides = strides,
                            .memory = output->data,
                            .byte_size = output->size,
                            .type = output->type,
                            .rank = output->rank};
  return arg;
}

static int32_t wrap(rt_run_output *output, ops_error *error) {
  int64_t strides[OPS_MAX_RANK];
  ops_value *optional = NULL;
  OPS_RETURN_IF_ERROR(ops_value_create(OPS_VALUE_OPTIONAL, &optional, error));
  const ops_arg arg = rt_output_arg(output, strides);
  const int32_t status = ops_value_accessors.optional_set(optional, &arg, error);
  rt_run_output_finish(output);
  *output = (rt_run_output){.kind = OPS_VALUE_OPTIONAL, .value = optional};
  return status;
}

static int32_t unwrap(rt_run_output *output, ops_error *error) {
  ops_arg arg;
  OPS_RETURN_IF_ERROR(ops_value_accessors.optional_get(output->value, &arg, error));
  if (arg.kind == OPS_ARG_ABSENT)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
                               "an optional is empty where its element is needed");
  rt_run_output element = {0};
  if (arg.kind == OPS_ARG_VALUE) {
    element.kind = ops_value_accessors.kind(arg.value);
    element.value = ops_value_retain(arg.value);
  } else {
    element = (rt_run_output){.kind = OPS_VALUE_TENSOR,
                              .type = arg.tensor.type,
                              .rank = arg.tensor.rank,
                              .size = arg.tensor.byte_size};
    if (element.rank > 0)
      memcpy(element.dims, arg.tensor.dims, (size_t)element.rank * sizeof element.dims[0]);
    if (!(element.data = malloc(element.size ? element.size : 1))) return exhausted(error);
    if (element.size)
      memcpy(element.data, (const char *)arg.tensor.memory + arg.tensor.byte_offset,
             element.size);
  }
  rt_run_output_finish(output);
  *output = element;
  return OPS_OK;
}

int32_t rt_output_convert(rt_run_output *output, int32_t kind, ops_error *error) {
  if (kind == output->kind) return OPS_OK;
  if (kind == OPS_VALUE_OPTIONAL) return wrap(output, error);
  return output->kind == OPS_VALUE_OPTIONAL ? unwrap(output, error) : OPS_OK;
}

// ---- Frames ---------------------------------------------------------------------------------

static int32_t lend_captures(rt_frame *frame, const rt_control *control, ops_error *error) {
  const rt_graph *graph = frame->graph;
  const uint32_t first = rt_node_first_capture(control->node, graph);
  uint32_t at = graph->input_count;
  for (uint32_t i = 0; i < graph->capture_count; ++i) {
    if (rt_value_constant(graph->captures[i])) continue;
    const ops_arg arg = rt_control_operand(control, first + i);
    OPS_RETURN_IF_ERROR(rt_item_arg(&frame->items[at], &arg, rt_frame_type(frame, at), error));
    at++;
  }
  return OPS_OK;
}

static rt_executor *find_body(const rt_control *control, const char *name) {
  const rt_graph *graph = rt_attrs_graph(&control->node->op.attrs, name);
  rt_executor **bodies = control->run->executor->bodies[control->unit->index];
  for (uint32_t i = 0; graph && i < control->unit->body_count; ++i)
    if (bodies[i]->options.graph == graph) return bodies[i];
  return NULL;
}

int32_t rt_frame_init(rt_frame *frame, rt_control *control, const char *name,
                      ops_error *error) {
  *frame = (rt_frame){.executor = find_body(control, name)};
  if (!frame->executor)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
                               "it has no body '%s'", name);
  frame->graph = frame->executor->options.graph;
  frame->input_count = frame->executor->options.partition->input_count;
  frame->items = calloc((size_t)frame->input_count + 1, sizeof *frame->items);
  frame->inputs = calloc((size_t)frame->input_count + 1, sizeof *frame->inputs);
  frame->outputs = calloc((size_t)frame->graph->output_count + 1, sizeof *frame->outputs);
  if (!frame->items || !frame->inputs || !frame->outputs) return exhausted(error);
  return lend_captures(frame, control, error);
}

void rt_frame_finish(rt_frame *frame) {
  for (uint32_t i = 0; frame->outputs && i < frame->graph->output_count; ++i)
    rt_run_output_finish(&frame->outputs[i]);
  for (uint32_t i = 0; frame->items && i < frame->input_count; ++i)
    rt_item_finish(&frame->items[i]);
  free(frame->items);
  free(frame->inputs);
  free(frame->outputs);
}

const ops_type_info *rt_frame_type(const rt_frame *frame, uint32_t input) {
  const rt_partition *partition = frame->executor->options.partition;
  const ops_type_info *type = NULL;
  // Made when the body was placed: this only reads it.
  rt_views_type(partition->views, partition->inputs[input], &type, NULL);
  return type;
}

// An output that is an item as it is takes over what the item owns; a second one is copied.
static int32_t own_output(rt_frame *frame, uint32_t index, ops_error *error) {
  rt_run_output *output = &frame->outputs[index];
  if (!output->lent) return OPS_OK;
  for (uint32_t i = 0; i < frame->input_count; ++i) {
    rt_item *item = &frame->items[i];
    if (!item->owned_data || item->owned_data != output->data) continue;
    item->owned_data = NULL;
    output->lent = 0;
    return OPS_OK;
  }
  for (uint32_t i = 0; i < index; ++i) {
    if (frame->outputs[i].lent || frame->outputs[i].data != output->data) continue;
    void *copy = malloc(output->size ? output->size : 1);
    if (!copy) return exhausted(error);
    if (output->size) memcpy(copy, output->data, output->size);
    output->data = copy;
    output->lent = 0;
  }
  return OPS_OK;
}

int32_t rt_frame_run(rt_frame *frame, rt_control *control, const rt_run_sink *sink,
                     ops_error *error) {
  for (uint32_t i = 0; i < frame->input_count; ++i) frame->inputs[i] = frame->items[i].input;
  const int32_t status =
      rt_run_body(control->run, frame->executor, frame->inputs, sink, frame->outputs, error);
  control->in_body = status != OPS_OK;
  OPS_RETURN_IF_ERROR(status);
  for (uint32_t i = 0; i < frame->graph->output_count; ++i)
    OPS_RETURN_IF_ERROR(own_output(frame, i, error));
  return OPS_OK;
}

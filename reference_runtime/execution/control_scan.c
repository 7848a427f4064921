// SPDX-License-Identifier: Apache-2.0
//
// Scan, as of opset 9 and, with a batch axis and lengths of sequences, as of opset 8. Slices of
// an input along its first axis are lent as they lie; along another axis they are gathered.
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "execution/item.h"
#include "execution/stack.h"
#include "loader/value.h"

// Body: (states …, slices …) → (states …, slices …).
typedef struct scan {
  rt_control *control;
  rt_frame frame;
  rt_stack *stacks;  // of slices; with a batch also of the final states, which come first
  uint32_t first;    // operand that is the first state
  uint32_t states;
  uint32_t inputs;  // that are scanned
  uint32_t scans;   // outputs
  int32_t batched;  // 1: opset 8
  int64_t batch;    // number of batches; 1 without
  int64_t length;   // of the scanned axis
  int64_t at_batch;
  int64_t at_step;  // in [0, steps)
} scan;

static int64_t attr_at(const scan *s, const char *name, uint32_t index) {
  uint32_t count = 0;
  const int64_t *values = rt_attrs_ints(&s->control->node->op.attrs, name, &count);
  return values && index < count ? values[index] : 0;
}

// ---- Slots and slices -----------------------------------------------------------------------

static int64_t slot_of(const scan *s, uint32_t output) {
  const int backward = !s->batched && attr_at(s, "scan_output_directions", output) == 1;
  return s->at_batch * s->length + (backward ? s->length - 1 - s->at_step : s->at_step);
}

static int32_t place_slice(void *context, uint32_t output, uint64_t size, uint64_t alignment,
                           void **out_memory, ops_error *error) {
  scan *s = context;
  *out_memory = NULL;
  if (output < s->states) return OPS_OK;
  return rt_stack_place(&s->stacks[output], slot_of(s, output - s->states), size, alignment,
                        out_memory, error);
}

// A view of a tensor as [outer][length][inner].
typedef struct lines {
  int64_t outer, length, inner;
} lines;

static lines lines_of(const int64_t *dims, int32_t rank, int32_t axis) {
  lines l = {1, dims[axis], 1};
  for (int32_t i = 0; i < rank; ++i)
    if (i != axis) *(i < axis ? &l.outer : &l.inner) *= dims[i];
  return l;
}

static int32_t gather_tensor(rt_item *item, const ops_tensor *tensor, lines l, int64_t index,
                             int32_t rank, const int64_t *dims, ops_error *error) {
  const char *data = ops_tensor_data(tensor);
  uint64_t bytes = 0;
  if (!ops_type_bytes(tensor->type, l.outer * l.inner, &bytes)) bytes = UINT64_MAX;
  const int64_t first = index * l.inner * ops_type_bits(tensor->type);
  if (l.outer == 1 && first % 8 == 0) {
    rt_item_tensor(item, tensor->type, rank, dims, bytes ? data + first / 8 : data);
    return OPS_OK;
  }
  void *copy = bytes == UINT64_MAX ? NULL : calloc(bytes ? bytes : 1, 1);
  if (!copy) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a slice of a scanned input");
  for (int64_t o = 0; o < l.outer; ++o)
    rt_elements_copy(tensor->type, copy, o * l.inner, data, (o * l.length + index) * l.inner,
                     l.inner);
  rt_item_tensor(item, tensor->type, rank, dims, copy);
  item->owned_data = copy;
  return OPS_OK;
}

static int32_t gather_strings(rt_item *item, const ops_value *value, lines l, int64_t index,
                              int32_t rank, const int64_t *dims, ops_error *error) {
  const ops_value_api *api = &ops_value_accessors;
  ops_value *slice = NULL;
  int32_t status = ops_value_create(OPS_VALUE_STRINGS, &slice, error);
  if (status == OPS_OK) status = api->strings_resize(slice, rank, dims, error);
  for (int64_t i = 0; status == OPS_OK && i < l.outer * l.inner; ++i) {
    const int64_t from = (i / l.inner * l.length + index) * l.inner + i % l.inner;
    ops_str text;
    status = api->string_get(value, (uint64_t)from, &text, error);
    if (status == OPS_OK) status = api->string_set(slice, (uint64_t)i, text, error);
  }
  if (status == OPS_OK) status = rt_item_value(item, slice, NULL, error);
  if (status == OPS_OK)
    item->owned_value = slice;
  else
    ops_value_release(slice);
  return status;
}

// Slice `index` along `axis`, the axis dropped.
static int32_t gather(rt_item *item, const ops_arg *arg, int32_t rank, const int64_t *dims,
                      int32_t axis, int64_t index, ops_error *error) {
  int64_t rest[OPS_MAX_RANK];
  for (int32_t i = 0, to = 0; i < rank; ++i)
    if (i != axis) rest[to++] = dims[i];
  const lines l = lines_of(dims, rank, axis);
  if (arg->kind == OPS_ARG_VALUE)
    return gather_strings(item, arg->value, l, index, rank - 1, rest, error);
  return gather_tensor(item, &arg->tensor, l, index, rank - 1, rest, error);
}

static int32_t shape_of(const ops_arg *arg, int32_t *out_rank, const int64_t **out_dims,
                        ops_error *error) {
  if (arg->kind == OPS_ARG_TENSOR) {
    *out_rank = arg->tensor.rank;
    *out_dims = arg->tensor.dims;
    return OPS_OK;
  }
  if (arg->kind == OPS_ARG_VALUE && ops_value_accessors.kind(arg->value) == OPS_VALUE_STRINGS)
    return ops_value_accessors.strings_shape(arg->value, out_rank, out_dims, error);
  return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
                             "a state or scanned input is left out or no tensor");
}

// ---- Shapes ---------------------------------------------------------------------------------

// The scanned axis of input number `index`.
static int32_t axis_of(const scan *s, uint32_t index, int32_t rank, int32_t *out_axis,
                       ops_error *error) {
  int64_t axis = s->batched ? 1 : attr_at(s, "scan_input_axes", index);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
                               "scanned input %u of rank %d has no axis %lld", index, rank,
                               (long long)axis);
  *out_axis = (int32_t)axis;
  return OPS_OK;
}

static int32_t agree(const char *what, uint32_t index, int64_t found, int64_t *expected,
                     ops_error *error) {
  if (*expected < 0) *expected = found;
  if (*expected == found) return OPS_OK;
  return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
                             "operand %u has %s %lld, those before it %lld; expected the same",
                             index, what, (long long)found, (long long)*expected);
}

static int32_t measure(scan *s, ops_error *error) {
  s->length = -1;
  s->batch = s->batched ? -1 : 1;
  for (uint32_t i = 0; i < s->states + s->inputs; ++i) {
    const ops_arg arg = rt_control_operand(s->control, s->first + i);
    const int64_t *dims = NULL;
    int32_t rank = 0, axis = 0;
    OPS_RETURN_IF_ERROR(shape_of(&arg, &rank, &dims, error));
    if (s->batched && rank == 0)
      return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
                                 "operand %u has no batch axis", s->first + i);
    if (s->batched) OPS_RETURN_IF_ERROR(agree("batch size", i, dims[0], &s->batch, error));
    if (i < s->states) continue;
    OPS_RETURN_IF_ERROR(axis_of(s, i - s->states, rank, &axis, error));
    OPS_RETURN_IF_ERROR(agree("length", i, dims[axis], &s->length, error));
  }
  return OPS_OK;
}

static int32_t scan_init(scan *s, ops_error *error) {
  const rt_node *node = s->control->node;
  const int64_t scanned = rt_attrs_int(&node->op.attrs, "num_scan_inputs", 0);
  OPS_RETURN_IF_ERROR(rt_frame_init(&s->frame, s->control, "body", error));
  s->batched = node->op.opset < 9;
  s->first = s->batched ? 1 : 0;
  const rt_graph *graph = s->frame.graph;
  if (scanned < 1 || scanned > graph->input_count ||
      node->input_count != s->first + graph->input_count ||
      graph->output_count < graph->input_count - scanned)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
        "num_scan_inputs is %lld, the node has %u inputs, the body %u inputs "
        "and %u outputs; they do not fit together",
        (long long)scanned, node->input_count, graph->input_count, graph->output_count);
  s->inputs = (uint32_t)scanned;
  s->states = graph->input_count - s->inputs;
  s->scans = graph->output_count - s->states;
  OPS_RETURN_IF_ERROR(measure(s, error));
  int64_t slots = 0;
  s->stacks = calloc((size_t)graph->output_count + 1, sizeof *s->stacks);
  if (!s->stacks || !ops_checked_count((int64_t[]){s->batch, s->length}, 2, &slots))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "the outputs of a Scan");
  for (uint32_t i = 0; i < graph->output_count; ++i)
    s->stacks[i] = (rt_stack){.name = graph->output_names[i],
                              .host = rt_control_host(s->control),
                              .total = i < s->states ? s->batch : slots};
  return OPS_OK;
}

// ---- Steps ----------------------------------------------------------------------------------

// The state as it enters: the operand, or its part of this batch.
static int32_t first_state(scan *s, uint32_t state, ops_error *error) {
  const ops_arg arg = rt_control_operand(s->control, s->first + state);
  rt_item *item = &s->frame.items[state];
  const int64_t *dims = NULL;
  int32_t rank = 0;
  if (!s->batched) return rt_item_arg(item, &arg, NULL, error);
  OPS_RETURN_IF_ERROR(shape_of(&arg, &rank, &dims, error));
  return gather(item, &arg, rank, dims, 0, s->at_batch, error);
}

// The part of a batch, without its axis: an item that borrows.
static int32_t batch_part(const scan *s, const ops_arg *arg, rt_item *part, ops_arg *out_arg,
                          ops_error *error) {
  const int64_t *dims = NULL;
  int32_t rank = 0;
  OPS_RETURN_IF_ERROR(shape_of(arg, &rank, &dims, error));
  OPS_RETURN_IF_ERROR(gather(part, arg, rank, dims, 0, s->at_batch, error));
  *out_arg = (ops_arg){.kind = part->input.value ? OPS_ARG_VALUE : OPS_ARG_TENSOR,
                       .value = part->input.value};
  if (part->input.value) return OPS_OK;
  out_arg->tensor = (ops_tensor){.dims = part->dims,
                                 .memory = (void *)part->input.data,
                                 .type = part->type.type,
                                 .rank = part->type.rank};
  return OPS_OK;
}

static int32_t scanned_slice(scan *s, uint32_t index, int64_t steps, ops_error *error) {
  ops_arg arg = rt_control_operand(s->control, s->first + s->states + index);
  rt_item part = {0};
  const int64_t *dims = NULL;
  int32_t rank = 0, axis = 0;
  int32_t status = s->batched ? batch_part(s, &arg, &part, &arg, error) : OPS_OK;
  if (status == OPS_OK) status = shape_of(&arg, &rank, &dims, error);
  if (status == OPS_OK && !s->batched) status = axis_of(s, index, rank, &axis, error);
  const char *name = s->batched ? "directions" : "scan_input_directions";
  const int64_t step = attr_at(s, name, index) == 1 ? steps - 1 - s->at_step : s->at_step;
  if (status == OPS_OK)
    status = gather(&s->frame.items[s->states + index], &arg, rank, dims, axis, step, error);
  // A slice may point into a part that was gathered: then it takes the part over.
  rt_item *slice = &s->frame.items[s->states + index];
  if (status == OPS_OK && part.owned_data && !slice->owned_data && !slice->input.value) {
    const uint64_t offset =
        (uint64_t)((const char *)slice->input.data - (char *)part.owned_data);
    uint64_t bytes = 0;
    rt_type_info_bytes(&slice->type, &bytes, NULL);
    memmove(part.owned_data, (char *)part.owned_data + offset, bytes);
    slice->input.data = slice->owned_data = part.owned_data;
    part.owned_data = NULL;
  }
  rt_item_finish(&part);
  return status;
}

static int32_t next_state(scan *s, uint32_t state, ops_error *error) {
  const rt_run_output *output = &s->frame.outputs[state];
  const rt_item *item = &s->frame.items[state];
  const int strings = output->kind == OPS_VALUE_STRINGS && item->type.kind == output->kind;
  if (!strings && (output->kind != item->type.kind || output->type != item->type.type))
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
        "state '%s' became kind %d of type %s in step %lld, it was kind %d of "
        "type %s; a state must keep its type",
        s->frame.graph->inputs[state]->name, output->kind, ops_type_name(output->type),
        (long long)s->at_step, item->type.kind, ops_type_name(item->type.type));
  return rt_item_take(&s->frame.items[state], &s->frame.outputs[state], NULL, error);
}

static int32_t step(scan *s, int64_t steps, ops_error *error) {
  const rt_run_sink sink = {place_slice, s};
  for (uint32_t i = 0; i < s->inputs; ++i)
    OPS_RETURN_IF_ERROR(scanned_slice(s, i, steps, error));
  OPS_RETURN_IF_ERROR(rt_frame_run(&s->frame, s->control, &sink, error));
  for (uint32_t i = 0; i < s->scans; ++i)
    OPS_RETURN_IF_ERROR(rt_stack_put(&s->stacks[s->states + i], slot_of(s, i),
                                     &s->frame.outputs[s->states + i], error));
  for (uint32_t i = 0; i < s->states; ++i) OPS_RETURN_IF_ERROR(next_state(s, i, error));
  return OPS_OK;
}

// How many steps this batch has.
static int32_t steps_of(const scan *s, int64_t *out_steps, ops_error *error) {
  *out_steps = s->length;
  const ops_arg lengths =
      s->batched ? rt_control_operand(s->control, 0) : (ops_arg){.kind = OPS_ARG_ABSENT};
  if (lengths.kind == OPS_ARG_ABSENT) return OPS_OK;
  const ops_tensor *tensor = &lengths.tensor;
  if (lengths.kind != OPS_ARG_TENSOR || tensor->type != OPS_TYPE_INT64 || tensor->rank != 1 ||
      tensor->dims[0] != s->batch)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
                               "sequence_lens must be an int64 vector of %lld elements",
                               (long long)s->batch);
  memcpy(out_steps, (const char *)tensor->memory + tensor->byte_offset + s->at_batch * 8, 8);
  if (*out_steps >= 0 && *out_steps <= s->length) return OPS_OK;
  return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
                             "sequence_lens[%lld] is %lld, expected a number in [0, %lld]",
                             (long long)s->at_batch, (long long)*out_steps,
                             (long long)s->length);
}

static int32_t run_batch(scan *s, ops_error *error) {
  int64_t steps = 0;
  OPS_RETURN_IF_ERROR(steps_of(s, &steps, error));
  for (uint32_t i = 0; i < s->states; ++i) OPS_RETURN_IF_ERROR(first_state(s, i, error));
  for (s->at_step = 0; s->at_step < steps; ++s->at_step)
    OPS_RETURN_IF_ERROR(step(s, steps, error));
  for (uint32_t i = 0; s->batched && i < s->states; ++i) {
    rt_run_output state;
    rt_item_give(&s->frame.items[i], &state);
    const int32_t status = rt_stack_put(&s->stacks[i], s->at_batch, &state, error);
    rt_run_output_finish(&state);
    OPS_RETURN_IF_ERROR(status);
  }
  return OPS_OK;
}

// ---- Results --------------------------------------------------------------------------------

// [batch * length, …] → [batch, length, …].
static int32_t split_batch(const scan *s, rt_run_output *output, ops_error *error) {
  if (output->rank >= OPS_MAX_RANK)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
                               "an output would have rank %d, at most %d is possible",
                               output->rank + 1, OPS_MAX_RANK);
  memmove(output->dims + 1, output->dims, (size_t)output->rank * sizeof output->dims[0]);
  output->dims[0] = s->batch;
  output->dims[1] = s->length;
  output->rank++;
  if (!output->value) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                       "strings cannot be stacked by Scan of opset 8; use opset 9");
}

static int32_t deliver_stack(scan *s, uint32_t index, ops_error *error) {
  const int slices = index >= s->states;
  const int64_t axis =
      slices && !s->batched ? attr_at(s, "scan_output_axes", index - s->states) : 0;
  rt_run_output output = {0};
  int32_t status = rt_stack_give(&s->stacks[index], axis, &s->frame.graph->outputs[index]->type,
                                 &output, error);
  if (status == OPS_OK && slices && s->batched) status = split_batch(s, &output, error);
  if (status == OPS_OK) return rt_control_deliver(s->control, index, &output, error);
  rt_run_output_finish(&output);
  return status;
}

static int32_t scan_deliver(scan *s, ops_error *error) {
  for (uint32_t i = 0; i < s->states; ++i) {
    rt_run_output output;
    if (s->batched) {
      OPS_RETURN_IF_ERROR(deliver_stack(s, i, error));
      continue;
    }
    rt_item_give(&s->frame.items[i], &output);
    OPS_RETURN_IF_ERROR(rt_control_deliver(s->control, i, &output, error));
  }
  for (uint32_t i = 0; i < s->scans; ++i)
    OPS_RETURN_IF_ERROR(deliver_stack(s, s->states + i, error));
  return OPS_OK;
}

int32_t rt_control_scan(rt_control *control, ops_error *error) {
  scan s = {.control = control};
  int32_t status = scan_init(&s, error);
  for (s.at_batch = 0; status == OPS_OK && s.at_batch < s.batch; ++s.at_batch)
    status = run_batch(&s, error);
  if (status == OPS_OK) status = scan_deliver(&s, error);
  for (uint32_t i = 0; s.stacks && i < s.frame.graph->output_count; ++i)
    rt_stack_finish(&s.stacks[i]);
  free(s.stacks);
  rt_frame_finish(&s.frame);
  return status;
}

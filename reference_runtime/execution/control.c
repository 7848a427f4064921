// SPDX-License-Identifier: Apache-2.0
//
// If, Loop and SequenceMap by the definitions of the ONNX operators. Scan is in control_scan.c.
// Bodies are run through rt_run_body: planned once per shapes, their kernels prepared once.
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "execution/item.h"
#include "execution/stack.h"
#include "loader/value.h"

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "running control flow");
}

// ---- Operands and results -------------------------------------------------------------------

ops_arg rt_control_operand(const rt_control *control, uint32_t index) {
  const rt_action *action = control->action;
  if (index >= action->input_count || action->inputs[index] == RT_NO_BUFFER)
    return (ops_arg){.kind = OPS_ARG_ABSENT};
  return control->segment->bindings[action->inputs[index]].arg;
}

static const void *data_of(const ops_arg *arg) {
  return ops_tensor_data(&arg->tensor);
}

// A tensor of one element.
static int32_t need_scalar(const ops_arg *arg, const char *name, int32_t type,
                           ops_error *error) {
  int64_t count = 0;
  if (arg->kind == OPS_ARG_TENSOR && arg->tensor.type == type &&
      ops_checked_count(arg->tensor.dims, arg->tensor.rank, &count) && count == 1)
    return OPS_OK;
  return ops_error_set_cause(
      error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
      "'%s' must be one element of type %s; found %lld of type %s", name, ops_type_name(type),
      (long long)count,
      arg->kind == OPS_ARG_TENSOR ? ops_type_name(arg->tensor.type) : "no tensor");
}

int32_t rt_control_bool(const rt_control *control, const ops_arg *arg, const char *name,
                        int *out_value, ops_error *error) {
  (void)control;
  OPS_RETURN_IF_ERROR(need_scalar(arg, name, OPS_TYPE_BOOL, error));
  *out_value = *(const uint8_t *)data_of(arg) != 0;
  return OPS_OK;
}

static int32_t check_result(const rt_control *control, uint32_t index, rt_run_output *output,
                            ops_error *error) {
  const rt_value *value = control->unit->outputs[index];
  const int32_t stated = rt_view_kind(&value->type);
  const int32_t kind = stated ? stated : OPS_VALUE_TENSOR;
  OPS_RETURN_IF_ERROR(rt_output_convert(output, kind, error));
  const int tensors = kind == OPS_VALUE_TENSOR && output->kind == OPS_VALUE_TENSOR;
  if (kind == output->kind &&
      (!tensors || !value->type.elem_type || value->type.elem_type == output->type))
    return OPS_OK;
  return ops_error_set_cause(
      error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
      "output '%s' came out as kind %d of type %s; the model makes it kind %d "
      "of type %s. Let every branch and iteration yield the same type",
      value->name, output->kind, ops_type_name(output->type), kind,
      ops_type_name(value->type.elem_type));
}

int32_t rt_control_deliver(const rt_control *control, uint32_t index, rt_run_output *output,
                           ops_error *error) {
  int32_t status = OPS_OK;
  if (index < control->action->output_count &&
      control->action->outputs[index] != RT_NO_BUFFER) {
    status = check_result(control, index, output, error);
    if (status == OPS_OK)
      status = rt_run_adopt(control->run, control->segment, control->action->outputs[index],
                            output, control->unit->lends, error);
  }
  rt_run_output_finish(output);
  return status;
}

// ---- If -------------------------------------------------------------------------------------

static int32_t run_if(rt_control *control, ops_error *error) {
  const ops_arg condition = rt_control_operand(control, 0);
  int taken = 0;
  OPS_RETURN_IF_ERROR(rt_control_bool(control, &condition, "cond", &taken, error));
  rt_frame frame;
  int32_t status = rt_frame_init(&frame, control, taken ? "then_branch" : "else_branch", error);
  if (status == OPS_OK) status = rt_frame_run(&frame, control, NULL, error);
  for (uint32_t i = 0; status == OPS_OK && i < frame.graph->output_count; ++i)
    status = rt_control_deliver(control, i, &frame.outputs[i], error);
  rt_frame_finish(&frame);
  return status;
}

// ---- Loop -----------------------------------------------------------------------------------

// Body: (iteration, condition, states …) → (condition, states …, slices …).
typedef struct loop {
  rt_control *control;
  rt_frame frame;
  rt_stack *stacks;
  uint32_t states;
  uint32_t scans;
  int64_t limit;
  int64_t iteration;
  int going;
} loop;

static int32_t place_slice(void *context, uint32_t output, uint64_t size, uint64_t alignment,
                           void **out_memory, ops_error *error) {
  loop *l = context;
  *out_memory = NULL;
  if (output < 1 + l->states) return OPS_OK;
  return rt_stack_place(&l->stacks[output - 1 - l->states], l->iteration, size, alignment,
                        out_memory, error);
}

static int32_t loop_init(loop *l, ops_error *error) {
  const ops_arg limit = rt_control_operand(l->control, 0);
  const ops_arg condition = rt_control_operand(l->control, 1);
  l->limit = INT64_MAX;
  l->going = 1;
  if (limit.kind != OPS_ARG_ABSENT) {
    OPS_RETURN_IF_ERROR(need_scalar(&limit, "M", OPS_TYPE_INT64, error));
    memcpy(&l->limit, data_of(&limit), sizeof l->limit);
  }
  if (condition.kind != OPS_ARG_ABSENT)
    OPS_RETURN_IF_ERROR(rt_control_bool(l->control, &condition, "cond", &l->going, error));
  OPS_RETURN_IF_ERROR(rt_frame_init(&l->frame, l->control, "body", error));
  const rt_graph *graph = l->frame.graph;
  const uint32_t inputs = l->control->node->input_count;
  l->states = inputs > 2 ? inputs - 2 : 0;
  if (graph->input_count != 2 + l->states || graph->output_count < 1 + l->states)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
        "the body has %u inputs and %u outputs; expected %u inputs and at "
        "least %u outputs",
        graph->input_count, graph->output_count, 2 + l->states, 1 + l->states);
  l->scans = graph->output_count - 1 - l->states;
  l->stacks = calloc((size_t)l->scans + 1, sizeof *l->stacks);
  if (!l->stacks) return exhausted(error);
  for (uint32_t i = 0; i < l->scans; ++i)
    l->stacks[i] = (rt_stack){.name = graph->output_names[1 + l->states + i],
                              .host = rt_control_host(l->control),
                              .total = -1};
  for (uint32_t i = 0; i < l->states; ++i) {
    const ops_arg state = rt_control_operand(l->control, 2 + i);
    if (state.kind == OPS_ARG_ABSENT)
      return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
                                 "input %u, the initial value of '%s', is left out", 2 + i,
                                 graph->inputs[2 + i]->name);
    OPS_RETURN_IF_ERROR(
        rt_item_arg(&l->frame.items[2 + i], &state, rt_frame_type(&l->frame, 2 + i), error));
  }
  return OPS_OK;
}

// A state keeps its kind and element type; its shape may change.
static int32_t next_state(loop *l, uint32_t state, ops_error *error) {
  rt_run_output *output = &l->frame.outputs[1 + state];
  rt_item *item = &l->frame.items[2 + state];
  if (item->type.kind == OPS_VALUE_OPTIONAL)
    OPS_RETURN_IF_ERROR(rt_output_convert(output, OPS_VALUE_OPTIONAL, error));
  if (output->kind != item->type.kind || output->type != item->type.type) {
    if (output->kind != item->type.kind || output->kind == OPS_VALUE_TENSOR)
      return ops_error_set_cause(
          error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
          "state '%s' became kind %d of type %s in iteration %lld, it was "
          "kind %d of type %s; a state must keep its type",
          l->frame.graph->inputs[2 + state]->name, output->kind, ops_type_name(output->type),
          (long long)l->iteration, item->type.kind, ops_type_name(item->type.type));
  }
  return rt_item_take(item, output, rt_frame_type(&l->frame, 2 + state), error);
}

static int32_t next_condition(loop *l, ops_error *error) {
  const rt_run_output *output = &l->frame.outputs[0];
  ops_arg arg = {.kind = output->value ? OPS_ARG_VALUE : OPS_ARG_TENSOR};
  arg.tensor = (ops_tensor){
      .type = output->type, .rank = output->rank, .dims = output->dims, .memory = output->data};
  return rt_control_bool(l->control, &arg, l->frame.graph->output_names[0], &l->going, error);
}

static int32_t scalar_input(loop *l, uint32_t index, int32_t type, const void *data,
                            uint64_t size, ops_error *error) {
  const rt_type *wanted = &l->frame.graph->inputs[index]->type;
  const int32_t rank = wanted->kind == RT_TYPE_TENSOR && wanted->rank == 1 ? 1 : 0;
  return rt_item_scalar(&l->frame.items[index], type, rank, data, size, error);
}

static int32_t iterate(loop *l, ops_error *error) {
  const uint8_t going = 1;
  const rt_run_sink sink = {place_slice, l};
  OPS_RETURN_IF_ERROR(
      scalar_input(l, 0, OPS_TYPE_INT64, &l->iteration, sizeof l->iteration, error));
  OPS_RETURN_IF_ERROR(scalar_input(l, 1, OPS_TYPE_BOOL, &going, sizeof going, error));
  OPS_RETURN_IF_ERROR(rt_frame_run(&l->frame, l->control, &sink, error));
  OPS_RETURN_IF_ERROR(next_condition(l, error));
  for (uint32_t i = 0; i < l->scans; ++i)
    OPS_RETURN_IF_ERROR(
        rt_stack_put(&l->stacks[i], l->iteration, &l->frame.outputs[1 + l->states + i], error));
  for (uint32_t i = 0; i < l->states; ++i) OPS_RETURN_IF_ERROR(next_state(l, i, error));
  rt_run_output_finish(&l->frame.outputs[0]);
  l->iteration++;
  return OPS_OK;
}

static int32_t loop_deliver(loop *l, ops_error *error) {
  rt_run_output output;
  for (uint32_t i = 0; i < l->states; ++i) {
    rt_item_give(&l->frame.items[2 + i], &output);
    OPS_RETURN_IF_ERROR(rt_control_deliver(l->control, i, &output, error));
  }
  for (uint32_t i = 0; i < l->scans; ++i) {
    const rt_value *slice = l->frame.graph->outputs[1 + l->states + i];
    output = (rt_run_output){0};
    const int32_t status = rt_stack_give(&l->stacks[i], 0, &slice->type, &output, error);
    if (status != OPS_OK) rt_run_output_finish(&output);
    OPS_RETURN_IF_ERROR(status);
    OPS_RETURN_IF_ERROR(rt_control_deliver(l->control, l->states + i, &output, error));
  }
  return OPS_OK;
}

static int32_t run_loop(rt_control *control, ops_error *error) {
  loop l = {.control = control};
  int32_t status = loop_init(&l, error);
  while (status == OPS_OK && l.going && l.iteration < l.limit) status = iterate(&l, error);
  if (status == OPS_OK) status = loop_deliver(&l, error);
  for (uint32_t i = 0; l.stacks && i < l.scans; ++i) rt_stack_finish(&l.stacks[i]);
  free(l.stacks);
  rt_frame_finish(&l.frame);
  return status;
}

// ---- SequenceMap ----------------------------------------------------------------------------

typedef struct map {
  rt_control *control;
  rt_frame frame;
  ops_value **results;
} map;

static int is_sequence(const ops_arg *arg) {
  return arg->kind == OPS_ARG_VALUE &&
         ops_value_accessors.kind(arg->value) == OPS_VALUE_SEQUENCE;
}

// Element `index` of every sequence, and everything else as it is.
static int32_t map_inputs(map *m, uint64_t index, ops_error *error) {
  for (uint32_t i = 0; i < m->frame.graph->input_count; ++i) {
    ops_arg arg = rt_control_operand(m->control, i);
    if (is_sequence(&arg)) {
      ops_arg element;
      OPS_RETURN_IF_ERROR(ops_value_accessors.sequence_get(arg.value, index, &element, error));
      arg = element;
    }
    if (arg.kind == OPS_ARG_ABSENT)
      return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
                                 "input %u is left out", i);
    OPS_RETURN_IF_ERROR(
        rt_item_arg(&m->frame.items[i], &arg, rt_frame_type(&m->frame, i), error));
  }
  return OPS_OK;
}

static int32_t append(ops_value *sequence, const rt_run_output *output, uint64_t index,
                      ops_error *error) {
  int64_t strides[OPS_MAX_RANK];
  const ops_arg arg = rt_output_arg(output, strides);
  return ops_value_accessors.sequence_insert(sequence, index, &arg, error);
}

static int32_t map_element(map *m, uint64_t index, ops_error *error) {
  OPS_RETURN_IF_ERROR(map_inputs(m, index, error));
  OPS_RETURN_IF_ERROR(rt_frame_run(&m->frame, m->control, NULL, error));
  for (uint32_t i = 0; i < m->frame.graph->output_count; ++i) {
    OPS_RETURN_IF_ERROR(append(m->results[i], &m->frame.outputs[i], index, error));
    rt_run_output_finish(&m->frame.outputs[i]);
  }
  return OPS_OK;
}

// The length that all sequences share.
static int32_t map_length(const map *m, uint64_t *out_length, ops_error *error) {
  for (uint32_t i = 0; i < m->control->node->input_count; ++i) {
    const ops_arg arg = rt_control_operand(m->control, i);
    uint64_t length = 0;
    if (i == 0 && !is_sequence(&arg))
      return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
                                 "input 0 is no sequence");
    if (!is_sequence(&arg)) continue;
    OPS_RETURN_IF_ERROR(ops_value_accessors.sequence_size(arg.value, &length, error));
    if (i > 0 && length != *out_length)
      return ops_error_set_cause(
          error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
          "input %u is a sequence of %llu elements, input 0 one of %llu; "
          "expected the same number",
          i, (unsigned long long)length, (unsigned long long)*out_length);
    *out_length = length;
  }
  return OPS_OK;
}

static int32_t map_all(map *m, ops_error *error) {
  uint64_t length = 0;
  OPS_RETURN_IF_ERROR(rt_frame_init(&m->frame, m->control, "body", error));
  const rt_graph *graph = m->frame.graph;
  if (graph->input_count != m->control->node->input_count)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
                               "the body has %u inputs, the node %u; expected the same number",
                               graph->input_count, m->control->node->input_count);
  OPS_RETURN_IF_ERROR(map_length(m, &length, error));
  m->results = calloc((size_t)graph->output_count + 1, sizeof *m->results);
  if (!m->results) return exhausted(error);
  for (uint32_t i = 0; i < graph->output_count; ++i)
    OPS_RETURN_IF_ERROR(ops_value_create(OPS_VALUE_SEQUENCE, &m->results[i], error));
  for (uint64_t i = 0; i < length; ++i) OPS_RETURN_IF_ERROR(map_element(m, i, error));
  for (uint32_t i = 0; i < graph->output_count; ++i) {
    rt_run_output output = {.kind = OPS_VALUE_SEQUENCE, .value = m->results[i]};
    m->results[i] = NULL;
    OPS_RETURN_IF_ERROR(rt_control_deliver(m->control, i, &output, error));
  }
  return OPS_OK;
}

static int32_t run_sequence_map(rt_control *control, ops_error *error) {
  map m = {.control = control};
  const int32_t status = map_all(&m, error);
  for (uint32_t i = 0; m.results && i < m.frame.graph->output_count; ++i)
    ops_value_release(m.results[i]);
  free(m.results);
  rt_frame_finish(&m.frame);
  return status;
}

// ---- Dispatch -------------------------------------------------------------------------------

typedef int32_t (*control_fn)(rt_control *control, ops_error *error);

static const control_fn runners[] = {[RT_CONTROL_IF] = run_if,
                                     [RT_CONTROL_LOOP] = run_loop,
                                     [RT_CONTROL_SCAN] = rt_control_scan,
                                     [RT_CONTROL_SEQUENCE_MAP] = run_sequence_map};

int32_t rt_run_control(rt_run *run, rt_segment *segment, const rt_action *action,
                       ops_error *error) {
  rt_control control = {.run = run,
                        .segment = segment,
                        .action = action,
                        .unit = action->unit,
                        .node = action->unit->nodes[0]};
  const int32_t status = runners[action->unit->control](&control, error);
  if (status != OPS_OK && !control.in_body) ops_error_prefix(error, "%s", action->unit->where);
  return status;
}

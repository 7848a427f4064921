// SPDX-License-Identifier: Apache-2.0
//
// Building a segment: take units in order while they are ready, then the graph's outputs if all
// units are through, then memory and waits.
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "plan/builder.h"

int32_t rt_builder_exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "planning a run");
}

// ---- What is known at the beginning ---------------------------------------------------------

static int32_t know_inputs(rt_builder *b, ops_error *error) {
  const rt_partition *partition = b->request->partition;
  for (uint32_t i = 0; i < partition->input_count; ++i) {
    const rt_value *value = partition->inputs[i];
    rt_buffer buffer = {.value = value,
                        .type = b->plan->types[i],
                        .storage = RT_STORAGE_INPUT,
                        .place = b->plan->places ? b->plan->places[i] : RT_PLACE_HOST,
                        .index = i};
    uint32_t number = 0;
    if (buffer.place != RT_PLACE_HOST) buffer.alignment = RT_CALLER_ALIGNMENT;
    b->plan->known[value->id].type = buffer.type;
    OPS_RETURN_IF_ERROR(rt_type_info_bytes(buffer.type, &buffer.bytes, error));
    OPS_RETURN_IF_ERROR(rt_builder_add_buffer(b, &buffer, &number, error));
    OPS_RETURN_IF_ERROR(rt_builder_locate(b, number, error));
  }
  return OPS_OK;
}

static int32_t know_parent(rt_builder *b, ops_error *error) {
  const rt_plan *parent = b->plan->parent;
  memcpy(b->plan->known, parent->known,
         b->request->graph->root->value_limit * sizeof *b->plan->known);
  if (parent->late_count != b->plan->type_count)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "a segment got %u shapes, expected %u",
                         b->plan->type_count, parent->late_count);
  for (uint32_t i = 0; i < parent->late_count; ++i)
    b->plan->known[parent->buffers[parent->late[i]].value->id].type = b->plan->types[i];
  return OPS_OK;
}

// The type of what a host object holds, whose shape is of no interest to plans.
static const ops_type_info *copy_element(rt_bump *bump, const ops_type_info *type) {
  ops_type_info *copy = rt_bump_copy(bump, type, 1, sizeof *copy);
  if (!copy) return NULL;
  copy->rank = -1;
  copy->dims = copy->strides = NULL;
  copy->symbols = NULL;
  if (type->element) copy->element = copy_element(bump, type->element);
  return copy;
}

// The types of the request, copied into the plan.
static const ops_type_info *copy_type(rt_bump *bump, const ops_type_info *type) {
  if (type->kind == OPS_VALUE_TENSOR || type->kind == OPS_VALUE_STRINGS)
    return rt_type_info_tensor(bump, type->kind, type->type, type->rank, type->dims);
  ops_type_info *copy = rt_bump_copy(bump, type, 1, sizeof *copy);
  if (copy) copy->dims = copy->strides = NULL;
  if (copy && type->element) copy->element = copy_element(bump, type->element);
  return copy;
}

static int32_t copy_types(rt_builder *b, ops_error *error) {
  const rt_plan_request *request = b->request;
  const ops_type_info **types = rt_bump_new(b->bump, request->type_count, sizeof *types);
  if (!types) return rt_builder_exhausted(error);
  for (uint32_t i = 0; i < request->type_count; ++i)
    types[i] = copy_type(b->bump, request->types[i]);
  b->plan->types = types;
  b->plan->type_count = request->type_count;
  if (request->places) {
    b->plan->place_count = request->partition->input_count + request->graph->output_count;
    b->plan->places =
        rt_bump_copy(b->bump, request->places, b->plan->place_count, sizeof *request->places);
  }
  return b->bump->failed ? rt_builder_exhausted(error) : OPS_OK;
}

// What a body may hand back as it is lives as long as the run.
static void note_reader(rt_builder *b, const rt_unit *unit, uint32_t id) {
  if (b->last_reader[id] != RT_READ_AT_END)
    b->last_reader[id] = unit->lends ? RT_READ_AT_END : unit->index + 1;
}

static void find_last_readers(rt_builder *b) {
  const rt_partition *partition = b->request->partition;
  for (uint32_t i = 0; i < partition->unit_count; ++i) {
    const rt_unit *unit = &partition->units[i];
    for (uint32_t k = 0; k < unit->input_count; ++k)
      if (unit->inputs[k]) note_reader(b, unit, unit->inputs[k]->id);
  }
  for (uint32_t i = 0; i < b->request->graph->output_count; ++i)
    b->last_reader[b->request->graph->outputs[i]->id] = RT_READ_AT_END;
}

// ---- Outputs of the graph -------------------------------------------------------------------

// 1 if every output of the graph is where it can be handed over or copied from. An output whose
// shape is still open may be handed over where it is, but not copied.
static int outputs_ready(rt_builder *b) {
  const rt_graph *graph = b->request->graph;
  const ops_type_info *type = NULL;
  for (uint32_t i = 0; i < graph->output_count; ++i) {
    const rt_value *value = graph->outputs[i];
    if (rt_builder_type(b, value, &type)) continue;
    const rt_location *at = b->plan->known[value->id].locations;
    if (!at || at->segment != b->plan->segment) return 0;
    const rt_buffer *buffer = &b->plan->buffers[at->buffer];
    if (buffer->storage == RT_STORAGE_ARENA || buffer->index != i) return 0;
  }
  return 1;
}

// 1 if the buffer can be an output of a body although the body does not own it.
static int is_lent(const rt_builder *b, const rt_buffer *buffer) {
  const int lent =
      buffer->storage == RT_STORAGE_INPUT || buffer->storage == RT_STORAGE_CONSTANT;
  return b->request->graph->parent && lent && buffer->place == RT_PLACE_HOST &&
         buffer->type->layout == OPS_LAYOUT_STRIDED;
}

// The buffer that is already output number `index` of the result, or NULL.
static const rt_location *direct_output(const rt_builder *b, uint32_t index) {
  const rt_location *at = b->plan->known[b->request->graph->outputs[index]->id].locations;
  for (; at; at = at->next) {
    const rt_plan *plan = b->plan;
    while (plan->segment != at->segment) plan = plan->parent;
    const rt_buffer *buffer = &plan->buffers[at->buffer];
    const int handed = buffer->storage == RT_STORAGE_OUTPUT ||
                       buffer->storage == RT_STORAGE_LATE ||
                       buffer->storage == RT_STORAGE_OBJECT;
    const int there = buffer->place == rt_builder_output_place(b, index);
    if (handed && there && buffer->index == index) return at;
    if (is_lent(b, buffer)) return at;
  }
  return NULL;
}

static int is_viewed(const rt_builder *b, uint32_t buffer) {
  for (uint32_t i = buffer + 1; i < b->plan->buffer_count; ++i)
    if (b->plan->buffers[i].viewed == 1 + buffer) return 1;
  return 0;
}

// A copy that has just been made for this output can go straight to the result.
static int takes_over(rt_builder *b, uint32_t buffer, uint32_t index) {
  const rt_plan *plan = b->plan;
  rt_buffer *made = &plan->buffers[buffer];
  const rt_action *last = plan->action_count ? &plan->actions[plan->action_count - 1] : NULL;
  if (!last || last->kind != RT_ACTION_COPY || last->outputs[0] != buffer ||
      made->storage != RT_STORAGE_ARENA || made->place != rt_builder_output_place(b, index) ||
      is_viewed(b, buffer))
    return 0;
  made->storage = RT_STORAGE_OUTPUT;
  made->index = index;
  return 1;
}

static int32_t copy_output(rt_builder *b, uint32_t index, rt_plan_output *out,
                           ops_error *error) {
  const rt_value *value = b->request->graph->outputs[index];
  uint32_t from = RT_NO_BUFFER;
  OPS_RETURN_IF_ERROR(rt_builder_materialise_output(b, value, index, &from, error));
  const rt_buffer *buffer = &b->plan->buffers[from];
  *out = (rt_plan_output){b->plan->segment, from};
  if (buffer->type->kind != OPS_VALUE_TENSOR) return OPS_OK;  // shared by reference
  if (is_lent(b, buffer) || takes_over(b, from, index)) return OPS_OK;
  return rt_builder_copy_output(b, from, index, &out->buffer, error);
}

static int32_t add_outputs(rt_builder *b, ops_error *error) {
  const rt_graph *graph = b->request->graph;
  rt_plan_output *outputs = rt_bump_new(b->bump, graph->output_count, sizeof *outputs);
  if (!outputs) return rt_builder_exhausted(error);
  for (uint32_t i = 0; i < graph->output_count; ++i) {
    const rt_location *direct = direct_output(b, i);
    if (direct)
      outputs[i] = (rt_plan_output){direct->segment, direct->buffer};
    else
      OPS_RETURN_IF_ERROR(copy_output(b, i, &outputs[i], error));
  }
  b->plan->outputs = outputs;
  b->plan->finished = 1;
  return OPS_OK;
}

// ---- The segment ----------------------------------------------------------------------------

static int32_t add_units(rt_builder *b, ops_error *error) {
  const rt_partition *partition = b->request->partition;
  rt_plan *plan = b->plan;
  for (; plan->end_unit < partition->unit_count; plan->end_unit++) {
    const rt_unit *unit = &partition->units[plan->end_unit];
    int ready = 0, done = 0;
    OPS_RETURN_IF_ERROR(rt_builder_assign_layouts(b, plan->end_unit, error));
    OPS_RETURN_IF_ERROR(rt_builder_ready(b, unit, &ready, error));
    if (!ready) return OPS_OK;
    if (!unit->control) {
      OPS_RETURN_IF_ERROR(rt_builder_infer(b, unit, error));
      OPS_RETURN_IF_ERROR(rt_builder_fold(b, unit, &done, error));
      if (!done) OPS_RETURN_IF_ERROR(rt_builder_view(b, unit, &done, error));
    }
    if (done) continue;
    if (unit->control)
      OPS_RETURN_IF_ERROR(rt_builder_add_control(b, unit, error));
    else
      OPS_RETURN_IF_ERROR(rt_builder_add_unit(b, unit, error));
  }
  return outputs_ready(b) ? add_outputs(b, error) : OPS_OK;
}

static int32_t check_progress(const rt_builder *b, ops_error *error) {
  const rt_plan *plan = b->plan;
  const uint32_t begin = plan->parent ? plan->parent->end_unit : 0;
  if (plan->finished || plan->end_unit > begin) return OPS_OK;
  if (plan->end_unit == b->request->partition->unit_count)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "an output never gets a shape");
  const rt_unit *unit = &b->request->partition->units[plan->end_unit];
  return ops_error_set(error, OPS_ERROR_PRECONDITION,
                       "%s: the shapes or contents of its inputs are not known", unit->where);
}

// Marks constants that no action reads. Later segments may read what this one has.
static void mark_unread(rt_plan *plan, uint32_t output_count) {
  if (!plan->finished) return;
  for (uint32_t i = 0; i < plan->buffer_count; ++i)
    plan->buffers[i].unread = plan->buffers[i].storage == RT_STORAGE_CONSTANT &&
                              plan->buffers[i].place == RT_PLACE_HOST &&
                              plan->buffers[i].type->layout == OPS_LAYOUT_STRIDED;
  for (uint32_t i = 0; i < plan->action_count; ++i) {
    const rt_action *action = &plan->actions[i];
    for (uint32_t k = 0; k < action->input_count; ++k)
      if (action->inputs[k] != RT_NO_BUFFER && (k >= 64 || !(action->unread_inputs >> k & 1)))
        plan->buffers[action->inputs[k]].unread = 0;
  }
  for (uint32_t i = 0; i < output_count; ++i)
    if (plan->outputs[i].segment == plan->segment)
      plan->buffers[plan->outputs[i].buffer].unread = 0;
}

static int32_t seal(rt_builder *b, ops_error *error) {
  rt_plan *plan = b->plan;
  mark_unread(plan, b->request->graph->output_count);
  plan->late = rt_bump_copy(b->bump, b->late, plan->late_count, sizeof *b->late);
  plan->guards = rt_bump_copy(b->bump, b->guards, plan->guard_count, sizeof *b->guards);
  return b->bump->failed ? rt_builder_exhausted(error) : OPS_OK;
}

static int32_t builder_init(rt_builder *b, const rt_plan_request *request, ops_error *error) {
  *b = (rt_builder){.request = request};
  b->plan = calloc(1, sizeof *b->plan);
  if (!b->plan) return rt_builder_exhausted(error);
  atomic_init(&b->plan->references, 1);
  b->bump = &b->plan->bump;
  const uint32_t limit = request->graph->root->value_limit;
  b->last_reader = calloc((size_t)limit + 1, sizeof *b->last_reader);
  b->produced = calloc((size_t)limit + 1, 1);
  b->plan->known = rt_bump_new(b->bump, limit, sizeof *b->plan->known);
  if (!b->last_reader || !b->produced || !b->plan->known) return rt_builder_exhausted(error);
  if (request->parent) {
    b->plan->parent = rt_plan_retain(request->parent);
    b->plan->segment = request->parent->segment + 1;
    b->plan->end_unit = request->parent->end_unit;
  }
  find_last_readers(b);
  return copy_types(b, error);
}

static void builder_finish(rt_builder *b) {
  free(b->guards);
  free(b->late);
  free(b->last_reader);
  free(b->produced);
  free(b->levels);
  free(b->inferred);
  free(b->assigned);
}

int32_t rt_plan_build(const rt_plan_request *request, rt_plan **out_plan, ops_error *error) {
  rt_builder b;
  *out_plan = NULL;
  int32_t status = builder_init(&b, request, error);
  if (status == OPS_OK)
    status = request->parent ? know_parent(&b, error) : know_inputs(&b, error);
  if (status == OPS_OK) status = add_units(&b, error);
  if (status == OPS_OK) status = check_progress(&b, error);
  if (status == OPS_OK) status = rt_builder_schedule(&b, error);
  if (status == OPS_OK) status = seal(&b, error);
  builder_finish(&b);
  if (status == OPS_OK)
    *out_plan = b.plan;
  else
    rt_plan_release(b.plan);
  return status;
}

rt_plan *rt_plan_retain(rt_plan *plan) {
  atomic_fetch_add(&plan->references, 1);
  return plan;
}

void rt_plan_release(rt_plan *plan) {
  while (plan && atomic_fetch_sub(&plan->references, 1) == 1) {
    rt_plan *parent = plan->parent;
    for (uint32_t i = 0; i < plan->action_count; ++i)
      if (plan->actions[i].prepared)
        plan->actions[i].unit->api->prepared_destroy(plan->actions[i].prepared);
    free(plan->buffers);
    free(plan->actions);
    rt_bump_finish(&plan->bump);
    free(plan);
    plan = parent;
  }
}

// SPDX-License-Identifier: Apache-2.0
//
// One unit into one action: choose layouts and aliases, prepare, bring the inputs where the
// kernel wants them, make the outputs.
//
// In-place is decided before prepare, because the alias map is part of what is prepared: the
// output's size is taken from inference, and checked against prepare's answer.
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/builder.h"

// A unit while it is planned.
typedef struct work {
  rt_builder *b;
  rt_bump *bump;  // of what describes the unit
  const rt_unit *unit;
  ops_operand *operands;
  uint32_t *input_layouts;  // chosen; all 0 by default
  uint32_t *output_layouts;
  int32_t *alias_of;  // by output: the input whose memory it takes, -1: none
  int32_t *alias_flags;
  ops_alias *aliases;
  uint32_t alias_count;
  ops_output_info *infos;
  uint32_t *inputs;  // buffers
  uint32_t *outputs;
  uint32_t *dims_outputs;
  int bounded;  // 1: some output has a vector of dims
  ops_prepare_request request;
  ops_prepare_reply reply;
  uint64_t prepare_start_ns;
  uint64_t prepare_end_ns;
} work;

static const rt_value *input_of(const work *w, uint32_t i) {
  return w->unit->inputs[i];
}

static int32_t broken(ops_error *error, const char *what) {
  return ops_error_set_cause(error, OPS_ERROR_INTERNAL, OPS_CAUSE_BROKEN_PROMISE,
                             "its prepare %s", what);
}

// ---- Contents -------------------------------------------------------------------------------

static int wants_contents(const rt_unit *unit, uint32_t input) {
  const ops_arg_def *def = rt_unit_input_def(unit, input);
  return def && (def->flags & OPS_ARG_SHAPE_INPUT) != 0;
}

static int32_t add_guard(rt_builder *b, const rt_value *value, const void *data, uint64_t size,
                         ops_error *error) {
  if (b->plan->guard_count == b->guard_capacity) {
    const uint32_t capacity = b->guard_capacity ? b->guard_capacity * 2 : 8;
    rt_guard *grown = realloc(b->guards, capacity * sizeof *grown);
    if (!grown) return rt_builder_exhausted(error);
    b->guards = grown;
    b->guard_capacity = capacity;
  }
  void *copy = rt_bump_copy(b->bump, data, size, 1);
  if (!copy) return rt_builder_exhausted(error);
  b->guards[b->plan->guard_count++] = (rt_guard){value, copy, size};
  b->plan->known[value->id].contents = copy;
  return OPS_OK;
}

// Makes the contents of a shape input known, or says that they cannot be yet.
static int32_t obtain_contents(rt_builder *b, const rt_value *value, int *out_known,
                               ops_error *error) {
  const rt_known *known = &b->plan->known[value->id];
  *out_known = known->contents != NULL;
  if (*out_known || b->produced[value->id]) return OPS_OK;
  if (known->type->kind != OPS_VALUE_TENSOR) {
    *out_known = 1;  // a host object is its own contents
    return OPS_OK;
  }
  const void *data = NULL;
  uint64_t size = 0;
  OPS_RETURN_IF_ERROR(b->request->fetch(b->request->context, value, &data, &size, error));
  *out_known = 1;
  return add_guard(b, value, data, size, error);
}

int32_t rt_builder_ready(rt_builder *b, const rt_unit *unit, int *out_ready, ops_error *error) {
  const ops_type_info *type = NULL;
  *out_ready = 0;
  for (uint32_t i = 0; i < unit->input_count; ++i)
    if (unit->inputs[i] && !rt_builder_type(b, unit->inputs[i], &type)) return OPS_OK;
  for (uint32_t i = 0; i < unit->input_count; ++i) {
    int known = 1;
    if (!unit->inputs[i] || !wants_contents(unit, i)) continue;
    OPS_RETURN_IF_ERROR(obtain_contents(b, unit->inputs[i], &known, error));
    if (!known) return OPS_OK;
  }
  *out_ready = 1;
  return OPS_OK;
}

static int32_t contents_constant(work *w, const rt_value *value, const ops_type_info *type,
                                 const ops_constant **out_constant, ops_error *error) {
  const void *contents = w->b->plan->known[value->id].contents;
  *out_constant = NULL;
  if (!contents || type->kind != OPS_VALUE_TENSOR) return OPS_OK;
  ops_constant *constant = rt_bump_new(w->bump, 1, sizeof *constant);
  if (!constant) return rt_builder_exhausted(error);
  *constant = (ops_constant){.struct_size = sizeof *constant,
                             .rank = type->rank,
                             .dims = type->dims,
                             .dense = {.kind = OPS_ARG_TENSOR}};
  constant->dense.tensor = (ops_tensor){.dims = type->dims,
                                        .strides = type->strides,
                                        .memory = (void *)contents,
                                        .type = type->type,
                                        .rank = type->rank};
  *out_constant = constant;
  return rt_type_info_bytes(type, &constant->dense.tensor.byte_size, error);
}

// ---- The request ----------------------------------------------------------------------------

static int32_t fill_operand(work *w, uint32_t i, ops_error *error) {
  const rt_value *value = input_of(w, i);
  ops_operand *operand = &w->operands[i];
  *operand = (ops_operand){.struct_size = sizeof *operand, .value = -1};
  if (!value) return OPS_OK;
  const ops_type_info *type = NULL;
  rt_builder_type(w->b, value, &type);
  operand->value = value->id;
  operand->name = (ops_str){value->name, strlen(value->name)};
  operand->type = type;
  if (rt_value_constant(value))
    return rt_views_constant(w->b->request->partition->views, value, &operand->constant, error);
  if (wants_contents(w->unit, i))
    return contents_constant(w, value, type, &operand->constant, error);
  return OPS_OK;
}

static int32_t work_init(work *w, rt_builder *b, rt_bump *bump, const rt_unit *unit,
                         ops_error *error) {
  *w = (work){.b = b, .bump = bump, .unit = unit};
  w->operands = rt_bump_new(bump, unit->input_count, sizeof *w->operands);
  w->input_layouts = rt_bump_new(bump, unit->input_count, sizeof *w->input_layouts);
  w->output_layouts = rt_bump_new(bump, unit->output_count, sizeof *w->output_layouts);
  w->alias_of = rt_bump_new(bump, unit->output_count, sizeof *w->alias_of);
  w->alias_flags = rt_bump_new(bump, unit->output_count, sizeof *w->alias_flags);
  w->aliases = rt_bump_new(bump, unit->output_count, sizeof *w->aliases);
  w->inputs = rt_bump_new(bump, unit->input_count, sizeof *w->inputs);
  w->outputs = rt_bump_new(bump, unit->output_count, sizeof *w->outputs);
  w->dims_outputs = rt_bump_new(bump, unit->output_count, sizeof *w->dims_outputs);
  if (bump->failed) return rt_builder_exhausted(error);
  for (uint32_t i = 0; i < unit->output_count; ++i) w->alias_of[i] = -1;
  for (uint32_t i = 0; i < unit->input_count; ++i)
    OPS_RETURN_IF_ERROR(fill_operand(w, i, error));
  w->request = (ops_prepare_request){.struct_size = sizeof w->request,
                                     .inputs = w->operands,
                                     .input_count = unit->input_count,
                                     .input_stride = sizeof *w->operands,
                                     .alias_stride = sizeof *w->aliases};
  return OPS_OK;
}

// ---- Layouts --------------------------------------------------------------------------------

int32_t rt_builder_query_layouts(rt_builder *b, rt_bump *bump, const rt_unit *unit,
                                 ops_layout_choice *choices, uint64_t capacity,
                                 uint64_t *out_count, ops_error *error) {
  work w;
  OPS_RETURN_IF_ERROR(work_init(&w, b, bump, unit, error));
  return unit->api->query_layouts(unit->kernel, &w.request, choices, capacity,
                                  sizeof choices[0], out_count, error);
}

static int32_t apply_layout(work *w, uint32_t input, uint32_t layout, ops_error *error) {
  w->input_layouts[input] = layout;
  if (layout == OPS_LAYOUT_STRIDED || !w->operands[input].type) return OPS_OK;
  ops_type_info *type = rt_bump_copy(w->b->bump, w->operands[input].type, 1, sizeof *type);
  if (!type) return rt_builder_exhausted(error);
  type->layout = layout;
  type->strides = NULL;
  w->operands[input].type = type;
  return OPS_OK;
}

static int32_t choose_layouts(work *w, ops_error *error) {
  const rt_unit *unit = w->unit;
  ops_layout_choice choice;
  OPS_RETURN_IF_ERROR(rt_builder_choose_layouts(w->b, unit, &choice, error));
  if (!choice.input_layouts) return OPS_OK;
  int any_output = 0;
  for (uint32_t i = 0; i < unit->input_count; ++i)
    OPS_RETURN_IF_ERROR(apply_layout(w, i, choice.input_layouts[i], error));
  for (uint32_t i = 0; i < unit->output_count; ++i) {
    w->output_layouts[i] = choice.output_layouts[i];
    any_output |= w->output_layouts[i] != OPS_LAYOUT_STRIDED;
  }
  w->request.output_layouts = any_output ? w->output_layouts : NULL;
  return OPS_OK;
}

// ---- Aliases --------------------------------------------------------------------------------

// 1 if no other input of the unit reads the memory of `input`, in whatever view.
static int reads_once(const work *w, uint32_t input) {
  const rt_plan *plan = w->b->plan;
  const uint32_t root = rt_builder_root(plan, w->inputs[input]);
  uint32_t count = 0;
  for (uint32_t i = 0; i < w->unit->input_count; ++i)
    count += input_of(w, i) && (input_of(w, i) == input_of(w, input) ||
                                rt_builder_root(plan, w->inputs[i]) == root);
  return count == 1;
}

// 1 if the input's memory may be overwritten once the unit has read it.
static int dies_here(const work *w, uint32_t input) {
  const rt_plan *plan = w->b->plan;
  const rt_buffer *root = &plan->buffers[rt_builder_root(plan, w->inputs[input])];
  return root->storage == RT_STORAGE_ARENA && reads_once(w, input) &&
         w->b->last_reader[root->value->id] == w->unit->index + 1;
}

// 1 if the inferred shape of the output is the input's.
static int same_shape(const work *w, uint32_t input, uint32_t output) {
  const rt_type *inferred = &w->b->inferred[output].type;
  const ops_type_info *type = w->operands[input].type;
  if (inferred->kind != RT_TYPE_TENSOR || inferred->elem_type != type->type ||
      inferred->rank != type->rank)
    return 0;
  for (int32_t i = 0; i < type->rank; ++i)
    if (!rt_dim_is_const(inferred->dims[i]) || inferred->dims[i].value != type->dims[i])
      return 0;
  return 1;
}

// What must share memory has one size by definition; what may is sized by inference. In a
// private layout the size follows from the shape.
static int alias_fits(const work *w, uint32_t input, uint32_t output, int must) {
  const rt_value *target = w->unit->outputs[output];
  if (!target || !input_of(w, input) || w->input_layouts[input] != w->output_layouts[output])
    return 0;
  if (w->input_layouts[input] && !same_shape(w, input, output)) return 0;
  const rt_buffer *buffer = &w->b->plan->buffers[w->inputs[input]];
  const uint32_t place = rt_place(w->unit->device, rt_unit_output_kind(w->unit, output));
  const uint64_t bytes = rt_builder_inferred_bytes(w->b, output);
  const int fits = w->input_layouts[input] || (bytes != 0 && bytes == buffer->bytes);
  return buffer->place == place && (must || fits);
}

static int input_is_taken(const work *w, uint32_t input) {
  for (uint32_t i = 0; i < w->unit->output_count; ++i)
    if (w->alias_of[i] == (int32_t)input) return 1;
  return 0;
}

static int32_t take_alias(work *w, uint32_t input, uint32_t output, uint32_t flags,
                          ops_error *error) {
  const int must = (flags & OPS_ALIAS_MUST) != 0;
  const int at_end = w->unit->outputs[output] &&
                     w->b->last_reader[w->unit->outputs[output]->id] == RT_READ_AT_END;
  if (w->alias_of[output] >= 0 || input_is_taken(w, input)) return OPS_OK;
  if (w->b->request->no_reuse && !must) return OPS_OK;
  if (!alias_fits(w, input, output, must) || (!must && (at_end || !dies_here(w, input))))
    return OPS_OK;
  if (!dies_here(w, input))
    OPS_RETURN_IF_ERROR(rt_builder_duplicate(w->b, w->unit->device, w->inputs[input],
                                             &w->inputs[input], error));
  w->alias_of[output] = (int32_t)input;
  w->alias_flags[output] = (int32_t)flags;
  return OPS_OK;
}

static int32_t choose_aliases(work *w, ops_error *error) {
  const ops_kernel_def *def = w->unit->def;
  for (uint64_t i = 0; def && i < def->alias_count; ++i) {
    const ops_alias_def *alias = OPS_AT(ops_alias_def, def->aliases, def->alias_stride, i);
    const int in_range = alias->input >= 0 && (uint32_t)alias->input < w->unit->input_count &&
                         alias->output >= 0 && (uint32_t)alias->output < w->unit->output_count;
    if (!in_range || (alias->flags & OPS_ALIAS_VARIADIC)) continue;
    OPS_RETURN_IF_ERROR(
        take_alias(w, (uint32_t)alias->input, (uint32_t)alias->output, alias->flags, error));
  }
  return OPS_OK;
}

static void list_aliases(work *w) {
  w->alias_count = 0;
  for (uint32_t i = 0; i < w->unit->output_count; ++i) {
    if (w->alias_of[i] < 0) continue;
    w->aliases[w->alias_count++] =
        (ops_alias){.struct_size = sizeof w->aliases[0],
                    .input = w->alias_of[i],
                    .output = (int32_t)i,
                    .flags = (uint32_t)w->alias_flags[i] & ~OPS_ALIAS_VARIADIC,
                    .written_end = w->b->plan->buffers[w->inputs[w->alias_of[i]]].bytes};
  }
  w->request.aliases = w->alias_count ? w->aliases : NULL;
  w->request.alias_count = w->alias_count;
}

// ---- Prepare --------------------------------------------------------------------------------

static int32_t check_reply(const work *w, ops_error *error) {
  const ops_prepare_reply *reply = &w->reply;
  if (!reply->prepared) return broken(error, "answered OK without a prepared object");
  const uint64_t alignment = reply->workspace_alignment;
  if (alignment & (alignment - 1))
    return broken(error, "states a workspace alignment that is no power of two");
  const int32_t kind = reply->workspace_memory_kind;
  if (kind < 0 || kind >= OPS_MEMORY_KIND_COUNT)
    return broken(error, "states an unknown memory kind for its workspace");
  for (uint32_t i = 0; i < w->unit->output_count; ++i) {
    const ops_output_info *info = &w->infos[i];
    if (!w->unit->outputs[i]) continue;
    if (info->mode < OPS_SHAPE_KNOWN || info->mode > OPS_SHAPE_HOST_SYNC)
      return broken(error, "states an unknown mode for an output's shape");
    const rt_type *type = &w->unit->outputs[i]->type;
    const int known = type->kind == RT_TYPE_TENSOR && type->elem_type != OPS_TYPE_UNDEFINED &&
                      type->elem_type != OPS_TYPE_STRING;
    if (known && info->type != type->elem_type)
      return broken(error, "states another element type for an output than the model has");
    if (info->mode == OPS_SHAPE_HOST_SYNC) continue;
    if (info->rank < 0 || info->rank > OPS_MAX_RANK)
      return broken(error, "left an output without a valid rank");
    for (int32_t k = 0; k < info->rank; ++k)
      if (info->dims[k] < 0) return broken(error, "states a negative dimension");
  }
  return OPS_OK;
}

static int32_t call_prepare(work *w, ops_error *error) {
  for (uint32_t i = 0; i < w->unit->output_count; ++i)
    w->infos[i] =
        (ops_output_info){.struct_size = sizeof w->infos[i], .layout = w->output_layouts[i]};
  w->reply = (ops_prepare_reply){.struct_size = sizeof w->reply,
                                 .outputs = w->infos,
                                 .output_count = w->unit->output_count,
                                 .output_stride = sizeof w->infos[0]};
  list_aliases(w);
  w->b->plan->prepares++;
  OPS_RETURN_IF_ERROR(w->unit->api->prepare(w->unit->kernel, &w->request, &w->reply, error));
  const int32_t status = check_reply(w, error);
  if (status != OPS_OK && w->reply.prepared) w->unit->api->prepared_destroy(w->reply.prepared);
  return status;
}

static int alias_holds(const work *w, uint32_t output) {
  const ops_output_info *info = &w->infos[output];
  const uint64_t held = w->b->plan->buffers[w->inputs[w->alias_of[output]]].bytes;
  int64_t count = 1;
  uint64_t bytes = 0;
  if (info->mode != OPS_SHAPE_KNOWN) return 0;
  if (w->output_layouts[output]) return info->max_bytes == held;
  for (int32_t i = 0; i < info->rank; ++i)
    if (__builtin_mul_overflow(count, info->dims[i], &count)) return 0;
  return ops_type_bytes(info->type, count, &bytes) && bytes == held;
}

// Prepares; if an output turns out to have another size than inference said, once more without
// its alias.
static int32_t prepare(work *w, ops_error *error) {
  for (;;) {
    OPS_RETURN_IF_ERROR(call_prepare(w, error));
    int retry = 0;
    for (uint32_t i = 0; i < w->unit->output_count; ++i) {
      if (w->alias_of[i] < 0 || alias_holds(w, i)) continue;
      if (w->alias_flags[i] & OPS_ALIAS_MUST) {
        w->unit->api->prepared_destroy(w->reply.prepared);
        return broken(error, "states another size than the input that the output must share");
      }
      w->alias_of[i] = -1;
      retry = 1;
    }
    if (!retry) return OPS_OK;
    w->unit->api->prepared_destroy(w->reply.prepared);
  }
}

// ---- Inputs and outputs ---------------------------------------------------------------------

static int32_t bring_inputs(work *w, ops_error *error) {
  for (uint32_t i = 0; i < w->unit->input_count; ++i) {
    const ops_arg_def *def = rt_unit_input_def(w->unit, i);
    w->inputs[i] = RT_NO_BUFFER;
    if (!input_of(w, i)) continue;
    OPS_RETURN_IF_ERROR(rt_builder_materialise(
        w->b, input_of(w, i), w->unit->device, rt_unit_input_kind(w->unit, i),
        w->input_layouts[i], def ? def->alignment : 0, def ? def->read_padding : 0,
        &w->inputs[i], error));
  }
  return OPS_OK;
}

uint32_t rt_builder_graph_output(const rt_builder *b, const rt_value *value) {
  const rt_graph *graph = b->request->graph;
  if (value->output_count == 0) return RT_NO_BUFFER;
  for (uint32_t i = 0; i < graph->output_count; ++i)
    if (graph->outputs[i] == value) return i;
  return RT_NO_BUFFER;
}

static int32_t output_kind(const rt_value *value, const ops_output_info *info) {
  const int32_t kind = rt_view_kind(&value->type);
  if (kind) return kind;
  return info->type == OPS_TYPE_STRING ? OPS_VALUE_STRINGS : OPS_VALUE_TENSOR;
}

static int32_t output_type(work *w, uint32_t i, int32_t kind, ops_type_info **out_type,
                           ops_error *error) {
  const ops_output_info *info = &w->infos[i];
  const int shaped = info->mode != OPS_SHAPE_HOST_SYNC;
  const ops_type_info *plain = NULL;
  if (kind == OPS_VALUE_TENSOR || kind == OPS_VALUE_STRINGS) {
    plain =
        rt_type_info_tensor(w->b->bump, kind, info->type, shaped ? info->rank : 0, info->dims);
  } else {
    // The kind and the types inside a host object are the graph's.
    OPS_RETURN_IF_ERROR(
        rt_views_type(w->b->request->partition->views, w->unit->outputs[i], &plain, error));
  }
  *out_type = (ops_type_info *)plain;
  return plain ? OPS_OK : rt_builder_exhausted(error);
}

static int32_t output_bytes(work *w, uint32_t i, rt_buffer *buffer, ops_type_info *type,
                            ops_error *error) {
  const ops_output_info *info = &w->infos[i];
  if (type->kind != OPS_VALUE_TENSOR || info->mode == OPS_SHAPE_HOST_SYNC) return OPS_OK;
  OPS_RETURN_IF_ERROR(rt_type_info_bytes(type, &buffer->bytes, error));
  if (w->output_layouts[i] != OPS_LAYOUT_STRIDED) {
    type->layout = w->output_layouts[i];
    type->strides = NULL;
    buffer->device = w->unit->device;
  }
  const int stated = info->mode == OPS_SHAPE_BOUNDED || type->layout != OPS_LAYOUT_STRIDED;
  if (stated && info->max_bytes) buffer->bytes = info->max_bytes;
  return OPS_OK;
}

static int goes_to_host(const rt_builder *b, const rt_buffer *buffer, uint32_t output) {
  return buffer->place == RT_PLACE_HOST && rt_builder_output_place(b, output) == RT_PLACE_HOST;
}

// 1 if the kernel can write into the caller's memory.
static int suits_output(const rt_builder *b, const rt_buffer *buffer, uint32_t output) {
  if (buffer->type->layout != OPS_LAYOUT_STRIDED) return 0;
  if (goes_to_host(b, buffer, output)) return 1;
  return buffer->place == rt_builder_output_place(b, output) &&
         buffer->alignment <= RT_CALLER_ALIGNMENT && buffer->padding == 0;
}

static int32_t choose_storage(work *w, uint32_t i, rt_buffer *buffer, ops_error *error) {
  const rt_value *value = w->unit->outputs[i];
  const uint32_t output = rt_builder_graph_output(w->b, value);
  buffer->index = output;
  if (buffer->type->kind != OPS_VALUE_TENSOR) {
    buffer->storage = RT_STORAGE_OBJECT;
    buffer->place = RT_PLACE_HOST;
  } else if (w->infos[i].mode == OPS_SHAPE_HOST_SYNC) {
    buffer->storage = RT_STORAGE_LATE;
    if (output != RT_NO_BUFFER && !goes_to_host(w->b, buffer, output))
      buffer->index = RT_NO_BUFFER;
  } else if (w->alias_of[i] >= 0) {
    rt_buffer *source = &w->b->plan->buffers[w->inputs[w->alias_of[i]]];
    buffer->storage = RT_STORAGE_ARENA;
    buffer->block = source->block;
  } else if (output != RT_NO_BUFFER && suits_output(w->b, buffer, output)) {
    buffer->storage = RT_STORAGE_OUTPUT;
    if (buffer->place != RT_PLACE_HOST) buffer->alignment = RT_CALLER_ALIGNMENT;
  } else {
    buffer->storage = RT_STORAGE_ARENA;
    buffer->block = w->b->block_count++;
  }
  (void)error;
  return OPS_OK;
}

int32_t rt_builder_note_late(rt_builder *b, uint32_t buffer, ops_error *error) {
  if (b->plan->late_count == b->late_capacity) {
    const uint32_t capacity = b->late_capacity ? b->late_capacity * 2 : 8;
    uint32_t *grown = realloc(b->late, capacity * sizeof *grown);
    if (!grown) return rt_builder_exhausted(error);
    b->late = grown;
    b->late_capacity = capacity;
  }
  b->late[b->plan->late_count++] = buffer;
  return OPS_OK;
}

// A vector of int64 that receives the shape of a bounded output, where the device can write it.
static int32_t add_dims_vector(work *w, uint32_t output, ops_error *error) {
  const rt_device *device = w->unit->device;
  const uint32_t kinds = device->info.memory_kinds;
  const int32_t kind = !device->provider->stream                   ? OPS_MEMORY_HOST
                       : kinds & OPS_MEMORY_BIT(OPS_MEMORY_PINNED) ? OPS_MEMORY_PINNED
                       : kinds & OPS_MEMORY_BIT(OPS_MEMORY_SHARED) ? OPS_MEMORY_SHARED
                       : kinds & OPS_MEMORY_BIT(OPS_MEMORY_DEVICE) ? OPS_MEMORY_DEVICE
                                                                   : OPS_MEMORY_HOST;
  const int64_t rank = w->infos[output].rank;
  rt_buffer buffer = {.value = w->unit->outputs[output],
                      .storage = RT_STORAGE_ARENA,
                      .place = rt_place(device, kind),
                      .block = w->b->block_count++,
                      .bytes = (uint64_t)(rank ? rank : 1) * sizeof(int64_t),
                      .alignment = sizeof(int64_t)};
  buffer.type = rt_type_info_tensor(w->b->bump, OPS_VALUE_TENSOR, OPS_TYPE_INT64, 1, &rank);
  if (!buffer.type) return rt_builder_exhausted(error);
  w->bounded = 1;
  return rt_builder_add_buffer(w->b, &buffer, &w->dims_outputs[output], error);
}

static int32_t add_output(work *w, uint32_t i, ops_error *error) {
  const rt_value *value = w->unit->outputs[i];
  const ops_output_info *info = &w->infos[i];
  const ops_arg_def *def = rt_unit_output_def(w->unit, i);
  const int32_t kind = output_kind(value, info);
  const int shapeless = kind != OPS_VALUE_TENSOR && kind != OPS_VALUE_STRINGS;
  ops_type_info *type = NULL;
  OPS_RETURN_IF_ERROR(output_type(w, i, kind, &type, error));
  rt_buffer buffer = {.value = value,
                      .type = type,
                      .late = info->mode != OPS_SHAPE_KNOWN && !shapeless,
                      .place = rt_place(w->unit->device, rt_unit_output_kind(w->unit, i)),
                      .alignment = def ? def->alignment : 0,
                      .padding = def ? def->read_padding : 0};
  OPS_RETURN_IF_ERROR(output_bytes(w, i, &buffer, type, error));
  OPS_RETURN_IF_ERROR(choose_storage(w, i, &buffer, error));
  if (info->mode == OPS_SHAPE_HOST_SYNC) type->dims = type->strides = NULL;
  OPS_RETURN_IF_ERROR(rt_builder_add_buffer(w->b, &buffer, &w->outputs[i], error));
  OPS_RETURN_IF_ERROR(rt_builder_locate(w->b, w->outputs[i], error));
  if (info->mode == OPS_SHAPE_BOUNDED && kind == OPS_VALUE_TENSOR)
    OPS_RETURN_IF_ERROR(add_dims_vector(w, i, error));
  rt_known *known = &w->b->plan->known[value->id];
  if (buffer.late) return rt_builder_note_late(w->b, w->outputs[i], error);
  known->type = rt_type_info_tensor(w->b->bump, kind, info->type, info->rank, info->dims);
  if (shapeless) known->type = type;
  return known->type ? OPS_OK : rt_builder_exhausted(error);
}

// What inference knows of an output's contents although the unit has to run.
static void note_produced(work *w) {
  for (uint32_t i = 0; i < w->unit->output_count; ++i)
    if (w->unit->outputs[i]) w->b->produced[w->unit->outputs[i]->id] = 1;
}

static int32_t add_workspace(work *w, uint32_t *out_buffer, ops_error *error) {
  *out_buffer = RT_NO_BUFFER;
  if (w->reply.workspace_size == 0) return OPS_OK;
  const rt_buffer buffer = {.storage = RT_STORAGE_ARENA,
                            .place = rt_place(w->unit->device, w->reply.workspace_memory_kind),
                            .block = w->b->block_count++,
                            .bytes = w->reply.workspace_size,
                            .alignment = w->reply.workspace_alignment};
  return rt_builder_add_buffer(w->b, &buffer, out_buffer, error);
}

static int32_t finish(work *w, ops_error *error) {
  const rt_unit *unit = w->unit;
  rt_action action = {
      .kind = RT_ACTION_KERNEL,
      .queue = unit->device->provider->stream ? RT_QUEUE_COMPUTE : RT_QUEUE_NONE,
      .device = unit->device,
      .unit = unit,
      .name = unit->name,
      .inputs = w->inputs,
      .input_count = unit->input_count,
      .outputs = w->outputs,
      .output_count = unit->output_count,
      .unread_inputs = w->reply.unread_inputs,
      .prepared = w->reply.prepared,
      .prepare_start_ns = w->prepare_start_ns,
      .prepare_end_ns = w->prepare_end_ns,
      .reentrant = unit->def && (unit->def->flags & OPS_KERNEL_REENTRANT)};
  for (uint32_t i = 0; i < unit->output_count; ++i) {
    w->outputs[i] = w->dims_outputs[i] = RT_NO_BUFFER;
    if (unit->outputs[i]) OPS_RETURN_IF_ERROR(add_output(w, i, error));
  }
  OPS_RETURN_IF_ERROR(add_workspace(w, &action.workspace, error));
  note_produced(w);
  action.dims_outputs = w->bounded ? w->dims_outputs : NULL;
  ops_prepare_request *request = rt_bump_copy(w->b->bump, &w->request, 1, sizeof *request);
  if (!request) return rt_builder_exhausted(error);
  action.request = request;
  return rt_builder_add_action(w->b, &action, error);
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Weights that the kernel has packed leave memory at once: the next are packed into the room.
static void forget_unread(const work *w) {
  for (uint32_t i = 0; i < w->unit->input_count && i < 64; ++i) {
    const rt_value *value = input_of(w, i);
    const rt_constant *constant = value ? rt_value_constant(value) : NULL;
    if (constant && w->reply.unread_inputs >> i & 1) rt_constant_forget(constant);
  }
}

static int32_t plan_unit(work *w, ops_error *error) {
  OPS_RETURN_IF_ERROR(choose_layouts(w, error));
  OPS_RETURN_IF_ERROR(bring_inputs(w, error));
  OPS_RETURN_IF_ERROR(choose_aliases(w, error));
  w->prepare_start_ns = now_ns();
  OPS_RETURN_IF_ERROR(prepare(w, error));
  w->prepare_end_ns = now_ns();
  forget_unread(w);
  const int32_t status = finish(w, error);
  if (status != OPS_OK) w->unit->api->prepared_destroy(w->reply.prepared);
  return status;
}

int32_t rt_builder_add_unit(rt_builder *b, const rt_unit *unit, ops_error *error) {
  work w;
  int32_t status = work_init(&w, b, b->bump, unit, error);
  // As large as the highest rank needs, and not kept.
  w.infos = calloc(unit->output_count + (size_t)1, sizeof *w.infos);
  if (status == OPS_OK) status = w.infos ? plan_unit(&w, error) : rt_builder_exhausted(error);
  free(w.infos);
  if (status != OPS_OK) ops_error_prefix(error, "%s on %s", unit->where, unit->device->name);
  return status;
}

int32_t rt_plan_prepare(const rt_action *action, ops_prepared **out_prepared,
                        ops_error *error) {
  *out_prepared = NULL;
  ops_output_info *infos = calloc(action->output_count + 1, sizeof *infos);
  if (!infos) return rt_builder_exhausted(error);
  for (uint32_t i = 0; i < action->output_count; ++i) {
    infos[i].struct_size = sizeof infos[i];
    if (action->request->output_layouts) infos[i].layout = action->request->output_layouts[i];
  }
  ops_prepare_reply reply = {.struct_size = sizeof reply,
                             .outputs = infos,
                             .output_count = action->output_count,
                             .output_stride = sizeof infos[0]};
  int32_t status =
      action->unit->api->prepare(action->unit->kernel, action->request, &reply, error);
  if (status == OPS_OK && !reply.prepared)
    status = ops_error_set_cause(error, OPS_ERROR_INTERNAL, OPS_CAUSE_BROKEN_PROMISE,
                                 "provider %s: prepare answered OK without a prepared object",
                                 action->device->name);
  if (status != OPS_OK) ops_error_prefix(error, "%s", action->unit->where);
  *out_prepared = reply.prepared;
  free(infos);
  return status;
}

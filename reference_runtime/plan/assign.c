// SPDX-License-Identifier: Apache-2.0
//
// Layouts for the units to come, all at once: units are walked ahead of their preparation as
// far as inference states their shapes, each is asked for the combinations of layouts that it
// can run, and layouts.h chooses. Behind a unit whose shapes only its preparation tells the
// walk begins anew, with the layouts that values then have.
//
// Below level 3 (rt_plan_request.layouts) each unit takes plain activations if it can.
#include <ops_support/error.h>
#include <stdlib.h>

#include "plan/builder.h"
#include "plan/layouts.h"

#define MAX_CHOICES 16

// Of a device that does not state its own, in bytes per second.
static const double kUsualBandwidth = 1e10;

typedef struct label {
  const rt_device *device;
  uint32_t layout;
} label;

typedef struct walk {
  rt_builder *b;
  rt_bump bump;           // of the walk alone
  uint32_t first;         // unit
  const rt_unit **units;  // by step
  const ops_layout_choice **choices;
  rt_layout_step *steps;
  uint32_t step_count;
  rt_layout_value *values;
  uint32_t value_count;
  uint32_t *numbers;                   // by value id: 1 + its number
  label labels[RT_LAYOUT_MAX_LABELS];  // the first is the strided layout
  uint32_t label_count;
} walk;

// ---- Options --------------------------------------------------------------------------------

static int is_activation(const rt_builder *b, const rt_value *value) {
  return value && !rt_value_constant(value) && !b->plan->known[value->id].contents;
}

// Orders them by preference where nothing else is asked: plain activations, then costs.
static int is_plain(const rt_builder *b, const rt_unit *unit, const ops_layout_choice *choice) {
  for (uint32_t i = 0; i < unit->input_count; ++i)
    if (is_activation(b, unit->inputs[i]) && choice->input_layouts[i] != OPS_LAYOUT_STRIDED)
      return 0;
  for (uint32_t i = 0; i < unit->output_count; ++i)
    if (choice->output_layouts[i] != OPS_LAYOUT_STRIDED) return 0;
  return 1;
}

// What the kernel offers, without what is incomplete.
static int32_t list_choices(rt_builder *b, rt_bump *bump, const rt_unit *unit,
                            ops_layout_choice *choices, uint32_t *out_count, ops_error *error) {
  uint64_t count = 0;
  *out_count = 0;
  if (!unit->api->query_layouts) return OPS_OK;
  for (uint32_t i = 0; i < MAX_CHOICES; ++i)
    choices[i] = (ops_layout_choice){.struct_size = sizeof choices[i]};
  OPS_RETURN_IF_ERROR(
      rt_builder_query_layouts(b, bump, unit, choices, MAX_CHOICES, &count, error));
  for (uint64_t i = 0; i < count && i < MAX_CHOICES; ++i)
    if (choices[i].input_layouts && choices[i].output_layouts)
      choices[(*out_count)++] = choices[i];
  return OPS_OK;
}

static int32_t choose_alone(rt_builder *b, const rt_unit *unit, ops_layout_choice *out_choice,
                            ops_error *error) {
  ops_layout_choice choices[MAX_CHOICES];
  rt_bump bump = {0};
  uint32_t count = 0;
  const int32_t status = list_choices(b, &bump, unit, choices, &count, error);
  int best_plain = 0;
  *out_choice = (ops_layout_choice){0};
  for (uint32_t i = 0; status == OPS_OK && i < count; ++i) {
    const int plain = is_plain(b, unit, &choices[i]);
    const int better =
        plain > best_plain || (plain == best_plain && choices[i].cost < out_choice->cost);
    if (out_choice->input_layouts && !better) continue;
    *out_choice = choices[i];
    best_plain = plain;
  }
  rt_bump_finish(&bump);
  return status;
}

// ---- Steps ----------------------------------------------------------------------------------

// The label of a layout; RT_LAYOUT_MAX_LABELS if there are too many.
static uint32_t label_of(walk *w, const rt_device *device, uint32_t layout) {
  if (layout == OPS_LAYOUT_STRIDED) return 0;
  for (uint32_t i = 1; i < w->label_count; ++i)
    if (w->labels[i].device == device && w->labels[i].layout == layout) return i;
  if (w->label_count == RT_LAYOUT_MAX_LABELS) return RT_LAYOUT_MAX_LABELS;
  w->labels[w->label_count] = (label){device, layout};
  return w->label_count++;
}

static double reorder_seconds(const rt_device *device, const ops_type_info *type) {
  const double stated = device->info.peak_bytes_per_second;
  uint64_t bytes = 0;
  if (!type || rt_type_info_bytes(type, &bytes, NULL) != OPS_OK) return 0;
  return 2.0 * (double)bytes / (stated > 0 ? stated : kUsualBandwidth);
}

// The layouts that a value has before the walk; none if the walk came across who makes it.
static uint16_t known_labels(walk *w, const rt_value *value) {
  uint32_t labels = 0;
  const rt_location *at = w->b->plan->known[value->id].locations;
  for (; at; at = at->next) {
    const uint32_t number = label_of(w, at->device, at->layout);
    if (number < RT_LAYOUT_MAX_LABELS) labels |= 1u << number;
  }
  if (labels) return (uint16_t)labels;
  return w->b->produced[value->id] ? 0 : 1;
}

static uint32_t number_of(walk *w, const rt_value *value, const rt_device *device) {
  const ops_type_info *type = NULL;
  if (!is_activation(w->b, value)) return RT_LAYOUT_NO_VALUE;
  if (w->numbers[value->id]) return w->numbers[value->id] - 1;
  rt_builder_type(w->b, value, &type);
  w->values[w->value_count] = (rt_layout_value){.reorder = reorder_seconds(device, type),
                                                .labels = known_labels(w, value),
                                                .is_strided = value->output_count > 0};
  w->numbers[value->id] = ++w->value_count;
  return w->value_count - 1;
}

static int translate(walk *w, const rt_unit *unit, const ops_layout_choice *choice,
                     rt_layout_option *option) {
  uint8_t *inputs = rt_bump_new(&w->bump, unit->input_count, 1);
  uint8_t *outputs = rt_bump_new(&w->bump, unit->output_count, 1);
  *option = (rt_layout_option){choice->cost, inputs, outputs};
  for (uint32_t i = 0; inputs && outputs && choice->input_layouts && i < unit->input_count;
       ++i) {
    const uint32_t number = is_activation(w->b, unit->inputs[i])
                                ? label_of(w, unit->device, choice->input_layouts[i])
                                : 0;
    if (number == RT_LAYOUT_MAX_LABELS) return 0;
    inputs[i] = (uint8_t)number;
  }
  for (uint32_t i = 0; inputs && outputs && choice->output_layouts && i < unit->output_count;
       ++i) {
    const uint32_t number = label_of(w, unit->device, choice->output_layouts[i]);
    if (number == RT_LAYOUT_MAX_LABELS) return 0;
    outputs[i] = (uint8_t)number;
  }
  return inputs && outputs;
}

// A unit without a choice, or of the runtime's own, runs on plain tensors.
static int32_t add_step(walk *w, const rt_unit *unit, ops_error *error) {
  ops_layout_choice listed[MAX_CHOICES + 1] = {{0}};
  uint32_t count = 0, *inputs = rt_bump_new(&w->bump, unit->input_count, sizeof *inputs);
  uint32_t *outputs = rt_bump_new(&w->bump, unit->output_count, sizeof *outputs);
  if (!unit->control)
    OPS_RETURN_IF_ERROR(list_choices(w->b, &w->bump, unit, listed, &count, error));
  if (count == 0) listed[count++] = (ops_layout_choice){0};
  const ops_layout_choice *choices = rt_bump_copy(&w->bump, listed, count, sizeof *listed);
  rt_layout_option *options = rt_bump_new(&w->bump, count, sizeof *options);
  if (!inputs || !outputs || !choices || !options) return rt_builder_exhausted(error);
  for (uint32_t i = 0; i < count; ++i)
    if (!translate(w, unit, &choices[i], &options[i])) {
      if (w->bump.failed) return rt_builder_exhausted(error);
      options[i].cost = 1e300;  // too many layouts at once
    }
  const rt_device *device = unit->device;
  for (uint32_t i = 0; i < unit->input_count; ++i)
    inputs[i] = device ? number_of(w, unit->inputs[i], device) : RT_LAYOUT_NO_VALUE;
  for (uint32_t i = 0; i < unit->output_count; ++i)
    outputs[i] = device ? number_of(w, unit->outputs[i], device) : RT_LAYOUT_NO_VALUE;
  w->units[w->step_count] = unit;
  w->choices[w->step_count] = choices;
  w->steps[w->step_count++] =
      (rt_layout_step){options, count, inputs, unit->input_count, outputs, unit->output_count};
  return OPS_OK;
}

// ---- The walk -------------------------------------------------------------------------------

// Takes inference's word for the types of the outputs; 0 in *out_stated if it has none.
static int32_t predict_outputs(walk *w, const rt_unit *unit, int *out_stated,
                               ops_error *error) {
  *out_stated = !unit->control;
  for (uint32_t i = 0; *out_stated && i < unit->output_count; ++i) {
    const rt_type *type = &w->b->inferred[i].type;
    int64_t dims[OPS_MAX_RANK], count;
    if (!unit->outputs[i]) continue;
    *out_stated = type->kind == RT_TYPE_TENSOR && type->elem_type != OPS_TYPE_UNDEFINED &&
                  type->elem_type != OPS_TYPE_STRING && rt_type_is_static(type, &count);
    if (!*out_stated) return OPS_OK;
    for (int32_t k = 0; k < type->rank; ++k) dims[k] = type->dims[k].value;
    const ops_type_info *stated =
        rt_type_info_tensor(&w->bump, OPS_VALUE_TENSOR, type->elem_type, type->rank, dims);
    if (!stated) return rt_builder_exhausted(error);
    w->b->plan->known[unit->outputs[i]->id].type = stated;
  }
  return OPS_OK;
}

static void note_produced(rt_builder *b, const rt_unit *unit, uint8_t produced) {
  for (uint32_t i = 0; i < unit->output_count; ++i)
    if (unit->outputs[i]) b->produced[unit->outputs[i]->id] = produced;
}

// One unit ahead; *out_goes_on is 0 if the walk ends before it or with it.
static int32_t visit(walk *w, const rt_unit *unit, int *out_goes_on, ops_error *error) {
  int folded = 0;
  OPS_RETURN_IF_ERROR(rt_builder_ready(w->b, unit, out_goes_on, error));
  if (!*out_goes_on) return OPS_OK;
  w->b->assigned_end = unit->index + 1;
  note_produced(w->b, unit, 1);
  if (!unit->control) {
    OPS_RETURN_IF_ERROR(rt_builder_infer(w->b, unit, error));
    OPS_RETURN_IF_ERROR(rt_builder_fold(w->b, unit, &folded, error));
  }
  if (folded) return OPS_OK;
  OPS_RETURN_IF_ERROR(predict_outputs(w, unit, out_goes_on, error));
  return add_step(w, unit, error);
}

// Forgets what the walk supposed of values that are not computed yet.
static void forget(walk *w) {
  const rt_partition *partition = w->b->request->partition;
  for (uint32_t i = w->first; i < w->b->assigned_end; ++i) {
    const rt_unit *unit = &partition->units[i];
    note_produced(w->b, unit, 0);
    for (uint32_t k = 0; k < unit->output_count; ++k)
      if (unit->outputs[k]) w->b->plan->known[unit->outputs[k]->id] = (rt_known){0};
  }
}

static int32_t solve(walk *w, ops_error *error) {
  const rt_layout_problem problem = {w->steps, w->step_count, w->values, w->value_count};
  uint32_t *chosen = rt_bump_new(&w->bump, w->step_count, sizeof *chosen);
  double cost = 0;
  int optimal = 1;
  if (!chosen) return rt_builder_exhausted(error);
  OPS_RETURN_IF_ERROR(rt_layouts_choose(&problem, chosen, &cost, &optimal, error));
  for (uint32_t i = 0; i < w->step_count; ++i)
    w->b->assigned[w->units[i]->index] = w->choices[i][chosen[i]];
  return OPS_OK;
}

static int32_t walk_init(walk *w, rt_builder *b, uint32_t first, ops_error *error) {
  const rt_partition *partition = b->request->partition;
  const uint32_t units = partition->unit_count - first;
  uint64_t values = 0;
  for (uint32_t i = first; i < partition->unit_count; ++i)
    values += (uint64_t)partition->units[i].input_count + partition->units[i].output_count;
  *w = (walk){.b = b, .first = first, .label_count = 1};
  if (!b->assigned) b->assigned = calloc(partition->unit_count + 1u, sizeof *b->assigned);
  w->units = rt_bump_new(&w->bump, units, sizeof *w->units);
  w->choices = rt_bump_new(&w->bump, units, sizeof *w->choices);
  w->steps = rt_bump_new(&w->bump, units, sizeof *w->steps);
  w->values = rt_bump_new(&w->bump, values, sizeof *w->values);
  w->numbers = rt_bump_new(&w->bump, b->request->graph->root->value_limit, sizeof *w->numbers);
  return w->bump.failed || !b->assigned ? rt_builder_exhausted(error) : OPS_OK;
}

static int32_t assign(rt_builder *b, uint32_t first, ops_error *error) {
  const rt_partition *partition = b->request->partition;
  walk w;
  int goes_on = 1;
  int32_t status = walk_init(&w, b, first, error);
  b->assigned_end = first;
  for (uint32_t i = first; status == OPS_OK && goes_on && i < partition->unit_count; ++i) {
    const rt_unit *unit = &partition->units[i];
    status = visit(&w, unit, &goes_on, error);
    if (status != OPS_OK) ops_error_prefix(error, "%s", unit->where);
  }
  forget(&w);
  if (status == OPS_OK) status = solve(&w, error);
  rt_bump_finish(&w.bump);
  return status;
}

int32_t rt_builder_choose_layouts(rt_builder *b, const rt_unit *unit,
                                  ops_layout_choice *out_choice, ops_error *error) {
  if (!b->request->layouts) return choose_alone(b, unit, out_choice, error);
  *out_choice = b->assigned[unit->index];
  return OPS_OK;
}

int32_t rt_builder_assign_layouts(rt_builder *b, uint32_t first, ops_error *error) {
  if (!b->request->layouts || first < b->assigned_end) return OPS_OK;
  return assign(b, first, error);
}

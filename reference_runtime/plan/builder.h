// SPDX-License-Identifier: Apache-2.0
//
// Private to plan/: a plan while it is built.
#ifndef RT_PLAN_BUILDER_H_
#define RT_PLAN_BUILDER_H_

#include "infer/infer.h"
#include "plan/plan.h"

// An array that grows; `items` is freed by rt_builder_finish.
typedef struct rt_builder {
  const rt_plan_request *request;
  rt_plan *plan;
  rt_bump *bump;  // the plan's
  uint32_t buffer_capacity;
  uint32_t action_capacity;
  uint32_t guard_capacity;
  rt_guard *guards;
  uint32_t *late;
  uint32_t late_capacity;
  uint32_t *last_reader;      // by value id: 1 + index of the last unit that reads it or a
                              // view of it, or RT_READ_AT_END for outputs of the graph
  uint8_t *produced;          // by value id: 1 if this segment computes it
  rt_infer_output *inferred;  // scratch: of the unit's outputs
  uint32_t inferred_capacity;
  uint32_t block_count;
  ops_layout_choice *assigned;  // by unit: what it runs in; without layouts: plain
  uint32_t assigned_end;        // the first unit of which that is not known
  uint32_t *levels;             // by action, or NULL: lifetimes count levels, not actions
} rt_builder;

#define RT_READ_AT_END UINT32_MAX

int32_t rt_builder_exhausted(ops_error *error);

// ---- buffers.c ----
// A new buffer; in *out_index its number.
int32_t rt_builder_add_buffer(rt_builder *b, const rt_buffer *buffer, uint32_t *out_index,
                              ops_error *error);
// Makes `buffer` the place of a value from now on.
int32_t rt_builder_locate(rt_builder *b, uint32_t buffer, ops_error *error);
int32_t rt_builder_add_action(rt_builder *b, const rt_action *action, ops_error *error);
// The number of a buffer that has `value` in `place` and `layout`, with this alignment and
// padding; copies and reorders are added as needed.
int32_t rt_builder_materialise(rt_builder *b, const rt_value *value, const rt_device *device,
                               int32_t memory_kind, uint32_t layout, uint64_t alignment,
                               uint64_t padding, uint32_t *out_buffer, ops_error *error);
// The buffer whose bytes a buffer shows: itself, unless it is a view.
static inline uint32_t rt_builder_root(const rt_plan *plan, uint32_t buffer) {
  while (plan->buffers[buffer].viewed) buffer = plan->buffers[buffer].viewed - 1;
  return buffer;
}
// The value where the caller wants output number `index`, not yet in the caller's memory; and a
// copy of a buffer that is.
int32_t rt_builder_materialise_output(rt_builder *b, const rt_value *value, uint32_t index,
                                      uint32_t *out_buffer, ops_error *error);
int32_t rt_builder_copy_output(rt_builder *b, uint32_t from, uint32_t index,
                               uint32_t *out_buffer, ops_error *error);
// A copy of `buffer` in an arena block of its own.
int32_t rt_builder_duplicate(rt_builder *b, const rt_device *device, uint32_t buffer,
                             uint32_t *out_buffer, ops_error *error);

// Where the caller wants output number `index` of the graph.
uint32_t rt_builder_output_place(const rt_builder *b, uint32_t index);

// ---- known.c ----
// 1 if the type of a value is known, constants included; it goes to *out_type.
int rt_builder_type(rt_builder *b, const rt_value *value, const ops_type_info **out_type);
// Applies the operator's rule to what is known: b->inferred holds the outputs.
int32_t rt_builder_infer(rt_builder *b, const rt_unit *unit, ops_error *error);
// 1 in *out_folded if all outputs of the unit are known by their contents; it needs no kernel.
int32_t rt_builder_fold(rt_builder *b, const rt_unit *unit, int *out_folded, ops_error *error);
// Bytes of an output as inference states it; 0 if it does not.
uint64_t rt_builder_inferred_bytes(const rt_builder *b, uint32_t output);

// ---- views.c ----
// Makes the unit's output a view of an input if it can be one: the kernel says so, inference
// knows the shape, and the output need not be in memory of its own. 1 in *out_viewed: done, the
// unit needs no action.
int32_t rt_builder_view(rt_builder *b, const rt_unit *unit, int *out_viewed, ops_error *error);
// ---- assign.c ----
// Chooses layouts for the units from `first` on, as far as their shapes can be foretold, unless
// that is done already.
int32_t rt_builder_assign_layouts(rt_builder *b, uint32_t first, ops_error *error);
// What was chosen for a unit; without layouts: plain tensors.
int32_t rt_builder_choose_layouts(rt_builder *b, const rt_unit *unit,
                                  ops_layout_choice *out_choice, ops_error *error);

// ---- unit.c ----
// The combinations of layouts that a unit offers; what describes it goes to `bump`.
int32_t rt_builder_query_layouts(rt_builder *b, rt_bump *bump, const rt_unit *unit,
                                 ops_layout_choice *choices, uint64_t capacity,
                                 uint64_t *out_count, ops_error *error);
// 1 in *out_ready if everything that preparing the unit needs is known, or can be fetched.
int32_t rt_builder_ready(rt_builder *b, const rt_unit *unit, int *out_ready, ops_error *error);
// Prepares the unit and adds its action.
int32_t rt_builder_add_unit(rt_builder *b, const rt_unit *unit, ops_error *error);

// The number of the graph's output that `value` is, the first one; RT_NO_BUFFER if it is none.
uint32_t rt_builder_graph_output(const rt_builder *b, const rt_value *value);
// Notes that running tells the shape of a buffer.
int32_t rt_builder_note_late(rt_builder *b, uint32_t buffer, ops_error *error);

// ---- control.c ----
// Adds the action of a unit that the runtime runs itself.
int32_t rt_builder_add_control(rt_builder *b, const rt_unit *unit, ops_error *error);

// ---- parallel.c ----
// Puts the actions in the order of levels, if branches may run at once; before memory is
// planned.
int32_t rt_builder_level(rt_builder *b, ops_error *error);
// What follows what, given offsets.
int32_t rt_builder_follow(rt_builder *b, ops_error *error);

// ---- schedule.c ----
// 1 if two buffers share bytes of an arena; if a's hold all of b's.
int rt_buffer_overlaps(const rt_buffer *a, const rt_buffer *b);
int rt_buffer_covers(const rt_buffer *a, const rt_buffer *b);
// Lifetimes → offsets, and waits.
int32_t rt_builder_schedule(rt_builder *b, ops_error *error);

#endif  // RT_PLAN_BUILDER_H_

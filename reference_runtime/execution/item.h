// SPDX-License-Identifier: Apache-2.0
//
// Private to execution/: values that control flow holds between runs of a body, and the frame
// in which a body runs. Data move from the outputs of one run to the inputs of the next; what
// the enclosing run owns (operands, captures) is lent and never copied.
#ifndef RT_EXECUTION_ITEM_H_
#define RT_EXECUTION_ITEM_H_

#include "execution/run.h"

// A value ready to enter a body. Not to be copied: `input.type` points into it.
typedef struct rt_item {
  rt_run_input input;
  ops_type_info type;
  int64_t dims[OPS_MAX_RANK];
  int64_t strides[OPS_MAX_RANK];
  void *owned_data;        // freed with the item, or NULL
  ops_value *owned_value;  // released with the item, or NULL
} rt_item;

// Each replaces what the item was. A dense tensor in host memory, lent:
void rt_item_tensor(rt_item *item, int32_t type, int32_t rank, const int64_t *dims,
                    const void *data);
// One element, owned.
int32_t rt_item_scalar(rt_item *item, int32_t type, int32_t rank, const void *data,
                       uint64_t size, ops_error *error);
// A host object, lent; strings know their shape, `like` has the type of other kinds.
int32_t rt_item_value(rt_item *item, ops_value *value, const ops_type_info *like,
                      ops_error *error);
// An argument, lent.
int32_t rt_item_arg(rt_item *item, const ops_arg *arg, const ops_type_info *like,
                    ops_error *error);
// The result of a body, whose ownership moves.
int32_t rt_item_take(rt_item *item, rt_run_output *output, const ops_type_info *like,
                     ops_error *error);
// The other way round: moved if the item owns it, else lent. The item is empty afterwards.
void rt_item_give(rt_item *item, rt_run_output *output);
void rt_item_finish(rt_item *item);
// Makes an optional of a value that is none, or the other way round, if `kind` asks for it.
int32_t rt_output_convert(rt_run_output *output, int32_t kind, ops_error *error);
// How a result is given to the accessors of host values; borrows `output` and `strides`.
ops_arg rt_output_arg(const rt_run_output *output, int64_t *strides);

// ---- Control flow ---------------------------------------------------------------------------

typedef struct rt_control {
  rt_run *run;
  rt_segment *segment;
  const rt_action *action;
  const rt_unit *unit;
  const rt_node *node;
  int in_body;  // 1: an error comes from a body, whose path it has
} rt_control;

// A body and what enters and leaves it. The first items are the body's inputs, then captures.
typedef struct rt_frame {
  rt_executor *executor;
  const rt_graph *graph;
  rt_item *items;
  rt_run_input *inputs;
  uint32_t input_count;
  rt_run_output *outputs;
} rt_frame;

// The body in the attribute `name`; its captures are lent. Finish also after a failure.
int32_t rt_frame_init(rt_frame *frame, rt_control *control, const char *name, ops_error *error);
void rt_frame_finish(rt_frame *frame);
// Runs the body on the items. Outputs that are items as they are become owned if the item was.
int32_t rt_frame_run(rt_frame *frame, rt_control *control, const rt_run_sink *sink,
                     ops_error *error);

// The type of a body's input as the graph knows it.
const ops_type_info *rt_frame_type(const rt_frame *frame, uint32_t input);

// Operand `index` of the node as it is bound; kind ABSENT if it is left out.
ops_arg rt_control_operand(const rt_control *control, uint32_t index);
int32_t rt_control_bool(const rt_control *control, const ops_arg *arg, const char *name,
                        int *out_value, ops_error *error);
// Output `index` of the node becomes `output`, which is then empty.
int32_t rt_control_deliver(const rt_control *control, uint32_t index, rt_run_output *output,
                           ops_error *error);

// What counts the host memory that control flow allocates.
static inline rt_allocator *rt_control_host(const rt_control *control) {
  return control->run->executor->places->allocators[RT_PLACE_HOST];
}

int32_t rt_control_scan(rt_control *control, ops_error *error);

#endif  // RT_EXECUTION_ITEM_H_

// SPDX-License-Identifier: Apache-2.0
//
// What a plan does with layouts, as rows for people. Names are the partition's and the graph's.
#include <ops_support/error.h>
#include <stdlib.h>

#include "execution/run.h"

static uint32_t layout_of(const rt_plan *plan, const uint32_t *buffers, uint32_t count) {
  const rt_buffer *first =
      count > 0 && buffers[0] != RT_NO_BUFFER ? &plan->buffers[buffers[0]] : NULL;
  return first && first->type ? first->type->layout : OPS_LAYOUT_STRIDED;
}

static int describe(const rt_plan *plan, const rt_action *action, rt_layout_row *row) {
  const int is_reorder = action->kind == RT_ACTION_REORDER;
  if (!is_reorder && action->kind != RT_ACTION_KERNEL) return 0;
  *row = (rt_layout_row){.name = action->name,
                         .op = is_reorder ? NULL : action->unit->op,
                         .device = action->device->name,
                         .from = layout_of(plan, action->inputs, action->input_count),
                         .to = layout_of(plan, action->outputs, action->output_count)};
  if (is_reorder) row->bytes = plan->buffers[action->inputs[0]].bytes;
  return is_reorder || row->from || row->to;
}

void rt_executor_note_layouts(rt_executor *executor, const rt_plan *plan) {
  rt_layout_row *rows = calloc(plan->action_count + 1u, sizeof *rows);
  uint32_t count = 0;
  for (uint32_t i = 0; rows && i < plan->action_count; ++i)
    count += (uint32_t)describe(plan, &plan->actions[i], &rows[count]);
  free(executor->layout_rows);
  executor->layout_rows = rows;
  executor->layout_row_count = count;
}

uint32_t rt_executor_layout_count(const rt_executor *executor) {
  return executor->layout_row_count;
}

const rt_layout_row *rt_executor_layout_at(const rt_executor *executor, uint32_t index) {
  return index < executor->layout_row_count ? &executor->layout_rows[index] : NULL;
}

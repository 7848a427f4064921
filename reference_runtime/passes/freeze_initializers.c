// SPDX-License-Identifier: Apache-2.0
//
// From IR version 4 on, an initializer that is also an input may be replaced by the caller and
// is no constant. Who never does that says --freeze-initializers. Of the main graph only.
#include "passes/pass.h"

static int32_t run(rt_pass_context *context, rt_graph *graph, ops_error *error) {
  if (!context->options->freeze_initializers || graph->parent) return OPS_OK;
  for (uint32_t i = graph->input_count; i-- > 0;) {
    rt_value *input = graph->inputs[i];
    if (!input->constant) continue;
    OPS_RETURN_IF_ERROR(rt_graph_freeze_input(graph, input, error));
    rt_pass_hit(context, "input '%s': made constant", input->name);
  }
  return OPS_OK;
}

const rt_pass rt_pass_freeze_initializers = {.run = run};

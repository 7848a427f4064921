// SPDX-License-Identifier: Apache-2.0
//
// Claim, create, prepare.
#include "runner/kernel.h"

#include <string.h>

#include "ops_support/error.h"
#include "runner/result.h"

#define MAX_CHOICES 8

int32_t oc_kernel_init(oc_kernel *kernel, oc_target *target, oc_beacon *beacon,
                       const oc_case *item, const oc_inputs *inputs,
                       const oc_node_options *options, ops_error *error) {
  memset(kernel, 0, sizeof *kernel);
  kernel->target = target;
  kernel->beacon = beacon;
  kernel->item = item;
  kernel->inputs = inputs;
  kernel->constants = options->constants;
  kernel->output_count = item->row->output_count;
  OPS_RETURN_IF_ERROR(oc_node_view_create(item, inputs, options, &kernel->view, error));
  kernel->argument_count = oc_node_view_arguments(kernel->view, kernel->arguments);
  return OPS_OK;
}

int32_t oc_kernel_claim(oc_kernel *kernel, ops_error *error) {
  oc_beacon_phase(kernel->beacon, OC_PHASE_CLAIM);
  memset(&kernel->claim, 0, sizeof kernel->claim);
  kernel->claim.struct_size = sizeof kernel->claim;
  kernel->def = NULL;
  return ops_library_claim(kernel->target->library, kernel->target->device,
                           oc_node_view_node(kernel->view), &kernel->def, &kernel->claim,
                           error);
}

int32_t oc_kernel_claim_group(oc_kernel *kernel, bool *out_taken, ops_error *error) {
  const ops_group_api *api = kernel->target->provider->group;
  const ops_graph *graph = oc_node_view_graph(kernel->view);
  ops_group_claim claims[1 + OC_NODE_MAX_POSTS];
  *out_taken = false;
  if (!api || !graph) return OPS_OK;
  oc_beacon_phase(kernel->beacon, OC_PHASE_CLAIM);
  for (uint64_t i = 0; i < graph->node_count; ++i) {
    claims[i] = (ops_group_claim){.struct_size = sizeof *claims, .group = OPS_GROUP_NONE};
  }
  OPS_RETURN_IF_ERROR(api->claim(kernel->target->device, graph, claims, graph->node_count,
                                 sizeof *claims, error));
  *out_taken = claims[0].group != OPS_GROUP_NONE;
  for (uint64_t i = 1; i < graph->node_count; ++i) {
    *out_taken = *out_taken && claims[i].group == claims[0].group;
  }
  return OPS_OK;
}

static int32_t compile_group(oc_kernel *kernel, ops_error *error) {
  const ops_kernel_api *api = NULL;
  OPS_RETURN_IF_ERROR(kernel->target->provider->group->compile(
      kernel->target->device, oc_node_view_graph(kernel->view), &kernel->kernel, &api, error));
  if (!kernel->kernel || !api) {
    return ops_error_set(error, OPS_ERROR_INTERNAL,
                         "compile: expected a kernel and its functions, found NULL");
  }
  kernel->compiled = (ops_kernel_def){.struct_size = sizeof kernel->compiled, .api = api};
  kernel->def = &kernel->compiled;
  return OPS_OK;
}

int32_t oc_kernel_create(oc_kernel *kernel, ops_error *error) {
  oc_beacon_phase(kernel->beacon, OC_PHASE_CREATE);
  if (oc_node_view_graph(kernel->view)) return compile_group(kernel, error);
  return kernel->def->api->create(kernel->target->device, kernel->def,
                                  oc_node_view_node(kernel->view), &kernel->kernel, error);
}

int32_t oc_kernel_renew_view(oc_kernel *kernel, const oc_node_options *options,
                             ops_error *error) {
  oc_node_view *view = NULL;
  OPS_RETURN_IF_ERROR(oc_node_view_create(kernel->item, kernel->inputs, options, &view, error));
  oc_node_view_spoil(kernel->view);
  oc_node_view_destroy(kernel->spoilt_view);
  kernel->spoilt_view = kernel->view;
  kernel->view = view;
  return OPS_OK;
}

// The inputs whose contents the definition wants to see in prepare.
static uint64_t shape_inputs(const oc_kernel *kernel) {
  uint64_t mask = 0;
  for (size_t i = 0; i < kernel->inputs->count; ++i) {
    const ops_arg_def *def = oc_kernel_input_def(kernel, i);
    if (def && (def->flags & OPS_ARG_SHAPE_INPUT)) mask |= (uint64_t)1 << i;
  }
  return mask;
}

static void drop_prepared(oc_kernel *kernel) {
  if (!kernel->prepared) return;
  oc_beacon_phase(kernel->beacon, OC_PHASE_DESTROY);
  kernel->def->api->prepared_destroy(kernel->prepared);
  kernel->prepared = NULL;
}

// `packed` receives the operands of the kernel's own inputs.
static ops_prepare_request request_of(oc_kernel *kernel, ops_operand *packed) {
  const ops_operand *all = oc_node_view_prepare_inputs(kernel->view, shape_inputs(kernel));
  for (size_t i = 0; i < kernel->argument_count; ++i) packed[i] = all[kernel->arguments[i]];
  return (ops_prepare_request){.struct_size = sizeof(ops_prepare_request),
                               .inputs = packed,
                               .input_count = kernel->argument_count,
                               .input_stride = sizeof(ops_operand),
                               .output_layouts = kernel->output_layouts};
}

// ---- Layouts --------------------------------------------------------------------------------

static bool is_private(const oc_kernel *kernel, const ops_layout_choice *choice) {
  for (size_t i = 0; choice->input_layouts && i < kernel->inputs->count; ++i) {
    if (choice->input_layouts[i] != OPS_LAYOUT_STRIDED) return true;
  }
  for (size_t i = 0; choice->output_layouts && i < kernel->output_count; ++i) {
    if (choice->output_layouts[i] != OPS_LAYOUT_STRIDED) return true;
  }
  return false;
}

static void adopt(oc_kernel *kernel, const ops_layout_choice *choice) {
  for (size_t i = 0; i < kernel->inputs->count; ++i) {
    kernel->input_layouts[i] =
        choice->input_layouts ? choice->input_layouts[i] : OPS_LAYOUT_STRIDED;
    oc_node_view_set_layout(kernel->view, i, kernel->input_layouts[i]);
  }
  for (size_t i = 0; i < kernel->output_count; ++i) {
    kernel->output_layouts[i] =
        choice->output_layouts ? choice->output_layouts[i] : OPS_LAYOUT_STRIDED;
  }
}

int32_t oc_kernel_choose_layouts(oc_kernel *kernel, bool *out_chosen, ops_error *error) {
  ops_layout_choice choices[MAX_CHOICES];
  const ops_memory_api *memory = kernel->target->provider->memory;
  uint64_t count = 0;
  *out_chosen = false;
  if (!kernel->def->api->query_layouts || !memory || !memory->layout_size || !memory->reorder) {
    return OPS_OK;
  }
  oc_beacon_phase(kernel->beacon, OC_PHASE_PREPARE);
  memset(choices, 0, sizeof choices);
  for (size_t i = 0; i < MAX_CHOICES; ++i) choices[i].struct_size = sizeof choices[i];
  ops_operand packed[OC_CASE_MAX_TENSORS];
  const ops_prepare_request request = request_of(kernel, packed);
  OPS_RETURN_IF_ERROR(kernel->def->api->query_layouts(
      kernel->kernel, &request, choices, MAX_CHOICES, sizeof *choices, &count, error));
  for (uint64_t i = 0; i < count && i < MAX_CHOICES && !*out_chosen; ++i) {
    *out_chosen = is_private(kernel, &choices[i]);
    if (*out_chosen) adopt(kernel, &choices[i]);
  }
  return OPS_OK;
}

// ---- Prepare --------------------------------------------------------------------------------

int32_t oc_kernel_prepare(oc_kernel *kernel, const ops_alias *aliases, uint64_t alias_count,
                          ops_error *error) {
  drop_prepared(kernel);
  oc_beacon_phase(kernel->beacon, OC_PHASE_PREPARE);
  ops_operand packed[OC_CASE_MAX_TENSORS];
  ops_prepare_request request = request_of(kernel, packed);
  request.aliases = aliases;
  request.alias_count = alias_count;
  request.alias_stride = sizeof(ops_alias);

  memset(kernel->outputs, 0, sizeof kernel->outputs);
  for (size_t i = 0; i < kernel->output_count; ++i) {
    kernel->outputs[i].struct_size = sizeof kernel->outputs[i];
  }
  kernel->reply = (ops_prepare_reply){.struct_size = sizeof kernel->reply,
                                      .outputs = kernel->outputs,
                                      .output_count = kernel->output_count,
                                      .output_stride = sizeof *kernel->outputs};
  OPS_RETURN_IF_ERROR(
      kernel->def->api->prepare(kernel->kernel, &request, &kernel->reply, error));
  kernel->prepared = kernel->reply.prepared;
  return OPS_OK;
}

void oc_kernel_arrange(oc_kernel *kernel, const oc_arrangement *arrangements) {
  kernel->arrangements = arrangements;
  for (size_t i = 0; i < kernel->inputs->count; ++i) {
    const bool arranged = arrangements && arrangements[i].span > 0;
    oc_node_view_set_strides(kernel->view, i, arranged ? arrangements[i].strides : NULL);
  }
}

void oc_kernel_release(oc_kernel *kernel) {
  drop_prepared(kernel);
  if (!kernel->kernel) return;
  oc_beacon_phase(kernel->beacon, OC_PHASE_DESTROY);
  kernel->def->api->destroy(kernel->kernel);
  kernel->kernel = NULL;
}

void oc_kernel_finish(oc_kernel *kernel) {
  oc_kernel_release(kernel);
  oc_node_view_destroy(kernel->view);
  oc_node_view_destroy(kernel->spoilt_view);
  memset(kernel, 0, sizeof *kernel);
}

const ops_arg_def *oc_kernel_input_def(const oc_kernel *kernel, size_t index) {
  return kernel->def ? ops_kernel_def_input(kernel->def, index) : NULL;
}

const ops_arg_def *oc_kernel_output_def(const oc_kernel *kernel, size_t index) {
  return kernel->def ? ops_kernel_def_output(kernel->def, index) : NULL;
}

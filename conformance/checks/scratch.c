// SPDX-License-Identifier: Apache-2.0
//
// Values and nodes of a scratch graph. Arguments lie in ordinary memory: the oracle is trusted
// with its bounds here, as its cases run behind guards elsewhere.
#include "checks/scratch.h"

#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"

#define MAX_OPERANDS 16

void oc_scratch_init(oc_scratch *scratch, oc_target *oracle) {
  memset(scratch, 0, sizeof *scratch);
  scratch->oracle = oracle;
}

void oc_scratch_finish(oc_scratch *scratch) {
  for (size_t i = 0; i < scratch->count; ++i) oc_array_finish(&scratch->values[i]);
  scratch->count = 0;
}

static ops_arg arg_of(const oc_scratch *scratch, size_t i) {
  const oc_array *array = &scratch->values[i];
  return (ops_arg){.kind = OPS_ARG_TENSOR,
                   .memory_kind = OPS_MEMORY_HOST,
                   .tensor = {.dims = array->dims,
                              .strides = scratch->strides[i],
                              .memory = array->data,
                              .byte_size = array->bytes,
                              .type = array->type,
                              .rank = array->rank}};
}

// Describes value `i`, whose array is filled.
static void describe(oc_scratch *scratch, size_t i) {
  const oc_array *array = &scratch->values[i];
  int64_t stride = 1;
  for (int32_t k = array->rank; k-- > 0;) {
    scratch->strides[i][k] = stride;
    stride *= array->dims[k] ? array->dims[k] : 1;
  }
  scratch->types[i] = (ops_type_info){.struct_size = sizeof(ops_type_info),
                                      .kind = OPS_VALUE_TENSOR,
                                      .type = array->type,
                                      .rank = array->rank,
                                      .dims = array->dims};
  scratch->contents[i] = (ops_constant){.struct_size = sizeof(ops_constant),
                                        .format = OPS_CONSTANT_DENSE,
                                        .rank = array->rank,
                                        .dims = array->dims,
                                        .dense = arg_of(scratch, i)};
}

int32_t oc_scratch_add(oc_scratch *scratch, int32_t type, int32_t rank, const int64_t *dims,
                       bool constant, int64_t *out_value, ops_error *error) {
  const size_t i = scratch->count;
  if (i == OC_SCRATCH_MAX_VALUES) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "more than %d values in one graph",
                         OC_SCRATCH_MAX_VALUES);
  }
  OPS_RETURN_IF_ERROR(
      oc_array_init(&scratch->values[i], type, rank, dims, "a value of a graph", error));
  scratch->constant[i] = constant;
  describe(scratch, i);
  ++scratch->count;
  *out_value = (int64_t)i;
  return OPS_OK;
}

ops_operand oc_scratch_operand(oc_scratch *scratch, int64_t value) {
  ops_operand operand = {.struct_size = sizeof operand, .value = -1};
  if (value < 0 || (size_t)value >= scratch->count) return operand;
  operand.value = value;
  operand.type = &scratch->types[value];
  if (scratch->constant[value]) operand.constant = &scratch->contents[value];
  return operand;
}

// ---- Running --------------------------------------------------------------------------------

typedef struct call {
  ops_operand inputs[MAX_OPERANDS];  // with all contents, for the claim and prepare
  ops_operand outputs[MAX_OPERANDS];
  ops_type_info output_types[MAX_OPERANDS];
  ops_arg input_args[MAX_OPERANDS];
  ops_arg output_args[MAX_OPERANDS];
  ops_output_info infos[MAX_OPERANDS];
  ops_node node;
  const ops_kernel_def *def;
  ops_kernel *kernel;
  ops_prepare_reply reply;
} call;

static int32_t fill_call(oc_scratch *scratch, const ops_node *node, call *call,
                         ops_error *error) {
  if (node->input_count > MAX_OPERANDS || node->output_count > MAX_OPERANDS) {
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "%.*s: more than %d operands",
                         OPS_STR_FMT(node->op), MAX_OPERANDS);
  }
  call->node = *node;
  for (uint64_t i = 0; i < node->input_count; ++i) {
    const ops_operand *given =
        (const ops_operand *)((const char *)node->inputs + i * node->input_stride);
    if (given->value >= (int64_t)scratch->count) {
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                           "%.*s: input %llu is value %lld, "
                           "which the graph has not",
                           OPS_STR_FMT(node->op), (unsigned long long)i,
                           (long long)given->value);
    }
    call->inputs[i] = oc_scratch_operand(scratch, given->value);
    call->input_args[i] = (ops_arg){.kind = OPS_ARG_ABSENT};
    if (given->value < 0) continue;
    call->inputs[i].constant = &scratch->contents[given->value];
    call->input_args[i] = arg_of(scratch, (size_t)given->value);
  }
  for (uint64_t i = 0; i < node->output_count; ++i) {
    call->output_types[i] = (ops_type_info){
        .struct_size = sizeof(ops_type_info), .kind = OPS_VALUE_TENSOR, .rank = -1};
    call->outputs[i] = (ops_operand){.struct_size = sizeof(ops_operand),
                                     .value = OC_SCRATCH_MAX_VALUES + (int64_t)i,
                                     .type = &call->output_types[i]};
    call->infos[i].struct_size = sizeof call->infos[i];
  }
  call->node.inputs = call->inputs;
  call->node.input_stride = sizeof *call->inputs;
  call->node.outputs = call->outputs;
  call->node.output_stride = sizeof *call->outputs;
  return OPS_OK;
}

// The types of outputs are not inferred here: that of the first input is tried first, then
// those that operators give whatever they take.
static int32_t find_definition(oc_scratch *scratch, call *call, ops_claim *claim,
                               ops_error *error) {
  static const int32_t others[] = {OPS_TYPE_BOOL,    OPS_TYPE_INT64, OPS_TYPE_FLOAT,
                                   OPS_TYPE_UINT8,   OPS_TYPE_INT8,  OPS_TYPE_INT32,
                                   OPS_TYPE_FLOAT16, OPS_TYPE_DOUBLE};
  const oc_target *oracle = scratch->oracle;
  const ops_type_info *first = call->node.input_count ? call->inputs[0].type : NULL;
  for (size_t k = 0; k <= sizeof others / sizeof *others && !call->def; ++k) {
    const int32_t type = k == 0 ? (first ? first->type : OPS_TYPE_FLOAT) : others[k - 1];
    for (uint64_t i = 0; i < call->node.output_count; ++i) call->output_types[i].type = type;
    OPS_RETURN_IF_ERROR(ops_library_claim(oracle->library, oracle->device, &call->node,
                                          &call->def, claim, error));
  }
  return OPS_OK;
}

static int32_t prepare(oc_scratch *scratch, call *call, ops_error *error) {
  ops_claim claim = {.struct_size = sizeof claim};
  const oc_target *oracle = scratch->oracle;
  OPS_RETURN_IF_ERROR(find_definition(scratch, call, &claim, error));
  if (!call->def) {
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "the oracle does not claim %.*s: %.200s",
                         OPS_STR_FMT(call->node.op), claim.text);
  }
  const ops_kernel_api *api = call->def->api;
  OPS_RETURN_IF_ERROR(
      api->create(oracle->device, call->def, &call->node, &call->kernel, error));
  const ops_prepare_request request = {.struct_size = sizeof request,
                                       .inputs = call->inputs,
                                       .input_count = call->node.input_count,
                                       .input_stride = sizeof *call->inputs};
  call->reply = (ops_prepare_reply){.struct_size = sizeof call->reply,
                                    .outputs = call->infos,
                                    .output_count = call->node.output_count,
                                    .output_stride = sizeof *call->infos};
  return api->prepare(call->kernel, &request, &call->reply, error);
}

static int32_t make_outputs(oc_scratch *scratch, call *call, int64_t *out_values,
                            ops_error *error) {
  for (uint64_t i = 0; i < call->node.output_count; ++i) {
    const ops_output_info *info = &call->infos[i];
    if (info->mode != OPS_SHAPE_KNOWN) {
      return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                           "%.*s: the shape of output %llu is known only afterwards",
                           OPS_STR_FMT(call->node.op), (unsigned long long)i);
    }
    OPS_RETURN_IF_ERROR(oc_scratch_add(scratch, info->type, info->rank, info->dims, false,
                                       &out_values[i], error));
    call->output_args[i] = arg_of(scratch, (size_t)out_values[i]);
  }
  return OPS_OK;
}

static int32_t execute(call *call, ops_error *error) {
  void *workspace = NULL;
  if (call->reply.workspace_size > 0 &&
      posix_memalign(&workspace, 4096, call->reply.workspace_size) != 0) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a workspace");
  }
  const ops_execute_request request = {.struct_size = sizeof request,
                                       .inputs = call->input_args,
                                       .input_count = call->node.input_count,
                                       .outputs = call->output_args,
                                       .output_count = call->node.output_count,
                                       .workspace = workspace,
                                       .workspace_size = call->reply.workspace_size};
  const int32_t status = call->def->api->execute(call->reply.prepared, &request, NULL, error);
  free(workspace);
  return status;
}

int32_t oc_scratch_run(oc_scratch *scratch, const ops_node *node, int64_t *out_values,
                       ops_error *error) {
  call *call = calloc(1, sizeof *call);
  if (!call) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a call");
  int32_t status = fill_call(scratch, node, call, error);
  if (status == OPS_OK) status = prepare(scratch, call, error);
  if (status == OPS_OK) status = make_outputs(scratch, call, out_values, error);
  if (status == OPS_OK) status = execute(call, error);
  if (call->reply.prepared) call->def->api->prepared_destroy(call->reply.prepared);
  if (call->kernel) call->def->api->destroy(call->kernel);
  free(call);
  return status;
}

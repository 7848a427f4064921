// SPDX-License-Identifier: Apache-2.0
//
// One node or constant of a graph that is being edited.
#include <ops_support/error.h>
#include <stdlib.h>

#include "infer/infer.h"

static int32_t store(rt_value *value, rt_infer_output *found, ops_error *error) {
  rt_type type = found->type;
  if (type.kind == RT_TYPE_UNKNOWN) return OPS_OK;
  if (type.kind == RT_TYPE_TENSOR && type.rank > 0) {
    for (int32_t i = 0; i < type.rank; ++i)
      found->dims[i] = rt_dim_is_unknown(type.dims[i])
                           ? rt_symbols_fresh(value->graph->symbols, value->name)
                           : type.dims[i];
    type.dims = found->dims;
  }
  OPS_RETURN_IF_ERROR(rt_value_set_type(value, &type, error));
  return rt_value_set_contents(value, found->contents, found->contents_count, error);
}

int32_t rt_infer_outputs(rt_node *node, ops_error *error) {
  rt_infer_input *inputs = calloc(node->operand_count + (size_t)1, sizeof *inputs);
  rt_infer_output *outputs = calloc(node->output_count + (size_t)1, sizeof *outputs);
  int32_t status = OPS_OK;
  if (!inputs || !outputs)
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "inferring a node");
  for (uint32_t i = 0; status == OPS_OK && i < node->operand_count; ++i) {
    const rt_value *value = node->operands[i];
    if (!value) continue;
    inputs[i] =
        (rt_infer_input){&value->type, value->contents_count >= 0 ? value->contents : NULL,
                         value->contents_count, rt_value_constant(value)};
  }
  if (status == OPS_OK)
    status = rt_infer_node(node, node->graph->symbols, inputs, outputs, error);
  for (uint32_t i = 0; status == OPS_OK && i < node->output_count; ++i)
    if (node->outputs[i]) status = store(node->outputs[i], &outputs[i], error);
  free(inputs);
  free(outputs);
  return status;
}

int32_t rt_infer_constant(rt_value *value, ops_error *error) {
  int64_t ints[RT_INFER_MAX_CONTENTS];
  rt_dim contents[RT_INFER_MAX_CONTENTS];
  if (value->constant->rank > 1) return OPS_OK;
  const int64_t count = rt_constant_read_ints(value->constant, ints, RT_INFER_MAX_CONTENTS);
  for (int64_t i = 0; i < count; ++i) contents[i] = rt_dim_const(ints[i]);
  return rt_value_set_contents(value, contents, count, error);
}

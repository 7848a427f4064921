// SPDX-License-Identifier: Apache-2.0
//
// Inference alternates: every operator of a provider whose inputs are known gets its outputs'
// types from the provider's schema, then the rules of infer/ carry them on, until nothing new
// is found. Without an infer function the element type follows from the type parameters.
#include "partition/custom.h"

#include <ops_support/error.h>
#include <ops_support/node.h>
#include <string.h>

#include "infer/infer.h"
#include "partition/view.h"
#include "schema/schema.h"

static int same_domain(ops_str domain, const char *other) {
  static const char standard[] = "ai.onnx";
  if (ops_str_equal(domain, standard)) return other[0] == 0;
  return ops_str_equal(domain, other);
}

static const ops_schema *find_in(const ops_provider *provider, const rt_op *op) {
  const ops_schema *found = NULL;
  for (uint64_t i = 0; i < provider->schema_count; ++i) {
    const ops_schema *schema =
        OPS_AT(ops_schema, provider->schemas, provider->schema_stride, i);
    if (!ops_str_equal(schema->op, op->name) || !same_domain(schema->domain, op->domain) ||
        schema->since > op->opset)
      continue;
    if (!found || schema->since > found->since) found = schema;
  }
  return found;
}

const ops_schema *rt_custom_schema(rt_device *const *devices, uint32_t device_count,
                                   const rt_op *op) {
  const ops_str domain = {op->domain, strlen(op->domain)}, name = {op->name, strlen(op->name)};
  if (rt_schema_find(domain, name, op->opset)) return NULL;
  for (uint32_t i = 0; i < device_count; ++i) {
    const ops_schema *schema = find_in(devices[i]->provider, op);
    if (schema) return schema;
  }
  return NULL;
}

// ---- Types of outputs -----------------------------------------------------------------------

static int any_unknown(rt_value *const *values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    if (values[i] && values[i]->type.kind == RT_TYPE_UNKNOWN) return 1;
  return 0;
}

// Parameter number `index`: the last one stands for all beyond it, as in a variadic list.
static const ops_param *param_at(const ops_param *params, uint64_t count, uint64_t stride,
                                 uint64_t index) {
  if (count == 0) return NULL;
  return OPS_AT(ops_param, params, stride, index < count ? index : count - 1);
}

// The element type that output `index` shares with an input by its type parameter.
static int32_t type_by_param(const ops_schema *schema, const rt_node *node, uint32_t index) {
  const ops_param *output =
      param_at(schema->outputs, schema->output_count, schema->output_stride, index);
  if (!output) return OPS_TYPE_UNDEFINED;
  for (uint32_t i = 0; i < node->input_count && output->type_param.size; ++i) {
    const ops_param *input =
        param_at(schema->inputs, schema->input_count, schema->input_stride, i);
    if (input && node->operands[i] && input->type_param.size == output->type_param.size &&
        memcmp(input->type_param.data, output->type_param.data, output->type_param.size) == 0)
      return node->operands[i]->type.elem_type;
  }
  for (int32_t type = 1; type < OPS_TYPE_COUNT; ++type)  // the only one that is allowed
    if (output->types == OPS_TYPE_BIT(type)) return type;
  return OPS_TYPE_UNDEFINED;
}

static int32_t set_output(rt_value *value, const ops_output_info *info, ops_error *error) {
  rt_dim dims[OPS_MAX_RANK];
  if (value->type.kind != RT_TYPE_UNKNOWN || info->type == OPS_TYPE_UNDEFINED) return OPS_OK;
  if (info->rank < -1 || info->rank > OPS_MAX_RANK)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "its schema infers rank %d", info->rank);
  for (int32_t i = 0; i < info->rank; ++i)
    dims[i] = info->dims[i] < 0 ? rt_dim_unknown() : rt_dim_const(info->dims[i]);
  const rt_type type = rt_type_tensor(info->type, info->rank, dims);
  return rt_value_set_type(value, &type, error);
}

static int32_t ask(const rt_graph *graph, const rt_node *node, rt_device *const *devices,
                   uint32_t device_count, const ops_schema *schema, ops_output_info *infos,
                   ops_error *error) {
  rt_views views = {0};
  const ops_node *view = NULL;
  int32_t status = rt_views_init(&views, graph->root, error);
  views.devices = devices;
  views.device_count = device_count;
  if (status == OPS_OK) status = rt_views_node(&views, node, &view, error);
  if (status == OPS_OK)
    status = schema->infer(view, infos, node->output_count, sizeof *infos, error);
  rt_views_finish(&views);
  return status;
}

static int32_t infer_node(rt_graph *graph, rt_node *node, rt_device *const *devices,
                          uint32_t device_count, const ops_schema *schema, ops_error *error) {
  rt_bump scratch = {0};
  ops_output_info *infos = rt_bump_new(&scratch, node->output_count, sizeof *infos);
  int32_t status = OPS_OK;
  if (!infos) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "inferring a node");
  for (uint32_t i = 0; i < node->output_count; ++i)
    infos[i] = (ops_output_info){
        .struct_size = sizeof infos[i], .type = type_by_param(schema, node, i), .rank = -1};
  if (schema->infer) status = ask(graph, node, devices, device_count, schema, infos, error);
  for (uint32_t i = 0; status == OPS_OK && i < node->output_count; ++i)
    if (node->outputs[i]) status = set_output(node->outputs[i], &infos[i], error);
  rt_bump_finish(&scratch);
  if (status != OPS_OK) ops_error_prefix(error, "node '%s' (%s)", node->name, node->op.name);
  return status;
}

int32_t rt_custom_infer_node(rt_node *node, rt_device *const *devices, uint32_t device_count,
                             ops_error *error) {
  if (!any_unknown(node->outputs, node->output_count) ||
      any_unknown(node->operands, node->input_count))
    return OPS_OK;
  const ops_schema *schema = rt_custom_schema(devices, device_count, &node->op);
  if (!schema) return OPS_OK;
  return infer_node(node->graph, node, devices, device_count, schema, error);
}

static int32_t infer_round(rt_graph *graph, rt_device *const *devices, uint32_t device_count,
                           int *out_progress, ops_error *error) {
  *out_progress = 0;
  for (rt_node *node = graph->first; node; node = node->next) {
    if (!any_unknown(node->outputs, node->output_count)) continue;
    OPS_RETURN_IF_ERROR(rt_custom_infer_node(node, devices, device_count, error));
    *out_progress |= !any_unknown(node->outputs, node->output_count);
  }
  return OPS_OK;
}

int32_t rt_custom_infer(rt_graph *graph, rt_device *const *devices, uint32_t device_count,
                        ops_error *error) {
  int progress = 1;
  // Each round with progress takes at least one node off the list of unknown ones.
  while (progress) {
    OPS_RETURN_IF_ERROR(infer_round(graph, devices, device_count, &progress, error));
    if (progress) OPS_RETURN_IF_ERROR(rt_infer_graph(graph, NULL, error));
  }
  return OPS_OK;
}

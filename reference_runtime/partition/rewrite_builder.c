// SPDX-License-Identifier: Apache-2.0
//
// The host's side of a rewrite: a rule names values by number, adds nodes and constants, and
// states what replaces the outputs. What a rule says is checked, since it comes from outside.
#include "partition/rewrite_builder.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "infer/infer.h"
#include "partition/custom.h"
#include "partition/rewrite.h"

#define MAX_INPUTS 4096u

static int32_t exhausted(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "rewriting a graph");
}

static rt_node *replaced(const ops_rewrite_builder *builder) {
  return builder->matched[builder->matched_count - 1];
}

// ---- Values by number -----------------------------------------------------------------------

static rt_value *find_among(rt_value *const *values, uint32_t count, int64_t number) {
  for (uint32_t i = 0; i < count; ++i)
    if (values[i] && values[i]->id == number) return values[i];
  return NULL;
}

// A value that a new node may read: an operand of a matched node, or a new value.
static rt_value *find_value(const ops_rewrite_builder *builder, int64_t number) {
  rt_value *found = find_among(builder->constants, builder->constant_count, number);
  for (uint32_t i = 0; !found && i < builder->matched_count; ++i)
    found = find_among(builder->matched[i]->operands, builder->matched[i]->input_count, number);
  for (uint32_t i = 0; !found && i < builder->node_count; ++i)
    found = find_among(builder->nodes[i]->outputs, builder->nodes[i]->output_count, number);
  return found;
}

static int32_t resolve(const ops_rewrite_builder *builder, int64_t number, rt_value **out_value,
                       ops_error *error) {
  *out_value = number == -1 ? NULL : find_value(builder, number);
  if (number == -1 || *out_value) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "no value %lld: expected an operand of a matched node, or one that the "
                       "rule made",
                       (long long)number);
}

// ---- Constants ------------------------------------------------------------------------------

static int32_t check_dense(const ops_constant *constant, ops_error *error) {
  const ops_tensor *tensor = &constant->dense.tensor;
  int64_t count;
  uint64_t bytes;
  if (constant->format != OPS_CONSTANT_DENSE || constant->dense.kind != OPS_ARG_TENSOR)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "a rule can add dense tensors only, found format %d, kind %d",
                         constant->format, constant->dense.kind);
  if (tensor->rank < 0 || tensor->rank > OPS_MAX_RANK ||
      !ops_checked_count(tensor->dims, tensor->rank, &count) ||
      !ops_type_bytes(tensor->type, count, &bytes))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "a constant of type %d and rank %d: no such type, or a shape that "
                         "overflows",
                         tensor->type, tensor->rank);
  if (tensor->byte_size < bytes || (bytes && !tensor->memory))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "a constant has %llu bytes, expected %llu",
                         (unsigned long long)tensor->byte_size, (unsigned long long)bytes);
  return OPS_OK;
}

static int32_t copy_constant(const ops_constant *from, rt_constant **out_constant,
                             ops_error *error) {
  OPS_RETURN_IF_ERROR(check_dense(from, error));
  const ops_tensor *tensor = &from->dense.tensor;
  const void *data = tensor->memory ? ops_tensor_data(tensor) : NULL;
  return rt_constant_create(tensor->type, tensor->rank, tensor->dims, data, out_constant,
                            error);
}

static int reserve(void **items, uint32_t count, uint32_t *room) {
  if (count < *room) return 1;
  const uint32_t wanted = 2 * *room + 8;
  void *grown = realloc(*items, wanted * sizeof(void *));
  if (!grown) return 0;
  *items = grown;
  *room = wanted;
  return 1;
}

static int32_t add_constant(ops_rewrite_builder *builder, const ops_constant *constant,
                            int64_t *out_value, ops_error *error) {
  rt_constant *copy = NULL;
  rt_value *value = NULL;
  if (!reserve((void **)&builder->constants, builder->constant_count, &builder->constant_room))
    return exhausted(error);
  OPS_RETURN_IF_ERROR(copy_constant(constant, &copy, error));
  int32_t status =
      rt_graph_add_constant(builder->graph, replaced(builder)->name, copy, &value, error);
  rt_constant_release(copy);
  if (status == OPS_OK) status = rt_infer_constant(value, error);
  if (status != OPS_OK) return status;
  builder->constants[builder->constant_count++] = value;
  *out_value = value->id;
  return OPS_OK;
}

// ---- Attributes -----------------------------------------------------------------------------

// Tensors of attributes, to be released once the graph has its own references.
typedef struct tensors {
  rt_constant **items;
  uint32_t count;
} tensors;

static int32_t copy_strings(rt_bump *scratch, const ops_attribute *from, rt_attr *to,
                            ops_error *error) {
  to->strings = rt_bump_copy(scratch, from->strings, to->count, sizeof *to->strings);
  return to->strings ? OPS_OK : exhausted(error);
}

static int32_t copy_tensors(rt_bump *scratch, const ops_attribute *from, rt_attr *to,
                            tensors *made, ops_error *error) {
  rt_constant **list = rt_bump_new(scratch, to->count, sizeof *list);
  if (!list) return exhausted(error);
  for (uint32_t i = 0; i < to->count; ++i) {
    rt_constant **grown = realloc(made->items, (made->count + (size_t)1) * sizeof *grown);
    if (!grown) return exhausted(error);
    made->items = grown;
    OPS_RETURN_IF_ERROR(copy_constant(from->constants[i], &list[i], error));
    made->items[made->count++] = list[i];
  }
  to->tensors = list;
  return OPS_OK;
}

static int32_t copy_attribute(rt_bump *scratch, const ops_attribute *from, rt_attr *to,
                              tensors *made, ops_error *error) {
  const char *name = rt_bump_text(scratch, from->name);
  if (!name) return exhausted(error);
  if (from->count > UINT32_MAX / 2)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "attribute '%s' has %llu elements",
                         name, (unsigned long long)from->count);
  *to = (rt_attr){.name = name, .kind = from->kind, .count = (uint32_t)from->count};
  switch (from->kind) {
    case OPS_ATTRIBUTE_FLOAT:
    case OPS_ATTRIBUTE_FLOATS:
      to->floats = from->floats;
      return OPS_OK;
    case OPS_ATTRIBUTE_INT:
    case OPS_ATTRIBUTE_INTS:
      to->ints = from->ints;
      return OPS_OK;
    case OPS_ATTRIBUTE_STRING:
    case OPS_ATTRIBUTE_STRINGS:
      return copy_strings(scratch, from, to, error);
    case OPS_ATTRIBUTE_TENSOR:
    case OPS_ATTRIBUTE_TENSORS:
      return copy_tensors(scratch, from, to, made, error);
    default:
      return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                           "attribute '%s' is of kind %d; a rule can add numbers, strings and "
                           "dense tensors",
                           name, from->kind);
  }
}

// ---- Nodes ----------------------------------------------------------------------------------

static int32_t describe(ops_rewrite_builder *builder, const ops_node *node,
                        uint64_t output_count, rt_node_desc *desc, tensors *made,
                        ops_error *error) {
  rt_bump *scratch = &builder->scratch;
  if (node->struct_size < sizeof *node || node->input_count > MAX_INPUTS ||
      node->attribute_count > MAX_INPUTS || output_count == 0 || output_count > MAX_INPUTS)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "a node of %llu inputs, %llu attributes, %llu outputs in a struct of "
                         "%llu bytes; expected 1 to %u outputs and %zu bytes",
                         (unsigned long long)node->input_count,
                         (unsigned long long)node->attribute_count,
                         (unsigned long long)output_count,
                         (unsigned long long)node->struct_size, MAX_INPUTS, sizeof *node);
  rt_value **inputs = rt_bump_new(scratch, node->input_count, sizeof *inputs);
  rt_attr *attrs = rt_bump_new(scratch, node->attribute_count, sizeof *attrs);
  const char *op = rt_bump_text(scratch, node->op);
  const char *domain = rt_bump_text(scratch, node->domain);
  const char *name = rt_bump_format(scratch, "%s/%s", replaced(builder)->name, op ? op : "");
  if (!inputs || !attrs || !op || !domain || !name) return exhausted(error);
  for (uint64_t i = 0; i < node->input_count; ++i)
    OPS_RETURN_IF_ERROR(resolve(builder,
                                OPS_AT(ops_operand, node->inputs, node->input_stride, i)->value,
                                &inputs[i], error));
  for (uint64_t i = 0; i < node->attribute_count; ++i)
    OPS_RETURN_IF_ERROR(copy_attribute(
        scratch, OPS_AT(ops_attribute, node->attributes, node->attribute_stride, i), &attrs[i],
        made, error));
  *desc = (rt_node_desc){.name = name,
                         .op = op,
                         .domain = strcmp(domain, "ai.onnx") == 0 ? "" : domain,
                         .opset = node->opset,
                         .inputs = inputs,
                         .input_count = (uint32_t)node->input_count,
                         .output_count = (uint32_t)output_count,
                         .attrs = attrs,
                         .attr_count = (uint32_t)node->attribute_count};
  return OPS_OK;
}

static int32_t add_described(ops_rewrite_builder *builder, const rt_node_desc *desc,
                             rt_node **out_node, ops_error *error) {
  rt_node *node = NULL;
  OPS_RETURN_IF_ERROR(rt_graph_add_node(builder->graph, desc, builder->before, &node, error));
  builder->nodes[builder->node_count++] = node;
  for (uint32_t i = 0; i < builder->matched_count; ++i)
    OPS_RETURN_IF_ERROR(rt_node_add_origins_of(node, builder->matched[i], error));
  *out_node = node;
  OPS_RETURN_IF_ERROR(rt_infer_outputs(node, error));
  return rt_custom_infer_node(node, builder->devices, builder->device_count, error);
}

static int32_t add_node(ops_rewrite_builder *builder, const ops_node *view, int64_t *out_values,
                        uint64_t output_count, ops_error *error) {
  rt_node_desc desc;
  tensors made = {0};
  rt_node *node = NULL;
  if (builder->node_count >= RT_REWRITE_MAX_NODES)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_LIMIT_EXCEEDED,
                               "more than %u nodes (RT_REWRITE_MAX_NODES)",
                               RT_REWRITE_MAX_NODES);
  if (!reserve((void **)&builder->nodes, builder->node_count, &builder->node_room))
    return exhausted(error);
  int32_t status = describe(builder, view, output_count, &desc, &made, error);
  if (status == OPS_OK) status = add_described(builder, &desc, &node, error);
  for (uint64_t i = 0; status == OPS_OK && i < output_count; ++i)
    out_values[i] = node->outputs[i]->id;
  for (uint32_t i = 0; i < made.count; ++i) rt_constant_release(made.items[i]);
  free(made.items);
  return status;
}

static int32_t set_output(ops_rewrite_builder *builder, uint64_t index, int64_t number,
                          ops_error *error) {
  rt_value *value = NULL;
  const rt_node *node = replaced(builder);
  if (index >= node->output_count || !node->outputs[index])
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "node '%s' has no output %llu",
                         node->name, (unsigned long long)index);
  OPS_RETURN_IF_ERROR(resolve(builder, number, &value, error));
  if (!value)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "output %llu replaced by no value",
                         (unsigned long long)index);
  builder->results[index] = value;
  return OPS_OK;
}

const ops_rewrite_api rt_rewrite_api = {.struct_size = sizeof(ops_rewrite_api),
                                        .add_node = add_node,
                                        .add_constant = add_constant,
                                        .set_output = set_output};

// ---- Life -----------------------------------------------------------------------------------

int32_t rt_rewrite_builder_init(ops_rewrite_builder *builder, ops_error *error) {
  builder->before = replaced(builder);
  builder->results =
      rt_bump_new(&builder->scratch, replaced(builder)->output_count, sizeof *builder->results);
  return builder->results ? OPS_OK : exhausted(error);
}

static int32_t remove_unread(rt_graph *graph, rt_value *value, ops_error *error) {
  if (!value || value->removed || rt_value_is_used(value)) return OPS_OK;
  if (value->kind != RT_VALUE_CONSTANT && value->kind != RT_VALUE_CAPTURE) return OPS_OK;
  return rt_graph_remove_value(graph, value, error);
}

int32_t rt_rewrite_builder_undo(ops_rewrite_builder *builder, ops_error *error) {
  while (builder->node_count > 0)
    OPS_RETURN_IF_ERROR(
        rt_graph_remove_node(builder->graph, builder->nodes[--builder->node_count], error));
  while (builder->constant_count > 0)
    OPS_RETURN_IF_ERROR(
        remove_unread(builder->graph, builder->constants[--builder->constant_count], error));
  return OPS_OK;
}

int32_t rt_rewrite_builder_keep(ops_rewrite_builder *builder, ops_error *error) {
  rt_node *last = replaced(builder);
  for (uint32_t i = 0; i < last->output_count; ++i)
    if (builder->results[i])
      OPS_RETURN_IF_ERROR(rt_value_replace_uses(last->outputs[i], builder->results[i], error));
  for (uint32_t i = builder->matched_count; i-- > 0;) {
    rt_node *node = builder->matched[i];
    OPS_RETURN_IF_ERROR(rt_graph_remove_node(builder->graph, node, error));
    for (uint32_t k = 0; k < node->operand_count; ++k)
      OPS_RETURN_IF_ERROR(remove_unread(builder->graph, node->operands[k], error));
  }
  for (uint32_t i = 0; i < builder->constant_count; ++i)
    OPS_RETURN_IF_ERROR(remove_unread(builder->graph, builder->constants[i], error));
  return OPS_OK;
}

void rt_rewrite_builder_finish(ops_rewrite_builder *builder) {
  free(builder->nodes);
  free(builder->constants);
  rt_bump_finish(&builder->scratch);
}

// SPDX-License-Identifier: Apache-2.0
//
// Building node views. Defaults of the contract are filled in, as the ABI asks of a host.
#include "runner/node_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "ops_support/error.h"

#define OUTPUT_VALUE_BASE 1000
#define SPOILT 0x7f  // bytes of what was lent
#define INNER_VALUE_BASE 2000
#define OC_NODE_MAX_POST_INPUTS 4

struct oc_node_view {
  ops_node node;
  const oc_inputs *arrays;
  uint64_t constant_mask;
  ops_operand inputs[OC_CASE_MAX_TENSORS];
  ops_operand prepare_inputs[OC_CASE_MAX_TENSORS];
  ops_type_info input_types[OC_CASE_MAX_TENSORS];
  ops_type_info prepare_types[OC_CASE_MAX_TENSORS];
  const int64_t *prepare_strides[OC_CASE_MAX_TENSORS];
  int64_t unknown[OPS_MAX_RANK];  // -1 each
  uint32_t prepare_layouts[OC_CASE_MAX_TENSORS];
  ops_constant constants[OC_CASE_MAX_TENSORS];
  int64_t strides[OC_CASE_MAX_TENSORS][OPS_MAX_RANK];
  ops_operand outputs[OC_NODE_MAX_OUTPUTS];
  ops_type_info output_types[OC_NODE_MAX_OUTPUTS];
  ops_attribute attributes[OC_CONTRACT_MAX_PARAMS];
  void *storage[OC_CONTRACT_MAX_PARAMS];  // floats, strings or tensor data of an attribute
  oc_array tensors[OC_CONTRACT_MAX_PARAMS];
  ops_constant tensor_constants[OC_CONTRACT_MAX_PARAMS];
  int64_t tensor_strides[OC_CONTRACT_MAX_PARAMS][1];
  const ops_constant *tensor_pointers[OC_CONTRACT_MAX_PARAMS];
  ops_str origin;
  // Of a group: the node and those behind it, whose inner values are numbered INNER_VALUE_BASE
  // on.
  ops_graph graph;
  ops_node nodes[1 + OC_NODE_MAX_POSTS];
  ops_operand graph_inputs[OC_CASE_MAX_TENSORS];
  ops_operand graph_outputs[OC_NODE_MAX_OUTPUTS];
  ops_operand post_inputs[OC_NODE_MAX_POSTS][OC_NODE_MAX_POST_INPUTS];
  ops_operand post_outputs[OC_NODE_MAX_POSTS];
};

static ops_str str_of(const char *text) {
  return (ops_str){text, strlen(text)};
}

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a node view");
}

static void fill_strides(const oc_array *array, int64_t *strides) {
  int64_t stride = 1;
  for (int32_t i = array->rank; i-- > 0;) {
    strides[i] = stride;
    stride *= array->dims[i] ? array->dims[i] : 1;
  }
}

static ops_constant constant_of(const oc_array *array, const int64_t *strides) {
  return (ops_constant){
      .struct_size = sizeof(ops_constant),
      .format = OPS_CONSTANT_DENSE,
      .rank = array->rank,
      .dims = array->dims,
      .dense = {.kind = OPS_ARG_TENSOR,
                .memory_kind = OPS_MEMORY_HOST,
                .tensor = {.dims = array->dims,
                           .strides = strides,
                           .memory = array->data,
                           .byte_size = array->bytes,
                           .type = array->type,
                           .rank = array->rank}},
  };
}

// ---- Attributes -----------------------------------------------------------------------------

static const int32_t kAttributeKinds[OC_ATTR_COUNT] = {
    [OC_ATTR_INT] = OPS_ATTRIBUTE_INT,
    [OC_ATTR_FLOAT] = OPS_ATTRIBUTE_FLOAT,
    [OC_ATTR_STRING] = OPS_ATTRIBUTE_STRING,
    [OC_ATTR_INTS] = OPS_ATTRIBUTE_INTS,
    [OC_ATTR_FLOATS] = OPS_ATTRIBUTE_FLOATS,
    [OC_ATTR_STRINGS] = OPS_ATTRIBUTE_STRINGS,
    [OC_ATTR_TYPE] = OPS_ATTRIBUTE_INT,
    [OC_ATTR_TENSOR] = OPS_ATTRIBUTE_TENSOR,
    [OC_ATTR_SPARSE_TENSOR] = OPS_ATTRIBUTE_SPARSE_TENSOR,
};

static int32_t set_floats(oc_node_view *view, size_t slot, const oc_value *value, bool absolute,
                          ops_error *error) {
  float *floats = calloc(value->count ? value->count : 1, sizeof *floats);
  if (!floats) return no_memory(error);
  for (size_t i = 0; i < value->count; ++i) {
    floats[i] = (float)(absolute ? fabs(value->floats[i]) : value->floats[i]);
  }
  view->storage[slot] = floats;
  view->attributes[slot].floats = floats;
  return OPS_OK;
}

static int32_t set_strings(oc_node_view *view, size_t slot, const oc_value *value,
                           ops_error *error) {
  ops_str *strings = calloc(value->count ? value->count : 1, sizeof *strings);
  if (!strings) return no_memory(error);
  for (size_t i = 0; i < value->count; ++i) strings[i] = str_of(value->strings[i]);
  view->storage[slot] = strings;
  view->attributes[slot].strings = strings;
  return OPS_OK;
}

// A tensor attribute: one dimension, of the variable's type if it names one.
static int32_t set_tensor(oc_node_view *view, size_t slot, const oc_case *item,
                          const oc_attribute *about, const oc_value *value, ops_error *error) {
  const bool floats = value->kind == OC_VALUE_FLOAT || value->kind == OC_VALUE_FLOATS;
  const int32_t type = about->type_var >= 0 ? item->types[about->type_var]
                       : floats             ? OPS_TYPE_FLOAT
                                            : OPS_TYPE_INT64;
  const int64_t dims[1] = {(int64_t)value->count};
  oc_array *array = &view->tensors[slot];
  OPS_RETURN_IF_ERROR(oc_array_init(array, type, 1, dims, about->name, error));
  for (size_t i = 0; i < value->count; ++i) {
    if (floats) oc_element_store(type, array->data, i, value->floats[i]);
    if (!floats) oc_element_store_int(type, array->data, i, value->ints[i]);
  }
  fill_strides(array, view->tensor_strides[slot]);
  view->tensor_constants[slot] = constant_of(array, view->tensor_strides[slot]);
  view->tensor_pointers[slot] = &view->tensor_constants[slot];
  view->attributes[slot].constants = &view->tensor_pointers[slot];
  view->attributes[slot].count = 1;
  return OPS_OK;
}

static int32_t add_attribute(oc_node_view *view, const oc_case *item, uint32_t index,
                             bool absolute, ops_error *error) {
  const oc_binding binding = oc_case_binding(item);
  const oc_attribute *about = &item->contract->attributes[index];
  const oc_value value = oc_binding_attribute(&binding, index);
  if (value.kind == OC_VALUE_NONE || value.kind == OC_VALUE_ABSENT) return OPS_OK;
  const size_t slot = (size_t)view->node.attribute_count++;
  view->attributes[slot] = (ops_attribute){.struct_size = sizeof(ops_attribute),
                                           .name = str_of(about->name),
                                           .kind = kAttributeKinds[about->type],
                                           .count = value.count};
  switch (about->type) {
    case OC_ATTR_INT:
    case OC_ATTR_INTS:
    case OC_ATTR_TYPE:
      view->attributes[slot].ints = value.ints;
      return OPS_OK;
    case OC_ATTR_FLOAT:
    case OC_ATTR_FLOATS:
      return set_floats(view, slot, &value, absolute, error);
    case OC_ATTR_STRING:
    case OC_ATTR_STRINGS:
      return set_strings(view, slot, &value, error);
    default:
      return set_tensor(view, slot, item, about, &value, error);
  }
}

// ---- Operands -------------------------------------------------------------------------------

static void add_input(oc_node_view *view, const oc_case *item, size_t i,
                      const oc_node_options *options) {
  const oc_array *array = &view->arrays->items[i];
  ops_operand *operand = &view->inputs[i];
  *operand = (ops_operand){.struct_size = sizeof *operand, .value = -1};
  if (!array->present) return;
  fill_strides(array, view->strides[i]);
  view->input_types[i] = (ops_type_info){.struct_size = sizeof(ops_type_info),
                                         .kind = OPS_VALUE_TENSOR,
                                         .type = array->type,
                                         .rank = array->rank,
                                         .dims = array->dims};
  view->constants[i] = constant_of(array, view->strides[i]);
  const bool constant = options->constants >> i & 1;
  if (options->unknown_dims && !constant) view->input_types[i].dims = view->unknown;
  operand->value = (int64_t)i;
  const int32_t param = view->arrays->params[i];
  operand->name = str_of(param < 0 ? "operand" : item->contract->inputs[param].name);
  operand->type = &view->input_types[i];
  if (constant) operand->constant = &view->constants[i];
}

static void add_output(oc_node_view *view, const oc_case *item, size_t i,
                       const oc_array *known) {
  const oc_binding binding = oc_case_binding(item);
  const oc_param *about =
      &item->contract
           ->outputs[i < item->contract->output_count ? i : item->contract->output_count - 1];
  view->output_types[i] =
      (ops_type_info){.struct_size = sizeof(ops_type_info),
                      .kind = OPS_VALUE_TENSOR,
                      .type = oc_binding_type(&binding, about),
                      .rank = known && known[i].present ? known[i].rank : -1,
                      .dims = known && known[i].present ? known[i].dims : NULL};
  view->outputs[i] = (ops_operand){.struct_size = sizeof(ops_operand),
                                   .value = OUTPUT_VALUE_BASE + (int64_t)i,
                                   .name = str_of(about->name),
                                   .type = &view->output_types[i]};
}

static void describe_node(oc_node_view *view, const oc_case *item) {
  const char *domain = item->contract->domain;
  ops_node *node = &view->node;
  node->struct_size = sizeof *node;
  node->name = str_of(item->id);
  node->domain = str_of(strcmp(domain, "ai.onnx") == 0 ? "" : domain);
  node->op = str_of(item->contract->op);
  node->opset = item->contract->since;
  node->attributes = view->attributes;
  node->attribute_stride = sizeof *view->attributes;
  node->inputs = view->inputs;
  node->input_count = view->arrays->count;
  node->input_stride = sizeof *view->inputs;
  node->outputs = view->outputs;
  node->output_count = item->row->output_count;
  node->output_stride = sizeof *view->outputs;
  view->origin = node->name;
  node->origins = &view->origin;
  node->origin_count = 1;
}

// ---- Behind the node ------------------------------------------------------------------------

static void add_chain(oc_node_view *view, const oc_node_options *options) {
  view->node.post_ops = options->posts;
  view->node.post_op_count = options->post_count;
  view->node.post_op_stride = sizeof *options->posts;
  view->node.chain_operand_count = options->chain_operands;
}

// Operator `k` of the chain as a node that takes the value before it.
static void add_neighbour(oc_node_view *view, const ops_post_op *post, size_t k) {
  const ops_operand *running = k ? &view->post_outputs[k - 1] : &view->nodes[0].outputs[0];
  for (int32_t i = 0; i < post->input_count && i < OC_NODE_MAX_POST_INPUTS; ++i) {
    view->post_inputs[k][i] =
        post->inputs[i] == OPS_CHAIN_VALUE ? *running : view->inputs[post->inputs[i]];
  }
  view->post_outputs[k] = *running;
  view->post_outputs[k].value = INNER_VALUE_BASE + (int64_t)k;
  view->nodes[1 + k] = (ops_node){.struct_size = sizeof(ops_node),
                                  .name = post->op,
                                  .domain = post->domain,
                                  .op = post->op,
                                  .opset = post->opset,
                                  .attributes = post->attributes,
                                  .attribute_count = post->attribute_count,
                                  .attribute_stride = post->attribute_stride,
                                  .inputs = view->post_inputs[k],
                                  .input_count = (uint64_t)post->input_count,
                                  .input_stride = sizeof(ops_operand),
                                  .outputs = &view->post_outputs[k],
                                  .output_count = 1,
                                  .output_stride = sizeof(ops_operand),
                                  .origins = &view->origin,
                                  .origin_count = 1};
}

static void add_graph(oc_node_view *view, const oc_node_options *options) {
  size_t indices[OC_CASE_MAX_TENSORS];
  view->nodes[0] = view->node;
  view->nodes[0].input_count -= options->chain_operands;
  memcpy(view->graph_outputs, view->outputs, sizeof view->outputs);
  for (size_t k = 0; k < options->post_count; ++k) {
    add_neighbour(view, &options->posts[k], k);
    view->graph_outputs[0] = view->post_outputs[k];
  }
  view->graph = (ops_graph){.struct_size = sizeof(ops_graph),
                            .name = view->node.name,
                            .nodes = view->nodes,
                            .node_count = 1 + options->post_count,
                            .node_stride = sizeof(ops_node),
                            .inputs = view->graph_inputs,
                            .input_stride = sizeof(ops_operand),
                            .outputs = view->graph_outputs,
                            .output_count = view->node.output_count,
                            .output_stride = sizeof(ops_operand)};
  view->graph.input_count = oc_node_view_arguments(view, indices);
  for (size_t i = 0; i < view->graph.input_count; ++i) {
    view->graph_inputs[i] = view->inputs[indices[i]];
  }
}

size_t oc_node_view_arguments(const oc_node_view *view, size_t *out_indices) {
  size_t count = 0;
  for (size_t i = 0; i < view->arrays->count; ++i) {
    const bool given = view->arrays->items[i].present && !(view->constant_mask >> i & 1);
    if (given || !view->graph.struct_size) out_indices[count++] = i;
  }
  return count;
}

const ops_graph *oc_node_view_graph(const oc_node_view *view) {
  return view->graph.struct_size ? &view->graph : NULL;
}

static int32_t check_posts(const oc_case *item, const oc_node_options *options,
                           ops_error *error) {
  if (options->post_count <= OC_NODE_MAX_POSTS) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "%s: expected at most %d operators behind the node, found %zu", item->id,
                       OC_NODE_MAX_POSTS, options->post_count);
}

int32_t oc_node_view_create(const oc_case *item, const oc_inputs *inputs,
                            const oc_node_options *options, oc_node_view **out_view,
                            ops_error *error) {
  if (item->row->output_count > OC_NODE_MAX_OUTPUTS) {
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "%s: more than %d outputs", item->id,
                         OC_NODE_MAX_OUTPUTS);
  }
  OPS_RETURN_IF_ERROR(check_posts(item, options, error));
  oc_node_view *view = calloc(1, sizeof *view);
  if (!view) return no_memory(error);
  view->arrays = inputs;
  view->constant_mask = options->constants;
  view->node.flags = options->flags;
  for (size_t i = 0; i < OPS_MAX_RANK; ++i) view->unknown[i] = -1;
  describe_node(view, item);
  for (size_t i = 0; i < inputs->count; ++i) add_input(view, item, i, options);
  for (size_t i = 0; i < item->row->output_count; ++i) {
    add_output(view, item, i, options->outputs);
  }
  int32_t status = OPS_OK;
  for (uint32_t i = 0; i < item->contract->attribute_count && status == OPS_OK; ++i) {
    status = add_attribute(view, item, i, options->absolute, error);
  }
  if (options->group) {
    view->graph.struct_size = sizeof view->graph;
    add_graph(view, options);
  } else {
    add_chain(view, options);
  }
  if (status != OPS_OK) {
    oc_node_view_destroy(view);
    return status;
  }
  *out_view = view;
  return OPS_OK;
}

void oc_node_view_destroy(oc_node_view *view) {
  if (!view) return;
  for (size_t i = 0; i < OC_CONTRACT_MAX_PARAMS; ++i) {
    free(view->storage[i]);
    oc_array_finish(&view->tensors[i]);
  }
  free(view);
}

void oc_node_view_spoil(oc_node_view *view) {
  memset(&view->node, SPOILT, sizeof view->node);
  memset(view->inputs, SPOILT, sizeof view->inputs);
  memset(view->input_types, SPOILT, sizeof view->input_types);
  memset(view->outputs, SPOILT, sizeof view->outputs);
  memset(view->output_types, SPOILT, sizeof view->output_types);
  memset(view->attributes, SPOILT, sizeof view->attributes);
}

const ops_node *oc_node_view_node(const oc_node_view *view) {
  return &view->node;
}

void oc_node_view_set_layout(oc_node_view *view, size_t index, uint32_t layout) {
  view->prepare_layouts[index] = layout;
}

void oc_node_view_set_strides(oc_node_view *view, size_t index, const int64_t *strides) {
  view->prepare_strides[index] = strides;
}

void oc_node_view_move_constant(oc_node_view *view, size_t index, void *memory) {
  view->constants[index].dense.tensor.memory = memory;
}

const ops_operand *oc_node_view_prepare_inputs(oc_node_view *view, uint64_t known) {
  const uint64_t contents = known | view->constant_mask;
  for (size_t i = 0; i < view->arrays->count; ++i) {
    view->prepare_inputs[i] = view->inputs[i];
    const bool given = view->arrays->items[i].present && (contents >> i & 1);
    view->prepare_inputs[i].constant = given ? &view->constants[i] : NULL;
    if (!view->inputs[i].type) continue;
    view->prepare_types[i] = view->input_types[i];
    view->prepare_types[i].dims = view->arrays->items[i].dims;
    view->prepare_types[i].layout = view->prepare_layouts[i];
    view->prepare_types[i].strides = view->prepare_strides[i];
    view->prepare_inputs[i].type = &view->prepare_types[i];
  }
  return view->prepare_inputs;
}

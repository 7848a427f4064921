// SPDX-License-Identifier: Apache-2.0
//
// A node as the structs of model.h, which encode.c writes. They live in one arena until the
// file is written; names and data are borrowed from the node.
#include "model/node_file.h"

#include <inttypes.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdio.h>
#include <string.h>

#include "model/arena.h"
#include "model/encode.h"
#include "model/model.h"

#define LEAST_IR 8    // what models of opset 15 to 18 have
#define NAME_ROOM 24  // for the position behind a name

typedef struct writer {
  rt_model_arena arena;
  const ops_node *node;
  ops_str *names;  // of inputs, then of outputs; empty for absent ones
  int64_t ir_version;
  ops_error *error;
} writer;

static void *take(writer *w, uint64_t count, uint64_t size) {
  void *memory = rt_model_arena_calloc(&w->arena, count ? count : 1, size);
  if (!memory) ops_error_set(w->error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a model");
  return memory;
}

#define TAKE_ARRAY(w, pointer, count)                  \
  do {                                                 \
    (pointer) = take((w), (count), sizeof *(pointer)); \
    if (!(pointer)) return OPS_ERROR_OUT_OF_MEMORY;    \
  } while (0)

static int32_t refuse(writer *w, const char *what, ops_str name) {
  return ops_error_set(w->error, OPS_ERROR_UNSUPPORTED,
                       "%s '%.*s' of node '%.*s' cannot be written into a model of one node",
                       what, OPS_STR_FMT(name), OPS_STR_FMT(w->node->name));
}

// ---- Names ----------------------------------------------------------------------------------

static const ops_operand *operand_at(const writer *w, uint64_t i) {
  const ops_node *node = w->node;
  return i < node->input_count
             ? OPS_AT(ops_operand, node->inputs, node->input_stride, i)
             : OPS_AT(ops_operand, node->outputs, node->output_stride, i - node->input_count);
}

// The position of the first operand that is the same value; `i` itself if it is the first.
static uint64_t first_use(const writer *w, uint64_t i) {
  const int64_t value = operand_at(w, i)->value;
  for (uint64_t k = 0; k < i; ++k)
    if (operand_at(w, k)->value == value) return k;
  return i;
}

static int is_taken(const writer *w, uint64_t i) {
  const ops_str name = operand_at(w, i)->name;
  for (uint64_t k = 0; k < i; ++k)
    if (w->names[k].size == name.size && memcmp(w->names[k].data, name.data, name.size) == 0)
      return 1;
  return 0;
}

static int32_t name_operand(writer *w, uint64_t i) {
  const ops_operand *operand = operand_at(w, i);
  const uint64_t first = first_use(w, i);
  if (operand->value < 0) return OPS_OK;
  w->names[i] = first != i ? w->names[first] : operand->name;
  if (first != i || (operand->name.size && !is_taken(w, i))) return OPS_OK;
  char *name;
  TAKE_ARRAY(w, name, operand->name.size + NAME_ROOM);
  if (operand->name.size) memcpy(name, operand->name.data, operand->name.size);
  snprintf(name + operand->name.size, NAME_ROOM, "_%" PRIu64, i);
  w->names[i] = (ops_str){name, strlen(name)};
  return OPS_OK;
}

static int32_t name_operands(writer *w) {
  const uint64_t count = w->node->input_count + w->node->output_count;
  TAKE_ARRAY(w, w->names, count);
  for (uint64_t i = 0; i < count; ++i) OPS_RETURN_IF_ERROR(name_operand(w, i));
  return OPS_OK;
}

// ---- Types ----------------------------------------------------------------------------------

// The IR version that brought an element type (onnx.proto, enum Version).
static int64_t ir_of(int32_t type) {
  static const int8_t versions[OPS_TYPE_COUNT] = {
      [OPS_TYPE_FLOAT8E4M3FN] = 9,   [OPS_TYPE_FLOAT8E4M3FNUZ] = 9, [OPS_TYPE_FLOAT8E5M2] = 9,
      [OPS_TYPE_FLOAT8E5M2FNUZ] = 9, [OPS_TYPE_INT4] = 10,          [OPS_TYPE_UINT4] = 10,
      [OPS_TYPE_FLOAT4E2M1] = 11,    [OPS_TYPE_FLOAT8E8M0] = 12,    [OPS_TYPE_INT2] = 13,
      [OPS_TYPE_UINT2] = 13,         [OPS_TYPE_FLOAT6E2M3] = 14,    [OPS_TYPE_FLOAT6E3M2] = 14};
  return type > 0 && type < OPS_TYPE_COUNT ? versions[type] : 0;
}

static void note_type(writer *w, int32_t type) {
  if (ir_of(type) > w->ir_version) w->ir_version = ir_of(type);
}

static int32_t info_of(writer *w, uint64_t i, rt_model_value_info *out_info) {
  const ops_operand *operand = operand_at(w, i);
  const ops_type_info *type = operand->type;
  if (!type || (type->kind != OPS_VALUE_TENSOR && type->kind != OPS_VALUE_STRINGS)) {
    return refuse(w, "operand", operand->name);
  }
  rt_model_dim *dims;
  TAKE_ARRAY(w, dims, type->rank > 0 ? (uint64_t)type->rank : 0);
  for (int32_t k = 0; k < type->rank; ++k)
    dims[k].value = type->dims[k] < 0 ? -1 : type->dims[k];
  note_type(w, type->type);
  out_info->name = w->names[i];
  out_info->type = (rt_model_type){.kind = RT_MODEL_TYPE_TENSOR,
                                   .elem_type = type->type,
                                   .rank = type->rank < 0 ? -1 : type->rank,
                                   .dims = dims};
  return OPS_OK;
}

// ---- Constants ------------------------------------------------------------------------------

static int32_t tensor_of(writer *w, const ops_constant *constant, ops_str about, ops_str name,
                         rt_model_tensor *out_tensor) {
  const ops_arg *dense = &constant->dense;
  if (constant->format != OPS_CONSTANT_DENSE || dense->kind != OPS_ARG_TENSOR) {
    return refuse(w, "the constant", about);
  }
  note_type(w, dense->tensor.type);
  *out_tensor = (rt_model_tensor){
      .name = name,
      .elem_type = dense->tensor.type,
      .rank = constant->rank,
      .dims = constant->dims,
      .data = (const uint8_t *)dense->tensor.memory + dense->tensor.byte_offset,
      .size = dense->tensor.byte_size};
  return OPS_OK;
}

// ---- Attributes -----------------------------------------------------------------------------

static int32_t tensors_of(writer *w, const ops_attribute *from, rt_model_attribute *out) {
  rt_model_tensor *tensors;
  TAKE_ARRAY(w, tensors, from->count);
  out->tensors = tensors;
  for (uint64_t i = 0; i < from->count; ++i)
    OPS_RETURN_IF_ERROR(tensor_of(w, from->constants[i], from->name, from->name, &tensors[i]));
  return OPS_OK;
}

// The kinds have the numbers of the file in both.
static int32_t attribute_of(writer *w, const ops_attribute *from, rt_model_attribute *out) {
  out->name = from->name;
  out->kind = from->kind;
  out->count = (size_t)from->count;
  switch (from->kind) {
    case OPS_ATTRIBUTE_FLOAT:
    case OPS_ATTRIBUTE_FLOATS:
      out->floats = from->floats;
      return OPS_OK;
    case OPS_ATTRIBUTE_INT:
    case OPS_ATTRIBUTE_INTS:
      out->ints = from->ints;
      return OPS_OK;
    case OPS_ATTRIBUTE_STRING:
    case OPS_ATTRIBUTE_STRINGS:
      out->strings = from->strings;
      return OPS_OK;
    case OPS_ATTRIBUTE_TENSOR:
    case OPS_ATTRIBUTE_TENSORS:
      return tensors_of(w, from, out);
    default:
      return refuse(w, "attribute", from->name);
  }
}

// ---- The model ------------------------------------------------------------------------------

static int32_t node_of(writer *w, const rt_model_node **out_node) {
  const ops_node *node = w->node;
  rt_model_node *out;
  rt_model_attribute *attributes;
  TAKE_ARRAY(w, out, 1);
  TAKE_ARRAY(w, attributes, node->attribute_count);
  *out = (rt_model_node){.name = node->name,
                         .op_type = node->op,
                         .domain = node->domain,
                         .overload = node->overload,
                         .inputs = w->names,
                         .input_count = (size_t)node->input_count,
                         .outputs = w->names + node->input_count,
                         .output_count = (size_t)node->output_count,
                         .attributes = attributes,
                         .attribute_count = (size_t)node->attribute_count};
  for (uint64_t i = 0; i < node->attribute_count; ++i)
    OPS_RETURN_IF_ERROR(attribute_of(
        w, OPS_AT(ops_attribute, node->attributes, node->attribute_stride, i), &attributes[i]));
  *out_node = out;
  return OPS_OK;
}

static int32_t graph_of(writer *w, rt_model_graph *out) {
  const ops_node *node = w->node;
  rt_model_value_info *inputs, *outputs;
  rt_model_tensor *initializers;
  TAKE_ARRAY(w, inputs, node->input_count);
  TAKE_ARRAY(w, initializers, node->input_count);
  TAKE_ARRAY(w, outputs, node->output_count);
  *out = (rt_model_graph){.name = node->op,
                          .node_count = 1,
                          .inputs = inputs,
                          .initializers = initializers,
                          .outputs = outputs};
  for (uint64_t i = 0; i < node->input_count + node->output_count; ++i) {
    const ops_operand *operand = operand_at(w, i);
    if (operand->value < 0 || first_use(w, i) != i) continue;
    if (i >= node->input_count)
      OPS_RETURN_IF_ERROR(info_of(w, i, &outputs[out->output_count++]));
    else if (!operand->constant)
      OPS_RETURN_IF_ERROR(info_of(w, i, &inputs[out->input_count++]));
    else
      OPS_RETURN_IF_ERROR(tensor_of(w, operand->constant, operand->name, w->names[i],
                                    &initializers[out->initializer_count++]));
  }
  return node_of(w, &out->nodes);
}

static int32_t write(writer *w, const char *path) {
  const rt_model_opset opset = {w->node->domain, w->node->opset};
  rt_model model = {.opsets = &opset, .opset_count = 1};
  OPS_RETURN_IF_ERROR(name_operands(w));
  OPS_RETURN_IF_ERROR(graph_of(w, &model.graph));
  model.ir_version = w->ir_version;
  // The file is to be whole by itself, whatever its size.
  return rt_model_write_limited(path, &model, UINT64_MAX, w->error);
}

int32_t rt_node_file_write(const char *path, const ops_node *node, ops_error *error) {
  writer w = {.node = node, .ir_version = LEAST_IR, .error = error};
  if (node->post_op_count) return refuse(&w, "the chain of", node->op);
  rt_model_arena_init(&w.arena, RT_MODEL_DEFAULT_MAX_MEMORY);
  const int32_t status = write(&w, path);
  rt_model_arena_finish(&w.arena);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// A node as protobuf messages. Everything lives in one arena until the file is written; names
// and data are copied where protobuf-c wants terminated strings, and borrowed else.
#include "model/node_file.h"

#include <inttypes.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdio.h>
#include <string.h>

#include "model/arena.h"
#include "model/file.h"
#include "model/model.h"
#include "onnx-ml.pb-c.h"

#define LEAST_IR 8    // what models of opset 15 to 18 have
#define NAME_ROOM 24  // for the position behind a name

typedef struct writer {
  rt_model_arena arena;
  const ops_node *node;
  char **names;  // of inputs, then of outputs; "" for absent ones
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

static int32_t copy_text(writer *w, ops_str text, char **out_text) {
  TAKE_ARRAY(w, *out_text, text.size + NAME_ROOM);
  if (text.size) memcpy(*out_text, text.data, (size_t)text.size);
  return OPS_OK;
}

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
  for (uint64_t k = 0; k < i; ++k)
    if (strcmp(w->names[k], w->names[i]) == 0) return 1;
  return 0;
}

static int32_t name_operand(writer *w, uint64_t i) {
  const ops_operand *operand = operand_at(w, i);
  OPS_RETURN_IF_ERROR(copy_text(w, (ops_str){0}, &w->names[i]));
  if (operand->value < 0) return OPS_OK;
  const uint64_t first = first_use(w, i);
  if (first != i) {
    w->names[i] = w->names[first];
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(copy_text(w, operand->name, &w->names[i]));
  if (operand->name.size && !is_taken(w, i)) return OPS_OK;
  snprintf(w->names[i] + operand->name.size, NAME_ROOM, "_%" PRIu64, i);
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

static int32_t shape_of(writer *w, const ops_type_info *type,
                        Onnx__TensorShapeProto **out_shape) {
  *out_shape = NULL;
  if (type->rank < 0) return OPS_OK;
  TAKE_ARRAY(w, *out_shape, 1);
  Onnx__TensorShapeProto *shape = *out_shape;
  onnx__tensor_shape_proto__init(shape);
  TAKE_ARRAY(w, shape->dim, (uint64_t)type->rank);
  shape->n_dim = (size_t)type->rank;
  for (int32_t i = 0; i < type->rank; ++i) {
    TAKE_ARRAY(w, shape->dim[i], 1);
    onnx__tensor_shape_proto__dimension__init(shape->dim[i]);
    if (type->dims[i] < 0) continue;
    shape->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    shape->dim[i]->dim_value = type->dims[i];
  }
  return OPS_OK;
}

static int32_t value_info_of(writer *w, uint64_t i, Onnx__ValueInfoProto **out_info) {
  const ops_operand *operand = operand_at(w, i);
  const ops_type_info *type = operand->type;
  if (!type || (type->kind != OPS_VALUE_TENSOR && type->kind != OPS_VALUE_STRINGS)) {
    return refuse(w, "operand", operand->name);
  }
  Onnx__TypeProto__Tensor *tensor;
  TAKE_ARRAY(w, *out_info, 1);
  onnx__value_info_proto__init(*out_info);
  TAKE_ARRAY(w, (*out_info)->type, 1);
  onnx__type_proto__init((*out_info)->type);
  TAKE_ARRAY(w, tensor, 1);
  onnx__type_proto__tensor__init(tensor);
  tensor->has_elem_type = 1;
  tensor->elem_type = type->type;
  note_type(w, type->type);
  (*out_info)->name = w->names[i];
  (*out_info)->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  (*out_info)->type->tensor_type = tensor;
  return shape_of(w, type, &tensor->shape);
}

// ---- Constants ------------------------------------------------------------------------------

static int32_t tensor_of(writer *w, const ops_constant *constant, ops_str about, char *name,
                         Onnx__TensorProto **out_tensor) {
  const ops_arg *dense = &constant->dense;
  if (constant->format != OPS_CONSTANT_DENSE || dense->kind != OPS_ARG_TENSOR) {
    return refuse(w, "the constant", about);
  }
  const ops_tensor *tensor = &dense->tensor;
  TAKE_ARRAY(w, *out_tensor, 1);
  Onnx__TensorProto *out = *out_tensor;
  onnx__tensor_proto__init(out);
  out->name = name;
  out->n_dims = (size_t)constant->rank;
  out->dims = (int64_t *)constant->dims;
  out->has_data_type = 1;
  out->data_type = tensor->type;
  out->has_raw_data = 1;
  out->raw_data = (ProtobufCBinaryData){(size_t)tensor->byte_size,
                                        (uint8_t *)tensor->memory + tensor->byte_offset};
  note_type(w, tensor->type);
  return OPS_OK;
}

// ---- Attributes -----------------------------------------------------------------------------

static int32_t set_strings(writer *w, const ops_attribute *from, Onnx__AttributeProto *out) {
  ProtobufCBinaryData *strings;
  TAKE_ARRAY(w, strings, from->count);
  for (uint64_t i = 0; i < from->count; ++i) {
    strings[i] =
        (ProtobufCBinaryData){(size_t)from->strings[i].size, (uint8_t *)from->strings[i].data};
  }
  out->n_strings = (size_t)from->count;
  out->strings = strings;
  return OPS_OK;
}

static int32_t set_tensors(writer *w, const ops_attribute *from, Onnx__AttributeProto *out) {
  TAKE_ARRAY(w, out->tensors, from->count);
  out->n_tensors = (size_t)from->count;
  for (uint64_t i = 0; i < from->count; ++i) {
    OPS_RETURN_IF_ERROR(
        tensor_of(w, from->constants[i], from->name, out->name, &out->tensors[i]));
  }
  return OPS_OK;
}

// A scalar kind: the first element of what the list kind would be.
static void make_scalar(Onnx__AttributeProto *out) {
  switch (out->type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
      out->has_f = 1;
      out->f = out->floats[0];
      out->n_floats = 0;
      break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
      out->has_i = 1;
      out->i = out->ints[0];
      out->n_ints = 0;
      break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
      out->has_s = 1;
      out->s = out->strings[0];
      out->n_strings = 0;
      break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
      out->t = out->tensors[0];
      out->n_tensors = 0;
      break;
    default:
      break;
  }
}

static int32_t attribute_of(writer *w, const ops_attribute *from,
                            Onnx__AttributeProto **out_attribute) {
  TAKE_ARRAY(w, *out_attribute, 1);
  Onnx__AttributeProto *out = *out_attribute;
  onnx__attribute_proto__init(out);
  OPS_RETURN_IF_ERROR(copy_text(w, from->name, &out->name));
  out->has_type = 1;
  out->type = (Onnx__AttributeProto__AttributeType)from->kind;
  switch (from->kind) {
    case OPS_ATTRIBUTE_FLOAT:
    case OPS_ATTRIBUTE_FLOATS:
      out->n_floats = (size_t)from->count;
      out->floats = (float *)from->floats;
      break;
    case OPS_ATTRIBUTE_INT:
    case OPS_ATTRIBUTE_INTS:
      out->n_ints = (size_t)from->count;
      out->ints = (int64_t *)from->ints;
      break;
    case OPS_ATTRIBUTE_STRING:
    case OPS_ATTRIBUTE_STRINGS:
      OPS_RETURN_IF_ERROR(set_strings(w, from, out));
      break;
    case OPS_ATTRIBUTE_TENSOR:
    case OPS_ATTRIBUTE_TENSORS:
      OPS_RETURN_IF_ERROR(set_tensors(w, from, out));
      break;
    default:
      return refuse(w, "attribute", from->name);
  }
  make_scalar(out);
  return OPS_OK;
}

// ---- The model ------------------------------------------------------------------------------

static int32_t node_of(writer *w, Onnx__NodeProto *out) {
  const ops_node *node = w->node;
  onnx__node_proto__init(out);
  OPS_RETURN_IF_ERROR(copy_text(w, node->name, &out->name));
  OPS_RETURN_IF_ERROR(copy_text(w, node->op, &out->op_type));
  OPS_RETURN_IF_ERROR(copy_text(w, node->domain, &out->domain));
  if (node->overload.size) OPS_RETURN_IF_ERROR(copy_text(w, node->overload, &out->overload));
  out->n_input = (size_t)node->input_count;
  out->input = w->names;
  out->n_output = (size_t)node->output_count;
  out->output = w->names + node->input_count;
  TAKE_ARRAY(w, out->attribute, node->attribute_count);
  out->n_attribute = (size_t)node->attribute_count;
  for (uint64_t i = 0; i < node->attribute_count; ++i) {
    OPS_RETURN_IF_ERROR(
        attribute_of(w, OPS_AT(ops_attribute, node->attributes, node->attribute_stride, i),
                     &out->attribute[i]));
  }
  return OPS_OK;
}

static int32_t add_operand(writer *w, uint64_t i, Onnx__GraphProto *graph) {
  const ops_operand *operand = operand_at(w, i);
  if (operand->value < 0 || first_use(w, i) != i) return OPS_OK;
  if (i >= w->node->input_count) return value_info_of(w, i, &graph->output[graph->n_output++]);
  if (!operand->constant) return value_info_of(w, i, &graph->input[graph->n_input++]);
  return tensor_of(w, operand->constant, operand->name, w->names[i],
                   &graph->initializer[graph->n_initializer++]);
}

static int32_t graph_of(writer *w, Onnx__GraphProto *out) {
  const ops_node *node = w->node;
  onnx__graph_proto__init(out);
  TAKE_ARRAY(w, out->node, 1);
  TAKE_ARRAY(w, out->node[0], 1);
  TAKE_ARRAY(w, out->input, node->input_count);
  TAKE_ARRAY(w, out->initializer, node->input_count);
  TAKE_ARRAY(w, out->output, node->output_count);
  out->n_node = 1;
  OPS_RETURN_IF_ERROR(copy_text(w, node->op, &out->name));
  for (uint64_t i = 0; i < node->input_count + node->output_count; ++i) {
    OPS_RETURN_IF_ERROR(add_operand(w, i, out));
  }
  return node_of(w, out->node[0]);
}

static int32_t model_of(writer *w, Onnx__ModelProto *out) {
  onnx__model_proto__init(out);
  TAKE_ARRAY(w, out->graph, 1);
  TAKE_ARRAY(w, out->opset_import, 1);
  TAKE_ARRAY(w, out->opset_import[0], 1);
  onnx__operator_set_id_proto__init(out->opset_import[0]);
  out->n_opset_import = 1;
  OPS_RETURN_IF_ERROR(copy_text(w, w->node->domain, &out->opset_import[0]->domain));
  out->opset_import[0]->has_version = 1;
  out->opset_import[0]->version = w->node->opset;
  OPS_RETURN_IF_ERROR(graph_of(w, out->graph));
  out->has_ir_version = 1;
  out->ir_version = w->ir_version;
  return OPS_OK;
}

static int32_t pack(writer *w, const char *path, const Onnx__ModelProto *model) {
  const size_t size = protobuf_c_message_get_packed_size(&model->base);
  if (size > RT_MODEL_MAX_FILE_BYTES) {
    return ops_error_set(w->error, OPS_ERROR_INVALID_ARGUMENT,
                         "%s would have %zu bytes; expected at most 2 GiB - 1", path, size);
  }
  uint8_t *bytes = take(w, size, 1);
  if (!bytes) return OPS_ERROR_OUT_OF_MEMORY;
  protobuf_c_message_pack(&model->base, bytes);
  const rt_model_file part = {bytes, size};
  return rt_model_file_write(path, &part, 1, w->error);
}

int32_t rt_node_file_write(const char *path, const ops_node *node, ops_error *error) {
  writer w = {.node = node, .ir_version = LEAST_IR, .error = error};
  Onnx__ModelProto model;
  if (node->post_op_count) return refuse(&w, "the chain of", node->op);
  rt_model_arena_init(&w.arena, RT_MODEL_DEFAULT_MAX_MEMORY);
  int32_t status = name_operands(&w);
  if (status == OPS_OK) status = model_of(&w, &model);
  if (status == OPS_OK) status = pack(&w, path, &model);
  rt_model_arena_finish(&w.arena);
  return status;
}

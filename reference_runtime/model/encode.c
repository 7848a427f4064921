// SPDX-License-Identifier: Apache-2.0
//
// A model as protobuf messages, all in one arena until the file is written; names are copied
// where protobuf-c wants terminated strings, data are borrowed.
#include "model/encode.h"

#include <inttypes.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/arena.h"
#include "model/file.h"
#include "onnx-ml.pb-c.h"

#define SPILL_LEAST 1024u  // bytes of an initializer that is worth a place in the other file
#define SPILL_ALIGNMENT 64u

typedef struct encoder {
  rt_model_arena arena;
  int spill;             // 1: large initializers become external
  const char *location;  // of external data, beside the model
  rt_model_file *parts;  // of the external file: data and padding
  size_t part_count, part_capacity;
  uint64_t offset;
  ops_error *error;
} encoder;

static void *take(encoder *e, uint64_t count, uint64_t size) {
  void *memory = rt_model_arena_calloc(&e->arena, count ? count : 1, size);
  if (!memory) ops_error_set(e->error, OPS_ERROR_OUT_OF_MEMORY, "no memory to write a model");
  return memory;
}

#define TAKE_ARRAY(e, pointer, count)                  \
  do {                                                 \
    (pointer) = take((e), (count), sizeof *(pointer)); \
    if (!(pointer)) return OPS_ERROR_OUT_OF_MEMORY;    \
  } while (0)

// A list of messages, each made by `fill` from the element of the same number.
#define TAKE_LIST(e, list, number, count, fill, items)          \
  do {                                                          \
    TAKE_ARRAY((e), (list), (count));                           \
    (number) = (size_t)(count);                                 \
    for (size_t i_ = 0; i_ < (size_t)(count); ++i_) {           \
      TAKE_ARRAY((e), (list)[i_], 1);                           \
      OPS_RETURN_IF_ERROR(fill((e), &(items)[i_], (list)[i_])); \
    }                                                           \
  } while (0)

static int32_t encode_graph(encoder *e, const rt_model_graph *from, Onnx__GraphProto *out);

static int32_t text_of(encoder *e, ops_str text, char **out_text) {
  TAKE_ARRAY(e, *out_text, text.size + 1);
  if (text.size) memcpy(*out_text, text.data, (size_t)text.size);
  return OPS_OK;
}

// Nothing where there is no text, so that absent stays absent.
static int32_t optional_text(encoder *e, ops_str text, char **out_text) {
  return text.size ? text_of(e, text, out_text) : OPS_OK;
}

static int32_t texts_of(encoder *e, const ops_str *texts, size_t count, char ***out_texts) {
  TAKE_ARRAY(e, *out_texts, count);
  for (size_t i = 0; i < count; ++i)
    OPS_RETURN_IF_ERROR(text_of(e, texts[i], &(*out_texts)[i]));
  return OPS_OK;
}

static int32_t bytes_of(encoder *e, const ops_str *strings, size_t count,
                        ProtobufCBinaryData **out_bytes) {
  TAKE_ARRAY(e, *out_bytes, count);
  for (size_t i = 0; i < count; ++i)
    (*out_bytes)[i] =
        (ProtobufCBinaryData){(size_t)strings[i].size, (uint8_t *)strings[i].data};
  return OPS_OK;
}

static int32_t encode_pair(encoder *e, const ops_key_value *from,
                           Onnx__StringStringEntryProto *out) {
  onnx__string_string_entry_proto__init(out);
  OPS_RETURN_IF_ERROR(text_of(e, from->key, &out->key));
  return text_of(e, from->value, &out->value);
}

// --- Types -----------------------------------------------------------------------------------

static int32_t encode_dim(encoder *e, const rt_model_dim *from,
                          Onnx__TensorShapeProto__Dimension *out) {
  onnx__tensor_shape_proto__dimension__init(out);
  OPS_RETURN_IF_ERROR(optional_text(e, from->denotation, &out->denotation));
  if (from->value >= 0) {
    out->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    out->dim_value = from->value;
    return OPS_OK;
  }
  if (!from->param.size) return OPS_OK;
  out->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
  return text_of(e, from->param, &out->dim_param);
}

static int32_t encode_shape(encoder *e, const rt_model_type *from,
                            Onnx__TensorShapeProto **out_shape) {
  if (from->rank < 0) return OPS_OK;
  TAKE_ARRAY(e, *out_shape, 1);
  onnx__tensor_shape_proto__init(*out_shape);
  TAKE_LIST(e, (*out_shape)->dim, (*out_shape)->n_dim, from->rank, encode_dim, from->dims);
  return OPS_OK;
}

static int32_t encode_type(encoder *e, const rt_model_type *from, Onnx__TypeProto *out);

static int32_t encode_element(encoder *e, const rt_model_type *from,
                              Onnx__TypeProto **out_element) {
  if (!from->element) return OPS_OK;
  TAKE_ARRAY(e, *out_element, 1);
  return encode_type(e, from->element, *out_element);
}

static int32_t encode_tensor_type(encoder *e, const rt_model_type *from, Onnx__TypeProto *out) {
  TAKE_ARRAY(e, out->tensor_type, 1);
  onnx__type_proto__tensor__init(out->tensor_type);
  out->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  out->tensor_type->has_elem_type = 1;
  out->tensor_type->elem_type = from->elem_type;
  return encode_shape(e, from, &out->tensor_type->shape);
}

static int32_t encode_sparse_type(encoder *e, const rt_model_type *from, Onnx__TypeProto *out) {
  TAKE_ARRAY(e, out->sparse_tensor_type, 1);
  onnx__type_proto__sparse_tensor__init(out->sparse_tensor_type);
  out->value_case = ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE;
  out->sparse_tensor_type->has_elem_type = 1;
  out->sparse_tensor_type->elem_type = from->elem_type;
  return encode_shape(e, from, &out->sparse_tensor_type->shape);
}

static int32_t encode_sequence_type(encoder *e, const rt_model_type *from,
                                    Onnx__TypeProto *out) {
  TAKE_ARRAY(e, out->sequence_type, 1);
  onnx__type_proto__sequence__init(out->sequence_type);
  out->value_case = ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
  return encode_element(e, from, &out->sequence_type->elem_type);
}

static int32_t encode_optional_type(encoder *e, const rt_model_type *from,
                                    Onnx__TypeProto *out) {
  TAKE_ARRAY(e, out->optional_type, 1);
  onnx__type_proto__optional__init(out->optional_type);
  out->value_case = ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
  return encode_element(e, from, &out->optional_type->elem_type);
}

static int32_t encode_map_type(encoder *e, const rt_model_type *from, Onnx__TypeProto *out) {
  TAKE_ARRAY(e, out->map_type, 1);
  onnx__type_proto__map__init(out->map_type);
  out->value_case = ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
  out->map_type->has_key_type = 1;
  out->map_type->key_type = from->elem_type;
  return encode_element(e, from, &out->map_type->value_type);
}

static int32_t encode_opaque_type(encoder *e, const rt_model_type *from, Onnx__TypeProto *out) {
  TAKE_ARRAY(e, out->opaque_type, 1);
  onnx__type_proto__opaque__init(out->opaque_type);
  out->value_case = ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE;
  OPS_RETURN_IF_ERROR(optional_text(e, from->opaque_domain, &out->opaque_type->domain));
  return optional_text(e, from->opaque_name, &out->opaque_type->name);
}

static int32_t encode_type(encoder *e, const rt_model_type *from, Onnx__TypeProto *out) {
  static int32_t (*const encoders[])(encoder *, const rt_model_type *, Onnx__TypeProto *) = {
      [RT_MODEL_TYPE_TENSOR] = encode_tensor_type,
      [RT_MODEL_TYPE_SPARSE_TENSOR] = encode_sparse_type,
      [RT_MODEL_TYPE_SEQUENCE] = encode_sequence_type,
      [RT_MODEL_TYPE_OPTIONAL] = encode_optional_type,
      [RT_MODEL_TYPE_MAP] = encode_map_type,
      [RT_MODEL_TYPE_OPAQUE] = encode_opaque_type};
  onnx__type_proto__init(out);
  OPS_RETURN_IF_ERROR(optional_text(e, from->denotation, &out->denotation));
  return from->kind == RT_MODEL_TYPE_NONE ? OPS_OK : encoders[from->kind](e, from, out);
}

static int32_t encode_info(encoder *e, const rt_model_value_info *from,
                           Onnx__ValueInfoProto *out) {
  onnx__value_info_proto__init(out);
  OPS_RETURN_IF_ERROR(text_of(e, from->name, &out->name));
  if (from->type.kind == RT_MODEL_TYPE_NONE) return OPS_OK;
  TAKE_ARRAY(e, out->type, 1);
  return encode_type(e, &from->type, out->type);
}

// --- Tensors ---------------------------------------------------------------------------------

static int32_t encode_tensor(encoder *e, const rt_model_tensor *from, Onnx__TensorProto *out) {
  onnx__tensor_proto__init(out);
  OPS_RETURN_IF_ERROR(optional_text(e, from->name, &out->name));
  out->n_dims = (size_t)from->rank;
  out->dims = (int64_t *)from->dims;
  out->has_data_type = 1;
  out->data_type = from->elem_type;
  if (from->elem_type == OPS_TYPE_STRING) {
    out->n_string_data = (size_t)from->element_count;
    return bytes_of(e, from->strings, (size_t)from->element_count, &out->string_data);
  }
  out->has_raw_data = 1;
  out->raw_data = (ProtobufCBinaryData){(size_t)from->size, (uint8_t *)from->data};
  return OPS_OK;
}

static int32_t add_part(encoder *e, const void *data, uint64_t size) {
  if (e->part_count == e->part_capacity) {
    const size_t capacity = 2 * e->part_capacity + 64;
    rt_model_file *parts = realloc(e->parts, capacity * sizeof *parts);
    if (!parts)
      return ops_error_set(e->error, OPS_ERROR_OUT_OF_MEMORY, "no memory to write a model");
    e->parts = parts;
    e->part_capacity = capacity;
  }
  e->parts[e->part_count++] = (rt_model_file){data, size};
  e->offset += size;
  return OPS_OK;
}

static int32_t add_entry(encoder *e, Onnx__TensorProto *out, const char *key, char *value) {
  Onnx__StringStringEntryProto *entry;
  TAKE_ARRAY(e, entry, 1);
  onnx__string_string_entry_proto__init(entry);
  entry->key = (char *)key;
  entry->value = value;
  out->external_data[out->n_external_data++] = entry;
  return OPS_OK;
}

static int32_t number_text(encoder *e, uint64_t number, char **out_text) {
  TAKE_ARRAY(e, *out_text, 24);
  snprintf(*out_text, 24, "%" PRIu64, number);
  return OPS_OK;
}

// Moves the data of a tensor into the external file.
static int32_t spill_tensor(encoder *e, Onnx__TensorProto *out) {
  static const uint8_t zeros[SPILL_ALIGNMENT];
  const uint64_t padding = (SPILL_ALIGNMENT - e->offset % SPILL_ALIGNMENT) % SPILL_ALIGNMENT;
  char *offset, *length;
  if (padding) OPS_RETURN_IF_ERROR(add_part(e, zeros, padding));
  OPS_RETURN_IF_ERROR(number_text(e, e->offset, &offset));
  OPS_RETURN_IF_ERROR(number_text(e, out->raw_data.len, &length));
  OPS_RETURN_IF_ERROR(add_part(e, out->raw_data.data, out->raw_data.len));
  TAKE_ARRAY(e, out->external_data, 3);
  OPS_RETURN_IF_ERROR(add_entry(e, out, "location", (char *)e->location));
  OPS_RETURN_IF_ERROR(add_entry(e, out, "offset", offset));
  OPS_RETURN_IF_ERROR(add_entry(e, out, "length", length));
  out->has_data_location = 1;
  out->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  out->has_raw_data = 0;
  out->raw_data = (ProtobufCBinaryData){0, NULL};
  return OPS_OK;
}

static int32_t encode_initializer(encoder *e, const rt_model_tensor *from,
                                  Onnx__TensorProto *out) {
  OPS_RETURN_IF_ERROR(encode_tensor(e, from, out));
  return e->spill && out->raw_data.len >= SPILL_LEAST ? spill_tensor(e, out) : OPS_OK;
}

static int32_t encode_sparse(encoder *e, const rt_model_sparse_tensor *from,
                             Onnx__SparseTensorProto *out) {
  onnx__sparse_tensor_proto__init(out);
  TAKE_ARRAY(e, out->values, 1);
  TAKE_ARRAY(e, out->indices, 1);
  out->n_dims = (size_t)from->rank;
  out->dims = (int64_t *)from->dims;
  OPS_RETURN_IF_ERROR(encode_tensor(e, &from->values, out->values));
  return encode_tensor(e, &from->indices, out->indices);
}

// --- Attributes ------------------------------------------------------------------------------

static int32_t encode_values(encoder *e, const rt_model_attribute *from,
                             Onnx__AttributeProto *out) {
  switch (from->kind) {
    case RT_MODEL_ATTRIBUTE_FLOAT:
      out->has_f = 1;
      out->f = from->floats[0];
      return OPS_OK;
    case RT_MODEL_ATTRIBUTE_INT:
      out->has_i = 1;
      out->i = from->ints[0];
      return OPS_OK;
    case RT_MODEL_ATTRIBUTE_STRING:
      out->has_s = 1;
      out->s = (ProtobufCBinaryData){(size_t)from->strings[0].size,
                                     (uint8_t *)from->strings[0].data};
      return OPS_OK;
    case RT_MODEL_ATTRIBUTE_FLOATS:
      out->n_floats = from->count;
      out->floats = (float *)from->floats;
      return OPS_OK;
    case RT_MODEL_ATTRIBUTE_INTS:
      out->n_ints = from->count;
      out->ints = (int64_t *)from->ints;
      return OPS_OK;
    case RT_MODEL_ATTRIBUTE_STRINGS:
      out->n_strings = from->count;
      return bytes_of(e, from->strings, from->count, &out->strings);
    case RT_MODEL_ATTRIBUTE_TENSOR:
      TAKE_ARRAY(e, out->t, 1);
      return encode_tensor(e, from->tensors, out->t);
    case RT_MODEL_ATTRIBUTE_GRAPH:
      TAKE_ARRAY(e, out->g, 1);
      return encode_graph(e, from->graphs, out->g);
    case RT_MODEL_ATTRIBUTE_SPARSE_TENSOR:
      TAKE_ARRAY(e, out->sparse_tensor, 1);
      return encode_sparse(e, from->sparse_tensors, out->sparse_tensor);
    case RT_MODEL_ATTRIBUTE_TYPE:
      TAKE_ARRAY(e, out->tp, 1);
      return encode_type(e, from->types, out->tp);
    case RT_MODEL_ATTRIBUTE_TENSORS:
      TAKE_LIST(e, out->tensors, out->n_tensors, from->count, encode_tensor, from->tensors);
      return OPS_OK;
    case RT_MODEL_ATTRIBUTE_GRAPHS:
      TAKE_LIST(e, out->graphs, out->n_graphs, from->count, encode_graph, from->graphs);
      return OPS_OK;
    case RT_MODEL_ATTRIBUTE_SPARSE_TENSORS:
      TAKE_LIST(e, out->sparse_tensors, out->n_sparse_tensors, from->count, encode_sparse,
                from->sparse_tensors);
      return OPS_OK;
    default:
      TAKE_LIST(e, out->type_protos, out->n_type_protos, from->count, encode_type, from->types);
      return OPS_OK;
  }
}

static int32_t encode_attribute(encoder *e, const rt_model_attribute *from,
                                Onnx__AttributeProto *out) {
  onnx__attribute_proto__init(out);
  OPS_RETURN_IF_ERROR(text_of(e, from->name, &out->name));
  out->has_type = 1;
  out->type = (Onnx__AttributeProto__AttributeType)from->kind;
  if (from->ref_attr_name.size) return text_of(e, from->ref_attr_name, &out->ref_attr_name);
  return encode_values(e, from, out);
}

// --- Nodes, graphs, functions ----------------------------------------------------------------

static int32_t encode_node(encoder *e, const rt_model_node *from, Onnx__NodeProto *out) {
  onnx__node_proto__init(out);
  OPS_RETURN_IF_ERROR(optional_text(e, from->name, &out->name));
  OPS_RETURN_IF_ERROR(text_of(e, from->op_type, &out->op_type));
  OPS_RETURN_IF_ERROR(optional_text(e, from->domain, &out->domain));
  OPS_RETURN_IF_ERROR(optional_text(e, from->overload, &out->overload));
  out->n_input = from->input_count;
  out->n_output = from->output_count;
  OPS_RETURN_IF_ERROR(texts_of(e, from->inputs, from->input_count, &out->input));
  OPS_RETURN_IF_ERROR(texts_of(e, from->outputs, from->output_count, &out->output));
  TAKE_LIST(e, out->attribute, out->n_attribute, from->attribute_count, encode_attribute,
            from->attributes);
  TAKE_LIST(e, out->metadata_props, out->n_metadata_props, from->metadata_count, encode_pair,
            from->metadata);
  return OPS_OK;
}

static int32_t encode_graph(encoder *e, const rt_model_graph *from, Onnx__GraphProto *out) {
  onnx__graph_proto__init(out);
  OPS_RETURN_IF_ERROR(text_of(e, from->name, &out->name));
  TAKE_LIST(e, out->node, out->n_node, from->node_count, encode_node, from->nodes);
  TAKE_LIST(e, out->initializer, out->n_initializer, from->initializer_count,
            encode_initializer, from->initializers);
  TAKE_LIST(e, out->sparse_initializer, out->n_sparse_initializer,
            from->sparse_initializer_count, encode_sparse, from->sparse_initializers);
  TAKE_LIST(e, out->input, out->n_input, from->input_count, encode_info, from->inputs);
  TAKE_LIST(e, out->output, out->n_output, from->output_count, encode_info, from->outputs);
  TAKE_LIST(e, out->value_info, out->n_value_info, from->value_info_count, encode_info,
            from->value_infos);
  TAKE_LIST(e, out->metadata_props, out->n_metadata_props, from->metadata_count, encode_pair,
            from->metadata);
  return OPS_OK;
}

static int32_t encode_opset(encoder *e, const rt_model_opset *from,
                            Onnx__OperatorSetIdProto *out) {
  onnx__operator_set_id_proto__init(out);
  OPS_RETURN_IF_ERROR(text_of(e, from->domain, &out->domain));
  out->has_version = 1;
  out->version = from->version;
  return OPS_OK;
}

static int32_t encode_function(encoder *e, const rt_model_function *from,
                               Onnx__FunctionProto *out) {
  onnx__function_proto__init(out);
  OPS_RETURN_IF_ERROR(text_of(e, from->name, &out->name));
  OPS_RETURN_IF_ERROR(text_of(e, from->domain, &out->domain));
  OPS_RETURN_IF_ERROR(optional_text(e, from->overload, &out->overload));
  out->n_input = from->input_count;
  out->n_output = from->output_count;
  out->n_attribute = from->attribute_name_count;
  OPS_RETURN_IF_ERROR(texts_of(e, from->inputs, from->input_count, &out->input));
  OPS_RETURN_IF_ERROR(texts_of(e, from->outputs, from->output_count, &out->output));
  OPS_RETURN_IF_ERROR(
      texts_of(e, from->attribute_names, from->attribute_name_count, &out->attribute));
  TAKE_LIST(e, out->attribute_proto, out->n_attribute_proto, from->attribute_default_count,
            encode_attribute, from->attribute_defaults);
  TAKE_LIST(e, out->node, out->n_node, from->node_count, encode_node, from->nodes);
  TAKE_LIST(e, out->opset_import, out->n_opset_import, from->opset_count, encode_opset,
            from->opsets);
  TAKE_LIST(e, out->value_info, out->n_value_info, from->value_info_count, encode_info,
            from->value_infos);
  return OPS_OK;
}

// --- The model -------------------------------------------------------------------------------

static int32_t encode_training(encoder *e, const rt_model_training *from,
                               Onnx__TrainingInfoProto *out) {
  onnx__training_info_proto__init(out);
  TAKE_LIST(e, out->initialization_binding, out->n_initialization_binding,
            from->initialization_binding_count, encode_pair, from->initialization_bindings);
  TAKE_LIST(e, out->update_binding, out->n_update_binding, from->update_binding_count,
            encode_pair, from->update_bindings);
  TAKE_ARRAY(e, out->initialization, 1);
  TAKE_ARRAY(e, out->algorithm, 1);
  OPS_RETURN_IF_ERROR(encode_graph(e, &from->initialization, out->initialization));
  return encode_graph(e, &from->algorithm, out->algorithm);
}

static int32_t encode_model(encoder *e, const rt_model *from, Onnx__ModelProto *out) {
  onnx__model_proto__init(out);
  out->has_ir_version = 1;
  out->ir_version = from->ir_version;
  OPS_RETURN_IF_ERROR(optional_text(e, from->producer_name, &out->producer_name));
  OPS_RETURN_IF_ERROR(optional_text(e, from->producer_version, &out->producer_version));
  OPS_RETURN_IF_ERROR(optional_text(e, from->domain, &out->domain));
  out->has_model_version = from->model_version != 0;
  out->model_version = from->model_version;
  TAKE_LIST(e, out->opset_import, out->n_opset_import, from->opset_count, encode_opset,
            from->opsets);
  TAKE_LIST(e, out->metadata_props, out->n_metadata_props, from->metadata_count, encode_pair,
            from->metadata);
  TAKE_LIST(e, out->functions, out->n_functions, from->function_count, encode_function,
            from->functions);
  TAKE_LIST(e, out->training_info, out->n_training_info, from->training_count, encode_training,
            from->trainings);
  TAKE_ARRAY(e, out->graph, 1);
  return encode_graph(e, &from->graph, out->graph);
}

static uint64_t inline_bytes(const rt_model *model) {
  uint64_t sum = 0;
  for (size_t i = 0; i < model->graph.initializer_count; ++i)
    sum += model->graph.initializers[i].size;
  return sum;
}

static int32_t write_external(encoder *e, const char *path) {
  char *name;
  const size_t size = strlen(path) + sizeof ".data";
  if (!e->part_count) return OPS_OK;
  TAKE_ARRAY(e, name, size);
  snprintf(name, size, "%s.data", path);
  if (e->part_count > INT32_MAX)
    return ops_error_set_cause(e->error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_LIMIT_EXCEEDED,
                               "too many tensors for %s", name);
  return rt_model_file_write(name, e->parts, (int32_t)e->part_count, e->error);
}

static int32_t pack(encoder *e, const char *path, const Onnx__ModelProto *model) {
  const size_t size = protobuf_c_message_get_packed_size(&model->base);
  if (size > RT_MODEL_MAX_FILE_BYTES)
    return ops_error_set_cause(e->error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_LIMIT_EXCEEDED,
                               "%s would have %zu bytes; expected at most 2 GiB - 1", path,
                               size);
  OPS_RETURN_IF_ERROR(write_external(e, path));
  uint8_t *bytes = malloc(size ? size : 1);
  if (!bytes)
    return ops_error_set(e->error, OPS_ERROR_OUT_OF_MEMORY,
                         "no memory for %zu bytes to write %s", size, path);
  protobuf_c_message_pack(&model->base, bytes);
  const rt_model_file part = {bytes, size};
  const int32_t status = rt_model_file_write(path, &part, 1, e->error);
  free(bytes);
  return status;
}

int32_t rt_model_write_limited(const char *path, const rt_model *model, uint64_t max_inline,
                               ops_error *error) {
  encoder e = {.error = error};
  Onnx__ModelProto message;
  char *location = NULL;
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  const uint64_t limit = max_inline ? max_inline : RT_MODEL_DEFAULT_MAX_INLINE;
  rt_model_arena_init(&e.arena, RT_MODEL_DEFAULT_MAX_MEMORY);
  e.spill = inline_bytes(model) > limit;
  int32_t status = OPS_OK;
  if (asprintf(&location, "%s.data", base) < 0) {
    location = NULL;
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to write %s", path);
  }
  e.location = location;
  if (status == OPS_OK) status = encode_model(&e, model, &message);
  if (status == OPS_OK) status = pack(&e, path, &message);
  free(e.parts);
  free(location);
  rt_model_arena_finish(&e.arena);
  return status;
}

int32_t rt_model_write(const char *path, const rt_model *model, ops_error *error) {
  return rt_model_write_limited(path, model, 0, error);
}

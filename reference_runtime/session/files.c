// SPDX-License-Identifier: Apache-2.0
//
// Values in files, nodes as models.
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "loader/value.h"
#include "model/node_file.h"
#include "model/tensor_file.h"
#include "model/value_file.h"
#include "session/session.h"

struct opsrt_tensor {
  rt_value_file *file;
  ops_value *object;
  opsrt_value value;
};

// ---- Host objects ---------------------------------------------------------------------------

static int32_t make_object(const rt_model_value *from, ops_value **out_value, ops_error *error);

static int32_t make_strings(const rt_model_tensor *from, ops_value **out_value,
                            ops_error *error) {
  const ops_value_api *api = &ops_value_accessors;
  OPS_RETURN_IF_ERROR(ops_value_create(OPS_VALUE_STRINGS, out_value, error));
  OPS_RETURN_IF_ERROR(api->strings_resize(*out_value, from->rank, from->dims, error));
  for (int64_t i = 0; i < from->element_count; ++i)
    OPS_RETURN_IF_ERROR(api->string_set(*out_value, (uint64_t)i, from->strings[i], error));
  return OPS_OK;
}

// The element as the accessors take it: a tensor as it lies in the file, or an object in
// *out_owned.
static int32_t element_arg(const rt_model_value *from, int64_t *strides, ops_value **out_owned,
                           ops_arg *out_arg, ops_error *error) {
  const rt_model_tensor *tensor = &from->tensor;
  *out_owned = NULL;
  if (from->kind == RT_MODEL_TYPE_TENSOR && tensor->elem_type != OPS_TYPE_STRING) {
    ops_strides_contiguous(tensor->rank, tensor->dims, strides);
    *out_arg = (ops_arg){.kind = OPS_ARG_TENSOR, .memory_kind = OPS_MEMORY_HOST};
    out_arg->tensor = (ops_tensor){.dims = tensor->dims,
                                   .strides = strides,
                                   .memory = (void *)tensor->data,
                                   .byte_size = tensor->size,
                                   .type = tensor->elem_type,
                                   .rank = tensor->rank};
    return OPS_OK;
  }
  const int32_t status = from->kind == RT_MODEL_TYPE_TENSOR
                             ? make_strings(tensor, out_owned, error)
                             : make_object(from, out_owned, error);
  *out_arg = (ops_arg){.kind = OPS_ARG_VALUE, .value = *out_owned};
  return status;
}

// An entry of a map. Keys are read from files as 64 bits, of which the little end holds those
// of any integer type.
static int32_t set_entry(const rt_model_value *map, uint32_t index, const ops_arg *item,
                         ops_value *out, ops_error *error) {
  int64_t strides[1];
  ops_value *owned = NULL;
  ops_arg key;
  rt_model_value from = {.kind = RT_MODEL_TYPE_TENSOR,
                         .tensor = {.elem_type = map->key_type,
                                    .element_count = 1,
                                    .data = &map->keys[index],
                                    .size = (uint64_t)ops_type_bits(map->key_type) / 8,
                                    .strings = &map->string_keys[index]}};
  int32_t status = element_arg(&from, strides, &owned, &key, error);
  if (status == OPS_OK) status = ops_value_accessors.map_set(out, &key, item, error);
  ops_value_release(owned);
  return status;
}

static int32_t set_item(const rt_model_value *from, uint32_t index, const ops_arg *item,
                        ops_value *out, ops_error *error) {
  switch (from->kind) {
    case RT_MODEL_TYPE_SEQUENCE:
      return ops_value_accessors.sequence_insert(out, index, item, error);
    case RT_MODEL_TYPE_MAP:
      return set_entry(from, index, item, out, error);
    default:
      return ops_value_accessors.optional_set(out, item, error);
  }
}

// Recursive as deep as the reader of files allows.
static int32_t make_object(const rt_model_value *from, ops_value **out_value,
                           ops_error *error) {
  const int32_t kind = from->kind == RT_MODEL_TYPE_SEQUENCE ? OPS_VALUE_SEQUENCE
                       : from->kind == RT_MODEL_TYPE_MAP    ? OPS_VALUE_MAP
                                                            : OPS_VALUE_OPTIONAL;
  OPS_RETURN_IF_ERROR(ops_value_create(kind, out_value, error));
  int32_t status = OPS_OK;
  for (uint32_t i = 0; status == OPS_OK && i < from->count; ++i) {
    int64_t strides[OPS_MAX_RANK];
    ops_value *owned = NULL;
    ops_arg arg;
    status = element_arg(&from->items[i], strides, &owned, &arg, error);
    if (status == OPS_OK) status = set_item(from, i, &arg, *out_value, error);
    ops_value_release(owned);
  }
  return status;
}

// ---- Reading --------------------------------------------------------------------------------

static int32_t take_value(opsrt_tensor *tensor, ops_error *error) {
  const rt_model_value *value = &tensor->file->value;
  const rt_model_tensor *from = &value->tensor;
  if (value->kind == RT_MODEL_TYPE_TENSOR) {
    const int strings = from->elem_type == OPS_TYPE_STRING;
    tensor->value = (opsrt_value){.kind = strings ? OPS_VALUE_STRINGS : OPS_VALUE_TENSOR,
                                  .type = from->elem_type,
                                  .rank = from->rank,
                                  .dims = from->dims,
                                  .data = from->data,
                                  .size = from->size,
                                  .strings = from->strings};
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(make_object(value, &tensor->object, error));
  tensor->value =
      (opsrt_value){.kind = ops_value_accessors.kind(tensor->object), .value = tensor->object};
  return OPS_OK;
}

int32_t opsrt_value_read(const char *path, int32_t kind, opsrt_tensor **out_tensor,
                         ops_error *error) {
  static const int32_t kinds[] = {[0] = RT_MODEL_TYPE_TENSOR,
                                  [OPS_VALUE_TENSOR] = RT_MODEL_TYPE_TENSOR,
                                  [OPS_VALUE_STRINGS] = RT_MODEL_TYPE_TENSOR,
                                  [OPS_VALUE_SEQUENCE] = RT_MODEL_TYPE_SEQUENCE,
                                  [OPS_VALUE_OPTIONAL] = RT_MODEL_TYPE_OPTIONAL,
                                  [OPS_VALUE_MAP] = RT_MODEL_TYPE_MAP};
  *out_tensor = NULL;
  if (kind < 0 || (uint64_t)kind >= sizeof kinds / sizeof *kinds)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "'%s': %d is no kind of value",
                         path, kind);
  opsrt_tensor *tensor = calloc(1, sizeof *tensor);
  if (!tensor) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a tensor");
  int32_t status = rt_value_file_read(path, kinds[kind], &tensor->file, error);
  if (status == OPS_OK) status = take_value(tensor, error);
  if (status != OPS_OK) {
    opsrt_tensor_destroy(tensor);
    return status;
  }
  *out_tensor = tensor;
  return OPS_OK;
}

int32_t opsrt_tensor_read(const char *path, opsrt_tensor **out_tensor, ops_error *error) {
  return opsrt_value_read(path, OPS_VALUE_TENSOR, out_tensor, error);
}

const opsrt_value *opsrt_tensor_value(const opsrt_tensor *tensor) {
  return &tensor->value;
}

void opsrt_tensor_destroy(opsrt_tensor *tensor) {
  if (!tensor) return;
  ops_value_release(tensor->object);
  rt_value_file_destroy(tensor->file);
  free(tensor);
}

// ---- Writing --------------------------------------------------------------------------------

static int32_t take_arg(const ops_arg *arg, rt_model_value *out, ops_error *error);

static void release_items(rt_model_value *value) {
  for (uint32_t i = 0; i < value->count; ++i) release_items(&value->items[i]);
  free(value->items);
  free((void *)value->keys);
  free((void *)value->string_keys);
  if (value->tensor.elem_type == OPS_TYPE_STRING) free((void *)value->tensor.strings);
}

// The shape stays that of the object; the array of texts is owned by `out`.
static int32_t take_strings(const ops_value *object, rt_model_value *out, ops_error *error) {
  const ops_value_api *api = &ops_value_accessors;
  rt_model_tensor *tensor = &out->tensor;
  tensor->elem_type = OPS_TYPE_STRING;
  OPS_RETURN_IF_ERROR(api->strings_shape(object, &tensor->rank, &tensor->dims, error));
  tensor->element_count = 1;
  for (int32_t i = 0; i < tensor->rank; ++i) tensor->element_count *= tensor->dims[i];
  ops_str *texts = calloc((size_t)tensor->element_count + 1, sizeof *texts);
  if (!texts) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "strings");
  tensor->strings = texts;
  for (int64_t i = 0; i < tensor->element_count; ++i)
    OPS_RETURN_IF_ERROR(api->string_get(object, (uint64_t)i, &texts[i], error));
  return OPS_OK;
}

static int32_t take_items(const ops_value *object, uint64_t count, rt_model_value *out,
                          ops_error *error) {
  const ops_value_api *api = &ops_value_accessors;
  const int sequence = out->kind == RT_MODEL_TYPE_SEQUENCE;
  if (count > UINT32_MAX)
    return ops_error_set_cause(error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
                               "more than 2^32 - 1 elements");
  out->items = calloc((size_t)count + 1, sizeof *out->items);
  if (!out->items) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "elements");
  for (uint64_t i = 0; i < count; ++i) {
    ops_arg arg;
    OPS_RETURN_IF_ERROR(sequence ? api->sequence_get(object, i, &arg, error)
                                 : api->optional_get(object, &arg, error));
    ++out->count;
    OPS_RETURN_IF_ERROR(take_arg(&arg, &out->items[i], error));
  }
  return OPS_OK;
}

static int32_t take_key(const ops_arg *key, uint64_t index, rt_model_value *out,
                        ops_error *error) {
  const int is_text = key->kind == OPS_ARG_VALUE;
  out->key_type = is_text ? OPS_TYPE_STRING : key->tensor.type;
  if (is_text)
    return ops_value_accessors.string_get(key->value, 0, (ops_str *)&out->string_keys[index],
                                          error);
  const uint64_t size = (uint64_t)ops_type_bits(out->key_type) / 8;
  const int is_signed = out->key_type == OPS_TYPE_INT8 || out->key_type == OPS_TYPE_INT16 ||
                        out->key_type == OPS_TYPE_INT32;
  int64_t number = 0;
  memcpy(&number, ops_tensor_data(&key->tensor), size);
  if (is_signed) number = (int64_t)((uint64_t)number << (64 - 8 * size)) >> (64 - 8 * size);
  ((int64_t *)out->keys)[index] = number;
  return OPS_OK;
}

// Texts of keys are borrowed, as values are. An empty map does not know the type of its keys.
static int32_t take_map(const ops_value *object, rt_model_value *out, ops_error *error) {
  const ops_value_api *api = &ops_value_accessors;
  uint64_t count = 0;
  out->kind = RT_MODEL_TYPE_MAP;
  out->key_type = OPS_TYPE_INT64;
  OPS_RETURN_IF_ERROR(api->map_size(object, &count, error));
  if (count > UINT32_MAX)
    return ops_error_set_cause(error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
                               "more than 2^32 - 1 entries");
  out->items = calloc((size_t)count + 1, sizeof *out->items);
  out->keys = calloc((size_t)count + 1, sizeof *out->keys);
  out->string_keys = calloc((size_t)count + 1, sizeof *out->string_keys);
  if (!out->items || !out->keys || !out->string_keys)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "entries");
  for (uint64_t i = 0; i < count; ++i) {
    ops_arg key, item;
    OPS_RETURN_IF_ERROR(api->map_get(object, i, &key, &item, error));
    OPS_RETURN_IF_ERROR(take_key(&key, i, out, error));
    ++out->count;
    OPS_RETURN_IF_ERROR(take_arg(&item, &out->items[i], error));
  }
  return OPS_OK;
}

// Sequences, optionals and maps; the values that they hold are borrowed.
static int32_t take_object(const ops_value *object, rt_model_value *out, ops_error *error) {
  const ops_value_api *api = &ops_value_accessors;
  uint64_t count = 1;
  ops_arg item;
  switch (api->kind(object)) {
    case OPS_VALUE_STRINGS:
      out->kind = RT_MODEL_TYPE_TENSOR;
      return take_strings(object, out, error);
    case OPS_VALUE_SEQUENCE:
      out->kind = RT_MODEL_TYPE_SEQUENCE;
      OPS_RETURN_IF_ERROR(api->sequence_size(object, &count, error));
      return take_items(object, count, out, error);
    case OPS_VALUE_OPTIONAL:
      out->kind = RT_MODEL_TYPE_OPTIONAL;
      OPS_RETURN_IF_ERROR(api->optional_get(object, &item, error));
      return take_items(object, item.kind != OPS_ARG_ABSENT, out, error);
    default:
      return take_map(object, out, error);
  }
}

// Tensors in objects are dense and in host memory.
static int32_t take_arg(const ops_arg *arg, rt_model_value *out, ops_error *error) {
  if (arg->kind == OPS_ARG_VALUE) return take_object(arg->value, out, error);
  const ops_tensor *tensor = &arg->tensor;
  out->kind = RT_MODEL_TYPE_TENSOR;
  out->tensor = (rt_model_tensor){
      .elem_type = tensor->type,
      .rank = tensor->rank,
      .dims = tensor->dims,
      .element_count = 1,
      .data = tensor->byte_size ? (const char *)tensor->memory + tensor->byte_offset : NULL,
      .size = tensor->byte_size};
  for (int32_t i = 0; i < tensor->rank; ++i) out->tensor.element_count *= tensor->dims[i];
  return OPS_OK;
}

int32_t opsrt_tensor_write(const char *path, const opsrt_value *tensor, ops_error *error) {
  const int32_t kind = tensor->kind;
  if (kind != 0 && kind != OPS_VALUE_TENSOR && kind != OPS_VALUE_STRINGS)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "'%s': value '%s' is no tensor; use opsrt_value_write", path,
                         tensor->name ? tensor->name : "");
  rt_model_tensor out = {.elem_type = tensor->type,
                         .rank = tensor->rank,
                         .dims = tensor->dims,
                         .element_count = 1,
                         .data = tensor->size ? tensor->data : NULL,
                         .size = tensor->size,
                         .strings = tensor->strings};
  if (tensor->name) out.name = (ops_str){tensor->name, strlen(tensor->name)};
  for (int32_t i = 0; i < tensor->rank; ++i) out.element_count *= tensor->dims[i];
  return rt_tensor_file_write(path, &out, error);
}

int32_t opsrt_value_write(const char *path, const opsrt_value *value, ops_error *error) {
  if (!value->value || value->kind == OPS_VALUE_TENSOR || value->kind == OPS_VALUE_STRINGS)
    return opsrt_tensor_write(path, value, error);
  rt_model_value out = {0};
  int32_t status = take_object(value->value, &out, error);
  if (status != OPS_OK)
    ops_error_prefix(error, "'%s': value '%s'", path, value->name ? value->name : "");
  if (status == OPS_OK) status = rt_value_file_write(path, &out, error);
  release_items(&out);
  return status;
}

int32_t opsrt_model_write_node(const char *path, const ops_node *node, ops_error *error) {
  return rt_node_file_write(path, node, error);
}

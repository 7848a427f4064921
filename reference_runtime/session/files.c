// SPDX-License-Identifier: Apache-2.0
//
// Values in files: tensors both ways; sequences and optionals are read. Nodes as models.
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

// Recursive as deep as the reader of files allows.
static int32_t make_object(const rt_model_value *from, ops_value **out_value,
                           ops_error *error) {
  const ops_value_api *api = &ops_value_accessors;
  const int sequence = from->kind == RT_MODEL_TYPE_SEQUENCE;
  OPS_RETURN_IF_ERROR(
      ops_value_create(sequence ? OPS_VALUE_SEQUENCE : OPS_VALUE_OPTIONAL, out_value, error));
  int32_t status = OPS_OK;
  for (uint32_t i = 0; status == OPS_OK && i < from->count; ++i) {
    int64_t strides[OPS_MAX_RANK];
    ops_value *owned = NULL;
    ops_arg arg;
    status = element_arg(&from->items[i], strides, &owned, &arg, error);
    if (status == OPS_OK)
      status = sequence ? api->sequence_insert(*out_value, i, &arg, error)
                        : api->optional_set(*out_value, &arg, error);
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

int32_t opsrt_tensor_write(const char *path, const opsrt_value *tensor, ops_error *error) {
  const int32_t kind = tensor->kind;
  if (kind != 0 && kind != OPS_VALUE_TENSOR && kind != OPS_VALUE_STRINGS)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "'%s': value '%s' is no tensor, and only tensors are written to files",
                         path, tensor->name ? tensor->name : "");
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

int32_t opsrt_model_write_node(const char *path, const ops_node *node, ops_error *error) {
  return rt_node_file_write(path, node, error);
}

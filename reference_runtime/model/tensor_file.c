// SPDX-License-Identifier: Apache-2.0
//
// Files of one tensor: dispatch between TensorProto and .npy, and the owner of what was read.
#include "model/tensor_file.h"

#include <inttypes.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "model/decode.h"
#include "model/file.h"
#include "model/npy.h"

typedef struct loaded_file {
  rt_tensor_file file;  // first: an rt_tensor_file is the address of this struct
  rt_model_decoder decoder;
} loaded_file;

// --- Reading -------------------------------------------------------------------------------

static int32_t decode_bytes(loaded_file *loaded, const void *data, uint64_t size) {
  rt_model_decoder *decoder = &loaded->decoder;
  if (rt_npy_is(data, size))
    return rt_npy_decode(&decoder->arena, data, size, &loaded->file.tensor, decoder->error);
  if (size > RT_MODEL_MAX_FILE_BYTES)
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_LIMIT_EXCEEDED,
        "a TensorProto has more than 2 GiB - 1 bytes (RT_MODEL_MAX_FILE_BYTES)");
  ProtobufCMessage *message = NULL;
  OPS_RETURN_IF_ERROR(
      rt_model_unpack(decoder, &onnx__tensor_proto__descriptor, data, size, &message));
  return rt_model_decode_tensor(decoder, (const Onnx__TensorProto *)message,
                                &loaded->file.tensor);
}

static int32_t read_bytes(const void *data, uint64_t size, const char *folder,
                          rt_tensor_file **out_file, ops_error *error) {
  *out_file = NULL;
  loaded_file *loaded = calloc(1, sizeof *loaded);
  if (!loaded) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a tensor");
  rt_model_arena_init(&loaded->decoder.arena, RT_MODEL_DEFAULT_MAX_MEMORY);
  loaded->decoder.external.base_dir = folder;
  loaded->decoder.error = error;
  const int32_t status = decode_bytes(loaded, data, size);
  loaded->decoder.external.base_dir = NULL;
  loaded->decoder.error = NULL;
  if (status == OPS_OK)
    *out_file = &loaded->file;
  else
    rt_tensor_file_destroy(&loaded->file);
  return status;
}

int32_t rt_tensor_file_read_bytes(const void *data, uint64_t size, rt_tensor_file **out_file,
                                  ops_error *error) {
  return read_bytes(data, size, NULL, out_file, error);
}

int32_t rt_tensor_file_read(const char *path, rt_tensor_file **out_file, ops_error *error) {
  *out_file = NULL;
  rt_model_file file;
  OPS_RETURN_IF_ERROR(rt_model_file_map(path, RT_MODEL_DEFAULT_MAX_MEMORY, &file, error));
  int32_t status;
  char *folder = rt_model_file_folder(path);
  if (!folder) {
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a path");
    goto cleanup;
  }
  status = read_bytes(file.data, file.size, folder, out_file, error);
  if (status != OPS_OK) ops_error_prefix(error, "%s", path);
cleanup:
  free(folder);
  rt_model_file_unmap(&file);
  return status;
}

void rt_tensor_file_destroy(rt_tensor_file *file) {
  if (!file) return;
  loaded_file *loaded = (loaded_file *)file;
  rt_model_external_finish(&loaded->decoder.external);
  rt_model_arena_finish(&loaded->decoder.arena);
  free(loaded);
}

// --- Writing -------------------------------------------------------------------------------

static int32_t write_npy(const char *path, const rt_model_tensor *tensor, ops_error *error) {
  char header[RT_NPY_HEADER_ROOM];
  uint64_t size;
  OPS_RETURN_IF_ERROR(rt_npy_header(tensor, header, &size, error));
  const rt_model_file parts[] = {{header, size}, {tensor->data, tensor->size}};
  return rt_model_file_write(path, parts, 2, error);
}

// The message of a tensor: borrows its data. `name` and `strings` are scratch of the caller.
static void fill_message(const rt_model_tensor *tensor, char *name,
                         ProtobufCBinaryData *strings, Onnx__TensorProto *out) {
  onnx__tensor_proto__init(out);
  out->n_dims = (size_t)tensor->rank;
  out->dims = (int64_t *)tensor->dims;
  out->has_data_type = 1;
  out->data_type = tensor->elem_type;
  if (tensor->name.size) out->name = name;
  if (tensor->elem_type == OPS_TYPE_STRING) {
    for (int64_t i = 0; i < tensor->element_count; ++i)
      strings[i] = (ProtobufCBinaryData){(size_t)tensor->strings[i].size,
                                         (uint8_t *)tensor->strings[i].data};
    out->n_string_data = (size_t)tensor->element_count;
    out->string_data = strings;
    return;
  }
  out->has_raw_data = 1;
  out->raw_data = (ProtobufCBinaryData){(size_t)tensor->size, (uint8_t *)tensor->data};
}

static int32_t pack_message(const Onnx__TensorProto *message, uint8_t **out_bytes,
                            uint64_t *out_size, ops_error *error) {
  const size_t size = protobuf_c_message_get_packed_size(&message->base);
  if (size > RT_MODEL_MAX_FILE_BYTES)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_LIMIT_EXCEEDED,
        "a TensorProto would have %zu bytes; expected at most 2 GiB - 1, write a .npy", size);
  *out_bytes = malloc(size ? size : 1);
  if (!*out_bytes)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for %zu bytes to write",
                         size);
  *out_size = protobuf_c_message_pack(&message->base, *out_bytes);
  return OPS_OK;
}

int32_t rt_tensor_file_pack(const rt_model_tensor *tensor, uint8_t **out_bytes,
                            uint64_t *out_size, ops_error *error) {
  const int is_string = tensor->elem_type == OPS_TYPE_STRING;
  const size_t count = is_string ? (size_t)tensor->element_count : 0;
  char *name = strndup(tensor->name.data ? tensor->name.data : "", (size_t)tensor->name.size);
  ProtobufCBinaryData *strings = calloc(count ? count : 1, sizeof *strings);
  int32_t status;
  *out_bytes = NULL;
  if (!name || !strings) {
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to write a tensor");
    goto cleanup;
  }
  Onnx__TensorProto message;
  fill_message(tensor, name, strings, &message);
  status = pack_message(&message, out_bytes, out_size, error);
cleanup:
  free(strings);
  free(name);
  return status;
}

static int32_t write_proto(const char *path, const rt_model_tensor *tensor, ops_error *error) {
  uint8_t *bytes = NULL;
  uint64_t size = 0;
  int32_t status = rt_tensor_file_pack(tensor, &bytes, &size, error);
  if (status != OPS_OK) return ops_error_prefix(error, "%s", path);
  const rt_model_file part = {bytes, size};
  status = rt_model_file_write(path, &part, 1, error);
  free(bytes);
  return status;
}

int32_t rt_tensor_file_write(const char *path, const rt_model_tensor *tensor,
                             ops_error *error) {
  const size_t size = strlen(path);
  const int npy = size >= 4 && strcmp(path + size - 4, ".npy") == 0;
  return npy ? write_npy(path, tensor, error) : write_proto(path, tensor, error);
}

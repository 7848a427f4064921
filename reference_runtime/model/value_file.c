// SPDX-License-Identifier: Apache-2.0
//
// SequenceProto and OptionalProto are walked here field by field (wire format:
// protobuf.dev/programming-guides/encoding): both are a name, an element type and elements. The
// tensors in them go through the checks of all tensors. Field numbers are those of the
// onnx-data.proto that the Python package onnx installs. Recursion is bounded by
// RT_MODEL_MAX_NESTING.
#include "model/value_file.h"

#include <inttypes.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "model/decode.h"
#include "model/file.h"
#include "model/npy.h"
#include "model/tensor_file.h"

typedef struct loaded_value {
  rt_value_file file;  // first: an rt_value_file is the address of this struct
  rt_model_decoder decoder;
} loaded_value;

// Bytes [at, end) that are still to be read.
typedef struct reader {
  const uint8_t *at;
  const uint8_t *end;
} reader;

// What a field holds, by its number in SequenceProto and OptionalProto alike.
#define FIELD_NAME 1
#define FIELD_ELEM_TYPE 2
#define FIELD_TENSOR 3
#define FIELD_SPARSE 4
#define FIELD_SEQUENCE 5
#define FIELD_MAP 6
#define FIELD_OPTIONAL 7

static int32_t damaged(rt_model_decoder *decoder, const char *what) {
  return ops_error_set(decoder->error, OPS_ERROR_INVALID_MODEL,
                       "%s; expected a SequenceProto or OptionalProto, write the file again",
                       what);
}

// A varint of at most 10 bytes.
static int read_varint(reader *r, uint64_t *out_value) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70 && r->at < r->end; shift += 7) {
    const uint8_t byte = *r->at++;
    if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte & 0x80) continue;
    *out_value = value;
    return 1;
  }
  return 0;
}

// The next field. Fields of bytes give their payload, others are skipped: *out_number is 0.
static int32_t next_field(rt_model_decoder *decoder, reader *r, uint64_t *out_number,
                          reader *out_payload) {
  uint64_t tag = 0, value = 0;
  *out_number = 0;
  if (!read_varint(r, &tag)) return damaged(decoder, "a field is cut off");
  const uint64_t left = (uint64_t)(r->end - r->at);
  switch (tag & 7) {
    case 0:
      return read_varint(r, &value) ? OPS_OK : damaged(decoder, "a number is cut off");
    case 1:
    case 5:
      value = (tag & 7) == 1 ? 8 : 4;
      if (value > left) return damaged(decoder, "a number is cut off");
      r->at += value;
      return OPS_OK;
    case 2:
      if (!read_varint(r, &value) || value > (uint64_t)(r->end - r->at))
        return damaged(decoder, "a field reaches beyond the end");
      *out_payload = (reader){r->at, r->at + value};
      r->at += value;
      *out_number = tag >> 3;
      return OPS_OK;
    default:
      return damaged(decoder, "a field has a wire type that ONNX does not use");
  }
}

static int is_element(uint64_t number) {
  return number >= FIELD_TENSOR && number <= FIELD_OPTIONAL;
}

static int32_t count_elements(rt_model_decoder *decoder, reader r, uint32_t *out_count) {
  uint64_t number, count = 0;
  reader payload;
  while (r.at < r.end) {
    OPS_RETURN_IF_ERROR(next_field(decoder, &r, &number, &payload));
    count += is_element(number);
  }
  if (count > UINT32_MAX) return damaged(decoder, "there are more than 2^32 - 1 elements");
  *out_count = (uint32_t)count;
  return OPS_OK;
}

static int32_t decode_tensor(rt_model_decoder *decoder, reader r, rt_model_value *out) {
  ProtobufCMessage *message = NULL;
  out->kind = RT_MODEL_TYPE_TENSOR;
  OPS_RETURN_IF_ERROR(rt_model_unpack(decoder, &onnx__tensor_proto__descriptor, r.at,
                                      (uint64_t)(r.end - r.at), &message));
  return rt_model_decode_tensor(decoder, (const Onnx__TensorProto *)message, &out->tensor);
}

static int32_t decode_list(rt_model_decoder *decoder, reader r, int32_t kind, int32_t depth,
                           rt_model_value *out);

static int32_t decode_element(rt_model_decoder *decoder, uint64_t number, reader r,
                              int32_t depth, rt_model_value *out) {
  switch (number) {
    case FIELD_TENSOR:
      return decode_tensor(decoder, r, out);
    case FIELD_SEQUENCE:
      return decode_list(decoder, r, RT_MODEL_TYPE_SEQUENCE, depth + 1, out);
    case FIELD_OPTIONAL:
      return decode_list(decoder, r, RT_MODEL_TYPE_OPTIONAL, depth + 1, out);
    default:
      return ops_error_set(decoder->error, OPS_ERROR_UNSUPPORTED,
                           "an element is a %s; expected tensors, sequences or optionals",
                           number == FIELD_MAP ? "map" : "sparse tensor");
  }
}

static int32_t decode_list(rt_model_decoder *decoder, reader r, int32_t kind, int32_t depth,
                           rt_model_value *out) {
  uint64_t number;
  reader payload;
  uint32_t count = 0;
  out->kind = kind;
  if (depth > RT_MODEL_MAX_NESTING)
    return ops_error_set(decoder->error, OPS_ERROR_INVALID_MODEL,
                         "values are nested deeper than %d (RT_MODEL_MAX_NESTING)",
                         RT_MODEL_MAX_NESTING);
  OPS_RETURN_IF_ERROR(count_elements(decoder, r, &count));
  if (kind == RT_MODEL_TYPE_OPTIONAL && count > 1)
    return damaged(decoder, "an optional has more than one element");
  out->items = rt_model_decoder_alloc(decoder, count, sizeof *out->items);
  if (!out->items) return rt_model_decoder_no_memory(decoder);
  while (r.at < r.end) {
    OPS_RETURN_IF_ERROR(next_field(decoder, &r, &number, &payload));
    if (!is_element(number)) continue;
    const int32_t status =
        decode_element(decoder, number, payload, depth, &out->items[out->count]);
    // Only the outermost number: a message has room for one.
    if (status != OPS_OK && depth == 0)
      ops_error_prefix(decoder->error, "element %u", out->count);
    OPS_RETURN_IF_ERROR(status);
    out->count++;
  }
  return OPS_OK;
}

static int32_t decode(rt_model_decoder *decoder, const void *data, uint64_t size, int32_t kind,
                      rt_model_value *out) {
  const reader r = {data, size ? (const uint8_t *)data + size : data};
  if (kind == RT_MODEL_TYPE_SEQUENCE || kind == RT_MODEL_TYPE_OPTIONAL)
    return decode_list(decoder, r, kind, 0, out);
  if (kind != RT_MODEL_TYPE_TENSOR)
    return ops_error_set(decoder->error, OPS_ERROR_UNSUPPORTED,
                         "values of kind %d cannot be read from files", kind);
  out->kind = kind;
  if (rt_npy_is(data, size))
    return rt_npy_decode(&decoder->arena, data, size, &out->tensor, decoder->error);
  return decode_tensor(decoder, r, out);
}

static int32_t read_bytes(const void *data, uint64_t size, int32_t kind, const char *folder,
                          rt_value_file **out_file, ops_error *error) {
  *out_file = NULL;
  loaded_value *loaded = calloc(1, sizeof *loaded);
  if (!loaded) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a value");
  rt_model_decoder *decoder = &loaded->decoder;
  rt_model_arena_init(&decoder->arena, RT_MODEL_DEFAULT_MAX_MEMORY);
  decoder->external.base_dir = folder;
  decoder->error = error;
  int32_t status = OPS_OK;
  if (size > RT_MODEL_MAX_FILE_BYTES && !rt_npy_is(data, size))
    status = ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                           "the file has more than 2 GiB - 1 bytes (RT_MODEL_MAX_FILE_BYTES)");
  if (status == OPS_OK) status = decode(decoder, data, size, kind, &loaded->file.value);
  decoder->external.base_dir = NULL;
  decoder->error = NULL;
  if (status == OPS_OK)
    *out_file = &loaded->file;
  else
    rt_value_file_destroy(&loaded->file);
  return status;
}

int32_t rt_value_file_read_bytes(const void *data, uint64_t size, int32_t kind,
                                 rt_value_file **out_file, ops_error *error) {
  return read_bytes(data, size, kind, NULL, out_file, error);
}

int32_t rt_value_file_read(const char *path, int32_t kind, rt_value_file **out_file,
                           ops_error *error) {
  *out_file = NULL;
  rt_model_file file;
  OPS_RETURN_IF_ERROR(rt_model_file_map(path, RT_MODEL_DEFAULT_MAX_MEMORY, &file, error));
  char *folder = rt_model_file_folder(path);
  int32_t status = folder
                       ? read_bytes(file.data, file.size, kind, folder, out_file, error)
                       : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a path");
  if (status != OPS_OK) ops_error_prefix(error, "%s", path);
  free(folder);
  rt_model_file_unmap(&file);
  return status;
}

void rt_value_file_destroy(rt_value_file *file) {
  if (!file) return;
  loaded_value *loaded = (loaded_value *)file;
  rt_model_external_finish(&loaded->decoder.external);
  rt_model_arena_finish(&loaded->decoder.arena);
  free(loaded);
}

// --- Writing -------------------------------------------------------------------------------

#define WIRE_VARINT 0
#define WIRE_BYTES 2
#define MAX_VARINT 10

// SequenceProto.DataType and OptionalProto.DataType.
#define ELEM_TENSOR 1
#define ELEM_SEQUENCE 3
#define ELEM_OPTIONAL 5

typedef struct buffer {
  uint8_t *data;
  uint64_t size;
  ops_error *error;
} buffer;

static int32_t append(buffer *out, const void *bytes, uint64_t size) {
  if (size > RT_MODEL_MAX_FILE_BYTES - out->size)
    return ops_error_set(out->error, OPS_ERROR_INVALID_ARGUMENT,
                         "the value has more than 2 GiB - 1 bytes (RT_MODEL_MAX_FILE_BYTES)");
  uint8_t *data = realloc(out->data, (size_t)(out->size + size + 1));
  if (!data) return ops_error_set(out->error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a value");
  if (size) memcpy(data + out->size, bytes, (size_t)size);
  out->data = data;
  out->size += size;
  return OPS_OK;
}

static int32_t append_varint(buffer *out, uint64_t value) {
  uint8_t bytes[MAX_VARINT];
  uint64_t size = 0;
  do {
    const uint8_t more = value > 0x7f ? 0x80 : 0;
    bytes[size++] = (uint8_t)(value & 0x7f) | more;
    value >>= 7;
  } while (value);
  return append(out, bytes, size);
}

static int32_t append_field(buffer *out, uint64_t number, const buffer *payload) {
  OPS_RETURN_IF_ERROR(append_varint(out, number << 3 | WIRE_BYTES));
  OPS_RETURN_IF_ERROR(append_varint(out, payload->size));
  return append(out, payload->data, payload->size);
}

static int32_t pack_list(const rt_model_value *value, int32_t depth, buffer *out);

static int32_t pack_element(const rt_model_value *value, int32_t depth, uint64_t *out_number,
                            buffer *out) {
  if (value->kind == RT_MODEL_TYPE_TENSOR) {
    *out_number = FIELD_TENSOR;
    return rt_tensor_file_pack(&value->tensor, &out->data, &out->size, out->error);
  }
  *out_number = value->kind == RT_MODEL_TYPE_SEQUENCE ? FIELD_SEQUENCE : FIELD_OPTIONAL;
  return pack_list(value, depth + 1, out);
}

static uint64_t elem_type_of(const rt_model_value *list) {
  if (list->count == 0 || list->items[0].kind == RT_MODEL_TYPE_TENSOR) return ELEM_TENSOR;
  return list->items[0].kind == RT_MODEL_TYPE_SEQUENCE ? ELEM_SEQUENCE : ELEM_OPTIONAL;
}

// The fields of a SequenceProto or OptionalProto.
static int32_t pack_list(const rt_model_value *list, int32_t depth, buffer *out) {
  if (depth > RT_MODEL_MAX_NESTING)
    return ops_error_set(out->error, OPS_ERROR_INVALID_MODEL,
                         "values are nested deeper than %d (RT_MODEL_MAX_NESTING)",
                         RT_MODEL_MAX_NESTING);
  OPS_RETURN_IF_ERROR(append_varint(out, FIELD_ELEM_TYPE << 3 | WIRE_VARINT));
  OPS_RETURN_IF_ERROR(append_varint(out, elem_type_of(list)));
  for (uint32_t i = 0; i < list->count; ++i) {
    buffer item = {.error = out->error};
    uint64_t number = 0;
    int32_t status = OPS_OK;
    if (list->items[i].kind != list->items[0].kind)
      status = ops_error_set(out->error, OPS_ERROR_INVALID_MODEL,
                             "element %u of a sequence is of another kind than the first", i);
    if (status == OPS_OK) status = pack_element(&list->items[i], depth, &number, &item);
    if (status == OPS_OK) status = append_field(out, number, &item);
    free(item.data);
    OPS_RETURN_IF_ERROR(status);
  }
  return OPS_OK;
}

int32_t rt_value_file_write(const char *path, const rt_model_value *value, ops_error *error) {
  if (value->kind == RT_MODEL_TYPE_TENSOR)
    return rt_tensor_file_write(path, &value->tensor, error);
  const size_t length = strlen(path);
  if (length >= 4 && strcmp(path + length - 4, ".npy") == 0)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "%s: numpy's format holds tensors only; write a .pb", path);
  buffer out = {.error = error};
  int32_t status = pack_list(value, 0, &out);
  if (status != OPS_OK) ops_error_prefix(error, "%s", path);
  const rt_model_file part = {out.data, out.size};
  if (status == OPS_OK) status = rt_model_file_write(path, &part, 1, error);
  free(out.data);
  return status;
}

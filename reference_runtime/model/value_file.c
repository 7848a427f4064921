// SPDX-License-Identifier: Apache-2.0
//
// SequenceProto, OptionalProto and MapProto are walked here field by field (wire format:
// protobuf.dev/programming-guides/encoding): the first two are a name, an element type and
// elements, the last has a name, a type of keys, keys, and a SequenceProto of values. The
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

// Fields of MapProto.
#define MAP_KEY_TYPE 2
#define MAP_KEYS 3
#define MAP_STRING_KEYS 4
#define MAP_VALUES 5

#define WIRE_VARINT 0
#define WIRE_FIXED64 1
#define WIRE_BYTES 2
#define WIRE_FIXED32 5

typedef struct field {
  uint64_t number;
  int32_t wire;    // WIRE_…
  uint64_t value;  // WIRE_VARINT
  reader payload;  // WIRE_BYTES
} field;

static int32_t damaged(rt_model_decoder *decoder, const char *what) {
  return ops_error_set_cause(
      decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_FILE,
      "%s; expected a SequenceProto, OptionalProto or MapProto, write the "
      "file again",
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

static int32_t next_field(rt_model_decoder *decoder, reader *r, field *out) {
  uint64_t tag = 0, size = 0;
  *out = (field){0};
  if (!read_varint(r, &tag)) return damaged(decoder, "a field is cut off");
  out->number = tag >> 3;
  out->wire = (int32_t)(tag & 7);
  switch (out->wire) {
    case WIRE_VARINT:
      return read_varint(r, &out->value) ? OPS_OK : damaged(decoder, "a number is cut off");
    case WIRE_FIXED64:
    case WIRE_FIXED32:
      size = out->wire == WIRE_FIXED64 ? 8 : 4;
      if (size > (uint64_t)(r->end - r->at)) return damaged(decoder, "a number is cut off");
      r->at += size;
      return OPS_OK;
    case WIRE_BYTES:
      if (!read_varint(r, &size) || size > (uint64_t)(r->end - r->at))
        return damaged(decoder, "a field reaches beyond the end");
      out->payload = (reader){r->at, r->at + size};
      r->at += size;
      return OPS_OK;
    default:
      return damaged(decoder, "a field has a wire type that ONNX does not use");
  }
}

static int is_element(const field *field) {
  return field->wire == WIRE_BYTES && field->number >= FIELD_TENSOR &&
         field->number <= FIELD_OPTIONAL;
}

static int32_t count_elements(rt_model_decoder *decoder, reader r, uint32_t *out_count) {
  uint64_t count = 0;
  field field;
  while (r.at < r.end) {
    OPS_RETURN_IF_ERROR(next_field(decoder, &r, &field));
    count += (uint64_t)is_element(&field);
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
static int32_t decode_map(rt_model_decoder *decoder, reader r, int32_t depth,
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
    case FIELD_MAP:
      return decode_map(decoder, r, depth + 1, out);
    default:
      return ops_error_set(decoder->error, OPS_ERROR_UNSUPPORTED,
                           "an element is a sparse tensor; expected tensors, sequences, "
                           "optionals or maps");
  }
}

static int32_t check_depth(int32_t depth, ops_error *error) {
  if (depth <= RT_MODEL_MAX_NESTING) return OPS_OK;
  return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_LIMIT_EXCEEDED,
                             "values are nested deeper than %d (RT_MODEL_MAX_NESTING)",
                             RT_MODEL_MAX_NESTING);
}

static int32_t decode_list(rt_model_decoder *decoder, reader r, int32_t kind, int32_t depth,
                           rt_model_value *out) {
  field field;
  uint32_t count = 0;
  out->kind = kind;
  OPS_RETURN_IF_ERROR(check_depth(depth, decoder->error));
  OPS_RETURN_IF_ERROR(count_elements(decoder, r, &count));
  if (kind == RT_MODEL_TYPE_OPTIONAL && count > 1)
    return damaged(decoder, "an optional has more than one element");
  out->items = rt_model_decoder_alloc(decoder, count, sizeof *out->items);
  if (!out->items) return rt_model_decoder_no_memory(decoder);
  while (r.at < r.end) {
    OPS_RETURN_IF_ERROR(next_field(decoder, &r, &field));
    if (!is_element(&field)) continue;
    const int32_t status =
        decode_element(decoder, field.number, field.payload, depth, &out->items[out->count]);
    // Only the outermost number: a message has room for one.
    if (status != OPS_OK && depth == 0)
      ops_error_prefix(decoder->error, "element %u", out->count);
    OPS_RETURN_IF_ERROR(status);
    out->count++;
  }
  return OPS_OK;
}

// --- Maps ----------------------------------------------------------------------------------

static int is_key_type(int32_t type) {
  return type == OPS_TYPE_STRING || (type >= OPS_TYPE_UINT8 && type <= OPS_TYPE_INT64) ||
         type == OPS_TYPE_UINT32 || type == OPS_TYPE_UINT64;
}

// Integers stand one a field or, packed, many in one.
static int32_t count_keys(rt_model_decoder *decoder, const field *field, uint64_t *count) {
  reader r = field->payload;
  uint64_t key;
  if (field->wire == WIRE_VARINT) ++*count;
  while (field->wire == WIRE_BYTES && r.at < r.end) {
    if (!read_varint(&r, &key)) return damaged(decoder, "a key is cut off");
    ++*count;
  }
  return OPS_OK;
}

static void take_keys(const field *field, int64_t *keys, uint64_t *count) {
  reader r = field->payload;
  uint64_t key;
  if (field->wire == WIRE_VARINT) keys[(*count)++] = (int64_t)field->value;
  while (field->wire == WIRE_BYTES && r.at < r.end && read_varint(&r, &key))
    keys[(*count)++] = (int64_t)key;
}

static int32_t take_string_key(rt_model_decoder *decoder, reader r, ops_str *out) {
  const uint64_t size = (uint64_t)(r.end - r.at);
  char *copy = rt_model_decoder_alloc(decoder, size + 1, 1);
  if (!copy) return rt_model_decoder_no_memory(decoder);
  if (size > 0) memcpy(copy, r.at, (size_t)size);
  *out = (ops_str){copy, size};
  return OPS_OK;
}

typedef struct map_fields {
  uint64_t keys, string_keys;  // how many
  reader values;
  int32_t value_lists;
} map_fields;

static int32_t survey_map(rt_model_decoder *decoder, reader r, map_fields *found,
                          rt_model_value *out) {
  field field;
  while (r.at < r.end) {
    OPS_RETURN_IF_ERROR(next_field(decoder, &r, &field));
    const int bytes = field.wire == WIRE_BYTES;
    if (field.number == MAP_KEY_TYPE && field.wire == WIRE_VARINT &&
        field.value < OPS_TYPE_COUNT)
      out->key_type = (int32_t)field.value;
    if (field.number == MAP_KEYS)
      OPS_RETURN_IF_ERROR(count_keys(decoder, &field, &found->keys));
    found->string_keys += bytes && field.number == MAP_STRING_KEYS;
    if (!bytes || field.number != MAP_VALUES) continue;
    found->values = field.payload;
    ++found->value_lists;
  }
  if (!is_key_type(out->key_type))
    return damaged(decoder, "a map has keys of no integer type and no strings");
  if (found->value_lists > 1) return damaged(decoder, "a map has more than one list of values");
  return OPS_OK;
}

static int32_t decode_keys(rt_model_decoder *decoder, reader r, const map_fields *found,
                           rt_model_value *out) {
  int64_t *keys = rt_model_decoder_alloc(decoder, found->keys + 1, sizeof *keys);
  ops_str *texts = rt_model_decoder_alloc(decoder, found->string_keys + 1, sizeof *texts);
  uint64_t count = 0, text_count = 0;
  field field;
  if (!keys || !texts) return rt_model_decoder_no_memory(decoder);
  while (r.at < r.end) {
    OPS_RETURN_IF_ERROR(next_field(decoder, &r, &field));
    if (field.number == MAP_KEYS) take_keys(&field, keys, &count);
    if (field.number == MAP_STRING_KEYS && field.wire == WIRE_BYTES)
      OPS_RETURN_IF_ERROR(take_string_key(decoder, field.payload, &texts[text_count++]));
  }
  out->keys = keys;
  out->string_keys = texts;
  return OPS_OK;
}

static int32_t decode_map(rt_model_decoder *decoder, reader r, int32_t depth,
                          rt_model_value *out) {
  map_fields found = {.values = {r.end, r.end}};
  rt_model_value values = {0};
  out->kind = RT_MODEL_TYPE_MAP;
  OPS_RETURN_IF_ERROR(check_depth(depth, decoder->error));
  OPS_RETURN_IF_ERROR(survey_map(decoder, r, &found, out));
  OPS_RETURN_IF_ERROR(decode_keys(decoder, r, &found, out));
  OPS_RETURN_IF_ERROR(
      decode_list(decoder, found.values, RT_MODEL_TYPE_SEQUENCE, depth + 1, &values));
  const uint64_t keys = out->key_type == OPS_TYPE_STRING ? found.string_keys : found.keys;
  if (keys != values.count || found.keys + found.string_keys != keys)
    return ops_error_set_cause(decoder->error, OPS_ERROR_INVALID_MODEL,
                               OPS_CAUSE_MALFORMED_FILE,
                               "a map of type %" PRId32 " has %" PRIu64
                               " integer keys, %" PRIu64 " string keys and %" PRIu32
                               " values; expected one key of its type "
                               "for each value",
                               out->key_type, found.keys, found.string_keys, values.count);
  out->items = values.items;
  out->count = values.count;
  return OPS_OK;
}

static int32_t decode(rt_model_decoder *decoder, const void *data, uint64_t size, int32_t kind,
                      rt_model_value *out) {
  const reader r = {data, size ? (const uint8_t *)data + size : data};
  if (kind == RT_MODEL_TYPE_SEQUENCE || kind == RT_MODEL_TYPE_OPTIONAL)
    return decode_list(decoder, r, kind, 0, out);
  if (kind == RT_MODEL_TYPE_MAP) return decode_map(decoder, r, 0, out);
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
    status =
        ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_LIMIT_EXCEEDED,
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

#define MAX_VARINT 10

// SequenceProto.DataType and OptionalProto.DataType.
#define ELEM_TENSOR 1
#define ELEM_SEQUENCE 3
#define ELEM_MAP 4
#define ELEM_OPTIONAL 5

typedef struct buffer {
  uint8_t *data;
  uint64_t size;
  ops_error *error;
} buffer;

static int32_t append(buffer *out, const void *bytes, uint64_t size) {
  if (size > RT_MODEL_MAX_FILE_BYTES - out->size)
    return ops_error_set_cause(
        out->error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_LIMIT_EXCEEDED,
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

static int32_t append_number(buffer *out, uint64_t number, uint64_t value) {
  OPS_RETURN_IF_ERROR(append_varint(out, number << 3 | WIRE_VARINT));
  return append_varint(out, value);
}

static int32_t pack_list(const rt_model_value *value, int32_t depth, buffer *out);

// The fields of a MapProto.
static int32_t pack_map(const rt_model_value *map, int32_t depth, buffer *out) {
  rt_model_value values = {.kind = RT_MODEL_TYPE_SEQUENCE, .items = map->items};
  buffer packed = {.error = out->error};
  values.count = map->count;
  OPS_RETURN_IF_ERROR(check_depth(depth, out->error));
  if (!is_key_type(map->key_type))
    return ops_error_set(out->error, OPS_ERROR_INVALID_MODEL,
                         "a map has keys of type %d; expected integers or strings",
                         map->key_type);
  OPS_RETURN_IF_ERROR(append_number(out, MAP_KEY_TYPE, (uint64_t)map->key_type));
  for (uint32_t i = 0; i < map->count; ++i) {
    if (map->key_type != OPS_TYPE_STRING) {
      OPS_RETURN_IF_ERROR(append_number(out, MAP_KEYS, (uint64_t)map->keys[i]));
      continue;
    }
    const buffer key = {(uint8_t *)map->string_keys[i].data, map->string_keys[i].size, NULL};
    OPS_RETURN_IF_ERROR(append_field(out, MAP_STRING_KEYS, &key));
  }
  int32_t status = pack_list(&values, depth + 1, &packed);
  if (status == OPS_OK) status = append_field(out, MAP_VALUES, &packed);
  free(packed.data);
  return status;
}

static int32_t pack_element(const rt_model_value *value, int32_t depth, uint64_t *out_number,
                            buffer *out) {
  if (value->kind == RT_MODEL_TYPE_TENSOR) {
    *out_number = FIELD_TENSOR;
    return rt_tensor_file_pack(&value->tensor, &out->data, &out->size, out->error);
  }
  if (value->kind == RT_MODEL_TYPE_MAP) {
    *out_number = FIELD_MAP;
    return pack_map(value, depth + 1, out);
  }
  *out_number = value->kind == RT_MODEL_TYPE_SEQUENCE ? FIELD_SEQUENCE : FIELD_OPTIONAL;
  return pack_list(value, depth + 1, out);
}

static uint64_t elem_type_of(const rt_model_value *list) {
  if (list->count == 0 || list->items[0].kind == RT_MODEL_TYPE_TENSOR) return ELEM_TENSOR;
  if (list->items[0].kind == RT_MODEL_TYPE_MAP) return ELEM_MAP;
  return list->items[0].kind == RT_MODEL_TYPE_SEQUENCE ? ELEM_SEQUENCE : ELEM_OPTIONAL;
}

// The fields of a SequenceProto or OptionalProto.
static int32_t pack_list(const rt_model_value *list, int32_t depth, buffer *out) {
  OPS_RETURN_IF_ERROR(check_depth(depth, out->error));
  OPS_RETURN_IF_ERROR(append_number(out, FIELD_ELEM_TYPE, elem_type_of(list)));
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
    return ops_error_set_cause(error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_TYPE_UNSUPPORTED,
                               "%s: numpy's format holds tensors only; write a .pb", path);
  buffer out = {.error = error};
  int32_t status =
      value->kind == RT_MODEL_TYPE_MAP ? pack_map(value, 0, &out) : pack_list(value, 0, &out);
  if (status != OPS_OK) ops_error_prefix(error, "%s", path);
  const rt_model_file part = {out.data, out.size};
  if (status == OPS_OK) status = rt_model_file_write(path, &part, 1, error);
  free(out.data);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// Walks the protobuf wire format along the generated descriptors. The decoder of protobuf-c
// recurses without a limit, merges repeated singular messages and cuts strings at zero bytes;
// what passes here can reach none of that. The recursion of this file is bounded by
// RT_MODEL_MAX_NESTING. Wire format: protobuf.dev/programming-guides/encoding.
#include "model/wire.h"

#include <inttypes.h>
#include <ops_support/error.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "onnx-ml.pb-c.h"

enum { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

typedef struct scanner {
  const uint8_t *data;
  uint64_t position;
  uint64_t messages;
  int32_t depth;
  rt_model_outline *outline;  // NULL: none is wanted
  ops_error *error;
} scanner;

// One field as it lies on the wire: its payload is [begin, end).
typedef struct wire_field {
  uint32_t number;
  uint32_t wire_type;
  uint64_t start;
  uint64_t begin;
  uint64_t end;
} wire_field;

// The wire type of one element of each protobuf type.
static const uint8_t kWireTypes[] = {
    [PROTOBUF_C_TYPE_INT32] = kVarint,     [PROTOBUF_C_TYPE_SINT32] = kVarint,
    [PROTOBUF_C_TYPE_SFIXED32] = kFixed32, [PROTOBUF_C_TYPE_INT64] = kVarint,
    [PROTOBUF_C_TYPE_SINT64] = kVarint,    [PROTOBUF_C_TYPE_SFIXED64] = kFixed64,
    [PROTOBUF_C_TYPE_UINT32] = kVarint,    [PROTOBUF_C_TYPE_FIXED32] = kFixed32,
    [PROTOBUF_C_TYPE_UINT64] = kVarint,    [PROTOBUF_C_TYPE_FIXED64] = kFixed64,
    [PROTOBUF_C_TYPE_FLOAT] = kFixed32,    [PROTOBUF_C_TYPE_DOUBLE] = kFixed64,
    [PROTOBUF_C_TYPE_BOOL] = kVarint,      [PROTOBUF_C_TYPE_ENUM] = kVarint,
    [PROTOBUF_C_TYPE_STRING] = kBytes,     [PROTOBUF_C_TYPE_BYTES] = kBytes,
    [PROTOBUF_C_TYPE_MESSAGE] = kBytes};

static int32_t fail_at(scanner *scan, uint64_t offset, const ProtobufCMessageDescriptor *type,
                       const char *field, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static int32_t fail_at(scanner *scan, uint64_t offset, const ProtobufCMessageDescriptor *type,
                       const char *field, const char *format, ...) {
  char what[160];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return ops_error_set_cause(scan->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_FILE,
                             "byte %" PRIu64
                             ", %s%s%s: %s; the file is damaged or not ONNX, export it "
                             "again",
                             offset, type->short_name, field ? "." : "", field ? field : "",
                             what);
}

// Reads a varint of at most 10 bytes that ends before `end`.
static int read_varint(scanner *scan, uint64_t end, uint64_t *out_value) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (scan->position >= end) return 0;
    const uint8_t byte = scan->data[scan->position++];
    if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      *out_value = value;
      return 1;
    }
  }
  return 0;
}

static int skip_bytes(scanner *scan, uint64_t end, uint64_t size) {
  if (size > end - scan->position) return 0;
  scan->position += size;
  return 1;
}

// The bytes that a field needs of which the end is missing.
static uint64_t wanted(uint32_t wire_type, uint64_t length) {
  if (wire_type == kFixed64) return 8;
  if (wire_type == kFixed32) return 4;
  return wire_type == kBytes && length > 0 ? length : 1;
}

// Reads tag and payload bounds of the next field; the position ends behind the field.
static int32_t read_field(scanner *scan, const ProtobufCMessageDescriptor *type, uint64_t end,
                          wire_field *out) {
  out->start = scan->position;
  uint64_t tag = 0, value = 0;
  if (!read_varint(scan, end, &tag))
    return fail_at(scan, out->start, type, NULL, "expected a field, found the end of the data");
  out->wire_type = (uint32_t)(tag & 7);
  if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
    return fail_at(scan, out->start, type, NULL,
                   "expected a field number in [1, 2^29), found %" PRIu64, tag >> 3);
  out->number = (uint32_t)(tag >> 3);
  out->begin = scan->position;
  int whole = 0;
  switch (out->wire_type) {
    case kVarint:
      whole = read_varint(scan, end, &value);
      break;
    case kFixed64:
      whole = skip_bytes(scan, end, 8);
      break;
    case kFixed32:
      whole = skip_bytes(scan, end, 4);
      break;
    case kBytes:
      whole = read_varint(scan, end, &value);
      out->begin = scan->position;
      whole = whole && skip_bytes(scan, end, value);
      break;
    default:
      return fail_at(scan, out->start, type, NULL,
                     "found wire type %" PRIu32 ", expected 0, 1, 2 or 5, as ONNX uses them",
                     out->wire_type);
  }
  if (!whole)
    return fail_at(scan, out->start, type, NULL,
                   "field %" PRIu32
                   " reaches beyond the end of its message (truncated?); "
                   "found %" PRIu64 " bytes, expected %" PRIu64 " or more",
                   out->number, end - out->begin, wanted(out->wire_type, value));
  out->end = scan->position;
  return OPS_OK;
}

// The length of the UTF-8 character at `text`, 0 if it is none or is the zero character.
static size_t utf8_length(const uint8_t *text, size_t size) {
  static const uint32_t kSmallest[] = {0, 1, 0x80, 0x800, 0x10000};
  const uint8_t lead = text[0];
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || length > size) return 0;
  uint32_t code = length == 1 ? lead : lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((text[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (text[i] & 0x3fu);
  }
  const int surrogate = code >= 0xd800 && code < 0xe000;
  return code < kSmallest[length] || surrogate || code > 0x10ffff ? 0 : length;
}

static int is_clean_text(const uint8_t *text, uint64_t size) {
  while (size > 0) {
    const size_t length = utf8_length(text, size);
    if (length == 0) return 0;
    text += length;
    size -= length;
  }
  return 1;
}

// Whether [begin, end) is a sequence of whole elements of the given wire type.
static int is_whole_pack(scanner *scan, const wire_field *field, uint32_t element) {
  const uint64_t size = field->end - field->begin;
  if (element == kFixed32) return size % 4 == 0;
  if (element == kFixed64) return size % 8 == 0;
  uint64_t ignored;
  scan->position = field->begin;
  while (scan->position < field->end)
    if (!read_varint(scan, field->end, &ignored)) return 0;
  return 1;
}

// --- The outline -----------------------------------------------------------------------------

#define RAW_DATA_FIELD 9u  // of TensorProto
#define LENGTH_BYTES 5u    // a length below 2^35 as a varint of fixed width
#define OUTLINE_LEAST 65536u

static int32_t outline_put(scanner *scan, const void *data, uint64_t size) {
  rt_model_outline *out = scan->outline;
  if (size > out->capacity - out->size) {
    uint64_t capacity = out->capacity ? out->capacity : OUTLINE_LEAST;
    while (size > capacity - out->size) capacity *= 2;
    uint8_t *grown = realloc(out->data, (size_t)capacity);
    if (!grown)
      return ops_error_set(scan->error, OPS_ERROR_OUT_OF_MEMORY,
                           "no memory for a model's outline of %" PRIu64 " bytes", capacity);
    out->data = grown;
    out->capacity = capacity;
  }
  memcpy(out->data + out->size, data, (size_t)size);
  out->size += size;
  return OPS_OK;
}

static void write_length(uint8_t *out, uint64_t length) {
  for (uint32_t i = 0; i < LENGTH_BYTES; ++i, length >>= 7)
    out[i] = (uint8_t)((length & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

// The tag of a field of bytes and a length, which end at out->size.
static int32_t outline_begin(scanner *scan, uint32_t number, uint64_t length) {
  uint8_t head[5 + LENGTH_BYTES];
  uint32_t used = 0;
  for (uint64_t tag = (uint64_t)number << 3 | kBytes; used == 0 || tag; tag >>= 7)
    head[used++] = (uint8_t)((tag & 0x7f) | (tag >> 7 ? 0x80 : 0));
  write_length(head + used, length);
  return outline_put(scan, head, used + LENGTH_BYTES);
}

// A field that is no message.
static int32_t outline_field(scanner *scan, const ProtobufCMessageDescriptor *type,
                             const wire_field *field) {
  if (type != &onnx__tensor_proto__descriptor || field->number != RAW_DATA_FIELD)
    return outline_put(scan, scan->data + field->start, field->end - field->start);
  const rt_model_wire_raw raw = {field->begin, field->end - field->begin};
  OPS_RETURN_IF_ERROR(outline_begin(scan, field->number, sizeof raw));
  return outline_put(scan, &raw, sizeof raw);
}

// --- Messages --------------------------------------------------------------------------------

static int32_t scan_message(scanner *scan, const ProtobufCMessageDescriptor *type,
                            uint64_t end);

static int32_t scan_child(scanner *scan, const ProtobufCMessageDescriptor *type,
                          const ProtobufCFieldDescriptor *known, const wire_field *field) {
  if (++scan->depth > RT_MODEL_MAX_NESTING)
    return ops_error_set_cause(scan->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_LIMIT_EXCEEDED,
                               "byte %" PRIu64
                               ", %s.%s: messages are nested more than %d deep "
                               "(RT_MODEL_MAX_NESTING); flatten the subgraphs",
                               field->start, type->short_name, known->name,
                               RT_MODEL_MAX_NESTING);
  scan->position = field->begin;
  if (scan->outline) OPS_RETURN_IF_ERROR(outline_begin(scan, field->number, 0));
  const uint64_t begin = scan->outline ? scan->outline->size : 0;
  OPS_RETURN_IF_ERROR(scan_message(scan, known->descriptor, field->end));
  if (scan->outline)
    write_length(scan->outline->data + begin - LENGTH_BYTES, scan->outline->size - begin);
  --scan->depth;
  return OPS_OK;
}

// `seen` has a bit for each field that may occur once only, the highest bit for the oneof: no
// message of ONNX has more than one.
static int is_repeated_once(const ProtobufCMessageDescriptor *type,
                            const ProtobufCFieldDescriptor *known, uint64_t *seen) {
  const int one_of = (known->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
  if (!one_of &&
      (known->label == PROTOBUF_C_LABEL_REPEATED || known->type != PROTOBUF_C_TYPE_MESSAGE))
    return 0;
  const uint64_t index = one_of ? 63 : (uint64_t)(known - type->fields);
  if (index > 63) return 1;
  const uint64_t bit = (uint64_t)1 << index;
  const int again = (*seen & bit) != 0;
  *seen |= bit;
  return again;
}

static int32_t scan_known(scanner *scan, const ProtobufCMessageDescriptor *type,
                          const ProtobufCFieldDescriptor *known, const wire_field *field,
                          uint64_t *seen) {
  const uint32_t element = kWireTypes[known->type];
  if (is_repeated_once(type, known, seen))
    return fail_at(scan, field->start, type, known->name, "expected once, found again");
  if (field->wire_type != element) {
    const int packed = known->label == PROTOBUF_C_LABEL_REPEATED && field->wire_type == kBytes;
    if (!packed)
      return fail_at(scan, field->start, type, known->name,
                     "found wire type %" PRIu32 " of another field, expected %" PRIu32,
                     field->wire_type, element);
    return is_whole_pack(scan, field, element)
               ? OPS_OK
               : fail_at(scan, field->start, type, known->name, "the last element is cut off");
  }
  if (known->type == PROTOBUF_C_TYPE_MESSAGE) return scan_child(scan, type, known, field);
  if (known->type == PROTOBUF_C_TYPE_STRING &&
      !is_clean_text(scan->data + field->begin, field->end - field->begin))
    return fail_at(scan, field->start, type, known->name,
                   "expected UTF-8 text without zero bytes");
  return OPS_OK;
}

// Scans one message that reaches from the position to `end`.
static int32_t scan_message(scanner *scan, const ProtobufCMessageDescriptor *type,
                            uint64_t end) {
  if (++scan->messages > RT_MODEL_MAX_MESSAGES)
    return ops_error_set_cause(
        scan->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_LIMIT_EXCEEDED,
        "byte %" PRIu64 ": more than %" PRIu64
        " messages (RT_MODEL_MAX_MESSAGES); move lists of values into tensors",
        scan->position, RT_MODEL_MAX_MESSAGES);
  uint64_t seen = 0;
  while (scan->position < end) {
    wire_field field = {0};
    OPS_RETURN_IF_ERROR(read_field(scan, type, end, &field));
    const ProtobufCFieldDescriptor *known =
        protobuf_c_message_descriptor_get_field(type, field.number);
    if (known) OPS_RETURN_IF_ERROR(scan_known(scan, type, known, &field, &seen));
    if (known && scan->outline && known->type != PROTOBUF_C_TYPE_MESSAGE)
      OPS_RETURN_IF_ERROR(outline_field(scan, type, &field));
    scan->position = field.end;
  }
  return OPS_OK;
}

int32_t rt_model_wire_check(const ProtobufCMessageDescriptor *type, const uint8_t *data,
                            uint64_t size, ops_error *error) {
  scanner scan = {.data = data, .error = error};
  return scan_message(&scan, type, size);
}

int32_t rt_model_wire_outline(const ProtobufCMessageDescriptor *type, const uint8_t *data,
                              uint64_t size, rt_model_outline *out_outline, ops_error *error) {
  *out_outline = (rt_model_outline){0};
  scanner scan = {.data = data, .outline = out_outline, .error = error};
  return scan_message(&scan, type, size);
}

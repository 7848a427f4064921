// SPDX-License-Identifier: Apache-2.0
//
// TensorProto -> rt_model_tensor: finds where the data is, checks that it is as large as the
// shape says, and gives it the layout of the host. Raw bytes, and typed fields whose elements
// already have the right width, are used in place; other typed fields are narrowed once. What
// lies in a mapped file at an address that does not suit its elements is copied, but for large
// floating-point data: those are weights, which most kernels read once, to pack them.
#include <errno.h>
#include <inttypes.h>
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "model/decode.h"
#include "model/wire.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensor data is used in place");

// --- Typed fields --------------------------------------------------------------------------

enum { kFloatData, kInt32Data, kStringData, kInt64Data, kDoubleData, kUint64Data, kFieldCount };

static const char *const kFieldNames[kFieldCount] = {
    "float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data"};

// Which field holds a type, how many of its entries make an element (0: an entry makes a byte,
// whatever it holds), and the range of an entry, where it is wider than the element. Bit
// patterns of whole bytes are accepted with and without sign extension.
typedef struct typed_row {
  uint8_t field;
  uint8_t per_element;
  int64_t min;
  int64_t max;
} typed_row;

#define PATTERN8 kInt32Data, 1, INT8_MIN, UINT8_MAX
#define PACKED8 kInt32Data, 0, INT8_MIN, UINT8_MAX
#define CODE6 kInt32Data, 1, 0, 63
#define PATTERN16 kInt32Data, 1, INT16_MIN, UINT16_MAX

static const typed_row kTyped[OPS_TYPE_COUNT] = {
    [OPS_TYPE_FLOAT] = {kFloatData, 1, 0, 0},
    [OPS_TYPE_UINT8] = {kInt32Data, 1, 0, UINT8_MAX},
    [OPS_TYPE_INT8] = {kInt32Data, 1, INT8_MIN, INT8_MAX},
    [OPS_TYPE_UINT16] = {kInt32Data, 1, 0, UINT16_MAX},
    [OPS_TYPE_INT16] = {kInt32Data, 1, INT16_MIN, INT16_MAX},
    [OPS_TYPE_INT32] = {kInt32Data, 1, 0, 0},
    [OPS_TYPE_INT64] = {kInt64Data, 1, 0, 0},
    [OPS_TYPE_STRING] = {kStringData, 1, 0, 0},
    [OPS_TYPE_BOOL] = {kInt32Data, 1, 0, 1},
    [OPS_TYPE_FLOAT16] = {PATTERN16},
    [OPS_TYPE_DOUBLE] = {kDoubleData, 1, 0, 0},
    [OPS_TYPE_UINT32] = {kUint64Data, 1, 0, UINT32_MAX},
    [OPS_TYPE_UINT64] = {kUint64Data, 1, 0, 0},
    [OPS_TYPE_COMPLEX64] = {kFloatData, 2, 0, 0},
    [OPS_TYPE_COMPLEX128] = {kDoubleData, 2, 0, 0},
    [OPS_TYPE_BFLOAT16] = {PATTERN16},
    [OPS_TYPE_FLOAT8E4M3FN] = {PATTERN8},
    [OPS_TYPE_FLOAT8E4M3FNUZ] = {PATTERN8},
    [OPS_TYPE_FLOAT8E5M2] = {PATTERN8},
    [OPS_TYPE_FLOAT8E5M2FNUZ] = {PATTERN8},
    [OPS_TYPE_UINT4] = {PACKED8},
    [OPS_TYPE_INT4] = {PACKED8},
    [OPS_TYPE_FLOAT4E2M1] = {PACKED8},
    [OPS_TYPE_FLOAT8E8M0] = {PATTERN8},
    [OPS_TYPE_UINT2] = {PACKED8},
    [OPS_TYPE_INT2] = {PACKED8},
    [OPS_TYPE_FLOAT6E2M3] = {CODE6},
    [OPS_TYPE_FLOAT6E3M2] = {CODE6},
};

typedef struct field_view {
  const void *data;
  size_t count;
} field_view;

static field_view view_field(const Onnx__TensorProto *proto, int field) {
  const field_view views[kFieldCount] = {
      [kFloatData] = {proto->float_data, proto->n_float_data},
      [kInt32Data] = {proto->int32_data, proto->n_int32_data},
      [kStringData] = {proto->string_data, proto->n_string_data},
      [kInt64Data] = {proto->int64_data, proto->n_int64_data},
      [kDoubleData] = {proto->double_data, proto->n_double_data},
      [kUint64Data] = {proto->uint64_data, proto->n_uint64_data},
  };
  return views[field];
}

// Puts the low `width` bits, at most 8, at bit `position` of zeroed bytes.
static void put_bits(uint8_t *out, uint64_t position, uint32_t width, uint64_t bits) {
  const uint32_t shift = position % 8;
  out[position / 8] |= (uint8_t)(bits << shift);
  if (shift + width > 8) out[position / 8 + 1] |= (uint8_t)(bits >> (8 - shift));
}

// Copies entries of int32_data or uint64_data into elements of `width` bits.
static int32_t narrow(rt_model_decoder *decoder, const typed_row *row, field_view view,
                      uint32_t width, uint8_t *out) {
  for (size_t i = 0; i < view.count; ++i) {
    const int is_signed = row->field == kInt32Data;
    const uint64_t bits = is_signed ? (uint64_t)((const int32_t *)view.data)[i]
                                    : ((const uint64_t *)view.data)[i];
    const int64_t value = (int64_t)bits;
    if (value < row->min || value > row->max)
      return ops_error_set_cause(
          decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
          "entry %zu of %s is %" PRId64 "; expected %" PRId64 " to %" PRId64, i,
          kFieldNames[row->field], value, row->min, row->max);
    if (width % 8 == 0)
      memcpy(out + i * (width / 8), &bits, width / 8);
    else
      put_bits(out, i * width, width, bits);
  }
  return OPS_OK;
}

// The data is in the one typed field that belongs to the type.
static int32_t decode_typed(rt_model_decoder *decoder, const Onnx__TensorProto *proto,
                            rt_model_tensor *out) {
  const typed_row *row = &kTyped[out->elem_type];
  const field_view view = view_field(proto, row->field);
  const uint32_t bits = rt_model_elem_type_bits(out->elem_type);
  const int is_string = out->elem_type == OPS_TYPE_STRING;
  const uint64_t expected =
      row->per_element ? (uint64_t)out->element_count * row->per_element : out->size;
  if (view.count != expected)
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
        "%s has %zu entries; expected %" PRIu64 " for %" PRId64 " elements of type %s",
        kFieldNames[row->field], view.count, expected, out->element_count,
        rt_model_elem_type_name(out->elem_type));
  if (is_string) return rt_model_decode_bytes(decoder, view.count, view.data, &out->strings);
  out->data = out->size ? view.data : NULL;
  if (row->min == row->max || out->size == 0) return OPS_OK;
  uint8_t *narrowed = rt_model_decoder_alloc(decoder, out->size, 1);
  if (!narrowed) return rt_model_decoder_no_memory(decoder);
  memset(narrowed, 0, out->size);
  out->data = narrowed;
  return narrow(decoder, row, view, row->per_element ? bits : 8, narrowed);
}

// --- Raw and external data -----------------------------------------------------------------

// The contents of raw_data, in the message or in the mapped file.
static ops_str raw_of(const rt_model_decoder *decoder, const Onnx__TensorProto *proto) {
  const ProtobufCBinaryData *field = &proto->raw_data;
  if (!decoder->file.data || !proto->has_raw_data)
    return (ops_str){(const char *)field->data, field->len};
  rt_model_wire_raw raw;
  memcpy(&raw, field->data, sizeof raw);
  return (ops_str){(const char *)decoder->file.data + raw.offset, raw.size};
}

static int is_floating(int32_t elem_type) {
  const uint64_t floating = OPS_TYPE_BIT(OPS_TYPE_FLOAT) | OPS_TYPE_BIT(OPS_TYPE_DOUBLE) |
                            OPS_TYPE_BIT(OPS_TYPE_FLOAT16) | OPS_TYPE_BIT(OPS_TYPE_BFLOAT16);
  return (floating & OPS_TYPE_BIT(elem_type)) != 0;
}

// Uses data of a mapped file where they lie, or copies them.
static int32_t place_mapped(rt_model_decoder *decoder, const void *data, rt_model_tensor *out) {
  const uint32_t bits = rt_model_elem_type_bits(out->elem_type);
  const int is_aligned = bits <= 8 || (uintptr_t)data % (bits / 8) == 0;
  if (is_aligned || (out->size >= RT_MODEL_UNALIGNED_BYTES && is_floating(out->elem_type))) {
    out->data = data;
    out->is_mapped = 1;
    return OPS_OK;
  }
  void *copy = rt_model_arena_alloc(&decoder->arena, out->size);
  if (!copy) return rt_model_decoder_no_memory(decoder);
  memcpy(copy, data, (size_t)out->size);
  out->data = copy;
  return OPS_OK;
}

static int32_t decode_raw(rt_model_decoder *decoder, const Onnx__TensorProto *proto,
                          rt_model_tensor *out) {
  const ops_str raw = raw_of(decoder, proto);
  if (raw.size != out->size)
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
        "raw_data has %" PRIu64 " bytes; expected %" PRIu64 " for %" PRId64
        " elements of type %s",
        raw.size, out->size, out->element_count, rt_model_elem_type_name(out->elem_type));
  if (out->size == 0) return OPS_OK;
  if (decoder->file.data) return place_mapped(decoder, raw.data, out);
  out->data = raw.data;
  return OPS_OK;
}

static const char *external_entry(const Onnx__TensorProto *proto, const char *key) {
  for (size_t i = 0; i < proto->n_external_data; ++i) {
    const Onnx__StringStringEntryProto *entry = proto->external_data[i];
    if (entry->key && strcmp(entry->key, key) == 0) return entry->value ? entry->value : "";
  }
  return NULL;
}

// A decimal number of the external_data entries; `fallback` if the entry is absent.
static int32_t external_number(rt_model_decoder *decoder, const Onnx__TensorProto *proto,
                               const char *key, uint64_t fallback, uint64_t *out_number) {
  *out_number = fallback;
  const char *text = external_entry(proto, key);
  if (!text) return OPS_OK;
  char *end = NULL;
  errno = 0;
  *out_number = strtoull(text, &end, 10);
  if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0) return OPS_OK;
  return ops_error_set_cause(
      decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
      "external_data entry '%s' is '%s'; expected a number of bytes", key, text);
}

static int32_t decode_external(rt_model_decoder *decoder, const Onnx__TensorProto *proto,
                               rt_model_tensor *out) {
  const char *location = external_entry(proto, "location");
  if (!location)
    return ops_error_set_cause(decoder->error, OPS_ERROR_INVALID_MODEL,
                               OPS_CAUSE_MALFORMED_TENSOR,
                               "data is external but external_data has no entry 'location'");
  uint64_t offset, length, file_size, end;
  const uint8_t *data;
  OPS_RETURN_IF_ERROR(external_number(decoder, proto, "offset", 0, &offset));
  OPS_RETURN_IF_ERROR(external_number(decoder, proto, "length", out->size, &length));
  if (length != out->size)
    return ops_error_set_cause(decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_EXTERNAL_SIZE,
                               "external data has length %" PRIu64 "; expected %" PRIu64
                               " for %" PRId64 " elements of type %s",
                               length, out->size, out->element_count,
                               rt_model_elem_type_name(out->elem_type));
  OPS_RETURN_IF_ERROR(
      rt_model_external_map(&decoder->external, location, &data, &file_size, decoder->error));
  if (!ops_checked_add(offset, length, &end) || end > file_size)
    return ops_error_set_cause(decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_EXTERNAL_SIZE,
                               "external data reaches from byte %" PRIu64 " over %" PRIu64
                               " bytes, but the file '%s' has %" PRIu64
                               "; the file is truncated or belongs to another model",
                               offset, length, location, file_size);
  return out->size ? place_mapped(decoder, data + offset, out) : OPS_OK;
}

// --- Whole tensors -------------------------------------------------------------------------

static int32_t decode_shape(rt_model_decoder *decoder, size_t rank, const int64_t *dims,
                            int64_t *out_count) {
  if (rank > OPS_MAX_RANK)
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
        "has %zu dimensions; expected at most %d (OPS_MAX_RANK)", rank, OPS_MAX_RANK);
  for (size_t i = 0; i < rank; ++i)
    if (dims[i] < 0)
      return ops_error_set_cause(
          decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
          "dimension %zu is %" PRId64 "; expected 0 or more", i, dims[i]);
  if (!ops_checked_count(dims, (int32_t)rank, out_count))
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
        "the product of its %zu dimensions exceeds 2^63 - 1 elements", rank);
  return OPS_OK;
}

static int32_t check_elem_type(rt_model_decoder *decoder, int32_t elem_type) {
  if (elem_type > 0 && elem_type < OPS_TYPE_COUNT) return OPS_OK;
  return ops_error_set_cause(decoder->error,
                             elem_type <= 0 ? OPS_ERROR_INVALID_MODEL : OPS_ERROR_UNSUPPORTED,
                             OPS_CAUSE_TYPE_UNSUPPORTED,
                             "element type %" PRId32
                             " is not known; expected 1 to %d, as "
                             "TensorProto.DataType numbers them",
                             elem_type, OPS_TYPE_COUNT - 1);
}

static int32_t size_of_elements(rt_model_decoder *decoder, rt_model_tensor *out) {
  uint64_t bits, padded;
  if (!ops_checked_mul((uint64_t)out->element_count, rt_model_elem_type_bits(out->elem_type),
                       &bits) ||
      !ops_checked_add(bits, 7, &padded))
    return ops_error_set_cause(decoder->error, OPS_ERROR_INVALID_MODEL,
                               OPS_CAUSE_MALFORMED_TENSOR,
                               "%" PRId64 " elements of type %s exceed 2^64 bits",
                               out->element_count, rt_model_elem_type_name(out->elem_type));
  out->size = padded / 8;
  return OPS_OK;
}

// The data must be in one place only.
static int32_t check_places(rt_model_decoder *decoder, const Onnx__TensorProto *proto,
                            const rt_model_tensor *tensor) {
  const int external = proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  const uint64_t raw_size = raw_of(decoder, proto).size;
  const int raw = proto->has_raw_data && (raw_size > 0 || tensor->element_count == 0);
  const int own_field = kTyped[tensor->elem_type].field;
  for (int field = 0; field < kFieldCount; ++field) {
    if (view_field(proto, field).count == 0) continue;
    if (external || raw || field != own_field)
      return ops_error_set_cause(
          decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
          "holds data in %s; expected only %s for type %s", kFieldNames[field],
          external ? "external data"
          : raw    ? "raw_data"
                   : kFieldNames[own_field],
          rt_model_elem_type_name(tensor->elem_type));
  }
  if ((external && raw && raw_size > 0) ||
      (tensor->elem_type == OPS_TYPE_STRING && (external || raw_size > 0)))
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
        "holds data in %s; expected only %s for type %s",
        raw_size > 0 ? "raw_data" : "an external file",
        tensor->elem_type != OPS_TYPE_STRING ? "external data" : "string_data",
        rt_model_elem_type_name(tensor->elem_type));
  if (proto->segment)
    return ops_error_set(decoder->error, OPS_ERROR_UNSUPPORTED,
                         "is a segment of a larger tensor; store it whole or as external data");
  return OPS_OK;
}

// A byte of a bool tensor is 0 or 1, so that kernels may read it as they like.
static int32_t check_bools(rt_model_decoder *decoder, const rt_model_tensor *tensor) {
  const uint8_t *bytes = tensor->data;
  for (uint64_t i = 0; i < tensor->size; ++i)
    if (bytes[i] > 1)
      return ops_error_set_cause(
          decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
          "element %" PRIu64 " of a bool tensor is %d; expected 0 or 1", i, bytes[i]);
  return OPS_OK;
}

static int32_t decode_data(rt_model_decoder *decoder, const Onnx__TensorProto *proto,
                           rt_model_tensor *out) {
  OPS_RETURN_IF_ERROR(check_places(decoder, proto, out));
  if (proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
    return decode_external(decoder, proto, out);
  if (proto->has_raw_data && out->elem_type != OPS_TYPE_STRING &&
      view_field(proto, kTyped[out->elem_type].field).count == 0)
    return decode_raw(decoder, proto, out);
  return decode_typed(decoder, proto, out);
}

static int32_t decode_tensor(rt_model_decoder *decoder, const Onnx__TensorProto *proto,
                             rt_model_tensor *out) {
  out->elem_type = proto->data_type;
  OPS_RETURN_IF_ERROR(check_elem_type(decoder, out->elem_type));
  OPS_RETURN_IF_ERROR(decode_shape(decoder, proto->n_dims, proto->dims, &out->element_count));
  out->rank = (int32_t)proto->n_dims;
  out->dims = proto->dims;
  OPS_RETURN_IF_ERROR(size_of_elements(decoder, out));
  OPS_RETURN_IF_ERROR(decode_data(decoder, proto, out));
  return out->elem_type == OPS_TYPE_BOOL ? check_bools(decoder, out) : OPS_OK;
}

int32_t rt_model_decode_tensor(rt_model_decoder *decoder, const Onnx__TensorProto *proto,
                               rt_model_tensor *out) {
  *out = (rt_model_tensor){.name = rt_model_str(proto->name)};
  const int32_t status = decode_tensor(decoder, proto, out);
  if (status != OPS_OK)
    ops_error_prefix(decoder->error, "tensor '%.*s'", OPS_STR_FMT(out->name));
  return status;
}

static int32_t check_sparse(rt_model_decoder *decoder, const rt_model_sparse_tensor *sparse) {
  const rt_model_tensor *values = &sparse->values, *indices = &sparse->indices;
  const int shapes_fit =
      values->rank == 1 && indices->elem_type == OPS_TYPE_INT64 &&
      (indices->rank == 1 || (indices->rank == 2 && indices->dims[1] == sparse->rank)) &&
      indices->dims[0] == values->dims[0];
  if (!shapes_fit)
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
        "%" PRId64 " values of rank %" PRId32 " and %" PRId64 " indices of rank %" PRId32
        " and type %s do not fit; expected values of shape [n] and int64 indices of shape [n] "
        "or [n, %" PRId32 "]",
        values->element_count, values->rank, indices->element_count, indices->rank,
        rt_model_elem_type_name(indices->elem_type), sparse->rank);
  int64_t total;
  OPS_RETURN_IF_ERROR(decode_shape(decoder, (size_t)sparse->rank, sparse->dims, &total));
  const int64_t *index = indices->data;
  for (int64_t i = 0; i < indices->element_count; ++i) {
    const int64_t bound = indices->rank == 1 ? total : sparse->dims[i % sparse->rank];
    if (index[i] < 0 || index[i] >= bound)
      return ops_error_set_cause(decoder->error, OPS_ERROR_INVALID_MODEL,
                                 OPS_CAUSE_MALFORMED_TENSOR,
                                 "entry %" PRId64 " of the indices is %" PRId64
                                 "; expected 0 or more and less than %" PRId64,
                                 i, index[i], bound);
  }
  return OPS_OK;
}

static int32_t decode_sparse(rt_model_decoder *decoder, const Onnx__SparseTensorProto *proto,
                             rt_model_sparse_tensor *out) {
  if (!proto->values || !proto->indices)
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
        "has no %s; expected values and indices", proto->values ? "indices" : "values");
  OPS_RETURN_IF_ERROR(rt_model_decode_tensor(decoder, proto->values, &out->values));
  OPS_RETURN_IF_ERROR(rt_model_decode_tensor(decoder, proto->indices, &out->indices));
  int64_t total;
  OPS_RETURN_IF_ERROR(decode_shape(decoder, proto->n_dims, proto->dims, &total));
  out->rank = (int32_t)proto->n_dims;
  out->dims = proto->dims;
  return check_sparse(decoder, out);
}

int32_t rt_model_decode_sparse_tensor(rt_model_decoder *decoder,
                                      const Onnx__SparseTensorProto *proto,
                                      rt_model_sparse_tensor *out) {
  memset(out, 0, sizeof *out);
  const int32_t status = decode_sparse(decoder, proto, out);
  if (status != OPS_OK)
    ops_error_prefix(decoder->error, "sparse tensor '%s'",
                     proto->values && proto->values->name ? proto->values->name : "");
  return status;
}

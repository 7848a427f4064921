// SPDX-License-Identifier: Apache-2.0
//
// AttributeProto -> rt_model_attribute. One table says, for each kind, in which field of the
// message its value lies and how that is decoded; the same table infers the kind of
// attributes that early exporters wrote without one.
#include <ops_support/error.h>
#include <stddef.h>

#include "model/decode.h"

typedef int32_t (*decode_fn)(rt_model_decoder *, const Onnx__AttributeProto *, size_t count,
                             const void *field, rt_model_attribute *out);

// Decoding of one kind of messages, one message after the other into an array of C structs.
// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses.
#define DECODE_MESSAGES(function, message, type, member, decode)                        \
  static int32_t function(rt_model_decoder *decoder, const Onnx__AttributeProto *proto, \
                          size_t count, const void *field, rt_model_attribute *out) {   \
    (void)proto;                                                                        \
    message *const *messages = field;                                                   \
    type *items = rt_model_decoder_alloc(decoder, count, sizeof *items);                \
    if (!items) return rt_model_decoder_no_memory(decoder);                             \
    for (size_t i = 0; i < count; ++i)                                                  \
      OPS_RETURN_IF_ERROR(decode(decoder, messages[i], &items[i]));                     \
    out->member = items;                                                                \
    return OPS_OK;                                                                      \
  }
// NOLINTEND(bugprone-macro-parentheses)

DECODE_MESSAGES(decode_tensors, Onnx__TensorProto, rt_model_tensor, tensors,
                rt_model_decode_tensor)
DECODE_MESSAGES(decode_graphs, Onnx__GraphProto, rt_model_graph, graphs, rt_model_decode_graph)
DECODE_MESSAGES(decode_sparse, Onnx__SparseTensorProto, rt_model_sparse_tensor, sparse_tensors,
                rt_model_decode_sparse_tensor)
DECODE_MESSAGES(decode_types, Onnx__TypeProto, rt_model_type, types, rt_model_decode_type)

static int32_t decode_floats(rt_model_decoder *decoder, const Onnx__AttributeProto *proto,
                             size_t count, const void *field, rt_model_attribute *out) {
  (void)decoder, (void)proto, (void)count;
  out->floats = field;
  return OPS_OK;
}

static int32_t decode_ints(rt_model_decoder *decoder, const Onnx__AttributeProto *proto,
                           size_t count, const void *field, rt_model_attribute *out) {
  (void)decoder, (void)proto, (void)count;
  out->ints = field;
  return OPS_OK;
}

static int32_t decode_strings(rt_model_decoder *decoder, const Onnx__AttributeProto *proto,
                              size_t count, const void *field, rt_model_attribute *out) {
  (void)proto;
  return rt_model_decode_bytes(decoder, count, field, &out->strings);
}

// How the presence of a field is recorded: a list has a count, a message a pointer, a scalar a
// flag. A scalar that is absent has its default, 0 or "".
enum { kList, kMessage, kScalar };

typedef struct kind_row {
  uint8_t presence;
  uint16_t quantifier;  // offset of the count or the flag
  uint16_t value;       // offset of the value
  decode_fn decode;
} kind_row;

#define LIST(field, decode)                                                                  \
  {                                                                                          \
    kList, offsetof(Onnx__AttributeProto, n_##field), offsetof(Onnx__AttributeProto, field), \
        decode                                                                               \
  }
#define MESSAGE(field, decode) \
  { kMessage, 0, offsetof(Onnx__AttributeProto, field), decode }
#define SCALAR(field, decode)                             \
  {                                                       \
    kScalar, offsetof(Onnx__AttributeProto, has_##field), \
        offsetof(Onnx__AttributeProto, field), decode     \
  }

static const kind_row kKinds[] = {
    [RT_MODEL_ATTRIBUTE_FLOAT] = SCALAR(f, decode_floats),
    [RT_MODEL_ATTRIBUTE_INT] = SCALAR(i, decode_ints),
    [RT_MODEL_ATTRIBUTE_STRING] = SCALAR(s, decode_strings),
    [RT_MODEL_ATTRIBUTE_TENSOR] = MESSAGE(t, decode_tensors),
    [RT_MODEL_ATTRIBUTE_GRAPH] = MESSAGE(g, decode_graphs),
    [RT_MODEL_ATTRIBUTE_FLOATS] = LIST(floats, decode_floats),
    [RT_MODEL_ATTRIBUTE_INTS] = LIST(ints, decode_ints),
    [RT_MODEL_ATTRIBUTE_STRINGS] = LIST(strings, decode_strings),
    [RT_MODEL_ATTRIBUTE_TENSORS] = LIST(tensors, decode_tensors),
    [RT_MODEL_ATTRIBUTE_GRAPHS] = LIST(graphs, decode_graphs),
    [RT_MODEL_ATTRIBUTE_SPARSE_TENSOR] = MESSAGE(sparse_tensor, decode_sparse),
    [RT_MODEL_ATTRIBUTE_SPARSE_TENSORS] = LIST(sparse_tensors, decode_sparse),
    [RT_MODEL_ATTRIBUTE_TYPE] = MESSAGE(tp, decode_types),
    [RT_MODEL_ATTRIBUTE_TYPES] = LIST(type_protos, decode_types),
};
enum { kKindCount = sizeof kKinds / sizeof kKinds[0] };

static const void *field_at(const Onnx__AttributeProto *proto, uint16_t offset) {
  return (const char *)proto + offset;
}

// The number of values in the field of a kind.
static size_t count_values(const Onnx__AttributeProto *proto, const kind_row *row) {
  if (row->presence == kList) return *(const size_t *)field_at(proto, row->quantifier);
  if (row->presence == kMessage) return *(void *const *)field_at(proto, row->value) != NULL;
  return *(const protobuf_c_boolean *)field_at(proto, row->quantifier) != 0;
}

// The kind whose field holds a value, other than `except`; 0 if there is none.
static int32_t find_filled_kind(const Onnx__AttributeProto *proto, int32_t except) {
  for (int32_t kind = 1; kind < kKindCount; ++kind)
    if (kind != except && count_values(proto, &kKinds[kind]) > 0) return kind;
  return 0;
}

// A reference has a kind and no value.
static int32_t decode_reference(rt_model_decoder *decoder, const Onnx__AttributeProto *proto,
                                rt_model_attribute *out) {
  out->ref_attr_name = rt_model_str(proto->ref_attr_name);
  if (find_filled_kind(proto, 0))
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ATTRIBUTE,
        "refers to attribute '%s' of its function and also has a value; expected "
        "one of the two",
        proto->ref_attr_name);
  return OPS_OK;
}

static int32_t decode_value(rt_model_decoder *decoder, const Onnx__AttributeProto *proto,
                            rt_model_attribute *out) {
  const int32_t other = find_filled_kind(proto, out->kind);
  if (other)
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ATTRIBUTE,
        "is of kind %s and holds a value of kind %s", rt_model_attribute_kind_name(out->kind),
        rt_model_attribute_kind_name(other));
  const kind_row *row = &kKinds[out->kind];
  out->count = row->presence == kScalar ? 1 : count_values(proto, row);
  if (out->count == 0 && row->presence == kMessage)
    return ops_error_set_cause(decoder->error, OPS_ERROR_INVALID_MODEL,
                               OPS_CAUSE_WRONG_ATTRIBUTE, "is of kind %s and holds no value",
                               rt_model_attribute_kind_name(out->kind));
  // A list field is a pointer to the elements, any other is the one element itself.
  const void *field = field_at(proto, row->value);
  if (row->presence == kList) field = *(void *const *)field;
  return row->decode(decoder, proto, out->count, field, out);
}

static int32_t decode_attribute(rt_model_decoder *decoder, const Onnx__AttributeProto *proto,
                                rt_model_attribute *out) {
  out->kind = (int32_t)proto->type;
  if (!proto->has_type || out->kind == 0) out->kind = find_filled_kind(proto, 0);
  if (out->kind <= 0 || out->kind >= kKindCount)
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ATTRIBUTE,
        "has neither a known kind nor a value (kind %d)", (int)proto->type);
  if (proto->ref_attr_name && proto->ref_attr_name[0])
    return decode_reference(decoder, proto, out);
  return decode_value(decoder, proto, out);
}

int32_t rt_model_decode_attributes(rt_model_decoder *decoder, size_t count,
                                   Onnx__AttributeProto *const *protos,
                                   const rt_model_attribute **out_attributes) {
  rt_model_attribute *attributes = rt_model_decoder_alloc(decoder, count, sizeof *attributes);
  if (!attributes) return rt_model_decoder_no_memory(decoder);
  for (size_t i = 0; i < count; ++i) {
    attributes[i].name = rt_model_str(protos[i]->name);
    const int32_t status = decode_attribute(decoder, protos[i], &attributes[i]);
    if (status != OPS_OK) {
      ops_error_prefix(decoder->error, "attribute '%.*s'", OPS_STR_FMT(attributes[i].name));
      return status;
    }
  }
  *out_attributes = attributes;
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// Private. A first look at hostile bytes, before the protobuf decoder gets them.
#ifndef RT_MODEL_WIRE_H_
#define RT_MODEL_WIRE_H_

#include <ops/status.h>
#include <protobuf-c/protobuf-c.h>

// Checks that `size` bytes are one well-formed message of the described type: every field is
// whole and has the wire type of its declaration, strings are UTF-8 without zero bytes,
// singular messages occur once, and the limits on nesting and on the number of messages
// (model.h) hold. Fields that the description does not know are allowed and skipped. The
// message of an error gives the offset and the field.
int32_t rt_model_wire_check(const ProtobufCMessageDescriptor *type, const uint8_t *data,
                            uint64_t size, ops_error *error);

// Where the contents of a raw_data field lie in the checked bytes.
typedef struct rt_model_wire_raw {
  uint64_t offset;
  uint64_t size;
} rt_model_wire_raw;

// A message written anew without the contents of TensorProto.raw_data, in place of which each
// field holds the sizeof(rt_model_wire_raw) bytes of an rt_model_wire_raw.
typedef struct rt_model_outline {
  uint8_t *data;  // malloc
  uint64_t size;
  uint64_t capacity;
} rt_model_outline;

// Checks like rt_model_wire_check and makes the outline on the way, so that the contents of
// weights are never touched. The caller frees out_outline->data, also after a failure.
int32_t rt_model_wire_outline(const ProtobufCMessageDescriptor *type, const uint8_t *data,
                              uint64_t size, rt_model_outline *out_outline, ops_error *error);

#endif  // RT_MODEL_WIRE_H_

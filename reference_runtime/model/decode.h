// SPDX-License-Identifier: Apache-2.0
//
// Private. The steps from protobuf-c's messages to the structs of model.h. Nothing that lies in
// the messages is copied unless its layout differs: strings and tensor data stay where the
// protobuf decoder put them, in the same arena.
#ifndef RT_MODEL_DECODE_H_
#define RT_MODEL_DECODE_H_

#include "model/arena.h"
#include "model/external.h"
#include "model/file.h"
#include "model/model.h"
#include "onnx-ml.pb-c.h"

typedef struct rt_model_decoder {
  rt_model_arena arena;
  rt_model_external external;
  rt_model_file file;  // mapped; data NULL: raw data were copied out of the bytes
  ops_error *error;
} rt_model_decoder;

// Checks and unpacks `size` bytes into the arena; the message needs no freeing. If they are
// those of decoder->file, raw_data fields hold an rt_model_wire_raw in place of their contents.
int32_t rt_model_unpack(rt_model_decoder *decoder, const ProtobufCMessageDescriptor *type,
                        const void *data, uint64_t size, ProtobufCMessage **out_message);

// Each fills *out from a message; on failure *out is unspecified.
int32_t rt_model_decode_model(rt_model_decoder *decoder, const Onnx__ModelProto *proto,
                              rt_model *out);
int32_t rt_model_decode_graph(rt_model_decoder *decoder, const Onnx__GraphProto *proto,
                              rt_model_graph *out);
int32_t rt_model_decode_type(rt_model_decoder *decoder, const Onnx__TypeProto *proto,
                             rt_model_type *out);
int32_t rt_model_decode_tensor(rt_model_decoder *decoder, const Onnx__TensorProto *proto,
                               rt_model_tensor *out);
int32_t rt_model_decode_sparse_tensor(rt_model_decoder *decoder,
                                      const Onnx__SparseTensorProto *proto,
                                      rt_model_sparse_tensor *out);
int32_t rt_model_decode_attributes(rt_model_decoder *decoder, size_t count,
                                   Onnx__AttributeProto *const *protos,
                                   const rt_model_attribute **out_attributes);

// A zeroed array from the arena, NULL if there is no memory; an empty one is not NULL.
void *rt_model_decoder_alloc(rt_model_decoder *decoder, uint64_t count, uint64_t size);

// Says that the budget or the system's memory is exhausted.
int32_t rt_model_decoder_no_memory(rt_model_decoder *decoder);

ops_str rt_model_str(const char *text);

// Turns an array of C strings, or of byte strings, into ops_str.
int32_t rt_model_decode_strings(rt_model_decoder *decoder, size_t count, char *const *texts,
                                const ops_str **out_strings);
int32_t rt_model_decode_bytes(rt_model_decoder *decoder, size_t count,
                              const ProtobufCBinaryData *bytes, const ops_str **out_strings);

#endif  // RT_MODEL_DECODE_H_

// SPDX-License-Identifier: Apache-2.0
//
// For tests: a writer of protobuf's wire format, so that a test can build any model, valid or
// not, byte by byte. Field numbers are those of onnx-ml.proto.
#ifndef RT_MODEL_MODEL_TEST_UTIL_H_
#define RT_MODEL_MODEL_TEST_UTIL_H_

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A growing buffer. Zero-initialise; pb_add_* append to it; free(data) at the end, or give it
// to pb_add_message, which does so.
typedef struct pb {
  uint8_t *data;
  size_t size;
  size_t capacity;
} pb;

static inline void pb_raw(pb *out, const void *data, size_t size) {
  if (out->size + size > out->capacity) {
    out->capacity = (out->size + size) * 2 + 64;
    out->data = realloc(out->data, out->capacity);
    if (!out->data) abort();
  }
  if (size) memcpy(out->data + out->size, data, size);
  out->size += size;
}

static inline void pb_varint(pb *out, uint64_t value) {
  do {
    const uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    pb_raw(out, &byte, 1);
    value >>= 7;
  } while (value);
}

static inline void pb_add_int(pb *out, uint32_t field, int64_t value) {
  pb_varint(out, field << 3);
  pb_varint(out, (uint64_t)value);
}

static inline void pb_add_float(pb *out, uint32_t field, float value) {
  pb_varint(out, field << 3 | 5);
  pb_raw(out, &value, 4);
}

static inline void pb_add_bytes(pb *out, uint32_t field, const void *data, size_t size) {
  pb_varint(out, field << 3 | 2);
  pb_varint(out, size);
  pb_raw(out, data, size);
}

static inline void pb_add_str(pb *out, uint32_t field, const char *text) {
  pb_add_bytes(out, field, text, strlen(text));
}

// Appends `child` as a message and frees it.
static inline void pb_add_message(pb *out, uint32_t field, pb child) {
  pb_add_bytes(out, field, child.data, child.size);
  free(child.data);
}

// --- ONNX's messages -----------------------------------------------------------------------

// A tensor type; a dimension of -1 becomes the symbol "N", -2 one without any value.
static inline pb pb_tensor_type(int32_t elem_type, int rank, const int64_t *dims) {
  pb shape = {0}, tensor = {0}, type = {0};
  for (int i = 0; i < rank; ++i) {
    pb dim = {0};
    if (dims[i] >= 0) pb_add_int(&dim, 1, dims[i]);
    if (dims[i] == -1) pb_add_str(&dim, 2, "N");
    pb_add_message(&shape, 1, dim);
  }
  pb_add_int(&tensor, 1, elem_type);
  pb_add_message(&tensor, 2, shape);
  pb_add_message(&type, 1, tensor);
  return type;
}

static inline pb pb_value_info(const char *name, pb type) {
  pb info = {0};
  pb_add_str(&info, 1, name);
  pb_add_message(&info, 2, type);
  return info;
}

static inline pb pb_float_info(const char *name, int64_t dim) {
  return pb_value_info(name, pb_tensor_type(1, 1, &dim));
}

// `inputs` and `outputs` are lists of names separated by commas; NULL means none.
static inline void pb_add_names(pb *out, uint32_t field, const char *names) {
  while (names) {
    const char *comma = strchr(names, ',');
    pb_add_bytes(out, field, names, comma ? (size_t)(comma - names) : strlen(names));
    names = comma ? comma + 1 : NULL;
  }
}

static inline pb pb_node(const char *op_type, const char *name, const char *inputs,
                         const char *outputs) {
  pb node = {0};
  pb_add_names(&node, 1, inputs);
  pb_add_names(&node, 2, outputs);
  pb_add_str(&node, 3, name);
  pb_add_str(&node, 4, op_type);
  return node;
}

static inline pb pb_attribute(const char *name, int32_t kind) {
  pb attribute = {0};
  pb_add_str(&attribute, 1, name);
  pb_add_int(&attribute, 20, kind);
  return attribute;
}

static inline pb pb_int_attribute(const char *name, int64_t value) {
  pb attribute = pb_attribute(name, 2);
  pb_add_int(&attribute, 3, value);
  return attribute;
}

static inline pb pb_tensor(const char *name, int32_t elem_type, int rank, const int64_t *dims) {
  pb tensor = {0};
  for (int i = 0; i < rank; ++i) pb_add_int(&tensor, 1, dims[i]);
  pb_add_int(&tensor, 2, elem_type);
  pb_add_str(&tensor, 8, name);
  return tensor;
}

// A model of IR version 8 that imports `opset` of the standard domain, around a graph.
static inline pb pb_model(pb graph, int64_t opset) {
  pb model = {0}, import = {0};
  pb_add_int(&model, 1, 8);
  pb_add_str(&model, 2, "test");
  pb_add_message(&model, 7, graph);
  pb_add_str(&import, 1, "");
  pb_add_int(&import, 2, opset);
  pb_add_message(&model, 8, import);
  return model;
}

#endif  // RT_MODEL_MODEL_TEST_UTIL_H_

// SPDX-License-Identifier: Apache-2.0
//
// One tensor in one file: a TensorProto (.pb, as the ONNX test data uses) or numpy's .npy.
#ifndef RT_MODEL_TENSOR_FILE_H_
#define RT_MODEL_TENSOR_FILE_H_

#include "model/model.h"

// Owns everything that `tensor` points to.
typedef struct rt_tensor_file {
  rt_model_tensor tensor;
} rt_tensor_file;

// Reads a tensor; the bytes, not the name, tell which of the formats it is. A .npy may hold
// booleans, integers, floats of 16 to 64 bits or complex numbers, in either byte order, in C or
// Fortran order (which is rearranged). Everything else of numpy (objects, text, records, long
// double) is refused. Fails with IO, INVALID_MODEL, UNSUPPORTED or OUT_OF_MEMORY.
int32_t rt_tensor_file_read(const char *path, rt_tensor_file **out_file, ops_error *error);

// The same from bytes in memory; external data of a TensorProto is refused.
int32_t rt_tensor_file_read_bytes(const void *data, uint64_t size, rt_tensor_file **out_file,
                                  ops_error *error);

void rt_tensor_file_destroy(rt_tensor_file *file);

// Writes a tensor: numpy's format if `path` ends in ".npy", else a TensorProto with raw_data. A
// file of that name is replaced only when the new one is complete. UNSUPPORTED if numpy has
// no such type; INVALID_ARGUMENT if a TensorProto would exceed RT_MODEL_MAX_FILE_BYTES.
int32_t rt_tensor_file_write(const char *path, const rt_model_tensor *tensor, ops_error *error);

// The bytes of the TensorProto; the caller frees *out_bytes, NULL on failure.
int32_t rt_tensor_file_pack(const rt_model_tensor *tensor, uint8_t **out_bytes,
                            uint64_t *out_size, ops_error *error);

#endif  // RT_MODEL_TENSOR_FILE_H_

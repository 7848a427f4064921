// SPDX-License-Identifier: Apache-2.0
//
// One value in one file: beside tensors sequences, optionals and maps (SequenceProto,
// OptionalProto, MapProto).
#ifndef RT_MODEL_VALUE_FILE_H_
#define RT_MODEL_VALUE_FILE_H_

#include "model/model.h"

// A tensor, or a list of values: the elements of a sequence, the element of an optional, the
// values of a map.
typedef struct rt_model_value {
  int32_t kind;  // RT_MODEL_TYPE_TENSOR, _SEQUENCE, _OPTIONAL or _MAP
  rt_model_tensor tensor;
  struct rt_model_value *items;
  uint32_t count;  // of an optional: 0 or 1
  // MAP: `count` keys, in the member that `key_type`, STRING or an integer type, selects.
  int32_t key_type;
  const int64_t *keys;  // those of UINT64 bit by bit
  const ops_str *string_keys;
} rt_model_value;

// Owns everything that `value` points to.
typedef struct rt_value_file {
  rt_model_value value;
} rt_value_file;

// Reads a value of `kind`, which the bytes do not tell. A .npy file is a tensor. Fails with IO,
// INVALID_MODEL, UNSUPPORTED (sparse tensors inside) or OUT_OF_MEMORY.
int32_t rt_value_file_read(const char *path, int32_t kind, rt_value_file **out_file,
                           ops_error *error);
int32_t rt_value_file_read_bytes(const void *data, uint64_t size, int32_t kind,
                                 rt_value_file **out_file, ops_error *error);
void rt_value_file_destroy(rt_value_file *file);  // accepts NULL

// Writes a value, a tensor as rt_tensor_file_write does. UNSUPPORTED for anything else whose
// `path` ends in ".npy"; INVALID_MODEL for one that is nested too deep or whose elements
// differ in kind, which the format cannot say. A file of that name is replaced only when the
// new one is complete.
int32_t rt_value_file_write(const char *path, const rt_model_value *value, ops_error *error);

#endif  // RT_MODEL_VALUE_FILE_H_

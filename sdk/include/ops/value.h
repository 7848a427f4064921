// SPDX-License-Identifier: Apache-2.0
//
// Host accessors for values that are not plain tensors: strings, sequences, optionals, maps.
//
// An output of such a kind arrives as an empty value that the kernel fills. All slots are
// filled by the host. A value is used by one thread at a time; calls are legal from prepare and
// execute only. Tensors put into a value are copied from host memory; tensors read from one are
// borrowed until the call that received the value returns.
#ifndef OPS_VALUE_H_
#define OPS_VALUE_H_

#include <ops/status.h>
#include <ops/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a value, or the type of one, is.
#define OPS_VALUE_TENSOR 1
#define OPS_VALUE_STRINGS 2  // a tensor of strings
#define OPS_VALUE_SEQUENCE 3
#define OPS_VALUE_OPTIONAL 4
#define OPS_VALUE_MAP 5
#define OPS_VALUE_SPARSE 6  // a sparse tensor

typedef struct ops_value_api {
  uint64_t struct_size;

  // One of OPS_VALUE_….
  int32_t (*kind)(const ops_value *value);

  // STRINGS: shape of the tensor. *out_dims is borrowed until the shape changes.
  int32_t (*strings_shape)(const ops_value *value, int32_t *out_rank, const int64_t **out_dims,
                           ops_error *error);
  // STRINGS: sets the shape; every element becomes the empty string.
  int32_t (*strings_resize)(ops_value *value, int32_t rank, const int64_t *dims,
                            ops_error *error);
  // STRINGS: element at a row-major index. INVALID_ARGUMENT if outside.
  int32_t (*string_get)(const ops_value *value, uint64_t index, ops_str *out_text,
                        ops_error *error);
  // STRINGS: copies `text` into the element.
  int32_t (*string_set)(ops_value *value, uint64_t index, ops_str text, ops_error *error);

  // SEQUENCE
  int32_t (*sequence_size)(const ops_value *value, uint64_t *out_size, ops_error *error);
  int32_t (*sequence_get)(const ops_value *value, uint64_t index, ops_arg *out_item,
                          ops_error *error);
  // Inserts a copy of `item` before `index`; index == size appends.
  int32_t (*sequence_insert)(ops_value *value, uint64_t index, const ops_arg *item,
                             ops_error *error);
  int32_t (*sequence_erase)(ops_value *value, uint64_t index, ops_error *error);

  // OPTIONAL: *out_item is ABSENT when the optional is empty.
  int32_t (*optional_get)(const ops_value *value, ops_arg *out_item, ops_error *error);
  // OPTIONAL: a copy of `item`; ABSENT empties it.
  int32_t (*optional_set)(ops_value *value, const ops_arg *item, ops_error *error);

  // MAP: entries in order of insertion; keys are rank-0 tensors or strings.
  int32_t (*map_size)(const ops_value *value, uint64_t *out_size, ops_error *error);
  int32_t (*map_get)(const ops_value *value, uint64_t index, ops_arg *out_key,
                     ops_arg *out_item, ops_error *error);
  // MAP: inserts, or replaces the entry with an equal key.
  int32_t (*map_set)(ops_value *value, const ops_arg *key, const ops_arg *item,
                     ops_error *error);

  // A value of the provider's own: OPS_VALUE_STRINGS (rank 0), _SEQUENCE, _OPTIONAL or _MAP,
  // empty. What goes into another value, such as a map into a sequence, is made so.
  int32_t (*create)(int32_t kind, ops_value **out_value, ops_error *error);
  void (*release)(ops_value *value);  // of a value from create; accepts NULL

  // Makes `value` equal to `source`, which has the same kind. Tensors inside are shared, not
  // copied: how a kernel derives a sequence from another.
  int32_t (*assign)(ops_value *value, const ops_value *source, ops_error *error);
} ops_value_api;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_VALUE_H_

// SPDX-License-Identifier: Apache-2.0
//
// The host's own form of string tensors, sequences, optionals and maps (ops_value), with the
// table through which providers see them. What is put into a value is copied; copies of a
// sequence share its tensors, which never change.
#ifndef OPS_LOADER_VALUE_H_
#define OPS_LOADER_VALUE_H_

#include <ops/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

// An empty value of a kind: OPS_VALUE_STRINGS (rank 0, one empty string), _SEQUENCE, _OPTIONAL,
// _MAP.
int32_t ops_value_create(int32_t kind, ops_value **out_value, ops_error *error);
ops_value *ops_value_retain(ops_value *value);
void ops_value_release(ops_value *value);  // accepts NULL

// The table of accessors.
extern const ops_value_api ops_value_accessors;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_LOADER_VALUE_H_

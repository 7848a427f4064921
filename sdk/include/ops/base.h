// SPDX-License-Identifier: Apache-2.0
//
// Ground rules of the provider ABI: versions, strings, the size-first convention.
//
// Everything that crosses the boundary between host and provider obeys these rules:
//   - Only fixed-width integers, pointers, float and double. No enum, bool, bit-field or long.
//   - Constants are #define; unknown values must be rejected or ignored as the field says.
//   - A struct begins with `struct_size`, the size its writer compiled. Fields are only ever
//     appended. The exceptions are frozen and say so: ops_str, ops_key_value, ops_tensor,
//     ops_arg.
//   - *Tables and output structs*: a reader ignores an unknown tail, a writer never writes past
//     the struct_size it was given. *Input structs*: an unknown tail must be zero, otherwise
//     the callee answers OPS_ERROR_UNSUPPORTED_VERSION.
//   - Arrays of structs travel with a stride in bytes, so that elements may grow.
//   - A NULL slot of a function table means "not supported". Required slots are marked so.
//   - Pointers are borrowed for the duration of the call unless a comment says otherwise.
//   - No call may unwind (no C++ exception, no longjmp), abort or exit.
#ifndef OPS_BASE_H_
#define OPS_BASE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of the ABI these headers describe. While the major number is 0 host and provider
// must agree exactly; from 1.0 on, any minor number works with any other of the same major.
#define OPS_ABI_MAJOR 0
#define OPS_ABI_MINOR 1
#define OPS_MAKE_VERSION(major, minor) (((uint32_t)(major) << 16) | (uint32_t)(minor))
#define OPS_VERSION_MAJOR(version) ((uint32_t)(version) >> 16)
#define OPS_VERSION_MINOR(version) ((uint32_t)(version)&0xffffu)
#define OPS_ABI_VERSION OPS_MAKE_VERSION(OPS_ABI_MAJOR, OPS_ABI_MINOR)

// The largest rank a tensor may have. Hosts refuse larger ones when a model is loaded.
#define OPS_MAX_RANK 32

// Marks the one symbol that a provider exports.
#if defined(__GNUC__) || defined(__clang__)
#define OPS_EXPORT __attribute__((visibility("default")))
#else
#define OPS_EXPORT
#endif

// A string: UTF-8, `size` bytes, not necessarily terminated. {NULL, 0} is the empty string.
// Returned strings live as long as the object they were read from. Frozen.
typedef struct ops_str {
  const char *data;
  uint64_t size;
} ops_str;

// Makes an ops_str from a string literal; usable in static initialisers.
#define OPS_STR(literal) \
  { (literal), sizeof(literal) - 1 }

// The three fields by which a struct holds an array, for designated initialisers in C:
// OPS_LIST(input, kArgs) sets .inputs, .input_count and .input_stride.
#define OPS_LIST(noun, array)                                           \
  .noun##s = (array), .noun##_count = sizeof(array) / sizeof(array)[0], \
  .noun##_stride = sizeof(array)[0]

// An option: a name and a value, both UTF-8. Frozen.
typedef struct ops_key_value {
  ops_str key;
  ops_str value;
} ops_key_value;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_BASE_H_

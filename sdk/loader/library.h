// SPDX-License-Identifier: Apache-2.0
//
// Opening a provider: find the file, load it, negotiate, check every table, index its kernels.
//
// A library is loaded once per process however often it is opened: opening the same file again
// (by whatever path) returns the same object with one more reference. All functions are
// thread-safe. A library whose provider does not declare unload_safe stays mapped for good.
#ifndef OPS_LOADER_LIBRARY_H_
#define OPS_LOADER_LIBRARY_H_

#include <ops/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ops_library ops_library;

// Puts a table of its own in the place of a provider's, as a validation layer does. The struct
// and its context outlive every library that is opened with it.
typedef struct ops_library_wrapper {
  void *context;
  // Makes the table to use in place of `inner`, and what `unwrap` gets in the end.
  int32_t (*wrap)(void *context, const ops_provider *inner, void **out_state,
                  const ops_provider **out_provider, ops_error *error);
  void (*unwrap)(void *state);
} ops_library_wrapper;

// How to open. Zero is a sensible value for every field.
typedef struct ops_library_options {
  uint32_t min_version;  // versions this host speaks, both inclusive; 0: OPS_ABI_VERSION
  uint32_t max_version;
  uint64_t offered_features;  // OPS_FEATURE_…
  int32_t strict;  // 1: a dynamic symbol exported besides ops_provider_query is an error
  const char
      *provider_dir;  // the installed provider folder; NULL: OPS_PROVIDER_DIR of the build
  // NULL: none. Libraries of one file that are opened with different wrappers are different.
  const ops_library_wrapper *wrapper;
} ops_library_options;

// Opens `name`: a path if it contains a '/', else looked for in the working directory, then in
// the installed provider folder, then by the dynamic loader. "cpu" also finds "libops_cpu.so".
// Errors name every place that was tried, or every table slot that is missing, at once.
// *out_library is owned by the caller until ops_library_release.
int32_t ops_library_open(const char *name, const ops_library_options *options,
                         ops_library **out_library, ops_error *error);
ops_library *ops_library_retain(ops_library *library);
void ops_library_release(ops_library *library);  // accepts NULL

// The provider's table and the resolved path; borrowed from the library.
const ops_provider *ops_library_provider(const ops_library *library);
const char *ops_library_path(const ops_library *library);
uint32_t ops_library_version(const ops_library *library);
uint64_t ops_library_features(const ops_library *library);

// All definitions of an operator in every opset, the most preferred first; found in O(1).
// Domains "" and "ai.onnx" are one. NULL and 0 if there is none.
const ops_kernel_def *const *ops_library_kernels(const ops_library *library, ops_str domain,
                                                 ops_str op, uint64_t *out_count);

// Which definition of the library takes `node` on `device`: definitions that match the node's
// domain, opset, arity, types, constants, chain and the device's features are asked for their
// claim in order of preference. Always fills *out_claim; *out_def is the definition that
// claimed, or NULL when the answer is UNSUPPORTED: reason and text then come from the
// definition that got furthest. An error means that the provider broke its rules.
int32_t ops_library_claim(const ops_library *library, ops_device *device, const ops_node *node,
                          const ops_kernel_def **out_def, ops_claim *out_claim,
                          ops_error *error);

// The argument definition for argument `index`: the last one repeats if it is variadic. NULL if
// the definition has none.
const ops_arg_def *ops_kernel_def_input(const ops_kernel_def *def, uint64_t index);
const ops_arg_def *ops_kernel_def_output(const ops_kernel_def *def, uint64_t index);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_LOADER_LIBRARY_H_

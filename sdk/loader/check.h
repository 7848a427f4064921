// SPDX-License-Identifier: Apache-2.0
//
// Checks on a provider's tables when it is loaded.
#ifndef OPS_LOADER_CHECK_H_
#define OPS_LOADER_CHECK_H_

#include <ops/ops.h>

// Checks sizes, strides, required slots and definitions, and reports everything that is wrong
// at once: "instance.create is missing; kernel 'Relu' …". UNSUPPORTED_VERSION for tables
// smaller than this host's, INVALID_ARGUMENT for all else.
int32_t ops_provider_check(const ops_provider *provider, ops_error *error);

#endif  // OPS_LOADER_CHECK_H_

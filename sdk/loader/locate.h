// SPDX-License-Identifier: Apache-2.0
//
// From the name of a provider to its file.
#ifndef OPS_LOADER_LOCATE_H_
#define OPS_LOADER_LOCATE_H_

#include <limits.h>
#include <ops/status.h>

// Finds `name` as ops_library_open describes and writes an absolute path without symbolic
// links. NOT_FOUND lists every place that was tried.
int32_t ops_library_locate(const char *name, const char *provider_dir, char out_path[PATH_MAX],
                           ops_error *error);

#endif  // OPS_LOADER_LOCATE_H_

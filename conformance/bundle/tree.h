// SPDX-License-Identifier: Apache-2.0
//
// The files of a bundle on disk. Private to this folder.
#ifndef OC_BUNDLE_TREE_H_
#define OC_BUNDLE_TREE_H_

#include "bundle/manifest.h"

// Lists the regular files below `root` in the order of their paths; anything else in it, such
// as a link, is INVALID_MODEL, and so are names that no bundle has. The list is the caller's
// (free).
int32_t oc_tree_list(const char *root, oc_bundle_file **out_files, size_t *out_count,
                     ops_error *error);

// Writes a file below `root`, making the folders that it needs.
int32_t oc_tree_write(const char *root, const char *path, const void *data, size_t size,
                      ops_error *error);

// Copies a file, or the files of a folder whose names end in `suffix` (NULL: all), to `path`
// below `root`.
int32_t oc_tree_copy(const char *from, const char *suffix, const char *root, const char *path,
                     ops_error *error);

// Size and hash of a file below `root`.
int32_t oc_tree_measure(const char *root, oc_bundle_file *file, ops_error *error);

// Removes the folder and what is in it.
void oc_tree_remove(const char *root);

#endif  // OC_BUNDLE_TREE_H_

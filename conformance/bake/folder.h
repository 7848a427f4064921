// SPDX-License-Identifier: Apache-2.0
//
// Where a baked case lies.
#ifndef OC_BAKE_FOLDER_H_
#define OC_BAKE_FOLDER_H_

#include <limits.h>
#include <ops/status.h>
#include <stddef.h>

typedef struct oc_bake_folder {
  char root[PATH_MAX];  // of the case
  char data[PATH_MAX];  // its data set
} oc_bake_folder;

// Makes the folders of a case below `parent`, and `parent` itself, with its data set of that
// number. IO.
int32_t oc_bake_folder_open(oc_bake_folder *folder, const char *parent, const char *id,
                            unsigned number, ops_error *error);

// "DIR/test_data_set_0/input_2.pb". IO where it is too long.
int32_t oc_bake_folder_data(const oc_bake_folder *folder, const char *kind, size_t index,
                            char path[PATH_MAX], ops_error *error);
// "DIR/model.onnx"
int32_t oc_bake_folder_file(const oc_bake_folder *folder, const char *name, char path[PATH_MAX],
                            ops_error *error);

#endif  // OC_BAKE_FOLDER_H_

// SPDX-License-Identifier: Apache-2.0
//
// A model as a list of cases, one for each level of the optimizer.
#ifndef OC_MODELS_LIST_H_
#define OC_MODELS_LIST_H_

#include "cases/case.h"

#define OC_MODEL_LEVELS 4

// `cases` is what pool and report know; the number of a case is its level.
typedef struct oc_model_list {
  oc_cases cases;
  const char *path;
  oc_arena *arena;
} oc_model_list;

// Ids are "model/NAME/level-N", NAME the file's without its ending. `path` is borrowed. IO if
// there is no such file; INVALID_ARGUMENT for a name that is too long; OUT_OF_MEMORY.
int32_t oc_model_list_open(const char *path, uint64_t seed, oc_model_list **out_list,
                           ops_error *error);
void oc_model_list_close(oc_model_list *list);  // accepts NULL

#endif  // OC_MODELS_LIST_H_

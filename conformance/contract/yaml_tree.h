// SPDX-License-Identifier: Apache-2.0
//
// YAML as a tree that remembers where everything stood. A strict subset: no anchors, aliases,
// tags or merge keys, keys are plain text and unique within their mapping.
#ifndef OC_CONTRACT_YAML_TREE_H_
#define OC_CONTRACT_YAML_TREE_H_

#include <ops/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/arena.h"

typedef enum oc_yaml_kind { OC_YAML_SCALAR, OC_YAML_LIST, OC_YAML_MAP } oc_yaml_kind;

typedef struct oc_yaml_node {
  oc_yaml_kind kind;
  uint32_t line;     // from 1
  uint32_t column;   // from 1
  bool quoted;       // scalar: its text is a string, whatever it looks like
  const char *text;  // scalar
  const char *key;   // child of a map: its key, and where that stands
  uint32_t key_line;
  uint32_t key_column;
  size_t count;                // children of a list or map
  struct oc_yaml_node *first;  // first child
  struct oc_yaml_node *next;   // next child of the same parent
} oc_yaml_node;

// Parses every document of `text`; they are linked by `next`. Messages begin with
// "name:line:column: ". An empty text is an error.
int32_t oc_yaml_parse(oc_arena *arena, const char *name, const char *text, size_t size,
                      oc_yaml_node **out_documents, ops_error *error);

// The child of a map with that key, or NULL.
const oc_yaml_node *oc_yaml_get(const oc_yaml_node *map, const char *key);

#endif  // OC_CONTRACT_YAML_TREE_H_

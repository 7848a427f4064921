// SPDX-License-Identifier: Apache-2.0
//
// Finding things in a model by name.
#include <string.h>

#include "model/model.h"

static int equals(ops_str a, const char *text, size_t size) {
  return a.size == size && (size == 0 || memcmp(a.data, text, size) == 0);
}

int64_t rt_model_opset_find(const rt_model_opset *opsets, size_t count, ops_str domain) {
  if (equals(domain, "ai.onnx", 7)) domain.size = 0;
  for (size_t i = 0; i < count; ++i)
    if (equals(opsets[i].domain, domain.data, domain.size)) return opsets[i].version;
  return 0;
}

const rt_model_attribute *rt_model_attribute_find(const rt_model_node *node, const char *name) {
  const size_t size = strlen(name);
  for (size_t i = 0; i < node->attribute_count; ++i)
    if (equals(node->attributes[i].name, name, size)) return &node->attributes[i];
  return NULL;
}

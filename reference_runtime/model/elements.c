// SPDX-License-Identifier: Apache-2.0
//
// Names and widths of element types and attribute kinds, as tables.
#include "model/model.h"

typedef struct element {
  const char *name;
  uint32_t bits;
} element;

#define ELEMENT_ROW(number, name, bits) [number] = {name, bits},
static const element kElements[OPS_TYPE_COUNT] = {OPS_TYPE_LIST(ELEMENT_ROW)};
#undef ELEMENT_ROW

static const char *const kKinds[] = {"UNDEFINED",      "FLOAT",   "INT",    "STRING",
                                     "TENSOR",         "GRAPH",   "FLOATS", "INTS",
                                     "STRINGS",        "TENSORS", "GRAPHS", "SPARSE_TENSOR",
                                     "SPARSE_TENSORS", "TYPE",    "TYPES"};

static const element *find_element(int32_t elem_type) {
  static const element kNone = {"undefined", 0};
  if (elem_type <= 0 || elem_type >= OPS_TYPE_COUNT || !kElements[elem_type].name)
    return &kNone;
  return &kElements[elem_type];
}

const char *rt_model_elem_type_name(int32_t elem_type) {
  return find_element(elem_type)->name;
}

uint32_t rt_model_elem_type_bits(int32_t elem_type) {
  return find_element(elem_type)->bits;
}

const char *rt_model_attribute_kind_name(int32_t kind) {
  const int32_t count = (int32_t)(sizeof kKinds / sizeof kKinds[0]);
  return kKinds[kind > 0 && kind < count ? kind : 0];
}

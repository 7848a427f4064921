// SPDX-License-Identifier: Apache-2.0
//
// A list of keys in which elements of a tensor are looked up, and lists of values.
#ifndef REFERENCE_ML_MAPPING_H_
#define REFERENCE_ML_MAPPING_H_

#include "kernel.h"

// One list attribute: strings, or numbers as a dense view. count is 0 if it is not there.
typedef struct ref_list {
  const ops_str *strings;
  ref_view numbers;
  int32_t type;  // OPS_TYPE_…
  int64_t count;
} ref_list;

// The attribute `name`: floats, ints, strings, or a tensor of rank at most 1.
int32_t ref_list_read(ref_prepare *prepare, const char *name, ref_list *out);
// Writes entry `which` to element `at` (offset from the origin) of a view of the same type.
int32_t ref_list_write(const ref_list *list, int64_t which, const ref_view *y, int64_t at,
                       ops_error *error);

typedef struct ref_key {
  ops_str text;
  uint64_t bits;
  int64_t index;
} ref_key;

// Numbers are compared by value, all NaN alike, or, if `bitwise`, by their bits.
typedef struct ref_mapping {
  ref_key *keys;  // sorted; of equal ones the last comes last
  int64_t count;
  int32_t type;
  int32_t bitwise;
} ref_mapping;

int32_t ref_mapping_build(ref_prepare *prepare, const ref_list *keys, int bitwise,
                          ref_mapping *out);
// The index of an element of a view of the mapping's type among the keys, the last of equal
// ones; -1 if it is none.
int32_t ref_mapping_find(const ref_mapping *mapping, const ref_view *x, int64_t at,
                         int64_t *out_index, ops_error *error);
int64_t ref_mapping_find_text(const ref_mapping *mapping, ops_str text);
int64_t ref_mapping_find_int(const ref_mapping *mapping, int64_t number);

#endif  // REFERENCE_ML_MAPPING_H_

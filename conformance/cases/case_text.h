// SPDX-License-Identifier: Apache-2.0
//
// Names of cases and the hash of what they mean. Private to this folder.
#ifndef OC_CASES_CASE_TEXT_H_
#define OC_CASES_CASE_TEXT_H_

#include "cases/case.h"

// 128 bits: two different hashes of one text, so that a chance collision is out of the
// question.
typedef struct oc_case_hash {
  uint64_t low;
  uint64_t high;
} oc_case_hash;

// "Op-since/types/row/attribute=value,…/fill" or "Op-since/error/id"; of letters, digits and
// -+_.,=/ only, so that no shell changes it. A text too long ends in its hash.
void oc_case_print_id(const oc_case *item, char *text, size_t size);

oc_case_hash oc_case_hash_text(const char *text);

// Operator, opset, types, shapes, contents, ranges, attributes, fill.
oc_case_hash oc_case_meaning(const oc_case *item);

// A set of hashes.
typedef struct oc_case_index oc_case_index;
oc_case_index *oc_case_index_create(void);  // NULL when memory is exhausted
void oc_case_index_destroy(oc_case_index *index);
// *out_fresh: whether it was not there before. False when memory is exhausted.
bool oc_case_index_add(oc_case_index *index, oc_case_hash hash, bool *out_fresh);

#endif  // OC_CASES_CASE_TEXT_H_

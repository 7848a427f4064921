// SPDX-License-Identifier: Apache-2.0
//
// The cases that a journal plans to run. Private to this folder.
#ifndef OC_JOURNAL_PLAN_H_
#define OC_JOURNAL_PLAN_H_

#include <cjson/cJSON.h>

#include "cases/case.h"

#define OC_JOURNAL_PLAN_LINE 256  // cases of one line

typedef struct oc_journal_plan oc_journal_plan;

// Borrows `arena`, which owns the cases. NULL without memory.
oc_journal_plan *oc_journal_plan_create(oc_arena *arena);
void oc_journal_plan_destroy(oc_journal_plan *plan);  // accepts NULL

// Appends the cases of one line, which must follow those before. NULL, or what is wrong.
const char *oc_journal_plan_parse(oc_journal_plan *plan, const cJSON *object);
// Appends a copy of a case. False without memory.
bool oc_journal_plan_add(oc_journal_plan *plan, const oc_case *item);

size_t oc_journal_plan_count(const oc_journal_plan *plan);
// The cases; borrowed from the arena, valid until the next one is appended.
void oc_journal_plan_cases(const oc_journal_plan *plan, oc_cases *out_cases);

// A line: `count` of `indices`, the first of which has the position `at`. NULL without memory.
cJSON *oc_journal_plan_json(const oc_cases *cases, const uint32_t *indices, size_t at,
                            size_t count);

#endif  // OC_JOURNAL_PLAN_H_

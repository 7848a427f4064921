// SPDX-License-Identifier: Apache-2.0
//
// The header of a run as JSON. Private to this folder.
#ifndef OC_JOURNAL_HEADER_H_
#define OC_JOURNAL_HEADER_H_

#include <cjson/cJSON.h>

#include "journal/journal.h"

// The header as an object of texts and lists of texts; owned by the caller, NULL without
// memory.
cJSON *oc_journal_header_json(const oc_journal_header *header);

// Reads what oc_journal_header_json writes; a member that is absent leaves its field as it is,
// unknown members are left alone. Strings are copied to `arena`. NULL, or what is wrong.
const char *oc_journal_header_parse(oc_journal_header *header, const cJSON *object,
                                    oc_arena *arena);

// A copy whose strings belong to `arena`. False without memory.
bool oc_journal_header_copy(oc_journal_header *to, const oc_journal_header *from,
                            oc_arena *arena);

#endif  // OC_JOURNAL_HEADER_H_

// SPDX-License-Identifier: Apache-2.0
//
// A result as JSON. Private to this folder.
#ifndef OC_JOURNAL_RECORD_H_
#define OC_JOURNAL_RECORD_H_

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "runner/result.h"

// The result as an object, without its case_index. Owned by the caller, NULL without memory.
cJSON *oc_journal_record_json(const oc_result *result);

// NULL, or the name of the member that is missing or wrong. case_index is left alone.
const char *oc_journal_record_parse(oc_result *result, const cJSON *object);

#endif  // OC_JOURNAL_RECORD_H_

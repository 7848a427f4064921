// SPDX-License-Identifier: Apache-2.0
//
// A line of a journal and the sum that closes it. Private to this folder.
#ifndef OC_JOURNAL_LINE_H_
#define OC_JOURNAL_LINE_H_

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#define OC_JOURNAL_SUM_DIGITS 32  // hexadecimal

// `object` as a sealed line that follows one with the sum `sum`, which becomes the line's own.
// Owned by the caller (free), ends in a newline; NULL without memory.
char *oc_journal_line_seal(const cJSON *object, char sum[OC_JOURNAL_SUM_DIGITS + 1],
                           size_t *out_size);

// Whether `line` of `size` bytes, without its newline, is closed by the sum that is due behind
// `sum`. If so `sum` becomes the line's own.
bool oc_journal_line_check(const char *line, size_t size, char sum[OC_JOURNAL_SUM_DIGITS + 1]);

#endif  // OC_JOURNAL_LINE_H_

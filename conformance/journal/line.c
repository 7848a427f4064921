// SPDX-License-Identifier: Apache-2.0
//
// The sum is taken over bytes, not over what they mean, so that whatever is changed is noticed.
#include "journal/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/sha256.h"

#define MEMBER ",\"sum\":\""
#define MEMBER_SIZE (sizeof MEMBER - 1)
#define TAIL_SIZE (MEMBER_SIZE + OC_JOURNAL_SUM_DIGITS + 2)  // with the closing "}

static void sum_of(const char *before, const char *body, size_t size,
                   char out_sum[OC_JOURNAL_SUM_DIGITS + 1]) {
  oc_sha256 hash;
  char hex[65];
  oc_sha256_init(&hash);
  oc_sha256_add(&hash, before, strlen(before));
  oc_sha256_add(&hash, body, size);
  oc_sha256_hex(&hash, hex);
  memcpy(out_sum, hex, OC_JOURNAL_SUM_DIGITS);
  out_sum[OC_JOURNAL_SUM_DIGITS] = 0;
}

char *oc_journal_line_seal(const cJSON *object, char sum[OC_JOURNAL_SUM_DIGITS + 1],
                           size_t *out_size) {
  char *text = cJSON_PrintUnformatted(object);
  if (!text) return NULL;
  const size_t body = strlen(text) - 1;  // without the closing brace
  char *line = realloc(text, body + TAIL_SIZE + 2);
  if (!line) {
    free(text);
    return NULL;
  }
  sum_of(sum, line, body, sum);
  snprintf(line + body, TAIL_SIZE + 2, MEMBER "%s\"}\n", sum);
  *out_size = body + TAIL_SIZE + 1;
  return line;
}

bool oc_journal_line_check(const char *line, size_t size, char sum[OC_JOURNAL_SUM_DIGITS + 1]) {
  char due[OC_JOURNAL_SUM_DIGITS + 1];
  if (size <= TAIL_SIZE) return false;
  const char *tail = line + size - TAIL_SIZE;
  sum_of(sum, line, size - TAIL_SIZE, due);
  if (memcmp(tail, MEMBER, MEMBER_SIZE) != 0 ||
      memcmp(tail + MEMBER_SIZE, due, OC_JOURNAL_SUM_DIGITS) != 0 ||
      memcmp(line + size - 2, "\"}", 2) != 0) {
    return false;
  }
  memcpy(sum, due, sizeof due);
  return true;
}

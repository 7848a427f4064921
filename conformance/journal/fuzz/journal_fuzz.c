// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the bytes as a journal. First as they are; then with each line closed by
// the sum that is due, for hardly an input would come to the parser otherwise.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "journal/journal.h"
#include "journal/line.h"
#include "report/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const oc_journal *journal) {
  const char *const path = "fuzz.journal";
  oc_journal *whole = NULL;
  oc_report report;
  char *text = NULL;
  size_t size = 0;
  if (oc_journal_report(journal, &report, NULL) == OPS_OK) {
    if (oc_format_print(OC_FORMAT_JSON, &report, &text, &size, NULL) == OPS_OK) free(text);
    oc_report_finish(&report);
  }
  if (oc_journal_merge(&journal, &path, 1, &whole, NULL) == OPS_OK) oc_journal_destroy(whole);
}

static void parse(const char *bytes, size_t size) {
  oc_journal *journal = NULL;
  if (oc_journal_parse("fuzz.journal", bytes, size, &journal, NULL) != OPS_OK) return;
  use(journal);
  oc_journal_destroy(journal);
}

// The line closed anew, without a sum that it has already. NULL: no JSON.
static char *seal(const char *line, size_t size, char sum[OC_JOURNAL_SUM_DIGITS + 1],
                  size_t *out_size) {
  cJSON *object = cJSON_ParseWithLength(line, size);
  char *sealed = NULL;
  if (cJSON_IsObject(object)) {
    cJSON_DeleteItemFromObjectCaseSensitive(object, "sum");
    if (object->child) sealed = oc_journal_line_seal(object, sum, out_size);
  }
  cJSON_Delete(object);
  return sealed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char sum[OC_JOURNAL_SUM_DIGITS + 1] = "";
  char *all = NULL;
  size_t used = 0;
  parse((const char *)data, size);
  for (size_t at = 0; at < size;) {
    const uint8_t *end = memchr(data + at, '\n', size - at);
    const size_t length = end ? (size_t)(end - data) - at : size - at;
    size_t line_size = 0;
    char *line = seal((const char *)data + at, length, sum, &line_size);
    char *more = line ? realloc(all, used + line_size) : NULL;
    if (more) {
      memcpy(more + used, line, line_size);
      used += line_size;
      all = more;
    }
    free(line);
    at += length + 1;
  }
  if (all) parse(all, used);
  free(all);
  return 0;
}

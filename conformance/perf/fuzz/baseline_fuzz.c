// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the bytes as a baseline. What is read is written and read again.
#include <stdlib.h>
#include <string.h>

#include "perf/baseline_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  oc_baseline baseline = {0}, again = {0};
  char *text = NULL;
  if (oc_baseline_parse("fuzz.json", (const char *)data, size, &baseline, NULL) != OPS_OK) {
    return 0;
  }
  if (oc_baseline_print(&baseline, &text, NULL) == OPS_OK &&
      oc_baseline_parse("again.json", text, strlen(text), &again, NULL) != OPS_OK) {
    abort();
  }
  free(text);
  oc_baseline_finish(&again);
  oc_baseline_finish(&baseline);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the bytes as a JSON report.
#include <stddef.h>
#include <stdint.h>

#include "report/reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  oc_reading *reading = NULL;
  if (oc_reading_parse("fuzz.json", (const char *)data, size, &reading, NULL) == OPS_OK) {
    oc_reading_destroy(reading);
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the bytes as a file of waivers, which then judge some results.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "waivers/waivers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(oc_waivers *waivers, int32_t status) {
  oc_result result = {.status = status, .measured = 1, .error = 3, .limit = 1};
  strcpy(result.check, "values");
  oc_waivers_apply(waivers, "Softmax-13/float/rows/uniform", &result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  oc_waivers *waivers = NULL;
  if (oc_waivers_parse("fuzz.yaml", (const char *)data, size, &waivers, NULL) != OPS_OK)
    return 0;
  oc_waivers_begin(waivers, "mynpu", "1.2.0-rc.1", "2026-11-30T00:00:00Z");
  for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) judge(waivers, status);
  oc_waivers_end(waivers, true);
  for (size_t i = 0; i < waivers->count; ++i) {
    oc_result finding;
    oc_waiver_finding(waivers, i, &finding);
  }
  oc_waivers_destroy(waivers);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the bytes as a baked case.
#include <stdlib.h>

#include "replay/case_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  oc_baked *baked = malloc(sizeof *baked);
  if (baked && oc_case_file_parse(data, size, baked, NULL) == OPS_OK) oc_baked_finish(baked);
  free(baked);
  return 0;
}

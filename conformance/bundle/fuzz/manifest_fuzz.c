// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the bytes as the manifest of a bundle.
#include <stddef.h>
#include <stdint.h>

#include "bundle/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  oc_manifest manifest;
  if (oc_manifest_parse((const char *)data, size, &manifest, NULL) == OPS_OK) {
    oc_manifest_finish(&manifest);
  }
  return 0;
}

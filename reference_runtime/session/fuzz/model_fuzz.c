// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the bytes as a model, through loader, checker, graph and inference: what
// `opsrun check` does.
#include <ops_support/error.h>
#include <opsrt/opsrt.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ops_error error = OPS_ERROR_INIT;
  const opsrt_model_source source = {.data = size ? data : (const uint8_t *)"", .size = size};
  // Hostile bytes are wrong, unsupported or too large; they are never an internal error.
  const int32_t status = opsrt_model_check(&source, &error);
  if (status == OPS_OK || (status != OPS_ERROR_INTERNAL && error.message_size > 0)) return 0;
  fprintf(stderr, "%s: '%s'\n", ops_status_name(status), error.message);
  abort();
}

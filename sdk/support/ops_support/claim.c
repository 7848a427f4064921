// SPDX-License-Identifier: Apache-2.0
//
// A refusal always holds a terminated text that fits.
#include <ops_support/claim.h>
#include <stdarg.h>
#include <stdio.h>

int32_t ops_claim_refuse(ops_claim *claim, int32_t reason, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int size = vsnprintf(claim->text, sizeof claim->text, format, args);
  va_end(args);
  claim->answer = OPS_CLAIM_UNSUPPORTED;
  claim->reason = reason;
  claim->text_size = size < 0 ? 0 : (uint32_t)size;
  if (claim->text_size >= sizeof claim->text) claim->text_size = sizeof claim->text - 1;
  return OPS_OK;
}

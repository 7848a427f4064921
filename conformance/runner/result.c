// SPDX-License-Identifier: Apache-2.0
//
// Names of statuses and phases, and the one way to end a case.
#include "runner/result.h"

#include <stdarg.h>
#include <stdio.h>

const char *oc_status_name(int32_t status) {
#define NAME(constant, name, meaning) name,
  static const char *const names[] = {OC_STATUS_LIST(NAME)};
#undef NAME
  return status >= 0 && status < OC_STATUS_COUNT ? names[status] : "unknown";
}

const char *oc_status_meaning(int32_t status) {
#define MEANING(constant, name, meaning) meaning,
  static const char *const meanings[] = {OC_STATUS_LIST(MEANING)};
#undef MEANING
  return status >= 0 && status < OC_STATUS_COUNT ? meanings[status] : "unknown";
}

const char *oc_phase_name(int32_t phase) {
#define NAME(constant, name) name,
  static const char *const names[] = {OC_PHASE_LIST(NAME)};
#undef NAME
  return phase >= 0 && phase < OC_PHASE_COUNT ? names[phase] : "unknown";
}

int32_t oc_result_end(oc_result *result, oc_status status, const char *check,
                      const char *format, ...) {
  result->status = status;
  snprintf(result->check, sizeof result->check, "%s", check);
  va_list args;
  va_start(args, format);
  vsnprintf(result->message, sizeof result->message, format, args);
  va_end(args);
  return 0;
}

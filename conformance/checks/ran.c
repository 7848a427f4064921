// SPDX-License-Identifier: Apache-2.0
//
// Which checks a case was put to. A report that counts them shows what a pass is worth: a check
// that was never asked has found nothing. One bit per row of the table stands in the result.
#include <string.h>

#include "checks/check.h"

// What is looked after at a point without a function of the table.
static const struct {
  oc_point point;
  const char *name;
} kCompanions[] = {
    {OC_POINT_CLAIM, OC_CHECK_ENVIRONMENT}, {OC_POINT_CLAIM, OC_CHECK_PROCESS},
    {OC_POINT_CLAIM, OC_CHECK_TIME},        {OC_POINT_PREPARED, OC_CHECK_STATUS},
    {OC_POINT_RAN, OC_CHECK_UNWRITTEN},     {OC_POINT_RAN, OC_CHECK_ASYNC},
    {OC_POINT_RAN, OC_CHECK_TRIVIAL},       {OC_POINT_RAN, OC_CHECK_ORACLE},
};

int32_t oc_checks_find(const char *name) {
  size_t count;
  const oc_check *checks = oc_checks(&count);
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(checks[i].name, name) == 0) return (int32_t)i;
  }
  return -1;
}

void oc_checks_note(oc_result *result, const char *name) {
  const int32_t index = oc_checks_find(name);
  if (index >= 0 && index < 64) result->checks |= (uint64_t)1 << index;
}

void oc_checks_note_point(oc_result *result, oc_point point) {
  for (size_t i = 0; i < sizeof kCompanions / sizeof *kCompanions; ++i) {
    if (kCompanions[i].point == point) oc_checks_note(result, kCompanions[i].name);
  }
}

// SPDX-License-Identifier: Apache-2.0
//
// Which checks a case was put to. A report that counts them shows what a pass is worth: a check
// that was never asked has found nothing. One bit per row of the table stands in the result.
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

void oc_checks_note(oc_result *result, const char *name) {
  const oc_check *check = oc_checks_find(name);
  size_t count;
  const size_t index = check ? (size_t)(check - oc_checks(&count)) : 64;
  if (index < 64) result->checks |= (uint64_t)1 << index;
}

void oc_checks_note_point(oc_result *result, oc_point point) {
  for (size_t i = 0; i < sizeof kCompanions / sizeof *kCompanions; ++i) {
    if (kCompanions[i].point == point) oc_checks_note(result, kCompanions[i].name);
  }
}

// SPDX-License-Identifier: Apache-2.0
//
// Private to profile/: the report as members of a JSON object, which op_profile.json and the
// page share.
#ifndef RT_PROFILE_REPORT_JSON_H_
#define RT_PROFILE_REPORT_JSON_H_

#include "profile/json.h"
#include "profile/report.h"

void rt_report_json_members(rt_json *json, const rt_report *report);
// The number of the run whose time is the median; 0 if there was none.
uint32_t rt_report_median_run(const rt_report *report);

#endif  // RT_PROFILE_REPORT_JSON_H_

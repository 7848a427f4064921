// SPDX-License-Identifier: Apache-2.0
//
// Members of the JSON report about performance: `yardstick`, `performance`, `maturity`.
#ifndef OC_REPORT_JSON_PERF_H_
#define OC_REPORT_JSON_PERF_H_

#include "perf/perf.h"
#include "report/json_out.h"

void oc_json_put_performance(oc_json_out *json, const oc_perf_results *results);

#endif  // OC_REPORT_JSON_PERF_H_

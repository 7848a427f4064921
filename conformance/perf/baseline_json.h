// SPDX-License-Identifier: Apache-2.0
//
// Baselines as JSON text; oc_baseline_parse (baseline.h) is the way back.
#ifndef OC_PERF_BASELINE_JSON_H_
#define OC_PERF_BASELINE_JSON_H_

#include "perf/baseline.h"

// *out_text is the caller's (free).
int32_t oc_baseline_print(const oc_baseline *baseline, char **out_text, ops_error *error);

#endif  // OC_PERF_BASELINE_JSON_H_

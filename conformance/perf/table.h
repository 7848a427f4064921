// SPDX-License-Identifier: Apache-2.0
//
// A performance run as people read it.
#ifndef OC_PERF_TABLE_H_
#define OC_PERF_TABLE_H_

#include <stdio.h>

#include "perf/perf.h"

void oc_perf_print(FILE *stream, const oc_perf_results *results);

#endif  // OC_PERF_TABLE_H_

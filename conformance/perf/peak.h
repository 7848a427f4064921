// SPDX-License-Identifier: Apache-2.0
//
// What the host can do at most, for providers that run on it and do not say: a loop of
// independent multiply-adds in registers, and a copy of more than the caches hold, on as many
// threads as providers get. Upper bounds in practice, not by the data sheet.
#ifndef OC_PERF_PEAK_H_
#define OC_PERF_PEAK_H_

#include "perf/perf.h"

// float32 operations per second, a multiply-add being two; 0 without threads.
double oc_peak_flops(uint32_t threads);

// Bytes per second of a copy, read and written ones counted; 0 without memory or threads.
double oc_peak_bytes(uint32_t threads);

// Shares of the peaks that `point` reaches with its flops and bytes at the hot median.
void oc_peak_shares(const oc_perf_peak *peak, oc_perf_point *point);

#endif  // OC_PERF_PEAK_H_

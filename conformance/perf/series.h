// SPDX-License-Identifier: Apache-2.0
//
// Measured values and the intervals of their quantiles.
//
// A series has the shape of the measurement: blocks (each with processes of its own), rounds in
// a block, runs in a round. Values of one process share its luck with addresses and pages,
// values of one round share the moment; so the bootstrap draws blocks with replacement, in each
// of them rounds, and takes rounds whole. Source: Davison and Hinkley, "Bootstrap Methods and
// their Application" (1997), section 3.8 on hierarchical data; Kalibera and Jones, "Rigorous
// benchmarking in reasonable time" (ISMM 2013).
#ifndef OC_PERF_SERIES_H_
#define OC_PERF_SERIES_H_

#include <stdint.h>

#include "perf/perf.h"

#define OC_SERIES_RESAMPLES 2000
#define OC_SERIES_CONFIDENCE 0.99

// values[(block * rounds + round) * runs + run]. Borrowed.
typedef struct oc_series {
  const double *values;
  size_t blocks;
  size_t rounds;
  size_t runs;
} oc_series;

// The q-quantile, 0 <= q <= 1, by linear interpolation between the two nearest values (type 7
// of Hyndman and Fan 1996, which is numpy's default). Sorts `values`. NaN without values.
double oc_series_quantile(double *values, size_t count, double q);
size_t oc_series_count(const oc_series *series);

// The q-quantile of all values of `series` divided by that of `other`, which has the same
// blocks and rounds and is drawn together with it; `other` NULL: the quantile itself. The same
// `seed` gives the same interval. Not given: no values, no memory, or a divisor of 0.
oc_perf_estimate oc_series_estimate(const oc_series *series, const oc_series *other, double q,
                                    uint64_t seed);

// The median of `series` minus that of `base`, drawn independently of each other.
oc_perf_estimate oc_series_difference(const oc_series *series, const oc_series *base,
                                      uint64_t seed);

#endif  // OC_PERF_SERIES_H_

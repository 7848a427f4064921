// SPDX-License-Identifier: Apache-2.0
//
// Quantiles and the hierarchical percentile bootstrap.
#include "perf/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Quantiles ------------------------------------------------------------------------------

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile_of_sorted(const double *values, size_t count, double q) {
  if (count == 0) return NAN;
  const double at = q * (double)(count - 1);
  const size_t low = (size_t)at;
  const size_t high = low + 1 < count ? low + 1 : low;
  return values[low] + (at - (double)low) * (values[high] - values[low]);
}

double oc_series_quantile(double *values, size_t count, double q) {
  qsort(values, count, sizeof *values, by_value);
  return quantile_of_sorted(values, count, q);
}

size_t oc_series_count(const oc_series *series) {
  return series->blocks * series->rounds * series->runs;
}

// ---- Drawing --------------------------------------------------------------------------------

// splitmix64 (Steele, Lea, Flood 2014).
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static size_t draw(uint64_t *state, size_t count) {
  return (size_t)((double)(next_random(state) >> 11) * 0x1p-53 * (double)count);
}

// Draws as many rounds as there are: `rounds[i]` is an index over all blocks.
static void draw_rounds(const oc_series *series, uint64_t *state, size_t *rounds) {
  for (size_t block = 0; block < series->blocks; ++block) {
    const size_t from = draw(state, series->blocks);
    for (size_t round = 0; round < series->rounds; ++round) {
      *rounds++ = from * series->rounds + draw(state, series->rounds);
    }
  }
}

static double quantile_of_rounds(const oc_series *series, const size_t *rounds, double q,
                                 double *room) {
  const size_t count = series->blocks * series->rounds, runs = series->runs;
  for (size_t i = 0; i < count; ++i) {
    memcpy(room + i * runs, series->values + rounds[i] * runs, runs * sizeof *room);
  }
  return oc_series_quantile(room, count * runs, q);
}

// ---- Intervals ------------------------------------------------------------------------------

// What is resampled: one series, two together, or two apart.
typedef struct bootstrap {
  const oc_series *first;
  const oc_series *second;  // or NULL
  bool together;            // then the ratio, else the difference
  double q;
  size_t *rounds;
  double *room;
} bootstrap;

static double combine(const bootstrap *work, double first, double second) {
  if (!work->second) return first;
  return work->together ? first / second : first - second;
}

static double resample(const bootstrap *work, uint64_t *state) {
  draw_rounds(work->first, state, work->rounds);
  const double first = quantile_of_rounds(work->first, work->rounds, work->q, work->room);
  if (!work->second) return first;
  if (!work->together) draw_rounds(work->second, state, work->rounds);
  return combine(work, first,
                 quantile_of_rounds(work->second, work->rounds, work->q, work->room));
}

static double whole(const oc_series *series, double q, double *room) {
  const size_t count = oc_series_count(series);
  memcpy(room, series->values, count * sizeof *room);
  return oc_series_quantile(room, count, q);
}

static oc_perf_estimate run_bootstrap(bootstrap *work, uint64_t seed) {
  oc_perf_estimate estimate = {0};
  const size_t first = oc_series_count(work->first);
  const size_t second = work->second ? oc_series_count(work->second) : 1;
  if (first == 0 || second == 0) return estimate;
  const size_t most = first > second ? first : second;
  work->rounds = calloc(most, sizeof *work->rounds);
  work->room = calloc(most, sizeof *work->room);
  double *results = calloc(OC_SERIES_RESAMPLES, sizeof *results);
  if (work->rounds && work->room && results) {
    const double tail = (1 - OC_SERIES_CONFIDENCE) / 2;
    const double value = whole(work->first, work->q, work->room);
    estimate.value =
        combine(work, value, work->second ? whole(work->second, work->q, work->room) : 0);
    for (size_t i = 0; i < OC_SERIES_RESAMPLES; ++i) results[i] = resample(work, &seed);
    qsort(results, OC_SERIES_RESAMPLES, sizeof *results, by_value);
    estimate.low = quantile_of_sorted(results, OC_SERIES_RESAMPLES, tail);
    estimate.high = quantile_of_sorted(results, OC_SERIES_RESAMPLES, 1 - tail);
    estimate.given =
        isfinite(estimate.value) && isfinite(estimate.low) && isfinite(estimate.high);
  }
  free(results);
  free(work->room);
  free(work->rounds);
  return estimate;
}

oc_perf_estimate oc_series_estimate(const oc_series *series, const oc_series *other, double q,
                                    uint64_t seed) {
  bootstrap work = {.first = series, .second = other, .together = true, .q = q};
  return run_bootstrap(&work, seed);
}

oc_perf_estimate oc_series_difference(const oc_series *series, const oc_series *base,
                                      uint64_t seed) {
  bootstrap work = {.first = series, .second = base, .q = 0.5};
  return run_bootstrap(&work, seed);
}

// SPDX-License-Identifier: Apache-2.0
//
// Rank tests by the normal approximation.
#include "perf/rank.h"

#include <math.h>
#include <stdlib.h>

// A value of either sample with its mark: 1 of the first one (or above the shift), 0 else.
typedef struct ranked {
  double key;
  int marked;
} ranked;

static int by_key(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

// Sorts, and sums the ranks of the marked; equal keys share the mean of their ranks.
// *out_ties: the sum of t^3 - t over groups of t equal keys.
static double sum_of_ranks(ranked *items, size_t count, double *out_ties) {
  double sum = 0;
  *out_ties = 0;
  qsort(items, count, sizeof *items, by_key);
  for (size_t i = 0, end; i < count; i = end) {
    size_t marked = 0;
    for (end = i; end < count && items[end].key == items[i].key; ++end) {
      marked += items[end].marked != 0;
    }
    const double ties = (double)(end - i);
    *out_ties += ties * ties * ties - ties;
    sum += (double)marked * ((double)(i + end + 1) / 2);  // mean of the ranks i+1 … end
  }
  return sum;
}

// The upper tail of the normal distribution beyond `sum`, less half a step for continuity.
static double upper_tail(double sum, double mean, double variance) {
  if (variance <= 0) return 1;
  return 0.5 * erfc((sum - mean - 0.5) / sqrt(2 * variance));
}

double oc_rank_signed(const double *values, size_t count, double shift) {
  ranked *items = calloc(count + 1, sizeof *items);
  size_t used = 0;
  double ties;
  if (!items) return NAN;
  for (size_t i = 0; i < count; ++i) {
    const double distance = values[i] - shift;
    if (distance != 0) items[used++] = (ranked){.key = fabs(distance), .marked = distance > 0};
  }
  const double sum = sum_of_ranks(items, used, &ties);
  const double n = (double)used;
  free(items);
  if (used == 0) return 1;
  return upper_tail(sum, n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24 - ties / 48);
}

double oc_rank_two_sample(const double *values, size_t count, const double *others,
                          size_t other_count, double shift) {
  const size_t total = count + other_count;
  double ties;
  if (count == 0 || other_count == 0) return 1;
  ranked *items = calloc(total, sizeof *items);
  if (!items) return NAN;
  for (size_t i = 0; i < count; ++i) items[i] = (ranked){.key = values[i], .marked = 1};
  for (size_t i = 0; i < other_count; ++i) items[count + i].key = others[i] + shift;
  const double sum = sum_of_ranks(items, total, &ties);
  const double n = (double)count, m = (double)other_count, all = n + m;
  free(items);
  return upper_tail(sum - n * (n + 1) / 2, n * m / 2,
                    n * m / 12 * (all + 1 - ties / (all * (all - 1))));
}

int oc_rank_holm(double *p_values, size_t count) {
  ranked *items = calloc(count + 1, sizeof *items);
  if (!items) return -1;
  for (size_t i = 0; i < count; ++i) items[i] = (ranked){.key = p_values[i], .marked = (int)i};
  qsort(items, count, sizeof *items, by_key);
  double largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const double adjusted = fmin(1, items[i].key * (double)(count - i));
    largest = fmax(largest, adjusted);
    p_values[items[i].marked] = largest;
  }
  free(items);
  return 0;
}

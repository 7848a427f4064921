// SPDX-License-Identifier: Apache-2.0
//
// The judge `random`, for results of generators (CONFORMANCE.md): range, moments and the test
// of Kolmogorov and Smirnov against the law that the contract names. No element is compared
// with the oracle's: another generator is as right.
//
// Every statistic is compared with 6 of its own standard deviations: a correct generator
// exceeds that once in 5 * 10^8 tests. Of n draws of a law, the mean of the k-th power of the
// standardised value has the variance (m_2k - m_k^2) / n; sqrt(n) D exceeds x with the
// probability 2 exp(-2 x^2) (Smirnov 1948), 10^-9 at 3.27; the correlation of neighbours has
// the variance 1/n.
#include <math.h>
#include <stdlib.h>

#include "compare/judge.h"

#define SIGMAS 6
#define KOLMOGOROV_LIMIT 3.27
#define MIN_STATISTICS 64
#define BINS 8           // of probabilities, for Bernoulli
#define FEW 5            // an expected variance below this is not tested by itself
#define DROPPED_ULP 3.0  // of x / (1 - share), or x * (1 / (1 - share))

// Keeps a statistic that is further from its expectation than those before.
static void note(oc_comparison *out, const char *metric, double error, double limit) {
  const double share = isnan(error) ? INFINITY : fabs(error) / limit;
  if (out->wrong || share <= out->error) return;
  out->metric = metric;
  out->error = share;
  out->limit = 1;
  if (share > 1) out->wrong = 1;
}

static void note_range(oc_comparison *out, size_t index) {
  if (!out->wrong) out->worst = index;
  out->metric = "range";
  out->error = INFINITY;
  out->limit = 1;
  ++out->wrong;
}

static double value_at(const oc_compare_input *input, size_t i) {
  return oc_number_get(input->type, input->got, i);
}

// The correlation of neighbours of numbers that have the mean 0 and the variance 1.
static void test_neighbours(const double *z, size_t n, oc_comparison *out) {
  double sum = 0;
  for (size_t i = 0; i + 1 < n; ++i) sum += z[i] * z[i + 1];
  note(out, "neighbours", sum / sqrt((double)n), SIGMAS);
}

// ---- Uniform and normal
// -------------------------------------------------------------------------

typedef struct moments {
  double of[9];  // of[k]: the k-th moment of the standardised law
} moments;

// (U - 1/2) sqrt(12): the even moments of U - 1/2 are 1 / ((k + 1) 2^k), times 12^(k/2).
static const moments kUniform = {{1, 0, 1, 0, 1.8, 0, 27.0 / 7, 0, 9}};
static const moments kNormal = {{1, 0, 1, 0, 3, 0, 15, 0, 105}};

static void test_moments(const double *z, size_t n, const moments *law, oc_comparison *out) {
  static const char *const names[] = {"", "mean", "variance", "third moment", "fourth moment"};
  double sums[5] = {0};
  for (size_t i = 0; i < n; ++i) {
    double power = 1;
    for (int k = 1; k <= 4; ++k) sums[k] += power *= z[i];
  }
  for (int k = 1; k <= 4; ++k) {
    const double deviation = sqrt((law->of[2 * k] - law->of[k] * law->of[k]) / (double)n);
    note(out, names[k], (sums[k] / (double)n - law->of[k]) / deviation, SIGMAS);
  }
}

static int ascending(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static double distribution(const oc_random_law *law, double x) {
  if (law->kind == OC_LAW_NORMAL) return 0.5 * erfc(-(x - law->a) / law->b * M_SQRT1_2);
  return fmin(fmax((x - law->a) / (law->b - law->a), 0), 1);
}

// A result of a narrow type stands for all numbers that are rounded to it.
static void test_kolmogorov(const oc_compare_input *input, double *sorted, oc_comparison *out) {
  const size_t n = input->count;
  double most = 0;
  for (size_t i = 0; i < n; ++i) sorted[i] = value_at(input, i);
  qsort(sorted, n, sizeof *sorted, ascending);
  for (size_t i = 0; i < n; ++i) {
    const double cell = oc_judge_unit(input->type, sorted[i]);
    const double above =
        (double)(i + 1) / (double)n - distribution(input->law, sorted[i] + cell);
    const double below = distribution(input->law, sorted[i] - cell) - (double)i / (double)n;
    most = fmax(most, fmax(above, below));
  }
  note(out, "Kolmogorov-Smirnov", most * sqrt((double)n), KOLMOGOROV_LIMIT);
}

static bool in_range(const oc_compare_input *input, double value) {
  const oc_random_law *law = input->law;
  if (law->kind == OC_LAW_NORMAL) return isfinite(value);
  const double low = oc_number_value(input->type, oc_number_nearest(input->type, law->a));
  const double high = oc_number_value(input->type, oc_number_nearest(input->type, law->b));
  return value >= low && value <= high;
}

static void judge_continuous(const oc_compare_input *input, double *room, oc_comparison *out) {
  const oc_random_law *law = input->law;
  const bool normal = law->kind == OC_LAW_NORMAL;
  const double centre = normal ? law->a : (law->a + law->b) / 2;
  const double spread = normal ? law->b : (law->b - law->a) / sqrt(12);
  for (size_t i = 0; i < input->count; ++i) {
    const double value = value_at(input, i);
    if (!in_range(input, value)) note_range(out, i);
    room[i] = (value - centre) / spread;
  }
  if (out->wrong || input->count < MIN_STATISTICS) return;
  test_moments(room, input->count, normal ? &kNormal : &kUniform, out);
  test_neighbours(room, input->count, out);
  test_kolmogorov(input, room, out);
}

// ---- Zero or one
// --------------------------------------------------------------------------------

// Draws with probabilities of their own: `hit` of draw i against `p`.
typedef struct tally {
  double excess[BINS], variance[BINS];
} tally;

static void count_draw(tally *counts, double p, bool hit) {
  const int bin = p >= 1 ? BINS - 1 : (int)(p * BINS);
  counts->excess[bin] += (hit ? 1 : 0) - p;
  counts->variance[bin] += p * (1 - p);
}

static void test_tally(const tally *counts, oc_comparison *out) {
  double excess = 0, variance = 0;
  for (int i = 0; i < BINS; ++i) {
    excess += counts->excess[i];
    variance += counts->variance[i];
    if (counts->variance[i] >= FEW) {
      note(out, "share", counts->excess[i] / sqrt(counts->variance[i]), SIGMAS);
    }
  }
  if (variance >= FEW) note(out, "share", excess / sqrt(variance), SIGMAS);
}

static void judge_bernoulli(const oc_compare_input *input, double *room, oc_comparison *out) {
  const oc_random_law *law = input->law;
  tally counts = {{0}, {0}};
  for (size_t i = 0; i < input->count; ++i) {
    const double value = value_at(input, i);
    const double p = law->kind == OC_LAW_KEPT ? 1 - law->share : law->of[i];
    if ((value != 0 && value != 1) || (p == 0 && value != 0) || (p == 1 && value != 1)) {
      note_range(out, i);
    }
    count_draw(&counts, p, value != 0);
    room[i] = p > 0 && p < 1 ? (value - p) / sqrt(p * (1 - p)) : 0;
  }
  if (out->wrong || input->count < MIN_STATISTICS) return;
  test_tally(&counts, out);
  test_neighbours(room, input->count, out);
}

// Elements are kept and scaled by 1 / (1 - share), or become 0.
static void judge_dropped(const oc_compare_input *input, double *room, oc_comparison *out) {
  const oc_random_law *law = input->law;
  const double p = 1 - law->share;
  tally counts = {{0}, {0}};
  size_t n = 0;
  for (size_t i = 0; i < input->count; ++i) {
    const double value = value_at(input, i), kept = law->of[i] / p;
    const double off = fabs(value - kept);
    if (value != 0 && !(off <= DROPPED_ULP * oc_judge_unit(input->type, kept))) {
      note_range(out, i);
    }
    if (law->of[i] == 0) continue;
    if (p == 1 && value == 0) note_range(out, i);
    count_draw(&counts, p, value != 0);
    room[n++] = p < 1 ? ((value != 0) - p) / sqrt(p * (1 - p)) : 0;
  }
  if (out->wrong || n < MIN_STATISTICS) return;
  test_tally(&counts, out);
  test_neighbours(room, n, out);
}

// ---- One of several
// -----------------------------------------------------------------------------

// The sum of exp(logit - the largest) of a row.
static double sum_row(const double *logits, size_t classes, double *out_high) {
  double sum = 0;
  *out_high = -INFINITY;
  for (size_t k = 0; k < classes; ++k) *out_high = fmax(*out_high, logits[k]);
  for (size_t k = 0; k < classes; ++k) sum += exp(logits[k] - *out_high);
  return sum;
}

// `seen` has room for a number per class.
static void judge_row(const oc_compare_input *input, size_t row, size_t samples, double *seen,
                      oc_comparison *out) {
  const oc_random_law *law = input->law;
  const double *logits = law->of + row * law->classes;
  double high;
  const double sum = sum_row(logits, law->classes, &high);
  for (size_t c = 0; c < law->classes; ++c) seen[c] = 0;
  for (size_t i = 0; i < samples; ++i) ++seen[(size_t)value_at(input, row * samples + i)];
  for (size_t c = 0; c < law->classes; ++c) {
    const double p = exp(logits[c] - high) / sum;
    const double variance = (double)samples * p * (1 - p);
    // A class that is rare follows Poisson, whose tail is longer: SIGMAS draws more.
    note(out, "share", seen[c] - (double)samples * p, SIGMAS * sqrt(variance) + SIGMAS);
  }
}

static void judge_categorical(const oc_compare_input *input, double *room, oc_comparison *out) {
  const oc_random_law *law = input->law;
  const size_t rows = law->classes ? law->count / law->classes : 0;
  for (size_t i = 0; i < input->count; ++i) {
    const double value = value_at(input, i);
    if (!(value >= 0 && value < (double)law->classes) || value != floor(value)) {
      note_range(out, i);
    }
  }
  for (size_t row = 0; row < rows && !out->wrong; ++row) {
    judge_row(input, row, input->count / rows, room, out);
  }
}

// ---- The judge
// ----------------------------------------------------------------------------------

typedef void (*law_fn)(const oc_compare_input *input, double *room, oc_comparison *out);

static const law_fn kLaws[] = {
    [OC_LAW_UNIFORM] = judge_continuous,      [OC_LAW_NORMAL] = judge_continuous,
    [OC_LAW_BERNOULLI] = judge_bernoulli,     [OC_LAW_KEPT] = judge_bernoulli,
    [OC_LAW_CATEGORICAL] = judge_categorical, [OC_LAW_DROPPED] = judge_dropped,
};

void oc_judge_random(const oc_compare_input *input, oc_comparison *out) {
  const size_t classes = input->law->classes;
  const size_t count = input->count > classes ? input->count : classes;
  double *room = malloc((count + 1) * sizeof *room);
  out->metric = "range";
  out->limit = 1;
  if (!room) {
    out->untrusted = "there is no memory for statistics";
    return;
  }
  kLaws[input->law->kind](input, room, out);
  free(room);
}

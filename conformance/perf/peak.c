// SPDX-License-Identifier: Apache-2.0
//
// Peaks of the host by measurement: the best of a few short trials.
#include "perf/peak.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define MAX_THREADS 256
#define TRIALS 5
#define STEPS 4000000                  // of the arithmetic loop in one trial
#define COPY_BYTES ((size_t)48 << 20)  // in all, of each of the two buffers

// CPU time of the thread: a machine that others use is no slower for that.
static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// ---- Arithmetic -----------------------------------------------------------------------------

// Each does STEPS steps on CHAINS independent accumulators and returns the operations done. The
// sum goes to `out`, so that the work is not left out.
#define CHAINS 12

static double run_plain(float *out) {
  float sums[CHAINS * 4];
  for (int i = 0; i < CHAINS * 4; ++i) sums[i] = (float)i;
  for (int step = 0; step < STEPS; ++step) {
    for (int i = 0; i < CHAINS * 4; ++i) sums[i] = sums[i] * 0.999f + 0.001f;
  }
  for (int i = 0; i < CHAINS * 4; ++i) *out += sums[i];
  return 2.0 * STEPS * CHAINS * 4;
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static double run_avx2(float *out) {
  __m256 sums[CHAINS], factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f);
  for (int i = 0; i < CHAINS; ++i) sums[i] = _mm256_set1_ps((float)i);
  for (int step = 0; step < STEPS; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, term);
  }
  for (int i = 0; i < CHAINS; ++i) *out += _mm256_cvtss_f32(sums[i]);
  return 2.0 * STEPS * CHAINS * 8;
}

__attribute__((target("avx512f"))) static double run_avx512(float *out) {
  __m512 sums[CHAINS], factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(0.001f);
  for (int i = 0; i < CHAINS; ++i) sums[i] = _mm512_set1_ps((float)i);
  for (int step = 0; step < STEPS; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, term);
  }
  for (int i = 0; i < CHAINS; ++i) *out += _mm512_cvtss_f32(sums[i]);
  return 2.0 * STEPS * CHAINS * 16;
}
#endif

typedef double (*arithmetic_fn)(float *out);

static arithmetic_fn choose_arithmetic(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return run_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return run_avx2;
#endif
  return run_plain;
}

// ---- Threads --------------------------------------------------------------------------------

// One thread's part of a trial: work(context) returns an amount.
typedef struct part {
  pthread_t thread;
  double (*work)(struct part *part);
  char *from;
  char *to;
  size_t bytes;
  float sum;
  double amount;
  double seconds;
} part;

static void *run_part(void *context) {
  part *own = context;
  const double start = now_seconds();
  own->amount = own->work(own);
  own->seconds = now_seconds() - start;
  return NULL;
}

static double calculate(part *own) {
  return choose_arithmetic()(&own->sum);
}

static double copy(part *own) {
  memcpy(own->to, own->from, own->bytes);
  return 2.0 * (double)own->bytes;
}

// All parts at once; the sum of their rates. Threads start within microseconds of each other, a
// trial takes milliseconds.
static double run_trial(part *parts, uint32_t threads) {
  uint32_t running = 0;
  double rate = 0;
  while (running + 1 < threads &&
         pthread_create(&parts[running].thread, NULL, run_part, &parts[running]) == 0) {
    ++running;
  }
  run_part(&parts[running]);
  for (uint32_t i = 0; i < running; ++i) pthread_join(parts[i].thread, NULL);
  for (uint32_t i = 0; i <= running; ++i) {
    if (parts[i].seconds > 0) rate += parts[i].amount / parts[i].seconds;
  }
  return rate;
}

static double best_of(part *parts, uint32_t threads) {
  double best = 0;
  for (int i = 0; i < TRIALS; ++i) best = fmax(best, run_trial(parts, threads));
  return best;
}

double oc_peak_flops(uint32_t threads) {
  part parts[MAX_THREADS] = {0};
  if (threads < 1 || threads > MAX_THREADS) return 0;
  for (uint32_t i = 0; i < threads; ++i) parts[i].work = calculate;
  return best_of(parts, threads);
}

double oc_peak_bytes(uint32_t threads) {
  part parts[MAX_THREADS] = {0};
  if (threads < 1 || threads > MAX_THREADS) return 0;
  char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
  double best = 0;
  if (from && to) {
    const size_t share = COPY_BYTES / threads;
    memset(from, 1, COPY_BYTES);
    memset(to, 2, COPY_BYTES);
    for (uint32_t i = 0; i < threads; ++i) {
      parts[i] =
          (part){.work = copy, .from = from + i * share, .to = to + i * share, .bytes = share};
    }
    best = best_of(parts, threads);
  }
  free(from);
  free(to);
  return best;
}

// ---- Shares ---------------------------------------------------------------------------------

void oc_peak_shares(const oc_perf_peak *peak, oc_perf_point *point) {
  const double seconds = point->candidate.times[OC_PERF_HOT].median_ms / 1e3;
  if (!point->candidate.present || !(seconds > 0)) return;
  const double by_flops =
      peak->flops_per_second > 0 ? point->flops / peak->flops_per_second : 0;
  const double by_bytes =
      peak->bytes_per_second > 0 ? point->bytes / peak->bytes_per_second : 0;
  point->share_of_flops = by_flops / seconds;
  point->share_of_bandwidth = by_bytes / seconds;
  point->share_of_roofline = fmax(by_flops, by_bytes) / seconds;
}

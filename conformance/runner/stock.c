// SPDX-License-Identifier: Apache-2.0
//
// proc_pid_status(5) for threads and resident memory, mallinfo2(3) for the heap. A page that
// was freed may stay resident, which is why resident memory is allowed more than the heap.
#include "runner/stock.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runner/environment.h"

#define MEBIBYTE ((uint64_t)1 << 20)
#define PAUSES 1000  // of a millisecond, for threads to end

// Sanitizers keep freed memory and tables of their own; then resident memory says nothing.
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static const struct {
  const char *what;
  uint64_t unit;
  uint64_t allowed;
} kStocks[OC_STOCK_COUNT] = {
    [OC_STOCK_THREADS] = {"threads that go on running", 1, 0},
    [OC_STOCK_HEAP] = {"MiB of memory from malloc", MEBIBYTE, 64 * MEBIBYTE},
    [OC_STOCK_RESIDENT] = {"MiB of resident memory", MEBIBYTE, 256 * MEBIBYTE}};

static void take(uint64_t stocks[OC_STOCK_COUNT]) {
  char line[128];
  unsigned long long number;
  memset(stocks, 0, OC_STOCK_COUNT * sizeof *stocks);
  FILE *file = fopen("/proc/self/status", "re");
  while (file && fgets(line, sizeof line, file)) {
    if (sscanf(line, "Threads: %llu", &number) == 1) stocks[OC_STOCK_THREADS] = number;
    if (sscanf(line, "RssAnon: %llu", &number) == 1) stocks[OC_STOCK_RESIDENT] = number << 10;
  }
  if (file) fclose(file);
  stocks[OC_STOCK_HEAP] = oc_environment_heap();
  if (!__sanitizer_get_current_allocated_bytes) return;
  stocks[OC_STOCK_HEAP] = __sanitizer_get_current_allocated_bytes();
  stocks[OC_STOCK_RESIDENT] = 0;
}

static void *tell_thread_id(void *id) {
  *(pid_t *)id = gettid();
  return NULL;
}

// Starts a thread and waits until the kernel has put it away: what libraries of this process
// run beside the first thread that anyone starts (ThreadSanitizer does) is then there already,
// and not counted as the provider's.
static void start_first_thread(void) {
  const struct timespec pause = {0, 1000000};
  pthread_t thread;
  pid_t id = 0;
  char path[64];
  if (pthread_create(&thread, NULL, tell_thread_id, &id)) return;
  pthread_join(thread, NULL);
  snprintf(path, sizeof path, "/proc/self/task/%d", (int)id);
  for (int i = 0; i < PAUSES && access(path, F_OK) == 0; ++i) nanosleep(&pause, NULL);
}

void oc_stocks_begin(oc_stocks *stocks) {
  start_first_thread();
  memset(stocks, 0, sizeof *stocks);
  for (int i = 0; i < OC_STOCK_COUNT; ++i) stocks->culprit[i] = OC_STOCK_NO_CASE;
  take(stocks->first);
  memcpy(stocks->last, stocks->first, sizeof stocks->last);
}

void oc_stocks_keep_threads(oc_stocks *stocks) {
  uint64_t now[OC_STOCK_COUNT];
  take(now);
  stocks->first[OC_STOCK_THREADS] = now[OC_STOCK_THREADS];
}

void oc_stocks_note(oc_stocks *stocks, uint32_t index) {
  uint64_t now[OC_STOCK_COUNT];
  take(now);
  for (int i = 0; i < OC_STOCK_COUNT; ++i) {
    const uint64_t added = now[i] > stocks->last[i] ? now[i] - stocks->last[i] : 0;
    if (added <= stocks->most[i]) continue;
    stocks->most[i] = added;
    stocks->culprit[i] = index;
  }
  memcpy(stocks->last, now, sizeof now);
}

// How much of a stock is left beyond what there was; 0: no more than allowed.
static uint64_t excess(const oc_stocks *stocks, const uint64_t now[OC_STOCK_COUNT], int i) {
  const uint64_t left = now[i] > stocks->first[i] ? now[i] - stocks->first[i] : 0;
  return stocks->first[i] > 0 && left > kStocks[i].allowed ? left : 0;
}

// A thread that was joined is counted until the kernel has put it away.
static void take_at_rest(const oc_stocks *stocks, uint64_t now[OC_STOCK_COUNT]) {
  const struct timespec pause = {0, 1000000};
  malloc_trim(0);
  take(now);
  for (int i = 0; i < PAUSES && excess(stocks, now, OC_STOCK_THREADS); ++i) {
    nanosleep(&pause, NULL);
    take(now);
  }
}

bool oc_stocks_left(oc_stocks *stocks, char *text, size_t size, uint32_t *out_case) {
  uint64_t now[OC_STOCK_COUNT];
  take_at_rest(stocks, now);
  for (int i = 0; i < OC_STOCK_COUNT; ++i) {
    const uint64_t left = excess(stocks, now, i);
    if (!left) continue;
    const uint64_t unit = kStocks[i].unit;
    snprintf(text, size,
             "found %llu %s more than before the provider was opened, expected at most %llu",
             (unsigned long long)(left / unit), kStocks[i].what,
             (unsigned long long)(kStocks[i].allowed / unit));
    *out_case = stocks->most[i] * 2 >= left ? stocks->culprit[i] : OC_STOCK_NO_CASE;
    return true;
  }
  return false;
}

// SPDX-License-Identifier: Apache-2.0
//
// The sink: an array of spans behind one mutex, and the sums over it. Spans beyond the limit or
// beyond memory are dropped and counted, never an error of the run that they describe.
#include "profile/profile.h"

#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profile/spans.h"

int32_t rt_profile_create(rt_profile **out_profile, ops_error *error) {
  *out_profile = calloc(1, sizeof **out_profile);
  if (!*out_profile) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a profile");
  pthread_mutex_init(&(*out_profile)->mutex, NULL);
  return OPS_OK;
}

static void entry_finish(rt_profile_entry *entry) {
  for (uint32_t i = 0; i < entry->counter_count; ++i) {
    free(entry->counters[i].name);
    free(entry->counters[i].unit);
  }
  free(entry->counters);
  free(entry->own_name);
}

void rt_profile_clear(rt_profile *profile) {
  pthread_mutex_lock(&profile->mutex);
  for (uint64_t i = 0; i < profile->count; ++i) entry_finish(&profile->entries[i]);
  profile->count = profile->dropped = 0;
  pthread_mutex_unlock(&profile->mutex);
}

void rt_profile_destroy(rt_profile *profile) {
  if (!profile) return;
  rt_profile_clear(profile);
  free(profile->entries);
  pthread_mutex_destroy(&profile->mutex);
  free(profile);
}

uint64_t rt_profile_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t rt_profile_launch(rt_profile *profile) {
  pthread_mutex_lock(&profile->mutex);
  const uint64_t number = ++profile->next_launch;
  pthread_mutex_unlock(&profile->mutex);
  return number;
}

// Takes over what `entry` owns.
static void append(rt_profile *profile, rt_profile_entry *entry) {
  pthread_mutex_lock(&profile->mutex);
  if (profile->count == profile->capacity && profile->capacity < RT_PROFILE_MAX_SPANS) {
    const uint64_t capacity = profile->capacity ? profile->capacity * 2 : 1024;
    rt_profile_entry *grown = realloc(profile->entries, capacity * sizeof *profile->entries);
    if (grown) {
      profile->entries = grown;
      profile->capacity = capacity;
    }
  }
  const int fits = profile->count < profile->capacity;
  if (fits)
    profile->entries[profile->count++] = *entry;
  else
    profile->dropped++;
  pthread_mutex_unlock(&profile->mutex);
  if (!fits) entry_finish(entry);
}

void rt_profile_add(rt_profile *profile, const rt_profile_span *span) {
  rt_profile_entry entry = {.span = *span, .device = RT_PROFILE_HOST};
  append(profile, &entry);
}

static char *copy_text(ops_str text) {
  char *copy = malloc(text.size + 1);
  if (!copy) return NULL;
  if (text.size) memcpy(copy, text.data, text.size);
  copy[text.size] = 0;
  return copy;
}

static void copy_counters(rt_profile_entry *entry, const ops_profile_record *record) {
  if (!record->counter_count || record->counter_count > 256) return;
  entry->counters = calloc(record->counter_count, sizeof *entry->counters);
  if (!entry->counters) return;
  for (uint64_t i = 0; i < record->counter_count; ++i) {
    const ops_counter *from =
        (const ops_counter *)((const char *)record->counters + i * record->counter_stride);
    entry->counters[i] =
        (rt_profile_counter){copy_text(from->name), copy_text(from->unit), from->value};
  }
  entry->counter_count = (uint32_t)record->counter_count;
}

void rt_profile_add_device(rt_profile *profile, int32_t device, const char *name,
                           const ops_profile_record *record) {
  rt_profile_entry entry = {.device = device,
                            .memory_from = record->memory_from,
                            .memory_to = record->memory_to,
                            .own_name = copy_text(record->name)};
  entry.span = (rt_profile_span){.kind = record->kind,
                                 .run = record->stream_id,
                                 .name = entry.own_name ? entry.own_name : "",
                                 .op = "",
                                 .provider = name,
                                 .correlation = record->correlation,
                                 .start_ns = record->start_ns,
                                 .end_ns = record->end_ns,
                                 .bytes = record->bytes};
  copy_counters(&entry, record);
  append(profile, &entry);
}

// ---- Sums -----------------------------------------------------------------------------------

static int by_launch(const void *left, const void *right) {
  const rt_profile_entry *a = *(const rt_profile_entry *const *)left;
  const rt_profile_entry *b = *(const rt_profile_entry *const *)right;
  if (a->span.correlation != b->span.correlation)
    return a->span.correlation < b->span.correlation ? -1 : 1;
  return (a->device > b->device) - (a->device < b->device);
}

const rt_profile_entry **rt_profile_sorted(const rt_profile *profile) {
  const rt_profile_entry **sorted = malloc((profile->count + 1) * sizeof *sorted);
  if (!sorted) return NULL;
  for (uint64_t i = 0; i < profile->count; ++i) sorted[i] = &profile->entries[i];
  qsort(sorted, profile->count, sizeof *sorted, by_launch);
  return sorted;
}

static uint64_t duration(const rt_profile_entry *entry) {
  return entry->span.end_ns > entry->span.start_ns ? entry->span.end_ns - entry->span.start_ns
                                                   : 0;
}

// One row per launch of the host: with the device's time where it was reported.
static uint64_t launch_rows(const rt_profile_entry **sorted, uint64_t count,
                            rt_profile_time *rows) {
  uint64_t row_count = 0;
  for (uint64_t i = 0; i < count;) {
    const rt_profile_entry *host = sorted[i++];
    if (host->span.correlation == 0 || host->device != RT_PROFILE_HOST) continue;
    uint64_t device_ns = 0;
    int reported = 0;
    for (; i < count && sorted[i]->span.correlation == host->span.correlation; ++i) {
      device_ns += duration(sorted[i]);
      reported = 1;
    }
    rows[row_count++] =
        (rt_profile_time){.name = host->span.name,
                          .op = host->span.op,
                          .origins = host->span.origins ? host->span.origins : "",
                          .provider = host->span.provider,
                          .count = 1,
                          .total_ns = reported ? device_ns : duration(host),
                          .bytes = host->span.bytes};
  }
  return row_count;
}

static int by_name(const void *left, const void *right) {
  const rt_profile_time *a = left, *b = right;
  int order = strcmp(a->name, b->name);
  if (order == 0) order = strcmp(a->op, b->op);
  return order != 0 ? order : strcmp(a->provider, b->provider);
}

static int by_time(const void *left, const void *right) {
  const rt_profile_time *a = left, *b = right;
  if (a->total_ns != b->total_ns) return a->total_ns > b->total_ns ? -1 : 1;
  return by_name(left, right);
}

static uint64_t merge_rows(rt_profile_time *rows, uint64_t count) {
  uint64_t merged = 0;
  for (uint64_t i = 0; i < count; ++i) {
    rt_profile_time *last = merged ? &rows[merged - 1] : NULL;
    if (!last || by_name(last, &rows[i]) != 0) {
      rows[merged++] = rows[i];
      continue;
    }
    last->count += rows[i].count;
    last->total_ns += rows[i].total_ns;
    last->bytes += rows[i].bytes;
  }
  return merged;
}

int32_t rt_profile_times(rt_profile *profile, rt_profile_time **out_times, uint64_t *out_count,
                         ops_error *error) {
  *out_times = NULL;
  *out_count = 0;
  pthread_mutex_lock(&profile->mutex);
  const rt_profile_entry **sorted = rt_profile_sorted(profile);
  rt_profile_time *rows = malloc((profile->count + 1) * sizeof *rows);
  const uint64_t count = sorted && rows ? launch_rows(sorted, profile->count, rows) : 0;
  pthread_mutex_unlock(&profile->mutex);
  const int complete = sorted && rows;
  free(sorted);
  if (!complete) {
    free(rows);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "the times of a profile");
  }
  qsort(rows, count, sizeof *rows, by_name);
  *out_count = merge_rows(rows, count);
  qsort(rows, *out_count, sizeof *rows, by_time);
  *out_times = rows;
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// The sink: arrays of spans and of samples behind one mutex. What is beyond the limit or beyond
// memory is dropped and counted, never an error of the run that it describes.
#include "profile/profile.h"

#include <ops/tensor.h>
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
  profile->count = profile->sample_count = profile->dropped = 0;
  pthread_mutex_unlock(&profile->mutex);
}

void rt_profile_destroy(rt_profile *profile) {
  if (!profile) return;
  rt_profile_clear(profile);
  free(profile->entries);
  free(profile->samples);
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

// Room for one element more, unless memory or RT_PROFILE_MAX_SPANS is exhausted.
static int make_room(void **elements, size_t size, uint64_t count, uint64_t *capacity) {
  if (count < *capacity) return 1;
  const uint64_t wanted = *capacity ? *capacity * 2 : 1024;
  void *grown = wanted <= RT_PROFILE_MAX_SPANS ? realloc(*elements, wanted * size) : NULL;
  if (!grown) return 0;
  *elements = grown;
  *capacity = wanted;
  return 1;
}

// Takes over what `entry` owns.
static void append(rt_profile *profile, rt_profile_entry *entry) {
  pthread_mutex_lock(&profile->mutex);
  void *entries = profile->entries;
  const int fits = make_room(&entries, sizeof *entry, profile->count, &profile->capacity);
  profile->entries = entries;
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

void rt_profile_add_sample(rt_profile *profile, const rt_profile_sample *sample) {
  pthread_mutex_lock(&profile->mutex);
  void *samples = profile->samples;
  const int fits =
      make_room(&samples, sizeof *sample, profile->sample_count, &profile->sample_capacity);
  profile->samples = samples;
  if (fits)
    profile->samples[profile->sample_count++] = *sample;
  else
    profile->dropped++;
  pthread_mutex_unlock(&profile->mutex);
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
  rt_profile_entry entry = {.device = device, .own_name = copy_text(record->name)};
  entry.span = (rt_profile_span){.kind = record->kind,
                                 .run = record->stream_id,
                                 .name = entry.own_name ? entry.own_name : "",
                                 .op = "",
                                 .provider = name,
                                 .correlation = record->correlation,
                                 .start_ns = record->start_ns,
                                 .end_ns = record->end_ns,
                                 .bytes = record->bytes,
                                 .memory_from = record->memory_from,
                                 .memory_to = record->memory_to};
  copy_counters(&entry, record);
  append(profile, &entry);
}

// ---- Reading --------------------------------------------------------------------------------

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

uint64_t rt_profile_duration(const rt_profile_span *span) {
  return span->end_ns > span->start_ns ? span->end_ns - span->start_ns : 0;
}

uint64_t rt_profile_origin(const rt_profile *profile) {
  uint64_t origin = UINT64_MAX;
  for (uint64_t i = 0; i < profile->count; ++i)
    if (profile->entries[i].span.start_ns < origin) origin = profile->entries[i].span.start_ns;
  for (uint64_t i = 0; i < profile->sample_count; ++i)
    if (profile->samples[i].time_ns < origin) origin = profile->samples[i].time_ns;
  return origin;
}

const char *rt_profile_kind_name(int32_t kind) {
  static const char *const names[] = {"other", "kernel", "copy",    "compile", "wait",
                                      "other", "run",    "reorder", "control"};
  return kind > 0 && kind <= RT_PROFILE_CONTROL ? names[kind] : names[0];
}

const char *rt_profile_memory_name(int32_t kind) {
  static const char *const names[] = {"host", "pinned", "device", "shared"};
  return kind >= 0 && kind < OPS_MEMORY_KIND_COUNT ? names[kind] : "unknown";
}

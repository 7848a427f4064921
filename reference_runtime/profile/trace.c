// SPDX-License-Identifier: Apache-2.0
//
// The profile as a Chrome trace ("Trace Event Format", JSON object form): one process for the
// host with one track per run, one process per device with one track per stream. Complete
// events ("X") for spans, counter events ("C") for memory, metadata ("M") for names; times in
// microseconds. A device's span is named after the node that launched it.
#include <inttypes.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "profile/json.h"
#include "profile/profile.h"
#include "profile/spans.h"

static uint64_t process_of(int32_t device) {
  return (uint64_t)(device + 2);  // the host is 1
}

static void write_metadata(rt_json *json, const char *what, int32_t device, uint32_t track,
                           const char *name) {
  rt_json_begin(json, NULL, '{');
  rt_json_text(json, "ph", "M");
  rt_json_text(json, "name", what);
  rt_json_integer(json, "pid", process_of(device));
  rt_json_integer(json, "tid", track);
  rt_json_begin(json, "args", '{');
  rt_json_text(json, "name", name);
  rt_json_end(json, '}');
  rt_json_end(json, '}');
}

// The names of all processes and tracks, each once.
static void write_tracks(rt_json *json, const rt_profile *profile) {
  write_metadata(json, "process_name", RT_PROFILE_HOST, 0, "host");
  for (uint64_t i = 0; i < profile->count; ++i) {
    const rt_profile_entry *entry = &profile->entries[i];
    int known_device = entry->device == RT_PROFILE_HOST, known_track = 0;
    // Tracks are few and recent ones repeat: look back only as far as needed.
    for (uint64_t k = i; k-- > 0 && !(known_device && known_track);) {
      const rt_profile_entry *seen = &profile->entries[k];
      if (seen->device != entry->device) continue;
      known_device = 1;
      if (seen->span.run == entry->span.run) known_track = 1;
    }
    char name[64];
    if (!known_device)
      write_metadata(json, "process_name", entry->device, 0, entry->span.provider);
    if (known_track) continue;
    snprintf(name, sizeof name, "%s %" PRIu32,
             entry->device == RT_PROFILE_HOST ? "run" : "stream", entry->span.run);
    write_metadata(json, "thread_name", entry->device, entry->span.run, name);
  }
}

static void write_counters(rt_json *json, const rt_profile_entry *entry) {
  for (uint32_t i = 0; i < entry->counter_count; ++i) {
    const rt_profile_counter *counter = &entry->counters[i];
    char name[256];
    snprintf(name, sizeof name, "%s [%s]", counter->name ? counter->name : "?",
             counter->unit ? counter->unit : "?");
    rt_json_number(json, name, counter->value);
  }
}

// `host`: the launch that a device's span belongs to, or NULL.
static void write_arguments(rt_json *json, const rt_profile_entry *entry,
                            const rt_profile_entry *host) {
  const rt_profile_span *span = &entry->span, *launch = host ? &host->span : span;
  const uint64_t bytes = span->bytes ? span->bytes : launch->bytes;
  rt_json_begin(json, "args", '{');
  rt_json_text(json, "op", launch->op);
  if (launch->origins && launch->origins[0]) rt_json_text(json, "origins", launch->origins);
  rt_json_text(json, "provider", span->provider);
  if (span->correlation) rt_json_integer(json, "launch", span->correlation);
  if (bytes) rt_json_integer(json, "bytes", bytes);
  if (launch->kind == OPS_PROFILE_KERNEL) {
    rt_json_integer(json, "bytes_read", launch->bytes_read);
    rt_json_integer(json, "bytes_written", launch->bytes_written);
    if (launch->flops >= 0) rt_json_number(json, "flops", launch->flops);
  }
  if (entry->device != RT_PROFILE_HOST) rt_json_text(json, "kernel", span->name);
  if (span->kind == OPS_PROFILE_COPY) {
    rt_json_text(json, "from", rt_profile_memory_name(span->memory_from));
    rt_json_text(json, "to", rt_profile_memory_name(span->memory_to));
  }
  write_counters(json, entry);
  rt_json_end(json, '}');
}

static void write_entry(rt_json *json, const rt_profile_entry *entry,
                        const rt_profile_entry *host, uint64_t origin_ns) {
  const rt_profile_span *span = &entry->span;
  rt_json_begin(json, NULL, '{');
  rt_json_text(json, "ph", "X");
  rt_json_text(json, "name", host ? host->span.name : span->name);
  rt_json_text(json, "cat", rt_profile_kind_name(span->kind));
  rt_json_integer(json, "pid", process_of(entry->device));
  rt_json_integer(json, "tid", span->run);
  rt_json_microseconds(json, "ts", span->start_ns - origin_ns);
  rt_json_microseconds(json, "dur", rt_profile_duration(span));
  write_arguments(json, entry, host);
  rt_json_end(json, '}');
}

// One counter for each memory, with two series.
static void write_sample(rt_json *json, const rt_profile_sample *sample, uint64_t origin_ns) {
  char name[128];
  snprintf(name, sizeof name, "memory of %s (%s)", sample->device,
           rt_profile_memory_name(sample->kind));
  rt_json_begin(json, NULL, '{');
  rt_json_text(json, "ph", "C");
  rt_json_text(json, "name", name);
  rt_json_integer(json, "pid", process_of(RT_PROFILE_HOST));
  rt_json_integer(json, "tid", 0);
  rt_json_microseconds(json, "ts", sample->time_ns - origin_ns);
  rt_json_begin(json, "args", '{');
  rt_json_integer(json, "live", sample->live);
  rt_json_integer(json, "allocated", sample->allocated);
  rt_json_end(json, '}');
  rt_json_end(json, '}');
}

static void write_events(rt_json *json, const rt_profile *profile,
                         const rt_profile_entry **sorted) {
  const uint64_t origin = rt_profile_origin(profile);
  const rt_profile_entry *host = NULL;
  write_tracks(json, profile);
  for (uint64_t i = 0; i < profile->count; ++i) {
    const rt_profile_entry *entry = sorted[i];
    const uint64_t launch = entry->span.correlation;
    if (entry->device == RT_PROFILE_HOST) host = entry;
    const int launched = host && host != entry && launch && host->span.correlation == launch;
    write_entry(json, entry, launched ? host : NULL, origin);
  }
  for (uint64_t i = 0; i < profile->sample_count; ++i)
    write_sample(json, &profile->samples[i], origin);
}

static int write_all(FILE *file, const void *context) {
  rt_profile *profile = (rt_profile *)context;
  rt_json json = {.file = file};
  pthread_mutex_lock(&profile->mutex);
  const rt_profile_entry **sorted = rt_profile_sorted(profile);
  rt_json_begin(&json, NULL, '{');
  rt_json_text(&json, "displayTimeUnit", "ns");
  rt_json_begin(&json, "traceEvents", '[');
  if (sorted) write_events(&json, profile, sorted);
  rt_json_end(&json, ']');
  rt_json_begin(&json, "otherData", '{');
  rt_json_integer(&json, "dropped_spans", profile->dropped);
  rt_json_end(&json, '}');
  rt_json_end(&json, '}');
  pthread_mutex_unlock(&profile->mutex);
  const int complete = sorted != NULL;
  free(sorted);
  return complete;
}

int32_t rt_profile_write(rt_profile *profile, const char *path, ops_error *error) {
  return rt_write_whole(path, "profile", write_all, profile, error);
}

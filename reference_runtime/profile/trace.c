// SPDX-License-Identifier: Apache-2.0
//
// The profile as a Chrome trace ("Trace Event Format", JSON object form): one process for the
// host with one track per run, one process per device with one track per stream. Complete
// events ("X"), times in microseconds. A device's span is named after the node that launched
// it.
#include <errno.h>
#include <inttypes.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/profile.h"
#include "profile/spans.h"

static const char *const kind_names[] = {"other", "kernel", "copy", "compile", "wait", "other"};
static const char *const memory_names[] = {"host", "pinned", "device", "shared"};

static const char *kind_name(int32_t kind) {
  return kind > 0 && kind <= OPS_PROFILE_OTHER ? kind_names[kind] : "other";
}

static const char *memory_name(int32_t kind) {
  return kind >= 0 && kind < 4 ? memory_names[kind] : "unknown";
}

// Length of the valid UTF-8 sequence at `text`, 0 if there is none.
static size_t utf8_length(const unsigned char *text) {
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (text[0] < 0x80) return 1;
  const size_t length = text[0] >= 0xf0 && text[0] < 0xf8   ? 4
                        : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                        : text[0] >= 0xc0 && text[0] < 0xe0 ? 2
                                                            : 0;
  if (length == 0) return 0;
  uint32_t code = text[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((text[i] & 0xc0u) != 0x80u) return 0;
    code = code << 6 | (text[i] & 0x3fu);
  }
  const int surrogate = code >= 0xd800 && code < 0xe000;
  return code >= smallest[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

// A JSON string; bytes that are not UTF-8 become U+FFFD.
static void write_string(FILE *file, const char *text) {
  fputc('"', file);
  for (const unsigned char *at = (const unsigned char *)text; *at;) {
    const size_t length = utf8_length(at);
    if (length == 0) {
      fputs("\\ufffd", file);
      at++;
    } else if (length > 1) {
      fwrite(at, 1, length, file);
      at += length;
    } else {
      if (*at == '"' || *at == '\\')
        fprintf(file, "\\%c", *at);
      else if (*at < 0x20 || *at == 0x7f)
        fprintf(file, "\\u%04x", *at);
      else
        fputc(*at, file);
      at++;
    }
  }
  fputc('"', file);
}

static void write_number(FILE *file, double value) {
  // JSON has no infinities; every finite double is below this.
  const int finite = value == value && value - value == 0;
  fprintf(file, "%.17g", finite ? value : 0.0);
}

static int process_of(int32_t device) {
  return device + 2;  // the host is 1
}

static void write_metadata(FILE *file, const char *what, int process, uint32_t track,
                           const char *name, const char *separator) {
  fprintf(file,
          "%s{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%" PRIu32 ",\"args\":{\"name\":",
          separator, what, process, track);
  write_string(file, name);
  fputs("}}", file);
}

// The names of all processes and tracks, each once.
static void write_tracks(FILE *file, const rt_profile *profile) {
  write_metadata(file, "process_name", process_of(RT_PROFILE_HOST), 0, "host", "");
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
    const int process = process_of(entry->device);
    if (!known_device)
      write_metadata(file, "process_name", process, 0, entry->span.provider, ",\n");
    if (known_track) continue;
    snprintf(name, sizeof name, "%s %" PRIu32,
             entry->device == RT_PROFILE_HOST ? "run" : "stream", entry->span.run);
    write_metadata(file, "thread_name", process, entry->span.run, name, ",\n");
  }
}

static void write_arguments(FILE *file, const rt_profile_entry *entry,
                            const rt_profile_entry *host) {
  const rt_profile_span *span = &entry->span;
  fputs("\"args\":{\"op\":", file);
  write_string(file, host ? host->span.op : span->op);
  const char *origins = host ? host->span.origins : span->origins;
  if (origins && origins[0]) {
    fputs(",\"origins\":", file);
    write_string(file, origins);
  }
  fputs(",\"provider\":", file);
  write_string(file, span->provider);
  if (span->correlation) fprintf(file, ",\"launch\":%" PRIu64, span->correlation);
  const uint64_t bytes = span->bytes ? span->bytes : host ? host->span.bytes : 0;
  if (bytes) fprintf(file, ",\"bytes\":%" PRIu64, bytes);
  if (entry->device != RT_PROFILE_HOST) {
    fputs(",\"kernel\":", file);
    write_string(file, span->name);
    if (span->kind == OPS_PROFILE_COPY)
      fprintf(file, ",\"from\":\"%s\",\"to\":\"%s\"", memory_name(entry->memory_from),
              memory_name(entry->memory_to));
  }
  for (uint32_t i = 0; i < entry->counter_count; ++i) {
    const rt_profile_counter *counter = &entry->counters[i];
    fputc(',', file);
    char name[256];
    snprintf(name, sizeof name, "%s [%s]", counter->name ? counter->name : "?",
             counter->unit ? counter->unit : "?");
    write_string(file, name);
    fputc(':', file);
    write_number(file, counter->value);
  }
  fputc('}', file);
}

static void write_entry(FILE *file, const rt_profile_entry *entry, const rt_profile_entry *host,
                        uint64_t origin_ns) {
  const rt_profile_span *span = &entry->span;
  const uint64_t start = span->start_ns > origin_ns ? span->start_ns - origin_ns : 0;
  const uint64_t length = span->end_ns > span->start_ns ? span->end_ns - span->start_ns : 0;
  fputs(",\n{\"ph\":\"X\",\"name\":", file);
  write_string(file, host ? host->span.name : span->name);
  fprintf(file,
          ",\"cat\":\"%s\",\"pid\":%d,\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ".%03" PRIu64
          ",\"dur\":%" PRIu64 ".%03" PRIu64 ",",
          kind_name(span->kind), process_of(entry->device), span->run, start / 1000,
          start % 1000, length / 1000, length % 1000);
  write_arguments(file, entry, host);
  fputc('}', file);
}

static uint64_t earliest(const rt_profile *profile) {
  uint64_t origin = UINT64_MAX;
  for (uint64_t i = 0; i < profile->count; ++i)
    if (profile->entries[i].span.start_ns < origin) origin = profile->entries[i].span.start_ns;
  return origin;
}

static int write_all(FILE *file, const rt_profile *profile) {
  const rt_profile_entry **sorted = rt_profile_sorted(profile);
  if (!sorted) return 0;
  const uint64_t origin = earliest(profile);
  fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", file);
  write_tracks(file, profile);
  const rt_profile_entry *host = NULL;
  for (uint64_t i = 0; i < profile->count; ++i) {
    const rt_profile_entry *entry = sorted[i];
    const uint64_t launch = entry->span.correlation;
    if (entry->device == RT_PROFILE_HOST) host = entry;
    const int launched = host && host != entry && launch && host->span.correlation == launch;
    write_entry(file, entry, launched ? host : NULL, origin);
  }
  fprintf(file, "\n],\"otherData\":{\"dropped_spans\":\"%" PRIu64 "\"}}\n", profile->dropped);
  free(sorted);
  return 1;
}

int32_t rt_profile_write(rt_profile *profile, const char *path, ops_error *error) {
  const size_t length = strlen(path) + 32;
  char *partial = malloc(length);
  if (!partial) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a file name");
  snprintf(partial, length, "%s.%ld.part", path, (long)getpid());
  int32_t status = OPS_OK;
  FILE *file = fopen(partial, "w");
  int complete = 0, failed = 1;
  if (file) {
    pthread_mutex_lock(&profile->mutex);
    complete = write_all(file, profile);
    pthread_mutex_unlock(&profile->mutex);
    failed = ferror(file);
    failed |= fclose(file) != 0;
  }
  if (file && !complete)
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "writing the profile '%s'", path);
  else if (!file || failed || rename(partial, path) != 0)
    status = ops_error_set(error, OPS_ERROR_IO,
                           "profile '%s' cannot be written: %s; name a writable place", path,
                           strerror(errno));
  if (status != OPS_OK && file) unlink(partial);
  free(partial);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// The page: page.html, with the report and the spans of one run in the place of its data. The
// run is the one whose time is the median.
#include <stdlib.h>
#include <string.h>

#include "profile/report.h"
#include "profile/report_json.h"
#include "profile/spans.h"

// page.html, from the build.
extern const char rt_profile_page[];
extern const size_t rt_profile_page_size;

static const char data_place[] = "/*DATA*/";

// [process, track, kind, name, op, start, length]: times in microseconds since the profile
// began.
static void write_span(rt_json *json, const rt_profile_entry *entry,
                       const rt_profile_entry *host, uint64_t origin_ns) {
  const rt_profile_span *span = &entry->span;
  rt_json_begin(json, NULL, '[');
  rt_json_text(json, NULL, entry->device == RT_PROFILE_HOST ? "host" : span->provider);
  rt_json_integer(json, NULL, entry->device == RT_PROFILE_HOST ? 0 : span->run);
  rt_json_text(json, NULL, rt_profile_kind_name(host->span.kind));
  rt_json_text(json, NULL, host->span.name);
  rt_json_text(json, NULL, host->span.op);
  rt_json_microseconds(json, NULL, span->start_ns - origin_ns);
  rt_json_microseconds(json, NULL, rt_profile_duration(span));
  rt_json_end(json, ']');
}

static int write_timeline(rt_json *json, const rt_report *report) {
  const rt_profile *profile = report->profile;
  const uint64_t origin = rt_profile_origin(profile);
  const uint32_t run = rt_report_median_run(report);
  const rt_profile_entry **sorted = rt_profile_sorted(profile);
  const rt_profile_entry *host = NULL;
  if (!sorted) return 0;
  rt_json_begin(json, "timeline", '[');
  for (uint64_t i = 0; i < profile->count; ++i) {
    const rt_profile_entry *entry = sorted[i];
    if (entry->device == RT_PROFILE_HOST) host = entry;
    const int launched = host && host->span.correlation == entry->span.correlation;
    if (!launched || host->span.run != run) continue;
    write_span(json, entry, host, origin);
  }
  rt_json_end(json, ']');
  free(sorted);
  return 1;
}

static int write_page(FILE *file, const void *context) {
  rt_json json = {.file = file};
  const char *place = strstr(rt_profile_page, data_place);
  const size_t before = place ? (size_t)(place - rt_profile_page) : rt_profile_page_size;
  fwrite(rt_profile_page, 1, before, file);
  if (!place) return 0;
  rt_json_begin(&json, NULL, '{');
  rt_report_json_members(&json, context);
  const int complete = write_timeline(&json, context);
  rt_json_end(&json, '}');
  place += sizeof data_place - 1;
  fwrite(place, 1, rt_profile_page_size - (size_t)(place - rt_profile_page), file);
  return complete;
}

int32_t rt_report_write_page(const rt_report *report, const char *path, ops_error *error) {
  pthread_mutex_lock(&report->profile->mutex);
  const int32_t status = rt_write_whole(path, "page", write_page, report, error);
  pthread_mutex_unlock(&report->profile->mutex);
  return status;
}

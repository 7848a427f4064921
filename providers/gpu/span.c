// SPDX-License-Identifier: Apache-2.0
//
// Profiles: how long kernels and copies took on the device. Two points of the driver enclose a
// piece of work. Once they are reached the device's times between points become times of the
// host's clock: a first point of the stream is waited for and read at once, each later span
// counts from the end of the one before it, so that differences stay small.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu.h"

struct gpu_span {
  gpu_span *next;
  gpu_point *begin, *end;
  int32_t kind, from, to;
  uint64_t bytes, correlation, launched_ns, launch_ns;
  char name[128];
};

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static void span_free(const ops_stream *stream, gpu_span *span) {
  const gpu_driver *driver = stream->device->driver;
  if (span->begin) driver->point_release(span->begin);
  if (span->end) driver->point_release(span->end);
  free(span);
}

// The point from which the stream's times count.
static int32_t has_origin(ops_stream *stream) {
  const gpu_driver *driver = stream->device->driver;
  if (stream->origin) return 1;
  if (driver->point_record(stream->queue, &stream->origin, NULL) != OPS_OK) return 0;
  if (driver->point_finish(stream->origin, NULL) == OPS_OK) {
    stream->origin_ns = now_ns();
    return 1;
  }
  driver->point_release(stream->origin);
  stream->origin = NULL;
  return 0;
}

gpu_span *gpu_span_begin(ops_stream *stream, int32_t kind, ops_str name, uint64_t correlation) {
  const ops_instance *instance = stream->device->instance;
  const gpu_driver *driver = stream->device->driver;
  if (!instance->api->profile_enabled(instance->host) || !driver->point_elapsed ||
      !has_origin(stream))
    return NULL;
  gpu_span *span = calloc(1, sizeof *span);
  if (!span) return NULL;
  const uint64_t size = name.size < sizeof span->name ? name.size : sizeof span->name - 1;
  if (size) memcpy(span->name, name.data, size);
  span->kind = kind;
  span->correlation = correlation;
  if (driver->point_record(stream->queue, &span->begin, NULL) != OPS_OK) {
    free(span);
    return NULL;
  }
  span->launched_ns = now_ns();
  return span;
}

void gpu_span_copy(gpu_span *span, int32_t from, int32_t to, uint64_t bytes) {
  if (!span) return;
  span->from = from;
  span->to = to;
  span->bytes = bytes;
}

void gpu_span_end(ops_stream *stream, gpu_span *span) {
  if (!span) return;
  span->launch_ns = now_ns() - span->launched_ns;
  if (stream->device->driver->point_record(stream->queue, &span->end, NULL) != OPS_OK) {
    span_free(stream, span);
    return;
  }
  gpu_span **last = &stream->spans;
  while (*last) last = &(*last)->next;
  *last = span;
}

static void report(const ops_stream *stream, const gpu_span *span, uint64_t start,
                   uint64_t end) {
  const ops_instance *instance = stream->device->instance;
  const ops_counter launch = {.struct_size = sizeof launch,
                              .name = OPS_STR(OPS_COUNTER_LAUNCH_TIME),
                              .unit = OPS_STR("ns"),
                              .value = (double)span->launch_ns};
  const ops_profile_record record = {.struct_size = sizeof record,
                                     .kind = span->kind,
                                     .memory_from = span->from,
                                     .memory_to = span->to,
                                     .stream_id = stream->id,
                                     .name = {span->name, strlen(span->name)},
                                     .correlation = span->correlation,
                                     .start_ns = start,
                                     .end_ns = end,
                                     .bytes = span->bytes,
                                     .counters = &launch,
                                     .counter_count = 1,
                                     .counter_stride = sizeof launch};
  instance->api->profile(instance->host, &record);
}

static uint64_t later(uint64_t ns, double seconds) {
  return seconds > 0 ? ns + (uint64_t)(seconds * 1e9) : ns;
}

// Reports one span that is over, and counts from its end.
static void close_span(ops_stream *stream, gpu_span *span) {
  const gpu_driver *driver = stream->device->driver;
  double wait = 0, run = 0;
  if (driver->point_elapsed(stream->origin, span->begin, &wait, NULL) == OPS_OK &&
      driver->point_elapsed(span->begin, span->end, &run, NULL) == OPS_OK) {
    const uint64_t start = later(stream->origin_ns, wait), end = later(start, run);
    report(stream, span, start, end);
    driver->point_release(stream->origin);
    stream->origin = span->end;
    stream->origin_ns = end;
    span->end = NULL;
  }
  span_free(stream, span);
}

void gpu_spans_report(ops_stream *stream) {
  const gpu_driver *driver = stream->device->driver;
  while (stream->spans && driver->point_query(stream->spans->end, NULL) == OPS_OK) {
    gpu_span *span = stream->spans;
    stream->spans = span->next;
    close_span(stream, span);
  }
}

void gpu_spans_drop(ops_stream *stream) {
  while (stream->spans) {
    gpu_span *next = stream->spans->next;
    span_free(stream, stream->spans);
    stream->spans = next;
  }
  if (stream->origin) stream->device->driver->point_release(stream->origin);
  stream->origin = NULL;
}

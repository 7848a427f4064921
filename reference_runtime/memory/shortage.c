// SPDX-License-Identifier: Apache-2.0
//
// One sentence, put together from the parts about which something is known.
#include "memory/shortage.h"

#include <inttypes.h>
#include <ops/device.h>
#include <ops_support/error.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *rt_memory_kind_name(int32_t memory_kind) {
  static const char *const names[OPS_MEMORY_KIND_COUNT] = {"host", "pinned", "device",
                                                           "shared"};
  if (memory_kind < 0 || memory_kind >= OPS_MEMORY_KIND_COUNT) return "unknown";
  return names[memory_kind];
}

uint32_t rt_shortage_fragmentation(uint64_t free, uint64_t largest_block) {
  if (free == 0 || largest_block >= free) return 0;
  return (uint32_t)(100.0 * (1.0 - (double)largest_block / (double)free) + 0.5);
}

typedef struct text {
  char bytes[OPS_ERROR_MESSAGE_MAX];
  size_t length;
} text;

__attribute__((format(printf, 2, 3))) static void append(text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int written =
      vsnprintf(t->bytes + t->length, sizeof t->bytes - t->length, format, args);
  va_end(args);
  if (written < 0) return;
  t->length += (size_t)written;
  if (t->length >= sizeof t->bytes) t->length = sizeof t->bytes - 1;
}

static void append_blocks(text *t, uint64_t free, uint64_t largest) {
  append(t, ", largest free block %" PRIu64 ", fragmentation %" PRIu32 " %%", largest,
         rt_shortage_fragmentation(free, largest));
}

static int is_forbidden(const rt_shortage *s) {
  return s->maximum && (s->in_use > s->maximum || s->requested > s->maximum - s->in_use);
}

static const char *remedy(const rt_shortage *s) {
  if (is_forbidden(s))
    return "raise the maximum (memory_maximum, --memory-maximum), or use smaller inputs or "
           "fewer runs at once";
  const uint64_t pieces = s->device_total ? s->device_free : 0;
  if (pieces >= s->requested || s->arena_free >= s->requested)
    return "what is free lies in pieces: let the arena begin with what a whole run needs "
           "(arena_initial, --arena-initial), or shrink it between models";
  return "use smaller inputs, fewer runs at once, or a provider with more memory";
}

int32_t rt_shortage_report(const rt_shortage *s, ops_error *error) {
  text t = {.length = 0};
  append(&t, "%s memory", rt_memory_kind_name(s->kind));
  if (strcmp(s->name, rt_memory_kind_name(s->kind)) != 0) append(&t, " of %s", s->name);
  append(&t, " is exhausted: %" PRIu64 " bytes requested, %" PRIu64 " in use by this session",
         s->requested, s->in_use);
  if (s->maximum) append(&t, " of at most %" PRIu64, s->maximum);
  if (s->arena_free) {
    append(&t, ", of them %" PRIu64 " free in its arena", s->arena_free);
    append_blocks(&t, s->arena_free, s->arena_block);
  }
  if (s->device_total) {
    append(&t, ", %" PRIu64 " of %" PRIu64 " bytes free", s->device_free, s->device_total);
    if (s->device_block) append_blocks(&t, s->device_free, s->device_block);
  }
  append(&t, "; %s", remedy(s));
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "%s", t.bytes);
}

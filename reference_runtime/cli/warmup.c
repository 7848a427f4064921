// SPDX-License-Identifier: Apache-2.0
#include "cli/warmup.h"

#include <inttypes.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STEPS 4096

// The shape of one input: from `first` on, in each step one more where it is a range.
typedef struct shape {
  char name[256];
  int32_t rank;
  int64_t first[OPS_MAX_RANK];
  int moves[OPS_MAX_RANK];
} shape;

typedef struct shapes {
  shape items[CLI_MAX_WARMUP_INPUTS];
  uint32_t count;
  int64_t steps;  // of the ranges; 1: there is none
} shapes;

// ---- Parsing --------------------------------------------------------------------------------

// A number up to `stops`; 0 if there is none.
static int parse_number(const char **at, int64_t *out_number) {
  char *end = NULL;
  if (**at < '0' || **at > '9') return 0;
  const long long number = strtoll(*at, &end, 10);
  *at = end;
  *out_number = number;
  return number < INT64_C(1) << 40;
}

static int parse_dim(const char **at, shapes *all, shape *s) {
  int64_t last = 0;
  if (s->rank == OPS_MAX_RANK || !parse_number(at, &s->first[s->rank])) return 0;
  if (**at == '-') {
    ++*at;
    if (!parse_number(at, &last) || last < s->first[s->rank]) return 0;
    const int64_t steps = last - s->first[s->rank] + 1;
    if (steps > MAX_STEPS || (all->steps > 1 && steps > 1 && steps != all->steps)) return 0;
    if (steps > all->steps) all->steps = steps;
    s->moves[s->rank] = steps > 1;
  }
  s->rank++;
  return 1;
}

// One "NAME=DIMxDIM", up to a comma or the end. A name may hold '=' but for its last.
static int parse_shape(const char **at, shapes *all) {
  const char *end = *at + strcspn(*at, ","), *equal = end;
  while (equal > *at && equal[-1] != '=') equal--;
  const size_t size = equal > *at ? (size_t)(equal - *at - 1) : 0;
  if (all->count == CLI_MAX_WARMUP_INPUTS || size == 0 || size >= sizeof all->items[0].name)
    return 0;
  shape *s = &all->items[all->count++];
  *s = (shape){.rank = 0};
  memcpy(s->name, *at, size);
  *at = equal;
  if (*at == end) return 1;  // a scalar
  while (parse_dim(at, all, s)) {
    if (*at == end) return 1;
    if (**at != 'x') return 0;
    ++*at;
  }
  return 0;
}

static int32_t parse(const char *text, shapes *out_shapes, ops_error *error) {
  const char *at = text;
  *out_shapes = (shapes){.steps = 1};
  int good = parse_shape(&at, out_shapes);
  while (good && *at == ',') {
    at++;
    good = parse_shape(&at, out_shapes);
  }
  if (good && *at == 0) return OPS_OK;
  return ops_error_set_cause(
      error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_USAGE,
      "--warmup-shapes '%s': expected NAME=DIMxDIM…,NAME=… with numbers or "
      "ranges FIRST-LAST of one length, up to %d; stopped at '%s'",
      text, MAX_STEPS, at);
}

uint64_t cli_warmup_count(const cli_options *options) {
  uint64_t count = 0;
  shapes all;
  for (uint32_t i = 0; i < options->warmup_count; ++i)
    if (parse(options->warmup[i], &all, NULL) == OPS_OK) count += (uint64_t)all.steps;
  return count;
}

// ---- Warming up -----------------------------------------------------------------------------

static int32_t type_of(const opsrt_session *session, const char *name) {
  for (uint64_t i = 0; i < opsrt_session_input_count(session); ++i) {
    const opsrt_info *info = opsrt_session_input(session, i);
    if (strcmp(info->name, name) == 0) return info->type;
  }
  return OPS_TYPE_FLOAT;  // the session says that there is no such input
}

static int32_t warm_step(const shapes *all, int64_t step, opsrt_session *session,
                         ops_error *error) {
  opsrt_value values[CLI_MAX_WARMUP_INPUTS];
  int64_t dims[CLI_MAX_WARMUP_INPUTS][OPS_MAX_RANK];
  for (uint32_t i = 0; i < all->count; ++i) {
    const shape *s = &all->items[i];
    for (int32_t k = 0; k < s->rank; ++k) dims[i][k] = s->first[k] + (s->moves[k] ? step : 0);
    values[i] = (opsrt_value){
        .name = s->name, .type = type_of(session, s->name), .rank = s->rank, .dims = dims[i]};
  }
  return opsrt_session_warm_up(session, values, all->count, error);
}

int32_t cli_warm_up(const cli_options *options, opsrt_session *session, ops_error *error) {
  opsrt_counters before, after;
  uint64_t steps = 0;
  shapes all;
  opsrt_session_counters(session, &before);
  for (uint32_t i = 0; i < options->warmup_count; ++i) {
    OPS_RETURN_IF_ERROR(parse(options->warmup[i], &all, error));
    for (int64_t step = 0; step < all.steps; ++step, ++steps)
      if (warm_step(&all, step, session, error) != OPS_OK)
        return ops_error_prefix(error, "--warmup-shapes '%s'", options->warmup[i]);
  }
  opsrt_session_counters(session, &after);
  if (options->warmup_count && !options->follow)
    printf("warmed up for %" PRIu64 " shapes: %" PRIu64 " plans built, %" PRIu64 " prepares\n",
           steps, after.plans_built - before.plans_built, after.prepares - before.prepares);
  return OPS_OK;
}

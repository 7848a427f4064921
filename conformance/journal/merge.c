// SPDX-License-Identifier: Apache-2.0
//
// Shards become one run again. Shard I of N holds every N-th case from the I-th on, so that its
// k-th case is case I - 1 + k·N of the whole; that this gives the selection the headers speak
// of is proven by the hash of all ids.
#include <stdlib.h>
#include <string.h>

#include "journal/header.h"
#include "journal/journal.h"
#include "journal/plan.h"
#include "journal/record.h"
#include "ops_support/error.h"

#define MAX_MEMORY ((size_t)8 << 30)
#define NAMED 5  // missing cases that a message names

typedef struct merger {
  const oc_journal *const *journals;
  const char *const *paths;
  size_t count;
  const oc_journal_header *like;  // what all must be like
  const oc_journal **shards;      // by shard, from 0
  const char **shard_paths;
  uint32_t shard_count;
  oc_journal *whole;
  ops_error *error;
} merger;

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to merge journals");
}

// ---- Which shards ---------------------------------------------------------------------------

static int32_t place_shard(merger *m, size_t index) {
  const oc_journal *journal = m->journals[index];
  const uint32_t at = journal->header.shard_index - 1;
  if (journal->runs == 0 || !journal->planned) {
    return ops_error_set(m->error, OPS_ERROR_INVALID_ARGUMENT,
                         "'%s' ends before its first result; run its shard with --resume",
                         m->paths[index]);
  }
  OPS_RETURN_IF_ERROR(oc_journal_header_match(&journal->header, m->paths[index], m->like,
                                              OC_JOURNAL_MERGE, m->error));
  if (m->shards[at]) {
    return ops_error_set(m->error, OPS_ERROR_INVALID_ARGUMENT,
                         "shard %u/%u is there twice: '%s' and '%s'; name each once", at + 1,
                         m->shard_count, m->shard_paths[at], m->paths[index]);
  }
  m->shards[at] = journal;
  m->shard_paths[at] = m->paths[index];
  return OPS_OK;
}

static int32_t check_all_there(const merger *m) {
  char text[200] = "";
  size_t missing = 0, used = 0;
  for (uint32_t i = 0; i < m->shard_count; ++i) {
    if (m->shards[i]) continue;
    if (missing++ >= NAMED) continue;
    used += (size_t)snprintf(text + used, sizeof text - used, " %u/%u", i + 1, m->shard_count);
  }
  if (missing == 0) return OPS_OK;
  return ops_error_set(m->error, OPS_ERROR_INVALID_ARGUMENT,
                       "%zu of %u shards are missing:%s%s; name the journals of all", missing,
                       m->shard_count, text, missing > NAMED ? " …" : "");
}

// ---- Which cases ----------------------------------------------------------------------------

// Results lie in the order of the plan, findings behind them.
static int32_t check_complete(const merger *m, uint32_t shard) {
  const oc_journal *journal = m->shards[shard];
  char text[4 * OC_CASE_MAX_ID] = "";
  size_t next = 0, missing = 0, used = 0;
  for (uint32_t i = 0; i < journal->cases.count; ++i) {
    if (next < journal->count && journal->results[next].case_index == i) {
      ++next;
      continue;
    }
    if (missing++ >= NAMED || used >= sizeof text) continue;
    used +=
        (size_t)snprintf(text + used, sizeof text - used, " %s", journal->cases.items[i].id);
  }
  if (missing == 0) return OPS_OK;
  return ops_error_set(m->error, OPS_ERROR_INVALID_ARGUMENT,
                       "'%s' (shard %u/%u) has no result of %zu of its %zu cases:%.400s%s; run "
                       "it to its end with --resume",
                       m->shard_paths[shard], shard + 1, m->shard_count, missing,
                       journal->cases.count, text, missing > NAMED ? " …" : "");
}

// The k-th result of a complete shard is that of its k-th case.
static int32_t take_cases(merger *m) {
  oc_journal *whole = m->whole;
  oc_journal_plan *plan = oc_journal_plan_create(whole->arena);
  const size_t selected = (size_t)whole->header.selected;
  bool room = plan && whole->results;
  for (size_t i = 0; room && i < selected; ++i) {
    const oc_journal *shard = m->shards[i % m->shard_count];
    const size_t at = i / m->shard_count;
    room = oc_journal_plan_add(plan, &shard->cases.items[at]);
    whole->results[i] = shard->results[at];
    whole->results[i].case_index = (uint32_t)i;
  }
  whole->count = selected;
  if (room) oc_journal_plan_cases(plan, &whole->cases);
  oc_journal_plan_destroy(plan);
  return room ? OPS_OK : no_memory(m->error);
}

static void take_finding(oc_journal *whole, const oc_result *finding) {
  for (size_t i = whole->cases.count; i < whole->count; ++i) {
    if (oc_journal_same_finding(&whole->results[i], finding)) return;
  }
  whole->results[whole->count++] = *finding;
}

// That every case of the selection is there, once and in its place.
static int32_t check_selection(const merger *m) {
  const oc_journal *whole = m->whole;
  oc_journal_header header = {0};
  uint32_t *indices = malloc((whole->cases.count + 1) * sizeof *indices);
  if (!indices) return no_memory(m->error);
  for (size_t i = 0; i < whole->cases.count; ++i) indices[i] = (uint32_t)i;
  oc_journal_header_select(&header, &whole->cases, indices, whole->cases.count);
  free(indices);
  if (strcmp(header.selection_hash, whole->header.selection_hash) == 0) return OPS_OK;
  return ops_error_set(m->error, OPS_ERROR_INVALID_ARGUMENT,
                       "the cases of the journals are not the selection that their headers "
                       "speak of: SHA-256 %.16s…, expected %.16s…",
                       header.selection_hash, whole->header.selection_hash);
}

// ---- The whole ------------------------------------------------------------------------------

// The header of the shards without their numbers; it began when the first of them did.
static int32_t take_header(merger *m) {
  oc_journal *whole = m->whole;
  if (!oc_journal_header_copy(&whole->header, m->like, whole->arena)) {
    return no_memory(m->error);
  }
  whole->header.setup.shard = NULL;
  whole->header.shard_index = whole->header.shard_count = 1;
  for (uint32_t i = 0; i < m->shard_count; ++i) {
    const char *started = m->shards[i]->header.started;
    if (strcmp(started, whole->header.started) < 0) {
      memcpy(whole->header.started, started, sizeof whole->header.started);
    }
  }
  return OPS_OK;
}

static int32_t join(merger *m) {
  oc_journal *whole = m->whole;
  size_t results = 0;
  m->like = &m->journals[0]->header;
  for (size_t i = m->count; i-- > 0;) {
    if (m->journals[i]->header.hello.oracle.name[0]) m->like = &m->journals[i]->header;
  }
  for (size_t i = 0; i < m->count; ++i) OPS_RETURN_IF_ERROR(place_shard(m, i));
  OPS_RETURN_IF_ERROR(check_all_there(m));
  OPS_RETURN_IF_ERROR(take_header(m));
  whole->ended = whole->planned = true;
  for (uint32_t i = 0; i < m->shard_count; ++i) {
    OPS_RETURN_IF_ERROR(check_complete(m, i));
    whole->seconds += m->shards[i]->seconds;
    whole->runs += m->shards[i]->runs;
    whole->ended = whole->ended && m->shards[i]->ended;
    results += m->shards[i]->count;
  }
  whole->results = oc_arena_alloc(whole->arena, results, sizeof *whole->results);
  OPS_RETURN_IF_ERROR(take_cases(m));
  for (uint32_t i = 0; i < m->shard_count; ++i) {
    const oc_journal *shard = m->shards[i];
    for (size_t k = shard->cases.count; k < shard->count; ++k) {
      take_finding(whole, &shard->results[k]);
    }
  }
  return check_selection(m);
}

int32_t oc_journal_merge(const oc_journal *const *journals, const char *const *paths,
                         size_t count, oc_journal **out_journal, ops_error *error) {
  if (count == 0) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "no journal to merge");
  }
  merger m = {.journals = journals, .paths = paths, .count = count, .error = error};
  m.shard_count = journals[0]->runs ? journals[0]->header.shard_count : 1;
  m.shards = calloc(m.shard_count, sizeof *m.shards);
  m.shard_paths = calloc(m.shard_count, sizeof *m.shard_paths);
  m.whole = calloc(1, sizeof *m.whole);
  if (m.whole) m.whole->arena = oc_arena_create(MAX_MEMORY);
  const bool room = m.shards && m.shard_paths && m.whole && m.whole->arena;
  const int32_t status = room ? join(&m) : no_memory(error);
  free(m.shards);
  free(m.shard_paths);
  if (status != OPS_OK) {
    oc_journal_destroy(m.whole);
    return status;
  }
  *out_journal = m.whole;
  return OPS_OK;
}

// ---- The report -----------------------------------------------------------------------------

static void add_missing(oc_report *report, uint32_t index) {
  oc_result result = {.case_index = index, .attempts = 1, .output = -1, .element = -1};
  oc_result_end(&result, OC_STATUS_NOT_RUN, "journal", "the journal has no result of it");
  oc_report_add(report, &result);
}

int32_t oc_journal_report(const oc_journal *journal, oc_report *out_report, ops_error *error) {
  const oc_journal_header *header = &journal->header;
  OPS_RETURN_IF_ERROR(
      oc_report_init(out_report, &header->setup, &journal->cases, journal->cases.count, error));
  oc_report_greet(out_report, &header->hello);
  memcpy(out_report->candidate_hash, header->candidate_hash, sizeof header->candidate_hash);
  memcpy(out_report->oracle_hash, header->oracle_hash, sizeof header->oracle_hash);
  memcpy(out_report->started, header->started, sizeof header->started);
  memcpy(out_report->host.system, header->system, sizeof header->system);
  memcpy(out_report->host.release, header->release, sizeof header->release);
  memcpy(out_report->host.machine, header->machine, sizeof header->machine);
  out_report->host.cpus = header->cpus;
  size_t next = 0;
  for (uint32_t i = 0; i < journal->cases.count; ++i) {
    if (next < journal->count && journal->results[next].case_index == i) {
      oc_report_add(out_report, &journal->results[next++]);
    } else {
      add_missing(out_report, i);
    }
  }
  for (; next < journal->count; ++next) oc_report_add(out_report, &journal->results[next]);
  oc_report_close(out_report, journal->seconds);
  return OPS_OK;
}

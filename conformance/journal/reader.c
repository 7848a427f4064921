// SPDX-License-Identifier: Apache-2.0
//
// Reading a journal: bytes from outside. Line after line is checked against the chain of sums,
// parsed and filed; what is wrong is told with the line's number.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/header.h"
#include "journal/journal.h"
#include "journal/line.h"
#include "journal/plan.h"
#include "journal/record.h"
#include "ops_support/error.h"

#define MAX_MEMORY ((size_t)4 << 30)
#define MAX_FINDINGS 256  // results about the provider as a whole

typedef struct reader {
  const char *path;
  size_t line;  // from 1
  oc_journal *journal;
  oc_journal_plan *plan;
  oc_result *results;  // one per case of the plan; attempts 0: none yet
  oc_result findings[MAX_FINDINGS];
  size_t finding_count;
  ops_error *error;
} reader;

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a journal");
}

static int32_t wrong(const reader *r, const char *what, const char *detail) {
  return ops_error_set(
      r->error, OPS_ERROR_INVALID_MODEL,
      "%s:%zu: %s%s%.200s; this is no journal of opsconform, or it was changed", r->path,
      r->line, what, detail ? ": " : "", detail ? detail : "");
}

// ---- Lines ----------------------------------------------------------------------------------

// What kept an earlier run from going on does not count any more.
static void drop_obstacles(reader *r) {
  size_t kept = 0;
  for (size_t i = 0; i < r->finding_count; ++i) {
    if (oc_journal_is_final(&r->findings[i])) r->findings[kept++] = r->findings[i];
  }
  r->finding_count = kept;
}

// A later run says the same of the provider, or more: it opened what an earlier one could not.
static int32_t take_run(reader *r, const cJSON *object) {
  oc_journal *journal = r->journal;
  const cJSON *format = cJSON_GetObjectItemCaseSensitive(object, "format");
  oc_journal_header header = {0};
  if (!cJSON_IsNumber(format) || format->valuedouble != OC_JOURNAL_FORMAT) {
    return wrong(r, "expected format 1", NULL);
  }
  const char *bad = oc_journal_header_parse(&header, object, journal->arena);
  if (bad) return wrong(r, "run: no value", bad);
  if (header.shard_count == 0 || header.shard_index == 0 ||
      header.shard_index > header.shard_count || header.selected > OC_CASES_MAX) {
    return wrong(r, "run: expected a shard I of N with 1 <= I <= N", NULL);
  }
  if (journal->runs > 0) {
    OPS_RETURN_IF_ERROR(oc_journal_header_match(&journal->header, r->path, &header,
                                                OC_JOURNAL_RESUME, r->error));
  }
  if (journal->runs == 0 || header.hello.oracle.name[0]) journal->header = header;
  ++journal->runs;
  journal->ended = false;
  drop_obstacles(r);
  return OPS_OK;
}

// How many cases the shard of the header has.
static size_t planned_count(const oc_journal_header *header) {
  const uint64_t before = header->shard_index - 1;
  if (header->selected <= before) return 0;
  return (size_t)((header->selected - before - 1) / header->shard_count + 1);
}

static int32_t finish_plan(reader *r) {
  oc_journal *journal = r->journal;
  const size_t due = planned_count(&journal->header);
  if (journal->planned || oc_journal_plan_count(r->plan) < due) return OPS_OK;
  if (oc_journal_plan_count(r->plan) > due) return wrong(r, "plan: more cases than told", NULL);
  journal->planned = true;
  oc_journal_plan_cases(r->plan, &journal->cases);
  r->results = calloc(due + 1, sizeof *r->results);
  return r->results ? OPS_OK : no_memory(r->error);
}

static int32_t take_plan(reader *r, const cJSON *object) {
  if (r->journal->planned) return wrong(r, "a second plan", NULL);
  const char *bad = oc_journal_plan_parse(r->plan, object);
  return bad ? wrong(r, "plan", bad) : OPS_OK;
}

// One finding is told once, however often a run was resumed.
static int32_t take_finding(reader *r, const oc_result *result) {
  for (size_t i = 0; i < r->finding_count; ++i) {
    if (oc_journal_same_finding(&r->findings[i], result)) return OPS_OK;
  }
  if (r->finding_count == MAX_FINDINGS) return wrong(r, "too many findings", NULL);
  r->findings[r->finding_count++] = *result;
  return OPS_OK;
}

static int32_t take_result(reader *r, const cJSON *object) {
  const cJSON *at = cJSON_GetObjectItemCaseSensitive(object, "at");
  const char *id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "id"));
  oc_result result = {.case_index = OC_NO_CASE};
  const char *bad = oc_journal_record_parse(&result, object);
  if (bad) return wrong(r, "result: no value", bad);
  if (!r->journal->planned) return wrong(r, "a result before the plan", NULL);
  if (result.attempts < 1) return wrong(r, "result: no value", "attempts");
  if (!at) return take_finding(r, &result);
  const double place = cJSON_IsNumber(at) ? at->valuedouble : -1;
  if (!(place >= 0 && place < (double)r->journal->cases.count)) {
    return wrong(r, "result: no value", "at");
  }
  result.case_index = (uint32_t)place;
  const char *planned = r->journal->cases.items[result.case_index].id;
  if (!id || strcmp(id, planned) != 0) return wrong(r, "result: not the case planned", planned);
  oc_result *slot = &r->results[result.case_index];
  if (slot->attempts > 0 && oc_journal_is_final(slot)) {
    return wrong(r, "a second result", planned);
  }
  *slot = result;
  return OPS_OK;
}

static int32_t take_end(reader *r, const cJSON *object) {
  const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(object, "seconds");
  if (!cJSON_IsNumber(seconds)) return wrong(r, "end: no value", "seconds");
  if (!r->journal->planned) return wrong(r, "an end before the plan", NULL);
  r->journal->seconds += seconds->valuedouble;
  r->journal->ended = true;
  return OPS_OK;
}

static int32_t take_line(reader *r, const char *line, size_t size) {
  static const struct {
    const char *name;
    int32_t (*take)(reader *r, const cJSON *object);
  } kinds[] = {
      {"run", take_run}, {"plan", take_plan}, {"result", take_result}, {"end", take_end}};
  cJSON *root = cJSON_ParseWithLength(line, size);
  int32_t status = OPS_ERROR_NOT_FOUND;
  for (size_t i = 0; status == OPS_ERROR_NOT_FOUND && i < sizeof kinds / sizeof *kinds; ++i) {
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, kinds[i].name);
    if (!cJSON_IsObject(object)) continue;
    if (i > 0 && r->journal->runs == 0) {
      status = wrong(r, "expected a run to begin, found", kinds[i].name);
    } else {
      status = kinds[i].take(r, object);
    }
  }
  cJSON_Delete(root);
  return status == OPS_ERROR_NOT_FOUND ? wrong(r, "a line of no known kind", NULL) : status;
}

static int32_t read_lines(reader *r, const char *bytes, size_t size) {
  oc_journal *journal = r->journal;
  for (size_t at = 0; at < size;) {
    const char *end = memchr(bytes + at, '\n', size - at);
    const size_t length = end ? (size_t)(end - bytes) - at : size - at;
    ++r->line;
    if (!end) break;  // cut here
    if (length > OC_JOURNAL_MAX_LINE) return wrong(r, "a line beyond all measure", NULL);
    if (!oc_journal_line_check(bytes + at, length, journal->sum)) {
      if (at + length + 1 == size && r->line > 1) break;  // the last line; torn
      return wrong(r, "the line does not fit its sum or the line before it", NULL);
    }
    OPS_RETURN_IF_ERROR(take_line(r, bytes + at, length));
    OPS_RETURN_IF_ERROR(finish_plan(r));  // the plan of no case is no line at all
    at += length + 1;
    journal->whole = at;
  }
  return OPS_OK;
}

// ---- The whole ------------------------------------------------------------------------------

static int32_t gather(reader *r) {
  oc_journal *journal = r->journal;
  const size_t planned = journal->planned ? journal->cases.count : 0;
  journal->results =
      oc_arena_alloc(journal->arena, planned + r->finding_count, sizeof *journal->results);
  if (!journal->results) return no_memory(r->error);
  for (size_t i = 0; i < planned; ++i) {
    if (r->results[i].attempts > 0) journal->results[journal->count++] = r->results[i];
  }
  for (size_t i = 0; i < r->finding_count; ++i) {
    journal->results[journal->count++] = r->findings[i];
  }
  return OPS_OK;
}

int32_t oc_journal_parse(const char *path, const char *bytes, size_t size,
                         oc_journal **out_journal, ops_error *error) {
  oc_journal *journal = calloc(1, sizeof *journal);
  if (!journal) return no_memory(error);
  reader *r = calloc(1, sizeof *r);
  journal->arena = oc_arena_create(MAX_MEMORY);
  int32_t status = r && journal->arena ? OPS_OK : no_memory(error);
  if (status == OPS_OK) {
    *r = (reader){.path = path, .journal = journal, .error = error};
    r->plan = oc_journal_plan_create(journal->arena);
    status = r->plan ? read_lines(r, bytes, size) : no_memory(error);
  }
  if (status == OPS_OK) status = gather(r);
  if (r) {
    oc_journal_plan_destroy(r->plan);
    free(r->results);
  }
  free(r);
  if (status == OPS_OK) {
    *out_journal = journal;
  } else {
    oc_journal_destroy(journal);
  }
  return status;
}

static int32_t parse_file(const char *path, int fd, size_t size, oc_journal **out_journal,
                          ops_error *error) {
  if (size == 0) return oc_journal_parse(path, "", 0, out_journal, error);
  void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (bytes == MAP_FAILED) return no_memory(error);
  const int32_t status = oc_journal_parse(path, bytes, size, out_journal, error);
  munmap(bytes, size);
  return status;
}

int32_t oc_journal_read(const char *path, oc_journal **out_journal, ops_error *error) {
  struct stat about;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int32_t status = errno == ENOENT ? OPS_ERROR_NOT_FOUND : OPS_ERROR_IO;
    return ops_error_set(error, status, "the journal '%s' cannot be read: %s", path,
                         strerror(errno));
  }
  int32_t status;
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    status = ops_error_set(error, OPS_ERROR_IO, "the journal '%s' is not a file", path);
  } else {
    status = parse_file(path, fd, (size_t)about.st_size, out_journal, error);
  }
  close(fd);
  return status;
}

void oc_journal_destroy(oc_journal *journal) {
  if (!journal) return;
  oc_arena_destroy(journal->arena);
  free(journal);
}

bool oc_journal_is_final(const oc_result *result) {
  return result->status != OC_STATUS_NOT_RUN;
}

bool oc_journal_same_finding(const oc_result *a, const oc_result *b) {
  return a->status == b->status && a->phase == b->phase && strcmp(a->check, b->check) == 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Writing a journal: lines at its end, one write each. A write that the system takes in part
// (a full disk) leaves what a reader drops.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "journal/header.h"
#include "journal/journal.h"
#include "journal/line.h"
#include "journal/plan.h"
#include "journal/record.h"
#include "ops_support/error.h"
#include "runner/clock.h"

#define SYNC_SECONDS 1.0
#define NO_PLACE UINT32_MAX

struct oc_journal_writer {
  char *path;
  int fd;
  uint64_t whole;  // what of the file is kept
  bool planned;    // it has its plan
  bool begun;
  bool created;  // it was not there before
  char sum[OC_JOURNAL_SUM_DIGITS + 1];
  const oc_cases *cases;
  uint32_t *places;  // by case_index: the position in the plan
  uint64_t results;
  double synced;
};

static int32_t io_error(const oc_journal_writer *writer, const char *what, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_IO, "the journal '%s' cannot be %s: %s", writer->path,
                       what, strerror(errno));
}

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a journal");
}

// ---- Opening --------------------------------------------------------------------------------

static int32_t lock(const oc_journal_writer *writer, ops_error *error) {
  struct stat about;
  if (fstat(writer->fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    return ops_error_set(error, OPS_ERROR_IO, "the journal '%s' is not a file", writer->path);
  }
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(writer->fd, F_SETLK, &whole) == 0) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_PRECONDITION,
                       "the journal '%s' is being written by another process; wait for it, or "
                       "name another journal",
                       writer->path);
}

static int32_t open_file(oc_journal_writer *writer, const char *path, oc_journal **out_journal,
                         ops_error *error) {
  writer->path = strdup(path);
  if (!writer->path) return no_memory(error);
  writer->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  writer->created = writer->fd >= 0;
  if (writer->fd < 0 && errno == EEXIST) writer->fd = open(path, O_RDWR | O_CLOEXEC);
  if (writer->fd < 0) return io_error(writer, "written", error);
  // A lock of the process, which no process it forks shares: what a provider leaves behind when
  // the harness is killed does not keep the journal locked. Reading the file ends it
  // (fcntl(2)).
  OPS_RETURN_IF_ERROR(lock(writer, error));
  OPS_RETURN_IF_ERROR(oc_journal_read(path, out_journal, error));
  return lock(writer, error);
}

int32_t oc_journal_writer_open(const char *path, oc_journal_writer **out_writer,
                               oc_journal **out_journal, ops_error *error) {
  oc_journal *read = NULL;
  oc_journal_writer *writer = calloc(1, sizeof *writer);
  if (!writer) return no_memory(error);
  writer->fd = -1;
  const int32_t status = open_file(writer, path, &read, error);
  if (status != OPS_OK) {
    oc_journal_writer_close(writer);
    return status;
  }
  // A journal without a whole plan has no result: it begins anew.
  if (read->planned) {
    writer->planned = true;
    writer->whole = read->whole;
    memcpy(writer->sum, read->sum, sizeof writer->sum);
  }
  *out_writer = writer;
  *out_journal = read;
  return OPS_OK;
}

int oc_journal_writer_file(const oc_journal_writer *writer) {
  return writer->fd;
}

void oc_journal_writer_close(oc_journal_writer *writer) {
  if (!writer) return;
  if (writer->fd >= 0) {
    if (writer->begun) fdatasync(writer->fd);
    if (writer->created && !writer->begun) unlink(writer->path);
    close(writer->fd);
  }
  free(writer->places);
  free(writer->path);
  free(writer);
}

// ---- Lines ----------------------------------------------------------------------------------

static int32_t write_all(const oc_journal_writer *writer, const char *text, size_t size,
                         ops_error *error) {
  while (size > 0) {
    const ssize_t sent = write(writer->fd, text, size);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return io_error(writer, "written", error);
    text += sent;
    size -= (size_t)sent;
  }
  return OPS_OK;
}

static int32_t sync_now(oc_journal_writer *writer, ops_error *error) {
  writer->synced = oc_clock_seconds();
  if (fdatasync(writer->fd) == 0 || errno == EINVAL) return OPS_OK;
  return io_error(writer, "forced to the disk", error);
}

// Takes `object`, which may be NULL: no memory.
static int32_t put(oc_journal_writer *writer, const char *kind, cJSON *object,
                   ops_error *error) {
  size_t size = 0;
  cJSON *root = cJSON_CreateObject();
  if (!root || !object || !cJSON_AddItemToObject(root, kind, object)) {
    cJSON_Delete(object);
    cJSON_Delete(root);
    return no_memory(error);
  }
  char *line = oc_journal_line_seal(root, writer->sum, &size);
  cJSON_Delete(root);
  if (!line) return no_memory(error);
  const int32_t status = write_all(writer, line, size, error);
  free(line);
  return status;
}

static int32_t put_header(oc_journal_writer *writer, const oc_journal_header *header,
                          ops_error *error) {
  cJSON *object = oc_journal_header_json(header);
  if (object) cJSON_AddNumberToObject(object, "format", OC_JOURNAL_FORMAT);
  return put(writer, "run", object, error);
}

static int32_t put_plan(oc_journal_writer *writer, const oc_cases *cases,
                        const uint32_t *indices, size_t count, ops_error *error) {
  for (size_t at = 0; at < count; at += OC_JOURNAL_PLAN_LINE) {
    const size_t left = count - at;
    const size_t size = left < OC_JOURNAL_PLAN_LINE ? left : OC_JOURNAL_PLAN_LINE;
    cJSON *object = oc_journal_plan_json(cases, indices, at, size);
    OPS_RETURN_IF_ERROR(put(writer, "plan", object, error));
  }
  return OPS_OK;
}

static int32_t map_places(oc_journal_writer *writer, const oc_cases *cases,
                          const uint32_t *indices, size_t count, ops_error *error) {
  writer->cases = cases;
  writer->places = malloc((cases->count + 1) * sizeof *writer->places);
  if (!writer->places) return no_memory(error);
  for (size_t i = 0; i < cases->count; ++i) writer->places[i] = NO_PLACE;
  for (size_t i = 0; i < count; ++i) writer->places[indices[i]] = (uint32_t)i;
  return OPS_OK;
}

int32_t oc_journal_writer_begin(oc_journal_writer *writer, const oc_journal_header *header,
                                const oc_cases *cases, const uint32_t *indices, size_t count,
                                ops_error *error) {
  OPS_RETURN_IF_ERROR(map_places(writer, cases, indices, count, error));
  if (ftruncate(writer->fd, (off_t)writer->whole) != 0 ||
      lseek(writer->fd, (off_t)writer->whole, SEEK_SET) < 0) {
    return io_error(writer, "continued", error);
  }
  writer->begun = true;
  OPS_RETURN_IF_ERROR(put_header(writer, header, error));
  if (!writer->planned) OPS_RETURN_IF_ERROR(put_plan(writer, cases, indices, count, error));
  return sync_now(writer, error);
}

int32_t oc_journal_writer_add(oc_journal_writer *writer, const oc_result *result,
                              ops_error *error) {
  cJSON *object = oc_journal_record_json(result);
  if (object && result->case_index < writer->cases->count) {
    cJSON_AddNumberToObject(object, "at", writer->places[result->case_index]);
    cJSON_AddStringToObject(object, "id", writer->cases->items[result->case_index].id);
  }
  OPS_RETURN_IF_ERROR(put(writer, "result", object, error));
  ++writer->results;
  return oc_clock_seconds() - writer->synced < SYNC_SECONDS ? OPS_OK : sync_now(writer, error);
}

int32_t oc_journal_writer_end(oc_journal_writer *writer, double seconds, ops_error *error) {
  cJSON *object = cJSON_CreateObject();
  if (object) {
    cJSON_AddNumberToObject(object, "seconds", seconds);
    cJSON_AddNumberToObject(object, "results", (double)writer->results);
  }
  OPS_RETURN_IF_ERROR(put(writer, "end", object, error));
  return sync_now(writer, error);
}

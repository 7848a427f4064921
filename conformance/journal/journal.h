// SPDX-License-Identifier: Apache-2.0
//
// The journal of a run: a file of JSON lines that only grows. It holds what the run was asked,
// who was on trial, which cases were selected and, one line each, what came of them: everything
// that a report needs, so that a run can be resumed, shards can be merged and a verdict can be
// derived again without running anything.
//
//   {"run":{…},"sum":"…"}    a run begins: the fields of oc_journal_header
//   {"plan":{"at":0,"cases":[[ID, DOMAIN, OPERATOR, TYPE, SEED, ROW], …]},"sum":"…"}
//                            of the first run only; ROW: oc_case.provider_case
//   {"result":{"at":17,"id":…,"status":…},"sum":"…"}       at: position in the plan
//   {"end":{"seconds":…,"results":…},"sum":"…"}            a run came to its end
//
// `sum` is the head of the SHA-256 of the sum of the line before and of the line up to
// `,"sum"`: a line that was changed, moved or taken away breaks the chain. A file may be cut at
// any byte, as a killed process or a full disk leaves it: what follows the last whole line is
// dropped. A broken line that others follow is damage, and refused.
//
// A line is given to the system in one write as soon as its result is known, so nothing that
// was reported is lost when the harness is killed. It is forced to the disk (fdatasync) when a
// second has gone by since the last time, and at the end: a power cut costs a second of work.
#ifndef OC_JOURNAL_JOURNAL_H_
#define OC_JOURNAL_JOURNAL_H_

#include "report/report.h"

#define OC_JOURNAL_FORMAT 1
#define OC_JOURNAL_MAX_LINE (1u << 20)  // bytes

// What a run was asked and who took part. A field of this struct is a row of the table in
// header.c, which writes, reads and compares it. Strings that are not arrays are borrowed, or
// owned by the journal that was read.
typedef struct oc_journal_header {
  oc_report_setup setup;
  oc_hello hello;           // of which the identities alone are kept; empty: nobody opened
  char candidate_hash[65];  // SHA-256 of the library's file; empty likewise
  char oracle_hash[65];
  char contracts_hash[65];  // oc_folder_hash of the contracts, or of the models
  char require_hash[65];    // empty: none
  char harness_hash[65];    // of the program
  char harness_version[32];
  uint64_t selected;        // cases of all shards together
  char selection_hash[65];  // SHA-256 of their ids, in order, a newline after each
  uint32_t shard_index;     // from 1: the plan has every shard_count-th, from this one on
  uint32_t shard_count;
  char started[32];  // UTC, ISO 8601
  char system[65];   // as uname has them
  char release[65];
  char machine[65];
  uint32_t cpus;
} oc_journal_header;

// Fills what this machine and this program know: harness, machine, started.
void oc_journal_header_init(oc_journal_header *header, const char *version);

// Settles `selected` and `selection_hash` of the cases before they were cut into shards.
void oc_journal_header_select(oc_journal_header *header, const oc_cases *cases,
                              const uint32_t *indices, size_t count);

typedef enum oc_journal_use { OC_JOURNAL_RESUME, OC_JOURNAL_MERGE } oc_journal_use;

// INVALID_ARGUMENT with the name of the first field that differs, what it is in `path` and what
// was expected. Shards may differ where they are merged; where nobody has opened yet the
// identities are not compared.
int32_t oc_journal_header_match(const oc_journal_header *header, const char *path,
                                const oc_journal_header *expected, oc_journal_use use,
                                ops_error *error);

// ---- Reading --------------------------------------------------------------------------------

typedef struct oc_journal {
  oc_journal_header header;  // of the last run; identities of the last one that opened
  // The plan. An item tells its id, seed, provider_case, main type and its contract's domain
  // and op, no more: all that reports ask for, without any contract file.
  oc_cases cases;
  bool planned;  // the plan is whole
  // The last result of each case that has one, in the order of the plan, then those about the
  // provider as a whole (OC_NO_CASE). case_index counts in `cases`.
  oc_result *results;
  size_t count;
  double seconds;  // of the runs that came to their end, together
  uint32_t runs;
  bool ended;      // the last run came to its end
  uint64_t whole;  // bytes up to the end of the last whole line
  char sum[33];    // of that line
  oc_arena *arena;
} oc_journal;

// Errors: IO, NOT_FOUND; INVALID_MODEL with "path:line: …" for a file that is no journal, is
// damaged or contradicts itself. A file without one whole line gives a journal with 0 runs.
int32_t oc_journal_read(const char *path, oc_journal **out_journal, ops_error *error);
// The same from memory.
int32_t oc_journal_parse(const char *path, const char *bytes, size_t size,
                         oc_journal **out_journal, ops_error *error);
void oc_journal_destroy(oc_journal *journal);  // accepts NULL

// True for a result that a resumed run need not give again: any but NOT_RUN.
bool oc_journal_is_final(const oc_result *result);

// Whether two results about the provider as a whole say the same.
bool oc_journal_same_finding(const oc_result *a, const oc_result *b);

// Journals of all shards of one run, as the journal that one run over all would have left.
// INVALID_ARGUMENT: different headers, a shard missing or given twice, a case without a result;
// the first of them are named. `paths` are used in messages. Copies all it keeps.
int32_t oc_journal_merge(const oc_journal *const *journals, const char *const *paths,
                         size_t count, oc_journal **out_journal, ops_error *error);

// The report of a journal; cases without a result are NOT_RUN. Borrows the journal. Waivers are
// not applied: the journal holds what was found.
int32_t oc_journal_report(const oc_journal *journal, oc_report *out_report, ops_error *error);

// ---- Writing --------------------------------------------------------------------------------

typedef struct oc_journal_writer oc_journal_writer;

// Opens a file to be continued, or a new one, and reads what it holds: *out_journal has 0 runs
// if that is nothing, and is owned by the caller. One process writes a journal at a time:
// another one finds it locked (PRECONDITION). The file is not changed before a run begins.
int32_t oc_journal_writer_open(const char *path, oc_journal_writer **out_writer,
                               oc_journal **out_journal, ops_error *error);
// Begins a run behind what the file holds: its header and, unless it is there, the plan:
// `indices` of `cases`, which are borrowed. The results that follow count in `cases`.
int32_t oc_journal_writer_begin(oc_journal_writer *writer, const oc_journal_header *header,
                                const oc_cases *cases, const uint32_t *indices, size_t count,
                                ops_error *error);
int32_t oc_journal_writer_add(oc_journal_writer *writer, const oc_result *result,
                              ops_error *error);
// The run came to its end after `seconds`.
int32_t oc_journal_writer_end(oc_journal_writer *writer, double seconds, ops_error *error);
// The descriptor, which no other process has business with.
int oc_journal_writer_file(const oc_journal_writer *writer);
void oc_journal_writer_close(oc_journal_writer *writer);  // accepts NULL

#endif  // OC_JOURNAL_JOURNAL_H_

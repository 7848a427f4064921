// SPDX-License-Identifier: Apache-2.0
//
// What the commands that run cases share: where contracts, oracle and providers lie, which
// cases are selected, and how cases are stored as models. Providers are loaded in workers only.
#ifndef OC_CLI_SESSION_H_
#define OC_CLI_SESSION_H_

#include <limits.h>

#include "cli/options.h"
#include "cli/require.h"
#include "journal/journal.h"
#include "models/list.h"
#include "onnx_tests/suite.h"
#include "perf/point.h"
#include "report/console.h"
#include "report/report.h"

#define OC_LEAST_OPEN_TIMEOUT 10.0  // seconds: drivers take their time

// The journal of a run; zeroed: there is none.
typedef struct oc_journaling {
  oc_journal_header header;
  oc_journal *before;  // what the file held
  oc_journal_writer *writer;
  bool begun;      // this run stands in it
  int32_t status;  // of the first thing that went wrong
  ops_error error;
} oc_journaling;

// One run of cases. Begins zeroed but for `options`.
typedef struct oc_session {
  oc_options options;
  char shipped_path[PATH_MAX];  // the contracts of this program: clauses and profiles, too
  char contracts_path[PATH_MAX];
  char provider_dir[PATH_MAX];
  char oracle_path[PATH_MAX];
  char
      provider_path[PATH_MAX];  // absolute, so that it holds whatever folder a provider goes to
  char models_path[PATH_MAX];   // likewise, of --onnx-tests or --model
  oc_clauses *clauses;          // NULL: none were found
  oc_contracts *contracts;
  char require_path[PATH_MAX];  // of the table; empty without --require
  oc_require *require;
  oc_waivers *waivers;
  oc_onnx_suite *suite;   // cases are official test cases
  oc_model_list *models;  // cases are one model
  int nodes_file;         // with a suite or models
  oc_nodes nodes;
  oc_cases *made_cases;    // from contracts
  oc_perf_points *points;  // with mode perf: they are the cases
  const oc_cases *cases;
  uint32_t *matched;  // indices of cases: the selection before it is cut into shards
  size_t matched_count;
  uint32_t *selected;  // of these, what this shard runs
  size_t selected_count;
  oc_report report;
  oc_console console;
  oc_journaling journaling;
  bool refused;
  bool halted;       // the journal says that it makes no sense to go on
  bool interrupted;  // by a signal, with cases left
} oc_session;

// Fills places, cases and selection as the options ask. Probes the files of reports first, so
// that a run does not end with a report that cannot be written.
int32_t oc_session_gather(oc_session *session, ops_error *error);
void oc_session_finish(oc_session *session);

// What reports say the run was asked to do; borrows from the session.
oc_report_setup oc_session_setup(const oc_session *session);

// What came of storing; troubles are printed to stderr.
typedef struct oc_stored {
  const oc_session *session;
  size_t stored;
  size_t failed;
} oc_stored;

// Stores the cases `indices` below `folder` as models with inputs and what the oracle expects.
int32_t oc_session_store(oc_session *session, const char *folder, const uint32_t *indices,
                         size_t count, oc_stored *out_stored, ops_error *error);

#endif  // OC_CLI_SESSION_H_

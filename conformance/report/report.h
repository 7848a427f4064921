// SPDX-License-Identifier: Apache-2.0
//
// Everything that a run has found, and what it comes to.
#ifndef OC_REPORT_REPORT_H_
#define OC_REPORT_REPORT_H_

#include <stdbool.h>
#include <stdio.h>

#include "cases/case.h"
#include "contract/clauses.h"
#include "perf/perf.h"
#include "report/nodes.h"
#include "runner/result.h"
#include "runner/worker.h"
#include "waivers/waivers.h"

#define OC_REPORT_FORMAT 1  // of the JSON report; raised when an old reader would misread it

// Exit codes of opsconform.
#define OC_EXIT_CONFORMANT 0
#define OC_EXIT_NONCONFORMANT 1
#define OC_EXIT_REGRESSION 2
#define OC_EXIT_INCONCLUSIVE 3
#define OC_EXIT_USAGE 4
#define OC_EXIT_HARNESS 5
#define OC_EXIT_INCOMPLETE 6

// What the run was asked to do; strings are borrowed.
typedef struct oc_report_setup {
  const char *provider;        // as given
  const char *contracts;       // folder or file
  bool contracts_given;        // by the user: then a repeat line names it
  const char *onnx_tests;      // the folder of models that are the cases; NULL: contracts
  const char *model;           // the one model that the cases run; NULL: none
  const char *oracle;          // NULL: the bundled one
  const char *require;         // NULL: none
  const char *filter;          // NULL: all
  const char *op;              // NULL: all
  const char *shard;           // NULL: all
  const char *const *options;  // "KEY=VALUE" of the candidate
  size_t option_count;
  oc_profile_id profile;
  oc_tier tier;
  uint64_t seed;
  uint32_t jobs;
  double timeout;
  bool performance;       // mode perf
  bool expand_functions;  // with onnx_tests
  int32_t level;          // likewise
  const char *const *disabled_passes;
  size_t disabled_pass_count;
} oc_report_setup;

// Where a run took place, as uname has it.
typedef struct oc_host {
  char system[65];
  char release[65];
  char machine[65];
  uint32_t cpus;
} oc_host;

// Cases are models; contracts have no part in the run.
static inline bool oc_report_on_models(const oc_report_setup *setup) {
  return setup->onnx_tests || setup->model;
}

typedef struct oc_report {
  oc_report_setup setup;
  const oc_cases *cases;
  size_t selected;
  oc_result *results;  // in order of arrival; case_index OC_NO_CASE: about the provider
  size_t count;
  size_t resumed;  // of these, results that an earlier run had found
  size_t capacity;
  uint64_t counts[OC_STATUS_COUNT];
  oc_hello hello;                      // zero until a worker has said it
  const oc_nodes *nodes;               // who ran the nodes of models; NULL: cases are no models
  const oc_clauses *clauses;           // what checks cite; NULL: only their ids are printed
  const oc_perf_results *performance;  // NULL: nothing was timed
  const oc_waivers *waivers;           // applied to `results`; NULL: none
  char candidate_hash[65];
  char oracle_hash[65];
  char started[32];  // UTC, ISO 8601
  oc_host host;      // this machine, or the one that a journal names
  double seconds;
  int32_t exit_code;
} oc_report;

int32_t oc_report_init(oc_report *report, const oc_report_setup *setup, const oc_cases *cases,
                       size_t selected, ops_error *error);
void oc_report_finish(oc_report *report);

// Copies and cleans texts: whatever a provider wrote becomes printable UTF-8.
void oc_report_greet(oc_report *report, const oc_hello *hello);
const oc_result *oc_report_add(oc_report *report, const oc_result *result);

// Settles which waivers hold for the provider of the report, which has greeted; `waivers` must
// outlive it and may be NULL.
void oc_report_waivers_begin(oc_report *report, oc_waivers *waivers);

// Turns a closed report of what was found into one of what the waivers make of it.
void oc_report_waive(oc_report *report, oc_waivers *waivers);

// Puts results in the order of the cases and settles seconds and exit code.
void oc_report_close(oc_report *report, double seconds);

// The exit code that counts of statuses come to. `harness_failed`: 5 wins over all.
int32_t oc_exit_code(const uint64_t counts[OC_STATUS_COUNT], size_t selected,
                     bool harness_failed);
const char *oc_exit_meaning(int32_t exit_code);

// The case of a result; NULL for one about the provider as a whole.
const oc_case *oc_report_case(const oc_report *report, const oc_result *result);

// The element type in the table operator x type of a result's case, as its id names it;
// OPS_TYPE_UNDEFINED for error cases, models and findings about the provider.
int32_t oc_report_type(const oc_report *report, const oc_result *result);

// The id of a result's case; "provider" for one about the whole.
const char *oc_report_id(const oc_report *report, const oc_result *result);

// The ids of the provider clauses that the check of a result covers, separated by spaces; NULL
// if there is no check or it covers none.
const char *oc_report_clauses(const oc_result *result);

// The command line that repeats one case. Owned by the caller (free); NULL without memory.
char *oc_report_repeat(const oc_report *report, const oc_result *result);

// True for statuses that make a run fail.
bool oc_status_is_failure(int32_t status);

// Keeps printable UTF-8 and turns the rest into '?'; always terminates.
void oc_text_clean(char *text, size_t size);

#endif  // OC_REPORT_REPORT_H_

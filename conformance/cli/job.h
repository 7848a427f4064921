// SPDX-License-Identifier: Apache-2.0
//
// What the workers of opsconform do: open the oracle and the candidate, run trials.
#ifndef OC_CLI_JOB_H_
#define OC_CLI_JOB_H_

#include "cases/case.h"
#include "cli/options.h"
#include "models/list.h"
#include "onnx_tests/suite.h"
#include "runner/target.h"
#include "runner/worker.h"

typedef struct oc_job {
  const oc_options *options;
  const oc_cases *cases;
  const oc_onnx_suite *suite;   // cases are models: what --onnx-tests found; NULL else
  const oc_model_list *models;  // cases are one model; NULL else
  int nodes;                    // with `suite` or `models`: as oc_nodes_file gives it
  const char *bake;          // the folder to store cases in, instead of judging them; NULL else
  const char *provider;      // a path; NULL where none is on trial
  const char *oracle;        // a path
  const char *provider_dir;  // the installed provider folder
} oc_job;

// Who an opened provider is.
void oc_job_identify(const oc_target *target, oc_identity *out);
// Its options as the ABI takes them; `pairs` borrow from `options`.
void oc_job_split_options(const oc_options *options, ops_key_value pairs[OC_OPTIONS_MAX_LIST]);

// Borrows `job`, which must outlive the pool.
oc_worker_job oc_job_worker(const oc_job *job);

#endif  // OC_CLI_JOB_H_

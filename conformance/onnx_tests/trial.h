// SPDX-License-Identifier: Apache-2.0
//
// One case from its files to a verdict: a session with the providers, every data set run and
// compared. For workers.
#ifndef OC_ONNX_TESTS_TRIAL_H_
#define OC_ONNX_TESTS_TRIAL_H_

#include <opsrt/opsrt.h>

#include "onnx_tests/suite.h"
#include "runner/beacon.h"
#include "runner/result.h"

#define OC_ONNX_MAX_VALUES 1024     // inputs or outputs of one data set
#define OC_ONNX_MAX_DATA_SETS 1000  // of one case
#define OC_ONNX_MAX_PROVIDERS 2     // the one on trial and the one behind it

typedef struct oc_onnx_bench {
  const oc_onnx_suite *suite;
  oc_beacon *beacon;
  opsrt_provider_spec providers[OC_ONNX_MAX_PROVIDERS];  // the one on trial first
  size_t provider_count;
  const char *provider_dir;
  bool expand_functions;  // run functions instead of the operators that ONNX defines by them
  int32_t level;          // of the runtime's optimizer
  const char *const *disabled_passes;
  size_t disabled_pass_count;
  int nodes;  // as oc_nodes_file gives it
  const char
      *store;  // a folder that receives the outputs, which are not judged then; NULL else
} oc_onnx_bench;

// A model that cannot be loaded or run is FAIL: nothing of the suites is left out.
void oc_onnx_trial_run(const oc_onnx_bench *bench, uint32_t index, oc_result *out_result);

// Names of checks in reports.
#define OC_ONNX_CHECK_FILES "files"      // the case itself can be read
#define OC_ONNX_CHECK_SESSION "session"  // every node of the model finds a provider
#define OC_ONNX_CHECK_RUN "run"          // the run succeeds
#define OC_ONNX_CHECK_VALUES "values"    // outputs agree as in the official runner
#define OC_ONNX_CHECK_EXACT "exact"      // level 1 gives the bits of level 0 (one provider)
#define OC_ONNX_CHECK_DRAWN "drawn"      // outputs of a random generator are plausible

#endif  // OC_ONNX_TESTS_TRIAL_H_

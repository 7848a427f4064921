// SPDX-License-Identifier: Apache-2.0
//
// The command line of opsconform.
#ifndef OC_CLI_OPTIONS_H_
#define OC_CLI_OPTIONS_H_

#include <stdio.h>

#include "cases/case.h"
#include "cli/report_files.h"

#define OC_OPTIONS_MAX_LIST 64  // --option

#define OC_MODE_LIST(X)                 \
  X(OC_MODE_CORRECTNESS, "correctness") \
  X(OC_MODE_SUPPORT, "support")         \
  X(OC_MODE_LIST_CASES, "list")         \
  X(OC_MODE_PERF, "perf")
typedef enum oc_mode { OC_MODE_LIST(OC_ENUM_ITEM) OC_MODE_COUNT } oc_mode;

// Strings are borrowed from argv; NULL: not given.
typedef struct oc_options {
  const char *provider;
  const char *contracts;
  const char *require;
  const char *resume;
  const char *on_hang;
  const char *filter;
  const char *op;
  const char *oracle;
  const char *shard;
  const char *waivers;
  const char *bake;          // the command `bake`: the folder that receives the cases
  const char *save_failing;  // a folder
  const char *against;       // mode perf: the yardstick; NULL: the bundled cpu
  const char *baseline;      // mode perf: a file
  bool update_baseline;
  const char *onnx_tests;  // a folder of official test cases: they are run, not contracts
  const char *model;       // a model file: it is run, not contracts
  oc_profile_id profile;
  oc_tier tier;
  oc_mode mode;
  uint64_t seed;
  uint32_t shard_index;  // from 1
  uint32_t shard_count;
  uint32_t jobs;
  double timeout;
  const char *options[OC_OPTIONS_MAX_LIST];  // "KEY=VALUE"
  size_t option_count;
  oc_report_files reports;
  bool expand_functions;  // with onnx_tests
  int32_t level;          // of the runtime's optimizer, with onnx_tests
  const char *disabled_passes[OC_OPTIONS_MAX_LIST];
  size_t disabled_pass_count;
  bool help;
  bool version;
} oc_options;

// INVALID_ARGUMENT for anything unknown, repeated, malformed, or documented but not available
// in this version.
int32_t oc_options_parse(oc_options *options, int argc, char **argv, ops_error *error);
// The options, files and exit codes.
void oc_options_help(FILE *stream);

#endif  // OC_CLI_OPTIONS_H_

// SPDX-License-Identifier: Apache-2.0
//
// opsrun profile: runs a model and says where the time goes, and what to do about it.
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/output.h"
#include "cli/repeat.h"

typedef struct profile {
  const cli_options *options;
  cli_inputs *inputs;
  opsrt_session *session;
  opsrt_result *result;
} profile;

static int32_t run_all(profile *p, ops_error *error) {
  const uint64_t count = (uint64_t)p->options->repeat;
  double *seconds = calloc(count, sizeof *seconds);
  if (!seconds) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "times");
  const int32_t status =
      cli_repeat(p->options, p->session, p->inputs, count, seconds, &p->result, error);
  if (status == OPS_OK && count > 1) cli_print_runs(seconds, count);
  free(seconds);
  return status;
}

static int32_t print_advice(opsrt_session *session, ops_error *error) {
  opsrt_advice *advice = NULL;
  uint64_t count = 0;
  OPS_RETURN_IF_ERROR(opsrt_session_profile_advice(session, &advice, &count, error));
  for (uint64_t i = 0; i < count; ++i)
    printf("%s: %s\n  -> %s\n", advice[i].rule, advice[i].evidence, advice[i].action);
  opsrt_free(advice);
  return OPS_OK;
}

// The targets are looked at before anything is written.
static int32_t write_files(const profile *p, ops_error *error) {
  const cli_options *options = p->options;
  const char *const targets[] = {options->profile, options->json, options->html};
  const opsrt_profile_files files = {
      .model = options->model, .json = options->json, .html = options->html};
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; ++i)
    if (targets[i]) OPS_RETURN_IF_ERROR(cli_check_target(targets[i], error));
  if (options->output_dir)
    OPS_RETURN_IF_ERROR(cli_write_outputs(options->output_dir, p->result, error));
  if (options->profile)
    OPS_RETURN_IF_ERROR(opsrt_session_profile_write(p->session, options->profile, error));
  if (!files.json && !files.html) return OPS_OK;
  return opsrt_session_profile_report(p->session, &files, error);
}

static int32_t run(profile *p, ops_error *error) {
  OPS_RETURN_IF_ERROR(cli_open_session(p->options, &p->session, error));
  OPS_RETURN_IF_ERROR(cli_inputs_read(p->options, p->session, p->inputs, error));
  OPS_RETURN_IF_ERROR(cli_inputs_make_up(p->session, p->inputs, error));
  if (p->options->placement) cli_print_placement(p->session);
  OPS_RETURN_IF_ERROR(run_all(p, error));
  OPS_RETURN_IF_ERROR(write_files(p, error));
  if (p->options->memory) cli_print_memory(p->session);
  OPS_RETURN_IF_ERROR(cli_print_times(p->session, error));
  return print_advice(p->session, error);
}

int cli_profile(const cli_options *options) {
  if (options->plain_count != 1)
    return cli_fail("profile takes one model; see opsrun profile --help");
  static cli_inputs inputs;
  profile profile = {.options = options, .inputs = &inputs};
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = run(&profile, &error);
  opsrt_result_destroy(profile.result);
  opsrt_session_destroy(profile.session);
  cli_inputs_finish(&inputs);
  return cli_validated(options, status == OPS_OK ? CLI_OK : cli_report(&error));
}

// SPDX-License-Identifier: Apache-2.0
//
// opsrun run.
#include <errno.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/repeat.h"

// Runs as often as asked; the result of the last run is kept.
static int32_t run_all(const cli_options *options, opsrt_session *session,
                       const cli_inputs *inputs, opsrt_result **out_result, ops_error *error) {
  const uint64_t count = (uint64_t)options->repeat;
  double *seconds = calloc(count, sizeof *seconds);
  if (!seconds) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "times");
  const int32_t status =
      cli_repeat(options, session, inputs, count, seconds, out_result, error);
  if (status == OPS_OK && count > 1) cli_print_runs(seconds, count);
  free(seconds);
  return status;
}

// The profile is written beside its place, and put there when the outputs are written too.
static int32_t write_files(const cli_options *options, opsrt_session *session,
                           const opsrt_result *result, ops_error *error) {
  char staged[4096];
  int32_t status = OPS_OK;
  if (options->profile) {
    const int length =
        snprintf(staged, sizeof staged, "%s.%ld.staged", options->profile, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof staged)
      return ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNWRITABLE,
                                 "--profile: the name is too long");
    OPS_RETURN_IF_ERROR(cli_check_target(options->profile, error));
    OPS_RETURN_IF_ERROR(opsrt_session_profile_write(session, staged, error));
  }
  if (options->output_dir) status = cli_write_outputs(options->output_dir, result, error);
  if (!options->profile) return status;
  if (status == OPS_OK && rename(staged, options->profile) != 0)
    status = ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNWRITABLE,
                                 "profile '%s' cannot be written: %s", options->profile,
                                 strerror(errno));
  if (status != OPS_OK) unlink(staged);
  return status;
}

static int32_t report(const cli_options *options, opsrt_session *session,
                      const opsrt_result *result, ops_error *error) {
  OPS_RETURN_IF_ERROR(write_files(options, session, result, error));
  if (!options->output_dir) cli_print_outputs(result);
  if (options->memory) cli_print_memory(session);
  return options->profile ? cli_print_times(session, error) : OPS_OK;
}

static int32_t run(const cli_options *options, cli_inputs *inputs, opsrt_session **session,
                   opsrt_result **result, ops_error *error) {
  OPS_RETURN_IF_ERROR(cli_open_session(options, session, error));
  OPS_RETURN_IF_ERROR(cli_inputs_read(options, *session, inputs, error));
  if (options->placement) cli_print_placement(*session);
  OPS_RETURN_IF_ERROR(run_all(options, *session, inputs, result, error));
  return report(options, *session, *result, error);
}

int cli_run(const cli_options *options) {
  if (options->plain_count != 1) return cli_fail("run takes one model; see opsrun run --help");
  static cli_inputs inputs;
  opsrt_session *session = NULL;
  opsrt_result *result = NULL;
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = run(options, &inputs, &session, &result, &error);
  opsrt_result_destroy(result);
  opsrt_session_destroy(session);
  cli_inputs_finish(&inputs);
  return cli_validated(options, status == OPS_OK ? CLI_OK : cli_report(&error));
}

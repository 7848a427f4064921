// SPDX-License-Identifier: Apache-2.0
#include "cli/repeat.h"

#include <ops_support/error.h>

#include "cli/progress.h"

static int32_t run_once(const cli_options *options, opsrt_session *session,
                        const cli_inputs *inputs, double *out_seconds, opsrt_result **result,
                        ops_error *error) {
  opsrt_result_destroy(*result);
  *result = NULL;
  const double start = cli_seconds();
  const int32_t status = cli_run_session(options, session, inputs, result, error);
  *out_seconds = cli_seconds() - start;
  return status;
}

int32_t cli_repeat(const cli_options *options, opsrt_session *session, const cli_inputs *inputs,
                   uint64_t count, double *seconds, opsrt_result **result, ops_error *error) {
  cli_progress progress;
  int32_t status = OPS_OK;
  cli_progress_init(&progress, count, options->quiet);
  for (uint64_t i = 0; status == OPS_OK && i < count; ++i) {
    status = run_once(options, session, inputs, &seconds[i], result, error);
    cli_progress_update(&progress, i + 1);
  }
  cli_progress_finish(&progress);
  return status;
}

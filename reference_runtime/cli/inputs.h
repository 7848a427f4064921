// SPDX-License-Identifier: Apache-2.0
//
// What `run`, `profile` and `bench` share: inputs from files, and the session of the options.
#ifndef RT_CLI_INPUTS_H_
#define RT_CLI_INPUTS_H_

#include "cli/command_line.h"

// The inputs read from files.
typedef struct cli_inputs {
  opsrt_value values[CLI_MAX_INPUTS];
  opsrt_tensor *tensors[CLI_MAX_INPUTS];
  char *names[CLI_MAX_INPUTS];
  void *made_up[CLI_MAX_INPUTS];  // NULL: read from a file
  uint32_t count;
} cli_inputs;

// Reads what every --input names, of the kinds that the session's model takes.
// cli_inputs_finish frees it, also after a failure.
int32_t cli_inputs_read(const cli_options *options, const opsrt_session *session,
                        cli_inputs *out_inputs, ops_error *error);
// Adds an input of zeros for each that the model needs and nobody gave; dimensions that the
// model leaves open become 1. UNSUPPORTED for an input that is no tensor of numbers.
int32_t cli_inputs_make_up(const opsrt_session *session, cli_inputs *inputs, ops_error *error);
void cli_inputs_finish(cli_inputs *inputs);

// The options of a session, as the command line gives them; borrows from `options`.
void cli_session_options(const cli_options *options, opsrt_session_options *out_settings);
int32_t cli_open_session(const cli_options *options, opsrt_session **out_session,
                         ops_error *error);
// One run, with the limits that the options set.
int32_t cli_run_session(const cli_options *options, opsrt_session *session,
                        const cli_inputs *inputs, opsrt_result **out_result, ops_error *error);
// The exit code of a command whose session is destroyed: `code`, but not CLI_OK where
// --validate found something.
int cli_validated(const cli_options *options, int code);
double cli_seconds(void);                                // of a clock that never goes back
void cli_sort_seconds(double *seconds, uint64_t count);  // the shortest first

#endif  // RT_CLI_INPUTS_H_

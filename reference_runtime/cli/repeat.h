// SPDX-License-Identifier: Apache-2.0
//
// Running a model several times, as `run`, `profile` and `bench` do.
#ifndef RT_CLI_REPEAT_H_
#define RT_CLI_REPEAT_H_

#include "cli/inputs.h"

// Runs `count` times, with a line of progress; the time of each goes into `seconds`. *result,
// what an earlier run left or NULL, becomes the result of the last run, which the caller owns.
int32_t cli_repeat(const cli_options *options, opsrt_session *session, const cli_inputs *inputs,
                   uint64_t count, double *seconds, opsrt_result **result, ops_error *error);

#endif  // RT_CLI_REPEAT_H_

// SPDX-License-Identifier: Apache-2.0
//
// --warmup-shapes: "NAME=DIMxDIM…,NAME=…", where a DIM may be a range "1-32". All ranges of one
// option step together, so that a batch size may occur in several inputs.
#ifndef RT_CLI_WARMUP_H_
#define RT_CLI_WARMUP_H_

#include "cli/command_line.h"

// How many sets of shapes the options ask for; a mistake in one is told by cli_warm_up.
uint64_t cli_warmup_count(const cli_options *options);
// Prepares the session for all of them, and prints what that took unless bench follows a
// driver.
int32_t cli_warm_up(const cli_options *options, opsrt_session *session, ops_error *error);

#endif  // RT_CLI_WARMUP_H_

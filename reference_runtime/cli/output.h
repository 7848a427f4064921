// SPDX-License-Identifier: Apache-2.0
//
// What opsrun prints and writes of a run.
#ifndef RT_CLI_OUTPUT_H_
#define RT_CLI_OUTPUT_H_

#include <opsrt/opsrt.h>
#include <stdio.h>

// An error if something other than a file is at `path`: renaming would put a file in the place
// of a device or a folder.
int32_t cli_check_target(const char *path, ops_error *error);

// Writes every output into `directory`, which is made if it is missing: all of them or none.
int32_t cli_write_outputs(const char *directory, const opsrt_result *result, ops_error *error);

// Of runs in their order: the first, the median, the fastest. Sorts them.
void cli_print_runs(double *seconds, uint64_t count);
void cli_print_outputs(const opsrt_result *result);
void cli_print_placement(const opsrt_session *session);
// How far each device replays captured work, and why no further.
void cli_print_capture(const opsrt_session *session);
void cli_print_layouts(const opsrt_session *session);
void cli_print_memory(opsrt_session *session);
// A line for each phase of making the session.
void cli_print_load(const opsrt_session *session, FILE *out);
int32_t cli_print_times(opsrt_session *session, ops_error *error);

#endif  // RT_CLI_OUTPUT_H_

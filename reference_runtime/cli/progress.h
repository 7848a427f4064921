// SPDX-License-Identifier: Apache-2.0
//
// The line that tells a person how far a long command is. On a terminal only, on stderr, and
// gone when the command ends.
#ifndef RT_CLI_PROGRESS_H_
#define RT_CLI_PROGRESS_H_

#include <stdint.h>

typedef struct cli_progress {
  int active;  // 0: nothing is shown
  uint64_t total;
  double start;   // seconds, of cli_seconds
  double latest;  // when the line was written last
  int shown;      // 1: there is a line to remove
} cli_progress;

// `quiet`: never shows anything. So does a stderr that is no terminal.
void cli_progress_init(cli_progress *progress, uint64_t total, int quiet);
// `done` runs of the total are over. Writes a few times a second at most, and nothing at all in
// the first second.
void cli_progress_update(cli_progress *progress, uint64_t done);
void cli_progress_finish(cli_progress *progress);

#endif  // RT_CLI_PROGRESS_H_

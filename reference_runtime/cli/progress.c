// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/inputs.h"

// Seconds before the first line, and between lines.
#define PATIENCE 1.0
#define INTERVAL 0.2
#define CLEAR_LINE "\r\033[K"

void cli_progress_init(cli_progress *progress, uint64_t total, int quiet) {
  *progress = (cli_progress){
      .active = !quiet && isatty(STDERR_FILENO), .total = total, .start = cli_seconds()};
}

void cli_progress_update(cli_progress *progress, uint64_t done) {
  if (!progress->active || done == 0) return;
  const double now = cli_seconds(), passed = now - progress->start;
  if (passed < PATIENCE || now - progress->latest < INTERVAL) return;
  const double rate = (double)done / passed;
  progress->latest = now;
  progress->shown = 1;
  fprintf(stderr, CLEAR_LINE "%" PRIu64 " of %" PRIu64 " runs, %.3g per second, %.0f s left",
          done, progress->total, rate, (double)(progress->total - done) / rate);
}

void cli_progress_finish(cli_progress *progress) {
  if (progress->shown) fputs(CLEAR_LINE, stderr);
  progress->shown = 0;
}

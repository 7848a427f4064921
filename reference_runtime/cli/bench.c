// SPDX-License-Identifier: Apache-2.0
//
// opsrun bench: times loading, the first run and the runs after it. Times come from one clock,
// around the calls of the public API alone.
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/repeat.h"

#define LARGEST_COUNT 1000000

typedef struct bench {
  const cli_options *options;
  cli_inputs *inputs;
  opsrt_session *session;
  opsrt_result *result;  // of the last run
} bench;

static int32_t run_times(bench *bench, uint64_t count, double *seconds, ops_error *error) {
  return cli_repeat(bench->options, bench->session, bench->inputs, count, seconds,
                    &bench->result, error);
}

// ---- For a program at the other end ---------------------------------------------------------

// One line per request, so that a driver can take turns between processes.
static int32_t answer(bench *bench, long count, ops_error *error) {
  for (long i = 0; i < count; ++i) {
    double seconds;
    OPS_RETURN_IF_ERROR(run_times(bench, 1, &seconds, error));
    printf("%s%.9f", i ? " " : "", seconds);
  }
  putchar('\n');
  fflush(stdout);
  return OPS_OK;
}

static int32_t follow(bench *bench, double load_seconds, ops_error *error) {
  char line[32];
  printf("%.9f\n", load_seconds);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    char *end = NULL;
    const long count = strtol(line, &end, 10);
    if (end == line || *end != '\n' || count < 1 || count > LARGEST_COUNT)
      return ops_error_set_cause(
          error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_USAGE,
          "standard input: expected a line with a count from 1 to %d, found "
          "'%.*s'",
          LARGEST_COUNT, (int)strcspn(line, "\n"), line);
    OPS_RETURN_IF_ERROR(answer(bench, count, error));
  }
  return OPS_OK;
}

// ---- For people -----------------------------------------------------------------------------

static void print_times(const bench *bench, double load_seconds, double first,
                        const double *sorted, uint64_t count) {
  printf("load %.3f ms\n", load_seconds * 1e3);
  cli_print_load(bench->session, stdout);
  printf("first run %.3f ms\n", first * 1e3);
  printf("%llu runs: median %.3f ms, fastest %.3f ms, 90 %% within %.3f ms, slowest %.3f ms\n",
         (unsigned long long)count, sorted[count / 2] * 1e3, sorted[0] * 1e3,
         sorted[(count - 1) * 9 / 10] * 1e3, sorted[count - 1] * 1e3);
}

static int32_t measure(bench *bench, double load_seconds, ops_error *error) {
  const uint64_t count = (uint64_t)bench->options->repeat;
  double first, *seconds = calloc(count, sizeof *seconds);
  if (!seconds) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "times");
  int32_t status = run_times(bench, 1, &first, error);
  if (status == OPS_OK) status = run_times(bench, count, seconds, error);
  if (status == OPS_OK) {
    cli_sort_seconds(seconds, count);
    print_times(bench, load_seconds, first, seconds, count);
  }
  free(seconds);
  return status;
}

// ---- The command ----------------------------------------------------------------------------

static int32_t run_bench(bench *bench, ops_error *error) {
  const double start = cli_seconds();
  OPS_RETURN_IF_ERROR(cli_open_session(bench->options, &bench->session, error));
  const double load_seconds = cli_seconds() - start;
  OPS_RETURN_IF_ERROR(cli_inputs_read(bench->options, bench->session, bench->inputs, error));
  OPS_RETURN_IF_ERROR(bench->options->follow ? follow(bench, load_seconds, error)
                                             : measure(bench, load_seconds, error));
  if (bench->options->memory) cli_print_memory(bench->session);
  return bench->options->output_dir && bench->result
             ? cli_write_outputs(bench->options->output_dir, bench->result, error)
             : OPS_OK;
}

int cli_bench(const cli_options *options) {
  if (options->plain_count != 1)
    return cli_fail("bench takes one model; see opsrun bench --help");
  static cli_inputs inputs;
  bench bench = {.options = options, .inputs = &inputs};
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = run_bench(&bench, &error);
  opsrt_result_destroy(bench.result);
  opsrt_session_destroy(bench.session);
  cli_inputs_finish(&inputs);
  return cli_validated(options, status == OPS_OK ? CLI_OK : cli_report(&error));
}

// SPDX-License-Identifier: Apache-2.0
//
// The command line of opsrun.
#ifndef RT_CLI_COMMAND_LINE_H_
#define RT_CLI_COMMAND_LINE_H_

#include <opsrt/opsrt.h>

#define CLI_MAX_PROVIDERS 16u
#define CLI_MAX_INPUTS 256u
#define CLI_MAX_OPTIONS 64u
#define CLI_MAX_DISABLED 64u
#define CLI_MAX_WARMUPS 64u
#define CLI_MAX_WARMUP_INPUTS 32u  // named by one of them
#define CLI_DEFAULT_LEVEL 3        // of optimization

// How people see the number of a cause.
#define CLI_CODE_FORMAT "OPS-E%04d"

// Exit codes.
#define CLI_OK 0
#define CLI_FAILED 2

typedef struct cli_input {
  const char *name;  // not terminated by itself: name_size bytes
  uint64_t name_size;
  const char *path;
} cli_input;

typedef struct cli_options {
  const char *command;
  const char *model;  // the first plain argument
  const char *plain[CLI_MAX_PROVIDERS];
  uint32_t plain_count;
  cli_input inputs[CLI_MAX_INPUTS];
  uint32_t input_count;
  opsrt_provider_spec providers[CLI_MAX_PROVIDERS];
  uint32_t provider_count;
  ops_key_value options[CLI_MAX_OPTIONS];  // of all providers, in order
  uint32_t option_count;
  const char *output_dir;
  const char *profile;  // file of the trace
  const char *json;     // files of the report
  const char *html;
  int quiet;
  int64_t repeat;
  int64_t workers;
  double timeout_seconds;  // 0: none
  const char *warmup[CLI_MAX_WARMUPS];
  uint32_t warmup_count;
  int no_fallback;
  int placement;
  int memory;
  int no_reuse;
  int no_capture;
  int validate;
  int64_t branch_threads;
  uint64_t memory_maximum;
  uint64_t arena_initial;
  int arena_extend;  // OPSRT_ARENA_…
  int shrink_after_run;
  int no_rewrites;
  int precision;  // OPSRT_PRECISION_…
  opsrt_precision_override overrides[CLI_MAX_DISABLED];
  uint32_t override_count;
  int follow;
  int expand_functions;
  const char *output;  // file
  const char *disabled[CLI_MAX_DISABLED];
  uint32_t disabled_count;
  int64_t level;
  int freeze_initializers;
  int log_level;  // OPS_LOG_…
  int list_passes;
  int errors;
  int help;
} cli_options;

// Reads argv[2…]. On a mistake: says on stderr what and where, and returns CLI_FAILED.
int cli_parse(int argc, char **argv, cli_options *out_options);
// Prints the help of a command, or of opsrun if there is no such command.
void cli_print_help(const char *command);

// The commands. Each returns an exit code.
int cli_run(const cli_options *options);
int cli_profile(const cli_options *options);
int cli_bench(const cli_options *options);
int cli_optimize(const cli_options *options);
int cli_explain(const cli_options *options);
int cli_check(const cli_options *options);
int cli_providers(const cli_options *options);

// One line on stderr, with the code of the error, and CLI_FAILED: for a wrong command line, for
// any cause of the catalogue, and for an error that a call has filled.
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_fail_cause(int32_t cause, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int cli_report(const ops_error *error);

#endif  // RT_CLI_COMMAND_LINE_H_

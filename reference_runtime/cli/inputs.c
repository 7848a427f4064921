// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/output.h"
#include "cli/warmup.h"

// What the model takes under that name; a tensor if it has no such input, which running says.
static int32_t kind_of(const opsrt_session *session, const char *name) {
  for (uint64_t i = 0; i < opsrt_session_input_count(session); ++i) {
    const opsrt_info *info = opsrt_session_input(session, i);
    if (strcmp(info->name, name) == 0) return info->kind;
  }
  return OPS_VALUE_TENSOR;
}

static int32_t read_input(const cli_input *input, const opsrt_session *session, cli_inputs *out,
                          ops_error *error) {
  const uint32_t at = out->count;
  out->names[at] = strndup(input->name, input->name_size);
  if (!out->names[at]) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an input");
  out->count++;
  const int32_t status =
      opsrt_value_read(input->path, kind_of(session, out->names[at]), &out->tensors[at], error);
  if (status != OPS_OK) return ops_error_prefix(error, "--input %s", out->names[at]);
  out->values[at] = *opsrt_tensor_value(out->tensors[at]);
  out->values[at].name = out->names[at];
  return OPS_OK;
}

int32_t cli_inputs_read(const cli_options *options, const opsrt_session *session,
                        cli_inputs *out_inputs, ops_error *error) {
  for (uint32_t i = 0; i < options->input_count; ++i)
    OPS_RETURN_IF_ERROR(read_input(&options->inputs[i], session, out_inputs, error));
  return OPS_OK;
}

static int is_given(const cli_inputs *inputs, const char *name) {
  for (uint32_t i = 0; i < inputs->count; ++i)
    if (strcmp(inputs->names[i], name) == 0) return 1;
  return 0;
}

// The dimensions lie before the data.
static int32_t make_up(const opsrt_info *info, cli_inputs *inputs, ops_error *error) {
  const uint32_t at = inputs->count;
  uint64_t size = 0;
  int64_t count = 1;
  if (info->kind != OPS_VALUE_TENSOR || info->type == OPS_TYPE_STRING || info->rank < 0)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "input '%s' is missing, and %s cannot be made up; give it by --input",
                         info->name, info->text);
  int64_t dims[OPS_MAX_RANK];
  for (int32_t i = 0; i < info->rank; ++i) dims[i] = info->dims[i] < 0 ? 1 : info->dims[i];
  if (at == CLI_MAX_INPUTS || !ops_checked_count(dims, info->rank, &count) ||
      !ops_type_bytes(info->type, count, &size) || size > UINT64_MAX / 2)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "input '%s', %s, is too large to make up", info->name, info->text);
  int64_t *memory = calloc(1, sizeof dims + size);
  char *name = strdup(info->name);
  inputs->made_up[at] = memory;
  inputs->names[at] = name;
  inputs->count++;
  if (!memory || !name) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an input");
  memcpy(memory, dims, sizeof dims);
  inputs->values[at] = (opsrt_value){.name = name,
                                     .kind = OPS_VALUE_TENSOR,
                                     .type = info->type,
                                     .rank = info->rank,
                                     .dims = memory,
                                     .data = memory + OPS_MAX_RANK,
                                     .size = size};
  return OPS_OK;
}

int32_t cli_inputs_make_up(const opsrt_session *session, cli_inputs *inputs, ops_error *error) {
  for (uint64_t i = 0; i < opsrt_session_input_count(session); ++i) {
    const opsrt_info *info = opsrt_session_input(session, i);
    if (!info->optional && !is_given(inputs, info->name))
      OPS_RETURN_IF_ERROR(make_up(info, inputs, error));
  }
  return OPS_OK;
}

void cli_inputs_finish(cli_inputs *inputs) {
  for (uint32_t i = 0; i < inputs->count; ++i) {
    free(inputs->made_up[i]);
    opsrt_tensor_destroy(inputs->tensors[i]);
    free(inputs->names[i]);
  }
}

// One line for each rewrite and, at the lowest level, for each near miss.
static void log_passes(const cli_options *options, const opsrt_session *session) {
  if (strcmp(options->command, "explain") == 0) return;
  for (uint64_t i = 0; i < opsrt_session_pass_note_count(session); ++i) {
    const opsrt_pass_note *note = opsrt_session_pass_note(session, i);
    if (note->hit || options->log_level == OPS_LOG_DEBUG)
      fprintf(stderr, "opsrun: pass %s: %s\n", note->pass, note->text);
  }
}

// What the validation layers found. Their context is a callback's, and the process has one
// command line.
static _Atomic uint64_t findings;

static void print_finding(void *context, int32_t side, const char *clause, const char *text) {
  static const char *const kSides[] = {"note", "the runtime breaks", "the provider breaks"};
  _Atomic uint64_t *count = context;
  if (side != 0) atomic_fetch_add(count, 1);
  fprintf(stderr, "opsrun: validation: %s%s%s: %s\n", kSides[side], *clause ? " " : "", clause,
          text);
}

int cli_validated(const cli_options *options, int code) {
  const uint64_t count = atomic_load(&findings);
  if (!options->validate) return code;
  fprintf(stderr, "opsrun: validation: %llu finding(s)\n", (unsigned long long)count);
  return count && code == CLI_OK ? CLI_FAILED : code;
}

void cli_session_options(const cli_options *options, opsrt_session_options *out_settings) {
  *out_settings = (opsrt_session_options){
      .model = {.path = options->model},
      .providers = options->providers,
      .provider_count = options->provider_count,
      .no_fallback = options->no_fallback,
      .profile = options->profile || strcmp(options->command, "profile") == 0,
      .workers = (int32_t)options->workers,
      .branch_threads = (int32_t)options->branch_threads,
      .no_capture = options->no_capture,
      .finding = options->validate ? print_finding : NULL,
      .finding_context = &findings,
      .no_memory_reuse = options->no_reuse,
      .memory_maximum = options->memory_maximum,
      .arena_extend = options->arena_extend,
      .arena_initial = options->arena_initial,
      .shrink_after_run = options->shrink_after_run,
      .expand_functions = options->expand_functions,
      .level = (int32_t)options->level,
      .disabled_passes = options->disabled,
      .disabled_pass_count = options->disabled_count,
      .freeze_initializers = options->freeze_initializers,
      .no_rewrites = options->no_rewrites,
      .precision = options->precision,
      .precision_overrides = options->overrides,
      .precision_override_count = options->override_count,
      .verbosity = OPS_LOG_WARNING - options->log_level,
      .explain =
          strcmp(options->command, "explain") == 0 || options->log_level < OPS_LOG_WARNING};
}

int32_t cli_open_session(const cli_options *options, opsrt_session **out_session,
                         ops_error *error) {
  opsrt_session_options settings;
  cli_session_options(options, &settings);
  if (cli_warmup_count(options) > OPSRT_DEFAULT_MAX_PLANS)
    settings.max_plans = (uint32_t)cli_warmup_count(options);
  OPS_RETURN_IF_ERROR(opsrt_session_create(&settings, out_session, error));
  log_passes(options, *out_session);
  if (options->log_level < OPS_LOG_WARNING) cli_print_load(*out_session, stderr);
  return cli_warm_up(options, *out_session, error);
}

int32_t cli_run_session(const cli_options *options, opsrt_session *session,
                        const cli_inputs *inputs, opsrt_result **out_result, ops_error *error) {
  const opsrt_run_options run = {.timeout_ns = (uint64_t)(options->timeout_seconds * 1e9)};
  return opsrt_session_run_with(session, inputs->values, inputs->count, &run, out_result,
                                error);
}

double cli_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int by_value(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

void cli_sort_seconds(double *seconds, uint64_t count) {
  qsort(seconds, count, sizeof *seconds, by_value);
}

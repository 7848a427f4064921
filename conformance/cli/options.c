// SPDX-License-Identifier: Apache-2.0
//
// The options of commands that run cases.
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/option_table.h"
#include "ops_support/error.h"

// ---- Readers --------------------------------------------------------------------------------

#define READ_TEXT(field)                                                        \
  static int32_t read_##field(void *target, const char *name, const char *text, \
                              ops_error *error) {                               \
    return oc_option_text(&((oc_options *)target)->field, name, text, error);   \
  }
READ_TEXT(provider)
READ_TEXT(contracts)
READ_TEXT(require)
READ_TEXT(resume)
READ_TEXT(on_hang)
READ_TEXT(filter)
READ_TEXT(op)
READ_TEXT(oracle)
READ_TEXT(onnx_tests)
READ_TEXT(model)
READ_TEXT(save_failing)
READ_TEXT(waivers)
READ_TEXT(against)
READ_TEXT(baseline)
#undef READ_TEXT

static int32_t read_seed(void *target, const char *name, const char *text, ops_error *error) {
  oc_options *options = target;
  if (oc_option_parse_u64(text, &options->seed)) return OPS_OK;
  return oc_option_bad(name, text, "a number from 0 to 2^64-1", error);
}

static int32_t read_jobs(void *target, const char *name, const char *text, ops_error *error) {
  oc_options *options = target;
  uint64_t value;
  if (!oc_option_parse_u64(text, &value) || value < 1 || value > 256) {
    return oc_option_bad(name, text, "a number from 1 to 256", error);
  }
  options->jobs = (uint32_t)value;
  return OPS_OK;
}

static int32_t read_timeout(void *target, const char *name, const char *text,
                            ops_error *error) {
  oc_options *options = target;
  char *end = NULL;
  errno = 0;
  options->timeout = strtod(text, &end);
  if (errno == 0 && end != text && *end == 0 && options->timeout > 0 &&
      options->timeout <= 86400) {
    return OPS_OK;
  }
  return oc_option_bad(name, text, "seconds, more than 0 and at most 86400", error);
}

static int32_t read_shard(void *target, const char *name, const char *text, ops_error *error) {
  oc_options *options = target;
  char *slash = NULL;
  const unsigned long index = isdigit((unsigned char)text[0]) ? strtoul(text, &slash, 10) : 0;
  uint64_t count = 0;
  if (!slash || *slash != '/' || !oc_option_parse_u64(slash + 1, &count) || index < 1 ||
      index > count || count > 1000000) {
    return oc_option_bad(name, text, "I/N with 1 <= I <= N", error);
  }
  options->shard = text;
  options->shard_index = (uint32_t)index;
  options->shard_count = (uint32_t)count;
  return OPS_OK;
}

static int32_t read_profile(void *target, const char *name, const char *text,
                            ops_error *error) {
  oc_options *options = target;
  const char *words[OC_PROFILE_COUNT];
  size_t index;
  for (int i = 0; i < OC_PROFILE_COUNT; ++i) words[i] = oc_profile_name((oc_profile_id)i);
  OPS_RETURN_IF_ERROR(oc_option_word(words, OC_PROFILE_COUNT, name, text,
                                     "strict, standard or embedded", &index, error));
  options->profile = (oc_profile_id)index;
  return OPS_OK;
}

static int32_t read_tier(void *target, const char *name, const char *text, ops_error *error) {
  oc_options *options = target;
  const char *words[OC_TIER_COUNT];
  size_t index;
  for (int i = 0; i < OC_TIER_COUNT; ++i) words[i] = oc_tier_name((oc_tier)i);
  OPS_RETURN_IF_ERROR(oc_option_word(words, OC_TIER_COUNT, name, text,
                                     "merge, full or exhaustive", &index, error));
  options->tier = (oc_tier)index;
  return OPS_OK;
}

#define NAME(constant, name) name,
static const char *const kModes[] = {OC_MODE_LIST(NAME)};
#undef NAME

static int32_t read_mode(void *target, const char *name, const char *text, ops_error *error) {
  oc_options *options = target;
  size_t index;
  OPS_RETURN_IF_ERROR(oc_option_word(kModes, OC_MODE_COUNT, name, text,
                                     "correctness, perf, support or list", &index, error));
  options->mode = (oc_mode)index;
  return OPS_OK;
}

static int32_t read_option(void *target, const char *name, const char *text, ops_error *error) {
  oc_options *options = target;
  const char *equals = strchr(text, '=');
  if (!equals || equals == text) return oc_option_bad(name, text, "KEY=VALUE", error);
  if (options->option_count == OC_OPTIONS_MAX_LIST) {
    return oc_option_bad(name, text, "at most 64 of them", error);
  }
  options->options[options->option_count++] = text;
  return OPS_OK;
}

static int32_t read_report(void *target, const char *name, const char *text, ops_error *error) {
  oc_options *options = target;
  return oc_report_files_read(&options->reports, name, text, error);
}

static int32_t read_expand_functions(void *target, const char *name, const char *text,
                                     ops_error *error) {
  oc_options *options = target;
  (void)name;
  (void)text;
  (void)error;
  options->expand_functions = true;
  return OPS_OK;
}

static int32_t read_update_baseline(void *target, const char *name, const char *text,
                                    ops_error *error) {
  oc_options *options = target;
  (void)name;
  (void)text;
  (void)error;
  options->update_baseline = true;
  return OPS_OK;
}

static int32_t read_help(void *target, const char *name, const char *text, ops_error *error) {
  oc_options *options = target;
  (void)name;
  (void)text;
  (void)error;
  options->help = true;
  return OPS_OK;
}

static int32_t read_version(void *target, const char *name, const char *text,
                            ops_error *error) {
  oc_options *options = target;
  (void)name;
  (void)text;
  (void)error;
  options->version = true;
  return OPS_OK;
}

static int32_t read_level(void *target, const char *name, const char *text, ops_error *error) {
  oc_options *options = target;
  if (text[0] < '0' || text[0] > '3' || text[1])
    return oc_option_bad(name, text, "a level of optimization from 0 to 3", error);
  options->level = text[0] - '0';
  return OPS_OK;
}

static int32_t read_disable_pass(void *target, const char *name, const char *text,
                                 ops_error *error) {
  oc_options *options = target;
  if (options->disabled_pass_count == OC_OPTIONS_MAX_LIST) {
    return oc_option_bad(name, text, "at most 64 of them", error);
  }
  options->disabled_passes[options->disabled_pass_count++] = text;
  return OPS_OK;
}

// ---- The table ------------------------------------------------------------------------------

static const oc_option_row kOptions[] = {
    {"provider", "LIB",
     "the provider on trial: a path, or a bare name such as cpu, looked for "
     "in the working directory, the installed provider folder, then by the "
     "dynamic loader",
     read_provider, false},
    {"option", "KEY=VALUE", "an option for the provider's instance; may be repeated",
     read_option, true},
    {"contracts", "DIR", "contracts, a folder or one file; the installed ones else",
     read_contracts, false},
    {"oracle", "LIB", "the oracle; the bundled reference provider else", read_oracle, false},
    {"onnx-tests", "DIR",
     "instead of contracts run the official ONNX test cases below DIR (model.onnx and "
     "test_data_set_*) through the runtime, with the oracle behind the provider for what it "
     "lacks",
     read_onnx_tests, false},
    {"model", "FILE",
     "instead of contracts run this ONNX model on drawn inputs at every level of the runtime's "
     "optimizer, with the oracle behind the provider for what it lacks",
     read_model, false},
    {"expand-functions", NULL,
     "with --onnx-tests: run the function that ONNX defines an operator as, where it defines "
     "one, even where a provider takes the operator",
     read_expand_functions, false},
    {"level", "N",
     "with --onnx-tests: optimize the models, 0 (default) to 3; at 1 the oracle on trial must "
     "give bit by bit what it gives at 0",
     read_level, false},
    {"disable-pass", "NAME", "with --level: leave out a pass of the optimizer; may be repeated",
     read_disable_pass, true},
    {"require", "NAME|FILE",
     "operators and types that must be supported: UNSUPPORTED becomes FAIL", read_require,
     false},
    {"waivers", "FILE",
     "known failures of this provider that a release may have; see docs/gate_a_release.md",
     read_waivers, false},
    {"profile", "NAME", "tolerances: strict, standard (default) or embedded", read_profile,
     false},
    {"tier", "NAME", "how many cases: merge, or full (default)", read_tier, false},
    {"mode", "NAME",
     "correctness (default); perf: how fast, and no slower than before; support: what is "
     "claimed; list: the cases' ids",
     read_mode, false},
    {"against", "LIB",
     "mode perf: the yardstick, run in turn with the provider; the bundled cpu else. Without "
     "--baseline a provider slower than this one is a regression",
     read_against, false},
    {"baseline", "FILE",
     "mode perf: compare with what was measured earlier on a device of the same fingerprint",
     read_baseline, false},
    {"update-baseline", NULL, "mode perf: store this measurement in the file of --baseline",
     read_update_baseline, false},
    {"filter", "GLOB", "only cases whose id matches, as in 'Conv-*/float/*'", read_filter,
     false},
    {"op", "NAME", "only this operator: Relu, my.domain.Op", read_op, false},
    {"seed", "N", "the base seed of all inputs; 0 else", read_seed, false},
    {"shard", "I/N", "only every N-th case, beginning with the I-th", read_shard, false},
    {"on-hang", "CMD",
     "run by the shell before a worker that hangs is killed, with its number as $1: 'gdb -p $1 "
     "-batch -ex bt'; 30 s at most",
     read_on_hang, false},
    {"resume", "JOURNAL",
     "keep each result in this file; cases whose result it has are not run again", read_resume,
     false},
    {"jobs", "N",
     "worker processes at once, one per core else; in mode perf threads that a provider may "
     "use, one else",
     read_jobs, false},
    {"timeout", "S", "seconds for one case; 10 else", read_timeout, false},
    {"report", "FORMAT:FILE",
     "write a report, json:, junit:, csv:, md: or html: and the file; may be repeated",
     read_report, true},
    {"save-failing", "DIR",
     "store each case that failed below DIR as a model with inputs and expected outputs",
     read_save_failing, false},
    {"help", NULL, "this text", read_help, true},
    {"version", NULL, "the version", read_version, true},
    {"validate", NULL, NULL, NULL, false},
};

static int32_t refuse_word(void *target, const char *name, const char *word, ops_error *error) {
  (void)target;
  (void)name;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "expected an option, found '%s'; see opsconform --help", word);
}

static const oc_option_table kTable = {.program = "opsconform",
                                       .rows = kOptions,
                                       .count = sizeof kOptions / sizeof *kOptions,
                                       .word = refuse_word};

// The command and its folder.
static int32_t read_bake(oc_options *options, int argc, char **argv, ops_error *error) {
  if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
    return read_help(options, "help", NULL, error);
  }
  if (argc < 3 || !argv[2][0] || argv[2][0] == '-') {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "bake: the folder that receives the cases is missing; give it as in "
                         "opsconform bake DIR");
  }
  options->bake = argv[2];
  return OPS_OK;
}

static uint32_t default_jobs(void) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores < 1 ? 1 : cores > 16 ? 16 : (uint32_t)cores;
}

// What has no meaning where nothing is judged is refused, not ignored.
static int32_t check_bake(const oc_options *options, ops_error *error) {
  const struct {
    const char *name;
    bool given;
  } rows[] = {{"provider", options->provider != NULL},
              {"option", options->option_count > 0},
              {"require", options->require != NULL},
              {"waivers", options->waivers != NULL},
              {"mode", options->mode != OC_MODE_CORRECTNESS},
              {"save-failing", options->save_failing != NULL},
              {"resume", options->resume != NULL},
              {"report", options->reports.count > 0}};
  for (size_t i = 0; options->bake && i < sizeof rows / sizeof *rows; ++i) {
    if (!rows[i].given) continue;
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "--%s: bake stores what the oracle says and judges nobody; leave it out", rows[i].name);
  }
  return OPS_OK;
}

// What has no meaning without contracts is refused, not ignored.
static int32_t check_models(const oc_options *options, ops_error *error) {
  const char *models = options->model ? "model" : "onnx-tests";
  const bool suite = options->onnx_tests != NULL, any = suite || options->model;
  const struct {
    const char *name;
    bool wrong;
  } rows[] = {{"contracts", options->contracts != NULL},
              {"require", options->require != NULL},
              {"op", options->op != NULL},
              {"seed", options->seed != 0 && suite},
              {"profile", options->profile != OC_PROFILE_STANDARD && suite},
              {"tier", options->tier != OC_TIER_FULL},
              {"save-failing", options->save_failing != NULL},
              {"resume", options->resume != NULL},
              {"mode support", options->mode == OC_MODE_SUPPORT}};
  if (options->model && suite)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "--model and --onnx-tests each say what the cases are; leave one out");
  for (size_t i = 0; any && i < sizeof rows / sizeof *rows; ++i) {
    if (!rows[i].wrong) continue;
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "--%s belongs to contracts, --%s runs none; leave one out",
                         rows[i].name, models);
  }
  if (options->expand_functions && !suite)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "--expand-functions is about models; give --onnx-tests too");
  if ((options->level || options->disabled_pass_count) && !suite)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "--level and --disable-pass are about models; give --onnx-tests too");
  return OPS_OK;
}

// What has no meaning without measuring is refused, not ignored.
static int32_t check_perf(const oc_options *options, ops_error *error) {
  const bool perf = options->mode == OC_MODE_PERF;
  const struct {
    const char *name;
    bool wrong;
    const char *why;
  } rows[] = {{"against", options->against && !perf, "belongs to --mode perf"},
              {"baseline", options->baseline && !perf, "belongs to --mode perf"},
              {"update-baseline", options->update_baseline && !options->baseline,
               "needs --baseline FILE, which it writes"},
              {"onnx-tests", options->onnx_tests && perf,
               "has no contracts, and mode perf measures what contracts say"},
              {"model", options->model && perf,
               "has no contracts, and mode perf measures what contracts say"},
              {"resume", options->resume && perf,
               "keeps results of cases, and what mode perf measures must be of one time"},
              {"shard", options->shard && perf,
               "divides p-values among machines, which mode perf cannot correct for; choose "
               "with --op or --filter"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (!rows[i].wrong) continue;
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "--%s %s", rows[i].name,
                         rows[i].why);
  }
  return OPS_OK;
}

int32_t oc_options_parse(oc_options *options, int argc, char **argv, ops_error *error) {
  *options = (oc_options){.profile = OC_PROFILE_STANDARD,
                          .tier = OC_TIER_FULL,
                          .timeout = 10,
                          .shard_index = 1,
                          .shard_count = 1};
  int first = 1;
  if (argc > 1 && strcmp(argv[1], "bake") == 0) {
    OPS_RETURN_IF_ERROR(read_bake(options, argc, argv, error));
    first = 3;
  }
  OPS_RETURN_IF_ERROR(oc_option_table_parse(&kTable, options, argc, argv, first, NULL, error));
  if (options->help || options->version) return OPS_OK;
  if (!options->jobs) options->jobs = options->mode == OC_MODE_PERF ? 1 : default_jobs();
  const bool lists = options->mode == OC_MODE_LIST_CASES;
  OPS_RETURN_IF_ERROR(check_bake(options, error));
  OPS_RETURN_IF_ERROR(check_models(options, error));
  OPS_RETURN_IF_ERROR(check_perf(options, error));
  if (options->require && options->mode != OC_MODE_CORRECTNESS) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "--require belongs to --mode correctness; leave it out");
  }
  if (options->resume && options->mode != OC_MODE_CORRECTNESS) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "--resume belongs to --mode correctness; leave it out");
  }
  if (options->waivers && options->mode != OC_MODE_CORRECTNESS) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "--waivers belongs to --mode correctness; leave it out");
  }
  if (options->save_failing && options->mode != OC_MODE_CORRECTNESS) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "--save-failing belongs to --mode correctness; leave it out");
  }
  if (lists && (options->reports.count || options->option_count || options->oracle)) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "--mode list runs nothing: leave --report, --option and --oracle out");
  }
  if (!options->provider && !lists && !options->bake) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "--provider LIB is missing: name the library on trial; see opsconform "
                         "--help");
  }
  return OPS_OK;
}

// ---- Help -----------------------------------------------------------------------------------

void oc_options_help(FILE *stream) {
  oc_option_table_help(&kTable, stream);
  fputs(
      "\nfiles\n"
      "  --require takes a shipped profile (all, cnn, quantised, transformer) or a FILE with "
      "one line\n"
      "  per operator: its name, then types or '*', then !PATTERN for ids that are not "
      "required.\n"
      "  'opset N' leaves older meanings out; '#' begins a comment.\n\n"
      "exit codes\n"
      "  0  conformant\n"
      "  1  a case failed, crashed, timed out, was flaky, or proves nothing\n"
      "  2  performance regression\n"
      "  3  inconclusive\n"
      "  4  usage or contract error\n"
      "  5  the harness itself failed\n"
      "  6  incomplete: something selected did not run, nothing was selected, or nothing "
      "passed\n"
      "  Where several hold, the first of 5, 4, 1, 6, 2, 3, 0.\n\n"
      "refused in this version\n  ",
      stream);
  for (size_t i = 0; i < sizeof kOptions / sizeof *kOptions; ++i) {
    if (!kOptions[i].read) fprintf(stream, "--%s ", kOptions[i].name);
  }
  fputc('\n', stream);
}

// SPDX-License-Identifier: Apache-2.0
//
// Parsing by a table of options: each row has a name, whether it takes a value, the commands
// that know it, and the function that stores it.
#include "cli/command_line.h"

#include <ops_support/cause.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(int32_t cause, const char *format, va_list args) {
  fprintf(stderr, "opsrun: " CLI_CODE_FORMAT ": ", cause);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  return CLI_FAILED;
}

int cli_fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fail(OPS_CAUSE_USAGE, format, args);
  va_end(args);
  return CLI_FAILED;
}

int cli_fail_cause(int32_t cause, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fail(cause, format, args);
  va_end(args);
  return CLI_FAILED;
}

int cli_report(const ops_error *error) {
  return cli_fail_cause(ops_error_cause(error)->number, "%s", error->message);
}

typedef int (*store_fn)(cli_options *options, const char *name, const char *value);

static int store_input(cli_options *options, const char *name, const char *value) {
  const char *equal = strchr(value, '=');
  if (!equal || equal == value || !equal[1])
    return cli_fail("%s '%s': expected NAME=FILE", name, value);
  if (options->input_count == CLI_MAX_INPUTS)
    return cli_fail("more than %u inputs", CLI_MAX_INPUTS);
  options->inputs[options->input_count++] =
      (cli_input){value, (uint64_t)(equal - value), equal + 1};
  return CLI_OK;
}

static int store_provider(cli_options *options, const char *name, const char *value) {
  (void)name;
  if (options->provider_count == CLI_MAX_PROVIDERS)
    return cli_fail("more than %u providers", CLI_MAX_PROVIDERS);
  options->providers[options->provider_count++] =
      (opsrt_provider_spec){.name = value, .options = &options->options[options->option_count]};
  return CLI_OK;
}

static int store_option(cli_options *options, const char *name, const char *value) {
  const char *equal = strchr(value, '=');
  if (!equal || equal == value) return cli_fail("%s '%s': expected KEY=VALUE", name, value);
  if (options->provider_count == 0)
    return cli_fail("%s '%s' comes before any --provider; put it behind the one it is for",
                    name, value);
  if (options->option_count == CLI_MAX_OPTIONS)
    return cli_fail("more than %u options", CLI_MAX_OPTIONS);
  options->options[options->option_count++] =
      (ops_key_value){{value, (uint64_t)(equal - value)}, {equal + 1, strlen(equal + 1)}};
  options->providers[options->provider_count - 1].option_count++;
  return CLI_OK;
}

static int store_number(int64_t *target, const char *name, const char *value, int64_t least,
                        int64_t largest) {
  char *end = NULL;
  const long long number = strtoll(value, &end, 10);
  if (end == value || *end || number < least || number > largest)
    return cli_fail("%s '%s': expected a number from %lld to %lld", name, value,
                    (long long)least, (long long)largest);
  *target = number;
  return CLI_OK;
}

static int store_repeat(cli_options *options, const char *name, const char *value) {
  return store_number(&options->repeat, name, value, 1, 1000000);
}

static int store_workers(cli_options *options, const char *name, const char *value) {
  return store_number(&options->workers, name, value, 1, 4096);
}

static int store_output_dir(cli_options *options, const char *name, const char *value) {
  (void)name;
  options->output_dir = value;
  return CLI_OK;
}

static int store_profile(cli_options *options, const char *name, const char *value) {
  (void)name;
  options->profile = value;
  return CLI_OK;
}

static int store_json(cli_options *options, const char *name, const char *value) {
  (void)name;
  options->json = value;
  return CLI_OK;
}

static int store_html(cli_options *options, const char *name, const char *value) {
  (void)name;
  options->html = value;
  return CLI_OK;
}

static int set_quiet(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->quiet = 1;
  return CLI_OK;
}

static int set_no_fallback(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->no_fallback = 1;
  return CLI_OK;
}

static int set_placement(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->placement = 1;
  return CLI_OK;
}

static int set_memory(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->memory = 1;
  return CLI_OK;
}

static int set_no_reuse(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->no_reuse = 1;
  return CLI_OK;
}

// "64", "64k", "64m", "64g": bytes.
static int store_size(uint64_t *target, const char *name, const char *value) {
  static const char units[] = "kmg";
  char *end = NULL;
  const unsigned long long number = strtoull(value, &end, 10);
  const char *unit = *end && !end[1] ? strchr(units, *end) : NULL;
  const unsigned shift = unit ? 10u * (unsigned)(unit - units + 1) : 0;
  const int sound = value[0] >= '0' && value[0] <= '9' && (!*end || unit);
  if (!sound || number == 0 || number > (UINT64_MAX >> 1) >> shift)
    return cli_fail("%s '%s': expected bytes, or a number with k, m or g behind it", name,
                    value);
  *target = (uint64_t)number << shift;
  return CLI_OK;
}

static int store_memory_maximum(cli_options *options, const char *name, const char *value) {
  return store_size(&options->memory_maximum, name, value);
}

static int store_arena_initial(cli_options *options, const char *name, const char *value) {
  return store_size(&options->arena_initial, name, value);
}

static int store_arena_extend(cli_options *options, const char *name, const char *value) {
  static const char *const words[] = {[OPSRT_ARENA_SAME_AS_REQUESTED] = "same_as_requested",
                                      [OPSRT_ARENA_NEXT_POWER_OF_TWO] = "next_power_of_two"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
    if (strcmp(value, words[i]) != 0) continue;
    options->arena_extend = (int)i;
    return CLI_OK;
  }
  return cli_fail("%s '%s': expected %s or %s", name, value, words[0], words[1]);
}

static int set_shrink(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->shrink_after_run = 1;
  return CLI_OK;
}

static int find_precision(const char *text, int *out_precision) {
  static const char *const words[] = {"float32", "float16", "bfloat16", "mixed"};
  for (int i = 0; i < 4; ++i)
    if (strcmp(text, words[i]) == 0) {
      *out_precision = i;
      return 1;
    }
  return 0;
}

static int store_precision(cli_options *options, const char *name, const char *value) {
  if (find_precision(value, &options->precision)) return CLI_OK;
  return cli_fail("%s '%s': expected float16, bfloat16, mixed or float32", name, value);
}

// "Softmax=float32": what is before the last '=' names an operator or a node.
static int store_precision_of(cli_options *options, const char *name, const char *value) {
  char *equals = strrchr(value, '=');
  int precision;
  if (!equals || equals == value || !find_precision(equals + 1, &precision))
    return cli_fail(
        "%s '%s': expected OPERATOR=TYPE or NODE=TYPE, where TYPE is float16, bfloat16, mixed "
        "or "
        "float32",
        name, value);
  if (options->override_count == CLI_MAX_DISABLED)
    return cli_fail("%s is given more than %u times", name, CLI_MAX_DISABLED);
  *equals = 0;  // a program may cut its arguments
  options->overrides[options->override_count++] = (opsrt_precision_override){value, precision};
  return CLI_OK;
}

static int set_no_rewrites(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->no_rewrites = 1;
  return CLI_OK;
}

static int store_branch_threads(cli_options *options, const char *name, const char *value) {
  return store_number(&options->branch_threads, name, value, 1, 256);
}

static int set_no_capture(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->no_capture = 1;
  return CLI_OK;
}

static int set_validate(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->validate = 1;
  return CLI_OK;
}

static int set_follow(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->follow = 1;
  return CLI_OK;
}

static int set_expand_functions(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->expand_functions = 1;
  return CLI_OK;
}

static int store_warmup(cli_options *options, const char *name, const char *value) {
  if (options->warmup_count == CLI_MAX_WARMUPS)
    return cli_fail("%s is given more than %u times", name, CLI_MAX_WARMUPS);
  options->warmup[options->warmup_count++] = value;
  return CLI_OK;
}

static int store_timeout(cli_options *options, const char *name, const char *value) {
  char *end = NULL;
  const double seconds = strtod(value, &end);
  if (end == value || *end || !(seconds > 0) || seconds > 1e6)
    return cli_fail("%s '%s': expected seconds, more than 0 and up to 1000000", name, value);
  options->timeout_seconds = seconds;
  return CLI_OK;
}

static int store_level(cli_options *options, const char *name, const char *value) {
  return store_number(&options->level, name, value, 0, 3);
}

static int store_log_level(cli_options *options, const char *name, const char *value) {
  static const char *const words[] = {"debug", "info", "warning", "error"};
  for (int i = OPS_LOG_DEBUG; i <= OPS_LOG_ERROR; ++i) {
    if (strcmp(value, words[i]) != 0) continue;
    options->log_level = i;
    return CLI_OK;
  }
  return cli_fail("%s '%s': expected debug, info, warning or error", name, value);
}

static int store_disabled(cli_options *options, const char *name, const char *value) {
  if (options->disabled_count == CLI_MAX_DISABLED)
    return cli_fail("%s is given more than %u times", name, CLI_MAX_DISABLED);
  options->disabled[options->disabled_count++] = value;
  return CLI_OK;
}

static int store_output(cli_options *options, const char *name, const char *value) {
  (void)name;
  options->output = value;
  return CLI_OK;
}

static int set_freeze_initializers(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->freeze_initializers = 1;
  return CLI_OK;
}

static int set_list_passes(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->list_passes = 1;
  return CLI_OK;
}

static int set_errors(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->errors = 1;
  return CLI_OK;
}

static int set_help(cli_options *options, const char *name, const char *value) {
  (void)name, (void)value;
  options->help = 1;
  return CLI_OK;
}

// How often the commands run the model where the command line does not say.
static int64_t usual_runs(const char *command) {
  return strcmp(command, "bench") == 0 ? 30 : strcmp(command, "profile") == 0 ? 10 : 1;
}

#define RUNS "run profile"
#define RUNS_OR_BENCH "run profile bench"
#define EXPLAIN " explain"
#define MODELS "run profile bench optimize explain"
#define ALL "run profile bench optimize explain check providers"

static const struct {
  const char *name;
  const char *commands;
  int takes_value;
  store_fn store;
  int repeats;
} table[] = {
    {"--input", RUNS_OR_BENCH, 1, store_input, 1},
    {"--output-dir", RUNS_OR_BENCH, 1, store_output_dir, 0},
    {"--provider", MODELS, 1, store_provider, 1},
    {"--option", MODELS, 1, store_option, 1},
    {"--no-fallback", MODELS, 0, set_no_fallback, 0},
    {"--profile", "run", 1, store_profile, 0},
    {"--trace", "profile", 1, store_profile, 0},
    {"--json", "profile", 1, store_json, 0},
    {"--html", "profile", 1, store_html, 0},
    {"--quiet", RUNS_OR_BENCH, 0, set_quiet, 0},
    {"--placement", RUNS, 0, set_placement, 0},
    {"--memory", RUNS_OR_BENCH, 0, set_memory, 0},
    {"--no-memory-reuse", RUNS_OR_BENCH EXPLAIN, 0, set_no_reuse, 0},
    {"--memory-maximum", RUNS_OR_BENCH EXPLAIN, 1, store_memory_maximum, 0},
    {"--arena-extend", RUNS_OR_BENCH, 1, store_arena_extend, 0},
    {"--arena-initial", RUNS_OR_BENCH, 1, store_arena_initial, 0},
    {"--shrink-after-run", RUNS_OR_BENCH, 0, set_shrink, 0},
    {"--repeat", "run bench", 1, store_repeat, 0},
    {"--runs", "profile", 1, store_repeat, 0},
    {"--workers", MODELS, 1, store_workers, 0},
    {"--timeout", RUNS_OR_BENCH, 1, store_timeout, 0},
    {"--branch-threads", RUNS_OR_BENCH EXPLAIN, 1, store_branch_threads, 0},
    {"--no-capture", RUNS_OR_BENCH EXPLAIN, 0, set_no_capture, 0},
    {"--validate", RUNS_OR_BENCH, 0, set_validate, 0},
    {"--warmup-shapes", RUNS_OR_BENCH EXPLAIN, 1, store_warmup, 1},
    {"--follow", "bench", 0, set_follow, 0},
    {"--expand-functions", RUNS_OR_BENCH, 0, set_expand_functions, 0},
    {"--level", MODELS, 1, store_level, 0},
    {"--disable-pass", MODELS, 1, store_disabled, 1},
    {"--log-level", MODELS, 1, store_log_level, 0},
    {"--precision", MODELS, 1, store_precision, 0},
    {"--precision-of", MODELS, 1, store_precision_of, 1},
    {"--no-rewrites", MODELS, 0, set_no_rewrites, 0},
    {"--freeze-initializers", MODELS, 0, set_freeze_initializers, 0},
    {"-o", "optimize", 1, store_output, 0},
    {"--errors", "explain", 0, set_errors, 0},
    {"--list-passes", "optimize", 0, set_list_passes, 0},
    {"--help", ALL, 0, set_help, 0},
    {"-h", ALL, 0, set_help, 0},
};

static int knows(const char *commands, const char *command) {
  const char *at = strstr(commands, command);
  return at != NULL;
}

// The row of an argument; *out_value is what follows '=' in "--name=value".
static int find_row(const char *command, const char *argument, const char **out_value) {
  *out_value = NULL;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
    const size_t length = strlen(table[i].name);
    if (strncmp(argument, table[i].name, length) != 0 || !knows(table[i].commands, command))
      continue;
    if (argument[length] == 0) return (int)i;
    if (argument[length] != '=' || !table[i].takes_value) continue;
    *out_value = argument + length + 1;
    return (int)i;
  }
  return -1;
}

static int store_plain(cli_options *options, const char *argument) {
  if (options->plain_count == CLI_MAX_PROVIDERS)
    return cli_fail("too many arguments, beginning with '%s'", argument);
  options->plain[options->plain_count++] = argument;
  options->model = options->plain[0];
  return CLI_OK;
}

int cli_parse(int argc, char **argv, cli_options *out_options) {
  *out_options = (cli_options){.command = argv[1],
                               .level = CLI_DEFAULT_LEVEL,
                               .log_level = OPS_LOG_WARNING,
                               .repeat = usual_runs(argv[1])};
  int plain_only = 0;
  uint64_t given = 0;  // set of rows of the table
  for (int i = 2; i < argc; ++i) {
    const char *value = NULL;
    int status = CLI_OK;
    if (plain_only || argv[i][0] != '-' || !argv[i][1]) {
      status = store_plain(out_options, argv[i]);
    } else if (strcmp(argv[i], "--") == 0) {
      plain_only = 1;
    } else {
      const int row = find_row(argv[1], argv[i], &value);
      if (row < 0)
        return cli_fail("unknown option '%s' of %s; see opsrun %s --help", argv[i], argv[1],
                        argv[1]);
      if (given & (uint64_t)1 << row && !table[row].repeats)
        return cli_fail("%s is given twice; give it once", table[row].name);
      given |= (uint64_t)1 << row;
      if (table[row].takes_value && !value && ++i == argc)
        return cli_fail("%s needs a value; see opsrun %s --help", table[row].name, argv[1]);
      if (table[row].takes_value && !value) value = argv[i];
      status = table[row].store(out_options, table[row].name, value);
    }
    if (status != CLI_OK) return status;
  }
  return CLI_OK;
}

// ---- Help -----------------------------------------------------------------------------------

static const char help_run[] =
    "usage: opsrun run MODEL [option]…\n"
    "\n"
    "Runs an ONNX model once and prints its outputs.\n"
    "\n"
    "  --input NAME=FILE     an input: a .npy, or a serialised TensorProto, SequenceProto,\n"
    "                        OptionalProto or MapProto, as the model takes it (.pb)\n"
    "  --output-dir DIR      write each output as DIR/NAME.npy; characters of NAME that are\n"
    "                        neither letters nor digits become '_'. What numpy cannot hold\n"
    "                        becomes NAME.pb. Nothing is written unless the whole run "
    "succeeds\n"
    "  --provider LIB        a provider, by name or path; the first is preferred. What none\n"
    "                        takes runs on the provider 'reference'\n"
    "  --option KEY=VALUE    an option of the provider named last\n"
    "  --no-fallback         a node that no named provider takes is an error\n"
    "  --placement           print who runs each node, and why nobody more preferred does\n"
    "  --memory              print the memory of each device, plans and copies\n"
    "  --profile FILE        write a trace for Perfetto or chrome://tracing, print times\n"
    "  --repeat N            run N times and print the time of a run\n"
    "  --workers N           threads that kernels may use; one per core else\n"
    "  --timeout SECONDS     end a run that takes longer, and say which node it was at\n"
    "  --warmup-shapes SPEC  prepare for shapes before the first run: NAME=DIMxDIM…,NAME=…;\n"
    "                        a DIM may be a range 1-32, all ranges of a SPEC step together\n"
    "  --branch-threads N    run up to N independent branches of the graph at once\n"
    "  --no-capture          do not record and replay what a device gets in each run\n"
    "  --validate            check every call between the runtime and the providers; what\n"
    "                        breaks the provider ABI is printed on stderr, and the command "
    "fails\n"
    "  --level N             optimize: 0 not, 1 what keeps every bit, 2 fusions, 3 layouts of\n"
    "                        providers, too; 3 else\n"
    "  --expand-functions    run the function that ONNX defines an operator as, where it "
    "defines\n"
    "                        one, even where a provider takes the operator\n"
    "  --log-level LEVEL     on stderr: error, warning (default), info (and what the "
    "optimizer\n"
    "                        did), debug (and what it nearly did, and why not)\n"
    "  --no-memory-reuse     give every value memory of its own: tells a fault of the runtime\n"
    "                        from one of a kernel\n"
    "  --memory-maximum SIZE in each memory, use no more: bytes, or a number with k, m or g\n"
    "  --arena-extend HOW    same_as_requested (default): take what is needed;\n"
    "                        next_power_of_two: double, to take seldom\n"
    "  --arena-initial SIZE  what an arena begins with\n"
    "  --shrink-after-run    give memory back to the system after each run\n"
    "  --no-rewrites         leave providers' rewrite rules unused\n"
    "  --quiet               show no progress, which long runs show on a terminal\n"
    "  --precision TYPE      compute in float16 or bfloat16 what a provider takes so; mixed:\n"
    "                        only sums of products and what follows them\n"
    "  --precision-of X=TYPE the same, or float32, for operator or node X alone\n"
    "\n"
    "Exit code: 0 if the run succeeded, 2 otherwise, with one line on stderr.\n";

static const char help_profile[] =
    "usage: opsrun profile MODEL [option]…\n"
    "\n"
    "Runs a model, prints the time of each node, and what the figures advise to do.\n"
    "\n"
    "  --html FILE           a page with timeline, memory, roofline and tables; it needs "
    "nothing "
    "else\n"
    "  --json FILE           op_profile.json: time, bytes, operations, share of the device's "
    "peak\n"
    "                        for each node and operator, memory, advice\n"
    "  --trace FILE          a trace for Perfetto or chrome://tracing\n"
    "  --runs N              so many runs; 10 else\n"
    "\n"
    "and of opsrun run: --input, --output-dir, --provider, --option, --no-fallback, "
    "--placement,\n"
    "--memory, --workers, --expand-functions, --log-level, --no-memory-reuse, --quiet. An "
    "input "
    "that\n"
    "is not given is filled with zeros, dimensions that the model leaves open with 1.\n"
    "\n"
    "Exit code: 0 if all runs succeeded, 2 otherwise, with one line on stderr.\n";

static const char help_bench[] =
    "usage: opsrun bench MODEL [option]…\n"
    "\n"
    "Times a model: loading it, the first run, and the runs after that.\n"
    "\n"
    "  --repeat N            so many runs after the first; 30 else\n"
    "  --follow              for a program that takes turns between processes: prints the\n"
    "                        seconds of loading; then, for each line of standard input with\n"
    "                        a count, runs so often and prints the seconds of each run on\n"
    "                        one line\n"
    "\n"
    "and of opsrun run: --input, --output-dir (outputs of the last run), --provider, "
    "--option,\n"
    "--no-fallback, --memory, --workers, --timeout, --warmup-shapes, and those of memory.\n"
    "\n"
    "Exit code: 0 if all runs succeeded, 2 otherwise, with one line on stderr.\n";

static const char help_optimize[] =
    "usage: opsrun optimize MODEL -o OUT [option]…\n"
    "       opsrun optimize --list-passes\n"
    "\n"
    "Writes the model as the optimizer leaves it, and prints how often each pass rewrote it.\n"
    "No operator becomes newer than the opset that the model imports.\n"
    "\n"
    "  -o OUT                the file that receives the model\n"
    "  --list-passes         print level, name and purpose of each pass, in their order\n"
    "\n"
    "and of opsrun run: --level, --disable-pass, --freeze-initializers, --precision,\n"
    "--precision-of, --provider, --option, --no-fallback, --workers. Fusions are made where "
    "the provider that would run them has\n"
    "what they become.\n"
    "\n"
    "Exit code: 0, or 2 with one line on stderr; nothing is written then.\n";

static const char help_explain[] =
    "usage: opsrun explain MODEL [option]…\n"
    "       opsrun explain OPS-E0012\n"
    "       opsrun explain --errors\n"
    "\n"
    "Prints the time of each phase of loading and of each pass of the optimizer, what each "
    "pass "
    "did,\n"
    "what it nearly did and which condition failed, who runs each node and why, the "
    "layouts\n"
    "of activations, and the memory that is planned. Every pass is proven, which the time of "
    "optimizing includes.\n"
    "\n"
    "Given the code of an error, prints its cause, how to find it and how to fix it; --errors "
    "prints\n"
    "all of them.\n"
    "\n"
    "Options are those of opsrun optimize but -o, and --no-memory-reuse, --memory-maximum and\n"
    "--warmup-shapes, which says for what shapes memory is planned.\n"
    "\n"
    "Exit code: 0, or 2 with one line on stderr.\n";

static const char help_check[] =
    "usage: opsrun check MODEL\n"
    "\n"
    "Checks a model without running it: bytes, names, operators, attributes, types, shapes.\n"
    "\n"
    "Exit code: 0 if the model is sound, 2 otherwise, with one line on stderr.\n";

static const char help_providers[] =
    "usage: opsrun providers [LIB]…\n"
    "\n"
    "Prints the devices and kernels of providers, named or given by path; 'reference' if none\n"
    "is named.\n"
    "\n"
    "Exit code: 0, or 2 if a provider cannot be opened.\n";

static const char help_all[] =
    "usage: opsrun COMMAND …\n"
    "\n"
    "  run MODEL         run a model\n"
    "  profile MODEL     run a model, and say where the time goes and why\n"
    "  bench MODEL       time a model\n"
    "  optimize MODEL    write a model as the optimizer leaves it\n"
    "  explain MODEL     print what the optimizer did, and who runs what\n"
    "  explain OPS-E…    print what an error means, and what to do\n"
    "  check MODEL       check a model\n"
    "  providers [LIB]…  print the devices and kernels of providers\n"
    "\n"
    "opsrun COMMAND --help tells more.\n";

void cli_print_help(const char *command) {
  static const struct {
    const char *command;
    const char *text;
  } texts[] = {{"run", help_run},
               {"profile", help_profile},
               {"bench", help_bench},
               {"optimize", help_optimize},
               {"explain", help_explain},
               {"check", help_check},
               {"providers", help_providers}};
  const char *text = help_all;
  for (size_t i = 0; command && i < sizeof texts / sizeof texts[0]; ++i)
    if (strcmp(command, texts[i].command) == 0) text = texts[i].text;
  fputs(text, stdout);
}

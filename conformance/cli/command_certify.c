// SPDX-License-Identifier: Apache-2.0
//
// opsconform certify JOURNAL… --key FILE -o DIR, and the making of keys.
#include <stdio.h>

#include "bundle/bundle.h"
#include "bundle/sign.h"
#include "cli/command.h"
#include "cli/option_table.h"
#include "ops_support/error.h"

#define MAX_JOURNALS 4096

typedef struct certifying {
  const char *journals[MAX_JOURNALS];
  oc_certify_options options;
  const char *new_key;
  bool help;
} certifying;

static int32_t read_journal(void *target, const char *name, const char *text,
                            ops_error *error) {
  certifying *c = target;
  if (c->options.journal_count == MAX_JOURNALS) {
    return oc_option_bad(name, text, "at most 4096 journals", error);
  }
  c->journals[c->options.journal_count++] = text;
  return OPS_OK;
}

#define READ(field, member)                                                     \
  static int32_t read_##field(void *target, const char *name, const char *text, \
                              ops_error *error) {                               \
    return oc_option_text(&((certifying *)target)->member, name, text, error);  \
  }
READ(contracts, options.contracts)
READ(waivers, options.waivers)
READ(faults, options.faults)
READ(key, options.key)
READ(output, options.out)
READ(new_key, new_key)
#undef READ

static int32_t read_help(void *target, const char *name, const char *text, ops_error *error) {
  (void)name;
  (void)text;
  (void)error;
  ((certifying *)target)->help = true;
  return OPS_OK;
}

static const oc_option_row kRows[] = {
    {"key", "FILE", "the secret key that signs, as --new-key makes it", read_key, false},
    {"output", "DIR", "the folder to make, also -o DIR", read_output, false},
    {"waivers", "FILE", "known failures that the release may have", read_waivers, false},
    {"faults", "FILE", "what ci/faults --report wrote: how much a pass is worth", read_faults,
     false},
    {"contracts", "DIR", "the contracts of the run; where it found them else", read_contracts,
     false},
    {"new-key", "FILE", "make a pair of keys, FILE and FILE.pub, and nothing else",
     read_new_key, false},
    {"help", NULL, "this text", read_help, true},
};
static const oc_option_table kTable = {.program = "opsconform certify",
                                       .rows = kRows,
                                       .count = sizeof kRows / sizeof *kRows,
                                       .word = read_journal};

// Prints "-o" as what it is short for.
static void expand_short(int argc, char **argv) {
  static char output[] = "--output";
  for (int i = 2; i < argc; ++i) {
    if (argv[i][0] == '-' && argv[i][1] == 'o' && !argv[i][2]) argv[i] = output;
  }
}

static int code_of(int32_t status) {
  return status == OPS_ERROR_PRECONDITION || status == OPS_ERROR_INVALID_MODEL
             ? OC_EXIT_NONCONFORMANT
         : status == OPS_ERROR_OUT_OF_MEMORY || status == OPS_ERROR_INTERNAL ? OC_EXIT_HARNESS
                                                                             : OC_EXIT_USAGE;
}

static int make_key(const char *path) {
  ops_error error = OPS_ERROR_INIT;
  if (oc_key_create(path, &error) != OPS_OK) return oc_command_fail(&error, OC_EXIT_USAGE);
  printf(
      "secret key  %s: keep it to yourself\npublic key  %s.pub: give it to those who verify\n",
      path, path);
  return OC_EXIT_CONFORMANT;
}

static int32_t check(const certifying *c, ops_error *error) {
  const char *missing = c->options.journal_count == 0 ? "name the journals of the run"
                        : !c->options.key             ? "--key FILE is missing"
                        : !c->options.out             ? "-o DIR is missing"
                                                      : NULL;
  if (!missing) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "certify: %s; see opsconform certify --help", missing);
}

int oc_command_certify(int argc, char **argv) {
  static certifying c;
  ops_error error = OPS_ERROR_INIT;
  oc_certificate certificate;
  expand_short(argc, argv);
  if (oc_option_table_parse(&kTable, &c, argc, argv, 2, NULL, &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_USAGE);
  }
  if (c.help) {
    puts(
        "opsconform certify JOURNAL... --key FILE -o DIR: a signed bundle of a run that ended "
        "with 0\n");
    oc_option_table_help(&kTable, stdout);
    return OC_EXIT_CONFORMANT;
  }
  if (c.new_key) return make_key(c.new_key);
  if (check(&c, &error) != OPS_OK) return oc_command_fail(&error, OC_EXIT_USAGE);
  c.options.journals = c.journals;
  const int32_t status = oc_certify(&c.options, &certificate, &error);
  if (status != OPS_OK) return oc_command_fail(&error, code_of(status));
  oc_command_print_certificate(&certificate);
  printf("bundle    %s, %zu files\n", c.options.out, certificate.files);
  return OC_EXIT_CONFORMANT;
}

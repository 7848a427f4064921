// SPDX-License-Identifier: Apache-2.0
//
// opsconform verify-bundle DIR [--public-key FILE]: checks a certificate, offline.
#include <inttypes.h>
#include <stdio.h>

#include "bundle/bundle.h"
#include "cli/command.h"
#include "cli/option_table.h"
#include "ops_support/error.h"

typedef struct verifying {
  const char *bundle;
  const char *public_key;
  bool help;
} verifying;

static int32_t read_bundle(void *target, const char *name, const char *text, ops_error *error) {
  verifying *v = target;
  if (v->bundle) return oc_option_bad(name, text, "one bundle", error);
  v->bundle = text;
  return OPS_OK;
}

static int32_t read_public_key(void *target, const char *name, const char *text,
                               ops_error *error) {
  return oc_option_text(&((verifying *)target)->public_key, name, text, error);
}

static int32_t read_help(void *target, const char *name, const char *text, ops_error *error) {
  (void)name;
  (void)text;
  (void)error;
  ((verifying *)target)->help = true;
  return OPS_OK;
}

static const oc_option_row kRows[] = {
    {"public-key", "FILE", "the key that must have signed the bundle", read_public_key, false},
    {"help", NULL, "this text", read_help, true},
};
static const oc_option_table kTable = {.program = "opsconform verify-bundle",
                                       .rows = kRows,
                                       .count = sizeof kRows / sizeof *kRows,
                                       .word = read_bundle};

void oc_command_print_certificate(const oc_certificate *certificate) {
  printf("provider  %s %s, sha256 %s\n", certificate->provider, certificate->version,
         certificate->provider_hash);
  printf("verdict   %s (exit code %d):", oc_exit_meaning(certificate->exit_code),
         certificate->exit_code);
  const char *comma = "";
  for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) {
    if (certificate->counts[status] == 0) continue;
    printf("%s %" PRIu64 " %s", comma, certificate->counts[status], oc_status_name(status));
    comma = ",";
  }
  printf(
      "\ncases     %zu; %zu have an error and a limit, of which %zu limits follow from the "
      "contracts alone and were evaluated again\n",
      certificate->cases, certificate->measured, certificate->evaluated);
  printf("faults    %s\n",
         certificate->faults[0] ? certificate->faults : "no score of the harness was given");
  printf("signer    %s\n", certificate->signer);
}

int oc_command_verify_bundle(int argc, char **argv) {
  static verifying v;
  ops_error error = OPS_ERROR_INIT;
  oc_certificate certificate;
  if (oc_option_table_parse(&kTable, &v, argc, argv, 2, NULL, &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_USAGE);
  }
  if (v.help) {
    puts(
        "opsconform verify-bundle DIR: checks signature and hashes and derives the verdict "
        "again\n\n"
        "exit codes\n  0  the bundle holds\n  1  it is refused; the message says why\n"
        "  4  there is no such bundle, or no such key\n");
    oc_option_table_help(&kTable, stdout);
    return OC_EXIT_CONFORMANT;
  }
  if (!v.bundle) {
    ops_error_set(&error, OPS_ERROR_INVALID_ARGUMENT, "verify-bundle: name the bundle");
    return oc_command_fail(&error, OC_EXIT_USAGE);
  }
  const int32_t status = oc_bundle_verify(v.bundle, v.public_key, &certificate, &error);
  if (status == OPS_ERROR_OUT_OF_MEMORY) return oc_command_fail(&error, OC_EXIT_HARNESS);
  if (status == OPS_ERROR_IO || status == OPS_ERROR_INVALID_ARGUMENT) {
    return oc_command_fail(&error, OC_EXIT_USAGE);
  }
  if (status != OPS_OK) return oc_command_fail(&error, OC_EXIT_NONCONFORMANT);
  oc_command_print_certificate(&certificate);
  printf("bundle    %zu files, signature and verdict hold%s\n", certificate.files,
         v.public_key ? "" : "; whose key it is only --public-key FILE can say");
  return OC_EXIT_CONFORMANT;
}

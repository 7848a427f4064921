// SPDX-License-Identifier: Apache-2.0
//
// What commands have in common.
#include "cli/command.h"

#include <stdio.h>

#include "ops_support/error.h"

int oc_command_fail(const ops_error *error, int exit_code) {
  fprintf(stderr, "opsconform: error: %s\n", error->message);
  return exit_code;
}

static void print_help(FILE *stream) {
  fputs(
      "opsconform: proves that an execution provider does what the contracts of its operators "
      "say\n\n",
      stream);
  oc_commands_help(stream);
  fputc('\n', stream);
  oc_options_help(stream);
}

bool oc_command_open(oc_session *session, int argc, char **argv, int *out_code) {
  ops_error error = OPS_ERROR_INIT;
  *out_code = OC_EXIT_CONFORMANT;
  if (oc_options_parse(&session->options, argc, argv, &error) != OPS_OK) {
    *out_code = oc_command_fail(&error, OC_EXIT_USAGE);
    return false;
  }
  if (session->options.help) {
    print_help(stdout);
    return false;
  }
  if (session->options.version) {
    printf("opsconform %s, provider ABI %d.%d, contract format %d\n", OC_VERSION, OPS_ABI_MAJOR,
           OPS_ABI_MINOR, OC_CONTRACT_FORMAT);
    return false;
  }
  const int32_t status = oc_session_gather(session, &error);
  if (status == OPS_OK) return true;
  *out_code = oc_command_fail(
      &error, status == OPS_ERROR_OUT_OF_MEMORY ? OC_EXIT_HARNESS : OC_EXIT_USAGE);
  oc_session_finish(session);
  return false;
}

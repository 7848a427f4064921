// SPDX-License-Identifier: Apache-2.0
//
// opsrun: runs and checks ONNX models on providers. Exit codes: 0, or 2 for any error.
#include <stdio.h>
#include <string.h>

#include "cli/command_line.h"

static const struct {
  const char *name;
  int (*run)(const cli_options *options);
} commands[] = {
    {"run", cli_run}, {"profile", cli_run}, {"check", cli_check}, {"providers", cli_providers}};

int main(int argc, char **argv) {
  const char *command = argc > 1 ? argv[1] : NULL;
  if (!command) {
    cli_print_help(NULL);
    return cli_fail("no command");
  }
  if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 ||
      strcmp(command, "help") == 0) {
    cli_print_help(argc > 2 ? argv[2] : NULL);
    return CLI_OK;
  }
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
    if (strcmp(command, commands[i].name) != 0) continue;
    static cli_options options;
    const int status = cli_parse(argc, argv, &options);
    if (status != CLI_OK) return status;
    if (options.help) {
      cli_print_help(command);
      return CLI_OK;
    }
    return commands[i].run(&options);
  }
  return cli_fail("unknown command '%s'; see opsrun --help", command);
}

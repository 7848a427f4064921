// SPDX-License-Identifier: Apache-2.0
//
// The commands of opsconform. Each is one function in a file command_NAME.c and one row of the
// table in main.c; it returns the exit code of the program.
#ifndef OC_CLI_COMMAND_H_
#define OC_CLI_COMMAND_H_

#include <stdbool.h>

#include "bundle/bundle.h"
#include "cli/session.h"

typedef struct oc_command {
  const char *name;  // the first word; NULL: there is none
  const char *usage;
  const char *what;  // one line for people
  int (*run)(int argc, char **argv);
} oc_command;

int oc_command_run(int argc, char **argv);
int oc_command_bake(int argc, char **argv);
int oc_command_certify(int argc, char **argv);
int oc_command_compare(int argc, char **argv);
int oc_command_verify_bundle(int argc, char **argv);
int oc_command_merge(int argc, char **argv);

// --mode perf, on a gathered session.
int oc_mode_perf(oc_session *session);

// Prints what went wrong; returns `exit_code`.
int oc_command_fail(const ops_error *error, int exit_code);

// Reads the command line of a command that runs cases and gathers them. False: the program is
// done (--help, --version, an error, which is printed) and ends with *out_code.
bool oc_command_open(oc_session *session, int argc, char **argv, int *out_code);

// What a certificate says, a line each.
void oc_command_print_certificate(const oc_certificate *certificate);

// The overview of all commands, for --help.
void oc_commands_help(FILE *stream);

#endif  // OC_CLI_COMMAND_H_

// SPDX-License-Identifier: Apache-2.0
//
// opsconform: from the first word of the command line to a command, and from its result to the
// exit code. This process reads contracts, makes cases and writes reports; providers are loaded
// in workers only.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/option_table.h"

static const oc_command kCommands[] = {
    {NULL, "--provider LIB [OPTION...]", "judge a provider", oc_command_run},
    {"bake", "bake DIR [OPTION...]",
     "store cases below DIR: models with inputs and expected outputs; with --onnx-tests what "
     "the "
     "oracle gives for those models",
     oc_command_bake},
    {"compare", "compare BEFORE AFTER [--report FORMAT:FILE...]",
     "two JSON reports: what became better, worse, new, gone", oc_command_compare},
    {"certify", "certify JOURNAL... --key FILE -o DIR",
     "a signed bundle with all that the verdict of a run follows from", oc_command_certify},
    {"verify-bundle", "verify-bundle DIR [--public-key FILE]",
     "check such a bundle offline and derive its verdict again", oc_command_verify_bundle},
    {"merge", "merge JOURNAL... [--report FORMAT:FILE...]",
     "the report of a run from its journals: of all its shards, or of one that was all",
     oc_command_merge},
};

#define COMMAND_COUNT (sizeof kCommands / sizeof *kCommands)

void oc_commands_help(FILE *stream) {
  for (size_t i = 0; i < COMMAND_COUNT; ++i) {
    char head[80];
    const int length = snprintf(head, sizeof head, "%s opsconform %s",
                                i ? "      " : "usage:", kCommands[i].usage);
    fprintf(stream, "%s%*s", head, length < 42 ? 42 - length : 1, "");
    oc_option_put_wrapped(stream, kCommands[i].what, 42, 96);
  }
}

// A closed standard stream would lend its number to a worker's pipe; a file that may not grow
// is an error like a full disk, not the end of the process.
static void settle_process(void) {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
  signal(SIGXFSZ, SIG_IGN);
}

static const oc_command *find_command(int argc, char **argv) {
  for (size_t i = 1; argc > 1 && i < COMMAND_COUNT; ++i) {
    if (strcmp(kCommands[i].name, argv[1]) == 0) return &kCommands[i];
  }
  return &kCommands[0];
}

int main(int argc, char **argv) {
  settle_process();
  const int code = find_command(argc, argv)->run(argc, argv);
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  fprintf(stderr, "opsconform: error: standard output cannot be written: %s\n",
          strerror(errno));
  return OC_EXIT_HARNESS;
}

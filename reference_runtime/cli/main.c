// SPDX-License-Identifier: Apache-2.0
//
// opsrun: runs and checks ONNX models on providers. Exit codes: 0, or 2 for any error.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "cli/command_line.h"

static const struct {
  const char *name;
  int (*run)(const cli_options *options);
} commands[] = {{"run", cli_run},
                {"profile", cli_profile},
                {"bench", cli_bench},
                {"optimize", cli_optimize},
                {"explain", cli_explain},
                {"check", cli_check},
                {"providers", cli_providers}};

// Each run gives its outputs new memory, and frees that of the run before: kept, it is not
// mapped and cleared by the system every time.
static void keep_freed_memory(void) {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

// A closed standard stream would lend its number to the next file; a file that may not grow is
// an error like a full disk, not the end of the process.
static void settle_process(void) {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
  signal(SIGXFSZ, SIG_IGN);
}

static int dispatch(int argc, char **argv) {
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

int main(int argc, char **argv) {
  settle_process();
  keep_freed_memory();
  const int code = dispatch(argc, argv);
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  return code != CLI_OK
             ? code
             : cli_fail_cause(OPS_CAUSE_FILE_UNWRITABLE,
                              "standard output cannot be written: %s", strerror(errno));
}

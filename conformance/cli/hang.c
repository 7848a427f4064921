// SPDX-License-Identifier: Apache-2.0
//
// The command gets a process group of its own, so that all it starts can be ended with it.
#include "cli/hang.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void become_command(const char *command, pid_t pid, const char *case_id) {
  char number[24];
  snprintf(number, sizeof number, "%d", (int)pid);
  setpgid(0, 0);
  setenv("OPSCONFORM_PID", number, 1);
  setenv("OPSCONFORM_CASE", case_id, 1);
  signal(SIGPIPE, SIG_DFL);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  execl("/bin/sh", "sh", "-c", command, "opsconform", number, (char *)NULL);
  _exit(127);
}

// False: it has not ended in time.
static bool await_command(pid_t child, double seconds, int *out_how) {
  const struct timespec pause = {0, 10000000};
  for (int left = (int)(seconds * 100); left > 0; --left) {
    const pid_t ended = waitpid(child, out_how, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return true;
    nanosleep(&pause, NULL);
  }
  return false;
}

void oc_hang_look(const char *command, pid_t pid, const char *case_id) {
  int how = 0;
  fprintf(stderr, "opsconform: %s hangs in process %d; --on-hang runs\n", case_id, (int)pid);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) become_command(command, pid, case_id);
  if (child < 0) return;
  setpgid(child, child);
  const bool ended = await_command(child, OC_HANG_SECONDS, &how);
  kill(-child, SIGKILL);
  if (!ended) {
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) continue;
    fprintf(stderr, "opsconform: --on-hang: not done within %g s; it was killed\n",
            OC_HANG_SECONDS);
  } else if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) {
    fputs("opsconform: --on-hang: the command failed\n", stderr);
  }
}

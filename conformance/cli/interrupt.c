// SPDX-License-Identifier: Apache-2.0
//
// A handler may set a flag and no more, so the flag is a variable of the process.
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include "report/escape.h"

static const int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
#define SIGNALS (sizeof kSignals / sizeof *kSignals)

static volatile sig_atomic_t came;

static void note(int number) {
  (void)number;
  came = 1;
}

// Without SA_RESTART, so that a wait ends; with SA_RESETHAND, so that the second one kills.
void oc_interrupt_watch(void) {
  for (size_t i = 0; i < SIGNALS; ++i) {
    struct sigaction before, action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};
    if (sigaction(kSignals[i], NULL, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    sigaction(kSignals[i], &action, NULL);
  }
}

void oc_interrupt_end(void) {
  for (size_t i = 0; i < SIGNALS; ++i) {
    struct sigaction before;
    if (sigaction(kSignals[i], NULL, &before) != 0 || before.sa_handler != note) continue;
    signal(kSignals[i], SIG_DFL);
  }
}

bool oc_interrupt_came(void) {
  return came != 0;
}

void oc_interrupt_explain(int argc, char **argv, const char *journal) {
  if (!journal) {
    fputs(
        "opsconform: interrupted; nothing was kept. With --resume JOURNAL a run can go on "
        "later\n",
        stderr);
    return;
  }
  fputs("opsconform: interrupted; go on with\n ", stderr);
  for (int i = 0; i < argc; ++i) {
    fputc(' ', stderr);
    oc_put_shell(stderr, argv[i]);
  }
  fputc('\n', stderr);
}

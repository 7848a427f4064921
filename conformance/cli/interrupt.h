// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C and its like: the first one ends a run in good order, the second one at once.
#ifndef OC_CLI_INTERRUPT_H_
#define OC_CLI_INTERRUPT_H_

#include <stdbool.h>

// From here on SIGINT, SIGTERM and SIGHUP are noted, unless they are ignored already.
void oc_interrupt_watch(void);
void oc_interrupt_end(void);

bool oc_interrupt_came(void);

// Tells on stderr how the run of this command line goes on: with its journal, or not at all.
void oc_interrupt_explain(int argc, char **argv, const char *journal);

#endif  // OC_CLI_INTERRUPT_H_

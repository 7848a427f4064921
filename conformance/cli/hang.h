// SPDX-License-Identifier: Apache-2.0
//
// --on-hang CMD: a look at a worker that hangs, before it is killed.
#ifndef OC_CLI_HANG_H_
#define OC_CLI_HANG_H_

#include <sys/types.h>

#define OC_HANG_SECONDS 30.0  // for the command; then it is killed

// Runs `command` by the shell with the worker's number as $1 and in OPSCONFORM_PID, the case in
// OPSCONFORM_CASE; it prints to stderr. Returns when it has ended.
void oc_hang_look(const char *command, pid_t pid, const char *case_id);

#endif  // OC_CLI_HANG_H_

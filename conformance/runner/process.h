// SPDX-License-Identifier: Apache-2.0
//
// What a provider must leave as it found it in the process of the host: signal handlers,
// working directory, environment, file mask, locale, timers, the limit of open files, standard
// streams; and no child process. Looked at after each case: a few microseconds.
#ifndef OC_RUNNER_PROCESS_H_
#define OC_RUNNER_PROCESS_H_

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OC_PROCESS_SIGNALS 32  // 1 to 31; those for real time are libraries' own

typedef struct oc_process_stream {
  dev_t device;
  ino_t inode;
  bool open;
} oc_process_stream;

typedef struct oc_process {
  struct sigaction handlers[OC_PROCESS_SIGNALS];
  dev_t folder_device;
  ino_t folder_inode;
  uint64_t environment;  // hash
  mode_t mask;
  char locale[128];
  int timers;  // how many are running
  uint64_t files;
  oc_process_stream streams[3];
} oc_process;

void oc_process_take(oc_process *process);

// Compares the process with `known`, which becomes what it is now; returns what changed first,
// NULL if nothing. Handlers, timers and mask are put back.
const char *oc_process_settle(oc_process *known);

#endif  // OC_RUNNER_PROCESS_H_

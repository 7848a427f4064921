// SPDX-License-Identifier: Apache-2.0
//
// What a process does on a signal, and its environment, belong to its host. Some OpenCL drivers
// change them when they start or compile: PoCL installs handlers for SIGFPE, SIGSEGV and others
// and sets a variable for hwloc.
#ifndef OPENCL_PROCESS_H_
#define OPENCL_PROCESS_H_

#include <signal.h>

enum { kOpenclSignals = 64 };

typedef struct opencl_process {
  struct sigaction actions[kOpenclSignals];
  char **variables;  // NULL: no memory to keep them
  size_t variable_count;
} opencl_process;

// What there is now; the second puts back what has changed since, and frees it.
void opencl_process_save(opencl_process *process);
void opencl_process_restore(opencl_process *process);

#endif  // OPENCL_PROCESS_H_

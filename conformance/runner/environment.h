// SPDX-License-Identifier: Apache-2.0
//
// What a provider must leave as it found it in a thread of the host: how floating-point
// arithmetic rounds, flushes and traps, and which signals are blocked; the handlers of the
// harness for faulty accesses; and how many threads the process has, which loading a library
// must not change. The rest of the process is process.h.
#ifndef OC_RUNNER_ENVIRONMENT_H_
#define OC_RUNNER_ENVIRONMENT_H_

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct oc_environment {
  uint64_t vector;  // control bits of the unit that float and double use
  uint64_t stack;   // control word of the unit that long double uses, where there is one
  sigset_t blocked;
  struct sigaction faults[2];  // SIGSEGV, SIGBUS: by them the harness explains an access
} oc_environment;

void oc_environment_take(oc_environment *environment);

// Compares this thread with `before` and puts it back; returns what differed, NULL if nothing.
const char *oc_environment_restore(const oc_environment *before);

uint64_t oc_environment_threads(void);  // of the process, 0: unknown
// Bytes that malloc has given out in this process; 0: unknown (other allocators, sanitizers).
uint64_t oc_environment_heap(void);
uint64_t oc_environment_files(void);  // descriptors that are open, 0: unknown

#endif  // OC_RUNNER_ENVIRONMENT_H_

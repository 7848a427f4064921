// SPDX-License-Identifier: Apache-2.0
//
// Faults that need no particular operator; Relu, Gather and MatMul show them.
#include <fenv.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "faulty.h"

#define LATE_NS 200000  // how often the late reader looks at its input, and how many times
#define LATE_LOOKS 8
#define CHILD_SECONDS 8  // longer than a case may last

static void *read_late(void *context) {
  ops_prepared *prepared = context;
  const struct timespec pause = {0, LATE_NS};
  float sum = 0;
  for (int look = 0; look < LATE_LOOKS; ++look) {
    nanosleep(&pause, NULL);
    for (int64_t i = 0; i < prepared->out.count; ++i) sum += prepared->late_input[i];
  }
  return sum > 0 ? context : NULL;
}

void faulty_read_late(const faulty_call *call) {
  ops_prepared *prepared = (ops_prepared *)call->prepared;  // the fault: it should be immutable
  if (prepared->late_running) pthread_join(prepared->late_reader, NULL);
  prepared->late_input = (const float *)call->in[0].data;
  prepared->late_running =
      pthread_create(&prepared->late_reader, NULL, read_late, prepared) == 0;
}

// The child holds every pipe of its parent.
static void leave_child(void) {
  if (fork() != 0) _exit(3);
  setsid();
  sleep(CHILD_SECONDS);
  _exit(0);
}

// Faults that end or hold the process; each at some shapes only.
void faulty_spoil_process(const faulty_call *call) {
  const ops_prepared *prepared = call->prepared;
  const volatile float *nowhere = (const volatile float *)(8 * (uintptr_t)call->out.rank);
  if (call->out.rank == 2) {
    if (FAULTY(prepared, segfault) && *nowhere > 0) abort();
    if (FAULTY(prepared, calls_exit)) exit(0);
    if (FAULTY(prepared, changes_rounding)) fesetround(FE_UPWARD);
    if (FAULTY(prepared, fork_returns) && fork() < 0) abort();
    if (FAULTY(prepared, leaves_child)) leave_child();
  }
  while (call->out.count == 7 && FAULTY(prepared, hang)) {
    const struct timespec pause = {1, 0};
    nanosleep(&pause, NULL);
  }
}

void faulty_spoil_reply(const ops_prepared *prepared, ops_prepare_reply *reply) {
  if (prepared->kernel->op != &faulty_relu) return;
  if (FAULTY(prepared, workspace_kind)) {
    reply->workspace_memory_kind = OPS_MEMORY_PINNED;
    reply->workspace_size = 64;
  }
  if (FAULTY(prepared, workspace_alignment)) {
    reply->workspace_alignment = 3;
    reply->workspace_size = 64;
  }
  if (FAULTY(prepared, workspace_huge)) reply->workspace_size = UINT64_MAX;
}

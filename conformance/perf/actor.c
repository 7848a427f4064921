// SPDX-License-Identifier: Apache-2.0
//
// The process around a stage: orders and answers through two pipes.
#include "perf/actor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checks/check.h"
#include "ops_support/error.h"
#include "perf/play.h"

#define CLOSE_MILLISECONDS 1000

typedef struct order {
  uint32_t kind;
  uint32_t block;
  uint32_t round;
} order;

_Static_assert(sizeof(oc_result) <= PIPE_BUF, "a pipe delivers at most PIPE_BUF bytes whole");

static bool transfer(int fd, void *data, size_t size, bool writes) {
  unsigned char *at = data;
  while (size > 0) {
    const ssize_t moved = writes ? write(fd, at, size) : read(fd, at, size);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    at += moved;
    size -= (size_t)moved;
  }
  return true;
}

// ---- In the actor ---------------------------------------------------------------------------

static void serve(const oc_perf_stage *stage, oc_beacon *beacon, int orders, int answers) {
  oc_perf_play *play = NULL;
  order next;
  oc_result result;
  beacon->owner = getpid();
  oc_guard_watch(beacon, NULL);
  while (transfer(orders, &next, sizeof next, false)) {
    memset(&result, 0, sizeof result);
    result = (oc_result){.status = OC_STATUS_PASS, .attempts = 1, .output = -1, .element = -1};
    if (next.kind == OC_PERF_OPEN) {
      play = oc_perf_play_open(stage, beacon, next.block, &result);
    } else if (play) {
      oc_perf_play_order(play, (oc_perf_order)next.kind, next.block, next.round, &result);
    }
    if (!transfer(answers, &result, sizeof result, true)) break;
  }
  oc_perf_play_close(play);
}

// ---- Outside --------------------------------------------------------------------------------

static int32_t no_process(oc_perf_actor *actor, const char *what, ops_error *error) {
  const int reason = errno;
  oc_perf_actor_stop(actor);
  return ops_error_set(error, OPS_ERROR_INTERNAL, "a process to measure in: %s: %s", what,
                       strerror(reason));
}

static void run_child(const oc_perf_stage *stage, oc_beacon *beacon, int orders, int answers,
                      const oc_perf_actor *others, size_t other_count) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (size_t i = 0; i < other_count; ++i) {
    if (others[i].to >= 0) close(others[i].to);
    if (others[i].from >= 0) close(others[i].from);
  }
  serve(stage, beacon, orders, answers);
  fflush(NULL);
  _exit(0);
}

int32_t oc_perf_actor_start(oc_perf_actor *actor, const oc_perf_stage *stage,
                            const oc_perf_actor *others, size_t other_count, ops_error *error) {
  int orders[2], answers[2];
  *actor = (oc_perf_actor){.to = -1, .from = -1};
  OPS_RETURN_IF_ERROR(oc_beacon_create(&actor->beacon, error));
  if (pipe2(orders, O_CLOEXEC) != 0) return no_process(actor, "pipe", error);
  actor->to = orders[1];
  if (pipe2(answers, O_CLOEXEC) != 0) {
    close(orders[0]);
    return no_process(actor, "pipe", error);
  }
  actor->from = answers[0];
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    close(orders[1]);
    close(answers[0]);
    run_child(stage, actor->beacon, orders[0], answers[1], others, other_count);
  }
  close(orders[0]);
  close(answers[1]);
  if (pid < 0) return no_process(actor, "fork", error);
  actor->pid = pid;
  return OPS_OK;
}

static void describe_death(oc_perf_actor *actor, oc_result *result) {
  char fault[200] = "";
  int how = 0;
  const int32_t phase = atomic_load(&actor->beacon->phase);
  oc_beacon_describe(actor->beacon, fault, sizeof fault);
  kill(actor->pid, SIGKILL);
  while (waitpid(actor->pid, &how, 0) < 0 && errno == EINTR) continue;
  actor->pid = 0;
  result->phase = phase;
  oc_result_end(
      result, OC_STATUS_CRASH, OC_CHECK_PROCESS, "in %s: the process %s %d%s%s",
      oc_phase_name(phase), WIFSIGNALED(how) ? "was killed by signal" : "exited with status",
      WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how), fault[0] ? "; " : "", fault);
}

void oc_perf_actor_ask(oc_perf_actor *actor, oc_perf_order kind, uint32_t block, uint32_t round,
                       oc_result *out_result) {
  order next = {.kind = kind, .block = block, .round = round};
  memset(out_result, 0, sizeof *out_result);
  if (transfer(actor->to, &next, sizeof next, true) &&
      transfer(actor->from, out_result, sizeof *out_result, false)) {
    return;
  }
  *out_result = (oc_result){.attempts = 1, .output = -1, .element = -1};
  describe_death(actor, out_result);
}

static void close_pipe(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

void oc_perf_actor_stop(oc_perf_actor *actor) {
  if (!actor->beacon) return;
  close_pipe(&actor->to);
  if (actor->pid > 0) {
    struct pollfd end = {.fd = actor->from, .events = POLLIN};
    int how;
    if (poll(&end, 1, CLOSE_MILLISECONDS) <= 0) kill(actor->pid, SIGKILL);
    while (waitpid(actor->pid, &how, 0) < 0 && errno == EINTR) continue;
  }
  close_pipe(&actor->from);
  oc_beacon_destroy(actor->beacon);
  *actor = (oc_perf_actor){.to = -1, .from = -1};
}

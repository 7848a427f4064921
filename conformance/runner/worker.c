// SPDX-License-Identifier: Apache-2.0
//
// Both ends of a worker.
#include "runner/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ops_support/error.h"
#include "runner/guard.h"

#define LOG_LIMIT (1 << 20)
#define COPY_PAUSES 1000  // of a millisecond

_Static_assert(sizeof(oc_message) <= PIPE_BUF, "a pipe delivers at most PIPE_BUF bytes whole");

// ---- In the worker --------------------------------------------------------------------------

static bool read_index(int fd, uint32_t *out_index) {
  unsigned char *at = (unsigned char *)out_index;
  size_t left = sizeof *out_index;
  while (left > 0) {
    const ssize_t got = read(fd, at, left);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    left -= (size_t)got;
  }
  return true;
}

static void send_message(int fd, oc_message *message, int32_t kind, int32_t status) {
  message->magic = OC_MESSAGE_MAGIC;
  message->kind = kind;
  message->status = status;
  ssize_t sent;
  do {
    sent = write(fd, message, sizeof *message);
  } while (sent < 0 && errno == EINTR);
  if (sent != (ssize_t)sizeof *message) _exit(1);  // the harness is gone
}

static bool has_running_child(void) {
  siginfo_t exited = {0};
  return waitid(P_ALL, 0, &exited, WEXITED | WNOHANG | WNOWAIT) == 0 && exited.si_pid == 0;
}

// A copy of this process that a provider's fork left behind ends it at the copy's next step
// (oc_beacon_phase). Waiting for that before the answer blames the case that forked. A child
// that lives on is no such copy: it is waited for once.
static void await_copies(bool *patient) {
  const struct timespec pause = {0, 1000000};
  for (int i = 0; *patient && has_running_child(); ++i) {
    nanosleep(&pause, NULL);
    *patient = i < COPY_PAUSES;
  }
}

static void serve(const oc_worker_job *job, oc_beacon *beacon, int requests, int answers) {
  static oc_message message;
  void *state = NULL;
  ops_error error = OPS_ERROR_INIT;
  beacon->owner = getpid();
  oc_beacon_phase(beacon, OC_PHASE_OPEN);
  int32_t status = oc_guard_watch(beacon, &error);
  memset(&message, 0, sizeof message);
  if (status == OPS_OK) {
    status = job->open(job->context, beacon, &state, &message.body.hello, &error);
  }
  if (status != OPS_OK) message.body.error = error;
  send_message(answers, &message, status == OPS_OK ? OC_MESSAGE_HELLO : OC_MESSAGE_FAILED,
               status);
  if (status != OPS_OK) return;
  uint32_t index;
  bool patient = true;
  while (read_index(requests, &index)) {
    memset(&message, 0, sizeof message);
    job->run(state, index, &message.body.result);
    await_copies(&patient);
    send_message(answers, &message, OC_MESSAGE_RESULT, OPS_OK);
  }
  oc_beacon_phase(beacon, OC_PHASE_CLOSE);
  memset(&message, 0, sizeof message);
  status = job->close(state, &error);
  message.body.error = error;
  send_message(answers, &message, OC_MESSAGE_CLOSED, status);
}

// What a provider prints goes to the log; it gets no input; it dies with the harness.
static void settle(int log) {
  const struct rlimit no_core = {0, 0};
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CORE, &no_core);
  // A fatal signal ends the process and is seen from outside, whatever the harness inherited.
  static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPIPE, SIGXFSZ};
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; ++i) signal(fatal[i], SIG_DFL);
  signal(SIGINT, SIG_IGN);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  setvbuf(stdout, NULL, _IOLBF, 0);
}

// ---- In the harness -------------------------------------------------------------------------

static int32_t no_process(oc_worker *worker, const char *what, ops_error *error) {
  const int reason = errno;
  oc_worker_stop(worker, NULL, 0);
  return ops_error_set(error, OPS_ERROR_INTERNAL, "a worker cannot be started: %s: %s", what,
                       strerror(reason));
}

int32_t oc_worker_start(oc_worker *worker, const oc_worker_job *job, const int *inherited,
                        size_t inherited_count, ops_error *error) {
  int requests[2] = {-1, -1}, answers[2] = {-1, -1};
  *worker = (oc_worker){.to_worker = -1, .from_worker = -1, .log = -1};
  OPS_RETURN_IF_ERROR(oc_beacon_create(&worker->beacon, error));
  worker->log = memfd_create("opsconform-worker", MFD_CLOEXEC);
  if (worker->log < 0) return no_process(worker, "memfd_create", error);
  fcntl(worker->log, F_SETFL, O_APPEND);
  if (pipe2(requests, O_CLOEXEC) != 0) return no_process(worker, "pipe", error);
  worker->to_worker = requests[1];
  if (pipe2(answers, O_CLOEXEC) != 0) {
    close(requests[0]);
    return no_process(worker, "pipe", error);
  }
  worker->from_worker = answers[0];
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    for (size_t i = 0; i < inherited_count; ++i) close(inherited[i]);
    close(requests[1]);
    close(answers[0]);
    settle(worker->log);
    serve(job, worker->beacon, requests[0], answers[1]);
    fflush(NULL);
    _exit(0);
  }
  close(requests[0]);
  close(answers[1]);
  if (pid < 0) return no_process(worker, "fork", error);
  setpgid(pid, pid);
  worker->pid = pid;
  fcntl(worker->from_worker, F_SETFL, O_NONBLOCK);
  return OPS_OK;
}

bool oc_worker_send(oc_worker *worker, uint32_t index) {
  ssize_t sent;
  do {
    sent = write(worker->to_worker, &index, sizeof index);
  } while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)sizeof index;
}

void oc_worker_dismiss(oc_worker *worker) {
  if (worker->to_worker >= 0) close(worker->to_worker);
  worker->to_worker = -1;
}

static bool has_ended(const oc_worker *worker) {
  siginfo_t about = {0};
  const int options = WEXITED | WNOHANG | WNOWAIT;
  return waitid(P_PID, (id_t)worker->pid, &about, options) == 0 && about.si_pid == worker->pid;
}

oc_receipt oc_worker_receive(oc_worker *worker, oc_message *out_message) {
  bool dead = false;
  while (worker->received < sizeof worker->message) {
    char *at = (char *)&worker->message + worker->received;
    const ssize_t got =
        read(worker->from_worker, at, sizeof worker->message - worker->received);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (dead) return OC_RECEIPT_END;
      if (!has_ended(worker)) return OC_RECEIPT_NOTHING;
      dead = true;  // what it sent before may have arrived meanwhile: look once more
      continue;
    }
    if (got <= 0) return OC_RECEIPT_END;
    worker->received += (size_t)got;
  }
  worker->received = 0;
  const oc_message *message = &worker->message;
  if (message->magic != OC_MESSAGE_MAGIC || message->kind < OC_MESSAGE_HELLO ||
      message->kind > OC_MESSAGE_CLOSED) {
    return OC_RECEIPT_GARBAGE;
  }
  *out_message = *message;
  return OC_RECEIPT_MESSAGE;
}

static void describe_end(int how, char *text, size_t size) {
  if (WIFSIGNALED(how)) {
    snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(how),
             strsignal(WTERMSIG(how)));
  } else {
    snprintf(text, size, "exited with status %d", WEXITSTATUS(how));
  }
}

void oc_worker_stop(oc_worker *worker, char *text, size_t size) {
  if (text && size > 0) text[0] = 0;
  oc_worker_dismiss(worker);
  if (worker->pid > 0) {
    int how = 0;
    kill(-worker->pid, SIGKILL);
    kill(worker->pid, SIGKILL);
    while (waitpid(worker->pid, &how, 0) < 0 && errno == EINTR) continue;
    if (text) describe_end(how, text, size);
  }
  if (worker->from_worker >= 0) close(worker->from_worker);
  if (worker->log >= 0) close(worker->log);
  oc_beacon_destroy(worker->beacon);
  *worker = (oc_worker){.to_worker = -1, .from_worker = -1, .log = -1};
}

int64_t oc_worker_log_size(const oc_worker *worker) {
  return (int64_t)lseek(worker->log, 0, SEEK_END);
}

void oc_worker_log_trim(oc_worker *worker) {
  const bool long_log = oc_worker_log_size(worker) > LOG_LIMIT;
  if (long_log && ftruncate(worker->log, 0) != 0) return;  // then it stays as it is
}

void oc_worker_log_head(const oc_worker *worker, int64_t start, char *text, size_t size) {
  ssize_t got = pread(worker->log, text, size - 1, start);
  if (got < 0) got = 0;
  text[got] = 0;
  for (ssize_t i = 0; i < got; ++i) {
    if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] > 0x7e) text[i] = ' ';
  }
  while (got > 0 && text[got - 1] == ' ') text[--got] = 0;
}

void oc_worker_log_tail(const oc_worker *worker, int64_t start, char *text, size_t size) {
  if (start > oc_worker_log_size(worker)) start = 0;  // it was trimmed since
  const int64_t end = oc_worker_log_size(worker), room = (int64_t)size - 1;
  oc_worker_log_head(worker, end - start > room ? end - room : start, text, size);
}

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
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ops_support/error.h"
#include "runner/guard.h"
#include "runner/process.h"
#include "runner/stock.h"

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

// The pipe to the harness as it was: a provider may close it, or put another file in its place.
typedef struct line {
  int fd;
  dev_t device;
  ino_t inode;
} line;

static line open_line(int fd) {
  struct stat about = {0};
  fstat(fd, &about);
  return (line){.fd = fd, .device = about.st_dev, .inode = about.st_ino};
}

static bool is_whole(const line *line) {
  struct stat about;
  return fstat(line->fd, &about) == 0 && about.st_dev == line->device &&
         about.st_ino == line->inode;
}

static void send_message(const line *line, oc_beacon *beacon, oc_message *message, int32_t kind,
                         int32_t status) {
  message->magic = OC_MESSAGE_MAGIC;
  message->kind = kind;
  message->status = status;
  if (!is_whole(line)) {
    atomic_store(&beacon->fault, OC_FAULT_FILES);
    _exit(1);
  }
  ssize_t sent;
  do {
    sent = write(line->fd, message, sizeof *message);
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

// Says so in the result of the case that changed the process, unless that has worse to tell.
static void judge_process(oc_process *known, oc_result *result) {
  const char *changed = oc_process_settle(known);
  const bool fine = result->status == OC_STATUS_PASS || result->status == OC_STATUS_UNSUPPORTED;
  if (!changed || !fine) return;
  oc_result_end(result, OC_STATUS_FAIL, "environment",
                "a call of the provider changed the process and did not put it back: %s",
                changed);
}

// A child that goes on is told of once.
static void judge_children(bool patient, oc_result *result) {
  if (patient || result->status != OC_STATUS_PASS) return;
  oc_result_end(result, OC_STATUS_FAIL, "environment",
                "a call of the provider left a child process that goes on running; expected "
                "none");
}

// A device may say that a driver below keeps threads for the life of the process: those that
// are left are no leak if opening and closing again leaves no more.
static void excuse_threads(const oc_worker_job *job, oc_beacon *beacon, oc_stocks *stocks) {
  static oc_hello hello;
  char text[160];
  uint32_t index;
  void *state = NULL;
  oc_stocks again;
  if (!job->name || !oc_stocks_left(stocks, text, sizeof text, &index)) return;
  oc_stocks_begin(&again);
  if (job->open(job->context, beacon, &state, &hello, NULL) != OPS_OK ||
      job->close(state, NULL) != OPS_OK)
    return;
  if (!oc_stocks_left(&again, text, sizeof text, &index)) oc_stocks_keep_threads(stocks);
}

// Says in `error` what is left when all is closed; 1: something is.
static int32_t judge_stocks(const oc_worker_job *job, oc_stocks *stocks, ops_error *error) {
  char text[160];
  uint32_t index;
  if (!job->name || !oc_stocks_left(stocks, text, sizeof text, &index)) return 0;
  const bool known = index != OC_STOCK_NO_CASE;
  ops_error_set(error, OPS_ERROR_INTERNAL, "%s%s%s", text,
                known ? "; most of that came with the case " : "",
                known ? job->name(job->context, index) : "");
  return 1;
}

static void serve(const oc_worker_job *job, oc_beacon *beacon, int requests, int answers) {
  static oc_message message;
  void *state = NULL;
  ops_error error = OPS_ERROR_INIT;
  const line line = open_line(answers);
  oc_process known;
  oc_stocks stocks;
  beacon->owner = getpid();
  oc_beacon_phase(beacon, OC_PHASE_OPEN);
  int32_t status = oc_guard_watch(beacon, &error);
  oc_process_take(&known);
  oc_stocks_begin(&stocks);
  memset(&message, 0, sizeof message);
  if (status == OPS_OK) {
    status = job->open(job->context, beacon, &state, &message.body.hello, &error);
  }
  const bool kept = message.body.hello.candidate.driver_threads;
  if (status != OPS_OK) message.body.error = error;
  send_message(&line, beacon, &message, status == OPS_OK ? OC_MESSAGE_HELLO : OC_MESSAGE_FAILED,
               status);
  if (status != OPS_OK) return;
  const char *altered = oc_process_settle(&known);
  uint32_t index;
  bool patient = true;
  await_copies(&patient);
  if (!patient && !altered) altered = "a child process goes on running";
  oc_stocks_note(&stocks, OC_STOCK_NO_CASE);
  while (read_index(requests, &index)) {
    const bool was_patient = patient;
    memset(&message, 0, sizeof message);
    job->run(state, index, &message.body.result);
    await_copies(&patient);
    judge_process(&known, &message.body.result);
    judge_children(patient || !was_patient, &message.body.result);
    oc_stocks_note(&stocks, index);
    send_message(&line, beacon, &message, OC_MESSAGE_RESULT, OPS_OK);
  }
  oc_beacon_phase(beacon, OC_PHASE_CLOSE);
  memset(&message, 0, sizeof message);
  status = job->close(state, &error);
  if (status == OPS_OK && altered) {
    status = ops_error_set(&error, OPS_ERROR_INTERNAL,
                           "opening the provider changed the process and did not put it back: "
                           "%s",
                           altered);
  }
  if (status == OPS_OK && kept) excuse_threads(job, beacon, &stocks);
  if (status == OPS_OK) message.leaked = judge_stocks(job, &stocks, &error);
  message.body.error = error;
  send_message(&line, beacon, &message, OC_MESSAGE_CLOSED, status);
  oc_beacon_phase(beacon, OC_PHASE_EXIT);
}

// When memory runs out, workers go first.
static void volunteer(void) {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t unused = write(fd, "1000", 4);
  (void)unused;
  close(fd);
}

// What a provider prints goes to the log; it gets no input; it dies with its keeper.
static void settle(int log) {
  const struct rlimit no_core = {0, 0};
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  setrlimit(RLIMIT_CORE, &no_core);
  volunteer();
  // A fatal signal ends the process and is seen from outside, whatever the harness inherited.
  static const int fatal[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL, SIGABRT,
                              SIGPIPE, SIGXFSZ, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; ++i) signal(fatal[i], SIG_DFL);
  signal(SIGINT, SIG_IGN);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  setvbuf(stdout, NULL, _IOLBF, 0);
}

// Dies with `parent`.
static void follow(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
}

// ---- The keeper -----------------------------------------------------------------------------

// Waits for the worker and ends as it ended.
static _Noreturn void keep(pid_t worker) {
  int how = 0;
  while (waitpid(worker, &how, 0) < 0 && errno == EINTR) continue;
  if (!WIFSIGNALED(how)) _exit(WEXITSTATUS(how));
  signal(WTERMSIG(how), SIG_DFL);
  kill(getpid(), WTERMSIG(how));
  _exit(1);
}

// What a worker gets from the harness.
typedef struct gift {
  const oc_worker_job *job;
  oc_beacon *beacon;
  int requests;
  int answers;
  int log;
  pid_t harness;
} gift;

static _Noreturn void work(const gift *gift, pid_t keeper) {
  follow(keeper);
  settle(gift->log);
  serve(gift->job, gift->beacon, gift->requests, gift->answers);
  exit(0);  // what the provider left for the end of the process happens now
}

// Forks the worker and tells the harness, who waits for that, its number.
static _Noreturn void become_keeper(const gift *gift, int birth) {
  const struct rlimit no_core = {0, 0};
  const pid_t self = getpid();
  setpgid(0, 0);
  follow(gift->harness);
  setrlimit(RLIMIT_CORE, &no_core);
  signal(SIGTERM, SIG_IGN);  // sent to all processes of a job: the harness ends in good order
  signal(SIGHUP, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  const pid_t worker = fork();
  if (worker == 0) {
    close(birth);
    work(gift, self);
  }
  if (worker > 0 && write(birth, &worker, sizeof worker) != sizeof worker) _exit(1);
  close_range(0, ~0u, 0);
  if (worker < 0) _exit(1);
  keep(worker);
}

// ---- In the harness -------------------------------------------------------------------------

static int32_t no_process(oc_worker *worker, const char *what, ops_error *error) {
  const int reason = errno;
  oc_worker_stop(worker, NULL);
  return ops_error_set(error, OPS_ERROR_INTERNAL, "a worker cannot be started: %s: %s", what,
                       strerror(reason));
}

// 0: there is none.
static pid_t read_pid(int fd) {
  pid_t pid = 0;
  ssize_t got;
  do {
    got = read(fd, &pid, sizeof pid);
  } while (got < 0 && errno == EINTR);
  return got == (ssize_t)sizeof pid ? pid : 0;
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
  int birth[2];
  if (pipe2(birth, O_CLOEXEC) != 0) {
    close(requests[0]);
    close(answers[1]);
    return no_process(worker, "pipe", error);
  }
  const gift gift = {.job = job,
                     .beacon = worker->beacon,
                     .requests = requests[0],
                     .answers = answers[1],
                     .log = worker->log,
                     .harness = getpid()};
  fflush(NULL);
  const pid_t keeper = fork();
  if (keeper == 0) {
    for (size_t i = 0; i < inherited_count; ++i) close(inherited[i]);
    close(requests[1]);
    close(answers[0]);
    close(birth[0]);
    become_keeper(&gift, birth[1]);
  }
  close(requests[0]);
  close(answers[1]);
  close(birth[1]);
  if (keeper < 0) {
    close(birth[0]);
    return no_process(worker, "fork", error);
  }
  setpgid(keeper, keeper);
  worker->keeper = keeper;
  worker->pid = read_pid(birth[0]);
  close(birth[0]);
  if (worker->pid == 0) return no_process(worker, "fork", error);
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
  return waitid(P_PID, (id_t)worker->keeper, &about, options) == 0 &&
         about.si_pid == worker->keeper;
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

static void describe_end(int how, const struct rusage *usage, oc_ending *ending) {
  ending->clean = WIFEXITED(how) && WEXITSTATUS(how) == 0;
  ending->signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
  ending->peak = (uint64_t)usage->ru_maxrss * 1024;
  if (WIFSIGNALED(how)) {
    snprintf(ending->text, sizeof ending->text, "was killed by signal %d (%s)", WTERMSIG(how),
             strsignal(WTERMSIG(how)));
  } else {
    snprintf(ending->text, sizeof ending->text, "exited with status %d", WEXITSTATUS(how));
  }
}

void oc_worker_await(const oc_worker *worker, double patience) {
  const struct timespec pause = {0, 1000000};
  for (int left = (int)(patience * 1000); left > 0 && !has_ended(worker); --left) {
    nanosleep(&pause, NULL);
  }
}

void oc_worker_stop(oc_worker *worker, oc_ending *out_ending) {
  oc_ending ending = {.clean = 0};
  oc_worker_dismiss(worker);
  if (worker->keeper > 0) {
    struct rusage usage = {0};
    int how = 0;
    kill(-worker->keeper, SIGKILL);
    kill(worker->keeper, SIGKILL);
    while (wait4(worker->keeper, &how, 0, &usage) < 0 && errno == EINTR) continue;
    describe_end(how, &usage, &ending);
  }
  if (worker->from_worker >= 0) close(worker->from_worker);
  if (worker->log >= 0) close(worker->log);
  oc_beacon_destroy(worker->beacon);
  *worker = (oc_worker){.to_worker = -1, .from_worker = -1, .log = -1};
  if (out_ending) *out_ending = ending;
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

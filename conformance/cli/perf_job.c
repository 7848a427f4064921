// SPDX-License-Identifier: Apache-2.0
//
// Opening and running of --mode perf; runs in worker processes only.
#include "cli/perf_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/job.h"
#include "ops_support/error.h"

// A worker's state: the job, and where it says what it is doing.
typedef struct perf_worker {
  const oc_perf_job *job;
  oc_beacon *beacon;
} perf_worker;

// ---- Who is who -----------------------------------------------------------------------------

// What a process that opens a provider writes about it.
typedef struct look {
  int32_t status;
  ops_error error;
  oc_identity identity;
  double peak_flops;
  double peak_bytes;
  int32_t device_kind;
} look;

static void look_here(const oc_target_options *options, look *found) {
  oc_target target = {0};
  found->status = oc_target_open(&target, options, &found->error);
  if (found->status != OPS_OK) return;
  oc_job_identify(&target, &found->identity);
  found->peak_flops = target.info.peak_flops_float32;
  found->peak_bytes = target.info.peak_bytes_per_second;
  found->device_kind = target.info.kind;
  oc_target_close(&target, NULL);
}

static bool read_look(int fd, look *found) {
  size_t size = 0;
  while (size < sizeof *found) {
    const ssize_t got = read(fd, (char *)found + size, sizeof *found - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    size += (size_t)got;
  }
  return true;
}

// Opens a provider in a process of its own. `who` begins the message of an error.
static int32_t look_at(const oc_target_options *options, const char *who, look *found,
                       ops_error *error) {
  int ends[2], how = 0;
  memset(found, 0, sizeof *found);
  found->error = (ops_error)OPS_ERROR_INIT;
  if (pipe(ends) != 0) {
    return ops_error_set(error, OPS_ERROR_INTERNAL, "no pipe: %s", strerror(errno));
  }
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    look_here(options, found);
    _exit(write(ends[1], found, sizeof *found) == sizeof *found ? 0 : 1);
  }
  close(ends[1]);
  const bool read = pid > 0 && read_look(ends[0], found);
  close(ends[0]);
  while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR) continue;
  if (!read) {
    return ops_error_set(error, OPS_ERROR_INTERNAL, "%s: the process that opened it %s %d", who,
                         WIFSIGNALED(how) ? "was killed by signal" : "exited with status",
                         WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
  }
  if (found->status == OPS_OK) return OPS_OK;
  *error = found->error;
  ops_error_prefix(error, "%s", who);
  return found->status;
}

static int32_t open_job(void *context, oc_beacon *beacon, void **out_state, oc_hello *out_hello,
                        ops_error *error) {
  const oc_perf_job *job = context;
  look candidate, other;
  OPS_RETURN_IF_ERROR(look_at(&job->bench.candidate, "the provider", &candidate, error));
  out_hello->candidate = candidate.identity;
  OPS_RETURN_IF_ERROR(look_at(&job->bench.oracle, "the oracle", &other, error));
  out_hello->oracle = other.identity;
  OPS_RETURN_IF_ERROR(look_at(&job->bench.yardstick, "the yardstick", &other, error));
  *job->facts = (oc_perf_facts){.yardstick = other.identity,
                                .peak_flops = candidate.peak_flops,
                                .peak_bytes = candidate.peak_bytes,
                                .device_kind = candidate.device_kind};
  perf_worker *worker = calloc(1, sizeof *worker);
  if (!worker) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a worker");
  *worker = (perf_worker){.job = job, .beacon = beacon};
  *out_state = worker;
  return OPS_OK;
}

// ---- Points ---------------------------------------------------------------------------------

static void run_job(void *state, uint32_t index, oc_result *out_result) {
  const perf_worker *worker = state;
  oc_perf_measure(&worker->job->bench, worker->beacon, index, out_result);
}

static int32_t close_job(void *state, ops_error *error) {
  (void)error;
  free(state);
  return OPS_OK;
}

oc_worker_job oc_perf_job_worker(const oc_perf_job *job) {
  return (oc_worker_job){
      .context = (void *)(uintptr_t)job, .open = open_job, .run = run_job, .close = close_job};
}

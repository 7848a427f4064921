// SPDX-License-Identifier: Apache-2.0
//
// A worker: a forked process that opens the providers and runs one case after the other, so
// that a provider that crashes, hangs or leaves costs the case it was given and nothing else.
// Between it and the harness stands a keeper, a process that waits for the worker and ends as
// it ended: what a provider does to its parent does not reach the harness.
//
// The harness writes case numbers to a pipe; the worker answers each with a message of fixed
// size on another. The end of the first pipe means: close the providers and go.
#ifndef OC_RUNNER_WORKER_H_
#define OC_RUNNER_WORKER_H_

#include <ops/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runner/beacon.h"
#include "runner/result.h"

// Who is on trial, and by whom: as the worker found them when it opened them.
typedef struct oc_identity {
  char name[64];
  char vendor[64];
  char version[64];
  char path[512];
  char device[96];
  char architecture[96];
  char driver[64];
  char fingerprint[128];
  uint64_t kernels;
  uint32_t abi;
  int32_t driver_threads;  // 1: a driver below keeps threads, OPS_DEVICE_DRIVER_THREADS
  int32_t device_memory;   // 1: arguments in memory whose reads the harness cannot check
} oc_identity;

typedef struct oc_hello {
  oc_identity candidate;
  oc_identity oracle;
  char stray[640];    // kernels that can never be asked for; empty: none
  char foreign[256];  // kernels of domains that ONNX does not define
} oc_hello;

// What a worker does; called in the worker only.
typedef struct oc_worker_job {
  void *context;
  int32_t (*open)(void *context, oc_beacon *beacon, void **out_state, oc_hello *out_hello,
                  ops_error *error);
  void (*run)(void *state, uint32_t index, oc_result *out_result);
  int32_t (*close)(void *state, ops_error *error);
  // The id of a case, and that after `close` the process shall hold no more than before `open`.
  // NULL: what is left is not looked at.
  const char *(*name)(void *context, uint32_t index);
} oc_worker_job;

#define OC_MESSAGE_HELLO 1   // opened
#define OC_MESSAGE_FAILED 2  // could not open: status and error
#define OC_MESSAGE_RESULT 3
#define OC_MESSAGE_CLOSED 4  // status and error of close

// Small enough (PIPE_BUF) that a pipe delivers it whole.
typedef struct oc_message {
  uint32_t magic;
  int32_t kind;
  int32_t status;
  int32_t leaked;  // OC_MESSAGE_CLOSED: 1: closed well, but the error says what is left
  union {
    oc_hello hello;
    oc_result result;
    ops_error error;
  } body;
} oc_message;

#define OC_MESSAGE_MAGIC 0x4f434d31u

typedef struct oc_worker {
  pid_t pid;        // of the worker, 0: none
  pid_t keeper;     // its parent, and the leader of its process group
  int to_worker;    // -1: closed
  int from_worker;  // non-blocking
  int log;          // a file that holds what the worker printed
  oc_beacon *beacon;
  size_t received;  // bytes of `message` that have arrived
  oc_message message;
} oc_worker;

// Forks a worker. `inherited` are descriptors of other workers, which the child closes.
int32_t oc_worker_start(oc_worker *worker, const oc_worker_job *job, const int *inherited,
                        size_t inherited_count, ops_error *error);

// Sends a case number. False if the worker is gone.
bool oc_worker_send(oc_worker *worker, uint32_t index);
// Tells the worker to close and go.
void oc_worker_dismiss(oc_worker *worker);

typedef enum oc_receipt {
  OC_RECEIPT_NOTHING,
  OC_RECEIPT_MESSAGE,
  OC_RECEIPT_GARBAGE,
  OC_RECEIPT_END
} oc_receipt;
// Reads what has arrived, without blocking.
oc_receipt oc_worker_receive(oc_worker *worker, oc_message *out_message);

// How a process ended.
typedef struct oc_ending {
  int32_t clean;   // 1: exit status 0
  int32_t signal;  // that killed it, or 0
  uint64_t peak;   // bytes of memory that it had at most
  char text[100];  // "was killed by signal 11 (Segmentation fault)", "exited with status 3"
} oc_ending;

// Waits up to `patience` seconds for the worker to end by itself.
void oc_worker_await(const oc_worker *worker, double patience);
// Kills the worker's process group and frees everything. A process that had ended already keeps
// its own reason. `out_ending` may be NULL.
void oc_worker_stop(oc_worker *worker, oc_ending *out_ending);

// The length of the log, and its text from `start` on, on one line, cut to `size`: the last
// bytes, or the first ones.
int64_t oc_worker_log_size(const oc_worker *worker);
void oc_worker_log_head(const oc_worker *worker, int64_t start, char *text, size_t size);
// Forgets a log that has grown beyond all use; for the time between two cases.
void oc_worker_log_trim(oc_worker *worker);
void oc_worker_log_tail(const oc_worker *worker, int64_t start, char *text, size_t size);

#endif  // OC_RUNNER_WORKER_H_

// SPDX-License-Identifier: Apache-2.0
//
// One loop over poll(): workers are slots in the state opening, idle, busy or closing; whatever
// happens to a slot is an arrival, an end or a deadline.
#include "runner/pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ops_support/error.h"
#include "runner/clock.h"
#include "runner/leftovers.h"

#define LONGEST_WAIT 0.2  // seconds; then logs and silent deaths are looked at
#define LAST_BREATH 1.0   // seconds for a worker that is silent to end by itself
#define ALL_STOP 0.05     // seconds in which a signal to all processes reaches the harness

typedef enum slot_state {
  SLOT_EMPTY,
  SLOT_OPENING,
  SLOT_IDLE,
  SLOT_BUSY,
  SLOT_CLOSING,
  SLOT_LEAVING  // the provider is closed; the process ends
} slot_state;

typedef struct slot {
  oc_worker worker;
  slot_state state;
  bool used;       // has run a case
  bool retry;      // runs a case for the second time
  uint32_t index;  // SLOT_BUSY: the case
  double started;
  double deadline;
  int64_t log_start;
} slot;

typedef struct pool {
  const oc_pool_options *options;
  const oc_pool_events *events;
  const uint32_t *indices;
  size_t count;
  size_t next;        // of `indices`
  oc_result *failed;  // first results of cases to repeat
  size_t failed_count;
  size_t failed_next;
  size_t timeout_retries;
  slot *slots;
  uint32_t slot_count;
  bool greeted;          // a worker has said hello
  bool closed_badly;     // reported once
  bool stopped;          // the providers do not open any more
  bool refused;          // and never did
  const char *obstacle;  // what else keeps the rest from being run
  bool cancelled;        // nobody wants to know any more
  oc_leftovers leftovers;
  ops_error *error;
  int32_t status;
} pool;

// ---- Results --------------------------------------------------------------------------------

static void report(pool *pool, const oc_result *result) {
  pool->events->result(pool->events->context, result);
}

static bool worth_repeating(const oc_result *result) {
  return result->status == OC_STATUS_FAIL || result->status == OC_STATUS_CRASH ||
         result->status == OC_STATUS_TIMEOUT ||
         (result->status == OC_STATUS_UNTRUSTED && result->died);
}

static bool may_repeat(pool *pool, const oc_result *result) {
  if (!worth_repeating(result) || pool->failed_count >= OC_POOL_MAX_RETRIES) return false;
  if (result->status != OC_STATUS_TIMEOUT) return true;
  return ++pool->timeout_retries <= OC_POOL_MAX_TIMEOUT_RETRIES;
}

static void settle_first(pool *pool, const oc_result *result) {
  if (may_repeat(pool, result)) {
    pool->failed[pool->failed_count++] = *result;
  } else {
    report(pool, result);
  }
}

// The first result of a case stands; if the second one passes it is FLAKY.
static void settle_second(pool *pool, const oc_result *first, const oc_result *second) {
  oc_result result = *first;
  result.attempts = 2;
  if (second->status == OC_STATUS_PASS || second->status == OC_STATUS_UNSUPPORTED) {
    result.status = OC_STATUS_FLAKY;
    snprintf(result.message, sizeof result.message, "%s first, not when repeated: %.600s",
             oc_status_name(first->status), first->message);
  }
  report(pool, &result);
}

static const oc_result *find_failed(const pool *pool, uint32_t index) {
  for (size_t i = 0; i < pool->failed_count; ++i) {
    if (pool->failed[i].case_index == index) return &pool->failed[i];
  }
  return NULL;
}

static void settle(pool *pool, const slot *slot, const oc_result *result) {
  const oc_result *first = slot->retry ? find_failed(pool, result->case_index) : NULL;
  if (first) {
    settle_second(pool, first, result);
  } else {
    settle_first(pool, result);
  }
}

// ---- Deaths ---------------------------------------------------------------------------------

// A constant is in nobody's hands but the kernel's: whether it is written, or read when it was
// released, one check looks after it.
static const char *check_of(int32_t fault, int32_t role) {
  static const char *const checks[] = {
      [OC_FAULT_NONE] = "process",  [OC_FAULT_BEFORE] = "guard",
      [OC_FAULT_AFTER] = "guard",   [OC_FAULT_READ_ONLY] = "inputs",
      [OC_FAULT_REVOKED] = "async", [OC_FAULT_FORKED] = "process",
      [OC_FAULT_FILES] = "process"};
  const bool rights = fault == OC_FAULT_READ_ONLY || fault == OC_FAULT_REVOKED;
  if (rights && role == OC_ROLE_CONSTANT) return "constants";
  return fault >= 0 && fault < OC_FAULT_COUNT ? checks[fault] : "process";
}

static bool is_cancelled(pool *pool) {
  const oc_pool_events *events = pool->events;
  if (!pool->cancelled && events->go_on) pool->cancelled = !events->go_on(events->context);
  return pool->cancelled;
}

// Ends the worker of a slot and what it leaves behind; returns how many processes of that were
// running.
static int32_t bury(pool *pool, slot *slot, double patience, oc_ending *ending) {
  pid_t spared[OC_POOL_MAX_JOBS + 2];
  size_t count = 0;
  for (uint32_t i = 0; i < pool->slot_count; ++i) {
    if (pool->slots[i].state != SLOT_EMPTY) spared[count++] = pool->slots[i].worker.keeper;
  }
  spared[count] = slot->worker.pid;
  oc_worker_await(&slot->worker, patience);
  const int32_t left = oc_leftovers_count(&pool->leftovers, spared, count + 1);
  oc_worker_stop(&slot->worker, ending);
  slot->state = SLOT_EMPTY;
  oc_leftovers_end(&pool->leftovers, spared, count);
  return left;
}

static void let_look(const pool *pool, const slot *slot) {
  if (!pool->events->hang || slot->worker.pid <= 0) return;
  const double start = oc_clock_seconds();
  const uint32_t index = slot->state == SLOT_BUSY ? slot->index : OC_NO_CASE;
  pool->events->hang(pool->events->context, slot->worker.pid, index);
  for (uint32_t i = 0; i < pool->slot_count; ++i) {
    pool->slots[i].deadline += oc_clock_seconds() - start;
  }
}

// Whether all processes are being ended by a signal, of which the harness may hear a moment
// later than the worker that died.
static bool is_all_stop(pool *pool, const oc_ending *ending) {
  const struct timespec pause = {0, (long)(ALL_STOP * 1e9)};
  if (ending->signal != SIGTERM && ending->signal != SIGHUP) return false;
  nanosleep(&pause, NULL);
  return is_cancelled(pool);
}

// Stops the worker and says why it ended. False: the whole run is being ended.
static bool explain_death(pool *pool, slot *slot, oc_result *result, const char *reason) {
  char fault[200] = "", tail[260] = "";
  oc_ending end;
  const bool hung = strcmp(reason, "time") == 0;
  const bool garbage = strcmp(reason, "garbage") == 0;
  if (hung) let_look(pool, slot);
  if (!hung && !garbage) oc_worker_await(&slot->worker, LAST_BREATH);
  const int32_t phase = atomic_load(&slot->worker.beacon->phase);
  const int32_t kind = atomic_load(&slot->worker.beacon->fault);
  const int32_t role = slot->worker.beacon->fault_role;
  oc_beacon_describe(slot->worker.beacon, fault, sizeof fault);
  // Stopping closes the log, so it is read first; a dead worker prints no more.
  oc_worker_log_tail(&slot->worker, slot->log_start, tail, sizeof tail);
  bury(pool, slot, 0, &end);
  result->phase = phase;
  result->died = 1;
  const bool oracle = phase == OC_PHASE_ORACLE;
  const oc_status status = oracle ? OC_STATUS_UNTRUSTED
                           : hung ? OC_STATUS_TIMEOUT
                                  : OC_STATUS_CRASH;
  const char *check = oracle ? "oracle" : hung ? "time" : check_of(kind, role);
  oc_result_end(result, status, check, "in %s%s: %s%s%s%s%s", oc_phase_name(phase),
                oracle ? " (not the candidate's code)" : "",
                hung      ? "not done within the time allowed; the process was killed"
                : garbage ? "wrote to descriptors that it does not own; the process "
                          : "the process ",
                hung ? "" : end.text, fault[0] ? "; " : "", fault,
                tail[0] ? "; it printed: " : "");
  const size_t used = strlen(result->message);
  snprintf(result->message + used, sizeof result->message - used, "%s", tail);
  return hung || !is_all_stop(pool, &end);
}

static oc_result blank_result(uint32_t index) {
  return (oc_result){.case_index = index, .attempts = 1, .output = -1, .element = -1};
}

static void lose_case(pool *pool, slot *slot, const char *reason) {
  oc_result result = blank_result(slot->index);
  result.seconds = oc_clock_seconds() - slot->started;
  if (explain_death(pool, slot, &result, reason)) settle(pool, slot, &result);
}

// Closing badly is reported once.
static void report_closing(pool *pool, const oc_result *result) {
  if (!pool->closed_badly) report(pool, result);
  pool->closed_badly = true;
}

// A finding about opening, closing or the end of the process.
static void lose_provider(pool *pool, slot *slot, const char *reason) {
  const bool opening = slot->state == SLOT_OPENING;
  oc_result result = blank_result(OC_NO_CASE);
  if (!explain_death(pool, slot, &result, reason)) return;
  snprintf(result.check, sizeof result.check, "lifecycle");
  if (!opening) {
    report_closing(pool, &result);
    return;
  }
  pool->stopped = true;
  report(pool, &result);
}

static void lose(pool *pool, slot *slot, const char *reason) {
  if (slot->state == SLOT_BUSY) {
    lose_case(pool, slot, reason);
  } else {
    lose_provider(pool, slot, reason);
  }
}

// ---- Messages -------------------------------------------------------------------------------

static void accept_closed(pool *pool, slot *slot, const oc_message *message) {
  if (message->status != OPS_OK) {
    oc_result result = blank_result(OC_NO_CASE);
    result.phase = OC_PHASE_CLOSE;
    oc_result_end(&result, OC_STATUS_FAIL, "lifecycle", "closing ends with %s: %.600s",
                  ops_status_name(message->status), message->body.error.message);
    report_closing(pool, &result);
  } else if (message->leaked) {
    oc_result result = blank_result(OC_NO_CASE);
    result.phase = OC_PHASE_CLOSE;
    oc_result_end(&result, OC_STATUS_FAIL, "leak", "closed: %.600s",
                  message->body.error.message);
    report_closing(pool, &result);
  }
  slot->state = SLOT_LEAVING;
  slot->deadline = oc_clock_seconds() + pool->options->open_timeout;
}

// The process ends; what the provider left to be done then has been done.
static void accept_exit(pool *pool, slot *slot) {
  oc_ending end;
  oc_result result = blank_result(OC_NO_CASE);
  char tail[260];
  oc_worker_await(&slot->worker, LAST_BREATH);
  oc_worker_log_tail(&slot->worker, slot->log_start, tail, sizeof tail);
  const int32_t left = bury(pool, slot, 0, &end);
  result.phase = OC_PHASE_EXIT;
  if (!end.clean) {
    oc_result_end(&result, OC_STATUS_CRASH, "lifecycle",
                  "in exit: the provider was closed, then the process %s%s%s", end.text,
                  tail[0] ? "; it printed: " : "", tail);
  } else if (left > 0) {
    oc_result_end(&result, OC_STATUS_FAIL, "lifecycle",
                  "in exit: %d processes that the provider started outlive it; expected none",
                  left);
  } else {
    return;
  }
  if (!is_all_stop(pool, &end)) report_closing(pool, &result);
}

// Opening failed with an error. Once it has worked this is a finding like any other.
static void accept_failed(pool *pool, slot *slot, const oc_message *message) {
  ops_error error = message->body.error;
  error.message[sizeof error.message - 1] = 0;
  pool->stopped = true;
  if (!pool->greeted) {
    pool->refused = true;
    pool->events->refused(pool->events->context, &error);
  } else {
    oc_result result = blank_result(OC_NO_CASE);
    result.phase = OC_PHASE_OPEN;
    oc_result_end(&result, OC_STATUS_FAIL, "lifecycle", "opening again ends with %s: %.600s",
                  ops_status_name(message->status), error.message);
    report(pool, &result);
  }
  bury(pool, slot, 0, NULL);
}

// A sanitizer that found a data race has printed so and lets the process go on.
static void heed_sanitizer(const slot *slot, oc_result *result) {
  char text[512];
  if (oc_worker_log_size(&slot->worker) == slot->log_start) return;
  oc_worker_log_head(&slot->worker, slot->log_start, text, sizeof text);
  const char *report = strstr(text, "WARNING: ThreadSanitizer");
  if (!report) return;
  oc_result_end(result, OC_STATUS_FAIL, "process", "a sanitizer reports: %s", report);
}

// The rest cannot be run: what the driver says, and what it printed, is the evidence.
static void lose_device(pool *pool, const slot *slot, const oc_result *result) {
  oc_result finding = blank_result(OC_NO_CASE);
  char tail[260];
  oc_worker_log_tail(&slot->worker, slot->log_start, tail, sizeof tail);
  finding.phase = result->phase;
  oc_result_end(&finding, OC_STATUS_NOT_RUN, "lifecycle", "the device is lost: %.400s%s%s",
                result->message, tail[0] ? "; the driver printed: " : "", tail);
  if (!pool->obstacle) report(pool, &finding);
  pool->obstacle = "the device was lost";
  pool->stopped = true;
}

static void accept_result(pool *pool, slot *slot, const oc_message *message) {
  oc_result result = message->body.result;
  if (result.lost) lose_device(pool, slot, &result);
  slot->state = SLOT_IDLE;
  slot->used = true;
  heed_sanitizer(slot, &result);
  settle(pool, slot, &result);
}

static void accept_message(pool *pool, slot *slot, const oc_message *message) {
  const bool expected = (slot->state == SLOT_OPENING && message->kind <= OC_MESSAGE_FAILED) ||
                        (slot->state == SLOT_BUSY && message->kind == OC_MESSAGE_RESULT &&
                         message->body.result.case_index == slot->index) ||
                        (slot->state == SLOT_CLOSING && message->kind == OC_MESSAGE_CLOSED);
  if (!expected) {
    lose(pool, slot, "garbage");
  } else if (message->kind == OC_MESSAGE_HELLO) {
    slot->state = SLOT_IDLE;
    if (!pool->greeted) pool->events->hello(pool->events->context, &message->body.hello);
    pool->greeted = true;
  } else if (message->kind == OC_MESSAGE_FAILED) {
    accept_failed(pool, slot, message);
  } else if (message->kind == OC_MESSAGE_CLOSED) {
    accept_closed(pool, slot, message);
  } else {
    accept_result(pool, slot, message);
  }
}

static void take_arrivals(pool *pool, slot *slot) {
  oc_message message;
  switch (oc_worker_receive(&slot->worker, &message)) {
    case OC_RECEIPT_MESSAGE:
      accept_message(pool, slot, &message);
      break;
    case OC_RECEIPT_GARBAGE:
      lose(pool, slot, "garbage");
      break;
    case OC_RECEIPT_END:
      if (slot->state == SLOT_LEAVING) {
        accept_exit(pool, slot);
      } else {
        lose(pool, slot, "end");
      }
      break;
    case OC_RECEIPT_NOTHING:
      break;
  }
}

// ---- Giving work ----------------------------------------------------------------------------

static bool has_work(const pool *pool) {
  return pool->next < pool->count || pool->failed_next < pool->failed_count;
}

static void start_worker(pool *pool, slot *slot) {
  int inherited[3 * OC_POOL_MAX_JOBS + OC_POOL_MAX_PRIVATE];
  size_t count = 0;
  for (size_t i = 0; i < pool->options->private_file_count && i < OC_POOL_MAX_PRIVATE; ++i) {
    inherited[count++] = pool->options->private_files[i];
  }
  for (uint32_t i = 0; i < pool->slot_count; ++i) {
    const oc_worker *other = &pool->slots[i].worker;
    if (pool->slots[i].state == SLOT_EMPTY) continue;
    if (other->to_worker >= 0) inherited[count++] = other->to_worker;
    if (other->from_worker >= 0) inherited[count++] = other->from_worker;
    if (other->log >= 0) inherited[count++] = other->log;
  }
  const int32_t status =
      oc_worker_start(&slot->worker, &pool->options->job, inherited, count, pool->error);
  if (status != OPS_OK) {
    pool->status = status;
    pool->stopped = true;
    return;
  }
  slot->state = SLOT_OPENING;
  slot->used = false;
  slot->retry = false;
  slot->log_start = 0;
  slot->deadline = oc_clock_seconds() + pool->options->open_timeout;
}

static void dismiss(const pool *pool, slot *slot) {
  oc_worker_dismiss(&slot->worker);
  slot->state = SLOT_CLOSING;
  slot->log_start = oc_worker_log_size(&slot->worker);
  slot->deadline = oc_clock_seconds() + pool->options->open_timeout;
}

static void give_case(pool *pool, slot *slot, uint32_t index, bool retry) {
  slot->state = SLOT_BUSY;
  slot->index = index;
  slot->retry = retry;
  oc_worker_log_trim(&slot->worker);
  slot->log_start = oc_worker_log_size(&slot->worker);
  slot->started = oc_clock_seconds();
  slot->deadline = slot->started + pool->options->timeout;
  oc_beacon_reset(slot->worker.beacon);
  if (!oc_worker_send(&slot->worker, index)) lose(pool, slot, "end");
}

// An idle worker takes the next case; repeats go to workers that have run nothing yet.
static void feed(pool *pool, slot *slot) {
  if (pool->stopped) {
    dismiss(pool, slot);
  } else if (pool->next < pool->count) {
    give_case(pool, slot, pool->indices[pool->next++], false);
  } else if (pool->failed_next < pool->failed_count && !slot->used) {
    give_case(pool, slot, pool->failed[pool->failed_next++].case_index, true);
  } else {
    dismiss(pool, slot);
  }
}

static bool wants_worker(const pool *pool, uint32_t number) {
  if (pool->stopped) return false;
  if (!pool->greeted) return number == 0;  // the first one tells whether opening works at all
  const size_t left = pool->count - pool->next + (pool->failed_count - pool->failed_next);
  return has_work(pool) && left > 0;
}

// ---- The loop -------------------------------------------------------------------------------

static int wait_milliseconds(const pool *pool) {
  double nearest = oc_clock_seconds() + LONGEST_WAIT;
  for (uint32_t i = 0; i < pool->slot_count; ++i) {
    const slot *slot = &pool->slots[i];
    if (slot->state != SLOT_EMPTY && slot->deadline < nearest) nearest = slot->deadline;
  }
  const double left = (nearest - oc_clock_seconds()) * 1000;
  return left < 0 ? 0 : (int)left + 1;
}

static bool wait_for_workers(pool *pool) {
  struct pollfd fds[OC_POOL_MAX_JOBS];
  for (uint32_t i = 0; i < pool->slot_count; ++i) {
    const bool live = pool->slots[i].state != SLOT_EMPTY;
    fds[i] =
        (struct pollfd){.fd = live ? pool->slots[i].worker.from_worker : -1, .events = POLLIN};
  }
  if (poll(fds, pool->slot_count, wait_milliseconds(pool)) < 0 && errno != EINTR) return false;
  for (uint32_t i = 0; i < pool->slot_count; ++i) {
    slot *slot = &pool->slots[i];
    if (slot->state == SLOT_EMPTY) continue;
    // Not only where poll says so: a process that the provider left behind holds the pipe of a
    // dead worker open.
    take_arrivals(pool, slot);
    if (slot->state == SLOT_BUSY) oc_worker_log_trim(&slot->worker);
    if (slot->state != SLOT_EMPTY && slot->state != SLOT_IDLE &&
        oc_clock_seconds() > slot->deadline) {
      lose(pool, slot, "time");
    }
  }
  return true;
}

static bool step(pool *pool) {
  uint32_t live = 0;
  if (is_cancelled(pool)) return false;
  for (uint32_t i = 0; i < pool->slot_count; ++i) {
    slot *slot = &pool->slots[i];
    if (slot->state == SLOT_EMPTY && wants_worker(pool, i)) start_worker(pool, slot);
    if (slot->state == SLOT_IDLE) feed(pool, slot);
    if (slot->state != SLOT_EMPTY) ++live;
  }
  if (live == 0) return false;
  return wait_for_workers(pool);
}

static void stop_all(pool *pool) {
  for (uint32_t i = 0; i < pool->slot_count; ++i) {
    if (pool->slots[i].state != SLOT_EMPTY) bury(pool, &pool->slots[i], 0, NULL);
  }
}

static void report_rest(pool *pool) {
  for (; pool->next < pool->count; ++pool->next) {
    oc_result result = blank_result(pool->indices[pool->next]);
    oc_result_end(&result, OC_STATUS_NOT_RUN, "lifecycle", "%s",
                  pool->obstacle ? pool->obstacle : "the provider could not be opened");
    report(pool, &result);
  }
  for (; pool->failed_next < pool->failed_count; ++pool->failed_next) {
    report(pool, &pool->failed[pool->failed_next]);
  }
}

int32_t oc_pool_run(const oc_pool_options *options, const oc_pool_events *events,
                    const uint32_t *indices, size_t count, ops_error *error) {
  pool pool = {.options = options,
               .events = events,
               .indices = indices,
               .count = count,
               .error = error,
               .slot_count = options->jobs};
  if (pool.slot_count < 1) pool.slot_count = 1;
  if (pool.slot_count > OC_POOL_MAX_JOBS) pool.slot_count = OC_POOL_MAX_JOBS;
  if (count > 0 && pool.slot_count > count) pool.slot_count = (uint32_t)count;
  pool.slots = calloc(pool.slot_count, sizeof *pool.slots);
  pool.failed = calloc(OC_POOL_MAX_RETRIES, sizeof *pool.failed);
  if (!pool.slots || !pool.failed) {
    free(pool.slots);
    free(pool.failed);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for workers");
  }
  struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
  sigaction(SIGPIPE, &ignore, &before);
  oc_leftovers_begin(&pool.leftovers);
  while (step(&pool)) continue;
  stop_all(&pool);
  oc_leftovers_finish(&pool.leftovers);
  sigaction(SIGPIPE, &before, NULL);
  if (pool.status == OPS_OK && !pool.refused && !pool.cancelled) report_rest(&pool);
  free(pool.slots);
  free(pool.failed);
  return pool.status;
}

// SPDX-License-Identifier: Apache-2.0
//
// Workers that do what bad providers do. Expected: each death is charged to the case in which
// it happened and to no other, every case is answered once, and the following cases run.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ops_support/error.h"
#include "runner/pool.h"

#define CASES 12

// What a case does; the memory is shared so that repeats can be told from first runs.
typedef enum deed {
  PASS,
  FAIL,
  SEGV,
  EXIT0,
  EXIT3,
  ABORT,
  HANG,
  SCRIBBLE,
  ONCE,
  CLOSE_FDS,
  RACE
} deed;

typedef struct script {
  deed deeds[CASES];
  int runs[CASES];
  int opens;
  int open_status;  // OPS_OK or what open answers
  bool open_crash;
  int close_status;
  bool close_hang;
} script;

typedef struct record {
  oc_result results[CASES];
  int answers[CASES];
  oc_result provider;  // the finding about the provider as a whole
  int provider_answers;
  int hellos;
  int refusals;
} record;

static int32_t fake_open(void *context, oc_beacon *beacon, void **out_state,
                         oc_hello *out_hello, ops_error *error) {
  script *play = context;
  (void)beacon;
  ++play->opens;
  if (play->open_crash) raise(SIGSEGV);
  if (play->open_status) return ops_error_set(error, play->open_status, "no such provider");
  snprintf(out_hello->candidate.name, sizeof out_hello->candidate.name, "fake");
  *out_state = play;
  return OPS_OK;
}

static void scribble(void) {
  const char junk[sizeof(oc_message)] = "junk";
  for (int fd = 3; fd < 64; ++fd) {
    if (write(fd, junk, sizeof junk) < 0) continue;
  }
}

static void act(deed what, bool first) {
  switch (what) {
    case SEGV:
      raise(SIGSEGV);
      break;
    case EXIT0:
      exit(0);
    case EXIT3:
      _exit(3);
    case ABORT:
      fprintf(stderr, "assertion of the provider\n");
      abort();
    case HANG:
      for (;;) pause();
    case SCRIBBLE:
      scribble();
      break;
    case CLOSE_FDS:
      for (int fd = 3; fd < 64; ++fd) close(fd);
      for (;;) pause();
    case RACE:
      fprintf(stderr, "\n==1==\nWARNING: ThreadSanitizer: data race (pid=1)\n");
      break;
    case ONCE:
      if (first) raise(SIGBUS);
      break;
    default:
      break;
  }
}

static void fake_run(void *state, uint32_t index, oc_result *out_result) {
  script *play = state;
  const deed what = play->deeds[index];
  act(what, play->runs[index]++ == 0);
  *out_result = (oc_result){.case_index = index, .attempts = 1};
  out_result->status = what == FAIL ? OC_STATUS_FAIL : OC_STATUS_PASS;
}

static int32_t fake_close(void *state, ops_error *error) {
  const script *play = state;
  if (play->close_hang) {
    for (;;) pause();
  }
  return play->close_status ? ops_error_set(error, play->close_status, "left behind") : OPS_OK;
}

static void on_hello(void *context, const oc_hello *hello) {
  record *log = context;
  assert_string_equal(hello->candidate.name, "fake");
  ++log->hellos;
}

static void on_refused(void *context, const ops_error *error) {
  record *log = context;
  assert_int_equal(error->code, OPS_ERROR_NOT_FOUND);
  assert_string_equal(error->message, "no such provider");
  ++log->refusals;
}

static void on_result(void *context, const oc_result *result) {
  record *log = context;
  if (result->case_index == OC_NO_CASE) {
    log->provider = *result;
    ++log->provider_answers;
    return;
  }
  assert_true(result->case_index < CASES);
  log->results[result->case_index] = *result;
  ++log->answers[result->case_index];
}

static int32_t run_script(script *play, uint32_t jobs, record *log, ops_error *error) {
  uint32_t indices[CASES];
  for (uint32_t i = 0; i < CASES; ++i) indices[i] = i;
  const oc_pool_options options = {
      .jobs = jobs,
      .timeout = 1.0,
      .open_timeout = 3.0,
      .job = {.context = play, .open = fake_open, .run = fake_run, .close = fake_close}};
  memset(log, 0, sizeof *log);
  const oc_pool_events events = {
      .context = log, .hello = on_hello, .refused = on_refused, .result = on_result};
  return oc_pool_run(&options, &events, indices, CASES, error);
}

static script *shared_script(void) {
  script *play =
      mmap(NULL, sizeof *play, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(play, MAP_FAILED);
  return play;
}

static void test_deaths(void **unused) {
  (void)unused;
  static const deed deeds[CASES] = {PASS, SEGV,  PASS, EXIT0,    HANG, PASS,
                                    FAIL, ABORT, PASS, SCRIBBLE, ONCE, EXIT3};
  static const oc_status expected[CASES] = {
      OC_STATUS_PASS,    OC_STATUS_CRASH, OC_STATUS_PASS,  OC_STATUS_CRASH,
      OC_STATUS_TIMEOUT, OC_STATUS_PASS,  OC_STATUS_FAIL,  OC_STATUS_CRASH,
      OC_STATUS_PASS,    OC_STATUS_CRASH, OC_STATUS_FLAKY, OC_STATUS_CRASH};
  for (uint32_t jobs = 1; jobs <= 3; jobs += 2) {
    script *play = shared_script();
    record log;
    ops_error error = OPS_ERROR_INIT;
    memcpy(play->deeds, deeds, sizeof deeds);
    assert_int_equal(run_script(play, jobs, &log, &error), OPS_OK);
    assert_int_equal(log.hellos, 1);
    for (int i = 0; i < CASES; ++i) {
      assert_int_equal(log.answers[i], 1);
      assert_int_equal(log.results[i].status, expected[i]);
      const bool passed = expected[i] == OC_STATUS_PASS;
      assert_int_equal(log.results[i].attempts, passed ? 1 : 2);
      assert_int_equal(play->runs[i], passed ? 1 : 2);
    }
    assert_int_equal(log.provider_answers, 0);
    assert_non_null(strstr(log.results[1].message, "signal 11"));
    assert_non_null(strstr(log.results[3].message, "exited with status 0"));
    assert_non_null(strstr(log.results[7].message, "assertion of the provider"));
    assert_non_null(strstr(log.results[11].message, "exited with status 3"));
    assert_string_equal(log.results[4].check, "time");
    munmap(play, sizeof *play);
  }
}

static void test_closed_descriptors(void **unused) {
  (void)unused;
  script *play = shared_script();
  record log;
  ops_error error = OPS_ERROR_INIT;
  play->deeds[5] = CLOSE_FDS;
  play->deeds[7] = RACE;
  assert_int_equal(run_script(play, 2, &log, &error), OPS_OK);
  assert_int_equal(log.results[5].status, OC_STATUS_CRASH);
  assert_int_equal(log.results[7].status, OC_STATUS_FAIL);
  assert_non_null(strstr(log.results[7].message, "data race"));
  assert_int_equal(log.results[8].status, OC_STATUS_PASS);
  for (int i = 0; i < CASES; ++i) assert_int_equal(log.answers[i], 1);
  munmap(play, sizeof *play);
}

static void test_open_fails(void **unused) {
  (void)unused;
  script *play = shared_script();
  record log;
  ops_error error = OPS_ERROR_INIT;
  play->open_status = OPS_ERROR_NOT_FOUND;
  assert_int_equal(run_script(play, 2, &log, &error), OPS_OK);
  assert_int_equal(log.refusals, 1);
  for (int i = 0; i < CASES; ++i) assert_int_equal(log.answers[i], 0);
  assert_int_equal(log.hellos, 0);
  assert_int_equal(play->opens, 1);
  munmap(play, sizeof *play);
}

static void test_open_crashes(void **unused) {
  (void)unused;
  script *play = shared_script();
  record log;
  ops_error error = OPS_ERROR_INIT;
  play->open_crash = true;
  assert_int_equal(run_script(play, 2, &log, &error), OPS_OK);
  assert_int_equal(log.provider_answers, 1);
  assert_int_equal(log.provider.status, OC_STATUS_CRASH);
  assert_string_equal(log.provider.check, "lifecycle");
  for (int i = 0; i < CASES; ++i) assert_int_equal(log.results[i].status, OC_STATUS_NOT_RUN);
  munmap(play, sizeof *play);
}

static void test_close(void **unused) {
  (void)unused;
  script *play = shared_script();
  record log;
  ops_error error = OPS_ERROR_INIT;
  play->close_status = OPS_ERROR_PRECONDITION;
  assert_int_equal(run_script(play, 3, &log, &error), OPS_OK);
  assert_int_equal(log.provider_answers, 1);
  assert_int_equal(log.provider.status, OC_STATUS_FAIL);
  assert_non_null(strstr(log.provider.message, "left behind"));
  play->close_status = OPS_OK;
  play->close_hang = true;
  assert_int_equal(run_script(play, 1, &log, &error), OPS_OK);
  assert_int_equal(log.provider.status, OC_STATUS_TIMEOUT);
  for (int i = 0; i < CASES; ++i) assert_int_equal(log.results[i].status, OC_STATUS_PASS);
  munmap(play, sizeof *play);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_deaths),     cmocka_unit_test(test_closed_descriptors),
      cmocka_unit_test(test_open_fails), cmocka_unit_test(test_open_crashes),
      cmocka_unit_test(test_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

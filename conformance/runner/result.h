// SPDX-License-Identifier: Apache-2.0
//
// What is known about one case after it ran: plain data of fixed size, so that it crosses from
// a worker to the harness as it lies in memory.
#ifndef OC_RUNNER_RESULT_H_
#define OC_RUNNER_RESULT_H_

#include <stdint.h>

// X(constant, name, what it means)
#define OC_STATUS_LIST(X)                                                                  \
  X(OC_STATUS_PASS, "PASS", "ran and agrees with the oracle")                              \
  X(OC_STATUS_FAIL, "FAIL", "ran and broke a rule, or a claim did not hold")               \
  X(OC_STATUS_CRASH, "CRASH", "ended its process")                                         \
  X(OC_STATUS_TIMEOUT, "TIMEOUT", "did not end in time")                                   \
  X(OC_STATUS_UNSUPPORTED, "UNSUPPORTED", "not claimed by the provider, and not required") \
  X(OC_STATUS_WAIVED, "WAIVED", "fails, and a waiver says so")                             \
  X(OC_STATUS_XPASS, "XPASS", "passes against its waiver")                                 \
  X(OC_STATUS_UNTRUSTED, "UNTRUSTED",                                                      \
    "the expected value proves nothing, or the oracle failed")                             \
  X(OC_STATUS_FLAKY, "FLAKY", "failed, and passed when it was repeated")                   \
  X(OC_STATUS_NOT_RUN, "NOT_RUN", "was selected and could not be run")

#define OC_STATUS_ITEM(constant, name, meaning) constant,
typedef enum oc_status { OC_STATUS_LIST(OC_STATUS_ITEM) OC_STATUS_COUNT } oc_status;

// What a worker was doing; a death is explained by it.
#define OC_PHASE_LIST(X)           \
  X(OC_PHASE_IDLE, "idle")         \
  X(OC_PHASE_OPEN, "open")         \
  X(OC_PHASE_INPUTS, "inputs")     \
  X(OC_PHASE_ORACLE, "oracle")     \
  X(OC_PHASE_CLAIM, "claim")       \
  X(OC_PHASE_CREATE, "create")     \
  X(OC_PHASE_PREPARE, "prepare")   \
  X(OC_PHASE_EXECUTE, "execute")   \
  X(OC_PHASE_COMPLETE, "complete") \
  X(OC_PHASE_COMPARE, "compare")   \
  X(OC_PHASE_DESTROY, "destroy")   \
  X(OC_PHASE_CLOSE, "close")       \
  X(OC_PHASE_EXIT, "exit")

#define OC_PHASE_ITEM(constant, name) constant,
typedef enum oc_phase { OC_PHASE_LIST(OC_PHASE_ITEM) OC_PHASE_COUNT } oc_phase;

#define OC_NO_CASE UINT32_MAX  // case_index of a result about the provider as a whole

typedef struct oc_result {
  uint32_t case_index;  // in oc_cases, or OC_NO_CASE
  int32_t status;       // oc_status
  int32_t phase;        // oc_phase in which it ended
  int32_t attempts;     // 1, or 2 if it was repeated
  double seconds;
  int32_t died;      // 1: the process ended with the case
  int32_t measured;  // 1: metric, error and limit hold numbers
  int32_t output;    // the output concerned, or -1
  int64_t element;   // row-major index of the worst element, or -1
  double error;      // in units of `metric`, the worst of the case
  double limit;
  uint64_t checks;  // bit i: row i of the table of checks was asked
  uint32_t waiver;  // 1 + its index in the file of waivers; 0: none
  uint32_t lost;    // 1: the device is gone, and with it the cases that would follow
  char metric[16];  // "ulp", "dot", "equal" …
  char check[32];   // the check that failed, empty if none
  char expected[80];
  char got[80];
  char inputs[320];         // "float[2, 3], int64[1]"
  char implementation[96];  // as prepare named it
  char message[720];        // what happened; why it is unsupported
} oc_result;

const char *oc_status_name(int32_t status);
const char *oc_status_meaning(int32_t status);
const char *oc_phase_name(int32_t phase);

// Ends a case: status, check and a formatted message. Returns 0, for use as "return
// oc_result_end(…)" where a function says whether to go on.
int32_t oc_result_end(oc_result *result, oc_status status, const char *check,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif  // OC_RUNNER_RESULT_H_

// SPDX-License-Identifier: Apache-2.0
//
// Waivers: known failures of one provider that a release may have, each with a reason, an end
// and the largest error it was granted for. They are executed, never a list of what is left
// out: a waived case runs, and what comes of it decides.
//
//   fails as the waiver says           WAIVED
//   fails by a larger error            FAIL
//   passes                             XPASS: the waiver is to be removed
//   FLAKY, UNTRUSTED, NOT_RUN          stay what they are
//
// A waiver that has expired waives nothing and is a failure itself; so is one that did not meet
// a case in a run of all cases. The file is YAML, as grammar.md describes.
#ifndef OC_WAIVERS_WAIVERS_H_
#define OC_WAIVERS_WAIVERS_H_

#include <ops/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "contract/arena.h"
#include "runner/result.h"

#define OC_WAIVERS_FORMAT 1
#define OC_WAIVERS_MAX 10000

// X(constant, name in reports, what it means)
#define OC_WAIVER_STATE_LIST(X)                                                        \
  X(OC_WAIVER_IDLE, "idle", "met no case of those that were selected")                 \
  X(OC_WAIVER_USED, "used", "met cases that ran")                                      \
  X(OC_WAIVER_ELSEWHERE, "elsewhere", "is about another provider, or another version") \
  X(OC_WAIVER_EXPIRED, "expired", "has expired; a failure")                            \
  X(OC_WAIVER_UNMATCHED, "unmatched", "met no case although all were selected; a failure")
#define OC_WAIVER_STATE_ITEM(constant, name, meaning) constant,
typedef enum oc_waiver_state {
  OC_WAIVER_STATE_LIST(OC_WAIVER_STATE_ITEM) OC_WAIVER_STATE_COUNT
} oc_waiver_state;

typedef struct oc_waiver {
  const char *provider;
  const char *versions;      // comparisons that all must hold: ">=1.2 <1.4"; "*": any
  const char *const *cases;  // patterns of ids, as --filter takes them
  size_t case_count;
  const char *check;     // that ends the case: "values"
  bool measured;         // false: the check measures no error
  double largest_error;  // in units of the metric; infinity: any
  const char *reason;
  const char *expires;  // the last day on which it holds, "2027-03-31"
  uint32_t line;        // in the file, from 1
  // What has come of it so far.
  oc_waiver_state state;
  size_t waived;      // cases
  size_t passed;      // XPASS
  size_t worse;       // that fail by more than largest_error
  double seen_error;  // the largest of the waived ones
} oc_waiver;

typedef struct oc_waivers {
  oc_waiver *items;  // in the order of the file
  size_t count;
  const char *path;
  oc_arena *arena;
} oc_waivers;

// INVALID_MODEL with "file:line:column: …", IO, OUT_OF_MEMORY.
int32_t oc_waivers_load(const char *path, oc_waivers **out_waivers, ops_error *error);
int32_t oc_waivers_parse(const char *name, const char *text, size_t size,
                         oc_waivers **out_waivers, ops_error *error);
void oc_waivers_destroy(oc_waivers *waivers);  // accepts NULL

// Forgets what has come of them and settles which ones hold for this provider on the day that
// `day` begins with: "2026-11-30T17:04:12Z".
void oc_waivers_begin(oc_waivers *waivers, const char *provider, const char *version,
                      const char *day);

// Turns the result of the case `id` into what the waivers make of it. Accepts NULL.
void oc_waivers_apply(oc_waivers *waivers, const char *id, oc_result *result);

// After the last result. `complete`: every case of the contracts was selected, so that a waiver
// that met none is unmatched.
void oc_waivers_end(oc_waivers *waivers, bool complete);

// The failure that a waiver itself is, as a result about the provider as a whole. False: none.
bool oc_waiver_finding(const oc_waivers *waivers, size_t index, oc_result *out_result);

// The waiver of a result, NULL if there is none.
const oc_waiver *oc_waivers_of(const oc_waivers *waivers, const oc_result *result);

// "waivers.yaml:12, until 2027-03-31: the reason".
void oc_waiver_print(const oc_waivers *waivers, const oc_waiver *waiver, char *text,
                     size_t size);

const char *oc_waiver_state_name(oc_waiver_state state);
const char *oc_waiver_state_meaning(oc_waiver_state state);

// The grammar of the file as Markdown.
void oc_waivers_grammar_print(FILE *stream);

#endif  // OC_WAIVERS_WAIVERS_H_

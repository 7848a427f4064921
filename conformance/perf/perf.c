// SPDX-License-Identifier: Apache-2.0
//
// Names of the enumerations in perf.h.
#include "perf/perf.h"

const char *oc_perf_verdict_name(oc_perf_verdict verdict) {
#define NAME(constant, name, meaning) name,
  static const char *const names[] = {OC_PERF_VERDICT_LIST(NAME)};
  return verdict < OC_PERF_VERDICT_COUNT ? names[verdict] : "unknown";
}

const char *oc_perf_verdict_meaning(oc_perf_verdict verdict) {
#define MEANING(constant, name, meaning) meaning,
  static const char *const meanings[] = {OC_PERF_VERDICT_LIST(MEANING)};
  return verdict < OC_PERF_VERDICT_COUNT ? meanings[verdict] : "unknown";
}

const char *oc_perf_state_name(oc_perf_state state) {
  static const char *const names[] = {OC_PERF_STATE_LIST(NAME)};
  return state < OC_PERF_STATE_COUNT ? names[state] : "unknown";
}

const char *oc_perf_reference_name(oc_perf_reference reference) {
  static const char *const names[] = {OC_PERF_REFERENCE_LIST(NAME)};
  return reference < OC_PERF_REFERENCE_COUNT ? names[reference] : "unknown";
}

// SPDX-License-Identifier: Apache-2.0
//
// What waivers make of results.
#include "waivers/waivers.h"

#include <math.h>
#include <string.h>

#include "checks/check.h"
#include "waivers/glob.h"
#include "waivers/version.h"

const char *oc_waiver_state_name(oc_waiver_state state) {
#define NAME(constant, name, meaning) name,
  static const char *const names[] = {OC_WAIVER_STATE_LIST(NAME)};
#undef NAME
  return names[state];
}

const char *oc_waiver_state_meaning(oc_waiver_state state) {
#define MEANING(constant, name, meaning) meaning,
  static const char *const meanings[] = {OC_WAIVER_STATE_LIST(MEANING)};
#undef MEANING
  return meanings[state];
}

// ---- Before ---------------------------------------------------------------------------------

void oc_waivers_begin(oc_waivers *waivers, const char *provider, const char *version,
                      const char *day) {
  for (size_t i = 0; waivers && i < waivers->count; ++i) {
    oc_waiver *waiver = &waivers->items[i];
    const bool here = strcmp(waiver->provider, provider) == 0 &&
                      oc_version_in_range(version, waiver->versions);
    const bool late = strncmp(day, waiver->expires, strlen(waiver->expires)) > 0;
    waiver->waived = waiver->passed = waiver->worse = 0;
    waiver->seen_error = 0;
    waiver->state = !here ? OC_WAIVER_ELSEWHERE : late ? OC_WAIVER_EXPIRED : OC_WAIVER_IDLE;
  }
}

// ---- One result -----------------------------------------------------------------------------

static bool holds(const oc_waiver *waiver, const char *id) {
  if (waiver->state != OC_WAIVER_IDLE && waiver->state != OC_WAIVER_USED) return false;
  for (size_t i = 0; i < waiver->case_count; ++i) {
    if (oc_glob_match(waiver->cases[i], id)) return true;
  }
  return false;
}

static void pass(oc_waivers *waivers, size_t index, oc_result *result) {
  oc_waiver *waiver = &waivers->items[index];
  ++waiver->passed;
  waiver->state = OC_WAIVER_USED;
  if (result->status == OC_STATUS_XPASS) return;
  result->waiver = (uint32_t)index + 1;
  oc_result_end(
      result, OC_STATUS_XPASS, OC_CHECK_WAIVERS,
      "passes, and the waiver in line %u says that check %s fails; take the case out of "
      "the waiver",
      waiver->line, waiver->check);
}

static bool within(const oc_waiver *waiver, const oc_result *result) {
  if (!waiver->measured) return true;
  return result->measured && fabs(result->error) <= waiver->largest_error;
}

static void waive(oc_waivers *waivers, size_t index, oc_result *result) {
  oc_waiver *waiver = &waivers->items[index];
  waiver->state = OC_WAIVER_USED;
  result->waiver = (uint32_t)index + 1;
  if (within(waiver, result)) {
    ++waiver->waived;
    result->status = OC_STATUS_WAIVED;
    if (waiver->measured && fabs(result->error) > waiver->seen_error) {
      waiver->seen_error = fabs(result->error);
    }
    return;
  }
  ++waiver->worse;
  const size_t used = strlen(result->message);
  snprintf(result->message + used, sizeof result->message - used,
           "; the waiver in line %u covers errors up to %.6g", waiver->line,
           waiver->largest_error);
}

void oc_waivers_apply(oc_waivers *waivers, const char *id, oc_result *result) {
  const bool passes = result->status == OC_STATUS_PASS;
  const bool fails = result->status == OC_STATUS_FAIL || result->status == OC_STATUS_CRASH ||
                     result->status == OC_STATUS_TIMEOUT;
  for (size_t i = 0; waivers && (passes || fails) && i < waivers->count; ++i) {
    if (!holds(&waivers->items[i], id)) continue;
    if (passes) {
      pass(waivers, i, result);
    } else if (strcmp(waivers->items[i].check, result->check) == 0) {
      waive(waivers, i, result);
      return;
    }
  }
}

// ---- After ----------------------------------------------------------------------------------

void oc_waivers_end(oc_waivers *waivers, bool complete) {
  for (size_t i = 0; complete && waivers && i < waivers->count; ++i) {
    oc_waiver *waiver = &waivers->items[i];
    if (waiver->state == OC_WAIVER_IDLE) waiver->state = OC_WAIVER_UNMATCHED;
  }
}

bool oc_waiver_finding(const oc_waivers *waivers, size_t index, oc_result *out_result) {
  const oc_waiver *waiver = &waivers->items[index];
  const bool expired = waiver->state == OC_WAIVER_EXPIRED;
  if (!expired && waiver->state != OC_WAIVER_UNMATCHED) return false;
  *out_result = (oc_result){.case_index = OC_NO_CASE,
                            .attempts = 1,
                            .output = -1,
                            .element = -1,
                            .waiver = (uint32_t)index + 1};
  oc_result_end(
      out_result, OC_STATUS_FAIL, OC_CHECK_WAIVERS,
      expired ? "%.200s:%u: the waiver for '%.100s' expired on %.10s; repair the case, or "
                "judge it anew and give another day"
              : "%.200s:%u: no case that ran is what the waiver for '%.100s' says, of "
                "%.10s; take it out",
      waivers->path, waiver->line, waiver->cases[0], expired ? waiver->expires : waiver->check);
  return true;
}

const oc_waiver *oc_waivers_of(const oc_waivers *waivers, const oc_result *result) {
  const bool known = waivers && result->waiver > 0 && result->waiver <= waivers->count;
  return known ? &waivers->items[result->waiver - 1] : NULL;
}

void oc_waiver_print(const oc_waivers *waivers, const oc_waiver *waiver, char *text,
                     size_t size) {
  snprintf(text, size, "%s:%u, until %s: %s", waivers->path, waiver->line, waiver->expires,
           waiver->reason);
}

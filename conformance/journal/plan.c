// SPDX-License-Identifier: Apache-2.0
//
// Cases by name: enough of a case and of its contract for reports. One contract serves all
// cases of an operator, as where they come from.
#include "journal/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 128  // bytes of a domain, of an operator

struct oc_journal_plan {
  oc_arena *arena;
  oc_case *items;
  size_t count;
  size_t capacity;
};

oc_journal_plan *oc_journal_plan_create(oc_arena *arena) {
  oc_journal_plan *plan = calloc(1, sizeof *plan);
  if (plan) plan->arena = arena;
  return plan;
}

void oc_journal_plan_destroy(oc_journal_plan *plan) {
  free(plan);
}

size_t oc_journal_plan_count(const oc_journal_plan *plan) {
  return plan->count;
}

void oc_journal_plan_cases(const oc_journal_plan *plan, oc_cases *out_cases) {
  *out_cases = (oc_cases){.items = plan->items, .count = plan->count};
}

// ---- Appending ------------------------------------------------------------------------------

// Doubles; what was there before stays in the arena, as much again at most.
static bool make_room(oc_journal_plan *plan) {
  if (plan->count < plan->capacity) return true;
  const size_t capacity = plan->capacity ? 2 * plan->capacity : OC_JOURNAL_PLAN_LINE;
  oc_case *items = oc_arena_alloc(plan->arena, capacity, sizeof *items);
  if (!items) return false;
  if (plan->count) memcpy(items, plan->items, plan->count * sizeof *items);
  plan->items = items;
  plan->capacity = capacity;
  return true;
}

// Cases of an operator follow each other.
static const oc_contract *contract_of(oc_journal_plan *plan, const char *domain,
                                      const char *op) {
  const oc_contract *last = plan->count ? plan->items[plan->count - 1].contract : NULL;
  if (last && strcmp(last->domain, domain) == 0 && strcmp(last->op, op) == 0) return last;
  oc_contract *contract = oc_arena_alloc(plan->arena, 1, sizeof *contract);
  if (!contract) return NULL;
  contract->domain = oc_arena_copy_string(plan->arena, domain, strlen(domain));
  contract->op = oc_arena_copy_string(plan->arena, op, strlen(op));
  contract->file = "";
  return contract->domain && contract->op ? contract : NULL;
}

static bool add(oc_journal_plan *plan, const char *id, const char *domain, const char *op,
                uint64_t seed) {
  if (!make_room(plan)) return false;
  oc_case item = {.id = oc_arena_copy_string(plan->arena, id, strlen(id)),
                  .contract = contract_of(plan, domain, op),
                  .seed = seed};
  if (!item.id || !item.contract) return false;
  plan->items[plan->count++] = item;
  return true;
}

bool oc_journal_plan_add(oc_journal_plan *plan, const oc_case *item) {
  return add(plan, item->id, item->contract->domain, item->contract->op, item->seed);
}

// ---- Lines ----------------------------------------------------------------------------------

static cJSON *case_json(const oc_case *item) {
  char seed[24];
  snprintf(seed, sizeof seed, "%" PRIu64, item->seed);
  const char *const texts[] = {item->id, item->contract->domain, item->contract->op, seed};
  return cJSON_CreateStringArray(texts, 4);
}

cJSON *oc_journal_plan_json(const oc_cases *cases, const uint32_t *indices, size_t at,
                            size_t count) {
  cJSON *object = cJSON_CreateObject();
  cJSON *list = object ? cJSON_AddArrayToObject(object, "cases") : NULL;
  if (!list || !cJSON_AddNumberToObject(object, "at", (double)at)) {
    cJSON_Delete(object);
    return NULL;
  }
  for (size_t i = 0; i < count; ++i) {
    cJSON_AddItemToArray(list, case_json(&cases->items[indices[at + i]]));
  }
  return object;
}

static bool is_word(const char *text, size_t most) {
  return text && text[0] && strlen(text) < most;
}

static const char *parse_case(oc_journal_plan *plan, const cJSON *array) {
  const char *texts[4];
  char *end = NULL;
  if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) != 4) return "a case is no list of 4";
  for (int i = 0; i < 4; ++i) texts[i] = cJSON_GetStringValue(cJSON_GetArrayItem(array, i));
  if (!is_word(texts[0], OC_CASE_MAX_ID)) return "an id";
  if (!texts[1] || strlen(texts[1]) >= MAX_NAME) return "a domain";
  if (!is_word(texts[2], MAX_NAME)) return "an operator";
  if (!is_word(texts[3], 24)) return "a seed";
  errno = 0;
  const unsigned long long seed = strtoull(texts[3], &end, 10);
  if (texts[3][0] < '0' || texts[3][0] > '9' || *end || errno) return "a seed";
  return add(plan, texts[0], texts[1], texts[2], seed) ? NULL : "no memory";
}

const char *oc_journal_plan_parse(oc_journal_plan *plan, const cJSON *object) {
  const cJSON *at = cJSON_GetObjectItemCaseSensitive(object, "at");
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "cases"), *item = NULL;
  if (!cJSON_IsNumber(at) || at->valuedouble != (double)plan->count) return "at";
  if (!cJSON_IsArray(list)) return "cases";
  cJSON_ArrayForEach(item, list) {
    if (plan->count >= OC_CASES_MAX) return "more cases than a run may have";
    const char *bad = parse_case(plan, item);
    if (bad) return bad;
  }
  return NULL;
}

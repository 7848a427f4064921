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

#include "cases/element.h"

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
  contract->type_var_count = 1;
  return contract->domain && contract->op ? contract : NULL;
}

// A contract of one type variable, whose type is the main one of the case.
static bool add(oc_journal_plan *plan, const char *id, const oc_contract *contract,
                int32_t type, uint64_t seed, uint32_t provider_case) {
  int32_t *types = oc_arena_alloc(plan->arena, 1, sizeof *types);
  if (!types || !make_room(plan)) return false;
  types[0] = type;
  const oc_case item = {.id = oc_arena_copy_string(plan->arena, id, strlen(id)),
                        .contract = contract_of(plan, contract->domain, contract->op),
                        .types = types,
                        .seed = seed,
                        .provider_case = provider_case};
  if (!item.id || !item.contract) return false;
  plan->items[plan->count++] = item;
  return true;
}

bool oc_journal_plan_add(oc_journal_plan *plan, const oc_case *item) {
  return add(plan, item->id, item->contract, oc_case_main_type(item), item->seed,
             item->provider_case);
}

// ---- Lines ----------------------------------------------------------------------------------

enum { ID, DOMAIN, OPERATOR, TYPE, SEED, ROW, WORDS };

static cJSON *case_json(const oc_case *item) {
  char seed[24], row[16];
  snprintf(seed, sizeof seed, "%" PRIu64, item->seed);
  snprintf(row, sizeof row, "%" PRIu32, item->provider_case);
  const char *const texts[WORDS] = {[ID] = item->id,
                                    [DOMAIN] = item->contract->domain,
                                    [OPERATOR] = item->contract->op,
                                    [TYPE] = oc_element_name(oc_case_main_type(item)),
                                    [SEED] = seed,
                                    [ROW] = row};
  return cJSON_CreateStringArray(texts, WORDS);
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

static bool parse_whole(const char *text, uint64_t most, uint64_t *out_value) {
  char *end = NULL;
  if (!text || text[0] < '0' || text[0] > '9') return false;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  *out_value = value;
  return *end == 0 && errno == 0 && value <= most;
}

static const char *parse_case(oc_journal_plan *plan, const cJSON *array) {
  const char *texts[WORDS];
  uint64_t seed, row;
  if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) != WORDS) {
    return "a case is no list of 6";
  }
  for (int i = 0; i < WORDS; ++i) texts[i] = cJSON_GetStringValue(cJSON_GetArrayItem(array, i));
  if (!is_word(texts[ID], OC_CASE_MAX_ID)) return "an id";
  if (!texts[DOMAIN] || strlen(texts[DOMAIN]) >= MAX_NAME) return "a domain";
  if (!is_word(texts[OPERATOR], MAX_NAME)) return "an operator";
  if (!is_word(texts[TYPE], MAX_NAME)) return "a type";
  if (!parse_whole(texts[SEED], UINT64_MAX, &seed)) return "a seed";
  if (!parse_whole(texts[ROW], UINT32_MAX, &row)) return "a row of cases about the provider";
  const int32_t type = oc_element_type(texts[TYPE], strlen(texts[TYPE]));
  const oc_contract contract = {.domain = texts[DOMAIN], .op = texts[OPERATOR]};
  return add(plan, texts[ID], &contract, type, seed, (uint32_t)row) ? NULL : "no memory";
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

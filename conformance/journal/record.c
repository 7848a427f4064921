// SPDX-License-Identifier: Apache-2.0
//
// Two tables, one of texts and one of numbers. Numbers come back with the same bits: finite
// ones are printed with as many digits as it takes, the others are texts.
#include "journal/record.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "checks/check.h"

typedef struct text_field {
  const char *name;
  size_t offset, size;
} text_field;

#define TEXT(member) \
  { #member, offsetof(oc_result, member), sizeof(((oc_result *)0)->member) }
static const text_field kTexts[] = {TEXT(check),  TEXT(metric), TEXT(expected),
                                    TEXT(got),    TEXT(inputs), TEXT(implementation),
                                    TEXT(message)};
#undef TEXT

typedef enum number_kind { I32, I64, F64 } number_kind;
typedef struct number_field {
  const char *name;
  size_t offset;
  number_kind kind;
  double absent;  // the value that is not written
} number_field;

#define NUMBER(member, kind, absent) \
  { #member, offsetof(oc_result, member), kind, absent }
static const number_field kNumbers[] = {NUMBER(attempts, I32, 1), NUMBER(died, I32, 0),
                                        NUMBER(measured, I32, 0), NUMBER(output, I32, -1),
                                        NUMBER(element, I64, -1), NUMBER(error, F64, 0),
                                        NUMBER(limit, F64, 0),    NUMBER(seconds, F64, 0)};
#undef NUMBER

#define MAX_CHECKS 64  // bits of oc_result.checks
#define COUNT(table) (sizeof(table) / sizeof *(table))

// ---- Writing --------------------------------------------------------------------------------

static double load_number(const oc_result *result, const number_field *row) {
  const char *at = (const char *)result + row->offset;
  if (row->kind == I32) return *(const int32_t *)at;
  if (row->kind == I64) return (double)*(const int64_t *)at;
  return *(const double *)at;
}

static void add_number(cJSON *object, const char *name, double value) {
  if (isfinite(value)) {
    cJSON_AddNumberToObject(object, name, value);
  } else {
    cJSON_AddStringToObject(object, name, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  }
}

// By name: the table of checks grows.
static void add_checks(cJSON *object, uint64_t checks) {
  size_t count;
  const oc_check *rows = oc_checks(&count);
  const char *names[MAX_CHECKS];
  int used = 0;
  for (size_t i = 0; i < count && i < MAX_CHECKS; ++i) {
    if (checks >> i & 1) names[used++] = rows[i].name;
  }
  if (used) cJSON_AddItemToObject(object, "checks", cJSON_CreateStringArray(names, used));
}

cJSON *oc_journal_record_json(const oc_result *result) {
  cJSON *object = cJSON_CreateObject();
  if (!object) return NULL;
  cJSON_AddStringToObject(object, "status", oc_status_name(result->status));
  cJSON_AddStringToObject(object, "phase", oc_phase_name(result->phase));
  for (size_t i = 0; i < COUNT(kNumbers); ++i) {
    const double value = load_number(result, &kNumbers[i]);
    if (value != kNumbers[i].absent) add_number(object, kNumbers[i].name, value);
  }
  add_checks(object, result->checks);
  for (size_t i = 0; i < COUNT(kTexts); ++i) {
    const char *text = (const char *)result + kTexts[i].offset;
    if (text[0]) cJSON_AddStringToObject(object, kTexts[i].name, text);
  }
  return object;
}

// ---- Reading --------------------------------------------------------------------------------

static bool parse_number(const cJSON *item, double *out_value) {
  const char *text = cJSON_GetStringValue(item);
  *out_value = cJSON_IsNumber(item) ? item->valuedouble : 0;
  if (!text) return cJSON_IsNumber(item);
  if (strcmp(text, "nan") == 0) *out_value = NAN;
  if (strcmp(text, "inf") == 0) *out_value = INFINITY;
  if (strcmp(text, "-inf") == 0) *out_value = -INFINITY;
  return !isfinite(*out_value);
}

static bool store_number(oc_result *result, const number_field *row, double value) {
  char *at = (char *)result + row->offset;
  if (row->kind == F64) {
    *(double *)at = value;
    return true;
  }
  const double most = row->kind == I32 ? INT32_MAX : 9007199254740992.0;  // 2^53
  if (!(value >= -1 && value <= most && value == floor(value))) return false;
  if (row->kind == I32) *(int32_t *)at = (int32_t)value;
  if (row->kind == I64) *(int64_t *)at = (int64_t)value;
  return true;
}

static bool read_number(oc_result *result, const number_field *row, const cJSON *object) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, row->name);
  double value = row->absent;
  return (!item || parse_number(item, &value)) && store_number(result, row, value);
}

static bool read_text(oc_result *result, const text_field *row, const cJSON *object) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, row->name);
  const char *text = item ? cJSON_GetStringValue(item) : "";
  if (!text || strlen(text) >= row->size) return false;
  snprintf((char *)result + row->offset, row->size, "%s", text);
  return true;
}

// A check that this version does not know is left out.
static bool read_checks(oc_result *result, const cJSON *object) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "checks"), *item = NULL;
  if (list && (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > MAX_CHECKS)) return false;
  cJSON_ArrayForEach(item, list) {
    const char *name = cJSON_GetStringValue(item);
    if (!name) return false;
    oc_checks_note(result, name);
  }
  return true;
}

typedef const char *(*name_fn)(int32_t value);

static bool read_word(const cJSON *object, const char *name, name_fn word, int32_t count,
                      int32_t *out_value) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
  for (*out_value = 0; text && *out_value < count; ++*out_value) {
    if (strcmp(word(*out_value), text) == 0) return true;
  }
  return false;
}

const char *oc_journal_record_parse(oc_result *result, const cJSON *object) {
  if (!read_word(object, "status", oc_status_name, OC_STATUS_COUNT, &result->status)) {
    return "status";
  }
  if (!read_word(object, "phase", oc_phase_name, OC_PHASE_COUNT, &result->phase)) {
    return "phase";
  }
  if (!read_checks(result, object)) return "checks";
  for (size_t i = 0; i < COUNT(kNumbers); ++i) {
    if (!read_number(result, &kNumbers[i], object)) return kNumbers[i].name;
  }
  for (size_t i = 0; i < COUNT(kTexts); ++i) {
    if (!read_text(result, &kTexts[i], object)) return kTexts[i].name;
  }
  return NULL;
}

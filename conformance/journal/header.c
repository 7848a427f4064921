// SPDX-License-Identifier: Apache-2.0
//
// One table of fields writes, reads and compares the header of a run. All values are texts: a
// seed has more digits than a JSON number keeps.
#include "journal/header.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "ops_support/error.h"
#include "report/file.h"
#include "report/sha256.h"

#define MAX_VALUE 4096  // bytes of a value as text, the terminator included
#define MAX_LIST 64     // items

typedef enum kind {
  TEXT,   // const char *, may be NULL
  CHARS,  // an array of char
  U64,
  U32,
  I32,
  REAL,
  FLAG,
  PROFILE,
  TIER,
  LIST  // const char *const *, with a size_t right behind it
} kind;

// When two headers of one run may differ.
typedef enum rule {
  SAME,    // never
  SHARD,   // where shards are merged
  OPENED,  // where one of them is empty: nobody has opened the provider
  NOTE     // always: it says where and how, not what
} rule;

typedef struct field {
  const char *name;
  size_t offset;
  size_t size;  // of the member
  kind kind;
  rule rule;
} field;

#define FIELD(name, member, kind, rule)                                                        \
  {                                                                                            \
    name, offsetof(oc_journal_header, member), sizeof(((oc_journal_header *)0)->member), kind, \
        rule                                                                                   \
  }
#define IDENTITY(prefix, member)                                               \
  FIELD(prefix ".name", hello.member.name, CHARS, OPENED),                     \
      FIELD(prefix ".version", hello.member.version, CHARS, OPENED),           \
      FIELD(prefix ".vendor", hello.member.vendor, CHARS, OPENED),             \
      FIELD(prefix ".path", hello.member.path, CHARS, NOTE),                   \
      FIELD(prefix ".device", hello.member.device, CHARS, OPENED),             \
      FIELD(prefix ".architecture", hello.member.architecture, CHARS, OPENED), \
      FIELD(prefix ".driver", hello.member.driver, CHARS, OPENED),             \
      FIELD(prefix ".fingerprint", hello.member.fingerprint, CHARS, OPENED),   \
      FIELD(prefix ".kernels", hello.member.kernels, U64, OPENED),             \
      FIELD(prefix ".abi", hello.member.abi, U32, OPENED),                     \
      FIELD(prefix ".device_memory", hello.member.device_memory, I32, OPENED)

// In the order in which a difference is told: what a user chose comes first.
static const field kFields[] = {
    FIELD("harness.version", harness_version, CHARS, SAME),
    FIELD("harness.sha256", harness_hash, CHARS, SAME),
    FIELD("provider", setup.provider, TEXT, NOTE),
    FIELD("provider.sha256", candidate_hash, CHARS, OPENED),
    IDENTITY("provider", candidate),
    FIELD("provider.foreign", hello.foreign, CHARS, OPENED),
    FIELD("oracle", setup.oracle, TEXT, NOTE),
    FIELD("oracle.sha256", oracle_hash, CHARS, OPENED),
    IDENTITY("oracle", oracle),
    FIELD("contracts", setup.contracts, TEXT, NOTE),
    FIELD("contracts_given", setup.contracts_given, FLAG, NOTE),
    FIELD("onnx_tests", setup.onnx_tests, TEXT, NOTE),
    FIELD("model", setup.model, TEXT, NOTE),
    FIELD("contracts.sha256", contracts_hash, CHARS, SAME),
    FIELD("require", setup.require, TEXT, NOTE),
    FIELD("require.sha256", require_hash, CHARS, SAME),
    FIELD("profile", setup.profile, PROFILE, SAME),
    FIELD("tier", setup.tier, TIER, SAME),
    FIELD("seed", setup.seed, U64, SAME),
    FIELD("options", setup.options, LIST, SAME),
    FIELD("op", setup.op, TEXT, SAME),
    FIELD("filter", setup.filter, TEXT, SAME),
    FIELD("timeout", setup.timeout, REAL, SAME),
    FIELD("expand_functions", setup.expand_functions, FLAG, SAME),
    FIELD("level", setup.level, I32, SAME),
    FIELD("disabled_passes", setup.disabled_passes, LIST, SAME),
    FIELD("shard", setup.shard, TEXT, SHARD),
    FIELD("shard_index", shard_index, U32, SHARD),
    FIELD("shard_count", shard_count, U32, SAME),
    FIELD("selected", selected, U64, SAME),
    FIELD("selection.sha256", selection_hash, CHARS, SAME),
    FIELD("jobs", setup.jobs, U32, NOTE),
    FIELD("started", started, CHARS, NOTE),
    FIELD("system", system, CHARS, NOTE),
    FIELD("release", release, CHARS, NOTE),
    FIELD("machine", machine, CHARS, NOTE),
    FIELD("cpus", cpus, U32, NOTE),
};
#define FIELDS (sizeof kFields / sizeof *kFields)

typedef struct list {
  const char *const *items;
  size_t count;
} list;
_Static_assert(offsetof(oc_report_setup, option_count) ==
                   offsetof(oc_report_setup, options) + sizeof(char **),
               "a list is followed by its count");
_Static_assert(offsetof(oc_report_setup, disabled_pass_count) ==
                   offsetof(oc_report_setup, disabled_passes) + sizeof(char **),
               "a list is followed by its count");

static const void *member(const oc_journal_header *header, const field *row) {
  return (const char *)header + row->offset;
}

static list list_of(const oc_journal_header *header, const field *row) {
  list items;
  const char *at = member(header, row);
  memcpy(&items.items, at, sizeof items.items);
  memcpy(&items.count, at + sizeof items.items, sizeof items.count);
  return items;
}

// ---- To text --------------------------------------------------------------------------------

static void print_value(const oc_journal_header *header, const field *row, char *text,
                        size_t size) {
  const void *at = member(header, row);
  text[0] = 0;
  switch (row->kind) {
    case TEXT:
      snprintf(text, size, "%s", *(const char *const *)at ? *(const char *const *)at : "");
      break;
    case CHARS:
      snprintf(text, size, "%s", (const char *)at);
      break;
    case U64:
      snprintf(text, size, "%" PRIu64, *(const uint64_t *)at);
      break;
    case U32:
      snprintf(text, size, "%" PRIu32, *(const uint32_t *)at);
      break;
    case I32:
      snprintf(text, size, "%" PRId32, *(const int32_t *)at);
      break;
    case REAL:
      snprintf(text, size, "%.17g", *(const double *)at);
      break;
    case FLAG:
      snprintf(text, size, "%d", *(const bool *)at);
      break;
    case PROFILE:
      snprintf(text, size, "%s", oc_profile_name(*(const oc_profile_id *)at));
      break;
    case TIER:
      snprintf(text, size, "%s", oc_tier_name(*(const oc_tier *)at));
      break;
    case LIST: {
      const list items = list_of(header, row);
      for (size_t i = 0, used = 0; i < items.count && used < size; ++i) {
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", items.items[i]);
      }
      break;
    }
  }
}

cJSON *oc_journal_header_json(const oc_journal_header *header) {
  char text[MAX_VALUE];
  cJSON *object = cJSON_CreateObject();
  for (size_t i = 0; object && i < FIELDS; ++i) {
    const field *row = &kFields[i];
    if (row->kind == LIST) {
      const list items = list_of(header, row);
      cJSON_AddItemToObject(object, row->name,
                            cJSON_CreateStringArray(items.items, (int)items.count));
      continue;
    }
    print_value(header, row, text, sizeof text);
    if (text[0]) cJSON_AddStringToObject(object, row->name, text);
  }
  return object;
}

// ---- From text ------------------------------------------------------------------------------

static bool parse_whole(const char *text, uint64_t most, uint64_t *out_value) {
  char *end = NULL;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  *out_value = value;
  return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && value <= most;
}

static bool parse_real(const char *text, double *out_value) {
  char *end = NULL;
  *out_value = strtod(text, &end);
  return text[0] && *end == 0;
}

typedef const char *(*word_fn)(int32_t value);
static const char *profile_word(int32_t value) {
  return oc_profile_name((oc_profile_id)value);
}
static const char *tier_word(int32_t value) {
  return oc_tier_name((oc_tier)value);
}

static bool parse_word(const char *text, word_fn word, int32_t count, int32_t *out_value) {
  for (*out_value = 0; *out_value < count; ++*out_value) {
    if (strcmp(word(*out_value), text) == 0) return true;
  }
  return false;
}

static bool parse_chars(const field *row, const char *text, char *out) {
  const size_t size = strlen(text);
  if (size >= row->size) return false;
  memcpy(out, text, size + 1);
  return true;
}

static bool parse_number(const field *row, const char *text, void *at) {
  uint64_t value = 0;
  switch (row->kind) {
    case U64:
      return parse_whole(text, UINT64_MAX, at);
    case U32:
      if (!parse_whole(text, UINT32_MAX, &value)) return false;
      *(uint32_t *)at = (uint32_t)value;
      return true;
    case I32:
      if (!parse_whole(text, INT32_MAX, &value)) return false;
      *(int32_t *)at = (int32_t)value;
      return true;
    case FLAG:
      if (!parse_whole(text, 1, &value)) return false;
      *(bool *)at = value != 0;
      return true;
    default:
      return parse_real(text, at);
  }
}

static bool parse_text(const field *row, const char *text, void *at, oc_arena *arena) {
  int32_t word = 0;
  switch (row->kind) {
    case TEXT:
      return (*(const char **)at = oc_arena_copy_string(arena, text, strlen(text))) != NULL;
    case CHARS:
      return parse_chars(row, text, at);
    case PROFILE:
      if (!parse_word(text, profile_word, OC_PROFILE_COUNT, &word)) return false;
      *(oc_profile_id *)at = (oc_profile_id)word;
      return true;
    case TIER:
      if (!parse_word(text, tier_word, OC_TIER_COUNT, &word)) return false;
      *(oc_tier *)at = (oc_tier)word;
      return true;
    default:
      return parse_number(row, text, at);
  }
}

static bool store_list(const field *row, const char **items, size_t count,
                       oc_journal_header *header) {
  char *at = (char *)header + row->offset;
  memcpy(at, &items, sizeof items);
  memcpy(at + sizeof items, &count, sizeof count);
  return true;
}

static bool parse_list(const field *row, const cJSON *array, oc_journal_header *header,
                       oc_arena *arena) {
  const int count = cJSON_IsArray(array) ? cJSON_GetArraySize(array) : -1;
  if (count < 0 || count > MAX_LIST) return false;
  const char **items = oc_arena_alloc(arena, (size_t)count, sizeof *items);
  const cJSON *item = NULL;
  size_t used = 0;
  if (!items) return false;
  cJSON_ArrayForEach(item, array) {
    const char *text = cJSON_GetStringValue(item);
    if (!text || !(items[used++] = oc_arena_copy_string(arena, text, strlen(text)))) {
      return false;
    }
  }
  return store_list(row, items, used, header);
}

const char *oc_journal_header_parse(oc_journal_header *header, const cJSON *object,
                                    oc_arena *arena) {
  for (size_t i = 0; i < FIELDS; ++i) {
    const field *row = &kFields[i];
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, row->name);
    if (!item) continue;
    if (row->kind == LIST) {
      if (!parse_list(row, item, header, arena)) return row->name;
      continue;
    }
    const char *text = cJSON_GetStringValue(item);
    if (!text || strlen(text) >= MAX_VALUE ||
        !parse_text(row, text, (char *)header + row->offset, arena)) {
      return row->name;
    }
  }
  return NULL;
}

// By way of JSON: the strings are the arena's then.
bool oc_journal_header_copy(oc_journal_header *to, const oc_journal_header *from,
                            oc_arena *arena) {
  cJSON *object = oc_journal_header_json(from);
  memset(to, 0, sizeof *to);
  const bool done = object && !oc_journal_header_parse(to, object, arena);
  cJSON_Delete(object);
  return done;
}

// ---- Comparing ------------------------------------------------------------------------------

// Nobody has opened the provider of one of them.
static bool is_unopened(const oc_journal_header *header) {
  return !header->candidate_hash[0] && !header->hello.oracle.name[0];
}

static bool is_same_list(const list *a, const list *b) {
  bool same = a->count == b->count;
  for (size_t i = 0; same && i < a->count; ++i) same = strcmp(a->items[i], b->items[i]) == 0;
  return same;
}

static bool is_same(const field *row, const oc_journal_header *a, const oc_journal_header *b,
                    char *text_a, char *text_b) {
  print_value(a, row, text_a, MAX_VALUE);
  print_value(b, row, text_b, MAX_VALUE);
  if (row->kind != LIST) return strcmp(text_a, text_b) == 0;
  const list list_a = list_of(a, row), list_b = list_of(b, row);
  return is_same_list(&list_a, &list_b);
}

int32_t oc_journal_header_match(const oc_journal_header *header, const char *path,
                                const oc_journal_header *expected, oc_journal_use use,
                                ops_error *error) {
  char found[MAX_VALUE], wanted[MAX_VALUE];
  const bool unopened = is_unopened(header) || is_unopened(expected);
  for (size_t i = 0; i < FIELDS; ++i) {
    const field *row = &kFields[i];
    if (row->rule == NOTE || (row->rule == SHARD && use == OC_JOURNAL_MERGE) ||
        (row->rule == OPENED && unopened)) {
      continue;
    }
    if (is_same(row, header, expected, found, wanted)) continue;
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "'%s' is the journal of another run: %s is '%.200s', expected "
                         "'%.200s'; %s",
                         path, row->name, found, wanted,
                         use == OC_JOURNAL_RESUME
                             ? "resume with what the run began with, or name a new journal"
                             : "merge the shards of one run only");
  }
  return OPS_OK;
}

// ---- Filling --------------------------------------------------------------------------------

void oc_journal_header_init(oc_journal_header *header, const char *version) {
  struct utsname system;
  struct tm utc;
  const time_t now = time(NULL);
  memset(header, 0, sizeof *header);
  snprintf(header->harness_version, sizeof header->harness_version, "%s", version);
  oc_file_hash("/proc/self/exe", header->harness_hash, NULL);
  gmtime_r(&now, &utc);
  strftime(header->started, sizeof header->started, "%Y-%m-%dT%H:%M:%SZ", &utc);
  if (uname(&system) == 0) {
    snprintf(header->system, sizeof header->system, "%.64s", system.sysname);
    snprintf(header->release, sizeof header->release, "%.64s", system.release);
    snprintf(header->machine, sizeof header->machine, "%.64s", system.machine);
  }
  header->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

void oc_journal_header_select(oc_journal_header *header, const oc_cases *cases,
                              const uint32_t *indices, size_t count) {
  oc_sha256 hash;
  oc_sha256_init(&hash);
  for (size_t i = 0; i < count; ++i) {
    const char *id = cases->items[indices[i]].id;
    oc_sha256_add(&hash, id, strlen(id));
    oc_sha256_add(&hash, "\n", 1);
  }
  header->selected = count;
  oc_sha256_hex(&hash, header->selection_hash);
}

// SPDX-License-Identifier: Apache-2.0
//
// Files of provider clauses, read with the tables of reader.h. Ids are what checks, reports and
// people cite, so they are never given twice nor changed: a clause that no longer holds leaves
// a gap in the numbers.
#include "contract/clauses.h"

#include <dirent.h>
#include <errno.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "contract/reader.h"
#include "contract/text_file.h"

typedef struct topic {
  const char *name;
  const char *what;
  const oc_clause *clauses;
  size_t count;
} topic;

static int32_t read_version(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                            void *out) {
  int64_t version = 0;
  (void)field;
  (void)out;
  OPS_RETURN_IF_ERROR(oc_reader_int(reader, node, &version));
  if (version == OC_CLAUSES_FORMAT) return OPS_OK;
  return oc_reader_fail(reader, node,
                        "format %lld of provider clauses; this reader knows format %d: rewrite "
                        "the file as contracts/schema/clauses.md describes",
                        (long long)version, OC_CLAUSES_FORMAT);
}

static int32_t read_topic(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                          void *out) {
  OPS_RETURN_IF_ERROR(oc_read_text(reader, node, field, out));
  if (node->text[strspn(node->text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == 0) return OPS_OK;
  return oc_reader_fail(reader, node, "expected a topic of capital letters, found \"%s\"",
                        node->text);
}

static int32_t read_header(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                           void *out) {
  OPS_RETURN_IF_ERROR(oc_read_text(reader, node, field, out));
  const size_t size = strlen(node->text);
  if (strncmp(node->text, "ops/", 4) == 0 && strcmp(node->text + size - 2, ".h") == 0) {
    return OPS_OK;
  }
  return oc_reader_fail(reader, node, "expected a header such as ops/device.h, found \"%s\"",
                        node->text);
}

static int32_t read_slots(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                          void *out) {
  oc_clause *clause = out;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_texts(reader, node, &clause->slots, &clause->slot_count));
  return clause->slot_count ? OPS_OK
                            : oc_reader_fail(reader, node, "expected at least one slot");
}

#define CLAUSE(member) offsetof(oc_clause, member)
static const oc_field clause_fields[] = {
    {"id", "TOPIC-NUMBER", true, oc_read_name, CLAUSE(id), NULL,
     "what checks and reports cite; never given to another clause"},
    {"header", "ops/NAME.h", true, read_header, CLAUSE(header), NULL,
     "the header of the SDK that states it"},
    {"slots", "list of names", true, read_slots, 0, NULL,
     "functions (table.slot), fields (struct.field) or constants of that header it is about"},
    {"text", "text", true, oc_read_text, CLAUSE(text), NULL, "what must hold"},
    {"unchecked", "text", false, oc_read_text, CLAUSE(unchecked), NULL,
     "why no check covers it; a clause that a check cites has none"},
};
static const oc_grammar clause_grammar = {"clause", "One rule.", clause_fields,
                                          sizeof(clause_fields) / sizeof(oc_field)};

// The id is the topic, a minus, and a number above that of the clause before.
static int32_t check_ids(oc_reader *reader, const oc_yaml_node *list, const topic *t) {
  int64_t last = 0;
  const oc_yaml_node *node = list->first;
  for (size_t i = 0; i < t->count; ++i, node = node->next) {
    const char *id = t->clauses[i].id;
    const size_t size = strlen(t->name);
    int64_t number = 0;
    const bool formed = strncmp(id, t->name, size) == 0 && id[size] == '-' &&
                        oc_text_to_int(id + size + 1, &number);
    if (formed && number > last) {
      last = number;
      continue;
    }
    return oc_reader_fail(reader, oc_yaml_get(node, "id"),
                          "expected %s-N with N above %lld, found \"%s\"", t->name,
                          (long long)last, id);
  }
  return OPS_OK;
}

static int32_t read_clauses(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                            void *out) {
  topic *t = out;
  void *items = NULL;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_read_records(reader, node, &clause_grammar, sizeof(oc_clause),
                                      OC_CLAUSES_MAX, &items, &t->count));
  oc_clause *clauses = items;
  const oc_yaml_node *child = node->first;
  for (size_t i = 0; i < t->count; ++i, child = child->next) {
    clauses[i].at = oc_reader_position(reader, child);
  }
  t->clauses = clauses;
  return check_ids(reader, node, t);
}

#define TOPIC(member) offsetof(topic, member)
static const oc_field topic_fields[] = {
    {"provider", "integer", true, read_version, 0, NULL, "version of this format: 1"},
    {"topic", "CAPITALS", true, read_topic, TOPIC(name), NULL, "with which its ids begin"},
    {"about", "text", true, oc_read_text, TOPIC(what), NULL, "one sentence for people"},
    {"clauses", "list of clause", true, read_clauses, 0, NULL, "the rules"},
};
static const oc_grammar topic_grammar = {"clauses file", "One topic.", topic_fields,
                                         sizeof(topic_fields) / sizeof(oc_field)};

void oc_clauses_grammar_print(FILE *stream) {
  static const oc_grammar *const all[] = {&topic_grammar, &clause_grammar};
  fprintf(stream, "# The keys of a file of provider clauses, format %d\n\n", OC_CLAUSES_FORMAT);
  oc_grammar_print_tables(stream, all, sizeof(all) / sizeof(all[0]));
}

// ---- Sets -----------------------------------------------------------------------------------

static const oc_clause *find(const oc_clauses *set, const char *id, size_t size) {
  for (size_t i = 0; set && i < set->count; ++i) {
    if (strncmp(set->items[i].id, id, size) == 0 && set->items[i].id[size] == 0) {
      return &set->items[i];
    }
  }
  return NULL;
}

static int32_t add_topic(oc_clauses *set, const topic *t, ops_error *error) {
  for (size_t i = 0; i < t->count; ++i) {
    const oc_clause *clause = &t->clauses[i],
                    *other = find(set, clause->id, strlen(clause->id));
    if (!other) continue;
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                         "%s:%u:%u: %s stands in %s:%u already: give each topic one file",
                         clause->at.file, clause->at.line, clause->at.column, clause->id,
                         other->at.file, other->at.line);
  }
  oc_clause *items = oc_arena_alloc(set->arena, set->count + t->count, sizeof(*items));
  if (!items) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for clauses");
  if (set->count) memcpy(items, set->items, set->count * sizeof(*items));
  if (t->count) memcpy(items + set->count, t->clauses, t->count * sizeof(*items));
  set->items = items;
  set->count += t->count;
  return OPS_OK;
}

static int32_t read_text(oc_clauses *set, const char *name, const char *text, size_t size,
                         ops_error *error) {
  oc_yaml_node *document = NULL;
  topic t = {0};
  const char *kept = oc_arena_copy_string(set->arena, name, strlen(name));
  if (!kept) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "%s: no memory", name);
  OPS_RETURN_IF_ERROR(oc_yaml_parse(set->arena, kept, text, size, &document, error));
  oc_reader reader = {.arena = set->arena, .file = kept, .error = error};
  if (document->next) {
    return oc_reader_fail(&reader, document->next, "expected one document in a file");
  }
  OPS_RETURN_IF_ERROR(oc_read_record(&reader, document, &topic_grammar, &t));
  return add_topic(set, &t, error);
}

static int32_t read_file(oc_clauses *set, const char *path, ops_error *error) {
  char *text = NULL;
  size_t size = 0;
  OPS_RETURN_IF_ERROR(oc_text_file_read(path, &text, &size, error));
  const int32_t status = read_text(set, path, text, size, error);
  free(text);
  return status;
}

static int is_yaml(const struct dirent *entry) {
  const size_t size = strlen(entry->d_name);
  return entry->d_name[0] != '.' && size > 5 && strcmp(entry->d_name + size - 5, ".yaml") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int32_t read_folder(oc_clauses *set, const char *folder, ops_error *error) {
  struct dirent **entries;
  const int count = scandir(folder, &entries, is_yaml, by_bytes);
  if (count < 0) {
    return ops_error_set(error, errno == ENOENT ? OPS_ERROR_NOT_FOUND : OPS_ERROR_IO,
                         "%s: cannot list it: %s", folder, strerror(errno));
  }
  int32_t status = OPS_OK;
  for (int i = 0; i < count; ++i) {
    char path[4096];
    const int size = snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
    free(entries[i]);
    if (status != OPS_OK) continue;
    status = (size_t)size < sizeof(path)
                 ? read_file(set, path, error)
                 : ops_error_set(error, OPS_ERROR_IO, "%s: the path is too long", folder);
  }
  free(entries);
  if (status != OPS_OK || set->count) return status;
  return ops_error_set(error, OPS_ERROR_NOT_FOUND, "%s: no file of clauses (*.yaml) in it",
                       folder);
}

static int32_t begin(oc_clauses **out_set, ops_error *error) {
  oc_clauses *set = calloc(1, sizeof(*set));
  if (set) set->arena = oc_arena_create(OC_CONTRACT_MAX_MEMORY);
  if (set && set->arena) {
    *out_set = set;
    return OPS_OK;
  }
  free(set);
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for clauses");
}

static int32_t finish(oc_clauses *set, int32_t status, oc_clauses **out_clauses) {
  if (status == OPS_OK) {
    *out_clauses = set;
  } else {
    oc_clauses_destroy(set);
  }
  return status;
}

int32_t oc_clauses_load(const char *folder, oc_clauses **out_clauses, ops_error *error) {
  oc_clauses *set = NULL;
  OPS_RETURN_IF_ERROR(begin(&set, error));
  return finish(set, read_folder(set, folder, error), out_clauses);
}

int32_t oc_clauses_parse(const char *name, const char *text, size_t size,
                         oc_clauses **out_clauses, ops_error *error) {
  oc_clauses *set = NULL;
  OPS_RETURN_IF_ERROR(begin(&set, error));
  return finish(set, read_text(set, name, text, size, error), out_clauses);
}

void oc_clauses_destroy(oc_clauses *clauses) {
  if (!clauses) return;
  oc_arena_destroy(clauses->arena);
  free(clauses);
}

const oc_clause *oc_clauses_find(const oc_clauses *clauses, const char *id) {
  return find(clauses, id, strcspn(id, " "));
}

const char *oc_clauses_next_id(const char **cursor, size_t *out_size) {
  if (!*cursor) return NULL;
  const char *id = *cursor + strspn(*cursor, " ");
  *out_size = strcspn(id, " ");
  *cursor = id + *out_size;
  return *out_size ? id : NULL;
}

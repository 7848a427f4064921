// SPDX-License-Identifier: Apache-2.0
//
// Files and folders of contracts. A folder is walked in sorted order, so that messages and
// cases come in the same order on every machine. Two contracts of one operator may not overlap.
#include <dirent.h>
#include <errno.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "contract/reader.h"
#include "contract/text_file.h"

#define MAX_FOLDER_DEPTH 8

typedef struct loader {
  oc_contracts *set;
  size_t capacity;
  size_t files;
  ops_error *error;
} loader;

static int32_t no_memory(ops_error *error, const char *name) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "%s: no memory", name);
}

static int32_t grow(loader *l, const char *name) {
  if (l->set->count < l->capacity) return OPS_OK;
  const size_t capacity = l->capacity ? 2 * l->capacity : 64;
  oc_contract *items = realloc(l->set->items, capacity * sizeof(*items));
  if (!items) return no_memory(l->error, name);
  l->set->items = items;
  l->capacity = capacity;
  return OPS_OK;
}

// All documents of a file are about the same operator.
static int32_t check_same_operator(const loader *l, size_t first) {
  const oc_contract *a = &l->set->items[first], *b = &l->set->items[l->set->count - 1];
  if (strcmp(a->op, b->op) == 0 && strcmp(a->domain, b->domain) == 0) return OPS_OK;
  return ops_error_set(l->error, OPS_ERROR_INVALID_MODEL,
                       "%s:%u:%u: the documents of a file are versions of one operator, %s/%s; "
                       "found %s/%s",
                       b->file, b->at.line, b->at.column, a->domain, a->op, b->domain, b->op);
}

static int32_t read_text(loader *l, const char *name, const char *text, size_t size) {
  oc_yaml_node *document = NULL;
  const size_t first = l->set->count;
  const char *kept = oc_arena_copy_string(l->set->arena, name, strlen(name));
  if (!kept) return no_memory(l->error, name);
  OPS_RETURN_IF_ERROR(oc_yaml_parse(l->set->arena, kept, text, size, &document, l->error));
  for (; document; document = document->next) {
    OPS_RETURN_IF_ERROR(grow(l, name));
    oc_contract *contract = &l->set->items[l->set->count];
    memset(contract, 0, sizeof(*contract));
    oc_reader reader = {
        .arena = l->set->arena, .file = kept, .error = l->error, .contract = contract};
    OPS_RETURN_IF_ERROR(oc_read_contract(&reader, document));
    ++l->set->count;
    OPS_RETURN_IF_ERROR(check_same_operator(l, first));
  }
  return OPS_OK;
}

static int32_t io_error(loader *l, const char *path, const char *what) {
  return ops_error_set(l->error, OPS_ERROR_IO, "%s: cannot %s: %s", path, what,
                       strerror(errno));
}

static int32_t read_file(loader *l, const char *path) {
  size_t size = 0;
  char *text = NULL;
  if (++l->files > OC_CONTRACT_MAX_FILES) {
    return ops_error_set(l->error, OPS_ERROR_INVALID_MODEL, "%s: more than %d contract files",
                         path, OC_CONTRACT_MAX_FILES);
  }
  OPS_RETURN_IF_ERROR(oc_text_file_read(path, &text, &size, l->error));
  const int32_t status = read_text(l, path, text, size);
  free(text);
  return status;
}

static bool ends_in_yaml(const char *name) {
  const size_t size = strlen(name);
  return size > 5 && strcmp(name + size - 5, ".yaml") == 0;
}

// Hidden entries, and folders that hold other things than contracts.
static int is_wanted(const struct dirent *entry) {
  return entry->d_name[0] != '.' && strcmp(entry->d_name, "schema") != 0 &&
         strcmp(entry->d_name, "provider") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int32_t read_folder(loader *l, const char *path, int depth);

static int32_t read_entry(loader *l, const char *folder, const char *name, int depth) {
  char path[4096];
  struct stat info;
  if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path)) {
    return ops_error_set(l->error, OPS_ERROR_IO, "%s/%s: the path is too long", folder, name);
  }
  if (lstat(path, &info) != 0) return io_error(l, path, "look at it");
  if (S_ISDIR(info.st_mode)) return read_folder(l, path, depth + 1);
  const bool file = S_ISREG(info.st_mode) || S_ISLNK(info.st_mode);
  return file && ends_in_yaml(name) ? read_file(l, path) : OPS_OK;
}

static int32_t read_folder(loader *l, const char *path, int depth) {
  struct dirent **entries;
  if (depth > MAX_FOLDER_DEPTH) {
    return ops_error_set(l->error, OPS_ERROR_IO, "%s: folders nested more than %d deep", path,
                         MAX_FOLDER_DEPTH);
  }
  const int count = scandir(path, &entries, is_wanted, by_bytes);
  if (count < 0) return io_error(l, path, "list it");
  int32_t status = OPS_OK;
  for (int i = 0; i < count; ++i) {
    if (status == OPS_OK) status = read_entry(l, path, entries[i]->d_name, depth);
    free(entries[i]);
  }
  free(entries);
  return status;
}

static int compare(const void *left, const void *right) {
  const oc_contract *a = left, *b = right;
  const int domain = strcmp(a->domain, b->domain);
  const int op = strcmp(a->op, b->op);
  if (domain || op) return domain ? domain : op;
  return (a->since > b->since) - (a->since < b->since);
}

static int32_t check_overlap(const loader *l) {
  for (size_t i = 1; i < l->set->count; ++i) {
    const oc_contract *a = &l->set->items[i - 1], *b = &l->set->items[i];
    if (strcmp(a->domain, b->domain) != 0 || strcmp(a->op, b->op) != 0) continue;
    if (b->since > a->until) continue;
    return ops_error_set(l->error, OPS_ERROR_INVALID_MODEL,
                         "%s:%u:%u: %s/%s since opset %d overlaps the contract at %s:%u: give "
                         "that one `until: %d`",
                         b->file, b->at.line, b->at.column, b->domain, b->op, b->since, a->file,
                         a->at.line, b->since - 1);
  }
  return OPS_OK;
}

static int32_t begin(loader *l, const char *name) {
  l->set = calloc(1, sizeof(*l->set));
  if (!l->set) return no_memory(l->error, name);
  l->set->arena = oc_arena_create(OC_CONTRACT_MAX_MEMORY);
  return l->set->arena ? OPS_OK : no_memory(l->error, name);
}

static int32_t finish(loader *l, int32_t status, const char *name, oc_contracts **out) {
  if (status == OPS_OK && l->set->count == 0) {
    status =
        ops_error_set(l->error, OPS_ERROR_NOT_FOUND, "%s: no contract (*.yaml) in it", name);
  }
  if (status == OPS_OK) {
    qsort(l->set->items, l->set->count, sizeof(*l->set->items), compare);
    status = check_overlap(l);
  }
  if (status == OPS_OK) {
    *out = l->set;
  } else {
    oc_contracts_destroy(l->set);
  }
  return status;
}

int32_t oc_contracts_parse(const char *name, const char *text, size_t size,
                           oc_contracts **out_contracts, ops_error *error) {
  loader l = {.error = error};
  int32_t status = begin(&l, name);
  if (status == OPS_OK && size > OC_CONTRACT_MAX_FILE_BYTES) {
    status = ops_error_set(error, OPS_ERROR_INVALID_MODEL, "%s:1:1: larger than %u bytes", name,
                           OC_CONTRACT_MAX_FILE_BYTES);
  }
  if (status == OPS_OK) status = read_text(&l, name, text, size);
  return finish(&l, status, name, out_contracts);
}

int32_t oc_contracts_load(const char *path, oc_contracts **out_contracts, ops_error *error) {
  loader l = {.error = error};
  struct stat info;
  int32_t status = begin(&l, path);
  if (status == OPS_OK && stat(path, &info) != 0) status = io_error(&l, path, "find it");
  if (status == OPS_OK) {
    status = S_ISDIR(info.st_mode) ? read_folder(&l, path, 1) : read_file(&l, path);
  }
  return finish(&l, status, path, out_contracts);
}

void oc_contracts_destroy(oc_contracts *contracts) {
  if (!contracts) return;
  oc_arena_destroy(contracts->arena);
  free(contracts->items);
  free(contracts);
}

const oc_contract *oc_contracts_find(const oc_contracts *contracts, const char *domain,
                                     const char *op, int32_t opset) {
  for (size_t i = 0; i < contracts->count; ++i) {
    const oc_contract *c = &contracts->items[i];
    if (strcmp(c->domain, domain) == 0 && strcmp(c->op, op) == 0 && c->since <= opset &&
        opset <= c->until) {
      return c;
    }
  }
  return NULL;
}

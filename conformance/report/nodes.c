// SPDX-License-Identifier: Apache-2.0
//
// A record is a run of lines, one per node: case, place, node, op, provider, reason, with tabs
// between them. Place is the number of the node in the model; sorting by case, then by the
// record's position in the file, then by place brings the last record of a case to its end.
#include "report/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ops_support/error.h"
#include "report/report.h"

#define FIELDS 6

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the list of nodes");
}

int oc_nodes_file(void) {
  const int file = memfd_create("opsconform-nodes", MFD_CLOEXEC);
  if (file >= 0) fcntl(file, F_SETFL, O_APPEND);
  return file;
}

// ---- Writing --------------------------------------------------------------------------------

static void put_field(FILE *stream, const char *text, char end) {
  for (; text && *text; ++text) {
    fputc((unsigned char)*text < 0x20 ? ' ' : *text, stream);
  }
  fputc(end, stream);
}

int32_t oc_nodes_append(int file, uint32_t case_index, const oc_node_run *items, size_t count,
                        ops_error *error) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return no_memory(error);
  for (size_t i = 0; i < count; ++i) {
    fprintf(stream, "%" PRIu32 "\t%zu\t", case_index, i);
    put_field(stream, items[i].node, '\t');
    put_field(stream, items[i].op, '\t');
    put_field(stream, items[i].provider, '\t');
    put_field(stream, items[i].reason, '\n');
  }
  int32_t status = fclose(stream) == 0 ? OPS_OK : no_memory(error);
  if (status == OPS_OK && size > 0 && write(file, text, size) != (ssize_t)size) {
    status = ops_error_set(error, OPS_ERROR_IO, "the list of nodes: %s", strerror(errno));
  }
  free(text);
  return status;
}

// ---- Reading --------------------------------------------------------------------------------

static int32_t read_text(int file, char **out_text, size_t *out_size, ops_error *error) {
  const off_t end = lseek(file, 0, SEEK_END);
  if (end < 0 || end > OC_NODES_MAX_BYTES) {
    return ops_error_set(error, OPS_ERROR_IO, "the list of nodes: expected at most %u bytes",
                         OC_NODES_MAX_BYTES);
  }
  char *text = malloc((size_t)end + 1);
  if (!text) return no_memory(error);
  size_t size = 0;
  while (size < (size_t)end) {
    const ssize_t got = pread(file, text + size, (size_t)end - size, (off_t)size);
    if (got <= 0) break;
    size += (size_t)got;
  }
  text[size] = 0;
  *out_text = text;
  *out_size = size;
  return OPS_OK;
}

static size_t count_lines(const char *text, size_t size) {
  size_t lines = 0;
  for (size_t i = 0; i < size; ++i) lines += text[i] == '\n';
  return lines;
}

static bool parse_u32(const char *text, uint32_t *out_value) {
  char *end = NULL;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  *out_value = (uint32_t)value;
  return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && value < UINT32_MAX;
}

// Splits a line in place. False if it is no record.
static bool parse_line(char *line, oc_node_run *out_item, uint32_t *out_place) {
  char *fields[FIELDS];
  for (size_t i = 0; i < FIELDS; ++i) {
    fields[i] = line;
    char *tab = strchr(line, '\t');
    if ((tab == NULL) != (i == FIELDS - 1)) return false;
    if (tab) {
      *tab = 0;
      line = tab + 1;
    }
  }
  for (size_t i = 2; i < FIELDS; ++i) oc_text_clean(fields[i], strlen(fields[i]) + 1);
  *out_item = (oc_node_run){
      .node = fields[2], .op = fields[3], .provider = fields[4], .reason = fields[5]};
  return parse_u32(fields[0], &out_item->case_index) && parse_u32(fields[1], out_place);
}

typedef struct entry {
  oc_node_run item;
  uint32_t record;  // grows with the position in the file
} entry;

static int compare_entries(const void *a, const void *b) {
  const entry *left = a, *right = b;
  if (left->item.case_index != right->item.case_index) {
    return left->item.case_index < right->item.case_index ? -1 : 1;
  }
  // Within a case the texts lie in the order of the file.
  return (left->item.node > right->item.node) - (left->item.node < right->item.node);
}

static size_t parse(char *text, entry *entries) {
  size_t count = 0;
  uint32_t record = 0;
  for (char *line = text, *next; *line; line = next) {
    uint32_t place;
    next = strchr(line, '\n');
    if (!next) break;
    *next++ = 0;
    if (!parse_line(line, &entries[count].item, &place)) continue;
    record += place == 0;
    entries[count++].record = record;
  }
  return count;
}

// Keeps the last record of each case.
static size_t keep_last(const entry *entries, size_t count, oc_node_run *items) {
  size_t kept = 0;
  for (size_t begin = 0, end; begin < count; begin = end) {
    end = begin;
    while (end < count && entries[end].item.case_index == entries[begin].item.case_index) ++end;
    for (size_t i = begin; i < end; ++i) {
      if (entries[i].record == entries[end - 1].record) items[kept++] = entries[i].item;
    }
  }
  return kept;
}

int32_t oc_nodes_read(int file, oc_nodes *out_nodes, ops_error *error) {
  size_t size = 0;
  *out_nodes = (oc_nodes){0};
  OPS_RETURN_IF_ERROR(read_text(file, &out_nodes->text, &size, error));
  const size_t lines = count_lines(out_nodes->text, size);
  entry *entries = calloc(lines + 1, sizeof *entries);
  out_nodes->items = calloc(lines + 1, sizeof *out_nodes->items);
  if (!entries || !out_nodes->items) {
    free(entries);
    oc_nodes_finish(out_nodes);
    return no_memory(error);
  }
  const size_t count = parse(out_nodes->text, entries);
  qsort(entries, count, sizeof *entries, compare_entries);
  out_nodes->count = keep_last(entries, count, out_nodes->items);
  free(entries);
  return OPS_OK;
}

void oc_nodes_finish(oc_nodes *nodes) {
  free(nodes->items);
  free(nodes->text);
  *nodes = (oc_nodes){0};
}

// ---- Asking ---------------------------------------------------------------------------------

const oc_node_run *oc_nodes_of(const oc_nodes *nodes, uint32_t case_index, size_t *out_count) {
  size_t low = 0, high = nodes->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (nodes->items[middle].case_index < case_index) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  size_t end = low;
  while (end < nodes->count && nodes->items[end].case_index == case_index) ++end;
  *out_count = end - low;
  return nodes->items + low;
}

size_t oc_nodes_sum(const oc_node_run *items, size_t count,
                    oc_node_sum sums[OC_NODES_MAX_PROVIDERS]) {
  size_t used = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t k = 0;
    while (k < used && strcmp(sums[k].provider, items[i].provider) != 0) ++k;
    if (k == used) {
      if (used == OC_NODES_MAX_PROVIDERS) continue;
      sums[used++] = (oc_node_sum){.provider = items[i].provider};
    }
    ++sums[k].count;
  }
  return used;
}

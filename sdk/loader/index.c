// SPDX-License-Identifier: Apache-2.0
//
// An open-addressing table from (domain, operator) to a run of a sorted array of definitions.
#include "loader/index.h"

#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
  uint64_t begin;
  uint64_t count;  // 0: free slot
} run;

struct ops_kernel_index {
  const ops_kernel_def *
      *defs;  // sorted: domain, operator, falling preference, order of the table
  run *slots;
  uint64_t mask;
};

ops_str ops_domain_canonical(ops_str domain) {
  const ops_str empty = {NULL, 0};
  return ops_str_equal(domain, "ai.onnx") ? empty : domain;
}

// FNV-1a, 64 bits.
static uint64_t hash_text(uint64_t hash, ops_str text) {
  for (uint64_t i = 0; i < text.size; ++i)
    hash = (hash ^ (unsigned char)text.data[i]) * UINT64_C(0x100000001b3);
  return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static uint64_t hash_key(ops_str domain, ops_str op) {
  return hash_text(hash_text(UINT64_C(0xcbf29ce484222325), ops_domain_canonical(domain)), op);
}

static int compare_text(ops_str a, ops_str b) {
  const uint64_t size = a.size < b.size ? a.size : b.size;
  const int order = size ? memcmp(a.data, b.data, size) : 0;
  return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_key(const ops_kernel_def *a, ops_str domain, ops_str op) {
  const int order = compare_text(ops_domain_canonical(a->domain), ops_domain_canonical(domain));
  return order ? order : compare_text(a->op, op);
}

static int compare_defs(const void *left, const void *right) {
  const ops_kernel_def *a = *(const ops_kernel_def *const *)left;
  const ops_kernel_def *b = *(const ops_kernel_def *const *)right;
  const int order = compare_key(a, b->domain, b->op);
  if (order) return order;
  if (a->preference != b->preference) return a->preference > b->preference ? -1 : 1;
  return (a > b) - (a < b);
}

static void insert_run(ops_kernel_index *index, run entry) {
  const ops_kernel_def *def = index->defs[entry.begin];
  uint64_t slot = hash_key(def->domain, def->op) & index->mask;
  while (index->slots[slot].count) slot = (slot + 1) & index->mask;
  index->slots[slot] = entry;
}

static void insert_all(ops_kernel_index *index, uint64_t count) {
  for (uint64_t begin = 0; begin < count;) {
    const ops_kernel_def *first = index->defs[begin];
    uint64_t end = begin + 1;
    while (end < count && compare_key(index->defs[end], first->domain, first->op) == 0) ++end;
    insert_run(index, (run){begin, end - begin});
    begin = end;
  }
}

int32_t ops_kernel_index_create(const ops_provider *provider, ops_kernel_index **out_index,
                                ops_error *error) {
  const uint64_t count = provider->kernel_count;
  uint64_t capacity = 16;
  while (capacity < 2 * count) capacity *= 2;
  ops_kernel_index *index = calloc(1, sizeof *index);
  if (index) {
    index->defs = calloc(count ? count : 1, sizeof *index->defs);
    index->slots = calloc(capacity, sizeof *index->slots);
    index->mask = capacity - 1;
  }
  if (!index || !index->defs || !index->slots) {
    ops_kernel_index_destroy(index);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to index %llu kernels",
                         (unsigned long long)count);
  }
  for (uint64_t i = 0; i < count; ++i)
    index->defs[i] = OPS_AT(ops_kernel_def, provider->kernels, provider->kernel_stride, i);
  qsort(index->defs, count, sizeof *index->defs, compare_defs);
  insert_all(index, count);
  *out_index = index;
  return OPS_OK;
}

void ops_kernel_index_destroy(ops_kernel_index *index) {
  if (!index) return;
  free(index->defs);
  free(index->slots);
  free(index);
}

const ops_kernel_def *const *ops_kernel_index_find(const ops_kernel_index *index,
                                                   ops_str domain, ops_str op,
                                                   uint64_t *out_count) {
  uint64_t slot = hash_key(domain, op) & index->mask;
  for (; index->slots[slot].count; slot = (slot + 1) & index->mask) {
    const run entry = index->slots[slot];
    if (compare_key(index->defs[entry.begin], domain, op) != 0) continue;
    *out_count = entry.count;
    return index->defs + entry.begin;
  }
  *out_count = 0;
  return NULL;
}

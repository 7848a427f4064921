// SPDX-License-Identifier: Apache-2.0
//
// The key is a 128-bit hash (content_hash.h) of the constant's type, shape, format and bytes,
// the owner's and the packing's name, the size and the alignment. The original may be released,
// so contents cannot be compared; at 128 bits a chance collision is out of reach. Each store
// hashes with a secret of its own, so that no model can be made to collide with another's
// weights.
#include "loader/packed.h"

#include <ops_support/error.h>
#include <ops_support/regions.h>
#include <ops_support/tensor.h>
#include <pthread.h>
#include <stdlib.h>

#include "loader/content_hash.h"

struct ops_packed {
  struct ops_packed *next;
  ops_content_hash key;
  uint64_t references;
  int32_t ready;      // filled: anyone may read it
  int32_t abandoned;  // the one who was to fill it gave up: the next who asks will
  pthread_t filler;   // who is to fill it, while neither ready nor abandoned
  void *memory;
  uint64_t size;
};

struct ops_packed_store {
  pthread_mutex_t lock;
  pthread_cond_t changed;  // an entry became ready or went away
  uint64_t references;
  ops_packed *entries;
  ops_packed_stats stats;
  ops_regions *regions;
  ops_content_secret secret;
};

// Constants are contiguous, so their bytes are their contents.
static void hash_tensor(ops_content_hasher *hasher, const ops_tensor *tensor) {
  const int64_t head[] = {tensor->type, tensor->rank, tensor->bit_offset};
  ops_content_hasher_add(hasher, head, sizeof head);
  ops_content_hasher_add(hasher, tensor->dims, (uint64_t)tensor->rank * sizeof *tensor->dims);
  ops_content_hasher_add(hasher, tensor->byte_size ? ops_tensor_data(tensor) : NULL,
                         tensor->byte_size);
}

static void hash_constant(ops_content_hasher *hasher, const ops_constant *source) {
  const int64_t head[] = {source->format, source->block_rows, source->block_cols};
  ops_content_hasher_add(hasher, head, sizeof head);
  if (source->format == OPS_CONSTANT_DENSE) {
    hash_tensor(hasher, &source->dense.tensor);
    return;
  }
  ops_content_hasher_add(hasher, source->dims, (uint64_t)source->rank * sizeof *source->dims);
  hash_tensor(hasher, &source->values);
  hash_tensor(hasher, &source->indices);
  if (source->format != OPS_CONSTANT_COO) hash_tensor(hasher, &source->offsets);
}

static ops_content_hash key_of(const ops_packed_store *store, ops_str owner,
                               const ops_constant *source, ops_str packing, uint64_t size,
                               uint64_t alignment) {
  const uint64_t numbers[] = {size, alignment};
  ops_content_hasher hasher;
  ops_content_hasher_init(&hasher, &store->secret);
  ops_content_hasher_add(&hasher, numbers, sizeof numbers);
  ops_content_hasher_add(&hasher, owner.data, owner.size);
  ops_content_hasher_add(&hasher, packing.data, packing.size);
  hash_constant(&hasher, source);
  return ops_content_hasher_finish(&hasher);
}

ops_packed_store *ops_packed_store_create(void) {
  ops_packed_store *store = calloc(1, sizeof *store);
  if (store) store->regions = ops_regions_create();
  if (!store || !store->regions) {
    free(store);
    return NULL;
  }
  pthread_mutex_init(&store->lock, NULL);
  pthread_cond_init(&store->changed, NULL);
  ops_content_secret_draw(&store->secret);
  store->references = 1;
  return store;
}

ops_packed_store *ops_packed_store_retain(ops_packed_store *store) {
  pthread_mutex_lock(&store->lock);
  ++store->references;
  pthread_mutex_unlock(&store->lock);
  return store;
}

void ops_packed_store_release(ops_packed_store *store) {
  if (!store) return;
  pthread_mutex_lock(&store->lock);
  const int last = --store->references == 0;
  pthread_mutex_unlock(&store->lock);
  if (!last) return;
  while (store->entries) {
    ops_packed *entry = store->entries;
    store->entries = entry->next;
    ops_regions_free(store->regions, entry->memory);
    free(entry);
  }
  ops_regions_release(store->regions);
  pthread_cond_destroy(&store->changed);
  pthread_mutex_destroy(&store->lock);
  free(store);
}

static ops_packed *find(ops_packed_store *store, ops_content_hash key) {
  for (ops_packed *entry = store->entries; entry; entry = entry->next)
    if (entry->key.high == key.high && entry->key.low == key.low) return entry;
  return NULL;
}

static ops_packed *add(ops_packed_store *store, ops_content_hash key, uint64_t size,
                       uint64_t alignment) {
  ops_packed *entry = calloc(1, sizeof *entry);
  if (entry) entry->memory = ops_regions_allocate(store->regions, size, alignment);
  if (!entry || !entry->memory) {
    free(entry);
    return NULL;
  }
  entry->size = size;
  ++store->stats.count;
  store->stats.bytes += size;
  entry->key = key;
  entry->abandoned = 1;  // by nobody yet: who asked for it takes it over
  entry->next = store->entries;
  store->entries = entry;
  return entry;
}

static int is_being_filled(const ops_packed *entry) {
  return !entry->ready && !entry->abandoned;
}

// Adds a reference and waits while another fills the entry. Returns 1 if the caller must fill
// it. The lock is held.
static int32_t take(ops_packed_store *store, ops_packed *entry) {
  ++entry->references;
  while (is_being_filled(entry)) pthread_cond_wait(&store->changed, &store->lock);
  if (entry->ready) return 0;
  entry->abandoned = 0;
  entry->filler = pthread_self();
  return 1;
}

// Strings have no bytes to hash, and nothing that packs them.
static int32_t check_request(const ops_constant *source, ops_str packing, uint64_t alignment,
                             ops_error *error) {
  if (source->format == OPS_CONSTANT_DENSE && source->dense.kind != OPS_ARG_TENSOR)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "packed constant '%.*s': its source is no tensor of numbers",
                         OPS_STR_FMT(packing));
  if (alignment & (alignment - 1))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "packed constant '%.*s': alignment %llu is not a power of two",
                         OPS_STR_FMT(packing), (unsigned long long)alignment);
  return OPS_OK;
}

ops_packed_stats ops_packed_store_count(ops_packed_store *store) {
  pthread_mutex_lock(&store->lock);
  const ops_packed_stats stats = store->stats;
  pthread_mutex_unlock(&store->lock);
  return stats;
}

int32_t ops_packed_store_acquire(ops_packed_store *store, ops_str owner,
                                 const ops_constant *source, ops_str packing, uint64_t size,
                                 uint64_t alignment, ops_packed **out_packed, void **out_memory,
                                 int32_t *out_fill, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_request(source, packing, alignment, error));
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  const ops_content_hash key = key_of(store, owner, source, packing, size, alignment);
  pthread_mutex_lock(&store->lock);
  ops_packed *entry = find(store, key);
  if (!entry) entry = add(store, key, size, alignment);
  const int waits_for_itself =
      entry && is_being_filled(entry) && pthread_equal(entry->filler, pthread_self());
  if (entry && !waits_for_itself) *out_fill = take(store, entry);
  pthread_mutex_unlock(&store->lock);
  if (waits_for_itself)
    return ops_error_set(
        error, OPS_ERROR_PRECONDITION,
        "packed constant '%.*s': this thread was asked to fill it and asks for "
        "it again; commit or release it first",
        OPS_STR_FMT(packing));
  if (!entry)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY,
                         "no host memory for %llu bytes of packed constant '%.*s'",
                         (unsigned long long)size, OPS_STR_FMT(packing));
  *out_packed = entry;
  *out_memory = entry->memory;
  return OPS_OK;
}

void ops_packed_store_commit(ops_packed_store *store, ops_packed *packed) {
  pthread_mutex_lock(&store->lock);
  packed->ready = 1;
  pthread_cond_broadcast(&store->changed);
  pthread_mutex_unlock(&store->lock);
}

void ops_packed_store_drop(ops_packed_store *store, ops_packed *packed) {
  if (!packed) return;
  pthread_mutex_lock(&store->lock);
  if (!packed->ready) {
    packed->abandoned = 1;
    pthread_cond_broadcast(&store->changed);
  }
  if (--packed->references == 0) {
    ops_packed **link = &store->entries;
    while (*link != packed) link = &(*link)->next;
    *link = packed->next;
    --store->stats.count;
    store->stats.bytes -= packed->size;
    ops_regions_free(store->regions, packed->memory);
    free(packed);
  }
  pthread_mutex_unlock(&store->lock);
}

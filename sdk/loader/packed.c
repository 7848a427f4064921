// SPDX-License-Identifier: Apache-2.0
//
// The key is a 128-bit FNV-1a hash (Fowler, Noll, Vo; the offset basis and prime are theirs) of
// the constant's type, shape, format and bytes, the packing's name, the size and the alignment.
// The original may be released, so contents cannot be compared; at 128 bits a chance collision
// is out of reach.
#include "loader/packed.h"

#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 hash128;

struct ops_packed {
  struct ops_packed *next;
  hash128 key;
  uint64_t references;
  int32_t ready;      // filled: anyone may read it
  int32_t abandoned;  // the one who was to fill it gave up: the next who asks will
  pthread_t filler;   // who is to fill it, while neither ready nor abandoned
  void *memory;
};

struct ops_packed_store {
  pthread_mutex_t lock;
  pthread_cond_t changed;  // an entry became ready or went away
  uint64_t references;
  ops_packed *entries;
};

static hash128 hash_bytes(hash128 hash, const void *data, uint64_t size) {
  const hash128 prime = (hash128)1 << 88 | 0x13b;
  const unsigned char *bytes = data;
  for (uint64_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * prime;
  return hash;
}

static hash128 hash_number(hash128 hash, int64_t number) {
  return hash_bytes(hash, &number, sizeof number);
}

// Constants are contiguous, so their bytes are their contents.
static hash128 hash_tensor(hash128 hash, const ops_tensor *tensor) {
  hash = hash_number(hash_number(hash, tensor->type), tensor->rank);
  hash = hash_number(hash, tensor->bit_offset);
  for (int32_t i = 0; i < tensor->rank; ++i) hash = hash_number(hash, tensor->dims[i]);
  if (tensor->byte_size) hash = hash_bytes(hash, ops_tensor_data(tensor), tensor->byte_size);
  return hash;
}

static hash128 hash_constant(hash128 hash, const ops_constant *source) {
  hash = hash_number(hash, source->format);
  if (source->format == OPS_CONSTANT_DENSE) return hash_tensor(hash, &source->dense.tensor);
  hash = hash_number(hash_number(hash, source->block_rows), source->block_cols);
  hash = hash_tensor(hash_tensor(hash, &source->values), &source->indices);
  for (int32_t i = 0; i < source->rank; ++i) hash = hash_number(hash, source->dims[i]);
  return source->format == OPS_CONSTANT_COO ? hash : hash_tensor(hash, &source->offsets);
}

static hash128 key_of(const ops_constant *source, ops_str packing, uint64_t size,
                      uint64_t alignment) {
  const hash128 basis =
      (hash128)UINT64_C(0x6c62272e07bb0142) << 64 | UINT64_C(0x62b821756295c58d);
  hash128 hash = hash_number(hash_number(basis, (int64_t)size), (int64_t)alignment);
  hash = hash_bytes(hash_number(hash, (int64_t)packing.size), packing.data, packing.size);
  return hash_constant(hash, source);
}

ops_packed_store *ops_packed_store_create(void) {
  ops_packed_store *store = calloc(1, sizeof *store);
  if (!store) return NULL;
  pthread_mutex_init(&store->lock, NULL);
  pthread_cond_init(&store->changed, NULL);
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
    free(entry->memory);
    free(entry);
  }
  pthread_cond_destroy(&store->changed);
  pthread_mutex_destroy(&store->lock);
  free(store);
}

static ops_packed *find(ops_packed_store *store, hash128 key) {
  for (ops_packed *entry = store->entries; entry; entry = entry->next)
    if (entry->key == key) return entry;
  return NULL;
}

static ops_packed *add(ops_packed_store *store, hash128 key, uint64_t size,
                       uint64_t alignment) {
  ops_packed *entry = calloc(1, sizeof *entry);
  if (!entry || posix_memalign(&entry->memory, alignment, size ? size : 1) != 0) {
    free(entry);
    return NULL;
  }
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

int32_t ops_packed_store_acquire(ops_packed_store *store, const ops_constant *source,
                                 ops_str packing, uint64_t size, uint64_t alignment,
                                 ops_packed **out_packed, void **out_memory, int32_t *out_fill,
                                 ops_error *error) {
  OPS_RETURN_IF_ERROR(check_request(source, packing, alignment, error));
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  const hash128 key = key_of(source, packing, size, alignment);
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
    free(packed->memory);
    free(packed);
  }
  pthread_mutex_unlock(&store->lock);
}

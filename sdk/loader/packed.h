// SPDX-License-Identifier: Apache-2.0
//
// Prepacked constants in host memory, keyed by content and shared between kernels and sessions.
#ifndef OPS_LOADER_PACKED_H_
#define OPS_LOADER_PACKED_H_

#include <ops/host.h>

typedef struct ops_packed_store ops_packed_store;

// A store is thread-safe and counts its references: every host that uses it holds one.
ops_packed_store *ops_packed_store_create(void);  // NULL if there is no memory
ops_packed_store *ops_packed_store_retain(ops_packed_store *store);
void ops_packed_store_release(ops_packed_store *store);  // accepts NULL

// How many constants the store holds, and their bytes.
typedef struct ops_packed_stats {
  uint64_t count, bytes;
} ops_packed_stats;

ops_packed_stats ops_packed_store_count(ops_packed_store *store);

// The functions behind ops_host_api.packed_…; the kind is always OPS_MEMORY_HOST. `owner` is
// who gives meaning to the packing's name: what one provider packed no other gets. A thread
// that was told to fill an entry and asks for it again before it commits gets PRECONDITION,
// since it would wait for itself. INVALID_ARGUMENT: a constant of strings, an alignment that is
// no power of two.
int32_t ops_packed_store_acquire(ops_packed_store *store, ops_str owner,
                                 const ops_constant *source, ops_str packing, uint64_t size,
                                 uint64_t alignment, ops_packed **out_packed, void **out_memory,
                                 int32_t *out_fill, ops_error *error);
void ops_packed_store_commit(ops_packed_store *store, ops_packed *packed);
void ops_packed_store_drop(ops_packed_store *store, ops_packed *packed);

#endif  // OPS_LOADER_PACKED_H_

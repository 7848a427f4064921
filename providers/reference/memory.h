// SPDX-License-Identifier: Apache-2.0
//
// A chain of allocations from the host that are freed together.
#ifndef REFERENCE_MEMORY_H_
#define REFERENCE_MEMORY_H_

#include <ops/ops.h>

typedef struct ref_memory {
  const ops_host_api *api;
  ops_host *host;
  void *last;
} ref_memory;

// `count` times `size` zeroed bytes, aligned to 64; NULL on exhaustion or overflow. Never NULL
// for an empty request.
void *ref_memory_take(ref_memory *memory, uint64_t count, uint64_t size);
void ref_memory_free_all(ref_memory *memory);

#endif  // REFERENCE_MEMORY_H_

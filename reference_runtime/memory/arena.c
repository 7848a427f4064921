// SPDX-License-Identifier: Apache-2.0
//
// The pool keeps its waiting blocks in an array sorted by size, smallest first. All blocks have
// one alignment, the largest that was ever asked for: a request that needs more drops them.
#include "memory/arena.h"

#include <ops_support/error.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct rt_arena_pool {
  rt_allocator *allocator;
  pthread_mutex_t mutex;
  uint64_t alignment;
  rt_arena idle[RT_ARENA_MAX_IDLE + 1];
  uint32_t idle_count;
};

int32_t rt_arena_pool_create(rt_allocator *allocator, rt_arena_pool **out_pool,
                             ops_error *error) {
  *out_pool = NULL;
  rt_arena_pool *pool = calloc(1, sizeof *pool);
  if (!pool) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an arena pool");
  pool->allocator = allocator;
  pool->alignment = RT_MEMORY_HOST_ALIGNMENT;
  pthread_mutex_init(&pool->mutex, NULL);
  *out_pool = pool;
  return OPS_OK;
}

static void remove_at(rt_arena_pool *pool, uint32_t index) {
  memmove(&pool->idle[index], &pool->idle[index + 1],
          (pool->idle_count - index - 1) * sizeof pool->idle[0]);
  pool->idle_count--;
}

static void insert(rt_arena_pool *pool, rt_arena arena) {
  uint32_t at = 0;
  while (at < pool->idle_count && pool->idle[at].size <= arena.size) at++;
  memmove(&pool->idle[at + 1], &pool->idle[at], (pool->idle_count - at) * sizeof pool->idle[0]);
  pool->idle[at] = arena;
  pool->idle_count++;
}

static int take_idle(rt_arena_pool *pool, uint64_t size, rt_arena *out_arena) {
  for (uint32_t i = 0; i < pool->idle_count; ++i) {
    if (pool->idle[i].size < size) continue;
    *out_arena = pool->idle[i];
    remove_at(pool, i);
    return 1;
  }
  return 0;
}

void rt_arena_pool_shrink(rt_arena_pool *pool) {
  rt_arena freed[RT_ARENA_MAX_IDLE + 1];
  pthread_mutex_lock(&pool->mutex);
  const uint32_t count = pool->idle_count;
  memcpy(freed, pool->idle, count * sizeof freed[0]);
  pool->idle_count = 0;
  pthread_mutex_unlock(&pool->mutex);
  for (uint32_t i = 0; i < count; ++i)
    rt_allocator_free(pool->allocator, freed[i].memory, freed[i].size);
}

void rt_arena_pool_destroy(rt_arena_pool *pool) {
  if (!pool) return;
  rt_arena_pool_shrink(pool);
  pthread_mutex_destroy(&pool->mutex);
  free(pool);
}

int32_t rt_arena_acquire(rt_arena_pool *pool, uint64_t size, uint64_t alignment,
                         rt_arena *out_arena, ops_error *error) {
  *out_arena = (rt_arena){0};
  pthread_mutex_lock(&pool->mutex);
  const int stale = alignment > pool->alignment;
  if (stale) pool->alignment = alignment;
  const int found = !stale && take_idle(pool, size, out_arena);
  alignment = pool->alignment;
  pthread_mutex_unlock(&pool->mutex);
  if (found) return OPS_OK;
  if (stale) rt_arena_pool_shrink(pool);

  void *memory = NULL;
  int32_t status = rt_allocator_allocate(pool->allocator, size, alignment, OPS_USAGE_ACTIVATION,
                                         &memory, error);
  if (status == OPS_ERROR_OUT_OF_MEMORY) {
    rt_arena_pool_shrink(pool);
    status = rt_allocator_allocate(pool->allocator, size, alignment, OPS_USAGE_ACTIVATION,
                                   &memory, error);
  }
  if (status == OPS_OK) *out_arena = (rt_arena){memory, size};
  return status;
}

void rt_arena_release(rt_arena_pool *pool, rt_arena arena) {
  if (!arena.memory) return;
  rt_arena dropped = {0};
  pthread_mutex_lock(&pool->mutex);
  insert(pool, arena);
  if (pool->idle_count > RT_ARENA_MAX_IDLE) {
    dropped = pool->idle[0];
    remove_at(pool, 0);
  }
  pthread_mutex_unlock(&pool->mutex);
  rt_allocator_free(pool->allocator, dropped.memory, dropped.size);
}

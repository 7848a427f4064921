// SPDX-License-Identifier: Apache-2.0
//
// A pool of threads for parallel loops.
#ifndef OPS_LOADER_PARALLEL_H_
#define OPS_LOADER_PARALLEL_H_

#include <ops/host.h>

typedef struct ops_pool ops_pool;

// `workers` threads, the caller of a loop included. Threads start with the first loop that
// needs them. NULL if there is no memory.
ops_pool *ops_pool_create(int32_t workers);
void ops_pool_destroy(ops_pool *pool);  // accepts NULL; joins the threads
int32_t ops_pool_workers(const ops_pool *pool);

// Runs body over [0, count) in pieces of at least `grain` items. A loop that finds the pool
// busy (a nested loop, or one of another thread) runs on its caller alone, so loops never wait
// for another. No two bodies of one loop, bodies of loops nested in it included, run with the
// same worker number at once; those of loops that different threads began may.
void ops_pool_run(ops_pool *pool, int64_t count, int64_t grain, ops_parallel_body body,
                  void *context);

#endif  // OPS_LOADER_PARALLEL_H_

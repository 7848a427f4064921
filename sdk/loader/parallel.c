// SPDX-License-Identifier: Apache-2.0
//
// One loop at a time is spread over the pool. The range is cut into equal pieces, as many as
// keep all workers busy without falling below the grain. Each worker has a share of them, the
// same part of the range in every loop, because what it wrote in the last one is in its caches;
// who has finished its own share takes pieces of the others'. Pieces are taken without the
// lock.
//
// Who has nothing to do looks around for kSpinNanoseconds before it sleeps: kernels follow each
// other within microseconds, and to be woken takes longer than many of them run.
//
// Each thread knows its number in the pool it is working for, so that a nested loop, which runs
// on its caller alone, gives its bodies the number of the body that called it: numbers stay
// distinct whatever is nested.
#include "loader/parallel.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  kPiecesPerWorker = 4,
  kMaxWorkers = 256,
  kSpinNanoseconds = 100000,
  kSpinsPerLook = 32,
  kCacheLine = 64,
};

typedef struct loop {
  ops_parallel_body body;
  void *context;
  int64_t count;
  int64_t piece;  // items in a piece
} loop;

// The part of the current loop that one worker begins with. A cache line of its own.
typedef struct share {
  alignas(kCacheLine) _Atomic int64_t next;  // first item not handed out
  int64_t end;
} share;

typedef struct worker {
  share share;
  pthread_t thread;  // none for worker 0, the caller of each loop
} worker;

struct ops_pool {
  pthread_mutex_t lock;
  pthread_cond_t work;  // a loop has begun, or the pool ends
  pthread_cond_t done;  // a worker has left the loop
  loop current;
  // Changed under the lock, and watched without it.
  _Atomic uint64_t generation;  // of the loop; tells a worker that a new one has begun
  atomic_int active;            // threads inside the current loop
  atomic_int ending;
  int32_t busy;  // 1 while a loop is spread
  int32_t workers;
  int32_t started;  // workers with a thread, of worker 1 and on
  worker worker[];
};

typedef struct thread_start {
  ops_pool *pool;
  int32_t worker;
} thread_start;

// The pool and the number of the body that runs on this thread; no pool: none runs.
typedef struct place {
  const ops_pool *pool;
  int32_t worker;
} place;
static _Thread_local place running;

// Takes the next piece of a share; 0 if none is left.
static int take_piece(share *from, int64_t piece, int64_t *begin, int64_t *end) {
  *begin = atomic_load_explicit(&from->next, memory_order_relaxed);
  do {
    if (*begin >= from->end) return 0;
    *end = from->end - *begin > piece ? *begin + piece : from->end;
  } while (!atomic_compare_exchange_weak_explicit(&from->next, begin, *end,
                                                  memory_order_relaxed, memory_order_relaxed));
  return 1;
}

// Runs one piece. A body may run a loop of another pool, so the outer place is remembered.
static void run_body(const ops_pool *pool, const loop *work, int64_t begin, int64_t end,
                     int32_t worker) {
  const place outer = running;
  running = (place){pool, worker};
  work->body(work->context, begin, end, worker);
  running = outer;
}

// Works on the current loop until no piece is left, the worker's own share first. The loop and
// the shares stay as they are while a thread is active or the caller works.
static void work_on(ops_pool *pool, int32_t worker) {
  const loop work = pool->current;
  int64_t begin, end;
  for (int32_t i = 0; i < pool->workers; ++i) {
    share *from = &pool->worker[(worker + i) % pool->workers].share;
    while (take_piece(from, work.piece, &begin, &end))
      run_body(pool, &work, begin, end, worker);
  }
}

static void pause_thread(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t now_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int has_begun(ops_pool *pool, uint64_t seen) {
  return atomic_load(&pool->generation) != seen || atomic_load(&pool->ending);
}

static int is_done(ops_pool *pool, uint64_t ignored) {
  (void)ignored;
  return atomic_load(&pool->active) == 0;
}

// Looks for a while whether `condition` holds; the lock, held by the caller, is free meanwhile.
static void spin(ops_pool *pool, int (*condition)(ops_pool *, uint64_t), uint64_t seen) {
  pthread_mutex_unlock(&pool->lock);
  const int64_t end = now_nanoseconds() + kSpinNanoseconds;
  while (!condition(pool, seen) && now_nanoseconds() < end)
    for (int i = 0; i < kSpinsPerLook && !condition(pool, seen); ++i) pause_thread();
  pthread_mutex_lock(&pool->lock);
}

static int may_work(const ops_pool *pool, uint64_t seen) {
  return pool->busy && pool->generation != seen;
}

static void *thread_main(void *argument) {
  const thread_start start = *(thread_start *)argument;
  ops_pool *pool = start.pool;
  uint64_t seen = 0;
  free(argument);
  pthread_mutex_lock(&pool->lock);
  while (!pool->ending) {
    if (!may_work(pool, seen)) spin(pool, has_begun, pool->generation);
    if (!may_work(pool, seen)) {
      if (!pool->ending) pthread_cond_wait(&pool->work, &pool->lock);
      continue;
    }
    seen = pool->generation;
    ++pool->active;
    pthread_mutex_unlock(&pool->lock);
    work_on(pool, start.worker);
    pthread_mutex_lock(&pool->lock);
    if (--pool->active == 0) pthread_cond_signal(&pool->done);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

// Starts the threads; fewer than wanted is no error. The lock is held.
static void start_threads(ops_pool *pool) {
  while (pool->started < pool->workers - 1) {
    thread_start *start = malloc(sizeof *start);
    if (!start) return;
    *start = (thread_start){pool, pool->started + 1};
    pthread_t *thread = &pool->worker[pool->started + 1].thread;
    if (pthread_create(thread, NULL, thread_main, start) != 0) {
      free(start);
      return;
    }
    ++pool->started;
  }
}

ops_pool *ops_pool_create(int32_t workers) {
  if (workers <= 0) workers = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
  if (workers <= 0) workers = 1;
  if (workers > kMaxWorkers) workers = kMaxWorkers;
  const size_t size = sizeof(ops_pool) + (size_t)workers * sizeof(worker);
  ops_pool *pool = aligned_alloc(kCacheLine, size);  // a multiple: each part is aligned
  if (!pool) return NULL;
  memset(pool, 0, size);
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->work, NULL);
  pthread_cond_init(&pool->done, NULL);
  pool->workers = workers;
  return pool;
}

void ops_pool_destroy(ops_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->lock);
  pool->ending = 1;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  for (int32_t i = 0; i < pool->started; ++i) pthread_join(pool->worker[i + 1].thread, NULL);
  pthread_cond_destroy(&pool->done);
  pthread_cond_destroy(&pool->work);
  pthread_mutex_destroy(&pool->lock);
  free(pool);
}

int32_t ops_pool_workers(const ops_pool *pool) {
  return pool->workers;
}

static int64_t piece_size(const ops_pool *pool, int64_t count, int64_t grain) {
  const int64_t pieces = (int64_t)pool->workers * kPiecesPerWorker;
  const int64_t size = count / pieces + (count % pieces != 0);
  return size > grain ? size : grain;
}

// Gives each worker an equal number of pieces, the last ones one less where they do not divide.
static void deal_out(ops_pool *pool, const loop *work) {
  const int64_t pieces = work->count / work->piece + (work->count % work->piece != 0);
  const int64_t each = pieces / pool->workers, more = pieces % pool->workers;
  int64_t begin = 0;
  for (int32_t i = 0; i < pool->workers; ++i) {
    share *to = &pool->worker[i].share;
    const int64_t mine = (each + (i < more)) * work->piece;
    const int64_t end = work->count - begin > mine ? begin + mine : work->count;
    atomic_store_explicit(&to->next, begin, memory_order_relaxed);
    to->end = begin = end;
  }
}

void ops_pool_run(ops_pool *pool, int64_t count, int64_t grain, ops_parallel_body body,
                  void *context) {
  if (count <= 0) return;
  const int64_t piece = piece_size(pool, count, grain > 0 ? grain : 1);
  const loop whole = {body, context, count, piece};
  pthread_mutex_lock(&pool->lock);
  if (pool->busy || pool->workers == 1 || piece >= count) {
    pthread_mutex_unlock(&pool->lock);
    run_body(pool, &whole, 0, count, running.pool == pool ? running.worker : 0);
    return;
  }
  start_threads(pool);
  pool->busy = 1;
  pool->current = whole;
  deal_out(pool, &whole);
  ++pool->generation;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  work_on(pool, 0);
  pthread_mutex_lock(&pool->lock);
  if (pool->active > 0) spin(pool, is_done, 0);
  while (pool->active > 0) pthread_cond_wait(&pool->done, &pool->lock);
  pool->busy = 0;
  pthread_mutex_unlock(&pool->lock);
}

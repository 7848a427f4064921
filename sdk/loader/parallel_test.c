// SPDX-License-Identifier: Apache-2.0
//
// parallel_for by its contract: every index once, pieces no smaller than the grain, worker
// numbers in range and never shared, whatever is nested or called at the same time. Sizes and
// grains are drawn by a seeded generator. ThreadSanitizer judges the rest.
#include "loader/parallel.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

enum { kWorkers = 4, kMost = 5000 };

typedef struct tally {
  ops_pool *pool;
  int64_t count, grain;
  atomic_int seen[kMost];     // how often each index came
  atomic_int busy[kWorkers];  // bodies running under a number
  atomic_int faults;
} tally;

// Nothing may be asserted on other threads, so faults are counted.
static void expect(tally *t, int holds) {
  if (!holds) atomic_fetch_add(&t->faults, 1);
}

static void visit(void *context, int64_t begin, int64_t end, int32_t worker) {
  tally *t = context;
  expect(t, 0 <= begin && begin < end && end <= t->count);
  expect(t, end - begin >= t->grain || end == t->count);
  expect(t, 0 <= worker && worker < ops_pool_workers(t->pool));
  expect(t, atomic_fetch_add(&t->busy[worker], 1) == 0);
  for (int64_t i = begin; i < end; ++i) atomic_fetch_add(&t->seen[i], 1);
  atomic_fetch_sub(&t->busy[worker], 1);
}

static int each_once(const tally *t) {
  int once = atomic_load(&t->faults) == 0;
  for (int64_t i = 0; i < kMost; ++i) once &= atomic_load(&t->seen[i]) == (i < t->count);
  return once;
}

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;  // Numerical Recipes
  return *seed >> 8;
}

static void every_index_comes_once(void **state) {
  (void)state;
  uint32_t seed = 1;
  for (int32_t workers = 1; workers <= kWorkers; ++workers) {
    ops_pool *pool = ops_pool_create(workers);
    assert_int_equal(ops_pool_workers(pool), workers);
    for (int round = 0; round < 200; ++round) {
      tally *t = calloc(1, sizeof *t);
      t->pool = pool;
      t->count = next_random(&seed) % (round % 2 ? kMost : 20);
      t->grain = next_random(&seed) % (round % 3 ? 8 : kMost);
      ops_pool_run(pool, t->count, t->grain, visit, t);
      assert_true(each_once(t));
      free(t);
    }
    ops_pool_destroy(pool);
  }
}

static void empty_loops_call_nothing(void **state) {
  (void)state;
  ops_pool *pool = ops_pool_create(kWorkers);
  tally *t = calloc(1, sizeof *t);
  t->pool = pool;
  ops_pool_run(pool, 0, 1, visit, t);
  ops_pool_run(pool, -5, 1, visit, t);
  ops_pool_run(pool, INT64_MIN, 1, visit, t);
  assert_true(each_once(t));
  free(t);
  ops_pool_destroy(pool);
  ops_pool_destroy(NULL);
}

static void sum_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  atomic_fetch_add((atomic_llong *)context, end - begin);
}

// Counts near the end of the range must not overflow on their way.
static void huge_loops_are_covered(void **state) {
  (void)state;
  static const int64_t counts[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2, (int64_t)1 << 40};
  static const int64_t grains[] = {1, 1 << 20, INT64_MAX, -3};
  ops_pool *pool = ops_pool_create(kWorkers);
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 4; ++k) {
      atomic_llong sum = 0;
      ops_pool_run(pool, counts[i], grains[k], sum_range, &sum);
      assert_true(atomic_load(&sum) == counts[i]);
    }
  ops_pool_destroy(pool);
}

static void number_workers(void *context, int64_t begin, int64_t end, int32_t worker) {
  tally *t = context;
  (void)begin, (void)end;
  atomic_fetch_add(&t->seen[worker], 1);
  // The first piece lingers until a second worker has come, so that the pool must be a pool.
  if (worker == 0)
    for (int spin = 0; spin < 2000000000 && atomic_load(&t->seen[1]) == 0 &&
                       atomic_load(&t->seen[2]) == 0 && atomic_load(&t->seen[3]) == 0;
         ++spin)
      sched_yield();
}

static void work_is_spread(void **state) {
  (void)state;
  ops_pool *pool = ops_pool_create(kWorkers);
  tally *t = calloc(1, sizeof *t);
  t->pool = pool;
  t->count = 100;
  ops_pool_run(pool, 100, 1, number_workers, t);
  assert_true(atomic_load(&t->seen[1]) + atomic_load(&t->seen[2]) + atomic_load(&t->seen[3]) >
              0);
  free(t);
  ops_pool_destroy(pool);
}

// ---- Nested loops ----

typedef struct nest {
  tally *inner;  // shared by all: numbers must stay distinct among nested bodies
  int64_t size;
} nest;

static void visit_nested(void *context, int64_t begin, int64_t end, int32_t worker) {
  tally *t = context;
  // Bodies of many nested loops at once: one number, one thread.
  expect(t, atomic_fetch_add(&t->busy[worker], 1) == 0);
  atomic_fetch_add(&t->seen[0], (int)(end - begin));
  sched_yield();
  atomic_fetch_sub(&t->busy[worker], 1);
}

static void visit_outer(void *context, int64_t begin, int64_t end, int32_t worker) {
  nest *n = context;
  (void)worker;
  for (int64_t i = begin; i < end; ++i)
    ops_pool_run(n->inner->pool, n->size, 1, visit_nested, n->inner);
}

static void nested_loops_keep_their_worker(void **state) {
  (void)state;
  ops_pool *pool = ops_pool_create(kWorkers);
  for (int round = 0; round < 20; ++round) {
    nest n = {calloc(1, sizeof *n.inner), 7};
    n.inner->pool = pool;
    ops_pool_run(pool, 100, 1, visit_outer, &n);
    assert_int_equal(atomic_load(&n.inner->seen[0]), 700);
    assert_int_equal(atomic_load(&n.inner->faults), 0);
    free(n.inner);
  }
  ops_pool_destroy(pool);
}

// A body of one pool that runs a loop of another, smaller one.
typedef struct two_pools {
  ops_pool *small;
  atomic_int faults, items;
} two_pools;

static void visit_small(void *context, int64_t begin, int64_t end, int32_t worker) {
  two_pools *p = context;
  if (worker < 0 || worker >= ops_pool_workers(p->small)) atomic_fetch_add(&p->faults, 1);
  atomic_fetch_add(&p->items, (int)(end - begin));
}

static void visit_large(void *context, int64_t begin, int64_t end, int32_t worker) {
  two_pools *p = context;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) ops_pool_run(p->small, 10, 1, visit_small, p);
}

static void numbers_belong_to_their_pool(void **state) {
  (void)state;
  ops_pool *large = ops_pool_create(kWorkers);
  two_pools p = {.small = ops_pool_create(2)};
  ops_pool_run(large, 200, 1, visit_large, &p);
  assert_int_equal(atomic_load(&p.items), 2000);
  assert_int_equal(atomic_load(&p.faults), 0);
  ops_pool_destroy(p.small);
  ops_pool_destroy(large);
}

// ---- Many callers ----

static void *call_often(void *argument) {
  ops_pool *pool = argument;
  uint32_t seed = (uint32_t)(uintptr_t)&seed;
  tally *t = calloc(1, sizeof *t);
  int once = 1;
  for (int round = 0; round < 100; ++round) {
    memset(t, 0, sizeof *t);
    t->pool = pool;
    t->count = next_random(&seed) % 300;
    t->grain = 1 + next_random(&seed) % 5;
    ops_pool_run(pool, t->count, t->grain, visit, t);
    once &= each_once(t);
  }
  free(t);
  return once ? NULL : argument;
}

static void callers_do_not_disturb_each_other(void **state) {
  (void)state;
  ops_pool *pool = ops_pool_create(kWorkers);
  pthread_t callers[3];
  for (int i = 0; i < 3; ++i)
    assert_int_equal(pthread_create(&callers[i], NULL, call_often, pool), 0);
  for (int i = 0; i < 3; ++i) {
    void *failed;
    pthread_join(callers[i], &failed);
    assert_null(failed);
  }
  ops_pool_destroy(pool);
}

static void sizes_are_bounded(void **state) {
  (void)state;
  ops_pool *pool = ops_pool_create(0);
  assert_true(ops_pool_workers(pool) >= 1);
  ops_pool_destroy(pool);
  pool = ops_pool_create(INT32_MAX);
  assert_in_range(ops_pool_workers(pool), 1, 256);
  ops_pool_destroy(pool);
  pool = ops_pool_create(INT32_MIN);
  assert_true(ops_pool_workers(pool) >= 1);
  ops_pool_destroy(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_index_comes_once),
      cmocka_unit_test(empty_loops_call_nothing),
      cmocka_unit_test(huge_loops_are_covered),
      cmocka_unit_test(work_is_spread),
      cmocka_unit_test(nested_loops_keep_their_worker),
      cmocka_unit_test(numbers_belong_to_their_pool),
      cmocka_unit_test(callers_do_not_disturb_each_other),
      cmocka_unit_test(sizes_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

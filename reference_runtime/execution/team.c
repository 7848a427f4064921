// SPDX-License-Identifier: Apache-2.0
//
// Independent branches of a plan at once: every worker takes an action that follows none that
// is still to be done, runs it, and frees its successors. Who finds nothing to take waits, so
// the team needs no more threads than it gets: a caller alone does all.
#include <ops_support/error.h>
#include <pthread.h>

#include "execution/run.h"

typedef struct team {
  rt_run *run;
  rt_segment *segment;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  uint32_t *pending;  // by action: how many it still follows
  uint32_t *ready;    // a stack of actions
  uint32_t ready_count;
  uint32_t left;    // actions that nobody has finished
  uint32_t failed;  // the lowest action that failed, if status is not OK
  int32_t status;
  ops_error *error;
} team;

// The next action in *out_index; 0 if there will be none. The lock is held.
static int take(team *t, uint32_t *out_index) {
  while (t->ready_count == 0 && t->left > 0 && t->status == OPS_OK)
    pthread_cond_wait(&t->changed, &t->mutex);
  if (t->ready_count == 0 || t->status != OPS_OK) return 0;
  *out_index = t->ready[--t->ready_count];
  return 1;
}

static void finish(team *t, uint32_t index) {
  const rt_plan *plan = t->segment->plan;
  t->left--;
  for (uint32_t i = plan->first_successor[index]; i < plan->first_successor[index + 1]; ++i)
    if (--t->pending[plan->successors[i]] == 0)
      t->ready[t->ready_count++] = plan->successors[i];
}

static void keep_error(team *t, uint32_t index, int32_t status, const ops_error *error) {
  if (t->status != OPS_OK && index > t->failed) return;
  t->status = status;
  t->failed = index;
  ops_error_copy(t->error, status, error);
}

// A piece of ops_pool_run: works until nothing is left.
static void work(void *context, int64_t begin, int64_t end, int32_t worker) {
  team *t = context;
  uint32_t index = 0;
  (void)begin, (void)end, (void)worker;
  pthread_mutex_lock(&t->mutex);
  while (take(t, &index)) {
    ops_error error = OPS_ERROR_INIT;
    pthread_mutex_unlock(&t->mutex);
    const int32_t status = rt_run_step(t->run, t->segment, index, &error);
    pthread_mutex_lock(&t->mutex);
    if (status == OPS_OK)
      finish(t, index);
    else
      keep_error(t, index, status, &error);
    pthread_cond_broadcast(&t->changed);
  }
  pthread_mutex_unlock(&t->mutex);
}

int rt_team_suits(const rt_run *run, const rt_segment *segment) {
  return run->executor->pool && segment->plan->successors && !run->singly &&
         !run->executor->options.profile;
}

int32_t rt_team_run(rt_run *run, rt_segment *segment, ops_error *error) {
  const rt_plan *plan = segment->plan;
  rt_instance *instance = segment->instance;
  team t = {.run = run,
            .segment = segment,
            .pending = instance->pending,
            .ready = instance->ready,
            .left = plan->action_count,
            .error = error};
  pthread_mutex_init(&t.mutex, NULL);
  pthread_cond_init(&t.changed, NULL);
  // The last first: a stack gives the earliest back first.
  for (uint32_t i = plan->action_count; i-- > 0;) {
    t.pending[i] = plan->predecessors[i];
    if (t.pending[i] == 0) t.ready[t.ready_count++] = i;
  }
  ops_pool_run(run->executor->pool, ops_pool_workers(run->executor->pool), 1, work, &t);
  pthread_cond_destroy(&t.changed);
  pthread_mutex_destroy(&t.mutex);
  return t.status;
}

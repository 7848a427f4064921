// SPDX-License-Identifier: Apache-2.0
//
// An array of plans behind a mutex, which is never held while a provider is called: candidates
// are retained, looked at without the lock, and released.
#include "execution/cache.h"

#include <ops_support/error.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// A plan that some thread is building. Others that want the like wait for it.
typedef struct flight {
  struct flight *next;
  const rt_plan_request *request;
} flight;

struct rt_plan_cache {
  rt_weights *weights;
  pthread_mutex_t mutex;
  pthread_cond_t landed;  // a flight has ended
  flight *flights;
  rt_cached_plan **plans;
  uint32_t count;
  uint32_t limit;
  uint64_t clock;
  rt_cache_counters counters;
};

int32_t rt_plan_cache_create(rt_weights *weights, uint32_t max_plans, rt_plan_cache **out_cache,
                             ops_error *error) {
  *out_cache = NULL;
  rt_plan_cache *cache = calloc(1, sizeof *cache);
  if (cache) cache->plans = calloc((size_t)max_plans + 1, sizeof *cache->plans);
  if (!cache || !cache->plans) {
    free(cache);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a cache of %u plans", max_plans);
  }
  cache->weights = weights;
  cache->limit = max_plans;
  pthread_mutex_init(&cache->mutex, NULL);
  pthread_cond_init(&cache->landed, NULL);
  *out_cache = cache;
  return OPS_OK;
}

// ---- Instances ------------------------------------------------------------------------------

static int32_t instance_create(rt_plan_cache *cache, const rt_cached_plan *cached, int own,
                               rt_instance **out_instance, ops_error *error) {
  uint64_t prepares = 0;
  const int32_t status =
      rt_instance_create(cached->plan, cached->constants, rt_weights_views(cache->weights), own,
                         out_instance, &prepares, error);
  pthread_mutex_lock(&cache->mutex);
  cache->counters.prepares += prepares;
  pthread_mutex_unlock(&cache->mutex);
  return status;
}

int32_t rt_plan_cache_take_instance(rt_plan_cache *cache, rt_cached_plan *plan,
                                    rt_instance **out_instance, ops_error *error) {
  pthread_mutex_lock(&cache->mutex);
  *out_instance = plan->idle;
  if (*out_instance) plan->idle = (*out_instance)->next;
  pthread_mutex_unlock(&cache->mutex);
  return *out_instance ? OPS_OK : instance_create(cache, plan, 0, out_instance, error);
}

void rt_plan_cache_return_instance(rt_plan_cache *cache, rt_cached_plan *plan,
                                   rt_instance *instance) {
  if (!instance) return;
  pthread_mutex_lock(&cache->mutex);
  instance->next = plan->idle;
  plan->idle = instance;
  pthread_mutex_unlock(&cache->mutex);
}

// ---- Cached plans ---------------------------------------------------------------------------

static void cached_destroy(rt_cached_plan *cached) {
  for (rt_instance *instance = cached->idle; instance;) {
    rt_instance *next = instance->next;
    rt_instance_destroy(instance);
    instance = next;
  }
  rt_plan_release(cached->plan);
  free(cached->constants);
  free(cached);
}

void rt_plan_cache_release(rt_plan_cache *cache, rt_cached_plan *plan) {
  (void)cache;
  if (plan && atomic_fetch_sub(&plan->references, 1) == 1) cached_destroy(plan);
}

static int32_t load_constants(rt_plan_cache *cache, rt_cached_plan *cached, ops_error *error) {
  const rt_plan *plan = cached->plan;
  for (uint32_t i = 0; i < plan->buffer_count; ++i) {
    const rt_buffer *buffer = &plan->buffers[i];
    if (buffer->storage != RT_STORAGE_CONSTANT || buffer->type->kind != OPS_VALUE_TENSOR)
      continue;
    if (buffer->unread)
      cached->constants[i] = (void *)rt_value_constant(buffer->value)->data;
    else
      OPS_RETURN_IF_ERROR(
          rt_weights_load(cache->weights, buffer, &cached->constants[i], error));
  }
  return OPS_OK;
}

// Takes over `plan`.
static int32_t cached_create(rt_plan_cache *cache, rt_plan *plan, rt_cached_plan **out_cached,
                             ops_error *error) {
  rt_cached_plan *cached = calloc(1, sizeof *cached);
  if (!cached) {
    rt_plan_release(plan);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a plan");
  }
  cached->plan = plan;
  atomic_init(&cached->references, 1);
  cached->constants = calloc((size_t)plan->buffer_count + 1, sizeof *cached->constants);
  int32_t status = cached->constants ? load_constants(cache, cached, error)
                                     : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a plan");
  if (status == OPS_OK) status = instance_create(cache, cached, 1, &cached->idle, error);
  if (status != OPS_OK) {
    cached_destroy(cached);
    return status;
  }
  *out_cached = cached;
  return OPS_OK;
}

// ---- Finding --------------------------------------------------------------------------------

static uint32_t place_count(const rt_plan_request *request) {
  return request->partition->input_count + request->graph->output_count;
}

static int equal_types(const ops_type_info *const *a, const ops_type_info *const *b,
                       uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    if (!rt_type_info_equal(a[i], b[i])) return 0;
  return 1;
}

static int equal_places(const uint32_t *a, const uint32_t *b, uint32_t count) {
  return a && b ? memcmp(a, b, count * sizeof *a) == 0 : a == b;
}

static int same_types(const rt_plan *plan, const rt_plan_request *request) {
  return plan->parent == request->parent && plan->type_count == request->type_count &&
         equal_types(plan->types, request->types, request->type_count) &&
         equal_places(plan->places, request->places, plan->place_count);
}

static int same_request(const rt_plan_request *a, const rt_plan_request *b) {
  return a->parent == b->parent && a->type_count == b->type_count &&
         equal_types(a->types, b->types, b->type_count) &&
         equal_places(a->places, b->places, place_count(b));
}

// Marks a plan and those before it as used now. The lock is held.
static void stamp(rt_plan_cache *cache, const rt_plan *plan) {
  for (; plan; plan = plan->parent)
    for (uint32_t i = 0; i < cache->count; ++i)
      if (cache->plans[i]->plan == plan) cache->plans[i]->stamp = ++cache->clock;
}

// The next candidate from *position on, retained; NULL if there is none.
static rt_cached_plan *next_candidate(rt_plan_cache *cache, const rt_plan_request *request,
                                      const rt_cached_plan *after) {
  rt_cached_plan *found = NULL;
  pthread_mutex_lock(&cache->mutex);
  uint32_t i = 0;
  if (after) {
    while (i < cache->count && cache->plans[i] != after) i++;
    i++;
  }
  for (; i < cache->count && !found; ++i)
    if (same_types(cache->plans[i]->plan, request)) found = cache->plans[i];
  if (found) {
    atomic_fetch_add(&found->references, 1);
    stamp(cache, found->plan);
  }
  pthread_mutex_unlock(&cache->mutex);
  return found;
}

static int32_t guards_hold(const rt_plan *plan, const rt_plan_request *request, int *out_hold,
                           ops_error *error) {
  *out_hold = 1;
  for (uint32_t i = 0; *out_hold && i < plan->guard_count; ++i) {
    const rt_guard *guard = &plan->guards[i];
    const void *data = NULL;
    uint64_t size = 0;
    OPS_RETURN_IF_ERROR(request->fetch(request->context, guard->value, &data, &size, error));
    *out_hold = size == guard->size && (size == 0 || memcmp(data, guard->bytes, size) == 0);
  }
  return OPS_OK;
}

static int32_t find(rt_plan_cache *cache, const rt_plan_request *request,
                    rt_cached_plan **out_plan, ops_error *error) {
  *out_plan = NULL;
  rt_cached_plan *candidate = next_candidate(cache, request, NULL);
  while (candidate) {
    int hold = 0;
    const int32_t status = guards_hold(candidate->plan, request, &hold, error);
    if (status == OPS_OK && hold) {
      *out_plan = candidate;
      return OPS_OK;
    }
    rt_cached_plan *next = status == OPS_OK ? next_candidate(cache, request, candidate) : NULL;
    rt_plan_cache_release(cache, candidate);
    if (status != OPS_OK) return status;
    candidate = next;
  }
  return OPS_OK;
}

// ---- Adding and evicting --------------------------------------------------------------------

static int descends(const rt_plan *plan, const rt_plan *ancestor) {
  for (; plan; plan = plan->parent)
    if (plan == ancestor) return 1;
  return 0;
}

// Takes the least recently used plan and its continuations off the list, into `dropped`.
static uint32_t evict(rt_plan_cache *cache, rt_cached_plan **dropped) {
  uint32_t oldest = 0, kept = 0, count = 0;
  for (uint32_t i = 1; i < cache->count; ++i)
    if (cache->plans[i]->stamp < cache->plans[oldest]->stamp) oldest = i;
  const rt_plan *victim = cache->plans[oldest]->plan;
  for (uint32_t i = 0; i < cache->count; ++i) {
    if (descends(cache->plans[i]->plan, victim))
      dropped[count++] = cache->plans[i];
    else
      cache->plans[kept++] = cache->plans[i];
  }
  cache->count = kept;
  cache->counters.evicted += count;
  return count;
}

static int same_guards(const rt_plan *a, const rt_plan *b) {
  if (a->guard_count != b->guard_count) return 0;
  for (uint32_t i = 0; i < a->guard_count; ++i) {
    const rt_guard *x = &a->guards[i], *y = &b->guards[i];
    if (x->value != y->value || x->size != y->size ||
        (x->size && memcmp(x->bytes, y->bytes, x->size) != 0))
      return 0;
  }
  return 1;
}

static uint64_t is_laid_out_alike(const rt_plan *plan) {
  for (uint32_t i = 0; i < plan->arena_count; ++i)
    if (!plan->arenas[i].kept) return 0;
  return plan->arena_count > 0;
}

// Puts `cached` on the list, or returns the equal one that another thread has put there. A plan
// whose parent has been evicted meanwhile is not listed.
static int32_t add(rt_plan_cache *cache, const rt_plan_request *request,
                   rt_cached_plan **inout_cached, ops_error *error) {
  rt_cached_plan **dropped = calloc((size_t)cache->limit + 1, sizeof *dropped);
  if (!dropped) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a plan");
  rt_cached_plan *fresh = *inout_cached, *equal = NULL;
  uint32_t dropped_count = 0;
  int parent_listed = request->parent == NULL;
  pthread_mutex_lock(&cache->mutex);
  cache->counters.built++;
  cache->counters.prepares += fresh->plan->prepares;
  cache->counters.laid_out_alike += is_laid_out_alike(fresh->plan);
  for (uint32_t i = 0; i < cache->count && !equal; ++i) {
    rt_cached_plan *other = cache->plans[i];
    parent_listed |= other->plan == request->parent;
    if (same_types(other->plan, request) && same_guards(other->plan, fresh->plan))
      equal = other;
  }
  if (equal) {
    atomic_fetch_add(&equal->references, 1);
  } else if (parent_listed) {
    stamp(cache, request->parent);
    while (cache->count >= cache->limit) dropped_count += evict(cache, dropped + dropped_count);
    // The limit may be so small that the parent itself has just gone.
    for (uint32_t i = 0; i < dropped_count; ++i)
      if (dropped[i]->plan == request->parent) parent_listed = 0;
    if (parent_listed) {
      atomic_fetch_add(&fresh->references, 1);
      fresh->stamp = ++cache->clock;
      cache->plans[cache->count++] = fresh;
    }
  }
  pthread_mutex_unlock(&cache->mutex);
  for (uint32_t i = 0; i < dropped_count; ++i) rt_plan_cache_release(cache, dropped[i]);
  free(dropped);
  if (equal) {
    rt_plan_cache_release(cache, fresh);
    *inout_cached = equal;
  }
  return OPS_OK;
}

static const flight *find_flight(const rt_plan_cache *cache, const rt_plan_request *request) {
  const flight *at = cache->flights;
  while (at && !same_request(at->request, request)) at = at->next;
  return at;
}

// Waits for whoever builds the like, or begins to build.
static void begin_flight(rt_plan_cache *cache, flight *own) {
  pthread_mutex_lock(&cache->mutex);
  while (find_flight(cache, own->request)) pthread_cond_wait(&cache->landed, &cache->mutex);
  own->next = cache->flights;
  cache->flights = own;
  pthread_mutex_unlock(&cache->mutex);
}

static void end_flight(rt_plan_cache *cache, const flight *own) {
  pthread_mutex_lock(&cache->mutex);
  flight **at = &cache->flights;
  while (*at != own) at = &(*at)->next;
  *at = own->next;
  pthread_cond_broadcast(&cache->landed);
  pthread_mutex_unlock(&cache->mutex);
}

// The plan of a segment that was used last, for whatever shapes; retained, or NULL.
static rt_cached_plan *find_latest(rt_plan_cache *cache, uint32_t segment, uint32_t begin) {
  rt_cached_plan *found = NULL;
  pthread_mutex_lock(&cache->mutex);
  for (uint32_t i = 0; i < cache->count; ++i) {
    const rt_plan *plan = cache->plans[i]->plan;
    const int same =
        plan->segment == segment && (plan->parent ? plan->parent->end_unit : 0) == begin;
    if (same && (!found || cache->plans[i]->stamp > found->stamp)) found = cache->plans[i];
  }
  if (found) atomic_fetch_add(&found->references, 1);
  pthread_mutex_unlock(&cache->mutex);
  return found;
}

rt_cached_plan *rt_plan_cache_latest(rt_plan_cache *cache) {
  return find_latest(cache, 0, 0);
}

static rt_cached_plan *find_like(rt_plan_cache *cache, const rt_plan_request *request) {
  const rt_plan *parent = request->parent;
  return find_latest(cache, parent ? parent->segment + 1 : 0, parent ? parent->end_unit : 0);
}

static int32_t build(rt_plan_cache *cache, const rt_plan_request *request,
                     rt_cached_plan **out_plan, ops_error *error) {
  rt_plan *plan = NULL;
  rt_cached_plan *cached = NULL;
  rt_cached_plan *like = find_like(cache, request);
  rt_plan_request own = *request;
  own.like = like ? like->plan : NULL;
  int32_t status = rt_plan_build(&own, &plan, error);
  rt_plan_cache_release(cache, like);
  OPS_RETURN_IF_ERROR(status);
  OPS_RETURN_IF_ERROR(cached_create(cache, plan, &cached, error));
  status = add(cache, request, &cached, error);
  if (status != OPS_OK) {
    rt_plan_cache_release(cache, cached);
    return status;
  }
  *out_plan = cached;
  return OPS_OK;
}

int32_t rt_plan_cache_obtain(rt_plan_cache *cache, const rt_plan_request *request,
                             rt_cached_plan **out_plan, int *out_built, ops_error *error) {
  *out_built = 0;
  OPS_RETURN_IF_ERROR(find(cache, request, out_plan, error));
  if (*out_plan) return OPS_OK;
  flight own = {.request = request};
  begin_flight(cache, &own);
  int32_t status = find(cache, request, out_plan, error);
  *out_built = status == OPS_OK && !*out_plan;
  if (*out_built) status = build(cache, request, out_plan, error);
  end_flight(cache, &own);
  return status;
}

rt_cache_counters rt_plan_cache_counters(rt_plan_cache *cache) {
  pthread_mutex_lock(&cache->mutex);
  const rt_cache_counters counters = cache->counters;
  pthread_mutex_unlock(&cache->mutex);
  return counters;
}

void rt_plan_cache_destroy(rt_plan_cache *cache) {
  if (!cache) return;
  for (uint32_t i = 0; i < cache->count; ++i) rt_plan_cache_release(cache, cache->plans[i]);
  free(cache->plans);
  pthread_cond_destroy(&cache->landed);
  pthread_mutex_destroy(&cache->mutex);
  free(cache);
}

// SPDX-License-Identifier: Apache-2.0
//
// The plans of a session, by input shapes: bounded, the least recently used goes first, and
// with a segment go those that continue it.
#ifndef RT_EXECUTION_CACHE_H_
#define RT_EXECUTION_CACHE_H_

#include <stdatomic.h>

#include "execution/instance.h"
#include "execution/weights.h"

// A plan together with what runs share of it.
typedef struct rt_cached_plan {
  rt_plan *plan;
  void **constants;  // by buffer: memory of those with storage CONSTANT
  rt_instance *idle;
  atomic_uint references;
  uint64_t stamp;
} rt_cached_plan;

typedef struct rt_plan_cache rt_plan_cache;

typedef struct rt_cache_counters {
  uint64_t built;
  uint64_t evicted;
  uint64_t prepares;
  uint64_t laid_out_alike;  // of those built: memory in the order of another plan, unsearched
} rt_cache_counters;

int32_t rt_plan_cache_create(rt_weights *weights, uint32_t max_plans, rt_plan_cache **out_cache,
                             ops_error *error);
void rt_plan_cache_destroy(rt_plan_cache *cache);  // accepts NULL

// A plan that fits the request, from the cache or built now: same parent, same types, and
// guards that equal what request->fetch reads. Release with rt_plan_cache_release. Of
// concurrent calls that want the same types one builds, the others wait. *out_built: it had to
// be built.
int32_t rt_plan_cache_obtain(rt_plan_cache *cache, const rt_plan_request *request,
                             rt_cached_plan **out_plan, int *out_built, ops_error *error);
void rt_plan_cache_release(rt_plan_cache *cache, rt_cached_plan *plan);  // accepts NULL

// An instance that no other run uses. NULL may be returned to it.
int32_t rt_plan_cache_take_instance(rt_plan_cache *cache, rt_cached_plan *plan,
                                    rt_instance **out_instance, ops_error *error);
void rt_plan_cache_return_instance(rt_plan_cache *cache, rt_cached_plan *plan,
                                   rt_instance *instance);

// The first segment that was used last, retained; NULL if there is none.
rt_cached_plan *rt_plan_cache_latest(rt_plan_cache *cache);

rt_cache_counters rt_plan_cache_counters(rt_plan_cache *cache);

#endif  // RT_EXECUTION_CACHE_H_

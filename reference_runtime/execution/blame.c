// SPDX-License-Identifier: Apache-2.0
//
// Which node an asynchronous error belongs to. Events tell: the first action whose event is
// neither passed nor pending failed. Where they do not (a driver that reports at synchronize
// alone, a replayed capture), the segment is run once more on new streams, action by action:
// what enters a segment is never overwritten by it, so it computes the same again.
#include <ops_support/error.h>

#include "execution/run.h"

int32_t rt_run_blame(const rt_action *action, ops_error *error) {
  const char *device = action->device ? action->device->name : "host";
  // Control flow has named itself, or the node in its body.
  if (action->kind == RT_ACTION_CONTROL) return error ? error->code : OPS_ERROR_INTERNAL;
  if (!action->unit) return ops_error_prefix(error, "copy of '%s' on %s", action->name, device);
  const char *origins = action->unit->origins;
  if (origins && origins[0])
    return ops_error_prefix(error, "%s (from %s) on %s", action->unit->where, origins, device);
  return ops_error_prefix(error, "%s on %s", action->unit->where, device);
}

static int is_of(const rt_run *run, const rt_segment *segment, uint32_t index,
                 const rt_stream_set *set) {
  const rt_action *action = &segment->plan->actions[index];
  return segment->events[index] != RT_NO_EVENT && run->streams[action->device->number] == set;
}

const rt_action *rt_run_find_event(const rt_run *run, const rt_segment *segment,
                                   const rt_stream_set *set, int pending) {
  const ops_stream_api *api = set->device->provider->stream;
  for (uint32_t i = 0; i < segment->plan->action_count; ++i) {
    if (!is_of(run, segment, i, set)) continue;
    const int32_t status = api->event_query(set->events[segment->events[i]], NULL);
    if (status == OPS_OK) continue;
    if ((status == OPS_ERROR_NOT_READY) == pending) return &segment->plan->actions[i];
  }
  return NULL;
}

static const rt_action *first_event(const rt_run *run, const rt_segment *segment,
                                    const rt_stream_set *set) {
  for (uint32_t i = 0; i < segment->plan->action_count; ++i)
    if (is_of(run, segment, i, set)) return &segment->plan->actions[i];
  return NULL;
}

// Of a lost device that answers every question with its loss, all events look failed: then the
// first action stands for those behind it. Nothing can be run again.
static int32_t blame_lost(rt_run *run, const rt_segment *segment, const rt_stream_set *set,
                          const rt_action *present, int32_t status, ops_error *error) {
  const rt_action *first = first_event(run, segment, set);
  const rt_action *culprit = rt_run_find_event(run, segment, set, 0);
  const int certain = culprit && culprit != first;
  if (!culprit) culprit = first ? first : present;
  if (culprit) rt_run_blame(culprit, error);
  if (culprit && !certain && first) ops_error_prefix(error, "this node or one behind it");
  rt_executor_lose_device(run->executor, set->device, error);
  return status;
}

// ---- Running again --------------------------------------------------------------------------

static int32_t renew_streams(rt_run *run, ops_error *error) {
  for (uint32_t i = 0; i < run->executor->options.device_count; ++i)
    if (run->streams[i] && run->streams[i]->failed)
      OPS_RETURN_IF_ERROR(rt_stream_renew(run->streams[i], error));
  return OPS_OK;
}

// One action at a time, each complete before the next. *out_culprit: the one that failed.
static int32_t run_singly(rt_run *run, rt_segment *segment, const rt_action **out_culprit,
                          ops_error *error) {
  for (uint32_t i = 0; i < segment->plan->action_count; ++i) {
    const rt_action *action = &segment->plan->actions[i];
    int32_t status = rt_run_issue(run, segment, i, error);
    if (status == OPS_OK && action->queue != RT_QUEUE_NONE)
      status = rt_stream_synchronize(run->streams[action->device->number], error);
    if (status == OPS_OK) continue;
    if (action->queue != RT_QUEUE_NONE) run->streams[action->device->number]->failed = 1;
    *out_culprit = action;
    return status;
  }
  return OPS_OK;
}

// "one of 'a' … 'z'".
static int32_t blame_all(const rt_run *run, const rt_segment *segment, const rt_stream_set *set,
                         int32_t status, ops_error *error) {
  const rt_action *first = NULL, *last = NULL;
  for (uint32_t i = 0; i < segment->plan->action_count; ++i) {
    const rt_action *action = &segment->plan->actions[i];
    if (action->device != set->device || !action->unit) continue;
    if (!first) first = action;
    last = action;
  }
  (void)run;
  if (!first)
    ops_error_prefix(error, "%s", set->device->name);
  else
    ops_error_prefix(error,
                     "one of the nodes '%s' … '%s' on %s failed, and none did when they were "
                     "run once more one by one",
                     first->name, last->name, set->device->name);
  return status;
}

static int32_t locate(rt_run *run, rt_segment *segment, const rt_stream_set *set,
                      int32_t status, ops_error *error) {
  const rt_action *culprit = NULL;
  ops_error again = OPS_ERROR_INIT;
  run->singly = 1;
  int32_t second = renew_streams(run, &again);
  if (second == OPS_OK) second = rt_run_rebind(run, segment, &again);
  if (second == OPS_OK) second = run_singly(run, segment, &culprit, &again);
  run->singly = 0;
  if (!culprit) return blame_all(run, segment, set, status, error);
  ops_error_copy(error, second, &again);
  ops_error_add_cause(error, OPS_CAUSE_ASYNC_FAILURE);
  rt_run_blame(culprit, error);
  return second;
}

int32_t rt_run_blame_device(rt_run *run, rt_segment *segment, rt_stream_set *set,
                            const rt_action *present, int32_t status, ops_error *error) {
  const ops_stream_api *api = set->device->provider->stream;
  if (run->singly) return status;  // the caller knows
  if (status == OPS_ERROR_DEVICE_LOST) {
    set->failed = 1;
    return blame_lost(run, segment, set, present, status, error);
  }
  const int32_t sticky = api->synchronize(set->streams[RT_QUEUE_COMPUTE], NULL) != OPS_OK ||
                         api->synchronize(set->streams[RT_QUEUE_COPY], NULL) != OPS_OK;
  if (!sticky && present) return rt_run_blame(present, error);  // nothing was enqueued
  set->failed = 1;
  const rt_action *culprit = segment->replayed ? NULL : rt_run_find_event(run, segment, set, 0);
  ops_error_add_cause(error, OPS_CAUSE_ASYNC_FAILURE);
  if (!culprit) return locate(run, segment, set, status, error);
  rt_run_blame(culprit, error);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
//
// ReduceSum (float, float16), ReduceMax, ArgMax (float).
#include <math.h>
#include <ops_support/error.h>
#include <ops_support/half.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "faulty.h"

// ---- Which axes -----------------------------------------------------------------------------

// Marks the axes. The input `axes` counts, else the attribute, else all.
static int32_t read_axes(const ops_prepared *prepared, const ops_prepare_request *request,
                         int32_t rank, int *reduced, ops_error *error) {
  int64_t values[kFaultyRank];
  int64_t count = ops_operand_ints(ops_request_input(request, 1), values, kFaultyRank);
  if (count < 0 && prepared->attributes->axes.count > 0) {
    count = prepared->attributes->axes.count;
    memcpy(values, prepared->attributes->axes.values, (size_t)count * sizeof *values);
  }
  int all = count <= 0 && !prepared->attributes->noop_with_empty_axes;
  if (count <= 0 && !all && FAULTY(prepared, reduce_noop_ignored)) all = 1;
  for (int32_t i = 0; i < rank; ++i) reduced[i] = all;
  for (int64_t i = 0; i < count; ++i) {
    int64_t axis = faulty_axis(values[i], rank);
    if (axis < 0 || reduced[axis]) {
      return FAULTY_REFUSE(prepared, error, "axis %lld is out of range or given twice",
                           (long long)values[i]);
    }
    if (values[i] < 0 && FAULTY(prepared, reduce_negative_axis)) axis = 0;
    reduced[axis] = 1;
  }
  return OPS_OK;
}

static void state_reduced(ops_prepared *prepared, ops_prepare_reply *reply, int32_t type,
                          const ops_type_info *x, const int *reduced) {
  int64_t dims[kFaultyRank];
  int32_t rank = 0;
  int keep = prepared->attributes->keepdims != 0;
  if (!keep && FAULTY(prepared, reduce_keeps_dims)) keep = 1;
  prepared->reduce.n = 1;
  for (int32_t i = 0; i < x->rank; ++i) {
    if (reduced[i]) prepared->reduce.n *= x->dims[i];
    if (!reduced[i] || keep) dims[rank++] = reduced[i] ? 1 : x->dims[i];
  }
  faulty_state_output(prepared, reply, type, rank, dims);
  int64_t stride = 1;
  for (int32_t i = x->rank; i-- > 0;) {
    prepared->reduce.kept[i] = reduced[i] ? 0 : stride;
    if (!reduced[i]) stride *= x->dims[i];
  }
}

static int32_t prepare_reduce(ops_prepared *prepared, const ops_prepare_request *request,
                              ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  int reduced[kFaultyRank];
  OPS_RETURN_IF_ERROR(read_axes(prepared, request, x->rank, reduced, error));
  state_reduced(prepared, reply, x->type, x, reduced);
  return OPS_OK;
}

// ---- ReduceSum ------------------------------------------------------------------------------

static double load(const faulty_view *view, int64_t i) {
  return view->type == OPS_TYPE_FLOAT16
             ? (double)ops_half_to_float(((const uint16_t *)view->data)[i])
             : (double)((const float *)view->data)[i];
}

static double to_half(double value) {
  return (double)ops_half_to_float(ops_half_from_float((float)value));
}

// Adds every element to its sum: in double, which needs no order. Control reordered_sums keeps
// two sums, of elements at even and at odd places.
static void sum_all(const faulty_call *call, double *sums) {
  const ops_prepared *prepared = call->prepared;
  const faulty_view *x = &call->in[0];
  const int narrow = FAULTY(prepared, reduce_float16_accumulation);
  const int64_t apart = CONTROLLED(prepared, reordered_sums) ? call->out.count : 0;
  int64_t index[kFaultyRank] = {0};
  for (int64_t i = 0; i < x->count; ++i) {
    const int64_t at = faulty_offset(x->rank, index, prepared->reduce.kept);
    double *sum = &sums[at + i % 2 * apart];
    *sum += load(x, i);
    if (narrow) *sum = to_half(*sum);
    faulty_next(x->rank, x->dims, index);
  }
  for (int64_t i = 0; i < apart; ++i) sums[i] += sums[i + apart];
}

static void store_sum(const faulty_call *call, int64_t i, double sum) {
  static int32_t noise;
  float value = (float)sum;
  if (FAULTY(call->prepared, reduce_not_deterministic) &&
      __atomic_fetch_add(&noise, 1, __ATOMIC_RELAXED) % 3 == 0)
    value = nextafterf(value, INFINITY);
  const ops_instance *instance = call->prepared->kernel->device->instance;
  if (instance->api->worker_count(instance->host) % 2 &&
      FAULTY(call->prepared, bits_follow_workers))
    value = nextafterf(value, INFINITY);
  if (call->out.type == OPS_TYPE_FLOAT16)
    ((uint16_t *)call->out.data)[i] = ops_half_from_float(value);
  else
    ((float *)call->out.data)[i] = value;
}

static int32_t prepare_sum(ops_prepared *prepared, const ops_prepare_request *request,
                           ops_prepare_reply *reply, ops_error *error) {
  OPS_RETURN_IF_ERROR(prepare_reduce(prepared, request, reply, error));
  reply->workspace_size = (uint64_t)prepared->out.count * 2 * sizeof(double);
  reply->workspace_alignment = sizeof(double);
  return OPS_OK;
}

static int32_t run_sum(const faulty_call *call, ops_error *error) {
  (void)error;
  double *sums = (double *)call->workspace;
  const int64_t count = call->out.count;
  if (count > 0) memset(sums, 0, (size_t)count * 2 * sizeof *sums);
  sum_all(call, sums);
  for (int64_t i = 0; i < count; ++i) store_sum(call, i, sums[i]);
  return OPS_OK;
}

const faulty_op faulty_reduce_sum = {.prepare = prepare_sum, .run = run_sum};

// ---- ReduceMax ------------------------------------------------------------------------------

static int32_t run_max(const faulty_call *call, ops_error *error) {
  const ops_prepared *prepared = call->prepared;
  const faulty_view *x = &call->in[0];
  const float *values = (const float *)x->data;
  float *y = (float *)call->out.data;
  const float start = FAULTY(prepared, reduce_max_from_zero) ? 0 : -INFINITY;
  int64_t index[kFaultyRank] = {0};
  (void)error;
  for (int64_t i = 0; i < call->out.count; ++i) y[i] = start;
  for (int64_t i = 0; i < x->count; ++i) {
    float *best = &y[faulty_offset(x->rank, index, prepared->reduce.kept)];
    if (isnan(values[i]) && !FAULTY(prepared, reduce_max_drops_nan)) *best = values[i];
    if (values[i] > *best) *best = values[i];
    faulty_next(x->rank, x->dims, index);
  }
  return OPS_OK;
}

const faulty_op faulty_reduce_max = {.prepare = prepare_reduce, .run = run_max};

// ---- ArgMax ---------------------------------------------------------------------------------

static int32_t prepare_argmax(ops_prepared *prepared, const ops_prepare_request *request,
                              ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  const int64_t axis = faulty_axis(prepared->attributes->axis, x->rank);
  if (axis < 0) return FAULTY_REFUSE(prepared, error, "ArgMax: the axis is out of range");
  int64_t dims[kFaultyRank];
  int32_t rank = 0;
  prepared->axis.outer = prepared->axis.inner = 1;
  for (int32_t i = 0; i < x->rank; ++i) {
    if (i < axis) prepared->axis.outer *= x->dims[i];
    if (i > axis) prepared->axis.inner *= x->dims[i];
    if (i != axis || prepared->attributes->keepdims) dims[rank++] = i == axis ? 1 : x->dims[i];
  }
  prepared->axis.n = x->dims[axis];
  faulty_state_output(prepared, reply, OPS_TYPE_INT64, rank, dims);
  return OPS_OK;
}

static int64_t best_of(const ops_prepared *prepared, const float *x) {
  int last = prepared->attributes->select_last_index != 0;
  if (last && FAULTY(prepared, argmax_select_last_ignored)) last = 0;
  if (!last && FAULTY(prepared, argmax_takes_last)) last = 1;
  int64_t best = 0;
  for (int64_t i = 1; i < prepared->axis.n; ++i) {
    const float value = x[i * prepared->axis.inner], top = x[best * prepared->axis.inner];
    if (value > top || (last && value == top)) best = i;
  }
  return best;
}

static int32_t run_argmax(const faulty_call *call, ops_error *error) {
  (void)error;
  const ops_prepared *prepared = call->prepared;
  for (int64_t i = 0; i < call->out.count; ++i) {
    const int64_t outer = i / prepared->axis.inner, inner = i % prepared->axis.inner;
    const float *x = (const float *)call->in[0].data;
    ((int64_t *)call->out.data)[i] =
        best_of(prepared, x + outer * prepared->axis.n * prepared->axis.inner + inner);
  }
  return OPS_OK;
}

const faulty_op faulty_argmax = {.prepare = prepare_argmax, .run = run_argmax};

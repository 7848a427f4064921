// SPDX-License-Identifier: Apache-2.0
//
// Add (float, int32; any strides) and Max (float, any number of inputs), with broadcasting.
#include <math.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "faulty.h"

static int32_t prepare_broadcast(ops_prepared *prepared, const ops_prepare_request *request,
                                 ops_prepare_reply *reply, ops_error *error) {
  int64_t dims[OPS_MAX_RANK];
  int32_t rank = 0;
  for (uint64_t i = 0; i < request->input_count; ++i) {
    const ops_type_info *x = ops_request_input(request, i)->type;
    rank = ops_broadcast_dims(rank, dims, x->rank, x->dims, dims);
    if (rank < 0) return FAULTY_REFUSE(prepared, error, "the shapes do not broadcast");
  }
  const ops_type_info *first = ops_request_input(request, 0)->type;
  faulty_state_output(prepared, reply, first->type, rank, dims);
  return OPS_OK;
}

// The strides with which input `which` is read in the output's shape.
static void strides_of(const faulty_call *call, int32_t which, int64_t *strides) {
  const faulty_view *in = &call->in[which];
  int64_t own[kFaultyRank];
  memcpy(own, in->strides, sizeof own);
  if (FAULTY(call->prepared, add_strides_ignored))
    ops_strides_contiguous(in->rank, in->dims, own);
  ops_broadcast_strides(in->rank, in->dims, own, call->out.rank, call->out.dims, strides);
  if (in->rank < call->out.rank && in->rank > 0 && in->dims[0] == call->out.dims[0] &&
      FAULTY(call->prepared, add_aligns_left)) {
    memset(strides, 0, kFaultyRank * sizeof *strides);
    memcpy(strides, own, (size_t)in->rank * sizeof *strides);
  }
}

// ---- Add ------------------------------------------------------------------------------------

static void add_one(const faulty_call *call, int64_t i, int64_t a, int64_t b) {
  if (call->out.type == OPS_TYPE_FLOAT) {
    ((float *)call->out.data)[i] =
        ((const float *)call->in[0].data)[a] + ((const float *)call->in[1].data)[b];
    return;
  }
  const int32_t x = ((const int32_t *)call->in[0].data)[a];
  const int32_t y = ((const int32_t *)call->in[1].data)[b];
  const int lossy = FAULTY(call->prepared, add_integers_in_float);
  ((int32_t *)call->out.data)[i] =
      lossy ? (int32_t)fminf((float)x + (float)y, 2147483520.0f) : x + y;
}

// Writes B to the output, then adds A: wrong where the output lies in A's memory.
static void add_in_two_steps(const faulty_call *call) {
  const float *a = (const float *)call->in[0].data, *b = (const float *)call->in[1].data;
  float *y = (float *)call->out.data;
  for (int64_t i = 0; i < call->out.count; ++i) y[i] = b[i];
  for (int64_t i = 0; i < call->out.count; ++i) y[i] += a[i];
}

// Control in_place_through_copy.
static float *copy_of(const faulty_view *view) {
  float *copy = malloc((size_t)view->count * sizeof *copy + 1);
  if (copy && view->count) memcpy(copy, view->data, (size_t)view->count * sizeof *copy);
  return copy;
}

static int32_t run_add(const faulty_call *call, ops_error *error) {
  (void)error;
  int64_t a[kFaultyRank], b[kFaultyRank], index[kFaultyRank] = {0};
  strides_of(call, 0, a);
  strides_of(call, 1, b);
  if (call->prepared->alias == 0 && call->in[1].count == call->out.count &&
      call->out.type == OPS_TYPE_FLOAT && FAULTY(call->prepared, add_in_place_overwrites)) {
    add_in_two_steps(call);
    return OPS_OK;
  }
  faulty_call mine = *call;
  const int32_t alias = call->prepared->alias;
  float *copy = NULL;
  if (alias >= 0 && CONTROLLED(call->prepared, in_place_through_copy))
    copy = copy_of(&call->in[alias]);
  if (copy) mine.in[alias].data = (char *)copy;
  for (int64_t i = 0; i < call->out.count; ++i) {
    add_one(&mine, i, faulty_offset(call->out.rank, index, a),
            faulty_offset(call->out.rank, index, b));
    faulty_next(call->out.rank, call->out.dims, index);
  }
  free(copy);
  return OPS_OK;
}

const faulty_op faulty_add = {.prepare = prepare_broadcast, .run = run_add};

// ---- Max ------------------------------------------------------------------------------------

static float larger(const ops_prepared *prepared, float a, float b) {
  if (isnan(a) || isnan(b)) {
    if (FAULTY(prepared, max_drops_nan)) return fmaxf(a, b);
    return a + b;
  }
  return a > b ? a : b;
}

static int32_t run_max(const faulty_call *call, ops_error *error) {
  (void)error;
  float *y = (float *)call->out.data;
  int32_t inputs = call->input_count;
  if (inputs > 2 && FAULTY(call->prepared, max_of_two)) inputs = 2;
  for (int32_t k = 0; k < inputs; ++k) {
    int64_t strides[kFaultyRank], index[kFaultyRank] = {0};
    strides_of(call, k, strides);
    const float *x = (const float *)call->in[k].data;
    for (int64_t i = 0; i < call->out.count; ++i) {
      const float next = x[faulty_offset(call->out.rank, index, strides)];
      y[i] = k == 0 ? next : larger(call->prepared, y[i], next);
      faulty_next(call->out.rank, call->out.dims, index);
    }
  }
  return OPS_OK;
}

const faulty_op faulty_max = {.prepare = prepare_broadcast, .run = run_max};

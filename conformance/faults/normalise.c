// SPDX-License-Identifier: Apache-2.0
//
// Softmax along one axis, LayerNormalization, BatchNormalization; all in float.
#include <math.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>

#include "faulty.h"

// Splits a shape into what is before, along and behind the axes [axis, last].
static void split_at(ops_prepared *prepared, const ops_type_info *x, int64_t axis,
                     int64_t last) {
  prepared->axis.outer = prepared->axis.n = prepared->axis.inner = 1;
  for (int32_t i = 0; i < x->rank; ++i) {
    int64_t *part = i < axis ? &prepared->axis.outer : &prepared->axis.n;
    *(i > last ? &prepared->axis.inner : part) *= x->dims[i];
  }
}

// ---- Softmax --------------------------------------------------------------------------------

static int32_t prepare_softmax(ops_prepared *prepared, const ops_prepare_request *request,
                               ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  int64_t axis = faulty_axis(prepared->attributes->axis, x->rank);
  if (axis < 0) {
    return FAULTY_REFUSE(prepared, error, "Softmax: expected an axis in [-%d, %d), found %lld",
                         x->rank, x->rank, (long long)prepared->attributes->axis);
  }
  if (x->rank > 1 && FAULTY(prepared, softmax_wrong_axis)) axis = (axis + 1) % x->rank;
  split_at(prepared, x, axis, axis);
  faulty_state_output(prepared, reply, OPS_TYPE_FLOAT, x->rank, x->dims);
  return OPS_OK;
}

static void normalise(const ops_prepared *prepared, const float *x, float *y) {
  const int64_t n = prepared->axis.n, step = prepared->axis.inner;
  float largest = -INFINITY;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) largest = fmaxf(largest, x[i * step]);
  if (FAULTY(prepared, softmax_without_maximum)) largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    y[i * step] = (float)exp((double)x[i * step] - (double)largest);
    sum += (double)y[i * step];
  }
  if (n > 4 && FAULTY(prepared, softmax_sum_of_tile))
    for (int64_t i = n - n % 4; i < n; ++i) sum -= (double)y[i * step];
  for (int64_t i = 0; i < n; ++i) y[i * step] = (float)((double)y[i * step] / sum);
}

static int32_t run_softmax(const faulty_call *call, ops_error *error) {
  (void)error;
  const ops_prepared *prepared = call->prepared;
  const int64_t inner = prepared->axis.inner, block = prepared->axis.n * inner;
  for (int64_t i = 0; i < prepared->axis.outer * inner; ++i) {
    const int64_t at = i / inner * block + i % inner;
    normalise(prepared, (const float *)call->in[0].data + at, (float *)call->out.data + at);
  }
  return OPS_OK;
}

const faulty_op faulty_softmax = {.prepare = prepare_softmax, .run = run_softmax};

// ---- LayerNormalization, with scale and bias of the normalised shape ------------------------

static int32_t claim_layer(const ops_node *node, ops_claim *claim) {
  for (uint64_t i = 1; i < node->output_count; ++i) {
    if (ops_node_output(node, i))
      return ops_claim_refuse(claim, OPS_REASON_ARITY, "no statistics");
  }
  return OPS_OK;
}

static int32_t prepare_layer(ops_prepared *prepared, const ops_prepare_request *request,
                             ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  int64_t axis = faulty_axis(prepared->attributes->axis, x->rank);
  if (axis < 0) return FAULTY_REFUSE(prepared, error, "LayerNormalization: axis out of range");
  split_at(prepared, x, axis, x->rank);
  for (uint64_t i = 1; i < 3; ++i) {
    const ops_operand *input = ops_request_input(request, i);
    faulty_view view;
    if (!input) continue;
    OPS_RETURN_IF_ERROR(faulty_view_of(input->type, &view, error));
    int64_t dims[OPS_MAX_RANK];
    const int32_t rank = ops_broadcast_dims(x->rank, x->dims, view.rank, view.dims, dims);
    if (rank == x->rank && view.rank <= x->rank && prepared->axis.n % view.count == 0) continue;
    return FAULTY_REFUSE(prepared, error, "LayerNormalization: input %d does not fit", (int)i);
  }
  if (axis < x->rank - 1 && FAULTY(prepared, layer_norm_last_axis_only))
    split_at(prepared, x, x->rank - 1, x->rank);
  faulty_state_output(prepared, reply, OPS_TYPE_FLOAT, x->rank, x->dims);
  return OPS_OK;
}

static double mean_of(const float *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += (double)x[i];
  return sum / (double)n;
}

static double variance(const ops_prepared *prepared, const float *x, double mean) {
  const int64_t n = prepared->axis.n;
  double sum = 0;
  float squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double d = (double)x[i] - mean;
    sum += d * d;
    squares += x[i] * x[i];
  }
  if (FAULTY(prepared, layer_norm_cancellation))
    return (double)(squares / (float)n - (float)mean * (float)mean);
  return sum / (double)n;
}

static double parameter(const faulty_view *view, int64_t i, double fallback) {
  return view->data ? (double)((const float *)view->data)[i % view->count] : fallback;
}

static int32_t run_layer(const faulty_call *call, ops_error *error) {
  (void)error;
  const ops_prepared *prepared = call->prepared;
  const int64_t n = prepared->axis.n;
  const double epsilon = prepared->attributes->epsilon;
  const int biased = !call->in[2].data || !FAULTY(prepared, layer_norm_bias_ignored);
  for (int64_t o = 0; o < prepared->axis.outer; ++o) {
    const float *x = (const float *)call->in[0].data + o * n;
    const double mean = mean_of(x, n), var = variance(prepared, x, mean);
    const double scale = FAULTY(prepared, layer_norm_epsilon_outside)
                             ? 1 / (sqrt(var) + epsilon)
                             : 1 / sqrt(var + epsilon);
    for (int64_t i = 0; i < n; ++i) {
      const double y = ((double)x[i] - mean) * scale * parameter(&call->in[1], i, 1);
      ((float *)call->out.data)[o * n + i] =
          (float)(y + (biased ? parameter(&call->in[2], i, 0) : 0));
    }
  }
  return OPS_OK;
}

const faulty_op faulty_layer_norm = {
    .claim = claim_layer, .prepare = prepare_layer, .run = run_layer};

// ---- BatchNormalization of inference --------------------------------------------------------

static int32_t claim_batch(const ops_node *node, ops_claim *claim) {
  if (ops_node_int(node, "training_mode", 0) != 0)
    return ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "no training");
  const ops_operand *x = ops_node_input(node, 0);
  if (x && x->type->rank < 2) return ops_claim_refuse(claim, OPS_REASON_SHAPE, "no channels");
  return claim_layer(node, claim);
}

static int32_t prepare_batch(ops_prepared *prepared, const ops_prepare_request *request,
                             ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  split_at(prepared, x, 1, 1);
  for (uint64_t i = 1; i < 5; ++i) {
    const ops_type_info *type = ops_request_input(request, i)->type;
    if (type->rank == 1 && type->dims[0] == x->dims[1]) continue;
    return FAULTY_REFUSE(prepared, error, "BatchNormalization: input %d: expected %lld values",
                         (int)i, (long long)x->dims[1]);
  }
  faulty_state_output(prepared, reply, OPS_TYPE_FLOAT, x->rank, x->dims);
  return OPS_OK;
}

static int32_t run_batch(const faulty_call *call, ops_error *error) {
  (void)error;
  const ops_prepared *prepared = call->prepared;
  const double epsilon =
      FAULTY(prepared, batch_norm_epsilon_dropped) ? 0 : prepared->attributes->epsilon;
  for (int64_t i = 0; i < call->out.count; ++i) {
    const int64_t c = i / prepared->axis.inner % prepared->axis.n;
    double p[5];
    for (int k = 1; k < 5; ++k) p[k] = (double)((const float *)call->in[k].data)[c];
    const double x = (double)((const float *)call->in[0].data)[i];
    if (FAULTY(prepared, batch_norm_variance_as_deviation)) p[4] *= p[4];
    ((float *)call->out.data)[i] = (float)((x - p[3]) / sqrt(p[4] + epsilon) * p[1] + p[2]);
  }
  return OPS_OK;
}

const faulty_op faulty_batch_norm = {
    .claim = claim_batch, .prepare = prepare_batch, .run = run_batch};

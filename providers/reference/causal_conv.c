// SPDX-License-Identifier: Apache-2.0
//
// CausalConvWithState: each channel is convolved with its own kernel of k taps over the past
// k - 1 positions, which come from past_state (else zeros), and the input. The last k - 1
// positions of both together are the new state.
#include <math.h>

#include "operators.h"

enum { X, WEIGHT, BIAS, PAST };

typedef struct causal_state {
  int64_t batch, channels, length, taps;
  int32_t swish;
} causal_state;

static int32_t prepare(ref_prepare *p) {
  causal_state *s = p->state;
  RETURN_IF_ERROR(ref_need_rank(p, X, 3, 3));
  RETURN_IF_ERROR(ref_need_rank(p, WEIGHT, 3, 3));
  const int64_t *x = p->inputs[X].dims, *w = p->inputs[WEIGHT].dims;
  s->batch = x[0];
  s->channels = x[1];
  s->length = x[2];
  s->taps = w[2];
  if (w[0] != s->channels || w[1] != 1 || w[2] < 1)
    return ref_refuse(p, "input weight: expected the shape [%lld, 1, at least 1]",
                      (long long)s->channels);
  if (ref_has(p, BIAS) && (p->inputs[BIAS].rank != 1 || p->inputs[BIAS].dims[0] != s->channels))
    return ref_refuse(p, "input bias: expected the shape [%lld]", (long long)s->channels);
  int64_t state[3] = {s->batch, s->channels, s->taps - 1};
  if (ref_has(p, PAST)) RETURN_IF_ERROR(ref_need_dims(p, PAST, 3, state));
  s->swish = ref_attr_is(p->kernel, "activation", "silu", "none") ||
             ref_attr_is(p->kernel, "activation", "swish", "none");
  if (!s->swish && !ref_attr_is(p->kernel, "activation", "none", "none"))
    return ref_refuse(p, "attribute activation: expected silu, swish or none");
  RETURN_IF_ERROR(ref_same_shape(p, 0, X));
  return ref_set_shape(p, 1, 3, state);
}

// Position `i` of the past and the input together.
static double position(const ref_run *run, int64_t b, int64_t c, int64_t i) {
  const causal_state *s = run->state;
  int is_past = i < s->taps - 1;
  if (is_past && !ref_given(run, PAST)) return 0;
  const ref_view *view = &run->inputs[is_past ? PAST : X];
  if (!is_past) i -= s->taps - 1;
  return ref_at(view, b * view->strides[0] + c * view->strides[1] + i * view->strides[2]);
}

static void run_channel(const ref_run *run, int64_t b, int64_t c) {
  const causal_state *s = run->state;
  const ref_view *y = &run->outputs[0], *w = &run->inputs[WEIGHT];
  double bias =
      ref_given(run, BIAS) ? ref_at(&run->inputs[BIAS], c * run->inputs[BIAS].strides[0]) : 0;
  for (int64_t t = 0; t < s->length; ++t) {
    double sum = bias;
    for (int64_t k = 0; k < s->taps; ++k)
      sum += ref_at(w, c * w->strides[0] + k * w->strides[2]) * position(run, b, c, t + k);
    if (s->swish) sum = sum / (1 + exp(-sum));
    ref_store(y, b * y->strides[0] + c * y->strides[1] + t * y->strides[2], 1, 1, &sum);
  }
  if (!ref_wanted(run, 1)) return;
  const ref_view *present = &run->outputs[1];
  for (int64_t i = 0; i < s->taps - 1; ++i) {
    double value = position(run, b, c, s->length + i);
    ref_store(present,
              b * present->strides[0] + c * present->strides[1] + i * present->strides[2], 1, 1,
              &value);
  }
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  const ref_run *run = context;
  const causal_state *s = run->state;
  for (int64_t i = begin; i < end; ++i) run_channel(run, i / s->channels, i % s->channels);
}

static int32_t execute(ref_run *run) {
  const causal_state *s = run->state;
  if (run->outputs[0].count > 0 || (ref_wanted(run, 1) && run->outputs[1].count > 0))
    ref_parallel(run, s->batch * s->channels, 1, body, run);
  return OPS_OK;
}

const ref_op ref_causal_conv = {sizeof(causal_state), prepare, execute, NULL, NULL};

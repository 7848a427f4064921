// SPDX-License-Identifier: Apache-2.0
//
// BatchNormalization: Y = (X - mean) / sqrt(var + epsilon) * scale + B for each channel. In
// training mode (opset 14) mean and variance are those of the batch, and the running ones are
// updated: running * momentum + batch * (1 - momentum).
#include <math.h>

#include "operators.h"
#include "traverse.h"

enum { X, SCALE, BIAS, MEAN, VARIANCE };

typedef struct batchnorm_state {
  double epsilon, momentum;
  int32_t training;
} batchnorm_state;

static int32_t prepare(ref_prepare *p) {
  batchnorm_state *s = p->state;
  s->epsilon = ref_attr_float(p->kernel, "epsilon", 1e-5f);
  s->momentum = ref_attr_float(p->kernel, "momentum", 0.9f);
  s->training = ref_attr_int(p->kernel, "training_mode", 0) != 0;
  RETURN_IF_ERROR(ref_need_rank(p, X, 1, OPS_MAX_RANK));
  const ref_shape *x = &p->inputs[X];
  int64_t channels = x->rank > 1 ? x->dims[1] : 1;
  for (uint64_t i = SCALE; i <= VARIANCE; ++i)
    if (p->inputs[i].rank != 1 || p->inputs[i].dims[0] != channels)
      return ref_refuse(p, "input %s: expected the shape [%lld], one number per channel",
                        ref_input_name(p->kernel, i), (long long)channels);
  if (p->output_count > 1 && !s->training)
    return ref_refuse(p, "running mean and variance are outputs in training mode only");
  for (uint64_t i = 1; i < p->output_count; ++i)
    RETURN_IF_ERROR(ref_set_shape(p, i, 1, &channels));
  return ref_same_shape(p, 0, X);
}

// A channel of a view: base offset, and strides and dims with the channel taken out.
typedef struct channel {
  int64_t base[2];  // of X and Y
  ref_walk_operand at[2];
  ref_walk walk;
} channel;

static void find_channel(const ref_run *run, int64_t c, channel *out) {
  const ref_view *x = &run->inputs[X], *y = &run->outputs[0];
  int64_t dims[OPS_MAX_RANK];
  for (int32_t i = 0; i < x->rank; ++i) {
    dims[i] = i == 1 ? 1 : x->dims[i];
    out->at[0].strides[i] = x->strides[i];
    out->at[1].strides[i] = y->strides[i];
  }
  out->base[0] = x->rank > 1 ? c * x->strides[1] : 0;
  out->base[1] = x->rank > 1 ? c * y->strides[1] : 0;
  ref_walk_init(&out->walk, x->rank, dims, out->at, 2);
}

static double sum_channel(const ref_run *run, int64_t c, double center, int power) {
  channel ch;
  find_channel(run, c, &ch);
  double sum = 0;
  do {
    for (int64_t i = 0; i < ch.walk.row; ++i) {
      int64_t at = ch.base[0] + ch.at[0].offset + i * ref_walk_step(&ch.walk, 0);
      double d = ref_at(&run->inputs[X], at) - center;
      sum += power == 2 ? d * d : d;
    }
  } while (ref_walk_next(&ch.walk));
  return sum;
}

static void normalize_channel(const ref_run *run, int64_t c, double mean, double variance) {
  const batchnorm_state *s = run->state;
  const ref_view *scale = &run->inputs[SCALE], *bias = &run->inputs[BIAS];
  double factor = ref_at(scale, c * scale->strides[0]) / sqrt(variance + s->epsilon);
  double shift = ref_at(bias, c * bias->strides[0]);
  double v[REF_CHUNK];
  channel ch;
  find_channel(run, c, &ch);
  do {
    int64_t x_step = ref_walk_step(&ch.walk, 0), y_step = ref_walk_step(&ch.walk, 1);
    for (int64_t i = 0; i < ch.walk.row; i += REF_CHUNK) {
      int64_t n = ch.walk.row - i < REF_CHUNK ? ch.walk.row - i : REF_CHUNK;
      ref_load(&run->inputs[X], ch.base[0] + ch.at[0].offset + i * x_step, x_step, n, v);
      for (int64_t k = 0; k < n; ++k) v[k] = (v[k] - mean) * factor + shift;
      ref_store(&run->outputs[0], ch.base[1] + ch.at[1].offset + i * y_step, y_step, n, v);
    }
  } while (ref_walk_next(&ch.walk));
}

static void update_running(const ref_run *run, int64_t c, uint64_t output, uint64_t input,
                           double batch) {
  const batchnorm_state *s = run->state;
  if (!ref_wanted(run, output)) return;
  const ref_view *old = &run->inputs[input], *view = &run->outputs[output];
  double value = ref_at(old, c * old->strides[0]) * s->momentum + batch * (1 - s->momentum);
  ref_store(view, c * view->strides[0], 1, 1, &value);
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  const ref_run *run = context;
  const batchnorm_state *s = run->state;
  const ref_view *x = &run->inputs[X], *mean = &run->inputs[MEAN];
  const ref_view *variance = &run->inputs[VARIANCE];
  int64_t channels = x->rank > 1 ? x->dims[1] : 1;
  for (int64_t c = begin; c < end; ++c) {
    double m, v;
    if (s->training) {
      double n = (double)(x->count / channels);
      m = sum_channel(run, c, 0, 1) / n;
      v = sum_channel(run, c, m, 2) / n;
      update_running(run, c, 1, MEAN, m);
      update_running(run, c, 2, VARIANCE, v);
    } else {
      m = ref_at(mean, c * mean->strides[0]);
      v = ref_at(variance, c * variance->strides[0]);
    }
    normalize_channel(run, c, m, v);
  }
}

static int32_t execute(ref_run *run) {
  const ref_view *x = &run->inputs[X];
  if (x->count == 0) return OPS_OK;
  ref_parallel(run, x->rank > 1 ? x->dims[1] : 1, 1, body, run);
  return OPS_OK;
}

static const char *refuse(const ops_node *node) {
  if (node->opset < 9 && ref_node_int(node, "spatial", 1) == 0)
    return "attribute spatial must be 1; statistics per element are not supported";
  if (node->output_count > 1 && ref_node_int(node, "training_mode", 0) == 0)
    return "more than one output is supported with training_mode only";
  return NULL;
}

const ref_op ref_batch_normalization = {sizeof(batchnorm_state), prepare, execute, NULL,
                                        refuse};

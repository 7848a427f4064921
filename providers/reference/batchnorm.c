// SPDX-License-Identifier: Apache-2.0
//
// BatchNormalization: Y = (X - mean) / sqrt(var + epsilon) * scale + B for each channel or,
// with attribute spatial 0 (opset 8 and before), for each position of an image. In training
// mean and variance are those of the batch, and the running ones are updated: running *
// momentum + batch * (1 - momentum). Training is asked for by training_mode (opset 14), by an
// output besides Y (opset 7), or by the absence of is_test.
#include <math.h>
#include <string.h>

#include "operators.h"
#include "traverse.h"

enum { X, SCALE, BIAS, MEAN, VARIANCE };

enum { Y, RUNNING_MEAN, RUNNING_VARIANCE, SAVED_MEAN, SAVED_VARIANCE };

typedef struct batchnorm_state {
  double epsilon, momentum;
  int32_t training;
  int32_t features;  // dimensions of X, from 1 on, that have statistics of their own
} batchnorm_state;

static int is_training(const ref_prepare *p) {
  const ops_kernel *kernel = p->kernel;
  if (kernel->opset >= 14) return ref_attr_int(kernel, "training_mode", 0) != 0;
  if (kernel->opset >= 7) return p->output_count > 1;
  return ref_attr_int(kernel, "is_test", 0) == 0;
}

static int64_t channels_of(const batchnorm_state *s, const int64_t *dims) {
  return ref_count(dims + 1, s->features);
}

static int32_t prepare(ref_prepare *p) {
  batchnorm_state *s = p->state;
  s->epsilon = ref_attr_float(p->kernel, "epsilon", 1e-5f);
  s->momentum = ref_attr_float(p->kernel, "momentum", 0.9f);
  s->training = is_training(p);
  RETURN_IF_ERROR(ref_need_rank(p, X, 1, OPS_MAX_RANK));
  const ref_shape *x = &p->inputs[X];
  int spatial = p->kernel->opset >= 9 || ref_attr_int(p->kernel, "spatial", 1) != 0;
  s->features = spatial && x->rank > 1 ? 1 : x->rank - 1;
  int32_t rank = s->features > 0 ? s->features : 1;
  const int64_t *dims = s->features > 0 ? x->dims + 1 : (const int64_t[]){1};
  for (uint64_t i = SCALE; i <= VARIANCE; ++i) {
    RETURN_IF_ERROR(ref_need_rank(p, i, rank, rank));
    if (memcmp(p->inputs[i].dims, dims, sizeof *dims * (size_t)rank) != 0)
      return ref_refuse(p, "input %s: expected one number per %s, %lld in all",
                        ref_input_name(p->kernel, i), spatial ? "channel" : "position",
                        (long long)channels_of(s, x->dims));
  }
  if (p->output_count > 1 && !s->training)
    return ref_refuse(p, "running mean and variance are outputs in training mode only");
  for (uint64_t i = 1; i < p->output_count; ++i)
    RETURN_IF_ERROR(ref_set_shape(p, i, rank, dims));
  return ref_same_shape(p, 0, X);
}

// A channel of a view: base offset, and strides and dims with the channel taken out.
typedef struct channel {
  int64_t base[2];  // of X and Y
  ref_walk_operand at[2];
  ref_walk walk;
} channel;

static int64_t base_of(const ref_view *view, int32_t features, int64_t c) {
  int64_t base = 0;
  for (int32_t i = features; i >= 1; --i) {
    base += c % view->dims[i] * view->strides[i];
    c /= view->dims[i];
  }
  return base;
}

static void find_channel(const ref_run *run, int64_t c, channel *out) {
  const batchnorm_state *s = run->state;
  const ref_view *x = &run->inputs[X], *y = &run->outputs[Y];
  int64_t dims[OPS_MAX_RANK];
  for (int32_t i = 0; i < x->rank; ++i) {
    dims[i] = i >= 1 && i <= s->features ? 1 : x->dims[i];
    out->at[0].strides[i] = x->strides[i];
    out->at[1].strides[i] = y->strides[i];
  }
  out->base[0] = base_of(x, s->features, c);
  out->base[1] = base_of(y, s->features, c);
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

static double statistic(const ref_view *view, int64_t c) {
  return ref_at(view, ref_offset_of(view, c));
}

static void normalize_channel(const ref_run *run, int64_t c, double mean, double variance) {
  const batchnorm_state *s = run->state;
  double factor = statistic(&run->inputs[SCALE], c) / sqrt(variance + s->epsilon);
  double shift = statistic(&run->inputs[BIAS], c);
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

static void store_statistic(const ref_run *run, int64_t c, uint64_t output, double value) {
  const ref_view *view = &run->outputs[output];
  if (ref_wanted(run, output)) ref_store(view, ref_offset_of(view, c), 1, 1, &value);
}

static void update_running(const ref_run *run, int64_t c, uint64_t output, uint64_t input,
                           double batch) {
  const batchnorm_state *s = run->state;
  double old = statistic(&run->inputs[input], c);
  store_statistic(run, c, output, old * s->momentum + batch * (1 - s->momentum));
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  const ref_run *run = context;
  const batchnorm_state *s = run->state;
  const ref_view *x = &run->inputs[X];
  int64_t channels = channels_of(s, x->dims);
  for (int64_t c = begin; c < end; ++c) {
    double m, v;
    if (s->training) {
      double n = (double)(x->count / channels);
      m = sum_channel(run, c, 0, 1) / n;
      v = sum_channel(run, c, m, 2) / n;
      update_running(run, c, RUNNING_MEAN, MEAN, m);
      update_running(run, c, RUNNING_VARIANCE, VARIANCE, v);
      store_statistic(run, c, SAVED_MEAN, m);
      store_statistic(run, c, SAVED_VARIANCE, v);
    } else {
      m = statistic(&run->inputs[MEAN], c);
      v = statistic(&run->inputs[VARIANCE], c);
    }
    normalize_channel(run, c, m, v);
  }
}

static int32_t execute(ref_run *run) {
  const ref_view *x = &run->inputs[X];
  if (x->count == 0) return OPS_OK;
  ref_parallel(run, channels_of(run->state, x->dims), 1, body, run);
  return OPS_OK;
}

static const char *refuse(const ops_node *node) {
  if (node->opset >= 14 && node->output_count > 1 &&
      ref_node_int(node, "training_mode", 0) == 0)
    return "more than one output is supported with training_mode only";
  return NULL;
}

const ref_op ref_batch_normalization = {sizeof(batchnorm_state), prepare, execute, NULL,
                                        refuse};

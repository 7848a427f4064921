// SPDX-License-Identifier: Apache-2.0
//
// LRN: Y = X / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta.
#include <math.h>

#include "operators.h"
#include "traverse.h"

typedef struct lrn_state {
  double alpha, beta, bias;
  int64_t size;
} lrn_state;

static int32_t prepare(ref_prepare *p) {
  lrn_state *s = p->state;
  s->alpha = ref_attr_float(p->kernel, "alpha", 0.0001f);
  s->beta = ref_attr_float(p->kernel, "beta", 0.75f);
  s->bias = ref_attr_float(p->kernel, "bias", 1.0f);
  s->size = ref_attr_int(p->kernel, "size", 0);
  RETURN_IF_ERROR(ref_need_rank(p, 0, 2, OPS_MAX_RANK));
  if (s->size < 1 || s->size > INT32_MAX)
    return ref_refuse(p, "attribute size: expected at least 1, found %lld", (long long)s->size);
  return ref_same_shape(p, 0, 0);
}

static int32_t run_line(void *context, const int64_t *offsets) {
  const ref_run *run = context;
  const lrn_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int64_t channels = x->dims[1], before = (s->size - 1) / 2, after = s->size - 1 - before;
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (int64_t k = c - before < 0 ? 0 : c - before; k <= c + after && k < channels; ++k) {
      double v = ref_at(x, offsets[0] + k * x->strides[1]);
      sum += v * v;
    }
    double value = ref_at(x, offsets[0] + c * x->strides[1]) /
                   pow(s->bias + s->alpha / (double)s->size * sum, s->beta);
    ref_store(y, offsets[1] + c * y->strides[1], 1, 1, &value);
  }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  return ref_each_line((const ref_view *[]){&run->inputs[0], &run->outputs[0]}, 2, 1, run_line,
                       run);
}

const ref_op ref_lrn = {sizeof(lrn_state), prepare, execute, NULL, NULL};

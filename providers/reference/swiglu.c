// SPDX-License-Identifier: Apache-2.0
//
// SwiGLU: A * sigmoid(alpha * A) * B, of equal shapes.
#include <math.h>

#include "operators.h"

static int32_t prepare(ref_prepare *p) {
  const ref_shape *a = &p->inputs[0], *b = &p->inputs[1];
  int same = a->rank == b->rank;
  for (int32_t i = 0; same && i < a->rank; ++i) same = a->dims[i] == b->dims[i];
  if (!same) return ref_refuse(p, "inputs A and B: expected equal shapes");
  return ref_same_shape(p, 0, 0);
}

// a * sigmoid(alpha * a), whose limit at minus infinity is 0.
static double swish(double a, double alpha) {
  double e = exp(-fabs(alpha * a));
  double sigmoid = alpha * a >= 0 ? 1 / (1 + e) : e / (1 + e);
  return isinf(a) && sigmoid == 0 ? 0 : a * sigmoid;
}

static int32_t execute(ref_run *run) {
  const ref_view *a = &run->inputs[0], *b = &run->inputs[1], *y = &run->outputs[0];
  double alpha = ref_attr_float(run->kernel, "alpha", 1);
  for (int64_t i = 0; i < y->count; ++i) {
    double value =
        swish(ref_at(a, ref_offset_of(a, i)), alpha) * ref_at(b, ref_offset_of(b, i));
    ref_store(y, ref_offset_of(y, i), 1, 1, &value);
  }
  return OPS_OK;
}

const ref_op ref_swiglu = {0, prepare, execute, NULL, NULL};

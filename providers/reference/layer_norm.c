// SPDX-License-Identifier: Apache-2.0
//
// LayerNormalization, RMSNormalization and SimplifiedLayerNormalization, which is what
// onnxruntime calls the latter: blocks are all dimensions from `axis` on; scale and bias
// broadcast to the input. Statistics come out in the type that stash_type names.
#include <string.h>

#include "microsoft_operators.h"
#include "norm.h"
#include "operators.h"

// What the operators differ in.
typedef struct layer_form {
  int center;
  uint64_t mean, inverse;  // outputs; 0: it has none
} layer_form;

typedef struct layer_state {
  double epsilon;
  int32_t axis;
} layer_state;

static int32_t broadcasts(ref_prepare *p, uint64_t input) {
  const ref_shape *x = &p->inputs[0], *s = &p->inputs[input];
  if (!ref_has(p, input)) return OPS_OK;
  int fits = s->rank <= x->rank;
  for (int32_t i = 0; fits && i < s->rank; ++i)
    fits = s->dims[i] == 1 || s->dims[i] == x->dims[x->rank - s->rank + i];
  if (fits) return OPS_OK;
  return ref_refuse(p, "input %s: expected a shape that broadcasts to that of X",
                    ref_input_name(p->kernel, input));
}

static int32_t prepare(ref_prepare *p) {
  layer_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  s->epsilon = ref_attr_float(p->kernel, "epsilon", 1e-5f);
  RETURN_IF_ERROR(ref_axis(p, ref_attr_int(p->kernel, "axis", -1), x->rank, &s->axis));
  RETURN_IF_ERROR(broadcasts(p, 1));
  RETURN_IF_ERROR(broadcasts(p, 2));
  int64_t dims[OPS_MAX_RANK], stash = ref_attr_int(p->kernel, "stash_type", OPS_TYPE_FLOAT);
  for (int32_t i = 0; i < x->rank; ++i) dims[i] = i < s->axis ? x->dims[i] : 1;
  for (uint64_t i = 1; i < p->output_count; ++i) {
    if (stash != OPS_TYPE_FLOAT && stash != OPS_TYPE_BFLOAT16 && stash != OPS_TYPE_DOUBLE &&
        stash != OPS_TYPE_FLOAT16)
      return ref_refuse(p, "attribute stash_type: %lld is no floating-point type",
                        (long long)stash);
    p->outputs[i].type = (int32_t)stash;
    RETURN_IF_ERROR(ref_set_shape(p, i, x->rank, dims));
  }
  return ref_same_shape(p, 0, 0);
}

static int32_t execute(ref_run *run) {
  const layer_form *form = run->kernel->op->family;
  const layer_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  ref_norm norm = {
      .rank = x->rank, .lead = s->axis, .center = form->center, .epsilon = s->epsilon};
  memcpy(norm.dims, x->dims, sizeof norm.dims);
  ref_norm_set(&norm.x, x, x->rank);
  ref_norm_set(&norm.y, &run->outputs[0], x->rank);
  ref_norm_set(&norm.scale, &run->inputs[1], x->rank);
  if (ref_given(run, 2)) ref_norm_set(&norm.bias, &run->inputs[2], x->rank);
  if (form->mean != 0 && ref_wanted(run, form->mean))
    ref_norm_set(&norm.mean, &run->outputs[form->mean], x->rank);
  if (form->inverse != 0 && ref_wanted(run, form->inverse))
    ref_norm_set(&norm.inverse, &run->outputs[form->inverse], x->rank);
  ref_norm_run(run, &norm);
  return OPS_OK;
}

static const layer_form layer = {.center = 1, .mean = 1, .inverse = 2};
static const layer_form rms = {.center = 0};
static const layer_form simplified = {.center = 0, .inverse = 1};

const ref_op ref_layer_normalization = {sizeof(layer_state), prepare, execute, &layer, NULL};
const ref_op ref_rms_normalization = {sizeof(layer_state), prepare, execute, &rms, NULL};
const ref_op ref_simplified_layer_norm = {sizeof(layer_state), prepare, execute, &simplified,
                                          NULL};

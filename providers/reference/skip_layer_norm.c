// SPDX-License-Identifier: Apache-2.0
//
// com.microsoft SkipLayerNormalization and SkipSimplifiedLayerNormalization: input + skip
// (+ bias), normalised over the last dimension. The sum is kept in double; it is rounded where
// it is an output of its own, not on its way into the statistics.
#include <string.h>

#include "dense.h"
#include "microsoft_operators.h"
#include "norm.h"

enum { INPUT, SKIP, GAMMA };
enum { OUTPUT, MEAN, INVERSE, SUM };

// What the two operators differ in.
typedef struct skip_form {
  uint64_t beta;  // 0: it has none
  uint64_t bias;
  int center;
} skip_form;

typedef struct skip_state {
  double epsilon;
  uint64_t sum_at;
} skip_state;

static int32_t check_vector(const ref_prepare *p, uint64_t input) {
  const ref_shape *x = &p->inputs[INPUT];
  if (!ref_has(p, input)) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, input, 1, 1));
  if (p->inputs[input].dims[0] == x->dims[x->rank - 1]) return OPS_OK;
  return ref_refuse(p,
                    "input %s: expected %lld elements, the last dimension of input, found %lld",
                    ref_input_name(p->kernel, input), (long long)x->dims[x->rank - 1],
                    (long long)p->inputs[input].dims[0]);
}

// skip has the shape of input, but may lack the batch or have a batch of one.
static int32_t check_skip(const ref_prepare *p) {
  const ref_shape *x = &p->inputs[INPUT], *skip = &p->inputs[SKIP];
  int fits = skip->rank == x->rank || (skip->rank == 2 && x->rank == 3);
  for (int32_t i = 1; fits && i <= skip->rank; ++i)
    fits = skip->dims[skip->rank - i] == x->dims[x->rank - i] || (i == 3 && skip->dims[0] == 1);
  if (fits) return OPS_OK;
  return ref_refuse(
      p,
      "input skip: expected the shape of input, which may lack the first dimension "
      "or have 1 there");
}

static int32_t prepare(ref_prepare *p) {
  const skip_form *form = p->kernel->op->family;
  skip_state *s = p->state;
  const ref_shape *x = &p->inputs[INPUT];
  int64_t dims[OPS_MAX_RANK];
  RETURN_IF_ERROR(ref_need_rank(p, INPUT, 2, 3));
  RETURN_IF_ERROR(check_skip(p));
  RETURN_IF_ERROR(check_vector(p, GAMMA));
  RETURN_IF_ERROR(check_vector(p, form->bias));
  if (form->beta != 0) RETURN_IF_ERROR(check_vector(p, form->beta));
  s->epsilon = ref_attr_float(p->kernel, "epsilon", 1e-12f);
  s->sum_at = ref_reserve_input(p, INPUT);
  memcpy(dims, x->dims, sizeof dims);
  dims[x->rank - 1] = 1;
  RETURN_IF_ERROR(ref_set_shape(p, MEAN, x->rank, dims));
  RETURN_IF_ERROR(ref_set_shape(p, INVERSE, x->rank, dims));
  RETURN_IF_ERROR(ref_same_shape(p, SUM, INPUT));
  return ref_same_shape(p, OUTPUT, INPUT);
}

static void add(const ref_run *run, uint64_t input, const ref_view *sum) {
  const ref_view *view = &run->inputs[input];
  double numbers[REF_CHUNK], *out = sum->data;
  ref_walk_operand at;
  ref_walk walk;
  if (!ref_given(run, input) || sum->count == 0) return;
  ref_broadcast_strides(view, sum->rank, at.strides);
  ref_walk_init(&walk, sum->rank, sum->dims, &at, 1);
  do {
    for (int64_t i = 0; i < walk.row; i += REF_CHUNK) {
      int64_t n = walk.row - i < REF_CHUNK ? walk.row - i : REF_CHUNK;
      ref_load(view, at.offset + i * ref_walk_step(&walk, 0), ref_walk_step(&walk, 0), n,
               numbers);
      for (int64_t j = 0; j < n; ++j) *out++ += numbers[j];
    }
  } while (ref_walk_next(&walk));
}

static int32_t execute(ref_run *run) {
  const skip_form *form = run->kernel->op->family;
  const skip_state *s = run->state;
  const ref_view *x = &run->inputs[INPUT];
  ref_view sum;
  ref_view_of(&sum, ref_reals(run, s->sum_at), OPS_TYPE_DOUBLE, x->rank, x->dims);
  ref_read_reals(x, sum.data);
  add(run, SKIP, &sum);
  add(run, form->bias, &sum);
  if (ref_wanted(run, SUM)) ref_write_reals(&run->outputs[SUM], sum.data);
  ref_norm norm = {
      .rank = x->rank, .lead = x->rank - 1, .center = form->center, .epsilon = s->epsilon};
  memcpy(norm.dims, x->dims, sizeof norm.dims);
  ref_norm_set(&norm.x, &sum, x->rank);
  ref_norm_set(&norm.y, &run->outputs[OUTPUT], x->rank);
  ref_norm_set(&norm.scale, &run->inputs[GAMMA], x->rank);
  if (form->beta != 0 && ref_given(run, form->beta))
    ref_norm_set(&norm.bias, &run->inputs[form->beta], x->rank);
  if (ref_wanted(run, MEAN)) ref_norm_set(&norm.mean, &run->outputs[MEAN], x->rank);
  if (ref_wanted(run, INVERSE)) ref_norm_set(&norm.inverse, &run->outputs[INVERSE], x->rank);
  ref_norm_run(run, &norm);
  return OPS_OK;
}

static const skip_form layer = {.beta = 3, .bias = 4, .center = 1};
static const skip_form simplified = {.beta = 0, .bias = 3, .center = 0};

const ref_op ref_skip_layer_norm = {sizeof(skip_state), prepare, execute, &layer, NULL};
const ref_op ref_skip_simplified_layer_norm = {sizeof(skip_state), prepare, execute,
                                               &simplified, NULL};

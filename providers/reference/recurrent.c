// SPDX-License-Identifier: Apache-2.0
//
// The frame of RNN, GRU and LSTM. Every sequence in every direction is a work item of its own:
// its states stay in double over all steps and are rounded where they are written out. Steps
// beyond the length of a sequence give zeros in Y; a sequence of length 0 ends in its initial
// state.
#include "recurrent.h"

#include <math.h>
#include <string.h>

#include "dense.h"

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLE };
enum { Y, Y_H, Y_C };

double ref_dot_product(ref_noise *noise, const double *row, const double *vector, int64_t n) {
  double sum = 0;
  for (int64_t j = 0; j < n; ++j) sum = ref_noisy(noise, sum + row[j] * vector[j]);
  return sum;
}

double ref_activate(const ref_cell *cell, int32_t activation, double value) {
  const ref_activation *a = &cell->activations[activation];
  double clip = cell->s->clip;
  if (value > clip) value = clip;
  if (value < -clip) value = -clip;
  return ref_noisy(cell->noise, ref_activation_apply(a, value));
}

// ---- Prepare -------------------------------------------------------------------------------

static int32_t read_direction(const ref_prepare *p, ref_recurrent *s) {
  const ops_kernel *kernel = p->kernel;
  int both = ref_attr_is(kernel, "direction", "bidirectional", "forward");
  int reverse = ref_attr_is(kernel, "direction", "reverse", "forward");
  // The default of GRU 1 in the official schemas is spelt so.
  int forward = ref_attr_is(kernel, "direction", "forward", "forward") ||
                (kernel->opset < 3 && ref_attr_is(kernel, "direction", "foward", ""));
  if (!both && !reverse && !forward)
    return ref_refuse(p, "attribute direction: expected forward, reverse or bidirectional");
  s->directions = both ? 2 : 1;
  s->reverse[0] = reverse;
  s->reverse[1] = 1;
  return OPS_OK;
}

// The numbers of activation_alpha and activation_beta go in turn to the functions that have
// such a parameter.
static void take(const ref_attribute *list, int wanted, int64_t *next, double *out) {
  if (wanted && list != NULL && list->kind == OPS_ATTRIBUTE_FLOATS && *next < list->count)
    *out = (double)list->floats[(*next)++];
}

static int32_t read_activations(const ref_prepare *p, const ref_cell_kind *kind,
                                ref_recurrent *s) {
  const ref_attribute *names = ref_attr(p->kernel, "activations");
  const ref_attribute *alphas = ref_attr(p->kernel, "activation_alpha");
  const ref_attribute *betas = ref_attr(p->kernel, "activation_beta");
  int64_t wanted = (int64_t)s->directions * kind->activation_count, alpha = 0, beta = 0;
  if (names != NULL && names->kind != OPS_ATTRIBUTE_STRINGS) names = NULL;
  if (names != NULL && names->count < wanted)
    return ref_refuse(p, "attribute activations: expected %lld names, found %lld",
                      (long long)wanted, (long long)names->count);
  for (int64_t i = 0; i < wanted; ++i) {
    ref_activation *a = &s->activations[i / kind->activation_count][i % kind->activation_count];
    const char *usual = kind->defaults[i % kind->activation_count];
    ops_str name = names != NULL ? names->strings[i] : (ops_str){usual, strlen(usual)};
    int32_t parameters;
    if (!ref_activation_find(name, REF_ACTIVATION_RECURRENT, a, &parameters))
      return ref_refuse(p, "attribute activations: '%.*s' is no activation function",
                        (int)(name.size < 64 ? name.size : 64), name.data);
    take(alphas, parameters > 0, &alpha, &a->alpha);
    take(betas, parameters > 1, &beta, &a->beta);
  }
  return OPS_OK;
}

static int32_t need_shape(const ref_prepare *p, uint64_t input, int32_t rank,
                          const int64_t *dims) {
  return ref_has(p, input) ? ref_need_dims(p, input, rank, dims) : OPS_OK;
}

static int32_t read_sizes(const ref_prepare *p, const ref_cell_kind *kind, ref_recurrent *s) {
  RETURN_IF_ERROR(ref_need_rank(p, X, 3, 3));
  RETURN_IF_ERROR(ref_need_rank(p, R, 3, 3));
  RETURN_IF_ERROR(ref_need_small(p, X));
  const int64_t *x = p->inputs[X].dims;
  s->batch_first = ref_attr_int(p->kernel, "layout", 0) != 0;
  s->steps = x[s->batch_first];
  s->batch = x[!s->batch_first];
  s->inputs = x[2];
  s->hidden = ref_attr_int(p->kernel, "hidden_size", p->inputs[R].dims[2]);
  s->gates = kind->gates;
  if (s->hidden < 1 || s->hidden > (int64_t)1 << 40)
    return ref_refuse(p, "attribute hidden_size is %lld, expected at least 1",
                      (long long)s->hidden);
  int64_t d = s->directions, h = s->hidden, rows = s->gates * h;
  RETURN_IF_ERROR(need_shape(p, W, 3, (int64_t[]){d, rows, s->inputs}));
  RETURN_IF_ERROR(need_shape(p, R, 3, (int64_t[]){d, rows, h}));
  RETURN_IF_ERROR(need_shape(p, B, 2, (int64_t[]){d, 2 * rows}));
  RETURN_IF_ERROR(need_shape(p, LENGTHS, 1, &s->batch));
  int64_t state[3] = {d, s->batch, h};
  if (s->batch_first) state[0] = s->batch, state[1] = d;
  RETURN_IF_ERROR(need_shape(p, INITIAL_H, 3, state));
  if (!kind->has_cell) return OPS_OK;
  RETURN_IF_ERROR(need_shape(p, INITIAL_C, 3, state));
  return need_shape(p, PEEPHOLE, 2, (int64_t[]){d, 3 * h});
}

static int32_t set_outputs(ref_prepare *p, const ref_recurrent *s) {
  int64_t d = s->directions;
  int64_t y[4] = {s->steps, d, s->batch, s->hidden}, h[3] = {d, s->batch, s->hidden};
  if (s->batch_first) {
    y[0] = s->batch, y[1] = s->steps, y[2] = d;
    h[0] = s->batch, h[1] = d;
  }
  RETURN_IF_ERROR(ref_set_shape(p, Y, 4, y));
  RETURN_IF_ERROR(ref_set_shape(p, Y_H, 3, h));
  return ref_set_shape(p, Y_C, 3, h);
}

int32_t ref_recurrent_prepare(ref_prepare *p) {
  const ref_cell_kind *kind = p->kernel->op->family;
  ref_recurrent *s = p->state;
  RETURN_IF_ERROR(read_direction(p, s));
  RETURN_IF_ERROR(read_activations(p, kind, s));
  RETURN_IF_ERROR(read_sizes(p, kind, s));
  s->clip = ref_attr_float(p->kernel, "clip", 0);
  if (!(s->clip > 0)) s->clip = INFINITY;
  s->flag = kind->flag != NULL && ref_attr_int(p->kernel, kind->flag, 0) != 0;
  s->w_at = ref_reserve_input(p, W);
  s->r_at = ref_reserve_input(p, R);
  s->b_at = ref_reserve_input(p, B);
  s->p_at = kind->has_cell ? ref_reserve_input(p, PEEPHOLE) : 0;
  s->scratch = s->inputs + (4 + s->gates) * s->hidden;
  int64_t all[3] = {s->directions, s->batch, s->scratch};
  s->scratch_at = ref_reserve_reals(p, ref_count(all, 3));
  return set_outputs(p, s);
}

// ---- Execute -------------------------------------------------------------------------------

typedef struct frame {
  const ref_run *run;
  const ref_recurrent *s;
  const double *w, *r, *b, *peephole;
  void (*step)(const ref_cell *cell);
} frame;

// Offset of a direction's state of a sequence in initial_h, Y_h and their like.
static int64_t state_offset(const ref_recurrent *s, const ref_view *view, int64_t direction,
                            int64_t sequence) {
  return direction * view->strides[s->batch_first] + sequence * view->strides[!s->batch_first];
}

static void load_state(const frame *f, uint64_t input, int64_t direction, int64_t sequence,
                       double *out) {
  memset(out, 0, sizeof(double) * (size_t)f->s->hidden);
  if (!ref_given(f->run, input)) return;
  const ref_view *view = &f->run->inputs[input];
  ref_load(view, state_offset(f->s, view, direction, sequence), view->strides[2], f->s->hidden,
           out);
}

static void store_state(const frame *f, uint64_t output, int64_t direction, int64_t sequence,
                        const double *in) {
  if (!ref_wanted(f->run, output)) return;
  const ref_view *view = &f->run->outputs[output];
  ref_store(view, state_offset(f->s, view, direction, sequence), view->strides[2], f->s->hidden,
            in);
}

static void store_step(const frame *f, int64_t direction, int64_t sequence, int64_t t,
                       const double *in) {
  if (!ref_wanted(f->run, Y)) return;
  const ref_view *y = &f->run->outputs[Y];
  int64_t at = f->s->batch_first
                   ? sequence * y->strides[0] + t * y->strides[1] + direction * y->strides[2]
                   : t * y->strides[0] + direction * y->strides[1] + sequence * y->strides[2];
  ref_store(y, at, y->strides[3], f->s->hidden, in);
}

static void project_input(const frame *f, const ref_cell *cell, int64_t sequence, int64_t t,
                          double *x) {
  const ref_recurrent *s = f->s;
  const ref_view *view = &f->run->inputs[X];
  ref_load(view, t * view->strides[s->batch_first] + sequence * view->strides[!s->batch_first],
           view->strides[2], s->inputs, x);
  for (int64_t i = 0; i < s->gates * s->hidden; ++i)
    cell->gate[i] = ref_noisy(
        cell->noise, ref_dot_product(cell->noise, cell->w + i * s->inputs, x, s->inputs) +
                         (cell->wb != NULL ? cell->wb[i] : 0));
}

static void run_sequence(const frame *f, int64_t direction, int64_t sequence, double *scratch) {
  const ref_recurrent *s = f->s;
  int64_t h = s->hidden, rows = s->gates * h, length = s->steps;
  double *x = scratch, *state = x + s->inputs;
  ref_noise noise =
      ref_noise_of(ref_noise_in(f->run), (uint64_t)(direction * s->batch + sequence));
  ref_cell cell = {.s = s,
                   .activations = s->activations[direction],
                   .w = f->w + direction * rows * s->inputs,
                   .r = f->r + direction * rows * h,
                   .wb = f->b == NULL ? NULL : f->b + direction * 2 * rows,
                   .rb = f->b == NULL ? NULL : f->b + (direction * 2 + 1) * rows,
                   .peephole = f->peephole == NULL ? NULL : f->peephole + direction * 3 * h,
                   .x = x,
                   .h = state,
                   .c = state + h,
                   .other = state + 2 * h,
                   .gate = state + 4 * h,
                   .noise = &noise};
  load_state(f, INITIAL_H, direction, sequence, cell.h);
  load_state(f, INITIAL_C, direction, sequence, cell.c);
  if (ref_given(f->run, LENGTHS))
    length =
        ref_int_at(&f->run->inputs[LENGTHS], sequence * f->run->inputs[LENGTHS].strides[0]);
  for (int64_t i = 0; i < length; ++i) {
    int64_t t = s->reverse[direction] ? length - 1 - i : i;
    project_input(f, &cell, sequence, t, x);
    f->step(&cell);
    store_step(f, direction, sequence, t, cell.h);
  }
  store_state(f, Y_H, direction, sequence, cell.h);
  store_state(f, Y_C, direction, sequence, cell.c);
  memset(cell.other, 0, sizeof(double) * (size_t)h);
  for (int64_t t = length; t < s->steps; ++t) store_step(f, direction, sequence, t, cell.other);
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  const frame *f = context;
  for (int64_t i = begin; i < end; ++i)
    run_sequence(f, i / f->s->batch, i % f->s->batch,
                 ref_reals(f->run, f->s->scratch_at) + i * f->s->scratch);
}

static int32_t check_lengths(const ref_run *run, const ref_recurrent *s) {
  if (!ref_given(run, LENGTHS)) return OPS_OK;
  const ref_view *lengths = &run->inputs[LENGTHS];
  for (int64_t i = 0; i < lengths->count; ++i) {
    int64_t length = ref_int_at(lengths, i * lengths->strides[0]);
    if (length < 0 || length > s->steps)
      return ref_refuse(run, "input sequence_lens: element %lld is %lld, expected 0 to %lld",
                        (long long)i, (long long)length, (long long)s->steps);
  }
  return OPS_OK;
}

int32_t ref_recurrent_execute(ref_run *run) {
  const ref_cell_kind *kind = run->kernel->op->family;
  const ref_recurrent *s = run->state;
  RETURN_IF_ERROR(check_lengths(run, s));
  frame f = {.run = run, .s = s, .step = kind->step};
  f.w = ref_input_reals(run, W, s->w_at);
  f.r = ref_input_reals(run, R, s->r_at);
  f.b = ref_input_reals(run, B, s->b_at);
  if (kind->has_cell) f.peephole = ref_input_reals(run, PEEPHOLE, s->p_at);
  ref_parallel(run, s->directions * s->batch, 1, body, &f);
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// LinearAttention: a state S of [d_k, d_v] per key head, updated token by token.
//   decay  S = exp(g) S              (gated rules)
//   write  S = S + k (x) u           u = v, or beta (v - S'k) for the delta rules
//   read   o = scale * S'q           by every query head of the group
// Everything stays in double; present_state is rounded at the end, so a state of a narrow type
// that is carried from call to call is rounded once a call.
#include <math.h>
#include <string.h>

#include "dense.h"
#include "operators.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };
enum { OUTPUT, PRESENT };

typedef struct linear_state {
  int64_t batch, length, q_heads, heads, d_k, d_v;
  int32_t gated, delta;
  double scale;
  uint64_t rows_at;
  int64_t room;
} linear_state;

static int32_t read_rule(const ref_prepare *p, linear_state *s) {
  static const struct {
    const char *name;
    int gated, delta;
  } rules[] = {{"linear", 0, 0}, {"gated", 1, 0}, {"delta", 0, 1}, {"gated_delta", 1, 1}};
  for (int i = 0; i < 4; ++i) {
    if (!ref_attr_is(p->kernel, "update_rule", rules[i].name, "gated_delta")) continue;
    s->gated = rules[i].gated;
    s->delta = rules[i].delta;
    if (s->gated != ref_has(p, DECAY) || s->delta != ref_has(p, BETA))
      return ref_refuse(p, "update_rule %s: input decay must be %s, input beta %s",
                        rules[i].name, s->gated ? "given" : "absent",
                        s->delta ? "given" : "absent");
    return OPS_OK;
  }
  return ref_refuse(p, "attribute update_rule: expected linear, gated, delta or gated_delta");
}

static int32_t read_packed(const ref_prepare *p, uint64_t input, int64_t heads,
                           const linear_state *s, int64_t *out_size) {
  RETURN_IF_ERROR(ref_need_rank(p, input, 3, 3));
  RETURN_IF_ERROR(ref_need_small(p, input));
  const int64_t *dims = p->inputs[input].dims;
  if (dims[0] != s->batch || dims[1] != s->length || dims[2] % heads != 0)
    return ref_refuse(p, "input %s: expected the shape [%lld, %lld, a multiple of %lld]",
                      ref_input_name(p->kernel, input), (long long)s->batch,
                      (long long)s->length, (long long)heads);
  *out_size = dims[2] / heads;
  return OPS_OK;
}

static int32_t read_gates(const ref_prepare *p, const linear_state *s) {
  int64_t size;
  if (s->gated) {
    RETURN_IF_ERROR(read_packed(p, DECAY, s->heads, s, &size));
    if (size != 1 && size != s->d_k)
      return ref_refuse(p, "input decay: expected %lld or %lld numbers a token",
                        (long long)s->heads, (long long)(s->heads * s->d_k));
  }
  if (s->delta) {
    RETURN_IF_ERROR(read_packed(p, BETA, 1, s, &size));
    if (size != 1 && size != s->heads)
      return ref_refuse(p, "input beta: expected 1 or %lld numbers a token",
                        (long long)s->heads);
  }
  if (!ref_has(p, PAST)) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, PAST, 4, 4));
  const int64_t *past = p->inputs[PAST].dims;
  if (past[0] != s->batch || past[1] != s->heads || past[2] != s->d_k || past[3] != s->d_v)
    return ref_refuse(p, "input past_state: expected the shape [%lld, %lld, %lld, %lld]",
                      (long long)s->batch, (long long)s->heads, (long long)s->d_k,
                      (long long)s->d_v);
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  linear_state *s = p->state;
  int64_t d_q, y;
  RETURN_IF_ERROR(ref_need_rank(p, QUERY, 3, 3));
  s->batch = p->inputs[QUERY].dims[0];
  s->length = p->inputs[QUERY].dims[1];
  s->q_heads = ref_attr_int(p->kernel, "q_num_heads", 0);
  s->heads = ref_attr_int(p->kernel, "kv_num_heads", 0);
  if (s->heads < 1 || s->q_heads < 1 || s->q_heads % s->heads != 0)
    return ref_refuse(p,
                      "attribute q_num_heads is %lld, expected a multiple of kv_num_heads, "
                      "which is %lld",
                      (long long)s->q_heads, (long long)s->heads);
  RETURN_IF_ERROR(read_packed(p, QUERY, s->q_heads, s, &d_q));
  RETURN_IF_ERROR(read_packed(p, KEY, s->heads, s, &s->d_k));
  RETURN_IF_ERROR(read_packed(p, VALUE, s->heads, s, &s->d_v));
  if (d_q != s->d_k)
    return ref_refuse(p, "input key: a head has %lld numbers, expected %lld as in query",
                      (long long)s->d_k, (long long)d_q);
  RETURN_IF_ERROR(read_rule(p, s));
  RETURN_IF_ERROR(read_gates(p, s));
  s->scale = ref_attr_float(p->kernel, "scale", 0);
  if (s->scale == 0) s->scale = 1 / sqrt((double)s->d_k);
  int64_t sizes[2] = {s->d_k, s->d_v + 1}, all[3] = {s->batch, s->heads, 0};
  all[2] = s->room = ref_count(sizes, 2);
  if (s->room < 0 || __builtin_add_overflow(s->room, 2 * s->d_v, &all[2]) ||
      __builtin_mul_overflow(s->q_heads, s->d_v, &y))
    return ref_refuse(p, "the shapes are too large");
  s->room = all[2];
  s->rows_at = ref_reserve_reals(p, ref_count(all, 3));
  p->outputs[OUTPUT].type = p->inputs[QUERY].type;
  if (p->output_count > PRESENT)
    p->outputs[PRESENT].type = p->inputs[ref_has(p, PAST) ? PAST : QUERY].type;
  RETURN_IF_ERROR(ref_set_shape(p, OUTPUT, 3, (int64_t[]){s->batch, s->length, y}));
  return ref_set_shape(p, PRESENT, 4, (int64_t[]){s->batch, s->heads, s->d_k, s->d_v});
}

typedef struct head {
  const ref_run *run;
  const linear_state *s;
  int64_t b, h;
  double *state;  // [d_k, d_v]
  double *row;    // d_k
  double *write;  // d_v
  double *read;   // d_v
} head;

// `n` numbers of a token of a packed input, from `first` on.
static void load(const head *a, uint64_t input, int64_t t, int64_t first, int64_t n,
                 double *out) {
  const ref_view *view = &a->run->inputs[input];
  ref_load(view, a->b * view->strides[0] + t * view->strides[1] + first * view->strides[2],
           view->strides[2], n, out);
}

static void decay(const head *a, int64_t t) {
  const linear_state *s = a->s;
  int64_t size = a->run->inputs[DECAY].dims[2] / s->heads;
  load(a, DECAY, t, a->h * size, size, a->row);
  for (int64_t i = 0; i < s->d_k; ++i) {
    double factor = exp(a->row[size == 1 ? 0 : i]);
    for (int64_t j = 0; j < s->d_v; ++j) a->state[i * s->d_v + j] *= factor;
  }
}

// out = S' row
static void retrieve(const head *a, double *out) {
  memset(out, 0, sizeof(double) * (size_t)a->s->d_v);
  for (int64_t i = 0; i < a->s->d_k; ++i)
    for (int64_t j = 0; j < a->s->d_v; ++j) out[j] += a->state[i * a->s->d_v + j] * a->row[i];
}

static void update(const head *a, int64_t t) {
  const linear_state *s = a->s;
  load(a, KEY, t, a->h * s->d_k, s->d_k, a->row);
  load(a, VALUE, t, a->h * s->d_v, s->d_v, a->write);
  if (s->delta) {
    double beta;
    load(a, BETA, t, a->run->inputs[BETA].dims[2] == 1 ? 0 : a->h, 1, &beta);
    retrieve(a, a->read);
    for (int64_t j = 0; j < s->d_v; ++j) a->write[j] = beta * (a->write[j] - a->read[j]);
  }
  for (int64_t i = 0; i < s->d_k; ++i)
    for (int64_t j = 0; j < s->d_v; ++j) a->state[i * s->d_v + j] += a->row[i] * a->write[j];
}

static void answer(const head *a, int64_t t, int64_t query) {
  const linear_state *s = a->s;
  const ref_view *y = &a->run->outputs[OUTPUT];
  load(a, QUERY, t, query * s->d_k, s->d_k, a->row);
  retrieve(a, a->read);
  for (int64_t j = 0; j < s->d_v; ++j) a->read[j] *= s->scale;
  ref_store(y, a->b * y->strides[0] + t * y->strides[1] + query * s->d_v * y->strides[2],
            y->strides[2], s->d_v, a->read);
}

static void state_row(const head *a, const ref_view *view, int64_t i, int is_store) {
  int64_t at = a->b * view->strides[0] + a->h * view->strides[1] + i * view->strides[2];
  double *row = a->state + i * a->s->d_v;
  if (is_store)
    ref_store(view, at, view->strides[3], a->s->d_v, row);
  else
    ref_load(view, at, view->strides[3], a->s->d_v, row);
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  const ref_run *run = context;
  const linear_state *s = run->state;
  for (int64_t item = begin; item < end; ++item) {
    double *state = ref_reals(run, s->rows_at) + item * s->room;
    double *row = state + s->d_k * s->d_v;
    head a = {run,   s,   item / s->heads, item % s->heads,
              state, row, row + s->d_k,    row + s->d_k + s->d_v};
    memset(state, 0, sizeof(double) * (size_t)(s->d_k * s->d_v));
    for (int64_t i = 0; ref_given(run, PAST) && i < s->d_k; ++i)
      state_row(&a, &run->inputs[PAST], i, 0);
    int64_t group = s->q_heads / s->heads;
    for (int64_t t = 0; t < s->length; ++t) {
      if (s->gated) decay(&a, t);
      update(&a, t);
      for (int64_t q = 0; q < group; ++q) answer(&a, t, a.h * group + q);
    }
    for (int64_t i = 0; ref_wanted(run, PRESENT) && i < s->d_k; ++i)
      state_row(&a, &run->outputs[PRESENT], i, 1);
  }
}

static int32_t execute(ref_run *run) {
  const linear_state *s = run->state;
  if (run->outputs[OUTPUT].count > 0 ||
      (ref_wanted(run, PRESENT) && run->outputs[PRESENT].count > 0))
    ref_parallel(run, s->batch * s->heads, 1, body, run);
  return OPS_OK;
}

const ref_op ref_linear_attention = {sizeof(linear_state), prepare, execute, NULL, NULL};

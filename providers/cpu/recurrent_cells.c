// SPDX-License-Identifier: Apache-2.0
//
// One time step of RNN, GRU and LSTM, after the equations of the ONNX specification, and the
// activation functions by name. Clip bounds what goes into an activation, the cell state before
// h included.
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "recurrent.h"

// ---- Activations ----------------------------------------------------------------------------

// What alpha and beta are to a function.
enum { NO_PARAMETER, FIRST, SECOND, BOUND, SCALE, INNER, SHIFT };

static const struct {
  const char *name;
  int32_t function, alpha, beta;
  float alpha_default, beta_default;
} kActivations[] = {
    {"relu", CPU_UNARY_relu, NO_PARAMETER, NO_PARAMETER, 0, 0},
    {"tanh", CPU_UNARY_tanh, NO_PARAMETER, NO_PARAMETER, 0, 0},
    {"sigmoid", CPU_UNARY_sigmoid, NO_PARAMETER, NO_PARAMETER, 0, 0},
    {"softsign", CPU_UNARY_softsign, NO_PARAMETER, NO_PARAMETER, 0, 0},
    {"softplus", CPU_UNARY_softplus, NO_PARAMETER, NO_PARAMETER, 0, 0},
    {"leakyrelu", CPU_UNARY_leaky_relu, FIRST, NO_PARAMETER, 0.01f, 0},
    {"elu", CPU_UNARY_elu, FIRST, NO_PARAMETER, 1, 0},
    {"hardsigmoid", CPU_UNARY_hard_sigmoid, FIRST, SECOND, 0.2f, 0.5f},
    {"thresholdedrelu", CPU_UNARY_thresholded_relu, BOUND, NO_PARAMETER, 1, 0},
    {"affine", -1, SCALE, SHIFT, 1, 0},
    {"scaledtanh", CPU_UNARY_tanh, SCALE, INNER, 1, 1},
};

static int same(ops_str name, const char *lower) {
  if (name.size != strlen(lower)) return 0;
  for (uint64_t i = 0; i < name.size; ++i)
    if (tolower((unsigned char)name.data[i]) != lower[i]) return 0;
  return 1;
}

static void set(cpu_activation *out, int32_t role, float value) {
  if (role == FIRST) out->p[0] = value;
  if (role == SECOND) out->p[1] = value;
  // Here x = alpha passes, in the operator ThresholdedRelu it does not.
  if (role == BOUND) out->p[0] = nextafterf(value, -INFINITY);
  if (role == SCALE) out->scale = (double)value;
  if (role == INNER) out->inner = (double)value;
  if (role == SHIFT) out->shift = (double)value;
}

int32_t cpu_activation_find(ops_str name, const float *alpha, const float *beta,
                            cpu_activation *out) {
  for (size_t i = 0; i < sizeof kActivations / sizeof *kActivations; ++i) {
    if (!same(name, kActivations[i].name)) continue;
    *out = (cpu_activation){.function = kActivations[i].function, .inner = 1, .scale = 1};
    set(out, kActivations[i].alpha, alpha ? *alpha : kActivations[i].alpha_default);
    set(out, kActivations[i].beta, beta ? *beta : kActivations[i].beta_default);
    return (kActivations[i].alpha != NO_PARAMETER) + (kActivations[i].beta != NO_PARAMETER);
  }
  return -1;
}

static void activate(const cpu_recurrent_step *s, int32_t index, const float *x, float *y,
                     int64_t count) {
  const cpu_vec *vec = s->kernel->base.device->vec;
  const cpu_activation *a = &s->kernel->activations[s->direction][index];
  const float clip = s->kernel->clip;
  if (clip < INFINITY) {
    vec->unary[CPU_UNARY_clip](x, y, count, (const float[2]){-clip, clip});
    x = y;
  }
  if (a->inner != 1) {
    vec->affine(x, y, count, 0, a->inner, 0);
    x = y;
  }
  if (a->function >= 0) {
    vec->unary[a->function](x, y, count, a->p);
    x = y;
  }
  if (a->function < 0 || a->scale != 1 || a->shift != 0)
    vec->affine(x, y, count, 0, a->scale, a->shift);
}

// ---- Cells ----------------------------------------------------------------------------------

// y = a + b, y = a * b.
static void combine(const cpu_recurrent_step *s, int32_t function, float *y, const float *a,
                    const float *b) {
  s->kernel->base.device->vec->binary[function][OPS_TYPE_FLOAT](
      (char *)y, (const char *)a, (const char *)b, sizeof *a, sizeof *b, s->sizes->hidden);
}

static void add(const cpu_recurrent_step *s, float *y, const float *a, const float *b) {
  combine(s, CPU_BINARY_add, y, a, b);
}

static void multiply(const cpu_recurrent_step *s, float *y, const float *a, const float *b) {
  combine(s, CPU_BINARY_mul, y, a, b);
}

// Gate `gate` of the step's sequence j: the recurrent product, to which `projected` belongs.
static float *gate_of(const cpu_recurrent_step *s, int64_t j, int32_t gate) {
  return s->gates + j * s->sizes->row + s->sizes->gate_at[gate];
}

static const float *projected_of(const cpu_recurrent_step *s, int64_t j, int32_t gate) {
  return s->projected + j * s->sizes->row + s->sizes->gate_at[gate];
}

static void rnn_step(const cpu_recurrent_step *s) {
  const int64_t n = s->sizes->hidden;
  cpu_recurrent_multiply(s, 0, s->h);
  for (int64_t j = 0; j < s->count; ++j) {
    float *h = s->h + s->sequences[j] * n;
    add(s, h, gate_of(s, j, 0), projected_of(s, j, 0));
    activate(s, 0, h, h, n);
  }
}

enum { UPDATE, RESET, HIDDEN };

// other = r * h, on which the hidden gate depends.
static void reset_states(const cpu_recurrent_step *s) {
  const int64_t n = s->sizes->hidden;
  for (int64_t j = 0; j < s->count; ++j)
    multiply(s, s->other + s->sequences[j] * n, gate_of(s, j, RESET),
             s->h + s->sequences[j] * n);
}

static void gru_step(const cpu_recurrent_step *s) {
  const cpu_vec *vec = s->kernel->base.device->vec;
  const int64_t n = s->sizes->hidden;
  const int32_t after = s->kernel->flag;  // the product with h comes before the reset
  cpu_recurrent_multiply(s, 0, s->h);
  for (int64_t j = 0; j < s->count; ++j)
    for (int32_t gate = UPDATE; gate <= RESET; ++gate) {
      float *g = gate_of(s, j, gate);
      add(s, g, g, projected_of(s, j, gate));
      activate(s, 0, g, g, n);
    }
  if (!after) reset_states(s);
  cpu_recurrent_multiply(s, 1, after ? s->h : s->other);
  for (int64_t j = 0; j < s->count; ++j) {
    float *h = s->h + s->sequences[j] * n, *hidden = gate_of(s, j, HIDDEN);
    if (after) multiply(s, hidden, hidden, gate_of(s, j, RESET));
    add(s, hidden, hidden, projected_of(s, j, HIDDEN));
    activate(s, 1, hidden, hidden, n);
    vec->mix(h, gate_of(s, j, UPDATE), hidden, h, n);
  }
}

enum { INPUT, OUTPUT, FORGET, CELL };

static void peep(const cpu_recurrent_step *s, int32_t gate, float *g, const float *c) {
  const int64_t n = s->sizes->hidden;
  if (s->peephole) s->kernel->base.device->vec->add_product(g, s->peephole + gate * n, c, n);
}

static void lstm_gates(const cpu_recurrent_step *s, int64_t j, float *h, float *c) {
  const cpu_vec *vec = s->kernel->base.device->vec;
  const int64_t n = s->sizes->hidden;
  float *in = gate_of(s, j, INPUT), *out = gate_of(s, j, OUTPUT),
        *forget = gate_of(s, j, FORGET), *cell = gate_of(s, j, CELL);
  for (int32_t gate = INPUT; gate <= CELL; ++gate)
    add(s, gate_of(s, j, gate), gate_of(s, j, gate), projected_of(s, j, gate));
  peep(s, INPUT, in, c);
  peep(s, FORGET, forget, c);
  activate(s, 0, in, in, n);
  if (s->kernel->flag)
    vec->affine(in, forget, n, 0, -1, 1);
  else
    activate(s, 0, forget, forget, n);
  activate(s, 1, cell, cell, n);
  vec->two_products(c, forget, c, in, cell, n);
  peep(s, OUTPUT, out, c);
  activate(s, 0, out, out, n);
  activate(s, 2, c, cell, n);
  multiply(s, h, out, cell);
}

static void lstm_step(const cpu_recurrent_step *s) {
  const int64_t n = s->sizes->hidden;
  cpu_recurrent_multiply(s, 0, s->h);
  for (int64_t j = 0; j < s->count; ++j)
    lstm_gates(s, j, s->h + s->sequences[j] * n, s->c + s->sequences[j] * n);
}

static const cpu_cell kCells[] = {
    {"RNN", {1, 0}, 1, 0, NULL, {"Tanh"}, rnn_step},
    {"GRU", {2, 1}, 2, 0, "linear_before_reset", {"Sigmoid", "Tanh"}, gru_step},
    {"LSTM", {4, 0}, 3, 1, "input_forget", {"Sigmoid", "Tanh", "Tanh"}, lstm_step},
};

const cpu_cell *cpu_cell_find(ops_str op) {
  for (size_t i = 0; i + 1 < sizeof kCells / sizeof *kCells; ++i)
    if (ops_str_equal(op, kCells[i].op)) return &kCells[i];
  return &kCells[sizeof kCells / sizeof *kCells - 1];
}

// SPDX-License-Identifier: Apache-2.0
//
// The cells of RNN, GRU and LSTM: one step each, after the equations of the specification. The
// clip bounds what goes into an activation, the cell state before h included.
#include <math.h>

#include "operators.h"
#include "recurrent.h"

// The recurrent part of a gate of hidden unit j: R h + Rb.
static double recurrent_part(const ref_cell *cell, int64_t gate, int64_t j, const double *h) {
  int64_t n = cell->s->hidden, row = gate * n + j;
  double sum = ref_dot_product(cell->noise, cell->r + row * n, h, n);
  return ref_noisy(cell->noise, sum + (cell->rb != NULL ? cell->rb[row] : 0));
}

// The whole of it: W x + Wb + R h + Rb.
static double recur(const ref_cell *cell, int64_t gate, int64_t j, const double *h) {
  double projected = cell->gate[gate * cell->s->hidden + j];
  return ref_noisy(cell->noise, projected + recurrent_part(cell, gate, j, h));
}

static void step_rnn(const ref_cell *cell) {
  int64_t n = cell->s->hidden;
  for (int64_t j = 0; j < n; ++j)
    cell->other[j] = ref_activate(cell, 0, recur(cell, 0, j, cell->h));
  for (int64_t j = 0; j < n; ++j) cell->h[j] = cell->other[j];
}

static void step_gru(const ref_cell *cell) {
  enum { UPDATE, RESET, HIDDEN };
  int64_t n = cell->s->hidden;
  double *reset = cell->other, *hidden = cell->other + n;
  for (int64_t j = 0; j < n; ++j) {
    reset[j] = ref_activate(cell, 0, recur(cell, RESET, j, cell->h));
    cell->gate[UPDATE * n + j] = ref_activate(cell, 0, recur(cell, UPDATE, j, cell->h));
  }
  if (cell->s->flag)
    for (int64_t j = 0; j < n; ++j)
      hidden[j] =
          ref_noisy(cell->noise, cell->gate[HIDDEN * n + j] +
                                     reset[j] * recurrent_part(cell, HIDDEN, j, cell->h));
  else
    for (int64_t j = 0; j < n; ++j) reset[j] = ref_noisy(cell->noise, reset[j] * cell->h[j]);
  for (int64_t j = 0; j < n; ++j) {
    double z = cell->gate[UPDATE * n + j];
    double in = cell->s->flag ? hidden[j] : recur(cell, HIDDEN, j, reset);
    double fresh =
        ref_noisy(cell->noise, ref_noisy(cell->noise, 1 - z) * ref_activate(cell, 1, in));
    cell->h[j] = ref_noisy(cell->noise, fresh + z * cell->h[j]);
  }
}

static double peep(const ref_cell *cell, int64_t gate, int64_t j) {
  return cell->peephole == NULL ? 0 : cell->peephole[gate * cell->s->hidden + j] * cell->c[j];
}

static void step_lstm(const ref_cell *cell) {
  enum { INPUT, OUTPUT, FORGET, CELL };
  int64_t n = cell->s->hidden;
  for (int64_t j = 0; j < n; ++j) {
    double i = ref_activate(cell, 0, recur(cell, INPUT, j, cell->h) + peep(cell, INPUT, j));
    double f =
        cell->s->flag
            ? ref_noisy(cell->noise, 1 - i)
            : ref_activate(cell, 0, recur(cell, FORGET, j, cell->h) + peep(cell, FORGET, j));
    double g = ref_activate(cell, 1, recur(cell, CELL, j, cell->h));
    cell->c[j] = ref_noisy(cell->noise, ref_noisy(cell->noise, f * cell->c[j]) + i * g);
    double o = ref_activate(cell, 0, recur(cell, OUTPUT, j, cell->h) + peep(cell, OUTPUT, j));
    cell->other[j] = ref_noisy(cell->noise, o * ref_activate(cell, 2, cell->c[j]));
  }
  for (int64_t j = 0; j < n; ++j) cell->h[j] = cell->other[j];
}

static const ref_cell_kind rnn = {1, 1, 0, NULL, {"Tanh"}, step_rnn};
static const ref_cell_kind gru = {3,       2, 0, "linear_before_reset", {"Sigmoid", "Tanh"},
                                  step_gru};
static const ref_cell_kind lstm = {4,        3, 1, "input_forget", {"Sigmoid", "Tanh", "Tanh"},
                                   step_lstm};

#define RECURRENT(name)                                                    \
  const ref_op ref_##name = {sizeof(ref_recurrent), ref_recurrent_prepare, \
                             ref_recurrent_execute, &name, NULL}
RECURRENT(rnn);
RECURRENT(gru);
RECURRENT(lstm);

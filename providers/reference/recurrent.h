// SPDX-License-Identifier: Apache-2.0
//
// What RNN, GRU and LSTM share: directions, layouts, lengths, activations. A cell computes one
// time step of one sequence; the frame walks the steps and moves the states.
#ifndef REFERENCE_RECURRENT_H_
#define REFERENCE_RECURRENT_H_

#include "activation.h"

#define REF_MAX_ACTIVATIONS 3  // of one direction

typedef struct ref_recurrent {
  int64_t steps, batch, inputs, hidden, gates;
  int32_t directions;
  int32_t reverse[2];  // of each direction
  int32_t batch_first;
  int32_t flag;  // linear_before_reset, input_forget
  double clip;   // infinity: none
  ref_activation activations[2][REF_MAX_ACTIVATIONS];
  uint64_t x_at, w_at, r_at, b_at, p_at, scratch_at;  // in the workspace
  int64_t scratch;                                    // doubles of one sequence
} ref_recurrent;

// One sequence in one direction. Gate order is that of the operator's W.
typedef struct ref_cell {
  const ref_recurrent *s;
  const ref_activation *activations;
  const double *w, *r;    // gates * hidden rows of inputs, of hidden numbers
  const double *wb, *rb;  // biases; NULL: none
  const double *peephole;
  const double *x;
  double *h, *c;  // states, updated
  double *gate;   // gates * hidden: W x + Wb, filled by the frame
  double *other;  // 2 * hidden numbers for the cell's own use
  ref_noise *noise;
} ref_cell;

typedef struct ref_cell_kind {
  int64_t gates;
  int32_t activation_count;
  int32_t has_cell;  // a second state, peepholes
  const char *flag;  // attribute
  const char *defaults[REF_MAX_ACTIVATIONS];
  void (*step)(const ref_cell *cell);
} ref_cell_kind;

// Sum over j of row[j] * vector[j].
double ref_dot_product(ref_noise *noise, const double *row, const double *vector, int64_t n);

// An activation of a value that is clipped first.
double ref_activate(const ref_cell *cell, int32_t activation, double value);

int32_t ref_recurrent_prepare(ref_prepare *prepare);
int32_t ref_recurrent_execute(ref_run *run);

#endif  // REFERENCE_RECURRENT_H_

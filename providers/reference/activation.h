// SPDX-License-Identifier: Apache-2.0
//
// Activation functions that other operators apply to their results, found by name.
#ifndef REFERENCE_ACTIVATION_H_
#define REFERENCE_ACTIVATION_H_

#include "kernel.h"

typedef struct ref_activation {
  double (*function)(double x, double alpha, double beta);  // NULL: the identity
  double alpha, beta;
} ref_activation;

// Who may use a function: RNN, GRU and LSTM; the fused operators of com.microsoft.
#define REF_ACTIVATION_RECURRENT 1
#define REF_ACTIVATION_FUSED 2

// The activation of that name, in any case, with its default parameters; *out_parameters is how
// many it has (alpha, beta). 0 if `user` has none of that name.
int ref_activation_find(ops_str name, int32_t user, ref_activation *out,
                        int32_t *out_parameters);

// The attributes activation, activation_params (a list) and activation_alpha, _beta, _gamma of
// a fused operator.
int32_t ref_activation_read(const ref_prepare *prepare, ref_activation *out);

double ref_activation_apply(const ref_activation *activation, double x);

#endif  // REFERENCE_ACTIVATION_H_

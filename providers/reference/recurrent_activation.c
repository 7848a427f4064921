// SPDX-License-Identifier: Apache-2.0
//
// The activation functions of recurrent operators by name, with their default parameters: those
// of the operators of the same name; Affine and ScaledTanh, which no longer exist as operators,
// are the identity and Tanh unless they are given numbers.
#include <ctype.h>
#include <math.h>

#include "recurrent.h"

static double relu(double x, double a, double b) {
  (void)a, (void)b;
  return x > 0 || isnan(x) ? x : 0;
}

static double hyperbolic(double x, double a, double b) {
  (void)a, (void)b;
  return tanh(x);
}

static double sigmoid(double x, double a, double b) {
  (void)a, (void)b;
  return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double affine(double x, double a, double b) {
  return a * x + b;
}

static double leaky_relu(double x, double a, double b) {
  (void)b;
  return x >= 0 ? x : a * x;
}

static double thresholded_relu(double x, double a, double b) {
  (void)b;
  return x >= a ? x : 0;
}

static double scaled_tanh(double x, double a, double b) {
  return a * tanh(b * x);
}

static double hard_sigmoid(double x, double a, double b) {
  return fmin(fmax(a * x + b, 0), 1);
}

static double elu(double x, double a, double b) {
  (void)b;
  return x >= 0 ? x : a * expm1(x);
}

static double softsign(double x, double a, double b) {
  (void)a, (void)b;
  return x / (1 + fabs(x));
}

static double softplus(double x, double a, double b) {
  (void)a, (void)b;
  return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static const struct {
  const char *name;
  ref_activation activation;
  int has_alpha, has_beta;
} table[] = {
    {"relu", {relu, 0, 0}, 0, 0},
    {"tanh", {hyperbolic, 0, 0}, 0, 0},
    {"sigmoid", {sigmoid, 0, 0}, 0, 0},
    {"affine", {affine, 1, 0}, 1, 1},
    {"leakyrelu", {leaky_relu, 0.01f, 0}, 1, 0},
    {"thresholdedrelu", {thresholded_relu, 1, 0}, 1, 0},
    {"scaledtanh", {scaled_tanh, 1, 1}, 1, 1},
    {"hardsigmoid", {hard_sigmoid, 0.2f, 0.5}, 1, 1},
    {"elu", {elu, 1, 0}, 1, 0},
    {"softsign", {softsign, 0, 0}, 0, 0},
    {"softplus", {softplus, 0, 0}, 0, 0},
};

static int same(ops_str name, const char *lower) {
  uint64_t i = 0;
  while (i < name.size && lower[i] != 0 && tolower((unsigned char)name.data[i]) == lower[i])
    ++i;
  return i == name.size && lower[i] == 0;
}

int ref_activation_find(ops_str name, ref_activation *out, int *out_has_alpha,
                        int *out_has_beta) {
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
    if (!same(name, table[i].name)) continue;
    *out = table[i].activation;
    *out_has_alpha = table[i].has_alpha;
    *out_has_beta = table[i].has_beta;
    return 1;
  }
  return 0;
}

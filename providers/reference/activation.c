// SPDX-License-Identifier: Apache-2.0
//
// Activation functions by name, with their default parameters: those of the operators of the
// same name. Affine and ScaledTanh, which no longer exist as operators, are the identity and
// Tanh unless they are given numbers.
#include "activation.h"

#include <ctype.h>
#include <math.h>

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

static double hard_swish(double x, double a, double b) {
  (void)a, (void)b;
  return x * fmin(fmax(x / 6 + 0.5, 0), 1);
}

static double clip(double x, double a, double b) {
  return x < a ? a : x > b ? b : x;
}

static double selu(double x, double a, double b) {
  return b * (x > 0 ? x : a * expm1(x));
}

static double celu(double x, double a, double b) {
  (void)b;
  return x >= 0 ? x : a * expm1(x / a);
}

#define RECURRENT REF_ACTIVATION_RECURRENT
#define FUSED REF_ACTIVATION_FUSED
#define SELU_ALPHA 1.67326319217681884765625f
#define SELU_GAMMA 1.05070102214813232421875f

static const struct {
  const char *name;
  ref_activation activation;
  int32_t parameters, users;
} table[] = {
    {"relu", {relu, 0, 0}, 0, RECURRENT | FUSED},
    {"tanh", {hyperbolic, 0, 0}, 0, RECURRENT | FUSED},
    {"sigmoid", {sigmoid, 0, 0}, 0, RECURRENT | FUSED},
    {"affine", {affine, 1, 0}, 2, RECURRENT},
    {"leakyrelu", {leaky_relu, 0.01f, 0}, 1, RECURRENT | FUSED},
    {"thresholdedrelu", {thresholded_relu, 1, 0}, 1, RECURRENT | FUSED},
    {"scaledtanh", {scaled_tanh, 1, 1}, 2, RECURRENT},
    {"hardsigmoid", {hard_sigmoid, 0.2f, 0.5}, 2, RECURRENT | FUSED},
    {"elu", {elu, 1, 0}, 1, RECURRENT | FUSED},
    {"softsign", {softsign, 0, 0}, 0, RECURRENT | FUSED},
    {"softplus", {softplus, 0, 0}, 0, RECURRENT | FUSED},
    {"hardswish", {hard_swish, 0, 0}, 0, FUSED},
    {"clip", {clip, -INFINITY, INFINITY}, 2, FUSED},
    {"selu", {selu, SELU_ALPHA, SELU_GAMMA}, 2, FUSED},
    {"celu", {celu, 1, 0}, 1, FUSED},
};

static int same(ops_str name, const char *lower) {
  uint64_t i = 0;
  while (i < name.size && lower[i] != 0 && tolower((unsigned char)name.data[i]) == lower[i])
    ++i;
  return i == name.size && lower[i] == 0;
}

int ref_activation_find(ops_str name, int32_t user, ref_activation *out,
                        int32_t *out_parameters) {
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
    if (!(table[i].users & user) || !same(name, table[i].name)) continue;
    *out = table[i].activation;
    *out_parameters = table[i].parameters;
    return 1;
  }
  return 0;
}

// ---- Fused into another operator -----------------------------------------------------------

// The parameters one by one, or all in a list; Selu calls its second one gamma.
static int32_t read_parameters(const ref_prepare *p, int32_t parameters, ref_activation *a) {
  int64_t count;
  const float *list = ref_attr_floats(p->kernel, "activation_params", &count);
  const char *second = a->function == selu ? "activation_gamma" : "activation_beta";
  if (count > parameters)
    return ref_refuse(p, "attribute activation_params: expected at most %d numbers, found %lld",
                      parameters, (long long)count);
  if (count > 0) a->alpha = (double)list[0];
  if (count > 1) a->beta = (double)list[1];
  if (ref_attr(p->kernel, "activation_alpha") != NULL)
    a->alpha = ref_attr_float(p->kernel, "activation_alpha", 0);
  if (ref_attr(p->kernel, second) != NULL) a->beta = ref_attr_float(p->kernel, second, 0);
  return OPS_OK;
}

int32_t ref_activation_read(const ref_prepare *p, ref_activation *out) {
  const ref_attribute *name = ref_attr(p->kernel, "activation");
  int32_t parameters;
  *out = (ref_activation){NULL, 0, 0};
  if (name == NULL || name->kind != OPS_ATTRIBUTE_STRING || name->strings[0].size == 0)
    return OPS_OK;
  if (!ref_activation_find(name->strings[0], REF_ACTIVATION_FUSED, out, &parameters))
    return ref_refuse(p, "attribute activation: '%.*s' is no activation function",
                      (int)(name->strings[0].size < 64 ? name->strings[0].size : 64),
                      name->strings[0].data);
  return read_parameters(p, parameters, out);
}

double ref_activation_apply(const ref_activation *activation, double x) {
  if (activation->function == NULL) return x;
  return activation->function(x, activation->alpha, activation->beta);
}

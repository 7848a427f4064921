// SPDX-License-Identifier: Apache-2.0
//
// Elementwise operators of one input. The formulas are those of the operators' specification,
// in double; where the plain formula loses digits (Softplus, Mish, Elu near 0) an equivalent
// one of the C library's expm1 and log1p stands for it.
#include <math.h>

#include "elementwise.h"

#define MAX_PARAMETERS 2

typedef struct unary_row {
  double (*real)(double x, const double *p);
  int64_t (*integer)(int64_t x, const double *p);
  int64_t (*natural)(int64_t x, const double *p);  // unsigned types; NULL: as `integer`
  struct {
    const char *name;
    float otherwise;
  } attributes[MAX_PARAMETERS];
  int32_t (*read)(const ref_prepare *p, double *out);  // parameters that are not floats
} unary_row;

typedef struct unary_state {
  double parameters[MAX_PARAMETERS];
} unary_state;

#define REAL(op, expression)                           \
  static double real_##op(double x, const double *p) { \
    (void)p;                                           \
    return expression;                                 \
  }
#define INTEGER(op, expression)                             \
  static int64_t integer_##op(int64_t x, const double *p) { \
    (void)p;                                                \
    return expression;                                      \
  }

static double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double softplus(double x) {
  return fmax(x, 0) + log1p(exp(-fabs(x))) + (isnan(x) ? x : 0);
}

// max and min of the specification keep NaN.
static double relu(double x) {
  return x < 0 ? 0 : x;
}

static double clamp01(double x) {
  return x < 0 ? 0 : x > 1 ? 1 : x;
}

double ref_gelu(double x, int approximate) {
  static const double root_2_by_pi = 0.79788456080286535588;
  static const double root_half = 0.70710678118654752440;
  if (approximate) return 0.5 * x * (1 + tanh(root_2_by_pi * (x + 0.044715 * x * x * x)));
  return 0.5 * x * erfc(-x * root_half);
}

static double sign(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
}

static double shrink(double x, const double *p) {
  return x < -p[1] ? x + p[0] : x > p[1] ? x - p[0] : isnan(x) ? x : 0;
}

static double is_infinite(double x, const double *p) {
  return isinf(x) && (x > 0 ? p[0] != 0 : p[1] != 0);
}

REAL(Abs, fabs(x))
REAL(Acos, acos(x))
REAL(Acosh, acosh(x))
REAL(Asin, asin(x))
REAL(Asinh, asinh(x))
REAL(Atan, atan(x))
REAL(Atanh, atanh(x))
REAL(Ceil, ceil(x))
REAL(Celu, x < 0 ? p[0] * expm1(x / p[0]) : x)
REAL(Cos, cos(x))
REAL(Cosh, cosh(x))
REAL(Elu, x < 0 ? p[0] * expm1(x) : x)
REAL(Erf, erf(x))
REAL(Exp, exp(x))
REAL(Floor, floor(x))
REAL(Gelu, ref_gelu(x, p[0] != 0))
REAL(HardSigmoid, clamp01(p[0] * x + p[1]))
REAL(HardSwish, x *clamp01(x / 6 + 0.5))
REAL(IsInf, is_infinite(x, p))
REAL(IsNaN, isnan(x))
REAL(LeakyRelu, x < 0 ? p[0] * x : x)
REAL(Log, log(x))
REAL(Mish, x *tanh(softplus(x)))
REAL(Neg, -x)
REAL(QuickGelu, x *sigmoid(p[0] * x))
REAL(Reciprocal, 1 / x)
REAL(Relu, relu(x))
REAL(Round, rint(x))
REAL(Selu, p[1] * (x <= 0 ? p[0] * expm1(x) : x))
REAL(Shrink, shrink(x, p))
REAL(Sigmoid, sigmoid(x))
REAL(Sign, sign(x))
REAL(Sin, sin(x))
REAL(Sinh, sinh(x))
REAL(Softplus, softplus(x))
REAL(Softsign, isinf(x) ? copysign(1, x) : x / (1 + fabs(x)))
REAL(Sqrt, sqrt(x))
REAL(Swish, x *sigmoid(p[0] * x))
REAL(Tan, tan(x))
REAL(Tanh, tanh(x))
REAL(ThresholdedRelu, x > p[0] || isnan(x) ? x : 0)

INTEGER(Abs, x < 0 ? (int64_t)(0 - (uint64_t)x) : x)
INTEGER(AbsNatural, x)
INTEGER(BitwiseNot, ~x)
INTEGER(Erf, ref_truncate(erf((double)x)))
INTEGER(ErfNatural, ref_truncate(erf((double)(uint64_t)x)))
INTEGER(Neg, (int64_t)(0 - (uint64_t)x))
INTEGER(Not, !x)
INTEGER(Relu, x < 0 ? 0 : x)
INTEGER(Sign, (x > 0) - (x < 0))
INTEGER(SignNatural, x != 0)
INTEGER(Shrink, ref_truncate(shrink((double)x, p)))
INTEGER(ShrinkNatural, ref_truncate(shrink((double)(uint64_t)x, p)))

static int32_t read_gelu(const ref_prepare *p, double *out) {
  static const char *const words[] = {"none", "tanh"};
  int32_t chosen = 0;
  RETURN_IF_ERROR(ref_attr_choose(p, "approximate", words, 2, "none", &chosen));
  out[0] = chosen;
  return OPS_OK;
}

static int32_t read_is_inf(const ref_prepare *p, double *out) {
  out[0] = (double)ref_attr_int(p->kernel, "detect_positive", 1);
  out[1] = (double)ref_attr_int(p->kernel, "detect_negative", 1);
  return OPS_OK;
}

// The defaults of opset 1 have fewer digits.
static int32_t read_selu(const ref_prepare *p, double *out) {
  int first = p->kernel->opset < 6;
  out[0] = ref_attr_float(p->kernel, "alpha", first ? 1.6732f : 1.67326319217681884765625f);
  out[1] = ref_attr_float(p->kernel, "gamma", first ? 1.0507f : 1.05070102214813232421875f);
  return OPS_OK;
}

#define ROW(op, ...) [REF_UNARY_##op] = {.real = real_##op, __VA_ARGS__}
#define WITH(...) .attributes = {__VA_ARGS__}

static const unary_row rows[REF_UNARY_COUNT] = {
    ROW(Abs, .integer = integer_Abs, .natural = integer_AbsNatural),
    ROW(Acos),
    ROW(Acosh),
    ROW(Asin),
    ROW(Asinh),
    ROW(Atan),
    ROW(Atanh),
    [REF_UNARY_BitwiseNot] = {.integer = integer_BitwiseNot},
    ROW(Ceil),
    ROW(Celu, WITH({"alpha", 1.0f})),
    ROW(Cos),
    ROW(Cosh),
    ROW(Elu, WITH({"alpha", 1.0f})),
    ROW(Erf, .integer = integer_Erf, .natural = integer_ErfNatural),
    ROW(Exp),
    ROW(Floor),
    ROW(Gelu, .read = read_gelu),
    ROW(HardSigmoid, WITH({"alpha", 0.2f}, {"beta", 0.5f})),
    ROW(HardSwish),
    ROW(IsInf, .read = read_is_inf),
    ROW(IsNaN),
    ROW(LeakyRelu, WITH({"alpha", 0.01f})),
    ROW(Log),
    ROW(Mish),
    ROW(Neg, .integer = integer_Neg),
    [REF_UNARY_Not] = {.integer = integer_Not},
    ROW(QuickGelu, WITH({"alpha", 1.702f})),
    ROW(Reciprocal),
    ROW(Relu, .integer = integer_Relu),
    ROW(Round),
    ROW(Selu, .read = read_selu),
    ROW(Shrink, .integer = integer_Shrink, .natural = integer_ShrinkNatural,
        WITH({"bias", 0.0f}, {"lambd", 0.5f})),
    ROW(Sigmoid),
    ROW(Sign, .integer = integer_Sign, .natural = integer_SignNatural),
    ROW(Sin),
    ROW(Sinh),
    ROW(Softplus),
    ROW(Softsign),
    ROW(Sqrt),
    ROW(Swish, WITH({"alpha", 1.0f})),
    ROW(Tan),
    ROW(Tanh),
    ROW(ThresholdedRelu, WITH({"alpha", 1.0f})),
};

static int32_t prepare(ref_prepare *p) {
  const unary_row *row = p->kernel->op->family;
  unary_state *state = p->state;
  for (int i = 0; i < MAX_PARAMETERS && row->attributes[i].name != NULL; ++i)
    state->parameters[i] =
        ref_attr_float(p->kernel, row->attributes[i].name, row->attributes[i].otherwise);
  if (row->read != NULL) RETURN_IF_ERROR(row->read(p, state->parameters));
  return ref_same_shape(p, 0, 0);
}

// A row of at most REF_CHUNK elements.
typedef struct piece {
  const ref_view *x;
  const ref_view *y;
  int64_t x_first, x_step;
  int64_t y_first, y_step;
  int64_t n;
} piece;

static void compute_reals(const unary_row *row, const double *parameters, const piece *at) {
  double numbers[REF_CHUNK];
  ref_load(at->x, at->x_first, at->x_step, at->n, numbers);
  for (int64_t i = 0; i < at->n; ++i) numbers[i] = row->real(numbers[i], parameters);
  ref_store(at->y, at->y_first, at->y_step, at->n, numbers);
}

static void compute_integers(const unary_row *row, const double *parameters, const piece *at) {
  int64_t numbers[REF_CHUNK];
  int natural = at->x->element->kind == REF_UNSIGNED && row->natural != NULL;
  int64_t (*compute)(int64_t, const double *) = natural ? row->natural : row->integer;
  ref_load_int(at->x, at->x_first, at->x_step, at->n, numbers);
  for (int64_t i = 0; i < at->n; ++i) numbers[i] = compute(numbers[i], parameters);
  ref_store_int(at->y, at->y_first, at->y_step, at->n, numbers);
}

static int32_t execute(ref_run *run) {
  const unary_row *row = run->kernel->op->family;
  const unary_state *state = run->state;
  const ref_view *x = &run->inputs[0];
  const ref_view *y = &run->outputs[0];
  if (y->count == 0) return OPS_OK;
  ref_walk_operand operands[2];
  ref_broadcast_strides(y, y->rank, operands[0].strides);
  ref_broadcast_strides(x, y->rank, operands[1].strides);
  ref_walk walk;
  ref_walk_init(&walk, y->rank, y->dims, operands, 2);
  piece at = {.x = x, .y = y};
  at.y_step = ref_walk_step(&walk, 0);
  at.x_step = ref_walk_step(&walk, 1);
  do {
    for (int64_t i = 0; i < walk.row; i += REF_CHUNK) {
      at.n = walk.row - i < REF_CHUNK ? walk.row - i : REF_CHUNK;
      at.y_first = operands[0].offset + i * at.y_step;
      at.x_first = operands[1].offset + i * at.x_step;
      if (ref_is_integer(x))
        compute_integers(row, state->parameters, &at);
      else
        compute_reals(row, state->parameters, &at);
    }
  } while (ref_walk_next(&walk));
  return OPS_OK;
}

#define OP(op, since, names, types, out) \
  [REF_UNARY_##op] = {sizeof(unary_state), prepare, execute, &rows[REF_UNARY_##op], NULL},
const ref_op ref_unary[REF_UNARY_COUNT] = {REF_UNARY_LIST(OP) REF_FUSED_UNARY_LIST(OP)};

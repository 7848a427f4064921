// SPDX-License-Identifier: Apache-2.0
//
// Elementwise functions of one input: a table from operator to loop. float runs in the vector
// loops, float16 and bfloat16 in blocks through them, double in the C library, integers in
// loops of their own where the operator has them.
#include <math.h>
#include <string.h>

#include "channels_last.h"
#include "half_block.h"
#include "ops_table.h"
#include "unary.h"
#include "vec.h"

typedef struct unary_row {
  const char *op;
  int32_t function;                              // CPU_UNARY_…
  double (*wide)(double x, double a, double b);  // of double
  int64_t (*integer)(int64_t x);                 // NULL: no integers
  const char *names[2];                          // attributes that become parameters
  float defaults[2];
} unary_row;

#define WIDE(name, expression)                              \
  static double wide_##name(double x, double a, double b) { \
    (void)a, (void)b;                                       \
    return expression;                                      \
  }
WIDE(relu, x < 0 ? 0 : x)
WIDE(leaky_relu, x < 0 ? a * x : x)
WIDE(elu, x < 0 ? a * expm1(x) : x)
WIDE(selu, x > 0 ? b * x : b * a * expm1(x))
WIDE(clip, (x < a ? a : x) > b ? b : (x < a ? a : x))
WIDE(sigmoid, x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)))
WIDE(unit, x<0 ? 0 : x> 1 ? 1 : x)
WIDE(hard_sigmoid, wide_unit(a *x + b, 0, 0))
WIDE(hard_swish, x *wide_unit(x / 6 + 0.5, 0, 0))
WIDE(tanh, tanh(x))
WIDE(softplus, (x > 0 ? x : 0) + log1p(exp(-fabs(x))))
WIDE(softsign, isinf(x) ? copysign(1, x) : x / (1 + fabs(x)))
WIDE(erf, erf(x))
WIDE(exp, exp(x))
WIDE(log, log(x))
WIDE(sqrt, sqrt(x))
WIDE(reciprocal, 1 / x)
WIDE(abs, fabs(x))
WIDE(neg, -x)
WIDE(floor, floor(x))
WIDE(ceil, ceil(x))
WIDE(round, nearbyint(x))
WIDE(gelu, 0.5 * x * erfc(x * -0.70710678118654752440))
WIDE(gelu_tanh, x / (1 + exp(-2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x))))
WIDE(sign, x > 0 ? 1 : x < 0 ? -1 : x)
WIDE(thresholded_relu, x > a || x != x ? x : 0)
WIDE(sin, sin(x))
WIDE(cos, cos(x))
WIDE(swish, x / (1 + exp(-a * x)))
WIDE(mish, x *tanh(wide_softplus(x, 0, 0)))

static int64_t integer_relu(int64_t x) {
  return x < 0 ? 0 : x;
}
static int64_t integer_abs(int64_t x) {
  return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
}
static int64_t integer_neg(int64_t x) {
  return (int64_t)(0 - (uint64_t)x);
}
static int64_t integer_sign(int64_t x) {
  return (x > 0) - (x < 0);
}
static int64_t integer_not(int64_t x) {
  return x == 0;
}

#define ROW(op, name, integer, ...) \
  { op, CPU_UNARY_##name, wide_##name, integer, __VA_ARGS__ }
#define NO_PARAMETERS \
  {NULL, NULL}, {     \
    0, 0              \
  }
#define FLT_LARGEST 3.402823466e+38f

static const unary_row kRows[] = {
    ROW("Relu", relu, integer_relu, NO_PARAMETERS),
    ROW("LeakyRelu", leaky_relu, NULL, {"alpha", NULL}, {0.01f, 0}),
    ROW("Elu", elu, NULL, {"alpha", NULL}, {1, 0}),
    ROW("Selu", selu, NULL, {"alpha", "gamma"},
        {1.67326319217681884765625f, 1.05070102214813232421875f}),
    ROW("Clip", clip, NULL, {"min", "max"}, {-FLT_LARGEST, FLT_LARGEST}),
    ROW("Sigmoid", sigmoid, NULL, NO_PARAMETERS),
    ROW("HardSigmoid", hard_sigmoid, NULL, {"alpha", "beta"}, {0.2f, 0.5f}),
    ROW("HardSwish", hard_swish, NULL, NO_PARAMETERS),
    ROW("Tanh", tanh, NULL, NO_PARAMETERS),
    ROW("Softplus", softplus, NULL, NO_PARAMETERS),
    ROW("Softsign", softsign, NULL, NO_PARAMETERS),
    ROW("Erf", erf, NULL, NO_PARAMETERS),
    ROW("Exp", exp, NULL, NO_PARAMETERS),
    ROW("Log", log, NULL, NO_PARAMETERS),
    ROW("Sqrt", sqrt, NULL, NO_PARAMETERS),
    ROW("Reciprocal", reciprocal, NULL, NO_PARAMETERS),
    ROW("Abs", abs, integer_abs, NO_PARAMETERS),
    ROW("Neg", neg, integer_neg, NO_PARAMETERS),
    ROW("Floor", floor, NULL, NO_PARAMETERS),
    ROW("Ceil", ceil, NULL, NO_PARAMETERS),
    ROW("Round", round, NULL, NO_PARAMETERS),
    ROW("Gelu", gelu, NULL, NO_PARAMETERS),
    ROW("Gelu/tanh", gelu_tanh, NULL, NO_PARAMETERS),
    ROW("Sign", sign, integer_sign, NO_PARAMETERS),
    ROW("ThresholdedRelu", thresholded_relu, NULL, {"alpha", NULL}, {1, 0}),
    ROW("Sin", sin, NULL, NO_PARAMETERS),
    ROW("Cos", cos, NULL, NO_PARAMETERS),
    ROW("Swish", swish, NULL, {"alpha", NULL}, {1, 0}),
    ROW("Mish", mish, NULL, NO_PARAMETERS),
    {"Not", 0, NULL, integer_not, NO_PARAMETERS},
};

typedef struct unary_kernel {
  ops_kernel base;
  const unary_row *row;
  float p[2];
} unary_kernel;

typedef struct unary_prepared {
  ops_prepared base;
  int64_t count;
  int32_t type;
} unary_prepared;

static const unary_row *find_row(ops_str op) {
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i)
    if (ops_str_equal(op, kRows[i].op)) return &kRows[i];
  return NULL;
}

static ops_str approximation(const ops_node *node) {
  return ops_node_string(node, "approximate", (ops_str)OPS_STR("none"));
}

// The row of an operator with the attributes of `node`, and its parameters.
static const unary_row *read_row(ops_str op, const ops_node *node, float *p) {
  const int is_tanh = ops_str_equal(approximation(node), "tanh");
  const unary_row *row = find_row(is_tanh ? (ops_str)OPS_STR("Gelu/tanh") : op);
  for (int i = 0; row && i < 2; ++i)
    if (row->names[i]) p[i] = ops_node_float(node, row->names[i], row->defaults[i]);
  return row;
}

int cpu_function_read(ops_str op, const ops_node *node, cpu_function *out_function) {
  const unary_row *row = read_row(op, node, out_function->p);
  if (!row || !row->wide) return 0;  // of bools
  out_function->number = row->function;
  return 1;
}

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  const ops_str text = approximation(node);
  if (!ops_str_equal(text, "none") && !ops_str_equal(text, "tanh"))
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE,
               "approximate must be 'none' or 'tanh', found '%.*s'", OPS_STR_FMT(text));
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  unary_kernel *unary = (unary_kernel *)kernel;
  unary->row = read_row(kernel->def->op, node, unary->p);
  if (!unary->row)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "cpu: no loop for %.*s",
                         OPS_STR_FMT(kernel->def->op));
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  unary_prepared *own = (unary_prepared *)prepared;
  cpu_shape x;
  cpu_input_shape(request, 0, &x);
  own->count = cpu_count(&x);
  own->type = cpu_input_type(request, 0);
  return cpu_set_output(kernel, reply, 0, own->type, &x, error);
}

static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  (void)kernel;
  if (!cpu_may_be_last(ops_request_input(request, 0)->type)) return;
  cpu_layouts_add(layouts, CPU_LAST_ALL, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 0);
}

typedef struct run {
  const unary_kernel *kernel;
  cpu_unary_fn loop;
  int32_t type;
  int64_t size;
  const char *x;
  char *y;
} run;

static void run_half(const run *run, const char *x, char *y, int64_t count) {
  const cpu_vec *vec = run->kernel->base.device->vec;
  float block[CPU_HALF_BLOCK];
  for (int64_t i = 0; i < count; i += CPU_HALF_BLOCK) {
    const int64_t n = count - i < CPU_HALF_BLOCK ? count - i : CPU_HALF_BLOCK;
    cpu_half_widen(vec, run->type, x + i * 2, 2, block, n);
    run->loop(block, block, n, run->kernel->p);
    cpu_half_narrow(vec, run->type, block, y + i * 2, n);
  }
}

static void run_double(const run *run, const char *x, char *y, int64_t count) {
  const double *in = (const double *)x, a = run->kernel->p[0], b = run->kernel->p[1];
  double *out = (double *)y;
  for (int64_t i = 0; i < count; ++i) out[i] = run->kernel->row->wide(in[i], a, b);
}

// uint64 does not fit into the functions' int64: Abs and Relu keep it, Sign asks for zero.
static void run_uint64(const run *run, const char *x, char *y, int64_t count) {
  const int is_sign = run->kernel->row->integer == integer_sign;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t value = ((const uint64_t *)x)[i];
    ((uint64_t *)y)[i] = is_sign ? value != 0 : value;
  }
}

#define INTEGER_CASE(number, T)                                               \
  case number:                                                                \
    for (int64_t i = 0; i < count; ++i)                                       \
      ((T *)y)[i] = (T)run->kernel->row->integer((int64_t)((const T *)x)[i]); \
    break

static void run_integer(const run *run, const char *x, char *y, int64_t count) {
  switch (run->type) {
    INTEGER_CASE(OPS_TYPE_BOOL, uint8_t);
    INTEGER_CASE(OPS_TYPE_INT8, int8_t);
    INTEGER_CASE(OPS_TYPE_INT16, int16_t);
    INTEGER_CASE(OPS_TYPE_INT32, int32_t);
    INTEGER_CASE(OPS_TYPE_INT64, int64_t);
    INTEGER_CASE(OPS_TYPE_UINT8, uint8_t);
    INTEGER_CASE(OPS_TYPE_UINT16, uint16_t);
    INTEGER_CASE(OPS_TYPE_UINT32, uint32_t);
    default:
      run_uint64(run, x, y, count);
  }
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const char *x = run->x + begin * run->size;
  char *y = run->y + begin * run->size;
  (void)worker;
  if (run->type == OPS_TYPE_FLOAT)
    run->loop((const float *)x, (float *)y, end - begin, run->kernel->p);
  else if (run->type == OPS_TYPE_DOUBLE)
    run_double(run, x, y, end - begin);
  else if (cpu_is_half(run->type))
    run_half(run, x, y, end - begin);
  else
    run_integer(run, x, y, end - begin);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const unary_prepared *own = (const unary_prepared *)prepared;
  const unary_kernel *kernel = (const unary_kernel *)prepared->kernel;
  const ops_device *device = kernel->base.device;
  run run = {.kernel = kernel,
             .loop = device->vec->unary[kernel->row->function],
             .type = own->type,
             .size = cpu_type_size(own->type),
             .x = cpu_in_data(request, 0),
             .y = cpu_out_data(request, 0)};
  (void)error;
  cpu_parallel(device, own->count, cpu_grain(4), run_range, &run);
  return OPS_OK;
}

const cpu_op cpu_unary_op = {.kernel_size = sizeof(unary_kernel),
                             .prepared_size = sizeof(unary_prepared),
                             .claim = claim,
                             .create = create,
                             .layouts = layouts,
                             .sees_view = 1,
                             .prepare = prepare,
                             .execute = execute};

// SPDX-License-Identifier: Apache-2.0
//
// MatMulInteger and QLinearMatMul: products of (a - zero point) and (b - zero point). Sums of
// products of bytes are exact in double. MatMulInteger gives them modulo 2^32; QLinearMatMul
// scales, rounds half to even, adds the zero point and saturates, or, into float8, is rounded
// by that type. Zero points and scales are one number, one per row of a, or one per column of
// b.
#include <math.h>

#include "dense.h"
#include "operators.h"

typedef struct layout {
  uint64_t a, a_scale, a_zero, b, b_scale, b_zero;  // a scale of NONE: there is none
  int32_t quantized;
} layout;

#define NONE 99
enum { Y_SCALE = 6, Y_ZERO = 7 };
static const layout integer_layout = {0, NONE, 2, 1, NONE, 3, 0};
static const layout quantized_layout = {0, 1, 2, 3, 4, 5, 1};

// A factor with its leading dimensions, as a stack of matrices.
typedef struct factor {
  int64_t rows, columns;
  int32_t batch_rank;
} factor;

typedef struct product_state {
  factor a, b;
  int32_t batch_rank;
  int64_t batch[OPS_MAX_RANK];
  uint64_t a_at, b_at, line_at;
} product_state;

static factor shape_of(const ref_shape *shape, int is_left) {
  if (shape->rank == 1)
    return is_left ? (factor){1, shape->dims[0], 0} : (factor){shape->dims[0], 1, 0};
  return (factor){shape->dims[shape->rank - 2], shape->dims[shape->rank - 1], shape->rank - 2};
}

// Dimension `i` of the batch in a factor; 1 where it has none.
static int64_t batch_dim(const int64_t *dims, int32_t own, int32_t rank, int32_t i) {
  int32_t at = i - (rank - own);
  return at < 0 ? 1 : dims[at];
}

static int32_t join_batches(const ref_prepare *p, const layout *l, product_state *s) {
  s->batch_rank = s->a.batch_rank > s->b.batch_rank ? s->a.batch_rank : s->b.batch_rank;
  for (int32_t i = 0; i < s->batch_rank; ++i) {
    int64_t a = batch_dim(p->inputs[l->a].dims, s->a.batch_rank, s->batch_rank, i);
    int64_t b = batch_dim(p->inputs[l->b].dims, s->b.batch_rank, s->batch_rank, i);
    if (a != b && a != 1 && b != 1)
      return ref_refuse(p, "leading dimensions %lld and %lld do not broadcast", (long long)a,
                        (long long)b);
    s->batch[i] = a == 1 ? b : a;
  }
  return OPS_OK;
}

// One number, one per line of the factor (`is_left`: rows, else columns), or a tensor of the
// factor's rank that broadcasts to it.
static int32_t check_parameter(const ref_prepare *p, uint64_t input, uint64_t of, int is_left) {
  if (!ref_has(p, input)) return OPS_OK;
  const ref_shape *shape = &p->inputs[input], *whole = &p->inputs[of];
  if (ref_count(shape->dims, shape->rank) == 1) return OPS_OK;
  factor f = shape_of(whole, is_left);
  int fits = shape->rank == 1 && shape->dims[0] == (is_left ? f.rows : f.columns);
  if (shape->rank == whole->rank && shape->rank > 1) {
    fits = shape->dims[shape->rank - (is_left ? 1 : 2)] == 1;
    for (int32_t i = 0; i < shape->rank; ++i)
      fits = fits && (shape->dims[i] == 1 || shape->dims[i] == whole->dims[i]);
  }
  if (fits) return OPS_OK;
  return ref_refuse(p, "input %s: expected one number or one per %s of %s",
                    ref_input_name(p->kernel, input), is_left ? "row" : "column",
                    ref_input_name(p->kernel, of));
}

static int32_t check_parameters(const ref_prepare *p, const layout *l) {
  RETURN_IF_ERROR(check_parameter(p, l->a_zero, l->a, 1));
  RETURN_IF_ERROR(check_parameter(p, l->b_zero, l->b, 0));
  RETURN_IF_ERROR(check_parameter(p, l->a_scale, l->a, 1));
  RETURN_IF_ERROR(check_parameter(p, l->b_scale, l->b, 0));
  for (uint64_t i = Y_SCALE; l->quantized && i <= Y_ZERO; ++i)
    if (ref_has(p, i) && ref_count(p->inputs[i].dims, p->inputs[i].rank) != 1)
      return ref_refuse(p, "input %s: expected one number", ref_input_name(p->kernel, i));
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  const layout *l = p->kernel->op->family;
  product_state *s = p->state;
  RETURN_IF_ERROR(ref_need_rank(p, l->a, 1, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, l->b, 1, OPS_MAX_RANK));
  s->a = shape_of(&p->inputs[l->a], 1);
  s->b = shape_of(&p->inputs[l->b], 0);
  if (s->a.columns != s->b.rows)
    return ref_refuse(p, "input %s: expected %lld rows, found %lld",
                      ref_input_name(p->kernel, l->b), (long long)s->a.columns,
                      (long long)s->b.rows);
  RETURN_IF_ERROR(join_batches(p, l, s));
  RETURN_IF_ERROR(check_parameters(p, l));
  s->a_at = ref_reserve_input(p, l->a);
  s->b_at = ref_reserve_input(p, l->b);
  s->line_at = ref_reserve_reals(p, s->b.columns);
  int64_t dims[OPS_MAX_RANK];
  int32_t rank = s->batch_rank;
  for (int32_t i = 0; i < rank; ++i) dims[i] = s->batch[i];
  if (p->inputs[l->a].rank > 1) dims[rank++] = s->a.rows;
  if (p->inputs[l->b].rank > 1) dims[rank++] = s->b.columns;
  return ref_set_shape(p, 0, rank, dims);
}

// The parameter of the element of factor `whole` at row-major position `i`.
static double parameter(const ref_run *run, uint64_t input, const ref_view *whole, int is_left,
                        int64_t i, double otherwise) {
  if (!ref_given(run, input)) return otherwise;
  const ref_view *view = &run->inputs[input];
  if (view->count == 1) return ref_at(view, 0);
  if (whole->count == 0) return otherwise;
  int64_t columns = whole->dims[whole->rank - 1], at = 0;
  if (view->rank == 1 && whole->rank != 1) {
    int64_t line = is_left ? i / columns % whole->dims[whole->rank - 2] : i % columns;
    return ref_at(view, line * view->strides[0]);
  }
  for (int32_t d = whole->rank - 1; d >= 0; --d) {
    if (view->dims[d] != 1) at += i % whole->dims[d] * view->strides[d];
    i /= whole->dims[d];
  }
  return ref_at(view, at);
}

// A factor with its zero points taken off.
static void read_factor(const ref_run *run, uint64_t input, uint64_t zero, int is_left,
                        double *out) {
  const ref_view *view = &run->inputs[input];
  ref_read_reals(view, out);
  for (int64_t i = 0; i < view->count; ++i) out[i] -= parameter(run, zero, view, is_left, i, 0);
}

// Index of the matrix of a factor that batch entry `i` uses.
static int64_t matrix_of(const product_state *s, const ref_view *view, int32_t own, int64_t i) {
  int64_t index = 0, scale = 1;
  for (int32_t d = s->batch_rank - 1; d >= 0; --d) {
    int64_t dim = batch_dim(view->dims, own, s->batch_rank, d);
    if (dim != 1) index += i % s->batch[d] * scale;
    scale *= dim;
    i /= s->batch[d];
  }
  return index;
}

// Scales and rounds a line of sums; `a` and `b` are the positions of its row and of its matrix.
static void finish_line(const ref_run *run, const layout *l, int64_t a, int64_t b, double *line,
                        int64_t n) {
  const ref_view *y = &run->outputs[0];
  double zero = ref_given(run, Y_ZERO) ? ref_at(&run->inputs[Y_ZERO], 0) : 0;
  double scale = parameter(run, l->a_scale, &run->inputs[l->a], 1, a, 1);
  int is_signed = y->element->kind == REF_SIGNED;
  double high = is_signed ? 127 : 255, low = is_signed ? -128 : 0;
  for (int64_t j = 0; j < n; ++j) {
    double other = parameter(run, l->b_scale, &run->inputs[l->b], 0, b + j, 1);
    double value = line[j] * (scale * other) / ref_at(&run->inputs[Y_SCALE], 0);
    value = (ref_is_integer(y) ? rint(value) : value) + zero;
    if (ref_is_integer(y)) value = value > high ? high : value < low ? low : value;
    line[j] = value;
  }
}

static void store_line(const ref_view *y, int64_t position, const double *line, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    int64_t at = ref_offset_of(y, position + j), whole = ref_truncate(line[j]);
    if (ref_is_integer(y))
      ref_store_int(y, at, 1, 1, &whole);
    else
      ref_store(y, at, 1, 1, &line[j]);
  }
}

static int32_t execute(ref_run *run) {
  const layout *l = run->kernel->op->family;
  const product_state *s = run->state;
  const ref_view *y = &run->outputs[0], *left = &run->inputs[l->a], *right = &run->inputs[l->b];
  double *a = ref_reals(run, s->a_at), *b = ref_reals(run, s->b_at);
  double *line = ref_reals(run, s->line_at);
  int64_t batch = ref_count(s->batch, s->batch_rank), k = s->a.columns, n = s->b.columns;
  if (y->count == 0) return OPS_OK;
  read_factor(run, l->a, l->a_zero, 1, a);
  read_factor(run, l->b, l->b_zero, 0, b);
  for (int64_t item = 0; item < batch * s->a.rows; ++item) {
    int64_t entry = item / s->a.rows;
    int64_t row = matrix_of(s, left, s->a.batch_rank, entry) * s->a.rows + item % s->a.rows;
    int64_t matrix = matrix_of(s, right, s->b.batch_rank, entry);
    for (int64_t j = 0; j < n; ++j) line[j] = 0;
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j) line[j] += a[row * k + i] * b[(matrix * k + i) * n + j];
    if (l->quantized) finish_line(run, l, row * k, matrix * k * n, line, n);
    store_line(y, item * n, line, n);
  }
  return OPS_OK;
}

const ref_op ref_matmul_integer = {sizeof(product_state), prepare, execute, &integer_layout,
                                   NULL};
const ref_op ref_qlinear_matmul = {sizeof(product_state), prepare, execute, &quantized_layout,
                                   NULL};

// SPDX-License-Identifier: Apache-2.0
//
// Products of quantised matrices: sums of products of (a - zero point) and (b - zero point),
// which are exact in double. The operators differ in what becomes of a sum:
//
//   MatMulInteger           modulo 2^32
//   QLinearMatMul           scaled, rounded half to even, the zero point added, saturated; into
//                           float8, rounded by that type
//   MatMulIntegerToFloat    scaled, a bias added
//   DynamicQuantizeMatMul   the same, where A has been quantised as by DynamicQuantizeLinear
//   QGemm                   C added to the sum, which is then scaled, and quantised if there is
//   a
//                           scale to do so
//
// Zero points and scales are one number, one per row of A (in com.microsoft: per column), or
// one per column of B.
#include <math.h>

#include "dense.h"
#include "microsoft_operators.h"
#include "operators.h"
#include "quantized.h"

// Where the inputs of an operator are, and what is special about it.
#define NONE 99
typedef struct layout {
  uint64_t a, a_scale, a_zero, b, b_scale, b_zero, c, bias, y_scale, y_zero;
  int32_t is_integer;  // the result is the sum
  int32_t is_gemm;     // attributes alpha, transA, transB
  int32_t is_dynamic;  // A is a matrix of real numbers
  int32_t per_column;  // parameters of A
} layout;

static const layout integer_layout = {0,    NONE, 2,    1, NONE, 3, NONE,
                                      NONE, NONE, NONE, 1, 0,    0, 0};
static const layout quantized_layout = {0, 1, 2, 3, 4, 5, NONE, NONE, 6, 7, 0, 0, 0, 0};
static const layout to_float_layout = {0, 2, 4, 1, 3, 5, NONE, 6, NONE, NONE, 0, 0, 0, 1};
static const layout dynamic_layout = {0, NONE, NONE, 1, 2, 3, NONE, 4, NONE, NONE, 0, 0, 1, 1};
static const layout gemm_layout = {0, 1, 2, 3, 4, 5, 6, NONE, 7, 8, 0, 1, 0, 1};

// A factor with its leading dimensions, as a stack of matrices.
typedef struct factor {
  int64_t rows, columns;
  int32_t batch_rank;
} factor;

typedef struct product_state {
  factor a, b;
  int32_t transposed[2];  // QGemm: A, B
  double alpha;
  int32_t batch_rank;
  int64_t batch[OPS_MAX_RANK];
  uint64_t a_at, b_at, line_at;
} product_state;

static factor factor_of(const int64_t *dims, int32_t rank, int is_left) {
  if (rank == 1) return is_left ? (factor){1, dims[0], 0} : (factor){dims[0], 1, 0};
  return (factor){dims[rank - 2], dims[rank - 1], rank - 2};
}

static void swap_last(int64_t *list, int32_t rank) {
  int64_t held = list[rank - 2];
  list[rank - 2] = list[rank - 1];
  list[rank - 1] = held;
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

// One number, one per line of the factor (a row or a column), or a tensor of the factor's rank
// that broadcasts to it.
static int32_t check_parameter(const ref_prepare *p, uint64_t input, const ref_shape *whole,
                               const factor *f, int by_row, const char *name) {
  if (!ref_has(p, input)) return OPS_OK;
  const ref_shape *shape = &p->inputs[input];
  if (ref_count(shape->dims, shape->rank) == 1) return OPS_OK;
  int fits = shape->rank == 1 && shape->dims[0] == (by_row ? f->rows : f->columns);
  if (shape->rank == whole->rank && shape->rank > 1) {
    fits = shape->dims[shape->rank - (by_row ? 1 : 2)] == 1;
    for (int32_t i = 0; i < shape->rank; ++i)
      fits = fits && (shape->dims[i] == 1 || shape->dims[i] == whole->dims[i]);
  }
  if (fits) return OPS_OK;
  return ref_refuse(p, "input %s: expected one number or one per %s of %s",
                    ref_input_name(p->kernel, input), by_row ? "row" : "column", name);
}

static int32_t check_addends(const ref_prepare *p, const layout *l, const product_state *s) {
  if (ref_has(p, l->bias) &&
      (p->inputs[l->bias].rank != 1 || p->inputs[l->bias].dims[0] != s->b.columns))
    return ref_refuse(p, "input bias: expected the shape [%lld]", (long long)s->b.columns);
  if (!ref_has(p, l->c)) return OPS_OK;
  const ref_shape *c = &p->inputs[l->c];
  const int64_t y[2] = {s->a.rows, s->b.columns};
  RETURN_IF_ERROR(ref_need_rank(p, l->c, 0, 2));
  for (int32_t i = 0; i < c->rank; ++i)
    if (c->dims[i] != 1 && c->dims[i] != y[2 - c->rank + i])
      return ref_refuse(p, "input C: dimension %d is %lld, expected 1 or %lld", i,
                        (long long)c->dims[i], (long long)y[2 - c->rank + i]);
  return OPS_OK;
}

static int32_t check_parameters(ref_prepare *p, const layout *l, const ref_shape *a,
                                const ref_shape *b) {
  const product_state *s = p->state;
  const int by_row = !l->per_column;
  RETURN_IF_ERROR(check_parameter(p, l->a_zero, a, &s->a, by_row, "A"));
  RETURN_IF_ERROR(check_parameter(p, l->a_scale, a, &s->a, by_row, "A"));
  RETURN_IF_ERROR(check_parameter(p, l->b_zero, b, &s->b, 0, "B"));
  RETURN_IF_ERROR(check_parameter(p, l->b_scale, b, &s->b, 0, "B"));
  RETURN_IF_ERROR(ref_need_one(p, l->y_scale));
  RETURN_IF_ERROR(ref_need_one(p, l->y_zero));
  if (l->is_gemm && ref_has(p, l->y_scale) != ref_has(p, l->y_zero))
    return ref_refuse(p, "inputs y_scale and y_zero_point: expected both or neither");
  return check_addends(p, l, s);
}

static void read_attributes(const ref_prepare *p, const layout *l, product_state *s) {
  s->alpha = l->is_gemm ? ref_attr_float(p->kernel, "alpha", 1) : 1;
  s->transposed[0] = l->is_gemm && ref_attr_int(p->kernel, "transA", 0) != 0;
  s->transposed[1] = l->is_gemm && ref_attr_int(p->kernel, "transB", 0) != 0;
}

static int32_t set_output(ref_prepare *p, const layout *l, const product_state *s) {
  int64_t dims[OPS_MAX_RANK];
  int32_t rank = s->batch_rank;
  for (int32_t i = 0; i < rank; ++i) dims[i] = s->batch[i];
  if (p->inputs[l->a].rank > 1) dims[rank++] = s->a.rows;
  if (p->inputs[l->b].rank > 1) dims[rank++] = s->b.columns;
  if (l->is_gemm)
    p->outputs[0].type = ref_has(p, l->y_zero) ? p->inputs[l->y_zero].type : OPS_TYPE_FLOAT;
  return ref_set_shape(p, 0, rank, dims);
}

static int32_t prepare(ref_prepare *p) {
  const layout *l = p->kernel->op->family;
  product_state *s = p->state;
  ref_shape a = p->inputs[l->a], b = p->inputs[l->b];
  RETURN_IF_ERROR(ref_need_rank(p, l->a, l->is_gemm ? 2 : 1, l->is_gemm ? 2 : OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, l->b, l->is_gemm ? 2 : 1, l->is_gemm ? 2 : OPS_MAX_RANK));
  read_attributes(p, l, s);
  if (s->transposed[0]) swap_last(a.dims, a.rank);
  if (s->transposed[1]) swap_last(b.dims, b.rank);
  s->a = factor_of(a.dims, a.rank, 1);
  s->b = factor_of(b.dims, b.rank, 0);
  if (s->a.columns != s->b.rows)
    return ref_refuse(p, "input %s: expected %lld rows, found %lld",
                      ref_input_name(p->kernel, l->b), (long long)s->a.columns,
                      (long long)s->b.rows);
  RETURN_IF_ERROR(join_batches(p, l, s));
  RETURN_IF_ERROR(check_parameters(p, l, &a, &b));
  s->a_at = ref_reserve_input(p, l->a);
  s->b_at = ref_reserve_input(p, l->b);
  s->line_at = ref_reserve_reals(p, s->b.columns);
  return set_output(p, l, s);
}

// ---- Execute -------------------------------------------------------------------------------

typedef struct product_job {
  const ref_run *run;
  const layout *l;
  const product_state *s;
  ref_view a_view, b_view;  // as they are multiplied
  double *a, *b;            // without their zero points, in row-major order
  double a_scale;           // of a matrix that has been quantised here
} product_job;

// The parameter of the element of factor `whole` at row-major position `i`.
static double parameter(const ref_run *run, uint64_t input, const ref_view *whole, int by_row,
                        int64_t i, double otherwise) {
  if (!ref_given(run, input)) return otherwise;
  const ref_view *view = &run->inputs[input];
  if (view->count == 1) return ref_at(view, 0);
  if (whole->count == 0) return otherwise;
  int64_t columns = whole->dims[whole->rank - 1], at = 0;
  if (view->rank == 1 && whole->rank != 1) {
    int64_t line = by_row ? i / columns % whole->dims[whole->rank - 2] : i % columns;
    return ref_at(view, line * view->strides[0]);
  }
  for (int32_t d = whole->rank - 1; d >= 0; --d) {
    if (view->dims[d] != 1) at += i % whole->dims[d] * view->strides[d];
    i /= whole->dims[d];
  }
  return ref_at(view, at);
}

// Scales of A that differ along a sum belong to its terms.
static int scaled_by_term(const product_job *job) {
  const layout *l = job->l;
  return l->per_column && ref_given(job->run, l->a_scale) &&
         job->run->inputs[l->a_scale].count != 1;
}

static void read_left(product_job *job) {
  const layout *l = job->l;
  const ref_view *view = &job->a_view;
  ref_read_reals(view, job->a);
  if (l->is_dynamic) {
    const ref_dynamic_scale scale = ref_dynamic_scale_of(view);
    for (int64_t i = 0; i < view->count; ++i)
      job->a[i] = ref_dynamic_quantize(&scale, job->a[i]) - scale.zero;
    job->a_scale = (double)scale.scale;
    return;
  }
  const int by_row = !l->per_column, by_term = scaled_by_term(job);
  for (int64_t i = 0; i < view->count; ++i) {
    job->a[i] -= parameter(job->run, l->a_zero, view, by_row, i, 0);
    if (by_term) job->a[i] *= parameter(job->run, l->a_scale, view, by_row, i, 1);
  }
}

static void read_right(product_job *job) {
  ref_read_reals(&job->b_view, job->b);
  for (int64_t i = 0; i < job->b_view.count; ++i)
    job->b[i] -= parameter(job->run, job->l->b_zero, &job->b_view, 0, i, 0);
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

// Adds the row of C to a line of sums of a single matrix.
static void add_c(const product_job *job, int64_t row, double *line, int64_t n) {
  int64_t strides[2];
  if (!ref_given(job->run, job->l->c)) return;
  const ref_view *c = &job->run->inputs[job->l->c];
  ref_broadcast_strides(c, 2, strides);
  for (int64_t j = 0; j < n; ++j) line[j] += ref_at(c, row * strides[0] + j * strides[1]);
}

// Scales and rounds a line of sums; `a` and `b` are the positions of its row and of its matrix.
static void finish_line(const product_job *job, int64_t a, int64_t b, double *line, int64_t n) {
  const ref_run *run = job->run;
  const layout *l = job->l;
  const ref_view *y = &run->outputs[0];
  const ref_quantizer to = ref_quantizer_read(run, l->y_scale, l->y_zero, y->element);
  const double scale = l->is_dynamic ? job->a_scale
                       : scaled_by_term(job)
                           ? 1
                           : parameter(run, l->a_scale, &job->a_view, !l->per_column, a, 1);
  for (int64_t j = 0; j < n; ++j) {
    const double other = parameter(run, l->b_scale, &job->b_view, 0, b + j, 1);
    line[j] *= job->s->alpha * (scale * other);
    if (ref_given(run, l->bias))
      line[j] += ref_at(&run->inputs[l->bias], j * run->inputs[l->bias].strides[0]);
    if (!ref_given(run, l->y_scale)) continue;
    line[j] = ref_is_integer(y) ? ref_quantize(&to, line[j]) : line[j] / to.scale + to.zero;
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

static void run_lines(const product_job *job, double *line) {
  const product_state *s = job->s;
  const int64_t batch = ref_count(s->batch, s->batch_rank), k = s->a.columns, n = s->b.columns;
  for (int64_t item = 0; item < batch * s->a.rows; ++item) {
    int64_t entry = item / s->a.rows;
    int64_t row =
        matrix_of(s, &job->a_view, s->a.batch_rank, entry) * s->a.rows + item % s->a.rows;
    int64_t matrix = matrix_of(s, &job->b_view, s->b.batch_rank, entry);
    for (int64_t j = 0; j < n; ++j) line[j] = 0;
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j)
        line[j] += job->a[row * k + i] * job->b[(matrix * k + i) * n + j];
    add_c(job, item, line, n);
    if (!job->l->is_integer) finish_line(job, row * k, matrix * k * n, line, n);
    store_line(&job->run->outputs[0], item * n, line, n);
  }
}

static ref_view view_of(const ref_view *input, int transposed) {
  ref_view view = *input;
  if (!transposed) return view;
  swap_last(view.dims, view.rank);
  swap_last(view.strides, view.rank);
  return view;
}

static int32_t execute(ref_run *run) {
  const product_state *s = run->state;
  product_job job = {.run = run, .l = run->kernel->op->family, .s = s};
  if (run->outputs[0].count == 0) return OPS_OK;
  job.a_view = view_of(&run->inputs[job.l->a], s->transposed[0]);
  job.b_view = view_of(&run->inputs[job.l->b], s->transposed[1]);
  job.a = ref_reals(run, s->a_at);
  job.b = ref_reals(run, s->b_at);
  read_left(&job);
  read_right(&job);
  run_lines(&job, ref_reals(run, s->line_at));
  return OPS_OK;
}

#define PRODUCT(name, layout) \
  const ref_op ref_##name = {sizeof(product_state), prepare, execute, &layout, NULL}

PRODUCT(matmul_integer, integer_layout);
PRODUCT(qlinear_matmul, quantized_layout);
PRODUCT(matmul_integer_to_float, to_float_layout);
PRODUCT(dynamic_quantize_matmul, dynamic_layout);
PRODUCT(qgemm, gemm_layout);

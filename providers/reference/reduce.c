// SPDX-License-Identifier: Apache-2.0
//
// The Reduce family: one loop over the reduced dimensions, with the operator as a row. Axes are
// an attribute, or from opset 13 (ReduceSum) and 18 on an input; without axes everything is
// reduced; with noop_with_empty_axes each element is then reduced by itself: ReduceL1 is Abs.
// Sums are taken in row-major order.
#include <math.h>

#include "operators.h"
#include "reduce.h"
#include "traverse.h"

typedef struct sum {
  double value, scale;
  uint64_t exact;
  double n;
} sum;

typedef struct reduce_row {
  double start;
  void (*add)(sum *s, double x);
  double (*finish)(const sum *s);  // NULL: the value itself
  // Exact arithmetic for integers; NULL: by the functions above, truncated.
  void (*add_exact)(sum *s, int64_t x, int natural);
  // What an empty set of integers gives.
  int64_t (*start_exact)(const ref_element *element);
  int32_t changes_one;  // the reduction of one element is not that element
} reduce_row;

typedef struct reduce_state {
  uint64_t reduced;  // set of axes
  int32_t keep;
  int32_t copy;  // nothing to reduce, and no element changes
} reduce_state;

static void add_plain(sum *s, double x) {
  s->value += x;
}

static void add_product(sum *s, double x) {
  s->value *= x;
}

static void add_max(sum *s, double x) {
  if (x > s->value || isnan(x)) s->value = isnan(s->value) ? s->value : x;
}

static void add_min(sum *s, double x) {
  if (x < s->value || isnan(x)) s->value = isnan(s->value) ? s->value : x;
}

static void add_absolute(sum *s, double x) {
  s->value += fabs(x);
}

static void add_square(sum *s, double x) {
  s->value += x * x;
}

// value * exp(scale) is the sum of exponentials; scale is the largest exponent so far.
static void add_exponential(sum *s, double x) {
  if (x == -INFINITY) return;
  if (x > s->scale) {
    s->value = s->value * exp(s->scale - x) + 1;
    s->scale = x;
  } else {
    s->value += x == s->scale ? 1 : exp(x - s->scale);
  }
}

static double finish_mean(const sum *s) {
  return s->value / s->n;
}

static double finish_root(const sum *s) {
  return sqrt(s->value);
}

static double finish_log(const sum *s) {
  return log(s->value);
}

static double finish_exponential(const sum *s) {
  return s->value == 0 ? -INFINITY : log(s->value) + s->scale;
}

static void exact_sum(sum *s, int64_t x, int natural) {
  (void)natural;
  s->exact += (uint64_t)x;
}

static void exact_product(sum *s, int64_t x, int natural) {
  (void)natural;
  s->exact *= (uint64_t)x;
}

static void exact_max(sum *s, int64_t x, int natural) {
  if (natural ? (uint64_t)x > s->exact : x > (int64_t)s->exact) s->exact = (uint64_t)x;
}

static void exact_min(sum *s, int64_t x, int natural) {
  if (natural ? (uint64_t)x < s->exact : x < (int64_t)s->exact) s->exact = (uint64_t)x;
}

static void exact_absolute(sum *s, int64_t x, int natural) {
  s->exact += !natural && x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static void exact_square(sum *s, int64_t x, int natural) {
  (void)natural;
  s->exact += (uint64_t)x * (uint64_t)x;
}

static int64_t zero(const ref_element *element) {
  (void)element;
  return 0;
}

static int64_t one(const ref_element *element) {
  (void)element;
  return 1;
}

static int64_t lowest(const ref_element *element) {
  return element->kind == REF_SIGNED ? (int64_t)(UINT64_MAX << (element->bits - 1)) : 0;
}

static int64_t largest(const ref_element *element) {
  if (element->kind == REF_BOOL) return 1;
  int value_bits = element->bits - (element->kind == REF_SIGNED);
  return (int64_t)(UINT64_MAX >> (64 - value_bits));
}

static const reduce_row rows[] = {
    [REF_REDUCE_SUM] = {0, add_plain, NULL, exact_sum, zero, 0},
    [REF_REDUCE_MEAN] = {0, add_plain, finish_mean, NULL, NULL, 0},
    [REF_REDUCE_PROD] = {1, add_product, NULL, exact_product, one, 0},
    [REF_REDUCE_MAX] = {-INFINITY, add_max, NULL, exact_max, lowest, 0},
    [REF_REDUCE_MIN] = {INFINITY, add_min, NULL, exact_min, largest, 0},
    [REF_REDUCE_L1] = {0, add_absolute, NULL, exact_absolute, zero, 1},
    [REF_REDUCE_L2] = {0, add_square, finish_root, NULL, NULL, 1},
    [REF_REDUCE_LOG_SUM] = {0, add_plain, finish_log, NULL, NULL, 1},
    [REF_REDUCE_LOG_SUM_EXP] = {0, add_exponential, finish_exponential, NULL, NULL, 0},
    [REF_REDUCE_SUM_SQUARE] = {0, add_square, NULL, exact_square, zero, 1},
};

static int32_t prepare(ref_prepare *p) {
  reduce_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  int32_t axes[OPS_MAX_RANK], count;
  int given;
  RETURN_IF_ERROR(ref_axes(p, 1, x->rank, axes, &count, &given));
  s->keep = ref_attr_int(p->kernel, "keepdims", 1) != 0;
  if (count == 0) {
    const reduce_row *row = p->kernel->op->family;
    int none = ref_attr_int(p->kernel, "noop_with_empty_axes", 0) != 0;
    s->copy = none && !row->changes_one;
    for (int32_t i = 0; !none && i < x->rank; ++i) s->reduced |= (uint64_t)1 << i;
  }
  for (int32_t i = 0; i < count; ++i) s->reduced |= (uint64_t)1 << axes[i];
  int64_t dims[OPS_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < x->rank; ++i) {
    if (!(s->reduced >> i & 1))
      dims[rank++] = x->dims[i];
    else if (s->keep)
      dims[rank++] = 1;
  }
  return ref_set_shape(p, 0, rank, dims);
}

// The input's dimensions in two groups, and the output's strides for the first.
typedef struct reduce_job {
  const ref_run *run;
  const reduce_row *row;
  int32_t kept, inner;
  int64_t kept_dims[OPS_MAX_RANK], x_strides[OPS_MAX_RANK], y_strides[OPS_MAX_RANK];
  int64_t inner_dims[OPS_MAX_RANK], inner_strides[OPS_MAX_RANK];
  int64_t inner_count;
} reduce_job;

static void sort_dimensions(reduce_job *job) {
  const reduce_state *s = job->run->state;
  const ref_view *x = &job->run->inputs[0], *y = &job->run->outputs[0];
  for (int32_t i = 0, out = 0; i < x->rank; ++i) {
    if (s->reduced >> i & 1) {
      job->inner_dims[job->inner] = x->dims[i];
      job->inner_strides[job->inner++] = x->strides[i];
      out += s->keep;
    } else {
      job->kept_dims[job->kept] = x->dims[i];
      job->x_strides[job->kept] = x->strides[i];
      job->y_strides[job->kept++] = y->strides[out++];
    }
  }
  job->inner_count = ref_count(job->inner_dims, job->inner);
}

static void reduce_reals(const reduce_job *job, ref_walk *walk, int64_t base, int64_t to) {
  const ref_view *x = &job->run->inputs[0];
  double v[REF_CHUNK];
  sum s = {.value = job->row->start, .scale = -INFINITY, .n = (double)job->inner_count};
  if (job->inner_count > 0) do {
      int64_t step = ref_walk_step(walk, 0);
      for (int64_t i = 0; i < walk->row; i += REF_CHUNK) {
        int64_t n = walk->row - i < REF_CHUNK ? walk->row - i : REF_CHUNK;
        ref_load(x, base + walk->operands[0].offset + i * step, step, n, v);
        for (int64_t k = 0; k < n; ++k) job->row->add(&s, v[k]);
      }
    } while (ref_walk_next(walk));
  double result = job->row->finish != NULL ? job->row->finish(&s) : s.value;
  ref_store(&job->run->outputs[0], to, 1, 1, &result);
}

static void reduce_integers(const reduce_job *job, ref_walk *walk, int64_t base, int64_t to) {
  const ref_view *x = &job->run->inputs[0];
  int natural = x->element->kind != REF_SIGNED;
  int64_t v[REF_CHUNK];
  sum s = {.exact = (uint64_t)job->row->start_exact(x->element)};
  if (job->inner_count > 0) do {
      int64_t step = ref_walk_step(walk, 0);
      for (int64_t i = 0; i < walk->row; i += REF_CHUNK) {
        int64_t n = walk->row - i < REF_CHUNK ? walk->row - i : REF_CHUNK;
        ref_load_int(x, base + walk->operands[0].offset + i * step, step, n, v);
        for (int64_t k = 0; k < n; ++k) job->row->add_exact(&s, v[k], natural);
      }
    } while (ref_walk_next(walk));
  int64_t result = (int64_t)s.exact;
  ref_store_int(&job->run->outputs[0], to, 1, 1, &result);
}

static int32_t execute(ref_run *run) {
  const reduce_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  if (y->count == 0) return OPS_OK;
  if (s->copy) return ref_copy_elements(run, x, y);
  reduce_job job = {.run = run, .row = run->kernel->op->family};
  sort_dimensions(&job);
  int64_t index[OPS_MAX_RANK] = {0};
  int exact = ref_is_integer(x) && job.row->add_exact != NULL;
  do {
    ref_walk walk;
    ref_walk_operand at;
    for (int32_t i = 0; i < job.inner; ++i) at.strides[i] = job.inner_strides[i];
    ref_walk_init(&walk, job.inner, job.inner_dims, &at, 1);
    (exact ? reduce_integers : reduce_reals)(&job, &walk,
                                             ref_dot(index, job.x_strides, job.kept),
                                             ref_dot(index, job.y_strides, job.kept));
  } while (ref_count_up(index, job.kept_dims, job.kept));
  return OPS_OK;
}

#define OP(name) [name] = {sizeof(reduce_state), prepare, execute, &rows[name], NULL}
const ref_op ref_reduce[REF_REDUCE_COUNT] = {
    OP(REF_REDUCE_SUM),       OP(REF_REDUCE_MEAN),    OP(REF_REDUCE_PROD),
    OP(REF_REDUCE_MAX),       OP(REF_REDUCE_MIN),     OP(REF_REDUCE_L1),
    OP(REF_REDUCE_L2),        OP(REF_REDUCE_LOG_SUM), OP(REF_REDUCE_LOG_SUM_EXP),
    OP(REF_REDUCE_SUM_SQUARE)};

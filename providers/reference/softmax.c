// SPDX-License-Identifier: Apache-2.0
//
// Softmax, LogSoftmax, Hardmax. From opset 13 on they work along one axis (default the last);
// before, the input was seen as a matrix split before `axis` (default 1) and they worked along
// its rows.
#include <math.h>
#include <string.h>

#include "operators.h"
#include "traverse.h"

typedef struct softmax_state {
  int32_t axis;
  int32_t rows;  // opset < 13: a line is all dimensions from the axis on
} softmax_state;

typedef void (*softmax_line)(double *line, int64_t n);

static double highest(const double *line, int64_t n) {
  double high = -INFINITY;
  for (int64_t i = 0; i < n; ++i)
    if (line[i] > high || isnan(line[i])) high = line[i];
  return high;
}

static void softmax(double *line, int64_t n) {
  double high = highest(line, n), sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += line[i] = exp(line[i] - high);
  for (int64_t i = 0; i < n; ++i) line[i] /= sum;
}

static void log_softmax(double *line, int64_t n) {
  double high = highest(line, n), sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += exp(line[i] - high);
  double shift = log(sum);
  for (int64_t i = 0; i < n; ++i) line[i] = line[i] - high - shift;
}

static void hardmax(double *line, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i)
    if (line[i] > line[best]) best = i;
  for (int64_t i = 0; i < n; ++i) line[i] = i == best;
}

static int32_t prepare(ref_prepare *p) {
  softmax_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  s->rows = p->kernel->opset < 13;
  int64_t axis = ref_attr_int(p->kernel, "axis", s->rows ? 1 : -1);
  if (x->rank == 0 && (axis == 0 || axis == -1)) {
    s->rows = 1;
  } else if (s->rows && axis == x->rank) {
    s->axis = x->rank;  // rows of one element
  } else {
    RETURN_IF_ERROR(ref_axis(p, axis, x->rank, &s->axis));
  }
  int64_t n = s->rows ? ref_count(x->dims + s->axis, x->rank - s->axis) : x->dims[s->axis];
  if (n < 0) return ref_refuse(p, "the shape is too large");
  ref_reserve_reals(p, n);
  return ref_same_shape(p, 0, 0);
}

typedef struct line_job {
  softmax_line compute;
  const ref_view *x, *y;
  int64_t n;
  int32_t axis;
  double *line;
} line_job;

static int32_t run_line(void *context, const int64_t *offsets) {
  line_job *job = context;
  ref_load(job->x, offsets[0], job->x->strides[job->axis], job->n, job->line);
  job->compute(job->line, job->n);
  ref_store(job->y, offsets[1], job->y->strides[job->axis], job->n, job->line);
  return OPS_OK;
}

// Rows of several dimensions: one element at a time.
static void run_rows(const line_job *job) {
  for (int64_t start = 0; start < job->x->count; start += job->n) {
    for (int64_t i = 0; i < job->n; ++i)
      job->line[i] = ref_at(job->x, ref_offset_of(job->x, start + i));
    job->compute(job->line, job->n);
    for (int64_t i = 0; i < job->n; ++i)
      ref_store(job->y, ref_offset_of(job->y, start + i), 1, 1, &job->line[i]);
  }
}

static int32_t execute(ref_run *run) {
  const softmax_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  if (x->count == 0) return OPS_OK;
  line_job job = {.x = x, .y = y, .axis = s->axis, .line = run->workspace};
  memcpy(&job.compute, run->kernel->op->family, sizeof job.compute);
  job.n = s->rows ? ref_count(x->dims + s->axis, x->rank - s->axis) : x->dims[s->axis];
  if (!s->rows) return ref_each_line((const ref_view *[]){x, y}, 2, s->axis, run_line, &job);
  run_rows(&job);
  return OPS_OK;
}

#define SOFTMAX(name)                               \
  static const softmax_line name##_function = name; \
  const ref_op ref_##name = {sizeof(softmax_state), prepare, execute, &name##_function, NULL}

SOFTMAX(softmax);
SOFTMAX(log_softmax);
SOFTMAX(hardmax);

// SPDX-License-Identifier: Apache-2.0
//
// Softmax, LogSoftmax, Hardmax. From opset 13 on they work along one axis (default the last);
// before, the input was seen as a matrix split before `axis` (default 1) and they worked along
// its rows. QLinearSoftmax names the opset of Softmax that it follows, and works on the real
// values of quantised tensors.
#include <math.h>
#include <string.h>

#include "microsoft_operators.h"
#include "operators.h"
#include "quantized.h"
#include "traverse.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };  // of QLinearSoftmax

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

static int32_t prepare_opset(ref_prepare *p, int64_t opset, int64_t usual_axis) {
  softmax_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  s->rows = opset < 13;
  int64_t axis = ref_attr_int(p->kernel, "axis", usual_axis);
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

static int32_t prepare(ref_prepare *p) {
  return prepare_opset(p, p->kernel->opset, p->kernel->opset < 13 ? 1 : -1);
}

static int32_t prepare_quantized(ref_prepare *p) {
  for (uint64_t i = X_SCALE; i <= Y_ZERO; ++i) RETURN_IF_ERROR(ref_need_one(p, i));
  const int64_t opset = ref_attr_int(p->kernel, "opset", 0);
  if (opset < 1) return ref_refuse(p, "attribute opset: expected that of a Softmax, from 1 on");
  return prepare_opset(p, opset, -1);
}

typedef struct line_job {
  softmax_line compute;
  ref_quantizer from, to;
  int quantized;
  const ref_view *x, *y;
  int64_t n;
  int32_t axis;
  double *line;
} line_job;

static void compute_line(const line_job *job) {
  double *line = job->line;
  for (int64_t i = 0; job->quantized && i < job->n; ++i)
    line[i] = ref_dequantize(&job->from, line[i]);
  job->compute(line, job->n);
  for (int64_t i = 0; job->quantized && i < job->n; ++i)
    line[i] = ref_quantize(&job->to, line[i]);
}

static int32_t run_line(void *context, const int64_t *offsets) {
  line_job *job = context;
  ref_load(job->x, offsets[0], job->x->strides[job->axis], job->n, job->line);
  compute_line(job);
  ref_store(job->y, offsets[1], job->y->strides[job->axis], job->n, job->line);
  return OPS_OK;
}

// Rows of several dimensions: one element at a time.
static void run_rows(const line_job *job) {
  for (int64_t start = 0; start < job->x->count; start += job->n) {
    for (int64_t i = 0; i < job->n; ++i)
      job->line[i] = ref_at(job->x, ref_offset_of(job->x, start + i));
    compute_line(job);
    for (int64_t i = 0; i < job->n; ++i)
      ref_store(job->y, ref_offset_of(job->y, start + i), 1, 1, &job->line[i]);
  }
}

static int32_t run_job(const ref_run *run, line_job *job) {
  const softmax_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  if (x->count == 0) return OPS_OK;
  job->x = x;
  job->y = y;
  job->axis = s->axis;
  job->line = run->workspace;
  job->n = s->rows ? ref_count(x->dims + s->axis, x->rank - s->axis) : x->dims[s->axis];
  if (!s->rows) return ref_each_line((const ref_view *[]){x, y}, 2, s->axis, run_line, job);
  run_rows(job);
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  line_job job = {.quantized = 0};
  memcpy(&job.compute, run->kernel->op->family, sizeof job.compute);
  return run_job(run, &job);
}

static int32_t execute_quantized(ref_run *run) {
  line_job job = {.compute = softmax,
                  .from = ref_quantizer_read(run, X_SCALE, X_ZERO, run->inputs[0].element),
                  .to = ref_quantizer_read(run, Y_SCALE, Y_ZERO, run->outputs[0].element),
                  .quantized = 1};
  return run_job(run, &job);
}

#define SOFTMAX(name)                               \
  static const softmax_line name##_function = name; \
  const ref_op ref_##name = {sizeof(softmax_state), prepare, execute, &name##_function, NULL}

SOFTMAX(softmax);
SOFTMAX(log_softmax);
SOFTMAX(hardmax);

const ref_op ref_qlinear_softmax = {sizeof(softmax_state), prepare_quantized, execute_quantized,
                                    NULL, NULL};

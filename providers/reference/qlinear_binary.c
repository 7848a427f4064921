// SPDX-License-Identifier: Apache-2.0
//
// QLinearAdd, QLinearMul: the operator on the real values of two quantised tensors that
// broadcast, quantised again.
#include "microsoft_operators.h"
#include "quantized.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C_SCALE, C_ZERO };

typedef double (*binary_function)(double a, double b);

typedef struct binary_row {
  binary_function function;
} binary_row;

static double add(double a, double b) {
  return a + b;
}

static double multiply(double a, double b) {
  return a * b;
}

static int32_t prepare(ref_prepare *p) {
  static const uint64_t single[] = {A_SCALE, A_ZERO, B_SCALE, B_ZERO, C_SCALE, C_ZERO};
  for (size_t i = 0; i < sizeof single / sizeof *single; ++i)
    RETURN_IF_ERROR(ref_need_one(p, single[i]));
  const ref_shape *a = &p->inputs[A], *b = &p->inputs[B];
  ref_shape *c = &p->outputs[0];
  c->rank = a->rank > b->rank ? a->rank : b->rank;
  for (int32_t i = 1; i <= c->rank; ++i) {
    const int64_t da = i > a->rank ? 1 : a->dims[a->rank - i];
    const int64_t db = i > b->rank ? 1 : b->dims[b->rank - i];
    if (da != db && da != 1 && db != 1)
      return ref_refuse(p,
                        "input B: dimension %d is %lld, expected 1 or %lld to broadcast with A",
                        b->rank - i, (long long)db, (long long)da);
    c->dims[c->rank - i] = da == 1 ? db : da;
  }
  return OPS_OK;
}

typedef struct binary_job {
  binary_function function;
  ref_quantizer a, b, c;
} binary_job;

static void run_row(const binary_job *job, const double *a, const double *b, int64_t n,
                    double *c) {
  for (int64_t i = 0; i < n; ++i) {
    const double real =
        job->function(ref_dequantize(&job->a, a[i]), ref_dequantize(&job->b, b[i]));
    c[i] = ref_quantize(&job->c, real);
  }
}

static int32_t execute(ref_run *run) {
  const ref_view *a = &run->inputs[A], *b = &run->inputs[B], *c = &run->outputs[0];
  const binary_job job = {((const binary_row *)run->kernel->op->family)->function,
                          ref_quantizer_read(run, A_SCALE, A_ZERO, a->element),
                          ref_quantizer_read(run, B_SCALE, B_ZERO, b->element),
                          ref_quantizer_read(run, C_SCALE, C_ZERO, c->element)};
  if (c->count == 0) return OPS_OK;
  const ref_view *views[] = {a, b, c};
  ref_walk_operand at[3];
  for (int i = 0; i < 3; ++i) ref_broadcast_strides(views[i], c->rank, at[i].strides);
  ref_walk walk;
  ref_walk_init(&walk, c->rank, c->dims, at, 3);
  const int64_t steps[] = {ref_walk_step(&walk, 0), ref_walk_step(&walk, 1),
                           ref_walk_step(&walk, 2)};
  double left[REF_CHUNK], right[REF_CHUNK], out[REF_CHUNK];
  do {
    for (int64_t i = 0; i < walk.row; i += REF_CHUNK) {
      const int64_t n = walk.row - i < REF_CHUNK ? walk.row - i : REF_CHUNK;
      ref_load(a, at[0].offset + i * steps[0], steps[0], n, left);
      ref_load(b, at[1].offset + i * steps[1], steps[1], n, right);
      run_row(&job, left, right, n, out);
      ref_store(c, at[2].offset + i * steps[2], steps[2], n, out);
    }
  } while (ref_walk_next(&walk));
  return OPS_OK;
}

static const binary_row add_row = {add}, multiply_row = {multiply};
const ref_op ref_qlinear_add = {0, prepare, execute, &add_row, NULL};
const ref_op ref_qlinear_mul = {0, prepare, execute, &multiply_row, NULL};

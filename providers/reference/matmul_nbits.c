// SPDX-License-Identifier: Apache-2.0
//
// MatMulNBits: Y = A W' + bias, where W, of N rows and K columns, is quantised to 2-8 bits in
// blocks of consecutive columns, each with its scale and zero point.
//
//   B            [N, blocks, block_size * bits / 8] bytes, numbers packed from the lowest bit
//   on;
//                a dimension of 0: there is no product, Y is the bias or 0
//   scales       [N, blocks], or all in one dimension
//   zero_points  like the scales, of their type; or bytes, packed like B with each row begun
//   anew;
//                left out: 2^(bits - 1)
//   g_idx        [K] or [blocks * block_size]: which block's scale and zero point a column has,
//                where that is not its own
//
// The weights are never rounded; accuracy_level, a permission to compute less exactly, is not
// taken. (Text of the operator in onnxruntime's docs/ContribOperators.md.)
#include <math.h>
#include <string.h>

#include "dense.h"
#include "microsoft_operators.h"
#include "traverse.h"

enum { A, B, SCALES, ZERO_POINTS, G_IDX, BIAS };

typedef struct nbits_state {
  int64_t rows, n, k;  // rows: of all matrices of A
  int64_t bits, block, blocks;
  int32_t is_empty;        // no product
  int32_t packed_zeros;    // zero points are bit-packed
  uint64_t a_at, sums_at;  // [rows, K], [rows, N]
} nbits_state;

// ---- Prepare -------------------------------------------------------------------------------

static int32_t read_attributes(const ref_prepare *p, nbits_state *s) {
  s->n = ref_attr_int(p->kernel, "N", 0);
  s->k = ref_attr_int(p->kernel, "K", 0);
  s->bits = ref_attr_int(p->kernel, "bits", 4);
  s->block = ref_attr_int(p->kernel, "block_size", 0);
  if (s->n < 1 || s->k < 1 || s->n > (int64_t)1 << 40 || s->k > (int64_t)1 << 40)
    return ref_refuse(p, "attributes N and K: expected at least 1, found %lld and %lld",
                      (long long)s->n, (long long)s->k);
  if (s->bits < 2 || s->bits > 8)
    return ref_refuse(p, "attribute bits: expected 2 to 8, found %lld", (long long)s->bits);
  if (s->block < 16 || s->block > (int64_t)1 << 40 || (s->block & (s->block - 1)) != 0)
    return ref_refuse(p, "attribute block_size: expected a power of 2 from 16 on, found %lld",
                      (long long)s->block);
  s->blocks = (s->k + s->block - 1) / s->block;
  return OPS_OK;
}

// A matrix of N rows, or all of it in one dimension.
static int32_t need_matrix(const ref_prepare *p, uint64_t input, int64_t rows,
                           int64_t columns) {
  const ref_shape *shape = &p->inputs[input];
  const int is_flat =
      shape->rank == 1 && shape->dims[0] == ref_count((int64_t[]){rows, columns}, 2);
  if (is_flat || (shape->rank == 2 && shape->dims[0] == rows && shape->dims[1] == columns))
    return OPS_OK;
  return ref_refuse(p, "input %s: expected the shape [%lld, %lld]",
                    ref_input_name(p->kernel, input), (long long)rows, (long long)columns);
}

static int32_t check_weights(const ref_prepare *p, nbits_state *s) {
  const int64_t wanted[3] = {s->n, s->blocks, s->block * s->bits / 8};
  RETURN_IF_ERROR(ref_need_rank(p, B, 3, 3));
  for (int32_t i = 0; i < 3; ++i) {
    const int64_t dim = p->inputs[B].dims[i];
    s->is_empty = s->is_empty || dim == 0;
    if (dim != wanted[i] && dim != 0)
      return ref_refuse(p, "input B: dimension %d is %lld, expected %lld", i, (long long)dim,
                        (long long)wanted[i]);
  }
  return OPS_OK;
}

static int32_t check_parameters(const ref_prepare *p, nbits_state *s) {
  RETURN_IF_ERROR(need_matrix(p, SCALES, s->n, s->blocks));
  if (ref_has(p, ZERO_POINTS)) {
    s->packed_zeros = p->inputs[ZERO_POINTS].type == OPS_TYPE_UINT8;
    if (!s->packed_zeros && p->inputs[ZERO_POINTS].type != p->inputs[SCALES].type)
      return ref_refuse(p, "input zero_points: expected uint8 or the type of the scales");
    const int64_t bytes = (s->blocks * s->bits + 7) / 8;
    RETURN_IF_ERROR(need_matrix(p, ZERO_POINTS, s->n, s->packed_zeros ? bytes : s->blocks));
  }
  if (!ref_has(p, G_IDX)) return OPS_OK;
  const ref_shape *index = &p->inputs[G_IDX];
  if (index->rank != 1 || (index->dims[0] != s->k && index->dims[0] != s->blocks * s->block))
    return ref_refuse(p, "input g_idx: expected the shape [%lld] or [%lld]", (long long)s->k,
                      (long long)(s->blocks * s->block));
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  nbits_state *s = p->state;
  const ref_shape *a = &p->inputs[A];
  int64_t dims[OPS_MAX_RANK];
  RETURN_IF_ERROR(read_attributes(p, s));
  RETURN_IF_ERROR(ref_need_rank(p, A, 1, OPS_MAX_RANK));
  if (a->dims[a->rank - 1] != s->k)
    return ref_refuse(p, "input A: the last dimension is %lld, expected K, %lld",
                      (long long)a->dims[a->rank - 1], (long long)s->k);
  RETURN_IF_ERROR(check_weights(p, s));
  if (!s->is_empty) RETURN_IF_ERROR(check_parameters(p, s));
  if (ref_has(p, BIAS) && (p->inputs[BIAS].rank != 1 || p->inputs[BIAS].dims[0] != s->n))
    return ref_refuse(p, "input bias: expected the shape [%lld]", (long long)s->n);
  memcpy(dims, a->dims, sizeof dims);
  dims[a->rank - 1] = s->n;
  const int64_t count = ref_count(dims, a->rank);
  if (count < 0) return ref_refuse(p, "the output is too large");
  s->rows = ref_count(a->dims, a->rank - 1);
  s->a_at = ref_reserve_input(p, A);
  s->sums_at = ref_reserve_reals(p, count);
  return ref_set_shape(p, 0, a->rank, dims);
}

// ---- Execute -------------------------------------------------------------------------------

typedef struct nbits_job {
  const ref_run *run;
  const nbits_state *s;
  const double *a;
  double *sums;
} nbits_job;

static uint32_t byte_at(const ref_view *view, int64_t position) {
  return (uint32_t)ref_int_at(view, ref_offset_of(view, position));
}

// Number `i` of those packed from byte `start` of a view on, `bits` each, lowest bits first.
static double unpack(const ref_view *view, int64_t start, int64_t bits, int64_t i) {
  const int64_t at = i * bits, byte = start + at / 8;
  uint32_t pair = byte_at(view, byte);
  if (at % 8 + bits > 8) pair |= byte_at(view, byte + 1) << 8;
  return (double)(pair >> at % 8 & ((1u << bits) - 1));
}

static double zero_point(const nbits_job *job, int64_t n, int64_t block) {
  const nbits_state *s = job->s;
  const ref_view *zeros = &job->run->inputs[ZERO_POINTS];
  if (!ref_given(job->run, ZERO_POINTS)) return ldexp(1, (int)s->bits - 1);
  if (s->packed_zeros)
    return unpack(zeros, n * ((s->blocks * s->bits + 7) / 8), s->bits, block);
  return ref_at(zeros, ref_offset_of(zeros, n * s->blocks + block));
}

// The weight of row n, column k.
static double weight(const nbits_job *job, int64_t n, int64_t k) {
  const nbits_state *s = job->s;
  const ref_view *b = &job->run->inputs[B], *scales = &job->run->inputs[SCALES];
  const ref_view *index = &job->run->inputs[G_IDX];
  const int64_t block = k / s->block, start = (n * s->blocks + block) * b->dims[2];
  const double number = unpack(b, start, s->bits, k % s->block);
  const int64_t group =
      ref_given(job->run, G_IDX) ? ref_int_at(index, k * index->strides[0]) : block;
  const double scale = ref_at(scales, ref_offset_of(scales, n * s->blocks + group));
  return (number - zero_point(job, n, group)) * scale;
}

// Column n of the sums, a piece of K at a time.
static void sum_column(const nbits_job *job, int64_t n) {
  const nbits_state *s = job->s;
  double weights[REF_CHUNK];
  for (int64_t row = 0; row < s->rows; ++row) job->sums[row * s->n + n] = 0;
  for (int64_t k = 0; k < s->k; k += REF_CHUNK) {
    const int64_t count = s->k - k < REF_CHUNK ? s->k - k : REF_CHUNK;
    for (int64_t i = 0; i < count; ++i) weights[i] = weight(job, n, k + i);
    for (int64_t row = 0; row < s->rows; ++row) {
      const double *a = job->a + row * s->k + k;
      double sum = job->sums[row * s->n + n];
      for (int64_t i = 0; i < count; ++i) sum += a[i] * weights[i];
      job->sums[row * s->n + n] = sum;
    }
  }
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t n = begin; n < end; ++n) sum_column(context, n);
}

static void add_bias(const nbits_job *job) {
  const nbits_state *s = job->s;
  const ref_view *bias = &job->run->inputs[BIAS];
  if (!ref_given(job->run, BIAS)) return;
  for (int64_t i = 0; i < s->rows * s->n; ++i)
    job->sums[i] += ref_at(bias, i % s->n * bias->strides[0]);
}

static int32_t check_groups(ref_run *run, const nbits_state *s) {
  const ref_view *index = &run->inputs[G_IDX];
  if (!ref_given(run, G_IDX)) return OPS_OK;
  for (int64_t i = 0; i < index->count; ++i) {
    const int64_t group = ref_int_at(index, i * index->strides[0]);
    if (group < 0 || group >= s->blocks)
      return ref_refuse(run, "input g_idx: element %lld is %lld, expected 0 to %lld",
                        (long long)i, (long long)group, (long long)(s->blocks - 1));
  }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const nbits_state *s = run->state;
  const ref_view *y = &run->outputs[0];
  nbits_job job = {run, s, ref_reals(run, s->a_at), ref_reals(run, s->sums_at)};
  if (y->count == 0) return OPS_OK;
  if (s->is_empty) {
    memset(job.sums, 0, sizeof *job.sums * (size_t)y->count);
  } else {
    RETURN_IF_ERROR(check_groups(run, s));
    ref_read_reals(&run->inputs[A], ref_reals(run, s->a_at));
    ref_parallel(run, s->n, 1, body, &job);
  }
  add_bias(&job);
  ref_write_reals(y, job.sums);
  return OPS_OK;
}

static const char *refuse(const ops_node *node) {
  return ref_node_int(node, "weight_prepacked", 0) == 0
             ? NULL
             : "weight_prepacked: the layout is private to another provider";
}

const ref_op ref_matmul_nbits = {sizeof(nbits_state), prepare, execute, NULL, refuse};

// SPDX-License-Identifier: Apache-2.0
//
// Statistics in two passes: the mean, then the mean of squared distances from it.
#include "norm.h"

#include <math.h>
#include <string.h>

#include "traverse.h"

static double mean_of(const ref_norm *n, int64_t base, double center, int square) {
  ref_walk_operand at;
  ref_walk walk;
  double v[REF_CHUNK], sum = 0;
  int32_t rank = n->rank - n->lead;
  memcpy(at.strides, n->x.strides + n->lead, sizeof(int64_t) * (size_t)rank);
  ref_walk_init(&walk, rank, n->dims + n->lead, &at, 1);
  do {
    int64_t step = ref_walk_step(&walk, 0);
    for (int64_t i = 0; i < walk.row; i += REF_CHUNK) {
      int64_t count = walk.row - i < REF_CHUNK ? walk.row - i : REF_CHUNK;
      ref_load(n->x.view, base + at.offset + i * step, step, count, v);
      for (int64_t k = 0; k < count; ++k) {
        double d = v[k] - center;
        sum += square ? d * d : d;
      }
    }
  } while (ref_walk_next(&walk));
  return sum / (double)ref_count(n->dims + n->lead, rank);
}

enum { X, Y, SCALE, BIAS, OPERANDS };

static void write_block(const ref_norm *n, const int64_t *base, double mean, double inverse) {
  const ref_norm_operand *operands[OPERANDS] = {&n->x, &n->y, &n->scale, &n->bias};
  ref_walk_operand at[OPERANDS];
  ref_walk walk;
  int32_t rank = n->rank - n->lead;
  for (int k = 0; k < OPERANDS; ++k)
    memcpy(at[k].strides, operands[k]->strides + n->lead, sizeof(int64_t) * (size_t)rank);
  ref_walk_init(&walk, rank, n->dims + n->lead, at, OPERANDS);
  do {
    double v[OPERANDS][REF_CHUNK];
    for (int64_t i = 0; i < walk.row; i += REF_CHUNK) {
      int64_t count = walk.row - i < REF_CHUNK ? walk.row - i : REF_CHUNK;
      for (int k = 0; k < OPERANDS; ++k)
        if (k != Y && operands[k]->view != NULL)
          ref_load(operands[k]->view, base[k] + at[k].offset + i * ref_walk_step(&walk, k),
                   ref_walk_step(&walk, k), count, v[k]);
      for (int64_t j = 0; j < count; ++j) {
        double y = (v[X][j] - mean) * inverse;
        if (n->scale.view != NULL) y *= v[SCALE][j];
        if (n->bias.view != NULL) y += v[BIAS][j];
        v[Y][j] = y;
      }
      ref_store(n->y.view, base[Y] + at[Y].offset + i * ref_walk_step(&walk, Y),
                ref_walk_step(&walk, Y), count, v[Y]);
    }
  } while (ref_walk_next(&walk));
}

static void run_block(const ref_norm *n, int64_t block) {
  int64_t index[OPS_MAX_RANK];
  for (int32_t i = n->lead - 1; i >= 0; --i) {
    index[i] = block % n->dims[i];
    block /= n->dims[i];
  }
  int64_t base[OPERANDS] = {
      ref_dot(index, n->x.strides, n->lead), ref_dot(index, n->y.strides, n->lead),
      ref_dot(index, n->scale.strides, n->lead), ref_dot(index, n->bias.strides, n->lead)};
  double mean = n->center ? mean_of(n, base[X], 0, 0) : 0;
  double variance = mean_of(n, base[X], mean, 1);
  double inverse =
      n->epsilon_outside ? 1 / (sqrt(variance) + n->epsilon) : 1 / sqrt(variance + n->epsilon);
  write_block(n, base, mean, inverse);
  if (n->mean.view != NULL)
    ref_store(n->mean.view, ref_dot(index, n->mean.strides, n->lead), 1, 1, &mean);
  if (n->inverse.view != NULL)
    ref_store(n->inverse.view, ref_dot(index, n->inverse.strides, n->lead), 1, 1, &inverse);
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t i = begin; i < end; ++i) run_block(context, i);
}

void ref_norm_set(ref_norm_operand *operand, const ref_view *view, int32_t rank) {
  operand->view = view;
  ref_broadcast_strides(view, rank, operand->strides);
}

void ref_norm_run(const ref_run *run, const ref_norm *norm) {
  if (ref_count(norm->dims, norm->rank) == 0) return;
  ref_parallel(run, ref_count(norm->dims, norm->lead), 1, body, (void *)norm);
}

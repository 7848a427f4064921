// SPDX-License-Identifier: Apache-2.0
//
// DepthToSpace and SpaceToDepth: one block move in six dimensions (n, channel, row, row in the
// block, column, column in the block).
#include "operators.h"
#include "traverse.h"

typedef struct depth_state {
  int64_t block;
  int32_t by_column;  // mode CRD: channels before block positions
} depth_state;

static const char *const modes[] = {"DCR", "CRD"};

static int32_t read_block(ref_prepare *p, depth_state *s) {
  s->block = ref_attr_int(p->kernel, "blocksize", 0);
  RETURN_IF_ERROR(ref_attr_choose(p, "mode", modes, 2, "DCR", &s->by_column));
  RETURN_IF_ERROR(ref_need_rank(p, 0, 4, 4));
  if (s->block < 1 || s->block > INT32_MAX)
    return ref_refuse(p, "attribute blocksize: expected at least 1, found %lld",
                      (long long)s->block);
  return OPS_OK;
}

static int32_t prepare_depth(ref_prepare *p) {
  depth_state *s = p->state;
  RETURN_IF_ERROR(read_block(p, s));
  const int64_t *x = p->inputs[0].dims;
  int64_t b = s->block;
  if (x[1] % (b * b) != 0)
    return ref_refuse(p, "input input: expected a multiple of %lld channels, found %lld",
                      (long long)(b * b), (long long)x[1]);
  int64_t dims[4] = {x[0], x[1] / (b * b)};
  if (__builtin_mul_overflow(x[2], b, &dims[2]) || __builtin_mul_overflow(x[3], b, &dims[3]))
    return ref_refuse(p, "the output is too large");
  return ref_set_shape(p, 0, 4, dims);
}

static int32_t prepare_space(ref_prepare *p) {
  depth_state *s = p->state;
  RETURN_IF_ERROR(read_block(p, s));
  const int64_t *x = p->inputs[0].dims;
  int64_t b = s->block;
  if (x[2] % b != 0 || x[3] % b != 0)
    return ref_refuse(p,
                      "input input: expected height and width to be multiples of %lld, found "
                      "%lld and %lld",
                      (long long)b, (long long)x[2], (long long)x[3]);
  int64_t dims[4] = {x[0], 0, x[2] / b, x[3] / b};
  if (__builtin_mul_overflow(x[1], b * b, &dims[1]))
    return ref_refuse(p, "the output is too large");
  return ref_set_shape(p, 0, 4, dims);
}

// `deep` has the channels, `wide` the space.
static int32_t move(const depth_state *s, const ref_view *deep, const ref_view *wide,
                    int to_wide, ops_error *error) {
  int64_t b = s->block, c = wide->dims[1];
  int64_t dims[6] = {wide->dims[0], c, deep->dims[2], b, deep->dims[3], b};
  const int64_t *w = wide->strides, *d = deep->strides;
  int64_t wide_strides[6] = {w[0], w[1], w[2] * b, w[2], w[3] * b, w[3]};
  int64_t channel = s->by_column ? b * b : 1;
  int64_t row = s->by_column ? b : b * c, column = s->by_column ? 1 : c;
  int64_t deep_strides[6] = {d[0], d[1] * channel, d[2], d[1] * row, d[3], d[1] * column};
  ref_block a = {wide, 0, wide_strides}, z = {deep, 0, deep_strides};
  return to_wide ? ref_move_block(a, z, 6, dims, error) : ref_move_block(z, a, 6, dims, error);
}

static int32_t execute_depth(ref_run *run) {
  return move(run->state, &run->inputs[0], &run->outputs[0], 1, run->error);
}

static int32_t execute_space(ref_run *run) {
  return move(run->state, &run->outputs[0], &run->inputs[0], 0, run->error);
}

const ref_op ref_depth_to_space = {sizeof(depth_state), prepare_depth, execute_depth, NULL,
                                   NULL};
const ref_op ref_space_to_depth = {sizeof(depth_state), prepare_space, execute_space, NULL,
                                   NULL};

// SPDX-License-Identifier: Apache-2.0
//
// AffineGrid: the positions of an image of the given size, from -1 to 1 along each dimension,
// under an affine map. Coordinates are ordered from the innermost dimension to the outermost.
#include "operators.h"

typedef struct affine_state {
  int32_t spatial;  // 2 or 3
  int32_t align;
} affine_state;

static int32_t prepare(ref_prepare *p) {
  affine_state *s = p->state;
  int64_t size[5] = {0}, count, dims[5];
  RETURN_IF_ERROR(ref_need_rank(p, 0, 3, 3));
  RETURN_IF_ERROR(ref_contents(p, 1, size, 5, &count));
  const int64_t *theta = p->inputs[0].dims;
  s->spatial = (int32_t)count - 2;
  s->align = ref_attr_int(p->kernel, "align_corners", 0) != 0;
  if (count < 4 || theta[0] != size[0] || theta[1] != s->spatial || theta[2] != s->spatial + 1)
    return ref_refuse(
        p,
        "input theta: expected the shape [N, 2, 3] with a size of [N, C, H, W], or "
        "[N, 3, 4] with [N, C, D, H, W]");
  for (int64_t i = 0; i < count; ++i)
    if (size[i] < 0)
      return ref_refuse(p, "input size: element %lld is %lld, expected at least 0",
                        (long long)i, (long long)size[i]);
  dims[0] = size[0];
  for (int32_t i = 0; i < s->spatial; ++i) dims[1 + i] = size[2 + i];
  dims[1 + s->spatial] = s->spatial;
  return ref_set_shape(p, 0, s->spatial + 2, dims);
}

// A single position lies in the middle or, with its corners aligned, at -1.
static double coordinate(const affine_state *s, int64_t i, int64_t n) {
  if (!s->align) return (2 * (double)i + 1) / (double)n - 1;
  return n == 1 ? -1 : 2 * (double)i / (double)(n - 1) - 1;
}

static int32_t execute(ref_run *run) {
  const affine_state *s = run->state;
  const ref_view *theta = &run->inputs[0], *y = &run->outputs[0];
  int64_t positions = y->count / s->spatial;
  for (int64_t k = 0; k < positions; ++k) {
    int64_t rest = k, to = 0;
    double at[4] = {0};
    for (int32_t d = s->spatial; d >= 1; --d) {
      at[s->spatial - d] = coordinate(s, rest % y->dims[d], y->dims[d]);
      to += rest % y->dims[d] * y->strides[d];
      rest /= y->dims[d];
    }
    at[s->spatial] = 1;
    to += rest * y->strides[0];
    for (int32_t row = 0; row < s->spatial; ++row) {
      double m[4], sum = 0;
      ref_load(theta, rest * theta->strides[0] + row * theta->strides[1], theta->strides[2],
               s->spatial + 1, m);
      for (int32_t j = 0; j <= s->spatial; ++j) sum += m[j] * at[j];
      ref_store(y, to + row * y->strides[y->rank - 1], 1, 1, &sum);
    }
  }
  return OPS_OK;
}

const ref_op ref_affine_grid = {sizeof(affine_state), prepare, execute, NULL, NULL};

// SPDX-License-Identifier: Apache-2.0
//
// Col2Im: columns of blocks summed into the image they were cut from. Integers wrap around;
// complex numbers are summed by parts. Strings have no sum: blocks of them must not overlap,
// and what no block covers is empty.
#include <string.h>

#include "dense.h"
#include "operators.h"
#include "window.h"

typedef struct col2im_state {
  ref_window window;  // slides over the image: `in` is the image, `out` the blocks
  int64_t batch, channels, taps, blocks;
  uint64_t image_at;
} col2im_state;

static int32_t read_sizes(ref_prepare *p, col2im_state *s) {
  int64_t image[OPS_MAX_RANK], block[OPS_MAX_RANK], count, rank;
  ref_window *w = &s->window;
  RETURN_IF_ERROR(ref_need_rank(p, 0, 3, 3));
  RETURN_IF_ERROR(ref_contents(p, 1, image, OPS_MAX_RANK - 2, &rank));
  RETURN_IF_ERROR(ref_contents(p, 2, block, OPS_MAX_RANK - 2, &count));
  if (rank < 1 || count != rank)
    return ref_refuse(p,
                      "inputs image_shape and block_shape: expected as many numbers in both, "
                      "found %lld and %lld",
                      (long long)rank, (long long)count);
  for (int64_t i = 0; i < rank; ++i)
    if (image[i] < 0)
      return ref_refuse(p, "input image_shape: element %lld is %lld", (long long)i,
                        (long long)image[i]);
  RETURN_IF_ERROR(ref_window_read(p, (int32_t)rank, image, block, w));
  return ref_window_slide(p, 0, w);
}

static int32_t prepare(ref_prepare *p) {
  col2im_state *s = p->state;
  RETURN_IF_ERROR(read_sizes(p, s));
  const ref_window *w = &s->window;
  const int64_t *x = p->inputs[0].dims;
  s->batch = x[0];
  s->taps = ref_count(w->kernel, w->rank);
  s->blocks = ref_count(w->out, w->rank);
  if (s->taps < 1 || x[1] % s->taps != 0 || x[2] != s->blocks)
    return ref_refuse(p,
                      "input input: expected the shape [N, a multiple of %lld, %lld], found "
                      "[%lld, %lld, %lld]",
                      (long long)s->taps, (long long)s->blocks, (long long)x[0],
                      (long long)x[1], (long long)x[2]);
  s->channels = x[1] / s->taps;
  int64_t dims[OPS_MAX_RANK] = {s->batch, s->channels};
  for (int32_t i = 0; i < w->rank; ++i) dims[2 + i] = w->in[i];
  s->image_at = ref_reserve_reals(p, ref_count(w->in, w->rank));
  return ref_set_shape(p, 0, w->rank + 2, dims);
}

// Index in the image that tap `tap` of block `block` covers; -1 in the padding.
static int64_t cover(const ref_window *w, int64_t block, int64_t tap) {
  int64_t index = 0, scale = 1;
  for (int32_t d = w->rank - 1; d >= 0; --d) {
    int64_t at =
        block % w->out[d] * w->stride[d] + tap % w->kernel[d] * w->dilation[d] - w->begin[d];
    if (at < 0 || at >= w->in[d]) return -1;
    index += at * scale;
    scale *= w->in[d];
    block /= w->out[d];
    tap /= w->kernel[d];
  }
  return index;
}

// The image of one channel, in real or integer arithmetic.
static void sum_channel(const col2im_state *s, const ref_view *x, int64_t base, void *image) {
  memset(image, 0, 8 * (size_t)ref_count(s->window.in, s->window.rank));
  for (int64_t tap = 0; tap < s->taps; ++tap)
    for (int64_t block = 0; block < s->blocks; ++block) {
      int64_t at = cover(&s->window, block, tap);
      int64_t from = base + tap * x->strides[1] + block * x->strides[2];
      if (at < 0) continue;
      if (ref_is_integer(x))
        ((uint64_t *)image)[at] += (uint64_t)ref_int_at(x, from);
      else
        ((double *)image)[at] += ref_at(x, from);
    }
}

static void run_channel(const ref_run *run, const ref_view *x, const ref_view *y, int64_t n,
                        int64_t c, int64_t part) {
  const col2im_state *s = run->state;
  void *image = ref_reals(run, s->image_at);
  // A view of the one channel (and part) of the output.
  ref_view plane = *y;
  plane.rank = s->window.rank;
  plane.origin += n * y->strides[0] + c * y->strides[1] + part;
  plane.count = ref_count(s->window.in, plane.rank);
  for (int32_t i = 0; i < plane.rank; ++i) {
    plane.dims[i] = y->dims[2 + i];
    plane.strides[i] = y->strides[2 + i];
  }
  sum_channel(s, x, n * x->strides[0] + c * s->taps * x->strides[1] + part, image);
  if (!ref_is_integer(x)) {
    ref_write_reals(&plane, image);
    return;
  }
  int64_t *sums = image;
  if (x->type == OPS_TYPE_BOOL)
    for (int64_t i = 0; i < plane.count; ++i) sums[i] = sums[i] != 0;
  ref_write_ints(&plane, sums);
}

// Counts in `image` how often each of its elements is covered; at most once is right.
static int32_t check_apart(ref_run *run, int64_t *image) {
  const col2im_state *s = run->state;
  memset(image, 0, sizeof *image * (size_t)ref_count(s->window.in, s->window.rank));
  for (int64_t tap = 0; tap < s->taps; ++tap)
    for (int64_t block = 0; block < s->blocks; ++block) {
      int64_t at = cover(&s->window, block, tap);
      if (at >= 0 && ++image[at] > 1)
        return ref_refuse(run, "input input: blocks of strings overlap, which have no sum");
    }
  return OPS_OK;
}

static int32_t move_strings(ref_run *run) {
  const col2im_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int64_t pixels = ref_count(s->window.in, s->window.rank);
  RETURN_IF_ERROR(check_apart(run, (int64_t *)ref_reals(run, s->image_at)));
  for (int64_t i = 0; i < y->count; ++i)
    RETURN_IF_ERROR(y->values->string_set(y->value, (uint64_t)ref_offset_of(y, i),
                                          (ops_str){NULL, 0}, run->error));
  for (int64_t plane = 0; plane < s->batch * s->channels; ++plane)
    for (int64_t tap = 0; tap < s->taps; ++tap)
      for (int64_t block = 0; block < s->blocks; ++block) {
        int64_t at = cover(&s->window, block, tap);
        int64_t from = (plane * s->taps + tap) * s->blocks + block;
        if (at >= 0)
          RETURN_IF_ERROR(ref_move(y, ref_offset_of(y, plane * pixels + at), 1, x,
                                   ref_offset_of(x, from), 1, 1, run->error));
      }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const col2im_state *s = run->state;
  if (run->inputs[0].type == OPS_TYPE_STRING)
    return run->outputs[0].count == 0 ? OPS_OK : move_strings(run);
  ref_view x = ref_parts(&run->inputs[0]), y = ref_parts(&run->outputs[0]);
  int64_t parts = x.rank == 4 ? 2 : 1;
  if (y.count == 0) return OPS_OK;
  for (int64_t n = 0; n < s->batch; ++n)
    for (int64_t c = 0; c < s->channels; ++c)
      for (int64_t part = 0; part < parts; ++part) run_channel(run, &x, &y, n, c, part);
  return OPS_OK;
}

const ref_op ref_col2im = {sizeof(col2im_state), prepare, execute, NULL, NULL};

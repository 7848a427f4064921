// SPDX-License-Identifier: Apache-2.0
//
// Conv over any number of spatial dimensions, as a direct sum.
//
// Weights and one image at a time are decoded into double. A work item computes a piece of one
// output row for a few output channels; its innermost loop runs along the row, so each result
// is summed in a fixed order (kernel position, then input channel) whatever the number of
// threads. Positions in the padding are left out of the sum.
#include <string.h>

#include "operators.h"
#include "window.h"

#define BLOCK 4    // output channels of an item
#define PIECE 256  // outputs of a row in an item

typedef struct conv_state {
  ref_window window;
  int64_t batch, channels, filters, groups;
  int64_t group_channels, group_filters;
  int64_t taps;       // of the kernel: product of its dimensions
  int64_t in_size;    // of one channel
  int64_t out_rows;   // of one output channel: product of all but the last dimension
  uint64_t image_at;  // in the workspace
  uint64_t weights_at;
} conv_state;

static int32_t read_shapes(ref_prepare *p, conv_state *s) {
  const ref_shape *x = &p->inputs[0], *w = &p->inputs[1];
  RETURN_IF_ERROR(ref_need_rank(p, 0, 3, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, 1, x->rank, x->rank));
  s->groups = ref_attr_int(p->kernel, "group", 1);
  s->batch = x->dims[0];
  s->channels = x->dims[1];
  s->filters = w->dims[0];
  if (s->groups < 1 || s->channels % s->groups != 0 || s->filters % s->groups != 0)
    return ref_refuse(p,
                      "attribute group: expected a divisor of %lld channels and %lld filters, "
                      "found %lld",
                      (long long)s->channels, (long long)s->filters, (long long)s->groups);
  s->group_channels = s->channels / s->groups;
  s->group_filters = s->filters / s->groups;
  if (w->dims[1] != s->group_channels)
    return ref_refuse(p, "input W: dimension 1 is %lld, expected %lld, the channels of a group",
                      (long long)w->dims[1], (long long)s->group_channels);
  if (ref_has(p, 2) && (p->inputs[2].rank != 1 || p->inputs[2].dims[0] != s->filters))
    return ref_refuse(p, "input B: expected the shape [%lld]", (long long)s->filters);
  return OPS_OK;
}

static int32_t reserve(ref_prepare *p, conv_state *s) {
  const ref_window *w = &s->window;
  s->taps = ref_count(w->kernel, w->rank);
  s->in_size = ref_count(w->in, w->rank);
  s->out_rows = ref_count(w->out, w->rank - 1);
  int64_t image = ref_count(p->inputs[0].dims + 1, p->inputs[0].rank - 1);
  int64_t weights = ref_count(p->inputs[1].dims, p->inputs[1].rank);
  if (s->taps < 0 || s->in_size < 0 || s->out_rows < 0 || image < 0 || weights < 0)
    return ref_refuse(p, "the shapes are too large");
  s->image_at = ref_reserve_reals(p, image);
  s->weights_at = ref_reserve_reals(p, weights);
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  conv_state *s = p->state;
  RETURN_IF_ERROR(read_shapes(p, s));
  const ref_shape *x = &p->inputs[0];
  RETURN_IF_ERROR(
      ref_window_read(p, x->rank - 2, x->dims + 2, p->inputs[1].dims + 2, &s->window));
  RETURN_IF_ERROR(ref_window_slide(p, 0, &s->window));
  RETURN_IF_ERROR(reserve(p, s));
  int64_t dims[OPS_MAX_RANK] = {s->batch, s->filters};
  for (int32_t i = 0; i < s->window.rank; ++i) dims[2 + i] = s->window.out[i];
  return ref_set_shape(p, 0, x->rank, dims);
}

typedef struct conv_job {
  const conv_state *s;
  const double *image;
  const double *weights;
  const ref_view *bias;  // NULL: none
  const ref_view *y;
  int64_t n;  // image
  int64_t blocks, pieces;
} conv_job;

typedef struct conv_item {
  int64_t group, filter, filters;  // first output channel, how many
  int64_t row;                     // of the output, counted over all but the last dimension
  int64_t start, count;            // of the piece
  double sums[BLOCK][PIECE];
} conv_item;

// Adds weight[j * weight_step] * x[i * stride] to row j of the sums.
static void add_products(const double *weight, int64_t weight_step, int64_t filters,
                         const double *x, int64_t stride, int64_t n, double *sums) {
  for (int64_t j = 0; j < filters; ++j) {
    double w = weight[j * weight_step];
    double *sum = sums + j * PIECE;
    if (stride == 1)
      for (int64_t i = 0; i < n; ++i) sum[i] += w * x[i];
    else
      for (int64_t i = 0; i < n; ++i) sum[i] += w * x[i * stride];
  }
}

// Index of the input row that tap `tap` (over all but the last kernel dimension) sees from the
// item's output row; -1 if it lies in the padding.
static int64_t input_row(const ref_window *w, int64_t row, int64_t tap) {
  int64_t index = 0, scale = 1;
  for (int32_t d = w->rank - 2; d >= 0; --d) {
    int64_t at =
        row % w->out[d] * w->stride[d] + tap % w->kernel[d] * w->dilation[d] - w->begin[d];
    if (at < 0 || at >= w->in[d]) return -1;
    index += at * scale;
    scale *= w->in[d];
    row /= w->out[d];
    tap /= w->kernel[d];
  }
  return index;
}

static void sum_tap(const conv_job *job, conv_item *item, int64_t row, int64_t tap, int64_t k) {
  const conv_state *s = job->s;
  const ref_window *w = &s->window;
  int32_t last = w->rank - 1;
  int64_t low, high, width = w->in[last];
  ref_window_range(w, last, k, &low, &high);
  low = low > item->start ? low - item->start : 0;
  high = high - item->start < item->count ? high - item->start : item->count;
  if (low >= high) return;
  int64_t shift = item->start * w->stride[last] + k * w->dilation[last] - w->begin[last];
  const double *x = job->image + item->group * s->group_channels * s->in_size + row * width;
  const double *weight =
      job->weights + item->filter * s->group_channels * s->taps + tap * w->kernel[last] + k;
  for (int64_t c = 0; c < s->group_channels; ++c)
    add_products(weight + c * s->taps, s->group_channels * s->taps, item->filters,
                 x + c * s->in_size + shift + low * w->stride[last], w->stride[last],
                 high - low, &item->sums[0][low]);
}

static void store_item(const conv_job *job, conv_item *item) {
  const ref_view *y = job->y;
  const ref_window *w = &job->s->window;
  int64_t at = job->n * y->strides[0] + item->filter * y->strides[1] +
               item->start * y->strides[y->rank - 1];
  int64_t row = item->row;
  for (int32_t d = w->rank - 2; d >= 0; --d) {
    at += row % w->out[d] * y->strides[2 + d];
    row /= w->out[d];
  }
  for (int64_t j = 0; j < item->filters; ++j) {
    double bias =
        job->bias == NULL ? 0 : ref_at(job->bias, (item->filter + j) * job->bias->strides[0]);
    if (job->bias != NULL)
      for (int64_t i = 0; i < item->count; ++i) item->sums[j][i] += bias;
    ref_store(y, at + j * y->strides[1], y->strides[y->rank - 1], item->count, item->sums[j]);
  }
}

static void run_item(const conv_job *job, int64_t number) {
  const conv_state *s = job->s;
  int32_t last = s->window.rank - 1;
  conv_item item;
  memset(item.sums, 0, sizeof item.sums);
  item.start = number % job->pieces * PIECE;
  number /= job->pieces;
  item.row = number % s->out_rows;
  number /= s->out_rows;
  int64_t block = number % job->blocks * BLOCK;
  item.group = number / job->blocks;
  item.filter = item.group * s->group_filters + block;
  item.filters = s->group_filters - block < BLOCK ? s->group_filters - block : BLOCK;
  int64_t rest = s->window.out[last] - item.start;
  item.count = rest < PIECE ? rest : PIECE;
  int64_t outer_taps = s->taps / s->window.kernel[last];
  for (int64_t tap = 0; tap < outer_taps; ++tap) {
    int64_t row = input_row(&s->window, item.row, tap);
    if (row < 0) continue;
    for (int64_t k = 0; k < s->window.kernel[last]; ++k) sum_tap(job, &item, row, tap, k);
  }
  store_item(job, &item);
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t i = begin; i < end; ++i) run_item(context, i);
}

static int32_t execute(ref_run *run) {
  const conv_state *s = run->state;
  double *image = (double *)((char *)run->workspace + s->image_at);
  double *weights = (double *)((char *)run->workspace + s->weights_at);
  conv_job job = {.s = s,
                  .image = image,
                  .weights = weights,
                  .bias = ref_given(run, 2) ? &run->inputs[2] : NULL,
                  .y = &run->outputs[0],
                  .blocks = (s->group_filters + BLOCK - 1) / BLOCK,
                  .pieces = (s->window.out[s->window.rank - 1] + PIECE - 1) / PIECE};
  if (job.y->count == 0) return OPS_OK;
  ref_decode_part(&run->inputs[1], 0, s->filters, weights);
  for (job.n = 0; job.n < s->batch; ++job.n) {
    ref_decode_part(&run->inputs[0], job.n, 1, image);
    ref_parallel(run, s->groups * job.blocks * s->out_rows * job.pieces, 1, body, &job);
  }
  return OPS_OK;
}

const ref_op ref_conv = {sizeof(conv_state), prepare, execute, NULL, NULL};

// SPDX-License-Identifier: Apache-2.0
//
// Conv over any number of spatial dimensions, as a direct sum.
//
// Weights and one image at a time are decoded into double. A work item computes a piece of one
// output row for a few output channels; its innermost loop runs along the row, so each result
// is summed in a fixed order (kernel position, then input channel) whatever the number of
// threads. Positions in the padding are left out of the sum. FusedConv adds Z, of the shape of
// the result, and applies an activation, before the one rounding.
#include <string.h>

#include "direct_conv.h"
#include "operators.h"

#define BLOCK 4  // output channels of an item

static int32_t read_shapes(ref_prepare *p, ref_conv_state *s) {
  const ref_shape *w = &p->inputs[1];
  RETURN_IF_ERROR(ref_conv_read_input(p, s));
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
  return ref_conv_check_bias(p, s);
}

enum { Z = 3 };

static int32_t prepare(ref_prepare *p) {
  ref_conv_state *s = p->state;
  RETURN_IF_ERROR(read_shapes(p, s));
  const ref_shape *x = &p->inputs[0];
  RETURN_IF_ERROR(
      ref_window_read(p, x->rank - 2, x->dims + 2, p->inputs[1].dims + 2, &s->window));
  RETURN_IF_ERROR(ref_window_slide(p, 0, &s->window));
  return ref_conv_finish_prepare(p, s);
}

static int32_t prepare_fused(ref_prepare *p) {
  ref_conv_state *s = p->state;
  RETURN_IF_ERROR(prepare(p));
  if (ref_has(p, Z)) {
    const ref_shape *y = &p->outputs[0];
    RETURN_IF_ERROR(ref_need_rank(p, Z, y->rank, y->rank));
    for (int32_t i = 0; i < y->rank; ++i)
      if (p->inputs[Z].dims[i] != y->dims[i])
        return ref_refuse(p, "input Z: dimension %d is %lld, expected %lld as in Y", i,
                          (long long)p->inputs[Z].dims[i], (long long)y->dims[i]);
  }
  return ref_activation_read(p, &s->activation);
}

typedef struct conv_item {
  int64_t group, filter, filters;  // first output channel, how many
  int64_t row;                     // of the output, counted over all but the last dimension
  int64_t start, count;            // of the piece
  ref_noise noise;
  double sums[BLOCK][REF_CONV_PIECE];
} conv_item;

static void add_rounded(double w, const double *x, int64_t stride, int64_t n, ref_noise *noise,
                        double *sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] = ref_noisy(noise, sum[i] + w * x[i * stride]);
}

// Adds weight[j * weight_step] * x[i * stride] to row j of the sums.
static void add_products(const double *weight, int64_t weight_step, int64_t filters,
                         const double *x, int64_t stride, int64_t n, ref_noise *noise,
                         double *sums) {
  for (int64_t j = 0; j < filters; ++j) {
    double w = weight[j * weight_step];
    double *sum = sums + j * REF_CONV_PIECE;
    if (noise->low)
      add_rounded(w, x, stride, n, noise, sum);
    else if (stride == 1)
      for (int64_t i = 0; i < n; ++i) sum[i] += w * x[i];
    else
      for (int64_t i = 0; i < n; ++i) sum[i] += w * x[i * stride];
  }
}

static void sum_tap(const ref_conv_job *job, conv_item *item, int64_t row, int64_t tap,
                    int64_t k) {
  const ref_conv_state *s = job->s;
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
                 high - low, &item->noise, &item->sums[0][low]);
}

// Adds Z to a piece of a row and applies the activation.
static void fuse(const ref_conv_job *job, const conv_item *item, int64_t filter, double *sums) {
  const ref_activation *activation = &job->s->activation;
  if (job->z != NULL) {
    double z[REF_CONV_PIECE];
    int64_t at = ref_conv_offset(job, job->z, filter, item->row, item->start);
    ref_load(job->z, at, job->z->strides[job->z->rank - 1], item->count, z);
    for (int64_t i = 0; i < item->count; ++i) sums[i] += z[i];
  }
  if (activation->function == NULL) return;
  for (int64_t i = 0; i < item->count; ++i) sums[i] = ref_activation_apply(activation, sums[i]);
}

static void store_item(const ref_conv_job *job, conv_item *item) {
  const ref_view *y = job->y;
  int64_t at = ref_conv_offset(job, y, item->filter, item->row, item->start);
  for (int64_t j = 0; j < item->filters; ++j) {
    double bias = ref_conv_bias(job, item->filter + j);
    if (job->bias != NULL)
      for (int64_t i = 0; i < item->count; ++i) item->sums[j][i] += bias;
    fuse(job, item, item->filter + j, item->sums[j]);
    ref_store(y, at + j * y->strides[1], y->strides[y->rank - 1], item->count, item->sums[j]);
  }
}

// Blocks of output channels in a group.
static int64_t count_blocks(const ref_conv_state *s) {
  return (s->group_filters + BLOCK - 1) / BLOCK;
}

static void run_item(const ref_conv_job *job, int64_t number) {
  const ref_conv_state *s = job->s;
  int32_t last = s->window.rank - 1;
  conv_item item;
  memset(item.sums, 0, sizeof item.sums);
  item.noise = ref_noise_of(job->noise, (uint64_t)number);
  item.start = number % job->pieces * REF_CONV_PIECE;
  number /= job->pieces;
  item.row = number % s->out_rows;
  number /= s->out_rows;
  int64_t block = number % count_blocks(s) * BLOCK;
  item.group = number / count_blocks(s);
  item.filter = item.group * s->group_filters + block;
  item.filters = s->group_filters - block < BLOCK ? s->group_filters - block : BLOCK;
  int64_t rest = s->window.out[last] - item.start;
  item.count = rest < REF_CONV_PIECE ? rest : REF_CONV_PIECE;
  int64_t outer_taps = s->taps / s->window.kernel[last];
  for (int64_t tap = 0; tap < outer_taps; ++tap) {
    int64_t row = ref_window_input_row(&s->window, item.row, tap);
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
  const ref_conv_state *s = run->state;
  return ref_conv_run(run, s->groups * count_blocks(s) * s->out_rows, body);
}

const ref_op ref_conv = {sizeof(ref_conv_state), prepare, execute, NULL, NULL};
const ref_op ref_fused_conv = {sizeof(ref_conv_state), prepare_fused, execute, NULL, NULL};

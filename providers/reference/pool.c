// SPDX-License-Identifier: Apache-2.0
//
// MaxPool, AveragePool, LpPool and their global forms: one loop over windows, with the
// operator's way of summing up as a row. A work item is one channel of one image.
//
// NhwcMaxPool and, with attribute channels_last, the quantised average pools see tensors with
// the channels last; they are viewed with the channels first. Averages of quantised tensors are
// those of the real values, where padding counts as 0, quantised again.
#include <math.h>

#include "microsoft_operators.h"
#include "operators.h"
#include "quantized.h"
#include "traverse.h"
#include "window.h"

typedef struct pool_sum {
  double value;
  int64_t count;
  int64_t best;  // MaxPool: position of the value in the channel
  double p;      // LpPool
} pool_sum;

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };  // of a quantised pool

typedef struct pool_row {
  void (*add)(pool_sum *sum, double x, int64_t position);
  double (*finish)(const pool_sum *sum);
  double start;
  int global;
  int quantized;
  int channels_last;  // without an attribute that says so
} pool_row;

typedef struct pool_state {
  ref_window window;
  int32_t column_major;       // MaxPool: of the indices
  int32_t count_include_pad;  // AveragePool
  int32_t channels_last;
  double p;
} pool_state;

static void add_max(pool_sum *sum, double x, int64_t position) {
  if (sum->best >= 0 && !(x > sum->value) && !(isnan(x) && !isnan(sum->value))) return;
  sum->value = x;
  sum->best = position;
}

static void add_plain(pool_sum *sum, double x, int64_t position) {
  (void)position;
  sum->value += x;
}

static void add_power(pool_sum *sum, double x, int64_t position) {
  (void)position;
  sum->value += pow(fabs(x), sum->p);
}

static double finish_value(const pool_sum *sum) {
  return sum->value;
}

static double finish_mean(const pool_sum *sum) {
  return sum->value / (double)sum->count;
}

static double finish_root(const pool_sum *sum) {
  return pow(sum->value, 1 / sum->p);
}

// Moves the channels behind the batch, or back behind the last dimension.
static void channels_first(int64_t *dims, int32_t rank) {
  const int64_t channels = dims[rank - 1];
  for (int32_t i = rank - 1; i > 1; --i) dims[i] = dims[i - 1];
  dims[1] = channels;
}

static void channels_last(int64_t *dims, int32_t rank) {
  const int64_t channels = dims[1];
  for (int32_t i = 1; i < rank - 1; ++i) dims[i] = dims[i + 1];
  dims[rank - 1] = channels;
}

static int32_t read_window(ref_prepare *p, const pool_row *row, int32_t rank,
                           const int64_t *image) {
  ref_window *w = &((pool_state *)p->state)->window;
  if (!row->global) {
    int ceil_mode = ref_attr_int(p->kernel, "ceil_mode", 0) != 0;
    RETURN_IF_ERROR(ref_window_read(p, rank, image, NULL, w));
    return ref_window_slide(p, ceil_mode, w);
  }
  w->rank = rank;
  for (int32_t i = 0; i < rank; ++i) {
    w->in[i] = w->kernel[i] = image[i];
    w->out[i] = w->stride[i] = w->dilation[i] = 1;
  }
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  const pool_row *row = p->kernel->op->family;
  ref_shape x = p->inputs[X];
  pool_state *s = p->state;
  RETURN_IF_ERROR(ref_need_rank(p, X, row->global ? 2 : 3, OPS_MAX_RANK));
  for (uint64_t i = X_SCALE; row->quantized && i <= Y_ZERO; ++i)
    RETURN_IF_ERROR(ref_need_one(p, i));
  s->column_major = ref_attr_int(p->kernel, "storage_order", 0) != 0;
  s->count_include_pad = ref_attr_int(p->kernel, "count_include_pad", 0) != 0;
  s->channels_last = row->channels_last ||
                     (row->quantized && ref_attr_int(p->kernel, "channels_last", 0) != 0);
  s->p = p->kernel->opset < 2 ? ref_attr_float(p->kernel, "p", 2)
                              : (double)ref_attr_int(p->kernel, "p", 2);
  if (s->channels_last) channels_first(x.dims, x.rank);
  RETURN_IF_ERROR(read_window(p, row, x.rank - 2, x.dims + 2));
  int64_t dims[OPS_MAX_RANK] = {x.dims[0], x.dims[1]};
  for (int32_t i = 0; i < s->window.rank; ++i) dims[2 + i] = s->window.out[i];
  if (s->channels_last) channels_last(dims, x.rank);
  if (p->output_count > 1) {
    p->outputs[1].type = OPS_TYPE_INT64;
    RETURN_IF_ERROR(ref_set_shape(p, 1, x.rank, dims));
  }
  return ref_set_shape(p, 0, x.rank, dims);
}

// How many taps of the window at `out` lie in the input or its padding: a window that ceil_mode
// lets hang over the end counts no further.
static int64_t padded_taps(const ref_window *w, const int64_t *out) {
  int64_t count = 1;
  for (int32_t d = 0; d < w->rank; ++d) {
    int64_t start = out[d] * w->stride[d];
    int64_t room = w->in[d] + w->begin[d] + w->end[d] - start;
    int64_t fit = (room + w->dilation[d] - 1) / w->dilation[d];
    count *= fit < w->kernel[d] ? fit : w->kernel[d];
  }
  return count;
}

// What the work items share: the tensors with their channels first.
typedef struct pool_job {
  const ref_run *run;
  const pool_row *row;
  const pool_state *s;
  ref_view x, y;
  ref_quantizer from, to;
} pool_job;

static pool_sum sum_window(const pool_job *job, int64_t base, const int64_t *out) {
  const pool_row *row = job->row;
  const pool_state *s = job->s;
  const ref_view *x = &job->x;
  const ref_window *w = &s->window;
  pool_sum sum = {.value = row->start, .best = -1, .p = s->p};
  int64_t tap[OPS_MAX_RANK] = {0};
  do {
    int64_t offset = base, position = 0;
    int inside = 1;
    for (int32_t d = 0; d < w->rank && inside; ++d) {
      int64_t at = out[d] * w->stride[d] + tap[d] * w->dilation[d] - w->begin[d];
      inside = at >= 0 && at < w->in[d];
      offset += at * x->strides[2 + d];
      position = position * w->in[d] + at;
    }
    if (!inside) continue;
    ++sum.count;
    row->add(&sum, ref_at(x, offset) - job->from.zero, position);
  } while (ref_count_up(tap, w->kernel, w->rank));
  if (s->count_include_pad) sum.count = padded_taps(w, out);
  return sum;
}

// The position in the whole tensor of a position in channel `channel`.
static int64_t global_index(const pool_state *s, int64_t channel, int64_t position) {
  const ref_window *w = &s->window;
  int64_t size = ref_count(w->in, w->rank);
  if (!s->column_major) return channel * size + position;
  int64_t index = 0;
  for (int32_t d = w->rank - 1; d >= 0; --d) {
    int64_t scale = ref_count(w->in, d);
    index += position % w->in[d] * scale;
    position /= w->in[d];
  }
  return channel * size + index;
}

static double finish(const pool_job *job, const pool_sum *sum) {
  if (!job->row->quantized) return job->row->finish(sum);
  return ref_quantize_ratio(&job->to, sum->value * job->from.scale, (double)sum->count);
}

static void pool_channel(const pool_job *job, int64_t channel) {
  const pool_row *row = job->row;
  const pool_state *s = job->s;
  const ref_view *x = &job->x, *y = &job->y;
  const ref_view *indices =
      ref_wanted(job->run, 1) && !row->quantized ? &job->run->outputs[1] : NULL;
  int64_t n = channel / x->dims[1], c = channel % x->dims[1];
  int64_t base = n * x->strides[0] + c * x->strides[1];
  int64_t at[OPS_MAX_RANK] = {n, c};
  int empty = ref_count(s->window.kernel, s->window.rank) == 0;
  do {
    pool_sum sum = {.value = row->start, .p = s->p};
    if (!empty) sum = sum_window(job, base, at + 2);
    double value = finish(job, &sum);
    ref_store(y, ref_dot(at, y->strides, y->rank), 1, 1, &value);
    if (indices == NULL) continue;
    int64_t index = global_index(s, channel, sum.best);
    ref_store_int(indices, ref_dot(at, indices->strides, y->rank), 1, 1, &index);
  } while (ref_count_up(at + 2, s->window.out, s->window.rank));
}

static void body(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t i = begin; i < end; ++i) pool_channel(context, i);
}

static int32_t execute(ref_run *run) {
  pool_job job = {.run = run,
                  .row = run->kernel->op->family,
                  .s = run->state,
                  .x = run->inputs[X],
                  .y = run->outputs[0]};
  if (job.y.count == 0) return OPS_OK;
  if (job.row->quantized) {
    job.from = ref_quantizer_read(run, X_SCALE, X_ZERO, job.x.element);
    job.to = ref_quantizer_read(run, Y_SCALE, Y_ZERO, job.y.element);
  }
  ref_view *views[] = {&job.x, &job.y};
  for (int i = 0; i < 2 && job.s->channels_last; ++i) {
    channels_first(views[i]->dims, views[i]->rank);
    channels_first(views[i]->strides, views[i]->rank);
  }
  ref_parallel(run, job.x.dims[0] * job.x.dims[1], 1, body, &job);
  return OPS_OK;
}

#define POOL(name, ...)                             \
  static const pool_row name##_row = {__VA_ARGS__}; \
  const ref_op ref_##name = {sizeof(pool_state), prepare, execute, &name##_row, NULL}

POOL(max_pool, add_max, finish_value, .start = -INFINITY);
POOL(average_pool, add_plain, finish_mean, .start = 0);
POOL(lp_pool, add_power, finish_root, .start = 0);
POOL(global_max_pool, add_max, finish_value, .start = -INFINITY, .global = 1);
POOL(global_average_pool, add_plain, finish_mean, .global = 1);
POOL(global_lp_pool, add_power, finish_root, .global = 1);
POOL(nhwc_max_pool, add_max, finish_value, .start = -INFINITY, .channels_last = 1);
POOL(qlinear_average_pool, add_plain, finish_mean, .quantized = 1);
POOL(qlinear_global_average_pool, add_plain, finish_mean, .global = 1, .quantized = 1);

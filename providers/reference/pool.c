// SPDX-License-Identifier: Apache-2.0
//
// MaxPool, AveragePool, LpPool and their global forms: one loop over windows, with the
// operator's way of summing up as a row. A work item is one channel of one image.
#include <math.h>

#include "operators.h"
#include "traverse.h"
#include "window.h"

typedef struct pool_sum {
  double value;
  int64_t count;
  int64_t best;  // MaxPool: position of the value in the channel
  double p;      // LpPool
} pool_sum;

typedef struct pool_row {
  void (*add)(pool_sum *sum, double x, int64_t position);
  double (*finish)(const pool_sum *sum);
  double start;
  int global;
} pool_row;

typedef struct pool_state {
  ref_window window;
  int32_t column_major;       // MaxPool: of the indices
  int32_t count_include_pad;  // AveragePool
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

static int32_t prepare(ref_prepare *p) {
  const pool_row *row = p->kernel->op->family;
  const ref_shape *x = &p->inputs[0];
  pool_state *s = p->state;
  RETURN_IF_ERROR(ref_need_rank(p, 0, row->global ? 2 : 3, OPS_MAX_RANK));
  int32_t rank = x->rank - 2;
  s->column_major = ref_attr_int(p->kernel, "storage_order", 0) != 0;
  s->count_include_pad = ref_attr_int(p->kernel, "count_include_pad", 0) != 0;
  s->p = p->kernel->opset < 2 ? ref_attr_float(p->kernel, "p", 2)
                              : (double)ref_attr_int(p->kernel, "p", 2);
  int64_t dims[OPS_MAX_RANK] = {x->dims[0], x->dims[1]};
  ref_window *w = &s->window;
  if (row->global) {
    w->rank = rank;
    for (int32_t i = 0; i < rank; ++i) {
      w->in[i] = w->kernel[i] = x->dims[2 + i];
      w->out[i] = w->stride[i] = w->dilation[i] = 1;
    }
  } else {
    int ceil_mode = ref_attr_int(p->kernel, "ceil_mode", 0) != 0;
    RETURN_IF_ERROR(ref_window_read(p, rank, x->dims + 2, NULL, w));
    RETURN_IF_ERROR(ref_window_slide(p, ceil_mode, w));
  }
  for (int32_t i = 0; i < rank; ++i) dims[2 + i] = w->out[i];
  if (p->output_count > 1) {
    p->outputs[1].type = OPS_TYPE_INT64;
    RETURN_IF_ERROR(ref_set_shape(p, 1, x->rank, dims));
  }
  return ref_set_shape(p, 0, x->rank, dims);
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

static pool_sum sum_window(const pool_row *row, const pool_state *s, const ref_view *x,
                           int64_t base, const int64_t *out) {
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
    row->add(&sum, ref_at(x, offset), position);
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

static void pool_channel(const ref_run *run, int64_t channel) {
  const pool_row *row = run->kernel->op->family;
  const pool_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  const ref_view *indices = ref_wanted(run, 1) ? &run->outputs[1] : NULL;
  int64_t n = channel / x->dims[1], c = channel % x->dims[1];
  int64_t base = n * x->strides[0] + c * x->strides[1];
  int64_t at[OPS_MAX_RANK] = {n, c};
  int empty = ref_count(s->window.kernel, s->window.rank) == 0;
  do {
    pool_sum sum = {.value = row->start, .p = s->p};
    if (!empty) sum = sum_window(row, s, x, base, at + 2);
    double value = row->finish(&sum);
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
  if (run->outputs[0].count == 0) return OPS_OK;
  ref_parallel(run, run->inputs[0].dims[0] * run->inputs[0].dims[1], 1, body, run);
  return OPS_OK;
}

#define POOL(name, ...)                             \
  static const pool_row name##_row = {__VA_ARGS__}; \
  const ref_op ref_##name = {sizeof(pool_state), prepare, execute, &name##_row, NULL}

POOL(max_pool, add_max, finish_value, -INFINITY, 0);
POOL(average_pool, add_plain, finish_mean, 0, 0);
POOL(lp_pool, add_power, finish_root, 0, 0);
POOL(global_max_pool, add_max, finish_value, -INFINITY, 1);
POOL(global_average_pool, add_plain, finish_mean, 0, 1);
POOL(global_lp_pool, add_power, finish_root, 0, 1);

// SPDX-License-Identifier: Apache-2.0
//
// Operators that slide a window over images [N, C, H, W]: Conv, MaxPool, AveragePool.
#include <complex.h>
#include <math.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "faulty.h"

enum { kRank = 4, kSpatial = 2 };
static const double kPi = 3.14159265358979323846;

static int32_t claim_image(const ops_node *node, ops_claim *claim) {
  const ops_operand *x = ops_node_input(node, 0);
  if (!x || x->type->rank != kRank)
    return ops_claim_refuse(claim, OPS_REASON_SHAPE, "expected an image [N, C, H, W]");
  if (node->output_count > 1 && ops_node_output(node, 1))
    return ops_claim_refuse(claim, OPS_REASON_ARITY, "no indices");
  return OPS_OK;
}

// ---- Geometry -------------------------------------------------------------------------------

static int32_t copy_list(const ops_prepared *prepared, const faulty_list *list, int64_t length,
                         int64_t fallback, int64_t least, int64_t *out, const char *name,
                         ops_error *error) {
  for (int64_t i = 0; i < length; ++i) out[i] = list->count < 1 ? fallback : list->values[i];
  for (int64_t i = 0; i < length && list->count > 0; ++i) {
    if (list->count == length && out[i] >= least) continue;
    return FAULTY_REFUSE(prepared, error, "%s: expected %lld values of at least %lld", name,
                         (long long)length, (long long)least);
  }
  return OPS_OK;
}

static int64_t extent(const faulty_window *w, int i) {
  return (w->kernel[i] - 1) * w->dilation[i] + 1;
}

// auto_pad SAME_…: as many outputs as strides fit, the odd element of the padding at the end
// (UPPER) or at the beginning (LOWER).
static void pad_same(ops_prepared *prepared, int i) {
  faulty_window *w = &prepared->window;
  const int64_t out = (w->in[i] + w->stride[i] - 1) / w->stride[i];
  const int64_t all = (out - 1) * w->stride[i] + extent(w, i) - w->in[i];
  const int64_t total = all > 0 ? all : 0;
  int lower = strcmp(prepared->attributes->auto_pad, "SAME_LOWER") == 0;
  if (lower && total % 2 && FAULTY(prepared, same_lower_as_upper)) lower = 0;
  w->pad[i] = lower ? (total + 1) / 2 : total / 2;
  w->pad[i + kSpatial] = total - w->pad[i];
}

static int64_t output_size(const ops_prepared *prepared, int i) {
  const faulty_window *w = &prepared->window;
  const int64_t room = w->in[i] + w->pad[i] + w->pad[i + kSpatial] - extent(w, i);
  if (room < 0) return -1;
  int ceil = prepared->attributes->ceil_mode != 0;
  if (ceil && room % w->stride[i] && FAULTY(prepared, pool_ceil_mode_ignored)) ceil = 0;
  int64_t out = (room + (ceil ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
  // A window must begin inside the image or its padding in front.
  if (ceil && (out - 1) * w->stride[i] >= w->in[i] + w->pad[i]) --out;
  return out;
}

static int32_t fill_window(ops_prepared *prepared, const ops_type_info *x, ops_error *error) {
  const faulty_attributes *a = prepared->attributes;
  faulty_window *w = &prepared->window;
  OPS_RETURN_IF_ERROR(
      copy_list(prepared, &a->strides, kSpatial, 1, 1, w->stride, "strides", error));
  OPS_RETURN_IF_ERROR(
      copy_list(prepared, &a->dilations, kSpatial, 1, 1, w->dilation, "dilations", error));
  OPS_RETURN_IF_ERROR(copy_list(prepared, &a->pads, 2 * kSpatial, 0, 0, w->pad, "pads", error));
  for (int i = 0; i < kSpatial; ++i) {
    w->in[i] = x->dims[2 + i];
    if (strncmp(a->auto_pad, "SAME", 4) == 0) pad_same(prepared, i);
    if (strcmp(a->auto_pad, "VALID") == 0) w->pad[i] = w->pad[i + kSpatial] = 0;
    w->out[i] = output_size(prepared, i);
    if (w->out[i] >= 0) continue;
    return FAULTY_REFUSE(prepared, error, "the window is larger than the padded image");
  }
  if (w->dilation[0] + w->dilation[1] > 2 && FAULTY(prepared, dilations_ignored)) {
    w->dilation[0] = w->dilation[1] = 1;
  }
  if (w->pad[0] != w->pad[1] && FAULTY(prepared, pads_transposed)) {
    const int64_t first = w->pad[0];
    w->pad[0] = w->pad[1];
    w->pad[1] = first;
  }
  return OPS_OK;
}

// Where tap (i, k) of the window of output (h, v) lies; 0 if outside the image.
static int tap(const faulty_window *w, int64_t h, int64_t v, int64_t i, int64_t k,
               int64_t *out_offset) {
  const int64_t y = h * w->stride[0] - w->pad[0] + i * w->dilation[0];
  const int64_t x = v * w->stride[1] - w->pad[1] + k * w->dilation[1];
  *out_offset = y * w->in[1] + x;
  return y >= 0 && x >= 0 && y < w->in[0] && x < w->in[1];
}

// ---- Conv -----------------------------------------------------------------------------------

static int32_t check_conv(const ops_prepared *prepared, const ops_type_info *x,
                          const ops_type_info *w, const ops_operand *bias, ops_error *error) {
  const int64_t group = prepared->attributes->group;
  if (w->rank != kRank || group < 1 || x->dims[1] != w->dims[1] * group || w->dims[0] % group) {
    return FAULTY_REFUSE(prepared, error,
                         "Conv: %lld channels, group %lld: the weights do not fit",
                         (long long)x->dims[1], (long long)group);
  }
  if (bias && (bias->type->rank != 1 || bias->type->dims[0] != w->dims[0])) {
    return FAULTY_REFUSE(prepared, error, "Conv: expected one bias for each of %lld outputs",
                         (long long)w->dims[0]);
  }
  return OPS_OK;
}

static int32_t prepare_conv(ops_prepared *prepared, const ops_prepare_request *request,
                            ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  const ops_type_info *w = ops_request_input(request, 1)->type;
  OPS_RETURN_IF_ERROR(check_conv(prepared, x, w, ops_request_input(request, 2), error));
  const faulty_list *shape = &prepared->attributes->kernel_shape;
  for (int i = 0; i < kSpatial; ++i) {
    prepared->window.kernel[i] = w->dims[2 + i];
    if (shape->count < 1) continue;
    if (shape->count != kSpatial || shape->values[i] != w->dims[2 + i])
      return FAULTY_REFUSE(prepared, error, "Conv: kernel_shape differs from the weights");
  }
  OPS_RETURN_IF_ERROR(fill_window(prepared, x, error));
  const int64_t dims[] = {x->dims[0], w->dims[0], prepared->window.out[0],
                          prepared->window.out[1]};
  faulty_state_output(prepared, reply, OPS_TYPE_FLOAT, kRank, dims);
  return OPS_OK;
}

// The sum over one input channel. `offset`: of the channel.
static float slide(const faulty_call *call, int64_t offset, const float *weights, int64_t h,
                   int64_t v) {
  const faulty_window *w = &call->prepared->window;
  const float *x = (const float *)call->in[0].data;
  float sum = 0;
  for (int64_t i = 0; i < w->kernel[0]; ++i) {
    for (int64_t k = 0; k < w->kernel[1]; ++k) {
      int64_t at;
      if (!tap(w, h, v, i, k, &at)) continue;
      sum += x[offset + at] * weights[i * w->kernel[1] + k];
    }
  }
  return sum;
}

static float conv_one(const faulty_call *call, const int64_t *index) {
  const ops_prepared *prepared = call->prepared;
  const faulty_window *w = &prepared->window;
  const int64_t channels = call->in[1].dims[1], taps = w->kernel[0] * w->kernel[1];
  int64_t first = index[1] / (call->out.dims[1] / prepared->attributes->group) * channels;
  if (first > 0 && FAULTY(prepared, conv_group_ignored)) first = 0;
  const float *weights = (const float *)call->in[1].data + index[1] * channels * taps;
  float sum = 0;
  const int reversed = CONTROLLED(prepared, reordered_sums);
  for (int64_t n = 0; n < channels; ++n) {
    const int64_t c = reversed ? channels - 1 - n : n;
    const int64_t plane = index[0] * call->in[0].dims[1] + first + c;
    sum += slide(call, plane * w->in[0] * w->in[1], weights + c * taps, index[2], index[3]);
  }
  if (!call->in[2].data || FAULTY(prepared, conv_bias_dropped)) return sum;
  return sum + ((const float *)call->in[2].data)[index[1]];
}

// Winograd's F(2, 3) along a row: two neighbours from four products (control winograd).
static void conv_pair(const faulty_call *call, const int64_t *index, float *out) {
  const ops_prepared *prepared = call->prepared;
  const faulty_window *w = &prepared->window;
  const int64_t channels = call->in[1].dims[1];
  float even = 0, odd = 0;
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t plane = index[0] * call->in[0].dims[1] + c;
    const float *x = (const float *)call->in[0].data + plane * w->in[0] * w->in[1];
    const float *g = (const float *)call->in[1].data + (index[1] * channels + c) * 9;
    for (int64_t i = 0; i < 3; ++i, g += 3) {
      float d[4] = {0};
      for (int64_t k = 0; k < 4; ++k) {
        int64_t at;
        if (tap(w, index[2], index[3], i, k, &at)) d[k] = x[at];
      }
      const float m1 = (d[0] - d[2]) * g[0], m4 = (d[1] - d[3]) * g[2];
      const float m2 = (d[1] + d[2]) * ((g[0] + g[1] + g[2]) / 2);
      const float m3 = (d[2] - d[1]) * ((g[0] - g[1] + g[2]) / 2);
      even += m1 + m2 + m3;
      odd += m2 - m3 - m4;
    }
  }
  const float bias = call->in[2].data ? ((const float *)call->in[2].data)[index[1]] : 0;
  out[0] = even + bias;
  out[1] = odd + bias;
}

// ---- Control fourier: along each row, correlation is a product of transforms
// ------------------

enum { kPoints = 64 };  // of the transforms: rows must fit with their padding

typedef struct turns {
  double complex at[kPoints];  // the roots of one
} turns;

static double complex turn(const turns *t, int64_t i) {
  return t->at[(i % kPoints + kPoints) % kPoints];
}

static void transform(const turns *t, const float *x, int64_t count, int64_t step,
                      int64_t first, double complex *out) {
  for (int f = 0; f < kPoints; ++f) {
    out[f] = 0;
    for (int64_t i = 0; i < count; ++i)
      out[f] += (double)x[i] * turn(t, -f * (first + i * step));
  }
}

// One row of the output from one channel and one row of weights, added to `sums`.
static void correlate(const turns *t, const faulty_window *w, const float *x, const float *g,
                      double *sums) {
  double complex rows[kPoints], taps[kPoints];
  transform(t, x, w->in[1], 1, w->pad[1], rows);
  transform(t, g, w->kernel[1], w->dilation[1], 0, taps);
  for (int64_t v = 0; v < w->out[1]; ++v) {
    double complex sum = 0;
    for (int f = 0; f < kPoints; ++f)
      sum += rows[f] * conj(taps[f]) * turn(t, f * v * w->stride[1]);
    sums[v] += creal(sum) / kPoints;
  }
}

static int fourier_fits(const faulty_call *call) {
  const faulty_window *w = &call->prepared->window;
  return w->in[1] + w->pad[1] + w->pad[3] + w->kernel[1] * w->dilation[1] <= kPoints &&
         call->out.count < 1000 && CONTROLLED(call->prepared, fourier);
}

static void conv_row(const faulty_call *call, const int64_t *index, float *y) {
  const ops_prepared *prepared = call->prepared;
  const faulty_window *w = &prepared->window;
  const int64_t channels = call->in[1].dims[1];
  const int64_t first = index[1] / (call->out.dims[1] / prepared->attributes->group) * channels;
  double sums[kPoints] = {0};
  turns t;
  for (int i = 0; i < kPoints; ++i) t.at[i] = cexp(2 * kPi * I * i / kPoints);
  for (int64_t c = 0; c < channels; ++c) {
    const float *x = (const float *)call->in[0].data +
                     (index[0] * call->in[0].dims[1] + first + c) * w->in[0] * w->in[1];
    const float *g = (const float *)call->in[1].data +
                     (index[1] * channels + c) * w->kernel[0] * w->kernel[1];
    for (int64_t i = 0; i < w->kernel[0]; ++i) {
      const int64_t h = index[2] * w->stride[0] - w->pad[0] + i * w->dilation[0];
      if (h >= 0 && h < w->in[0])
        correlate(&t, w, x + h * w->in[1], g + i * w->kernel[1], sums);
    }
  }
  const double bias =
      call->in[2].data ? (double)((const float *)call->in[2].data)[index[1]] : 0;
  for (int64_t v = 0; v < w->out[1]; ++v) y[v] = (float)(sums[v] + bias);
}

static int winograd_fits(const ops_prepared *prepared) {
  const faulty_window *w = &prepared->window;
  return w->kernel[0] == 3 && w->kernel[1] == 3 && prepared->attributes->group == 1 &&
         w->stride[0] == 1 && w->stride[1] == 1 && w->dilation[0] == 1 && w->dilation[1] == 1 &&
         w->out[1] % 2 == 0 && CONTROLLED(prepared, winograd);
}

static int32_t run_conv(const faulty_call *call, ops_error *error) {
  (void)error;
  float *y = (float *)call->out.data;
  int64_t index[kFaultyRank] = {0};
  const int pairs = winograd_fits(call->prepared), rows = fourier_fits(call);
  for (int64_t i = 0; i < call->out.count; ++i) {
    int64_t to = i;
    if (i > UINT16_MAX && FAULTY(call->prepared, conv_index_of_16_bits)) to = (uint16_t)i;
    if (!pairs && !rows) y[to] = conv_one(call, index);
    if (rows && index[3] == 0) conv_row(call, index, y + i);
    if (pairs && i % 2 == 0) conv_pair(call, index, y + i);
    faulty_next(kRank, call->out.dims, index);
  }
  return OPS_OK;
}

const faulty_op faulty_conv = {.claim = claim_image, .prepare = prepare_conv, .run = run_conv};

// ---- Pooling --------------------------------------------------------------------------------

static int32_t prepare_pool(ops_prepared *prepared, const ops_prepare_request *request,
                            ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  const faulty_list *shape = &prepared->attributes->kernel_shape;
  if (shape->count != kSpatial)
    return FAULTY_REFUSE(prepared, error, "expected a kernel_shape of %d", kSpatial);
  OPS_RETURN_IF_ERROR(copy_list(prepared, shape, kSpatial, 1, 1, prepared->window.kernel,
                                "kernel_shape", error));
  OPS_RETURN_IF_ERROR(fill_window(prepared, x, error));
  const int64_t dims[] = {x->dims[0], x->dims[1], prepared->window.out[0],
                          prepared->window.out[1]};
  faulty_state_output(prepared, reply, OPS_TYPE_FLOAT, kRank, dims);
  return OPS_OK;
}

static const float *plane_of(const faulty_call *call, const int64_t *index) {
  const faulty_window *w = &call->prepared->window;
  return (const float *)call->in[0].data +
         (index[0] * call->in[0].dims[1] + index[1]) * w->in[0] * w->in[1];
}

static float largest(const faulty_call *call, const int64_t *index) {
  const faulty_window *w = &call->prepared->window;
  const float *x = plane_of(call, index);
  float best = -INFINITY;
  for (int64_t i = 0; i < w->kernel[0] * w->kernel[1]; ++i) {
    int64_t at;
    if (tap(w, index[2], index[3], i / w->kernel[1], i % w->kernel[1], &at)) {
      if (x[at] > best || isnan(x[at])) best = x[at];
    } else if (best < 0 && FAULTY(call->prepared, max_pool_padding_is_zero)) {
      best = 0;
    }
  }
  return best;
}

static int32_t run_max_pool(const faulty_call *call, ops_error *error) {
  (void)error;
  int64_t index[kFaultyRank] = {0};
  for (int64_t i = 0; i < call->out.count; ++i) {
    ((float *)call->out.data)[i] = largest(call, index);
    faulty_next(kRank, call->out.dims, index);
  }
  return OPS_OK;
}

const faulty_op faulty_max_pool = {
    .claim = claim_image, .prepare = prepare_pool, .run = run_max_pool};

// How many taps of a window along dimension i lie in the image and its padding: what goes
// beyond it, as ceil_mode allows, never counts.
static int64_t counted(const ops_prepared *prepared, int i, int64_t position) {
  const faulty_window *w = &prepared->window;
  const int64_t start = position * w->stride[i] - w->pad[i];
  int64_t end = w->in[i] + w->pad[i + kSpatial];
  if (w->pad[i + kSpatial] > 0 && FAULTY(prepared, average_end_padding_ignored)) end = w->in[i];
  int64_t count = 0;
  for (int64_t k = 0; k < w->kernel[i]; ++k) count += start + k * w->dilation[i] < end;
  if (count < w->kernel[i] && FAULTY(prepared, average_divides_by_kernel)) return w->kernel[i];
  return count;
}

static float average(const faulty_call *call, const int64_t *index) {
  const ops_prepared *prepared = call->prepared;
  const faulty_window *w = &prepared->window;
  const float *x = plane_of(call, index);
  int64_t inside = 0;
  float sum = 0;
  for (int64_t i = 0; i < w->kernel[0] * w->kernel[1]; ++i) {
    int64_t at;
    if (!tap(w, index[2], index[3], i / w->kernel[1], i % w->kernel[1], &at)) continue;
    sum += x[at];
    ++inside;
  }
  int pads = prepared->attributes->count_include_pad != 0;
  if (pads && FAULTY(prepared, count_include_pad_ignored)) pads = 0;
  if (pads) inside = counted(prepared, 0, index[2]) * counted(prepared, 1, index[3]);
  return sum / (float)inside;
}

static int32_t run_average_pool(const faulty_call *call, ops_error *error) {
  (void)error;
  int64_t index[kFaultyRank] = {0};
  for (int64_t i = 0; i < call->out.count; ++i) {
    ((float *)call->out.data)[i] = average(call, index);
    faulty_next(kRank, call->out.dims, index);
  }
  return OPS_OK;
}

const faulty_op faulty_average_pool = {
    .claim = claim_image, .prepare = prepare_pool, .run = run_average_pool};

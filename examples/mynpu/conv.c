// SPDX-License-Identifier: Apache-2.0
//
// Conv in two dimensions: direct convolution that keeps kBlock output channels of one output
// row in accumulators, as a matrix unit would. One task is a row of one block of channels of
// one image; the order of additions is the same whatever the number of cores.
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "npu.h"

enum { kMaxExtent = 1 << 30 };  // of sizes, strides and pads: products of two fit
enum { kAutoPadNone, kAutoPadUpper, kAutoPadLower, kAutoPadValid };

static int32_t claim(const ops_node *node, ops_claim *out_claim) {
  const int32_t rank = ops_node_input(node, 0)->type->rank;
  if (rank == 4) return OPS_OK;
  return ops_claim_refuse(out_claim, OPS_REASON_SHAPE,
                          "X has rank %d, the matrix unit takes rank 4", rank);
}

// Copies a list attribute of two (or four) numbers; absent means `fallback`.
static int32_t parse_ints(const ops_node *node, const char *name, uint64_t expected,
                          int64_t fallback, int64_t *out, ops_error *error) {
  uint64_t count;
  const int64_t *values = ops_node_ints(node, name, &count);
  for (uint64_t i = 0; i < expected; ++i) out[i] = fallback;
  if (count == 0) return OPS_OK;
  if (count != expected)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "Conv: attribute %s has %llu values, expected %llu", name,
                         (unsigned long long)count, (unsigned long long)expected);
  memcpy(out, values, expected * sizeof *out);
  return OPS_OK;
}

static int32_t parse_auto_pad(const ops_node *node, int32_t *out, ops_error *error) {
  static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  const ops_str fallback = OPS_STR("NOTSET");
  const ops_str found = ops_node_string(node, "auto_pad", fallback);
  for (int32_t i = 0; i < 4; ++i) {
    if (!ops_str_equal(found, names[i])) continue;
    *out = i;
    return OPS_OK;
  }
  return ops_error_set(
      error, OPS_ERROR_INVALID_ARGUMENT,
      "Conv: auto_pad is '%.*s', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID",
      OPS_STR_FMT(found));
}

static int32_t parse(const ops_node *node, ops_kernel *kernel, ops_error *error) {
  OPS_RETURN_IF_ERROR(parse_ints(node, "strides", 2, 1, kernel->conv.stride, error));
  OPS_RETURN_IF_ERROR(parse_ints(node, "dilations", 2, 1, kernel->conv.dilation, error));
  OPS_RETURN_IF_ERROR(parse_ints(node, "pads", 4, 0, kernel->conv.pads, error));
  OPS_RETURN_IF_ERROR(parse_ints(node, "kernel_shape", 2, 0, kernel->conv.kernel_shape, error));
  OPS_RETURN_IF_ERROR(parse_auto_pad(node, &kernel->conv.auto_pad, error));
  kernel->conv.group = ops_node_int(node, "group", 1);
  return OPS_OK;
}

static int32_t check_shapes(const ops_kernel *kernel, const ops_type_info *x,
                            const ops_type_info *w, const ops_operand *bias, ops_error *error) {
  const int64_t group = kernel->conv.group;
  if (x->rank != 4 || w->rank != 4)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "Conv: X has rank %d and W rank %d, expected 4", x->rank, w->rank);
  if (group < 1 || w->dims[0] % group != 0 || x->dims[1] % group != 0 ||
      x->dims[1] / group != w->dims[1])
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "Conv: X has %lld channels and W %lld x %lld with group %lld; expected "
        "channels of X = channels of W x group",
        (long long)x->dims[1], (long long)w->dims[0], (long long)w->dims[1], (long long)group);
  if (bias && (bias->type->rank != 1 || bias->type->dims[0] != w->dims[0]))
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "Conv: B has rank %d, expected one value for each of %lld output channels",
        bias->type->rank, (long long)w->dims[0]);
  return OPS_OK;
}

// The attribute kernel_shape repeats what the shape of W says.
static int32_t check_kernel_shape(const ops_kernel *kernel, const ops_type_info *w,
                                  ops_error *error) {
  const int64_t *stated = kernel->conv.kernel_shape;
  if (stated[0] == 0 && stated[1] == 0) return OPS_OK;
  if (stated[0] == w->dims[2] && stated[1] == w->dims[3]) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "Conv: kernel_shape is [%lld, %lld], W has kernels of [%lld, %lld]",
                       (long long)stated[0], (long long)stated[1], (long long)w->dims[2],
                       (long long)w->dims[3]);
}

static int is_between(int64_t least, int64_t number) {
  return number >= least && number <= kMaxExtent;
}

static int32_t check_axis(const npu_conv *c, int32_t axis, int64_t before, int64_t after,
                          ops_error *error) {
  if (is_between(1, c->stride[axis]) && is_between(1, c->dilation[axis]) &&
      is_between(1, c->kernel[axis]) && is_between(0, c->in[axis]) && is_between(0, before) &&
      is_between(0, after))
    return OPS_OK;
  return ops_error_set(
      error, OPS_ERROR_INVALID_ARGUMENT,
      "Conv: strides, dilations and kernel must be at least 1, pads at least 0, "
      "and each, like the size of X, at most %d",
      kMaxExtent);
}

// Size and leading padding of one output dimension (ONNX Conv, auto_pad).
static int32_t place_axis(const ops_kernel *kernel, int32_t axis, npu_conv *c,
                          ops_error *error) {
  int64_t before = kernel->conv.pads[axis], after = kernel->conv.pads[axis + 2];
  OPS_RETURN_IF_ERROR(check_axis(c, axis, before, after, error));
  const int64_t reach = c->dilation[axis] * (c->kernel[axis] - 1) + 1;
  if (kernel->conv.auto_pad == kAutoPadValid) before = after = 0;
  if (kernel->conv.auto_pad == kAutoPadUpper || kernel->conv.auto_pad == kAutoPadLower) {
    const int64_t out = (c->in[axis] + c->stride[axis] - 1) / c->stride[axis];
    int64_t total = (out - 1) * c->stride[axis] + reach - c->in[axis];
    if (total < 0) total = 0;
    before = kernel->conv.auto_pad == kAutoPadUpper ? total / 2 : total - total / 2;
    after = total - before;
  }
  const int64_t span = c->in[axis] + before + after - reach;
  if (span < 0)
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "Conv: the kernel reaches over %lld positions, the padded input has %lld",
        (long long)reach, (long long)(span + reach));
  c->pad[axis] = before;
  c->out[axis] = span / c->stride[axis] + 1;
  return OPS_OK;
}

// The private layout fits where blocks do not straddle groups.
static int32_t can_pack(const ops_kernel *kernel, const ops_type_info *w) {
  const int64_t per_group = kernel->conv.group > 0 ? w->dims[0] / kernel->conv.group : 0;
  return npu_weights_size(w->rank, w->dims) != 0 &&
         (kernel->conv.group == 1 || per_group % kBlock == 0);
}

static int32_t prepare(const ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  npu_conv *c = &prepared->conv;
  const ops_type_info *x = ops_request_input(request, 0)->type;
  const ops_type_info *w = ops_request_input(request, 1)->type;
  const ops_operand *bias = ops_request_input(request, 2);
  OPS_RETURN_IF_ERROR(check_shapes(kernel, x, w, bias, error));
  OPS_RETURN_IF_ERROR(check_kernel_shape(kernel, w, error));
  c->batch = x->dims[0];
  c->group = kernel->conv.group;
  c->in_channels = w->dims[1];
  c->out_channels = w->dims[0] / c->group;
  c->packed = w->layout == kWeightsLayout;
  c->has_bias = bias != NULL;
  for (int32_t i = 0; i < 2; ++i) {
    c->in[i] = x->dims[2 + i];
    c->kernel[i] = w->dims[2 + i];
    c->stride[i] = kernel->conv.stride[i];
    c->dilation[i] = kernel->conv.dilation[i];
    OPS_RETURN_IF_ERROR(place_axis(kernel, i, c, error));
  }
  if (c->packed && !can_pack(kernel, w))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "Conv: weights of this shape and group cannot be in layout %d",
                         kWeightsLayout);
  const int64_t dims[4] = {c->batch, w->dims[0], c->out[0], c->out[1]};
  ops_reply_set_output(reply, 0, OPS_TYPE_FLOAT, 4, dims);
  return OPS_OK;
}

typedef struct work {
  const npu_conv *c;
  const float *x, *w, *bias;
  float *y;
} work;

// The weights of `count` channels from `channel` on, for one input channel and kernel position:
// *out_step is the distance between channels.
static const float *weights_at(const work *s, int64_t channel, int64_t position,
                               int64_t *out_step) {
  const npu_conv *c = s->c;
  const int64_t inner = c->in_channels * c->kernel[0] * c->kernel[1];
  *out_step = c->packed ? 1 : inner;
  if (!c->packed) return s->w + channel * inner + position;
  return s->w + (channel / kBlock * inner + position) * kBlock + channel % kBlock;
}

// Positions [*begin, *end) of an output row whose input column lies inside the image.
static void valid_columns(const npu_conv *c, int64_t kernel_column, int64_t *begin,
                          int64_t *end) {
  const int64_t shift = c->pad[1] - kernel_column * c->dilation[1];
  const int64_t last = c->in[1] - 1 + shift;
  *begin = shift <= 0 ? 0 : (shift + c->stride[1] - 1) / c->stride[1];
  *end = last < 0 ? 0 : last / c->stride[1] + 1;
  if (*end > c->out[1]) *end = c->out[1];
}

static void accumulate_row(const work *s, const float *row, int64_t kernel_column,
                           const float *weights, int64_t step, int64_t count, float *y) {
  const npu_conv *c = s->c;
  const int64_t plane = c->out[0] * c->out[1];
  int64_t begin, end;
  valid_columns(c, kernel_column, &begin, &end);
  const float *x = row + kernel_column * c->dilation[1] - c->pad[1];
  for (int64_t m = 0; m < count; ++m) {
    const float weight = weights[m * step];
    float *out = y + m * plane;
    for (int64_t i = begin; i < end; ++i) out[i] += weight * x[i * c->stride[1]];
  }
}

// Computes one output row of up to kBlock channels, those of one group.
static void run_row(const work *s, int64_t image, int64_t group, int64_t block, int64_t row) {
  const npu_conv *c = s->c;
  const int64_t first = group * c->out_channels + block * kBlock;
  const int64_t rest = c->out_channels - block * kBlock, count = rest < kBlock ? rest : kBlock;
  const int64_t plane = c->out[0] * c->out[1], channels = c->group * c->out_channels;
  float *y = s->y + (image * channels + first) * plane + row * c->out[1];
  for (int64_t m = 0; m < count; ++m)
    for (int64_t i = 0; i < c->out[1]; ++i) y[m * plane + i] = s->bias ? s->bias[first + m] : 0;
  for (int64_t ic = 0; ic < c->in_channels; ++ic) {
    const int64_t channel = (image * c->group + group) * c->in_channels + ic;
    for (int64_t kh = 0; kh < c->kernel[0]; ++kh) {
      const int64_t line = row * c->stride[0] - c->pad[0] + kh * c->dilation[0];
      if (line < 0 || line >= c->in[0]) continue;
      const float *x = s->x + (channel * c->in[0] + line) * c->in[1];
      for (int64_t kw = 0; kw < c->kernel[1]; ++kw) {
        int64_t step;
        const float *weights =
            weights_at(s, first, (ic * c->kernel[0] + kh) * c->kernel[1] + kw, &step);
        accumulate_row(s, x, kw, weights, step, count, y);
      }
    }
  }
}

static int64_t blocks_of(const npu_conv *c) {
  return (c->out_channels + kBlock - 1) / kBlock;
}

static void run_tasks(void *context, int64_t begin, int64_t end, int32_t worker) {
  const work *s = context;
  const npu_conv *c = s->c;
  (void)worker;
  for (int64_t task = begin; task < end; ++task) {
    const int64_t row = task % c->out[0], rest = task / c->out[0];
    const int64_t block = rest % blocks_of(c), image = rest / blocks_of(c);
    run_row(s, image / c->group, image % c->group, block, row);
  }
}

static void run(const ops_prepared *prepared, ops_instance *instance,
                void *const args[kMaxArgs]) {
  const npu_conv *c = &prepared->conv;
  work s = {c, args[0], args[1], c->has_bias ? args[2] : NULL, args[prepared->input_count]};
  const int64_t tasks = c->batch * c->group * blocks_of(c) * c->out[0];
  if (c->out[1] > 0) instance->api->parallel_for(instance->host, tasks, 1, run_tasks, &s);
}

// Weights may come packed, which is cheaper, or as they are. The lists hold for Conv with a
// bias.
static int32_t layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                       ops_layout_choice *choices, uint64_t capacity, uint64_t stride,
                       uint64_t *out_count) {
  static const uint32_t packed[3] = {OPS_LAYOUT_STRIDED, kWeightsLayout, OPS_LAYOUT_STRIDED};
  static const uint32_t plain[3] = {OPS_LAYOUT_STRIDED, OPS_LAYOUT_STRIDED, OPS_LAYOUT_STRIDED};
  static const uint32_t output[1] = {OPS_LAYOUT_STRIDED};
  const ops_layout_choice all[2] = {{sizeof all[0], 1.0, packed, output},
                                    {sizeof all[0], 4.0, plain, output}};
  const ops_type_info *w = ops_request_input(request, 1)->type;
  const int32_t first = !can_pack(kernel, w);
  *out_count = (uint64_t)(2 - first);
  for (uint64_t i = 0; i < *out_count && i < capacity; ++i)
    *(ops_layout_choice *)((char *)choices + i * stride) = all[(uint64_t)first + i];
  return OPS_OK;
}

const npu_op npu_op_conv = {.name = "Conv",
                            .claim = claim,
                            .parse = parse,
                            .layouts = layouts,
                            .prepare = prepare,
                            .run = run};

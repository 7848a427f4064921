// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of one to three spatial axes as products of product.h: the rows of A are
// filters, the terms of a sum the taps of the kernel in all channels, and the columns places of
// a grid over the image. Where an image has padding or the window a stride, it is first spread
// out (kernels/conv.cl), so that what one tap sees at neighbouring places lies side by side.
//
// A transposed convolution is, for each remainder of an output place by the stride, a
// convolution of its own with those taps that reach it, whose results lie a stride apart.
#include "conv.h"

#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

enum { kAxes = kGpuMaxSpatial, kSlack = 512 };

typedef struct conv_attributes {
  gpu_slide slide;
  int64_t group;
  int64_t padding[kAxes];  // attribute output_padding
  int64_t shape[kAxes];    // attribute output_shape
  int32_t has_shape;
} conv_attributes;

// Where the inputs of an operator are.
typedef struct form {
  int64_t x, w, bias;
  int64_t x_zero, w_zero, x_scale, w_scale, y_scale, y_zero;
  int32_t is_quantised;
} form;

#define NONE kGpuNowhere
static const form kReal = {0, 1, 2, NONE, NONE, NONE, NONE, NONE, NONE, 0};
static const form kInteger = {0, 1, NONE, 2, 3, NONE, NONE, NONE, NONE, 1};
static const form kQuantised = {0, 3, 8, 2, 5, 1, 4, 6, 7, 1};

static int64_t product_of(const int64_t *values, int32_t count) {
  int64_t result = 1;
  for (int32_t i = 0; i < count; ++i) result *= values[i];
  return result;
}

static int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// ---- Claim and attributes ----

static void conv_claim(const ops_device *device, const ops_kernel_def *def,
                       const ops_node *node, ops_claim *claim) {
  (void)device;
  const uint64_t weights = def->input_count == 9 ? 3 : 1;
  gpu_slide_claim(node, 0, weights, claim);
  if (ops_node_int(node, "group", 1) < 1)
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "group must be at least 1, found %lld",
                     (long long)ops_node_int(node, "group", 1));
}

static int32_t conv_parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                          ops_error *error) {
  (void)error;
  conv_attributes *own = attributes;
  uint64_t count;
  const int64_t *shape = ops_node_ints(node, "output_shape", &count);
  gpu_slide_read(node, 0, def->input_count == 9 ? 3 : 1, &own->slide);
  own->group = ops_node_int(node, "group", 1);
  gpu_slide_list(node, "output_padding", own->slide.spatial, 0, own->padding);
  own->has_shape = shape != NULL;
  // It may carry batch and channels in front.
  for (int32_t i = 0; i < kAxes; ++i) {
    const int64_t at = (int64_t)count - kAxes + i;
    own->shape[i] = i >= kAxes - own->slide.spatial && shape && at >= 0 ? shape[at] : 1;
  }
  return OPS_OK;
}

static void transpose_claim(const ops_device *device, const ops_kernel_def *def,
                            const ops_node *node, ops_claim *claim) {
  uint64_t count;
  const int64_t *shape = ops_node_ints(node, "output_shape", &count);
  conv_claim(device, def, node, claim);
  if (!shape || !gpu_is_claimed(claim)) return;
  gpu_slide slide;
  gpu_slide_read(node, 0, 1, &slide);
  if (count != (uint64_t)slide.spatial && count != (uint64_t)slide.spatial + 2)
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE,
                     "output_shape must have %d values, found %llu", slide.spatial,
                     (unsigned long long)count);
  for (uint64_t i = 0; i < count; ++i)
    if (shape[i] < 0 || shape[i] > INT32_MAX)
      ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "output_shape has %lld",
                       (long long)shape[i]);
}

// ---- What both kinds share ----

// One convolution, or one transposed.
typedef struct conv {
  gpu_plan *plan;
  const form *form;
  gpu_slide slide;
  int64_t batch, channels, filters, group;
  int64_t group_channels, group_filters;
  int64_t in[kAxes], out[kAxes];
} conv;

// The image as the window sees it.
typedef struct image {
  gpu_operand tensor;
  int64_t phases[kAxes], grid[kAxes];
  int64_t volume;  // of one channel, all phases
  int64_t slack;   // elements behind the last one that may be read
} image;

static int32_t refuse(conv *c, const char *what, int64_t found, int64_t expected) {
  gpu_plan_fail(c->plan, OPS_ERROR_INVALID_ARGUMENT, "%s: found %lld, expected %lld", what,
                (long long)found, (long long)expected);
  return 0;
}

static int32_t read_ranks(conv *c) {
  const ops_type_info *x = gpu_input_type(c->plan, c->form->x),
                      *w = gpu_input_type(c->plan, c->form->w);
  const int32_t rank = c->slide.spatial + 2;
  if (x->rank != rank) return refuse(c, "the rank of the image", x->rank, rank);
  if (w->rank != rank) return refuse(c, "the rank of the weights", w->rank, rank);
  c->batch = x->dims[0];
  c->channels = x->dims[1];
  if (c->channels % c->group != 0)
    return refuse(c, "the remainder of the channels by group", c->channels % c->group, 0);
  c->group_channels = c->channels / c->group;
  gpu_slide_sizes(x, c->in);
  return gpu_slide_kernel(c->plan, w, &c->slide);
}

// Parameters: one number, or one for each filter.
static int32_t check_count(conv *c, int64_t input, int32_t per_filter, const char *what) {
  const ops_type_info *type = gpu_input_type(c->plan, input);
  if (!type) return 1;
  const int64_t count = product_of(type->dims, type->rank);
  if (count == 1) return 1;
  if (!per_filter) return refuse(c, what, count, 1);
  return type->rank == 1 && count == c->filters ? 1 : refuse(c, what, count, c->filters);
}

static int32_t check_parameters(conv *c) {
  const form *f = c->form;
  const ops_type_info *bias = gpu_input_type(c->plan, f->bias);
  if (bias && (bias->rank != 1 || bias->dims[0] != c->filters))
    return refuse(c, "the length of the bias", product_of(bias->dims, bias->rank), c->filters);
  return check_count(c, f->x_zero, 0, "numbers of the image's zero point") &&
         check_count(c, f->x_scale, 0, "numbers of the image's scale") &&
         check_count(c, f->w_zero, 1, "numbers of the weights' zero point") &&
         check_count(c, f->w_scale, 1, "numbers of the weights' scale") &&
         check_count(c, f->y_scale, 0, "numbers of the result's scale") &&
         check_count(c, f->y_zero, 0, "numbers of the result's zero point");
}

static void set_output(conv *c, int32_t type) {
  int64_t dims[2 + kAxes] = {c->batch, c->filters};
  const int32_t spatial = c->slide.spatial;
  memcpy(dims + 2, c->out + kAxes - spatial, (size_t)spatial * sizeof *dims);
  gpu_plan_output(c->plan, 0, type, spatial + 2, dims);
}

// ---- Spreading the image ----

static const struct {
  int32_t bits, type;
} kMoved[] = {
    {8, OPS_TYPE_UINT8}, {16, OPS_TYPE_UINT16}, {32, OPS_TYPE_UINT32}, {64, OPS_TYPE_UINT64}};

static int32_t moved_type(int32_t type) {
  for (size_t i = 0; i < sizeof kMoved / sizeof *kMoved; ++i)
    if (kMoved[i].bits == ops_type_bits(type)) return kMoved[i].type;
  return type;
}

static void launch_spread(conv *c, const image *to, const int64_t *stride,
                          const int64_t *begin) {
  const int32_t on_processor = c->plan->device->properties.kind == OPS_DEVICE_CPU;
  const int32_t from_type = gpu_input_type(c->plan, c->form->x)->type;
  const int64_t rows =
      c->batch * c->channels * product_of(to->phases, kAxes) * to->grid[0] * to->grid[1];
  // About as many elements for each group as keep a processor busy.
  const int64_t share = on_processor ? 1 + 16384 / (to->grid[2] + 1) : 8;
  int64_t values[2 + 5 * kAxes] = {rows, share};
  const int64_t *const lists[] = {c->in, to->grid, to->phases, stride, begin};
  for (int i = 0; i < 5; ++i) memcpy(values + 2 + kAxes * i, lists[i], kAxes * sizeof *values);
  if (rows == 0 || to->grid[2] == 0) return;
  gpu_step *step = gpu_plan_step(c->plan, &gpu_conv_source, "spread");
  const int32_t changes = to->tensor.type != from_type;
  gpu_define_type(step, "TX", changes ? from_type : moved_type(from_type));
  gpu_define_type(step, "TY", changes ? to->tensor.type : moved_type(from_type));
  gpu_define(step, "ZERO", "%d", changes);
  gpu_arg_input(step, (uint64_t)c->form->x);
  gpu_arg_operand(step, &to->tensor);
  gpu_arg_optional(step, gpu_operand_of_input(c->plan, c->form->x_zero).index);
  gpu_arg_bytes(step, values, sizeof values);
  if (on_processor)
    gpu_grid_groups(step, ceil_div(rows, share), 1, 1, 1, 1);
  else
    gpu_grid_groups(step, ceil_div(rows, share), 1, 1, 32, 8);
}

// Makes `to` of the image of the plan: `extent` places along each axis from -begin on.
static void spread(conv *c, const int64_t *stride, const int64_t *begin, const int64_t *extent,
                   const int64_t *phases, image *to) {
  const ops_type_info *x = gpu_input_type(c->plan, c->form->x);
  int32_t is_plain = !c->form->is_quantised;
  for (int32_t i = 0; i < kAxes; ++i)
    is_plain = is_plain && stride[i] == 1 && begin[i] == 0 && extent[i] <= c->in[i];
  for (int32_t i = 0; i < kAxes; ++i) {
    to->phases[i] = phases[i];
    to->grid[i] = is_plain ? c->in[i] : ceil_div(extent[i], stride[i]);
  }
  to->volume = product_of(to->phases, kAxes) * product_of(to->grid, kAxes);
  to->tensor = gpu_operand_of_input(c->plan, c->form->x);
  to->slack = 0;
  if (is_plain) return;
  uint64_t bytes;
  const int64_t dims[] = {c->batch, c->channels, to->volume};
  int64_t count;
  // Without their zero point bytes need nine bits.
  to->tensor.type = c->form->is_quantised ? OPS_TYPE_INT16 : x->type;
  to->tensor.kind = kGpuSlotWorkspace;
  to->slack = kSlack;
  if (__builtin_mul_overflow(dims[0] * dims[1], dims[2], &count) ||
      !ops_type_bytes(to->tensor.type, count + kSlack, &bytes)) {
    gpu_plan_fail(c->plan, OPS_ERROR_OUT_OF_MEMORY, "the padded image is too large");
    return;
  }
  to->tensor.index = (int64_t)gpu_plan_workspace(c->plan, bytes);
  launch_spread(c, to, stride, begin);
}

// ---- The product ----

// Columns: places of the image's grid, `out` of them along each axis are results that lie
// `step` apart in the output.
static void set_columns(gpu_multiplication *p, const image *from, const int64_t *out,
                        const int64_t *step) {
  const int64_t *grid = from->grid;
  const int64_t places = product_of(out, kAxes);
  p->n = places == 0 ? 0 : ((out[0] - 1) * grid[1] + out[1] - 1) * grid[2] + out[2];
  p->readable = p->n + (from->slack > 0 ? from->slack - 1 : 0);
  // One long row, if places and results follow each other alike.
  const int32_t is_row = grid[2] == out[2] && step[1] == step[2] * out[2];
  if (is_row && ((grid[1] == out[1] && step[0] == step[1] * out[1]) || out[0] == 1)) {
    p->grid[0] = p->out[0] = p->n > 0 ? p->n : 1;
    p->grid[1] = p->out[1] = 1;
  } else {
    p->grid[0] = grid[2];
    p->grid[1] = grid[1];
    p->out[0] = out[2];
    p->out[1] = out[1];
  }
  for (int32_t i = 0; i < kAxes; ++i) p->y_step[i] = step[kAxes - 1 - i];
}

static gpu_parameter per_filter(const conv *c, int64_t input) {
  const ops_type_info *type = gpu_input_type(c->plan, input);
  gpu_parameter out = {.input = type ? input : NONE};
  if (!type || product_of(type->dims, type->rank) == 1) return out;
  out.line = 1;
  out.lines[1] = c->group_filters;
  return out;
}

static void read_quantised(const conv *c, const image *from, gpu_quantised *q) {
  const form *f = c->form;
  *q = (gpu_quantised){.a_zero = per_filter(c, f->w_zero),
                       .a_scale = per_filter(c, f->w_scale),
                       .b_zero = {.input = NONE},
                       .b_scale = {.input = f->x_scale},
                       .y_scale = f->y_scale,
                       .y_zero = f->y_zero,
                       .b_zero_type = from->tensor.type};
}

// What all products of a convolution have in common; the batch is (image, group).
static void begin_product(const conv *c, const image *from, int32_t type, int64_t terms,
                          gpu_multiplication *p) {
  const int64_t places = product_of(c->out, kAxes);
  gpu_multiplication_init(p, c->group_filters, 0, terms);
  p->a = gpu_operand_of_input(c->plan, c->form->w);
  p->b = from->tensor;
  p->c = gpu_operand_of_input(c->plan, c->form->bias);
  p->c_row = 1;
  p->y = (gpu_operand){kGpuSlotOutput, 0, type};
  p->y_row = places;
  p->batch_rank = 2;
  p->batch[0] = c->batch;
  p->batch[1] = c->group;
  p->b_batch[0] = c->channels * from->volume;
  p->b_batch[1] = c->group_channels * from->volume;
  p->c_batch[1] = c->group_filters;
  p->y_batch[0] = c->filters * places;
  p->y_batch[1] = c->group_filters * places;
}

static int64_t add_table(gpu_plan *plan, const int64_t *values, int64_t count) {
  return (int64_t)gpu_plan_constant(plan, values, (uint64_t)count * sizeof *values);
}

static int64_t *make_list(conv *c, int64_t count) {
  int64_t *list = count > INT32_MAX ? NULL : malloc((size_t)(count + 1) * sizeof *list);
  if (!list) gpu_plan_fail(c->plan, OPS_ERROR_OUT_OF_MEMORY, "no memory to prepare");
  return list;
}

// ---- Convolution ----

// Where each tap of each channel of a group lies from its place.
static int64_t tap_table(conv *c, const image *from) {
  const gpu_slide *s = &c->slide;
  const int64_t taps = product_of(s->kernel, kAxes);
  const int64_t plane = product_of(from->grid, kAxes);
  int64_t *list = make_list(c, taps * c->group_channels), count = 0;
  if (!list) return NONE;
  for (int64_t channel = 0; channel < c->group_channels; ++channel)
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t rest = tap, phase = 0, place = 0, phase_size = 1, size = 1;
      for (int32_t i = kAxes - 1; i >= 0; --i) {
        const int64_t at = rest % s->kernel[i] * s->dilation[i];
        rest /= s->kernel[i];
        phase += at % s->stride[i] * phase_size;
        place += at / s->stride[i] * size;
        phase_size *= from->phases[i];
        size *= from->grid[i];
      }
      list[count++] = channel * from->volume + phase * plane + place;
    }
  const int64_t table = add_table(c->plan, list, count);
  free(list);
  return table;
}

static int32_t convolve_by_library(conv *c, int32_t type) {
  const int32_t has_bias = gpu_operand_of_input(c->plan, c->form->bias).index != NONE;
  const int32_t spatial = c->slide.spatial, lead = kAxes - spatial;
  gpu_convolution own = {.type = type,
                         .spatial = spatial,
                         .batch = c->batch,
                         .group = c->group,
                         .in_channels = c->channels,
                         .out_channels = c->filters};
  // A bias is added after the result was rounded: not to halves.
  int32_t fits = !c->form->is_quantised && !(has_bias && ops_type_bits(type) == 16) &&
                 c->batch > 0 && c->channels > 0 && c->filters > 0;
  for (int32_t i = 0; i < spatial; ++i) {
    const gpu_slide *s = &c->slide;
    const int32_t axis = lead + i;
    const int64_t extent = (s->kernel[axis] - 1) * s->dilation[axis] + 1;
    const int64_t room = c->in[axis] + 2 * s->begin[axis] - extent;
    fits = fits && room >= 0 && room / s->stride[axis] + 1 == c->out[axis];
    own.in[i] = c->in[axis];
    own.out[i] = c->out[axis];
    own.kernel[i] = s->kernel[axis];
    own.pad[i] = s->begin[axis];
    own.stride[i] = s->stride[axis];
    own.dilation[i] = s->dilation[axis];
  }
  gpu_step *step = fits ? gpu_plan_convolution(c->plan, &own) : NULL;
  if (!step) return 0;
  gpu_arg_input(step, (uint64_t)c->form->x);
  gpu_arg_input(step, (uint64_t)c->form->w);
  gpu_arg_output(step, 0);
  const int64_t places = product_of(c->out, kAxes);
  gpu_multiplication p;
  gpu_multiplication_init(&p, c->filters, places, 0);
  p.a = p.b = gpu_operand_of_input(c->plan, c->form->w);
  p.c = gpu_operand_of_input(c->plan, c->form->bias);
  p.c_row = 1;
  p.y = (gpu_operand){kGpuSlotOutput, 0, type};
  p.batch_rank = 1;
  p.batch[0] = c->batch;
  gpu_multiply_finish(c->plan, &p);
  return 1;
}

static void convolve(conv *c, int32_t type) {
  const gpu_slide *s = &c->slide;
  const int64_t taps = product_of(s->kernel, kAxes);
  int64_t extent[kAxes], phases[kAxes];
  image from;
  gpu_multiplication p;
  gpu_quantised q;
  for (int32_t i = 0; i < kAxes; ++i) {
    const int64_t reach = (s->kernel[i] - 1) * s->dilation[i] + 1;
    extent[i] = (c->out[i] - 1) * s->stride[i] + reach;
    phases[i] = s->stride[i] < reach ? s->stride[i] : reach;
  }
  spread(c, s->stride, s->begin, extent, phases, &from);
  begin_product(c, &from, type, c->group_channels * taps, &p);
  p.a_batch[1] = p.m * p.k;
  p.b_row = from.volume;
  if (taps > 1) p.b_table = tap_table(c, &from);
  set_columns(&p, &from, c->out, (const int64_t[]){c->out[1] * c->out[2], c->out[2], 1});
  if (c->form->is_quantised) {
    read_quantised(c, &from, &q);
    p.quantised = &q;
  }
  gpu_multiply(c->plan, &p);
}

static void plan_conv(const ops_kernel *kernel, gpu_plan *plan, const form *f, int32_t type) {
  const conv_attributes *own = kernel->attributes;
  conv c = {.plan = plan, .form = f, .slide = own->slide, .group = own->group};
  if (!read_ranks(&c)) return;
  const ops_type_info *w = gpu_input_type(plan, f->w);
  c.filters = w->dims[0];
  c.group_filters = c.filters / c.group;
  if (w->dims[1] != c.group_channels) {
    refuse(&c, "channels of the weights", w->dims[1], c.group_channels);
    return;
  }
  if (c.filters % c.group != 0) {
    refuse(&c, "the remainder of the filters by group", c.filters % c.group, 0);
    return;
  }
  if (!check_parameters(&c) || !gpu_slide_resolve(plan, c.in, &c.slide, c.out)) return;
  set_output(&c, type);
  if (plan->status == OPS_OK && c.batch * c.filters > 0 && !convolve_by_library(&c, type))
    convolve(&c, type);
}

static void conv_plan(const ops_kernel *kernel, gpu_plan *plan) {
  plan_conv(kernel, plan, &kReal, gpu_input_type(plan, 0)->type);
}

static void conv_integer_plan(const ops_kernel *kernel, gpu_plan *plan) {
  plan_conv(kernel, plan, &kInteger, OPS_TYPE_INT32);
}

static void qlinear_conv_plan(const ops_kernel *kernel, gpu_plan *plan) {
  plan_conv(kernel, plan, &kQuantised, gpu_input_type(plan, kQuantised.y_zero)->type);
}

#define CONV(claim_, plan_)                                                           \
  {                                                                                   \
    .claim = claim_, .attribute_bytes = sizeof(conv_attributes), .parse = conv_parse, \
    .plan = plan_                                                                     \
  }

const gpu_op gpu_conv = CONV(conv_claim, conv_plan);
const gpu_op gpu_conv_integer = CONV(conv_claim, conv_integer_plan);
const gpu_op gpu_qlinear_conv = CONV(conv_claim, qlinear_conv_plan);

// ---- Transposed ----

// Output size, from the padding or from output_shape, which then decides the padding.
static int32_t resolve_transposed(conv *c, const conv_attributes *own) {
  gpu_slide *s = &c->slide;
  const int32_t upper = s->auto_pad == kGpuPadSameUpper;
  const int32_t is_same = upper || s->auto_pad == kGpuPadSameLower;
  for (int32_t i = 0; i < kAxes; ++i) {
    if (s->auto_pad == kGpuPadValid) s->begin[i] = s->end[i] = 0;
    const int64_t full = (c->in[i] - 1) * s->stride[i] + own->padding[i] +
                         (s->kernel[i] - 1) * s->dilation[i] + 1;
    c->out[i] = full - s->begin[i] - s->end[i];
    if (own->has_shape || is_same) {
      c->out[i] = own->has_shape ? own->shape[i] : c->in[i] * s->stride[i];
      const int64_t total = full > c->out[i] ? full - c->out[i] : 0;
      s->begin[i] = upper ? total / 2 : total - total / 2;
    }
    if (c->out[i] < 0 || c->out[i] > (int64_t)1 << 40) {
      gpu_plan_fail(c->plan, OPS_ERROR_INVALID_ARGUMENT,
                    "a spatial dimension of the output would be %lld", (long long)c->out[i]);
      return 0;
    }
  }
  return 1;
}

// Input place minus output place (both divided by the stride) of tap k for outputs of a phase;
// 0 if the tap does not reach them.
static int32_t tap_shift(const gpu_slide *s, int32_t axis, int64_t phase, int64_t k,
                         int64_t *out_shift) {
  const int64_t at = phase + s->begin[axis] - k * s->dilation[axis];
  *out_shift = at / s->stride[axis];
  return at % s->stride[axis] == 0;
}

static int64_t results_of(const conv *c, int32_t axis, int64_t phase) {
  return phase >= c->out[axis] ? 0 : ceil_div(c->out[axis] - phase, c->slide.stride[axis]);
}

// The padding that all phases need.
static void margins(const conv *c, int64_t *begin, int64_t *extent) {
  const gpu_slide *s = &c->slide;
  for (int32_t i = 0; i < kAxes; ++i) {
    int64_t shift, least = 0, end = c->in[i];
    for (int64_t phase = 0; phase < s->stride[i] && phase < c->out[i]; ++phase)
      for (int64_t k = 0; k < s->kernel[i]; ++k) {
        if (!tap_shift(s, i, phase, k, &shift)) continue;
        if (shift < least) least = shift;
        if (results_of(c, i, phase) + shift > end) end = results_of(c, i, phase) + shift;
      }
    begin[i] = -least;
    extent[i] = end - least;
  }
}

// Tables of the taps that reach a phase, in A and in the image; returns how many terms.
static int64_t phase_tables(conv *c, const image *from, const int64_t *phase,
                            const int64_t *begin, gpu_multiplication *p) {
  const gpu_slide *s = &c->slide;
  const int64_t taps = product_of(s->kernel, kAxes);
  int64_t *in_a = make_list(c, 2 * taps * c->group_channels), count = 0;
  int64_t *in_b = in_a ? in_a + taps * c->group_channels : NULL;
  if (!in_a) return 0;
  for (int64_t channel = 0; channel < c->group_channels; ++channel)
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t rest = tap, place = 0, size = 1, shift = 0;
      int32_t reaches = 1;
      for (int32_t i = kAxes - 1; i >= 0; --i) {
        reaches = reaches && tap_shift(s, i, phase[i], rest % s->kernel[i], &shift);
        rest /= s->kernel[i];
        place += (shift + begin[i]) * size;
        size *= from->grid[i];
      }
      if (!reaches) continue;
      in_a[count] = channel * c->group_filters * taps + tap;
      in_b[count++] = channel * from->volume + place;
    }
  p->a_table = add_table(c->plan, in_a, count);
  p->b_table = add_table(c->plan, in_b, count);
  free(in_a);
  return count;
}

static void convolve_phase(conv *c, const image *from, const int64_t *phase,
                           const int64_t *begin, int32_t type) {
  const gpu_slide *s = &c->slide;
  int64_t out[kAxes], step[kAxes] = {c->out[1] * c->out[2], c->out[2], 1}, first = 0;
  gpu_multiplication p;
  for (int32_t i = 0; i < kAxes; ++i) {
    out[i] = results_of(c, i, phase[i]);
    first += phase[i] * step[i];
    step[i] *= s->stride[i];
  }
  begin_product(c, from, type, 0, &p);
  p.a_row = product_of(s->kernel, kAxes);
  p.a_batch[1] = c->group_channels * c->group_filters * p.a_row;
  p.y_first = first;
  set_columns(&p, from, out, step);
  if (p.n > 0) p.k = phase_tables(c, from, phase, begin, &p);
  gpu_multiply(c->plan, &p);
}

static void transpose_plan(const ops_kernel *kernel, gpu_plan *plan) {
  const conv_attributes *own = kernel->attributes;
  conv c = {.plan = plan, .form = &kReal, .slide = own->slide, .group = own->group};
  if (!read_ranks(&c)) return;
  const ops_type_info *x = gpu_input_type(plan, 0), *w = gpu_input_type(plan, 1);
  if (w->dims[0] != c.channels) {
    refuse(&c, "channels of the weights", w->dims[0], c.channels);
    return;
  }
  c.group_filters = w->dims[1];
  c.filters = c.group_filters * c.group;
  if (!check_parameters(&c) || !resolve_transposed(&c, own)) return;
  set_output(&c, x->type);
  if (plan->status != OPS_OK || product_of(c.out, kAxes) * c.batch * c.filters == 0) return;
  const int64_t ones[kAxes] = {1, 1, 1};
  int64_t begin[kAxes], extent[kAxes], phase[kAxes];
  image from;
  margins(&c, begin, extent);
  spread(&c, ones, begin, extent, ones, &from);
  const int64_t *stride = c.slide.stride;
  for (phase[0] = 0; phase[0] < stride[0] && phase[0] < c.out[0]; ++phase[0])
    for (phase[1] = 0; phase[1] < stride[1] && phase[1] < c.out[1]; ++phase[1])
      for (phase[2] = 0; phase[2] < stride[2] && phase[2] < c.out[2]; ++phase[2])
        convolve_phase(&c, &from, phase, begin, x->type);
}

const gpu_op gpu_conv_transpose = CONV(transpose_claim, transpose_plan);

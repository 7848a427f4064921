// SPDX-License-Identifier: Apache-2.0
//
// Pools of int8 and uint8 in one and two dimensions: MaxPool, NhwcMaxPool, QLinearAveragePool
// and QLinearGlobalAveragePool. All work on images whose channels come last; plain images are
// turned in the workspace. Averages are those of the real values, where padding counts as 0:
// sums of integers, scaled and rounded once.
#include <ops_support/checked.h>
#include <string.h>

#include "channels_last.h"
#include "ops_table.h"
#include "quantized.h"
#include "vec.h"
#include "window.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };

typedef struct pool_kernel {
  ops_kernel base;
  cpu_window window;
  int32_t average, global, include_pad;
  int32_t channels_last;  // 1: the tensors are [N, …, C]
} pool_kernel;

typedef struct pool_prepared {
  ops_prepared base;
  int64_t images, channels, in_pixels, out_pixels;
  cpu_slide slide;
  int32_t source_last, target_last, type;
  uint64_t x_at, y_at;  // in the workspace
} pool_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  const int global = ops_str_equal(def->op, "QLinearGlobalAveragePool");
  if (cpu_node_rank(node, 0) > 4)
    cpu_refuse(out_claim, OPS_REASON_SHAPE, "volumes of bytes are not supported");
  if (global) return;
  cpu_window_claim(node, 0, out_claim);
  if (!ops_node_attribute(node, "kernel_shape"))
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "kernel_shape is missing");
  if (ops_node_output(node, 1))
    cpu_refuse(out_claim, OPS_REASON_OPERATOR, "the output Indices is not supported");
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  pool_kernel *own = (pool_kernel *)kernel;
  const ops_str op = kernel->def->op;
  (void)error;
  cpu_window_read(node, &own->window);
  own->global = ops_str_equal(op, "QLinearGlobalAveragePool");
  own->average = own->global || ops_str_equal(op, "QLinearAveragePool");
  own->include_pad = ops_node_int(node, "count_include_pad", 0) != 0;
  own->channels_last = ops_str_equal(op, "NhwcMaxPool") ||
                       (own->average && ops_node_int(node, "channels_last", 0) != 0);
  return OPS_OK;
}

static int32_t find_window(const pool_kernel *own, const cpu_shape *x, cpu_shape *y,
                           cpu_window *window, ops_error *error) {
  *window = own->window;
  *y = *x;
  if (!own->global)
    return cpu_window_resolve(&own->base, window, x->rank - 2, x->dims + 2, y->dims + 2, error);
  for (int32_t i = 2; i < x->rank; ++i) {
    window->kernel[i - 2] = x->dims[i];
    window->strides[i - 2] = window->dilations[i - 2] = 1;
    window->pads_begin[i - 2] = window->pads_end[i - 2] = 0;
    y->dims[i] = 1;
  }
  return OPS_OK;
}

static int32_t lay_out(const ops_kernel *kernel, pool_prepared *mine, ops_prepare_reply *reply,
                       ops_error *error) {
  const uint64_t planes = (uint64_t)(mine->images * mine->channels);
  uint64_t x = 0, y = 0, total = 0;
  const int fits =
      (mine->source_last || ops_checked_mul(planes, (uint64_t)mine->in_pixels, &x)) &&
      (mine->target_last || ops_checked_mul(planes, (uint64_t)mine->out_pixels, &y)) &&
      cpu_workspace_add(&total, x, &mine->x_at) && cpu_workspace_add(&total, y, &mine->y_at);
  return cpu_workspace_state(kernel, fits, total, reply, error);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const pool_kernel *own = (const pool_kernel *)kernel;
  pool_prepared *mine = (pool_prepared *)prepared;
  cpu_window window;
  cpu_shape x, y;
  for (uint64_t i = X_SCALE; own->average && i <= Y_ZERO; ++i)
    OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, i, error));
  cpu_input_shape(request, X, &x);
  if (x.rank < (own->global ? 2 : 3) || x.rank > 4)
    return cpu_invalid(kernel, error, "the rank must be 3 or 4, found %d", x.rank);
  if (own->channels_last) cpu_shape_from_last(&x);
  OPS_RETURN_IF_ERROR(find_window(own, &x, &y, &window, error));
  mine->images = x.dims[0];
  mine->channels = x.dims[1];
  mine->in_pixels = cpu_product(x.dims, 2, x.rank);
  mine->out_pixels = cpu_product(y.dims, 2, y.rank);
  cpu_slide_init(&mine->slide, &window, x.rank - 2, x.dims + 2, y.dims + 2);
  if (own->channels_last) cpu_shape_to_last(&y);
  mine->type = cpu_input_type(request, X);
  mine->source_last = own->channels_last || cpu_is_last(request, X);
  mine->target_last = own->channels_last || cpu_wants_last(request);
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, mine->type, &y, error));
  return lay_out(kernel, mine, reply, error);
}

static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  cpu_shape x;
  if (((const pool_kernel *)kernel)->channels_last ||
      !cpu_may_be_last(ops_request_input(request, X)->type))
    return;
  cpu_input_shape(request, X, &x);
  cpu_layouts_add(layouts, CPU_LAST_FIRST, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 2 * cpu_reorder_cost(cpu_count(&x)));
}

// ---- Execute --------------------------------------------------------------------------------

typedef struct run {
  const pool_prepared *own;
  const pool_kernel *kernel;
  const cpu_vec *vec;
  const uint8_t *x;
  uint8_t *y;
  double x_scale, y_scale;
  int32_t x_zero, y_zero;
} run;

#define BLOCK 64

// The means of `count` channels of one window.
static void average(const run *run, const cpu_vec_taps *taps, const uint8_t *x, uint8_t *y,
                    int64_t count) {
  const int32_t is_signed = run->own->type == OPS_TYPE_INT8;
  const int32_t zeros = (int32_t)(taps->rows * taps->columns) * run->x_zero;
  double scale[BLOCK];
  float factor[BLOCK];
  int32_t sums[BLOCK];
  const cpu_vec_requantize q = {.factor = factor,
                                .scale = scale,
                                .divisor = taps->divisor * run->y_scale,
                                .zero = run->y_zero,
                                .is_signed = is_signed};
  for (int64_t i = 0; i < BLOCK; ++i) {
    scale[i] = run->x_scale;
    factor[i] = (float)(run->x_scale / q.divisor);
  }
  for (int64_t c = 0; c < count; c += BLOCK) {
    const int64_t left = count - c, piece = left < BLOCK ? left : BLOCK;
    run->vec->sum_bytes(taps, sums, x + c, piece, is_signed);
    for (int64_t i = 0; i < piece; ++i) sums[i] -= zeros;
    run->vec->requantize(&q, sums, y + c, piece);
  }
}

// The largest of `count` channels of one window; a window in the padding has the least number.
static void maximum(const run *run, const cpu_vec_taps *taps, const uint8_t *x, uint8_t *y,
                    int64_t count) {
  const int32_t is_signed = run->own->type == OPS_TYPE_INT8;
  if (taps->rows * taps->columns == 0)
    memset(y, is_signed ? INT8_MIN : 0, (size_t)count);
  else
    run->vec->max_bytes(taps, y, x, count, is_signed);
}

// One row of outputs.
static void run_row(const run *run, int64_t index) {
  const pool_prepared *own = run->own;
  const cpu_slide *slide = &own->slide;
  const int64_t oh = index % slide->out[1], image = index / slide->out[1];
  const int64_t channels = own->channels;
  const int32_t pad = run->kernel->include_pad;
  const uint8_t *x = run->x + image * own->in_pixels * channels;
  uint8_t *y = run->y + index * slide->out[2] * channels;
  int64_t h, w;
  cpu_vec_taps taps = {.row = slide->window.dilations[1] * slide->in[2] * channels,
                       .column = slide->window.dilations[2] * channels};
  taps.rows = cpu_slide_inside(slide, 1, oh, &h);
  for (int64_t ow = 0; ow < slide->out[2]; ++ow, y += channels) {
    taps.columns = cpu_slide_inside(slide, 2, ow, &w);
    taps.divisor =
        (double)(cpu_slide_taps(slide, 1, oh, pad) * cpu_slide_taps(slide, 2, ow, pad));
    const uint8_t *first = x + (h * slide->in[2] + w) * channels;
    (run->kernel->average ? average : maximum)(run, &taps, first, y, channels);
  }
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t index = begin; index < end; ++index) run_row(context, index);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const pool_prepared *own = (const pool_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  const int64_t *out = own->slide.out, *kernel = own->slide.window.kernel;
  char *workspace = cpu_workspace(request), *x = cpu_in_data(request, X);
  char *y = cpu_out_data(request, 0);
  (void)error;
  if (own->images * own->out_pixels * own->channels == 0) return OPS_OK;
  run run = {.own = own,
             .kernel = (const pool_kernel *)prepared->kernel,
             .vec = device->vec,
             .x = (const uint8_t *)(own->source_last ? x : workspace + own->x_at),
             .y = (uint8_t *)(own->target_last ? y : workspace + own->y_at)};
  if (run.kernel->average) {
    run.x_scale = cpu_quantized_scale(request, X_SCALE, 1);
    run.x_zero = cpu_quantized_zero(request, X_ZERO);
    run.y_scale = cpu_quantized_scale(request, Y_SCALE, 1);
    run.y_zero = cpu_quantized_zero(request, Y_ZERO);
  }
  if (!own->source_last)
    cpu_flip_images(device, 1, x, workspace + own->x_at, own->images, own->channels,
                    own->in_pixels);
  cpu_parallel(device, own->images * out[1],
               cpu_grain(out[2] * kernel[1] * kernel[2] * own->channels / 16), run_range, &run);
  if (!own->target_last)
    cpu_flip_images(device, 1, workspace + own->y_at, y, own->images, own->out_pixels,
                    own->channels);
  return OPS_OK;
}

const cpu_op cpu_pool_bytes_op = {.kernel_size = sizeof(pool_kernel),
                                  .prepared_size = sizeof(pool_prepared),
                                  .claim = claim,
                                  .create = create,
                                  .layouts = layouts,
                                  .prepare = prepare,
                                  .execute = execute};

// SPDX-License-Identifier: Apache-2.0
//
// MaxPool and AveragePool of float in one to three spatial dimensions, and their global forms.
//
// The largest of windows in one or two dimensions is found on planes with a border of
// -infinity, in the vector loops (plane.h). For the rest, an output row is built in a block of
// accumulators: for every tap that lies inside the input the matching strided piece of an input
// row is folded in. Averages sum in double.
#include <math.h>
#include <string.h>

#include "channels_last.h"
#include "ops_table.h"
#include "plane.h"
#include "window.h"

#define BLOCK 128

typedef struct pool_kernel {
  ops_kernel base;
  cpu_window window;
  int32_t average;
  int32_t include_pad;
} pool_kernel;

typedef struct pool_prepared {
  ops_prepared base;
  int64_t planes;
  cpu_slide slide;
  int32_t on_planes;
  cpu_plane plane;
  int32_t last;      // 1: x and y have their channels last
  int64_t channels;  // of a tensor with channels last
} pool_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  cpu_window_claim(node, 0, out_claim);
  if (!ops_node_attribute(node, "kernel_shape"))
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "kernel_shape is missing");
  if (ops_node_output(node, 1))
    cpu_refuse(out_claim, OPS_REASON_OPERATOR, "the output Indices is not supported");
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  pool_kernel *pool = (pool_kernel *)kernel;
  (void)error;
  cpu_window_read(node, &pool->window);
  pool->average = ops_str_equal(kernel->def->op, "AveragePool");
  pool->include_pad = ops_node_int(node, "count_include_pad", 0) != 0;
  return OPS_OK;
}

// The number of taps that every output counts along axis d; 0 if it differs between them. Only
// the first and the last can differ from those between.
static int64_t same_taps(const pool_prepared *own, int32_t d, int32_t include_pad) {
  const int64_t first = cpu_slide_taps(&own->slide, d, 0, include_pad),
                all = own->slide.window.kernel[d];
  return first == all &&
                 cpu_slide_taps(&own->slide, d, own->slide.out[d] - 1, include_pad) == all
             ? all
             : 0;
}

// Returns 1 if the windows lie in planes and the vector loops can do them.
static int plan_planes(const pool_kernel *kernel, pool_prepared *own) {
  cpu_plane_window window;
  if (own->slide.in[0] != 1 || own->slide.out[0] != 1 || own->slide.window.kernel[0] != 1)
    return 0;
  for (int32_t i = 0; i < 2; ++i) {
    window.in[i] = own->slide.in[1 + i];
    window.out[i] = own->slide.out[1 + i];
    window.kernel[i] = own->slide.window.kernel[1 + i];
    window.strides[i] = own->slide.window.strides[1 + i];
    window.dilations[i] = own->slide.window.dilations[1 + i];
    window.pads_begin[i] = own->slide.window.pads_begin[1 + i];
  }
  if (own->slide.window.pads_begin[0] != 0 || !cpu_plane_fits(&window) ||
      !cpu_plane_init(&window, &own->plane))
    return 0;
  const int64_t rows = same_taps(own, 1, kernel->include_pad);
  const int64_t columns = same_taps(own, 2, kernel->include_pad);
  own->plane.tile.divisor = (double)(rows * columns);
  return !kernel->average || rows * columns > 0;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  pool_prepared *own = (pool_prepared *)prepared;
  cpu_shape x, y;
  cpu_input_shape(request, 0, &x);
  const int32_t spatial = x.rank - 2;
  if (spatial < 1 || spatial > CPU_SPATIAL)
    return cpu_invalid(kernel, error, "the rank must be 3 to 5, found %d", x.rank);
  cpu_window window = ((pool_kernel *)kernel)->window;
  y = x;
  OPS_RETURN_IF_ERROR(
      cpu_window_resolve(kernel, &window, spatial, x.dims + 2, y.dims + 2, error));
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, OPS_TYPE_FLOAT, &y, error));
  own->planes = x.dims[0] * x.dims[1];
  cpu_slide_init(&own->slide, &window, spatial, x.dims + 2, y.dims + 2);
  own->channels = x.dims[1];
  own->last = cpu_is_last(request, 0);
  own->on_planes = !own->last && cpu_count(&y) > 0 && plan_planes((pool_kernel *)kernel, own);
  if (own->on_planes) cpu_plane_reserve(kernel->device, &own->plane, reply);
  return OPS_OK;
}

typedef struct run {
  const pool_prepared *own;
  const pool_kernel *kernel;
  const cpu_vec *vec;
  const float *x;
  float *y;
  void *workspace;
} run;

static void run_planes(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const cpu_plane *plane = &run->own->plane;
  const cpu_plane_window *w = &plane->window;
  const int average = run->kernel->average;
  float *scratch = cpu_plane_start(plane, run->workspace, worker, average ? 0.0f : -INFINITY);
  for (int64_t i = begin; i < end; ++i) {
    cpu_plane_copy(plane, run->x + i * w->in[0] * w->in[1], scratch);
    float *y = run->y + i * w->out[0] * w->out[1];
    if (average)
      run->vec->mean_window(&plane->tile, y, scratch);
    else
      run->vec->max_window(&plane->tile, y, scratch);
  }
}

// Folds the taps of one input row into outputs [begin, begin + count).
static void fold_row(const run *run, double *accumulator, const float *row, int64_t begin,
                     int64_t count) {
  const pool_prepared *own = run->own;
  const int64_t stride = own->slide.window.strides[2], dim = own->slide.in[2];
  const int32_t reduction = run->kernel->average ? CPU_REDUCE_sum : CPU_REDUCE_max;
  for (int64_t k = 0; k < own->slide.window.kernel[2]; ++k) {
    const int64_t shift = k * own->slide.window.dilations[2] - own->slide.window.pads_begin[2];
    int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    int64_t last = cpu_floor_div(dim - 1 - shift, stride);
    if (first < begin) first = begin;
    if (last > begin + count - 1) last = begin + count - 1;
    if (last >= first)
      run->vec->columns[reduction](accumulator + (first - begin), row + first * stride + shift,
                                   stride, last - first + 1);
  }
}

static void fold_planes(const run *run, double *accumulator, const float *plane, int64_t od,
                        int64_t oh, int64_t begin, int64_t count) {
  const pool_prepared *own = run->own;
  const cpu_window *w = &own->slide.window;
  for (int64_t kd = 0; kd < w->kernel[0]; ++kd) {
    const int64_t d = cpu_slide_start(&own->slide, 0, od) + kd * w->dilations[0];
    if (d < 0 || d >= own->slide.in[0]) continue;
    for (int64_t kh = 0; kh < w->kernel[1]; ++kh) {
      const int64_t h = cpu_slide_start(&own->slide, 1, oh) + kh * w->dilations[1];
      if (h < 0 || h >= own->slide.in[1]) continue;
      fold_row(run, accumulator, plane + (d * own->slide.in[1] + h) * own->slide.in[2], begin,
               count);
    }
  }
}

static void finish_average(const run *run, const double *accumulator, float *y, int64_t od,
                           int64_t oh, int64_t begin, int64_t count) {
  const pool_prepared *own = run->own;
  const int32_t pad = run->kernel->include_pad;
  const int64_t rows =
      cpu_slide_taps(&own->slide, 0, od, pad) * cpu_slide_taps(&own->slide, 1, oh, pad);
  for (int64_t i = 0; i < count; ++i)
    y[i] = (float)(accumulator[i] /
                   (double)(rows * cpu_slide_taps(&own->slide, 2, begin + i, pad)));
}

static void run_row(const run *run, int64_t index) {
  const pool_prepared *own = run->own;
  const int64_t oh = index % own->slide.out[1],
                od = index / own->slide.out[1] % own->slide.out[0];
  const int64_t plane = index / own->slide.out[1] / own->slide.out[0];
  const float *x = run->x + plane * own->slide.in[0] * own->slide.in[1] * own->slide.in[2];
  float *y = run->y + index * own->slide.out[2];
  for (int64_t begin = 0; begin < own->slide.out[2]; begin += BLOCK) {
    const int64_t left = own->slide.out[2] - begin, count = left < BLOCK ? left : BLOCK;
    double accumulator[BLOCK];
    for (int64_t i = 0; i < count; ++i)
      accumulator[i] = run->kernel->average ? 0.0 : -(double)INFINITY;
    fold_planes(run, accumulator, x, od, oh, begin, count);
    if (run->kernel->average)
      finish_average(run, accumulator, y + begin, od, oh, begin, count);
    else
      for (int64_t i = 0; i < count; ++i) y[begin + i] = (float)accumulator[i];
  }
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t index = begin; index < end; ++index) run_row(context, index);
}

// ---- Channels last --------------------------------------------------------------------------

// One row of outputs; the depth has one tap (see layouts).
static void run_last_row(const run *run, int64_t index) {
  const pool_prepared *own = run->own;
  const int64_t oh = index % own->slide.out[1], image = index / own->slide.out[1];
  const int64_t channels = own->channels, pad = run->kernel->include_pad;
  const float *x = run->x + image * own->slide.in[1] * own->slide.in[2] * channels;
  float *y = run->y + index * own->slide.out[2] * channels;
  int64_t h, w;
  cpu_vec_taps window = {.row = own->slide.window.dilations[1] * own->slide.in[2] * channels,
                         .column = own->slide.window.dilations[2] * channels};
  window.rows = cpu_slide_inside(&own->slide, 1, oh, &h);
  const double rows = (double)(cpu_slide_taps(&own->slide, 0, 0, (int32_t)pad) *
                               cpu_slide_taps(&own->slide, 1, oh, (int32_t)pad));
  for (int64_t ow = 0; ow < own->slide.out[2]; ++ow, y += channels) {
    window.columns = cpu_slide_inside(&own->slide, 2, ow, &w);
    window.divisor = rows * (double)cpu_slide_taps(&own->slide, 2, ow, (int32_t)pad);
    const float *first = x + (h * own->slide.in[2] + w) * channels;
    if (run->kernel->average)
      run->vec->mean_taps(&window, y, first, channels);
    else
      run->vec->max_taps(&window, y, first, channels);
  }
}

static void run_last(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t index = begin; index < end; ++index) run_last_row(context, index);
}

// Volumes stay plain.
static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  (void)kernel;
  if (!cpu_may_be_last(x) || x->rank > 4) return;
  cpu_layouts_add(layouts, CPU_LAST_ALL, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 0);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const pool_prepared *own = (const pool_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  run run = {own,
             (const pool_kernel *)prepared->kernel,
             device->vec,
             cpu_in_data(request, 0),
             cpu_out_data(request, 0),
             cpu_workspace(request)};
  const int64_t *k = own->slide.window.kernel;
  (void)error;
  if (own->last) {
    cpu_parallel(device, own->planes / own->channels * own->slide.out[1],
                 cpu_grain(own->slide.out[2] * k[1] * k[2] * own->channels / 8), run_last,
                 &run);
    return OPS_OK;
  }
  if (own->on_planes) {
    cpu_parallel(device, own->planes,
                 cpu_grain(own->slide.out[1] * own->slide.out[2] * k[1] * k[2] / 8), run_planes,
                 &run);
    return OPS_OK;
  }
  if (own->slide.out[2] > 0)
    cpu_parallel(device, own->planes * own->slide.out[0] * own->slide.out[1],
                 cpu_grain(own->slide.out[2] * k[0] * k[1] * k[2]), run_range, &run);
  return OPS_OK;
}

const cpu_op cpu_pool_op = {.kernel_size = sizeof(pool_kernel),
                            .prepared_size = sizeof(pool_prepared),
                            .claim = claim,
                            .create = create,
                            .layouts = layouts,
                            .prepare = prepare,
                            .execute = execute};

// ---- Global pooling -------------------------------------------------------------------------

typedef struct global_prepared {
  ops_prepared base;
  int64_t planes, pixels;
  int64_t channels;  // 0: x is plain; else they come last
  int32_t average;
} global_prepared;

static int32_t prepare_global(ops_kernel *kernel, const ops_prepare_request *request,
                              ops_prepared *prepared, ops_prepare_reply *reply,
                              ops_error *error) {
  global_prepared *own = (global_prepared *)prepared;
  cpu_shape x, y;
  cpu_input_shape(request, 0, &x);
  if (x.rank < 2)
    return cpu_invalid(kernel, error, "the rank must be at least 2, found %d", x.rank);
  own->planes = x.dims[0] * x.dims[1];
  own->pixels = cpu_product(x.dims, 2, x.rank);
  own->average = ops_str_equal(kernel->def->op, "GlobalAveragePool");
  own->channels = cpu_is_last(request, 0) ? x.dims[1] : 0;
  y = x;
  for (int32_t i = 2; i < y.rank; ++i) y.dims[i] = 1;
  return cpu_set_output(kernel, reply, 0, OPS_TYPE_FLOAT, &y, error);
}

static void run_global(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const global_prepared *own = (const global_prepared *)run->own;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const float *x = run->x + i * own->pixels;
    run->y[i] =
        own->average
            ? (float)(run->vec->row[CPU_REDUCE_sum](x, own->pixels) / (double)own->pixels)
            : (float)run->vec->row[CPU_REDUCE_max](x, own->pixels);
  }
}

// Channels that one piece of work takes.
#define CHANNELS 64

static void run_global_last(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const global_prepared *own = (const global_prepared *)run->own;
  const int64_t pieces = (own->channels + CHANNELS - 1) / CHANNELS;
  const cpu_vec_taps window = {.rows = 1,
                               .columns = own->pixels,
                               .column = own->channels,
                               .divisor = (double)own->pixels};
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t image = i / pieces, channel = i % pieces * CHANNELS;
    const int64_t left = own->channels - channel, count = left < CHANNELS ? left : CHANNELS;
    const float *x = run->x + image * own->pixels * own->channels + channel;
    float *y = run->y + image * own->channels + channel;
    if (own->average)
      run->vec->mean_taps(&window, y, x, count);
    else
      run->vec->max_taps(&window, y, x, count);
  }
}

static void global_layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                           cpu_layouts *layouts) {
  (void)kernel;
  if (!cpu_may_be_last(ops_request_input(request, 0)->type)) return;
  cpu_layouts_add(layouts, CPU_LAST_ALL, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 0);
}

static int32_t execute_global(const ops_prepared *prepared, const ops_execute_request *request,
                              ops_error *error) {
  const global_prepared *own = (const global_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  run run = {(const pool_prepared *)prepared, NULL, device->vec, cpu_in_data(request, 0),
             cpu_out_data(request, 0),        NULL};
  (void)error;
  if (own->channels > 0)
    cpu_parallel(device,
                 own->planes / own->channels * ((own->channels + CHANNELS - 1) / CHANNELS),
                 cpu_grain(own->pixels * CHANNELS / 8), run_global_last, &run);
  else
    cpu_parallel(device, own->planes, cpu_grain(own->pixels), run_global, &run);
  return OPS_OK;
}

const cpu_op cpu_global_pool_op = {.kernel_size = sizeof(ops_kernel),
                                   .prepared_size = sizeof(global_prepared),
                                   .layouts = global_layouts,
                                   .prepare = prepare_global,
                                   .execute = execute_global};

// SPDX-License-Identifier: Apache-2.0
//
// ConvInteger and QLinearConv in one to three spatial dimensions: sums of products of bytes
// (dots.h) over images whose channels come last; plain images are turned in the workspace.
//
// Where the channels of a group fill whole steps, taps are addressed where they lie in x, and
// those in the padding in a pixel of zero points. Else the taps of a window are copied
// together.
#include <ops_support/checked.h>
#include <string.h>

#include "channels_last.h"
#include "dots.h"
#include "ops_table.h"
#include "quantized.h"
#include "window.h"

// Which inputs an operator has where; NONE: it lacks them.
#define NONE 99
typedef struct arguments {
  uint64_t x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias;
} arguments;

static const arguments kInteger = {0, NONE, 2, 1, NONE, 3, NONE, NONE, NONE};
static const arguments kQuantized = {0, 1, 2, 3, 4, 5, 6, 7, 8};

typedef struct conv_kernel {
  ops_kernel base;
  const arguments *at;
  cpu_window window;
  int64_t groups;
  cpu_dots_weights weights;
} conv_kernel;

typedef struct conv_prepared {
  ops_prepared base;
  cpu_dots_shape shape;
  int64_t direct_taps;
  int64_t batch, channels, pixels, in_pixels;
  cpu_slide slide;
  int32_t source_last, target_last, y_type;
  uint64_t tables_at, zeros_at, x_at, y_at, packed_at, scratch_at;  // in the workspace
} conv_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  const arguments *at = ops_str_equal(def->op, "QLinearConv") ? &kQuantized : &kInteger;
  cpu_window_claim(node, at->w, out_claim);
  if (ops_node_int(node, "group", 1) < 1)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "group must be at least 1, found %lld",
               (long long)ops_node_int(node, "group", 1));
}

// ---- Weights --------------------------------------------------------------------------------

// Weights [filters, channels of a group, kernel…].
static void describe_weights(int64_t groups, const int64_t *dims, int32_t rank,
                             cpu_dots_shape *shape, cpu_dots_strides *strides) {
  const int64_t taps = cpu_product(dims, 2, rank), size = dims[1] * taps;
  *shape = (cpu_dots_shape){groups, dims[0] / groups, taps, dims[1]};
  *strides = (cpu_dots_strides){dims[0] / groups * size, size, 1, taps};
}

static int32_t pack_constant(conv_kernel *own, const ops_operand *w, ops_error *error) {
  const ops_tensor *tensor = ops_operand_contents(w);
  cpu_dots_shape shape;
  cpu_dots_strides strides;
  own->weights.device = own->base.device;
  if (!tensor || tensor->rank < 3 || tensor->dims[0] % own->groups != 0 ||
      tensor->byte_size == 0)
    return OPS_OK;
  describe_weights(own->groups, tensor->dims, tensor->rank, &shape, &strides);
  return cpu_dots_weights_init(&own->weights, own->base.device, &shape, &strides, w->constant,
                               error);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  conv_kernel *own = (conv_kernel *)kernel;
  own->at = ops_str_equal(kernel->def->op, "QLinearConv") ? &kQuantized : &kInteger;
  cpu_window_read(node, &own->window);
  own->groups = ops_node_int(node, "group", 1);
  return pack_constant(own, ops_node_input(node, own->at->w), error);
}

static void destroy(ops_kernel *kernel) {
  cpu_dots_weights_finish(&((conv_kernel *)kernel)->weights);
}

// ---- Prepare --------------------------------------------------------------------------------

static int32_t check_shapes(const conv_kernel *own, const cpu_shape *x, const cpu_shape *w,
                            ops_error *error) {
  const ops_kernel *kernel = &own->base;
  if (x->rank < 3 || x->rank > 5 || w->rank != x->rank)
    return cpu_invalid(kernel, error, "ranks must be equal and 3 to 5, found %d and %d",
                       x->rank, w->rank);
  if (w->dims[0] % own->groups != 0 || x->dims[1] != w->dims[1] * own->groups)
    return cpu_invalid(kernel, error,
                       "%lld channels do not fit weights [%lld, %lld, …] in %lld groups",
                       (long long)x->dims[1], (long long)w->dims[0], (long long)w->dims[1],
                       (long long)own->groups);
  for (int32_t i = 2; i < w->rank; ++i)
    if (w->dims[i] < 1 || (own->window.has_kernel && own->window.kernel[i - 2] != w->dims[i]))
      return cpu_invalid(kernel, error, "kernel_shape does not fit the weights on dimension %d",
                         i);
  return OPS_OK;
}

static int32_t check_per_filter(const ops_kernel *kernel, const ops_prepare_request *request,
                                uint64_t input, int64_t filters, int may_be_one,
                                ops_error *error) {
  cpu_shape shape;
  if (input >= request->input_count || !ops_request_input(request, input)) return OPS_OK;
  cpu_input_shape(request, input, &shape);
  const int64_t count = cpu_count(&shape);
  if (shape.rank <= 1 && (count == filters || (may_be_one && count == 1))) return OPS_OK;
  return cpu_invalid(kernel, error, "input %llu must have %lld elements, found %lld",
                     (unsigned long long)input, (long long)filters, (long long)count);
}

static int32_t check_parameters(const conv_kernel *own, const ops_prepare_request *request,
                                int64_t filters, ops_error *error) {
  const arguments *at = own->at;
  const ops_kernel *kernel = &own->base;
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, at->x_scale, error));
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, at->x_zero, error));
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, at->y_scale, error));
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(kernel, request, at->y_zero, error));
  OPS_RETURN_IF_ERROR(check_per_filter(kernel, request, at->w_scale, filters, 1, error));
  OPS_RETURN_IF_ERROR(check_per_filter(kernel, request, at->w_zero, filters, 1, error));
  return check_per_filter(kernel, request, at->bias, filters, 0, error);
}

static int32_t lay_out(const conv_kernel *own, conv_prepared *mine, ops_prepare_reply *reply,
                       ops_error *error) {
  const ops_device *device = own->base.device;
  const uint64_t filters = (uint64_t)(mine->shape.groups * mine->shape.columns);
  uint64_t tables, scratch, packed = 0, x = 0, y = 0, total = 0;
  const int fits =
      cpu_dots_tables_bytes(&mine->shape, &tables) &&
      cpu_dots_workspace(&mine->shape, mine->direct_taps, &scratch) &&
      (own->weights.memory || cpu_dots_packed_bytes(&mine->shape, &packed)) &&
      ops_checked_mul(scratch, (uint64_t)device->api->worker_count(device->host), &scratch) &&
      (mine->source_last || ops_checked_mul((uint64_t)(mine->batch * mine->channels),
                                            (uint64_t)mine->in_pixels, &x)) &&
      (mine->target_last ||
       (ops_checked_mul((uint64_t)mine->batch * filters, (uint64_t)mine->pixels, &y) &&
        ops_checked_mul(y, (uint64_t)cpu_type_size(mine->y_type), &y))) &&
      cpu_workspace_add(&total, tables, &mine->tables_at) &&
      cpu_workspace_add(&total, (uint64_t)mine->channels, &mine->zeros_at) &&
      cpu_workspace_add(&total, scratch, &mine->scratch_at) &&
      cpu_workspace_add(&total, packed, &mine->packed_at) &&
      cpu_workspace_add(&total, x, &mine->x_at) && cpu_workspace_add(&total, y, &mine->y_at);
  return cpu_workspace_state(&own->base, fits, total, reply, error);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const conv_kernel *own = (const conv_kernel *)kernel;
  conv_prepared *mine = (conv_prepared *)prepared;
  cpu_dots_strides strides;
  cpu_shape x, w, y;
  cpu_input_shape(request, own->at->x, &x);
  cpu_input_shape(request, own->at->w, &w);
  OPS_RETURN_IF_ERROR(check_shapes(own, &x, &w, error));
  OPS_RETURN_IF_ERROR(check_parameters(own, request, w.dims[0], error));
  cpu_window window = own->window;
  for (int32_t i = 2; i < w.rank; ++i) window.kernel[i - 2] = w.dims[i];
  y = (cpu_shape){x.rank, {x.dims[0], w.dims[0]}};
  OPS_RETURN_IF_ERROR(
      cpu_window_resolve(kernel, &window, x.rank - 2, x.dims + 2, y.dims + 2, error));
  mine->y_type =
      own->at->y_zero == NONE ? OPS_TYPE_INT32 : cpu_input_type(request, own->at->y_zero);
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, mine->y_type, &y, error));
  describe_weights(own->groups, w.dims, w.rank, &mine->shape, &strides);
  cpu_slide_init(&mine->slide, &window, x.rank - 2, x.dims + 2, y.dims + 2);
  mine->batch = x.dims[0];
  mine->channels = x.dims[1];
  mine->pixels = cpu_product(y.dims, 2, y.rank);
  mine->in_pixels = cpu_product(x.dims, 2, x.rank);
  // Without terms or pixels there are no taps to address.
  mine->direct_taps =
      mine->shape.depth % CPU_DOTS_STEP == 0 && mine->shape.depth > 0 ? mine->shape.taps : 1;
  mine->source_last = cpu_is_last(request, own->at->x);
  mine->target_last = cpu_wants_last(request);
  if (own->weights.memory) ops_reply_set_unread(reply, (uint64_t)1 << own->at->w);
  return lay_out(own, mine, reply, error);
}

static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  const conv_kernel *own = (const conv_kernel *)kernel;
  cpu_shape x;
  if (own->at->y_zero == NONE || !cpu_may_be_last(ops_request_input(request, 0)->type)) return;
  cpu_input_shape(request, 0, &x);
  cpu_layouts_add(layouts, CPU_LAST_FIRST, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 2 * cpu_reorder_cost(cpu_count(&x)));
}

// ---- Windows --------------------------------------------------------------------------------

typedef struct windows {
  const conv_prepared *own;
  const uint8_t *x;      // channels last
  const uint8_t *zeros;  // a pixel of zero points
} windows;

typedef struct place {
  int64_t image, at[CPU_SPATIAL];  // of an output
} place;

static place place_of(const conv_prepared *own, int64_t row) {
  place p;
  for (int32_t d = CPU_SPATIAL - 1; d >= 0; --d) {
    p.at[d] = row % own->slide.out[d];
    row /= own->slide.out[d];
  }
  p.image = row;
  return p;
}

static void advance(const conv_prepared *own, place *p) {
  for (int32_t d = CPU_SPATIAL - 1; d >= 0; --d) {
    if (++p->at[d] < own->slide.out[d]) return;
    p->at[d] = 0;
  }
  ++p->image;
}

static inline int is_inside(const conv_prepared *own, int32_t d, int64_t i) {
  return (uint64_t)i < (uint64_t)own->slide.in[d];
}

// The row of input pixels under tap (kd, kh); NULL: in the padding.
static const uint8_t *input_row(const windows *w, const place *p, int64_t kd, int64_t kh) {
  const conv_prepared *own = w->own;
  const int64_t d =
      cpu_slide_start(&own->slide, 0, p->at[0]) + kd * own->slide.window.dilations[0];
  const int64_t h =
      cpu_slide_start(&own->slide, 1, p->at[1]) + kh * own->slide.window.dilations[1];
  if (!is_inside(own, 0, d) || !is_inside(own, 1, h)) return NULL;
  return w->x + ((p->image * own->slide.in[0] + d) * own->slide.in[1] + h) * own->slide.in[2] *
                    own->channels;
}

static void point_taps(const windows *w, const place *p, int64_t channel,
                       const uint8_t **out_rows) {
  const conv_prepared *own = w->own;
  const int64_t *kernel = own->slide.window.kernel;
  const int64_t start = cpu_slide_start(&own->slide, 2, p->at[2]),
                step = own->slide.window.dilations[2];
  for (int64_t kd = 0; kd < kernel[0]; ++kd)
    for (int64_t kh = 0; kh < kernel[1]; ++kh) {
      const uint8_t *row = input_row(w, p, kd, kh);
      for (int64_t kw = 0; kw < kernel[2]; ++kw, out_rows += CPU_DOTS_ROWS) {
        const int64_t i = start + kw * step;
        *out_rows = row && is_inside(own, 2, i) ? row + i * own->channels + channel : w->zeros;
      }
    }
}

static void point_direct(const void *context, int64_t group, int64_t row, int32_t rows,
                         uint8_t *scratch, const uint8_t **out_rows) {
  const windows *w = context;
  place p = place_of(w->own, row);
  (void)scratch;
  for (int32_t r = 0; r < rows; ++r, advance(w->own, &p))
    point_taps(w, &p, group * w->own->shape.depth, out_rows + r);
}

// Copies the taps of a row of the window, `depth` bytes each.
static uint8_t *copy_row(const windows *w, const uint8_t *row, int64_t start, int64_t channel,
                         uint8_t *out) {
  const conv_prepared *own = w->own;
  const int64_t depth = own->shape.depth, taps = own->slide.window.kernel[2];
  const int64_t step = own->slide.window.dilations[2];
  if (row && step == 1 && depth == own->channels && start >= 0 &&
      start + taps <= own->slide.in[2]) {
    memcpy(out, row + start * depth, (size_t)(taps * depth));
    return out + taps * depth;
  }
  for (int64_t k = 0; k < taps; ++k, out += depth) {
    const int64_t i = start + k * step;
    memcpy(out, row && is_inside(own, 2, i) ? row + i * own->channels + channel : w->zeros,
           (size_t)depth);
  }
  return out;
}

static void point_copies(const void *context, int64_t group, int64_t row, int32_t rows,
                         uint8_t *scratch, const uint8_t **out_rows) {
  const windows *w = context;
  const conv_prepared *own = w->own;
  const int64_t terms = cpu_dots_terms(&own->shape), channel = group * own->shape.depth;
  place p = place_of(own, row);
  for (int32_t r = 0; r < rows; ++r, advance(own, &p)) {
    uint8_t *out = scratch + r * terms;
    out_rows[r] = out;
    for (int64_t kd = 0; kd < own->slide.window.kernel[0]; ++kd)
      for (int64_t kh = 0; kh < own->slide.window.kernel[1]; ++kh)
        out = copy_row(w, input_row(w, &p, kd, kh), cpu_slide_start(&own->slide, 2, p.at[2]),
                       channel, out);
    memset(out, 0, (size_t)(scratch + (r + 1) * terms - out));
  }
}

// ---- Execute --------------------------------------------------------------------------------

static int64_t count_of(const ops_execute_request *request, uint64_t input) {
  const ops_tensor *tensor = cpu_in(request, input);
  return tensor ? cpu_product(tensor->dims, 0, tensor->rank) : 0;
}

static const void *weights_of(const conv_kernel *own, const conv_prepared *mine,
                              const ops_execute_request *request, char *workspace) {
  const ops_tensor *w = cpu_in(request, own->at->w);
  cpu_dots_shape shape;
  cpu_dots_strides strides;
  if (own->weights.memory) return own->weights.memory;
  describe_weights(own->groups, w->dims, w->rank, &shape, &strides);
  cpu_dots_pack(own->base.device, &shape, &strides, ops_tensor_data(w), w->type,
                workspace + mine->packed_at);
  return workspace + mine->packed_at;
}

static cpu_dots_quantities read_quantities(const conv_kernel *own, const conv_prepared *mine,
                                           const ops_execute_request *request) {
  const arguments *at = own->at;
  const ops_tensor *x = cpu_in(request, at->x);
  return (cpu_dots_quantities){.a_scale = cpu_quantized_scale(request, at->x_scale, 1),
                               .a_zero = cpu_quantized_zero(request, at->x_zero),
                               .a_type = x->type,
                               .b_scale = cpu_in_data(request, at->w_scale),
                               .b_scales = count_of(request, at->w_scale),
                               .b_zero = cpu_in_data(request, at->w_zero),
                               .b_zeros = count_of(request, at->w_zero),
                               .b_type = cpu_in(request, at->w)->type,
                               .bias = cpu_in_data(request, at->bias),
                               .alpha = 1,
                               .y_scale = cpu_quantized_scale(request, at->y_scale, 1),
                               .y_zero = cpu_quantized_zero(request, at->y_zero),
                               .y_type = mine->y_type};
}

static const uint8_t *source_of(const conv_prepared *mine, const ops_execute_request *request,
                                uint64_t input, char *workspace) {
  const uint8_t *x = cpu_in_data(request, input);
  if (mine->source_last) return x;
  cpu_flip_images(mine->base.kernel->device, 1, x, workspace + mine->x_at, mine->batch,
                  mine->channels, mine->in_pixels);
  return (const uint8_t *)workspace + mine->x_at;
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const conv_prepared *mine = (const conv_prepared *)prepared;
  const conv_kernel *own = (const conv_kernel *)prepared->kernel;
  const ops_device *device = own->base.device;
  const int64_t filters = mine->shape.groups * mine->shape.columns;
  char *workspace = cpu_workspace(request), *y = cpu_out_data(request, 0);
  (void)error;
  if (mine->batch * mine->pixels * filters == 0) return OPS_OK;
  const cpu_dots_quantities q = read_quantities(own, mine, request);
  const windows windows = {mine, source_of(mine, request, own->at->x, workspace),
                           (uint8_t *)workspace + mine->zeros_at};
  memset(workspace + mine->zeros_at, q.a_zero, (size_t)mine->channels);
  cpu_dots_product product = {
      .shape = mine->shape,
      .rows = mine->batch * mine->pixels,
      .direct_taps = mine->direct_taps,
      .packed = weights_of(own, mine, request, workspace),
      .flip = q.a_type == OPS_TYPE_INT8 ? 0x80 : 0,
      .point = mine->shape.depth % CPU_DOTS_STEP == 0 && mine->shape.depth > 0 ? point_direct
                                                                               : point_copies,
      .context = &windows,
      .workspace = workspace + mine->scratch_at};
  cpu_dots_fill(&mine->shape, &q, product.packed, workspace + mine->tables_at, &product.result);
  product.result.y = mine->target_last ? y : workspace + mine->y_at;
  cpu_dots_run(device, &product);
  if (!mine->target_last)
    cpu_flip_images(device, cpu_type_size(mine->y_type), workspace + mine->y_at, y, mine->batch,
                    mine->pixels, filters);
  return OPS_OK;
}

const cpu_op cpu_conv_integer_op = {.kernel_size = sizeof(conv_kernel),
                                    .prepared_size = sizeof(conv_prepared),
                                    .claim = claim,
                                    .create = create,
                                    .destroy = destroy,
                                    .layouts = layouts,
                                    .prepare = prepare,
                                    .execute = execute};

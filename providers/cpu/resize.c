// SPDX-License-Identifier: Apache-2.0
//
// Resize and Upsample: nearest for every type, linear and cubic for float.
//
// An output row is made in two steps. The taps of all outer resized axes are combined into one
// weighted sum of input rows, in double; then the last axis, if it is resized, picks from that
// row. Rows are as long as possible: trailing axes that keep their size are one row.
#include <math.h>
#include <string.h>

#include "axes.h"
#include "ops_table.h"
#include "resize_axis.h"
#include "vec.h"

#define MAX_AXES 5
#define MAX_ROWS 256  // CPU_RESIZE_TAPS ^ (MAX_AXES - 1)

typedef struct resize_kernel {
  ops_kernel base;
  cpu_resize_mode mode;
  cpu_list axes;
  int32_t policy;  // 0 stretch, 1 not_larger, 2 not_smaller
  int32_t scales_input, sizes_input;
  int32_t scale_count;  // of the attributes of Upsample 1 and 7
  float scales[MAX_AXES];
} resize_kernel;

typedef struct resize_prepared {
  ops_prepared base;
  int32_t rank;  // axes, the row not counted
  int32_t taps;
  int64_t size;  // of an element
  int64_t row;   // elements that are copied together behind the axes
  int64_t in[MAX_AXES], out[MAX_AXES];
  int64_t strides[MAX_AXES];   // of the input, in elements
  int32_t same[MAX_AXES];      // the axis keeps every element in its place
  int64_t *indices[MAX_AXES];  // taps per output element
  double *weights[MAX_AXES];
  int64_t scratch_stride;  // bytes of one worker's row
} resize_prepared;

static const char *const kPolicies[] = {"stretch", "not_larger", "not_smaller"};

static int32_t policy_of(const ops_node *node) {
  const ops_str text =
      ops_node_string(node, "keep_aspect_ratio_policy", (ops_str)OPS_STR("stretch"));
  for (int32_t i = 0; i < 3; ++i)
    if (ops_str_equal(text, kPolicies[i])) return i;
  return -1;
}

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  const int32_t rank = cpu_node_rank(node, 0);
  const ops_operand *x = ops_node_input(node, 0);
  cpu_resize_mode mode;
  (void)def;
  cpu_resize_read(node, &mode, out_claim);
  cpu_list_claim(node, "axes", out_claim);
  if (policy_of(node) < 0)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "unknown keep_aspect_ratio_policy");
  if (rank < 1 || rank > MAX_AXES)
    cpu_refuse(out_claim, OPS_REASON_SHAPE, "the rank must be known and 1 to %d, found %d",
               MAX_AXES, rank);
  if (mode.mode != CPU_RESIZE_NEAREST && x && x->type->type != OPS_TYPE_FLOAT)
    cpu_refuse(out_claim, OPS_REASON_TYPE, "linear and cubic are for float, found %s",
               ops_type_name(x->type->type));
}

// Upsample 1: the last two of four dimensions.
static void read_plane_scales(const ops_node *node, resize_kernel *own) {
  own->scale_count = 4;
  own->scales[0] = own->scales[1] = 1;
  own->scales[2] = ops_node_float(node, "height_scale", 0);
  own->scales[3] = ops_node_float(node, "width_scale", 0);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  resize_kernel *own = (resize_kernel *)kernel;
  uint64_t count;
  (void)error;
  cpu_resize_read(node, &own->mode, NULL);
  cpu_list_read(node, "axes", &own->axes);
  own->policy = policy_of(node);
  const int upsample = ops_str_equal(kernel->def->op, "Upsample");
  const int early = node->opset < 11 || upsample;
  own->scales_input = early ? 1 : 2;
  own->sizes_input = early ? -1 : 3;
  if (node->opset < 7) {
    read_plane_scales(node, own);
    return OPS_OK;
  }
  const float *scales = ops_node_floats(node, "scales", &count);
  own->scale_count = count > MAX_AXES ? MAX_AXES : (int32_t)count;
  for (int32_t i = 0; i < own->scale_count; ++i) own->scales[i] = scales[i];
  return OPS_OK;
}

// ---- Sizes ----------------------------------------------------------------------------------

// Contents of the scales input, or the attribute; *out_count is 0 if there are none.
static int32_t read_scales(const resize_kernel *kernel, const ops_prepare_request *request,
                           double *out_scales, int32_t *out_count, ops_error *error) {
  const ops_operand *operand = ops_request_input(request, (uint64_t)kernel->scales_input);
  const ops_tensor *tensor = ops_operand_contents(operand);
  *out_count = kernel->scale_count;
  for (int32_t i = 0; i < kernel->scale_count; ++i) out_scales[i] = (double)kernel->scales[i];
  if (!operand || kernel->scale_count > 0) return OPS_OK;
  if (!tensor || tensor->type != OPS_TYPE_FLOAT || tensor->rank != 1 ||
      tensor->dims[0] > MAX_AXES)
    return cpu_invalid(&kernel->base, error,
                       "scales must be known when shapes are, a float vector of at most %d "
                       "elements",
                       MAX_AXES);
  *out_count = (int32_t)tensor->dims[0];
  for (int32_t i = 0; i < *out_count; ++i)
    out_scales[i] = (double)((const float *)ops_tensor_data(tensor))[i];
  return OPS_OK;
}

static int32_t apply_scales(const resize_kernel *kernel, const int32_t *axes,
                            const double *scales, int32_t count, cpu_resize_axis *all,
                            ops_error *error) {
  for (int32_t i = 0; i < count; ++i) {
    cpu_resize_axis *axis = &all[axes[i]];
    axis->scale = scales[i];
    axis->length = (double)axis->in * scales[i];
    if (!(scales[i] > 0) || !(axis->length < 0x1p62))
      return cpu_invalid(&kernel->base, error, "scales[%d] is %g", i, scales[i]);
    axis->out = (int64_t)floor(axis->length);
  }
  return OPS_OK;
}

static int32_t apply_sizes(const resize_kernel *kernel, const int32_t *axes,
                           const int64_t *sizes, int32_t count, cpu_resize_axis *all,
                           ops_error *error) {
  double common = kernel->policy == 1 ? INFINITY : 0;
  for (int32_t i = 0; i < count; ++i) {
    cpu_resize_axis *axis = &all[axes[i]];
    if (sizes[i] < 0 || (sizes[i] > 0 && axis->in == 0))
      return cpu_invalid(&kernel->base, error, "sizes[%d] is %lld for %lld elements", i,
                         (long long)sizes[i], (long long)axis->in);
    axis->out = sizes[i];
    axis->scale = axis->in > 0 ? (double)sizes[i] / (double)axis->in : 1;
    if (kernel->policy == 1 ? axis->scale < common : axis->scale > common) common = axis->scale;
  }
  for (int32_t i = 0; i < count; ++i) {
    cpu_resize_axis *axis = &all[axes[i]];
    if (kernel->policy != 0) {
      axis->scale = common;
      axis->out = (int64_t)floor(common * (double)axis->in + 0.5);
    }
    axis->length = kernel->policy != 0 ? common * (double)axis->in : (double)axis->out;
  }
  return OPS_OK;
}

static int32_t read_axes(const resize_kernel *kernel, int32_t rank, int32_t *out_axes,
                         int32_t *out_count, ops_error *error) {
  uint8_t marked[OPS_MAX_RANK];
  *out_count = kernel->axes.count < 0 ? rank : kernel->axes.count;
  for (int32_t i = 0; i < rank; ++i) out_axes[i] = i;
  if (kernel->axes.count < 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(cpu_list_mark_axes(&kernel->base, &kernel->axes, rank, marked, error));
  for (int32_t i = 0; i < *out_count; ++i)
    OPS_RETURN_IF_ERROR(
        cpu_axis(&kernel->base, kernel->axes.values[i], rank, &out_axes[i], error));
  return OPS_OK;
}

// Fills every axis of the tensor.
static int32_t read_shape(const resize_kernel *kernel, const ops_prepare_request *request,
                          const cpu_shape *x, cpu_resize_axis *out_axes, ops_error *error) {
  int32_t axes[OPS_MAX_RANK], count, scale_count;
  double scales[MAX_AXES];
  cpu_list sizes = {.count = -1};
  OPS_RETURN_IF_ERROR(read_axes(kernel, x->rank, axes, &count, error));
  OPS_RETURN_IF_ERROR(read_scales(kernel, request, scales, &scale_count, error));
  if (kernel->sizes_input >= 0)
    OPS_RETURN_IF_ERROR(cpu_ints(&kernel->base, request, kernel->sizes_input, sizes.values,
                                 &sizes.count, error));
  for (int32_t i = 0; i < x->rank; ++i)
    out_axes[i] = (cpu_resize_axis){x->dims[i], x->dims[i], 1, (double)x->dims[i]};
  if (scale_count == count) return apply_scales(kernel, axes, scales, count, out_axes, error);
  if (scale_count == 0 && sizes.count == count)
    return apply_sizes(kernel, axes, sizes.values, count, out_axes, error);
  return cpu_invalid(&kernel->base, error,
                     "exactly one of scales and sizes must have %d elements, found %d and %d",
                     count, scale_count, sizes.count < 0 ? 0 : sizes.count);
}

// ---- Tables ---------------------------------------------------------------------------------

static int32_t is_same(const cpu_resize_axis *axis, const int64_t *indices,
                       const double *weights, int32_t taps) {
  if (axis->in != axis->out) return 0;
  for (int64_t o = 0; o < axis->out; ++o)
    for (int32_t k = 0; k < taps; ++k)
      if (weights[o * taps + k] != 0 && indices[o * taps + k] != o) return 0;
  return 1;
}

static int32_t fill_tables(const resize_kernel *kernel, const cpu_resize_axis *axes,
                           int32_t rank, resize_prepared *own, ops_error *error) {
  const ops_device *device = kernel->base.device;
  own->taps = cpu_resize_taps(&kernel->mode);
  for (int32_t i = 0; i < rank; ++i) {
    const uint64_t entries = (uint64_t)axes[i].out * (uint64_t)own->taps;
    own->indices[i] = cpu_alloc(device, entries * sizeof **own->indices);
    own->weights[i] = cpu_alloc(device, entries * sizeof **own->weights);
    if (!own->indices[i] || !own->weights[i])
      return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for weight tables");
    cpu_resize_fill(&kernel->mode, &axes[i], own->indices[i], own->weights[i]);
    own->same[i] = is_same(&axes[i], own->indices[i], own->weights[i], own->taps);
  }
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const resize_kernel *resize = (resize_kernel *)kernel;
  resize_prepared *own = (resize_prepared *)prepared;
  cpu_resize_axis axes[MAX_AXES];
  cpu_shape x, y;
  cpu_input_shape(request, 0, &x);
  const int32_t type = cpu_input_type(request, 0);
  if (x.rank < 1 || x.rank > MAX_AXES)
    return cpu_invalid(kernel, error, "the rank must be 1 to %d, found %d", MAX_AXES, x.rank);
  OPS_RETURN_IF_ERROR(read_shape(resize, request, &x, axes, error));
  y.rank = x.rank;
  for (int32_t i = 0; i < x.rank; ++i) y.dims[i] = axes[i].out;
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, type, &y, error));
  own->size = cpu_type_size(type);
  own->rank = x.rank;
  own->row = 1;
  if (cpu_count(&y) == 0) return OPS_OK;
  OPS_RETURN_IF_ERROR(fill_tables(resize, axes, x.rank, own, error));
  ops_strides_contiguous(x.rank, x.dims, own->strides);
  for (int32_t i = 0; i < x.rank; ++i) {
    own->in[i] = axes[i].in;
    own->out[i] = axes[i].out;
  }
  while (own->rank > 0 && own->same[own->rank - 1]) own->row *= own->in[--own->rank];
  if (own->row == 1 && own->rank > 0 && resize->mode.mode != CPU_RESIZE_NEAREST) {
    const uint64_t bytes = (uint64_t)own->in[own->rank - 1] * sizeof(double);
    own->scratch_stride = (int64_t)((bytes + 63) / 64 * 64);
    reply->workspace_size = (uint64_t)own->scratch_stride *
                            (uint64_t)kernel->device->api->worker_count(kernel->device->host);
    reply->workspace_alignment = 64;
  }
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  const resize_prepared *own = (resize_prepared *)prepared;
  for (int32_t i = 0; i < MAX_AXES; ++i) {
    cpu_free(prepared->kernel->device, own->indices[i]);
    cpu_free(prepared->kernel->device, own->weights[i]);
  }
}

// ---- Running --------------------------------------------------------------------------------

typedef struct run {
  const resize_prepared *own;
  const cpu_vec *vec;
  const char *x;
  char *y;
  char *scratch;
} run;

// The input rows of one output row, over the first `axes` axes. Returns how many.
static int32_t find_rows(const run *run, int64_t index, int32_t axes, const float **rows,
                         double *weights) {
  const resize_prepared *own = run->own;
  int32_t count = 1;
  rows[0] = (const float *)run->x;
  weights[0] = 1;
  for (int32_t d = axes - 1; d >= 0; --d) {
    const int64_t o = index % own->out[d];
    index /= own->out[d];
    const int32_t before = count;
    const int32_t taps = own->same[d] ? 1 : own->taps;
    const int64_t *indices = own->indices[d] + o * own->taps;
    for (int32_t k = taps - 1; k >= 0; --k) {
      const int64_t offset = (own->same[d] ? o : indices[k]) * own->strides[d];
      const double weight = own->same[d] ? 1 : own->weights[d][o * own->taps + k];
      for (int32_t i = 0; i < before; ++i) {
        rows[k * before + i] = rows[i] + offset;
        weights[k * before + i] = weights[i] * weight;
      }
    }
    count = before * taps;
  }
  return count;
}

// Rows behind the axes: no resizing within a row.
static void run_rows(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const resize_prepared *own = run->own;
  const float *rows[MAX_ROWS * CPU_RESIZE_TAPS];
  double weights[MAX_ROWS * CPU_RESIZE_TAPS];
  (void)worker;
  for (int64_t index = begin; index < end; ++index) {
    const int32_t count = find_rows(run, index, own->rank, rows, weights);
    run->vec->blend_round((float *)run->y + index * own->row, rows, weights, count, own->row);
  }
}

// The last axis is resized: an output row is picked from a blended input row.
static void run_last(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const resize_prepared *own = run->own;
  const int32_t last = own->rank - 1, taps = own->taps;
  const float *rows[MAX_ROWS];
  double weights[MAX_ROWS];
  double *blended = (double *)(run->scratch + worker * own->scratch_stride);
  for (int64_t index = begin; index < end; ++index) {
    const int32_t count = find_rows(run, index, last, rows, weights);
    run->vec->blend(blended, rows, weights, count, own->in[last]);
    float *y = (float *)run->y + index * own->out[last];
    const int64_t *indices = own->indices[last];
    const double *w = own->weights[last];
    for (int64_t o = 0; o < own->out[last]; ++o, indices += taps, w += taps) {
      double sum = 0;
      for (int32_t k = 0; k < taps; ++k) sum += w[k] * blended[indices[k]];
      y[o] = (float)sum;
    }
  }
}

#define PICK_CASE(bytes)                                        \
  case bytes:                                                   \
    for (int64_t o = 0; o < count; ++o)                         \
      memcpy(y + o * (bytes), x + indices[o] * (bytes), bytes); \
    break

static void pick(int64_t size, char *y, const char *x, const int64_t *indices, int64_t count) {
  switch (size) {
    PICK_CASE(1);
    PICK_CASE(2);
    PICK_CASE(4);
    PICK_CASE(8);
    default:
      for (int64_t o = 0; o < count; ++o)
        memcpy(y + o * size, x + indices[o] * size, (size_t)size);
  }
}

// Nearest: whole rows are copied, or elements of the last axis picked.
static void run_nearest(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const resize_prepared *own = run->own;
  const int within = own->row == 1 && own->rank > 0;
  const int32_t axes = within ? own->rank - 1 : own->rank;
  (void)worker;
  for (int64_t index = begin; index < end; ++index) {
    int64_t rest = index, offset = 0;
    for (int32_t d = axes - 1; d >= 0; --d) {
      offset += own->indices[d][rest % own->out[d]] * own->strides[d];
      rest /= own->out[d];
    }
    const char *x = run->x + offset * own->size;
    const int64_t length = within ? own->out[axes] : own->row;
    char *y = run->y + index * length * own->size;
    if (within)
      pick(own->size, y, x, own->indices[axes], length);
    else
      memcpy(y, x, (size_t)(length * own->size));
  }
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const resize_prepared *own = (const resize_prepared *)prepared;
  const int nearest =
      ((const resize_kernel *)prepared->kernel)->mode.mode == CPU_RESIZE_NEAREST;
  const ops_device *device = prepared->kernel->device;
  run run = {own, device->vec, cpu_in_data(request, 0), cpu_out_data(request, 0),
             cpu_workspace(request)};
  const int within = own->row == 1 && own->rank > 0;
  const int32_t axes = within ? own->rank - 1 : own->rank;
  (void)error;
  if (!own->taps) return OPS_OK;
  const int64_t length = within ? own->out[axes] : own->row;
  cpu_parallel(device, cpu_product(own->out, 0, axes),
               cpu_grain(length * own->taps * own->taps),
               nearest  ? run_nearest
               : within ? run_last
                        : run_rows,
               &run);
  return OPS_OK;
}

const cpu_op cpu_resize_op = {.kernel_size = sizeof(resize_kernel),
                              .prepared_size = sizeof(resize_prepared),
                              .claim = claim,
                              .create = create,
                              .prepare = prepare,
                              .prepared_destroy = prepared_destroy,
                              .execute = execute};

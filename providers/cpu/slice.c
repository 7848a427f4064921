// SPDX-License-Identifier: Apache-2.0
//
// Slice: bounds from attributes (opset 1) or inputs (opset 10), steps of either sign.
#include "axes.h"
#include "nd.h"
#include "ops_table.h"

typedef struct slice_kernel {
  ops_kernel base;
  cpu_list starts, ends, axes;
} slice_kernel;

typedef struct slice_prepared {
  ops_prepared base;
  cpu_nd nd;  // Y, X
  int64_t size;
  int64_t offset;  // of the first element, in bytes
} slice_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  cpu_list_claim(node, "starts", out_claim);
  cpu_list_claim(node, "ends", out_claim);
  cpu_list_claim(node, "axes", out_claim);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  slice_kernel *slice = (slice_kernel *)kernel;
  (void)error;
  cpu_list_read(node, "starts", &slice->starts);
  cpu_list_read(node, "ends", &slice->ends);
  cpu_list_read(node, "axes", &slice->axes);
  return OPS_OK;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

// Bounds of one axis, as ONNX resolves them (numpy differs in a start far below 0 with a
// negative step: there nothing is visited, here element 0). Returns the number of elements.
static int64_t resolve(int64_t dim, int64_t start, int64_t end, int64_t step,
                       int64_t *out_start) {
  if (start < 0) start = start < -dim ? -1 : start + dim;
  if (end < 0) end = end < -dim ? -1 : end + dim;
  if (dim == 0) return 0;
  if (step > 0) {
    start = clamp(start, 0, dim);
    end = clamp(end, 0, dim);
    *out_start = start;
    return end > start ? (end - start - 1) / step + 1 : 0;
  }
  start = clamp(start, 0, dim - 1);
  end = clamp(end, -1, dim - 1);
  *out_start = start;
  if (start <= end) return 0;
  // A step below -dim visits one element only; this also keeps INT64_MIN from overflowing.
  return step < -dim ? 1 : (start - end - 1) / -step + 1;
}

typedef struct bounds {
  cpu_list starts, ends, axes, steps;
} bounds;

static int32_t read_bounds(const slice_kernel *slice, const ops_prepare_request *request,
                           int32_t rank, bounds *out, ops_error *error) {
  const ops_kernel *kernel = &slice->base;
  OPS_RETURN_IF_ERROR(
      cpu_list_resolve(kernel, &slice->starts, request, 1, &out->starts, error));
  OPS_RETURN_IF_ERROR(cpu_list_resolve(kernel, &slice->ends, request, 2, &out->ends, error));
  OPS_RETURN_IF_ERROR(cpu_list_resolve(kernel, &slice->axes, request, 3, &out->axes, error));
  OPS_RETURN_IF_ERROR(
      cpu_ints(kernel, request, 4, out->steps.values, &out->steps.count, error));
  const int32_t count = out->starts.count;
  if (out->axes.count < 0) {
    out->axes.count = count;
    for (int32_t i = 0; i < count; ++i) out->axes.values[i] = i;
  }
  if (out->steps.count < 0) {
    out->steps.count = count;
    for (int32_t i = 0; i < count; ++i) out->steps.values[i] = 1;
  }
  if (count < 0 || out->ends.count != count || out->axes.count != count ||
      out->steps.count != count || count > rank)
    return cpu_invalid(kernel, error,
                       "starts, ends, axes and steps must be of one length, at most %d; found "
                       "%d, %d, %d, %d",
                       rank, count, out->ends.count, out->axes.count, out->steps.count);
  for (int32_t i = 0; i < count; ++i)
    if (out->steps.values[i] == 0) return cpu_invalid(kernel, error, "steps[%d] is 0", i);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  slice_prepared *own = (slice_prepared *)prepared;
  cpu_shape x, y;
  bounds b;
  uint8_t marked[OPS_MAX_RANK];
  int64_t strides[OPS_MAX_RANK];
  cpu_input_shape(request, 0, &x);
  const int32_t type = cpu_input_type(request, 0);
  OPS_RETURN_IF_ERROR(read_bounds((slice_kernel *)kernel, request, x.rank, &b, error));
  OPS_RETURN_IF_ERROR(cpu_list_mark_axes(kernel, &b.axes, x.rank, marked, error));
  ops_strides_contiguous(x.rank, x.dims, strides);
  own->size = cpu_type_size(type);
  y = x;
  for (int32_t i = 0; i < b.axes.count; ++i) {
    int32_t axis;
    int64_t start;
    OPS_RETURN_IF_ERROR(cpu_axis(kernel, b.axes.values[i], x.rank, &axis, error));
    y.dims[axis] =
        resolve(x.dims[axis], b.starts.values[i], b.ends.values[i], b.steps.values[i], &start);
    if (y.dims[axis] == 0) continue;
    own->offset += start * strides[axis] * own->size;
    strides[axis] = y.dims[axis] > 1 ? strides[axis] * b.steps.values[i] : 0;
  }
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, type, &y, error));
  cpu_nd_init(&own->nd, &y);
  cpu_nd_add_broadcast(&own->nd, &y, own->size);
  cpu_nd_add(&own->nd, strides, own->size);
  cpu_nd_finish(&own->nd);
  return OPS_OK;
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const slice_prepared *own = (const slice_prepared *)prepared;
  (void)error;
  if (own->nd.count > 0)
    cpu_nd_copy(prepared->kernel->device, &own->nd, cpu_out_data(request, 0),
                (const char *)cpu_in_data(request, 0) + own->offset, own->size);
  return OPS_OK;
}

const cpu_op cpu_slice_op = {.kernel_size = sizeof(slice_kernel),
                             .prepared_size = sizeof(slice_prepared),
                             .claim = claim,
                             .create = create,
                             .prepare = prepare,
                             .execute = execute};

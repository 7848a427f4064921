// SPDX-License-Identifier: Apache-2.0
//
// QuantizeLinear and DequantizeLinear between float and integers. Scale and zero point are one
// number, one for each position of an axis, or one for each block along it. A tensor is walked
// in runs in which they either stay or advance with the elements.
#include <string.h>

#include "channels_last.h"
#include "ops_table.h"
#include "quantized.h"
#include "vec.h"

enum { X, SCALE, ZERO };

typedef struct quantize_kernel {
  ops_kernel base;
  int64_t axis, block;
  int32_t type;  // output_dtype; 0: that of the zero point
  int32_t quantizes;
} quantize_kernel;

typedef struct quantize_prepared {
  ops_prepared base;
  int64_t count;
  int64_t axis_dim, inner, blocks;  // blocks: parameters along the axis
  int64_t block;                    // positions of the axis that share one
  int32_t single;                   // 1: one parameter for all
  int32_t type;                     // of the integers
} quantize_prepared;

// ---- Claim ----------------------------------------------------------------------------------

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  const int64_t type = ops_node_int(node, "output_dtype", 0);
  const int64_t precision = ops_node_int(node, "precision", 0);
  const int quantizes = ops_str_equal(def->op, "QuantizeLinear");
  const int is_integer = type == OPS_TYPE_INT8 || type == OPS_TYPE_UINT8 ||
                         type == OPS_TYPE_INT16 || type == OPS_TYPE_UINT16;
  if (type != 0 && !(quantizes ? is_integer : type == OPS_TYPE_FLOAT))
    cpu_refuse(out_claim, OPS_REASON_TYPE, "output_dtype %lld", (long long)type);
  if (precision != 0 && precision != OPS_TYPE_FLOAT)
    cpu_refuse(out_claim, OPS_REASON_TYPE, "precision must be float, found type %lld",
               (long long)precision);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  quantize_kernel *own = (quantize_kernel *)kernel;
  (void)error;
  own->axis = ops_node_int(node, "axis", 1);
  own->block = ops_node_int(node, "block_size", 0);
  own->type = (int32_t)ops_node_int(node, "output_dtype", 0);
  own->quantizes = ops_str_equal(kernel->def->op, "QuantizeLinear");
  return OPS_OK;
}

// ---- Prepare --------------------------------------------------------------------------------

static int has_zero(const ops_prepare_request *request) {
  return request->input_count > ZERO && ops_request_input(request, ZERO) != NULL;
}

static int same_shape(const cpu_shape *a, const cpu_shape *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static int32_t check_blocks(const ops_kernel *kernel, const cpu_shape *x,
                            const cpu_shape *scale, int32_t axis, int64_t block,
                            ops_error *error) {
  cpu_shape wanted = *x;
  if (block < 1) return cpu_invalid(kernel, error, "block_size must be at least 1");
  wanted.dims[axis] = (x->dims[axis] + block - 1) / block;
  if (same_shape(scale, &wanted)) return OPS_OK;
  return cpu_invalid(kernel, error, "the scale must have the shape of x, with %lld on axis %d",
                     (long long)wanted.dims[axis], axis);
}

static int32_t check_axis(const ops_kernel *kernel, const cpu_shape *x, const cpu_shape *scale,
                          int32_t axis, ops_error *error) {
  if (scale->rank == 1 && scale->dims[0] == x->dims[axis]) return OPS_OK;
  return cpu_invalid(kernel, error,
                     "the scale must be one number, or %lld for the positions of axis %d",
                     (long long)x->dims[axis], axis);
}

// With channels last the axis has moved.
static int32_t find_axis(const quantize_kernel *own, const ops_prepare_request *request,
                         int32_t rank, int32_t *out_axis, ops_error *error) {
  OPS_RETURN_IF_ERROR(cpu_axis(&own->base, own->axis, rank, out_axis, error));
  if (cpu_is_last(request, X) && *out_axis > 0)
    *out_axis = *out_axis == 1 ? rank - 1 : *out_axis - 1;
  return OPS_OK;
}

static int32_t read_form(const quantize_kernel *own, const ops_prepare_request *request,
                         const cpu_shape *x, quantize_prepared *prepared, ops_error *error) {
  cpu_shape scale, zero;
  int32_t axis;
  cpu_input_shape(request, SCALE, &scale);
  if (has_zero(request)) {
    cpu_input_shape(request, ZERO, &zero);
    if (!same_shape(&zero, &scale) && !(cpu_count(&zero) == 1 && cpu_count(&scale) == 1))
      return cpu_invalid(&own->base, error, "the zero point must have the shape of the scale");
  }
  prepared->single = own->block == 0 && cpu_count(&scale) == 1;
  if (prepared->single) return OPS_OK;
  OPS_RETURN_IF_ERROR(find_axis(own, request, x->rank, &axis, error));
  if (own->block != 0)
    OPS_RETURN_IF_ERROR(check_blocks(&own->base, x, &scale, axis, own->block, error));
  else
    OPS_RETURN_IF_ERROR(check_axis(&own->base, x, &scale, axis, error));
  prepared->axis_dim = x->dims[axis];
  prepared->inner = cpu_product(x->dims, axis + 1, x->rank);
  prepared->block = own->block ? own->block : 1;
  prepared->blocks = (prepared->axis_dim + prepared->block - 1) / prepared->block;
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const quantize_kernel *own = (quantize_kernel *)kernel;
  quantize_prepared *mine = (quantize_prepared *)prepared;
  cpu_shape x;
  cpu_input_shape(request, X, &x);
  mine->count = cpu_count(&x);
  if (!own->quantizes)
    mine->type = cpu_input_type(request, X);
  else if (has_zero(request))
    mine->type = cpu_input_type(request, ZERO);
  else
    mine->type = own->type ? own->type : OPS_TYPE_UINT8;
  OPS_RETURN_IF_ERROR(read_form(own, request, &x, mine, error));
  return cpu_set_output(kernel, reply, 0, own->quantizes ? mine->type : OPS_TYPE_FLOAT, &x,
                        error);
}

static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  ops_type_info integers = *ops_request_input(request, X)->type;
  if (((const quantize_kernel *)kernel)->quantizes) {
    const int32_t stated = ((const quantize_kernel *)kernel)->type;
    integers.type = has_zero(request) ? cpu_input_type(request, ZERO)
                    : stated          ? stated
                                      : OPS_TYPE_UINT8;
  }
  if (!cpu_may_be_last(&integers) || ((const quantize_kernel *)kernel)->block) return;
  cpu_layouts_add(layouts, CPU_LAST_FIRST, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 0);
}

// ---- Execute --------------------------------------------------------------------------------

typedef struct run {
  const quantize_prepared *own;
  const cpu_vec *vec;
  const char *x, *zero;
  char *y;
  const float *scale;
  int64_t zero_size;  // bytes of a zero point; 0: absent
  int32_t quantizes;
} run;

// `step`: 1 if the parameters advance with the elements.
static void convert(const run *run, int64_t begin, int64_t count, int64_t parameter,
                    int64_t step) {
  const int64_t size = cpu_type_size(run->own->type);
  const int64_t zero_step = run->zero_size ? step : 0;
  const char *zero = run->zero + parameter * run->zero_size;
  if (run->quantizes)
    run->vec->quantize[run->own->type]((const float *)(const void *)run->x + begin,
                                       run->y + begin * size, run->scale + parameter, zero,
                                       step, zero_step, count);
  else
    run->vec->dequantize[run->own->type](run->x + begin * size, (float *)(void *)run->y + begin,
                                         run->scale + parameter, zero, step, zero_step, count);
}

static void run_single(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  convert(context, begin, end - begin, 0, 0);
}

// Whole axes where nothing lies behind them and each position has its own parameter.
static void run_axes(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const int64_t dim = run->own->axis_dim;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) convert(run, i * dim, dim, 0, 1);
}

// Blocks along an axis behind which nothing lies.
static void run_blocks(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const quantize_prepared *own = run->own;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = i % own->blocks * own->block, left = own->axis_dim - first;
    convert(run, i / own->blocks * own->axis_dim + first, left < own->block ? left : own->block,
            i, 0);
  }
}

// One position of the axis: a parameter for all that lies behind it, or with blocks one each.
static void run_positions(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const quantize_prepared *own = run->own;
  const int blocked = ((const quantize_kernel *)own->base.kernel)->block != 0;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t outer = i / own->axis_dim, block = i % own->axis_dim / own->block;
    convert(run, i * own->inner, own->inner,
            blocked ? (outer * own->blocks + block) * own->inner : block, blocked);
  }
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  static const uint64_t nothing = 0;
  const quantize_prepared *own = (const quantize_prepared *)prepared;
  const quantize_kernel *kernel = (const quantize_kernel *)prepared->kernel;
  const ops_device *device = prepared->kernel->device;
  const ops_tensor *zero = cpu_in(request, ZERO);
  run run = {.own = own,
             .vec = device->vec,
             .x = cpu_in_data(request, X),
             .y = cpu_out_data(request, 0),
             .scale = cpu_in_data(request, SCALE),
             .zero = zero ? ops_tensor_data(zero) : (const char *)&nothing,
             .zero_size = zero ? cpu_type_size(zero->type) : 0,
             .quantizes = kernel->quantizes};
  (void)error;
  if (own->count == 0) return OPS_OK;
  if (own->single) {
    cpu_parallel(device, own->count, cpu_grain(1), run_single, &run);
  } else if (own->inner == 1 && kernel->block) {
    cpu_parallel(device, own->count / own->axis_dim * own->blocks, cpu_grain(own->block),
                 run_blocks, &run);
  } else if (own->inner == 1) {
    cpu_parallel(device, own->count / own->axis_dim, cpu_grain(own->axis_dim), run_axes, &run);
  } else {
    cpu_parallel(device, own->count / own->inner, cpu_grain(own->inner), run_positions, &run);
  }
  return OPS_OK;
}

const cpu_op cpu_quantize_op = {.kernel_size = sizeof(quantize_kernel),
                                .prepared_size = sizeof(quantize_prepared),
                                .claim = claim,
                                .create = create,
                                .layouts = layouts,
                                .sees_view = 1,
                                .prepare = prepare,
                                .execute = execute};

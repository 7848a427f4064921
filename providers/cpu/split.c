// SPDX-License-Identifier: Apache-2.0
//
// Split: sizes from an attribute (opset 2), an input (opset 13), or equal parts of which the
// last may be smaller (opset 18).
#include "axes.h"
#include "nd.h"
#include "ops_table.h"

typedef struct split_kernel {
  ops_kernel base;
  int64_t axis;
  const int64_t *sizes;  // NULL: no attribute
  int64_t num_outputs;   // -1: no attribute
} split_kernel;

typedef struct split_prepared {
  ops_prepared base;
  int64_t rows;
  int64_t row_bytes;      // of the input
  int64_t *output_bytes;  // per output: bytes of its part of a row
} split_prepared;

// The sizes are kept whatever their number: there may be many outputs.
static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  split_kernel *split = (split_kernel *)kernel;
  uint64_t count;
  const int64_t *sizes = ops_node_ints(node, "split", &count);
  split->axis = ops_node_int(node, "axis", 0);
  split->num_outputs = ops_node_int(node, "num_outputs", -1);
  if (!sizes) return OPS_OK;
  int64_t *copy = cpu_alloc(kernel->device, (uint64_t)kernel->output_count * sizeof *sizes);
  split->sizes = copy;
  if (!copy)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for %d sizes",
                         kernel->output_count);
  for (uint64_t i = 0; i < count && i < (uint64_t)kernel->output_count; ++i) copy[i] = sizes[i];
  return OPS_OK;
}

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  uint64_t count;
  (void)def;
  const int64_t *sizes = ops_node_ints(node, "split", &count);
  if (sizes && count != node->output_count)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "split has %llu values for %llu outputs",
               (unsigned long long)count, (unsigned long long)node->output_count);
}

static void destroy(ops_kernel *kernel) {
  cpu_free(kernel->device, (void *)((split_kernel *)kernel)->sizes);
}

// Equal parts. From opset 18 on their number is an attribute, and the last may be smaller.
static int32_t equal_sizes(const split_kernel *split, int64_t dim, int64_t *out_sizes,
                           ops_error *error) {
  const int32_t outputs = split->base.output_count;
  const int64_t part = (dim + outputs - 1) / outputs;
  if (split->base.opset >= 18 && split->num_outputs != outputs)
    return cpu_invalid(&split->base, error,
                       "neither split nor a num_outputs of %d is given, found %lld", outputs,
                       (long long)split->num_outputs);
  if (split->base.opset < 18 && dim % outputs != 0)
    return cpu_invalid(&split->base, error, "%lld elements do not divide into %d equal parts",
                       (long long)dim, outputs);
  for (int32_t i = 0; i < outputs; ++i) {
    const int64_t left = dim - part * i;
    out_sizes[i] = left < 0 ? 0 : left < part ? left : part;
  }
  return OPS_OK;
}

// Sizes along the axis.
static int32_t read_sizes(const split_kernel *split, const ops_prepare_request *request,
                          int64_t dim, int64_t *out_sizes, ops_error *error) {
  const int32_t outputs = split->base.output_count;
  const ops_operand *given = ops_request_input(request, 1);
  if (!split->sizes && !given) OPS_RETURN_IF_ERROR(equal_sizes(split, dim, out_sizes, error));
  for (int32_t i = 0; split->sizes && i < outputs; ++i) out_sizes[i] = split->sizes[i];
  if (given && ops_operand_ints(given, out_sizes, outputs) != outputs)
    return cpu_invalid(&split->base, error, "split must be known and have %d values", outputs);
  int64_t total = 0;
  for (int32_t i = 0; i < outputs; ++i) {
    if (out_sizes[i] < 0 || out_sizes[i] > dim - total)
      return cpu_invalid(&split->base, error, "sizes do not add up to %lld", (long long)dim);
    total += out_sizes[i];
  }
  if (total != dim)
    return cpu_invalid(&split->base, error, "sizes add up to %lld, expected %lld",
                       (long long)total, (long long)dim);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const split_kernel *split = (split_kernel *)kernel;
  split_prepared *own = (split_prepared *)prepared;
  cpu_shape x, y;
  int32_t axis;
  cpu_input_shape(request, 0, &x);
  const int32_t type = cpu_input_type(request, 0);
  OPS_RETURN_IF_ERROR(cpu_axis(kernel, split->axis, x.rank, &axis, error));
  own->output_bytes =
      cpu_alloc(kernel->device, (uint64_t)kernel->output_count * sizeof *own->output_bytes);
  if (!own->output_bytes)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for %d outputs",
                         kernel->output_count);
  OPS_RETURN_IF_ERROR(read_sizes(split, request, x.dims[axis], own->output_bytes, error));
  const int64_t inner = cpu_product(x.dims, axis + 1, x.rank) * cpu_type_size(type);
  y = x;
  for (int32_t i = 0; i < kernel->output_count; ++i) {
    y.dims[axis] = own->output_bytes[i];
    own->output_bytes[i] *= inner;
    OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, (uint64_t)i, type, &y, error));
  }
  own->rows = cpu_product(x.dims, 0, axis);
  own->row_bytes = x.dims[axis] * inner;
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  cpu_free(prepared->kernel->device, ((split_prepared *)prepared)->output_bytes);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const split_prepared *own = (const split_prepared *)prepared;
  const char *x = cpu_in_data(request, 0);
  (void)error;
  for (int32_t i = 0; i < prepared->kernel->output_count; ++i) {
    const int64_t bytes = own->output_bytes[i];
    char *y = cpu_out_data(request, (uint64_t)i);
    if (y)
      cpu_copy_rows(prepared->kernel->device, y, bytes, x, own->row_bytes, bytes, own->rows);
    x += bytes;
  }
  return OPS_OK;
}

const cpu_op cpu_split_op = {.kernel_size = sizeof(split_kernel),
                             .prepared_size = sizeof(split_prepared),
                             .claim = claim,
                             .create = create,
                             .destroy = destroy,
                             .prepare = prepare,
                             .prepared_destroy = prepared_destroy,
                             .execute = execute};

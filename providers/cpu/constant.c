// SPDX-License-Identifier: Apache-2.0
//
// Constant and ConstantOfShape: contents from an attribute.
#include <string.h>

#include "nd.h"
#include "ops_table.h"

typedef struct constant_kernel {
  ops_kernel base;
  int32_t of_shape;
  int32_t type;
  cpu_shape shape;   // of the attribute
  const void *data;  // a tensor attribute's, which outlives the kernel
  void *copy;        // of numbers given as attributes
  uint8_t zero[4];   // the default of ConstantOfShape, float
} constant_kernel;

typedef struct constant_prepared {
  ops_prepared base;
  int64_t count;
} constant_prepared;

static const struct {
  const char *name;
  int32_t kind;
  int32_t type;  // 0: the tensor's
  int32_t rank;
} kSources[] = {{"value", OPS_ATTRIBUTE_TENSOR, 0, 0},
                {"value_float", OPS_ATTRIBUTE_FLOAT, OPS_TYPE_FLOAT, 0},
                {"value_floats", OPS_ATTRIBUTE_FLOATS, OPS_TYPE_FLOAT, 1},
                {"value_int", OPS_ATTRIBUTE_INT, OPS_TYPE_INT64, 0},
                {"value_ints", OPS_ATTRIBUTE_INTS, OPS_TYPE_INT64, 1}};

static const ops_attribute *find_source(const ops_node *node, size_t *out_row) {
  for (size_t i = 0; i < sizeof kSources / sizeof *kSources; ++i) {
    const ops_attribute *attribute = ops_node_attribute(node, kSources[i].name);
    *out_row = i;
    if (attribute && attribute->kind == kSources[i].kind) return attribute;
  }
  return NULL;
}

// The dense tensor of whole bytes that an attribute carries, or NULL.
static const ops_tensor *tensor_of(const ops_attribute *attribute) {
  if (!attribute->constants || attribute->count != 1) return NULL;
  const ops_constant *constant = attribute->constants[0];
  if (constant->format != OPS_CONSTANT_DENSE || constant->dense.kind != OPS_ARG_TENSOR)
    return NULL;
  const ops_tensor *tensor = &constant->dense.tensor;
  const int whole = ops_type_bits(tensor->type) >= 8;
  return whole && ops_strides_are_contiguous(tensor->rank, tensor->dims, tensor->strides)
             ? tensor
             : NULL;
}

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  size_t row;
  const ops_attribute *source = find_source(node, &row);
  const int of_shape = ops_str_equal(def->op, "ConstantOfShape");
  if (!source && of_shape && !ops_node_attribute(node, "value")) return;
  if (!source || (of_shape && row != 0) || (row == 0 && !tensor_of(source)))
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE,
               "the value must be a dense tensor of a type of whole bytes, or numbers");
}

static int32_t read_numbers(constant_kernel *own, const ops_attribute *source, size_t row,
                            ops_error *error) {
  own->type = kSources[row].type;
  own->shape.rank = kSources[row].rank;
  own->shape.dims[0] = (int64_t)source->count;
  const uint64_t bytes = source->count * (uint64_t)cpu_type_size(own->type);
  if (bytes == 0) return OPS_OK;
  own->data = own->copy = cpu_alloc(own->base.device, bytes);
  if (!own->copy)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for a constant");
  memcpy(own->copy, own->type == OPS_TYPE_FLOAT ? (const void *)source->floats : source->ints,
         bytes);
  return OPS_OK;
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  constant_kernel *own = (constant_kernel *)kernel;
  size_t row;
  const ops_attribute *source = find_source(node, &row);
  own->of_shape = ops_str_equal(kernel->def->op, "ConstantOfShape");
  own->type = OPS_TYPE_FLOAT;
  own->data = own->zero;
  if (!own->of_shape && node->attribute_count != 1)
    return cpu_invalid(kernel, error, "expected exactly one attribute, found %llu",
                       (unsigned long long)node->attribute_count);
  if (!source) return OPS_OK;
  if (row != 0) return read_numbers(own, source, row, error);
  const ops_tensor *tensor = tensor_of(source);
  own->type = tensor->type;
  own->shape.rank = tensor->rank;
  if (tensor->rank > 0)
    memcpy(own->shape.dims, tensor->dims, (size_t)tensor->rank * sizeof *tensor->dims);
  own->data = ops_tensor_data(tensor);
  if (own->of_shape && cpu_count(&own->shape) != 1)
    return cpu_invalid(kernel, error, "value must have one element, found %lld",
                       (long long)cpu_count(&own->shape));
  return OPS_OK;
}

static void destroy(ops_kernel *kernel) {
  cpu_free(kernel->device, ((constant_kernel *)kernel)->copy);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const constant_kernel *own = (constant_kernel *)kernel;
  cpu_shape y = own->shape;
  if (own->of_shape) {
    OPS_RETURN_IF_ERROR(cpu_ints(kernel, request, 0, y.dims, &y.rank, error));
    for (int32_t i = 0; i < y.rank; ++i)
      if (y.dims[i] < 0)
        return cpu_invalid(kernel, error, "shape[%d] is %lld", i, (long long)y.dims[i]);
  }
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, own->type, &y, error));
  ((constant_prepared *)prepared)->count = cpu_count(&y);
  return OPS_OK;
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const constant_kernel *own = (const constant_kernel *)prepared->kernel;
  const int64_t count = ((const constant_prepared *)prepared)->count;
  const int64_t size = cpu_type_size(own->type);
  char *y = cpu_out_data(request, 0);
  (void)error;
  if (!own->of_shape && count > 0) memcpy(y, own->data, (size_t)(count * size));
  for (int64_t i = 0; own->of_shape && i < count; ++i)
    memcpy(y + i * size, own->data, (size_t)size);
  return OPS_OK;
}

const cpu_op cpu_constant_op = {.kernel_size = sizeof(constant_kernel),
                                .prepared_size = sizeof(constant_prepared),
                                .claim = claim,
                                .create = create,
                                .destroy = destroy,
                                .prepare = prepare,
                                .execute = execute};

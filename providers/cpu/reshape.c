// SPDX-License-Identifier: Apache-2.0
//
// Operators that keep every element in its place and change the shape alone: Reshape, Flatten,
// Squeeze, Unsqueeze, Identity, and Dropout as it is at inference.
#include <string.h>

#include "axes.h"
#include "nd.h"
#include "ops_table.h"

typedef struct reshape_kernel reshape_kernel;

typedef int32_t (*shape_fn)(const reshape_kernel *kernel, const ops_prepare_request *request,
                            const cpu_shape *x, cpu_shape *out_shape, ops_error *error);

struct reshape_kernel {
  ops_kernel base;
  shape_fn shape;
  cpu_list list;  // axes or shape
  int64_t axis;
  int32_t allow_zero;
};

typedef struct reshape_prepared {
  ops_prepared base;
  int64_t bytes;
  int64_t mask;  // bytes of Dropout's second output
} reshape_prepared;

static int32_t shape_same(const reshape_kernel *kernel, const ops_prepare_request *request,
                          const cpu_shape *x, cpu_shape *out_shape, ops_error *error) {
  (void)kernel, (void)request, (void)error;
  *out_shape = *x;
  return OPS_OK;
}

static int32_t shape_flatten(const reshape_kernel *kernel, const ops_prepare_request *request,
                             const cpu_shape *x, cpu_shape *out_shape, ops_error *error) {
  int64_t axis = kernel->axis;
  (void)request;
  if (axis < -x->rank || axis > x->rank)
    return cpu_invalid(&kernel->base, error, "axis must be in [%d, %d], found %lld", -x->rank,
                       x->rank, (long long)axis);
  if (axis < 0) axis += x->rank;
  out_shape->rank = 2;
  out_shape->dims[0] = cpu_product(x->dims, 0, (int32_t)axis);
  out_shape->dims[1] = cpu_product(x->dims, (int32_t)axis, x->rank);
  return OPS_OK;
}

static int32_t shape_squeeze(const reshape_kernel *kernel, const ops_prepare_request *request,
                             const cpu_shape *x, cpu_shape *out_shape, ops_error *error) {
  cpu_list axes;
  uint8_t marked[OPS_MAX_RANK];
  OPS_RETURN_IF_ERROR(cpu_list_resolve(&kernel->base, &kernel->list, request, 1, &axes, error));
  OPS_RETURN_IF_ERROR(cpu_list_mark_axes(&kernel->base, &axes, x->rank, marked, error));
  out_shape->rank = 0;
  for (int32_t i = 0; i < x->rank; ++i) {
    const int removed = axes.count < 0 ? x->dims[i] == 1 : marked[i];
    if (removed && x->dims[i] != 1)
      return cpu_invalid(&kernel->base, error, "axis %d has %lld elements, expected 1", i,
                         (long long)x->dims[i]);
    if (!removed) out_shape->dims[out_shape->rank++] = x->dims[i];
  }
  return OPS_OK;
}

static int32_t shape_unsqueeze(const reshape_kernel *kernel, const ops_prepare_request *request,
                               const cpu_shape *x, cpu_shape *out_shape, ops_error *error) {
  cpu_list axes;
  uint8_t marked[OPS_MAX_RANK];
  OPS_RETURN_IF_ERROR(cpu_list_resolve(&kernel->base, &kernel->list, request, 1, &axes, error));
  if (axes.count < 0) return cpu_invalid(&kernel->base, error, "axes are missing");
  out_shape->rank = x->rank + axes.count;
  if (out_shape->rank > OPS_MAX_RANK)
    return cpu_invalid(&kernel->base, error, "the output would have rank %d, at most %d",
                       out_shape->rank, OPS_MAX_RANK);
  OPS_RETURN_IF_ERROR(cpu_list_mark_axes(&kernel->base, &axes, out_shape->rank, marked, error));
  for (int32_t i = 0, k = 0; i < out_shape->rank; ++i)
    out_shape->dims[i] = marked[i] ? 1 : x->dims[k++];
  return OPS_OK;
}

// Replaces the one -1 by what remains of the elements.
static int32_t infer_dim(const reshape_kernel *kernel, int64_t count, int32_t unknown,
                         cpu_shape *shape, ops_error *error) {
  shape->dims[unknown] = 1;
  const int64_t rest = cpu_count(shape);
  if (rest == 0 || count % rest != 0)
    return cpu_invalid(&kernel->base, error,
                       "%lld elements do not divide into rows of %lld, so dimension %d cannot "
                       "be inferred",
                       (long long)count, (long long)rest, unknown);
  shape->dims[unknown] = count / rest;
  return OPS_OK;
}

static int32_t shape_reshape(const reshape_kernel *kernel, const ops_prepare_request *request,
                             const cpu_shape *x, cpu_shape *out_shape, ops_error *error) {
  int32_t unknown = -1;
  cpu_list target;
  OPS_RETURN_IF_ERROR(
      cpu_list_resolve(&kernel->base, &kernel->list, request, 1, &target, error));
  if (target.count < 0) return cpu_invalid(&kernel->base, error, "the shape is missing");
  out_shape->rank = target.count;
  memcpy(out_shape->dims, target.values, sizeof *target.values * (size_t)target.count);
  for (int32_t i = 0; i < out_shape->rank; ++i) {
    int64_t *dim = &out_shape->dims[i];
    if (*dim == 0 && !kernel->allow_zero) {
      if (i >= x->rank)
        return cpu_invalid(&kernel->base, error, "shape copies dimension %d of rank %d", i,
                           x->rank);
      *dim = x->dims[i];
    } else if (*dim == -1 && unknown < 0) {
      unknown = i;
    } else if (*dim < 0) {
      return cpu_invalid(&kernel->base, error, "shape[%d] is %lld; only one -1 is possible", i,
                         (long long)*dim);
    }
  }
  if (unknown >= 0)
    OPS_RETURN_IF_ERROR(infer_dim(kernel, cpu_count(x), unknown, out_shape, error));
  return OPS_OK;
}

static const struct {
  const char *op;
  shape_fn shape;
} kRows[] = {{"Identity", shape_same},   {"Dropout", shape_same},
             {"Flatten", shape_flatten}, {"Squeeze", shape_squeeze},
             {"Reshape", shape_reshape}, {"Unsqueeze", shape_unsqueeze}};

// A bool scalar that is known to be false, or absent.
static int known_false(const ops_operand *operand) {
  const ops_tensor *tensor = ops_operand_contents(operand);
  if (!operand) return 1;
  return tensor && tensor->type == OPS_TYPE_BOOL && ops_tensor_count(tensor) == 1 &&
         *(const uint8_t *)ops_tensor_data(tensor) == 0;
}

// The attribute that old opsets have: Reshape its shape, all others axes.
static const char *list_name(ops_str op) {
  return ops_str_equal(op, "Reshape") ? "shape" : "axes";
}

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  cpu_list_claim(node, list_name(node->op), out_claim);
  if (!ops_str_equal(def->op, "Dropout")) return;
  if (!known_false(ops_node_input(node, 2)))
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE,
               "training_mode must be absent or a constant false");
  if (node->opset < 7 && ops_node_int(node, "is_test", 0) == 0)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "is_test must be 1");
  if (node->opset < 12 && ops_node_output(node, 1))
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "the mask is supported from opset 12 on");
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  reshape_kernel *own = (reshape_kernel *)kernel;
  cpu_list_read(node, list_name(node->op), &own->list);
  own->axis = ops_node_int(node, "axis", 1);
  own->allow_zero = ops_node_int(node, "allowzero", 0) != 0;
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i)
    if (ops_str_equal(kernel->def->op, kRows[i].op)) own->shape = kRows[i].shape;
  if (!own->shape)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "cpu: no shape rule for %.*s",
                         OPS_STR_FMT(kernel->def->op));
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const reshape_kernel *own = (const reshape_kernel *)kernel;
  reshape_prepared *done = (reshape_prepared *)prepared;
  cpu_shape x, y;
  cpu_input_shape(request, 0, &x);
  const int32_t type = cpu_input_type(request, 0);
  OPS_RETURN_IF_ERROR(own->shape(own, request, &x, &y, error));
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, type, &y, error));
  if (cpu_count(&x) != cpu_count(&y))
    return cpu_invalid(kernel, error, "the input has %lld elements, the output shape %lld",
                       (long long)cpu_count(&x), (long long)cpu_count(&y));
  if (ops_str_equal(kernel->def->op, "Dropout") && ops_request_input(request, 1)) {
    cpu_shape ratio;
    cpu_input_shape(request, 1, &ratio);
    if (ratio.rank != 0)
      return cpu_invalid(kernel, error, "ratio must be a scalar, found rank %d", ratio.rank);
  }
  done->bytes = cpu_count(&x) * cpu_type_size(type);
  done->mask = cpu_count(&x);
  return kernel->output_count > 1 ? cpu_set_output(kernel, reply, 1, OPS_TYPE_BOOL, &y, error)
                                  : OPS_OK;
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const reshape_prepared *own = (const reshape_prepared *)prepared;
  const void *x = cpu_in_data(request, 0);
  void *y = cpu_out_data(request, 0), *mask = cpu_out_data(request, 1);
  (void)error;
  if (own->bytes > 0 && y && y != x) cpu_copy_bytes(prepared->kernel->device, y, x, own->bytes);
  if (own->mask > 0 && mask) memset(mask, 1, (size_t)own->mask);
  return OPS_OK;
}

const cpu_op cpu_reshape_op = {.kernel_size = sizeof(reshape_kernel),
                               .prepared_size = sizeof(reshape_prepared),
                               .claim = claim,
                               .create = create,
                               .prepare = prepare,
                               .execute = execute};

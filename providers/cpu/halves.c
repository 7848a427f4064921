// SPDX-License-Identifier: Apache-2.0
//
// Operators of float16 and bfloat16 by way of float: the inputs are widened, the operator's
// kernel of float runs, and its outputs are rounded once. So sums accumulate in float.
//
// Constant inputs are widened when the kernel is made, into memory that sessions share; all
// other tensors of float lie in the workspace. A row of definitions.c names this operator where
// another row has a kernel of float for the same operator and opset.
#include <ops_support/checked.h>
#include <stdio.h>
#include <string.h>

#include "half_block.h"
#include "ops_table.h"

// A constant input, widened.
typedef struct wide_constant {
  ops_constant view;
  ops_packed *packed;  // NULL: the input is none
} wide_constant;

typedef struct halves_kernel {
  ops_kernel base;
  ops_kernel *inner;
  wide_constant *constants;  // one for each input
} halves_kernel;

typedef struct halves_prepared {
  ops_prepared base;
  ops_prepared *inner;
  int32_t type;         // that outputs are rounded to
  uint64_t inner_size;  // of its workspace, at the beginning
  uint64_t arguments;   // where the inner kernel's arguments lie: inputs, then outputs
  uint64_t tensors;     // where the tensors of float lie
} halves_prepared;

static int same(ops_str a, ops_str b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static const ops_kernel_def *float_def(const ops_kernel_def *def, int32_t opset) {
  for (uint64_t i = 0; i < cpu_provider.kernel_count; ++i) {
    const ops_kernel_def *other =
        OPS_AT(ops_kernel_def, cpu_provider.kernels, cpu_provider.kernel_stride, i);
    if (other->context != &cpu_halves_op && same(other->domain, def->domain) &&
        same(other->op, def->op) && other->since <= opset &&
        (other->until == 0 || other->until >= opset) &&
        (other->inputs[0].types & OPS_TYPE_BIT(OPS_TYPE_FLOAT)) != 0)
      return other;
  }
  return NULL;
}

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  const ops_kernel_def *wide = float_def(def, node->opset);
  if (!wide)
    cpu_refuse(out_claim, OPS_REASON_TYPE, "no kernel of float in opset %d", node->opset);
  else if (((const cpu_op *)wide->context)->claim)
    ((const cpu_op *)wide->context)->claim(wide, node, out_claim);
}

// ---- Kernels --------------------------------------------------------------------------------

typedef struct wide_operand {
  ops_operand operand;
  ops_type_info type;
} wide_operand;

// An operand as the inner kernel sees it.
static void widen_operand(const ops_operand *from, const wide_constant *constant,
                          wide_operand *out) {
  out->operand = (ops_operand){.struct_size = sizeof out->operand, .value = -1};
  if (!from) return;
  out->operand = *from;
  if (!cpu_is_half(from->type->type)) return;
  out->type = *from->type;
  out->type.type = OPS_TYPE_FLOAT;
  out->operand.type = &out->type;
  out->operand.constant = constant->packed ? &constant->view : NULL;
}

static int32_t widen_constant(const ops_device *device, const ops_constant *from,
                              wide_constant *out, ops_error *error) {
  const ops_tensor *tensor = &from->dense.tensor;
  char name[32];
  const int length = snprintf(name, sizeof name, "widened/%d", tensor->type);
  int64_t count;
  void *memory;
  int32_t fill = 0;
  if (!ops_checked_count(from->dims, from->rank, &count) || count > INT64_MAX / 4)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: a constant is too large");
  const uint64_t bytes = (uint64_t)count * sizeof(float);
  OPS_RETURN_IF_ERROR(device->api->packed_acquire(
      device->host, from, (ops_str){name, (uint64_t)length}, OPS_MEMORY_HOST, bytes, 64,
      &out->packed, &memory, &fill, error));
  if (fill) {
    const void *halves;
    void *copy;
    const int32_t status = cpu_contents(device, from, &halves, &copy, error);
    if (status != OPS_OK) {
      device->api->packed_release(device->host, out->packed);
      out->packed = NULL;
      return status;
    }
    cpu_half_widen(device->vec, tensor->type, halves, sizeof(uint16_t), memory, count);
    cpu_free(device, copy);
    device->api->packed_commit(device->host, out->packed);
  }
  out->view = *from;
  out->view.dense.tensor.type = OPS_TYPE_FLOAT;
  out->view.dense.tensor.memory = memory;
  out->view.dense.tensor.byte_offset = 0;
  out->view.dense.tensor.byte_size = bytes;
  return OPS_OK;
}

static int32_t create_inner(halves_kernel *own, const ops_node *node, wide_operand *operands,
                            ops_error *error) {
  ops_device *device = own->base.device;
  for (uint64_t i = 0; i < node->input_count; ++i) {
    const ops_operand *operand = ops_node_input(node, i);
    if (operand && cpu_is_half(operand->type->type) && ops_operand_contents(operand))
      OPS_RETURN_IF_ERROR(widen_constant(device, operand->constant, &own->constants[i], error));
    widen_operand(operand, &own->constants[i], &operands[i]);
  }
  ops_node view = *node;
  view.inputs = &operands[0].operand;
  view.input_stride = sizeof *operands;
  return cpu_kernel_create(device, float_def(own->base.def, node->opset), &view, &own->inner,
                           error);
}

// Memory for the views of a call's inputs. NULL on exhaustion or without inputs.
static wide_operand *new_operands(const ops_kernel *kernel, ops_error *error) {
  wide_operand *operands =
      cpu_alloc(kernel->device, (uint64_t)kernel->input_count * sizeof *operands);
  if (!operands)
    ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for %d operands",
                  kernel->input_count);
  return operands;
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  halves_kernel *own = (halves_kernel *)kernel;
  own->constants = cpu_alloc(kernel->device, node->input_count * sizeof *own->constants);
  wide_operand *operands = own->constants ? new_operands(kernel, error) : NULL;
  if (!operands)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for %d operands",
                         kernel->input_count);
  const int32_t status = create_inner(own, node, operands, error);
  cpu_free(kernel->device, operands);
  return status;
}

static void destroy(ops_kernel *kernel) {
  halves_kernel *own = (halves_kernel *)kernel;
  const ops_device *device = kernel->device;
  cpu_kernel_destroy(own->inner);
  for (int32_t i = 0; own->constants && i < kernel->input_count; ++i)
    if (own->constants[i].packed)
      device->api->packed_release(device->host, own->constants[i].packed);
  cpu_free(device, own->constants);
}

// ---- Preparing ------------------------------------------------------------------------------

static int32_t reserve(uint64_t *total, uint64_t size, uint64_t *out_at, ops_error *error) {
  uint64_t end;
  if (!ops_checked_add(*total, size, &end) || !ops_checked_align(end, 64, &end))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: workspace too large");
  if (out_at) *out_at = *total;
  *total = end;
  return OPS_OK;
}

static int32_t reserve_tensor(uint64_t *total, int32_t rank, const int64_t *dims,
                              ops_error *error) {
  int64_t count;
  uint64_t bytes;
  if (!ops_checked_count(dims, rank, &count) ||
      !ops_checked_mul((uint64_t)count, sizeof(float), &bytes))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: workspace too large");
  return reserve(total, bytes, NULL, error);
}

static int is_rounded(const ops_kernel_def *def, uint64_t output) {
  return output < def->output_count &&
         (def->outputs[output].types & OPS_TYPE_BIT(OPS_TYPE_FLOAT16)) != 0;
}

// Whether an input is widened in each run.
static int is_widened(const halves_kernel *own, uint64_t input, int32_t type) {
  return cpu_is_half(type) && !own->constants[input].packed;
}

// Lays out what each run widens and rounds, and gives outputs the type that the host sees.
static int32_t lay_out(const halves_kernel *own, const ops_prepare_request *request,
                       halves_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  uint64_t total = 0;
  prepared->inner_size = reply->workspace_size;
  OPS_RETURN_IF_ERROR(reserve(&total, reply->workspace_size, NULL, error));
  OPS_RETURN_IF_ERROR(reserve(&total,
                              (request->input_count + reply->output_count) * sizeof(ops_arg),
                              &prepared->arguments, error));
  prepared->tensors = total;
  for (uint64_t i = 0; i < request->input_count; ++i) {
    const ops_operand *operand = ops_request_input(request, i);
    if (operand && is_widened(own, i, operand->type->type))
      OPS_RETURN_IF_ERROR(
          reserve_tensor(&total, operand->type->rank, operand->type->dims, error));
  }
  for (uint64_t i = 0; i < reply->output_count; ++i) {
    ops_output_info *info = cpu_reply_output(reply, i);
    if (!is_rounded(own->base.def, i)) continue;
    info->type = prepared->type;
    OPS_RETURN_IF_ERROR(reserve_tensor(&total, info->rank, info->dims, error));
  }
  reply->workspace_size = total;
  reply->workspace_alignment = 64;
  return OPS_OK;
}

// Of the originals of constants that are widened nothing is read any more.
static void state_unread(const halves_kernel *own, ops_prepare_reply *reply) {
  uint64_t unread = 0;
  for (int32_t i = 0; i < own->base.input_count && i < 64; ++i)
    if (own->constants[i].packed) unread |= (uint64_t)1 << i;
  ops_reply_set_unread(reply, unread);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  halves_kernel *own = (halves_kernel *)kernel;
  halves_prepared *mine = (halves_prepared *)prepared;
  wide_operand *operands = new_operands(kernel, error);
  if (!operands) return OPS_ERROR_OUT_OF_MEMORY;
  for (uint64_t i = 0; i < request->input_count; ++i)
    widen_operand(ops_request_input(request, i), &own->constants[i], &operands[i]);
  ops_prepare_request wide = *request;
  wide.inputs = &operands[0].operand;
  wide.input_stride = sizeof *operands;
  const int32_t status = cpu_kernel_prepare(own->inner, &wide, reply, error);
  cpu_free(kernel->device, operands);
  OPS_RETURN_IF_ERROR(status);
  mine->inner = reply->prepared;
  reply->prepared = NULL;
  mine->type = cpu_input_type(request, 0);
  state_unread(own, reply);
  return lay_out(own, request, mine, reply, error);
}

static void prepared_destroy(ops_prepared *prepared) {
  cpu_prepared_destroy(((halves_prepared *)prepared)->inner);
}

// ---- Running --------------------------------------------------------------------------------

typedef struct conversion {
  const cpu_vec *vec;
  int32_t type;
  char *halves;
  float *floats;
} conversion;

static void widen_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const conversion *c = context;
  (void)worker;
  cpu_half_widen(c->vec, c->type, c->halves + 2 * begin, 2, c->floats + begin, end - begin);
}

static void narrow_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const conversion *c = context;
  (void)worker;
  cpu_half_narrow(c->vec, c->type, c->floats + begin, c->halves + 2 * begin, end - begin);
}

static int64_t count_of(const ops_tensor *tensor) {
  return cpu_product(tensor->dims, 0, tensor->rank);
}

// The argument as a tensor of float at `memory`; returns the end of the tensor.
static char *as_float(const ops_arg *from, char *memory, ops_arg *out) {
  const uint64_t bytes = (uint64_t)count_of(&from->tensor) * sizeof(float);
  *out = *from;
  out->tensor.type = OPS_TYPE_FLOAT;
  out->tensor.memory = memory;
  out->tensor.byte_offset = 0;
  out->tensor.byte_size = bytes;
  return memory + (bytes + 63) / 64 * 64;
}

static void convert(const ops_device *device, const ops_arg *halves, const ops_arg *floats,
                    ops_parallel_body body) {
  conversion c = {device->vec, halves->tensor.type, ops_tensor_data(&halves->tensor),
                  ops_tensor_data(&floats->tensor)};
  cpu_parallel(device, count_of(&halves->tensor), cpu_grain(1), body, &c);
}

static char *widen_inputs(const halves_kernel *own, const ops_execute_request *request,
                          ops_arg *out, char *memory) {
  for (uint64_t i = 0; i < request->input_count; ++i) {
    const ops_arg *from = &request->inputs[i];
    const int half = from->kind == OPS_ARG_TENSOR && cpu_is_half(from->tensor.type);
    out[i] = half && own->constants[i].packed ? own->constants[i].view.dense : *from;
    if (!half || own->constants[i].packed) continue;
    memory = as_float(from, memory, &out[i]);
    convert(own->base.device, from, &out[i], widen_range);
  }
  return memory;
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const halves_prepared *mine = (const halves_prepared *)prepared;
  const halves_kernel *own = (const halves_kernel *)prepared->kernel;
  char *workspace = cpu_workspace(request);
  ops_arg *inputs = (ops_arg *)(void *)(workspace + mine->arguments);
  ops_arg *outputs = inputs + request->input_count;
  char *memory = widen_inputs(own, request, inputs, workspace + mine->tensors);
  for (uint64_t i = 0; i < request->output_count; ++i) {
    outputs[i] = request->outputs[i];
    if (outputs[i].kind == OPS_ARG_TENSOR && is_rounded(own->base.def, i))
      memory = as_float(&request->outputs[i], memory, &outputs[i]);
  }
  ops_execute_request wide = *request;
  wide.inputs = inputs;
  wide.outputs = outputs;
  wide.workspace_size = mine->inner_size;
  OPS_RETURN_IF_ERROR(own->inner->op->execute(mine->inner, &wide, error));
  for (uint64_t i = 0; i < request->output_count; ++i)
    if (outputs[i].kind == OPS_ARG_TENSOR && is_rounded(own->base.def, i))
      convert(own->base.device, &request->outputs[i], &outputs[i], narrow_range);
  return OPS_OK;
}

const cpu_op cpu_halves_op = {.kernel_size = sizeof(halves_kernel),
                              .prepared_size = sizeof(halves_prepared),
                              .claim = claim,
                              .create = create,
                              .destroy = destroy,
                              .prepare = prepare,
                              .prepared_destroy = prepared_destroy,
                              .execute = execute};

// SPDX-License-Identifier: Apache-2.0
//
// The one function table that serves every definition: claim, create, prepare, execute.
#include <ops_support/provider.h>
#include <string.h>
#include <time.h>

#include "channels_last.h"

static const cpu_op *op_of(const ops_kernel_def *def) {
  return def->context;
}

// One of several inputs may be left out, as in Concat(a, , b): the definition does not say so.
static void claim_arity(const ops_kernel_def *def, const ops_node *node, ops_claim *claim) {
  const ops_arg_def *last = def->input_count ? &def->inputs[def->input_count - 1] : NULL;
  if (!last || !(last->flags & OPS_ARG_VARIADIC)) return;
  for (uint64_t i = def->input_count; i < node->input_count; ++i) {
    if (ops_node_input(node, i)) continue;
    cpu_refuse(claim, OPS_REASON_ARITY, "input %llu is left out", (unsigned long long)i);
    return;
  }
}

static int32_t claim_node(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                          ops_claim *out_claim, ops_error *error) {
  (void)device;
  (void)error;
  out_claim->answer = OPS_CLAIM_SUPPORTED;
  out_claim->reason = OPS_REASON_NONE;
  out_claim->preference = def->preference;
  out_claim->text_size = 0;
  out_claim->text[0] = '\0';
  claim_arity(def, node, out_claim);
  if (out_claim->answer == OPS_CLAIM_SUPPORTED && op_of(def)->claim)
    op_of(def)->claim(def, node, out_claim);
  return OPS_OK;
}

void cpu_kernel_destroy(ops_kernel *kernel) {
  if (!kernel) return;
  ops_device *device = kernel->device;
  if (kernel->op->destroy) kernel->op->destroy(kernel);
  cpu_free(device, kernel);
  atomic_fetch_sub(&device->kernels, 1);
}

int32_t cpu_kernel_create(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                          ops_kernel **out_kernel, ops_error *error) {
  *out_kernel = NULL;
  OPS_RETURN_IF_ERROR(ops_input_struct_check(node, sizeof *node, "node", error));
  const cpu_op *op = op_of(def);
  ops_kernel *kernel = cpu_alloc(device, op->kernel_size);
  if (!kernel)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY,
                         "%.*s: no memory for a kernel of %llu bytes", OPS_STR_FMT(node->op),
                         (unsigned long long)op->kernel_size);
  kernel->op = op;
  kernel->def = def;
  kernel->device = device;
  kernel->opset = node->opset;
  kernel->input_count = (int32_t)node->input_count;
  kernel->own_count = (int32_t)(node->input_count - node->chain_operand_count);
  kernel->output_count = (int32_t)node->output_count;
  atomic_fetch_add(&device->kernels, 1);
  const int32_t status = op->create ? op->create(kernel, node, error) : OPS_OK;
  if (status != OPS_OK) {
    cpu_kernel_destroy(kernel);
    return status;
  }
  *out_kernel = kernel;
  return OPS_OK;
}

void cpu_prepared_destroy(ops_prepared *prepared) {
  if (!prepared) return;
  if (prepared->kernel->op->prepared_destroy) prepared->kernel->op->prepared_destroy(prepared);
  cpu_free(prepared->kernel->device, prepared);
}

// The layout with channels last has no gaps.
static void state_private_layouts(const ops_prepare_request *request,
                                  ops_prepare_reply *reply) {
  for (uint64_t i = 0; request->output_layouts && i < reply->output_count; ++i) {
    if (request->output_layouts[i] == OPS_LAYOUT_STRIDED) continue;
    ops_output_info *info = cpu_reply_output(reply, i);
    info->layout = request->output_layouts[i];
    ops_type_bytes(info->type, cpu_product(info->dims, 0, info->rank), &info->max_bytes);
  }
}

// The object without what it does not need: a graph has tens of thousands of them.
static ops_prepared *trimmed(ops_prepared *prepared) {
  const ops_kernel *kernel = prepared->kernel;
  if (!kernel->op->prepared_bytes) return prepared;
  const uint64_t bytes = kernel->op->prepared_bytes(prepared);
  ops_prepared *smaller = cpu_alloc(kernel->device, bytes);
  if (!smaller) return prepared;
  memcpy(smaller, prepared, bytes);
  cpu_free(kernel->device, prepared);
  return smaller;
}

int32_t cpu_kernel_prepare(ops_kernel *kernel, const ops_prepare_request *request,
                           ops_prepare_reply *reply, ops_error *error) {
  OPS_RETURN_IF_ERROR(
      ops_input_struct_check(request, sizeof *request, "prepare request", error));
  ops_prepared *prepared = cpu_alloc(kernel->device, kernel->op->prepared_size);
  if (!prepared)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "%.*s: no memory to prepare",
                         OPS_STR_FMT(kernel->def->op));
  prepared->kernel = kernel;
  reply->prepared = NULL;
  reply->workspace_size = 0;
  reply->workspace_alignment = 0;
  reply->workspace_memory_kind = OPS_MEMORY_HOST;
  reply->implementation = kernel->def->name;
  ops_reply_set_unread(reply, 0);
  const int32_t status = cpu_prepare_any(kernel, request, prepared, reply, error);
  if (status != OPS_OK) {
    cpu_prepared_destroy(prepared);
    return status;
  }
  state_private_layouts(request, reply);
  reply->prepared = trimmed(prepared);
  return OPS_OK;
}

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int32_t execute_profiled(const ops_prepared *prepared,
                                const ops_execute_request *request, ops_error *error) {
  const ops_device *device = prepared->kernel->device;
  ops_profile_record record = {.struct_size = sizeof record,
                               .kind = OPS_PROFILE_KERNEL,
                               .name = prepared->kernel->def->name,
                               .correlation = request->correlation,
                               .counter_stride = sizeof(ops_counter)};
  record.start_ns = now_ns();
  const int32_t status = prepared->kernel->op->execute(prepared, request, error);
  record.end_ns = now_ns();
  device->api->profile(device->host, &record);
  return status;
}

static int32_t execute_kernel(ops_prepared *prepared, const ops_execute_request *request,
                              ops_stream *stream, ops_error *error) {
  (void)stream;
  OPS_RETURN_IF_ERROR(
      ops_input_struct_check(request, sizeof *request, "execute request", error));
  const ops_device *device = prepared->kernel->device;
  if (device->api->profile_enabled(device->host))
    return execute_profiled(prepared, request, error);
  return prepared->kernel->op->execute(prepared, request, error);
}

const ops_kernel_api cpu_kernel_api = {
    .struct_size = sizeof(ops_kernel_api),
    .claim = claim_node,
    .create = cpu_kernel_create,
    .destroy = cpu_kernel_destroy,
    .query_layouts = cpu_query_layouts,
    .prepare = cpu_kernel_prepare,
    .prepared_destroy = cpu_prepared_destroy,
    .execute = execute_kernel,
};

// SPDX-License-Identifier: Apache-2.0
//
// Conv of float in one to three spatial dimensions: depthwise ones in loops of this provider
// (conv_depthwise.c), those of one tap as products of matrices (conv_grouped.c in groups,
// conv_pointwise.c with channels last), 3x3 taps with channels last where it pays by Winograd's
// algorithm (conv_winograd.c), all others by oneDNN's direct convolutions.
#include <ops_support/checked.h>
#include <string.h>

#include "conv_depthwise.h"
#include "conv_grouped.h"
#include "conv_pointwise.h"
#include "conv_shared.h"
#include "conv_winograd.h"
#include "nd.h"
#include "ops_table.h"

typedef struct conv_kernel {
  cpu_conv_kernel base;
  cpu_conv_pack pack;  // of Winograd or of pixels by panels
} conv_kernel;

// Who computes: oneDNN if none of the four.
typedef struct conv_prepared {
  cpu_conv_prepared base;
  int is_depthwise, is_winograd, is_grouped, is_pointwise;
  cpu_depthwise depthwise;
  cpu_grouped grouped;
  cpu_winograd winograd;
  cpu_pointwise pointwise;
  // 1: Y lies where the residual does, which is added last: it is saved in the workspace.
  int saves_residual;
  uint64_t saved;  // where there, in bytes
} conv_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  cpu_window_claim(node, 1, out_claim);
  if (ops_node_int(node, "group", 1) < 1)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "group must be at least 1, found %lld",
               (long long)ops_node_int(node, "group", 1));
  cpu_chain_claim(node, 0, out_claim);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  cpu_conv_init((cpu_conv_kernel *)kernel, node);
  cpu_conv_pack_init(&((conv_kernel *)kernel)->pack);
  return OPS_OK;
}

static void destroy(ops_kernel *kernel) {
  cpu_conv_pack_finish(&((conv_kernel *)kernel)->pack, kernel->device);
  cpu_dnnl_kernel_destroy(kernel);
}

static int32_t check_shapes(const cpu_conv_kernel *conv, const ops_prepare_request *request,
                            const cpu_shape *x, const cpu_shape *w, ops_error *error) {
  OPS_RETURN_IF_ERROR(cpu_conv_check_ranks(conv, x, w, error));
  if (w->dims[0] % conv->groups != 0 || x->dims[1] != w->dims[1] * conv->groups)
    return cpu_invalid(&conv->base.base, error,
                       "%lld channels do not fit weights [%lld, %lld, …] in %lld groups",
                       (long long)x->dims[1], (long long)w->dims[0], (long long)w->dims[1],
                       (long long)conv->groups);
  return cpu_conv_check_sizes(conv, request, w, w->dims[0], error);
}

// Takes the convolution if Winograd's algorithm suits.
static int32_t try_winograd(ops_kernel *kernel, const cpu_dnnl_conv *desc, conv_prepared *own,
                            ops_prepare_reply *reply, ops_error *error) {
  const ops_constant *weights = ((cpu_dnnl_kernel *)kernel)->weights;
  if (!weights || !cpu_winograd_suits(desc)) return OPS_OK;
  OPS_RETURN_IF_ERROR(cpu_winograd_init(kernel->device, desc, weights,
                                        &((conv_kernel *)kernel)->pack, &own->winograd,
                                        &own->is_winograd, error));
  if (!own->is_winograd) return OPS_OK;
  reply->workspace_size = cpu_winograd_workspace(kernel->device, &own->winograd);
  reply->workspace_alignment = 64;
  reply->implementation = (ops_str)OPS_STR("winograd 2x2 3x3");
  ops_reply_set_unread(reply, CPU_DNNL_WEIGHTS_BIT);
  return OPS_OK;
}

static int32_t try_pointwise(ops_kernel *kernel, const cpu_dnnl_conv *desc, conv_prepared *own,
                             ops_prepare_reply *reply, ops_error *error) {
  OPS_RETURN_IF_ERROR(cpu_pointwise_init(
      kernel->device, desc, ((cpu_dnnl_kernel *)kernel)->weights,
      &((conv_kernel *)kernel)->pack, &own->pointwise, &own->is_pointwise, error));
  if (!own->is_pointwise) return OPS_OK;
  reply->implementation = (ops_str)OPS_STR("pixels by panels");
  ops_reply_set_unread(reply, CPU_DNNL_WEIGHTS_BIT);
  return OPS_OK;
}

static int32_t plan(ops_kernel *kernel, const ops_prepare_request *request,
                    ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  cpu_conv_kernel *conv = (cpu_conv_kernel *)kernel;
  conv_prepared *own = (conv_prepared *)prepared;
  cpu_window window = conv->window;
  cpu_dnnl_conv desc;
  int empty;
  cpu_shape x, w, y;
  cpu_input_shape(request, 0, &x);
  cpu_input_shape(request, 1, &w);
  OPS_RETURN_IF_ERROR(check_shapes(conv, request, &x, &w, error));
  for (int32_t i = 2; i < w.rank; ++i) window.kernel[i - 2] = w.dims[i];
  y = (cpu_shape){x.rank, {x.dims[0], w.dims[0]}};
  OPS_RETURN_IF_ERROR(
      cpu_window_resolve(kernel, &window, x.rank - 2, x.dims + 2, y.dims + 2, error));
  OPS_RETURN_IF_ERROR(
      cpu_conv_describe(conv, request, &window, &y, &own->base, &desc, &empty, reply, error));
  if (empty) return OPS_OK;
  OPS_RETURN_IF_ERROR(try_winograd(kernel, &desc, own, reply, error));
  if (own->is_winograd) return OPS_OK;
  OPS_RETURN_IF_ERROR(try_pointwise(kernel, &desc, own, reply, error));
  if (own->is_pointwise) return OPS_OK;
  own->is_grouped = cpu_grouped_init(kernel->device, &desc, &own->grouped, reply);
  if (own->is_grouped) {
    own->base.base.rest = conv->base.chain;
    return OPS_OK;
  }
  own->is_depthwise = !desc.source_last && cpu_depthwise_init(&desc, &own->depthwise);
  if (!own->is_depthwise)
    return cpu_dnnl_prepare_conv(&conv->base, &desc, &own->base.base, reply, error);
  own->base.base.rest = conv->base.chain;
  cpu_plane_reserve(kernel->device, &own->depthwise.plane, reply);
  reply->implementation = (ops_str)OPS_STR("depthwise on planes");
  return OPS_OK;
}

static int is_overwritten(const ops_prepare_request *request, int32_t input) {
  for (uint64_t i = 0; i < request->alias_count; ++i)
    if (OPS_AT(ops_alias, request->aliases, request->alias_stride, i)->input == input) return 1;
  return 0;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  conv_prepared *own = (conv_prepared *)prepared;
  OPS_RETURN_IF_ERROR(plan(kernel, request, prepared, reply, error));
  const int32_t residual = own->base.base.rest.residual;
  if (residual < 0 || !is_overwritten(request, residual)) return OPS_OK;
  const uint64_t bytes = (uint64_t)own->base.count * sizeof(float);
  if (!ops_checked_align(reply->workspace_size, 64, &own->saved) ||
      !ops_checked_add(own->saved, bytes, &reply->workspace_size))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: workspace too large");
  reply->workspace_alignment = 64;
  own->saves_residual = 1;
  return OPS_OK;
}

// Depthwise convolutions have loops of their own for plain tensors, which need no reorders.
static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  const cpu_conv_kernel *conv = (const cpu_conv_kernel *)kernel;
  const ops_type_info *x = ops_request_input(request, 0)->type;
  cpu_conv_layouts(kernel, request, layouts);
  if (layouts->count > 0 && conv->groups > 1 && conv->groups == x->dims[1])
    layouts->costs[layouts->count - 1] = 0;
}

// Sums with what follows them in the loops of this provider, then the rest of the chain.
static void run_own(const conv_prepared *own, const ops_execute_request *request) {
  const ops_kernel *kernel = own->base.base.base.kernel;
  const cpu_chain *chain = &((const cpu_dnnl_kernel *)kernel)->chain;
  const float *x = cpu_in_data(request, 0), *bias = cpu_dnnl_third(kernel, request);
  const float *residual = own->base.base.starts_with_residual
                              ? cpu_in_data(request, (uint64_t)chain->residual)
                              : NULL;
  float *y = cpu_out_data(request, 0);
  if (own->is_winograd)
    cpu_winograd_run(kernel->device, &own->winograd, x, bias, residual, y,
                     cpu_workspace(request));
  else
    cpu_pointwise_run(kernel->device, &own->pointwise, x, bias, residual, y);
  cpu_conv_finish(&own->base.base.base, request);
}

static void run_grouped(const conv_prepared *own, const ops_execute_request *request) {
  const ops_kernel *kernel = own->base.base.base.kernel;
  const cpu_chain *chain = &own->base.base.rest;
  cpu_grouped_args args = {.x = cpu_in_data(request, 0),
                           .weights = cpu_in_data(request, 1),
                           .bias = cpu_dnnl_third(kernel, request),
                           .y = cpu_out_data(request, 0),
                           .chain = chain,
                           .workspace = cpu_workspace(request)};
  if (chain->residual >= 0) args.residual = cpu_in_data(request, (uint64_t)chain->residual);
  cpu_grouped_run(kernel->device, &own->grouped, &args);
}

static int32_t run(const ops_prepared *prepared, const ops_execute_request *request,
                   ops_error *error) {
  const conv_prepared *own = (const conv_prepared *)prepared;
  if (own->is_winograd || own->is_pointwise) {
    run_own(own, request);
    return OPS_OK;
  }
  if (own->is_grouped) {
    run_grouped(own, request);
    return OPS_OK;
  }
  if (!own->is_depthwise) return cpu_conv_execute(prepared, request, error);
  cpu_depthwise_run(prepared->kernel->device, &own->depthwise, cpu_in_data(request, 0),
                    cpu_in_data(request, 1), cpu_dnnl_third(prepared->kernel, request),
                    cpu_out_data(request, 0), cpu_workspace(request));
  cpu_conv_finish(prepared, request);
  return OPS_OK;
}

// X, W, B and what a chain takes.
#define MAX_INPUTS 6

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const conv_prepared *own = (const conv_prepared *)prepared;
  ops_arg inputs[MAX_INPUTS];
  if (!own->saves_residual || request->input_count > MAX_INPUTS)
    return run(prepared, request, error);
  memcpy(inputs, request->inputs, request->input_count * sizeof *inputs);
  ops_tensor *residual = &inputs[own->base.base.rest.residual].tensor;
  char *saved = (char *)cpu_workspace(request) + own->saved;
  cpu_copy_bytes(prepared->kernel->device, saved, ops_tensor_data(residual),
                 own->base.count * (int64_t)sizeof(float));
  residual->memory = saved;
  residual->byte_offset = 0;
  ops_execute_request with_saved = *request;
  with_saved.inputs = inputs;
  return run(prepared, &with_saved, error);
}

const cpu_op cpu_conv_op = {.kernel_size = sizeof(conv_kernel),
                            .prepared_size = sizeof(conv_prepared),
                            .claim = claim,
                            .create = create,
                            .destroy = destroy,
                            .layouts = layouts,
                            .prepare = prepare,
                            .prepared_destroy = cpu_dnnl_prepared_destroy,
                            .execute = execute};

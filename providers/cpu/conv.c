// SPDX-License-Identifier: Apache-2.0
//
// Conv of float in one to three spatial dimensions: depthwise ones in loops of this provider
// (conv_depthwise.c), all others by oneDNN's direct convolutions (never Winograd: sums of small
// integers must come out exact).
#include <string.h>

#include "conv_depthwise.h"
#include "dnnl_glue.h"
#include "ops_table.h"
#include "window.h"

typedef struct conv_kernel {
  ops_kernel base;
  cpu_window window;
  int64_t groups;
  const ops_constant *weights;  // NULL: not constant
  cpu_packs packs;
} conv_kernel;

typedef struct conv_prepared {
  ops_prepared base;
  cpu_dnnl_plan *plan;  // NULL: depthwise, or the output is empty, or nothing is summed
  int32_t is_depthwise;
  cpu_depthwise depthwise;
  int64_t batch, channels, pixels;
} conv_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  cpu_window_claim(node, 1, out_claim);
  if (ops_node_int(node, "group", 1) < 1)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "group must be at least 1, found %lld",
               (long long)ops_node_int(node, "group", 1));
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  conv_kernel *conv = (conv_kernel *)kernel;
  (void)error;
  cpu_window_read(node, &conv->window);
  conv->groups = ops_node_int(node, "group", 1);
  const ops_operand *weights = ops_node_input(node, 1);
  conv->weights = ops_operand_contents(weights) ? weights->constant : NULL;
  cpu_packs_init(&conv->packs, kernel->device);
  return OPS_OK;
}

static void destroy(ops_kernel *kernel) {
  cpu_packs_finish(&((conv_kernel *)kernel)->packs);
}

static int32_t check_shapes(const conv_kernel *conv, const ops_prepare_request *request,
                            const cpu_shape *x, const cpu_shape *w, ops_error *error) {
  const ops_kernel *kernel = &conv->base;
  if (x->rank < 3 || x->rank > 2 + CPU_SPATIAL || w->rank != x->rank)
    return cpu_invalid(kernel, error, "X and W must have the same rank of 3 to 5, found %d, %d",
                       x->rank, w->rank);
  if (w->dims[0] % conv->groups != 0 || x->dims[1] != w->dims[1] * conv->groups)
    return cpu_invalid(kernel, error,
                       "%lld channels do not fit weights [%lld, %lld, …] in %lld groups",
                       (long long)x->dims[1], (long long)w->dims[0], (long long)w->dims[1],
                       (long long)conv->groups);
  for (int32_t i = 2; i < w->rank; ++i)
    if (w->dims[i] < 1 || (conv->window.has_kernel && conv->window.kernel[i - 2] != w->dims[i]))
      return cpu_invalid(kernel, error,
                         "kernel_shape and W disagree in spatial dimension %d: "
                         "%lld and %lld",
                         i - 2, (long long)conv->window.kernel[i - 2], (long long)w->dims[i]);
  if (ops_request_input(request, 2)) {
    cpu_shape b;
    cpu_input_shape(request, 2, &b);
    if (b.rank != 1 || b.dims[0] != w->dims[0])
      return cpu_invalid(kernel, error, "B must be [%lld]", (long long)w->dims[0]);
  }
  return OPS_OK;
}

static void describe(const conv_kernel *conv, const cpu_window *window, const cpu_shape *x,
                     const cpu_shape *y, int32_t has_bias, cpu_dnnl_conv *out) {
  *out = (cpu_dnnl_conv){.spatial = x->rank - 2,
                         .has_bias = has_bias,
                         .batch = x->dims[0],
                         .groups = conv->groups,
                         .in_channels = x->dims[1],
                         .out_channels = y->dims[1]};
  for (int32_t i = 0; i < x->rank - 2; ++i) {
    out->in[i] = x->dims[2 + i];
    out->out[i] = y->dims[2 + i];
    out->kernel[i] = window->kernel[i];
    out->strides[i] = window->strides[i];
    out->dilations[i] = window->dilations[i];
    out->pads_begin[i] = window->pads_begin[i];
    out->pads_end[i] = window->pads_end[i];
  }
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  conv_kernel *conv = (conv_kernel *)kernel;
  conv_prepared *own = (conv_prepared *)prepared;
  cpu_window window = conv->window;
  cpu_shape x, w, y;
  cpu_input_shape(request, 0, &x);
  cpu_input_shape(request, 1, &w);
  OPS_RETURN_IF_ERROR(check_shapes(conv, request, &x, &w, error));
  for (int32_t i = 2; i < w.rank; ++i) window.kernel[i - 2] = w.dims[i];
  y.rank = x.rank;
  y.dims[0] = x.dims[0];
  y.dims[1] = w.dims[0];
  OPS_RETURN_IF_ERROR(
      cpu_window_resolve(kernel, &window, x.rank - 2, x.dims + 2, y.dims + 2, error));
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, OPS_TYPE_FLOAT, &y, error));
  own->batch = y.dims[0];
  own->channels = y.dims[1];
  own->pixels = cpu_product(y.dims, 2, y.rank);
  if (cpu_count(&y) == 0 || cpu_count(&x) == 0) return OPS_OK;
  cpu_dnnl_conv desc;
  describe(conv, &window, &x, &y, ops_request_input(request, 2) != NULL, &desc);
  own->is_depthwise = cpu_depthwise_init(&desc, &own->depthwise);
  if (own->is_depthwise) {
    cpu_plane_reserve(kernel->device, &own->depthwise.plane, reply);
    reply->implementation = (ops_str)OPS_STR("depthwise on planes");
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(cpu_dnnl_plan_conv(kernel->device, &desc, conv->weights, &conv->packs,
                                         &own->plan, error));
  reply->workspace_size = cpu_dnnl_plan_workspace(own->plan);
  reply->workspace_alignment = 64;
  reply->implementation = cpu_dnnl_plan_name(own->plan);
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  cpu_dnnl_plan_destroy(((conv_prepared *)prepared)->plan);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const conv_prepared *own = (const conv_prepared *)prepared;
  const float *bias = cpu_in_data(request, 2);
  if (own->is_depthwise) {
    cpu_depthwise_run(prepared->kernel->device, &own->depthwise, cpu_in_data(request, 0),
                      cpu_in_data(request, 1), bias, cpu_out_data(request, 0),
                      cpu_workspace(request));
    return OPS_OK;
  }
  if (!own->plan) {
    cpu_fill_bias(bias, cpu_out_data(request, 0), own->batch, own->channels, own->pixels);
    return OPS_OK;
  }
  return cpu_dnnl_plan_run(own->plan, cpu_in_data(request, 0), cpu_in_data(request, 1), bias,
                           cpu_out_data(request, 0), cpu_workspace(request), error);
}

const cpu_op cpu_conv_op = {.kernel_size = sizeof(conv_kernel),
                            .prepared_size = sizeof(conv_prepared),
                            .claim = claim,
                            .create = create,
                            .destroy = destroy,
                            .prepare = prepare,
                            .prepared_destroy = prepared_destroy,
                            .execute = execute};

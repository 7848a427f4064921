// SPDX-License-Identifier: Apache-2.0
//
// What Conv and ConvTranspose share. See conv_shared.h.
#include "conv_shared.h"

#include <math.h>

// Where the residual of a chain lies behind X, W and B.
#define CHAIN_OPERAND 3

void cpu_conv_init(cpu_conv_kernel *conv, const ops_node *node) {
  cpu_window_read(node, &conv->window);
  conv->groups = ops_node_int(node, "group", 1);
  cpu_dnnl_kernel_init(&conv->base, node);
}

int32_t cpu_conv_check_ranks(const cpu_conv_kernel *conv, const cpu_shape *x,
                             const cpu_shape *w, ops_error *error) {
  if (x->rank < 3 || x->rank > 2 + CPU_SPATIAL || w->rank != x->rank)
    return cpu_invalid(&conv->base.base, error,
                       "X and W must have the same rank of 3 to 5, found %d, %d", x->rank,
                       w->rank);
  return OPS_OK;
}

int32_t cpu_conv_check_sizes(const cpu_conv_kernel *conv, const ops_prepare_request *request,
                             const cpu_shape *w, int64_t filters, ops_error *error) {
  const ops_kernel *kernel = &conv->base.base;
  for (int32_t i = 2; i < w->rank; ++i)
    if (w->dims[i] < 1 || (conv->window.has_kernel && conv->window.kernel[i - 2] != w->dims[i]))
      return cpu_invalid(kernel, error,
                         "kernel_shape and W disagree in spatial dimension %d: "
                         "%lld and %lld",
                         i - 2, (long long)conv->window.kernel[i - 2], (long long)w->dims[i]);
  if (cpu_dnnl_has_third(kernel, request)) {
    cpu_shape b;
    cpu_input_shape(request, 2, &b);
    if (b.rank != 1 || b.dims[0] != filters)
      return cpu_invalid(kernel, error, "B must be [%lld]", (long long)filters);
  }
  return OPS_OK;
}

int cpu_conv_is_pointwise(const cpu_dnnl_conv *conv) {
  if (conv->transposed) return 0;
  for (int32_t i = 0; i < conv->spatial; ++i)
    if (conv->kernel[i] != 1 || conv->strides[i] != 1 || conv->pads_begin[i] != 0 ||
        conv->pads_end[i] != 0)
      return 0;
  return 1;
}

static void describe(const cpu_conv_kernel *conv, const cpu_window *window, const cpu_shape *x,
                     const cpu_shape *y, cpu_dnnl_conv *out) {
  *out = (cpu_dnnl_conv){.spatial = x->rank - 2,
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
    out->pads_end[i] = window->pads_end[i] - conv->output_padding[i];
  }
}

int32_t cpu_conv_describe(const cpu_conv_kernel *conv, const ops_prepare_request *request,
                          const cpu_window *window, const cpu_shape *y,
                          cpu_conv_prepared *prepared, cpu_dnnl_conv *out_desc, int *out_empty,
                          ops_prepare_reply *reply, ops_error *error) {
  cpu_shape x;
  OPS_RETURN_IF_ERROR(cpu_set_output(&conv->base.base, reply, 0, OPS_TYPE_FLOAT, y, error));
  cpu_input_shape(request, 0, &x);
  prepared->batch = y->dims[0];
  prepared->channels = y->dims[1];
  prepared->pixels = cpu_product(y->dims, 2, y->rank);
  prepared->count = cpu_count(y);
  OPS_RETURN_IF_ERROR(cpu_chain_check(&conv->base.base, &conv->base.chain, request, y, error));
  *out_empty = cpu_count(y) == 0 || cpu_count(&x) == 0;
  describe(conv, window, &x, y, out_desc);
  out_desc->has_bias = cpu_dnnl_has_third(&conv->base.base, request);
  out_desc->source_last = cpu_is_last(request, 0);
  out_desc->target_last = cpu_wants_last(request);
  prepared->last = out_desc->target_last;
  // With channels last oneDNN writes Y where Y lies.
  cpu_chain_split(&conv->base.chain, out_desc->target_last && !*out_empty, &out_desc->post,
                  &prepared->base.rest);
  if (*out_empty) prepared->base.rest = conv->base.chain;
  prepared->base.starts_with_residual = out_desc->post.add_target;
  return OPS_OK;
}

void cpu_conv_layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                      cpu_layouts *layouts) {
  cpu_shape x;
  const int32_t residual = ((const cpu_dnnl_kernel *)kernel)->chain.residual;
  if (!cpu_may_be_last(ops_request_input(request, 0)->type)) return;
  if (residual >= 0 && residual != CHAIN_OPERAND) return;
  cpu_input_shape(request, 0, &x);
  cpu_layouts_add(layouts, residual >= 0 ? CPU_LAST_CHAIN : CPU_LAST_FIRST, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE,
                  2 * cpu_reorder_cost(cpu_count(&x) * (int64_t)sizeof(float)));
}

void cpu_conv_vec_finish(const cpu_dnnl_post *post, cpu_vec_finish *finish) {
  finish->sloped = post->function == CPU_DNNL_LEAKY_RELU && post->p[0] != 0;
  finish->slope = post->p[0];
  finish->low = -INFINITY;
  finish->high = INFINITY;
  if (post->function == CPU_DNNL_LEAKY_RELU && post->p[0] == 0) finish->low = 0;
  if (post->function != CPU_DNNL_CLIP) return;
  finish->low = post->p[0];
  finish->high = post->p[1];
}

// The rest of the chain, over all of Y.
void cpu_conv_finish(const ops_prepared *prepared, const ops_execute_request *request) {
  const cpu_conv_prepared *own = (const cpu_conv_prepared *)prepared;
  cpu_chain_run(prepared->kernel->device, &own->base.rest, request, own->count);
}

// A convolution that sums nothing: y is the bias of its channel, or 0.
static void fill_bias(const cpu_conv_prepared *own, const float *bias, float *y) {
  for (int64_t i = 0; own->last && i < own->batch * own->pixels; ++i)
    for (int64_t c = 0; c < own->channels; ++c) *y++ = bias ? bias[c] : 0.0f;
  if (own->last) return;
  for (int64_t n = 0; n < own->batch; ++n)
    for (int64_t c = 0; c < own->channels; ++c)
      for (int64_t i = 0; i < own->pixels; ++i) *y++ = bias ? bias[c] : 0.0f;
}

int32_t cpu_conv_execute(const ops_prepared *prepared, const ops_execute_request *request,
                         ops_error *error) {
  const cpu_conv_prepared *own = (const cpu_conv_prepared *)prepared;
  const cpu_chain *chain = &((const cpu_dnnl_kernel *)prepared->kernel)->chain;
  const float *bias = cpu_dnnl_third(prepared->kernel, request);
  if (own->base.plan) {
    if (own->base.starts_with_residual)
      cpu_chain_start(prepared->kernel->device, chain, request, own->count);
    OPS_RETURN_IF_ERROR(cpu_split_run(own->base.plan, cpu_in_data(request, 0),
                                      cpu_in_data(request, 1), bias, cpu_out_data(request, 0),
                                      cpu_workspace(request), error));
  } else {
    fill_bias(own, bias, cpu_out_data(request, 0));
  }
  cpu_conv_finish(prepared, request);
  return OPS_OK;
}

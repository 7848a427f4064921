// SPDX-License-Identifier: Apache-2.0
//
// ConvTranspose of float in one to three spatial dimensions, by oneDNN.
//
// oneDNN derives the input size from output size, stride and pads and refuses what does not
// match; output_padding and output_shape enter through the pads, as ONNX defines them.
#include "conv_shared.h"
#include "ops_table.h"

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  uint64_t count, stride_count;
  (void)def;
  cpu_window_claim(node, 1, out_claim);
  if (ops_node_int(node, "group", 1) < 1)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "group must be at least 1");
  if (ops_node_attribute(node, "output_shape"))
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "output_shape is not supported");
  cpu_chain_claim(node, 0, out_claim);
  const int64_t *extra = ops_node_ints(node, "output_padding", &count);
  const int64_t *strides = ops_node_ints(node, "strides", &stride_count);
  for (uint64_t i = 0; i < count; ++i)
    if (extra[i] >= (i < stride_count ? strides[i] : 1))
      cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE,
                 "output_padding must be smaller than strides, found %lld",
                 (long long)extra[i]);
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  cpu_conv_kernel *conv = (cpu_conv_kernel *)kernel;
  uint64_t count;
  (void)error;
  cpu_conv_init(conv, node);
  const int64_t *extra = ops_node_ints(node, "output_padding", &count);
  for (uint64_t i = 0; i < count && i < CPU_SPATIAL; ++i) conv->output_padding[i] = extra[i];
  return OPS_OK;
}

static int32_t check_shapes(const cpu_conv_kernel *conv, const ops_prepare_request *request,
                            const cpu_shape *x, const cpu_shape *w, ops_error *error) {
  OPS_RETURN_IF_ERROR(cpu_conv_check_ranks(conv, x, w, error));
  if (x->dims[1] != w->dims[0] || x->dims[1] % conv->groups != 0)
    return cpu_invalid(&conv->base.base, error,
                       "%lld channels do not fit weights [%lld, …] in %lld groups",
                       (long long)x->dims[1], (long long)w->dims[0], (long long)conv->groups);
  return cpu_conv_check_sizes(conv, request, w, w->dims[1] * conv->groups, error);
}

// Output size of one dimension; with automatic padding it is input times stride.
static int32_t resolve(const cpu_conv_kernel *conv, cpu_window *window, int32_t i, int64_t in,
                       int64_t *out, ops_error *error) {
  const int64_t full = window->strides[i] * (in - 1) + conv->output_padding[i] +
                       (window->kernel[i] - 1) * window->dilations[i] + 1;
  const int same =
      window->auto_pad == CPU_PAD_SAME_UPPER || window->auto_pad == CPU_PAD_SAME_LOWER;
  if (window->auto_pad != CPU_PAD_EXPLICIT) window->pads_begin[i] = window->pads_end[i] = 0;
  if (same) {
    const int64_t total = full - in * window->strides[i];
    if (total < 0) window->pads_end[i] = total;  // no window reaches the last elements
    if (total > 0) {
      const int64_t smaller = total / 2, larger = total - smaller;
      const int upper = window->auto_pad == CPU_PAD_SAME_UPPER;
      window->pads_begin[i] = upper ? smaller : larger;
      window->pads_end[i] = upper ? larger : smaller;
    }
  }
  *out = full - window->pads_begin[i] - window->pads_end[i];
  if (*out < 0)
    return cpu_invalid(&conv->base.base, error,
                       "pads leave %lld elements of spatial dimension %d", (long long)*out, i);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  cpu_conv_kernel *conv = (cpu_conv_kernel *)kernel;
  cpu_conv_prepared *own = (cpu_conv_prepared *)prepared;
  cpu_window window = conv->window;
  cpu_dnnl_conv desc;
  int empty;
  cpu_shape x, w, y;
  cpu_input_shape(request, 0, &x);
  cpu_input_shape(request, 1, &w);
  OPS_RETURN_IF_ERROR(check_shapes(conv, request, &x, &w, error));
  y = (cpu_shape){x.rank, {x.dims[0], w.dims[1] * conv->groups}};
  for (int32_t i = 0; i < x.rank - 2; ++i) {
    window.kernel[i] = w.dims[2 + i];
    OPS_RETURN_IF_ERROR(resolve(conv, &window, i, x.dims[2 + i], &y.dims[2 + i], error));
  }
  OPS_RETURN_IF_ERROR(
      cpu_conv_describe(conv, request, &window, &y, own, &desc, &empty, reply, error));
  if (empty) return OPS_OK;
  desc.transposed = 1;
  // With post-operations oneDNN has plain loops alone: 14.4 instead of 1.05 ms in PP-OCRv4 det.
  desc.post = (cpu_dnnl_post){0};
  own->base.rest = conv->base.chain;
  own->base.starts_with_residual = 0;
  return cpu_dnnl_prepare_conv(&conv->base, &desc, &own->base, reply, error);
}

const cpu_op cpu_conv_transpose_op = {.kernel_size = sizeof(cpu_conv_kernel),
                                      .prepared_size = sizeof(cpu_conv_prepared),
                                      .claim = claim,
                                      .create = create,
                                      .destroy = cpu_dnnl_kernel_destroy,
                                      .layouts = cpu_conv_layouts,
                                      .prepare = prepare,
                                      .prepared_destroy = cpu_dnnl_prepared_destroy,
                                      .execute = cpu_conv_execute};

// SPDX-License-Identifier: Apache-2.0
//
// What Conv and ConvTranspose share: the kernel with its window, checks of shapes, oneDNN's
// description, and how a plan is run.
#ifndef CPU_CONV_SHARED_H_
#define CPU_CONV_SHARED_H_

#include "channels_last.h"
#include "dnnl_operator.h"
#include "vec.h"
#include "window.h"

typedef struct cpu_conv_kernel {
  cpu_dnnl_kernel base;
  cpu_window window;
  int64_t groups;
  int64_t output_padding[CPU_SPATIAL];  // of ConvTranspose
} cpu_conv_kernel;

typedef struct cpu_conv_prepared {
  cpu_dnnl_prepared base;  // plan NULL: the output is empty, or nothing is summed
  int64_t batch, channels, pixels, count;
  int32_t last;  // 1: the output has its channels last
} cpu_conv_prepared;

// Reads the attributes that both have.
void cpu_conv_init(cpu_conv_kernel *conv, const ops_node *node);

// Ranks, kernel_shape against W, and B against `filters`.
int32_t cpu_conv_check_ranks(const cpu_conv_kernel *conv, const cpu_shape *x,
                             const cpu_shape *w, ops_error *error);
int32_t cpu_conv_check_sizes(const cpu_conv_kernel *conv, const ops_prepare_request *request,
                             const cpu_shape *w, int64_t filters, ops_error *error);

// States the output y and describes the convolution. *out_empty: there is nothing to plan.
int32_t cpu_conv_describe(const cpu_conv_kernel *conv, const ops_prepare_request *request,
                          const cpu_window *window, const cpu_shape *y,
                          cpu_conv_prepared *prepared, cpu_dnnl_conv *out_desc, int *out_empty,
                          ops_prepare_reply *reply, ops_error *error);

// One tap on each pixel, in place: a product of matrices.
int cpu_conv_is_pointwise(const cpu_dnnl_conv *conv);

// The function of what follows the sums, for loops of this provider.
void cpu_conv_vec_finish(const cpu_dnnl_post *post, cpu_vec_finish *out_finish);

// Both operators with channels last, and plain, where oneDNN has to reorder both sides.
void cpu_conv_layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                      cpu_layouts *layouts);

// The plan, or the bias alone where there is none.
int32_t cpu_conv_execute(const ops_prepared *prepared, const ops_execute_request *request,
                         ops_error *error);

// What of the chain remains, once Y holds the sums. cpu_conv_execute does it itself.
void cpu_conv_finish(const ops_prepared *prepared, const ops_execute_request *request);

#endif  // CPU_CONV_SHARED_H_

// SPDX-License-Identifier: Apache-2.0
//
// Chains of post-operations that sums of products absorb: up to two additions, then a function.
//
//   Conv, ConvTranspose   [Add of a tensor of Y's shape] [function]
//   MatMul, Gemm          [Add of a row vector] [Add of a tensor of Y's shape] [function]
//
// Products do it all. Of a convolution's chain oneDNN does what it does exactly as the loops of
// this provider do; the rest runs in these loops over the output, so that a chain gives what
// its nodes would give one by one, but for the order of additions.
#ifndef CPU_CHAIN_H_
#define CPU_CHAIN_H_

#include "cpu.h"
#include "dnnl_glue.h"
#include "multiply.h"

#define CPU_NOT_CHAINED (-1)

typedef struct cpu_chain {
  int32_t bias;      // number of the input that is a row vector; CPU_NOT_CHAINED: none
  int32_t residual;  // of the input that has Y's shape
  int32_t function;  // CPU_UNARY_…
  float p[2];        // its parameters
} cpu_chain;

#define CPU_CHAIN_NOTHING                                \
  {                                                      \
    CPU_NOT_CHAINED, CPU_NOT_CHAINED, CPU_NOT_CHAINED, { \
      0, 0                                               \
    }                                                    \
  }

// The definitions of what a chain may hold, for rows of definitions.c.
#define CPU_CHAIN_POST_OPS 16
extern const ops_post_op_def cpu_chain_post_ops[CPU_CHAIN_POST_OPS];

// Refuses chains that are not as above. `may_bias`: 1 for matrix products.
void cpu_chain_claim(const ops_node *node, int may_bias, ops_claim *claim);
// Of a node that was claimed; without post-operations all members are CPU_NOT_CHAINED.
void cpu_chain_read(const ops_node *node, cpu_chain *out_chain);
// INVALID_ARGUMENT if an operand has another shape than claimed.
int32_t cpu_chain_check(const ops_kernel *kernel, const cpu_chain *chain,
                        const ops_prepare_request *request, const cpu_shape *y,
                        ops_error *error);

// Splits the chain: what oneDNN does, and what remains for cpu_chain_run. oneDNN adds the
// residual only if it writes Y where Y lies (`direct`), which then must hold the residual.
void cpu_chain_split(const cpu_chain *chain, int direct, cpu_dnnl_post *out_post,
                     cpu_chain *out_rest);
// Puts the residual into Y before a plan that adds it.
void cpu_chain_start(const ops_device *device, const cpu_chain *chain,
                     const ops_execute_request *request, int64_t count);
// y = function(y + residual) over `count` floats; the residual may be NULL.
void cpu_chain_apply(const ops_device *device, const cpu_chain *rest, const float *residual,
                     float *y, int64_t count);
// The same, as far as the rest of the chain says, over all of Y.
void cpu_chain_run(const ops_device *device, const cpu_chain *rest,
                   const ops_execute_request *request, int64_t count);

// What a matrix product of inputs 0 and 1 is given to do all of the chain.
void cpu_chain_args(const cpu_chain *chain, const ops_execute_request *request,
                    cpu_multiply_args *out_args);

#endif  // CPU_CHAIN_H_

// SPDX-License-Identifier: Apache-2.0
//
// The life that operators on oneDNN share: a kernel that packs its weights (input 1) if they
// are constant, and a prepared object around one plan. An operator's own structs begin with
// these; its cpu_op names the two destroy functions below.
#ifndef CPU_DNNL_OPERATOR_H_
#define CPU_DNNL_OPERATOR_H_

#include "chain.h"
#include "dnnl_split.h"

// In unread_inputs: the weights are the second input.
#define CPU_DNNL_WEIGHTS_BIT ((uint64_t)1 << 1)

typedef struct cpu_dnnl_kernel {
  ops_kernel base;
  const ops_constant *weights;  // NULL: they arrive with each run
  cpu_chain chain;
  cpu_packs packs;
} cpu_dnnl_kernel;

typedef struct cpu_dnnl_prepared {
  ops_prepared base;
  cpu_split *plan;               // NULL: nothing to multiply; the operator knows what to write
  cpu_chain rest;                // of the chain, what the plan does not do
  int32_t starts_with_residual;  // 1: the plan adds what Y holds before
} cpu_dnnl_prepared;

// Data of own input 2, the bias or C; NULL if there is none.
const void *cpu_dnnl_third(const ops_kernel *kernel, const ops_execute_request *request);
int cpu_dnnl_has_third(const ops_kernel *kernel, const ops_prepare_request *request);

void cpu_dnnl_kernel_init(cpu_dnnl_kernel *kernel, const ops_node *node);
void cpu_dnnl_kernel_destroy(ops_kernel *kernel);
void cpu_dnnl_prepared_destroy(ops_prepared *prepared);

// Makes the plan and states its workspace and implementation.
int32_t cpu_dnnl_prepare_conv(cpu_dnnl_kernel *kernel, const cpu_dnnl_conv *conv,
                              cpu_dnnl_prepared *prepared, ops_prepare_reply *reply,
                              ops_error *error);

#endif  // CPU_DNNL_OPERATOR_H_

// SPDX-License-Identifier: Apache-2.0
//
// Kernels and prepared objects around a plan. See dnnl_operator.h.
#include "dnnl_operator.h"

void cpu_dnnl_kernel_init(cpu_dnnl_kernel *kernel, const ops_node *node) {
  const ops_operand *weights = ops_node_input(node, 1);
  kernel->weights = ops_operand_contents(weights) ? weights->constant : NULL;
  cpu_chain_read(node, &kernel->chain);
  cpu_packs_init(&kernel->packs, kernel->base.device);
}

int cpu_dnnl_has_third(const ops_kernel *kernel, const ops_prepare_request *request) {
  return kernel->own_count > 2 && ops_request_input(request, 2) != NULL;
}

const void *cpu_dnnl_third(const ops_kernel *kernel, const ops_execute_request *request) {
  return kernel->own_count > 2 ? cpu_in_data(request, 2) : NULL;
}

void cpu_dnnl_kernel_destroy(ops_kernel *kernel) {
  cpu_packs_finish(&((cpu_dnnl_kernel *)kernel)->packs);
}

void cpu_dnnl_prepared_destroy(ops_prepared *prepared) {
  cpu_split_destroy(((cpu_dnnl_prepared *)prepared)->plan);
}

static void state_plan(const cpu_split *plan, ops_prepare_reply *reply) {
  reply->workspace_size = cpu_split_workspace(plan);
  reply->workspace_alignment = 64;
  reply->implementation = cpu_split_name(plan);
  if (cpu_split_has_packed(plan)) ops_reply_set_unread(reply, CPU_DNNL_WEIGHTS_BIT);
}

int32_t cpu_dnnl_prepare_conv(cpu_dnnl_kernel *kernel, const cpu_dnnl_conv *conv,
                              cpu_dnnl_prepared *prepared, ops_prepare_reply *reply,
                              ops_error *error) {
  OPS_RETURN_IF_ERROR(cpu_split_conv(kernel->base.device, conv, kernel->weights, &kernel->packs,
                                     &prepared->plan, error));
  state_plan(prepared->plan, reply);
  return OPS_OK;
}

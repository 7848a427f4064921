// SPDX-License-Identifier: Apache-2.0
//
// Chains of post-operations. See chain.h.
#include "chain.h"

#include <string.h>

#include "nd.h"
#include "unary.h"
#include "vec.h"

#define POST(op_, since_) \
  { sizeof(ops_post_op_def), {NULL, 0}, OPS_STR(op_), (since_), 0 }

const ops_post_op_def cpu_chain_post_ops[CPU_CHAIN_POST_OPS] = {
    POST("Add", 7),      POST("Relu", 1),        POST("LeakyRelu", 1), POST("Clip", 1),
    POST("Sigmoid", 1),  POST("HardSigmoid", 1), POST("Tanh", 1),      POST("HardSwish", 14),
    POST("Gelu", 20),    POST("Elu", 1),         POST("Swish", 24),    POST("Mish", 18),
    POST("Softplus", 1), POST("Exp", 1),         POST("Abs", 1),       POST("Sqrt", 1),
};

static int is_listed(ops_str op) {
  for (int i = 0; i < CPU_CHAIN_POST_OPS; ++i)
    if (op.size == cpu_chain_post_ops[i].op.size &&
        memcmp(op.data, cpu_chain_post_ops[i].op.data, op.size) == 0)
      return 1;
  return 0;
}

static const ops_post_op *post_of(const ops_node *node, uint64_t index) {
  return OPS_AT(ops_post_op, node->post_ops, node->post_op_stride, index);
}

// ---- Claims ---------------------------------------------------------------------------------

static int same_dim(const ops_type_info *a, const ops_type_info *b, int32_t i) {
  if (a->dims[i] >= 0 || b->dims[i] >= 0) return a->dims[i] == b->dims[i];
  if (!a->symbols || !b->symbols || a->symbols[i].size == 0) return 0;
  return a->symbols[i].size == b->symbols[i].size &&
         memcmp(a->symbols[i].data, b->symbols[i].data, a->symbols[i].size) == 0;
}

static int same_shape(const ops_type_info *a, const ops_type_info *b) {
  if (a->rank < 0 || a->rank != b->rank) return 0;
  for (int32_t i = 0; i < a->rank; ++i)
    if (!same_dim(a, b, i)) return 0;
  return 1;
}

// The operand of a binary post-operation beside the running result; NULL if it has none.
static const ops_operand *operand_of(const ops_node *node, const ops_post_op *post,
                                     int32_t *out_index) {
  *out_index = -1;
  if (post->input_count != 2) return NULL;
  *out_index = post->inputs[post->inputs[0] == OPS_CHAIN_VALUE];
  return *out_index < 0 ? NULL : ops_node_input(node, (uint64_t)*out_index);
}

static void read_add(const ops_node *node, const ops_post_op *post, int may_bias,
                     cpu_chain *chain, ops_claim *claim) {
  int32_t index;
  const ops_operand *operand = operand_of(node, post, &index);
  const ops_operand *y = ops_node_output(node, 0);
  const int row =
      operand && operand->type->rank == 1 && y && y->type->rank > 1 &&
      same_dim(operand->type,
               &(const ops_type_info){
                   .rank = 1,
                   .dims = y->type->dims + y->type->rank - 1,
                   .symbols = y->type->symbols ? y->type->symbols + y->type->rank - 1 : NULL},
               0);
  if (!operand || operand->type->type != OPS_TYPE_FLOAT) {
    cpu_refuse(claim, OPS_REASON_TYPE, "the chain's Add needs a float operand");
  } else if (may_bias && row && chain->bias < 0 && chain->residual < 0) {
    chain->bias = index;
  } else if (y && same_shape(operand->type, y->type) && chain->residual < 0) {
    chain->residual = index;
  } else {
    cpu_refuse(claim, OPS_REASON_SHAPE,
               "the chain's Add needs an operand of the output's shape%s, known to be so",
               may_bias ? ", or first a row" : "");
  }
}

// A bound of Clip from opset 11 on: a constant scalar, or absent.
static int read_bound(const ops_node *node, const ops_post_op *post, int32_t input,
                      float *bound) {
  if (input >= post->input_count || post->inputs[input] < 0) return 1;
  const ops_operand *operand = ops_node_input(node, (uint64_t)post->inputs[input]);
  if (!operand) return 1;
  const ops_tensor *tensor = ops_operand_contents(operand);
  if (!tensor || tensor->type != OPS_TYPE_FLOAT || tensor->byte_size != sizeof *bound) return 0;
  memcpy(bound, ops_tensor_data(tensor), sizeof *bound);
  return 1;
}

static void read_function(const ops_node *node, const ops_post_op *post, cpu_chain *chain,
                          ops_claim *claim) {
  cpu_function function = {0};
  const ops_node attributes = {.attributes = post->attributes,
                               .attribute_count = post->attribute_count,
                               .attribute_stride = post->attribute_stride};
  if (post->inputs[0] != OPS_CHAIN_VALUE || !is_listed(post->op) ||
      !cpu_function_read(post->op, &attributes, &function)) {
    cpu_refuse(claim, OPS_REASON_OPERATOR, "the chain holds %.*s, which is no function here",
               OPS_STR_FMT(post->op));
    return;
  }
  chain->function = function.number;
  memcpy(chain->p, function.p, sizeof chain->p);
  if (!read_bound(node, post, 1, &chain->p[0]) || !read_bound(node, post, 2, &chain->p[1]))
    cpu_refuse(claim, OPS_REASON_CONSTANT, "the bounds of the chain's Clip must be constants");
}

static void read_chain(const ops_node *node, int may_bias, cpu_chain *chain, ops_claim *claim) {
  *chain = (cpu_chain)CPU_CHAIN_NOTHING;
  for (uint64_t i = 0; i < node->post_op_count; ++i) {
    const ops_post_op *post = post_of(node, i);
    if (chain->function >= 0)
      cpu_refuse(claim, OPS_REASON_OPERATOR, "the chain goes on behind its function");
    else if (ops_str_equal(post->op, "Add"))
      read_add(node, post, may_bias, chain, claim);
    else
      read_function(node, post, chain, claim);
  }
}

void cpu_chain_claim(const ops_node *node, int may_bias, ops_claim *claim) {
  cpu_chain chain;
  read_chain(node, may_bias, &chain, claim);
}

void cpu_chain_read(const ops_node *node, cpu_chain *out_chain) {
  ops_claim ignored;
  read_chain(node, 1, out_chain, &ignored);
}

// ---- Running --------------------------------------------------------------------------------

int32_t cpu_chain_check(const ops_kernel *kernel, const cpu_chain *chain,
                        const ops_prepare_request *request, const cpu_shape *y,
                        ops_error *error) {
  cpu_shape operand;
  if (chain->residual >= 0) {
    cpu_input_shape(request, (uint64_t)chain->residual, &operand);
    if (operand.rank != y->rank ||
        memcmp(operand.dims, y->dims, (size_t)y->rank * sizeof *y->dims) != 0)
      return cpu_invalid(kernel, error,
                         "what the chain adds must have the output's shape, as was claimed");
  }
  if (chain->bias >= 0) {
    cpu_input_shape(request, (uint64_t)chain->bias, &operand);
    if (operand.rank != 1 || operand.dims[0] != y->dims[y->rank - 1])
      return cpu_invalid(kernel, error, "what the chain adds first must be [%lld]",
                         (long long)y->dims[y->rank - 1]);
  }
  return OPS_OK;
}

void cpu_chain_split(const cpu_chain *chain, int direct, cpu_dnnl_post *out_post,
                     cpu_chain *out_rest) {
  *out_post = (cpu_dnnl_post){0};
  *out_rest = *chain;
  if (chain->residual >= 0 && !direct) return;
  out_post->add_target = chain->residual >= 0;
  out_rest->residual = CPU_NOT_CHAINED;
  out_post->p[0] = chain->p[0];
  out_post->p[1] = chain->p[1];
  if (chain->function == CPU_UNARY_relu || chain->function == CPU_UNARY_leaky_relu)
    out_post->function = CPU_DNNL_LEAKY_RELU;
  if (chain->function == CPU_UNARY_relu) out_post->p[0] = 0;
  // oneDNN refuses bounds that cross.
  if (chain->function == CPU_UNARY_clip && chain->p[0] <= chain->p[1])
    out_post->function = CPU_DNNL_CLIP;
  if (out_post->function) out_rest->function = CPU_NOT_CHAINED;
}

void cpu_chain_start(const ops_device *device, const cpu_chain *chain,
                     const ops_execute_request *request, int64_t count) {
  const void *residual = cpu_in_data(request, (uint64_t)chain->residual);
  void *y = cpu_out_data(request, 0);
  if (residual != y) cpu_copy_bytes(device, y, residual, count * (int64_t)sizeof(float));
}

void cpu_chain_apply(const ops_device *device, const cpu_chain *rest, const float *residual,
                     float *y, int64_t count) {
  if (residual)
    device->vec->binary[CPU_BINARY_add][OPS_TYPE_FLOAT](
        (char *)y, (const char *)y, (const char *)residual, sizeof *y, sizeof *y, count);
  if (rest->function >= 0) device->vec->unary[rest->function](y, y, count, rest->p);
}

typedef struct run {
  const ops_device *device;
  const cpu_chain *rest;
  const float *residual;
  float *y;
} run;

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  (void)worker;
  cpu_chain_apply(run->device, run->rest, run->residual ? run->residual + begin : NULL,
                  run->y + begin, end - begin);
}

void cpu_chain_run(const ops_device *device, const cpu_chain *rest,
                   const ops_execute_request *request, int64_t count) {
  run run = {device, .rest = rest, .y = cpu_out_data(request, 0)};
  if (rest->residual >= 0) run.residual = cpu_in_data(request, (uint64_t)rest->residual);
  if (!run.residual && rest->function < 0) return;
  cpu_parallel(device, count, cpu_grain(4), run_range, &run);
}

void cpu_chain_args(const cpu_chain *chain, const ops_execute_request *request,
                    cpu_multiply_args *out) {
  *out = (cpu_multiply_args){.a = cpu_in_data(request, 0),
                             .b = cpu_in_data(request, 1),
                             .y = cpu_out_data(request, 0),
                             .function = chain->function,
                             .p = chain->p,
                             .workspace = cpu_workspace(request)};
  if (chain->bias >= 0) out->bias = cpu_in_data(request, (uint64_t)chain->bias);
  if (chain->residual >= 0) out->residual = cpu_in_data(request, (uint64_t)chain->residual);
}

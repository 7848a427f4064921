// SPDX-License-Identifier: Apache-2.0
//
// What works element by element behind a sum of products joins it as a post-operation, as far
// as a provider absorbs it: Conv + Add(residual) + Relu is one Conv with the chain [Add, Relu].
// The node moves down to where the other operands are computed.
#include <stdlib.h>
#include <string.h>

#include "passes/elementwise.h"
#include "passes/pattern.h"
#include "schema/schema.h"

static const char *const roots[] = {"Conv", "ConvTranspose", "Gemm", "MatMul", NULL};

// Operators that may join besides the unary and broadcasting ones: with parameters as inputs.
static const char *const others[] = {"Clip", "PRelu", NULL};

static int may_join(const rt_node *node) {
  if (rt_pass_is_unary(node) || rt_pass_is_broadcasting(node)) return 1;
  for (const char *const *name = others; *name; ++name)
    if (rt_pass_is(node, *name)) return 1;
  return 0;
}

// The only reader, if it may join and reads the result once.
static rt_node *find_next(const rt_node *node) {
  if (!rt_pass_one_output(node)) return NULL;
  const rt_value *value = node->outputs[0];
  rt_node *next = rt_value_sole_consumer(value);
  if (!next || !may_join(next) || !rt_node_output(next, 0)) return NULL;
  return rt_pass_same_type(next->outputs[0], value) ? next : NULL;
}

static int32_t append(rt_node *node, const rt_op *op, rt_value *const *inputs, uint32_t count,
                      const rt_value *chained, ops_error *error) {
  rt_value *operands[OPS_MAX_RANK];
  uint32_t at = 0, others_count = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (inputs[i] == chained)
      at = i;
    else
      operands[others_count++] = inputs[i];
  }
  return rt_node_append_post(node, op, operands, others_count, at, error);
}

// The chain that `node` has already.
static int32_t copy_chain(rt_node *copy, const rt_node *node, ops_error *error) {
  for (uint32_t i = 0; i < node->post_count; ++i) {
    const rt_post *post = &node->posts[i];
    OPS_RETURN_IF_ERROR(rt_node_append_post(copy, &post->op,
                                            node->operands + post->first_operand,
                                            post->input_count - 1, post->chained, error));
  }
  return OPS_OK;
}

static int32_t write_inputs_out(rt_node *node, ops_error *error) {
  const ops_str domain = {"", 0}, name = {node->op.name, strlen(node->op.name)};
  const rt_schema *schema = rt_schema_find(domain, name, node->op.opset);
  if (!schema || schema->max_inputs == RT_SCHEMA_UNBOUNDED ||
      (uint32_t)schema->max_inputs <= node->input_count)
    return OPS_OK;
  return rt_node_set_input_count(node, (uint32_t)schema->max_inputs, error);
}

// A node like `node` with `next` at the end of its chain, just before `next`.
static int32_t make(rt_pass_context *context, rt_node *node, rt_node *next, rt_node **out_node,
                    ops_error *error) {
  rt_node_desc desc = rt_node_describe(node);
  desc.output_count = 1;
  OPS_RETURN_IF_ERROR(rt_graph_add_node(node->graph, &desc, next, out_node, error));
  OPS_RETURN_IF_ERROR(write_inputs_out(*out_node, error));
  OPS_RETURN_IF_ERROR(copy_chain(*out_node, node, error));
  OPS_RETURN_IF_ERROR(
      append(*out_node, &next->op, next->operands, next->input_count, node->outputs[0], error));
  OPS_RETURN_IF_ERROR(rt_node_add_origins_of(*out_node, node, error));
  OPS_RETURN_IF_ERROR(rt_node_add_origins_of(*out_node, next, error));
  return rt_pass_infer(context, *out_node, error);
}

static int32_t join(rt_pass_context *context, rt_node *node, rt_node *next, rt_node **out_node,
                    ops_error *error) {
  rt_node *const replaced[] = {node, next};
  const char *why;
  OPS_RETURN_IF_ERROR(make(context, node, next, out_node, error));
  OPS_RETURN_IF_ERROR(rt_pass_claimed(context, *out_node, replaced, 2, &why, error));
  if (why) {
    rt_pass_miss(context, "%s '%s' + %s '%s': not chained, %s", node->op.name, node->name,
                 next->op.name, next->name, why);
    const int32_t status = rt_graph_remove_node(node->graph, *out_node, error);
    *out_node = NULL;
    return status;
  }
  rt_pass_hit(context, "%s '%s' + %s '%s': chained", node->op.name, node->name, next->op.name,
              next->name);
  return rt_pass_replace(context, next, (*out_node)->outputs[0], error);
}

static int32_t visit(rt_pass_context *context, rt_node *node, ops_error *error) {
  // Without providers nobody absorbs anything.
  if (!context->options->host.claim || node->op.domain[0]) return OPS_OK;
  for (rt_node *next; node && (next = find_next(node));) {
    if (next->input_count > OPS_MAX_RANK) return OPS_OK;
    OPS_RETURN_IF_ERROR(join(context, node, next, &node, error));
  }
  return OPS_OK;
}

const rt_pass rt_pass_post_operations = {.roots = roots, .visit = visit};

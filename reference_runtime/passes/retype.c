// SPDX-License-Identifier: Apache-2.0
//
// The new node is added beside the old one with its casts, so that providers can be asked about
// it as it would be, and removed again if they refuse.
#include "passes/retype.h"

#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"

// ---- What changes ---------------------------------------------------------------------------

static const rt_schema *schema_of(const rt_node *node) {
  const ops_str domain = {node->op.domain, strlen(node->op.domain)};
  const ops_str name = {node->op.name, strlen(node->op.name)};
  return rt_schema_find(domain, name, node->op.opset);
}

static int is_output_type(const rt_schema *schema, int32_t constraint) {
  for (int32_t i = 0; i < schema->output_count; ++i)
    if (schema->outputs[i].constraint == constraint) return 1;
  return 0;
}

static int may_change(const rt_schema *schema, const rt_retype *how, uint32_t index) {
  if (!schema) return !how->indices_only;
  const rt_schema_param *param = rt_schema_input_at(schema, index);
  return param && param->constraint >= 0 &&
         (param->types->tensor & OPS_TYPE_BIT(how->to)) != 0 &&
         !(how->indices_only && is_output_type(schema, param->constraint));
}

// 1 if every finite element stays finite.
static int stays_finite(const rt_value *value, int32_t to) {
  const rt_constant *constant = rt_value_constant(value);
  const double largest = 65520;  // rounds to infinity in float16
  if (!constant || to != OPS_TYPE_FLOAT16 || constant->elem_type != OPS_TYPE_FLOAT) return 1;
  if (!constant->data) return constant->size == 0;
  const float *data = constant->data;
  for (int64_t i = 0; i < constant->element_count; ++i)
    if (isfinite(data[i]) && fabs((double)data[i]) >= largest) return 0;
  return 1;
}

const char *rt_pass_retype_inputs(const rt_node *node, const rt_retype *how, uint8_t *change) {
  const rt_schema *schema = schema_of(node);
  uint32_t count = 0;
  memset(change, 0, node->input_count);
  if (node->post_count > 0) return "it has post-operations";
  if (rt_node_body_count(node) > 0) return "it has bodies";
  for (uint32_t i = 0; i < node->input_count; ++i) {
    const rt_value *value = node->operands[i];
    if (!value || rt_pass_elem(value) != how->from || !may_change(schema, how, i)) continue;
    if (!stays_finite(value, how->to)) return "a constant exceeds 65504, the largest float16";
    change[i] = 1;
    count++;
  }
  return count ? NULL : "the operator does not allow that type";
}

// ---- Trying ---------------------------------------------------------------------------------

// The version of ONNX's own domain that the model imports, for casts around other operators.
static int32_t standard_opset(const rt_pass_context *context, const rt_node *node) {
  if (!node->op.domain[0]) return node->op.opset;
  for (const rt_node *other = context->root->first; other; other = other->next)
    if (!other->op.domain[0]) return other->op.opset;
  return 13;
}

static int32_t add_cast(rt_pass_context *context, rt_value *value, int32_t type, rt_node *node,
                        rt_value **out_value, ops_error *error) {
  const int64_t to = type;
  const rt_attr attr = {.name = "to", .kind = RT_ATTR_INT, .count = 1, .ints = &to};
  const rt_node_desc desc = {.op = "Cast",
                             .opset = standard_opset(context, node),
                             .inputs = &value,
                             .input_count = 1,
                             .output_count = 1,
                             .attrs = &attr,
                             .attr_count = 1};
  rt_node *cast = NULL;
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &desc, node, &node, 1, &cast, error));
  *out_value = cast->outputs[0];
  return OPS_OK;
}

static int32_t add_trial(rt_pass_context *context, rt_node *node, const rt_retype *how,
                         const uint8_t *change, rt_value **inputs, rt_node **out_trial,
                         ops_error *error) {
  for (uint32_t i = 0; i < node->input_count; ++i) {
    inputs[i] = node->operands[i];
    if (change[i])
      OPS_RETURN_IF_ERROR(
          add_cast(context, node->operands[i], how->to, node, &inputs[i], error));
  }
  rt_node_desc desc = rt_node_describe(node);
  desc.inputs = inputs;
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &desc, node, &node, 1, out_trial, error));
  (*out_trial)->flags |= how->flags;
  for (uint32_t i = 0; i < node->output_count; ++i)
    if (!node->outputs[i]) OPS_RETURN_IF_ERROR(rt_node_omit_output(*out_trial, i, error));
  return OPS_OK;
}

// What read output `index` reads the new node's instead, cast back where its type differs.
static int32_t take_output(rt_pass_context *context, rt_node *node, rt_node *trial,
                           uint32_t index, ops_error *error) {
  rt_value *before = node->outputs[index], *after = trial->outputs[index];
  if (rt_pass_elem(after) != rt_pass_elem(before))
    OPS_RETURN_IF_ERROR(add_cast(context, after, rt_pass_elem(before), node, &after, error));
  return rt_value_replace_uses(before, after, error);
}

static int32_t keep(rt_pass_context *context, rt_node *node, rt_node *trial, ops_error *error) {
  for (uint32_t i = 0; i < node->output_count; ++i)
    if (node->outputs[i]) OPS_RETURN_IF_ERROR(take_output(context, node, trial, i, error));
  return rt_pass_drop(context, node, error);
}

// More than what rt_pass_claimed asks: a provider that is more preferred than the present one.
static int32_t is_moved(rt_pass_context *context, const rt_node *node, const rt_node *trial,
                        const char **out_why, ops_error *error) {
  const rt_passes_host *host = &context->options->host;
  uint32_t before, after;
  *out_why = "no provider is known";
  if (!host->claim) return OPS_OK;
  OPS_RETURN_IF_ERROR(host->claim(host->user, node, &before, error));
  OPS_RETURN_IF_ERROR(host->claim(host->user, trial, &after, error));
  *out_why = after < before ? NULL : "no more preferred provider takes it";
  return OPS_OK;
}

static int32_t try_changed(rt_pass_context *context, rt_node *node, const rt_retype *how,
                           const uint8_t *change, rt_value **inputs, const char **out_why,
                           ops_error *error) {
  rt_node *trial = NULL;
  OPS_RETURN_IF_ERROR(add_trial(context, node, how, change, inputs, &trial, error));
  OPS_RETURN_IF_ERROR(how->indices_only
                          ? is_moved(context, node, trial, out_why, error)
                          : rt_pass_claimed(context, trial, &node, 1, out_why, error));
  return *out_why ? rt_pass_drop(context, trial, error) : keep(context, node, trial, error);
}

int32_t rt_pass_retype(rt_pass_context *context, rt_node *node, const rt_retype *how,
                       const char **out_why, ops_error *error) {
  uint8_t *change = calloc(node->input_count + (size_t)1, 1);
  rt_value **inputs = calloc(node->input_count + (size_t)1, sizeof *inputs);
  int32_t status = OPS_OK;
  if (!change || !inputs) {
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "changing the type of a node");
  } else {
    *out_why = rt_pass_retype_inputs(node, how, change);
    if (!*out_why) status = try_changed(context, node, how, change, inputs, out_why, error);
  }
  free(change);
  free(inputs);
  return status;
}

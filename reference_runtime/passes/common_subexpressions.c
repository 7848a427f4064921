// SPDX-License-Identifier: Apache-2.0
//
// Equal nodes: the same operator, attributes and operands. The first one in order serves all.
// Random operators, operators that ONNX does not define, and nodes with bodies stay.
#include <stdlib.h>
#include <string.h>

#include "passes/equal.h"
#include "passes/pass.h"
#include "schema/schema.h"

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ hash >> 29;
}

static uint64_t hash_text(uint64_t hash, const char *text) {
  for (; *text; ++text) hash = mix(hash, (uint8_t)*text);
  return hash;
}

// Attributes only by name: equal nodes have equal hashes, which is all that matters.
static uint64_t hash_node(const rt_node *node) {
  uint64_t hash = hash_text(node->input_count, node->op.name);
  for (uint32_t i = 0; i < node->operand_count; ++i)
    hash = mix(hash, node->operands[i] ? node->operands[i]->id + UINT64_C(1) : 0);
  for (uint32_t i = 0; i < node->op.attrs.count; ++i) {
    const rt_attr *attr = &node->op.attrs.items[i];
    if (attr->kind == RT_ATTR_INT) hash = mix(hash, (uint64_t)attr->ints[0]);
  }
  return hash;
}

static int is_eligible(const rt_node *node) {
  const ops_str domain = {node->op.domain, strlen(node->op.domain)};
  const ops_str name = {node->op.name, strlen(node->op.name)};
  if (node->post_count || rt_node_body_count(node) || node->input_count == 0 ||
      strncmp(node->op.domain, "com.", 4) == 0)
    return 0;
  const rt_schema *schema = rt_schema_find(domain, name, node->op.opset);
  return schema && !schema->is_nondeterministic;
}

// 1 if the first gives every output that is read of the second.
static int covers(const rt_node *first, const rt_node *second) {
  for (uint32_t i = 0; i < second->output_count; ++i) {
    const rt_value *value = second->outputs[i];
    if (value && rt_value_is_used(value) && !rt_node_output(first, i)) return 0;
  }
  return 1;
}

static int is_equal(const rt_node *a, const rt_node *b) {
  if (a->operand_count != b->operand_count || a->input_count != b->input_count ||
      a->op.opset != b->op.opset || strcmp(a->op.name, b->op.name) != 0 ||
      strcmp(a->op.domain, b->op.domain) != 0)
    return 0;
  // Some operators look at which outputs are asked for.
  if (a->output_count != b->output_count) return 0;
  for (uint32_t i = 0; i < a->operand_count; ++i)
    if (a->operands[i] != b->operands[i]) return 0;
  return rt_pass_attrs_equal(&a->op.attrs, &b->op.attrs) && covers(a, b);
}

static int32_t merge(rt_pass_context *context, rt_node *first, rt_node *second,
                     ops_error *error) {
  rt_pass_hit(context, "%s '%s': removed, equals '%s'", second->op.name, second->name,
              first->name);
  for (uint32_t i = 0; i < second->output_count; ++i)
    if (second->outputs[i] && rt_value_is_used(second->outputs[i]))
      OPS_RETURN_IF_ERROR(rt_value_replace_uses(second->outputs[i], first->outputs[i], error));
  OPS_RETURN_IF_ERROR(rt_pass_absorb(first, second, error));
  return rt_pass_drop(context, second, error);
}

static int32_t run(rt_pass_context *context, rt_graph *graph, ops_error *error) {
  size_t room = 16;
  while (room < 2 * (size_t)graph->node_count) room *= 2;
  rt_node **slots = calloc(room, sizeof(rt_node *));
  if (!slots) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "finding equal nodes");
  int32_t status = OPS_OK;
  for (rt_node *node = graph->first; status == OPS_OK && node; node = node->next) {
    if (node->removed || !is_eligible(node)) continue;
    size_t at = hash_node(node) & (room - 1);
    while (slots[at] && !is_equal(slots[at], node)) at = (at + 1) & (room - 1);
    if (slots[at])
      status = merge(context, slots[at], node, error);
    else
      slots[at] = node;
  }
  free(slots);
  return status;
}

const rt_pass rt_pass_common_subexpressions = {.run = run};

// SPDX-License-Identifier: Apache-2.0
//
// Type parameters of the schemas ("T"): each has a set of types, and stands for one type in one
// node. Source: the section "Type Constraints" of each operator in onnx's docs/Operators.md.
#include "infer/check_types.h"

#include <stdio.h>
#include <string.h>

#include "schema/schema.h"

#define MAX_CONSTRAINTS 32

static uint64_t bit_of(const rt_type *type) {
  return type->elem_type > 0 ? OPS_TYPE_BIT(type->elem_type) : UINT64_MAX;
}

// 1 if a set of element types holds those of a tensor; NULL is a tensor of which nothing is
// known.
static int holds(uint64_t set, const rt_type *tensor) {
  return set != 0 && (!tensor || (set & bit_of(tensor)) != 0);
}

static int allows_element(const rt_schema_types *types, const rt_type *element) {
  if (!element) return types->optional != 0 || types->optional_sequence != 0;
  if (element->kind == RT_TYPE_SEQUENCE)
    return holds(types->optional_sequence, element->element);
  return element->kind != RT_TYPE_TENSOR || holds(types->optional, element);
}

static int allows(const rt_schema_types *types, const rt_type *type) {
  switch (type->kind) {
    case RT_TYPE_TENSOR:
    case RT_TYPE_SPARSE_TENSOR:
      return holds(types->tensor, type);
    case RT_TYPE_SEQUENCE:
      if (type->element && type->element->kind != RT_TYPE_TENSOR) return types->maps != 0;
      return types->maps != 0 || holds(types->sequence, type->element);
    case RT_TYPE_OPTIONAL:
      return allows_element(types, type->element);
    case RT_TYPE_MAP:
      return types->maps != 0;
    default:
      return 1;
  }
}

// --- Messages --------------------------------------------------------------------------------

typedef struct text {
  char data[600];
  size_t used;
} text;

static void add(text *out, const char *before, const char *name, const char *after) {
  const size_t room = sizeof out->data - out->used;
  const int size = snprintf(out->data + out->used, room, "%s%s%s%s", out->used ? ", " : "",
                            before, name, after);
  if (size > 0) out->used += (size_t)size < room ? (size_t)size : room - 1;
}

static void add_set(text *out, const char *before, uint64_t set, const char *after) {
  for (int32_t type = 1; type < OPS_TYPE_COUNT; ++type)
    if (set & OPS_TYPE_BIT(type)) add(out, before, rt_elem_type_name(type), after);
}

static void format_types(const rt_schema_types *types, text *out) {
  *out = (text){{0}, 0};
  add_set(out, "", types->tensor, "");
  add_set(out, "sequence(", types->sequence, ")");
  add_set(out, "optional(", types->optional, ")");
  add_set(out, "optional(sequence(", types->optional_sequence, "))");
  if (types->maps) add(out, "", "maps", "");
}

// Which input of the node: its formal name, its number where the name stands for several.
static const char *format_input(const rt_infer_context *ctx, uint32_t input,
                                const rt_schema_param *param, char *out, size_t room) {
  const rt_value *value = ctx->op == &ctx->node->op ? rt_node_input(ctx->node, input) : NULL;
  char number[16] = "";
  if (param->option == RT_SCHEMA_VARIADIC) snprintf(number, sizeof number, "%u of ", input);
  snprintf(out, room, "input %s%s ('%s')", number, param->name, value ? value->name : "");
  return out;
}

static int32_t fail_not_allowed(const rt_infer_context *ctx, uint32_t input,
                                const rt_schema_param *param) {
  char name[256], found[256];
  text allowed;
  format_types(param->types, &allowed);
  return rt_infer_fail(
      ctx, "%s is %s; expected %s%s", format_input(ctx, input, param, name, sizeof name),
      rt_type_format(ctx->symbols, ctx->inputs[input].type, found, sizeof found),
      strchr(allowed.data, ',') ? "one of " : "", allowed.data);
}

static int32_t fail_different(const rt_infer_context *ctx, uint32_t a, uint32_t b,
                              const rt_schema_param *param_a, const rt_schema_param *param_b) {
  char name_a[256], name_b[256];
  return rt_infer_fail(ctx,
                       "%s is %s and %s is %s; expected the same element type: insert a Cast",
                       format_input(ctx, a, param_a, name_a, sizeof name_a),
                       rt_elem_type_name(ctx->inputs[a].type->elem_type),
                       format_input(ctx, b, param_b, name_b, sizeof name_b),
                       rt_elem_type_name(ctx->inputs[b].type->elem_type));
}

// --- The check -------------------------------------------------------------------------------

static int is_typed_tensor(const rt_type *type) {
  return (type->kind == RT_TYPE_TENSOR || type->kind == RT_TYPE_SPARSE_TENSOR) &&
         type->elem_type > 0;
}

int32_t rt_infer_check_types(const rt_infer_context *ctx) {
  const rt_op *op = ctx->op;
  uint32_t first[MAX_CONSTRAINTS] = {0};  // 1 + the input that binds a parameter; 0: none yet
  const rt_schema *schema = rt_schema_find((ops_str){op->domain, strlen(op->domain)},
                                           (ops_str){op->name, strlen(op->name)}, op->opset);
  if (!schema) return OPS_OK;
  for (uint32_t i = 0; i < ctx->input_count; ++i) {
    const rt_schema_param *param = rt_schema_input_at(schema, i);
    if (!param || !rt_infer_has(ctx, i)) continue;
    const rt_type *type = ctx->inputs[i].type;
    if (!allows(param->types, type)) return fail_not_allowed(ctx, i, param);
    const int alone = param->option == RT_SCHEMA_VARIADIC && !param->is_homogeneous;
    if (param->constraint < 0 || param->constraint >= MAX_CONSTRAINTS || alone ||
        !is_typed_tensor(type))
      continue;
    uint32_t *bound = &first[param->constraint];
    if (*bound && ctx->inputs[*bound - 1].type->elem_type != type->elem_type)
      return fail_different(ctx, *bound - 1, i, rt_schema_input_at(schema, *bound - 1), param);
    if (!*bound) *bound = i + 1;
  }
  return OPS_OK;
}

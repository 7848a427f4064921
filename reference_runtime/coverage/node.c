// SPDX-License-Identifier: Apache-2.0
//
// Shapes are open: the first input has rank 4, since some operators want to know one; nothing
// is said of the others. Required attributes without a default get a plain value of their kind;
// one that names the output's type says which it is.
#include "coverage/node.h"

#include <ctype.h>
#include <ops_support/tensor.h>
#include <string.h>

#define RANK 4

// --- Operands --------------------------------------------------------------------------------

static const int64_t open_dims[RANK] = {-1, -1, -1, -1};

static ops_type_info tensor_of(int32_t elem, int32_t rank) {
  return (ops_type_info){.struct_size = sizeof(ops_type_info),
                         .kind = elem == OPS_TYPE_STRING ? OPS_VALUE_STRINGS : OPS_VALUE_TENSOR,
                         .type = elem,
                         .rank = rank,
                         .dims = rank > 0 ? open_dims : NULL};
}

static ops_type_info holder_of(int32_t kind, int32_t key, const ops_type_info *element) {
  return (ops_type_info){.struct_size = sizeof(ops_type_info),
                         .kind = kind,
                         .type = key,
                         .rank = -1,
                         .element = element};
}

static void set_map(rt_coverage_operand *out, int32_t number) {
  static const int32_t keys[] = {OPS_TYPE_INT64,  OPS_TYPE_INT64,  OPS_TYPE_INT64,
                                 OPS_TYPE_STRING, OPS_TYPE_STRING, OPS_TYPE_STRING,
                                 OPS_TYPE_INT64,  OPS_TYPE_STRING};
  static const int32_t values[] = {OPS_TYPE_DOUBLE, OPS_TYPE_FLOAT, OPS_TYPE_STRING,
                                   OPS_TYPE_DOUBLE, OPS_TYPE_FLOAT, OPS_TYPE_INT64,
                                   OPS_TYPE_FLOAT,  OPS_TYPE_FLOAT};
  out->inner = tensor_of(values[number], 0);
  out->element = holder_of(OPS_VALUE_MAP, keys[number], &out->inner);
  out->type = number < 6 ? out->element
                         : holder_of(OPS_VALUE_SEQUENCE, OPS_TYPE_UNDEFINED, &out->element);
}

static void set_type(rt_coverage_operand *out, rt_coverage_type type, int32_t rank) {
  switch (type.form) {
    case RT_COVERAGE_TENSOR:
      out->type = tensor_of(type.elem, rank);
      return;
    case RT_COVERAGE_MAP:
      set_map(out, type.elem);
      return;
    case RT_COVERAGE_OPTIONAL_SEQUENCE:
      out->inner = tensor_of(type.elem, -1);
      out->element = holder_of(OPS_VALUE_SEQUENCE, OPS_TYPE_UNDEFINED, &out->inner);
      out->type = holder_of(OPS_VALUE_OPTIONAL, OPS_TYPE_UNDEFINED, &out->element);
      return;
    default:
      out->element = tensor_of(type.elem, -1);
      out->type =
          holder_of(type.form == RT_COVERAGE_SEQUENCE ? OPS_VALUE_SEQUENCE : OPS_VALUE_OPTIONAL,
                    OPS_TYPE_UNDEFINED, &out->element);
  }
}

static rt_coverage_type type_of(const rt_coverage_case *found, const rt_schema_param *param) {
  rt_coverage_type list[RT_COVERAGE_MOST_TYPES];
  if (param->constraint >= 0) return found->types[param->constraint];
  return rt_coverage_list(param->types, list) > 0 ? list[0] : (rt_coverage_type){0, 0};
}

// Returns how many there are. A variadic argument stands once.
static uint64_t set_operands(const rt_coverage_case *found, const rt_schema_param *params,
                             int32_t count, int only_required, int64_t first_value,
                             ops_operand *operands, rt_coverage_operand *types) {
  int32_t n = count < RT_COVERAGE_ARGUMENTS ? count : RT_COVERAGE_ARGUMENTS;
  while (only_required && n > 0 && params[n - 1].min_count == 0) --n;
  for (int32_t i = 0; i < n; ++i) {
    set_type(&types[i], type_of(found, &params[i]), i == 0 && first_value == 0 ? RANK : -1);
    operands[i] = (ops_operand){
        .struct_size = sizeof operands[i], .value = first_value + i, .type = &types[i].type};
  }
  return (uint64_t)n;
}

// --- Attributes ------------------------------------------------------------------------------

static void set_default(ops_attribute *out, const rt_schema_attribute *attribute) {
  static const float ones[2] = {1, 1};
  static const int64_t int_ones[2] = {1, 1};
  static const ops_str none = OPS_STR("");
  const int given = attribute->has_default;
  out->count = given ? attribute->default_count : 1;
  switch (attribute->kind) {
    case OPS_ATTRIBUTE_FLOAT:
    case OPS_ATTRIBUTE_FLOATS:
      out->floats = given ? attribute->default_value.floats : ones;
      break;
    case OPS_ATTRIBUTE_INT:
    case OPS_ATTRIBUTE_INTS:
      out->ints = given ? attribute->default_value.ints : int_ones;
      break;
    case OPS_ATTRIBUTE_STRING:
    case OPS_ATTRIBUTE_STRINGS:
      out->strings = given ? attribute->default_value.strings : &none;
      break;
    default:
      out->count = 0;
  }
  if (!given &&
      (attribute->kind == OPS_ATTRIBUTE_INTS || attribute->kind == OPS_ATTRIBUTE_FLOATS))
    out->count = 2;
}

static int names_a_type(const rt_schema_attribute *attribute) {
  return strcmp(attribute->name, "to") == 0 || strcmp(attribute->name, "dtype") == 0;
}

static void set_type_attribute(rt_coverage_node *node, ops_attribute *out) {
  const int32_t type = node->output_types[0].type.type;
  node->type_number = type;
  strncpy(node->type_name, ops_type_name(type), sizeof node->type_name - 1);
  for (char *c = node->type_name; *c; ++c) *c = (char)toupper((unsigned char)*c);
  node->type_text = (ops_str){node->type_name, strlen(node->type_name)};
  out->count = 1;
  if (out->kind == OPS_ATTRIBUTE_INT) out->ints = &node->type_number;
  if (out->kind == OPS_ATTRIBUTE_STRING) out->strings = &node->type_text;
}

static uint64_t set_attributes(rt_coverage_node *node, const rt_schema *schema) {
  uint64_t count = 0;
  for (int32_t i = 0; i < schema->attribute_count && count < RT_COVERAGE_ATTRIBUTES; ++i) {
    const rt_schema_attribute *attribute = &schema->attributes[i];
    const int is_type = names_a_type(attribute);
    if (!attribute->has_default && !attribute->is_required && !is_type) continue;
    ops_attribute *out = &node->attributes[count];
    *out = (ops_attribute){.struct_size = sizeof *out,
                           .name = {attribute->name, strlen(attribute->name)},
                           .kind = attribute->kind};
    if (is_type)
      set_type_attribute(node, out);
    else
      set_default(out, attribute);
    if (out->floats || out->ints || out->strings || out->count == 0) ++count;
    if (out->count == 0 && !attribute->has_default) --count;  // a tensor or a graph
  }
  return count;
}

void rt_coverage_node_init(rt_coverage_node *out, const rt_coverage_case *found,
                           int only_required) {
  static const ops_str name = OPS_STR("n");
  const rt_schema *schema = found->schema;
  memset(out, 0, sizeof *out);
  out->node = (ops_node){.struct_size = sizeof out->node,
                         .name = name,
                         .domain = {schema->domain, strlen(schema->domain)},
                         .op = {schema->name, strlen(schema->name)},
                         .opset = found->opset,
                         .attributes = out->attributes,
                         .attribute_stride = sizeof out->attributes[0],
                         .inputs = out->inputs,
                         .input_stride = sizeof out->inputs[0],
                         .outputs = out->outputs,
                         .output_stride = sizeof out->outputs[0],
                         .post_op_stride = sizeof(ops_post_op)};
  out->node.input_count = set_operands(found, schema->inputs, schema->input_count,
                                       only_required, 0, out->inputs, out->input_types);
  out->node.output_count =
      set_operands(found, schema->outputs, schema->output_count, only_required,
                   RT_COVERAGE_ARGUMENTS, out->outputs, out->output_types);
  out->node.attribute_count = set_attributes(out, schema);
}

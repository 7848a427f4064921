// SPDX-License-Identifier: Apache-2.0
//
// One node against the schema of its operator, or against the function that it calls.
#include <inttypes.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <string.h>

#include "model/check_internal.h"
#include "schema/schema.h"

static const char *domain_text(const char *domain) {
  return domain[0] ? domain : "ai.onnx";
}

const rt_model_function *rt_check_find_function(const rt_checker *checker,
                                                const rt_model_node *node) {
  const rt_name name = {{node->domain, node->op_type, node->overload}};
  const int64_t *index = rt_name_map_find(&checker->functions, name);
  return index ? &checker->model->functions[*index] : NULL;
}

// --- The operator --------------------------------------------------------------------------

// The opset of a domain that is in force; 0 if it is not imported. Models older than IR version
// 3 had no imports and meant the first opset.
static int64_t imported_opset(const rt_checker *checker, ops_str domain) {
  const int64_t version = rt_model_opset_find(checker->opsets, checker->opset_count, domain);
  const int implied = checker->model->ir_version < 3 && checker->opset_count == 0;
  return version == 0 && implied && domain.size == 0 ? 1 : version;
}

// Says which operator was probably meant.
static int32_t fail_unknown(const rt_checker *checker, const rt_model_node *node,
                            int64_t opset) {
  const rt_schema *first = rt_schema_find_first(node->domain, node->op_type);
  const rt_schema *near = rt_schema_find_near(node->domain, node->op_type, opset);
  const ops_str domain = node->domain.size ? node->domain : (ops_str)OPS_STR("ai.onnx");
  if (first)
    return ops_error_set_cause(
        checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_OPSET,
        "operator '%.*s' of domain '%.*s' exists from opset %d on, the model "
        "imports opset %" PRId64 "; export for opset %d or newer",
        OPS_STR_FMT(node->op_type), OPS_STR_FMT(domain), first->since, opset, first->since);
  if (near && !rt_check_equal(node->domain, (ops_str){near->domain, strlen(near->domain)}))
    return ops_error_set_cause(
        checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_OPSET,
        "operator '%.*s' is not in domain '%.*s' but in '%s', as '%s'; correct "
        "the node's domain",
        OPS_STR_FMT(node->op_type), OPS_STR_FMT(domain), domain_text(near->domain), near->name);
  if (near)
    return ops_error_set_cause(checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_OPSET,
                               "operator '%.*s' is unknown in opset %" PRId64
                               " of domain '%.*s'; the nearest name is '%s'",
                               OPS_STR_FMT(node->op_type), opset, OPS_STR_FMT(domain),
                               near->name);
  return ops_error_set_cause(checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_OPSET,
                             "operator '%.*s' is unknown in opset %" PRId64
                             " of domain '%.*s'; a custom operator needs a domain of its own",
                             OPS_STR_FMT(node->op_type), opset, OPS_STR_FMT(domain));
}

// The schema of a node's operator; NULL if its domain is nobody's here.
static int32_t find_schema(const rt_checker *checker, const rt_model_node *node,
                           const rt_schema **out_schema) {
  *out_schema = NULL;
  const int64_t opset = imported_opset(checker, node->domain);
  if (opset == 0)
    return ops_error_set_cause(
        checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_OPSET,
        "domain '%.*s' is not imported; expected an opset_import of it in the "
        "%s",
        OPS_STR_FMT(node->domain.size ? node->domain : (ops_str)OPS_STR("ai.onnx")),
        checker->function ? "function" : "model");
  if (rt_schema_newest_opset(node->domain) == 0) return OPS_OK;
  const rt_schema *schema = rt_schema_find(node->domain, node->op_type, opset);
  if (!schema) return fail_unknown(checker, node, opset);
  if (schema->is_deprecated)
    return ops_error_set_cause(
        checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_OPSET,
        "operator '%s' was removed in opset %d, the model imports opset %" PRId64
        "; use its successor or an older opset",
        schema->name, schema->since, opset);
  *out_schema = schema;
  return OPS_OK;
}

// --- Inputs and outputs --------------------------------------------------------------------

static int32_t check_count(const rt_checker *checker, const char *what, size_t count,
                           int32_t least, int32_t most) {
  if (count >= (size_t)least && (most == RT_SCHEMA_UNBOUNDED || count <= (size_t)most))
    return OPS_OK;
  char limit[32] = "";
  if (most == RT_SCHEMA_UNBOUNDED)
    snprintf(limit, sizeof limit, " or more");
  else if (most != least)
    snprintf(limit, sizeof limit, " to %" PRId32, most);
  return ops_error_set_cause(checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ARITY,
                             "has %zu %s%s; expected %" PRId32 "%s", count, what,
                             count == 1 ? "" : "s", least, limit);
}

static int32_t check_arity(const rt_checker *checker, const rt_model_node *node,
                           const rt_schema *schema) {
  OPS_RETURN_IF_ERROR(
      check_count(checker, "input", node->input_count, schema->min_inputs, schema->max_inputs));
  OPS_RETURN_IF_ERROR(check_count(checker, "output", node->output_count, schema->min_outputs,
                                  schema->max_outputs));
  for (size_t i = 0; i < node->input_count; ++i) {
    const rt_schema_param *param = rt_schema_input_at(schema, i);
    if (node->inputs[i].size == 0 && param && param->option != RT_SCHEMA_OPTIONAL)
      return ops_error_set_cause(
          checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ARITY,
          "input %zu ('%s') is left out; expected a value, it is required", i, param->name);
  }
  return OPS_OK;
}

// --- Attributes ----------------------------------------------------------------------------

// A name that begins so is a note of some tool, allowed on every node.
static int is_private(ops_str name) {
  return name.size >= 2 && name.data[0] == '_' && name.data[1] == '_';
}

static int32_t check_kind(const rt_checker *checker, const rt_model_attribute *attribute,
                          const rt_schema *schema) {
  const rt_schema_attribute *known = rt_schema_attribute_find(schema, attribute->name);
  if (known && known->kind == attribute->kind) return OPS_OK;
  if (known)
    return ops_error_set_cause(checker->error, OPS_ERROR_INVALID_MODEL,
                               OPS_CAUSE_WRONG_ATTRIBUTE,
                               "attribute '%s' is of kind %s; expected %s", known->name,
                               rt_model_attribute_kind_name(attribute->kind),
                               rt_model_attribute_kind_name(known->kind));
  if (is_private(attribute->name)) return OPS_OK;
  const rt_schema_attribute *near = rt_schema_attribute_find_near(schema, attribute->name);
  return ops_error_set_cause(
      checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ATTRIBUTE,
      "attribute '%.*s' is unknown to version %d of %s; %s%s%s", OPS_STR_FMT(attribute->name),
      schema->since, schema->name,
      near ? "the nearest name is '" : "remove it, or export for another opset",
      near ? near->name : "", near ? "'" : "");
}

static int32_t check_required(const rt_checker *checker, const rt_model_node *node,
                              const rt_schema *schema) {
  for (int32_t i = 0; i < schema->attribute_count; ++i) {
    const rt_schema_attribute *known = &schema->attributes[i];
    if (known->is_required && !rt_model_attribute_find(node, known->name))
      return ops_error_set_cause(
          checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ATTRIBUTE,
          "attribute '%s' is missing; expected it with kind %s, it is required", known->name,
          rt_model_attribute_kind_name(known->kind));
  }
  return OPS_OK;
}

static int has_function_attribute(const rt_model_function *function, ops_str name) {
  for (size_t i = 0; i < function->attribute_name_count; ++i)
    if (rt_check_equal(function->attribute_names[i], name)) return 1;
  for (size_t i = 0; i < function->attribute_default_count; ++i)
    if (rt_check_equal(function->attribute_defaults[i].name, name)) return 1;
  return 0;
}

static int32_t check_reference(const rt_checker *checker, const rt_model_attribute *attribute) {
  if (attribute->ref_attr_name.size == 0) return OPS_OK;
  if (!checker->function)
    return ops_error_set_cause(
        checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ATTRIBUTE,
        "attribute '%.*s' refers to attribute '%.*s' of a function, but the node "
        "is in no function; give it a value",
        OPS_STR_FMT(attribute->name), OPS_STR_FMT(attribute->ref_attr_name));
  if (has_function_attribute(checker->function, attribute->ref_attr_name)) return OPS_OK;
  return ops_error_set_cause(
      checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ATTRIBUTE,
      "attribute '%.*s' refers to attribute '%.*s', which function '%.*s' does "
      "not declare",
      OPS_STR_FMT(attribute->name), OPS_STR_FMT(attribute->ref_attr_name),
      OPS_STR_FMT(checker->function->name));
}

// Names are given and distinct, references lead somewhere: rules for every node.
static int32_t check_attribute_names(const rt_checker *checker, const rt_model_node *node) {
  for (size_t i = 0; i < node->attribute_count; ++i) {
    const ops_str name = node->attributes[i].name;
    if (name.size == 0)
      return ops_error_set_cause(checker->error, OPS_ERROR_INVALID_MODEL,
                                 OPS_CAUSE_WRONG_ATTRIBUTE,
                                 "attribute %zu has no name; expected one", i);
    OPS_RETURN_IF_ERROR(check_reference(checker, &node->attributes[i]));
    for (size_t k = 0; k < i; ++k)
      if (rt_check_equal(node->attributes[k].name, name))
        return ops_error_set_cause(
            checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ATTRIBUTE,
            "attribute '%.*s' is given twice; expected each once", OPS_STR_FMT(name));
  }
  return OPS_OK;
}

// --- Nodes ---------------------------------------------------------------------------------

static int32_t check_call(const rt_checker *checker, const rt_model_node *node,
                          const rt_model_function *function) {
  const size_t most = (size_t)INT32_MAX - 1;
  const int32_t inputs = (int32_t)(function->input_count < most ? function->input_count : most);
  const int32_t outputs =
      (int32_t)(function->output_count < most ? function->output_count : most);
  OPS_RETURN_IF_ERROR(check_count(checker, "input", node->input_count, 0, inputs));
  OPS_RETURN_IF_ERROR(check_count(checker, "output", node->output_count, 0, outputs));
  for (size_t i = 0; i < node->attribute_count; ++i)
    if (!has_function_attribute(function, node->attributes[i].name) &&
        !is_private(node->attributes[i].name))
      return ops_error_set_cause(
          checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ATTRIBUTE,
          "attribute '%.*s' is none of function '%.*s'; remove it or declare it",
          OPS_STR_FMT(node->attributes[i].name), OPS_STR_FMT(function->name));
  return OPS_OK;
}

int32_t rt_check_node(const rt_checker *checker, const rt_model_node *node) {
  const rt_schema *schema;
  if (node->op_type.size == 0)
    return ops_error_set_cause(checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_OPSET,
                               "the node has no op_type; expected the name of an operator");
  if (node->attribute_count > RT_CHECK_MAX_ATTRIBUTES)
    return ops_error_set_cause(
        checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ATTRIBUTE,
        "has %zu attributes; expected at most %d (RT_CHECK_MAX_ATTRIBUTES)",
        node->attribute_count, RT_CHECK_MAX_ATTRIBUTES);
  OPS_RETURN_IF_ERROR(check_attribute_names(checker, node));
  const rt_model_function *function = rt_check_find_function(checker, node);
  if (function) return check_call(checker, node, function);
  OPS_RETURN_IF_ERROR(find_schema(checker, node, &schema));
  if (!schema) return OPS_OK;
  OPS_RETURN_IF_ERROR(check_arity(checker, node, schema));
  for (size_t i = 0; i < node->attribute_count; ++i)
    OPS_RETURN_IF_ERROR(check_kind(checker, &node->attributes[i], schema));
  return check_required(checker, node, schema);
}

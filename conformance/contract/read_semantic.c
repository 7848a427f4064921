// SPDX-License-Identifier: Apache-2.0
//
// The section `semantic`: what the operator takes, gives and demands. Names are read first,
// then the expressions that may use any of them.
#include <ops_support/error.h>
#include <stddef.h>
#include <string.h>

#include "contract/reader.h"

// For keys that a second pass reads, once all names are known.
static int32_t read_later(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                          void *out) {
  (void)reader;
  (void)node;
  (void)field;
  (void)out;
  return OPS_OK;
}

static int32_t read_node(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                         void *out) {
  (void)reader;
  (void)field;
  *(const oc_yaml_node **)out = node;
  return OPS_OK;
}

static int32_t check_count(oc_reader *reader, const oc_yaml_node *node, const char *what) {
  if (node->count <= OC_CONTRACT_MAX_PARAMS) return OPS_OK;
  return oc_reader_fail(reader, node, "%zu %s, at most %d are allowed", node->count, what,
                        OC_CONTRACT_MAX_PARAMS);
}

static int32_t read_type_vars(oc_reader *reader, const oc_yaml_node *node,
                              const oc_field *field, void *out) {
  oc_contract *contract = reader->contract;
  (void)field;
  (void)out;
  OPS_RETURN_IF_ERROR(
      oc_reader_expect(reader, node, OC_YAML_MAP, "type variables, each with a list of types"));
  OPS_RETURN_IF_ERROR(check_count(reader, node, "type variables"));
  oc_type_var *vars = oc_arena_alloc(reader->arena, node->count, sizeof(*vars));
  if (!vars) return oc_reader_no_memory(reader);
  size_t i = 0;
  for (const oc_yaml_node *child = node->first; child; child = child->next, ++i) {
    vars[i].name = child->key;
    vars[i].at = oc_reader_position(reader, child);
    OPS_RETURN_IF_ERROR(oc_reader_types(reader, child, &vars[i].types));
  }
  contract->type_vars = vars;
  contract->type_var_count = i;
  return OPS_OK;
}

// A type variable, or an element type.
static int32_t read_param_type(oc_reader *reader, const oc_yaml_node *node,
                               const oc_field *field, void *out) {
  oc_param *param = out;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "a type or its variable"));
  for (size_t i = 0; i < oc_words_type.count; ++i) {
    if (strcmp(oc_words_type.items[i].name, node->text) != 0) continue;
    param->type_var = -1;
    param->type = oc_words_type.items[i].value;
    return OPS_OK;
  }
  return oc_reader_type_var(reader, node, false, node->text, &param->type_var);
}

#define PARAM(member) offsetof(oc_param, member)
static const oc_field input_fields[] = {
    {"name", "name", true, oc_read_name, PARAM(name), NULL, "as in the ONNX schema"},
    {"type", "type or type variable", true, read_param_type, 0, NULL, "of its elements"},
    {"optional", "true, false", false, oc_read_bool, PARAM(optional), NULL,
     "a node may leave it out"},
    {"variadic", "true, false", false, oc_read_bool, PARAM(variadic), NULL,
     "may stand for several tensors; only the last input, or several last ones that repeat "
     "together: the first tensor of each, the second of each …"},
    {"min_count", "integer", false, oc_read_count, PARAM(min_count), NULL,
     "the fewest tensors of a variadic input"},
    {"shape_input", "true, false", false, oc_read_bool, PARAM(shape_input), NULL,
     "its values decide the shape of an output"},
    {"nonzero", "true, false", false, oc_read_bool, PARAM(nonzero), NULL,
     "integers drawn for it are never 0"},
    {"range", "interval, or a mapping from type class to interval", false, read_later, 0, NULL,
     "where drawn values lie; classes: floating, signed, unsigned, integer, other"},
};
const oc_grammar oc_grammar_input = {"input", "One input, in the order of the ONNX schema.",
                                     input_fields, sizeof(input_fields) / sizeof(oc_field)};

static const oc_field output_fields[] = {
    {"name", "name", true, oc_read_name, PARAM(name), NULL, "as in the ONNX schema"},
    {"type", "type or type variable", true, read_param_type, 0, NULL, "of its elements"},
    {"optional", "true, false", false, oc_read_bool, PARAM(optional), NULL,
     "a node may leave it out"},
    {"variadic", "true, false", false, oc_read_bool, PARAM(variadic), NULL,
     "may stand for several tensors; only the last output"},
    {"shape", "expression", false, read_later, 0, NULL, "its dimensions, a list"},
};
const oc_grammar oc_grammar_output = {"output", "One output, in the order of the ONNX schema.",
                                      output_fields, sizeof(output_fields) / sizeof(oc_field)};

// `repeats`: the last parameters may be variadic together.
static int32_t check_params(oc_reader *reader, const oc_yaml_node *node, oc_param *params,
                            bool repeats) {
  size_t i = 0;
  for (const oc_yaml_node *child = node->first; child; child = child->next, ++i) {
    params[i].at = oc_reader_position(reader, child);
    if (params[i].variadic && params[i].min_count == 0) params[i].min_count = 1;
    if (params[i].variadic && child->next && !(repeats && params[i + 1].variadic)) {
      return oc_reader_fail(reader, child, "\"%s\" is variadic but not the last",
                            params[i].name);
    }
    if (!params[i].variadic && params[i].min_count) {
      return oc_reader_fail(reader, child, "min_count is for a variadic input; \"%s\" is none",
                            params[i].name);
    }
    for (size_t j = 0; j < i; ++j) {
      if (strcmp(params[i].name, params[j].name) == 0) {
        return oc_reader_fail(reader, child, "the name \"%s\" is taken", params[i].name);
      }
    }
  }
  return OPS_OK;
}

static int32_t read_inputs(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                           void *out) {
  oc_contract *c = reader->contract;
  void *items = NULL;
  (void)field;
  (void)out;
  OPS_RETURN_IF_ERROR(oc_read_records(reader, node, &oc_grammar_input, sizeof(oc_param),
                                      OC_CONTRACT_MAX_PARAMS, &items, &c->input_count));
  c->inputs = items;
  return check_params(reader, node, items, true);
}

static int32_t read_outputs(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                            void *out) {
  oc_contract *c = reader->contract;
  void *items = NULL;
  (void)field;
  (void)out;
  OPS_RETURN_IF_ERROR(oc_read_records(reader, node, &oc_grammar_output, sizeof(oc_param),
                                      OC_CONTRACT_MAX_PARAMS, &items, &c->output_count));
  c->outputs = items;
  if (c->output_count == 0) return oc_reader_fail(reader, node, "an operator has an output");
  return check_params(reader, node, items, false);
}

static int32_t read_of(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                       void *out) {
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "a type variable"));
  return oc_reader_type_var(reader, node, false, node->text, out);
}

static int32_t read_one_of(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                           void *out) {
  oc_attribute *attribute = out;
  (void)field;
  return oc_reader_texts(reader, node, &attribute->one_of, &attribute->one_of_count);
}

static int32_t read_default(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                            void *out) {
  oc_attribute *attribute = out;
  (void)field;
  return oc_reader_attribute_value(reader, node, attribute, false, false,
                                   &attribute->default_value);
}

#define ATTRIBUTE(member) offsetof(oc_attribute, member)
static const oc_field attribute_fields[] = {
    {"type", "one of int, float, string, ints, floats, strings, type, tensor, sparse_tensor",
     true, oc_read_word, ATTRIBUTE(type), &oc_words_attr,
     "`type` is an int that names an element type; cases give no `sparse_tensor`"},
    {"required", "true, false", false, oc_read_bool, ATTRIBUTE(required), NULL,
     "a node without it is invalid"},
    {"of", "type variable", false, read_of, ATTRIBUTE(type_var), NULL,
     "the attribute names (or the tensor has) the type chosen for it"},
    {"one_of", "list of texts", false, read_one_of, 0, NULL, "the legal strings"},
    {"default", "value", false, read_default, 0, NULL, "what holds when a node leaves it out"},
    {"range", "interval", false, read_later, 0, NULL, "where it, or each of its items, lies"},
};
const oc_grammar oc_grammar_attribute = {"attribute", "One attribute, under its name.",
                                         attribute_fields,
                                         sizeof(attribute_fields) / sizeof(oc_field)};

static int32_t read_attribute(oc_reader *reader, const oc_yaml_node *node,
                              oc_attribute *attribute) {
  attribute->name = node->key;
  attribute->at = oc_reader_position(reader, node);
  attribute->type_var = -1;
  OPS_RETURN_IF_ERROR(oc_read_record(reader, node, &oc_grammar_attribute, attribute));
  const bool typed = attribute->type == OC_ATTR_TYPE || attribute->type == OC_ATTR_TENSOR;
  if (attribute->type_var >= 0 && !typed) {
    return oc_reader_fail(reader, node, "`of` is for the attribute types type and tensor");
  }
  if (attribute->type == OC_ATTR_TENSOR && attribute->type_var < 0) {
    return oc_reader_fail(reader, node, "a tensor attribute needs `of`: a type variable");
  }
  if (attribute->one_of && attribute->type != OC_ATTR_STRING) {
    return oc_reader_fail(reader, node, "`one_of` is for strings");
  }
  if (attribute->required && attribute->default_value.kind != OC_VALUE_NONE) {
    return oc_reader_fail(reader, node, "a required attribute has no default");
  }
  return OPS_OK;
}

static int32_t read_attributes(oc_reader *reader, const oc_yaml_node *node,
                               const oc_field *field, void *out) {
  oc_contract *c = reader->contract;
  (void)field;
  (void)out;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_MAP, "a mapping of attributes"));
  OPS_RETURN_IF_ERROR(check_count(reader, node, "attributes"));
  oc_attribute *items = oc_arena_alloc(reader->arena, node->count, sizeof(*items));
  if (!items) return oc_reader_no_memory(reader);
  size_t i = 0;
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    OPS_RETURN_IF_ERROR(read_attribute(reader, child, &items[i++]));
    if (oc_contract_find_input(c, child->key) >= 0 ||
        oc_contract_find_output(c, child->key) >= 0) {
      return oc_reader_fail_key(reader, child, "the name \"%s\" is taken by a tensor",
                                child->key);
    }
  }
  c->attributes = items;
  c->attribute_count = i;
  return OPS_OK;
}

static bool is_taken(const oc_contract *c, const char *name) {
  for (size_t i = 0; i < c->type_var_count; ++i) {
    if (strcmp(c->type_vars[i].name, name) == 0) return true;
  }
  return oc_contract_find_input(c, name) >= 0 || oc_contract_find_output(c, name) >= 0 ||
         oc_contract_find_attribute(c, name) >= 0;
}

// A let that uses lets twice each doubles the work; a chain of 32 would never end.
static int32_t bound_let(oc_reader *reader, const oc_yaml_node *node) {
  const size_t index = reader->contract->let_count;
  reader->let_cost[index] = reader->cost + 1;
  reader->let_depth[index] = reader->depth + 1;
  if (reader->let_cost[index] <= OC_CONTRACT_MAX_LET_COST &&
      reader->let_depth[index] <= OC_CONTRACT_MAX_LET_DEPTH) {
    return OPS_OK;
  }
  return oc_reader_fail(reader, node,
                        "\"%s\" uses other names too often or too deeply: at most %d deep, %d "
                        "evaluations",
                        node->key, OC_CONTRACT_MAX_LET_DEPTH, OC_CONTRACT_MAX_LET_COST);
}

static int32_t read_let(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                        void *out) {
  oc_contract *c = reader->contract;
  (void)out;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_MAP, "names with expressions"));
  OPS_RETURN_IF_ERROR(check_count(reader, node, "names"));
  oc_let *lets = oc_arena_alloc(reader->arena, node->count, sizeof(*lets));
  if (!lets) return oc_reader_no_memory(reader);
  c->lets = lets;
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    oc_let *let = &lets[c->let_count];
    if (is_taken(c, child->key)) {
      return oc_reader_fail_key(reader, child, "the name \"%s\" is taken", child->key);
    }
    let->name = child->key;
    let->at = oc_reader_position(reader, child);
    OPS_RETURN_IF_ERROR(oc_read_expr(reader, child, field, &let->expr));
    OPS_RETURN_IF_ERROR(bound_let(reader, child));
    ++c->let_count;  // only now may others name it
  }
  return OPS_OK;
}

// The second pass: ranges of inputs and attributes, shapes of outputs.
static int32_t read_range_map(oc_reader *reader, const oc_yaml_node *node, oc_range *ranges) {
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    oc_range range;
    OPS_RETURN_IF_ERROR(oc_read_range(reader, child, NULL, &range));
    if (strcmp(child->key, "integer") == 0) {
      ranges[OC_CLASS_SIGNED] = ranges[OC_CLASS_UNSIGNED] = range;
      continue;
    }
    oc_nearest near = oc_nearest_begin(child->key);
    size_t i = 0;
    while (i < oc_words_class.count && strcmp(oc_words_class.items[i].name, child->key) != 0) {
      oc_nearest_offer(&near, oc_words_class.items[i++].name);
    }
    if (i == oc_words_class.count) {
      return oc_reader_unknown(reader, child, true, "type class", child->key, &near);
    }
    ranges[oc_words_class.items[i].value] = range;
  }
  return OPS_OK;
}

static int32_t read_param_ranges(oc_reader *reader, const oc_yaml_node *list) {
  oc_param *param = (oc_param *)reader->contract->inputs;
  for (const oc_yaml_node *child = list->first; child; child = child->next, ++param) {
    const oc_yaml_node *range = oc_yaml_get(child, "range");
    if (!range) continue;
    if (range->kind == OC_YAML_MAP) {
      OPS_RETURN_IF_ERROR(read_range_map(reader, range, param->ranges));
      continue;
    }
    OPS_RETURN_IF_ERROR(oc_read_range(reader, range, NULL, &param->ranges[0]));
    for (int i = 1; i < OC_CLASS_COUNT; ++i) param->ranges[i] = param->ranges[0];
  }
  return OPS_OK;
}

static int32_t read_expressions(oc_reader *reader, const oc_yaml_node *node) {
  oc_contract *c = reader->contract;
  const oc_yaml_node *list = oc_yaml_get(node, "inputs");
  if (list) OPS_RETURN_IF_ERROR(read_param_ranges(reader, list));
  oc_param *output = (oc_param *)c->outputs;
  list = oc_yaml_get(node, "outputs");
  for (const oc_yaml_node *child = list->first; child; child = child->next, ++output) {
    const oc_yaml_node *shape = oc_yaml_get(child, "shape");
    if (shape) OPS_RETURN_IF_ERROR(oc_read_expr(reader, shape, NULL, &output->shape));
  }
  oc_attribute *attribute = (oc_attribute *)c->attributes;
  list = oc_yaml_get(node, "attributes");
  for (const oc_yaml_node *child = list ? list->first : NULL; child; child = child->next) {
    const oc_yaml_node *range = oc_yaml_get(child, "range");
    if (range) OPS_RETURN_IF_ERROR(oc_read_range(reader, range, NULL, &attribute->range));
    ++attribute;
  }
  return OPS_OK;
}

typedef struct constraint_draft {
  oc_constraint constraint;
  const oc_yaml_node *broken_by;
} constraint_draft;

static const oc_field constraint_fields[] = {
    {"id", "name", true, oc_read_name, offsetof(constraint_draft, constraint.id), NULL,
     "names the case that breaks it"},
    {"check", "expression", true, oc_read_expr, offsetof(constraint_draft, constraint.check),
     NULL, "true for every valid node"},
    {"broken_by", "error case without id", true, read_node,
     offsetof(constraint_draft, broken_by), NULL,
     "the change of a row after which it is false"},
};
const oc_grammar oc_grammar_constraint = {
    "constraint", "A relation between inputs and attributes. Each yields an error case.",
    constraint_fields, sizeof(constraint_fields) / sizeof(oc_field)};

static int32_t read_constraints(oc_reader *reader, const oc_yaml_node *node,
                                const oc_field *field, void *out) {
  oc_contract *c = reader->contract;
  void *items = NULL;
  size_t count = 0;
  (void)field;
  (void)out;
  OPS_RETURN_IF_ERROR(oc_read_records(reader, node, &oc_grammar_constraint,
                                      sizeof(constraint_draft), OC_CONTRACT_MAX_PARAMS, &items,
                                      &count));
  const constraint_draft *drafts = items;
  oc_constraint *constraints = oc_arena_alloc(reader->arena, count, sizeof(*constraints));
  reader->broken_by = oc_arena_alloc(reader->arena, count, sizeof(*reader->broken_by));
  if (!constraints || !reader->broken_by) return oc_reader_no_memory(reader);
  const oc_yaml_node *child = node->first;
  for (size_t i = 0; i < count; ++i, child = child->next) {
    constraints[i] = drafts[i].constraint;
    constraints[i].at = oc_reader_position(reader, child);
    reader->broken_by[i] = drafts[i].broken_by;
  }
  c->constraints = constraints;
  c->constraint_count = count;
  return OPS_OK;
}

static int32_t read_invariant_output(oc_reader *reader, const oc_yaml_node *node,
                                     const oc_field *field, void *out) {
  (void)field;
  return oc_reader_param(reader, node, true, out);
}

static int32_t read_invariant_input(oc_reader *reader, const oc_yaml_node *node,
                                    const oc_field *field, void *out) {
  (void)field;
  return oc_reader_param(reader, node, false, out);
}

#define INVARIANT(member) offsetof(oc_invariant, member)
static const oc_field invariant_fields[] = {
    {"id", "name", true, oc_read_name, INVARIANT(id), NULL, "unique in the contract"},
    {"check", "one of nonnegative, bounded, sum_along, rearranges", true, oc_read_word,
     INVARIANT(check), &oc_words_invariant, "what holds whatever the inputs"},
    {"on", "output", true, read_invariant_output, INVARIANT(output), NULL, "where it holds"},
    {"axis", "expression", false, oc_read_expr, INVARIANT(axis), NULL, "sum_along: the axis"},
    {"equals", "expression", false, oc_read_expr, INVARIANT(equals), NULL,
     "sum_along: the sum"},
    {"range", "interval", false, oc_read_range, INVARIANT(range), NULL, "bounded: the bounds"},
    {"of", "input", false, read_invariant_input, INVARIANT(input), NULL,
     "rearranges: the input whose elements the output holds"},
};
const oc_grammar oc_grammar_invariant = {"invariant", "What holds of every result.",
                                         invariant_fields,
                                         sizeof(invariant_fields) / sizeof(oc_field)};

static int32_t check_invariant(oc_reader *reader, const oc_yaml_node *node,
                               const oc_invariant *invariant) {
  static const char *const needs[][2] = {[OC_INVARIANT_BOUNDED] = {"range", NULL},
                                         [OC_INVARIANT_SUM_ALONG] = {"axis", "equals"},
                                         [OC_INVARIANT_REARRANGES] = {"of", NULL}};
  for (int i = 0; i < 2; ++i) {
    const char *key = needs[invariant->check][i];
    if (key && !oc_yaml_get(node, key)) {
      return oc_reader_fail(reader, node, "this invariant needs the key \"%s\"", key);
    }
  }
  return OPS_OK;
}

static int32_t read_invariants(oc_reader *reader, const oc_yaml_node *node,
                               const oc_field *field, void *out) {
  oc_contract *c = reader->contract;
  void *items = NULL;
  (void)field;
  (void)out;
  OPS_RETURN_IF_ERROR(oc_read_records(reader, node, &oc_grammar_invariant, sizeof(oc_invariant),
                                      OC_CONTRACT_MAX_PARAMS, &items, &c->invariant_count));
  c->invariants = items;
  oc_invariant *invariant = items;
  for (const oc_yaml_node *child = node->first; child; child = child->next, ++invariant) {
    invariant->at = oc_reader_position(reader, child);
    OPS_RETURN_IF_ERROR(check_invariant(reader, child, invariant));
  }
  return OPS_OK;
}

// Read in this order: `names` of one field are known to the next.
static const oc_field name_fields[] = {
    {"types", "type variable: list of types", false, read_type_vars, 0, NULL,
     "the types that each variable may stand for"},
    {"inputs", "list of input", false, read_inputs, 0, NULL, "in the order of the schema"},
    {"outputs", "list of output", true, read_outputs, 0, NULL, "in the order of the schema"},
    {"attributes", "attribute name: attribute", false, read_attributes, 0, NULL,
     "every attribute of the schema"},
    {"let", "name: expression", false, read_let, 0, NULL,
     "names for use in expressions; each may use those before it"},
    {"constraints", "list of constraint", false, read_later, 0, NULL,
     "relations that valid nodes obey"},
    {"invariants", "list of invariant", false, read_later, 0, NULL,
     "what holds of every result"},
};
const oc_grammar oc_grammar_semantic = {"semantic", "What the operator takes and gives.",
                                        name_fields, sizeof(name_fields) / sizeof(oc_field)};

int32_t oc_read_semantic(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                         void *out) {
  OPS_RETURN_IF_ERROR(oc_read_record(reader, node, &oc_grammar_semantic, out));
  OPS_RETURN_IF_ERROR(read_expressions(reader, node));
  const oc_yaml_node *child = oc_yaml_get(node, "constraints");
  if (child) OPS_RETURN_IF_ERROR(read_constraints(reader, child, field, out));
  child = oc_yaml_get(node, "invariants");
  return child ? read_invariants(reader, child, field, out) : OPS_OK;
}

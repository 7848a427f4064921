// SPDX-License-Identifier: Apache-2.0
//
// The section `cases`: rows, each a family of cases, and the nodes that must be refused.
#include <ops_support/error.h>
#include <stddef.h>
#include <string.h>

#include "contract/reader.h"

static int32_t read_node(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                         void *out) {
  (void)reader;
  (void)field;
  *(const oc_yaml_node **)out = node;
  return OPS_OK;
}

// A row as it stands in the file. `shapes` makes several rows of it.
typedef struct row_draft {
  const oc_yaml_node *at;
  const char *id;
  const oc_yaml_node *inputs;
  const oc_yaml_node *shapes;
  const oc_yaml_node *values;
  const oc_yaml_node *ranges;
  const oc_yaml_node *attributes;
  const oc_yaml_node *vary;
  const oc_yaml_node *types;
  uint32_t fills;
  uint32_t outputs;
  int judge;  // oc_judge + 1; 0: not given
  const oc_expr *when;
  const oc_expr *trivial;
} row_draft;

static int32_t read_judge(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                          void *out) {
  int judge = 0;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_word(reader, node, &oc_words_judge, &judge));
  *(int *)out = judge + 1;
  return OPS_OK;
}

#define ROW(member) offsetof(row_draft, member)
static const oc_field row_fields[] = {
    {"id", "name", false, oc_read_name, ROW(id), NULL,
     "unique in the contract; else row1, row2 … by position"},
    {"inputs", "input: shape (variadic: list of shapes)", false, read_node, ROW(inputs), NULL,
     "an optional input that is not named is absent"},
    {"shapes", "list of shapes", false, read_node, ROW(shapes), NULL,
     "one row per shape, given to every required input not named in inputs or values"},
    {"values", "input: number or list", false, read_node, ROW(values), NULL,
     "constant contents; without a shape a number is a scalar, a list a vector; of a variadic "
     "input a list has a number for each tensor"},
    {"ranges", "input: interval", false, read_node, ROW(ranges), NULL,
     "replaces the range of the parameter"},
    {"attributes", "attribute: value", false, read_node, ROW(attributes), NULL,
     "fixed; one that is not named is absent"},
    {"vary", "attribute: list of values, absent, each", false, read_node, ROW(vary), NULL,
     "combined pairwise; each: every integer of the attribute's range"},
    {"types", "type variable: list of types", false, read_node, ROW(types), NULL,
     "a part of the contract's types"},
    {"fills", "list of fills", false, oc_read_fills, ROW(fills), NULL,
     "exact_integer, uniform, normal, wide, cancellation, special, every, strata"},
    {"outputs", "integer", false, oc_read_count, ROW(outputs), NULL,
     "the number of outputs asked for; else the ones that are not optional"},
    {"judge", "one of exact, ulp, dot, quantised, index, decision, conditioned, random", false,
     read_judge, ROW(judge), NULL, "else the contract's"},
    {"when", "expression", false, oc_read_expr, ROW(when), NULL,
     "only combinations for which it is true"},
    {"trivial", "expression", false, oc_read_expr, ROW(trivial), NULL,
     "true where zeros, the mean or a permutation would rightly pass"},
};
const oc_grammar oc_grammar_row = {"row", "A family of cases.", row_fields,
                                   sizeof(row_fields) / sizeof(oc_field)};

typedef struct cases_draft {
  row_draft all;  // defaults of the rows, and with `shapes` the first rows
  const oc_expr *draw;
  const char *no_large;
  const oc_yaml_node *rows;
  const oc_yaml_node *errors;
} cases_draft;

#define CASES(member) offsetof(cases_draft, member)
static const oc_field cases_fields[] = {
    {"fills", "list of fills", false, oc_read_fills, CASES(all.fills), NULL,
     "for rows that name none"},
    {"types", "type variable: list of types", false, read_node, CASES(all.types), NULL,
     "for rows that name none"},
    {"when", "expression", false, oc_read_expr, CASES(all.when), NULL,
     "for rows that have none"},
    {"trivial", "expression", false, oc_read_expr, CASES(all.trivial), NULL,
     "for rows that have none"},
    {"shapes", "list of shapes", false, read_node, CASES(all.shapes), NULL,
     "makes the first rows, as `shapes` of a row does"},
    {"vary", "attribute: list of values, absent, each", false, read_node, CASES(all.vary), NULL,
     "for the rows that `shapes` beside it makes"},
    {"rows", "list of row", false, read_node, CASES(rows), NULL, "further rows"},
    {"draw", "expression", false, oc_read_expr, CASES(draw), NULL,
     "what drawn shapes keep beside the constraints; false: none is drawn"},
    {"no_large", "text", false, oc_read_text, CASES(no_large), NULL,
     "the reason why no case can have 100000 elements"},
    {"errors", "list of error case", false, read_node, CASES(errors), NULL,
     "nodes and calls that must be refused"},
};
const oc_grammar oc_grammar_cases = {"cases", "What is tried.", cases_fields,
                                     sizeof(cases_fields) / sizeof(oc_field)};

static int32_t read_row_types(oc_reader *reader, const oc_yaml_node *node, oc_row *row) {
  const oc_contract *c = reader->contract;
  uint64_t *sets = oc_arena_alloc(reader->arena, c->type_var_count, sizeof(*sets));
  if (!sets) return oc_reader_no_memory(reader);
  for (size_t i = 0; i < c->type_var_count; ++i) sets[i] = c->type_vars[i].types;
  row->types = sets;
  if (!node) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_MAP, "type variable: types"));
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    int32_t index = 0;
    OPS_RETURN_IF_ERROR(oc_reader_type_var(reader, child, true, child->key, &index));
    OPS_RETURN_IF_ERROR(oc_reader_types(reader, child, &sets[index]));
    for (const oc_yaml_node *item = child->first; item; item = item->next) {
      int type = 0;
      OPS_RETURN_IF_ERROR(oc_reader_word(reader, item, &oc_words_type, &type));
      if (c->type_vars[index].types & OPS_TYPE_BIT(type)) continue;
      return oc_reader_fail(reader, item, "\"%s\" is not among the types of \"%s\"", item->text,
                            child->key);
    }
  }
  return OPS_OK;
}

static int32_t read_vary(oc_reader *reader, const oc_yaml_node *node, const oc_value *fixed,
                         oc_row *row) {
  const oc_contract *c = reader->contract;
  if (!node) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_MAP, "attribute: list of values"));
  oc_vary *vary = oc_arena_alloc(reader->arena, node->count, sizeof(*vary));
  if (!vary) return oc_reader_no_memory(reader);
  row->vary = vary;
  row->vary_count = node->count;
  for (const oc_yaml_node *child = node->first; child; child = child->next, ++vary) {
    OPS_RETURN_IF_ERROR(oc_reader_key_attribute(reader, child, &vary->attribute));
    if (fixed[vary->attribute].kind != OC_VALUE_NONE) {
      return oc_reader_fail_key(reader, child, "\"%s\" is fixed in `attributes`", child->key);
    }
    OPS_RETURN_IF_ERROR(oc_reader_expect(reader, child, OC_YAML_LIST, "a list of values"));
    if (child->count == 0) return oc_reader_fail(reader, child, "expected at least one value");
    oc_value *values = oc_arena_alloc(reader->arena, child->count, sizeof(*values));
    if (!values) return oc_reader_no_memory(reader);
    vary->values = values;
    vary->count = child->count;
    for (const oc_yaml_node *item = child->first; item; item = item->next) {
      OPS_RETURN_IF_ERROR(oc_reader_attribute_value(
          reader, item, &c->attributes[vary->attribute], true, false, values++));
    }
  }
  return OPS_OK;
}

int32_t oc_reader_row_ranges(oc_reader *reader, const oc_yaml_node *node,
                             oc_row_input *inputs) {
  if (!node) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_MAP, "input: interval"));
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    uint32_t index;
    OPS_RETURN_IF_ERROR(oc_reader_key_input(reader, child, &index));
    OPS_RETURN_IF_ERROR(oc_read_range(reader, child, NULL, &inputs[index].range));
  }
  return OPS_OK;
}

// Gives `shape` (if any) to the required inputs that have none, then demands that all are
// there.
static int32_t complete_inputs(oc_reader *reader, const row_draft *draft, const oc_shape *shape,
                               oc_row_input *inputs) {
  const oc_contract *c = reader->contract;
  for (size_t i = 0; i < c->input_count; ++i) {
    const oc_param *param = &c->inputs[i];
    if (inputs[i].count >= (param->variadic ? param->min_count : 1) || param->optional)
      continue;
    if (inputs[i].count == 0 && shape) {
      inputs[i].count = param->variadic ? param->min_count : 1;
      oc_shape *shapes = oc_arena_alloc(reader->arena, inputs[i].count, sizeof(*shapes));
      if (!shapes) return oc_reader_no_memory(reader);
      for (size_t j = 0; j < inputs[i].count; ++j) shapes[j] = *shape;
      inputs[i].shapes = shapes;
      continue;
    }
    return oc_reader_fail(reader, draft->at, "the row gives no shape for the input \"%s\"",
                          param->name);
  }
  return OPS_OK;
}

// Variadic inputs repeat together.
static int32_t check_repeated(oc_reader *reader, const row_draft *draft,
                              const oc_row_input *inputs) {
  const oc_contract *c = reader->contract;
  for (size_t i = 1; i < c->input_count; ++i) {
    if (!c->inputs[i - 1].variadic || inputs[i - 1].count == inputs[i].count) continue;
    return oc_reader_fail(
        reader, draft->at,
        "the row gives %zu tensors for \"%s\" and %zu for \"%s\", which repeat "
        "together",
        inputs[i - 1].count, c->inputs[i - 1].name, inputs[i].count, c->inputs[i].name);
  }
  return OPS_OK;
}

static int32_t check_required(oc_reader *reader, const row_draft *draft, const oc_row *row) {
  const oc_contract *c = reader->contract;
  for (size_t i = 0; i < c->attribute_count; ++i) {
    const oc_attribute *attribute = &c->attributes[i];
    bool given = !attribute->required || row->attributes[i].kind != OC_VALUE_NONE ||
                 (attribute->type == OC_ATTR_TYPE && attribute->type_var >= 0);
    for (size_t j = 0; j < row->vary_count; ++j) given |= row->vary[j].attribute == i;
    if (given) continue;
    return oc_reader_fail(reader, draft->at, "the row gives no value for the attribute \"%s\"",
                          attribute->name);
  }
  if (!row->fills) {
    return oc_reader_fail(reader, draft->at, "the row names no fills, nor does `cases`");
  }
  if (row->output_count > c->output_count && !c->outputs[c->output_count - 1].variadic) {
    return oc_reader_fail(reader, draft->at,
                          "the row asks for %u outputs, the operator has %zu",
                          row->output_count, c->output_count);
  }
  return OPS_OK;
}

static uint32_t default_outputs(const oc_contract *c) {
  uint32_t count = 0;
  while (count < c->output_count && !c->outputs[count].optional) ++count;
  return count ? count : 1;
}

// "id-2x3x5", or "id-scalar".
static const char *shape_id(oc_reader *reader, const char *id, const oc_shape *shape) {
  char text[1024];
  int at = snprintf(text, sizeof(text), "%.200s-%s", id, shape->rank ? "" : "scalar");
  for (int32_t i = 0; i < shape->rank; ++i) {
    at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%lld", i ? "x" : "",
                   (long long)shape->dims[i]);
  }
  return oc_arena_copy_string(reader->arena, text, (size_t)at);
}

static int32_t read_row(oc_reader *reader, const row_draft *draft,
                        const oc_yaml_node *shape_node, oc_row *row) {
  const oc_contract *c = reader->contract;
  oc_row_input *inputs = oc_arena_alloc(reader->arena, c->input_count, sizeof(*inputs));
  oc_value *attributes = oc_arena_alloc(reader->arena, c->attribute_count, sizeof(*attributes));
  if (!inputs || !attributes) return oc_reader_no_memory(reader);
  *row = (oc_row){.id = draft->id,
                  .at = oc_reader_position(reader, draft->at),
                  .inputs = inputs,
                  .attributes = attributes,
                  .fills = draft->fills,
                  .judge = draft->judge ? (oc_judge)(draft->judge - 1) : c->judge,
                  .output_count = draft->outputs ? draft->outputs : default_outputs(c),
                  .when = draft->when,
                  .trivial = draft->trivial};
  OPS_RETURN_IF_ERROR(oc_reader_row_inputs(reader, draft->inputs, draft->values, inputs));
  oc_shape shape;
  if (shape_node) {
    OPS_RETURN_IF_ERROR(oc_reader_shape(reader, shape_node, &shape));
    row->id = shape_id(reader, draft->id, &shape);
    if (!row->id) return oc_reader_no_memory(reader);
  }
  OPS_RETURN_IF_ERROR(complete_inputs(reader, draft, shape_node ? &shape : NULL, inputs));
  OPS_RETURN_IF_ERROR(check_repeated(reader, draft, inputs));
  OPS_RETURN_IF_ERROR(oc_reader_row_ranges(reader, draft->ranges, inputs));
  if (draft->attributes) {
    OPS_RETURN_IF_ERROR(
        oc_reader_fixed_attributes(reader, draft->attributes, false, attributes));
  }
  OPS_RETURN_IF_ERROR(read_vary(reader, draft->vary, attributes, row));
  OPS_RETURN_IF_ERROR(read_row_types(reader, draft->types, row));
  return check_required(reader, draft, row);
}

static int32_t add_rows(oc_reader *reader, const row_draft *draft, oc_row *rows,
                        size_t *in_out_count) {
  const oc_yaml_node *shape = draft->shapes ? draft->shapes->first : NULL;
  do {
    oc_row *row = &rows[(*in_out_count)++];
    OPS_RETURN_IF_ERROR(read_row(reader, draft, shape, row));
    for (const oc_row *other = rows; other < row; ++other) {
      if (strcmp(other->id, row->id) == 0) {
        return oc_reader_fail(reader, shape ? shape : draft->at,
                              "a row \"%s\" is there already", row->id);
      }
    }
    if (shape) shape = shape->next;
  } while (shape);
  return OPS_OK;
}

static int32_t count_rows(oc_reader *reader, const oc_yaml_node *shapes, size_t *in_out_count) {
  if (shapes) {
    OPS_RETURN_IF_ERROR(oc_reader_expect(reader, shapes, OC_YAML_LIST, "a list of shapes"));
    if (shapes->count == 0)
      return oc_reader_fail(reader, shapes, "expected at least one shape");
  }
  *in_out_count += shapes ? shapes->count : 1;
  if (*in_out_count <= OC_CONTRACT_MAX_ROWS) return OPS_OK;
  return oc_reader_fail(reader, shapes, "more than %d rows", OC_CONTRACT_MAX_ROWS);
}

// Fills in what the row leaves to the section.
static int32_t finish_draft(oc_reader *reader, const cases_draft *cases, row_draft *draft,
                            size_t number) {
  if (!draft->fills) draft->fills = cases->all.fills;
  if (!draft->types) draft->types = cases->all.types;
  if (!draft->when) draft->when = cases->all.when;
  if (!draft->trivial) draft->trivial = cases->all.trivial;
  if (draft->id) return OPS_OK;
  char id[32];
  const int size = snprintf(id, sizeof(id), "row%zu", number);
  draft->id = oc_arena_copy_string(reader->arena, id, (size_t)size);
  return draft->id ? OPS_OK : oc_reader_no_memory(reader);
}

static int32_t read_rows(oc_reader *reader, cases_draft *cases, const oc_yaml_node *at) {
  oc_contract *c = reader->contract;
  void *items = NULL;
  size_t draft_count = 0, total = 0;
  if (cases->rows) {
    OPS_RETURN_IF_ERROR(oc_read_records(reader, cases->rows, &oc_grammar_row, sizeof(row_draft),
                                        OC_CONTRACT_MAX_ROWS, &items, &draft_count));
  }
  row_draft *drafts = items;
  if (cases->all.shapes) OPS_RETURN_IF_ERROR(count_rows(reader, cases->all.shapes, &total));
  for (size_t i = 0; i < draft_count; ++i) {
    OPS_RETURN_IF_ERROR(count_rows(reader, drafts[i].shapes, &total));
  }
  if (total == 0) return oc_reader_fail(reader, at, "`cases` has neither shapes nor rows");
  if (cases->all.vary && !cases->all.shapes) {
    return oc_reader_fail(reader, cases->all.vary,
                          "`vary` here belongs to `shapes`; there are none");
  }
  oc_row *rows = oc_arena_alloc(reader->arena, total, sizeof(*rows));
  if (!rows) return oc_reader_no_memory(reader);
  c->rows = rows;
  if (cases->all.shapes) {
    cases->all.id = "shapes";
    cases->all.at = at;
    OPS_RETURN_IF_ERROR(add_rows(reader, &cases->all, rows, &c->row_count));
  }
  const oc_yaml_node *node = cases->rows ? cases->rows->first : NULL;
  for (size_t i = 0; i < draft_count; ++i, node = node->next) {
    drafts[i].at = node;
    OPS_RETURN_IF_ERROR(finish_draft(reader, cases, &drafts[i], i + 1));
    OPS_RETURN_IF_ERROR(add_rows(reader, &drafts[i], rows, &c->row_count));
  }
  return OPS_OK;
}

// Error cases.
typedef struct error_draft {
  const char *id;
  const oc_yaml_node *row;
  const oc_yaml_node *inputs;
  const oc_yaml_node *values;
  const oc_yaml_node *set;
  const oc_yaml_node *remove;
  int status;
} error_draft;

#define ERROR_CASE(member) offsetof(error_draft, member)
#define ERROR_FIELDS                                                                          \
  {"row",                                                                                     \
   "id of a row",                                                                             \
   false,                                                                                     \
   read_node,                                                                                 \
   ERROR_CASE(row),                                                                           \
   NULL,                                                                                      \
   "the row that is changed; else the first"},                                                \
      {"inputs", "input: shape", false, read_node, ERROR_CASE(inputs), NULL, "other shapes"}, \
      {"values", "input: number or list", false, read_node, ERROR_CASE(values),               \
       NULL,     "other contents"},                                                           \
      {"set", "attribute: value or expression",      false, read_node, ERROR_CASE(set),       \
       NULL,  "other attributes; absent removes one"},                                        \
      {"remove", "list of inputs", false, read_node, ERROR_CASE(remove),                      \
       NULL,     "inputs left out"},                                                          \
      {"status",                                                                              \
       "one of INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY",                                 \
       false,                                                                                 \
       oc_read_word,                                                                          \
       ERROR_CASE(status),                                                                    \
       &oc_words_status,                                                                      \
       "else INVALID_ARGUMENT"},
static const oc_field error_fields[] = {
    {"id", "name", true, oc_read_name, ERROR_CASE(id), NULL, "unique in the contract"},
    ERROR_FIELDS};
const oc_grammar oc_grammar_error = {"error case", "A node or call that must be refused.",
                                     error_fields, sizeof(error_fields) / sizeof(oc_field)};
static const oc_field broken_fields[] = {ERROR_FIELDS};
const oc_grammar oc_grammar_broken = {"broken_by", "An error case; its id is the constraint's.",
                                      broken_fields, sizeof(broken_fields) / sizeof(oc_field)};

static int32_t find_row(oc_reader *reader, const oc_yaml_node *node, uint32_t *out_index) {
  const oc_contract *c = reader->contract;
  *out_index = 0;
  if (!node) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "the id of a row"));
  oc_nearest near = oc_nearest_begin(node->text);
  for (size_t i = 0; i < c->row_count; ++i) {
    *out_index = (uint32_t)i;
    if (strcmp(c->rows[i].id, node->text) == 0) return OPS_OK;
    oc_nearest_offer(&near, c->rows[i].id);
  }
  return oc_reader_unknown(reader, node, false, "row", node->text, &near);
}

static int32_t read_removed(oc_reader *reader, const oc_yaml_node *node, bool *remove) {
  if (!node) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_LIST, "a list of inputs"));
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    uint32_t index;
    OPS_RETURN_IF_ERROR(oc_reader_param(reader, child, false, &index));
    remove[index] = true;
  }
  return OPS_OK;
}

static int32_t finish_error(oc_reader *reader, const oc_yaml_node *node,
                            const error_draft *draft, int32_t constraint, oc_error_case *out) {
  const oc_contract *c = reader->contract;
  oc_row_input *inputs = oc_arena_alloc(reader->arena, c->input_count, sizeof(*inputs));
  oc_value *attributes = oc_arena_alloc(reader->arena, c->attribute_count, sizeof(*attributes));
  bool *remove = oc_arena_alloc(reader->arena, c->input_count, sizeof(*remove));
  if (!inputs || !attributes || !remove) return oc_reader_no_memory(reader);
  if (!draft->inputs && !draft->values && !draft->set && !draft->remove) {
    return oc_reader_fail(reader, node,
                          "the error case changes nothing: give inputs, values, set or remove");
  }
  *out = (oc_error_case){.id = draft->id,
                         .at = oc_reader_position(reader, node),
                         .constraint = constraint,
                         .inputs = inputs,
                         .remove = remove,
                         .attributes = attributes,
                         .status = draft->status ? draft->status : OPS_ERROR_INVALID_ARGUMENT};
  OPS_RETURN_IF_ERROR(find_row(reader, draft->row, &out->row));
  OPS_RETURN_IF_ERROR(oc_reader_row_inputs(reader, draft->inputs, draft->values, inputs));
  OPS_RETURN_IF_ERROR(read_removed(reader, draft->remove, remove));
  return draft->set ? oc_reader_fixed_attributes(reader, draft->set, true, attributes) : OPS_OK;
}

static int32_t read_errors(oc_reader *reader, const oc_yaml_node *list) {
  oc_contract *c = reader->contract;
  const size_t count = c->constraint_count + (list ? list->count : 0);
  oc_error_case *errors = oc_arena_alloc(reader->arena, count, sizeof(*errors));
  if (!errors) return oc_reader_no_memory(reader);
  c->errors = errors;
  for (size_t i = 0; i < c->constraint_count; ++i) {
    error_draft draft = {0};
    OPS_RETURN_IF_ERROR(
        oc_read_record(reader, reader->broken_by[i], &oc_grammar_broken, &draft));
    draft.id = c->constraints[i].id;
    OPS_RETURN_IF_ERROR(
        finish_error(reader, reader->broken_by[i], &draft, (int32_t)i, &errors[i]));
  }
  c->error_count = c->constraint_count;
  if (!list) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, list, OC_YAML_LIST, "a list of error cases"));
  for (const oc_yaml_node *node = list->first; node; node = node->next) {
    error_draft draft = {0};
    OPS_RETURN_IF_ERROR(oc_read_record(reader, node, &oc_grammar_error, &draft));
    for (size_t i = 0; i < c->error_count; ++i) {
      if (strcmp(errors[i].id, draft.id) != 0) continue;
      return oc_reader_fail(reader, node, "an error case \"%s\" is there already", draft.id);
    }
    OPS_RETURN_IF_ERROR(finish_error(reader, node, &draft, -1, &errors[c->error_count++]));
  }
  return OPS_OK;
}

int32_t oc_read_cases(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                      void *out) {
  cases_draft cases = {0};
  (void)field;
  (void)out;
  OPS_RETURN_IF_ERROR(oc_read_record(reader, node, &oc_grammar_cases, &cases));
  reader->contract->draw = cases.draw;
  reader->contract->no_large = cases.no_large;
  OPS_RETURN_IF_ERROR(read_rows(reader, &cases, node));
  return read_errors(reader, cases.errors);
}

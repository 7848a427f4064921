// SPDX-License-Identifier: Apache-2.0
//
// Constants in rows: shapes, contents of inputs, values of attributes.
#include <math.h>
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <string.h>

#include "contract/reader.h"

// A scalar as a number: -1 not a number, 0 integer, 1 real. true and false are 1 and 0.
static int read_number(const oc_yaml_node *node, int64_t *out_int, double *out_real) {
  if (node->kind != OC_YAML_SCALAR || node->quoted) return -1;
  const bool yes = strcmp(node->text, "true") == 0;
  if (yes || strcmp(node->text, "false") == 0) {
    *out_int = yes;
    *out_real = yes;
    return 0;
  }
  if (oc_text_to_int(node->text, out_int)) {
    *out_real = (double)*out_int;
    return 0;
  }
  *out_int = 0;
  return oc_text_to_real(node->text, out_real) ? 1 : -1;
}

// `count` scalars from `first` on, as numbers. Both arrays are filled; *out_real tells whether
// one of them is no integer.
static int32_t read_numbers(oc_reader *reader, const oc_yaml_node *first, size_t count,
                            oc_value *out_value, bool *out_real) {
  int64_t *ints = oc_arena_alloc(reader->arena, count, sizeof(*ints));
  double *floats = oc_arena_alloc(reader->arena, count, sizeof(*floats));
  if (!ints || !floats) return oc_reader_no_memory(reader);
  *out_real = false;
  const oc_yaml_node *node = first;
  for (size_t i = 0; i < count; ++i, node = node->next) {
    const int found = read_number(node, &ints[i], &floats[i]);
    if (found < 0) {
      return oc_reader_fail(reader, node, "expected a number, found %s%s%s",
                            node->kind == OC_YAML_SCALAR ? "\"" : "",
                            node->kind == OC_YAML_SCALAR ? node->text : "a list or mapping",
                            node->kind == OC_YAML_SCALAR ? "\"" : "");
    }
    if (found == 1) *out_real = true;
  }
  out_value->count = count;
  out_value->floats = floats;
  out_value->ints = *out_real ? NULL : ints;
  return OPS_OK;
}

static int32_t read_strings(oc_reader *reader, const oc_yaml_node *first, size_t count,
                            oc_value *out_value) {
  const char **strings = oc_arena_alloc(reader->arena, count, sizeof(*strings));
  if (!strings) return oc_reader_no_memory(reader);
  const oc_yaml_node *node = first;
  for (size_t i = 0; i < count; ++i, node = node->next) {
    OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "text"));
    strings[i] = node->text;
  }
  out_value->strings = strings;
  out_value->count = count;
  return OPS_OK;
}

static int32_t check_one_of(oc_reader *reader, const oc_yaml_node *node,
                            const oc_attribute *attribute) {
  if (!attribute->one_of) return OPS_OK;
  oc_nearest near = oc_nearest_begin(node->text);
  for (size_t i = 0; i < attribute->one_of_count; ++i) {
    if (strcmp(attribute->one_of[i], node->text) == 0) return OPS_OK;
    oc_nearest_offer(&near, attribute->one_of[i]);
  }
  return oc_reader_unknown(reader, node, false, "value", node->text, &near);
}

static int32_t read_type_value(oc_reader *reader, const oc_yaml_node *node,
                               oc_value *out_value) {
  int type = 0;
  OPS_RETURN_IF_ERROR(oc_reader_word(reader, node, &oc_words_type, &type));
  int64_t *number = oc_arena_alloc(reader->arena, 1, sizeof(*number));
  if (!number) return oc_reader_no_memory(reader);
  *number = type;
  *out_value = (oc_value){.kind = OC_VALUE_INT, .count = 1, .ints = number};
  return OPS_OK;
}

static bool read_keyword(const oc_yaml_node *node, oc_value *out_value) {
  if (node->kind != OC_YAML_SCALAR || node->quoted) return false;
  if (strcmp(node->text, "absent") == 0) out_value->kind = OC_VALUE_ABSENT;
  if (strcmp(node->text, "each") == 0) out_value->kind = OC_VALUE_EACH;
  return out_value->kind != OC_VALUE_NONE;
}

static int32_t read_scalar_attribute(oc_reader *reader, const oc_yaml_node *node,
                                     const oc_attribute *attribute, oc_value *out_value) {
  bool real = false;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "a single value"));
  if (attribute->type == OC_ATTR_STRING) {
    OPS_RETURN_IF_ERROR(read_strings(reader, node, 1, out_value));
    out_value->kind = OC_VALUE_STRING;
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(read_numbers(reader, node, 1, out_value, &real));
  if (attribute->type == OC_ATTR_INT && real) {
    return oc_reader_fail(reader, node, "the attribute \"%s\" is an int, found \"%s\"",
                          attribute->name, node->text);
  }
  out_value->kind = attribute->type == OC_ATTR_INT ? OC_VALUE_INT : OC_VALUE_FLOAT;
  return OPS_OK;
}

static int32_t read_list_attribute(oc_reader *reader, const oc_yaml_node *node,
                                   const oc_attribute *attribute, oc_value *out_value) {
  bool real = false;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_LIST, "a list"));
  if (attribute->type == OC_ATTR_STRINGS) {
    OPS_RETURN_IF_ERROR(read_strings(reader, node->first, node->count, out_value));
    out_value->kind = OC_VALUE_STRINGS;
    return OPS_OK;
  }
  OPS_RETURN_IF_ERROR(read_numbers(reader, node->first, node->count, out_value, &real));
  if (attribute->type == OC_ATTR_INTS && real) {
    return oc_reader_fail(reader, node, "the attribute \"%s\" is a list of integers",
                          attribute->name);
  }
  const bool ints =
      attribute->type == OC_ATTR_INTS || (attribute->type == OC_ATTR_TENSOR && !real);
  out_value->kind = ints ? OC_VALUE_INTS : OC_VALUE_FLOATS;
  return OPS_OK;
}

int32_t oc_reader_attribute_value(oc_reader *reader, const oc_yaml_node *node,
                                  const oc_attribute *attribute, bool keywords,
                                  bool expressions, oc_value *out_value) {
  int64_t number;
  double real;
  *out_value = (oc_value){0};
  if (keywords && read_keyword(node, out_value)) {
    if (out_value->kind == OC_VALUE_ABSENT && attribute->required && !expressions) {
      return oc_reader_fail(reader, node,
                            "the attribute \"%s\" is required, it cannot be absent",
                            attribute->name);
    }
    if (out_value->kind == OC_VALUE_EACH &&
        (attribute->type != OC_ATTR_INT || !attribute->range.lo)) {
      return oc_reader_fail(reader, node, "`each` needs an int attribute with a range");
    }
    return OPS_OK;
  }
  const bool numeric = attribute->type == OC_ATTR_INT || attribute->type == OC_ATTR_FLOAT;
  if (expressions && numeric && node->kind == OC_YAML_SCALAR &&
      read_number(node, &number, &real) < 0) {
    out_value->kind = OC_VALUE_EXPR;
    return oc_read_expr(reader, node, NULL, &out_value->expr);
  }
  switch (attribute->type) {
    case OC_ATTR_SPARSE_TENSOR:
      return oc_reader_fail(reader, node, "cases cannot give the sparse tensor \"%s\"",
                            attribute->name);
    case OC_ATTR_TYPE:
      return read_type_value(reader, node, out_value);
    case OC_ATTR_INT:
    case OC_ATTR_FLOAT:
    case OC_ATTR_STRING:
      OPS_RETURN_IF_ERROR(read_scalar_attribute(reader, node, attribute, out_value));
      return attribute->type == OC_ATTR_STRING && !expressions
                 ? check_one_of(reader, node, attribute)
                 : OPS_OK;
    default:
      return read_list_attribute(reader, node, attribute, out_value);
  }
}

int32_t oc_reader_fixed_attributes(oc_reader *reader, const oc_yaml_node *node,
                                   bool expressions, oc_value *out_values) {
  const oc_contract *c = reader->contract;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_MAP, "attribute: value"));
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    uint32_t index;
    OPS_RETURN_IF_ERROR(oc_reader_key_attribute(reader, child, &index));
    if (c->attributes[index].type_var >= 0 && c->attributes[index].type == OC_ATTR_TYPE &&
        !expressions) {
      return oc_reader_fail_key(reader, child,
                                "\"%s\" follows the type variable \"%s\": restrict `types`",
                                child->key, c->type_vars[c->attributes[index].type_var].name);
    }
    OPS_RETURN_IF_ERROR(oc_reader_attribute_value(
        reader, child, &c->attributes[index], expressions, expressions, &out_values[index]));
  }
  return OPS_OK;
}

// [2, 3, 5]
int32_t oc_reader_shape(oc_reader *reader, const oc_yaml_node *node, oc_shape *out_shape) {
  int64_t count;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_LIST, "a shape such as [2, 3]"));
  if (node->count > OPS_MAX_RANK) {
    return oc_reader_fail(reader, node, "rank %zu, at most %d is allowed", node->count,
                          OPS_MAX_RANK);
  }
  int64_t *dims = oc_arena_alloc(reader->arena, node->count, sizeof(*dims));
  if (!dims) return oc_reader_no_memory(reader);
  size_t i = 0;
  for (const oc_yaml_node *child = node->first; child; child = child->next, ++i) {
    OPS_RETURN_IF_ERROR(oc_reader_int(reader, child, &dims[i]));
    if (dims[i] < 0) return oc_reader_fail(reader, child, "a dimension is not negative");
  }
  *out_shape = (oc_shape){(int32_t)node->count, dims};
  if (ops_checked_count(dims, out_shape->rank, &count) && count <= OC_CONTRACT_MAX_NUMEL) {
    return OPS_OK;
  }
  return oc_reader_fail(reader, node, "a tensor of a case has at most %d elements",
                        OC_CONTRACT_MAX_NUMEL);
}

static int32_t read_input_shapes(oc_reader *reader, const oc_yaml_node *node,
                                 const oc_param *param, oc_row_input *row) {
  const size_t count = param->variadic ? node->count : 1;
  oc_shape *shapes = oc_arena_alloc(reader->arena, count, sizeof(*shapes));
  if (!shapes) return oc_reader_no_memory(reader);
  row->shapes = shapes;
  row->count = count;
  if (!param->variadic) return oc_reader_shape(reader, node, shapes);
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_LIST, "a list of shapes"));
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    OPS_RETURN_IF_ERROR(oc_reader_shape(reader, child, shapes++));
  }
  return OPS_OK;
}

// Tensors of a variadic input whose values are given are scalars.
static int32_t imply_scalars(oc_reader *reader, size_t count, oc_row_input *row) {
  oc_shape *shapes = oc_arena_alloc(reader->arena, count, sizeof(*shapes));
  if (!shapes) return oc_reader_no_memory(reader);
  for (size_t i = 0; i < count; ++i) shapes[i] = (oc_shape){0};
  row->shapes = shapes;
  row->count = count;
  return OPS_OK;
}

// The contents decide the shape where no shape is given: a number is a scalar, a list a vector.
static int32_t imply_shape(oc_reader *reader, const oc_yaml_node *node, oc_row_input *row) {
  oc_shape *shape = oc_arena_alloc(reader->arena, 1, sizeof(*shape));
  int64_t *dims = oc_arena_alloc(reader->arena, 1, sizeof(*dims));
  if (!shape || !dims) return oc_reader_no_memory(reader);
  dims[0] = (int64_t)row->contents.count;
  *shape = (oc_shape){node->kind == OC_YAML_LIST ? 1 : 0, dims};
  row->shapes = shape;
  row->count = 1;
  return OPS_OK;
}

// One number for each tensor of a variadic input, which fills it.
static int32_t check_variadic_contents(oc_reader *reader, const oc_yaml_node *node,
                                       oc_row_input *row) {
  OPS_RETURN_IF_ERROR(
      oc_reader_expect(reader, node, OC_YAML_LIST, "a list of a number for each tensor"));
  if (row->count == 0) return imply_scalars(reader, node->count, row);
  if (row->count == node->count) return OPS_OK;
  return oc_reader_fail(reader, node, "%zu values for %zu tensors", node->count, row->count);
}

static int32_t read_contents(oc_reader *reader, const oc_yaml_node *node, bool variadic,
                             oc_row_input *row) {
  bool real = false;
  int64_t count;
  const bool list = node->kind == OC_YAML_LIST;
  const oc_yaml_node *first = list ? node->first : node;
  const size_t items = list ? node->count : 1;
  oc_value *value = &row->contents;
  *value = (oc_value){0};
  if (items > 0 && first->kind == OC_YAML_SCALAR && first->quoted) {
    OPS_RETURN_IF_ERROR(read_strings(reader, first, items, value));
    value->kind = list ? OC_VALUE_STRINGS : OC_VALUE_STRING;
  } else {
    OPS_RETURN_IF_ERROR(read_numbers(reader, first, items, value, &real));
    value->kind = list ? (real ? OC_VALUE_FLOATS : OC_VALUE_INTS)
                       : (real ? OC_VALUE_FLOAT : OC_VALUE_INT);
  }
  if (variadic) return check_variadic_contents(reader, node, row);
  if (row->count == 0) return imply_shape(reader, node, row);
  if (!list) return OPS_OK;  // one number fills the tensor
  if (ops_checked_count(row->shapes[0].dims, row->shapes[0].rank, &count) &&
      (uint64_t)count == items) {
    return OPS_OK;
  }
  return oc_reader_fail(reader, node, "%zu values for a tensor of %lld elements", items,
                        (long long)count);
}

int32_t oc_reader_row_inputs(oc_reader *reader, const oc_yaml_node *inputs,
                             const oc_yaml_node *values, oc_row_input *rows) {
  const oc_contract *c = reader->contract;
  uint32_t index;
  if (inputs)
    OPS_RETURN_IF_ERROR(oc_reader_expect(reader, inputs, OC_YAML_MAP, "input: shape"));
  for (const oc_yaml_node *child = inputs ? inputs->first : NULL; child; child = child->next) {
    OPS_RETURN_IF_ERROR(oc_reader_key_input(reader, child, &index));
    OPS_RETURN_IF_ERROR(read_input_shapes(reader, child, &c->inputs[index], &rows[index]));
  }
  if (values)
    OPS_RETURN_IF_ERROR(oc_reader_expect(reader, values, OC_YAML_MAP, "input: values"));
  for (const oc_yaml_node *child = values ? values->first : NULL; child; child = child->next) {
    OPS_RETURN_IF_ERROR(oc_reader_key_input(reader, child, &index));
    OPS_RETURN_IF_ERROR(read_contents(reader, child, c->inputs[index].variadic, &rows[index]));
  }
  return OPS_OK;
}

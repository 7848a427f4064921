// SPDX-License-Identifier: Apache-2.0
//
// The sum of word, position and segment embeddings, normalised, is EmbedLayerNormalization of
// com.microsoft. Its ids are int32, so what is int64 is cast; an id beyond int32 would be
// beyond any table.
#include "passes/pattern.h"

static const char *const roots[] = {"LayerNormalization", NULL};

#define MAX_TERMS 3

typedef struct formula {
  rt_value *terms[MAX_TERMS];
  uint32_t term_count;
  rt_node *nodes[8];
  uint32_t count;
} formula;

// The Gather of rows from a table [rows, size] by ids [batch, length]; NULL if it is something
// else.
static rt_node *lookup_of(const rt_value *value) {
  rt_node *gather = rt_pass_producer(value, "Gather");
  if (!gather || rt_attrs_int(&gather->op.attrs, "axis", 0) != 0 ||
      rt_pass_rank(gather->operands[0]) != 2 || !rt_value_constant(gather->operands[0]) ||
      rt_pass_rank(gather->operands[1]) != 2)
    return NULL;
  return gather;
}

// Takes the sum apart, from the top.
static int read_terms(formula *f, rt_value *value) {
  rt_node *sum = rt_pass_producer(value, "Add");
  if (!sum || lookup_of(value)) {
    if (f->term_count == MAX_TERMS) return 0;
    f->terms[f->term_count++] = value;
    return 1;
  }
  if (f->count == 4 || !read_terms(f, sum->operands[0]) || !read_terms(f, sum->operands[1]))
    return 0;
  f->nodes[f->count++] = sum;
  return 1;
}

// A constant [1, length, size] or [length, size] of the positions 0, 1 …: the table itself.
static int is_position_table(const rt_value *value, const rt_value *ids) {
  const rt_constant *constant = value ? rt_value_constant(value) : NULL;
  if (!constant || constant->sparse || constant->rank < 2 || constant->rank > 3) return 0;
  if (constant->rank == 3 && constant->dims[0] != 1) return 0;
  return constant->dims[constant->rank - 2] == rt_pass_dim(ids, 1);
}

static int32_t table_of(rt_value *value, rt_value **out_table, ops_error *error) {
  const rt_constant *from = rt_value_constant(value);
  rt_constant *table = NULL;
  *out_table = value;
  if (from->rank == 2) return OPS_OK;
  OPS_RETURN_IF_ERROR(
      rt_constant_create(from->elem_type, 2, from->dims + 1, from->data, &table, error));
  return rt_pass_add_constant(value->graph, value->name, table, out_table, error);
}

static int32_t add_op(rt_pass_context *context, const char *op, rt_value *const *inputs,
                      uint32_t count, rt_node *before, rt_value **out_value, ops_error *error) {
  rt_node *node;
  const rt_node_desc desc = {
      .op = op, .inputs = inputs, .input_count = count, .output_count = 1};
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &desc, before, &before, 1, &node, error));
  *out_value = node->outputs[0];
  return OPS_OK;
}

// ids < 0 ? ids + rows : ids.
static int32_t count_from_front(rt_pass_context *context, rt_value *ids, int64_t rows,
                                rt_node *before, rt_value **out_ids, ops_error *error) {
  rt_value *zero, *size, *is_back, *turned;
  const int32_t type = rt_pass_elem(ids);
  OPS_RETURN_IF_ERROR(rt_pass_add_scalar(before->graph, "zero", type, 0, 0, &zero, error));
  OPS_RETURN_IF_ERROR(
      rt_pass_add_scalar(before->graph, "rows", type, 0, (double)rows, &size, error));
  rt_value *const less[] = {ids, zero}, *const sum[] = {ids, size};
  OPS_RETURN_IF_ERROR(add_op(context, "Less", less, 2, before, &is_back, error));
  OPS_RETURN_IF_ERROR(add_op(context, "Add", sum, 2, before, &turned, error));
  rt_value *const choice[] = {is_back, turned, ids};
  return add_op(context, "Where", choice, 3, before, out_ids, error);
}

static int32_t cast_ids(rt_pass_context *context, const rt_node *lookup, rt_node *before,
                        rt_value **out_ids, ops_error *error) {
  const int64_t type = OPS_TYPE_INT32, rows = rt_pass_dim(lookup->operands[0], 0);
  rt_node *cast;
  OPS_RETURN_IF_ERROR(
      count_from_front(context, lookup->operands[1], rows, before, out_ids, error));
  if (rt_pass_elem(*out_ids) == OPS_TYPE_INT32) return OPS_OK;
  const rt_attr attr = {.name = "to", .kind = RT_ATTR_INT, .count = 1, .ints = &type};
  const rt_node_desc desc = {.op = "Cast",
                             .inputs = out_ids,
                             .input_count = 1,
                             .output_count = 1,
                             .attrs = &attr,
                             .attr_count = 1};
  OPS_RETURN_IF_ERROR(rt_pass_add_node(context, &desc, before, &before, 1, &cast, error));
  *out_ids = cast->outputs[0];
  return OPS_OK;
}

static int32_t fuse(rt_pass_context *context, formula *f, rt_node *const *lookups,
                    uint32_t lookup_count, rt_value *positions, rt_node *norm,
                    ops_error *error) {
  rt_value *inputs[8] = {NULL};
  rt_node *fused;
  const float epsilon = rt_attrs_float(&norm->op.attrs, "epsilon", 1e-5f);
  for (uint32_t i = 0; i < lookup_count; ++i) {
    OPS_RETURN_IF_ERROR(cast_ids(context, lookups[i], norm, &inputs[i], error));
    inputs[i == 0 ? 2 : 4] = lookups[i]->operands[0];
    f->nodes[f->count++] = lookups[i];
  }
  OPS_RETURN_IF_ERROR(table_of(positions, &inputs[3], error));
  inputs[5] = norm->operands[1];
  inputs[6] = norm->operands[2];
  f->nodes[f->count++] = norm;
  const rt_attr attr = {
      .name = "epsilon", .kind = RT_ATTR_FLOAT, .count = 1, .floats = &epsilon};
  const char *names[] = {norm->name, "mask_index"};
  const rt_node_desc desc = {.op = "EmbedLayerNormalization",
                             .domain = "com.microsoft",
                             .opset = 1,
                             .inputs = inputs,
                             .input_count = 7,
                             .output_names = names,
                             .output_count = 2,
                             .attrs = &attr,
                             .attr_count = 1};
  OPS_RETURN_IF_ERROR(rt_pass_fuse(context, &desc, f->nodes, f->count, &fused, error));
  if (fused) {
    rt_pass_hit(context, "embeddings + LayerNormalization '%s': made EmbedLayerNormalization",
                norm->name);
    return OPS_OK;
  }
  for (uint32_t i = 0; i < 2; ++i)
    if (inputs[i] && inputs[i]->kind == RT_VALUE_OUTPUT)
      OPS_RETURN_IF_ERROR(rt_pass_drop(context, inputs[i]->producer, error));
  return rt_pass_drop_value(inputs[3], error);
}

static int32_t visit(rt_pass_context *context, rt_node *norm, ops_error *error) {
  formula f = {0};
  rt_node *lookups[MAX_TERMS];
  rt_value *positions = NULL;
  uint32_t lookup_count = 0;
  if (!rt_pass_is(norm, "LayerNormalization") || norm->op.opset < 9 || norm->input_count != 3 ||
      rt_pass_rank(norm->operands[0]) != 3 || !rt_pass_one_output(norm) ||
      rt_pass_axis(rt_attrs_int(&norm->op.attrs, "axis", -1), 3) != 2 ||
      !read_terms(&f, norm->operands[0]) || f.term_count < 2)
    return OPS_OK;
  for (uint32_t i = 0; i < f.term_count; ++i) {
    rt_node *lookup = lookup_of(f.terms[i]);
    if (lookup)
      lookups[lookup_count++] = lookup;
    else
      positions = f.terms[i];
  }
  if (lookup_count == 0) return OPS_OK;
  const char *why = NULL;
  if (lookup_count + 1 != f.term_count ||
      !is_position_table(positions, lookups[0]->operands[1]))
    why = "the positions are no constant of the length of the ids";
  else if (!rt_value_constant(norm->operands[1]) || !rt_value_constant(norm->operands[2]))
    why = "scale or bias is not constant";
  for (uint32_t i = 0; !why && i < f.count; ++i)
    if (rt_value_sole_consumer(f.nodes[i]->outputs[0]) == NULL) why = "others read a sum";
  for (uint32_t i = 0; !why && i < lookup_count; ++i)
    if (rt_value_sole_consumer(lookups[i]->outputs[0]) == NULL)
      why = "others read an embedding";
  if (!why) return fuse(context, &f, lookups, lookup_count, positions, norm, error);
  rt_pass_miss(context, "LayerNormalization '%s': not made EmbedLayerNormalization, %s",
               norm->name, why);
  return OPS_OK;
}

const rt_pass rt_pass_embedding_normalization = {.roots = roots, .visit = visit};

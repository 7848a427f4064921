// SPDX-License-Identifier: Apache-2.0
//
// All nodes of a tree, in order. What a rule finds is merged with what the value says already:
// a number found by the rule wins; where the rule leaves a dimension open, a declared number is
// taken over, and otherwise the dimension gets a symbol of its own. Declared symbols of
// computed values are not believed: exporters give one name to dimensions that differ.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/context.h"

typedef struct driver {
  rt_infer_options options;
  rt_infer_input *inputs;
  uint32_t input_capacity;
  rt_infer_output *outputs;
  uint32_t output_capacity;
  ops_error *error;
} driver;

static int32_t infer_tree(driver *d, rt_graph *graph);

static int32_t no_memory(driver *d) {
  return ops_error_set(d->error, OPS_ERROR_OUT_OF_MEMORY,
                       "out of memory while shapes are inferred");
}

static void note(const driver *d, const rt_node *node, const char *text) {
  if (d->options.note) d->options.note(d->options.user, node, text);
}

// A declaration that inference refutes: an error if strict, a note otherwise.
static int32_t refute(const driver *d, const rt_value *value, const rt_type *found,
                      const rt_type *declared) {
  char text[OPS_ERROR_MESSAGE_MAX], f[256], e[256];
  const rt_symbols *symbols = value->graph->symbols;
  snprintf(text, sizeof text, "value '%s' is declared as %s but is %s; correct the declaration",
           value->name, rt_type_format(symbols, declared, e, sizeof e),
           rt_type_format(symbols, found, f, sizeof f));
  if (d->options.strict) return ops_error_set(d->error, OPS_ERROR_INVALID_MODEL, "%s", text);
  note(d, value->producer, text);
  return OPS_OK;
}

// --- Merging ---------------------------------------------------------------------------------

// 1 if the two cannot both be true.
static int contradicts(const rt_type *found, const rt_type *declared) {
  if (!found->kind || !declared->kind) return 0;
  if (found->kind != declared->kind) return declared->kind != RT_TYPE_OPTIONAL;
  if (found->kind != RT_TYPE_TENSOR) return 0;
  if (found->elem_type && declared->elem_type && found->elem_type != declared->elem_type)
    return 1;
  if (found->rank < 0 || declared->rank < 0) return 0;
  if (found->rank != declared->rank) return 1;
  for (int32_t i = 0; i < found->rank; ++i) {
    const rt_dim a = found->dims[i], b = declared->dims[i];
    if (rt_dim_is_const(a) && rt_dim_is_const(b) && a.value != b.value) return 1;
  }
  return 0;
}

// 1 if `dim` is the symbol that an earlier run made for this very value.
static int is_own_symbol(const rt_value *value, rt_dim dim) {
  uint32_t index;
  const rt_symbols *symbols = value->graph->symbols;
  const size_t length = strlen(value->name);
  if (!rt_dim_as_symbol(symbols, dim, &index) || !rt_symbols_is_fresh(symbols, index)) return 0;
  const char *name = rt_symbols_name(symbols, index);
  return strncmp(name, value->name, length < 64 ? length : 64) == 0;
}

static rt_dim close_dim(const rt_value *value, rt_dim found, rt_dim known) {
  if (!rt_dim_is_unknown(found)) return found;
  if (rt_dim_is_const(known) && known.value >= 0) return known;
  if (is_own_symbol(value, known)) return known;
  return rt_symbols_fresh(value->graph->symbols, value->name);
}

// Stores `found`, completed from what the value says.
static int32_t store_tensor(driver *d, rt_value *value, const rt_type *found) {
  rt_dim dims[OPS_MAX_RANK];
  const rt_type known = value->type;
  const int fits = known.kind == RT_TYPE_TENSOR && !contradicts(found, &known);
  rt_type type = *found;
  if (!type.elem_type && fits) type.elem_type = known.elem_type;
  if (type.rank < 0 && fits) type.rank = known.rank;
  type.dims = dims;
  for (int32_t i = 0; i < type.rank; ++i) {
    const rt_dim have = found->rank >= 0 ? found->dims[i] : rt_dim_unknown();
    const rt_dim other = fits && known.rank == type.rank ? known.dims[i] : rt_dim_unknown();
    dims[i] = close_dim(value, have, other);
    if (rt_dim_is_unknown(dims[i])) return no_memory(d);
  }
  return rt_value_set_type(value, &type, d->error);
}

static int32_t store(driver *d, rt_value *value, const rt_infer_output *found) {
  if (contradicts(&found->type, &value->type)) {
    OPS_RETURN_IF_ERROR(refute(d, value, &found->type, &value->type));
  }
  const int is_tensor = found->type.kind == RT_TYPE_TENSOR;
  if (found->type.kind == RT_TYPE_UNKNOWN) {
    if (value->type.kind == RT_TYPE_TENSOR) {
      const rt_type open = rt_type_tensor(0, RT_RANK_UNKNOWN, NULL);
      OPS_RETURN_IF_ERROR(store_tensor(d, value, &open));
    }
  } else if (is_tensor) {
    OPS_RETURN_IF_ERROR(store_tensor(d, value, &found->type));
  } else if (found->type.element || value->type.kind == RT_TYPE_UNKNOWN) {
    OPS_RETURN_IF_ERROR(rt_value_set_type(value, &found->type, d->error));
  }
  return rt_value_set_contents(value, found->contents, found->contents_count, d->error);
}

// --- Values that nothing computes ------------------------------------------------------------

// Unknown dimensions of an input become symbols, so that what follows can refer to them.
static int32_t open_input(driver *d, rt_value *value) {
  rt_dim dims[OPS_MAX_RANK];
  rt_type type = value->type;
  if (type.kind != RT_TYPE_TENSOR || type.rank < 1) return OPS_OK;
  if (type.rank > OPS_MAX_RANK) {
    return ops_error_set(d->error, OPS_ERROR_INVALID_MODEL,
                         "input '%s' has rank %d, expected at most %d", value->name, type.rank,
                         OPS_MAX_RANK);
  }
  for (int32_t i = 0; i < type.rank; ++i) {
    dims[i] = type.dims[i];
    if (!rt_dim_is_unknown(dims[i])) continue;
    dims[i] = rt_symbols_fresh(value->graph->symbols, value->name);
    if (rt_dim_is_unknown(dims[i])) return no_memory(d);
  }
  type.dims = dims;
  return rt_value_set_type(value, &type, d->error);
}

static int32_t open_constant(driver *d, rt_value *value) {
  int64_t ints[RT_INFER_MAX_CONTENTS];
  rt_dim contents[RT_INFER_MAX_CONTENTS];
  if (value->constant->rank > 1) return OPS_OK;
  const int64_t count = rt_constant_read_ints(value->constant, ints, RT_INFER_MAX_CONTENTS);
  for (int64_t i = 0; i < count; ++i) contents[i] = rt_dim_const(ints[i]);
  return rt_value_set_contents(value, contents, count, d->error);
}

static int32_t open_values(driver *d, rt_graph *graph) {
  for (rt_value *value = graph->first_value; value; value = value->next) {
    if (value->kind == RT_VALUE_INPUT) OPS_RETURN_IF_ERROR(open_input(d, value));
    if (value->kind == RT_VALUE_CONSTANT) OPS_RETURN_IF_ERROR(open_constant(d, value));
    if (value->kind == RT_VALUE_CAPTURE) {
      value->type = value->outer->type;
      value->contents = value->outer->contents;
      value->contents_count = value->outer->contents_count;
    }
  }
  // What the model declares of its outputs helps where rules have nothing to say.
  for (uint32_t i = 0; i < graph->output_count; ++i) {
    rt_value *value = graph->outputs[i];
    if (value->kind == RT_VALUE_OUTPUT && value->type.kind == RT_TYPE_UNKNOWN) {
      value->type = graph->output_types[i];
    }
  }
  return OPS_OK;
}

// --- Bodies ----------------------------------------------------------------------------------

// Sets what a body's input is known to be, unless the model says more.
static int32_t set_body_input(driver *d, rt_graph *body, uint32_t index, const rt_type *type) {
  if (index >= body->input_count) return OPS_OK;
  rt_value *value = body->inputs[index];
  const int declared = value->type.kind == RT_TYPE_TENSOR && value->type.elem_type &&
                       (value->type.rank >= 0 || type->rank < 0);
  if (declared || type->kind == RT_TYPE_UNKNOWN) return OPS_OK;
  return rt_value_set_type(value, type, d->error);
}

// What stays of a type when it may change from one iteration to the next.
static rt_type without_shape(const rt_type *type) {
  return type->kind == RT_TYPE_TENSOR ? rt_type_tensor(type->elem_type, RT_RANK_UNKNOWN, NULL)
                                      : *type;
}

static int32_t open_loop(driver *d, const rt_node *node, rt_graph *body) {
  const rt_type iteration = rt_type_tensor(OPS_TYPE_INT64, 0, NULL);
  const rt_type condition = rt_type_tensor(OPS_TYPE_BOOL, 0, NULL);
  OPS_RETURN_IF_ERROR(set_body_input(d, body, 0, &iteration));
  OPS_RETURN_IF_ERROR(set_body_input(d, body, 1, &condition));
  for (uint32_t i = 2; i < node->input_count; ++i) {
    if (!node->operands[i]) continue;
    const rt_type carried = without_shape(&node->operands[i]->type);
    OPS_RETURN_IF_ERROR(set_body_input(d, body, i, &carried));
  }
  return OPS_OK;
}

// One slice of a scanned input: its type without the scanned axis.
static int32_t open_slice(driver *d, rt_graph *body, uint32_t index, const rt_type *type,
                          int64_t axis) {
  rt_dim dims[OPS_MAX_RANK];
  rt_type slice = without_shape(type);
  if (type->kind == RT_TYPE_TENSOR && type->rank > 0) {
    if (axis < 0) axis += type->rank;
    slice.rank = type->rank - 1;
    slice.dims = dims;
    for (int32_t i = 0, at = 0; i < type->rank; ++i) {
      if (i != axis && at < slice.rank) dims[at++] = type->dims[i];
    }
  }
  return set_body_input(d, body, index, &slice);
}

static int32_t open_scan(driver *d, const rt_node *node, rt_graph *body) {
  const int64_t scanned = rt_attrs_int(&node->op.attrs, "num_scan_inputs", 0);
  uint32_t count;
  const int64_t *axes = rt_attrs_ints(&node->op.attrs, "scan_input_axes", &count);
  for (uint32_t i = 0; i < node->input_count; ++i) {
    if (!node->operands[i]) continue;
    const rt_type *type = &node->operands[i]->type;
    const int64_t slice = (int64_t)i - ((int64_t)node->input_count - scanned);
    const rt_type state = without_shape(type);
    OPS_RETURN_IF_ERROR(
        slice < 0 ? set_body_input(d, body, i, &state)
                  : open_slice(d, body, i, type, axes && slice < count ? axes[slice] : 0));
  }
  return OPS_OK;
}

static int32_t infer_bodies(driver *d, const rt_node *node) {
  for (uint32_t i = 0; i < rt_node_body_count(node); ++i) {
    rt_graph *body = rt_node_body(node, i);
    if (rt_op_is(&node->op, "Loop")) OPS_RETURN_IF_ERROR(open_loop(d, node, body));
    if (rt_op_is(&node->op, "Scan") && node->op.opset >= 9) {
      OPS_RETURN_IF_ERROR(open_scan(d, node, body));
    }
    OPS_RETURN_IF_ERROR(infer_tree(d, body));
  }
  return OPS_OK;
}

// --- Nodes -----------------------------------------------------------------------------------

static int32_t reserve(driver *d, const rt_node *node) {
  if (node->operand_count > d->input_capacity) {
    rt_infer_input *inputs = realloc(d->inputs, node->operand_count * sizeof *inputs);
    if (!inputs) return no_memory(d);
    d->inputs = inputs;
    d->input_capacity = node->operand_count;
  }
  if (node->output_count > d->output_capacity) {
    rt_infer_output *outputs = realloc(d->outputs, node->output_count * sizeof *outputs);
    if (!outputs) return no_memory(d);
    d->outputs = outputs;
    d->output_capacity = node->output_count;
  }
  return OPS_OK;
}

static rt_infer_input input_of(const rt_value *value) {
  if (!value) return (rt_infer_input){NULL, NULL, -1, NULL};
  return (rt_infer_input){&value->type, value->contents_count >= 0 ? value->contents : NULL,
                          value->contents_count, rt_value_constant(value)};
}

static int32_t infer_one(driver *d, rt_node *node) {
  char text[160];
  OPS_RETURN_IF_ERROR(infer_bodies(d, node));
  OPS_RETURN_IF_ERROR(reserve(d, node));
  for (uint32_t i = 0; i < node->operand_count; ++i) d->inputs[i] = input_of(node->operands[i]);
  OPS_RETURN_IF_ERROR(
      rt_infer_node(node, node->graph->symbols, d->inputs, d->outputs, d->error));
  if (!rt_infer_has_rule(&node->op)) {
    snprintf(text, sizeof text, "no shape rule for %s%s%.64s of opset %d", node->op.domain,
             *node->op.domain ? "." : "", node->op.name, node->op.opset);
    note(d, node, text);
  }
  for (uint32_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i]) OPS_RETURN_IF_ERROR(store(d, node->outputs[i], &d->outputs[i]));
  }
  return OPS_OK;
}

static int32_t check_outputs(driver *d, const rt_graph *graph) {
  for (uint32_t i = 0; i < graph->output_count; ++i) {
    const rt_type *declared = &graph->output_types[i];
    if (contradicts(&graph->outputs[i]->type, declared)) {
      OPS_RETURN_IF_ERROR(refute(d, graph->outputs[i], &graph->outputs[i]->type, declared));
    }
  }
  return OPS_OK;
}

static int32_t infer_tree(driver *d, rt_graph *graph) {
  OPS_RETURN_IF_ERROR(open_values(d, graph));
  for (rt_node *node = graph->first; node; node = node->next) {
    OPS_RETURN_IF_ERROR(infer_one(d, node));
  }
  return check_outputs(d, graph);
}

int32_t rt_infer_graph(rt_graph *graph, const rt_infer_options *options, ops_error *error) {
  driver d = {.error = error};
  if (options) d.options = *options;
  const int32_t status = infer_tree(&d, graph);
  free(d.inputs);
  free(d.outputs);
  return status;
}

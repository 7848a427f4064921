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
  uint32_t loops;    // around the graph that is being inferred
  uint32_t untaken;  // branches around it that a constant condition rules out
  ops_error *error;
} driver;

static int32_t infer_tree(driver *d, rt_graph *graph);

static int32_t no_memory(driver *d) {
  return ops_error_set(d->error, OPS_ERROR_OUT_OF_MEMORY,
                       "out of memory while shapes are inferred");
}

// Hands on what failed while d->error was another record.
static int32_t pass_error(driver *d, int32_t status, const ops_error *error) {
  if (status == OPS_OK) return OPS_OK;
  return ops_error_copy(d->error, status, error);
}

static void note(const driver *d, const rt_node *node, const char *text) {
  if (d->options.note) d->options.note(d->options.user, node, text);
}

// A declaration that inference refutes: an error if strict, a note otherwise.
static int32_t refute(const driver *d, const rt_value *value, const rt_type *found,
                      const rt_type *declared, int strict) {
  char text[OPS_ERROR_MESSAGE_MAX], f[256], e[256];
  const rt_symbols *symbols = value->graph->symbols;
  char maker[200] = "";
  if (value->producer)
    snprintf(maker, sizeof maker, ", made by %.80s '%.80s',", value->producer->op.name,
             value->producer->name);
  snprintf(text, sizeof text,
           "value '%s'%s is declared as %s but is %s; correct the declaration", value->name,
           maker, rt_type_format(symbols, declared, e, sizeof e),
           rt_type_format(symbols, found, f, sizeof f));
  if (strict && !d->untaken)
    return ops_error_set_cause(d->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_TYPES_DISAGREE,
                               "%s", text);
  note(d, value->producer, text);
  return OPS_OK;
}

// --- Merging ---------------------------------------------------------------------------------

// 1 if `dim` is the symbol that an earlier run made for this very value.
static int is_own_symbol(const rt_value *value, rt_dim dim) {
  uint32_t index;
  const rt_symbols *symbols = value->graph->symbols;
  const size_t length = strlen(value->name);
  if (!rt_dim_as_symbol(symbols, dim, &index) || !rt_symbols_is_fresh(symbols, index)) return 0;
  const char *name = rt_symbols_name(symbols, index);
  return strncmp(name, value->name, length < 64 ? length : 64) == 0;
}

static rt_dim close_dim(const rt_value *value, rt_dim found, rt_dim declared, rt_dim before) {
  if (!rt_dim_is_unknown(found)) return found;
  if (rt_dim_is_const(declared) && declared.value >= 0) return declared;
  if (is_own_symbol(value, before)) return before;
  return rt_symbols_fresh(value->graph->symbols, value->name);
}

static rt_dim dim_of(const rt_type *type, int32_t rank, int32_t axis) {
  return type->kind == RT_TYPE_TENSOR && type->rank == rank ? type->dims[axis]
                                                            : rt_dim_unknown();
}

// Stores `found`, completed from what the model declares.
static int32_t store_tensor(driver *d, rt_value *value, const rt_type *found) {
  static const rt_type nothing = {0};
  rt_dim dims[OPS_MAX_RANK];
  const rt_type *declared =
      rt_type_contradicts(found, &value->declared) ? &nothing : &value->declared;
  rt_type type = *found;
  if (declared->kind == RT_TYPE_TENSOR) {
    if (!type.elem_type) type.elem_type = declared->elem_type;
    if (type.rank < 0) type.rank = declared->rank;
  }
  type.dims = dims;
  for (int32_t i = 0; i < type.rank; ++i) {
    dims[i] = close_dim(value, dim_of(found, type.rank, i), dim_of(declared, type.rank, i),
                        dim_of(&value->type, type.rank, i));
    if (rt_dim_is_unknown(dims[i])) return no_memory(d);
  }
  return rt_value_set_type(value, &type, d->error);
}

// Where there is no rule, what is known stays: a declaration, or what a pass has set.
static int32_t store_unknown(driver *d, rt_value *value) {
  const rt_type *known = value->declared.kind ? &value->declared : &value->type;
  rt_type open = rt_type_tensor(known->elem_type, known->rank, NULL);
  rt_dim dims[OPS_MAX_RANK];
  if (known->kind == RT_TYPE_TENSOR) {
    if (open.rank > OPS_MAX_RANK) open.rank = RT_RANK_UNKNOWN;
    for (int32_t i = 0; i < open.rank; ++i) {
      const int is_number = rt_dim_is_const(known->dims[i]);
      dims[i] = is_number ? known->dims[i] : rt_dim_unknown();
    }
    open.dims = dims;
    OPS_RETURN_IF_ERROR(store_tensor(d, value, &open));
  } else if (known->kind != RT_TYPE_UNKNOWN) {
    OPS_RETURN_IF_ERROR(rt_value_set_type(value, known, d->error));
  }
  return rt_value_set_contents(value, NULL, -1, d->error);
}

static int32_t store(driver *d, rt_value *value, const rt_infer_output *found) {
  if (found->type.kind == RT_TYPE_UNKNOWN) return store_unknown(d, value);
  if (rt_type_contradicts(&found->type, &value->declared)) {
    OPS_RETURN_IF_ERROR(refute(d, value, &found->type, &value->declared, d->options.strict));
  }
  const int is_tensor = found->type.kind == RT_TYPE_TENSOR;
  const int take_declared = !is_tensor && !found->type.element && value->declared.kind;
  const rt_type *type = take_declared ? &value->declared : &found->type;
  OPS_RETURN_IF_ERROR(is_tensor ? store_tensor(d, value, type)
                                : rt_value_set_type(value, type, d->error));
  return rt_value_set_contents(value, found->contents, found->contents_count, d->error);
}

// --- Values that nothing computes ------------------------------------------------------------

// Unknown dimensions of an input become symbols, so that what follows can refer to them.
static int32_t open_input(driver *d, rt_value *value) {
  rt_dim dims[OPS_MAX_RANK];
  rt_type type = value->type;
  if (type.kind != RT_TYPE_TENSOR || type.rank < 1) return OPS_OK;
  if (type.rank > OPS_MAX_RANK) {
    return ops_error_set_cause(d->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_RANK,
                               "input '%s' has rank %d, expected at most %d", value->name,
                               type.rank, OPS_MAX_RANK);
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

static int32_t open_values(driver *d, rt_graph *graph) {
  for (rt_value *value = graph->first_value; value; value = value->next) {
    if (value->kind == RT_VALUE_INPUT) OPS_RETURN_IF_ERROR(open_input(d, value));
    if (value->kind == RT_VALUE_CONSTANT)
      OPS_RETURN_IF_ERROR(rt_infer_constant(value, d->error));
    if (value->kind == RT_VALUE_CAPTURE) {
      value->type = value->outer->type;
      value->contents = value->outer->contents;
      value->contents_count = value->outer->contents_count;
    }
  }
  // What the model declares of its outputs helps where rules have nothing to say.
  for (uint32_t i = 0; i < graph->output_count; ++i) {
    rt_value *value = graph->outputs[i];
    if (value->kind == RT_VALUE_OUTPUT && value->declared.kind == RT_TYPE_UNKNOWN) {
      value->declared = graph->output_types[i];
    }
  }
  return OPS_OK;
}

// --- Bodies ----------------------------------------------------------------------------------

// 1 if a value is of another element type than who reads it was told. A wrong shape is read
// right nevertheless.
static int misleads(const rt_type *found, const rt_type *declared) {
  return found->kind == RT_TYPE_TENSOR && declared->kind == RT_TYPE_TENSOR &&
         found->elem_type && declared->elem_type && found->elem_type != declared->elem_type;
}

// What a body's input is: what the model declares, as far as it says, else `type`.
static int32_t set_body_input(driver *d, rt_graph *body, uint32_t index, const rt_type *type) {
  if (index >= body->input_count) return OPS_OK;
  rt_value *value = body->inputs[index];
  const rt_type *declared = &value->declared;
  if (misleads(type, declared)) {
    OPS_RETURN_IF_ERROR(refute(d, value, type, declared, 1));
  }
  rt_type merged = *type;
  if (declared->kind == RT_TYPE_TENSOR && type->kind == RT_TYPE_TENSOR) {
    if (declared->elem_type) merged.elem_type = declared->elem_type;
    if (type->rank < 0) merged.rank = declared->rank, merged.dims = declared->dims;
  } else if (declared->kind != RT_TYPE_UNKNOWN) {
    merged = *declared;
  }
  return rt_value_set_type(value, &merged, d->error);
}

// What is assumed of one carried value at the start of each iteration.
typedef struct carried {
  rt_type type;
  rt_dim dims[OPS_MAX_RANK];
  rt_type elements[RT_INFER_ELEMENTS];
} carried;

static void assume(carried *c, const rt_value *value) {
  c->type = value ? value->type : (rt_type){0};
  if (c->type.kind == RT_TYPE_TENSOR && c->type.rank > 0) {
    memcpy(c->dims, c->type.dims, (size_t)c->type.rank * sizeof *c->dims);
    c->type.dims = c->dims;
  }
  // Iterations may add elements of other shapes to a sequence.
  rt_type *place = &c->type;
  for (int32_t depth = 0; depth < RT_INFER_ELEMENTS && place->element; ++depth) {
    c->elements[depth] = *place->element;
    place->element = &c->elements[depth];
    place = &c->elements[depth];
  }
  if (place != &c->type) place->rank = RT_RANK_UNKNOWN;
}

// Gives up what one iteration does not preserve. 1 if something was given up.
static int weaken(carried *c, const rt_type *after) {
  int changed = 0;
  if (c->type.kind != RT_TYPE_TENSOR || c->type.rank < 0) return 0;
  if (after->kind != RT_TYPE_TENSOR || after->rank != c->type.rank) {
    c->type.rank = RT_RANK_UNKNOWN;
    return 1;
  }
  for (int32_t i = 0; i < c->type.rank; ++i) {
    if (!rt_dim_is_unknown(c->dims[i]) && !rt_dim_equal(c->dims[i], after->dims[i])) {
      c->dims[i] = rt_dim_unknown();
      changed = 1;
    }
  }
  return changed;
}

// One attempt at the body of a Loop: sets the carried inputs, infers, weakens.
static int32_t try_body(driver *d, rt_graph *body, carried *list, uint32_t count,
                        int *out_changed) {
  *out_changed = 0;
  for (uint32_t i = 0; i < count; ++i) {
    OPS_RETURN_IF_ERROR(set_body_input(d, body, 2 + i, &list[i].type));
  }
  OPS_RETURN_IF_ERROR(infer_tree(d, body));
  for (uint32_t i = 0; i < count && 1 + i < body->output_count; ++i) {
    *out_changed |= weaken(&list[i], &body->outputs[1 + i]->type);
  }
  return OPS_OK;
}

// What an attempt with too strong an assumption finds wrong may not be wrong.
static int32_t try_leniently(driver *d, rt_graph *body, carried *list, uint32_t count,
                             int *out_changed) {
  ops_error error = OPS_ERROR_INIT, *const outer = d->error;
  d->error = &error;
  const int32_t status = try_body(d, body, list, count, out_changed);
  d->error = outer;
  if (status != OPS_ERROR_INVALID_MODEL) return pass_error(d, status, &error);
  for (uint32_t i = 0; i < count; ++i) list[i].type.rank = RT_RANK_UNKNOWN;
  *out_changed = 1;
  return OPS_OK;
}

// Attempts multiply in loops inside loops, hence only the outer ones have several.
#define MAX_ATTEMPTS 4
#define MAX_LOOPS_TRIED 3u

// Loop: a carried value's shape is kept as far as an iteration preserves it. The first attempt
// assumes the whole shape; an attempt that shows otherwise is followed by a weaker one.
static int32_t infer_loop(driver *d, const rt_node *node, rt_graph *body) {
  const rt_type iteration = rt_type_tensor(OPS_TYPE_INT64, 0, NULL);
  const rt_type condition = rt_type_tensor(OPS_TYPE_BOOL, 0, NULL);
  const uint32_t count = node->input_count > 2 ? node->input_count - 2 : 0;
  carried *list = calloc(count + (size_t)1, sizeof *list);
  const int attempts = d->loops < MAX_LOOPS_TRIED ? MAX_ATTEMPTS : 1;
  int changed = 1;
  if (!list) return no_memory(d);
  for (uint32_t i = 0; i < count; ++i) assume(&list[i], node->operands[i + 2]);
  d->loops++;
  int32_t status = set_body_input(d, body, 0, &iteration);
  if (status == OPS_OK) status = set_body_input(d, body, 1, &condition);
  for (int attempt = 1; status == OPS_OK && changed && attempt <= attempts; ++attempt) {
    const int last = attempt == attempts;
    for (uint32_t i = 0; last && i < count; ++i) list[i].type.rank = RT_RANK_UNKNOWN;
    if (last) {
      status = try_body(d, body, list, count, &changed);
      break;
    }
    status = try_leniently(d, body, list, count, &changed);
  }
  d->loops--;
  free(list);
  return status;
}

// One slice of a scanned input: its type without the `count` axes from `axis` on.
static int32_t set_slice(driver *d, rt_graph *body, uint32_t index, const rt_type *type,
                         int64_t axis, int32_t count) {
  rt_dim dims[OPS_MAX_RANK];
  rt_type slice = *type;
  if (type->kind == RT_TYPE_TENSOR && type->rank >= count) {
    if (axis < 0) axis += type->rank;
    slice.rank = type->rank - count;
    slice.dims = dims;
    for (int32_t i = 0, at = 0; i < type->rank; ++i) {
      if ((i < axis || i >= axis + count) && at < slice.rank) dims[at++] = type->dims[i];
    }
  }
  return set_body_input(d, body, index, &slice);
}

// Scan: the shape of a state is the same in every iteration.
static int32_t open_scan(driver *d, const rt_node *node, rt_graph *body) {
  const int64_t scanned = rt_attrs_int(&node->op.attrs, "num_scan_inputs", 0);
  uint32_t count;
  const int64_t *axes = rt_attrs_ints(&node->op.attrs, "scan_input_axes", &count);
  if (scanned < 1 || scanned > node->input_count) return OPS_OK;  // the rule says what is wrong
  const uint32_t states = node->input_count - (uint32_t)scanned;
  for (uint32_t i = 0; i < node->input_count; ++i) {
    if (!node->operands[i]) continue;
    const rt_type *type = &node->operands[i]->type;
    const uint32_t slice = i - states;
    OPS_RETURN_IF_ERROR(
        i < states ? set_body_input(d, body, i, type)
                   : set_slice(d, body, i, type, axes && slice < count ? axes[slice] : 0, 1));
  }
  return OPS_OK;
}

// Scan-8: states lose the batch, slices the axis of iterations, too; see the rule.
static int32_t open_scan_batches(driver *d, const rt_node *node, rt_graph *body) {
  const int64_t scanned = rt_attrs_int(&node->op.attrs, "num_scan_inputs", 0);
  if (scanned < 1 || scanned >= node->input_count)
    return OPS_OK;  // the rule says what is wrong
  const uint32_t first = node->input_count - (uint32_t)scanned;
  for (uint32_t i = 1; i < node->input_count; ++i) {
    if (!node->operands[i]) continue;
    OPS_RETURN_IF_ERROR(
        set_slice(d, body, i - 1, &node->operands[i]->type, 0, i < first ? 1 : 2));
  }
  return OPS_OK;
}

// SequenceMap: the body sees an element of each sequence, and all else as it is.
static int32_t open_map(driver *d, const rt_node *node, rt_graph *body) {
  for (uint32_t i = 0; i < node->input_count; ++i) {
    const rt_type *type = node->operands[i] ? &node->operands[i]->type : NULL;
    if (type && type->kind == RT_TYPE_SEQUENCE) type = type->element;
    if (type) OPS_RETURN_IF_ERROR(set_body_input(d, body, i, type));
  }
  return OPS_OK;
}

// FlexAttention: scores [batch, heads, length of Q, length of K], in a type of the softmax.
static int32_t open_scores(driver *d, const rt_node *node, rt_graph *body) {
  const rt_type *q =
      node->input_count > 1 && node->operands[0] ? &node->operands[0]->type : NULL;
  const rt_type *k = q && node->operands[1] ? &node->operands[1]->type : NULL;
  if (!k || q->kind != RT_TYPE_TENSOR || k->kind != RT_TYPE_TENSOR || q->rank != 4 ||
      k->rank != 4) {
    return OPS_OK;
  }
  const rt_dim dims[] = {q->dims[0], q->dims[1], q->dims[2], k->dims[2]};
  const rt_type scores = rt_type_tensor(OPS_TYPE_UNDEFINED, 4, dims);
  return set_body_input(d, body, 0, &scores);
}

// A branch that is never taken may hold what would be wrong if it were.
static int32_t infer_branch(driver *d, const rt_node *node, rt_graph *body) {
  const rt_value *condition = rt_node_input(node, 0);
  const int is_known =
      condition && condition->contents_count == 1 && rt_dim_is_const(condition->contents[0]);
  const char *taken = is_known && condition->contents[0].value ? "then_branch" : "else_branch";
  const int untaken = is_known && rt_attrs_graph(&node->op.attrs, taken) != body;
  d->untaken += untaken != 0;
  const int32_t status = infer_tree(d, body);
  d->untaken -= untaken != 0;
  return status;
}

// Gives the inputs of a body the types that the node's inputs imply.
static int32_t open_body(driver *d, const rt_node *node, rt_graph *body) {
  if (rt_op_is(&node->op, "Scan")) {
    return node->op.opset < 9 ? open_scan_batches(d, node, body) : open_scan(d, node, body);
  }
  if (rt_op_is(&node->op, "SequenceMap")) return open_map(d, node, body);
  if (strcmp(node->op.name, "FlexAttention") == 0) return open_scores(d, node, body);
  return OPS_OK;
}

static int32_t infer_bodies(driver *d, const rt_node *node) {
  for (uint32_t i = 0; i < rt_node_body_count(node); ++i) {
    rt_graph *body = rt_node_body(node, i);
    if (rt_op_is(&node->op, "Loop")) {
      OPS_RETURN_IF_ERROR(infer_loop(d, node, body));
    } else if (rt_op_is(&node->op, "If")) {
      OPS_RETURN_IF_ERROR(infer_branch(d, node, body));
    } else {
      OPS_RETURN_IF_ERROR(open_body(d, node, body));
      OPS_RETURN_IF_ERROR(infer_tree(d, body));
    }
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

// In a branch that is never taken a fault is a note, and its outputs are what is declared.
static int32_t apply_rule(driver *d, const rt_node *node) {
  ops_error error = OPS_ERROR_INIT;
  const int32_t status =
      rt_infer_node(node, node->graph->symbols, d->inputs, d->outputs, &error);
  if (status != OPS_ERROR_INVALID_MODEL || !d->untaken) return pass_error(d, status, &error);
  note(d, node, error.message);
  for (uint32_t i = 0; i < node->output_count; ++i) {
    d->outputs[i].type = (rt_type){0};
    d->outputs[i].contents_count = -1;
  }
  return OPS_OK;
}

static int32_t infer_one(driver *d, rt_node *node) {
  char text[160];
  OPS_RETURN_IF_ERROR(infer_bodies(d, node));
  OPS_RETURN_IF_ERROR(reserve(d, node));
  for (uint32_t i = 0; i < node->operand_count; ++i) d->inputs[i] = input_of(node->operands[i]);
  OPS_RETURN_IF_ERROR(apply_rule(d, node));
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
    const rt_type *declared = &graph->output_types[i], *found = &graph->outputs[i]->type;
    if (rt_type_contradicts(found, declared)) {
      const int strict = d->options.strict || misleads(found, declared);
      OPS_RETURN_IF_ERROR(refute(d, graph->outputs[i], found, declared, strict));
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

// SPDX-License-Identifier: Apache-2.0
//
// The rewrite of one Gradient node, in five steps:
//   1. names → values; the slice: nodes between the leaves (xs, zs) and y
//   2. which values depend on an x ("active": only these have derivatives)
//   3. a copy of the slice where the inputs are other values than the named ones, where y is
//      computed after the Gradient node, or where an operator has a function but no rule
//   4. from y back to the leaves: the rule of each node, sums where a value is read twice
//   5. the results take the place of the node's outputs
// Step 4 is reverse-mode differentiation as in Griewank and Walther, Evaluating Derivatives,
// chapter 3.
#include "gradient/gradient.h"

#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "functions/functions.h"
#include "gradient/rules.h"
#include "infer/infer.h"

#define GRADIENT_DOMAIN "ai.onnx.preview.training"

typedef struct task {
  rt_graph *graph;
  rt_node *node;       // the Gradient node
  uint32_t first_new;  // id of the first node that Gradient nodes became
  char path[256];      // of new nodes
  rt_value **leaves;   // xs, then zs: in the slice or in its copy
  uint32_t x_count, leaf_count;
  rt_value *y;
  rt_node **slice;  // in topological order
  uint32_t slice_count;
  uint32_t value_limit;   // of the arrays below
  uint8_t *is_leaf;       // by id of a value
  uint8_t *is_active;     // likewise
  rt_value **derivative;  // likewise; of y by the value, NULL: zero so far
  ops_error *error;
} task;

static int32_t expand_node(rt_graph *graph, rt_node *node, uint32_t first_new, uint32_t order,
                           ops_error *error);

static int32_t no_memory(const task *t) {
  return ops_error_set(t->error, OPS_ERROR_OUT_OF_MEMORY, "differentiating for Gradient '%s'",
                       t->node->name);
}

static int is_gradient(const rt_node *node) {
  return strcmp(node->op.name, "Gradient") == 0 &&
         strcmp(node->op.domain, GRADIENT_DOMAIN) == 0;
}

static void task_finish(task *t) {
  free(t->leaves);
  free(t->slice);
  free(t->is_leaf);
  free(t->is_active);
  free(t->derivative);
}

// ---- Names ----------------------------------------------------------------------------------

static int32_t find_named(const task *t, ops_str name, const char *attribute,
                          rt_value **out_value) {
  // Terminated; attributes may hold any bytes, names of values none that is zero.
  char *text = calloc(name.size + 1, 1);
  if (!text) return no_memory(t);
  if (name.size) memcpy(text, name.data, name.size);
  *out_value = strlen(text) == name.size ? rt_graph_find_value(t->graph, text) : NULL;
  free(text);
  if (*out_value) return OPS_OK;
  return ops_error_set_cause(
      t->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_TYPES_DISAGREE,
      "Gradient '%s': its attribute %s names '%.*s', which is no tensor of graph "
      "'%s'; expected an input, an initializer or an output of a node",
      t->node->name, attribute, OPS_STR_FMT(name), t->graph->name);
}

// The attribute `name`, a list of strings; the count is 0 if it is absent.
static const ops_str *names_of(const rt_node *node, const char *name, uint32_t *out_count) {
  const rt_attr *attr = rt_attrs_find(&node->op.attrs, name);
  *out_count = attr && attr->kind == RT_ATTR_STRINGS ? attr->count : 0;
  return *out_count ? attr->strings : NULL;
}

static int32_t find_names(task *t) {
  uint32_t z_count;
  const ops_str *xs = names_of(t->node, "xs", &t->x_count);
  const ops_str *zs = names_of(t->node, "zs", &z_count);
  t->leaf_count = t->x_count + z_count;
  t->leaves = calloc((size_t)t->leaf_count + 1, sizeof *t->leaves);
  if (!t->leaves) return no_memory(t);
  if (t->node->input_count != t->leaf_count || t->node->output_count > t->x_count)
    return ops_error_set_cause(
        t->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ARITY,
        "Gradient '%s' has %u inputs and %u outputs; expected an input for each "
        "of %u names in xs and %u in zs, and at most an output for each in xs",
        t->node->name, t->node->input_count, t->node->output_count, t->x_count, z_count);
  for (uint32_t i = 0; i < t->leaf_count; ++i) {
    const int is_x = i < t->x_count;
    if (!t->node->operands[i])
      return ops_error_set_cause(
          t->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_ARITY,
          "Gradient '%s': input %u is omitted; expected a value for each name", t->node->name,
          i);
    OPS_RETURN_IF_ERROR(
        find_named(t, is_x ? xs[i] : zs[i - t->x_count], is_x ? "xs" : "zs", &t->leaves[i]));
  }
  return find_named(t, rt_attrs_string(&t->node->op.attrs, "y"), "y", &t->y);
}

// ---- The slice ------------------------------------------------------------------------------

static int32_t new_arrays(task *t) {
  t->value_limit = t->graph->root->value_limit;
  free(t->is_leaf);
  free(t->is_active);
  free(t->derivative);
  t->is_leaf = calloc(t->value_limit, 1);
  t->is_active = calloc(t->value_limit, 1);
  t->derivative = calloc(t->value_limit, sizeof *t->derivative);
  if (!t->is_leaf || !t->is_active || !t->derivative) return no_memory(t);
  for (uint32_t i = 0; i < t->leaf_count; ++i) t->is_leaf[t->leaves[i]->id] = 1;
  return OPS_OK;
}

// Marks producers of what `node` reads, unless a leaf stands between.
static void mark_producers(const task *t, const rt_node *node, uint8_t *is_marked) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const rt_value *value = node->operands[i];
    if (value && value->producer && !t->is_leaf[value->id]) is_marked[value->producer->id] = 1;
  }
}

// Every node that y needs, from the leaves on. Backward through the list, since producers stand
// before readers.
static int32_t find_slice(task *t) {
  uint8_t *is_marked = calloc((size_t)t->graph->root->node_limit + 1, 1);
  free(t->slice);
  t->slice_count = 0;
  t->slice = calloc((size_t)t->graph->node_count + 1, sizeof *t->slice);
  if (!is_marked || !t->slice) {
    free(is_marked);
    return no_memory(t);
  }
  if (t->y->producer && !t->is_leaf[t->y->id]) is_marked[t->y->producer->id] = 1;
  for (rt_node *node = t->graph->last; node; node = node->prev)
    if (is_marked[node->id]) mark_producers(t, node, is_marked);
  for (rt_node *node = t->graph->first; node; node = node->next)
    if (is_marked[node->id]) t->slice[t->slice_count++] = node;
  free(is_marked);
  return OPS_OK;
}

// ---- What depends on an x -------------------------------------------------------------------

static int is_differentiable(const rt_value *value) {
  const rt_type *type = &value->type;
  if (type->kind != RT_TYPE_TENSOR) return type->kind == RT_TYPE_UNKNOWN;
  return type->elem_type == OPS_TYPE_UNDEFINED || type->elem_type == OPS_TYPE_FLOAT ||
         type->elem_type == OPS_TYPE_DOUBLE || type->elem_type == OPS_TYPE_FLOAT16 ||
         type->elem_type == OPS_TYPE_BFLOAT16;
}

static int reads_active(const task *t, const rt_node *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i)
    if (node->operands[i] && t->is_active[node->operands[i]->id]) return 1;
  return 0;
}

static int32_t find_active(task *t) {
  for (uint32_t i = 0; i < t->x_count; ++i) {
    if (!is_differentiable(t->leaves[i]))
      return ops_error_set_cause(
          t->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_TYPES_DISAGREE,
          "Gradient '%s': '%s' in xs is no tensor of floating-point numbers, so "
          "nothing can be derived by it; put it into zs",
          t->node->name, t->leaves[i]->name);
    t->is_active[t->leaves[i]->id] = 1;
  }
  for (uint32_t i = 0; i < t->slice_count; ++i) {
    const rt_node *node = t->slice[i];
    if (!reads_active(t, node)) continue;
    for (uint32_t k = 0; k < node->output_count; ++k) {
      const rt_value *value = node->outputs[k];
      if (value && is_differentiable(value) && !t->is_leaf[value->id])
        t->is_active[value->id] = 1;
    }
  }
  return OPS_OK;
}

// Steps 1 and 2 for the values that `t` holds.
static int32_t analyse(task *t) {
  OPS_RETURN_IF_ERROR(new_arrays(t));
  OPS_RETURN_IF_ERROR(find_slice(t));
  return find_active(t);
}

// After the graph has changed.
static int32_t analyse_anew(task *t) {
  OPS_RETURN_IF_ERROR(rt_infer_graph(t->graph->root, NULL, t->error));
  return analyse(t);
}

// ---- New nodes ------------------------------------------------------------------------------

// Puts the nodes of a function text before the Gradient node. `owner` gives attributes and
// names.
static int32_t call_text(const task *t, const rt_node *owner, const char *name,
                         const char *text, rt_value *const *inputs, uint32_t input_count,
                         rt_value **out_results) {
  rt_model_function *function;
  OPS_RETURN_IF_ERROR(
      rt_function_parse(t->graph, &owner->op, text, RT_RULE_OPSET, &function, t->error));
  const rt_function_call call = {.function = function,
                                 .node = owner,
                                 .name = name,
                                 .path = owner == t->node ? t->node->path : t->path,
                                 .inputs = inputs,
                                 .input_count = input_count,
                                 .before = t->node};
  return rt_graph_call_function(t->graph, &call, NULL, out_results, t->error);
}

static int32_t call_own(const task *t, const char *text, rt_value *a, rt_value *b,
                        rt_value **out_result) {
  rt_value *inputs[] = {a, b};
  return call_text(t, t->node, t->node->name, text, inputs, b ? 2 : 1, out_result);
}

static int32_t add_alias(const task *t, rt_value *value, rt_value **out_alias) {
  return call_own(t, "(A) => (B) { B = Identity (A) }", value, NULL, out_alias);
}

// ---- Copies of the slice --------------------------------------------------------------------

// 1 if derivatives must go through the node, and can only through its function.
static int has_only_function(const task *t, const rt_node *node) {
  return reads_active(t, node) && !rt_rule_find(&node->op) && rt_function_exists(&node->op);
}

static int needs_copy(const task *t) {
  for (uint32_t i = 0; i < t->leaf_count; ++i)
    if (t->node->operands[i] != t->leaves[i]) return 1;
  for (uint32_t i = 0; i < t->slice_count; ++i)
    if (has_only_function(t, t->slice[i]) || !rt_node_precedes(t->slice[i], t->node)) return 1;
  return 0;
}

// Copies the slice before the node, with the node's inputs as leaves. Each goes through a node
// of its own: two inputs may be one value, and are independent all the same.
static int32_t copy_slice(task *t) {
  rt_value **map = calloc(t->value_limit, sizeof *map);
  if (!map) return no_memory(t);
  for (uint32_t i = 0; i < t->leaf_count; ++i) {
    rt_value **leaf = &map[t->leaves[i]->id];
    const int32_t status = *leaf ? OPS_OK : add_alias(t, t->node->operands[i], leaf);
    if (status != OPS_OK) {
      free(map);
      return status;
    }
  }
  const rt_node_copy copy = {.nodes = t->slice,
                             .count = t->slice_count,
                             .map = map,
                             .map_count = t->value_limit,
                             .origin = t->node,
                             .name = t->node->name,
                             .path = t->path,
                             .before = t->node};
  const int32_t status = rt_graph_copy_nodes(t->graph, &copy, t->error);
  if (status == OPS_OK && map[t->y->id]) t->y = map[t->y->id];
  for (uint32_t i = 0; i < t->leaf_count; ++i) t->leaves[i] = map[t->leaves[i]->id];
  free(map);
  if (status != OPS_OK) return status;
  return analyse_anew(t);
}

static rt_node *first_function(const task *t) {
  for (uint32_t i = 0; i < t->slice_count; ++i)
    if (has_only_function(t, t->slice[i])) return t->slice[i];
  return NULL;
}

// Expands what has a function and no rule, in the copy, until everything has a rule or neither.
static int32_t expand_copy(task *t) {
  if (!first_function(t)) return OPS_OK;
  // Something reads y, so that expanding its node leaves it in the graph.
  OPS_RETURN_IF_ERROR(add_alias(t, t->y, &t->y));
  for (uint32_t round = 0; first_function(t) && round < RT_FUNCTIONS_MAX_DEPTH; ++round) {
    // Listed first: what is known of values does not cover those of the new nodes.
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->slice_count; ++i)
      if (has_only_function(t, t->slice[i])) t->slice[count++] = t->slice[i];
    for (uint32_t i = 0; i < count; ++i)
      OPS_RETURN_IF_ERROR(rt_function_expand(t->slice[i], t->error));
    OPS_RETURN_IF_ERROR(analyse_anew(t));
  }
  return OPS_OK;
}

// ---- Constants ------------------------------------------------------------------------------

// Of the type and shape of `like`, filled with `value`: "0" or "1".
static int32_t add_filled(const task *t, rt_value *like, int value, rt_value **out_value) {
  static const char *const texts[] = {
      "(X) => (Y) { shape = Shape (X) "
      "f = ConstantOfShape <value: tensor = float[1] {0}> (shape) Y = CastLike (f, X) }",
      "(X) => (Y) { shape = Shape (X) "
      "f = ConstantOfShape <value: tensor = float[1] {1}> (shape) Y = CastLike (f, X) }"};
  return call_own(t, texts[value], like, NULL, out_value);
}

// ---- Sums over what was broadcast -----------------------------------------------------------

// Sums G to the shape of X, whatever the two are at run time.
static const char sum_at_run_time[] =
    "(G, X) => (D) {\n"
    "x_shape = Shape (X)\n"
    "g_shape = Shape (G)\n"
    "g_rank = Shape (g_shape)\n"
    "x_rank = Shape (x_shape)\n"
    "missing = Sub (g_rank, x_rank)\n"
    "ones = ConstantOfShape <value: tensor = int64[1] {1}> (missing)\n"
    "padded = Concat <axis: int = 0> (ones, x_shape)\n"
    "one = Constant <value: tensor = int64 {1}> ()\n"
    "is_one = Equal (padded, one)\n"
    "places = NonZero (is_one)\n"
    "row = Constant <value: tensor = int64[1] {-1}> ()\n"
    "axes = Reshape (places, row)\n"
    "sums = ReduceSum <keepdims: int = 1, noop_with_empty_axes: int = 1> (G, axes)\n"
    "D = Reshape <allowzero: int = 1> (sums, x_shape)\n"
    "}";

// The axes of `from` that are summed to get the shape `to`; -1 if that depends on the run.
static int32_t axes_to_sum(const rt_type *from, const rt_type *to, int64_t *axes) {
  int32_t count = 0;
  if (from->kind != RT_TYPE_TENSOR || to->kind != RT_TYPE_TENSOR || from->rank < 0 ||
      to->rank < 0 || to->rank > from->rank)
    return -1;
  const int32_t missing = from->rank - to->rank;
  for (int32_t i = 0; i < from->rank; ++i) {
    const int is_new = i < missing;
    if (!is_new && rt_dim_equal(from->dims[i], to->dims[i - missing])) continue;
    if (!is_new && !rt_dim_is_value(to->dims[i - missing], 1)) return -1;
    axes[count++] = i;
  }
  return count;
}

// The type of what a rule gives for input `index`, before it is summed.
static rt_type type_before(const rt_rule *rule, const rt_node *node, uint32_t index,
                           rt_dim *dims) {
  const rt_type *x = &node->operands[index]->type, *y = &node->outputs[0]->type;
  if (rule->sums == RT_SUM_THIRD && index < 2) return *x;
  if (rule->sums != RT_SUM_BATCH) return *y;
  // The batch of the output, the matrix or vector of the input.
  if (x->kind != RT_TYPE_TENSOR || y->kind != RT_TYPE_TENSOR || x->rank < 1 || y->rank < 0)
    return (rt_type){0};
  int32_t own = x->rank < 2 ? x->rank : 2, batch = y->rank;
  for (uint32_t i = 0; i < 2; ++i) batch -= rt_rule_rank(node, i) > 1;
  if (batch < 0 || batch + own > OPS_MAX_RANK) return (rt_type){0};
  for (int32_t i = 0; i < batch; ++i) dims[i] = y->dims[i];
  for (int32_t i = 0; i < own; ++i) dims[batch + i] = x->dims[x->rank - own + i];
  return rt_type_tensor(x->elem_type, batch + own, dims);
}

// `g`, which has the type `from`, summed to the shape of `x`.
static int32_t sum_to(const task *t, rt_value *g, const rt_type *from, rt_value *x,
                      rt_value **out_value) {
  int64_t axes[OPS_MAX_RANK];
  const int32_t count = axes_to_sum(from, &x->type, axes);
  *out_value = g;
  if (count == 0) return OPS_OK;
  if (count < 0) return call_own(t, sum_at_run_time, g, x, out_value);
  rt_text text = {0};
  rt_text_add(&text, "(G, X) => (D) {\n");
  rt_text_ints(&text, "axes", axes, (uint32_t)count);
  rt_text_add(&text,
              "sums = ReduceSum <keepdims: int = 1> (G, axes)\n"
              "shape = Shape (X)\n"
              "D = Reshape <allowzero: int = 1> (sums, shape)\n}");
  const char *kept = rt_text_keep(&text, t->graph);
  rt_text_finish(&text);
  return kept ? call_own(t, kept, g, x, out_value) : no_memory(t);
}

// ---- Backward -------------------------------------------------------------------------------

static int32_t accumulate(task *t, const rt_value *value, rt_value *more) {
  rt_value **sum = &t->derivative[value->id];
  if (!*sum) {
    *sum = more;
    return OPS_OK;
  }
  return call_own(t, "(A, B) => (C) { C = Add (A, B) }", *sum, more, sum);
}

static int32_t refuse(const task *t, const rt_node *node) {
  return ops_error_set_cause(
      t->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_NO_DERIVATIVE,
      "Gradient '%s': y depends on xs through node '%s', and there is no "
      "derivative rule for %s%s%s; differentiate by values after it, or write "
      "it with other operators",
      t->node->name, node->name, node->op.domain, node->op.domain[0] ? "." : "", node->op.name);
}

// "(X0, X1, Y0, G0) => (a, b, …) {": the derivatives "_" get a value that nobody reads.
static void begin_rule(rt_text *text, const rt_node *node, const char *derivatives) {
  rt_text_add(text, "(");
  for (uint32_t i = 0; i < node->input_count; ++i) rt_text_add(text, "X%u, ", i);
  for (uint32_t i = 0; i < node->output_count; ++i)
    rt_text_add(text, "Y%u, G%u%s", i, i, i + 1 < node->output_count ? ", " : "");
  rt_text_add(text, ") => (");
  // "_" stands for no derivative: any name that is bound will do.
  for (const char *c = derivatives; *c; ++c) {
    if (*c == '_' && (c == derivatives || c[-1] == ' '))
      rt_text_add(text, "G0");
    else
      rt_text_add(text, "%c", *c);
  }
  rt_text_add(text, ") {\n");
}

static int32_t write_rule(const task *t, const rt_node *node, const rt_rule *rule,
                          rt_text *text, rt_text *derivatives) {
  rt_text body = {0};
  int32_t status = OPS_OK;
  if (rule->build)
    status = rule->build(node, &body, derivatives, t->error);
  else
    rt_text_add(derivatives, "%s", rule->derivatives);
  if (status == OPS_OK && !derivatives->failed) {
    begin_rule(text, node, derivatives->data);
    rt_text_add(text, "%s}", rule->build ? (body.data ? body.data : "") : rule->body);
    text->failed |= body.failed;
  }
  rt_text_finish(&body);
  if (status == OPS_OK && (text->failed || derivatives->failed)) status = no_memory(t);
  return status;
}

// 1 if derivative number `index` of the list is none.
static int is_none(const char *derivatives, uint32_t index) {
  const char *at = derivatives;
  while (index > 0 && at) {
    at = strchr(at, ',');
    if (at) at += 2;
    --index;
  }
  return !at || at[0] == '_';
}

static size_t count_names(const char *derivatives) {
  size_t count = 1;
  for (const char *c = derivatives; *c; ++c) count += *c == ',';
  return count;
}

// The values that a rule is given: inputs, then each output with its derivative.
static int32_t collect_values(const task *t, const rt_node *node, rt_value **values) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < node->input_count; ++i) values[count++] = node->operands[i];
  for (uint32_t i = 0; i < node->output_count; ++i) {
    rt_value *output = node->outputs[i];
    rt_value *g = output ? t->derivative[output->id] : NULL;
    if (output && !g && node->output_count > 1)
      OPS_RETURN_IF_ERROR(add_filled(t, output, 0, &g));
    values[count++] = output;
    values[count++] = g;
  }
  return OPS_OK;
}

static int32_t take_results(task *t, const rt_node *node, const rt_rule *rule,
                            const char *derivatives, rt_value *const *results) {
  rt_dim dims[OPS_MAX_RANK];
  for (uint32_t i = 0; i < node->input_count; ++i) {
    rt_value *x = node->operands[i], *g = results[i];
    if (!x || !t->is_active[x->id] || is_none(derivatives, i)) continue;
    if (rule->sums != RT_SUM_NONE) {
      const rt_type from = type_before(rule, node, i, dims);
      OPS_RETURN_IF_ERROR(sum_to(t, g, &from, x, &g));
    }
    OPS_RETURN_IF_ERROR(accumulate(t, x, g));
  }
  return OPS_OK;
}

static int32_t call_rule(task *t, const rt_node *node, const rt_rule *rule, const char *text,
                         const char *derivatives) {
  const uint32_t value_count = node->input_count + 2 * node->output_count;
  char *name = malloc(strlen(t->node->name) + strlen(node->name) + 2);
  rt_value **values = calloc((size_t)value_count + 1, sizeof *values);
  rt_value **results = calloc(count_names(derivatives) + node->input_count, sizeof *results);
  int32_t status = name && values && results ? OPS_OK : no_memory(t);
  if (status == OPS_OK) {
    sprintf(name, "%s/%s", t->node->name, node->name);
    status = collect_values(t, node, values);
  }
  if (status == OPS_OK) status = call_text(t, node, name, text, values, value_count, results);
  if (status == OPS_OK) status = take_results(t, node, rule, derivatives, results);
  free(name);
  free(values);
  free(results);
  return status;
}

static int has_derivative(const task *t, const rt_node *node) {
  for (uint32_t i = 0; i < node->output_count; ++i)
    if (node->outputs[i] && t->derivative[node->outputs[i]->id]) return 1;
  return 0;
}

static int32_t check_size(const task *t) {
  if (t->graph->root->node_limit - t->first_new <= RT_GRADIENT_MAX_NODES) return OPS_OK;
  return ops_error_set_cause(t->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
                             "Gradient '%s': derivatives have more than %u nodes "
                             "(RT_GRADIENT_MAX_NODES); take derivatives of lower order",
                             t->node->name, RT_GRADIENT_MAX_NODES);
}

static int32_t go_back_through(task *t, const rt_node *node) {
  if (!has_derivative(t, node) || !reads_active(t, node)) return OPS_OK;
  OPS_RETURN_IF_ERROR(check_size(t));
  const rt_rule *rule = rt_rule_find(&node->op);
  if (!rule || node->post_count) return refuse(t, node);
  rt_text text = {0}, derivatives = {0};
  int32_t status = write_rule(t, node, rule, &text, &derivatives);
  const char *kept = status == OPS_OK ? rt_text_keep(&text, t->graph) : NULL;
  if (status == OPS_OK && !kept) status = no_memory(t);
  if (status == OPS_OK) status = call_rule(t, node, rule, kept, derivatives.data);
  rt_text_finish(&text);
  rt_text_finish(&derivatives);
  return status;
}

static int32_t go_back(task *t) {
  if (!is_differentiable(t->y))
    return ops_error_set_cause(t->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_TYPES_DISAGREE,
                               "Gradient '%s': y, '%s', is no tensor of floating-point numbers",
                               t->node->name, t->y->name);
  OPS_RETURN_IF_ERROR(add_filled(t, t->y, 1, &t->derivative[t->y->id]));
  for (uint32_t i = t->slice_count; i-- > 0;)
    OPS_RETURN_IF_ERROR(go_back_through(t, t->slice[i]));
  return OPS_OK;
}

// ---- The result -----------------------------------------------------------------------------

// The derivatives take the place of the node's outputs. Each gets a node of its own, whose
// output can have the name of the node's.
static int32_t replace(task *t) {
  const uint32_t count = t->node->output_count;
  rt_value **own = calloc((size_t)count + 1, sizeof *own);
  const char **names = calloc((size_t)count + 1, sizeof *names);
  int32_t status = own && names ? OPS_OK : no_memory(t);
  for (uint32_t i = 0; status == OPS_OK && i < count; ++i) {
    rt_value *old = t->node->outputs[i], *found = t->derivative[t->leaves[i]->id];
    if (!old) continue;
    names[i] = old->name;
    if (!found) status = add_filled(t, t->leaves[i], 0, &found);
    if (status == OPS_OK) status = add_alias(t, found, &own[i]);
    if (status == OPS_OK) status = rt_value_replace_uses(old, own[i], t->error);
    if (status == OPS_OK) status = rt_value_set_declared(own[i], &old->declared, t->error);
  }
  rt_graph *graph = t->graph;
  rt_node *node = t->node;
  if (status == OPS_OK) status = rt_graph_remove_node(graph, node, t->error);
  for (uint32_t i = 0; status == OPS_OK && i < count; ++i)
    if (own[i] && !rt_graph_find_value(graph, names[i]))
      status = rt_value_rename(own[i], names[i], t->error);
  free(own);
  free(names);
  return status;
}

// ---- One node, all nodes --------------------------------------------------------------------

// Another Gradient node in the slice, whose output the function reads; or NULL.
static rt_node *inner_gradient(const task *t) {
  for (uint32_t i = 0; i < t->slice_count; ++i)
    if (is_gradient(t->slice[i])) return t->slice[i];
  return NULL;
}

static int32_t find_function(task *t, uint32_t order) {
  OPS_RETURN_IF_ERROR(find_names(t));
  OPS_RETURN_IF_ERROR(analyse(t));
  for (rt_node *inner = inner_gradient(t); inner; inner = inner_gradient(t)) {
    OPS_RETURN_IF_ERROR(expand_node(t->graph, inner, t->first_new, order + 1, t->error));
    free(t->leaves);
    OPS_RETURN_IF_ERROR(find_names(t));
    OPS_RETURN_IF_ERROR(analyse(t));
  }
  return OPS_OK;
}

static int32_t differentiate(task *t, uint32_t order) {
  OPS_RETURN_IF_ERROR(find_function(t, order));
  if (needs_copy(t)) {
    OPS_RETURN_IF_ERROR(copy_slice(t));
    OPS_RETURN_IF_ERROR(expand_copy(t));
  }
  OPS_RETURN_IF_ERROR(go_back(t));
  OPS_RETURN_IF_ERROR(replace(t));
  return rt_infer_graph(t->graph->root, NULL, t->error);
}

static int32_t expand_node(rt_graph *graph, rt_node *node, uint32_t first_new, uint32_t order,
                           ops_error *error) {
  task t = {.graph = graph, .node = node, .first_new = first_new, .error = error};
  if (order > RT_GRADIENT_MAX_ORDER)
    return ops_error_set_cause(
        error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
        "Gradient '%s': the functions of more than %u Gradient nodes contain "
        "each other (RT_GRADIENT_MAX_ORDER), or one contains itself",
        node->name, RT_GRADIENT_MAX_ORDER);
  snprintf(t.path, sizeof t.path, "%.200sGradient '%.40s' / ", node->path, node->name);
  const int32_t status = differentiate(&t, order);
  task_finish(&t);
  return status;
}

static rt_node *first_gradient(const rt_graph *graph) {
  for (rt_node *node = graph->first; node; node = node->next)
    if (is_gradient(node)) return node;
  return NULL;
}

int32_t rt_gradient_expand(rt_graph *graph, ops_error *error) {
  const uint32_t first_new = graph->root->node_limit;
  for (rt_node *node = first_gradient(graph); node; node = first_gradient(graph))
    OPS_RETURN_IF_ERROR(expand_node(graph, node, first_new, 1, error));
  // Rules compute the derivatives by all inputs; what nobody asked for goes when no name can
  // ask for it any more.
  if (graph->root->node_limit != first_new)
    OPS_RETURN_IF_ERROR(rt_graph_remove_unread(graph, NULL, NULL, first_new, error));
  for (rt_node *node = graph->first; node; node = node->next)
    for (uint32_t i = 0; i < rt_node_body_count(node); ++i)
      OPS_RETURN_IF_ERROR(rt_gradient_expand(rt_node_body(node, i), error));
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// A recursive-descent parser over slices of the text; names are never copied. Depth of graphs
// inside graphs is bounded.
#include "functions/text.h"

#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"

#define MAX_NESTING 8

typedef struct parser {
  rt_graph *graph;
  const char *name;  // of the function, for messages
  const char *start, *at;
  int depth;
  ops_error *error;
} parser;

// An array that grows in the graph's memory.
typedef struct list {
  void *items;
  size_t count, capacity;
} list;

static int32_t parse_nodes(parser *p, const rt_model_node **out_nodes, size_t *out_count);

// --- Tokens ----------------------------------------------------------------------------------

static int32_t no_memory(const parser *p) {
  return ops_error_set(p->error, OPS_ERROR_OUT_OF_MEMORY, "reading function '%s'", p->name);
}

static int32_t fail(const parser *p, const char *expected) {
  int line = 1;
  for (const char *c = p->start; c < p->at; ++c) line += *c == '\n';
  return ops_error_set(p->error, OPS_ERROR_INTERNAL,
                       "function '%s', line %d: expected %s, found '%.20s'", p->name, line,
                       expected, p->at);
}

static void skip_space(parser *p) {
  while (*p->at == ' ' || *p->at == '\n') ++p->at;
}

// 1 if `token` comes next; it is then taken.
static int take(parser *p, const char *token) {
  skip_space(p);
  const size_t size = strlen(token);
  if (strncmp(p->at, token, size) != 0) return 0;
  p->at += size;
  return 1;
}

static int32_t expect(parser *p, const char *token) {
  return take(p, token) ? OPS_OK : fail(p, token);
}

static int is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         c == '_' || c == '@' || c == '.';
}

// A name; empty if there is none.
static ops_str take_name(parser *p) {
  skip_space(p);
  const char *from = p->at;
  while (is_letter(*p->at)) ++p->at;
  return (ops_str){from, (uint64_t)(p->at - from)};
}

static int32_t expect_name(parser *p, ops_str *out_name) {
  *out_name = take_name(p);
  return out_name->size ? OPS_OK : fail(p, "a name");
}

static int32_t expect_number(parser *p, double *out_value) {
  char *end;
  skip_space(p);
  *out_value = strtod(p->at, &end);
  if (end == p->at) return fail(p, "a number");
  p->at = end;
  return OPS_OK;
}

static int32_t expect_int(parser *p, int64_t *out_value) {
  char *end;
  skip_space(p);
  *out_value = strtoll(p->at, &end, 10);
  if (end == p->at) return fail(p, "an integer");
  p->at = end;
  return OPS_OK;
}

// Room for one more element of `size` bytes; NULL if memory is exhausted.
static void *append(parser *p, list *l, size_t size) {
  if (l->count == l->capacity) {
    const size_t capacity = l->capacity ? 2 * l->capacity : 4;
    void *items = rt_graph_alloc(p->graph, capacity, size);
    if (!items) return NULL;
    if (l->count) memcpy(items, l->items, l->count * size);
    l->items = items;
    l->capacity = capacity;
  }
  return (char *)l->items + l->count++ * size;
}

// --- Attributes ------------------------------------------------------------------------------

static const struct {
  const char *name;
  int32_t kind;
} kinds[] = {{"int", RT_MODEL_ATTRIBUTE_INT},       {"ints", RT_MODEL_ATTRIBUTE_INTS},
             {"float", RT_MODEL_ATTRIBUTE_FLOAT},   {"floats", RT_MODEL_ATTRIBUTE_FLOATS},
             {"string", RT_MODEL_ATTRIBUTE_STRING}, {"tensor", RT_MODEL_ATTRIBUTE_TENSOR},
             {"graph", RT_MODEL_ATTRIBUTE_GRAPH}};

static const struct {
  const char *name;
  int32_t type;
  uint32_t size;
} elements[] = {{"float", OPS_TYPE_FLOAT, sizeof(float)},
                {"double", OPS_TYPE_DOUBLE, sizeof(double)},
                {"int64", OPS_TYPE_INT64, sizeof(int64_t)},
                {"int32", OPS_TYPE_INT32, sizeof(int32_t)},
                {"bool", OPS_TYPE_BOOL, 1}};

static int32_t parse_kind(parser *p, int32_t *out_kind) {
  const ops_str name = take_name(p);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (!ops_str_equal(name, kinds[i].name)) continue;
    *out_kind = kinds[i].kind;
    return OPS_OK;
  }
  return fail(p, "a kind of attribute");
}

static int32_t parse_element(parser *p, size_t row, list *data) {
  void *item = append(p, data, elements[row].size);
  double number = 0;
  int64_t integer = 0;
  if (!item) return no_memory(p);
  if (row < 2)
    OPS_RETURN_IF_ERROR(expect_number(p, &number));
  else
    OPS_RETURN_IF_ERROR(expect_int(p, &integer));
  const float narrow = (float)number;
  const int32_t small = (int32_t)integer;
  const unsigned char truth = integer != 0;
  const void *sources[] = {&narrow, &number, &integer, &small, &truth};
  memcpy(item, sources[row], elements[row].size);
  return OPS_OK;
}

// `int64[2] {0, 1}`, `float {1.5}`
static int32_t parse_tensor(parser *p, rt_model_attribute *out) {
  const ops_str type = take_name(p);
  size_t row = 0;
  int64_t dim = -1;
  list data = {0};
  while (row < sizeof elements / sizeof *elements && !ops_str_equal(type, elements[row].name))
    ++row;
  if (row == sizeof elements / sizeof *elements) return fail(p, "an element type");
  if (take(p, "[")) {
    OPS_RETURN_IF_ERROR(expect_int(p, &dim));
    OPS_RETURN_IF_ERROR(expect(p, "]"));
  }
  OPS_RETURN_IF_ERROR(expect(p, "{"));
  while (!take(p, "}")) {
    OPS_RETURN_IF_ERROR(parse_element(p, row, &data));
    take(p, ",");
  }
  if ((int64_t)data.count != (dim < 0 ? 1 : dim)) return fail(p, "as many elements as stated");
  rt_model_tensor *tensor = rt_graph_alloc(p->graph, 1, sizeof *tensor);
  int64_t *dims = rt_graph_alloc(p->graph, 1, sizeof *dims);
  if (!tensor || !dims) return no_memory(p);
  *dims = dim;
  *tensor = (rt_model_tensor){.elem_type = elements[row].type,
                              .rank = dim >= 0,
                              .dims = dims,
                              .element_count = (int64_t)data.count,
                              .data = data.count ? data.items : NULL,
                              .size = data.count * elements[row].size};
  out->tensors = tensor;
  out->count = 1;
  return OPS_OK;
}

// One value, or a list in brackets.
static int32_t parse_numbers(parser *p, rt_model_attribute *out) {
  const int is_float =
      out->kind == RT_MODEL_ATTRIBUTE_FLOAT || out->kind == RT_MODEL_ATTRIBUTE_FLOATS;
  const int is_list =
      out->kind == RT_MODEL_ATTRIBUTE_INTS || out->kind == RT_MODEL_ATTRIBUTE_FLOATS;
  list data = {0};
  if (is_list) OPS_RETURN_IF_ERROR(expect(p, "["));
  while (!is_list || !take(p, "]")) {
    OPS_RETURN_IF_ERROR(parse_element(p, is_float ? 0 : 2, &data));
    if (!is_list) break;
    take(p, ",");
  }
  out->count = data.count;
  if (is_float)
    out->floats = data.items;
  else
    out->ints = data.items;
  return OPS_OK;
}

static int32_t parse_string(parser *p, rt_model_attribute *out) {
  ops_str *string = rt_graph_alloc(p->graph, 1, sizeof *string);
  if (!string) return no_memory(p);
  OPS_RETURN_IF_ERROR(expect(p, "\""));
  const char *end = strchr(p->at, '"');
  if (!end) return fail(p, "a closing quote");
  *string = (ops_str){p->at, (uint64_t)(end - p->at)};
  p->at = end + 1;
  out->strings = string;
  out->count = 1;
  return OPS_OK;
}

// `int64 i, bool cond, x`: types are optional. Up to `end`.
static int32_t parse_values(parser *p, const char *end, const rt_model_value_info **out_infos,
                            size_t *out_count) {
  list infos = {0};
  while (!take(p, end)) {
    rt_model_value_info *info = append(p, &infos, sizeof *info);
    ops_str first;
    if (!info) return no_memory(p);
    OPS_RETURN_IF_ERROR(expect_name(p, &first));
    const ops_str second = take_name(p);
    *info = (rt_model_value_info){.name = second.size ? second : first, .type = {.rank = -1}};
    for (size_t i = 0; second.size && i < sizeof elements / sizeof *elements; ++i) {
      if (!ops_str_equal(first, elements[i].name)) continue;
      info->type.kind = RT_MODEL_TYPE_TENSOR;
      info->type.elem_type = elements[i].type;
    }
    take(p, ",");
  }
  *out_infos = infos.items;
  *out_count = infos.count;
  return OPS_OK;
}

static int32_t parse_graph(parser *p, rt_model_attribute *out) {
  rt_model_graph *graph = rt_graph_alloc(p->graph, 1, sizeof *graph);
  if (!graph) return no_memory(p);
  if (++p->depth > MAX_NESTING) return fail(p, "fewer graphs inside each other");
  OPS_RETURN_IF_ERROR(expect_name(p, &graph->name));
  OPS_RETURN_IF_ERROR(expect(p, "("));
  OPS_RETURN_IF_ERROR(parse_values(p, ")", &graph->inputs, &graph->input_count));
  OPS_RETURN_IF_ERROR(expect(p, "=>"));
  OPS_RETURN_IF_ERROR(expect(p, "("));
  OPS_RETURN_IF_ERROR(parse_values(p, ")", &graph->outputs, &graph->output_count));
  OPS_RETURN_IF_ERROR(parse_nodes(p, &graph->nodes, &graph->node_count));
  --p->depth;
  out->graphs = graph;
  out->count = 1;
  return OPS_OK;
}

static int32_t parse_value(parser *p, rt_model_attribute *out) {
  if (take(p, "@")) return expect_name(p, &out->ref_attr_name);
  switch (out->kind) {
    case RT_MODEL_ATTRIBUTE_TENSOR:
      return parse_tensor(p, out);
    case RT_MODEL_ATTRIBUTE_STRING:
      return parse_string(p, out);
    case RT_MODEL_ATTRIBUTE_GRAPH:
      return parse_graph(p, out);
    default:
      return parse_numbers(p, out);
  }
}

// `<name: kind = value, …>`, if it is there.
static int32_t parse_attributes(parser *p, list *attributes) {
  if (!take(p, "<")) return OPS_OK;
  while (!take(p, ">")) {
    rt_model_attribute *attribute = append(p, attributes, sizeof *attribute);
    if (!attribute) return no_memory(p);
    OPS_RETURN_IF_ERROR(expect_name(p, &attribute->name));
    OPS_RETURN_IF_ERROR(expect(p, ":"));
    OPS_RETURN_IF_ERROR(parse_kind(p, &attribute->kind));
    OPS_RETURN_IF_ERROR(expect(p, "="));
    OPS_RETURN_IF_ERROR(parse_value(p, attribute));
    take(p, ",");
  }
  return OPS_OK;
}

// --- Nodes -----------------------------------------------------------------------------------

// Names separated by commas, up to `end`; an empty one is an omitted argument.
static int32_t parse_names(parser *p, const char *end, const ops_str **out_names,
                           size_t *out_count) {
  list names = {0};
  while (!take(p, end)) {
    ops_str *name = append(p, &names, sizeof *name);
    if (!name) return no_memory(p);
    *name = take_name(p);
    if (!take(p, ",")) {
      OPS_RETURN_IF_ERROR(expect(p, end));
      break;
    }
  }
  *out_names = names.items;
  *out_count = names.count;
  return OPS_OK;
}

static int32_t parse_node(parser *p, rt_model_node *node) {
  list attributes = {0};
  OPS_RETURN_IF_ERROR(parse_names(p, "=", &node->outputs, &node->output_count));
  OPS_RETURN_IF_ERROR(expect_name(p, &node->op_type));
  OPS_RETURN_IF_ERROR(parse_attributes(p, &attributes));
  OPS_RETURN_IF_ERROR(expect(p, "("));
  OPS_RETURN_IF_ERROR(parse_names(p, ")", &node->inputs, &node->input_count));
  OPS_RETURN_IF_ERROR(parse_attributes(p, &attributes));
  node->attributes = attributes.items;
  node->attribute_count = attributes.count;
  return OPS_OK;
}

static int32_t parse_nodes(parser *p, const rt_model_node **out_nodes, size_t *out_count) {
  list nodes = {0};
  OPS_RETURN_IF_ERROR(expect(p, "{"));
  while (!take(p, "}")) {
    rt_model_node *node = append(p, &nodes, sizeof *node);
    if (!node) return no_memory(p);
    OPS_RETURN_IF_ERROR(parse_node(p, node));
  }
  *out_nodes = nodes.items;
  *out_count = nodes.count;
  return OPS_OK;
}

static int32_t parse_function(parser *p, rt_model_function *function) {
  OPS_RETURN_IF_ERROR(expect(p, "("));
  OPS_RETURN_IF_ERROR(parse_names(p, ")", &function->inputs, &function->input_count));
  OPS_RETURN_IF_ERROR(expect(p, "=>"));
  OPS_RETURN_IF_ERROR(expect(p, "("));
  OPS_RETURN_IF_ERROR(parse_names(p, ")", &function->outputs, &function->output_count));
  OPS_RETURN_IF_ERROR(parse_nodes(p, &function->nodes, &function->node_count));
  skip_space(p);
  return *p->at ? fail(p, "the end") : OPS_OK;
}

// The defaults of the schema, for attributes that the node leaves away.
static int32_t add_defaults(const parser *p, const rt_op *op, rt_model_function *function) {
  const ops_str domain = {op->domain, strlen(op->domain)}, name = {op->name, strlen(op->name)};
  const rt_schema *schema = rt_schema_find(domain, name, op->opset);
  const uint64_t count = schema ? (uint64_t)schema->attribute_count : 0;
  rt_model_attribute *defaults = rt_graph_alloc(p->graph, count, sizeof *defaults);
  if (!defaults) return no_memory(p);
  for (uint64_t i = 0; i < count; ++i) {
    const rt_schema_attribute *from = &schema->attributes[i];
    if (!from->has_default) continue;
    rt_model_attribute *to = &defaults[function->attribute_default_count++];
    *to = (rt_model_attribute){.name = {from->name, strlen(from->name)},
                               .kind = from->kind,
                               .count = from->default_count};
    to->floats = from->default_value.floats;  // the member that the kind selects, as there
  }
  function->attribute_defaults = defaults;
  return OPS_OK;
}

int32_t rt_function_parse(rt_graph *graph, const rt_op *op, const char *text, int64_t opset,
                          rt_model_function **out_function, ops_error *error) {
  parser p = {.graph = graph, .name = op->name, .start = text, .at = text, .error = error};
  rt_model_function *function = rt_graph_alloc(graph, 1, sizeof *function);
  rt_model_opset *import = rt_graph_alloc(graph, 1, sizeof *import);
  *out_function = NULL;
  if (!function || !import) return no_memory(&p);
  function->name = (ops_str){op->name, strlen(op->name)};
  import->version = opset;
  function->opsets = import;
  function->opset_count = 1;
  OPS_RETURN_IF_ERROR(parse_function(&p, function));
  OPS_RETURN_IF_ERROR(add_defaults(&p, op, function));
  *out_function = function;
  return OPS_OK;
}

// --- Writing ---------------------------------------------------------------------------------

static int reserve(rt_text *text, uint64_t extra) {
  if (text->failed) return 0;
  if (text->capacity - text->size > extra) return 1;
  uint64_t capacity = text->capacity ? text->capacity : 1024;
  while (capacity - text->size <= extra) capacity *= 2;
  char *data = realloc(text->data, capacity);
  if (!data) {
    text->failed = 1;
    return 0;
  }
  text->data = data;
  text->capacity = capacity;
  return 1;
}

void rt_text_add(rt_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length < 0 || !reserve(text, (uint64_t)length)) {
    text->failed = 1;
    return;
  }
  va_start(args, format);
  vsnprintf(text->data + text->size, (size_t)length + 1, format, args);
  va_end(args);
  text->size += (uint64_t)length;
}

void rt_text_constant(rt_text *text, const char *name, int32_t type, double value) {
  for (size_t i = 0; i < sizeof elements / sizeof *elements; ++i) {
    if (elements[i].type != type) continue;
    rt_text_add(text, "%s = Constant <value: tensor = %s {%.17g}> ()\n", name, elements[i].name,
                value);
    return;
  }
  rt_text_add(text,
              "%s_float = Constant <value: tensor = float {%.17g}> ()\n"
              "%s = Cast <to: int = %d> (%s_float)\n",
              name, value, name, type, name);
}

void rt_text_ints(rt_text *text, const char *name, const int64_t *values, uint32_t count) {
  rt_text_add(text, "%s = Constant <value: tensor = int64[%u] {", name, count);
  for (uint32_t i = 0; i < count; ++i)
    rt_text_add(text, "%s%lld", i ? ", " : "", (long long)values[i]);
  rt_text_add(text, "}> ()\n");
}

const char *rt_text_keep(const rt_text *text, rt_graph *graph) {
  char *copy = text->failed ? NULL : rt_graph_alloc(graph, text->size + 1, 1);
  if (copy && text->size) memcpy(copy, text->data, text->size);
  return copy;
}

void rt_text_finish(rt_text *text) {
  free(text->data);
  *text = (rt_text){0};
}

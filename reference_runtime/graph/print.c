// SPDX-License-Identifier: Apache-2.0
//
// The textual form of a graph, for people and for tests. Long lists are shortened.
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"

#define SHOWN_ELEMENTS 8u
#define TYPE_TEXT 512u

static void print_value(const rt_graph *graph, const rt_value *value, FILE *file) {
  char text[TYPE_TEXT];
  if (!value) {
    fputs("_", file);
    return;
  }
  fprintf(file, "%%%s: %s", value->name,
          rt_type_format(graph->symbols, &value->type, text, sizeof text));
}

static void print_strings(const rt_attr *attr, uint32_t i, FILE *file) {
  const ops_str text = attr->strings[i];
  const int shown = text.size > 64 ? 64 : (int)text.size;
  fprintf(file, "\"%.*s\"%s", shown, text.data, text.size > 64 ? "..." : "");
}

static void print_tensor(const rt_constant *constant, FILE *file) {
  int64_t values[SHOWN_ELEMENTS];
  fprintf(file, "%s[", rt_elem_type_name(constant->elem_type));
  for (int32_t i = 0; i < constant->rank; ++i) {
    fprintf(file, "%s%lld", i ? "," : "", (long long)constant->dims[i]);
  }
  fputs("]", file);
  const int64_t count = rt_constant_read_ints(constant, values, SHOWN_ELEMENTS);
  if (count < 0) return;
  fputs("{", file);
  for (int64_t i = 0; i < count; ++i)
    fprintf(file, "%s%lld", i ? "," : "", (long long)values[i]);
  fputs("}", file);
}

static void print_element(const rt_graph *graph, const rt_attr *attr, uint32_t i, FILE *file) {
  char text[TYPE_TEXT];
  switch (attr->kind) {
    case RT_ATTR_FLOAT:
    case RT_ATTR_FLOATS:
      fprintf(file, "%.9g", (double)attr->floats[i]);
      break;
    case RT_ATTR_INT:
    case RT_ATTR_INTS:
      fprintf(file, "%lld", (long long)attr->ints[i]);
      break;
    case RT_ATTR_STRING:
    case RT_ATTR_STRINGS:
      print_strings(attr, i, file);
      break;
    case RT_ATTR_GRAPH:
    case RT_ATTR_GRAPHS:
      fprintf(file, "<%s>", attr->graphs[i]->name);
      break;
    case RT_ATTR_TYPE:
    case RT_ATTR_TYPES:
      fputs(rt_type_format(graph->symbols, &attr->types[i], text, sizeof text), file);
      break;
    default:
      print_tensor(attr->tensors[i], file);
      break;
  }
}

static void print_op(const rt_op *op, FILE *file) {
  if (*op->domain) fprintf(file, "%s.", op->domain);
  fprintf(file, "%s@%d", op->name, op->opset);
}

static void print_attrs(const rt_graph *graph, const rt_attrs *attrs, FILE *file) {
  if (attrs->count == 0) return;
  fputs(" {", file);
  for (uint32_t i = 0; i < attrs->count; ++i) {
    const rt_attr *attr = &attrs->items[i];
    const int is_list = attr->count != 1 || attr->kind == RT_ATTR_INTS ||
                        attr->kind == RT_ATTR_FLOATS || attr->kind == RT_ATTR_STRINGS;
    fprintf(file, "%s%s=%s", i ? ", " : "", attr->name, is_list ? "[" : "");
    for (uint32_t j = 0; j < attr->count && j < SHOWN_ELEMENTS; ++j) {
      if (j) fputs(",", file);
      print_element(graph, attr, j, file);
    }
    fprintf(file, "%s%s", attr->count > SHOWN_ELEMENTS ? ",..." : "", is_list ? "]" : "");
  }
  fputs("}", file);
}

static void print_operands(const rt_node *node, uint32_t first, uint32_t count, FILE *file) {
  for (uint32_t i = first; i < first + count; ++i) {
    const rt_value *value = node->operands[i];
    fprintf(file, "%s%s%s", i > first ? ", " : "", value ? "%" : "_", value ? value->name : "");
  }
}

static void print_posts(const rt_node *node, FILE *file) {
  for (uint32_t i = 0; i < node->post_count; ++i) {
    const rt_post *post = &node->posts[i];
    fputs(" |> ", file);
    print_op(&post->op, file);
    fputs("(", file);
    for (uint32_t j = 0, operand = post->first_operand; j < post->input_count; ++j) {
      if (j) fputs(", ", file);
      if (j == post->chained) {
        fputs("^", file);
      } else {
        print_operands(node, operand++, 1, file);
      }
    }
    fputs(")", file);
    print_attrs(node->graph, &post->op.attrs, file);
  }
}

static void print_graph(const rt_graph *graph, int indent, FILE *file);

static void print_node(const rt_node *node, int indent, FILE *file) {
  fprintf(file, "%*s", indent, "");
  for (uint32_t i = 0; i < node->output_count; ++i) {
    if (i) fputs(", ", file);
    print_value(node->graph, node->outputs[i], file);
  }
  fputs(" = ", file);
  print_op(&node->op, file);
  fprintf(file, " \"%s\"(", node->name);
  print_operands(node, 0, node->input_count, file);
  fputs(")", file);
  print_attrs(node->graph, &node->op.attrs, file);
  print_posts(node, file);
  for (uint32_t i = 0; i < node->origin_count; ++i) {
    fprintf(file, "%s%s", i ? ", " : "  // from ", node->origins[i]);
  }
  fputs("\n", file);
  for (uint32_t i = 0; i < rt_node_body_count(node); ++i) {
    print_graph(rt_node_body(node, i), indent + 2, file);
  }
}

static void print_graph(const rt_graph *graph, int indent, FILE *file) {
  fprintf(file, "%*s%s \"%s\"(", indent, "", graph->parent ? "body" : "graph", graph->name);
  for (uint32_t i = 0; i < graph->input_count; ++i) {
    if (i) fputs(", ", file);
    print_value(graph, graph->inputs[i], file);
  }
  fputs(") {\n", file);
  for (uint32_t i = 0; i < graph->capture_count; ++i) {
    fprintf(file, "%*scapture %%%s = %%%s of \"%s\"\n", indent + 2, "",
            graph->captures[i]->name, graph->captures[i]->outer->name, graph->parent->name);
  }
  for (const rt_value *value = graph->first_value; value; value = value->next) {
    if (value->kind != RT_VALUE_CONSTANT) continue;
    fprintf(file, "%*sconstant %%%s = ", indent + 2, "", value->name);
    print_tensor(value->constant, file);
    fputs(value->constant->sparse ? " sparse\n" : "\n", file);
  }
  for (const rt_node *node = graph->first; node; node = node->next) {
    print_node(node, indent + 2, file);
  }
  fprintf(file, "%*sreturn ", indent + 2, "");
  for (uint32_t i = 0; i < graph->output_count; ++i) {
    fprintf(file, "%s%s = %%%s", i ? ", " : "", graph->output_names[i],
            graph->outputs[i]->name);
  }
  fprintf(file, "\n%*s}\n", indent, "");
}

void rt_graph_print(const rt_graph *graph, FILE *file) {
  print_graph(graph, 0, file);
}

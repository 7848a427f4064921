// SPDX-License-Identifier: Apache-2.0
//
// SequenceMap: a Loop over the elements of the first sequence; the node's body computes the
// elements that are appended to the outputs.
#include "functions/table.h"

// The element type of output `index`; UNDEFINED if it is unknown.
static int32_t type_of(const rt_node *node, uint32_t index) {
  const rt_graph *body = rt_attrs_graph(&node->op.attrs, "body");
  if (!body || index >= body->output_count) return OPS_TYPE_UNDEFINED;
  return body->outputs[index]->type.elem_type;
}

static int is_sequence(const rt_node *node, uint32_t input) {
  const rt_value *value = rt_node_input(node, input);
  return value && value->type.kind == RT_TYPE_SEQUENCE;
}

static void add_list(rt_text *text, const char *prefix, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < count; ++i)
    rt_text_add(text, "%s%s%u", i > first ? ", " : "", prefix, i);
}

static void add_body(rt_text *text, const rt_node *node) {
  rt_text_add(text, "<body: graph = each (int64 i, bool go, ");
  add_list(text, "before", 0, node->output_count);
  rt_text_add(text, ") => (go_on, ");
  add_list(text, "after", 0, node->output_count);
  rt_text_add(text, ") {\ngo_on = Identity (go)\n");
  for (uint32_t i = 0; i < node->input_count; ++i)
    rt_text_add(
        text, is_sequence(node, i) ? "x%u = SequenceAt (in%u, i)\n" : "x%u = Identity (in%u)\n",
        i, i);
  add_list(text, "y", 0, node->output_count);
  rt_text_add(text, " = @body (");
  add_list(text, "x", 0, node->input_count);
  rt_text_add(text, ")\n");
  for (uint32_t i = 0; i < node->output_count; ++i)
    rt_text_add(text, "after%u = SequenceInsert (before%u, y%u)\n", i, i, i);
  rt_text_add(text, "}>");
}

int32_t rt_build_sequence_map(rt_text *text, const rt_node *node, ops_error *error) {
  rt_text_add(text, "(");
  add_list(text, "in", 0, node->input_count);
  rt_text_add(text, ") => (");
  add_list(text, "out", 0, node->output_count);
  rt_text_add(text,
              ") {\nlength = SequenceLength (in0)\n"
              "yes = Constant <value: tensor = bool {1}> ()\n");
  for (uint32_t i = 0; i < node->output_count; ++i) {
    const int32_t type = type_of(node, i);
    if (!type) return rt_function_unknown(node, 0, "element type that the body makes", error);
    rt_text_add(text, "empty%u = SequenceEmpty <dtype: int = %d> ()\n", i, type);
  }
  add_list(text, "out", 0, node->output_count);
  rt_text_add(text, " = Loop ");
  add_body(text, node);
  rt_text_add(text, " (length, yes, ");
  add_list(text, "empty", 0, node->output_count);
  rt_text_add(text, ")\n}");
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// Operators that choose elements of their first input: Gather, Slice, Pad, Tile, MaxPool and so
// on. The operator is applied to the numbers 1, 2 … of the elements, which tells where each
// element of the output came from; the derivatives are added up there. Number 0 stands for what
// came from nowhere, the constant of Pad.
#include <string.h>

#include "gradient/rules.h"

// The attributes that the node states, by reference.
static void add_attributes(rt_text *text, const rt_node *node) {
  static const char *const kinds[] = {[RT_ATTR_FLOAT] = "float",
                                      [RT_ATTR_INT] = "int",
                                      [RT_ATTR_STRING] = "string",
                                      [RT_ATTR_INTS] = "ints"};
  const rt_attrs *attrs = &node->op.attrs;
  rt_text_add(text, " <");
  for (uint32_t i = 0; i < attrs->count; ++i) {
    const rt_attr *attr = &attrs->items[i];
    const char *kind =
        (size_t)attr->kind < sizeof kinds / sizeof *kinds ? kinds[attr->kind] : NULL;
    if (!kind || strcmp(attr->name, "storage_order") == 0) continue;
    rt_text_add(text, "%s: %s = @%s, ", attr->name, kind, attr->name);
  }
  rt_text_add(text, ">");
}

// `places`: the numbers of the elements of X, in its shape. `slots`: one more than there are.
static void add_places(rt_text *text) {
  rt_text_add(text,
              "x_shape = Shape (X0)\n"
              "x_size = Size (X0)\n"
              "one = Constant <value: tensor = int64 {1}> ()\n"
              "row = Constant <value: tensor = int64[1] {-1}> ()\n"
              "past = Add (x_size, one)\n"
              "numbers = Range (one, past, one)\n"
              "places = Reshape <allowzero: int = 1> (numbers, x_shape)\n"
              "slots = Reshape (past, row)\n");
}

// Adds G up at the places `chosen`: `a`, and `lost`, the sum of what came from nowhere.
static void add_sums(rt_text *text) {
  const int64_t zero = 0, first = 1, end = INT64_MAX;
  rt_text_ints(text, "axis", &zero, 1);
  rt_text_ints(text, "first", &first, 1);
  rt_text_ints(text, "end", &end, 1);
  rt_text_add(text,
              "flat_chosen = Reshape (chosen, row)\n"
              "flat_G = Reshape (G0, row)\n"
              "nothing_float = ConstantOfShape <value: tensor = float[1] {0}> (slots)\n"
              "nothing = CastLike (nothing_float, G0)\n"
              "sums = ScatterElements <axis: int = 0, reduction: string = \"add\"> "
              "(nothing, flat_chosen, flat_G)\n"
              "kept = Slice (sums, first, end, axis)\n"
              "a = Reshape <allowzero: int = 1> (kept, x_shape)\n"
              "lost = Slice (sums, axis, first, axis)\n");
}

int32_t rt_rule_select(const rt_node *node, rt_text *text, rt_text *derivatives,
                       ops_error *error) {
  const int is_pad = strcmp(node->op.name, "Pad") == 0;
  const int needs_inputs = is_pad || strcmp(node->op.name, "Slice") == 0;
  if (needs_inputs && node->op.opset < (is_pad ? 11 : 10))
    return rt_rule_refuse(node, "a version of the operator with inputs for attributes", error);
  add_places(text);
  rt_text_add(text, "chosen = %s", node->op.name);
  add_attributes(text, node);
  rt_text_add(text, " (places");
  rt_text_add(derivatives, "a");
  for (uint32_t i = 1; i < node->input_count; ++i) {
    const int is_value = is_pad && i == 2;
    if (is_value || !rt_node_input(node, i))
      rt_text_add(text, ", ");
    else
      rt_text_add(text, ", X%u", i);
    rt_text_add(derivatives, is_value && rt_node_input(node, i) ? ", b" : ", _");
  }
  rt_text_add(text, ")\n");
  add_sums(text);
  if (is_pad && rt_node_input(node, 2))
    rt_text_add(text, "value_shape = Shape (X2)\nb = Reshape (lost, value_shape)\n");
  return OPS_OK;
}

int32_t rt_rule_max_pool(const rt_node *node, rt_text *text, rt_text *derivatives,
                         ops_error *error) {
  (void)error;
  add_places(text);
  rt_text_add(text, "largest, from_zero = MaxPool");
  add_attributes(text, node);
  rt_text_add(text, " (X0)\nchosen = Add (from_zero, one)\n");
  add_sums(text);
  rt_text_add(derivatives, "a");
  return OPS_OK;
}

// The derivative by the data is that of the sum, by the updates what lies at their places.
int32_t rt_rule_scatter(const rt_node *node, rt_text *text, rt_text *derivatives,
                        ops_error *error) {
  if (!rt_attrs_string_is(&node->op.attrs, "reduction", "add"))
    return rt_rule_refuse(node, "reduction \"add\"", error);
  rt_text_add(text, "b = GatherElements <axis: int = @axis> (G0, X1)\n");
  rt_text_add(derivatives, "G0, _, b");
  return OPS_OK;
}

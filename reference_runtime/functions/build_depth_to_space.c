// SPDX-License-Identifier: Apache-2.0
//
// DepthToSpace and SpaceToDepth: split axes, permute, join axes. In mode DCR the depth is
// (row in block, column in block, rest), in CRD (rest, row, column).
#include <ops_support/error.h>

#include "functions/table.h"

static void begin(rt_text *text, const rt_node *node) {
  const long long block = rt_attrs_int(&node->op.attrs, "blocksize", 1);
  rt_text_add(text,
              "(input) => (output) {\n"
              "n = Shape <start: int = 0, end: int = 1> (input)\n"
              "c = Shape <start: int = 1, end: int = 2> (input)\n"
              "h = Shape <start: int = 2, end: int = 3> (input)\n"
              "w = Shape <start: int = 3, end: int = 4> (input)\n"
              "b = Constant <value: tensor = int64[1] {%lld}> ()\n"
              "area = Constant <value: tensor = int64[1] {%lld}> ()\n",
              block, block * block);
}

static void finish(rt_text *text, const char *perm) {
  rt_text_add(text,
              "split = Reshape <allowzero: int = 1> (input, split_shape)\n"
              "permuted = Transpose <perm: ints = [%s]> (split)\n"
              "output = Reshape <allowzero: int = 1> (permuted, shape)\n}",
              perm);
}

static int is_crd(const rt_node *node) {
  return rt_attrs_string_is(&node->op.attrs, "mode", "CRD");
}

int32_t rt_build_depth_to_space(rt_text *text, const rt_node *node, ops_error *error) {
  OPS_RETURN_IF_ERROR(rt_function_positive(node, "blocksize", error));
  begin(text, node);
  rt_text_add(text,
              "rest = Div (c, area)\n"
              "split_shape = Concat <axis: int = 0> (%s)\n"
              "rows = Mul (h, b)\n"
              "columns = Mul (w, b)\n"
              "shape = Concat <axis: int = 0> (n, rest, rows, columns)\n",
              is_crd(node) ? "n, rest, b, b, h, w" : "n, b, b, rest, h, w");
  finish(text, is_crd(node) ? "0, 1, 4, 2, 5, 3" : "0, 3, 4, 1, 5, 2");
  return OPS_OK;
}

int32_t rt_build_space_to_depth(rt_text *text, const rt_node *node, ops_error *error) {
  OPS_RETURN_IF_ERROR(rt_function_positive(node, "blocksize", error));
  begin(text, node);
  rt_text_add(text,
              "rows = Div (h, b)\n"
              "columns = Div (w, b)\n"
              "split_shape = Concat <axis: int = 0> (n, c, rows, b, columns, b)\n"
              "depth = Mul (c, area)\n"
              "shape = Concat <axis: int = 0> (n, depth, rows, columns)\n");
  finish(text, is_crd(node) ? "0, 1, 3, 5, 2, 4" : "0, 3, 5, 1, 2, 4");
  return OPS_OK;
}

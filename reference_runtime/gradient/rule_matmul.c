// SPDX-License-Identifier: Apache-2.0
//
// MatMul and Gemm. For Y = A B: dA = G B^T, dB = A^T G. MatMul's vectors and batches:
// a vector is a matrix with one row or column, and batch dimensions that were broadcast are
// summed like those of every operator that broadcasts.
#include "gradient/rules.h"

// `to` is `from` with its last two axes swapped.
static void add_swap(rt_text *text, const char *to, const char *from, int32_t rank) {
  rt_text_add(text, "%s = Transpose <perm: ints = [", to);
  for (int32_t i = 0; i < rank; ++i) {
    const int32_t axis = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
    rt_text_add(text, "%s%d", i ? ", " : "", axis);
  }
  rt_text_add(text, "]> (%s)\n", from);
}

int32_t rt_rule_matmul(const rt_node *node, rt_text *text, rt_text *derivatives,
                       ops_error *error) {
  const int32_t a = rt_rule_rank(node, 0), b = rt_rule_rank(node, 1);
  if (a < 1 || b < 1) return rt_rule_refuse(node, "the ranks of its inputs", error);
  const int64_t first = 0, column = -1, row = b == 1 ? 0 : -2, a_row = -2;
  const char *left = "X0", *right = "X1", *g = "G0";
  // As matrices: A of [1, k], B of [k, 1], G with the rows and columns that Y lacks.
  if (a == 1) {
    rt_text_ints(text, "first", &first, 1);
    rt_text_add(text, "A = Unsqueeze (X0, first)\n");
    left = "A";
  }
  if (b == 1) {
    rt_text_ints(text, "column", &column, 1);
    rt_text_add(text, "B = Unsqueeze (X1, column)\nG_column = Unsqueeze (G0, column)\n");
    right = "B";
    g = "G_column";
  }
  if (a == 1) {
    rt_text_ints(text, "row", &row, 1);
    rt_text_add(text, "G_row = Unsqueeze (%s, row)\n", g);
    g = "G_row";
  }
  add_swap(text, "right_swapped", right, b == 1 ? 2 : b);
  add_swap(text, "left_swapped", left, a == 1 ? 2 : a);
  rt_text_add(text,
              "dA = MatMul (%s, right_swapped)\n"
              "dB = MatMul (left_swapped, %s)\n",
              g, g);
  // Back to vectors: the axis of length 1 goes; batches of the other factor are summed later.
  if (a == 1) {
    rt_text_ints(text, "a_row", &a_row, 1);
    rt_text_add(text, "dA_vector = Squeeze (dA, a_row)\n");
  }
  if (b == 1) rt_text_add(text, "dB_vector = Squeeze (dB, column)\n");
  rt_text_add(derivatives, "%s, %s", a == 1 ? "dA_vector" : "dA", b == 1 ? "dB_vector" : "dB");
  return OPS_OK;
}

int32_t rt_rule_gemm(const rt_node *node, rt_text *text, rt_text *derivatives,
                     ops_error *error) {
  (void)error;
  const rt_attrs *attrs = &node->op.attrs;
  const int ta = rt_attrs_int(attrs, "transA", 0) != 0,
            tb = rt_attrs_int(attrs, "transB", 0) != 0;
  // Y = alpha A' B' + beta C with A' = A or A^T. dA' = alpha G B'^T, dB' = alpha A'^T G.
  static const char *const gemm =
      "%s = Gemm <alpha: float = @alpha, transA: int = %d, "
      "transB: int = %d> (%s, %s)\n";
  if (ta)
    rt_text_add(text, gemm, "a", tb, 1, "X1", "G0");
  else
    rt_text_add(text, gemm, "a", 0, !tb, "G0", "X1");
  if (tb)
    rt_text_add(text, gemm, "b", 1, ta, "G0", "X0");
  else
    rt_text_add(text, gemm, "b", !ta, 0, "X0", "G0");
  rt_text_add(derivatives, "a, b");
  if (node->input_count < 3) return OPS_OK;
  rt_text_add(text,
              "beta_float = Constant <value_float: float = @beta> ()\n"
              "beta = CastLike (beta_float, G0)\n"
              "c = Mul (G0, beta)\n");
  rt_text_add(derivatives, ", c");
  return OPS_OK;
}

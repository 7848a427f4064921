// SPDX-License-Identifier: Apache-2.0
//
// RotaryEmbedding: pairs of elements of each head, (first half, second half) or neighbours
// where interleaved, are rotated by the angle of their position. Elements beyond
// rotary_embedding_dim stay. Works on [batch, position, head, element].
#include <ops_support/error.h>

#include "functions/table.h"

// `heads`: X with four axes.
static void add_heads(rt_text *text, const rt_node *node, int32_t rank) {
  if (rank == 4) {
    rt_text_add(text, "heads = Transpose <perm: ints = [0, 2, 1, 3]> (X)\n");
    return;
  }
  const int64_t split[] = {0, 0, rt_attrs_int(&node->op.attrs, "num_heads", 1), -1};
  rt_text_ints(text, "split", split, 4);
  rt_text_add(text, "heads = Reshape (X, split)\n");
}

// `turning`, the elements that are rotated, and `still`, the others.
static void add_parts(rt_text *text, int64_t size) {
  if (size == 0) {
    rt_text_add(text, "turning = Identity (heads)\n");
    return;
  }
  const int64_t last = 3, none = 0, end = INT64_MAX;
  rt_text_ints(text, "last", &last, 1);
  rt_text_ints(text, "none", &none, 1);
  rt_text_ints(text, "size", &size, 1);
  rt_text_ints(text, "end", &end, 1);
  rt_text_add(text,
              "turning = Slice (heads, none, size, last)\n"
              "still = Slice (heads, size, end, last)\n");
}

// `x1`, `x2`: the members of the pairs, of the shape of `cos`.
static void add_pairs(rt_text *text, int interleaved) {
  if (!interleaved) {
    rt_text_add(text, "x1, x2 = Split <axis: int = 3, num_outputs: int = 2> (turning)\n");
    return;
  }
  rt_text_add(text,
              "pair_axis = Constant <value: tensor = int64[1] {4}> ()\n"
              "pair_shape = Constant <value: tensor = int64[5] {0, 0, 0, -1, 2}> ()\n"
              "pairs = Reshape (turning, pair_shape)\n"
              "first, second = Split <axis: int = 4, num_outputs: int = 2> (pairs)\n"
              "x1 = Squeeze (first, pair_axis)\n"
              "x2 = Squeeze (second, pair_axis)\n");
}

static void add_rotation(rt_text *text, int interleaved) {
  rt_text_add(text,
              "cos_x1 = Mul (cos, x1)\nsin_x2 = Mul (sin, x2)\nreal = Sub (cos_x1, sin_x2)\n"
              "sin_x1 = Mul (sin, x1)\ncos_x2 = Mul (cos, x2)\nimag = Add (sin_x1, cos_x2)\n");
  if (!interleaved) {
    rt_text_add(text, "turned = Concat <axis: int = 3> (real, imag)\n");
    return;
  }
  rt_text_add(text,
              "real_of_pair = Unsqueeze (real, pair_axis)\n"
              "imag_of_pair = Unsqueeze (imag, pair_axis)\n"
              "turned_pairs = Concat <axis: int = 4> (real_of_pair, imag_of_pair)\n"
              "turning_shape = Shape (turning)\n"
              "turned = Reshape (turned_pairs, turning_shape)\n");
}

int32_t rt_build_rotary_embedding(rt_text *text, const rt_node *node, ops_error *error) {
  const rt_attrs *attrs = &node->op.attrs;
  const int32_t rank = rt_function_rank(node, 0);
  const int interleaved = rt_attrs_int(attrs, "interleaved", 0) != 0;
  const int64_t size = rt_attrs_int(attrs, "rotary_embedding_dim", 0), head_axis = 2;
  if (rank != 3 && rank != 4) return rt_function_unknown(node, 0, "rank", error);
  if (rank == 3) OPS_RETURN_IF_ERROR(rt_function_positive(node, "num_heads", error));
  rt_text_add(text, "(X, cos_cache, sin_cache, position_ids) => (Y) {\n");
  add_heads(text, node, rank);
  add_parts(text, size);
  rt_text_ints(text, "head_axis", &head_axis, 1);
  if (rt_function_has(node, 3))
    rt_text_add(text,
                "cosines = Gather (cos_cache, position_ids)\n"
                "sines = Gather (sin_cache, position_ids)\n");
  else
    rt_text_add(text, "cosines = Identity (cos_cache)\nsines = Identity (sin_cache)\n");
  rt_text_add(text,
              "cos = Unsqueeze (cosines, head_axis)\n"
              "sin = Unsqueeze (sines, head_axis)\n");
  add_pairs(text, interleaved);
  add_rotation(text, interleaved);
  rt_text_add(
      text, size ? "%s = Concat <axis: int = 3> (turned, still)\n" : "%s = Identity (turned)\n",
      "joined");
  if (rank == 4)
    rt_text_add(text, "Y = Transpose <perm: ints = [0, 2, 1, 3]> (joined)\n}");
  else
    rt_text_add(text, "shape = Shape (X)\nY = Reshape (joined, shape)\n}");
  return OPS_OK;
}

// SPDX-License-Identifier: Apache-2.0
//
// Attention: softmax(softcap(Q K^T scale) + bias) V on [batch, head, position, element]. Heads
// of Q that share one of K and V are split as in FlexAttention. What the causal frontier, the
// window, the padding and a boolean mask forbid has the score minus infinity; a row that may
// attend nothing gives zeros. Scores have the type softmax_precision, at least float.
#include <math.h>

#include <ops_support/error.h>

#include "functions/table.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, NONPAD };
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };

typedef struct attention {
  const rt_node *node;
  rt_text *text;
  int32_t type, precision;
  int is_packed;  // Q, K and V have three axes
  int is_masked;  // some score may be minus infinity
} attention;

static int32_t precision_of(const rt_node *node, int32_t type) {
  const int64_t asked = rt_attrs_int(&node->op.attrs, "softmax_precision", type);
  const int is_double = type == OPS_TYPE_DOUBLE || asked == OPS_TYPE_DOUBLE;
  return is_double ? OPS_TYPE_DOUBLE : OPS_TYPE_FLOAT;
}

static int64_t option(const attention *a, const char *name, int64_t missing) {
  return rt_attrs_int(&a->node->op.attrs, name, missing);
}

// `to`: `from` with four axes.
static void add_heads(const attention *a, const char *from, const char *to,
                      const char *attribute) {
  if (!a->is_packed) {
    rt_text_add(a->text, "%s = Identity (%s)\n", to, from);
    return;
  }
  rt_text_add(a->text,
              "%s_split = Constant <value: tensor = int64[4] {0, 0, %lld, -1}> ()\n"
              "%s_rows = Reshape (%s, %s_split)\n"
              "%s = Transpose <perm: ints = [0, 2, 1, 3]> (%s_rows)\n",
              to, (long long)option(a, attribute, 1), to, from, to, to, to);
}

static void add_shapes(const attention *a) {
  rt_text_add(
      a->text,
      "batch = Shape <start: int = 0, end: int = 1> (q)\n"
      "q_heads = Shape <start: int = 1, end: int = 2> (q)\n"
      "q_length = Shape <start: int = 2, end: int = 3> (q)\n"
      "head_size = Shape <start: int = 3, end: int = 4> (q)\n"
      "kv_heads = Shape <start: int = 1, end: int = 2> (present_key)\n"
      "total = Shape <start: int = 2, end: int = 3> (present_key)\n"
      "v_size = Shape <start: int = 3, end: int = 4> (present_value)\n"
      "members = Div (q_heads, kv_heads)\n"
      "group_axis = Constant <value: tensor = int64[1] {2}> ()\n"
      "q_shape = Concat <axis: int = 0> (batch, kv_heads, members, q_length, head_size)\n"
      "group_shape = Concat <axis: int = 0> (batch, kv_heads, members, q_length, total)\n"
      "score_shape = Concat <axis: int = 0> (batch, q_heads, q_length, total)\n"
      "y_shape = Concat <axis: int = 0> (batch, q_heads, q_length, v_size)\n");
}

// Both factors are multiplied by the root of the scale, which keeps narrow types in range.
static void add_scores(const attention *a) {
  if (rt_attrs_find(&a->node->op.attrs, "scale"))
    rt_text_constant(a->text, "factor", a->precision,
                     sqrt(rt_attrs_float(&a->node->op.attrs, "scale", 1)));
  else
    rt_text_add(a->text,
                "size = Cast <to: int = %d> (head_size)\n"
                "size_root = Sqrt (size)\n"
                "scale = Reciprocal (size_root)\n"
                "factor = Sqrt (scale)\n",
                a->precision);
  rt_text_add(a->text,
              "wide_q = Cast <to: int = %d> (q)\n"
              "scaled_q = Mul (wide_q, factor)\n"
              "queries = Reshape <allowzero: int = 1> (scaled_q, q_shape)\n"
              "wide_k = Cast <to: int = %d> (present_key)\n"
              "scaled_k = Mul (wide_k, factor)\n"
              "keys = Unsqueeze (scaled_k, group_axis)\n"
              "columns = Transpose <perm: ints = [0, 1, 2, 4, 3]> (keys)\n"
              "products = MatMul (queries, columns)\n"
              "raw = Reshape <allowzero: int = 1> (products, score_shape)\n",
              a->precision, a->precision);
  const float cap = rt_attrs_float(&a->node->op.attrs, "softcap", 0);
  if (cap > 0) {
    rt_text_constant(a->text, "cap", a->precision, cap);
    rt_text_add(a->text,
                "share = Div (raw, cap)\nbent = Tanh (share)\ncapped = Mul (bent, cap)\n");
  } else {
    rt_text_add(a->text, "capped = Identity (raw)\n");
  }
}

// `ahead`: how far key j lies beyond the position of query i, [q_length, total] with a batch
// where that depends on it; `j` of [total].
static void add_positions(const attention *a) {
  rt_text_add(a->text,
              "zero = Constant <value: tensor = int64 {0}> ()\n"
              "one = Constant <value: tensor = int64 {1}> ()\n"
              "nothing = Constant <value: tensor = int64[0] {}> ()\n"
              "down = Constant <value: tensor = int64[2] {-1, 1}> ()\n"
              "rows = Reshape (q_length, nothing)\n"
              "total_scalar = Reshape (total, nothing)\n"
              "i_row = Range (zero, rows, one)\n"
              "i = Reshape <allowzero: int = 0> (i_row, down)\n"
              "j = Range (zero, total_scalar, one)\n");
  if (rt_function_has(a->node, NONPAD))
    rt_text_add(a->text,
                "by_batch = Constant <value: tensor = int64[4] {-1, 1, 1, 1}> ()\n"
                "valid = Reshape (nonpad_kv_seqlen, by_batch)\n"
                "offset = Sub (valid, q_length)\n");
  else if (rt_function_has(a->node, PAST_KEY))
    rt_text_add(a->text, "offset = Shape <start: int = 2, end: int = 3> (past_key)\n");
  else
    rt_text_add(a->text, "offset = Identity (zero)\n");
  rt_text_add(a->text, "position = Add (i, offset)\nahead = Sub (j, position)\n");
}

// `allowed` so far and one more condition, `name`, are both true.
static void add_condition(const attention *a, int *count, const char *name) {
  if ((*count)++ == 0)
    rt_text_add(a->text, "allowed1 = Identity (%s)\n", name);
  else
    rt_text_add(a->text, "allowed%d = And (allowed%d, %s)\n", *count, *count - 1, name);
}

static int needs_positions(const attention *a) {
  return option(a, "is_causal", 0) || option(a, "left_window_size", -1) >= 0 ||
         option(a, "right_window_size", -1) >= 0 || rt_function_has(a->node, NONPAD);
}

// The conditions of positions; returns how many.
static int add_frontiers(const attention *a) {
  const long long left = option(a, "left_window_size", -1);
  long long right = option(a, "right_window_size", -1);
  int count = 0;
  if (!needs_positions(a)) return 0;
  add_positions(a);
  if (option(a, "is_causal", 0)) right = 0;
  if (right >= 0) {
    rt_text_add(a->text,
                "right = Constant <value: tensor = int64 {%lld}> ()\n"
                "not_after = LessOrEqual (ahead, right)\n",
                right);
    add_condition(a, &count, "not_after");
  }
  if (left >= 0) {
    rt_text_add(a->text,
                "left = Constant <value: tensor = int64 {%lld}> ()\n"
                "not_before = GreaterOrEqual (ahead, left)\n",
                -left);
    add_condition(a, &count, "not_before");
  }
  if (rt_function_has(a->node, NONPAD)) {
    rt_text_add(a->text, "is_valid = Less (j, valid)\n");
    add_condition(a, &count, "is_valid");
  }
  return count;
}

// `mask`: attn_mask with what its last axis lacks, forbidden.
static void add_mask(const attention *a, int is_bool) {
  rt_text_add(a->text,
              "last_axis = Constant <value: tensor = int64[1] {-1}> ()\n"
              "none = Constant <value: tensor = int64[1] {0}> ()\n"
              "mask_length = Shape <start: int = -1> (attn_mask)\n"
              "lack = Sub (total, mask_length)\n"
              "pads = Concat <axis: int = 0> (none, lack)\n");
  if (is_bool) {
    rt_text_add(a->text,
                "no = Constant <value: tensor = bool {0}> ()\n"
                "mask = Pad (attn_mask, pads, no, last_axis)\n");
    return;
  }
  rt_text_add(a->text,
              "wide_mask = Cast <to: int = %d> (attn_mask)\n"
              "mask = Pad (wide_mask, pads, forbidden, last_axis)\n",
              a->precision);
}

// `biased`: scores with everything that masks.
static int32_t add_bias(attention *a, ops_error *error) {
  const int has_mask = rt_function_has(a->node, MASK);
  const int32_t mask_type = rt_function_type(a->node, MASK);
  if (has_mask && !mask_type) return rt_function_unknown(a->node, MASK, "type", error);
  int count = add_frontiers(a);
  rt_text_constant(a->text, "forbidden", a->precision, -INFINITY);
  if (has_mask) add_mask(a, mask_type == OPS_TYPE_BOOL);
  if (has_mask && mask_type == OPS_TYPE_BOOL) add_condition(a, &count, "mask");
  const int adds = has_mask && mask_type != OPS_TYPE_BOOL;
  rt_text_add(a->text, adds ? "summed = Add (capped, mask)\n" : "summed = Identity (capped)\n");
  if (count)
    rt_text_add(a->text, "biased = Where (allowed%d, summed, forbidden)\n", count);
  else
    rt_text_add(a->text, "biased = Identity (summed)\n");
  a->is_masked = adds || count;
  return OPS_OK;
}

static void add_weights(const attention *a) {
  if (!a->is_masked) {
    rt_text_add(a->text, "weights = Softmax <axis: int = -1> (biased)\n");
    return;
  }
  rt_text_constant(a->text, "nought", a->precision, 0);
  rt_text_add(a->text,
              "shares = Softmax <axis: int = -1> (biased)\n"
              "score_axis = Constant <value: tensor = int64[1] {-1}> ()\n"
              "highest = ReduceMax (biased, score_axis)\n"
              "is_empty = Equal (highest, forbidden)\n"
              "weights = Where (is_empty, nought, shares)\n");
}

static void add_results(const attention *a) {
  static const char *const shown[] = {"raw", "capped", "biased", "weights"};
  const int64_t mode = option(a, "qk_matmul_output_mode", 0);
  rt_text_add(a->text,
              "grouped = Reshape <allowzero: int = 1> (weights, group_shape)\n"
              "wide_v = Cast <to: int = %d> (present_value)\n"
              "values = Unsqueeze (wide_v, group_axis)\n"
              "sums = MatMul (grouped, values)\n"
              "wide_Y = Reshape <allowzero: int = 1> (sums, y_shape)\n"
              "%s = Cast <to: int = %d> (wide_Y)\n",
              a->precision, a->is_packed ? "y" : "Y", a->type);
  if (a->is_packed)
    rt_text_add(a->text,
                "pack = Constant <value: tensor = int64[3] {0, 0, -1}> ()\n"
                "y_rows = Transpose <perm: ints = [0, 2, 1, 3]> (y)\n"
                "Y = Reshape (y_rows, pack)\n");
  rt_text_add(a->text, "qk_matmul_output = Cast <to: int = %d> (%s)\n}", a->type,
              shown[mode >= 0 && mode < 4 ? mode : 0]);
}

int32_t rt_build_attention(rt_text *text, const rt_node *node, ops_error *error) {
  const int32_t rank = rt_function_rank(node, Q), type = rt_function_type(node, Q);
  attention a = {node, text, type, precision_of(node, type), rank == 3, 0};
  if (!type) return rt_function_unknown(node, Q, "element type", error);
  if (rank != 3 && rank != 4) return rt_function_unknown(node, Q, "rank", error);
  if (a.is_packed) {
    OPS_RETURN_IF_ERROR(rt_function_positive(node, "q_num_heads", error));
    OPS_RETURN_IF_ERROR(rt_function_positive(node, "kv_num_heads", error));
  }
  rt_text_add(text,
              "(Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen) => "
              "(Y, present_key, present_value, qk_matmul_output) {\n");
  add_heads(&a, "Q", "q", "q_num_heads");
  add_heads(&a, "K", "k", "kv_num_heads");
  add_heads(&a, "V", "v", "kv_num_heads");
  if (rt_function_has(node, PAST_KEY))
    rt_text_add(text,
                "present_key = Concat <axis: int = 2> (past_key, k)\n"
                "present_value = Concat <axis: int = 2> (past_value, v)\n");
  else
    rt_text_add(text, "present_key = Identity (k)\npresent_value = Identity (v)\n");
  add_shapes(&a);
  add_scores(&a);
  OPS_RETURN_IF_ERROR(add_bias(&a, error));
  add_weights(&a);
  add_results(&a);
  return OPS_OK;
}

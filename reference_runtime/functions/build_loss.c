// SPDX-License-Identifier: Apache-2.0
//
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, which is the former of LogSoftmax. A
// target that is ignore_index has weight 0; a mean divides by the sum of the weights.
#include "functions/table.h"

// `weights` of the targets: of their class, 0 where ignored.
static void add_weights(rt_text *text, const rt_node *node, int32_t type, int has_ignored) {
  rt_text_constant(text, "none", type, 0);
  if (rt_function_has(node, 2)) {
    rt_text_add(text, "%s = Gather (weight, safe)\n", has_ignored ? "by_class" : "weights");
  } else {
    rt_text_constant(text, "one", type, 1);
    rt_text_add(text,
                "target_shape = Shape (target)\n"
                "%s = Expand (one, target_shape)\n",
                has_ignored ? "by_class" : "weights");
  }
  if (has_ignored) rt_text_add(text, "weights = Where (is_ignored, none, by_class)\n");
}

static void add_targets(rt_text *text, const rt_node *node, int has_ignored) {
  if (!has_ignored) {
    rt_text_add(text, "safe = Identity (target)\n");
    return;
  }
  rt_text_add(text,
              "ignored_int = Constant <value: tensor = int64 {%lld}> ()\n"
              "ignored = CastLike (ignored_int, target)\n"
              "zero_int = Constant <value: tensor = int64 {0}> ()\n"
              "zero = CastLike (zero_int, target)\n"
              "is_ignored = Equal (target, ignored)\n"
              "safe = Where (is_ignored, zero, target)\n",
              (long long)rt_attrs_int(&node->op.attrs, "ignore_index", 0));
}

int32_t rt_build_negative_log_likelihood(rt_text *text, const rt_node *node, ops_error *error) {
  const rt_attrs *attrs = &node->op.attrs;
  const int has_ignored = rt_attrs_find(attrs, "ignore_index") != NULL;
  const int32_t type = rt_function_type(node, 0);
  const int64_t class_axis = 1;
  if (!type) return rt_function_unknown(node, 0, "element type", error);
  rt_text_add(text, "(input, target, weight) => (loss) {\n");
  rt_text_ints(text, "class_axis", &class_axis, 1);
  add_targets(text, node, has_ignored);
  add_weights(text, node, type, has_ignored);
  rt_text_add(text,
              "places = Unsqueeze (safe, class_axis)\n"
              "picked = GatherElements <axis: int = 1> (input, places)\n"
              "likelihoods = Squeeze (picked, class_axis)\n"
              "weighted = Mul (likelihoods, weights)\n"
              "losses = Neg (weighted)\n");
  if (rt_attrs_string_is(attrs, "reduction", "none"))
    rt_text_add(text, "loss = Identity (losses)\n}");
  else if (rt_attrs_string_is(attrs, "reduction", "sum"))
    rt_text_add(text, "loss = ReduceSum <keepdims: int = 0> (losses)\n}");
  else
    rt_text_add(text,
                "sum = ReduceSum <keepdims: int = 0> (losses)\n"
                "weight_sum = ReduceSum <keepdims: int = 0> (weights)\n"
                "loss = Div (sum, weight_sum)\n}");
  return OPS_OK;
}

int32_t rt_build_softmax_cross_entropy(rt_text *text, const rt_node *node, ops_error *error) {
  (void)node;
  (void)error;
  rt_text_add(text,
              "(scores, labels, weights) => (output, log_prob) {\n"
              "log_prob = LogSoftmax <axis: int = 1> (scores)\n"
              "output = NegativeLogLikelihoodLoss <reduction: string = @reduction, "
              "ignore_index: int = @ignore_index> (log_prob, labels, weights)\n}");
  return OPS_OK;
}

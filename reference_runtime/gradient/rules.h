// SPDX-License-Identifier: Apache-2.0
//
// Private to gradient/: derivative rules. A rule is the body of a function, as text of
// functions/text.h, over the names
//   X0, X1 …  the inputs of the node    Y0, Y1 …  its outputs
//   G0, G1 …  the derivatives of y by its outputs, of their types and shapes
// and names for each input the value that is the derivative of y by it: `derivatives`, "_" for
// an input that has none (a shape, a list of axes). "@attr" is an attribute of the node.
#ifndef RT_GRADIENT_RULES_H_
#define RT_GRADIENT_RULES_H_

#include "functions/text.h"

#define RT_RULE_OPSET 18  // of the operators in rules

// Writes the body of the rule to `text` and its derivatives to `derivatives`. UNSUPPORTED where
// the node's attributes or unknown ranks put it out of the rule's reach.
typedef int32_t (*rt_rule_fn)(const rt_node *node, rt_text *text, rt_text *derivatives,
                              ops_error *error);

// Where an operator broadcasts an input, the derivative is summed to the input's shape. What a
// rule gives has
#define RT_SUM_NONE 0    // the shape of the input
#define RT_SUM_OUTPUT 1  // the shape of the output
#define RT_SUM_BATCH 2   // MatMul: the batch of the output, the matrix of the input
#define RT_SUM_THIRD 3   // Gemm: for its third input that of the output, else of the input

typedef struct rt_rule {
  const char *op;  // of ONNX's own domain
  const char *derivatives;
  const char *body;
  rt_rule_fn build;  // writes both instead; NULL
  int32_t sums;      // RT_SUM_…
} rt_rule;

// NULL: none.
const rt_rule *rt_rule_find(const rt_op *op);

// UNSUPPORTED, naming the node and what the rule needs.
int32_t rt_rule_refuse(const rt_node *node, const char *what, ops_error *error);
// The rank of an input; -1 if it is unknown.
int32_t rt_rule_rank(const rt_node *node, uint32_t input);

int32_t rt_rule_batch_normalization(const rt_node *node, rt_text *text, rt_text *derivatives,
                                    ops_error *error);
int32_t rt_rule_clip(const rt_node *node, rt_text *text, rt_text *derivatives,
                     ops_error *error);
int32_t rt_rule_concat(const rt_node *node, rt_text *text, rt_text *derivatives,
                       ops_error *error);
int32_t rt_rule_conv(const rt_node *node, rt_text *text, rt_text *derivatives,
                     ops_error *error);
int32_t rt_rule_cum_sum(const rt_node *node, rt_text *text, rt_text *derivatives,
                        ops_error *error);
int32_t rt_rule_dropout(const rt_node *node, rt_text *text, rt_text *derivatives,
                        ops_error *error);
int32_t rt_rule_extreme(const rt_node *node, rt_text *text, rt_text *derivatives,
                        ops_error *error);
int32_t rt_rule_gemm(const rt_node *node, rt_text *text, rt_text *derivatives,
                     ops_error *error);
int32_t rt_rule_matmul(const rt_node *node, rt_text *text, rt_text *derivatives,
                       ops_error *error);
int32_t rt_rule_max_pool(const rt_node *node, rt_text *text, rt_text *derivatives,
                         ops_error *error);
int32_t rt_rule_mean(const rt_node *node, rt_text *text, rt_text *derivatives,
                     ops_error *error);
int32_t rt_rule_reduce(const rt_node *node, rt_text *text, rt_text *derivatives,
                       ops_error *error);
int32_t rt_rule_reduce_extreme(const rt_node *node, rt_text *text, rt_text *derivatives,
                               ops_error *error);
int32_t rt_rule_scatter(const rt_node *node, rt_text *text, rt_text *derivatives,
                        ops_error *error);
int32_t rt_rule_select(const rt_node *node, rt_text *text, rt_text *derivatives,
                       ops_error *error);
int32_t rt_rule_softmax(const rt_node *node, rt_text *text, rt_text *derivatives,
                        ops_error *error);
int32_t rt_rule_split(const rt_node *node, rt_text *text, rt_text *derivatives,
                      ops_error *error);
int32_t rt_rule_sum(const rt_node *node, rt_text *text, rt_text *derivatives, ops_error *error);
int32_t rt_rule_transpose(const rt_node *node, rt_text *text, rt_text *derivatives,
                          ops_error *error);

#endif  // RT_GRADIENT_RULES_H_

// SPDX-License-Identifier: Apache-2.0
//
// Ensembles of decision trees, in one form for the two ways in which attributes describe them.
#ifndef REFERENCE_ML_TREE_H_
#define REFERENCE_ML_TREE_H_

#include "ml.h"

// Numbered as nodes_modes of TreeEnsemble numbers them.
typedef enum ref_branch {
  REF_BRANCH_LEQ,
  REF_BRANCH_LT,
  REF_BRANCH_GTE,
  REF_BRANCH_GT,
  REF_BRANCH_EQ,
  REF_BRANCH_NEQ,
  REF_BRANCH_MEMBER,
  REF_BRANCH_LEAF,
  REF_BRANCH_COUNT,
} ref_branch;

typedef struct ref_tree_node {
  int32_t branch;
  int32_t missing_is_true;  // where NaN goes
  int64_t feature;
  double split;
  int64_t when_true, when_false;  // indices of nodes
  int64_t first, count;           // of a leaf: its votes; of MEMBER: its members
} ref_tree_node;

// Numbered as aggregate_function of TreeEnsemble numbers them.
typedef enum ref_aggregate {
  REF_AGGREGATE_AVERAGE,
  REF_AGGREGATE_SUM,
  REF_AGGREGATE_MIN,
  REF_AGGREGATE_MAX,
  REF_AGGREGATE_COUNT,
} ref_aggregate;

typedef struct ref_ensemble {
  ref_tree_node *nodes;
  int64_t node_count;
  int64_t *roots;
  int64_t root_count;
  const double *members;
  int64_t *targets;  // of votes
  double *weights;
  int64_t vote_count;
  int64_t target_count;  // set before an ensemble is read
  int64_t feature_count;
  int32_t aggregate;  // set before
} ref_ensemble;

// TreeEnsemble: nodes_splits …, leaf_weights.
int32_t ref_ensemble_read_leaves(ref_prepare *prepare, ref_ensemble *out);
// TreeEnsembleClassifier and -Regressor: nodes_values …, votes under `prefix`, "class" or
// "target".
int32_t ref_ensemble_read_votes(ref_prepare *prepare, const char *prefix, ref_ensemble *out);
// Checks indices and that no path returns to a node. Both readers end with it.
int32_t ref_ensemble_check(ref_prepare *prepare, const ref_ensemble *ensemble);

// Votes of all trees for a row of features, one number for each target. `voted` marks targets
// with a vote; the others are 0.
void ref_ensemble_score(const ref_ensemble *ensemble, const double *row, double *out,
                        uint8_t *voted);

#endif  // REFERENCE_ML_TREE_H_

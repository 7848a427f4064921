// SPDX-License-Identifier: Apache-2.0
#include "ml_tree.h"

#include <math.h>

// ---- Checks --------------------------------------------------------------------------------

static int32_t check_node(ref_prepare *p, const ref_ensemble *e, int64_t i) {
  const ref_tree_node *node = &e->nodes[i];
  if (node->branch == REF_BRANCH_LEAF) return OPS_OK;
  if (node->when_true < 0 || node->when_true >= e->node_count || node->when_false < 0 ||
      node->when_false >= e->node_count)
    return ref_refuse(p, "tree node %lld branches to a node that is not there", (long long)i);
  if (node->feature < 0 || node->feature >= e->feature_count)
    return ref_refuse(p, "tree node %lld tests feature %lld, input X has %lld", (long long)i,
                      (long long)node->feature, (long long)e->feature_count);
  return OPS_OK;
}

// Takes away nodes without parent again and again; what remains lies on cycles.
static int32_t check_cycles(ref_prepare *p, const ref_ensemble *e) {
  void *memory;
  int64_t n = e->node_count, done = 0, ready = 0;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)n, 2 * sizeof(int64_t), &memory));
  int64_t *parents = memory, *queue = parents + n;
  for (int64_t i = 0; i < n; ++i) {
    if (e->nodes[i].branch == REF_BRANCH_LEAF) continue;
    ++parents[e->nodes[i].when_true];
    ++parents[e->nodes[i].when_false];
  }
  for (int64_t i = 0; i < n; ++i)
    if (parents[i] == 0) queue[ready++] = i;
  for (; done < ready; ++done) {
    const ref_tree_node *node = &e->nodes[queue[done]];
    if (node->branch == REF_BRANCH_LEAF) continue;
    if (--parents[node->when_true] == 0) queue[ready++] = node->when_true;
    if (--parents[node->when_false] == 0) queue[ready++] = node->when_false;
  }
  if (ready != n) return ref_refuse(p, "the nodes of the trees form a cycle");
  return OPS_OK;
}

int32_t ref_ensemble_check(ref_prepare *p, const ref_ensemble *e) {
  for (int64_t i = 0; i < e->node_count; ++i) RETURN_IF_ERROR(check_node(p, e, i));
  for (int64_t i = 0; i < e->vote_count; ++i)
    if (e->targets[i] < 0 || e->targets[i] >= e->target_count)
      return ref_refuse(p, "vote %lld is for target %lld, expected 0 to %lld", (long long)i,
                        (long long)e->targets[i], (long long)e->target_count - 1);
  for (int64_t i = 0; i < e->root_count; ++i)
    if (e->roots[i] < 0 || e->roots[i] >= e->node_count)
      return ref_refuse(p, "root %lld of a tree is no node", (long long)e->roots[i]);
  return check_cycles(p, e);
}

// ---- Walk ----------------------------------------------------------------------------------

static int is_member(const ref_ensemble *e, const ref_tree_node *node, double x) {
  for (int64_t i = 0; i < node->count; ++i)
    if (e->members[node->first + i] == x) return 1;
  return 0;
}

static int is_true(const ref_ensemble *e, const ref_tree_node *node, double x) {
  if (node->missing_is_true && isnan(x)) return 1;
  switch (node->branch) {
    case REF_BRANCH_LEQ:
      return x <= node->split;
    case REF_BRANCH_LT:
      return x < node->split;
    case REF_BRANCH_GTE:
      return x >= node->split;
    case REF_BRANCH_GT:
      return x > node->split;
    case REF_BRANCH_EQ:
      return x == node->split;
    case REF_BRANCH_NEQ:
      return x != node->split;
    default:
      return is_member(e, node, x);
  }
}

static double join(int32_t aggregate, double a, double b) {
  if (aggregate == REF_AGGREGATE_MIN) return b < a ? b : a;
  if (aggregate == REF_AGGREGATE_MAX) return b > a ? b : a;
  return a + b;
}

void ref_ensemble_score(const ref_ensemble *e, const double *row, double *out, uint8_t *voted) {
  for (int64_t t = 0; t < e->target_count; ++t) out[t] = voted[t] = 0;
  for (int64_t r = 0; r < e->root_count; ++r) {
    const ref_tree_node *node = &e->nodes[e->roots[r]];
    while (node->branch != REF_BRANCH_LEAF)
      node =
          &e->nodes[is_true(e, node, row[node->feature]) ? node->when_true : node->when_false];
    for (int64_t v = node->first; v < node->first + node->count; ++v) {
      int64_t t = e->targets[v];
      out[t] = voted[t] ? join(e->aggregate, out[t], e->weights[v]) : e->weights[v];
      voted[t] = 1;
    }
  }
  if (e->aggregate == REF_AGGREGATE_AVERAGE && e->root_count > 0)
    for (int64_t t = 0; t < e->target_count; ++t) out[t] /= (double)e->root_count;
}

// SPDX-License-Identifier: Apache-2.0
//
// From attributes to ensembles.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ml_tree.h"

// An attribute of integers with `count` entries; `optional` ones may be missing (NULL).
static int32_t ints_of(ref_prepare *p, const char *name, int64_t count, int optional,
                       const int64_t **out) {
  int64_t found;
  *out = ref_attr_ints(p->kernel, name, &found);
  if (optional && found == 0) {
    *out = NULL;
    return OPS_OK;
  }
  return ref_ml_need_count(p, name, found, count);
}

static int32_t reals_of(ref_prepare *p, const char *name, int64_t count, const double **out) {
  int64_t found;
  RETURN_IF_ERROR(ref_ml_reals(p, name, out, &found));
  return ref_ml_need_count(p, name, found, count);
}

static int32_t keep_nodes(ref_prepare *p, ref_ensemble *e, int64_t count) {
  void *nodes;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)count, sizeof *e->nodes, &nodes));
  e->nodes = nodes;
  e->node_count = count;
  return OPS_OK;
}

static int32_t keep_votes(ref_prepare *p, ref_ensemble *e, int64_t count) {
  void *memory;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)count, sizeof(double), &memory));
  e->weights = memory;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)count, sizeof(int64_t), &memory));
  e->targets = memory;
  e->vote_count = count;
  return OPS_OK;
}

// ---- TreeEnsemble --------------------------------------------------------------------------

typedef struct leaf_form {
  const int64_t *features, *when_true, *when_false, *true_leaf, *false_leaf, *missing;
  const double *modes, *splits;
} leaf_form;

static int32_t read_leaf_form(ref_prepare *p, leaf_form *f, int64_t *out_count) {
  int64_t n;
  RETURN_IF_ERROR(ref_ml_reals(p, "nodes_modes", &f->modes, &n));
  RETURN_IF_ERROR(reals_of(p, "nodes_splits", n, &f->splits));
  RETURN_IF_ERROR(ints_of(p, "nodes_featureids", n, 0, &f->features));
  RETURN_IF_ERROR(ints_of(p, "nodes_truenodeids", n, 0, &f->when_true));
  RETURN_IF_ERROR(ints_of(p, "nodes_falsenodeids", n, 0, &f->when_false));
  RETURN_IF_ERROR(ints_of(p, "nodes_trueleafs", n, 0, &f->true_leaf));
  RETURN_IF_ERROR(ints_of(p, "nodes_falseleafs", n, 0, &f->false_leaf));
  RETURN_IF_ERROR(ints_of(p, "nodes_missing_value_tracks_true", n, 1, &f->missing));
  *out_count = n;
  return OPS_OK;
}

// The next members up to the NaN that ends them.
static int32_t take_members(ref_prepare *p, ref_ensemble *e, int64_t member_count,
                            int64_t *next, ref_tree_node *node) {
  node->first = *next;
  while (*next < member_count && !isnan(e->members[*next])) ++*next;
  node->count = *next - node->first;
  if (*next == member_count)
    return ref_refuse(p,
                      "attribute membership_values: expected values ended by NaN for each "
                      "node of mode BRANCH_MEMBER");
  ++*next;
  return OPS_OK;
}

// Leaves follow the nodes: leaf i becomes node n + i. An index outside becomes -1.
static int64_t child(int64_t index, int64_t is_leaf, int64_t n, int64_t leaves) {
  if (index < 0 || index >= (is_leaf ? leaves : n)) return -1;
  return is_leaf ? n + index : index;
}

static int32_t fill_leaf_form(ref_prepare *p, const leaf_form *f, int64_t n, int64_t leaves,
                              ref_ensemble *e) {
  int64_t member_count, next = 0;
  RETURN_IF_ERROR(ref_ml_reals(p, "membership_values", &e->members, &member_count));
  for (int64_t i = 0; i < n; ++i) {
    if (!(f->modes[i] >= 0 && f->modes[i] <= REF_BRANCH_MEMBER))
      return ref_refuse(p, "attribute nodes_modes: entry %lld is %g, expected 0 to 6",
                        (long long)i, f->modes[i]);
    e->nodes[i] =
        (ref_tree_node){.branch = (int32_t)f->modes[i],
                        .missing_is_true = f->missing != NULL && f->missing[i] != 0,
                        .feature = f->features[i],
                        .split = f->splits[i],
                        .when_true = child(f->when_true[i], f->true_leaf[i], n, leaves),
                        .when_false = child(f->when_false[i], f->false_leaf[i], n, leaves)};
    if (e->nodes[i].branch == REF_BRANCH_MEMBER)
      RETURN_IF_ERROR(take_members(p, e, member_count, &next, &e->nodes[i]));
  }
  for (int64_t i = 0; i < leaves; ++i)
    e->nodes[n + i] = (ref_tree_node){.branch = REF_BRANCH_LEAF, .first = i, .count = 1};
  return OPS_OK;
}

int32_t ref_ensemble_read_leaves(ref_prepare *p, ref_ensemble *e) {
  leaf_form form;
  int64_t n, leaves;
  const double *weights;
  const int64_t *targets;
  RETURN_IF_ERROR(read_leaf_form(p, &form, &n));
  RETURN_IF_ERROR(ref_ml_reals(p, "leaf_weights", &weights, &leaves));
  RETURN_IF_ERROR(ints_of(p, "leaf_targetids", leaves, 0, &targets));
  RETURN_IF_ERROR(keep_nodes(p, e, n + leaves));
  RETURN_IF_ERROR(keep_votes(p, e, leaves));
  for (int64_t i = 0; i < leaves; ++i) {
    e->weights[i] = weights[i];
    e->targets[i] = targets[i];
  }
  RETURN_IF_ERROR(fill_leaf_form(p, &form, n, leaves, e));
  const int64_t *roots = ref_attr_ints(p->kernel, "tree_roots", &e->root_count);
  void *memory;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)e->root_count, sizeof *roots, &memory));
  e->roots = memory;
  for (int64_t i = 0; i < e->root_count; ++i) e->roots[i] = roots[i] < n ? roots[i] : -1;
  return ref_ensemble_check(p, e);
}

// ---- TreeEnsembleClassifier and -Regressor -------------------------------------------------

// A node by tree and id.
typedef struct place {
  int64_t tree, id, index;
} place;

static int compare_places(const void *left, const void *right) {
  const place *a = left, *b = right;
  if (a->tree != b->tree) return a->tree < b->tree ? -1 : 1;
  return a->id == b->id ? 0 : a->id < b->id ? -1 : 1;
}

static int64_t find_node(const place *places, int64_t count, int64_t tree, int64_t id) {
  place key = {tree, id, 0};
  const place *found =
      count > 0 ? bsearch(&key, places, (size_t)count, sizeof key, compare_places) : NULL;
  return found == NULL ? -1 : found->index;
}

static int32_t sort_places(ref_prepare *p, int64_t n, const int64_t *trees, place **out) {
  const int64_t *ids;
  void *memory;
  RETURN_IF_ERROR(ints_of(p, "nodes_nodeids", n, 0, &ids));
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)n, sizeof(place), &memory));
  place *places = *out = memory;
  for (int64_t i = 0; i < n; ++i) places[i] = (place){trees[i], ids[i], i};
  if (n > 0) qsort(places, (size_t)n, sizeof *places, compare_places);
  for (int64_t i = 1; i < n; ++i)
    if (compare_places(&places[i - 1], &places[i]) == 0)
      return ref_refuse(p, "attribute nodes_nodeids: node %lld of tree %lld is there twice",
                        (long long)places[i].id, (long long)places[i].tree);
  return OPS_OK;
}

static int32_t read_mode(ref_prepare *p, ops_str text, int32_t *out) {
  static const char *const names[REF_BRANCH_COUNT] = {
      "BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
      "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  for (int32_t i = 0; i < REF_BRANCH_COUNT; ++i)
    if (i != REF_BRANCH_MEMBER && ref_same_text(text, (ops_str){names[i], strlen(names[i])})) {
      *out = i;
      return OPS_OK;
    }
  return ref_refuse(p,
                    "attribute nodes_modes: '%.*s' is none of BRANCH_LEQ, BRANCH_LT, "
                    "BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ, LEAF",
                    (int)(text.size < 64 ? text.size : 64), text.data);
}

static int32_t fill_nodes(ref_prepare *p, const int64_t *trees, const place *places,
                          ref_ensemble *e) {
  int64_t n = e->node_count, count;
  const int64_t *features, *when_true, *when_false, *missing;
  const double *values;
  const ops_str *modes = ref_attr_strings(p->kernel, "nodes_modes", &count);
  RETURN_IF_ERROR(ref_ml_need_count(p, "nodes_modes", count, n));
  RETURN_IF_ERROR(reals_of(p, "nodes_values", n, &values));
  RETURN_IF_ERROR(ints_of(p, "nodes_featureids", n, 0, &features));
  RETURN_IF_ERROR(ints_of(p, "nodes_truenodeids", n, 0, &when_true));
  RETURN_IF_ERROR(ints_of(p, "nodes_falsenodeids", n, 0, &when_false));
  RETURN_IF_ERROR(ints_of(p, "nodes_missing_value_tracks_true", n, 1, &missing));
  for (int64_t i = 0; i < n; ++i) {
    e->nodes[i] = (ref_tree_node){.missing_is_true = missing != NULL && missing[i] != 0,
                                  .feature = features[i],
                                  .split = values[i],
                                  .when_true = find_node(places, n, trees[i], when_true[i]),
                                  .when_false = find_node(places, n, trees[i], when_false[i])};
    RETURN_IF_ERROR(read_mode(p, modes[i], &e->nodes[i].branch));
  }
  return OPS_OK;
}

// Sorts votes by node: leaf after leaf, each leaf's in the order of the attributes.
static int32_t fill_votes(ref_prepare *p, const char *prefix, const place *places,
                          ref_ensemble *e) {
  char name[4][32];
  static const char *const parts[4] = {"weights", "treeids", "nodeids", "ids"};
  for (int i = 0; i < 4; ++i) snprintf(name[i], sizeof name[i], "%s_%s", prefix, parts[i]);
  const double *weights;
  const int64_t *trees, *nodes, *targets;
  int64_t votes, at = 0;
  RETURN_IF_ERROR(ref_ml_reals(p, name[0], &weights, &votes));
  RETURN_IF_ERROR(ints_of(p, name[1], votes, 0, &trees));
  RETURN_IF_ERROR(ints_of(p, name[2], votes, 0, &nodes));
  RETURN_IF_ERROR(ints_of(p, name[3], votes, 0, &targets));
  RETURN_IF_ERROR(keep_votes(p, e, votes));
  void *memory;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)votes, sizeof(int64_t), &memory));
  int64_t *node_of = memory;
  for (int64_t i = 0; i < votes; ++i) {
    node_of[i] = find_node(places, e->node_count, trees[i], nodes[i]);
    if (node_of[i] < 0)
      return ref_refuse(p, "attribute %s: tree %lld has no node %lld", name[2],
                        (long long)trees[i], (long long)nodes[i]);
    ++e->nodes[node_of[i]].count;
  }
  for (int64_t i = 0; i < e->node_count; ++i) {
    e->nodes[i].first = at;
    at += e->nodes[i].count;
    e->nodes[i].count = 0;
  }
  for (int64_t i = 0; i < votes; ++i) {
    ref_tree_node *node = &e->nodes[node_of[i]];
    e->weights[node->first + node->count] = weights[i];
    e->targets[node->first + node->count++] = targets[i];
  }
  return OPS_OK;
}

// The root of a tree is its node without parent.
static int32_t find_roots(ref_prepare *p, const place *places, ref_ensemble *e) {
  void *memory;
  int64_t n = e->node_count;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)n, sizeof(int64_t), &memory));
  e->roots = memory;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)n, 1, &memory));
  uint8_t *has_parent = memory;
  for (int64_t i = 0; i < n; ++i) {
    const ref_tree_node *node = &e->nodes[i];
    if (node->branch == REF_BRANCH_LEAF) continue;
    if (node->when_true >= 0) has_parent[node->when_true] = 1;
    if (node->when_false >= 0) has_parent[node->when_false] = 1;
  }
  int64_t last_tree = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (has_parent[places[i].index]) continue;
    if (e->root_count > 0 && last_tree == places[i].tree)
      return ref_refuse(p, "tree %lld has several nodes without parent", (long long)last_tree);
    last_tree = places[i].tree;
    e->roots[e->root_count++] = places[i].index;
  }
  return OPS_OK;
}

int32_t ref_ensemble_read_votes(ref_prepare *p, const char *prefix, ref_ensemble *e) {
  int64_t n;
  const int64_t *trees = ref_attr_ints(p->kernel, "nodes_treeids", &n);
  place *places;
  RETURN_IF_ERROR(sort_places(p, n, trees, &places));
  RETURN_IF_ERROR(keep_nodes(p, e, n));
  RETURN_IF_ERROR(fill_nodes(p, trees, places, e));
  RETURN_IF_ERROR(fill_votes(p, prefix, places, e));
  RETURN_IF_ERROR(find_roots(p, places, e));
  return ref_ensemble_check(p, e);
}
